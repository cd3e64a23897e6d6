//! What the reader of footprints accepts is written as the text that it read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use writeonce::lens::footprint::Footprint;

fuzz_target!(|text: &str| {
    match Footprint::parse(text) {
        Ok(read) => assert_eq!(read.to_text(), text),
        Err((line, reason)) => assert!(line <= text.lines().count() + 1 && !reason.is_empty()),
    }
});
