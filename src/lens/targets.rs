//! The bench targets of the instruction harness: building them, running them, and what they leave of each case.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use serde_json::Value;

use crate::cases::Page;
use crate::environment::DHAT;
use crate::failure::Failure;
use crate::own::{self, Suite};
use crate::process::{Group, check_interrupted, kill, measures};
use crate::progress::Progress;
use crate::together::{self, Plan, reason};

/// How cases are counted; what is counted does not depend on it.
#[derive(Debug, Clone, Copy)]
pub struct Way {
    /// A valgrind a case, instead of [one for all](together).
    pub isolated: bool,
    /// Leave the randomization of addresses on.
    pub allow_aslr: bool,
    /// How long a case may take, in seconds, where all are counted together.
    pub limit: u32,
}

impl Default for Way {
    fn default() -> Self {
        Self { isolated: false, allow_aslr: false, limit: together::LIMIT }
    }
}

/// The tool of valgrind's that watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    Callgrind,
    Dhat,
}

/// A case that was counted.
pub(super) struct Counted {
    pub(super) id: String,
    /// What its tool wrote.
    pub(super) file: PathBuf,
    /// The instructions that iai-callgrind read there.
    pub(super) ir: Option<u64>,
}

/// A case that could not be counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The id of the case.
    pub id: String,
    /// Why not, on one line.
    pub reason: String,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.id, self.reason)
    }
}

/// What the targets have left.
pub(super) struct Measured {
    pub(super) cases: Vec<Counted>,
    pub(super) faults: Vec<Fault>,
    /// The folder with the files, which go when it is dropped.
    pub(super) folder: tempfile::TempDir,
}

/// A target and what it is to count: ids together, or all that it has, each apart.
struct Run {
    program: PathBuf,
    together: Option<Vec<String>>,
}

/// Builds the targets of some pages in the folder `target` and counts their cases.
pub(super) fn measure(
    root: &Path,
    target: &Path,
    pages: &[Page],
    features: &[&str],
    tool: Tool,
    way: Way,
) -> Result<Measured, Failure> {
    let mut names: Vec<(String, Vec<Page>)> = Vec::new();
    for &page in pages {
        let name = name(page);
        match names.iter_mut().find(|(other, _)| *other == name) {
            Some((_, pages)) => pages.push(page),
            None => names.push((name, vec![page])),
        }
    }
    let ids = |pages: &[Page]| -> Vec<String> {
        pages.iter().flat_map(|page| page.text().lines()).map(str::to_owned).collect()
    };
    // What takes longest begins first.
    names.sort_by_key(|(_, pages)| std::cmp::Reverse(ids(pages).len()));
    let targets: Vec<_> = names.iter().map(|(name, _)| name.clone()).collect();
    let programs = super::build(root, target, &targets, features)?;
    let mut runs = Vec::new();
    for (program, (_, pages)) in programs.into_iter().zip(names) {
        // The canaries of a suite of somebody else's are not in the file of its table.
        let apart = |page: &Page| way.isolated && (*page != Page::Canary || pages.len() == 1);
        let (isolated, together): (Vec<_>, Vec<_>) = pages.iter().copied().partition(apart);
        if !isolated.is_empty() {
            runs.push(Run { program: program.clone(), together: None });
        }
        if !together.is_empty() {
            runs.push(Run { program, together: Some(ids(&together)) });
        }
    }
    run_in(root, target, runs, ids(pages).len(), tool, way)
}

/// Counts these cases by a target that is built, or all that it has where the `way` is a valgrind a case; what is written
/// goes below the folder `target`.
pub(super) fn count(
    root: &Path,
    target: &Path,
    program: &Path,
    ids: &[String],
    way: Way,
) -> Result<Measured, Failure> {
    let together = (!way.isolated).then(|| ids.to_vec());
    let run = Run { program: program.to_owned(), together };
    run_in(root, target, vec![run], ids.len(), Tool::Callgrind, way)
}

