//! The state of the heap, set on purpose and checked.
//!
//! glibc moves the border between its heap and `mmap` after the first large free, so that what an allocation costs
//! depends on the history of the process. Both thresholds are therefore set, together, for every case.

use std::sync::{Mutex, PoisonError};

/// The smallest buffer for which a fresh heap differs from a recycled one, in bytes: a page.
pub const FRESH_FROM: usize = 4096;

/// The highest threshold glibc takes, in bytes: smaller requests come from the heap, so they are recycled.
pub const RECYCLE_BELOW: usize = 32 << 20;

/// Whether [`freshen`] works on this platform: it needs glibc's allocator.
pub const CAN_FRESHEN: bool = cfg!(all(target_os = "linux", target_env = "gnu"));

/// Value of the dirty bytes.
const DIRT: u8 = 0xa5;

/// Free blocks that are kept from the program while the heap is to look fresh.
static HELD: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Makes the allocator hand out a dirty block for `len` bytes: `warm` runs the routine, which leaves its block
/// free, then a block of that size is written and freed.
///
/// # Panics
/// If the allocator does not take the thresholds.
pub fn recycle(len: usize, warm: impl FnOnce()) {
    glibc::set_thresholds(RECYCLE_BELOW);
    HELD.lock().unwrap_or_else(PoisonError::into_inner).clear();
    warm();
    drop(std::hint::black_box(vec![DIRT; len]));
}

/// Makes the allocator hand out new pages of the kernel's for [`FRESH_FROM`] bytes and more, each time: `run` runs
/// the routine, first to warm up what does not depend on the heap, then to see that it takes new pages.
///
/// # Panics
/// If the routine takes no new page, or where the allocator is not glibc's own: memcheck replaces it, for one.
pub fn freshen(mut run: impl FnMut()) {
    glibc::set_thresholds(FRESH_FROM);
    run();
    glibc::give_back_free_memory();
    let maps = |capacity| {
        let mapped = glibc::mapped_blocks();
        let block: Vec<u8> = std::hint::black_box(Vec::with_capacity(capacity));
        (glibc::mapped_blocks() > mapped, block)
    };
    assert!(maps(2 * RECYCLE_BELOW).0, "a fresh heap needs glibc's allocator");
    // Blocks that are free already would still be served.
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    while let (false, block) = maps(FRESH_FROM) {
        held.push(block);
    }
    drop(held);
    let before = glibc::page_faults();
    run();
    assert!(glibc::page_faults() > before, "the heap is not fresh: no new page was taken");
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    pub(super) fn set_thresholds(bytes: usize) {
        let bytes = libc::c_int::try_from(bytes).expect("both thresholds fit an int");
        for parameter in [libc::M_MMAP_THRESHOLD, libc::M_TRIM_THRESHOLD] {
            // SAFETY: mallopt takes any parameter and value and says whether it took them.
            let taken = unsafe { libc::mallopt(parameter, bytes) };
            assert_eq!(taken, 1, "glibc did not take {bytes} for malloc parameter {parameter}");
        }
    }

    pub(super) fn give_back_free_memory() {
        // SAFETY: malloc_trim may be called at any time.
        unsafe { libc::malloc_trim(0) };
    }

    /// Blocks that are mappings of their own.
    pub(super) fn mapped_blocks() -> usize {
        // SAFETY: mallinfo2 may be called at any time.
        unsafe { libc::mallinfo2() }.hblks
    }

    /// Page faults of this process that needed no disk.
    pub(super) fn page_faults() -> i64 {
        // SAFETY: rusage is plain integers, for which zero is a value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to a whole rusage.
        let result = unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
        assert_eq!(result, 0, "getrusage failed");
        usage.ru_minflt
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod glibc {
    pub(super) fn set_thresholds(bytes: usize) {
        assert_ne!(bytes, super::FRESH_FROM, "a fresh heap needs glibc's allocator");
    }

    pub(super) fn give_back_free_memory() {}

    pub(super) fn mapped_blocks() -> usize {
        unreachable!("there is no fresh heap here")
    }

    pub(super) fn page_faults() -> i64 {
        unreachable!("there is no fresh heap here")
    }
}
