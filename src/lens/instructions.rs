//! Instruction counts: running the iai-callgrind harness and reading its records.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use serde_json::Value;

use super::profile::{Classes, Function, Profile};
use crate::cases::Page;
use crate::environment::DHAT;
use crate::failure::Failure;
use crate::own::{self, Suite};
use crate::process::{Group, check_interrupted, kill};
use crate::progress::Progress;

/// What was counted for a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The id of the case.
    pub id: String,
    /// Instructions executed by the routine, by class, in Ir.
    pub classes: Classes,
    /// Calls into the allocator.
    pub allocator_calls: u64,
    /// Where the instructions went, the largest first; empty where it is not known.
    pub functions: Vec<Function>,
}

impl Row {
    /// All instructions executed by the routine, in Ir.
    ///
    /// # Panics
    /// If the classes add up to more than `u64::MAX`; readers of rows refuse those.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.classes.total().expect("rows that overflow are refused when read")
    }
}

/// What was counted, and the profiles it was read from, which go when this is dropped.
#[derive(Debug)]
pub struct Counted {
    /// A row a case, in the order of the table.
    pub rows: Vec<Row>,
    /// The rows of the canaries, which are counted in every run.
    pub canaries: Vec<Row>,
    profiles: HashMap<String, PathBuf>,
    _folder: tempfile::TempDir,
}

impl Counted {
    /// The callgrind file of a case.
    #[must_use]
    pub fn profile(&self, id: &str) -> Option<&Path> {
        self.profiles.get(id).map(PathBuf::as_path)
    }
}

/// Counts all cases of these pages in the project at `root`, by harnesses with these features, and the canaries.
///
/// The targets are built first, then run side by side. Counts do not depend on load, nor on the randomization of
/// addresses; it is switched off all the same, unless that is not permitted here and `allow_aslr` says to leave it.
///
/// # Errors
/// [`Failure`] if a target cannot be built or run, or a record or profile is not as it must be.
pub fn measure(
    root: &Path,
    pages: &[Page],
    features: &[&str],
    allow_aslr: bool,
) -> Result<Counted, Failure> {
    let pages = [pages, &[Page::Canary]].concat();
    measure_in(root, &crate::lens::target(root)?, &pages, features, allow_aslr)
}

/// Counts the cases of these pages alone, built in the folder `target`.
///
/// # Errors
/// As [`measure`].
pub fn measure_in(
    root: &Path,
    target: &Path,
    pages: &[Page],
    features: &[&str],
    allow_aslr: bool,
) -> Result<Counted, Failure> {
    let aslr = |command: &mut Command| {
        command.args(allow_aslr.then_some("--allow-aslr"));
    };
    let Records { lines, folder } = records(root, target, pages, features, &aslr)?;
    let (mut rows, mut profiles) = (Vec::new(), HashMap::new());
    for line in &lines {
        let (row, profile) = read_record(line)?;
        profiles.insert(row.id.clone(), profile);
        rows.push(row);
    }
    let place = |id: &str| {
        let ids = pages.iter().flat_map(|page| page.text().lines());
        ids.enumerate().find_map(|(place, other)| (id == other).then_some(place))
    };
    rows.sort_by_cached_key(|row| place(&row.id).unwrap_or(usize::MAX));
    let is_canary = |row: &mut Row| row.id.starts_with(Page::Canary.name());
    let canaries = rows.extract_if(.., is_canary).collect();
    Ok(Counted { rows, canaries, profiles, _folder: folder })
}

/// What the harness printed, a line a case, and the folder with what it wrote.
pub(super) struct Records {
    pub(super) lines: Vec<String>,
    pub(super) folder: tempfile::TempDir,
}

/// What is asked of a target beside the usual.
pub(super) type Options<'a> = &'a (dyn Fn(&mut Command) + Sync);

