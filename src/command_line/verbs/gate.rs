//! `gate`: what is compared with what.

mod against;
mod footprint;

use std::io::Write;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};

use crate::allocator::Allocator;
use crate::baseline::Baseline;
use crate::cases::{Case, Page};
use crate::environment::{BUILT_FEATURES, Environment, GATED_FEATURES};
use crate::failure::Failure;
use crate::files::write_whole;
use crate::footprint::Conditions;
use crate::gate::{self, Kind, Measured, Verdict, number};
use crate::lens;
use crate::lens::footprint::Footprint;
use crate::lens::instructions::{Counted, Row};
use crate::own::command;
use crate::report::Comment;

use self::footprint::Other;
use super::{baselines, count, print, ready, root, settle};
use crate::command_line::{CANNOT_JUDGE, Counting, Gate, NOT_OK, OK, say};

pub(crate) fn gate(table: &[Case], arguments: Gate) -> Result<u8, Failure> {
    if let Some(fill) = &arguments.fill {
        return slice(&root()?, table, fill, &arguments.counting);
    }
    let mut comment = Comment::default();
    let judged = judge(table, &arguments, &mut comment);
    if let Err(failure) = &judged {
        comment.verdict = "nothing could be judged".to_owned();
        comment.notes.insert(0, failure.to_string());
    }
    let published = publish(&comment, arguments.markdown.as_deref());
    // Of two failures, the one that came first.
    let code = judged?;
    published.map(|()| code)
}

/// Writes a comment where it is asked for: to a file, and to the end of the summary of a CI job.
fn publish(comment: &Comment, file: Option<&Path>) -> Result<(), Failure> {
    if let Some(file) = file {
        write_whole(file, &comment.to_markdown())?;
    }
    if let Some(summary) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) {
        let summary = Path::new(&summary);
        std::fs::File::options()
            .append(true)
            .create(true)
            .open(summary)
            .and_then(|mut file| file.write_all(comment.to_markdown().as_bytes()))
            .map_err(|error| Failure::at(summary, error))?;
    }
    Ok(())
}

