//! What the reader of a baseline accepts is written as the text that it read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use writeonce::baseline::Baseline;

fuzz_target!(|text: &str| {
    match Baseline::parse(text) {
        Ok(read) => assert_eq!(read.to_text(), text),
        Err((line, reason)) => assert!(line <= text.lines().count() + 1 && !reason.is_empty()),
    }
});
