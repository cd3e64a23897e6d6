//! The strategies by name.

#[cfg(feature = "peers")]
use crate::buffer::BumpArena;
#[cfg(feature = "peers")]
use crate::buffer::peers::{
    AVecPeer, AlignedMemoryWrite, BytesMutPeer, RkyvPeer, SbpfPeer, SbpfWritePeer, VecPeer,
};
use crate::buffer::{
    AlignedMemory, Buffer, Floor, Growing, Memset, Pooled, Uninit, Zeroed, ZeroedSkip,
};

/// How a buffer gets its memory and takes writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strategy {
    /// [`Zeroed`].
    Zeroed,
    /// [`Memset`].
    Memset,
    /// [`Uninit`].
    Uninit,
    /// [`ZeroedSkip`].
    ZeroedSkip,
    /// [`AlignedMemory`].
    AlignedMemory,
    /// [`Growing`].
    Growing,
    /// [`Pooled`].
    Pooled,
    /// [`Floor`].
    Floor,
    /// [`VecPeer`].
    #[cfg(feature = "peers")]
    Vec,
    /// [`BytesMutPeer`].
    #[cfg(feature = "peers")]
    BytesMut,
    /// [`AVecPeer`].
    #[cfg(feature = "peers")]
    AVec,
    /// [`RkyvPeer`].
    #[cfg(feature = "peers")]
    Rkyv,
    /// [`SbpfPeer`].
    #[cfg(feature = "peers")]
    Sbpf,
    /// [`SbpfWritePeer`].
    #[cfg(feature = "peers")]
    SbpfWrite,
    /// [`AlignedMemoryWrite`].
    #[cfg(feature = "peers")]
    AlignedMemoryWrite,
    /// [`BumpArena`].
    #[cfg(feature = "peers")]
    Bump,
}

impl Strategy {
    /// The strategies of this crate.
    pub const ALL: [Self; 8] = [
        Self::Zeroed,
        Self::Memset,
        Self::Uninit,
        Self::ZeroedSkip,
        Self::AlignedMemory,
        Self::Growing,
        Self::Pooled,
        Self::Floor,
    ];

    /// The published buffers that they are compared with, and `AlignedMemory` by its safe writes, if this build has
    /// them.
    #[cfg(feature = "peers")]
    pub const PEERS: &'static [Self] = &[
        Self::Vec,
        Self::BytesMut,
        Self::AVec,
        Self::Rkyv,
        Self::Sbpf,
        Self::SbpfWrite,
        Self::AlignedMemoryWrite,
        Self::Bump,
    ];

    /// The published buffers that they are compared with, and `AlignedMemory` by its safe writes, if this build has
    /// them.
    #[cfg(not(feature = "peers"))]
    pub const PEERS: &'static [Self] = &[];

    /// The strategies of this crate, then the peers.
    pub fn with_peers() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().chain(Self::PEERS.iter().copied())
    }

    /// The name in ids.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zeroed => "zeroed",
            Self::Memset => "memset",
            Self::Uninit => "uninit",
            Self::ZeroedSkip => "zeroed_skip",
            Self::AlignedMemory => "aligned_memory",
            Self::Growing => "growing",
            Self::Pooled => "pooled",
            Self::Floor => "floor",
            #[cfg(feature = "peers")]
            Self::Vec => "vec",
            #[cfg(feature = "peers")]
            Self::BytesMut => "bytes_mut",
            #[cfg(feature = "peers")]
            Self::AVec => "avec",
            #[cfg(feature = "peers")]
            Self::Rkyv => "rkyv",
            #[cfg(feature = "peers")]
            Self::Sbpf => "sbpf",
            #[cfg(feature = "peers")]
            Self::SbpfWrite => "sbpf_write",
            #[cfg(feature = "peers")]
            Self::AlignedMemoryWrite => "aligned_memory_write",
            #[cfg(feature = "peers")]
            Self::Bump => "bump",
        }
    }

    /// The alignment of its buffers where `asked` is asked for, both in bytes: a published vector has its own.
    #[must_use]
    pub const fn align(self, asked: usize) -> usize {
        match self {
            #[cfg(feature = "peers")]
            Self::Vec | Self::BytesMut => 1,
            _ => asked,
        }
    }

    /// Calls `visitor` with the type behind the name, at that alignment in bytes.
    pub fn visit<const ALIGN: usize, V: Visitor>(self, visitor: V) -> V::Output {
        match self {
            Self::Zeroed => visitor.visit::<Zeroed<ALIGN>>(),
            Self::Memset => visitor.visit::<Memset<ALIGN>>(),
            Self::Uninit => visitor.visit::<Uninit<ALIGN>>(),
            Self::ZeroedSkip => visitor.visit::<ZeroedSkip<ALIGN>>(),
            Self::AlignedMemory => visitor.visit::<AlignedMemory<ALIGN>>(),
            Self::Growing => visitor.visit::<Growing<ALIGN>>(),
            Self::Pooled => visitor.visit::<Pooled<ALIGN>>(),
            Self::Floor => visitor.visit::<Floor<ALIGN>>(),
            #[cfg(feature = "peers")]
            Self::Vec => visitor.visit::<VecPeer>(),
            #[cfg(feature = "peers")]
            Self::BytesMut => visitor.visit::<BytesMutPeer>(),
            #[cfg(feature = "peers")]
            Self::AVec => visitor.visit::<AVecPeer<ALIGN>>(),
            #[cfg(feature = "peers")]
            Self::Rkyv => visitor.visit::<RkyvPeer<ALIGN>>(),
            #[cfg(feature = "peers")]
            Self::Sbpf => visitor.visit::<SbpfPeer<ALIGN>>(),
            #[cfg(feature = "peers")]
            Self::SbpfWrite => visitor.visit::<SbpfWritePeer<ALIGN>>(),
            #[cfg(feature = "peers")]
            Self::AlignedMemoryWrite => visitor.visit::<AlignedMemoryWrite<ALIGN>>(),
            #[cfg(feature = "peers")]
            Self::Bump => visitor.visit::<BumpArena<ALIGN>>(),
        }
    }
}

/// What to do with the type behind a [`Strategy`].
pub trait Visitor {
    /// What comes of it.
    type Output;
    /// Does it.
    fn visit<B: Buffer + 'static>(self) -> Self::Output;
}
