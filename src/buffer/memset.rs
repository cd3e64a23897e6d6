//! The literal superfluous memset: the whole block is set to zero, then overwritten.

use super::block::Block;
use super::{Buffer, CapacityError, Full, Sink};

/// An uninitialized block that is explicitly set to zero before the first write.
pub struct Memset<const ALIGN: usize>(Block<ALIGN>);

impl<const ALIGN: usize> Sink for Memset<ALIGN> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.0.write(bytes)
    }

    #[inline]
    fn fill(&mut self, len: usize, value: u8) -> Result<(), Full> {
        self.0.fill(len, value)
    }
}

impl<const ALIGN: usize> Buffer for Memset<ALIGN> {
    #[inline]
    fn try_with_capacity(capacity: usize) -> Result<Self, CapacityError> {
        let mut block = Block::uninit(capacity)?;
        block.set_zero();
        Ok(Self(block))
    }

    #[inline]
    fn as_slice(&self) -> &[u8] {
        self.0.as_slice()
    }
}
