//! The memory behind the strategies that allocate for themselves.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use super::pieces::Count;
use super::{CapacityError, Full, Pieces, Sink, layout};

/// Memory from one allocation, and how much of it is initialized.
///
/// Invariants, on which every `unsafe` block below rests:
/// - `capacity` is the distance from `start` to `end` plus `room`.
/// - `ALIGN` is a power of two and `layout(capacity, ALIGN)` is a valid layout.
/// - If the capacity is not 0, `start` is a live allocation of exactly that layout, owned by this block.
/// - If the capacity is 0, `start` is a dangling pointer aligned to `ALIGN`.
/// - The bytes from `start` to `end` are initialized.
pub(super) struct Block<const ALIGN: usize> {
    start: NonNull<u8>,
    capacity: usize,
    /// Where the next write goes.
    end: NonNull<u8>,
    /// Bytes left: what a write asks for first, so it is kept rather than computed.
    room: usize,
}

// SAFETY: a block owns its memory, which is plain bytes, as `Vec<u8>` does.
unsafe impl<const ALIGN: usize> Send for Block<ALIGN> {}
// SAFETY: through a shared reference a block can only be read.
unsafe impl<const ALIGN: usize> Sync for Block<ALIGN> {}

impl<const ALIGN: usize> Block<ALIGN> {
    const ALIGN_IS_POWER_OF_TWO: () = assert!(ALIGN.is_power_of_two());

    /// A block of no memory.
    #[inline]
    pub(super) const fn empty() -> Self {
        const { Self::ALIGN_IS_POWER_OF_TWO };
        let start = std::ptr::without_provenance_mut(ALIGN);
        let start = NonNull::new(start).expect("an alignment is not 0");
        Self { start, capacity: 0, end: start, room: 0 }
    }

    /// A block of `capacity` uninitialized bytes; `len` is 0.
    #[inline]
    pub(super) fn uninit(capacity: usize) -> Result<Self, CapacityError> {
        Self::allocated(capacity, |layout| {
            // SAFETY: `allocated` calls this with a size that is not 0.
            unsafe { alloc(layout) }
        })
    }

    /// A block of `capacity` bytes that the allocator has zeroed; `len` is 0.
    #[inline]
    pub(super) fn zeroed(capacity: usize) -> Result<Self, CapacityError> {
        Self::allocated(capacity, |layout| {
            // SAFETY: `allocated` calls this with a size that is not 0.
            unsafe { alloc_zeroed(layout) }
        })
    }

    #[inline]
    fn allocated(
        capacity: usize,
        allocate: impl FnOnce(Layout) -> *mut u8,
    ) -> Result<Self, CapacityError> {
        const { Self::ALIGN_IS_POWER_OF_TWO };
        let layout = layout(capacity, ALIGN)?;
        if capacity == 0 {
            return Ok(Self::empty());
        }
        let start = NonNull::new(allocate(layout)).ok_or_else(|| out_of_memory(layout))?;
        Ok(Self { start, capacity, end: start, room: capacity })
    }

    /// The layout that the memory was allocated with.
    #[inline]
    fn layout(&self) -> Layout {
        // SAFETY: by the invariants, this layout is valid.
        unsafe { Layout::from_size_align_unchecked(self.capacity, ALIGN) }
    }

    /// Moves the contents to a block of `capacity` bytes, which is at least the capacity of now
    /// and more than 0. If that fails, nothing has changed.
    pub(super) fn grow(&mut self, capacity: usize) -> Result<(), CapacityError> {
        assert!(capacity > 0 && capacity >= self.capacity);
        if self.capacity == 0 {
            *self = Self::uninit(capacity)?;
            return Ok(());
        }
        let new = layout(capacity, ALIGN)?;
        let len = self.len();
        // SAFETY:
        // - `start` is a live allocation of `self.layout()`.
        // - `new.size()` is not 0 and, rounded up to `ALIGN`, at most `isize::MAX`.
        let start = unsafe { realloc(self.start.as_ptr(), self.layout(), new.size()) };
        self.start = NonNull::new(start).ok_or_else(|| out_of_memory(new))?;
        // SAFETY: the block has grown, so `len` is within it still.
        self.end = unsafe { self.start.add(len) };
        self.room = capacity - len;
        self.capacity = capacity;
        Ok(())
    }

    /// Sets all `capacity` bytes to zero; `len` stays.
    ///
    /// The pointer is hidden from the compiler twice: before, or it folds an allocation and this into
    /// `alloc_zeroed`; after, or it drops this where one write covers the whole block.
    #[inline]
    pub(super) fn set_zero(&mut self) {
        let start = std::hint::black_box(self.start);
        // SAFETY: the block owns `capacity` bytes at `start`. (`black_box` returns its argument.)
        unsafe { start.write_bytes(0, self.capacity) };
        std::hint::black_box(start);
    }

    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        // SAFETY: both point into the same allocation or one past it, `end` not before `start`.
        unsafe { self.end.offset_from_unsigned(self.start) }
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[u8] {
        // SAFETY: the bytes `0..len` are initialized and live as long as the block.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len()) }
    }