/// Runs the targets, with a folder below `target` for what they write.
fn run_in(
    root: &Path,
    target: &Path,
    runs: Vec<Run>,
    total: usize,
    tool: Tool,
    way: Way,
) -> Result<Measured, Failure> {
    remove_left_behind(target);
    let folder = tempfile::Builder::new()
        .prefix(COUNTING)
        .tempdir_in(target)
        .map_err(|error| Failure::at(target, format!("cannot make a folder: {error}")))?;
    let Batch { cases, faults } = run(root, folder.path(), runs, total, tool, way)?;
    Ok(Measured { cases, faults, folder })
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
fn name(page: Page) -> String {
    match Suite::installed() {
        Some(_) => "instructions".to_owned(),
        None => format!("instructions_{}", page.name()),
    }
}

/// What targets have left of their cases.
#[derive(Default)]
struct Batch {
    cases: Vec<Counted>,
    faults: Vec<Fault>,
}

/// Runs the targets.
///
/// Two at once, where there are two cores, so that the next valgrind starts while the last children of one run; each makes as
/// many children at once as there are cores. A valgrind a case is one process at a time, so that there as many run as
/// there are cores.
fn run(
    root: &Path,
    home: &Path,
    runs: Vec<Run>,
    total: usize,
    tool: Tool,
    way: Way,
) -> Result<Batch, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = if way.isolated { cores } else { cores.min(2) };
    let workers = workers.min(runs.len());
    let queue = Mutex::new(runs.into_iter().enumerate());
    let (send, receive) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let send = send.clone();
            let queue = &queue;
            scope.spawn(move || {
                let next = || queue.lock().expect("no worker panics with the queue").next();
                while let Some((index, run)) = next() {
                    let home = home.join(index.to_string());
                    if let Err(failure) = run.go(root, &home, cores, tool, way, &send) {
                        let _ = send.send(Err(failure));
                        break;
                    }
                }
            });
        }
        drop(send);
        let mut progress = Progress::new("counting", "cases", total);
        let mut all = Batch::default();
        for batch in receive {
            let Batch { cases, faults } = batch?;
            all.cases.extend(cases);
            all.faults.extend(faults);
            progress.show(all.cases.len() + all.faults.len());
        }
        Ok(all)
    })
}

