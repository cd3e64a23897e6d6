//! A bench target that somebody runs: a line a case.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use super::{Target, again_with_runner};
use crate::cases::Page;
use crate::environment::is_installed;
use crate::together::{self, Ended, LIMIT, Plan, reason};

/// Counts the cases of a target, or those with one of the arguments in their id, and prints a line each.
pub(super) fn count(target: &Target, arguments: &[OsString]) -> io::Result<ExitCode> {
    let arguments: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    let patterns: Vec<_> = arguments.iter().filter(|argument| *argument != "--bench").collect();
    if let Some(option) = patterns.iter().find(|pattern| pattern.starts_with('-')) {
        let reason = "a target takes parts of ids; options of iai-callgrind go with --isolated";
        return Err(io::Error::other(format!("{option}: {reason}")));
    }
    // The canaries of a suite of somebody else's are for the gate.
    (target.install)();
    let shown = |page: &&Page| **page != Page::Canary || target.pages.len() == 1;
    let ids: Vec<_> =
        target.pages.iter().filter(shown).flat_map(|page| page.text().lines()).collect();
    let wanted =
        |id: &&str| patterns.is_empty() || patterns.iter().any(|part| id.contains(&***part));
    let wanted: Vec<_> = ids.iter().copied().filter(wanted).collect();
    if wanted.is_empty() {
        return Err(io::Error::other(format!("no case has '{}' in its id", patterns[0])));
    }
    if !is_installed("valgrind") {
        eprintln!("instruction counts skipped: valgrind is not installed");
        return Ok(ExitCode::SUCCESS);
    }
    let floors: Vec<_> = wanted.iter().filter_map(|id| floor(id)).collect();
    let is_floor = |id: &&str| floors.iter().any(|floor| floor == id);
    let counted = |id: &&str| wanted.contains(id) || is_floor(id);
    let plan = ids.iter().copied().filter(counted).map(str::to_owned).collect();
    let (counts, faults) = run(plan)?;
    let kept = std::env::current_exe()?.with_extension("counts");
    let before = read(&kept);
    let width = wanted.iter().map(|id| id.len()).max().unwrap_or(0);
    for id in wanted {
        let Some(&ir) = counts.get(id) else { continue };
        let floor = floor(id).and_then(|floor| counts.get(&floor));
        let times =
            floor.map_or(String::new(), |&floor| format!("{:.2} x", ir as f64 / floor as f64));
        let change = match before.get(id) {
            None => "new".to_owned(),
            Some(&before) if before == ir => "as before".to_owned(),
            Some(&before) => {
                format!("{:+.2} %", (ir as f64 - before as f64) / before as f64 * 100.0)
            }
        };
        println!("{id:width$}  {ir:>12} Ir  {times:>9}  {change}");
    }
    write(&kept, before.into_iter().chain(counts))?;
    for fault in &faults {
        eprintln!("instructions: {fault}");
    }
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

/// The id of the floor of the same shape, which a case is a multiple of; there may be none.
fn floor(id: &str) -> Option<String> {
    let [fill, _, shape] = id.splitn(3, '/').collect::<Vec<_>>()[..] else { return None };
    Some(format!("{fill}/floor/{shape}"))
}

/// Counts these cases; returns the counts of some, and what is to be said of the others.
fn run(ids: Vec<String>) -> io::Result<(HashMap<String, u64>, Vec<String>)> {
    let folder = Folder::new()?;
    let at_once = std::thread::available_parallelism().map_or(1, usize::from);
    Plan { asked_by: std::process::id(), at_once, limit: LIMIT, ids }.write(&folder.0)?;
    let mut again = again_with_runner()?;
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("IAI_CALLGRIND_") {
            again.env_remove(name);
        }
    }
    let mut child = again
        .args(["--bench", "--output-format=json"])
        .env(together::FOLDER, &folder.0)
        .env("IAI_CALLGRIND_HOME", &folder.0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut said = String::new();
    child.stderr.take().expect("it is piped").read_to_string(&mut said)?;
    let status = child.wait()?;
    if !status.success() {
        return Err(io::Error::other(format!("{status}: {}", reason(&said))));
    }
    let mut profiles = Vec::new();
    files(&folder.0, &mut profiles)?;
    let (mut counts, mut faults) = (HashMap::new(), Vec::new());
    for Ended { id, pid, fault } in together::ends(&folder.0)?.cases {
        let name = format!(".{pid}.out");
        let profile = profiles.iter().find(|path| path.to_string_lossy().ends_with(&name));
        match (fault, profile.and_then(|path| total(path))) {
            (Some(fault), _) => faults.push(format!("{id}: {fault}")),
            (None, Some(ir)) => _ = counts.insert(id, ir),
            (None, None) => faults.push(format!("{id}: it wrote no profile")),
        }
    }
    Ok((counts, faults))
}

/// The last line of a callgrind file: the sum of its costs.
fn total(profile: &Path) -> Option<u64> {
    let text = fs::read_to_string(profile).ok()?;
    text.lines().rev().find_map(|line| line.strip_prefix("totals: "))?.trim().parse().ok()
}

fn files(folder: &Path, into: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { files(&path, into)? } else { into.push(path) }
    }
    Ok(())
}

/// A folder beside the program, for one run.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        let all = std::env::current_exe()?.with_extension("together");
        // Those of runs that were ended from outside.
        for entry in fs::read_dir(&all).into_iter().flatten().flatten() {
            let pid = entry.file_name().to_string_lossy().parse();
            if pid.is_ok_and(|pid| !together::is_running(pid)) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let folder = all.join(std::process::id().to_string());
        fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The counts of the last run; none if there was none.
fn read(path: &Path) -> HashMap<String, u64> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let pair = |line: &str| {
        Some((line.split_once('\t')?.0.to_owned(), line.split_once('\t')?.1.parse().ok()?))
    };
    text.lines().filter_map(pair).collect()
}

/// Keeps counts for the next run, the later of two of the same case.
fn write(path: &Path, counts: impl Iterator<Item = (String, u64)>) -> io::Result<()> {
    let counts: std::collections::BTreeMap<_, _> = counts.collect();
    let new = path.with_extension(format!("counts.{}", std::process::id()));
    fs::write(&new, counts.iter().map(|(id, ir)| format!("{id}\t{ir}\n")).collect::<String>())?;
    fs::rename(new, path)
}
