//! Where the allocator of the system is not that of glibc: it can be told nothing.

use super::heap::FRESH_FROM;

pub(super) const OVERHEAD: usize = 0;
pub(super) const SMALLEST: usize = 1;
pub(super) const STEP: usize = 1;

pub(super) fn is_the_allocator() -> bool {
    false
}

pub(super) fn end_of_heap() -> (usize, usize) {
    (0, 0)
}

pub(super) fn set_thresholds(bytes: usize) {
    assert_ne!(bytes, FRESH_FROM, "a fresh heap needs glibc's allocator");
}

pub(super) fn give_back_free_memory() {}

pub(super) fn mapped_blocks() -> usize {
    unreachable!("there is no fresh heap here")
}

pub(super) fn version() -> String {
    format!("that of {}", std::env::consts::OS)
}
