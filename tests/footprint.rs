//! Calls and bytes do not depend on how the code was compiled: here it is a debug build, in the baselines a release.
#![cfg(feature = "cli")]

use std::alloc::System;
use std::path::Path;

use writeonce::allocator::{Counting, Counts};
use writeonce::cases::all;
use writeonce::lens::footprint::Footprint;

#[global_allocator]
static ALLOCATOR: Counting<System> = Counting(System);

#[test]
fn calls_and_bytes_are_those_of_every_baseline() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("baselines");
    let baselines = Footprint::read_all(&folder).unwrap();
    let width = usize::BITS.to_string();
    let fitting: Vec<_> =
        baselines.iter().filter(|(_, other)| *other.conditions.pointer_width() == width).collect();
    assert!(!fitting.is_empty() || width != "64");
    for case in all().unwrap() {
        let prepared = case.input();
        case.run(&prepared);
        let counts = Counts::of(|| case.run(&prepared));
        for (path, baseline) in &fitting {
            let row = baseline.rows.iter().find(|row| row.id == case.id());
            assert_eq!(
                row.map(|row| row.counts),
                Some(counts),
                "{}: {}",
                path.display(),
                case.id()
            );
        }
    }
}
