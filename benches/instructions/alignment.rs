//! Instruction counts of the `alignment` page.
#![allow(missing_docs, reason = "the macros make public items")]

use std::hint::black_box;

use iai_callgrind::{library_benchmark, library_benchmark_group, main};
use writeonce::cases::{Prepared, prepare};

#[library_benchmark]
#[benches::case(file = "src/cases/alignment.txt", setup = prepare)]
fn run(case: &'static Prepared) -> u64 {
    black_box(case).run()
}

library_benchmark_group!(name = alignment; benchmarks = run);

main!(config = writeonce::environment::callgrind(); library_benchmark_groups = alignment);
