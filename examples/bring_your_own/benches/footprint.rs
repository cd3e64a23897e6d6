//! Allocator calls, bytes and page faults.

mod suite;

writeonce::harness!(footprint: suite::SUITE);
