//! The limit: one allocation, raw copies and fills of the same pieces, nothing kept but a pointer.

use super::block::Block;
use super::pieces::Count;
use super::{Buffer, CapacityError, Full, Pieces, Sink, layout};

/// Pieces that were measured beforehand, so that writing them needs no check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan<P> {
    pieces: P,
    /// Total length of the pieces, in bytes.
    len: usize,
}

impl<P: Pieces> Plan<P> {
    /// Measures `pieces`.
    ///
    /// # Errors
    /// [`CapacityError`] if no allocation can hold them.
    pub fn new(pieces: P) -> Result<Self, CapacityError> {
        let len = Count::of(&pieces).unwrap_or(usize::MAX);
        layout(len, 1)?;
        Ok(Self { pieces, len })
    }

    /// The pieces.
    pub fn pieces(&self) -> &P {
        &self.pieces
    }

    /// Total length of the pieces, in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The least work that produces the bytes of a [`Plan`].
///
/// Made by [`build`](Self::build), it writes without a question. As a [`Buffer`] among others it
/// cannot trust its caller, so there it checks each write like the rest; that way is for the tests of
/// the contract and is not measured.
pub struct Floor<const ALIGN: usize>(Block<ALIGN>);

impl<const ALIGN: usize> Floor<ALIGN> {
    /// Allocates and writes what `plan` holds.
    ///
    /// # Errors
    /// [`CapacityError`] if no allocation can hold it at this alignment, or the allocator has no memory left.
    #[inline]
    pub fn build<P: Pieces>(plan: &Plan<P>) -> Result<Self, CapacityError> {
        let mut block = Block::uninit(plan.len)?;
        // SAFETY:
        // - The block is empty and has a capacity of `plan.len`.
        // - `plan.len` was measured on these pieces, which have not been changed since: no method of
        //   a plan gives out a unique reference to them.
        unsafe { block.put_unchecked(&plan.pieces, plan.len) };
        Ok(Self(block))
    }
}

impl<const ALIGN: usize> Sink for Floor<ALIGN> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.0.write(bytes)
    }

    #[inline]
    fn fill(&mut self, len: usize, value: u8) -> Result<(), Full> {
        self.0.fill(len, value)
    }
}

impl<const ALIGN: usize> Buffer for Floor<ALIGN> {
    #[inline]
    fn try_with_capacity(capacity: usize) -> Result<Self, CapacityError> {
        Block::uninit(capacity).map(Self)
    }

    #[inline]
    fn as_slice(&self) -> &[u8] {
        self.0.as_slice()
    }
}
