//! Published buffers behind the trait [`Buffer`], to compare with.
//!
//! Most of them grow when they are full, and may take more memory than they are asked for. A [`Peer`] keeps to the
//! contract all the same: it remembers its capacity and asks once for each group of pieces whether they fit. What
//! follows is the type's own best way to append, with whatever that asks for itself.
//!
//! The published types are made as they are where they are used, by a constructor that cannot fail: an allocator that
//! has no memory left ends the program.

use std::io::{self, Write};

use aligned_vec::{AVec, ConstAlign};
use bytes::{BufMut, BytesMut};
use rkyv::util::AlignedVec;
use solana_sbpf::aligned_memory::AlignedMemory;

use super::pieces::Count;
use super::{Buffer, CapacityError, Fill, Full, Pieces, Sink, empty, layout};

/// `Vec<u8>`, at its own alignment: 1, whatever that of the others is.
pub type VecPeer = Peer<Vec<u8>>;

/// `bytes::BytesMut`, at the alignment of a vector: 1.
pub type BytesMutPeer = Peer<BytesMut>;

/// `aligned_vec::AVec`.
pub type AVecPeer<const ALIGN: usize> = Peer<AVec<u8, ConstAlign<ALIGN>>>;

/// `rkyv::util::AlignedVec`.
pub type RkyvPeer<const ALIGN: usize> = Peer<AlignedVec<ALIGN>>;

/// `solana_sbpf::aligned_memory::AlignedMemory` by its unchecked writes.
pub type SbpfPeer<const ALIGN: usize> = Peer<AlignedMemory<ALIGN>>;

/// `solana_sbpf::aligned_memory::AlignedMemory` by its safe ones: `std::io::Write` and `fill_write`.
pub type SbpfWritePeer<const ALIGN: usize> = ByWrite<AlignedMemory<ALIGN>>;

/// The [`AlignedMemory`](super::AlignedMemory) of this crate in the same way.
pub type AlignedMemoryWrite<const ALIGN: usize> = ByWrite<super::AlignedMemory<ALIGN>>;

/// A published buffer of fixed capacity.
pub struct Peer<P> {
    published: P,
    capacity: usize,
}

/// A published buffer: how it is made and what it holds.
pub trait Published: Sized {
    /// The alignment that it keeps, in bytes.
    const ALIGN: usize;

    /// An empty one for `capacity` bytes, which an allocation at [`ALIGN`](Self::ALIGN) can have.
    ///
    /// # Errors
    /// [`CapacityError`] if the allocator has no memory left and that does not end the program.
    fn make(capacity: usize) -> Result<Self, CapacityError>;

    /// What it holds.
    fn bytes(&self) -> &[u8];
}

/// How it appends what there is room for.
pub trait Append: Published {
    /// Appends `bytes`.
    ///
    /// # Safety
    /// With them it holds at most the capacity that it was made for.
    unsafe fn append(&mut self, bytes: &[u8]);

    /// Appends `len` bytes of `value`.
    ///
    /// # Safety
    /// With them it holds at most the capacity that it was made for.
    unsafe fn append_fill(&mut self, len: usize, value: u8);
}

/// How it appends by asking for room each time, beside `std::io::Write`.
pub trait FillWrite: Published + Write {
    /// Appends `len` bytes of `value`, or fails and appends nothing.
    ///
    /// # Errors
    /// If there is no room for them.
    fn fill_write(&mut self, len: usize, value: u8) -> io::Result<()>;
}

impl<P: Append> Buffer for Peer<P> {
    #[inline]
    fn try_with_capacity(capacity: usize) -> Result<Self, CapacityError> {
        layout(capacity, P::ALIGN)?;
        Ok(Self { published: P::make(capacity)?, capacity })
    }

    #[inline]
    fn as_slice(&self) -> &[u8] {
        self.published.bytes()
    }

    #[inline]
    fn put(&mut self, pieces: impl Pieces) -> Result<(), Full> {
        if Count::of(&pieces)? > self.capacity - self.published.bytes().len() {
            return Err(Full);
        }
        pieces.write_to(&mut Fitting(&mut self.published))
    }
}

impl<P: Append> Sink for Peer<P> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.put(bytes)
    }

    #[inline]
    fn fill(&mut self, len: usize, value: u8) -> Result<(), Full> {
        self.put(Fill { len, value })
    }
}

/// Takes pieces for which there is room: those that [`Peer::put`] has measured.
struct Fitting<'a, P>(&'a mut P);

