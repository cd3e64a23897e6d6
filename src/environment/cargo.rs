//! What cargo is told beside its command line: the bench profile, and configuration that changes the code it makes.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use toml::{Table, Value};

use crate::failure::Failure;

/// The manifest of the workspace that the project at `root` is in: it has the profiles, and beside it is the lock file.
///
/// # Errors
/// [`Failure`] if cargo does not say where it is.
pub fn workspace_manifest(root: &Path) -> Result<PathBuf, Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["locate-project", "--workspace", "--message-format=plain"])
        .current_dir(root)
        .output()
        .map_err(|error| Failure::new(format!("cargo cannot be run ({error}); install rustup")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::new(format!("cargo locate-project failed: {said}")));
    }
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end()))
}

/// The name of the package whose manifest is in a folder, if one is.
///
/// # Errors
/// [`Failure`] if the manifest cannot be read or is not TOML.
pub(crate) fn package(folder: &Path) -> Result<Option<String>, Failure> {
    let manifest = folder.join("Cargo.toml");
    if !manifest.exists() {
        return Ok(None);
    }
    let table = read(&manifest)?;
    let name = table.get("package").and_then(|package| package.get("name")?.as_str());
    Ok(name.map(str::to_owned))
}

/// The profiles that benches are built with: `bench`, and `release`, from which it inherits.
///
/// It is displayed on one line, in the order of the manifest.
pub(crate) struct Profile(Table);

impl Profile {
    /// That of the project at `root`.
    ///
    /// # Errors
    /// [`Failure`] if there is no such project, or its manifest is not TOML.
    pub(crate) fn read(root: &Path) -> Result<Self, Failure> {
        read(&workspace_manifest(root)?).map(Self)
    }

    /// That of a manifest with this text.
    #[cfg(test)]
    pub(crate) fn parse(manifest: &str) -> Self {
        Self(manifest.parse().expect("a test has TOML"))
    }

    /// The value of a key that benches are built with, if it is set.
    pub(crate) fn value(&self, key: &str) -> Option<&Value> {
        let profiles = self.0.get("profile")?;
        ["bench", "release"].iter().find_map(|name| profiles.get(name)?.get(key))
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        let mut section = [].as_slice();
        let leaves = leaves(&[], &self.0);
        let ours = |path: &[&str]| matches!(path, ["profile", "bench" | "release", ..]);
        for (path, value) in leaves.iter().filter(|(path, _)| ours(path)) {
            let (parents, key) = path.split_at(path.len() - 1);
            if section != parents {
                section = parents;
                words.push(format!("[{}]", dotted(parents)));
            }
            words.push(assignment(key, value));
        }
        f.write_str(&words.join(" "))
    }
}

/// What changes the code that cargo makes for `host` in the project at `root`, beside the manifest, on one line: `none`, or
/// variables and settings.
///
/// # Errors
/// [`Failure`] if a configuration file cannot be read or is not TOML.
pub(super) fn flags(root: &Path, host: &str) -> Result<String, Failure> {
    Ok(in_words(host, variables(), &configuration(root)?))
}

fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| {
        Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
    })
}

fn in_words(
    host: &str,
    variables: impl Iterator<Item = (String, String)>,
    configuration: &[Table],
) -> String {
    let variables = variables.filter(|(name, value)| variable_changes_code(name, value, host));
    let variables = variables.filter_map(|(name, value)| {
        let words = without_lints(value.split([' ', '\t', '\n', '\x1f']));
        (!words.is_empty()).then(|| format!("{name}={}", words.join(" ")))
    });
    let settings = configuration.iter().flat_map(|table| leaves(&[], table));
    let settings = settings
        .filter(|(path, value)| setting_changes_code(path, value, host))
        .filter_map(|(path, value)| setting(&path, value));
    // The same may stand in several files.
    let set: BTreeSet<_> = variables.chain(settings).collect();
    if set.is_empty() { "none".to_owned() } else { Vec::from_iter(set).join(" ") }
}

