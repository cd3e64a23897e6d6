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
use writeonce::last::Run;

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
    /// Print the ids of all cases of the gate, one a line.
    Cases,
    /// Count all cases and write the baseline of this environment.
    Record(Counting),
    /// Count all cases and compare them with the baseline of this environment.
    Gate(Gate),
    /// Time and count all cases, those beside the gate too, then print the report.
    Bench {
        /// Sample for real, not quickly.
        #[arg(long)]
        full: bool,
        #[command(flatten)]
        counting: Counting,
    },
    /// Time the strategies of each shape in turns: ratios that the drift of a shared machine leaves alone.
    Time(Time),
    /// Run the serialization of the ledger replay that this suite began with.
    Replay(Replay),
    /// Say which strategy to take for a workload, by how much, and what that rests on.
    Choose(Choose),
    /// Print the last measurements, one table a page and fill.
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
    /// Count one page of the gate and write a slice, to be judged by --merge.
    #[arg(long, value_name = "FILL", conflicts_with_all = ["merge", "only"])]
    fill: Option<String>,
    /// Judge these slices together instead of counting.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    merge: Vec<PathBuf>,
    /// Show only the cases with this in their id. For people: never exits 0.
    #[arg(long, value_name = "PATTERN")]
    only: Option<String>,
}

#[derive(Args)]
struct Under {
    /// The allocator: system, jemalloc, jemalloc_madvise, mimalloc, or all that were built in.
    #[arg(long, value_name = "NAME", default_value = "all")]
    allocator: String,
}

#[derive(Args)]
struct Time {
    /// Only the cases with this in their id.
    #[arg(long, value_name = "PATTERN", default_value = "")]
    only: String,
    /// The strategy that the others are compared with; the first of a shape where it is missing.
    #[arg(long, value_name = "STRATEGY", default_value = "floor")]
    reference: String,
    /// Time for each shape.
    #[arg(long, value_name = "MS", default_value_t = 300)]
    milliseconds: u64,
    /// Keep the times for `report`, and print nothing.
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    under: Under,
}

#[derive(Args)]
struct Choose {
    /// A shape (8x165, orderbook, ledger), or a file: an instruction a line, the sizes of its accounts.
    workload: String,
    /// Alignment of the buffers, in bytes: 8, 16, 64 or 4096.
    #[arg(long, value_name = "BYTES", default_value_t = 16)]
    align: usize,
    /// Size of the working set that account data lie in.
    #[arg(long, value_name = "MIB", default_value_t = 256)]
    working_set: usize,
    #[command(flatten)]
    under: Under,
}

#[derive(Args)]
struct Replay {
    /// How much of the replay of 5,313,048 accounts: 1.0 is all of it.
    #[arg(long, default_value_t = 0.02)]
    scale: f64,
    /// Size of the working set that account data lie in.
    #[arg(long, value_name = "MIB", default_value_t = 256)]
    working_set: usize,
    /// Threads that serialize at the same time.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    #[command(flatten)]
    under: Under,
}

const OK: u8 = 0;
const NOT_OK: u8 = 1;
const CANNOT_JUDGE: u8 = 2;

fn main() -> ExitCode {
    allocator::start();
    let Arguments { verb } = Arguments::parse();
    // It begins here, whatever is measured first.
    Run::this();
    let code = run(verb).unwrap_or_else(|failure| {
        eprintln!("writeonce: {failure}");
        CANNOT_JUDGE
    });
    code.into()
}

fn run(verb: Verb) -> Result<u8, Failure> {
    let wrong = |error: cases::IdError| Failure::new(error.to_string());
    let table = cases::all().map_err(wrong)?;
    match verb {
        Verb::Cases => verbs::cases(&table),
        Verb::Record(counting) => verbs::record(&table, &counting),
        Verb::Gate(gate) => verbs::gate(&table, gate),
        Verb::Bench { full, counting } => {
            verbs::bench(&cases::picture().map_err(wrong)?, full, &counting)
        }
        Verb::Time(arguments) => verbs::time(&cases::picture().map_err(wrong)?, &arguments),
        Verb::Replay(arguments) => verbs::replay(&arguments),
        Verb::Choose(arguments) => verbs::choose(&arguments),
        Verb::Report { splice: None, .. } => verbs::report(&cases::picture().map_err(wrong)?),
        Verb::Report { splice: Some(file), check } => verbs::splice(&file, check),
        Verb::Doctor => verbs::doctor(),
    }
}
