//! The runner that the instruction-count targets start. It is a binary of this package, so that `cargo bench`
//! needs nothing installed but valgrind.

use std::process::ExitCode;

fn main() -> ExitCode {
    match iai_callgrind_runner::runner::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("iai-callgrind-runner: {error}");
            ExitCode::FAILURE
        }
    }
}