/// Builds the targets of some pages in the folder `target` and runs them.
pub(super) fn records(
    root: &Path,
    target: &Path,
    pages: &[Page],
    features: &[&str],
    options: Options<'_>,
) -> Result<Records, Failure> {
    let targets = build(root, target, pages, features)?;
    remove_left_behind(target);
    let folder = tempfile::Builder::new()
        .prefix(COUNTING)
        .tempdir_in(target)
        .map_err(|error| Failure::at(target, format!("cannot make a folder: {error}")))?;
    let total = pages.iter().map(|page| page.text().lines().count()).sum();
    let lines = run(root, folder.path(), targets, total, options)?;
    Ok(Records { lines, folder })
}

/// Start of the names of the folders for profiles.
const COUNTING: &str = "counting-";

/// Removes the folders of runs that were killed: those that nobody has written to for an hour.
fn remove_left_behind(target: &Path) {
    for entry in fs::read_dir(target).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(COUNTING);
        let age = entry
            .metadata()
            .and_then(|data| data.modified())
            .ok()
            .and_then(|time| time.elapsed().ok());
        if ours && age.is_some_and(|age| age > Duration::from_secs(3600)) {
            // Another run may remove it at the same time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// The bench target of a page. A suite of somebody else's has one, with the canaries in it.
fn target(page: Page) -> String {
    match Suite::installed() {
        Some(_) => "instructions".to_owned(),
        None => format!("instructions_{}", page.name()),
    }
}

/// Builds the targets and returns their executables, the one with most cases first.
fn build(
    root: &Path,
    folder: &Path,
    pages: &[Page],
    features: &[&str],
) -> Result<Vec<PathBuf>, Failure> {
    let mut cargo = crate::lens::cargo_bench(root, features);
    cargo.env("CARGO_TARGET_DIR", folder);
    cargo.args(["--no-run", "--message-format=json-render-diagnostics"]);
    let mut pages = pages.to_vec();
    pages.sort_by_key(|page| std::cmp::Reverse(page.text().lines().count()));
    let mut targets: Vec<_> = pages.into_iter().map(target).collect();
    targets.dedup();
    for target in &targets {
        cargo.args(["--bench", target]);
    }
    cargo.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let output = Group::spawn(&mut cargo)
        .and_then(Group::wait_with_output)
        .map_err(|error| Failure::new(format!("cargo cannot be run: {error}")))?;
    check_interrupted()?;
    if !output.status.success() {
        return Err(Failure::new("the bench targets do not build; cargo said why above"));
    }
    let messages: Vec<Value> = output
        .stdout
        .split(|&byte| byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    let executable = |name: &String| {
        messages
            .iter()
            .filter(|message| message["target"]["name"] == **name)
            .find_map(|message| message["executable"].as_str())
            .map(PathBuf::from)
            .ok_or_else(|| Failure::new(format!("cargo built no executable for {name}")))
    };
    targets.iter().map(executable).collect()
}

/// Runs the targets, as many at once as there are cores, and returns the lines they print: a record a case.
fn run(
    root: &Path,
    home: &Path,
    targets: Vec<PathBuf>,
    total: usize,
    options: Options<'_>,
) -> Result<Vec<String>, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = cores.min(targets.len());
    let queue = Mutex::new(targets.into_iter());
    let (send, receive) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let send = send.clone();
            let queue = &queue;
            scope.spawn(move || {
                let next = || queue.lock().expect("no worker panics with the queue").next();
                while let Some(target) = next() {
                    if let Err(failure) = run_target(root, home, &target, options, &send) {
                        let _ = send.send(Err(failure));
                        break;
                    }
                }
            });
        }
        drop(send);
        let mut progress = Progress::new("counting", "cases", total);
        let mut records = Vec::with_capacity(total);
        for record in receive {
            records.push(record?);
            progress.show(records.len());
        }
        Ok(records)
    })
}