    #[inline]
    pub(super) fn as_slice_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`; `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len()) }
    }

    /// The first byte that is not initialized.
    #[inline]
    pub(super) fn end(&mut self) -> *mut u8 {
        self.end.as_ptr()
    }

    /// # Errors
    /// [`Full`] if fewer than `len` bytes are left.
    #[inline]
    pub(super) fn check_room(&self, len: usize) -> Result<(), Full> {
        if len > self.room { Err(Full) } else { Ok(()) }
    }

    /// Counts `len` more bytes as initialized.
    ///
    /// # Safety
    /// - At least `len` bytes are left: `check_room(len)` is `Ok`.
    /// - The next `len` bytes are initialized.
    #[inline]
    pub(super) unsafe fn advance(&mut self, len: usize) {
        debug_assert!(self.check_room(len).is_ok(), "advance beyond the capacity");
        // SAFETY: the caller says that `len` bytes are left.
        self.end = unsafe { self.end.add(len) };
        self.room -= len;
    }

    /// Appends pieces with one check for all of them.
    #[inline]
    pub(super) fn put(&mut self, pieces: &impl Pieces) -> Result<(), Full> {
        let len = Count::of(pieces)?;
        self.check_room(len)?;
        // SAFETY: there is room for `len` bytes, the total length of the pieces.
        unsafe { self.put_unchecked(pieces, len) };
        Ok(())
    }

    /// Appends pieces.
    ///
    /// # Safety
    /// - At least `len` bytes are left: `check_room(len)` is `Ok`.
    /// - `len` is the total length of `pieces`: `Count::of(pieces)`.
    #[inline]
    pub(super) unsafe fn put_unchecked(&mut self, pieces: &impl Pieces, len: usize) {
        // SAFETY: the caller says that there is room for the pieces, and they cannot borrow from a
        // block that is borrowed mutably.
        let end = unsafe { Raw::write(self.end(), pieces) };
        // SAFETY: there was room for `len` bytes, and the pieces have just filled them.
        unsafe { self.advance(len) };
        debug_assert_eq!(end, self.end(), "the pieces changed between two calls");
    }

    /// Makes all contents count as not initialized.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.room = self.capacity;
        self.end = self.start;
    }
}

/// The error for a block of that layout, away from what is measured.
#[cold]
#[inline(never)]
fn out_of_memory(layout: Layout) -> CapacityError {
    CapacityError::OutOfMemory(layout)
}

impl Block<1> {
    /// The same as a vector: the one way to make a vector that returns an error when the allocator has no memory left.
    #[inline]
    pub(super) fn into_vec(self) -> Vec<u8> {
        let block = ManuallyDrop::new(self);
        // SAFETY: by the invariants
        // - `start` is an allocation of `capacity` bytes at the alignment of `u8`, or dangling if there are none.
        // - The first `len` of them are initialized.
        // - They are the vector's alone from here on: the block is not dropped.
        unsafe { Vec::from_raw_parts(block.start.as_ptr(), block.len(), block.capacity) }
    }
}

impl<const ALIGN: usize> Default for Block<ALIGN> {
    #[inline]
    fn default() -> Self {
        Self::empty()
    }
}

impl<const ALIGN: usize> Sink for Block<ALIGN> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.put(&bytes)
    }

    #[inline]
    fn fill(&mut self, len: usize, value: u8) -> Result<(), Full> {
        self.put(&super::Fill { len, value })
    }
}

impl<const ALIGN: usize> Drop for Block<ALIGN> {
    #[inline]
    fn drop(&mut self) {
        if self.capacity > 0 {
            // SAFETY: `start` is a live allocation of `self.layout()` that nobody else owns.
            unsafe { dealloc(self.start.as_ptr(), self.layout()) }
        }
    }
}

/// A sink that keeps nothing but a pointer and checks nothing.
pub(super) struct Raw(*mut u8);

impl Raw {
    /// Writes `pieces` to `start` and returns the first byte behind them.
    ///
    /// # Safety
    /// - `start` is valid for writes of the total length of `pieces`.
    /// - `pieces` do not borrow from that memory.
    #[inline]
    pub(super) unsafe fn write(start: *mut u8, pieces: &impl Pieces) -> *mut u8 {
        let mut raw = Self(start);
        let written = pieces.write_to(&mut raw);
        debug_assert!(written.is_ok(), "a raw sink is never full");
        raw.0
    }
}

impl Sink for Raw {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<(), Full> {
        // SAFETY: by the contract of `Raw::write` and of `Pieces`, the sum of all lengths seen here
        // is within the memory at the first pointer, and `bytes` do not overlap it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0, bytes.len()) };
        // SAFETY: as above; the result is inside that memory or one past its end.
        self.0 = unsafe { self.0.add(bytes.len()) };
        Ok(())
    }

    #[inline]
    fn fill(&mut self, len: usize, value: u8) -> Result<(), Full> {
        // SAFETY: as in `write`.
        unsafe { self.0.write_bytes(value, len) };
        // SAFETY: as in `write`.
        self.0 = unsafe { self.0.add(len) };
        Ok(())
    }
}
