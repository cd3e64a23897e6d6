//! Instruction counts.

mod suite;

writeonce::harness!(instructions: suite::SUITE, "benches/cases.txt");
