//! The environment of a count: what it depends on, and the pins that take the CPU out of it.

mod pins;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
#[cfg(feature = "instructions")]
use crate::together;

pub use pins::GLIBC_TUNABLES;

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
    pub fn detect(root: &Path, features: &[&str]) -> Result<Self, Failure> {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let verbose = output(Command::new(rustc).arg("-vV").current_dir(root), "install rustup")?;
        let field = |key: &str| {
            let line = verbose.lines().find_map(|line| line.strip_prefix(key));
            line.map(|value| value.trim().to_owned())
                .ok_or_else(|| Failure::new(format!("rustc -vV does not say its {key}")))
        };
        let libc = output(
            Command::new("getconf").arg("GNU_LIBC_VERSION"),
            "install it (Debian: libc-bin); only glibc is supported",
        )?;
        let valgrind = output(Command::new("valgrind").arg("--version"), "run ci/setup")?;
        Ok(Self([
            field("host: ")?,
            field("rustc ")?,
            libc,
            ALLOCATOR.to_owned(),
            valgrind.trim_start_matches("valgrind-").to_owned(),
            IAI_CALLGRIND.to_owned(),
            Self::profile(root)?,
            features.join(" "),
            Self::flags(root),
            pins::known(),
        ]))
    }

    /// The bench profile of the project at `root`, on one line.
    ///
    /// # Errors
    /// [`Failure`] if there is no such project.
    pub fn profile(root: &Path) -> Result<String, Failure> {
        let manifest = workspace_manifest(root)?;
        let text = std::fs::read_to_string(&manifest);
        text.map(|text| profile(&text)).map_err(|error| Failure::at(&manifest, error))
    }

    /// What changes the code that the compiler makes in the project at `root`, beside the manifest: `none`, or
    /// variables and lines of cargo's configuration.
    #[must_use]
    pub fn flags(root: &Path) -> String {
        flags(variables(), configuration(root))
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

/// The manifest of the workspace that the project at `root` is in: it has the profiles, and beside it is the lock file.
///
/// # Errors
/// [`Failure`] if cargo does not say where it is.
pub fn workspace_manifest(root: &Path) -> Result<PathBuf, Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut locate = Command::new(cargo);
    locate.args(["locate-project", "--workspace", "--message-format=plain"]).current_dir(root);
    output(&mut locate, "install rustup").map(PathBuf::from)
}

/// What a program prints, without the end of its last line.
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

/// The bench profile of a manifest, on one line.
fn profile(manifest: &str) -> String {
    let mut sections = Vec::new();
    let mut section: Option<Vec<&str>> = None;
    for line in manifest.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        if line.starts_with('[') {
            sections.extend(section.take());
            // The bench profile inherits from release.
            let ours = ["[profile.bench", "[profile.release"].iter().any(|p| line.starts_with(p));
            section = ours.then(|| vec![line]);
        } else if let Some(section) = section.as_mut().filter(|_| !line.is_empty()) {
            section.push(line);
        }
    }
    sections.extend(section);
    sections.iter().map(|lines| lines.join(" ")).collect::<Vec<_>>().join(" ")
}

fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| {
        Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
    })
}

/// What changes the code that the compiler makes, on one line: variables, and lines of cargo's configuration files.
fn flags(
    variables: impl Iterator<Item = (String, String)>,
    configuration: impl Iterator<Item = String>,
) -> String {
    let changes_code = |name: &str| {
        name.ends_with("RUSTFLAGS")
            || ["CARGO_PROFILE_BENCH_", "CARGO_PROFILE_RELEASE_", "CARGO_BUILD_RUSTC", "RUSTC"]
                .iter()
                .any(|prefix| name.starts_with(prefix))
            || name == "CARGO_BUILD_TARGET"
    };
    let mut set: Vec<_> = variables
        .filter(|(name, _)| changes_code(name))
        .map(|(name, value)| (name, without_lints(&value)))
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    for text in configuration {
        let changes = |line: &&str| {
            ["rustflags", "rustc-wrapper", "rustc =", "[profile.bench", "[profile.release"]
                .iter()
                .any(|start| line.starts_with(start))
        };
        let lines = text.lines().map(str::trim).filter(changes);
        set.extend(lines.map(|line| line.replace('\t', " ")));
    }
    set.sort();
    if set.is_empty() { "none".to_owned() } else { set.join(" ") }
}

