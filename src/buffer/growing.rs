//! A buffer that starts too small and reallocates (agave 4848).

use super::block::Block;
use super::{Buffer, CapacityError, Full, Sink, layout};

/// Starts with half of the capacity and doubles when that is full, up to the capacity.
///
/// An allocator that has no memory left when a write wants more ends the program, as it does for `Vec`: [`Full`] says
/// that the caller wrote beyond the capacity, and this caller did not.
pub struct Growing<const ALIGN: usize> {
    block: Block<ALIGN>,
    /// What was asked for: growth ends here.
    capacity: usize,
}

impl<const ALIGN: usize> Growing<ALIGN> {
    #[inline]
    fn make_room(&mut self, len: usize) -> Result<(), Full> {
        if self.block.check_room(len).is_ok() { Ok(()) } else { self.grow(len) }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, len: usize) -> Result<(), Full> {
        let wanted = self.block.len().checked_add(len).filter(|&n| n <= self.capacity);
        let wanted = wanted.ok_or(Full)?;
        // A block beyond the capacity would take writes beyond it.
        let doubled = self.block.capacity().saturating_mul(2).clamp(wanted, self.capacity);
        self.block.grow(doubled).unwrap_or_else(|error| error.raise());
        Ok(())
    }
}

impl<const ALIGN: usize> Sink for Growing<ALIGN> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.make_room(bytes.len())?;
        self.block.write(bytes)
    }

    #[inline]
    fn fill(&mut self, len: usize, value: u8) -> Result<(), Full> {
        self.make_room(len)?;
        self.block.fill(len, value)
    }
}

impl<const ALIGN: usize> Buffer for Growing<ALIGN> {
    #[inline]
    fn try_with_capacity(capacity: usize) -> Result<Self, CapacityError> {
        layout(capacity, ALIGN)?;
        Ok(Self { block: Block::uninit(capacity / 2)?, capacity })
    }

    #[inline]
    fn as_slice(&self) -> &[u8] {
        self.block.as_slice()
    }
}