fn judge(table: &[Case], arguments: &Gate, comment: &mut Comment) -> Result<u8, Failure> {
    let root = root()?;
    let only = arguments.only.as_deref().unwrap_or_default();
    let pages: Vec<_> = Page::core()
        .iter()
        .copied()
        .filter(|page| page.text().lines().any(|id| id.contains(only)))
        .collect();
    if pages.is_empty() {
        return Err(Failure::new(format!("no case has '{only}' in its id; see `writeonce cases`")));
    }
    let committed = baselines(&root);
    let merged = (!arguments.merge.is_empty())
        .then(|| Merged::read(&arguments.merge, &committed))
        .transpose()?
        .unwrap_or_default();
    let conditions = merged.footprint.as_ref().map(|footprint| footprint.conditions.clone());
    let conditions = conditions.unwrap_or_else(Conditions::detect);
    // A missing baseline is found before the minute that counting takes.
    let find = |environment: &Environment| {
        let fitting = match arguments.against {
            Some(_) => Err(String::new()),
            None => fitting(&committed, environment)?,
        };
        let fallback = arguments.against.as_deref().or(arguments.or_against.as_deref());
        match (fitting, fallback) {
            (Ok(counts), _) => Ok((counts, Some(Other::fitting(&committed, &conditions)?), None)),
            (Err(_), Some(revision)) => {
                let way = arguments.counting.way();
                let (counts, footprint) =
                    against::measured(&root, environment, &conditions, revision, way)?;
                Ok((counts, footprint, Some(revision)))
            }
            (Err(why), None) => Err(no_baseline(&why)),
        }
    };
    let footprint =
        || lens::footprint::measure(&root, Allocator::in_force(), GATED_FEATURES, only, &[]);
    // What was measured is judged, and what may not be trusted of it is said behind the verdicts.
    let mut doubts = Vec::new();
    let (measured, (baseline, other, revision), counted, footprint) = match merged.counts {
        Some(measured) => {
            let baselines = find(&measured.environment)?;
            let footprint = merged.footprint.map_or_else(footprint, Ok);
            (measured, baselines, None, footprint)
        }
        None => {
            let environment = ready(&root, GATED_FEATURES, &arguments.counting)?;
            let baselines = find(&environment)?;
            // Side by side: neither counts nor footprints depend on load.
            let (count, footprint) = std::thread::scope(|scope| {
                let footprint = scope.spawn(footprint);
                let count =
                    count(&root, table, &pages, GATED_FEATURES, environment, &arguments.counting);
                let footprint = footprint.join().unwrap_or_else(|panic| resume_unwind(panic));
                (count, footprint)
            });
            let count = count?;
            doubts = count.doubts;
            (count.measured, baselines, Some(count.counted), footprint)
        }
    };
    let footprint = footprint.map_err(|failure| doubts.push(failure)).ok();
    let ids: Vec<_> = table.iter().map(|case| case.id().to_owned()).collect();
    let mut counts = gate::judge(&ids, &measured.rows, &baseline.rows);
    counts.retain(|verdict| verdict.id.contains(only));
    let faults = counted.iter().flat_map(|counted| &counted.faults);
    let faults: Vec<_> = faults.filter(|fault| fault.id.contains(only)).collect();
    counts.retain(|verdict| faults.iter().all(|fault| fault.id != verdict.id));
    let mut text = if revision.is_some() { say_renamed(&mut counts) } else { String::new() };
    let counts = Judged::new(counts, revision);
    text += &counts.listed;
    text += &counts.red;
    let footprint = other.as_ref().zip(footprint).map(|(other, footprint)| {
        let (verdicts, note) = other.judge(&ids, footprint, only);
        (Judged::new(verdicts, revision), note)
    });
    if let Some((footprint, _)) = &footprint {
        text += &footprint.red;
    }
    if let Some(counted) = &counted {
        // The verdict is worth more than the files.
        text += &keep_profiles(&root, counted, &counts.verdicts)
            .unwrap_or_else(|failure| format!("profiles: none are kept: {failure}\n"));
    }
    match (&footprint, revision) {
        (Some((footprint, note)), _) => {
            text += &format!("{note}{}", footprint.summary("footprint"))
        }
        (None, Some(revision)) if other.is_none() => {
            text += &format!("footprint: not compared: {revision} has no benches/footprint.rs\n");
        }
        (None, _) => {}
    }
    text += &counts.summary("gate");
    print(&text)?;
    *comment = counts.comment();
    comment.notes.push(measured.environment.in_short());
    if let Some((footprint, _)) = &footprint {
        comment.moved.extend(footprint.moved());
        comment.notes.insert(1, footprint.summary("footprint").trim_end().to_owned());
    }
    let all_ok = comment.moved.is_empty();
    comment.verdict = match comment.moved.len() {
        0 => "all as in the baseline".to_owned(),
        1 => "1 case is not as in the baseline".to_owned(),
        moved => format!("{moved} cases are not as in the baseline"),
    };
    if !doubts.is_empty() {
        comment.notes.splice(..0, doubts.iter().map(ToString::to_string));
        settle(doubts).map(|()| CANNOT_JUDGE)
    } else if !all_ok {
        Ok(NOT_OK)
    } else if counts.verdicts.is_empty() {
        Err(Failure::new("nothing was compared: no case is on both sides"))
    } else if arguments.only.is_some() {
        say("partial run, not a gate");
        Ok(CANNOT_JUDGE)
    } else {
        Ok(OK)
    }
}

/// Verdicts through one lens, and what is printed of them.
struct Judged<R> {
    verdicts: Vec<Verdict<R>>,
    /// A line a case that only one side has, where that is no fault: in a comparison with a revision.
    listed: String,
    /// The verdicts that are not ok, a line or more each.
    red: String,
}

impl<R: Measured> Judged<R> {
    fn new(mut verdicts: Vec<Verdict<R>>, revision: Option<&str>) -> Self {
        let mut listed = String::new();
        if let Some(revision) = revision {
            let one_side =
                |verdict: &mut Verdict<R>| verdict.measured.is_none() || verdict.baseline.is_none();
            for verdict in verdicts.extract_if(.., one_side) {
                let side = if verdict.measured.is_some() { "here" } else { revision };
                listed += &format!("only {side}: {}\n", verdict.id);
            }
        }
        let mut judged = Self { verdicts, listed, red: String::new() };
        judged.red = judged.moved().map(|verdict| format!("{verdict}\n")).collect();
        judged
    }

