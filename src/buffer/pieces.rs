//! What is written as one: a piece, or a group of pieces whose length is known before it is written.
//!
//! A writer that checks its capacity for every field pays for it where fields are small. [`Pieces`]
//! move the check to the group: a tuple of fields is measured first (mostly at compile time), checked
//! once, then copied without further questions. It stays safe, because what was measured is what is
//! written.
//!
//! ```
//! use writeonce::buffer::{AlignedMemory, Buffer, Fill};
//!
//! let mut buffer = AlignedMemory::<16>::try_with_capacity(16)?;
//! buffer.put((0xffu8, [1u8, 2, 3], 7u64, Fill::zeros(4)))?;
//! assert_eq!(Buffer::as_slice(&buffer), [0xff, 1, 2, 3, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Full, Sink};

/// Bytes to be written as one. Integers are little-endian.
///
/// # Safety
/// As long as `self` is not changed through a unique reference, each call of `write_to` passes the
/// same number of bytes to its sink in total, unless the sink returns [`Full`]. Unsafe code relies on
/// it: the pieces are measured by one call and written by another.
pub unsafe trait Pieces {
    /// Passes the pieces to `sink`, in order.
    ///
    /// # Errors
    /// [`Full`] as soon as the sink returns it.
    fn write_to(&self, sink: &mut impl Sink) -> Result<(), Full>;
}

/// `len` bytes of `value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fill {
    /// Length in bytes.
    pub len: usize,
    /// The value of each byte.
    pub value: u8,
}

impl Fill {
    /// `len` zero bytes.
    #[must_use]
    pub const fn zeros(len: usize) -> Self {
        Self { len, value: 0 }
    }
}

/// One of two groups of pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Either<A, B> {
    /// The first.
    A(A),
    /// The second.
    B(B),
}

/// The elements of a vector, one after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Each<P>(pub Vec<P>);

/// A byte string that is written as pieces of `N` bytes, and the rest as a last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunks<'a, const N: usize>(pub &'a [u8]);

// SAFETY: one write of a length that is part of the value.
unsafe impl Pieces for [u8] {
    #[inline]
    fn write_to(&self, sink: &mut impl Sink) -> Result<(), Full> {
        sink.write(self)
    }
}

// SAFETY: one write of a length that is part of the type.
unsafe impl<const N: usize> Pieces for [u8; N] {
    #[inline]
    fn write_to(&self, sink: &mut impl Sink) -> Result<(), Full> {
        sink.write(self)
    }
}

// SAFETY: one write of a length that is part of the type.
unsafe impl Pieces for u8 {
    #[inline]
    fn write_to(&self, sink: &mut impl Sink) -> Result<(), Full> {
        sink.write(&[*self])
    }
}

// SAFETY: one write of a length that is part of the type.
unsafe impl Pieces for u64 {
    #[inline]
    fn write_to(&self, sink: &mut impl Sink) -> Result<(), Full> {
        sink.write(&self.to_le_bytes())
    }
}

// SAFETY: one write of a length that is part of the type.
unsafe impl Pieces for bool {
    /// One byte, 0 or 1.
    #[inline]
    fn write_to(&self, sink: &mut impl Sink) -> Result<(), Full> {
        u8::from(*self).write_to(sink)
    }
}

// SAFETY: one fill of a length that is part of the value.
unsafe impl Pieces for Fill {
    #[inline]
    fn write_to(&self, sink: &mut impl Sink) -> Result<(), Full> {
        sink.fill(self.len, self.value)
    }
}

// SAFETY: which alternative it is cannot change behind a shared reference, and each keeps the contract.
unsafe impl<A: Pieces, B: Pieces> Pieces for Either<A, B> {
    #[inline]
    fn write_to(&self, sink: &mut impl Sink) -> Result<(), Full> {
        match self {
            Self::A(pieces) => pieces.write_to(sink),
            Self::B(pieces) => pieces.write_to(sink),
        }
    }
}

// SAFETY: the elements cannot change behind a shared reference, and each keeps the contract.
unsafe impl<P: Pieces> Pieces for Each<P> {
    #[inline]
    fn write_to(&self, sink: &mut impl Sink) -> Result<(), Full> {
        self.0.iter().try_for_each(|pieces| pieces.write_to(sink))
    }
}

// SAFETY: the writes add up to the length of the slice, which cannot change behind a shared reference.
unsafe impl<const N: usize> Pieces for Chunks<'_, N> {
    #[inline]
    fn write_to(&self, sink: &mut impl Sink) -> Result<(), Full> {
        let (chunks, rest) = self.0.as_chunks::<N>();
        for chunk in chunks {
            sink.write(chunk)?;
            // Without this, a sink that checks nothing would get one copy of the whole: it costs no
            // instruction, but the compiler must take it that memory is used between two pieces.
            std::hint::black_box(());
        }
        sink.write(rest)
    }
}

// SAFETY: a shared reference adds nothing to the contract of what it refers to.
unsafe impl<P: Pieces + ?Sized> Pieces for &P {
    #[inline]
    fn write_to(&self, sink: &mut impl Sink) -> Result<(), Full> {
        (**self).write_to(sink)
    }
}

macro_rules! tuples {
    ($($name:ident)*) => {
        // SAFETY: the elements are visited once each, and each keeps the contract.
        unsafe impl<$($name: Pieces),*> Pieces for ($($name,)*) {
            #[inline]
            #[allow(non_snake_case, reason = "the type parameters name the elements, too")]
            fn write_to(&self, sink: &mut impl Sink) -> Result<(), Full> {
                let ($($name,)*) = self;
                $($name.write_to(sink)?;)*
                Ok(())
            }
        }
    };
}

tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
tuples!(A B C D E F G H I);
tuples!(A B C D E F G H I J);
tuples!(A B C D E F G H I J K);
tuples!(A B C D E F G H I J K L);

/// A sink that measures: the number of bytes it was given. Wide enough for any number of slices, so that
/// no addition needs a check.
pub(super) struct Count(u128);

impl Count {
    /// The total length of `pieces`.
    ///
    /// # Errors
    /// [`Full`] if it exceeds `usize::MAX`.
    #[inline]
    pub(super) fn of(pieces: &impl Pieces) -> Result<usize, Full> {
        let mut count = Self(0);
        pieces.write_to(&mut count)?;
        usize::try_from(count.0).map_err(|_| Full)
    }
}

impl Sink for Count {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.fill(bytes.len(), 0)
    }

    #[inline]
    fn fill(&mut self, len: usize, _: u8) -> Result<(), Full> {
        self.0 += len as u128;
        Ok(())
    }
}
