//! Allocator calls, bytes, page faults and peak memory of every case.

use std::process::ExitCode;

use writeonce::allocator::{Chosen, Counting};

#[global_allocator]
static ALLOCATOR: Counting<Chosen> = Counting(Chosen);

fn main() -> ExitCode {
    writeonce::footprint::harness()
}