/// Whether a variable changes the code that is measured. `GLIBC_TUNABLES` does not: iai-callgrind clears the environment of
/// what it measures, and the pins are set there.
fn variable_changes_code(name: &str, value: &str, host: &str) -> bool {
    let of_host = host.to_uppercase().replace(['-', '.'], "_");
    let starts = [
        "CARGO_PROFILE_BENCH_",
        "CARGO_PROFILE_RELEASE_",
        "CARGO_BUILD_RUSTC",
        "CARGO_UNSTABLE_",
        "RUSTC",
    ];
    match name {
        "CARGO_BUILD_TARGET" => true,
        // Off is what it is anyway, and what CI services like to set.
        "CARGO_INCREMENTAL" => value == "1",
        "CARGO_BUILD_INCREMENTAL" => value == "true",
        _ => {
            name.ends_with("RUSTFLAGS")
                || starts.iter().any(|start| name.starts_with(start))
                || name == format!("CARGO_TARGET_{of_host}_LINKER")
        }
    }
}

/// Whether a value of cargo's configuration changes the code that is measured. What only cargo of a nightly toolchain looks
/// at is taken to change it: nobody keeps a list of what will be there.
fn setting_changes_code(path: &[&str], value: &Value, host: &str) -> bool {
    match path {
        ["build", "incremental"] => value.as_bool() == Some(true),
        ["build", "rustflags" | "target"] => true,
        ["build", key] => key.starts_with("rustc"),
        ["profile", "bench" | "release", ..] => true,
        // What starts a program is not in it, nor is documentation. People keep linkers for other targets there.
        ["target", _, "runner" | "rustdocflags", ..] => false,
        ["target", target, ..] => *target == host || target.starts_with("cfg("),
        // Cargo does not look at these itself, but `cargo run` hands them to this program, and so to the next cargo.
        ["env", name, ..] => {
            let text = value.as_str().unwrap_or_default();
            variable_changes_code(name, text, host)
        }
        // Other sources of dependencies.
        ["paths"] | ["patch", ..] => true,
        ["host" | "unstable" | "target-applies-to-host", ..] => true,
        _ => false,
    }
}

/// A setting in words, unless there is nothing in it, or nothing but the levels of lints.
fn setting(path: &[&str], value: &Value) -> Option<String> {
    let of_rustc = path.iter().any(|key| key.to_lowercase().ends_with("rustflags"));
    let kept = match value {
        Value::String(text) if of_rustc => {
            Value::from(without_lints(text.split_whitespace()).join(" "))
        }
        Value::Array(list) if of_rustc => {
            Value::from(without_lints(list.iter().filter_map(Value::as_str)))
        }
        value => value.clone(),
    };
    let is_empty =
        kept.as_str().is_some_and(str::is_empty) || kept.as_array().is_some_and(Vec::is_empty);
    (!is_empty).then(|| assignment(path, &kept))
}

/// Compiler flags without those that only set the level of a lint.
fn without_lints<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut kept = Vec::new();
    let mut words = words.filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        match word {
            "-A" | "-W" | "-D" | "-F" | "--cap-lints" => drop(words.next()),
            _ if ["-A", "-W", "-D", "-F", "--cap-lints="]
                .iter()
                .any(|lint| word.starts_with(lint)) => {}
            _ => kept.push(word),
        }
    }
    kept
}

/// Cargo's configuration files that hold for the project at `root`, and those that they include.
fn configuration(root: &Path) -> Result<Vec<Table>, Failure> {
    let set = std::env::var_os("CARGO_HOME").filter(|home| !home.is_empty());
    // As cargo does it: without HOME, the folder that the system has for the user.
    let home =
        set.map(|home| root.join(home)).or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let folders = root.ancestors().map(|folder| folder.join(".cargo")).chain(home);
    // Of both, cargo takes the one without an ending.
    let file = |folder: PathBuf| {
        ["config", "config.toml"]
            .map(|name| folder.join(name))
            .into_iter()
            .find(|file| file.exists())
    };
    let (mut seen, mut tables) = (BTreeSet::new(), Vec::new());
    for file in folders.filter_map(file) {
        read_with_included(&file, &mut seen, &mut tables)?;
    }
    Ok(tables)
}

fn read_with_included(
    file: &Path,
    seen: &mut BTreeSet<PathBuf>,
    tables: &mut Vec<Table>,
) -> Result<(), Failure> {
    // One that is not there may be optional; if not, cargo says so.
    let Ok(whole) = file.canonicalize() else { return Ok(()) };
    if seen.insert(whole) {
        let table = read(file)?;
        let included = table.get("include").and_then(Value::as_array).into_iter().flatten();
        let path = |entry: &Value| {
            Some(entry.as_str().or_else(|| entry.get("path")?.as_str())?.to_owned())
        };
        for path in included.filter_map(path) {
            read_with_included(&file.with_file_name(path), seen, tables)?;
        }
        tables.push(table);
    }
    Ok(())
}

