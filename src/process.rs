//! Child processes that end when this one is interrupted, together with what they started.

use std::ffi::OsStr;
use std::io;
use std::process::{Child, Command, ExitStatus, Output};
use std::sync::{Mutex, Once, PoisonError};

use tempfile::TempDir;

use crate::failure::Failure;

/// The process groups that are running, by the id of their first process; `None` once interrupted.
static RUNNING: Mutex<Option<Vec<u32>>> = Mutex::new(Some(Vec::new()));

fn running<T>(use_it: impl FnOnce(&mut Option<Vec<u32>>) -> T) -> T {
    use_it(&mut RUNNING.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A child, in a process group of its own unless it is in the foreground.
pub(crate) struct Group(Child);

impl Group {
    /// Starts `command`.
    ///
    /// # Errors
    /// If it cannot be started, or this process has been interrupted.
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        Self::in_foreground(command)
    }

    /// Starts `command` in the process group of this process, so that it may read from the terminal. An interruption
    /// ends the child itself.
    ///
    /// # Errors
    /// If it cannot be started, or this process has been interrupted.
    pub(crate) fn in_foreground(command: &mut Command) -> io::Result<Self> {
        // A signal that this process cannot see would leave the child behind.
        crate::fork::ends_with_this(command);
        static HANDLER: Once = Once::new();
        // Where there is a handler already, a caller of this library has its own way to end.
        HANDLER.call_once(|| drop(ctrlc::set_handler(interrupt)));
        running(|groups| {
            let Some(groups) = groups else {
                return Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted"));
            };
            let child = command.spawn()?;
            groups.push(child.id());
            Ok(Self(child))
        })
    }

    /// The child itself.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    /// Waits for the child to end.
    pub(crate) fn wait(mut self) -> io::Result<ExitStatus> {
        let status = self.0.wait();
        forget(self.0.id());
        status
    }

    /// Waits for the child to end, and collects what it prints where that is piped.
    pub(crate) fn wait_with_output(self) -> io::Result<Output> {
        let id = self.0.id();
        let output = self.0.wait_with_output();
        forget(id);
        output
    }
}

fn forget(id: u32) {
    running(|groups| groups.iter_mut().for_each(|groups| groups.retain(|&other| other != id)));
}

fn interrupt() {
    for id in running(Option::take).unwrap_or_default() {
        kill(id);
    }
}

/// The starts of the names of variables that a measured process may have: where programs and files are, what cargo and
/// rustup go by, and what this crate says to it.
const KEPT: [&str; 7] = ["PATH", "HOME", "TMPDIR", "CARGO", "RUSTUP_", "RUSTC", "WRITEONCE_"];

/// Takes from `command` the variables of the user's that it does not need: an allocator, the loader or valgrind goes by some.
pub(crate) fn measures(command: &mut Command) {
    let kept = std::env::vars_os().filter(|(name, _)| {
        let name = name.to_string_lossy();
        KEPT.iter().any(|start| name.starts_with(start))
    });
    command.env_clear().envs(kept);
}

/// Runs this program again to measure, with these arguments and variables, and waits for it.
///
/// # Errors
/// [`Failure`] if it cannot be run, or this process has been interrupted.
pub fn again(
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    variables: &[(&str, &str)],
) -> Result<ExitStatus, Failure> {
    let cannot =
        |error: io::Error| Failure::new(format!("this program cannot be run again: {error}"));
    let mut command = Command::new(std::env::current_exe().map_err(cannot)?);
    measures(&mut command);
    command.args(arguments).envs(variables.iter().copied());
    let status = Group::spawn(&mut command).and_then(Group::wait).map_err(cannot)?;
    check_interrupted()?;
    Ok(status)
}

/// A private folder for what a run leaves, which goes when it is dropped.
///
/// # Errors
/// [`Failure`] if there can be none.
pub(crate) fn temporary_folder(prefix: &str) -> Result<TempDir, Failure> {
    tempfile::Builder::new().prefix(prefix).tempdir().map_err(|error| {
        Failure::new(format!(
            "no temporary folder: {error}; set TMPDIR to a folder that can be written"
        ))
    })
}

/// Ends a process, and its group if it leads one.
pub(crate) fn kill(id: u32) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process, kill_process_group};
        if let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(pid, Signal::KILL);
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// # Errors
/// [`Failure`] if this process has been interrupted.
pub(crate) fn check_interrupted() -> Result<(), Failure> {
    if running(|groups| groups.is_some()) { Ok(()) } else { Err(Failure::new("interrupted")) }
}
