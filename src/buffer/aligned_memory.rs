//! The buffer this suite argues for: one allocation of one layout, every byte written once.

use std::fmt;
use std::io;

use super::block::Block;
use super::{Buffer, CapacityError, Full, Pieces, Sink};

/// Types that are written as their bytes in memory: integers.
///
/// # Safety
/// Every byte of every value is initialized: the type has no padding, no `MaybeUninit`, and no union with a field shorter
/// than another. What [`write_unchecked`](AlignedMemory::write_unchecked) has written is read as bytes by safe code.
///
/// ```
/// # use writeonce::buffer::Pod;
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Pair(u32, u32);
/// // SAFETY: two integers of the same width have nothing between or behind them.
/// unsafe impl Pod for Pair {}
/// ```
///
/// Safe code cannot promise this for a type that has padding:
///
/// ```compile_fail,E0200
/// # use writeonce::buffer::Pod;
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Padded(u8, u64);
/// impl Pod for Padded {}
/// ```
pub unsafe trait Pod: Copy {}

macro_rules! pod {
    // SAFETY: all bytes of an integer are its value.
    ($($integer:ty)*) => { $(unsafe impl Pod for $integer {})* };
}

pod!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

/// A byte buffer of fixed capacity at an address that is a multiple of `ALIGN`, a power of two.
///
/// It takes its memory from a single allocation of `capacity` bytes, uninitialized unless asked
/// otherwise, and never moves it. Names and meanings are those of `solana_sbpf::aligned_memory`
/// 0.26, for which it can be dropped in: `tests/drop_in.rs` runs the same calls against both. There
/// are three differences: a clone keeps the room that is left, buffers of the same bytes are equal, and to
/// implement [`Pod`] is a promise, `unsafe impl`.
/// [`put`](Buffer::put) writes a group of fields with one check; it is safe and costs what the
/// unchecked writes cost.
///
/// An allocator that has no memory left ends the program, as it does for `Vec`, but for
/// [`try_with_capacity`](Buffer::try_with_capacity), to which it is an error.
///
/// ```
/// use writeonce::buffer::AlignedMemory;
///
/// let mut memory = AlignedMemory::<16>::with_capacity(24);
/// memory.fill_write(8, 0xaa)?;
/// std::io::Write::write_all(&mut memory, b"0123456789abcdef")?;
/// assert_eq!(memory.len(), 24);
/// assert_eq!(memory.as_slice().as_ptr() as usize % 16, 0);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct AlignedMemory<const ALIGN: usize> {
    block: Block<ALIGN>,
    /// Bytes behind `len` are zero: a fill with 0 has nothing to write.
    zeroed: bool,
}

impl<const ALIGN: usize> AlignedMemory<ALIGN> {
    /// A buffer that holds a copy of `data` and has no room for more.
    ///
    /// # Panics
    /// If `data` is so long that no allocation can hold it at this alignment.
    #[must_use]
    #[inline]
    pub fn from_slice(data: &[u8]) -> Self {
        let mut memory = Self::with_capacity(data.len());
        let written = memory.block.write(data);
        debug_assert!(written.is_ok(), "the capacity is the length of the data");
        memory
    }

    /// An empty buffer of `max_len` uninitialized bytes.
    ///
    /// # Panics
    /// If no allocation can be that large; see [`Buffer::try_with_capacity`] for an error instead.
    #[must_use]
    #[inline]
    pub fn with_capacity(max_len: usize) -> Self {
        let block = Block::uninit(max_len).unwrap_or_else(|error| error.raise());
        Self { block, zeroed: false }
    }

    /// An empty buffer of `max_len` zeroed bytes, in which a fill with 0 writes nothing.
    ///
    /// # Panics
    /// If no allocation can be that large.
    #[must_use]
    #[inline]
    pub fn with_capacity_zeroed(max_len: usize) -> Self {
        let block = Block::zeroed(max_len).unwrap_or_else(|error| error.raise());
        Self { block, zeroed: true }
    }

    /// A full buffer of `max_len` zero bytes.
    ///
    /// # Panics
    /// If no allocation can be that large.
    #[must_use]
    #[inline]
    pub fn zero_filled(max_len: usize) -> Self {
        let mut memory = Self::with_capacity_zeroed(max_len);
        // SAFETY: all `max_len` bytes are there and have been zeroed.
        unsafe { memory.block.advance(max_len) };
        memory
    }

    /// Memory taken, in bytes: the allocation and this value itself.
    #[must_use]
    pub fn mem_size(&self) -> usize {
        self.capacity().saturating_add(size_of::<Self>())
    }

    /// Bytes allocated.
    #[must_use]
    #[inline]
    pub fn capacity(&self) -> usize {
        self.block.capacity()
    }

