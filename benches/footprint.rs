//! Allocator calls, bytes, page faults and peak memory of every case.

use std::process::ExitCode;

use writeonce::allocator::{self, Chosen, Counting};
use writeonce::footprint;

#[global_allocator]
static ALLOCATOR: Counting<Chosen> = Counting(Chosen);

fn main() -> ExitCode {
    allocator::start();
    match footprint::harness(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("footprint: {failure}");
            ExitCode::from(2)
        }
    }
}
