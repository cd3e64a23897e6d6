//! A zeroed block in which zero fills are skipped and everything else is written (rbpf 360 and 368).

use super::block::Block;
use super::{Buffer, CapacityError, Full, Sink};

/// A block that the allocator zeroed; a fill with 0 only moves the end.
pub struct ZeroedSkip<const ALIGN: usize>(Block<ALIGN>);

impl<const ALIGN: usize> Sink for ZeroedSkip<ALIGN> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.0.write(bytes)
    }

    #[inline]
    fn fill(&mut self, len: usize, value: u8) -> Result<(), Full> {
        if value != 0 {
            return self.0.fill(len, value);
        }
        self.0.check_room(len)?;
        // SAFETY: there is room, and the bytes behind the end were zeroed and never written since.
        unsafe { self.0.advance(len) };
        Ok(())
    }
}

impl<const ALIGN: usize> Buffer for ZeroedSkip<ALIGN> {
    #[inline]
    fn try_with_capacity(capacity: usize) -> Result<Self, CapacityError> {
        Block::zeroed(capacity).map(Self)
    }

    #[inline]
    fn as_slice(&self) -> &[u8] {
        self.0.as_slice()
    }
}
