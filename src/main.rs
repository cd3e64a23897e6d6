//! The command line: verbs only.
//!
//! Exit codes: 0 all is well, 1 at least one case (or the spliced section) is not as it was, 2 nothing could be
//! judged.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use writeonce::baseline::{Baseline, write_whole};
use writeonce::cases::{self, Case, Fill};
use writeonce::environment::Environment;
use writeonce::failure::Failure;
use writeonce::gate::{self, Kind};
use writeonce::lens::{self, instructions, wall_clock};
use writeonce::report;

/// Measures ways of building a buffer, and fails when an instruction count moves.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Print the ids of all cases, one a line.
    Cases,
    /// Count all cases and write the baseline of this environment.
    Record,
    /// Count all cases and compare them with the baseline of this environment.
    Gate {
        /// Judge these files of measurements together instead of measuring.
        #[arg(long, value_name = "FILE", num_args = 1..)]
        merge: Vec<PathBuf>,
    },
    /// Time and count all cases, then print the report.
    Bench {
        /// Sample for real, not quickly.
        #[arg(long)]
        full: bool,
    },
    /// Print the last measurements, one table a fill.
    Report {
        /// Write the section of results from the baseline into this file, between its markers.
        #[arg(long, value_name = "FILE")]
        splice: Option<PathBuf>,
        /// Write nothing; exit 1 if the section in the file is another one.
        #[arg(long, requires = "splice")]
        check: bool,
    },
}

const OK: u8 = 0;
const NOT_OK: u8 = 1;
const CANNOT_JUDGE: u8 = 2;

fn main() -> ExitCode {
    let Arguments { verb } = Arguments::parse();
    let code = run(verb).unwrap_or_else(|failure| {
        eprintln!("writeonce: {failure}");
        CANNOT_JUDGE
    });
    code.into()
}

fn run(verb: Verb) -> Result<u8, Failure> {
    let table = cases::all().map_err(|error| Failure::new(error.to_string()))?;
    match verb {
        Verb::Cases => {
            print(&ids(&table).map(|id| format!("{id}\n")).collect::<String>())?;
            Ok(OK)
        }
        Verb::Record => record(&table),
        Verb::Gate { merge } => gate(&table, &merge),
        Verb::Bench { full } => {
            let root = root()?;
            wall_clock::measure(&root, !full)?;
            count(&root)?;
            print(&last_report(&root, &table)?)?;
            Ok(OK)
        }
        Verb::Report { splice: None, .. } => {
            print(&last_report(&root()?, &table)?)?;
            Ok(OK)
        }
        Verb::Report { splice: Some(file), check } => splice(&file, check),
    }
}

fn ids(table: &[Case]) -> impl Iterator<Item = &str> {
    table.iter().map(Case::id)
}

/// Prints to standard output. A reader that has gone away wants no more; anything else is a failure.
fn print(text: &str) -> Result<(), Failure> {
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
    let ours = concat!("name = \"", env!("CARGO_PKG_NAME"), "\"\n");
    let is_root = |folder: &&Path| {
        std::fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| text.contains(ours))
    };
    here.ancestors()
        .find(is_root)
        .map(Path::to_owned)
        .ok_or_else(|| Failure::at(&here, "not in a checkout of writeonce; change to one"))
}

fn baselines(root: &Path) -> PathBuf {
    root.join("baselines")
}

/// Counts all cases and keeps the result for reports.
fn count(root: &Path) -> Result<Baseline, Failure> {
    let environment = Environment::detect(root)?;
    let rows = instructions::measure(root, &Fill::ALL)?;
    let counted = Baseline { environment, rows };
    counted.write(&last_counts(root)?)?;
    Ok(counted)
}

fn last_counts(root: &Path) -> Result<PathBuf, Failure> {
    Ok(lens::scratch(root)?.join("instructions.tsv"))
}

fn record(table: &[Case]) -> Result<u8, Failure> {
    let root = root()?;
    let counted = count(&root)?;
    let path = counted.path(&baselines(&root));
    if let Some(id) = ids(table).find(|id| counted.rows.iter().all(|row| row.id != *id)) {
        return Err(Failure::new(format!("{id} was not measured; nothing is recorded")));
    }
    counted.write(&path)?;
    print(&format!("recorded {} cases in {}\n", counted.rows.len(), path.display()))?;
    Ok(OK)
}

