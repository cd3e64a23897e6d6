//! Rows that the readers of CSV and JSON accept are the same after they have been written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use writeonce::report::{from_csv, from_json, to_csv, to_json};

fuzz_target!(|text: &str| {
    for rows in [from_csv(text), from_json(text)].into_iter().flatten() {
        assert_eq!(from_csv(&to_csv(&rows).unwrap()).as_ref(), Ok(&rows));
        assert_eq!(from_json(&to_json(&rows).to_string()).as_ref(), Ok(&rows));
    }
});
