//! What the reader of program parameters accepts is serialized to the bytes that it read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use writeonce::buffer::{AlignedMemory, Buffer, Floor};
use writeonce::parameters::{Aligned, Format, Unaligned, plan, read, serialize};

fn check<F: Format>(bytes: &[u8]) {
    match read::<F>(bytes) {
        Ok(instruction) => {
            let written: AlignedMemory<16> = serialize::<F, _>(&instruction).unwrap();
            assert_eq!(written.as_slice(), bytes);
            let built = Floor::<16>::build(&plan::<F>(&instruction).unwrap()).unwrap();
            assert_eq!(built.as_slice(), bytes);
        }
        Err(error) => {
            assert!(error.offset <= bytes.len());
            assert!(!error.to_string().is_empty());
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    check::<Aligned>(bytes);
    check::<Unaligned>(bytes);
});
