//! Finds and proves superfluous zeroing in any program: memory that was zeroed although the program then wrote it.
//!
//! The program runs under memcheck with a small library preloaded (`preload/`), which marks zeroed bytes of the heap
//! undefined. For each *site* (the stack of a zeroing call) the account says how many of the zeroed bytes were
//! overwritten and how many kept; memcheck says where the program's behaviour depended on one of them. What such a
//! survey cannot tell apart, further runs do, in which only the sites in question are marked (`prove.rs`).

mod account;
mod exceptions;
mod format;
mod program;
mod prove;
mod report;
mod run;
mod symbols;
mod uses;
mod verdict;
mod verify;

use std::ffi::OsString;
use std::path::PathBuf;

pub use exceptions::Exceptions;
pub use prove::audit;
pub use report::{ZEROING_IR_PER_MIB, json, page, text};
pub use symbols::Frame;
pub use uses::How;
pub use verdict::{Audit, Read, Site, Verdict};
pub use verify::Verified;

/// What to audit, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program: a path, or a name that is looked for as the shell does.
    pub program: PathBuf,
    /// What is passed to the program.
    pub arguments: Vec<OsString>,
    /// Zeroings of fewer bytes are left alone; at least 1.
    pub min: u64,
    /// Programs that this one starts are audited too.
    pub follow: bool,
    /// How often the program may be run under memcheck, at least once.
    pub runs: usize,
    /// Run it with garbage too.
    pub verify: bool,
}
