//! Instruction counts of the `peers` page.
#![allow(missing_docs, reason = "the macros make public items")]

writeonce::harness!(instructions of Peers, "src/cases/peers.txt");
