//! Instruction counts of the `canary` fill.
#![allow(missing_docs, reason = "the macros make public items")]

writeonce::harness!(instructions of Canary, "src/cases/canary.txt");
