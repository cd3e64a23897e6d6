//! Ways to get zero bytes: what the `zeroed` fill compares.

use super::block::Block;
use super::{CapacityError, layout};

/// A buffer of zero bytes.
///
/// An allocator that has no memory left is an error to the ways of this crate's own, [`AllocZeroed`] and
/// [`AllocMemset`]; [`VecZeroed`] and [`VecResize`] are what `Vec` does, which ends the program.
pub trait Zeros: Sized {
    /// Makes a buffer of `len` zero bytes.
    ///
    /// # Errors
    /// [`CapacityError`] if no allocation can be that large, or the allocator has no memory left.
    fn try_zeros(len: usize) -> Result<Self, CapacityError>;

    /// All bytes.
    fn as_slice_mut(&mut self) -> &mut [u8];
}

/// The allocator zeroes: calloc, where the alignment allows it.
pub struct AllocZeroed<const ALIGN: usize>(Block<ALIGN>);

/// The allocator does not zero; a memset of the whole block follows.
pub struct AllocMemset<const ALIGN: usize>(Block<ALIGN>);

/// `vec![0; len]`.
pub struct VecZeroed(Vec<u8>);

/// `Vec::with_capacity(len)`, then `resize(len, 0)`.
pub struct VecResize(Vec<u8>);

impl<const ALIGN: usize> Zeros for AllocZeroed<ALIGN> {
    #[inline]
    fn try_zeros(len: usize) -> Result<Self, CapacityError> {
        let mut block = Block::zeroed(len)?;
        // SAFETY: the block has `len` bytes, and all are zeroed.
        unsafe { block.advance(len) };
        Ok(Self(block))
    }

    #[inline]
    fn as_slice_mut(&mut self) -> &mut [u8] {
        self.0.as_slice_mut()
    }
}

impl<const ALIGN: usize> Zeros for AllocMemset<ALIGN> {
    #[inline]
    fn try_zeros(len: usize) -> Result<Self, CapacityError> {
        let mut block = Block::uninit(len)?;
        block.set_zero();
        // SAFETY: the block has `len` bytes, and all have been set to zero.
        unsafe { block.advance(len) };
        Ok(Self(block))
    }

    #[inline]
    fn as_slice_mut(&mut self) -> &mut [u8] {
        self.0.as_slice_mut()
    }
}

impl Zeros for VecZeroed {
    #[inline]
    fn try_zeros(len: usize) -> Result<Self, CapacityError> {
        layout(len, 1)?;
        Ok(Self(vec![0; len]))
    }

    #[inline]
    fn as_slice_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Zeros for VecResize {
    #[inline]
    #[allow(clippy::slow_vector_initialization, reason = "this is what is measured")]
    fn try_zeros(len: usize) -> Result<Self, CapacityError> {
        layout(len, 1)?;
        let mut bytes = Vec::with_capacity(len);
        bytes.resize(len, 0);
        Ok(Self(bytes))
    }

    #[inline]
    fn as_slice_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}
