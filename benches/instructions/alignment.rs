//! Instruction counts of the `alignment` page.
#![allow(missing_docs, reason = "the macros make public items")]

writeonce::harness!(instructions of Alignment, "src/cases/alignment.txt");