fn run_target(
    root: &Path,
    home: &Path,
    target: &Path,
    options: Options<'_>,
    send: &mpsc::Sender<Result<String, Failure>>,
) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| Failure::at(target, format!("cannot be run: {error}"));
    let mut command = Command::new(target);
    command.args(["--bench", "--output-format=json"]).current_dir(root);
    // What the user has set must not reach a measurement.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("IAI_CALLGRIND_") {
            command.env_remove(name);
        }
    }
    command
        .env_remove(DHAT)
        .env("IAI_CALLGRIND_HOME", home)
        .env("CARGO_PKG_NAME", own::package())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    options(&mut command);
    let mut group = Group::spawn(&mut command).map_err(cannot)?;
    let child = group.child();
    let id = child.id();
    let mut stderr = child.stderr.take().expect("it is piped");
    let said = std::thread::spawn(move || {
        let mut said = String::new();
        let _ = stderr.read_to_string(&mut said);
        said
    });
    let stdout = child.stdout.take().expect("it is piped");
    for line in BufReader::new(stdout).lines() {
        // The receiver is gone when another target has failed: no more is wanted.
        if send.send(Ok(line.map_err(cannot)?)).is_err() {
            kill(id);
        }
    }
    let status = group.wait().map_err(cannot)?;
    check_interrupted()?;
    let said = said.join().unwrap_or_default();
    if status.success() {
        return Ok(());
    }
    let reason = reason(&said);
    Err(Failure::at(target, format!("{status}: {reason}")))
}

/// Why a target failed, of all that it said: the message of a panic, or its last line.
fn reason(said: &str) -> &str {
    let panic = said.lines().skip_while(|line| !line.contains(" panicked at ")).nth(1);
    let last = || said.lines().rfind(|line| !line.trim().is_empty());
    panic.or_else(last).unwrap_or("it said nothing").trim()
}

/// The case that a record of iai-callgrind's is of, and the file that its tool wrote.
pub(super) fn case_and_file(record: &Value) -> Result<(String, PathBuf), Failure> {
    let id = record["details"]
        .as_str()
        .and_then(|details| Some(details.split_once('"')?.1.split_once('"')?.0.to_owned()))
        .ok_or_else(|| Failure::new(format!("a record names no case: {}", record["details"])))?;
    let path = record["profiles"][0]["out_paths"][0].as_str().map(PathBuf::from);
    let path = path.ok_or_else(|| Failure::new(format!("{id}: the record names no profile")))?;
    Ok((id, path))
}

/// A line that iai-callgrind printed.
pub(super) fn parse_record(line: &str) -> Result<Value, Failure> {
    serde_json::from_str(line)
        .map_err(|error| Failure::new(format!("iai-callgrind printed no record: {error}")))
}

/// From the record of a case, and the profile it names, to a row.
fn read_record(line: &str) -> Result<(Row, PathBuf), Failure> {
    let record = parse_record(line)?;
    let (id, path) = case_and_file(&record)?;
    let text = fs::read_to_string(&path).map_err(|error| Failure::at(&path, error))?;
    let read = Profile::parse(&text).map_err(|reason| Failure::new(format!("{id}: {reason}")))?;
    let Profile { classes, allocator_calls, functions } = read;
    let row = Row { id, classes, allocator_calls, functions };
    let counted =
        record["profiles"][0]["summaries"]["total"]["summary"]["Callgrind"]["Ir"]["metrics"]["Left"]["Int"]
            .as_u64();
    if counted != Some(row.total()) {
        let (id, total) = (&row.id, row.total());
        let counted = counted.map_or("nothing".to_owned(), |count| count.to_string());
        return Err(Failure::new(format!("{id}: the record says {counted}, its profile {total}")));
    }
    Ok((row, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_by_the_panic_or_the_last_line() {
        let panic = "==1== log\nthread 'main' (1) panicked at src/cases.rs:1:2:\nwrong: a case\n  \
                     left: 1\niai-callgrind-runner: Error running 'x': Exit code was: '101'\n";
        assert_eq!(reason(panic), "wrong: a case");
        assert_eq!(
            reason("log\nsetarch: failed to set personality\n\n"),
            "setarch: failed to set personality"
        );
        assert_eq!(reason(""), "it said nothing");
    }
}
