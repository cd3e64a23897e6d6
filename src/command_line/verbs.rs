//! What each verb does.

#[cfg(unix)]
mod audit;
mod gate;
mod report;
mod timing;

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::allocator::Allocator;
use crate::baseline::Baseline;
use crate::cases::{Case, Page};
use crate::doctor;
use crate::environment::{Environment, GATED_FEATURES, cargo};
use crate::failure::{Failure, one_line};
use crate::files;
use crate::gate::canary;
use crate::last;
use crate::lens::{self, instructions};
use crate::own;

use crate::command_line::{CANNOT_JUDGE, Counting, OK, say};

#[cfg(unix)]
pub(crate) use audit::audit;
pub(crate) use gate::gate;
pub(crate) use report::{bench, compare, export, page, report, splice};
pub(crate) use timing::{choose, replay, require_optimized, time, time_all};

/// The pages of the table that this build can measure.
pub(crate) type Picture = [(Page, Vec<Case>)];

pub(crate) fn cases(table: &[Case]) -> Result<u8, Failure> {
    print(&table.iter().map(|case| format!("{}\n", case.id())).collect::<String>())?;
    Ok(OK)
}

pub(crate) fn run(case: &Case) -> Result<u8, Failure> {
    print(&format!("{:016x}\n", case.input().run()))?;
    Ok(OK)
}

pub(crate) fn record(table: &[Case], counting: &Counting) -> Result<u8, Failure> {
    let root = root()?;
    let environment = ready(&root, GATED_FEATURES, counting)?;
    files::check_writable(&baselines(&root))?;
    let counted = count(&root, table, Page::core(), GATED_FEATURES, environment, counting)?;
    let counted = counted.undoubted()?;
    let not_counted = |case: &&Case| counted.rows.iter().all(|row| row.id != case.id());
    if let Some(case) = table.iter().find(not_counted) {
        return Err(Failure::new(format!("{} was not counted; nothing is recorded", case.id())));
    }
    let footprint =
        lens::footprint::measure(&root, Allocator::in_force(), GATED_FEATURES, "", &[])?;
    let path = counted.path(&baselines(&root));
    counted.write(&path)?;
    let footprint_path = footprint.path(&baselines(&root));
    footprint.write(&footprint_path)?;
    print(&format!(
        "recorded {} cases in {}\nrecorded the footprints of {} in {}\n",
        counted.rows.len(),
        path.display(),
        footprint.rows.len(),
        footprint_path.display()
    ))?;
    Ok(OK)
}

pub(crate) fn doctor() -> Result<u8, Failure> {
    let checks = doctor::examine(&root()?);
    let line = |check: &doctor::Check| match &check.result {
        Ok(found) => format!("ok      {}: {}\n", check.name, one_line(found)),
        Err(wrong) => format!("failed  {}: {}\n", check.name, one_line(wrong)),
    };
    print(&checks.iter().map(line).collect::<String>())?;
    Ok(if checks.iter().all(|check| check.result.is_ok()) { OK } else { CANNOT_JUDGE })
}

/// Prints to standard output. A reader that has gone away wants no more; anything else is a failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("cannot print: {error}")))
        }
        _ => Ok(()),
    }
}

/// The folder of the project: the nearest one above with a manifest of this package.
fn root() -> Result<PathBuf, Failure> {
    let here =
        std::env::current_dir().map_err(|error| Failure::new(format!("no folder: {error}")))?;
    let package = own::package();
    for folder in here.ancestors() {
        if cargo::package(folder)?.is_some_and(|name| name == package) {
            return Ok(folder.to_owned());
        }
    }
    Err(Failure::at(&here, format!("not in a checkout of {package}; change to one")))
}

fn baselines(root: &Path) -> PathBuf {
    root.join("baselines")
}

/// Where what was measured last is kept for reports.
fn last_path(root: &Path, what: &str) -> Result<PathBuf, Failure> {
    Ok(lens::scratch(root)?.join(format!("last.{what}.tsv")))
}

/// The last counts of the core.
fn last_counts(root: &Path) -> Result<PathBuf, Failure> {
    last_path(root, "instructions")
}

/// The last counts of a page beside the core, with those that they are compared with.
fn last_counts_beside(root: &Path, page: Page) -> Result<PathBuf, Failure> {
    last_path(root, &format!("{}.instructions", page.name()))
}

/// The last footprints of all pages under an allocator.
fn last_footprint(root: &Path, allocator: Allocator) -> Result<PathBuf, Failure> {
    last_path(root, &format!("{}.footprint", allocator.name()))
}

/// The last times in turns under an allocator.
fn last_paired(root: &Path, allocator: Allocator) -> Result<PathBuf, Failure> {
    last_path(root, &format!("{}.paired", allocator.name()))
}

/// The environment of a run, once everything that counting needs is there.
fn ready(root: &Path, features: &[&str], counting: &Counting) -> Result<Environment, Failure> {
    doctor::require(root, counting.allow_aslr)?;
    Environment::detect(root, features)
}

/// What was counted of some pages, and why it may not be trusted.
struct Count {
    measured: Baseline,
    /// The profiles go with it.
    counted: instructions::Counted,
    doubts: Vec<Failure>,
}

impl Count {
    /// # Errors
    /// The first doubt.
    fn undoubted(self) -> Result<Baseline, Failure> {
        self.doubts.into_iter().next().map_or(Ok(self.measured), Err)
    }
}

/// Counts some pages of the table and checks the canaries.
fn count(
    root: &Path,
    table: &[Case],
    pages: &[Page],
    features: &[&str],
    environment: Environment,
    counting: &Counting,
) -> Result<Count, Failure> {
    let mut counted = instructions::measure(root, pages, features, counting.way())?;
    let not_counted = |fault| Failure::new(format!("could not be counted: {fault}"));
    let doubts = counted.faults.iter().map(not_counted);
    let doubts = doubts.chain(canary::doubts(&counted.canaries, table, &counted.rows)).collect();
    let rows = std::mem::take(&mut counted.rows);
    let measured = Baseline { environment, rows };
    keep_counts(root, &measured, pages)?;
    Ok(Count { measured, counted, doubts })
}

/// Doubts that are said: where nothing can be counted, there is one for each case.
const SAID: usize = 8;

/// Says these but for the last, which is the failure that ends the run.
///
/// # Errors
/// The last doubt, if there is one.
fn settle(mut doubts: Vec<Failure>) -> Result<(), Failure> {
    let last = doubts.pop();
    doubts.iter().take(SAID).for_each(|doubt| say(&doubt.to_string()));
    if doubts.len() > SAID {
        say(&format!("{} more of this kind", doubts.len() - SAID));
    }
    last.map_or(Ok(()), Err)
}

/// Keeps the counts of some pages for reports: the core, if it is whole, and each page beside it apart.
fn keep_counts(root: &Path, measured: &Baseline, pages: &[Page]) -> Result<(), Failure> {
    let keep = |path: &Path, shows: &dyn Fn(&str) -> bool| {
        let rows = measured.rows.iter().filter(|row| shows(&row.id)).cloned().collect();
        let environment = measured.environment.clone();
        last::write(path, &Baseline { environment, rows }.to_text())
    };
    if pages.starts_with(Page::core()) {
        let in_core = |id: &str| Page::core().iter().any(|page| page.shows(id));
        keep(&last_counts(root)?, &in_core)?;
    }
    for &page in Page::beside().iter().filter(|page| pages.contains(page)) {
        keep(&last_counts_beside(root, page)?, &|id| page.shows(id))?;
    }
    Ok(())
}
