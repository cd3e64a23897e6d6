//! Times.

mod suite;

writeonce::harness!(wall_clock: suite::SUITE);