impl Run {
    /// Runs the target and sends what each of its records says. What it writes goes to the folder `home`, which is made.
    fn go(
        &self,
        root: &Path,
        home: &Path,
        cores: usize,
        tool: Tool,
        way: Way,
        send: &mpsc::Sender<Result<Batch, Failure>>,
    ) -> Result<(), Failure> {
        let target = &self.program;
        let cannot = |error: std::io::Error| Failure::at(target, format!("cannot be run: {error}"));
        let mut command = Command::new(target);
        command.args(["--bench", "--output-format=json"]).current_dir(root);
        // What the user has set must not reach a measurement.
        measures(&mut command);
        command
            .env_remove(DHAT)
            .env_remove(together::FOLDER)
            .env("IAI_CALLGRIND_HOME", home)
            .env("CARGO_PKG_NAME", own::package())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if tool == Tool::Dhat {
            command.env(DHAT, "yes");
        }
        if way.allow_aslr {
            command.arg("--allow-aslr");
        }
        fs::create_dir(home).map_err(|error| Failure::at(home, error))?;
        match &self.together {
            Some(ids) => {
                let plan = Plan {
                    asked_by: std::process::id(),
                    at_once: cores,
                    limit: way.limit,
                    ids: ids.clone(),
                };
                plan.write(home).map_err(|error| Failure::at(home, error))?;
                command.env(together::FOLDER, home);
            }
            None => {
                command.arg(together::ISOLATED);
            }
        }
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
            let batch = read_record(&line.map_err(cannot)?, home);
            // The receiver is gone when another target has failed: no more is wanted.
            if send.send(batch).is_err() {
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
}

/// What a line that iai-callgrind printed says: of a case, or of all that ran together below `home`.
fn read_record(line: &str, home: &Path) -> Result<Batch, Failure> {
    let record: Value = serde_json::from_str(line)
        .map_err(|error| Failure::new(format!("iai-callgrind printed no record: {error}")))?;
    let mut parts: HashMap<u64, Vec<Part>> = HashMap::new();
    for part in record["profiles"][0]["summaries"]["parts"].as_array().into_iter().flatten() {
        let part = Part::read(part).ok_or_else(|| {
            Failure::new(format!("a record has a part that is none: {}", part["details"]))
        })?;
        parts.entry(part.pid).or_default().push(part);
    }
    if record["function_name"] == together::FUNCTION {
        return read_together(parts, home).map_err(|error| Failure::at(home, error));
    }
    let id = record["details"]
        .as_str()
        .and_then(|details| Some(details.split_once('"')?.1.split_once('"')?.0.to_owned()))
        .ok_or_else(|| Failure::new(format!("a record names no case: {}", record["details"])))?;
    let mut batch = Batch::default();
    let parts: Vec<_> = parts.into_values().flatten().collect();
    batch.add(id, parts);
    Ok(batch)
}

/// Of a record: what a thread of a process has left.
struct Part {
    pid: u64,
    file: PathBuf,
    ir: Option<u64>,
}

impl Part {
    fn read(part: &Value) -> Option<Self> {
        let details = &part["details"]["Left"];
        let ir = &part["metrics_summary"]["Callgrind"]["Ir"]["metrics"]["Left"]["Int"];
        Some(Self {
            pid: details["pid"].as_u64()?,
            file: PathBuf::from(details["path"].as_str()?),
            ir: ir.as_u64(),
        })
    }

    /// The process that started this one, as its log says it.
    fn parent(&self) -> Option<u64> {
        let log = fs::read_to_string(self.file.with_extension("log")).ok()?;
        let parent = log.lines().find_map(|line| line.split_once("Parent PID: "));
        parent?.1.trim().parse().ok()
    }
}

impl Batch {
    /// Adds what a case has left.
    fn add(&mut self, id: String, mut parts: Vec<Part>) {
        match (parts.pop(), parts.is_empty()) {
            (Some(Part { file, ir, .. }), true) => self.cases.push(Counted { id, file, ir }),
            (None, _) => {
                let reason = "it wrote no profile".to_owned();
                self.faults.push(Fault { id, reason });
            }
            (Some(_), false) => {
                let reason = "it has several threads or processes, and only one can be counted";
                self.faults.push(Fault { id, reason: reason.to_owned() });
            }
        }
    }
}

/// What each case of a plan has left.
fn read_together(mut parts: HashMap<u64, Vec<Part>>, home: &Path) -> std::io::Result<Batch> {
    let ends = together::ends(home)?;
    parts.remove(&ends.parent.into());
    // What is of no case was started by one.
    let cases: Vec<u64> = ends.cases.iter().map(|case| case.pid.into()).collect();
    let strays: Vec<_> = parts.extract_if(|pid, _| !cases.contains(pid)).collect();
    let parents: HashMap<u64, u64> =
        strays.iter().filter_map(|(pid, parts)| Some((*pid, parts.first()?.parent()?))).collect();
    for (mut pid, stray) in strays {
        while let Some(&parent) = parents.get(&pid) {
            pid = parent;
        }
        parts.entry(pid).or_default().extend(stray);
    }
    let mut batch = Batch::default();
    for case in ends.cases {
        let left = parts.remove(&case.pid.into()).unwrap_or_default();
        match case.fault {
            Some(reason) => batch.faults.push(Fault { id: case.id, reason }),
            None => batch.add(case.id, left),
        }
    }
    let of_none = |pid: &u64| Fault {
        id: format!("process {pid}"),
        reason: "it was started by no case".to_owned(),
    };
    batch.faults.extend(parts.keys().map(of_none));
    Ok(batch)
}