    /// What is not ok, a line or more each.
    fn moved(&self) -> impl Iterator<Item = String> {
        let red = self.verdicts.iter().filter(|verdict| verdict.kind != Kind::Ok);
        red.map(ToString::to_string)
    }

    /// How many verdicts of each kind there are, on one line.
    fn summary(&self, name: &str) -> String {
        let kinds = [Kind::Ok, Kind::Regressed, Kind::Improved, Kind::Missing, Kind::Unknown];
        let count = |kind| self.verdicts.iter().filter(|verdict| verdict.kind == kind).count();
        let listed = self.listed.lines().count();
        let mut parts: Vec<_> = kinds
            .into_iter()
            .map(|kind| (count(kind), kind.name()))
            .chain([(listed, "on one side only")])
            .filter(|(count, _)| *count > 0)
            .map(|(count, name)| format!("{count} {name}"))
            .collect();
        if parts.is_empty() {
            parts.push("none compared".to_owned());
        }
        format!("{name}: {} cases: {}\n", self.verdicts.len() + listed, parts.join(", "))
    }
}

impl Judged<Row> {
    /// The comment on these, but for its verdict.
    fn comment(&self) -> Comment {
        let total =
            |row: &Option<Row>| row.as_ref().map_or("-".to_owned(), |row| number(row.total()));
        let line = |verdict: &Verdict| {
            [verdict.id.clone(), total(&verdict.baseline), total(&verdict.measured)]
        };
        Comment {
            verdict: String::new(),
            notes: vec![self.summary("gate").trim_end().to_owned()],
            moved: self.moved().collect(),
            all: self.verdicts.iter().map(line).collect(),
        }
    }
}

/// Takes out the verdicts on cases that were renamed, and says which they are.
fn say_renamed(verdicts: &mut Vec<Verdict>) -> String {
    let mut text = String::new();
    for (old, new) in gate::renamed(verdicts) {
        text += &format!("renamed: {old} is {new} now, with the same counts\n");
        verdicts.retain(|verdict| verdict.id != old && verdict.id != new);
    }
    text
}

/// The slice that is no page of the table.
const FOOTPRINT: &str = "footprint";

/// Counts one page, or measures the footprint of all, and writes it for `--merge`.
fn slice(root: &Path, table: &[Case], name: &str, counting: &Counting) -> Result<u8, Failure> {
    let slices = lens::scratch(root)?.join("slices");
    std::fs::create_dir_all(&slices).map_err(|error| Failure::at(&slices, error))?;
    let (path, rows) = if name == FOOTPRINT {
        let path = slices.join("all.footprint.tsv");
        let footprint =
            lens::footprint::measure(root, Allocator::in_force(), GATED_FEATURES, "", &[])?;
        footprint.write(&path)?;
        (path, footprint.rows.len())
    } else {
        let built = Page::built();
        let page = built.iter().find(|page| page.name() == name).ok_or_else(|| {
            let names = built.iter().map(|page| page.name()).collect::<Vec<_>>().join(", ");
            Failure::new(format!("there is no page '{name}'; there is {names}, {FOOTPRINT}"))
        })?;
        // What is beside the gate is counted as it is for a report, and kept from the slices that are judged.
        let is_gated = Page::core().contains(page);
        let features = if is_gated { GATED_FEATURES } else { BUILT_FEATURES };
        let folder = if is_gated { slices } else { slices.join("beside") };
        let path = folder.join(format!("{name}.instructions.tsv"));
        let environment = ready(root, features, counting)?;
        let counted = count(root, table, &[*page], features, environment, counting)?;
        let measured = counted.undoubted()?;
        measured.write(&path)?;
        (path, measured.rows.len())
    };
    let path = path.display();
    print(&format!("measured {rows} cases in {path}; judge all slices with --merge\n"))?;
    Ok(OK)
}