/// Compiler flags without those that only set the level of a lint.
fn without_lints(flags: &str) -> String {
    let mut kept = Vec::new();
    let mut words = flags.split([' ', '\t', '\n', '\x1f']).filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        match word {
            "-A" | "-W" | "-D" | "-F" | "--cap-lints" => drop(words.next()),
            _ if ["-A", "-W", "-D", "-F", "--cap-lints="]
                .iter()
                .any(|lint| word.starts_with(lint)) => {}
            _ => kept.push(word),
        }
    }
    kept.join(" ")
}

/// The texts of cargo's configuration files that hold for the project at `root`.
fn configuration(root: &Path) -> impl Iterator<Item = String> {
    let set = std::env::var_os("CARGO_HOME").filter(|home| !home.is_empty());
    // As cargo does it: without HOME, the folder that the system has for the user.
    let home =
        set.map(|home| root.join(home)).or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let folders = root.ancestors().map(|folder| folder.join(".cargo")).chain(home);
    let folders: std::collections::BTreeSet<_> = folders.collect();
    folders.into_iter().filter_map(|folder| {
        let read = |name| std::fs::read_to_string(folder.join(name)).ok();
        // Of both, cargo takes the one without an ending.
        read("config").or_else(|| read("config.toml"))
    })
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
    fn of_two_configuration_files_in_a_folder_the_one_that_cargo_takes_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["a/.cargo/config.toml", "a/b/.cargo/config.toml", "a/b/.cargo/config"];
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, file).unwrap();
        }
        let found: Vec<_> = configuration(&folder.path().join("a/b")).collect();
        let is_found = files.map(|file| found.iter().any(|text| text == file));
        assert_eq!(is_found, [true, false, true]);
    }

    #[test]
    fn pinned_harness_is_the_one_in_the_manifest() {
        let manifest = include_str!("../Cargo.toml");
        for name in ["iai-callgrind", "iai-callgrind-runner"] {
            assert!(manifest.contains(&format!("{name} = {{ version = \"={IAI_CALLGRIND}\"")));
        }
    }

    #[test]
    fn profile_is_the_bench_profile_and_nothing_else() {
        let manifest = "[a]\nb = 1\n[profile.bench]\n# why\nx = 1\n\ny = 2\n[c]\nz = 3\n";
        assert_eq!(profile(manifest), "[profile.bench] x = 1 y = 2");
        assert!(profile(include_str!("../Cargo.toml")).contains("codegen-units = 1"));
    }

    #[test]
    fn flags_that_change_code_are_seen() {
        let set = |pairs: &[(&str, &str)], configuration: &[&str]| {
            let owned = |text: &str| text.to_owned();
            let pairs = pairs.iter().map(|(name, value)| (owned(name), owned(value)));
            flags(pairs, configuration.iter().map(|text| owned(text)))
        };
        assert_eq!(set(&[("PATH", "/bin"), ("RUSTFLAGS", "")], &["[build]\njobs = 1\n"]), "none");
        assert_eq!(
            set(&[("CARGO_PROFILE_RELEASE_OPT_LEVEL", "s")], &[]),
            "CARGO_PROFILE_RELEASE_OPT_LEVEL=s"
        );
        let native = [("RUSTFLAGS", "-C target-cpu=native"), ("CARGO_PROFILE_BENCH_LTO", "fat")];
        assert_eq!(set(&native, &[]), "CARGO_PROFILE_BENCH_LTO=fat RUSTFLAGS=-C target-cpu=native");
        let lints = "-D warnings -Dwarnings --cap-lints warn -W\x1funused";
        assert_eq!(set(&[("CARGO_ENCODED_RUSTFLAGS", lints)], &[]), "none");
        let configuration = "[build]\n  rustflags = [\"-Copt-level=1\"]\n";
        assert_eq!(set(&[], &[configuration]), "rustflags = [\"-Copt-level=1\"]");
    }
}
