//! The files that the command line and the preloaded library share, in 64-bit words of this machine.
//!
//! - the *plan* goes in: [`Plan`], then the keys of the chosen sites in order, then the [`Mask`]s in order of site and
//!   ordinal, then the ranges (start, length) they point at;
//! - the *account* comes out, one for each process, shared memory so that no way to end loses it: a header ([`header`]),
//!   [`MODULES`] modules ([`module`]), the sites ([`site`]);
//! - the *log of kept ranges* comes out: five words each ([`KEPT_WORDS`]), appended.
//!
//! A *site* is the stack of a zeroing call, known by the hash of its addresses relative to their modules, so that it is
//! the same in another run. A *zeroing* is one call at a site; its *ordinal* counts the calls of the site from 1.

// Each side uses its part.
#![allow(dead_code)]

use core::ffi::CStr;

/// First word of a plan and of an account: format and version.
pub(crate) const MAGIC: u64 = u64::from_ne_bytes(*b"wo-aud01");

/// The variable with the path of the plan.
pub(crate) const PLAN_VARIABLE: &CStr = c"WRITEONCE_AUDIT_PLAN";

/// The file name of the library.
pub(crate) const LIBRARY: &str = "writeonce_audit.so";

/// What the library does with the bytes of a chosen zeroing.
pub(crate) mod mode {
    /// Mark them undefined for memcheck, and account for them.
    pub(crate) const MARK: u64 = 0;
    /// Fill them with [`super::GARBAGE`] instead of zero, without memcheck.
    pub(crate) const GARBAGE: u64 = 1;
}

/// What zeroed memory is filled with to see whether somebody needs the zeros.
pub(crate) const GARBAGE: u8 = 0xA5;

/// The head of a plan.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) magic: u64,
    /// One of [`mode`].
    pub(crate) mode: u64,
    /// Zeroings of fewer bytes are left alone.
    pub(crate) min: u64,
    /// 1 if programs that this one starts are audited too.
    pub(crate) follow: u64,
    /// 1 if only the sites that are named here are chosen; 0 for all.
    pub(crate) only: u64,
    /// Number of sites, of masks and of ranges that follow.
    pub(crate) sites: u64,
    pub(crate) masks: u64,
    pub(crate) ranges: u64,
    /// The folder for accounts and logs, ended by a zero byte.
    pub(crate) folder: [u8; FOLDER_BYTES],
}

pub(crate) const FOLDER_BYTES: usize = 4096 - 64;

/// The bytes of one zeroing that are left zero because the program kept them.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Mask {
    pub(crate) site: u64,
    pub(crate) ordinal: u64,
    /// Bytes of the zeroing; another length in this run means that the run is another one, and nothing is marked.
    pub(crate) length: u64,
    /// First range and number of ranges. No range at all: leave the whole zeroing alone.
    pub(crate) first: u64,
    pub(crate) count: u64,
}

/// Words of the header of an account.
pub(crate) mod header {
    pub(crate) const MAGIC: usize = 0;
    /// 1 once the blocks that lived to the end are accounted for.
    pub(crate) const ENDED: usize = 1;
    pub(crate) const MODULES: usize = 2;
    pub(crate) const SITES: usize = 3;
    /// Zeroings that were left alone because a table was full.
    pub(crate) const LEFT_OUT: usize = 4;
    /// 1 if the log of kept ranges was cut short.
    pub(crate) const LOG_CUT: usize = 5;
    pub(crate) const PROCESS: usize = 6;
    pub(crate) const WORDS: usize = 16;
}

/// Words of a module in an account; its path follows them, ended by a zero byte.
pub(crate) mod module {
    /// First address, one past the last, and what is added to addresses in the file.
    pub(crate) const START: usize = 0;
    pub(crate) const END: usize = 1;
    pub(crate) const BASE: usize = 2;
    pub(crate) const HEAD: usize = 4;
    pub(crate) const WORDS: usize = 64;
}

pub(crate) const MODULES: usize = 512;

/// Words of a site in an account; bytes where not said otherwise.
pub(crate) mod site {
    pub(crate) const KEY: usize = 0;
    /// One of [`super::kind`].
    pub(crate) const KIND: usize = 1;
    /// Number of addresses.
    pub(crate) const FRAMES: usize = 2;
    /// Number of zeroings.
    pub(crate) const CALLS: usize = 3;
    pub(crate) const ZEROED: usize = 4;
    /// Of the zeroed bytes, those marked in this run. Once ended it is the sum of the three that follow.
    pub(crate) const MARKED: usize = 5;
    pub(crate) const OVERWRITTEN: usize = 6;
    pub(crate) const KEPT: usize = 7;
    /// Marked, but memcheck could not say what became of them.
    pub(crate) const LOST: usize = 8;
    /// Zeroings that did not fit their mask: the run was another one.
    pub(crate) const CHANGED: usize = 9;
    /// Return addresses, the innermost first, from here on.
    pub(crate) const ADDRESSES: usize = 12;
    pub(crate) const WORDS: usize = ADDRESSES + super::FRAMES;
}

/// Addresses of a stack that tell one site from another.
pub(crate) const FRAMES: usize = 20;

pub(crate) const SITES: usize = 1 << 16;

/// How memory was zeroed.
pub(crate) mod kind {
    pub(crate) const CALLOC: u64 = 1;
    pub(crate) const MEMSET: u64 = 2;
}

/// Words of a kept range: key of the site, ordinal, length of the zeroing, start and length of the range in it.
pub(crate) const KEPT_WORDS: usize = 5;

/// The start of a range that stands for a zeroing with too many of them.
pub(crate) const RAGGED: u64 = u64::MAX;

/// Ranges a zeroing may have before it is ragged.
pub(crate) const RANGES: u32 = 1024;

/// Ranges a process may log: 160 MB.
pub(crate) const LOGGED: u64 = 4 << 20;

pub(crate) const ACCOUNT_BYTES: usize =
    8 * (header::WORDS + MODULES * module::WORDS + SITES * site::WORDS);
