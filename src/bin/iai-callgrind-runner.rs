//! The runner that the instruction-count targets start. It is a binary of this package, so that `cargo bench`
//! needs nothing installed but valgrind.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Cargo stops at the first target that fails, and these come before the wall clock. Nothing is judged
    // here, so a machine without valgrind gets a line and the rest; `writeonce gate` fails there.
    if !writeonce::environment::is_installed("valgrind") {
        eprintln!("instruction counts skipped: valgrind is not installed; run ci/setup");
        return ExitCode::SUCCESS;
    }
    match iai_callgrind_runner::runner::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("iai-callgrind-runner: {error}");
            ExitCode::FAILURE
        }
    }
}
