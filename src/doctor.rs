//! What a run needs, checked before it: one line a check, with the cure.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::environment::{Environment, is_installed};
use crate::failure::Failure;
use crate::lens;
use crate::own::command;

/// A check: its name, and what was found or what is wrong and how to cure it.
#[derive(Debug)]
pub struct Check {
    /// What is checked.
    pub name: &'static str,
    /// What was found, or what is wrong and how to cure it; one line.
    pub result: Result<String, String>,
}

/// The name of the check for what iai-callgrind switches address space randomization off with.
const SETARCH: &str = "setarch";

/// Free disk space that a run wants, in KiB: builds and profiles.
const DISK_KIB: u64 = 1 << 20;

/// Runs all checks for the project at `root`.
#[must_use]
pub fn examine(root: &Path) -> Vec<Check> {
    type Examination = fn(&Path) -> Result<String, String>;
    let checks: [(&str, Examination); 6] = [
        ("valgrind", |_| valgrind()),
        (SETARCH, |_| setarch()),
        ("libc symbols", |_| libc_symbols()),
        ("flags", flags),
        ("bench profile", bench_profile),
        ("disk", disk),
    ];
    checks.map(|(name, check)| Check { name, result: check(root) }).into()
}

/// Runs all checks; whether randomization of addresses can be switched off does not matter if it may stay.
///
/// # Errors
/// [`Failure`] with the line of the first check that fails.
pub fn require(root: &Path, allow_aslr: bool) -> Result<(), Failure> {
    for Check { name, result } in examine(root) {
        if allow_aslr && name == SETARCH {
            continue;
        }
        result.map_err(|reason| Failure::new(format!("{name}: {reason}")))?;
    }
    Ok(())
}

fn valgrind() -> Result<String, String> {
    if !is_installed("valgrind") {
        return Err(format!("it is not installed; {}", command::setup()));
    }
    let output = Command::new("valgrind").arg("--version").output();
    let output =
        output.map_err(|error| format!("it cannot be run ({error}); {}", command::setup()))?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() && !version.is_empty() {
        Ok(version)
    } else {
        Err(format!("it does not tell its version ({}); install it again", output.status))
    }
}

/// iai-callgrind runs valgrind without address space randomization where it can.
fn setarch() -> Result<String, String> {
    if !cfg!(target_os = "linux") {
        return Ok("not needed here".to_owned());
    }
    if !is_installed("setarch") {
        return Err("it is not installed; install util-linux, or pass --allow-aslr".to_owned());
    }
    let status = Command::new("setarch")
        .args([std::env::consts::ARCH, "-R", "true"])
        .stderr(Stdio::null())
        .status();
    if status.is_ok_and(|status| status.success()) {
        Ok("address space randomization can be switched off".to_owned())
    } else {
        Err("`setarch -R` is refused; allow personality(2), as `--security-opt seccomp=unconfined` does in \
             a container, or pass --allow-aslr"
            .to_owned())
    }
}

/// Without them, memset and the inner functions of malloc are bare addresses.
fn libc_symbols() -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let out = folder.path().join("callgrind.out");
    let mut option = std::ffi::OsString::from("--callgrind-out-file=");
    option.push(&out);
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--compress-strings=no", "--compress-pos=no"])
        .arg(option)
        .arg("true")
        .output()
        .map_err(|error| format!("valgrind cannot be run ({error}); {}", command::setup()))?;
    let text = std::fs::read_to_string(&out).unwrap_or_default();
    if text.is_empty() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        return Err(format!("callgrind does not run here: {last}"));
    }
    if lens::profile::libc_is_nameless(&text) {
        Err("libc has none; install libc6-dbg (ci/setup)".to_owned())
    } else {
        Ok("functions of libc have names".to_owned())
    }
}

fn flags(root: &Path) -> Result<String, String> {
    let flags = Environment::flags(root);
    if flags == "none" {
        Ok(flags)
    } else {
        Err(format!("{flags} changes the code that is measured; unset it"))
    }
}

fn bench_profile(root: &Path) -> Result<String, String> {
    let profile = Environment::profile(root).map_err(|failure| failure.to_string())?;
    for needed in ["debug = \"line-tables-only\"", "strip = false", "codegen-units = 1"] {
        if !profile.contains(needed) {
            return Err(format!("[profile.bench] in Cargo.toml needs {needed}"));
        }
    }
    Ok(profile)
}

fn disk(root: &Path) -> Result<String, String> {
    let output = Command::new("df").arg("-Pk").arg(root).output();
    let output = output.map_err(|error| format!("df cannot be run ({error})"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let free: Option<u64> =
        text.lines().nth(1).and_then(|line| line.split_whitespace().nth(3)?.parse().ok());
    match free {
        Some(kib) if kib < DISK_KIB => {
            Err(format!("{} MiB are free in {}, 1024 are wanted", kib / 1024, root.display()))
        }
        Some(kib) => Ok(format!("{} MiB are free", kib / 1024)),
        None => Err(format!("df does not say how much is free in {}", root.display())),
    }
}
