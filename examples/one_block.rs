//! Allocates and frees a block a thousand times: `ci/dispatch` counts the instructions.

use std::hint::black_box;

use writeonce::allocator::{self, Chosen};

#[global_allocator]
static ALLOCATOR: Chosen = Chosen;

#[inline(never)]
fn allocate_and_free() {
    drop(black_box(Vec::<u8>::with_capacity(black_box(64))));
}

fn main() {
    allocator::start();
    for _ in 0..1000 {
        allocate_and_free();
    }
}
