//! The environment of a count: what it depends on, and the pins that take the CPU out of it.

#[cfg(feature = "cli")]
pub(crate) mod cargo;
#[cfg(feature = "cli")]
mod pins;

#[cfg(feature = "cli")]
use std::path::Path;
#[cfg(feature = "cli")]
use std::process::Command;

#[cfg(feature = "cli")]
use crate::failure::Failure;
#[cfg(feature = "cli")]
use crate::own::command;
#[cfg(feature = "instructions")]
use crate::together;

#[cfg(feature = "cli")]
pub use cargo::workspace_manifest;

/// What the C library of a measured process is told. glibc picks its memset and memcpy by the CPU and by the size of its
/// caches; with these pins it picks the SSE2 ones, which every x86-64 CPU has, and never switches to `rep stosb`, `rep
/// movsb` or non-temporal stores. The malloc thresholds stay where they are put (glibc moves them otherwise), and there is
/// one arena.
///
/// `-XSAVE` takes AVX and AVX2 away; before 2.33, `-AVX2_Usable` does. From 2.41 on, glibc sets large blocks by `rep stosb`
/// without ERMS too, for the sake of non-temporal stores, unless it is to avoid those: `Avoid_Non_Temporal_Memset`.
pub const GLIBC_TUNABLES: &str = "glibc.cpu.hwcaps=\
    -XSAVE,-AVX_Fast_Unaligned_Load,-ERMS,-SSE4_2,-SSE4_1,-SSSE3,Fast_Unaligned_Load\
    ,-AVX2_Usable,Avoid_Non_Temporal_Memset\
    :glibc.cpu.x86_non_temporal_threshold=1073741824\
    :glibc.malloc.mmap_threshold=33554432\
    :glibc.malloc.trim_threshold=33554432\
    :glibc.malloc.arena_max=1";

/// The version of the instruction harness and its runner, as `Cargo.toml` pins it.
pub const IAI_CALLGRIND: &str = "0.16.1";

/// The allocator that is measured: the one of the C library.
pub const ALLOCATOR: &str = "system";

/// The features of the harnesses whose measurements the gate judges. The command line is not among them: what it is made
/// of neither moves a count nor has to be built again when what is measured changes.
pub const GATED_FEATURES: &[&str] = &["instructions"];

/// The features of the harnesses that measure all that this build can: what is gated, times, and what was built in.
pub const BUILT_FEATURES: &[&str] = &[
    "instructions",
    "wall_clock",
    #[cfg(feature = "allocators")]
    "allocators",
    #[cfg(feature = "peers")]
    "peers",
];

/// The variable that makes the instruction-count targets run DHAT instead of callgrind.
pub const DHAT: &str = "WRITEONCE_DHAT";

/// The configuration of every instruction-count target: the pins, and a profile with callers.
///
/// Cache simulation is off (its misses are noisy), and iai-callgrind's own limits are: there is one gate.
/// With [`DHAT`] it is that tool, to which the heap is as it is.
#[cfg(feature = "instructions")]
#[must_use]
pub fn callgrind() -> iai_callgrind::LibraryBenchmarkConfig {
    use iai_callgrind::{Callgrind, LibraryBenchmarkConfig, OutputFormat, ValgrindTool};

    let mut config = LibraryBenchmarkConfig::default();
    config
        .env("GLIBC_TUNABLES", GLIBC_TUNABLES)
        // Not the options of a `.valgrindrc`.
        .valgrind_args(["--command-line-only=yes"])
        .output_format(OutputFormat::default().truncate_description(None));
    if let Some(folder) = std::env::var_os(together::FOLDER) {
        config.env(together::FOLDER, folder);
    }
    if std::env::var_os(DHAT).is_some() {
        config.default_tool(ValgrindTool::DHAT).env(crate::allocator::HEAP_AS_IT_IS, "yes");
    } else {
        config.tool(Callgrind::with_args(["--separate-callers=16", "--cache-sim=no"]));
    }
    config
}

/// What a count depends on, as keys and values in a fixed order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment([String; Environment::KEYS.len()]);

impl Environment {
    /// The keys, in the order of a baseline's header.
    pub const KEYS: [&str; 10] = [
        "target",
        "rustc",
        "libc",
        "allocator",
        "valgrind",
        "iai-callgrind",
        "profile",
        "features",
        "flags",
        "pins",
    ];

    /// The environment with these values, in the order of [`KEYS`](Self::KEYS).
    #[must_use]
    pub fn new(values: [String; Self::KEYS.len()]) -> Self {
        Self(values)
    }

    /// The environment of measurements in the project at `root`, by harnesses with these features.
    ///
    /// # Errors
    /// [`Failure`] if a program that tells a part of it is missing.
    #[cfg(feature = "cli")]
    pub fn detect(root: &Path, features: &[&str]) -> Result<Self, Failure> {
        let verbose = rustc(root)?;
        let libc = output(
            Command::new("getconf").arg("GNU_LIBC_VERSION"),
            "install it (Debian: libc-bin); only glibc is supported",
        )?;
        let valgrind = output(Command::new("valgrind").arg("--version"), command::setup())?;
        Ok(Self([
            field(&verbose, "host: ")?,
            field(&verbose, "rustc ")?,
            libc,
            ALLOCATOR.to_owned(),
            valgrind.trim_start_matches("valgrind-").to_owned(),
            IAI_CALLGRIND.to_owned(),
            Self::profile(root)?,
            features.join(" "),
            Self::flags(root)?,
            pins::known(),
        ]))
    }

