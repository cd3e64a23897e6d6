//! Instruction counts of the `cursor` fill.
#![allow(missing_docs, reason = "the macros make public items")]

writeonce::harness!(instructions of Cursor, "src/cases/cursor.txt");
