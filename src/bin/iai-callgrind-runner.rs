//! The runner that the instruction-count targets start. It is a binary of this package, so that `cargo bench`
//! needs nothing installed but valgrind.

use std::process::ExitCode;

fn main() -> ExitCode {
    writeonce::instructions::runner()
}
