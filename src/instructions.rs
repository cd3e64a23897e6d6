//! The instruction harness: its runner, and a bench target that is its own.
//!
//! iai-callgrind starts a program named `iai-callgrind-runner`, which starts valgrind. This package has a binary of that
//! name, so that `cargo bench` needs nothing installed. A binary cannot use what is for tests and benches only, and whoever
//! brings [a suite of their own](crate::own) should not burden their users: there the bench target itself is the
//! runner, under another name.

mod by_hand;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::cases::Page;
use crate::environment::is_installed;
use crate::fork;
use crate::together;

#[doc(hidden)]
pub use iai_callgrind;

/// The program that iai-callgrind starts.
const RUNNER: &str = "iai-callgrind-runner";

/// The variable that says that the program is found.
const FOUND: &str = "WRITEONCE_RUNNER";

/// The runner's `main`.
#[must_use]
pub fn runner() -> ExitCode {
    fork::end_with_parent();
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

/// The first argument of a measured process.
const MEASURED: &str = "--iai-run";

/// What the macro of a bench target has made.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Makes known whose suite it is.
    pub install: fn(),
    /// The pages whose cases it has.
    pub pages: &'static [Page],
    /// Prepares a case and runs it inside the measured function.
    pub run: fn(&str),
    /// The `main` by iai-callgrind of [all cases under one valgrind](crate::together).
    pub together: fn(),
    /// The one of a valgrind a case.
    pub isolated: fn(),
}

/// The `main` of a bench target.
///
/// It is its own runner. The arguments are those of iai-callgrind where [`together::ISOLATED`] is among them.
#[must_use]
pub fn harness(target: Target) -> ExitCode {
    let mut arguments = std::env::args_os();
    let program = PathBuf::from(arguments.next().unwrap_or_default());
    if program.file_name().is_some_and(|name| name == RUNNER) {
        return runner();
    }
    let is_together = std::env::var_os(together::FOLDER).is_some();
    if arguments.next().is_some_and(|argument| argument == MEASURED) {
        fork::end_with_parent();
        // iai-callgrind would call it inside the function that it measures.
        if is_together {
            together::count(target.run)
        } else {
            (target.isolated)()
        }
        return ExitCode::SUCCESS;
    }
    if std::env::var_os(FOUND).is_some() {
        if is_together {
            (target.together)()
        } else {
            (target.isolated)()
        }
        return ExitCode::SUCCESS;
    }
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let ran = if is_together || arguments.iter().any(|argument| argument == together::ISOLATED) {
        let arguments = arguments.into_iter().filter(|argument| argument != together::ISOLATED);
        again_with_runner().and_then(|mut again| again.args(arguments).status()).map(|status| {
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            code.map_or(ExitCode::FAILURE, ExitCode::from)
        })
    } else {
        by_hand::count(&target, &arguments)
    };
    ran.unwrap_or_else(|error| {
        eprintln!("instructions: {error}");
        ExitCode::from(2)
    })
}

/// This program once more, where it is found as the runner too.
fn again_with_runner() -> io::Result<Command> {
    let program = std::env::current_exe()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = [link(&program)?].into_iter().chain(std::env::split_paths(&path));
    let path: OsString = std::env::join_paths(folders).map_err(io::Error::other)?;
    let mut again = Command::new(&program);
    again.env("PATH", path).env(FOUND, "yes");
    fork::ends_with_this(&mut again);
    Ok(again)
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