/// A file of TOML.
fn read(file: &Path) -> Result<Table, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| Failure::at(file, error))?;
    text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.as_bytes().get(..span.start));
        let line = 1 + before.unwrap_or_default().iter().filter(|&&byte| byte == b'\n').count();
        let reason = error.message();
        Failure::new(format!("{}:{line}: {reason}; cargo does not read it either", file.display()))
    })
}

/// The values of a table and of the tables in it, each with the keys that lead to it, in the order of the file.
fn leaves<'a>(path: &[&'a str], table: &'a Table) -> Vec<(Vec<&'a str>, &'a Value)> {
    let below = |(key, value): (&'a String, &'a Value)| {
        let path = [path, &[key]].concat();
        match value {
            Value::Table(table) => leaves(&path, table),
            value => vec![(path, value)],
        }
    };
    table.iter().flat_map(below).collect()
}

/// A value behind its key, on one line and without a tab, whatever is in it.
fn assignment(path: &[&str], value: &Value) -> String {
    format!("{} = {value}", dotted(path)).replace(['\n', '\r', '\t'], " ")
}

/// Keys as TOML writes them, in quotes where it must.
fn dotted(path: &[&str]) -> String {
    let is_bare = |key: &str| {
        !key.is_empty()
            && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let key =
        |key: &&str| if is_bare(key) { (*key).to_owned() } else { Value::from(*key).to_string() };
    path.iter().map(key).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "x86_64-unknown-linux-gnu";

    fn table(text: &str) -> Table {
        text.parse().unwrap()
    }

    fn profile(manifest: &str) -> String {
        Profile::parse(manifest).to_string()
    }

    fn set(pairs: &[(&str, &str)], configuration: &[&str]) -> String {
        let pairs = pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        let configuration: Vec<_> = configuration.iter().map(|text| table(text)).collect();
        in_words(HOST, pairs, &configuration)
    }

    /// The header of a baseline has this line: another spelling of it would be another environment.
    #[test]
    fn profile_of_this_package_is_the_one_in_the_baseline() {
        let line = "[profile.bench] debug = \"line-tables-only\" strip = false codegen-units = 1 \
                    [profile.bench.package.\"*\"] opt-level = 1 debug = false codegen-units = 16";
        assert_eq!(profile(include_str!("../../Cargo.toml")), line);
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/baselines"));
        let mut paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let path =
            paths.find(|path| path.to_string_lossy().ends_with(".instructions.tsv")).unwrap();
        let header = std::fs::read_to_string(path).unwrap();
        assert!(header.contains(&format!("# profile\t{line}\n# features\t")), "{header}");
    }

    #[test]
    fn profile_is_bench_and_release_and_nothing_else() {
        let manifest = "[a]\nb = 1\n[profile.bench] # why\nx=1\n\n'y' = 2\n[profile.dev]\nz = 3\n";
        assert_eq!(profile(manifest), "[profile.bench] x = 1 y = 2");
        assert_eq!(profile("[a]\nb = 1\n"), "");
        assert_eq!(profile("profile = 3"), "");
    }

    #[test]
    fn profile_is_the_same_however_it_is_written() {
        let spellings = [
            "[profile.release]\nlto = true\n[profile.bench]\ndebug = 1\npackage.\"*\".debug = 0\n",
            "[profile]\nrelease = { lto = true }\nbench = {debug=1, package={'*'={debug=0}}}\n",
            "profile.release.lto = true\nprofile.bench.debug = 0x1\nprofile.bench.package.'*'.debug = 0\n",
            "[profile.release]\nlto = true\n[ profile . \"bench\" ] # b\n debug=1\n[profile.bench.package.'*']\ndebug=0",
        ];
        for spelling in spellings {
            assert_eq!(
                profile(spelling),
                "[profile.release] lto = true [profile.bench] debug = 1 [profile.bench.package.\"*\"] debug = 0"
            );
        }
    }

    #[test]
    fn value_is_that_of_bench_or_else_of_release_and_not_of_a_package() {
        let text = "[profile.release]\nstrip = true\ndebug = 1\n[profile.bench]\nstrip = false\npackage.a.lto = true";
        let profile = Profile::parse(text);
        assert_eq!(profile.value("strip"), Some(&Value::from(false)));
        assert_eq!(profile.value("debug"), Some(&Value::from(1)));
        assert_eq!(profile.value("lto"), None);
    }

    #[test]
    fn variables_that_change_code_are_seen() {
        assert_eq!(set(&[("PATH", "/bin"), ("RUSTFLAGS", "")], &[]), "none");
        assert_eq!(
            set(&[("CARGO_PROFILE_RELEASE_OPT_LEVEL", "s")], &[]),
            "CARGO_PROFILE_RELEASE_OPT_LEVEL=s"
        );
        let native = [("RUSTFLAGS", "-C target-cpu=native"), ("CARGO_PROFILE_BENCH_LTO", "fat")];
        assert_eq!(set(&native, &[]), "CARGO_PROFILE_BENCH_LTO=fat RUSTFLAGS=-C target-cpu=native");
        let lints = "-D warnings -Dwarnings --cap-lints warn -W\x1funused";
        assert_eq!(set(&[("CARGO_ENCODED_RUSTFLAGS", lints)], &[]), "none");
        let linker = "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER";
        assert_eq!(set(&[(linker, "clang")], &[]), format!("{linker}=clang"));
        assert_eq!(set(&[("CARGO_INCREMENTAL", "1")], &[]), "CARGO_INCREMENTAL=1");
        for harmless in [
            ("CARGO_INCREMENTAL", "0"),
            ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "a"),
            ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", "valgrind"),
            ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"),
        ] {
            assert_eq!(set(&[harmless], &[]), "none", "{harmless:?}");
        }
    }

    #[test]
    fn settings_that_change_code_are_seen_however_they_are_written() {
        for spelling in [
            "[build]\n  rustflags = [\"-Copt-level=1\"]\n",
            "build.rustflags = ['-Copt-level=1']",
            "build = { rustflags = [\n'-Copt-level=1', # why\n] }",
            "\"build\".'rustflags'=[\"-Copt-level=1\", '-Dwarnings', '-A', 'unused']",
        ] {
            assert_eq!(
                set(&[], &[spelling]),
                "build.rustflags = [\"-Copt-level=1\"]",
                "{spelling}"
            );
        }
        for (text, said) in [
            ("build.rustflags = '-C opt-level=1'", "build.rustflags = \"-C opt-level=1\""),
            ("[profile]\nbench = { lto = true }", "profile.bench.lto = true"),
            ("profile.release.lto = \"fat\"", "profile.release.lto = \"fat\""),
            ("build.rustc-wrapper = 'w'", "build.rustc-wrapper = \"w\""),
            ("build.target = 't'", "build.target = \"t\""),
            ("build.incremental = true", "build.incremental = true"),
            (
                "target.x86_64-unknown-linux-gnu.rustflags = ['-Ca']",
                "target.x86_64-unknown-linux-gnu.rustflags = [\"-Ca\"]",
            ),
            (
                "[target.x86_64-unknown-linux-gnu]\nlinker = 'lld'\nrunner = 'r'",
                "target.x86_64-unknown-linux-gnu.linker = \"lld\"",
            ),
            ("[target.'cfg(unix)']\nlinker = 'lld'", "target.\"cfg(unix)\".linker = \"lld\""),
            ("[env]\nRUSTFLAGS = '-Ca'\nA = 'b'", "env.RUSTFLAGS = \"-Ca\""),
            ("env.RUSTC_BOOTSTRAP = { value = '1' }", "env.RUSTC_BOOTSTRAP.value = \"1\""),
            ("[host]\nlinker = 'l'", "host.linker = \"l\""),
            ("[unstable]\nbuild-std = ['core']", "unstable.build-std = [\"core\"]"),
            ("paths = ['/a']", "paths = [\"/a\"]"),
            ("patch.crates-io.libc.path = 'l'", "patch.crates-io.libc.path = \"l\""),
        ] {
            assert_eq!(set(&[], &[text]), said);
        }
    }

    #[test]
    fn settings_that_leave_code_alone_are_not_told() {
        for harmless in [
            "",
            "[build]\njobs = 1\ntarget-dir = 't'\nincremental = false\nrustdocflags = ['-Ca']\nrustc-wrapper = ''\n",
            "build.rustflags = ['-Dwarnings']",
            "[target.aarch64-unknown-linux-gnu]\nlinker = 'aarch64-linux-gnu-gcc'\nrustflags = ['-Ca']\n",
            "[env]\nGLIBC_TUNABLES = 'a'\nCARGO_INCREMENTAL = '0'\n",
            "[profile.dev]\nopt-level = 3\n",
            "# build.rustflags = ['-Ca']\n[alias]\nrustflags = 'x'\n",
            include_str!("../../.cargo/config.toml"),
        ] {
            assert_eq!(set(&[], &[harmless]), "none", "{harmless}");
        }
    }

    #[test]
    fn what_is_told_is_one_line_and_said_once() {
        let text = "build.rustflags = [\"\"\"a\n\tb\"\"\"]\nprofile.bench.\"a\\tb\" = 1";
        let said = set(&[("RUSTC", "r")], &[text, text]);
        assert!(!said.contains(['\n', '\t']), "{said}");
        assert_eq!(said.matches("rustflags").count(), 1);
        assert!(said.starts_with("RUSTC=r build.rustflags = "), "{said}");
    }

    /// Writes files below a folder of their own.
    fn files<const N: usize>(files: [(&str, &str); N]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn of_two_configuration_files_in_a_folder_the_one_that_cargo_takes_is_read() {
        let folder = files([
            ("a/.cargo/config.toml", "outer = 1"),
            ("a/b/.cargo/config.toml", "not_taken = 1"),
            ("a/b/.cargo/config", "inner = 1"),
        ]);
        let found = configuration(&folder.path().join("a/b")).unwrap();
        let is_found = |key: &str| found.iter().any(|table| table.contains_key(key));
        assert_eq!(["outer", "not_taken", "inner"].map(is_found), [true, false, true]);
    }

    #[test]
    fn included_files_are_read_once_and_missing_ones_are_left_to_cargo() {
        let folder = files([
            (
                ".cargo/config.toml",
                "include = ['a.toml', { path = '../b/b.toml', optional = true }, 'missing.toml']",
            ),
            (".cargo/a.toml", "include = ['config.toml']\nbuild.rustflags = ['-Ca']"),
            ("b/b.toml", "include = ['../.cargo/a.toml', 'c.toml']"),
            ("b/c.toml", "profile.bench.lto = true"),
        ]);
        let flags = flags(folder.path(), HOST).unwrap();
        assert!(flags.contains("build.rustflags = [\"-Ca\"]"), "{flags}");
        assert!(flags.contains("profile.bench.lto = true"), "{flags}");
        assert_eq!(flags.matches("-Ca").count(), 1);
    }

    #[test]
    fn package_is_found_by_its_name_and_not_by_a_line() {
        let named = |text: &str| package(files([("Cargo.toml", text)]).path()).unwrap();
        for spelling in
            ["[package]\nname = 'a'\n", "package={name=\"a\"}", "package.name=\"a\" # b"]
        {
            assert_eq!(named(spelling).as_deref(), Some("a"), "{spelling}");
        }
        assert_eq!(named("[lib]\nname = \"a\"\n"), None);
        assert_eq!(package(tempfile::tempdir().unwrap().path()), Ok(None));
    }

    #[test]
    fn file_that_is_not_toml_is_an_error_with_its_line() {
        for (text, line) in
            [("a = 1\nb = [\n", 2), ("a = 1\n\nb\nc = 2\n", 3), ("[a", 1), ("a = 1\na = 2", 2)]
        {
            let folder = files([(".cargo/config.toml", text), ("Cargo.toml", text)]);
            let config = flags(folder.path(), HOST).unwrap_err().to_string();
            let manifest = package(folder.path()).unwrap_err().to_string();
            for (error, file) in [(config, ".cargo/config.toml"), (manifest, "Cargo.toml")] {
                let start = format!("{}:{line}: ", folder.path().join(file).display());
                assert!(error.starts_with(&start), "{error} is not {start}");
                assert_eq!(error.lines().count(), 1);
            }
        }
        let folder = files([(".cargo/config/is_a_folder", "")]);
        assert!(flags(folder.path(), HOST).is_err());
    }
}
