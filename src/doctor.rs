//! What a run needs, checked before it: one line a check, with the cure.

use std::path::Path;
use std::process::{Command, Stdio};

use toml::Value;

use crate::environment::cargo::Profile;
use crate::environment::{Environment, is_installed};
use crate::failure::Failure;
use crate::files::check_writable;
use crate::lens;
use crate::own::command;
use crate::process::{measures, temporary_folder};

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
    let checks: [(&str, Examination); 7] = [
        ("valgrind", |_| valgrind()),
        (SETARCH, |_| setarch()),
        ("libc symbols", |_| libc_symbols()),
        ("flags", flags),
        ("bench profile", bench_profile),
        ("target folder", target_folder),
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
    let folder = temporary_folder("writeonce-").map_err(|failure| failure.to_string())?;
    let mut valgrind = Command::new("valgrind");
    measures(&mut valgrind);
    let output = valgrind
        .args(["--tool=callgrind", "--compress-strings=no", "--compress-pos=no"])
        // A whole path would be a pattern.
        .args(["--callgrind-out-file=callgrind.out", "true"])
        .current_dir(folder.path())
        .output()
        .map_err(|error| format!("valgrind cannot be run ({error}); {}", command::setup()))?;
    let out = folder.path().join("callgrind.out");
    let text = std::fs::read_to_string(out).unwrap_or_default();
    if text.is_empty() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        return Err(format!("callgrind does not run here: {last}"));
    }
    if lens::profile::libc_is_nameless(&text) {
        Err(format!("libc has none; {}", command::setup()))
    } else {
        Ok("functions of libc have names".to_owned())
    }
}

fn flags(root: &Path) -> Result<String, String> {
    let flags = Environment::flags(root).map_err(|failure| failure.to_string())?;
    if flags == "none" {
        Ok(flags)
    } else {
        Err(format!("{flags} changes the code that is measured; unset it"))
    }
}

fn bench_profile(root: &Path) -> Result<String, String> {
    let profile = Profile::read(root).map_err(|failure| failure.to_string())?;
    match lacks(&profile) {
        Some(needed) => Err(format!("[profile.bench] in Cargo.toml needs {needed}")),
        None => Ok(profile.to_string()),
    }
}

/// What the profile must have and does not: names and lines of functions, and one unit of code.
fn lacks(profile: &Profile) -> Option<&'static str> {
    let is = |key, values: &[Value]| profile.value(key).is_some_and(|value| values.contains(value));
    [
        ("debug = \"line-tables-only\"", is("debug", &["line-tables-only".into()])),
        // Both mean the same to cargo.
        ("strip = false", is("strip", &[false.into(), "none".into()])),
        ("codegen-units = 1", is("codegen-units", &[1.into()])),
    ]
    .into_iter()
    .find_map(|(needed, is_there)| (!is_there).then_some(needed))
}

/// Where everything is built and the profiles of a run are.
fn target_folder(root: &Path) -> Result<String, String> {
    let folder = lens::target(root).map_err(|failure| failure.to_string())?;
    // To valgrind it is the sign of a pattern, and iai-callgrind does not double it.
    if folder.to_string_lossy().contains('%') {
        return Err(format!(
            "valgrind takes no % in {}; set CARGO_TARGET_DIR to another folder",
            folder.display()
        ));
    }
    check_writable(&folder).map_err(|failure| failure.to_string())?;
    Ok(format!("{} can be written", folder.display()))
}

fn disk(root: &Path) -> Result<String, String> {
    let folder = lens::target(root).map_err(|failure| failure.to_string())?;
    let output = Command::new("df").arg("-Pk").arg(&folder).output();
    let output = output.map_err(|error| format!("df cannot be run ({error})"))?;
    match free(&String::from_utf8_lossy(&output.stdout)) {
        Some(kib) if kib < DISK_KIB => {
            Err(format!("{} MiB are free in {}, 1024 are wanted", kib / 1024, folder.display()))
        }
        Some(kib) => Ok(format!("{} MiB are free", kib / 1024)),
        None => Err(format!("df does not say how much is free in {}", folder.display())),
    }
}

/// KiB that are free as `df -Pk` says it: the number before the percentage. The name of a file system may have spaces.
fn free(df: &str) -> Option<u64> {
    let words: Vec<_> = df.lines().skip(1).flat_map(str::split_whitespace).collect();
    words.windows(4).find_map(|words| {
        let numbers = [words[0], words[1], words[2]].map(|word| word.parse::<u64>().ok());
        let [Some(_), Some(_), Some(free)] = numbers else { return None };
        (words[3].ends_with('%') || words[3] == "-").then_some(free)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lacking(manifest: &str) -> Option<&'static str> {
        lacks(&Profile::parse(manifest))
    }

    #[test]
    fn profile_is_accepted_however_it_is_written() {
        for spelling in [
            include_str!("../Cargo.toml"),
            "[profile.bench] # why\ndebug='line-tables-only'\nstrip=\"none\"\ncodegen-units=1\n",
            "[profile]\nbench = { debug = \"line-tables-only\", strip = false, 'codegen-units' = 0x1 }\n",
            "[profile.release]\ndebug = \"line-tables-only\"\nstrip = false\n[profile.bench]\ncodegen-units = 1\n",
        ] {
            assert_eq!(lacking(spelling), None, "{spelling}");
        }
    }

    #[test]
    fn profile_with_another_value_is_refused() {
        let manifest = |debug: &str, strip: &str, units: &str| {
            lacking(&format!(
                "[profile.bench]\ndebug = {debug}\nstrip = {strip}\ncodegen-units = {units}\n"
            ))
        };
        let debug = "\"line-tables-only\"";
        assert_eq!(manifest(debug, "false", "1"), None);
        assert_eq!(manifest("0", "false", "1"), Some("debug = \"line-tables-only\""));
        for strip in ["true", "\"symbols\"", "\"debuginfo\""] {
            assert_eq!(manifest(debug, strip, "1"), Some("strip = false"));
        }
        assert_eq!(manifest(debug, "false", "16"), Some("codegen-units = 1"));
        // Those of another profile, of a package, or of a comment are not these.
        let elsewhere = "debug = \"line-tables-only\"\nstrip = false\ncodegen-units = 1\n";
        for header in ["[profile.dev]\n", "[profile.bench.package.a]\n"] {
            assert!(lacking(&format!("{header}{elsewhere}")).is_some(), "{header}");
        }
        assert!(lacking(&format!("[profile.bench]\n# {}", elsewhere.replace('\n', " "))).is_some());
        // What bench has itself is not inherited.
        let release = format!("[profile.release]\n{elsewhere}[profile.bench]\nstrip = true\n");
        assert_eq!(lacking(&release), Some("strip = false"));
    }

    #[test]
    fn free_space_is_read_whatever_the_file_system_is_called() {
        let head = "Filesystem     1024-blocks     Used Available Capacity Mounted on\n";
        let df = |line: &str| free(&format!("{head}{line}\n"));
        assert_eq!(df("/dev/vda 263112124 48734564 46583176      52% /"), Some(46_583_176));
        assert_eq!(df("//a b/c 5 1 100 10 1 99 2% /mnt/a 7 8 9 5%"), Some(99));
        assert_eq!(df("tmpfs 0 0 0 - /mnt\nline"), Some(0));
        assert_eq!(df(""), None);
        assert_eq!(free("df: /x: No such file or directory"), None);
    }
}
