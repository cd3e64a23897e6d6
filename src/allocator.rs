//! The state of the heap, set on purpose and checked.
//!
//! What an allocation costs depends on the history of the process. glibc moves the border between its heap and `mmap`
//! after the first large free: both thresholds are therefore set, together, for every case. It serves small free blocks
//! that set-up left behind, whose number and addresses change with something as remote as the length of the path of the
//! program: therefore all that is free is taken away before a case is warmed up, and its first block is put at a fixed
//! distance from a page border.

use std::sync::{Mutex, PoisonError};

/// The smallest buffer for which a fresh heap differs from a recycled one, in bytes: a page.
pub const FRESH_FROM: usize = 4096;

/// The highest threshold glibc takes, in bytes: smaller requests come from the heap, so they are recycled.
pub const RECYCLE_BELOW: usize = 32 << 20;

/// Whether [`freshen`] works on this platform: it needs glibc's allocator.
pub const CAN_FRESHEN: bool = cfg!(all(target_os = "linux", target_env = "gnu"));

/// Value of the dirty bytes.
const DIRT: u8 = 0xa5;

/// Blocks that were free and are kept from the case.
static HELD: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Most blocks to hold: a bound for allocators that are not glibc's own.
const MOST_HELD: usize = 1 << 16;

/// Makes the allocator hand out a dirty block for `len` bytes: `warm` runs the routine, which leaves its block
/// free, then a block of that size is written and freed.
///
/// [`settle`] comes first.
pub fn recycle(len: usize, warm: impl FnOnce()) {
    forget_history();
    warm();
    drop(std::hint::black_box(vec![DIRT; len]));
}

/// Makes the allocator hand out new pages of the kernel's for [`FRESH_FROM`] bytes and more, each time: `run` runs
/// the routine, first to warm up what does not depend on the heap, then to see that it takes new pages. [`settle`]
/// comes first.
///
/// # Panics
/// If the routine takes no new page, or where the allocator is not glibc's own: memcheck replaces it, for one.
pub fn freshen(mut run: impl FnMut()) {
    assert!(CAN_FRESHEN && glibc::is_the_allocator(), "a fresh heap needs glibc's allocator");
    forget_history();
    glibc::set_thresholds(FRESH_FROM);
    run();
    glibc::give_back_free_memory();
    // What `run` has freed would still be served.
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let mapped = glibc::mapped_blocks();
        let block = std::hint::black_box(Vec::with_capacity(FRESH_FROM));
        if glibc::mapped_blocks() > mapped || held.len() == MOST_HELD {
            break;
        }
        held.push(block);
    }
    drop(held);
    let before = page_faults();
    run();
    assert!(page_faults() > before, "the heap is not fresh: no new page was taken");
}

/// Makes where the next blocks are independent of what the process has done before: it is called before the input of
/// a case is made, because a copy also depends on how source and destination lie to each other within a page.
///
/// # Panics
/// If glibc does not take the thresholds.
pub fn settle() {
    glibc::set_thresholds(RECYCLE_BELOW);
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    if !held.is_empty() {
        // What was kept from another case goes back to the kernel, or the heap would grow from case to case.
        held.clear();
        glibc::give_back_free_memory();
    }
    held.reserve(MOST_HELD);
    drop(held);
    forget_history();
}

/// Takes all free blocks away, so that the next one comes from the end of the heap, and puts that at a fixed
/// distance from a page border.
fn forget_history() {
    if !glibc::is_the_allocator() {
        return;
    }
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let mut end = glibc::end_of_heap();
    // The address behind a new block of `chunk` bytes if it came from the end of the heap.
    let mut take = |chunk: usize| {
        let block: Vec<u8> = std::hint::black_box(Vec::with_capacity(chunk - glibc::OVERHEAD));
        let behind = block.as_ptr().addr() + chunk;
        held.push(block);
        let before = std::mem::replace(&mut end, glibc::end_of_heap());
        (before != end || held.len() == MOST_HELD).then_some(behind)
    };
    let large = (11..=20).rev().map(|power| 1 << power);
    let small = (glibc::SMALLEST..=2048).rev().step_by(glibc::STEP);
    for chunk in large.chain(small) {
        while take(chunk).is_none() {}
    }
    let behind = take(glibc::SMALLEST).unwrap_or_default();
    let gap = (FRESH_FROM + glibc::STEP - behind % FRESH_FROM) % FRESH_FROM;
    if gap > 0 {
        take(if gap < glibc::SMALLEST { gap + FRESH_FROM } else { gap });
    }
}

/// Page faults of this thread that needed no disk; of the process where threads are not told apart.
#[must_use]
pub fn page_faults() -> u64 {
    #[cfg(target_os = "linux")]
    let who = libc::RUSAGE_THREAD;
    #[cfg(not(target_os = "linux"))]
    let who = libc::RUSAGE_SELF;
    // SAFETY: rusage is plain integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a whole rusage.
    let result = unsafe { libc::getrusage(who, &raw mut usage) };
    assert_eq!(result, 0, "getrusage failed");
    usage.ru_minflt as u64
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    /// Bytes of a block that the program does not get.
    pub(super) const OVERHEAD: usize = 8;
    /// The smallest block, in bytes.
    pub(super) const SMALLEST: usize = 32;
    /// What the sizes of blocks are multiples of, in bytes.
    pub(super) const STEP: usize = 16;

    /// Whether memory comes from glibc: a block that is larger than the threshold is then a mapping of its own, as long
    /// as the heap is small. So it is asked once, at first.
    pub(super) fn is_the_allocator() -> bool {
        static ANSWER: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        *ANSWER.get_or_init(|| {
            let mapped = mapped_blocks();
            let block = std::hint::black_box(Vec::<u8>::with_capacity(2 * super::RECYCLE_BELOW));
            mapped_blocks() > mapped && block.capacity() > 0
        })
    }

    /// Size of the heap and what is free at its end, in bytes: one of them changes when a block comes from there.
    pub(super) fn end_of_heap() -> (usize, usize) {
        // SAFETY: mallinfo2 may be called at any time.
        let info = unsafe { libc::mallinfo2() };
        (info.arena, info.keepcost)
    }

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
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod glibc {
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
        assert_ne!(bytes, super::FRESH_FROM, "a fresh heap needs glibc's allocator");
    }

    pub(super) fn give_back_free_memory() {}

    pub(super) fn mapped_blocks() -> usize {
        unreachable!("there is no fresh heap here")
    }
}