/// Copies the callgrind files of red cases to one folder, and says how to open them.
fn keep_profiles(root: &Path, counted: &Counted, verdicts: &[Verdict]) -> Result<String, Failure> {
    let folder = lens::scratch(root)?.join("red");
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Failure::at(&folder, error));
        }
        _ => {}
    }
    let mut kept = 0;
    for verdict in verdicts.iter().filter(|verdict| verdict.kind != Kind::Ok) {
        let Some(profile) = counted.profile(&verdict.id) else { continue };
        let copy = folder.join(format!("{}.callgrind.out", verdict.id.replace('/', ".")));
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::copy(profile, &copy))
            .map_err(|error| Failure::at(&copy, error))?;
        kept += 1;
    }
    if kept == 0 {
        return Ok(String::new());
    }
    Ok(format!("profiles: {kept} in {}; open one with callgrind_annotate FILE\n", folder.display()))
}

/// Slices of one measurement, put together. A committed baseline is none.
#[derive(Default)]
struct Merged {
    counts: Option<Baseline>,
    footprint: Option<Footprint>,
}

impl Merged {
    fn read(files: &[PathBuf], committed: &Path) -> Result<Self, Failure> {
        let mut merged = Self::default();
        // Those are read with the counts that they are behind.
        let functions: Vec<_> =
            files.iter().filter_map(|file| Baseline::functions_beside(file)).collect();
        for file in files.iter().filter(|file| !functions.contains(file)) {
            let folder =
                std::fs::canonicalize(file).ok().and_then(|file| Some(file.parent()?.to_owned()));
            if folder.is_some() && folder == std::fs::canonicalize(committed).ok() {
                let reason = "it is a baseline, not a measurement; name files of --fill";
                return Err(Failure::at(file, reason));
            }
            let rows = if Footprint::is_in(file)? {
                merged.add_footprint(file, Footprint::read(file)?)?
            } else {
                merged.add_counts(file, Baseline::read(file)?)?
            };
            if rows == 0 {
                let reason = "it has no cases; count the slice again with --fill";
                return Err(Failure::at(file, reason));
            }
        }
        match merged.counts {
            Some(_) => Ok(merged),
            None => Err(Failure::new("none of these files has counts; name files of --fill")),
        }
    }

    fn add_footprint(&mut self, file: &Path, slice: Footprint) -> Result<usize, Failure> {
        let rows = slice.rows.len();
        if self.footprint.replace(slice).is_some() {
            return Err(Failure::at(file, "there are two footprints; name one"));
        }
        Ok(rows)
    }

    fn add_counts(&mut self, file: &Path, slice: Baseline) -> Result<usize, Failure> {
        let rows = slice.rows.len();
        let Some(whole) = &mut self.counts else {
            self.counts = Some(slice);
            return Ok(rows);
        };
        if let Some(difference) = slice.environment.differences(&whole.environment).first() {
            return Err(Failure::at(file, format!("another environment: {difference}")));
        }
        if let Some(row) = slice.rows.iter().find(|row| whole.rows.iter().any(|r| r.id == row.id)) {
            return Err(Failure::at(file, format!("{} is in two files", row.id)));
        }
        whole.rows.extend(slice.rows);
        Ok(rows)
    }
}

/// The baseline of an environment, or why there is none: what differs from the one that comes closest.
fn fitting(folder: &Path, environment: &Environment) -> Result<Result<Baseline, String>, Failure> {
    let mut closest: Option<(usize, String)> = None;
    let mut fitting: Option<(PathBuf, Baseline)> = None;
    for (path, baseline) in Baseline::read_all(folder)? {
        let differences = environment.differences(&baseline.environment);
        if differences.is_empty() {
            if let Some((other, _)) = fitting {
                let reason = format!("{} is of the same environment; remove one", other.display());
                return Err(Failure::at(&path, reason));
            }
            fitting = Some((path, baseline));
            continue;
        }
        if closest.as_ref().is_none_or(|(count, _)| differences.len() < *count) {
            let line = format!("{} has another {}", path.display(), differences.join(", "));
            closest = Some((differences.len(), line));
        }
    }
    let none =
        || closest.map_or_else(|| format!("{} has none", folder.display()), |(_, line)| line);
    Ok(fitting.map(|(_, baseline)| baseline).ok_or_else(none))
}

fn no_baseline(why: &str) -> Failure {
    let (record, gate) = (command::record(), command::gate());
    Failure::new(format!(
        "no baseline for this environment: {why}; compare with the commit before by `{gate} --against HEAD~1`, or \
         record one with `{record}`"
    ))
}