impl<P: Append> Sink for Fitting<'_, P> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<(), Full> {
        // SAFETY: by the contract of `Pieces`, all that comes here together is what was measured, and that fits.
        unsafe { self.0.append(bytes) };
        Ok(())
    }

    #[inline]
    fn fill(&mut self, len: usize, value: u8) -> Result<(), Full> {
        // SAFETY: as in `write`.
        unsafe { self.0.append_fill(len, value) };
        Ok(())
    }
}

/// Says how a published buffer is made and what it holds, in an expression each.
macro_rules! published {
    ($type:ty $(, $param:ident)?; $align:expr; |$capacity:ident| $made:expr; |$it:ident| $bytes:expr) => {
        impl$(<const $param: usize>)? Published for $type {
            const ALIGN: usize = $align;

            #[inline]
            fn make($capacity: usize) -> Result<Self, CapacityError> {
                $made
            }

            #[inline]
            fn bytes(&self) -> &[u8] {
                let $it = self;
                $bytes
            }
        }
    };
}

published!(Vec<u8>; 1; |capacity| Ok(Self::with_capacity(capacity)); |it| it);
published!(BytesMut; 1; |capacity| Ok(Self::with_capacity(capacity)); |it| it);
published!(AVec<u8, ConstAlign<A>>, A; A; |capacity| Ok(Self::with_capacity(A, capacity)); |it| it);
// Without capacity its own slice is not aligned.
published!(AlignedVec<A>, A; A; |capacity| Ok(Self::with_capacity(capacity));
    |it| if it.is_empty() { empty::<A>() } else { it });
published!(AlignedMemory<A>, A; A; |capacity| Ok(Self::with_capacity(capacity)); |it| it.as_slice());
published!(super::AlignedMemory<A>, A; A; |capacity| Buffer::try_with_capacity(capacity); |it| it.as_slice());

/// Says that a published buffer appends as a vector does.
macro_rules! appends_like_a_vector {
    ($type:ty $(, $param:ident)?) => {
        impl$(<const $param: usize>)? Append for $type {
            #[inline]
            unsafe fn append(&mut self, bytes: &[u8]) {
                self.extend_from_slice(bytes);
            }

            #[inline]
            unsafe fn append_fill(&mut self, len: usize, value: u8) {
                self.resize(self.len() + len, value);
            }
        }
    };
}

appends_like_a_vector!(Vec<u8>);
appends_like_a_vector!(AVec<u8, ConstAlign<A>>, A);
appends_like_a_vector!(AlignedVec<A>, A);

impl Append for BytesMut {
    #[inline]
    unsafe fn append(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    #[inline]
    unsafe fn append_fill(&mut self, len: usize, value: u8) {
        self.put_bytes(value, len);
    }
}

impl<const ALIGN: usize> Append for AlignedMemory<ALIGN> {
    #[inline]
    unsafe fn append(&mut self, bytes: &[u8]) {
        // SAFETY: the caller says that there is room.
        unsafe { self.write_all_unchecked(bytes) };
    }

    #[inline]
    unsafe fn append_fill(&mut self, len: usize, value: u8) {
        // There is no unchecked one.
        let written = self.fill_write(len, value);
        debug_assert!(written.is_ok(), "the caller says that there is room");
    }
}

/// A buffer by its safe writes alone, `std::io::Write` and `fill_write`, each of which asks for room: for those who
/// write no unsafe code and know no groups of fields.
pub struct ByWrite<M>(M);

impl<M: FillWrite> Buffer for ByWrite<M> {
    #[inline]
    fn try_with_capacity(capacity: usize) -> Result<Self, CapacityError> {
        layout(capacity, M::ALIGN)?;
        M::make(capacity).map(Self)
    }

    #[inline]
    fn as_slice(&self) -> &[u8] {
        self.0.bytes()
    }
}

impl<M: FillWrite> Sink for ByWrite<M> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.0.write_all(bytes).map_err(|_| Full)
    }

    #[inline]
    fn fill(&mut self, len: usize, value: u8) -> Result<(), Full> {
        self.0.fill_write(len, value).map_err(|_| Full)
    }
}

impl<const ALIGN: usize> FillWrite for AlignedMemory<ALIGN> {
    #[inline]
    fn fill_write(&mut self, len: usize, value: u8) -> io::Result<()> {
        self.fill_write(len, value)
    }
}

impl<const ALIGN: usize> FillWrite for super::AlignedMemory<ALIGN> {
    #[inline]
    fn fill_write(&mut self, len: usize, value: u8) -> io::Result<()> {
        self.fill_write(len, value)
    }
}
