//! A byte of a buffer should be written once. `writeonce` measures how close each way of building an aligned
//! buffer comes to that, and keeps it there.
//!
//! Without features this crate is two modules that depend on nothing: [`buffer`], with
//! [`AlignedMemory`](buffer::AlignedMemory), and [`parameters`], the program parameter format of Solana's virtual
//! machine. The rest is the suite: benches, a case table, and a gate on instruction counts.
//!
//! # Vocabulary
//!
//! | term | meaning |
//! | --- | --- |
//! | strategy | how a buffer gets its memory and takes writes (`uninit`, `zeroed`, ...) |
//! | fill | what is done to it: `zeroed` (ask for n zero bytes), `cursor` (uninitialized memory filled by a write cursor), `mixed` (small writes, bulk copies and zero fills: program parameter serialization) |
//! | shape | the sizes: `165`, `10k`, `8x64226`, `orderbook`, `ledger` |
//! | case | fill x strategy x shape and, where they differ from the default (16, recycled, untouched), alignment, heap state, touch |
//! | id | `fill/strategy/shape`, then `/align64`, `/fresh`, `/touched` where needed: the join key of every file and report |
//! | routine | the function that is measured; one symbol, shared by all harnesses |
//! | page | a file of the table and its bench target; a fill each that the gate judges, others beside |
//! | peer | a published buffer behind the same trait (feature `peers`) |
//! | harness | a bench target: `wall_clock` (Criterion), `instructions_*` (iai-callgrind), `footprint` (own) |
//! | heap state | `recycled` (the allocator hands back a dirty block of that size) or `fresh` (new pages) |
//! | capacity, len | bytes allocated, bytes initialized |
//! | initialized prefix | bytes `0..len`, the only readable ones |
//! | Ir | instructions executed as callgrind counts them |
//! | cost class | where the Ir went: `zeroing`, `copying`, `allocating`, `code` |
//! | footprint | allocator calls and bytes, zeroed bytes asked for, reallocations, page faults, peak live bytes |
//! | floor | the least work that produces the same bytes: one allocation, then raw copies and fills of the same pieces |
//! | baseline | committed measurements that the gate compares against |
//! | environment | what a count depends on: target, rustc, libc, valgrind, iai-callgrind, profile, flags, pins |
//! | verdict | `ok`, `regressed`, `improved`, `missing`, `unknown` |
//!
//! # Modules
//!
//! Data flows one way: [`cases`] -> [`routine`] -> harness -> [`lens`] -> [`baseline`] and [`gate`] -> [`report`].

pub mod buffer;
pub mod parameters;

#[cfg(feature = "suite")]
pub mod allocator;
#[cfg(feature = "suite")]
pub mod cases;
#[cfg(feature = "suite")]
pub mod contract;
#[cfg(feature = "suite")]
pub mod environment;
#[cfg(feature = "suite")]
pub mod failure;
#[cfg(feature = "suite")]
pub mod footprint;
#[cfg(feature = "suite")]
#[cfg_attr(not(target_os = "linux"), path = "fork/not_linux.rs")]
mod fork;
#[cfg(feature = "suite")]
mod harness;
#[cfg(feature = "instructions")]
pub mod instructions;
#[cfg(feature = "suite")]
pub mod routine;
#[cfg(feature = "suite")]
pub mod together;
#[cfg(feature = "wall_clock")]
pub mod wall_clock;
#[cfg(feature = "suite")]
pub mod workload;

#[cfg(all(feature = "cli", unix))]
pub mod audit;
#[cfg(feature = "cli")]
pub mod baseline;
#[cfg(feature = "cli")]
pub mod choose;
#[cfg(feature = "cli")]
pub mod command_line;
#[cfg(feature = "cli")]
pub mod doctor;
#[cfg(feature = "cli")]
mod files;
#[cfg(feature = "cli")]
pub mod gate;
#[cfg(feature = "cli")]
pub mod last;
#[cfg(feature = "cli")]
pub mod lens;
#[cfg(feature = "suite")]
pub mod paired;
#[cfg(feature = "cli")]
pub mod process;
#[cfg(feature = "cli")]
pub mod progress;
#[cfg(feature = "cli")]
pub mod replay;
#[cfg(feature = "cli")]
pub mod report;
#[cfg(feature = "cli")]
mod tsv;

#[cfg(feature = "suite")]
pub use cases::own;

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
