//! Instruction counts: running the iai-callgrind harness and reading its records.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::profile::{Classes, Function, Profile};
use super::targets::{self, Counted as Case, Measured, Tool};
use crate::cases::Page;
use crate::failure::Failure;

pub use super::targets::{Fault, Way};

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
    /// What is to be said of each case that could not be counted.
    pub faults: Vec<Fault>,
    profiles: HashMap<String, PathBuf>,
    _folder: tempfile::TempDir,
}

impl Counted {
    /// Reads what the targets have left, in the order of `ids`.
    fn read(measured: Measured, ids: &[&str]) -> Self {
        let (mut rows, mut faults, mut profiles) = (Vec::new(), measured.faults, HashMap::new());
        for case in measured.cases {
            match read(&case) {
                Ok(row) => {
                    profiles.insert(row.id.clone(), case.file);
                    rows.push(row);
                }
                Err(reason) => faults.push(Fault { id: case.id, reason }),
            }
        }
        let place = |id: &str| ids.iter().position(|other| *other == id).unwrap_or(usize::MAX);
        rows.sort_by_cached_key(|row| place(&row.id));
        faults.sort_by_cached_key(|fault| place(&fault.id));
        let is_canary = |row: &mut Row| row.id.starts_with(Page::Canary.name());
        let canaries = rows.extract_if(.., is_canary).collect();
        Self { rows, canaries, faults, profiles, _folder: measured.folder }
    }

    /// The callgrind file of a case.
    #[must_use]
    pub fn profile(&self, id: &str) -> Option<&Path> {
        self.profiles.get(id).map(PathBuf::as_path)
    }
}

/// Counts all cases of these pages in the project at `root`, by harnesses with these features, and the canaries.
///
/// The targets are built first. Counts do not depend on load, nor on the randomization of
/// addresses; it is switched off all the same, unless that is not permitted here and the `way` says to leave it.
///
/// # Errors
/// [`Failure`] if a target cannot be built or run, or a record is not as it must be.
pub fn measure(
    root: &Path,
    pages: &[Page],
    features: &[&str],
    way: Way,
) -> Result<Counted, Failure> {
    let pages = [pages, &[Page::Canary]].concat();
    measure_in(root, &crate::lens::target(root)?, &pages, features, way)
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
    way: Way,
) -> Result<Counted, Failure> {
    let measured = targets::measure(root, target, pages, features, Tool::Callgrind, way)?;
    let ids: Vec<_> = pages.iter().flat_map(|page| page.text().lines()).collect();
    Ok(Counted::read(measured, &ids))
}

/// Counts these cases by a bench target that is built: `program`. Where the `way` is a valgrind a case, it counts all that it
/// has. What is written meanwhile goes below the folder `target`.
///
/// # Errors
/// [`Failure`] if it cannot be run, or a record is not as it must be.
pub fn count(
    root: &Path,
    target: &Path,
    program: &Path,
    ids: &[String],
    way: Way,
) -> Result<Counted, Failure> {
    let measured = targets::count(root, target, program, ids, way)?;
    Ok(Counted::read(measured, &ids.iter().map(String::as_str).collect::<Vec<_>>()))
}

/// From the profile of a case to a row.
fn read(case: &Case) -> Result<Row, String> {
    let text = fs::read_to_string(&case.file)
        .map_err(|error| format!("{}: {error}", case.file.display()))?;
    let Profile { classes, allocator_calls, functions } = Profile::parse(&text)?;
    let row = Row { id: case.id.clone(), classes, allocator_calls, functions };
    if case.ir != Some(row.total()) {
        let counted = case.ir.map_or("nothing".to_owned(), |count| count.to_string());
        return Err(format!("the record says {counted}, its profile {}", row.total()));
    }
    Ok(row)
}