fn gate(table: &[Case], merge: &[PathBuf]) -> Result<u8, Failure> {
    let root = root()?;
    let merged = (!merge.is_empty()).then(|| merged(merge)).transpose()?;
    let environment = match &merged {
        Some(merged) => merged.environment.clone(),
        None => Environment::detect(&root)?,
    };
    let baseline = fitting(&baselines(&root), &environment)?;
    let measured = merged.map_or_else(|| count(&root), Ok)?;
    let table: Vec<_> = ids(table).map(str::to_owned).collect();
    let verdicts = gate::judge(&table, &measured.rows, &baseline.rows);
    let mut text = String::new();
    for verdict in verdicts.iter().filter(|verdict| verdict.kind != Kind::Ok) {
        text += &format!("{verdict}\n");
    }
    let kinds = [Kind::Ok, Kind::Regressed, Kind::Improved, Kind::Missing, Kind::Unknown];
    let counts = kinds.map(|kind| (kind, verdicts.iter().filter(|v| v.kind == kind).count()));
    let parts = counts.iter().filter(|(_, count)| *count > 0);
    let parts: Vec<_> = parts.map(|(kind, count)| format!("{count} {}", kind.name())).collect();
    text += &format!("gate: {} cases: {}\n", verdicts.len(), parts.join(", "));
    print(&text)?;
    let all_ok = !verdicts.is_empty() && verdicts.iter().all(|verdict| verdict.kind == Kind::Ok);
    Ok(if all_ok { OK } else { NOT_OK })
}

/// Slices of one measurement, put together.
fn merged(files: &[PathBuf]) -> Result<Baseline, Failure> {
    let mut slices = files.iter().map(|file| Ok((file, Baseline::read(file)?)));
    let (_, mut whole) = slices.next().expect("there is a file")?;
    for slice in slices {
        let (file, slice) = slice?;
        if let Some(difference) = slice.environment.differences(&whole.environment).first() {
            return Err(Failure::at(file, format!("another environment: {difference}")));
        }
        if let Some(row) = slice.rows.iter().find(|row| whole.rows.iter().any(|r| r.id == row.id)) {
            return Err(Failure::at(file, format!("{} is in two files", row.id)));
        }
        whole.rows.extend(slice.rows);
    }
    Ok(whole)
}

/// The baseline of an environment.
fn fitting(folder: &Path, environment: &Environment) -> Result<Baseline, Failure> {
    let mut closest: Option<(usize, String)> = None;
    for (path, baseline) in Baseline::read_all(folder)? {
        let differences = environment.differences(&baseline.environment);
        if differences.is_empty() {
            return Ok(baseline);
        }
        if closest.as_ref().is_none_or(|(count, _)| differences.len() < *count) {
            let line = format!("{} has another {}", path.display(), differences.join(", "));
            closest = Some((differences.len(), line));
        }
    }
    let why = closest.map_or_else(|| format!("{} has none", folder.display()), |(_, line)| line);
    let record = gate::RECORD;
    Err(Failure::new(format!(
        "no baseline for this environment: {why}; record one with `{record}`"
    )))
}

fn last_report(root: &Path, table: &[Case]) -> Result<String, Failure> {
    let counts = Baseline::read(&last_counts(root)?)?;
    let times = wall_clock::read(&lens::scratch(root)?.join("criterion"))?;
    Ok(report::tables(table, &counts.rows, &times))
}

fn splice(file: &Path, check: bool) -> Result<u8, Failure> {
    let folder = baselines(&root()?);
    let (_, baseline) = Baseline::read_all(&folder)?
        .into_iter()
        .next()
        .ok_or_else(|| Failure::at(&folder, format!("no baseline; run `{}`", gate::RECORD)))?;
    let old = std::fs::read_to_string(file).map_err(|error| Failure::at(file, error))?;
    let new = report::splice(&old, &report::readme_section(&baseline))
        .map_err(|reason| Failure::at(file, reason))?;
    if new == old {
        return Ok(OK);
    }
    if check {
        print(&format!("{}: its results are not those of the baseline\n", file.display()))?;
        return Ok(NOT_OK);
    }
    write_whole(file, &new)?;
    Ok(OK)
}
