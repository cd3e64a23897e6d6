//! All cases of a bench target under one valgrind: a child a case, made by `fork`.
//!
//! valgrind takes a quarter of a second to start, a case milliseconds to run. So one process is started; for each case it makes
//! a child, which prepares the case, runs it, and leaves. callgrind and DHAT give each child a profile of its own, and count
//! nothing of what was before it. Cases stay apart by construction: a child has the state that a new process has,
//! because the parent does nothing between two children but to wait and to write down what became of them.
//!
//! Whoever starts the target makes a folder with a [`Plan`], names it by [`FOLDER`], and reads the [`ends`] from it.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::fork::{self, ALARM, DONE, End, PANICKED};

/// The variable that names the folder.
pub const FOLDER: &str = "WRITEONCE_TOGETHER";

/// The argument of a target that asks for a valgrind a case instead.
pub const ISOLATED: &str = "--isolated";

/// The name of the function under which iai-callgrind records all of it.
pub const FUNCTION: &str = "together";

/// How long a case may take, in seconds: a thousand times what the longest of the table needs under valgrind.
pub const LIMIT: u32 = 300;

// The file `ends`: the process id of the parent, then a line a case: its place in the plan, the id of its process, and the
// code and the signal with which it ended.

/// What is to be counted: the first line of its file has its three numbers, each other line an id.
#[derive(Debug)]
pub struct Plan {
    /// The process that wants to know: where it is gone, nothing needs to be counted.
    pub asked_by: u32,
    /// How many children there may be at once.
    pub at_once: usize,
    /// How long a case may take, in seconds.
    pub limit: u32,
    /// The cases.
    pub ids: Vec<String>,
}

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The id of the case.
    pub id: String,
    /// The process that ran it.
    pub pid: u32,
    /// Why there is nothing to be read of it, where it failed: what happened, and its last words.
    pub fault: Option<String>,
}

const PLAN: &str = "plan";
const ENDS: &str = "ends";

impl Plan {
    /// Writes the plan into a folder.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let Self { asked_by, at_once, limit, ids } = self;
        fs::write(folder.join(PLAN), format!("{asked_by} {at_once} {limit}\n{}\n", ids.join("\n")))
    }

    /// # Errors
    /// If there is none.
    pub(crate) fn read(folder: &Path) -> io::Result<Self> {
        let damaged = || io::Error::other("the plan is damaged");
        let text = fs::read_to_string(folder.join(PLAN))?;
        let (numbers, ids) = text.split_once('\n').ok_or_else(damaged)?;
        fn number<'a, N: FromStr>(of: &mut impl Iterator<Item = &'a str>) -> io::Result<N> {
            let number = of.next().and_then(|number| number.parse().ok());
            number.ok_or_else(|| io::Error::other("the plan lacks a number"))
        }
        let mut numbers = numbers.split(' ');
        Ok(Self {
            asked_by: number(&mut numbers)?,
            at_once: number(&mut numbers)?,
            limit: number(&mut numbers)?,
            ids: ids.lines().map(str::to_owned).collect(),
        })
    }
}

/// What became of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ends {
    /// The process whose children the cases were.
    pub parent: u32,
    /// The cases, in the order of the plan.
    pub cases: Vec<Ended>,
}

/// What became of the plan in a folder.
///
/// # Errors
/// If the folder does not say.
pub fn ends(folder: &Path) -> io::Result<Ends> {
    let plan = Plan::read(folder)?;
    let wrong = || io::Error::other("what became of the cases is not said");
    let text = fs::read_to_string(folder.join(ENDS))?;
    let (parent, lines) = text.split_once('\n').ok_or_else(wrong)?;
    let mut ends = HashMap::new();
    for line in lines.lines() {
        let numbers: Vec<i32> = line.split(' ').map_while(|word| word.parse().ok()).collect();
        let &[index, pid, code, signal] = &numbers[..] else { return Err(wrong()) };
        ends.insert(index, (pid.unsigned_abs(), code, signal));
    }
    let read = |(index, id): (i32, String)| {
        let &(pid, code, signal) = ends.get(&index).ok_or_else(wrong)?;
        let what = match (code, signal) {
            (DONE, 0) => None,
            (PANICKED, 0) => Some("it panicked".to_owned()),
            (code, 0) => Some(format!("it ended with code {code}")),
            (_, ALARM) => Some(format!("it took longer than {} s", plan.limit)),
            (_, signal) => Some(format!("it was killed by signal {signal}")),
        };
        let fault = what.map(|what| match last_words(&words(folder, index)) {
            Some(words) => format!("{what}: {words}"),
            None => what,
        });
        Ok(Ended { id, pid, fault })
    };
    let cases = (0..).zip(plan.ids).map(read).collect::<io::Result<_>>()?;
    Ok(Ends { parent: parent.parse().map_err(io::Error::other)?, cases })
}

/// The file for what a case says.
fn words(folder: &Path, index: impl std::fmt::Display) -> PathBuf {
    folder.join(format!("words.{index}"))
}

fn last_words(path: &Path) -> Option<String> {
    let said = fs::read(path).ok()?;
    let said = String::from_utf8_lossy(&said);
    (!said.trim().is_empty()).then(|| reason(&said).to_owned())
}

/// Counts the cases of the plan in the folder that [`FOLDER`] names, a child each; `run` prepares a case and runs it.
///
/// # Panics
/// If the folder is not as it must be, or there can be no child.
pub fn count(run: fn(&str)) {
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("a folder is named"));
    fork_each(&folder, run).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
}

fn fork_each(folder: &Path, run: fn(&str)) -> io::Result<()> {
    let plan = Plan::read(folder)?;
    if !is_running(plan.asked_by) {
        return Ok(());
    }
    // From here to the last child nothing is allocated: `ends` is written as it is formatted.
    let mut ends = File::create(folder.join(ENDS))?;
    writeln!(ends, "{}", std::process::id())?;
    let mut running: Vec<(u32, usize)> = Vec::with_capacity(plan.at_once);
    let paths: Vec<_> = (0..plan.ids.len()).map(|index| words(folder, index)).collect();
    let mut next = plan.ids.iter().zip(&paths).enumerate();
    loop {
        if running.len() < plan.at_once.max(1)
            && let Some((index, (id, words))) = next.next()
        {
            let pid = fork::start(|| run(id), plan.limit, || File::create(words))?;
            running.push((pid, index));
        } else if running.is_empty() {
            return Ok(());
        } else {
            let (pid, end) = fork::wait()?;
            let place = running.iter().position(|&(other, _)| other == pid);
            let (_, index) = running.swap_remove(place.ok_or(io::ErrorKind::NotFound)?);
            let (code, signal) = match end {
                End::Code(code) => (code, 0),
                End::Signal(signal) => (0, signal),
            };
            writeln!(ends, "{index} {pid} {code} {signal}")?;
        }
    }
}

/// Whether there is a process with this id.
pub(crate) fn is_running(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

/// Why a process failed, of all that it said: the message of a panic, or its last line.
pub(crate) fn reason(said: &str) -> &str {
    let panic = said.lines().skip_while(|line| !line.contains(" panicked at ")).nth(1);
    let last = || said.lines().rfind(|line| !line.trim().is_empty());
    panic.or_else(last).unwrap_or("it said nothing").trim()
}
