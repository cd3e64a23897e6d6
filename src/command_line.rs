//! The command line: arguments, and verbs that do what they say.
//!
//! Exit codes: 0 all is well, 1 at least one case (or the spliced section) is not as it was, 2 nothing could be
//! judged.

mod verbs;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::allocator;
use crate::cases;
use crate::failure::Failure;
use crate::last::Run;
use crate::lens::instructions::Way;
use crate::own::{Suite, command};
use crate::together::LIMIT;
use clap::{Args, Parser, Subcommand};

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
    /// Run a case once and print its checksum: something to look at with other tools, `audit` for one.
    Run {
        /// The id, as `cases` prints it.
        id: String,
    },
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
    Report(Report),
    /// Find and prove superfluous zeroing in a program: memory that is zeroed and then written.
    ///
    /// The program's input, outputs and exit code are its own; the report goes to standard error. It is run more than once
    /// where the proof needs it.
    #[cfg(unix)]
    Audit(Audit),
    /// Check what a run needs; a line a check, with the cure.
    Doctor,
}

#[cfg(unix)]
#[derive(Args)]
pub(crate) struct Audit {
    /// Leave zeroings of fewer bytes alone.
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..))]
    min: u64,
    /// Show only sites with this in the `function file:line` of a frame.
    #[arg(long, value_name = "SITE-PATTERN")]
    only: Option<String>,
    /// Write the report as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report as a page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Exit 1 if more bytes are zeroed for nothing.
    #[arg(long, value_name = "BYTES")]
    max_wasted: Option<u64>,
    /// Sites that may waste: `PATTERN # reason`, one a line.
    #[arg(long, value_name = "FILE")]
    allow: Option<PathBuf>,
    /// Audit the programs that this one starts too.
    #[arg(long)]
    follow: bool,
    /// Then run the program with garbage instead of the zeros that were found superfluous; exit 1 if it does anything else.
    #[arg(long)]
    verify: bool,
    /// Run the program at most this often under memcheck; a low number leaves some verdicts unproven.
    #[arg(long, value_name = "N", default_value_t = 16)]
    runs: usize,
    /// The program and its arguments.
    #[arg(required = true, last = true, value_name = "PROGRAM")]
    command: Vec<std::ffi::OsString>,
}

#[derive(Args)]
pub(crate) struct Counting {
    /// Leave address space randomization on, where `setarch -R` is refused; the counts are the same.
    #[arg(long)]
    allow_aslr: bool,
    /// Count each case under a valgrind of its own instead of one for all: slow, for a doubt.
    #[arg(long)]
    isolated: bool,
    /// How long a case may take.
    #[arg(long, value_name = "SECONDS", default_value_t = LIMIT, value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "isolated")]
    limit: u32,
}

impl Counting {
    /// How the cases are counted.
    fn way(&self) -> Way {
        let Self { allow_aslr, isolated, limit } = *self;
        Way { isolated, allow_aslr, limit }
    }
}

#[derive(Args)]
pub(crate) struct Gate {
    #[command(flatten)]
    counting: Counting,
    /// Compare with this git revision instead, measured here: needs no baseline.
    #[arg(long, value_name = "REV", conflicts_with = "fill")]
    against: Option<String>,
    /// Compare with this git revision where no committed baseline is of this environment.
    #[arg(long, value_name = "REV", conflicts_with_all = ["fill", "against"])]
    or_against: Option<String>,
    /// Count one page and write a slice, to be judged by --merge if it is one of the gate.
    #[arg(long, value_name = "FILL", conflicts_with_all = ["merge", "only"])]
    fill: Option<String>,
    /// Judge these slices together instead of counting.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    merge: Vec<PathBuf>,
    /// Write the verdict as Markdown for a pull request. Where a CI job has a summary (GITHUB_STEP_SUMMARY), it gets it too.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Show only the cases with this in their id. For people: never exits 0.
    #[arg(long, value_name = "PATTERN")]
    only: Option<String>,
}

