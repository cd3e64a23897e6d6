//! Buffers: strategies for getting memory and writing it once.
//!
//! A [`Buffer`] is made with a fixed *capacity* and takes writes at its end. The bytes `0..len` are
//! its *initialized prefix*, the only ones that can be read. What a strategy does with the memory
//! behind it (zero it, reuse it, grow it) is its own business; what can be observed is the same for
//! all of them, and `tests/contract.rs` holds each to it:
//!
//! - `try_with_capacity` fails when capacity and alignment do not fit an allocation, or the allocator has no memory
//!   left, and does not call the allocator for capacity 0.
//! - The initialized prefix starts at an address that is a multiple of the strategy's alignment, which is the one
//!   asked for, but for a published vector (`peers`) that has its own.
//! - `write` and `fill` append, or fail with [`Full`] and append nothing.
//! - `put` appends [`Pieces`], or fails with [`Full`] and appends at most some leading pieces.
//! - A buffer never holds more than the capacity that was asked for.

mod aligned_memory;
mod block;
#[cfg(feature = "peers")]
mod bump;
mod floor;
mod growing;
mod memset;
#[cfg(feature = "peers")]
pub mod peers;
mod pieces;
mod pooled;
mod uninit;
mod zeroed;
mod zeroed_skip;
mod zeros;

use std::alloc::{Layout, handle_alloc_error};
use std::fmt;

pub use aligned_memory::{AlignedMemory, Pod};
#[cfg(feature = "peers")]
pub use bump::BumpArena;
pub use floor::{Floor, Plan};
pub use growing::Growing;
pub use memset::Memset;
pub use pieces::{Chunks, Each, Either, Fill, Pieces};
pub use pooled::Pooled;
pub use uninit::Uninit;
pub use zeroed::Zeroed;
pub use zeroed_skip::ZeroedSkip;
pub use zeros::{AllocMemset, AllocZeroed, VecResize, VecZeroed, Zeros};

/// Something that takes bytes at its end.
pub trait Sink {
    /// Appends `bytes`.
    ///
    /// # Errors
    /// [`Full`] if they do not fit; nothing is appended then.
    fn write(&mut self, bytes: &[u8]) -> Result<(), Full>;

    /// Appends `len` bytes of `value`.
    ///
    /// # Errors
    /// [`Full`] if they do not fit; nothing is appended then.
    fn fill(&mut self, len: usize, value: u8) -> Result<(), Full>;
}

/// A buffer of fixed capacity that is written from its start to its end.
///
/// ```
/// use writeonce::buffer::{AlignedMemory, Buffer, Sink};
///
/// let mut buffer = AlignedMemory::<16>::try_with_capacity(8)?;
/// buffer.write(b"abc")?;
/// buffer.fill(5, 0)?;
/// assert_eq!(Buffer::as_slice(&buffer), b"abc\0\0\0\0\0");
/// assert!(buffer.write(b"d").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Buffer: Sink + Sized {
    /// Makes an empty buffer that can take `capacity` bytes.
    ///
    /// # Errors
    /// [`CapacityError`] if no allocation can be that large, or the allocator has no memory left. A buffer made of a
    /// type that ends the program then, as `Vec` does, can only do as that does.
    fn try_with_capacity(capacity: usize) -> Result<Self, CapacityError>;

    /// The initialized prefix.
    fn as_slice(&self) -> &[u8];

    /// Appends `pieces`, one after another.
    ///
    /// # Errors
    /// [`Full`] if they do not all fit; some leading ones may have been appended.
    #[inline]
    fn put(&mut self, pieces: impl Pieces) -> Result<(), Full> {
        pieces.write_to(self)
    }
}

/// A write beyond the capacity of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("write beyond the capacity of the buffer")
    }
}

impl std::error::Error for Full {}

/// Why there is no memory for a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapacityError {
    /// No allocation can be that large: with its alignment it exceeds `isize::MAX` bytes.
    TooLarge {
        /// The capacity asked for, in bytes.
        capacity: usize,
        /// The alignment, in bytes.
        align: usize,
    },
    /// The allocator has no memory left for a block of this layout.
    OutOfMemory(Layout),
}

impl CapacityError {
    /// What becomes of it where no error can be returned: the end of the program if memory is missing, as for `Vec`,
    /// and a panic otherwise.
    #[cold]
    fn raise(self) -> ! {
        match self {
            Self::TooLarge { .. } => panic!("{self}"),
            Self::OutOfMemory(layout) => handle_alloc_error(layout),
        }
    }
}

impl fmt::Display for CapacityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { capacity, align } => {
                write!(f, "no allocation can hold {capacity} bytes at alignment {align}")
            }
            Self::OutOfMemory(layout) => {
                let (size, align) = (layout.size(), layout.align());
                write!(f, "no memory is left for {size} bytes at alignment {align}")
            }
        }
    }
}

impl std::error::Error for CapacityError {}

/// The layout of a block that holds `capacity` bytes aligned to `align`: the one computation of
/// sizes and alignments. `align` is a power of two.
#[inline]
fn layout(capacity: usize, align: usize) -> Result<Layout, CapacityError> {
    Layout::from_size_align(capacity, align)
        .map_err(|_| CapacityError::TooLarge { capacity, align })
}

/// The size of a byte vector in which `capacity` bytes can be aligned to `ALIGN` by leaving out
/// some leading ones. A vector of no capacity needs none.
#[inline]
fn over_allocated<const ALIGN: usize>(capacity: usize) -> Result<usize, CapacityError> {
    if capacity == 0 {
        return Ok(0);
    }
    let error = CapacityError::TooLarge { capacity, align: ALIGN };
    let size = capacity.checked_add(ALIGN).ok_or(error)?;
    layout(size, 1).map(|layout| layout.size()).map_err(|_| error)
}

/// An empty slice at an aligned address, for buffers that own no memory.
#[inline]
fn empty<const ALIGN: usize>() -> &'static [u8] {
    let start = std::ptr::without_provenance(ALIGN);
    // SAFETY:
    // - `start` is not null (an alignment is at least 1) and any address is aligned for `u8`.
    // - The slice has length 0, so nothing is read through it.
    unsafe { std::slice::from_raw_parts(start, 0) }
}