    /// The bench profile of the project at `root`, on one line.
    ///
    /// # Errors
    /// [`Failure`] if there is no such project, or its manifest is not TOML.
    #[cfg(feature = "cli")]
    pub fn profile(root: &Path) -> Result<String, Failure> {
        cargo::Profile::read(root).map(|profile| profile.to_string())
    }

    /// What changes the code that the compiler makes in the project at `root`, beside the manifest: `none`, or
    /// variables and settings of cargo's configuration.
    ///
    /// # Errors
    /// [`Failure`] if a configuration file cannot be read or is not TOML, or there is no compiler.
    #[cfg(feature = "cli")]
    pub fn flags(root: &Path) -> Result<String, Failure> {
        cargo::flags(root, &field(&rustc(root)?, "host: ")?)
    }

    /// Keys and values, in order.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        Self::KEYS.into_iter().zip(self.0.iter().map(String::as_str))
    }

    /// What differs from `other`, one `key: ours, not theirs` each.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        differences(self.fields(), other.fields())
    }

    /// What people tell environments apart by, on one line.
    #[must_use]
    pub fn in_short(&self) -> String {
        let keys = ["allocator", "target", "rustc", "libc", "valgrind"];
        let value = |key| self.fields().find(|(other, _)| *other == key).map_or("", |(_, v)| v);
        keys.map(|key| format!("{key} {}", value(key))).join(", ")
    }

    /// A file name for this environment, without the part that says what was measured: target, rustc, libc and
    /// valgrind.
    #[must_use]
    pub fn file_stem(&self) -> String {
        let [target, rustc, libc, _, valgrind, ..] = &self.0;
        let first = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
        let stem = format!(
            "{target}_rustc-{}_{}_valgrind-{}",
            first(rustc),
            libc.replace(' ', "-"),
            first(valgrind)
        );
        stem.replace(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)), "-")
    }
}

/// What differs between two lists of the same keys, one `key: ours, not theirs` each.
pub(crate) fn differences<'a>(
    ours: impl Iterator<Item = (&'static str, &'a str)>,
    theirs: impl Iterator<Item = (&'static str, &'a str)>,
) -> Vec<String> {
    ours.zip(theirs)
        .filter(|((_, ours), (_, theirs))| ours != theirs)
        .map(|((key, ours), (_, theirs))| format!("{key}: {ours}, not {theirs}"))
        .collect()
}

/// What the compiler of the project at `root` says of itself: lines of a key and a value.
#[cfg(feature = "cli")]
fn rustc(root: &Path) -> Result<String, Failure> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    output(Command::new(rustc).arg("-vV").current_dir(root), "install rustup")
}

/// The value behind a key of what the compiler says.
#[cfg(feature = "cli")]
fn field(verbose: &str, key: &str) -> Result<String, Failure> {
    let line = verbose.lines().find_map(|line| line.strip_prefix(key));
    line.map(|value| value.trim().to_owned())
        .ok_or_else(|| Failure::new(format!("rustc -vV does not say its {key}")))
}

/// What a program prints, without the end of its last line.
#[cfg(feature = "cli")]
fn output(command: &mut Command, cure: &str) -> Result<String, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| Failure::new(format!("{name} cannot be run ({error}); {cure}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        return Err(Failure::new(format!("{name} failed ({}: {last}); {cure}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// The machine that times are of: its processor and how many of its cores this process may use.
#[must_use]
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or(std::env::consts::ARCH, |(_, model)| model);
    format!(
        "{model}, {cores} {}, {}",
        if cores == 1 { "core" } else { "cores" },
        std::env::consts::OS
    )
}

/// Whether a program of that name is on the `PATH`.
#[must_use]
pub fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(rustc: &str, libc: &str) -> Environment {
        let value = |text: &str| text.to_owned();
        Environment([
            value("x86_64-unknown-linux-gnu"),
            value(rustc),
            value(libc),
            value(ALLOCATOR),
            value("3.19.0"),
            value(IAI_CALLGRIND),
            value("[profile.bench]"),
            value("cli"),
            value("none"),
            value(GLIBC_TUNABLES),
        ])
    }

    #[test]
    fn differences_name_the_field_and_both_values() {
        let ours = environment("1.95.0 (abc)", "glibc 2.36");
        assert!(ours.differences(&ours).is_empty());
        let theirs = environment("1.96.0 (def)", "glibc 2.36");
        assert_eq!(ours.differences(&theirs), ["rustc: 1.95.0 (abc), not 1.96.0 (def)"]);
    }

    #[test]
    fn file_name_has_what_people_tell_environments_apart_by() {
        let stem = environment("1.95.0 (abc 2026-04-14)", "glibc 2.36").file_stem();
        assert_eq!(stem, "x86_64-unknown-linux-gnu_rustc-1.95.0_glibc-2.36_valgrind-3.19.0");
    }

    #[test]
    fn pinned_harness_is_the_one_in_the_manifest() {
        let manifest = include_str!("../Cargo.toml");
        for name in ["iai-callgrind", "iai-callgrind-runner"] {
            assert!(manifest.contains(&format!("{name} = {{ version = \"={IAI_CALLGRIND}\"")));
        }
    }
}
