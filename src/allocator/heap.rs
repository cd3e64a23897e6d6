//! The state of the heap, set on purpose and checked.
//!
//! What an allocation costs depends on the history of the process. glibc moves the border between its heap and `mmap`
//! after the first large free: both thresholds are therefore set, together, for every case. It serves small free blocks
//! that set-up left behind, whose number and addresses change with something as remote as the length of the path of the
//! program: therefore all that is free is taken away before a case is warmed up, and its first block is put at a fixed
//! distance from a page border.

use std::sync::{Mutex, PoisonError};

use super::{Allocator, glibc, page_faults};
#[cfg(feature = "allocators")]
use super::{jemalloc, mimalloc};

/// The smallest buffer for which a fresh heap differs from a recycled one, in bytes: a page.
pub const FRESH_FROM: usize = 4096;

/// The highest threshold glibc takes, in bytes: smaller requests come from the heap, so they are recycled.
pub const RECYCLE_BELOW: usize = 32 << 20;

/// Whether the system's allocator is one for which [`freshen`] works: that of glibc.
pub const CAN_FRESHEN: bool = cfg!(all(target_os = "linux", target_env = "gnu"));

/// The variable that tells a process to make no heap [fresh](freshen): under a tool that replaces the allocator none can
/// be.
pub const HEAP_AS_IT_IS: &str = "WRITEONCE_HEAP_AS_IT_IS";

/// Whether [`freshen`] works in this process.
#[must_use]
pub fn can_freshen() -> bool {
    fresh_from().is_some()
}

/// From how many bytes on the allocator of this process can be made to take new pages for every block; nothing if for
/// none.
#[must_use]
pub fn fresh_from() -> Option<usize> {
    match Allocator::in_force() {
        Allocator::System => (CAN_FRESHEN && glibc::is_the_allocator()).then_some(FRESH_FROM),
        Allocator::Jemalloc | Allocator::JemallocMadvise => Some(FRESH_FROM),
        // It keeps the pages of smaller blocks, whatever it is told.
        Allocator::Mimalloc => Some(1 << 20),
    }
}

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

/// Makes the allocator hand out new pages of the kernel's for [`fresh_from`] bytes and more, each time: `run` runs
/// the routine, whose largest block has `len` bytes, first to warm up what does not depend on the heap, then to see that
/// it takes new pages. [`settle`] comes first.
///
/// # Panics
/// If the routine takes no new page, or not [`can_freshen`]: memcheck replaces the allocator, for one.
#[cfg_attr(not(feature = "allocators"), expect(unused_variables, reason = "glibc has a threshold"))]
pub fn freshen(len: usize, mut run: impl FnMut()) {
    assert!(can_freshen(), "a fresh heap needs an allocator that can be told to have one");
    match Allocator::in_force() {
        Allocator::System => give_back_to_kernel(&mut run),
        #[cfg(feature = "allocators")]
        Allocator::Mimalloc => {
            mimalloc::give_back();
            // mimalloc gives back what is freed from now on, but not what was.
            run();
        }
        #[cfg(feature = "allocators")]
        Allocator::Jemalloc | Allocator::JemallocMadvise => {
            jemalloc::give_back();
            run();
            // A page goes back when no block in it is in use.
            hold_dirty(len);
            hold_dirty(len + 1);
        }
        #[cfg(not(feature = "allocators"))]
        _ => unreachable!("there is no other allocator"),
    }
    let before = page_faults();
    run();
    assert!(page_faults() > before, "the heap is not fresh: no new page was taken");
}

/// Takes away the dirty blocks that the allocator has for `len` bytes.
#[cfg(feature = "allocators")]
fn hold_dirty(len: usize) {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    while held.len() < MOST_HELD {
        let before = page_faults();
        let block = std::hint::black_box(vec![DIRT; len]);
        if page_faults() > before {
            break;
        }
        held.push(block);
    }
}

/// [`freshen`] for glibc.
fn give_back_to_kernel(run: &mut impl FnMut()) {
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
}

/// Makes where the next blocks are independent of what the process has done before: it is called before the input of
/// a case is made, because a copy also depends on how source and destination lie to each other within a page.
///
/// # Panics
/// If glibc does not take the thresholds.
pub fn settle() {
    match Allocator::in_force() {
        #[cfg(feature = "allocators")]
        Allocator::Jemalloc | Allocator::JemallocMadvise => {
            HELD.lock().unwrap_or_else(PoisonError::into_inner).clear();
            return jemalloc::keep();
        }
        #[cfg(feature = "allocators")]
        Allocator::Mimalloc => return mimalloc::keep(),
        _ => {}
    }
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
