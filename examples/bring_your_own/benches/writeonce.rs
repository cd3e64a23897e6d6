//! The command line: `cargo bench --bench writeonce -- gate`.

mod suite;

writeonce::harness!(command_line: suite::SUITE);
