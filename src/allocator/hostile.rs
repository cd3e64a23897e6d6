//! An allocator for tests, which gives nothing for free and keeps a ledger.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// An allocator whose memory is dirty, aligned to what was asked for and to no more, moved whenever it
/// is reallocated, and overwritten when it is freed. What the thread allocates is in its ledger.
#[derive(Debug)]
pub struct Hostile;

/// Value of memory that was handed out and not asked to be zero.
pub const DIRT: u8 = 0xa5;

/// Value of memory that was freed.
pub const POISON: u8 = 0x5a;

/// What was asked of the allocator by the threads that write to it.
#[derive(Debug)]
pub struct Ledger {
    /// Blocks handed out.
    pub taken: AtomicUsize,
    /// Those of them that were asked to be zero.
    pub taken_zeroed: AtomicUsize,
    /// Blocks taken back, by whichever thread.
    pub freed: AtomicUsize,
    /// Blocks freed or reallocated with another layout than they were handed out with.
    pub wrong_layouts: AtomicUsize,
    /// Size and alignment of the block handed out last.
    last: [AtomicUsize; 2],
}

impl Ledger {
    const fn new() -> Self {
        let [taken, taken_zeroed, freed, wrong_layouts] = [const { AtomicUsize::new(0) }; 4];
        let last = [const { AtomicUsize::new(0) }; 2];
        Self { taken, taken_zeroed, freed, wrong_layouts, last }
    }

    /// Calls so far.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.taken.load(Relaxed) + self.freed.load(Relaxed)
    }

    /// Size and alignment of the block handed out last.
    #[must_use]
    pub fn last(&self) -> (usize, usize) {
        (self.last[0].load(Relaxed), self.last[1].load(Relaxed))
    }
}

/// The ledger of threads that are not watched.
static OTHERS: Ledger = Ledger::new();

thread_local! {
    static LEDGER: Cell<&'static Ledger> = const { Cell::new(&OTHERS) };
}

/// What is kept in front of each block.
#[derive(Clone, Copy)]
struct Header {
    ledger: &'static Ledger,
    /// What the block was cut from.
    whole: *mut u8,
    /// What the block was handed out with.
    layout: Layout,
}

impl Hostile {
    /// The layout of what a block is cut from, and where the block begins in it: behind the header, at
    /// an odd multiple of its alignment.
    fn whole(layout: Layout) -> Option<(Layout, usize)> {
        let align = layout.align();
        let offset = size_of::<Header>().next_multiple_of(align);
        let offset = if (offset / align).is_multiple_of(2) { offset + align } else { offset };
        let size = layout.size().checked_add(offset)?;
        Some((Layout::from_size_align(size, align.checked_mul(2)?).ok()?, offset))
    }

    /// Cuts a block from memory that `take` gets.
    fn cut(layout: Layout, take: impl FnOnce(Layout) -> *mut u8) -> *mut u8 {
        let Some((whole_layout, offset)) = Self::whole(layout) else {
            return std::ptr::null_mut();
        };
        let whole = take(whole_layout);
        if whole.is_null() {
            return whole;
        }
        let ledger = LEDGER.get();
        ledger.taken.fetch_add(1, Relaxed);
        ledger.last[0].store(layout.size(), Relaxed);
        ledger.last[1].store(layout.align(), Relaxed);
        // SAFETY: `offset` is within the memory, whose size is that and the size of the block.
        let block = unsafe { whole.add(offset) };
        // SAFETY: `offset` is at least the size of a header.
        let header = unsafe { block.cast::<Header>().sub(1) };
        // SAFETY: the bytes in front of the block belong to nobody else; the write needs no alignment.
        unsafe { header.write_unaligned(Header { ledger, whole, layout }) };
        block
    }

    /// The header of a block that is given back with `layout`.
    ///
    /// # Safety
    /// The block was handed out by this allocator and is not freed.
    unsafe fn header(block: *mut u8, layout: Layout) -> Header {
        // SAFETY: there is a header in front of each block.
        let header = unsafe { block.cast::<Header>().sub(1) };
        // SAFETY: it was written when the block was handed out; the read needs no alignment.
        let header = unsafe { header.read_unaligned() };
        if header.layout != layout {
            header.ledger.wrong_layouts.fetch_add(1, Relaxed);
        }
        header
    }
}

// SAFETY: blocks are cut from memory of the system's, large and aligned enough for the header and the
// block; nothing here unwinds.
unsafe impl GlobalAlloc for Hostile {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = Self::cut(layout, |whole| {
            // SAFETY: with a header in it the size is not 0.
            unsafe { System.alloc(whole) }
        });
        if !block.is_null() {
            // SAFETY: the block is `layout.size()` bytes long.
            unsafe { block.write_bytes(DIRT, layout.size()) };
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LEDGER.get().taken_zeroed.fetch_add(1, Relaxed);
        Self::cut(layout, |whole| {
            // SAFETY: with a header in it the size is not 0.
            unsafe { System.alloc_zeroed(whole) }
        })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller says that the block is one of these.
        let header = unsafe { Self::header(block, layout) };
        header.ledger.freed.fetch_add(1, Relaxed);
        // SAFETY: that is how long the block is.
        unsafe { block.write_bytes(POISON, header.layout.size()) };
        // What is freed need not be written, unless somebody may look at it.
        black_box(block);
        let (whole, _) = Self::whole(header.layout).expect("the layout it was cut with");
        // SAFETY: the block was cut from that memory, which has this layout.
        unsafe { System.dealloc(header.whole, whole) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Ok(new_layout) = Layout::from_size_align(size, layout.align()) else {
            return std::ptr::null_mut();
        };
        // SAFETY: the caller says that the size is not 0.
        let new = unsafe { self.alloc(new_layout) };
        if !new.is_null() {
            // SAFETY: the caller says that the block is as long as its layout; the new one is another.
            unsafe { std::ptr::copy_nonoverlapping(block, new, layout.size().min(size)) };
            // SAFETY: the caller gives the block away.
            unsafe { self.dealloc(block, layout) };
        }
        new
    }
}

/// Runs `work` in a thread of its own, which writes to `ledger`. When this returns the thread has ended
/// and freed what it kept.
///
/// # Panics
/// If the work does, or no thread can be made.
pub fn watched<T: Send + 'static>(
    name: &str,
    ledger: &'static Ledger,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let watched = move || {
        LEDGER.set(ledger);
        let result = work();
        LEDGER.set(&OTHERS);
        result
    };
    let thread = thread::Builder::new().name(name.to_owned()).spawn(watched);
    thread.expect("a thread").join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A ledger with nothing in it. It is kept for good, because a block may come back late, and within reach, so that it is no leak.
#[must_use]
pub fn ledger() -> &'static Ledger {
    static KEPT: Mutex<Vec<&'static Ledger>> = Mutex::new(Vec::new());
    let ledger: &_ = Box::leak(Box::new(Ledger::new()));
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(ledger);
    ledger
}

/// Fails unless all blocks came back with the layout they were handed out with.
///
/// # Panics
/// If they did not; with `name` in the message.
pub fn assert_settled(name: &str, ledger: &Ledger) {
    let wrong = ledger.wrong_layouts.load(Relaxed) + OTHERS.wrong_layouts.load(Relaxed);
    assert_eq!(wrong, 0, "{name}: blocks freed with a wrong layout");
    assert_eq!(ledger.taken.load(Relaxed), ledger.freed.load(Relaxed), "{name}: taken and freed");
}
