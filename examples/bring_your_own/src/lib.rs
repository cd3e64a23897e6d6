//! A buffer of one's own: a boxed slice of uninitialized bytes, without an alignment to choose.

use std::mem::MaybeUninit;

use writeonce::buffer::{Buffer, CapacityError, Full, Sink};

/// A boxed slice that is written from its start to its end.
#[derive(Debug)]
pub struct Boxed {
    bytes: Box<[MaybeUninit<u8>]>,
    len: usize,
}

impl Boxed {
    /// The next `len` bytes, which count as written from now on if `write` returns.
    #[inline]
    fn next(&mut self, len: usize) -> Result<&mut [MaybeUninit<u8>], Full> {
        let end = self.len.checked_add(len).ok_or(Full)?;
        let next = self.bytes.get_mut(self.len..end).ok_or(Full)?;
        self.len = end;
        Ok(next)
    }
}

impl Sink for Boxed {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.next(bytes.len())?.write_copy_of_slice(bytes);
        Ok(())
    }

    #[inline]
    fn fill(&mut self, len: usize, value: u8) -> Result<(), Full> {
        self.next(len)?.fill(MaybeUninit::new(value));
        Ok(())
    }
}

impl Buffer for Boxed {
    #[inline]
    fn try_with_capacity(capacity: usize) -> Result<Self, CapacityError> {
        if capacity > isize::MAX as usize {
            return Err(CapacityError::TooLarge { capacity, align: 1 });
        }
        Ok(Self { bytes: Box::new_uninit_slice(capacity), len: 0 })
    }

    #[inline]
    fn as_slice(&self) -> &[u8] {
        // SAFETY: `next` moves `len` only over bytes that `write` and `fill` then write.
        unsafe { self.bytes[..self.len].assume_init_ref() }
    }
}

/// Adler-32 of some bytes (RFC 1950): a routine that is not about buffers.
#[must_use]
pub fn adler32(bytes: &[u8]) -> u32 {
    let add = |(a, b): (u32, u32), &byte: &u8| {
        let a = (a + u32::from(byte)) % 65_521;
        (a, (b + a) % 65_521)
    };
    let (a, b) = bytes.iter().fold((1, 0), add);
    b << 16 | a
}
