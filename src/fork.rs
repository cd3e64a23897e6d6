//! A child process that begins with all that this one has: `fork`, and what became of the child.
//!
//! The only unsafe code of the harnesses, and safe to call: what `fork` asks for is checked. Linux only, as `valgrind` and
//! glibc's heap state are.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
#[cfg(any(feature = "cli", feature = "instructions"))]
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
#[cfg(any(feature = "cli", feature = "instructions"))]
use std::process::Command;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// The code of a child that has done its work. It is not 0, with which the work itself may end the process.
pub(crate) const DONE: i32 = 100;

/// The code of a child that panicked.
pub(crate) const PANICKED: i32 = 101;

/// The signal that ends a child that took too long.
pub(crate) const ALARM: i32 = libc::SIGALRM;

/// Starts a child that does `work` and no more, and returns its process id.
///
/// What the child says goes to `words`. It ends when this process does, and after `seconds` whatever it does (`SIGALRM`).
/// Nothing is allocated on either side before `work` begins.
///
/// # Errors
/// If this process has another thread, which the child would lack in the middle of what it does, or the system has no room
/// for a child.
pub(crate) fn start(
    work: impl FnOnce(),
    seconds: u32,
    words: impl FnOnce() -> io::Result<File>,
) -> io::Result<u32> {
    // A link each for itself and its parent, and one for each thread.
    use std::os::unix::fs::MetadataExt;
    if std::fs::metadata("/proc/self/task")?.nlink() > 3 {
        return Err(io::Error::other("a process with several threads cannot be forked"));
    }
    let parent = std::process::id();
    // SAFETY: this is the only thread, so that nothing is locked or half done in the child.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            end_with_parent();
            if std::os::unix::process::parent_id() != parent {
                std::process::abort();
            }
            end_after(seconds);
            let work = || words().and_then(|words| say_to(&words)).map(|()| work());
            let code = match catch_unwind(AssertUnwindSafe(work)) {
                Ok(Ok(())) => DONE,
                Ok(Err(_)) => 1,
                Err(_) => PANICKED,
            };
            // SAFETY: it ends the child at once: what the parent would do at its end is not done twice.
            unsafe { libc::_exit(code) }
        }
        pid => Ok(pid.unsigned_abs()),
    }
}

/// Makes `words` the standard output and the standard error of this process.
fn say_to(words: &File) -> io::Result<()> {
    for standard in [libc::STDOUT_FILENO, libc::STDERR_FILENO] {
        // SAFETY: both are open, and what was behind the second is owned by nobody.
        if unsafe { libc::dup2(words.as_raw_fd(), standard) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Waits for any child to end; returns its process id and its end.
///
/// # Errors
/// If there is no child.
pub(crate) fn wait() -> io::Result<(u32, End)> {
    let mut status = 0;
    loop {
        // SAFETY: the pointer is to an integer that lives as long as the call.
        match unsafe { libc::wait(&raw mut status) } {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => return Err(io::Error::last_os_error()),
            pid if libc::WIFSIGNALED(status) => {
                return Ok((pid.unsigned_abs(), End::Signal(libc::WTERMSIG(status))));
            }
            pid => return Ok((pid.unsigned_abs(), End::Code(libc::WEXITSTATUS(status)))),
        }
    }
}

/// Has the system end this process after `seconds`, unless it is called again before.
pub(crate) fn end_after(seconds: u32) {
    // SAFETY: it takes an integer. No other part of a harness has an alarm that this could replace.
    unsafe { libc::alarm(seconds) };
}

/// Has the system kill this process when the one that started it ends, however that ends.
pub(crate) fn end_with_parent() {
    // SAFETY: this option of prctl takes an integer and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

/// Has the system kill what `command` starts when the thread that starts it ends, or this process, however that is.
#[cfg(any(feature = "cli", feature = "instructions"))]
pub(crate) fn ends_with_this(command: &mut Command) {
    let in_child = || {
        end_with_parent();
        Ok(())
    };
    // SAFETY: between fork and exec it makes one system call and touches no memory.
    unsafe { command.pre_exec(in_child) };
}
