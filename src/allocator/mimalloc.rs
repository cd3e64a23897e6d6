//! What mimalloc can be told.

use libmimalloc_sys::{mi_collect, mi_option_set, mi_option_t};

/// After how many milliseconds free pages go back to the kernel; -1 is never. The crate has no name for it: it is the
/// 16th of `mi_option_e` in mimalloc.h.
const PURGE_DELAY: mi_option_t = 15;

/// Keeps what is freed, for good: the next block of that size is a dirty one.
pub(super) fn keep() {
    // SAFETY: an option may be set at any time.
    unsafe { mi_option_set(PURGE_DELAY, -1) };
}

/// Gives back to the kernel what is free and what is freed from now on.
pub(super) fn give_back() {
    // SAFETY: an option may be set at any time.
    unsafe { mi_option_set(PURGE_DELAY, 0) };
    // SAFETY: mi_collect may be called at any time.
    unsafe { mi_collect(true) };
}
