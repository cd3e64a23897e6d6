//! Capacity only: a cursor appends to a byte vector that was never zeroed (rbpf 168, the state after).

use super::block::Block;
use super::{Buffer, CapacityError, Full, Sink, empty, over_allocated};

/// A vector over-allocated by the alignment; its first bytes are left out so that the rest is aligned.
pub struct Uninit<const ALIGN: usize> {
    memory: Vec<u8>,
    /// Leading bytes left out.
    offset: usize,
    /// Length of the vector when the buffer is full.
    end: usize,
}

impl<const ALIGN: usize> Uninit<ALIGN> {
    #[inline]
    fn check_room(&self, len: usize) -> Result<(), Full> {
        if len > self.end - self.memory.len() { Err(Full) } else { Ok(()) }
    }
}

impl<const ALIGN: usize> Sink for Uninit<ALIGN> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.check_room(bytes.len())?;
        self.memory.extend_from_slice(bytes);
        Ok(())
    }

    #[inline]
    fn fill(&mut self, len: usize, value: u8) -> Result<(), Full> {
        self.check_room(len)?;
        self.memory.resize(self.memory.len() + len, value);
        Ok(())
    }
}

impl<const ALIGN: usize> Buffer for Uninit<ALIGN> {
    #[inline]
    fn try_with_capacity(capacity: usize) -> Result<Self, CapacityError> {
        let mut memory = Block::uninit(over_allocated::<ALIGN>(capacity)?)?.into_vec();
        let offset = if capacity == 0 { 0 } else { memory.as_ptr().align_offset(ALIGN) };
        memory.resize(offset, 0);
        Ok(Self { memory, offset, end: offset + capacity })
    }

    #[inline]
    fn as_slice(&self) -> &[u8] {
        if self.end == self.offset { empty::<ALIGN>() } else { &self.memory[self.offset..] }
    }
}
