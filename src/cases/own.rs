//! A suite of somebody else's: their buffers beside those of this crate, and routines of theirs, with all harnesses, the
//! gate with a baseline of their own, and the reports.
//!
//! A package says once what it has, in a file that its bench targets share (`examples/bring_your_own/` is a whole one):
//!
//! ```
//! # mod cases { pub const TEXT: &str = "mixed/boxed/1x165\nmixed/floor/1x165\n"; }
//! # use writeonce::buffer::AlignedMemory as Boxed;
//! use writeonce::own::{OwnBuffer, Suite};
//!
//! static SUITE: Suite = Suite {
//!     package: env!("CARGO_PKG_NAME"),
//!     table: cases::TEXT, // include_str!("cases.txt")
//!     buffers: &[OwnBuffer::new::<Boxed<16>>("boxed", 16)],
//!     routines: &[],
//! };
//! ```
//!
//! Each bench target is then [`harness!`](crate::harness) and the name of a harness: `wall_clock`, `footprint`,
//! `instructions`, and `command_line`, which is the command line of this crate with that suite. The targets have these
//! names, but for the last, which is `writeonce`; all have `harness = false`.

use std::sync::OnceLock;

use super::{Prepared, Serializer};
use crate::buffer::Buffer;
use crate::parameters::{Aligned, Unaligned};
use crate::routine;

/// What a package measures.
#[derive(Debug)]
pub struct Suite {
    /// The name of the package: `env!("CARGO_PKG_NAME")`.
    pub package: &'static str,
    /// The table: one id a line and nothing else. Ids of cases with strategies of this crate stand in it beside the own
    /// ones, for comparison; the gate judges all.
    pub table: &'static str,
    /// The package's buffers.
    pub buffers: &'static [OwnBuffer],
    /// The package's routines.
    pub routines: &'static [OwnRoutine],
}

static INSTALLED: OnceLock<&Suite> = OnceLock::new();

impl Suite {
    /// Makes this the suite of the process. What is called first wins; [`harness!`](crate::harness) does it.
    pub fn install(&'static self) {
        // Not called twice, but in tests.
        let _ = INSTALLED.set(self);
    }

    /// The suite of the process, if it is not that of this crate.
    #[must_use]
    pub fn installed() -> Option<&'static Self> {
        INSTALLED.get().copied()
    }

    /// The buffer of that name, if the installed suite has one.
    pub(crate) fn buffer(name: &str) -> Option<&'static OwnBuffer> {
        Self::installed()?.buffers.iter().find(|buffer| buffer.name == name)
    }

    /// The routine of that name, if the installed suite has one.
    pub(crate) fn routine(name: &str) -> Option<&'static OwnRoutine> {
        Self::installed()?.routines.iter().find(|routine| routine.name == name)
    }
}

/// The name of the package that is measured.
#[cfg(feature = "cli")]
pub(crate) fn package() -> &'static str {
    Suite::installed().map_or(env!("CARGO_PKG_NAME"), |suite| suite.package)
}

/// A buffer by its name in ids, as a strategy of the fills `cursor` and `mixed`.
#[derive(Debug)]
pub struct OwnBuffer {
    pub(crate) name: &'static str,
    pub(crate) align: usize,
    pub(crate) by_1: fn(&[u8]) -> u64,
    pub(crate) by_8: fn(&[u8]) -> u64,
    pub(crate) by_64: fn(&[u8]) -> u64,
    pub(crate) by_4k: fn(&[u8]) -> u64,
    pub(crate) whole: fn(&[u8]) -> u64,
    pub(crate) aligned: Serializer,
    pub(crate) unaligned: Serializer,
}

impl OwnBuffer {
    /// The buffer `B`, whose bytes begin at a multiple of `align` bytes. A name is `[a-z0-9_]+` and none of a strategy of
    /// this crate.
    #[must_use]
    pub const fn new<B: Buffer>(name: &'static str, align: usize) -> Self {
        Self {
            name,
            align,
            by_1: routine::cursor::<B, 1>,
            by_8: routine::cursor::<B, 8>,
            by_64: routine::cursor::<B, 64>,
            by_4k: routine::cursor::<B, 4096>,
            whole: routine::cursor_whole::<B>,
            aligned: routine::mixed::<Aligned, B>,
            unaligned: routine::mixed::<Unaligned, B>,
        }
    }
}

/// A routine by its name in ids: `own/checksum/10k` is the one named `checksum`, made for 10,240.
#[derive(Debug)]
pub struct OwnRoutine {
    pub(crate) name: &'static str,
    pub(crate) prepare: fn(usize) -> Prepared,
}

impl OwnRoutine {
    /// The routine that `prepare` makes for a size: it makes the input, and what it returns is measured.
    #[must_use]
    pub const fn new(name: &'static str, prepare: fn(usize) -> Prepared) -> Self {
        Self { name, prepare }
    }
}

/// How the verbs of the command line are called here, for messages.
#[cfg(feature = "cli")]
pub(crate) mod command {
    use super::Suite;

    fn either(ours: &'static str, own: &'static str) -> &'static str {
        if Suite::installed().is_some() { own } else { ours }
    }

    /// What accepts a change: it writes the baseline anew.
    pub(crate) fn record() -> &'static str {
        either("cargo run -- record", "cargo bench --bench writeonce -- record")
    }

    /// The gate.
    pub(crate) fn gate() -> &'static str {
        either("ci/gate", "cargo bench --bench writeonce -- gate")
    }

    /// What measures everything.
    pub(crate) fn bench() -> &'static str {
        either("ci/bench", "cargo bench --bench writeonce -- bench")
    }

    /// What installs valgrind and the symbols of libc.
    pub(crate) fn setup() -> &'static str {
        either("run ci/setup", "install valgrind and libc6-dbg")
    }
}
