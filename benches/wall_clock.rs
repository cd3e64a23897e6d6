//! Wall-clock time of every case.

use writeonce::allocator::Chosen;

#[global_allocator]
static ALLOCATOR: Chosen = Chosen;

fn main() {
    writeonce::wall_clock::harness();
}
