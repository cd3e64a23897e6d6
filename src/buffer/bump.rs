//! Buffers from an arena: bumpalo's, one for each thread.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::rc::Rc;

use bumpalo::Bump;

use super::block::Raw;
use super::pieces::Count;
use super::{Buffer, CapacityError, Fill, Full, Pieces, Sink, empty, layout};

/// An arena, and how many buffers are in it. The last one to go leaves it empty, but for its largest chunk of memory.
#[derive(Default)]
struct Arena {
    bump: RefCell<Bump>,
    live: Cell<usize>,
}

thread_local! {
    static ARENA: Rc<Arena> = Rc::default();
}

/// A buffer in the arena of the thread, which has its memory as long as a buffer is in it.
pub struct BumpArena<const ALIGN: usize> {
    /// None if the capacity is 0.
    memory: Option<Memory>,
    len: usize,
}

/// Memory of an arena.
struct Memory {
    arena: Rc<Arena>,
    start: NonNull<u8>,
    capacity: usize,
}

impl Drop for Memory {
    #[inline]
    fn drop(&mut self) {
        let left = self.arena.live.get() - 1;
        self.arena.live.set(left);
        if left == 0 {
            self.arena.bump.borrow_mut().reset();
        }
    }
}

impl<const ALIGN: usize> Sink for BumpArena<ALIGN> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.put(bytes)
    }

    #[inline]
    fn fill(&mut self, len: usize, value: u8) -> Result<(), Full> {
        self.put(Fill { len, value })
    }
}

impl<const ALIGN: usize> Buffer for BumpArena<ALIGN> {
    #[inline]
    fn try_with_capacity(capacity: usize) -> Result<Self, CapacityError> {
        let layout = layout(capacity, ALIGN)?;
        if capacity == 0 {
            return Ok(Self { memory: None, len: 0 });
        }
        // While the thread ends its arena is gone: the buffer has one of its own.
        let arena = ARENA.try_with(Rc::clone).unwrap_or_default();
        let start = arena.bump.borrow().try_alloc_layout(layout);
        let start = start.map_err(|_| CapacityError::OutOfMemory(layout))?;
        arena.live.set(arena.live.get() + 1);
        Ok(Self { memory: Some(Memory { arena, start, capacity }), len: 0 })
    }

    #[inline]
    fn as_slice(&self) -> &[u8] {
        let Some(memory) = &self.memory else { return empty::<ALIGN>() };
        // SAFETY: the first `len` bytes have been written, and the arena keeps them as long as `memory` is there.
        unsafe { std::slice::from_raw_parts(memory.start.as_ptr(), self.len) }
    }

    #[inline]
    fn put(&mut self, pieces: impl Pieces) -> Result<(), Full> {
        let len = Count::of(&pieces)?;
        let capacity = self.memory.as_ref().map_or(0, |memory| memory.capacity);
        if len > capacity - self.len {
            return Err(Full);
        }
        let Some(memory) = &self.memory else { return Ok(()) };
        // SAFETY: `len` bytes are at most `capacity`, which is the size of the memory.
        let end = unsafe { memory.start.add(self.len) };
        // SAFETY: `len`, the total length of the pieces, is at most what is left; they cannot borrow from a buffer that
        // is borrowed mutably.
        unsafe { Raw::write(end.as_ptr(), &pieces) };
        self.len += len;
        Ok(())
    }
}
