//! A zeroed byte vector that a cursor overwrites (rbpf 154, the state before).

use super::block::Block;
use super::{Buffer, CapacityError, Full, Sink, empty, over_allocated};

/// A zeroed vector over-allocated by the alignment; a fill with 0 only moves the cursor.
pub struct Zeroed<const ALIGN: usize> {
    memory: Vec<u8>,
    /// Leading bytes left out.
    offset: usize,
    /// Where the next write goes, counted from the start of the vector.
    cursor: usize,
    /// Where the cursor is when the buffer is full.
    end: usize,
}

impl<const ALIGN: usize> Zeroed<ALIGN> {
    /// The next `len` bytes; the cursor is moved behind them.
    #[inline]
    fn next(&mut self, len: usize) -> Result<&mut [u8], Full> {
        if len > self.end - self.cursor {
            return Err(Full);
        }
        let start = self.cursor;
        self.cursor += len;
        Ok(&mut self.memory[start..start + len])
    }
}

impl<const ALIGN: usize> Sink for Zeroed<ALIGN> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.next(bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    #[inline]
    fn fill(&mut self, len: usize, value: u8) -> Result<(), Full> {
        let next = self.next(len)?;
        if value != 0 {
            next.fill(value);
        }
        Ok(())
    }
}

impl<const ALIGN: usize> Buffer for Zeroed<ALIGN> {
    #[inline]
    fn try_with_capacity(capacity: usize) -> Result<Self, CapacityError> {
        let size = over_allocated::<ALIGN>(capacity)?;
        let mut block = Block::zeroed(size)?;
        // SAFETY: the block has `size` bytes, and all are zeroed.
        unsafe { block.advance(size) };
        let memory = block.into_vec();
        let offset = if capacity == 0 { 0 } else { memory.as_ptr().align_offset(ALIGN) };
        Ok(Self { memory, offset, cursor: offset, end: offset + capacity })
    }

    #[inline]
    fn as_slice(&self) -> &[u8] {
        if self.end == self.offset {
            empty::<ALIGN>()
        } else {
            &self.memory[self.offset..self.cursor]
        }
    }
}