    /// Bytes initialized.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.block.len()
    }

    /// Whether no byte is initialized.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the next write goes: the same as [`len`](Self::len).
    #[must_use]
    #[inline]
    pub fn write_index(&self) -> usize {
        self.len()
    }

    /// The initialized prefix.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        self.block.as_slice()
    }

    /// The initialized prefix, to change in place.
    #[must_use]
    #[inline]
    pub fn as_slice_mut(&mut self) -> &mut [u8] {
        self.block.as_slice_mut()
    }

    /// Appends `num` bytes of `value`.
    ///
    /// # Errors
    /// `InvalidInput` if they do not fit; nothing is appended then.
    #[inline]
    pub fn fill_write(&mut self, num: usize, value: u8) -> io::Result<()> {
        Sink::fill(self, num, value).map_err(io::Error::from)
    }

    /// Appends the bytes that `value` has in memory.
    ///
    /// # Safety
    /// At least `size_of::<T>()` bytes are left.
    #[inline]
    pub unsafe fn write_unchecked<T: Pod>(&mut self, value: T) {
        let len = size_of::<T>();
        debug_assert!(self.block.check_room(len).is_ok(), "write beyond the capacity");
        // SAFETY: the caller says that there is room for a `T`; the write needs no alignment.
        unsafe { self.block.end().cast::<T>().write_unaligned(value) };
        // SAFETY: there was room, and a `Pod` has no uninitialized bytes.
        unsafe { self.block.advance(len) };
    }

    /// Appends `value`.
    ///
    /// # Safety
    /// At least `value.len()` bytes are left.
    #[inline]
    pub unsafe fn write_all_unchecked(&mut self, value: &[u8]) {
        let len = value.len();
        debug_assert!(self.block.check_room(len).is_ok(), "write beyond the capacity");
        // SAFETY: the caller says that there is room; `value` cannot borrow from a buffer that is
        // borrowed mutably.
        unsafe { std::ptr::copy_nonoverlapping(value.as_ptr(), self.block.end(), len) };
        // SAFETY: there was room, and the bytes have just been written.
        unsafe { self.block.advance(len) };
    }
}

impl<const ALIGN: usize> Sink for AlignedMemory<ALIGN> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.block.write(bytes)
    }

    #[inline]
    fn fill(&mut self, len: usize, value: u8) -> Result<(), Full> {
        if !(self.zeroed && value == 0) {
            return self.block.fill(len, value);
        }
        self.block.check_room(len)?;
        // SAFETY: there is room, and the bytes behind `len` were zeroed and never written since.
        unsafe { self.block.advance(len) };
        Ok(())
    }
}

impl<const ALIGN: usize> Buffer for AlignedMemory<ALIGN> {
    #[inline]
    fn try_with_capacity(capacity: usize) -> Result<Self, CapacityError> {
        Ok(Self { block: Block::uninit(capacity)?, zeroed: false })
    }

    #[inline]
    fn as_slice(&self) -> &[u8] {
        self.block.as_slice()
    }

    #[inline]
    fn put(&mut self, pieces: impl Pieces) -> Result<(), Full> {
        self.block.put(&pieces)
    }
}

impl<const ALIGN: usize> io::Write for AlignedMemory<ALIGN> {
    /// Appends all of `buf`.
    ///
    /// # Errors
    /// `InvalidInput` if it does not fit as a whole; nothing is appended then.
    #[inline]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.block.write(buf)?;
        Ok(buf.len())
    }

    #[inline]
    fn write_all(&mut self, buf: &[u8]) -> io::Result<()> {
        Ok(self.block.write(buf)?)
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl From<Full> for io::Error {
    #[cold]
    fn from(full: Full) -> Self {
        Self::new(io::ErrorKind::InvalidInput, full)
    }
}

impl<const ALIGN: usize> Clone for AlignedMemory<ALIGN> {
    /// A copy of the initialized prefix, aligned alike, with the same capacity.
    fn clone(&self) -> Self {
        let mut clone = if self.zeroed {
            Self::with_capacity_zeroed(self.capacity())
        } else {
            Self::with_capacity(self.capacity())
        };
        let written = clone.block.write(self.as_slice());
        debug_assert!(written.is_ok(), "the capacity is the same");
        clone
    }
}

impl<const ALIGN: usize> fmt::Debug for AlignedMemory<ALIGN> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlignedMemory")
            .field("align", &ALIGN)
            .field("capacity", &self.capacity())
            .field("bytes", &self.as_slice())
            .finish()
    }
}

/// Two buffers are equal when their initialized prefixes are.
impl<const ALIGN: usize> PartialEq for AlignedMemory<ALIGN> {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl<const ALIGN: usize> Eq for AlignedMemory<ALIGN> {}

impl<const ALIGN: usize, T: AsRef<[u8]>> From<T> for AlignedMemory<ALIGN> {
    fn from(bytes: T) -> Self {
        Self::from_slice(bytes.as_ref())
    }
}
