//! Instruction counts of the `mixed` fill.
#![allow(missing_docs, reason = "the macros make public items")]

writeonce::harness!(instructions of Mixed, "src/cases/mixed.txt");
