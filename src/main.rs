//! The command line: verbs only.
//!
//! Exit codes: 0 all is well, 1 at least one case (or the spliced section) is not as it was, 2 nothing could be
//! judged.

mod verbs;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use writeonce::allocator::{self, Chosen};
use writeonce::cases;
use writeonce::failure::Failure;

#[global_allocator]
static ALLOCATOR: Chosen = Chosen;

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
    Record(Counting),
    /// Count all cases and compare them with the baseline of this environment.
    Gate(Gate),
    /// Time and count all cases, then print the report.
    Bench {
        /// Sample for real, not quickly.
        #[arg(long)]
        full: bool,
        #[command(flatten)]
        counting: Counting,
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
    /// Check what a run needs; a line a check, with the cure.
    Doctor,
}

#[derive(Args)]
struct Counting {
    /// Leave address space randomization on, where `setarch -R` is refused; the counts are the same.
    #[arg(long)]
    allow_aslr: bool,
}

#[derive(Args)]
struct Gate {
    #[command(flatten)]
    counting: Counting,
    /// Compare with this git revision instead, measured here: needs no baseline.
    #[arg(long, value_name = "REV", conflicts_with_all = ["fill", "merge"])]
    against: Option<String>,
    /// Count one page of the table and write a slice, to be judged by --merge.
    #[arg(long, value_name = "FILL", conflicts_with_all = ["merge", "only"])]
    fill: Option<String>,
    /// Judge these slices together instead of counting.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    merge: Vec<PathBuf>,
    /// Show only the cases with this in their id. For people: never exits 0.
    #[arg(long, value_name = "PATTERN")]
    only: Option<String>,
}

const OK: u8 = 0;
const NOT_OK: u8 = 1;
const CANNOT_JUDGE: u8 = 2;

fn main() -> ExitCode {
    allocator::start();
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
        Verb::Cases => verbs::cases(&table),
        Verb::Record(counting) => verbs::record(&table, &counting),
        Verb::Gate(gate) => verbs::gate(&table, gate),
        Verb::Bench { full, counting } => verbs::bench(&table, full, &counting),
        Verb::Report { splice: None, .. } => verbs::report(&table),
        Verb::Report { splice: Some(file), check } => verbs::splice(&file, check),
        Verb::Doctor => verbs::doctor(),
    }
}
