//! Instruction counts of the `zeroed` fill.
#![allow(missing_docs, reason = "the macros make public items")]

writeonce::harness!(instructions of Zeroed, "src/cases/zeroed.txt");