#[derive(Args)]
pub(crate) struct Under {
    /// The allocator: system, jemalloc, jemalloc_madvise, mimalloc, or all that were built in.
    #[arg(long, value_name = "NAME", default_value = "all")]
    allocator: String,
}

#[derive(Args)]
pub(crate) struct Time {
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
pub(crate) struct Choose {
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
pub(crate) struct Report {
    /// Write the section of results from the baseline into this file, between its markers.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["csv", "json", "html", "compare"])]
    splice: Option<PathBuf>,
    /// Write nothing; exit 1 if the section in the file is another one.
    #[arg(long, requires = "splice")]
    check: bool,
    /// Write the last measurements as comma-separated values, a row a case and lens, instead of tables.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write them as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write them as a page of charts and tables.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Take the rows of such a CSV or JSON file for the page, not the last measurements.
    #[arg(long, value_name = "ROWS", requires = "html", conflicts_with_all = ["csv", "json"])]
    from: Option<PathBuf>,
    /// Compare two such files.
    #[arg(long, value_names = ["BEFORE", "AFTER"], num_args = 2, conflicts_with_all = ["csv", "json", "html"])]
    compare: Option<Vec<PathBuf>>,
}

#[derive(Args)]
pub(crate) struct Replay {
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

/// The `main` of a program that is the command line and has [`Chosen`](allocator::Chosen) as its allocator.
#[must_use]
pub fn main() -> ExitCode {
    allocator::start();
    // `cargo bench` adds it to the arguments of a target.
    let arguments: Vec<_> = std::env::args_os().filter(|argument| argument != "--bench").collect();
    if arguments.len() == 1 && Suite::installed().is_some() {
        let line = format!("writeonce: `{}` and other verbs; --help lists them\n", command::gate());
        return exit_code(verbs::print(&line).map(|()| OK));
    }
    let Arguments { verb } = Arguments::parse_from(arguments);
    // It begins here, whatever is measured first.
    Run::this();
    exit_code(run(verb))
}

/// The exit code of what was done; a failure is said.
fn exit_code(done: Result<u8, Failure>) -> ExitCode {
    let code = done.unwrap_or_else(|failure| {
        say(&failure.to_string());
        CANNOT_JUDGE
    });
    code.into()
}

/// Says a line on standard error. Where nobody can hear it, the exit code has to do.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "writeonce: {line}");
}

fn run(verb: Verb) -> Result<u8, Failure> {
    let wrong = |error: cases::IdError| Failure::new(error.to_string());
    let table = cases::all().map_err(wrong)?;
    match verb {
        Verb::Cases => verbs::cases(&table),
        Verb::Run { id } => verbs::run(&cases::Case::parse(&id).map_err(wrong)?),
        Verb::Record(counting) => verbs::record(&table, &counting),
        Verb::Gate(gate) => verbs::gate(&table, gate),
        Verb::Bench { full, counting } => {
            verbs::bench(&cases::picture().map_err(wrong)?, full, &counting)
        }
        Verb::Time(arguments) => verbs::time(&cases::picture().map_err(wrong)?, &arguments),
        Verb::Replay(arguments) => verbs::replay(&arguments),
        Verb::Choose(arguments) => verbs::choose(&arguments),
        Verb::Report(Report { splice: Some(file), check, .. }) => verbs::splice(&file, check),
        Verb::Report(Report { compare: Some(files), .. }) => verbs::compare(&files[0], &files[1]),
        Verb::Report(Report { from: Some(rows), html: Some(file), .. }) => {
            verbs::page(&rows, &file)
        }
        Verb::Report(Report { csv: None, json: None, html: None, .. }) => {
            verbs::report(&cases::picture().map_err(wrong)?)
        }
        Verb::Report(Report { csv, json, html, .. }) => {
            let picture = cases::picture().map_err(wrong)?;
            verbs::export(&picture, csv.as_deref(), json.as_deref(), html.as_deref())
        }
        #[cfg(unix)]
        Verb::Audit(arguments) => verbs::audit(arguments),
        Verb::Doctor => verbs::doctor(),
    }
}
