//! The strategies by name.

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
}

impl Strategy {
    /// All strategies.
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
