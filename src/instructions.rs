//! The instruction harness: its runner, and a bench target that is its own.
//!
//! iai-callgrind starts a program named `iai-callgrind-runner`, which starts valgrind. This package has a binary of that
//! name, so that `cargo bench` needs nothing installed. A binary cannot use what is for tests and benches only, and whoever
//! brings [a suite of their own](crate::own) should not burden their users: there the bench target itself is the
//! runner, under another name.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::environment::is_installed;

#[doc(hidden)]
pub use iai_callgrind;

/// The program that iai-callgrind starts.
const RUNNER: &str = "iai-callgrind-runner";

/// The variable that says that the program is found.
const FOUND: &str = "WRITEONCE_RUNNER";

/// The runner's `main`.
#[must_use]
pub fn runner() -> ExitCode {
    // Cargo stops at the first target that fails, and these come before the wall clock. Nothing is judged
    // here, so a machine without valgrind gets a line and the rest; `writeonce gate` fails there.
    if !is_installed("valgrind") {
        eprintln!("instruction counts skipped: valgrind is not installed");
        return ExitCode::SUCCESS;
    }
    match iai_callgrind_runner::runner::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{RUNNER}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The `main` of a bench target that is its own runner; `measure` is the one that iai-callgrind made.
#[must_use]
pub fn harness(measure: fn()) -> ExitCode {
    let mut arguments = std::env::args_os();
    let program = PathBuf::from(arguments.next().unwrap_or_default());
    if program.file_name().is_some_and(|name| name == RUNNER) {
        return runner();
    }
    let is_measured = arguments.next().is_some_and(|argument| argument == "--iai-run");
    if is_measured || std::env::var_os(FOUND).is_some() {
        measure();
        return ExitCode::SUCCESS;
    }
    match again_with_runner() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("instructions: cannot be its own {RUNNER}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs this program once more, where it is found as the runner too.
fn again_with_runner() -> io::Result<ExitCode> {
    let program = std::env::current_exe()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = [link(&program)?].into_iter().chain(std::env::split_paths(&path));
    let path: OsString = std::env::join_paths(folders).map_err(io::Error::other)?;
    let mut again = Command::new(&program);
    again.args(std::env::args_os().skip(1)).env("PATH", path).env(FOUND, "yes");
    let code = again.status()?.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// A folder beside the program in which it has the name of the runner. Several processes may make it at once.
#[cfg(unix)]
fn link(program: &Path) -> io::Result<PathBuf> {
    let folder = program.with_extension("runner");
    let link = folder.join(RUNNER);
    if std::fs::read_link(&link).is_ok_and(|to| to == program) {
        return Ok(folder);
    }
    std::fs::create_dir_all(&folder)?;
    let new = folder.join(std::process::id().to_string());
    std::os::unix::fs::symlink(program, &new)?;
    std::fs::rename(&new, &link)?;
    Ok(folder)
}

#[cfg(not(unix))]
fn link(_: &Path) -> io::Result<PathBuf> {
    Err(io::Error::other("valgrind runs on Unix only"))
}
