//! Counts of what a program asks its allocator for.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

/// An allocator whose calls are counted, a thread at a time: [`Counts::of`] reads them.
///
/// Every function is the same function of the allocator within; nothing is allocated for the counting.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counting<A>(pub A);

/// What was asked of the allocator: exact numbers, which depend on the program and on nothing else.
///
/// Bytes are those asked for; how many the allocator sets aside for them is its business, and so is whether a block
/// moves when it grows. A call that fails counts as a call, and for no bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls of `alloc`.
    pub allocations: u64,
    /// Calls of `alloc_zeroed`.
    pub zeroed_allocations: u64,
    /// Calls of `realloc`.
    pub reallocations: u64,
    /// Calls of `dealloc`.
    pub frees: u64,
    /// Bytes asked for: the sizes of all allocations, and the new sizes of reallocations.
    pub bytes: u64,
    /// Bytes asked for zeroed; they are among `bytes`.
    pub zeroed_bytes: u64,
    /// Bytes that reallocations had to keep: the smaller of both sizes, as if every one of them moved its block.
    pub moved_bytes: u64,
    /// Most bytes that were allocated at a time, beyond those at the start. A reallocation has its old block until it
    /// has the new one; only one of both counts.
    pub peak_bytes: u64,
    /// Bytes allocated at the end, beyond those at the start; negative if more were freed.
    pub live_bytes: i64,
}

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(Counts::NONE) };
}

impl Counts {
    const NONE: Self = Self {
        allocations: 0,
        zeroed_allocations: 0,
        reallocations: 0,
        frees: 0,
        bytes: 0,
        zeroed_bytes: 0,
        moved_bytes: 0,
        peak_bytes: 0,
        live_bytes: 0,
    };

    /// What `run` asks for on this thread. All are 0 where the global allocator is not a [`Counting`].
    pub fn of(run: impl FnOnce()) -> Self {
        let outer = COUNTS.replace(Self::NONE);
        run();
        COUNTS.replace(outer)
    }

    /// Calls of all kinds, or the largest number where they are more.
    #[must_use]
    pub const fn calls(&self) -> u64 {
        let taken = self.allocations.saturating_add(self.zeroed_allocations);
        taken.saturating_add(self.reallocations).saturating_add(self.frees)
    }

    fn take(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.live_bytes += bytes as i64;
        self.peak_bytes = self.peak_bytes.max(self.live_bytes.try_into().unwrap_or(0));
    }

    fn give(&mut self, bytes: usize) {
        self.live_bytes -= bytes as i64;
    }
}

/// Changes the counts of this thread. `const` and without a destructor, they are there as long as the thread.
fn count(change: impl FnOnce(&mut Counts)) {
    let mut counts = COUNTS.get();
    change(&mut counts);
    COUNTS.set(counts);
}

// SAFETY: every function is that of the allocator within; counting neither allocates nor panics.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counting<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises what this function of the allocator asks for.
        let block = unsafe { self.0.alloc(layout) };
        count(|counts| {
            counts.allocations += 1;
            if !block.is_null() {
                counts.take(layout.size());
            }
        });
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let block = unsafe { self.0.alloc_zeroed(layout) };
        count(|counts| {
            counts.zeroed_allocations += 1;
            if !block.is_null() {
                counts.zeroed_bytes += layout.size() as u64;
                counts.take(layout.size());
            }
        });
        block
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above; the block is of the allocator within, as all are.
        let block = unsafe { self.0.realloc(block, layout, size) };
        count(|counts| {
            counts.reallocations += 1;
            if !block.is_null() {
                counts.moved_bytes += layout.size().min(size) as u64;
                counts.give(layout.size());
                counts.take(size);
            }
        });
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above; the block is of the allocator within, as all are.
        unsafe { self.0.dealloc(block, layout) };
        count(|counts| {
            counts.frees += 1;
            counts.give(layout.size());
        });
    }
}
