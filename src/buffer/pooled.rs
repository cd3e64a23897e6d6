//! A block that is kept for the thread and reused.

use std::cell::Cell;

use super::block::Block;
use super::pieces::Count;
use super::{Buffer, CapacityError, Fill, Full, Pieces, Sink, empty, layout};

/// The pool has one block, aligned for every `ALIGN` up to this, a page: a buffer of a larger
/// alignment leaves out leading bytes, which are zeroed.
const POOL_ALIGN: usize = 4096;

thread_local! {
    static POOL: Cell<Block<POOL_ALIGN>> = const { Cell::new(Block::empty()) };
}

/// A buffer over the thread's block, or over a new one where that is in use or too small. The
/// larger of both is kept when the buffer is dropped, until the thread ends.
///
/// It is the caller's to know that the block stays as large as the largest buffer was.
pub struct Pooled<const ALIGN: usize> {
    block: Block<POOL_ALIGN>,
    /// Length of the block when the buffer is full.
    capacity: usize,
}

impl<const ALIGN: usize> Pooled<ALIGN> {
    const ALIGN_IS_POWER_OF_TWO: () = assert!(ALIGN.is_power_of_two());

    /// An empty buffer of a larger alignment than the pool has.
    fn over_aligned(capacity: usize) -> Result<Self, CapacityError> {
        layout(capacity, ALIGN)?;
        if capacity == 0 {
            return Ok(Self { block: Block::empty(), capacity });
        }
        let mut pooled = Pooled::<POOL_ALIGN>::try_with_capacity(capacity + (ALIGN - POOL_ALIGN))?;
        let mut block = std::mem::take(&mut pooled.block);
        let left_out = block.end().align_offset(ALIGN);
        let written = block.fill(left_out, 0);
        debug_assert!(written.is_ok(), "the block has room for what is left out");
        Ok(Self { block, capacity: left_out + capacity })
    }
}

impl<const ALIGN: usize> Drop for Pooled<ALIGN> {
    #[inline]
    fn drop(&mut self) {
        let mut block = std::mem::take(&mut self.block);
        block.clear();
        // While the thread ends its pool is gone: the block is freed instead.
        let _ = POOL.try_with(|pool| {
            let kept = pool.take();
            pool.set(if kept.capacity() > block.capacity() { kept } else { block });
        });
    }
}

impl<const ALIGN: usize> Sink for Pooled<ALIGN> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.put(bytes)
    }

    #[inline]
    fn fill(&mut self, len: usize, value: u8) -> Result<(), Full> {
        self.put(Fill { len, value })
    }
}

impl<const ALIGN: usize> Buffer for Pooled<ALIGN> {
    #[inline]
    fn try_with_capacity(capacity: usize) -> Result<Self, CapacityError> {
        const { Self::ALIGN_IS_POWER_OF_TWO };
        if ALIGN > POOL_ALIGN {
            return Self::over_aligned(capacity);
        }
        let kept = POOL.try_with(Cell::take).unwrap_or_default();
        let block = if kept.capacity() >= capacity { kept } else { Block::uninit(capacity)? };
        Ok(Self { block, capacity })
    }

    #[inline]
    fn as_slice(&self) -> &[u8] {
        let bytes = self.block.as_slice();
        if ALIGN <= POOL_ALIGN {
            bytes
        } else if self.capacity == 0 {
            empty::<ALIGN>()
        } else {
            &bytes[bytes.as_ptr().align_offset(ALIGN)..]
        }
    }

    #[inline]
    fn put(&mut self, pieces: impl Pieces) -> Result<(), Full> {
        let len = Count::of(&pieces)?;
        if len > self.capacity - self.block.len() {
            return Err(Full);
        }
        // SAFETY: `len` is the total length of the pieces, and that many bytes are left in the block,
        // whose capacity is at least that of this buffer.
        unsafe { self.block.put_unchecked(&pieces, len) };
        Ok(())
    }
}
