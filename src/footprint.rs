//! The footprint of a case: what one call asks of the allocator, and how many pages of memory it takes from the kernel.
//!
//! The harness prints it as text: header lines `# key<TAB>value` with the [conditions](Conditions::KEYS), then one
//! line a case in table order, tab-separated: the id and the [`COLUMNS`], as plain decimal integers, or `-` where
//! there is no such number.

use std::fmt;
use std::hint::black_box;
use std::io::Write;
use std::process::{Command, ExitCode};

use crate::allocator::{self, Allocator, Counts};
use crate::cases::{self, Case, Page};
use crate::environment;
use crate::failure::Failure;
use crate::fork;
use crate::together::LIMIT;

/// The columns of a line after the id.
pub const COLUMNS: [&str; 12] = [
    "buffer_bytes",
    "allocations",
    "zeroed_allocations",
    "reallocations",
    "frees",
    "bytes",
    "zeroed_bytes",
    "moved_bytes",
    "peak_bytes",
    "faults_recycled",
    "faults_fresh",
    "peak_rss_kib",
];

/// The footprint of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The id of the case.
    pub id: String,
    /// Bytes of the largest finished buffer.
    pub buffer_bytes: u64,
    /// What a call asks of the allocator when everything is warm; exact.
    pub counts: Counts,
    /// Page faults of a call on a recycled heap: the least of several; nothing where they are not to be compared.
    pub faults_recycled: Option<u64>,
    /// The same on a fresh heap; nothing below [`allocator::fresh_from`].
    pub faults_fresh: Option<u64>,
    /// By how many KiB the first call of a process raises its peak of memory in core, where the system says so.
    pub peak_rss_kib: Option<u64>,
}

impl Row {
    /// The values of [`COLUMNS`].
    #[must_use]
    pub fn values(&self) -> [Option<u64>; COLUMNS.len()] {
        let counts = &self.counts;
        [
            Some(self.buffer_bytes),
            Some(counts.allocations),
            Some(counts.zeroed_allocations),
            Some(counts.reallocations),
            Some(counts.frees),
            Some(counts.bytes),
            Some(counts.zeroed_bytes),
            Some(counts.moved_bytes),
            Some(counts.peak_bytes),
            self.faults_recycled,
            self.faults_fresh,
            self.peak_rss_kib,
        ]
    }

    /// The row with these values of [`COLUMNS`]; nothing if one is missing that every row has.
    #[must_use]
    pub fn new(id: &str, values: [Option<u64>; COLUMNS.len()]) -> Option<Self> {
        let [buffer, allocations, zeroed_allocations, reallocations, frees, rest @ ..] = values;
        let [bytes, zeroed_bytes, moved_bytes, peak_bytes, recycled, fresh, peak_rss] = rest;
        Some(Self {
            id: id.to_owned(),
            buffer_bytes: buffer?,
            counts: Counts {
                allocations: allocations?,
                zeroed_allocations: zeroed_allocations?,
                reallocations: reallocations?,
                frees: frees?,
                bytes: bytes?,
                zeroed_bytes: zeroed_bytes?,
                moved_bytes: moved_bytes?,
                peak_bytes: peak_bytes?,
                live_bytes: 0,
            },
            faults_recycled: recycled,
            faults_fresh: fresh,
            peak_rss_kib: peak_rss,
        })
    }
}

/// The line of the case, without its end.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)?;
        for value in self.values() {
            match value {
                Some(value) => write!(f, "\t{value}")?,
                None => f.write_str("\t-")?,
            }
        }
        Ok(())
    }
}

/// What page faults depend on. Calls and bytes depend on the first of it alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conditions([String; Conditions::KEYS.len()]);

impl Conditions {
    /// The keys, in the order of the header.
    pub const KEYS: [&str; 4] = ["pointer_width", "allocator", "libc", "page_size"];

    /// The conditions with these values, in the order of [`KEYS`](Self::KEYS).
    #[must_use]
    pub fn new(values: [String; Self::KEYS.len()]) -> Self {
        Self(values)
    }

    /// Those of this process.
    #[must_use]
    pub fn detect() -> Self {
        Self([
            usize::BITS.to_string(),
            Allocator::in_force().name().to_owned(),
            allocator::libc_version(),
            allocator::page_size().to_string(),
        ])
    }

    /// Keys and values, in order.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        Self::KEYS.into_iter().zip(self.0.iter().map(String::as_str))
    }

    /// The values, in the order of [`KEYS`](Self::KEYS).
    #[must_use]
    pub fn values(&self) -> &[String; Self::KEYS.len()] {
        &self.0
    }

    /// What differs from `other`, one `key: ours, not theirs` each.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        environment::differences(self.fields(), other.fields())
    }

    /// Bits of a pointer, as text: where it is the same, calls and bytes are.
    #[must_use]
    pub fn pointer_width(&self) -> &str {
        &self.0[0]
    }

    /// The name of the allocator.
    #[must_use]
    pub fn allocator(&self) -> &str {
        &self.0[1]
    }

    /// The lines of the header.
    #[must_use]
    pub fn header(&self) -> String {
        let fields: String =
            self.fields().map(|(key, value)| format!("# {key}\t{value}\n")).collect();
        format!("# format\t1\n# lens\tfootprint\n{fields}# columns\tid {}\n", COLUMNS.join(" "))
    }
}

/// How often a call is repeated for its page faults: a process takes one now and then that is not the call's.
const CALLS: usize = 3;

/// The argument by which the harness measures the first call of a process: the id of the case follows.
const FIRST_CALL: &str = "--first-call";

/// The argument by which the harness also measures peaks of memory in core, which takes a process a case.
pub const RSS: &str = "--rss";

/// The argument by which the harness also measures what no gate judges: the pages beside the core.
pub const BESIDE: &str = "--beside";

/// The `main` of the bench target, whose allocator is a [`Counting`](allocator::Counting) one: prints the cases of the
/// core, or those with the argument in their id.
#[must_use]
pub fn harness() -> ExitCode {
    allocator::start();
    let arguments = std::env::args_os().skip(1);
    match run(arguments.map(|argument| argument.to_string_lossy().into_owned())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "footprint: {failure}");
            ExitCode::from(2)
        }
    }
}

/// Does what the arguments say.
fn run(arguments: impl Iterator<Item = String>) -> Result<(), Failure> {
    allocator::use_small_pages();
    let mut arguments: Vec<_> = arguments.filter(|argument| argument != "--bench").collect();
    let mut has = |option| arguments.extract_if(.., |argument| argument == option).count() > 0;
    let (rss, beside) = (has(RSS), has(BESIDE));
    let part = match &arguments[..] {
        [] => "",
        [option, id] if option == FIRST_CALL => return print(&first_call(id)?),
        [part] if !part.starts_with('-') => part,
        _ => {
            return Err(Failure::new(format!(
                "footprint takes a part of the ids to measure, {RSS} and {BESIDE}"
            )));
        }
    };
    let table = cases::picture().map_err(|error| Failure::new(error.to_string()))?;
    let wanted = table.iter().filter(|(page, _)| beside || Page::core().contains(page));
    print(&Conditions::detect().header())?;
    for case in wanted.flat_map(|(_, cases)| cases).filter(|case| case.id().contains(part)) {
        fork::end_after(LIMIT);
        print(&format!("{}\n", measure(case, rss)?))?;
    }
    Ok(())
}

fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let printed = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    printed.map_err(|error| Failure::new(format!("cannot print: {error}")))
}

fn measure(case: &Case, rss: bool) -> Result<Row, Failure> {
    allocator::settle();
    let prepared = case.input();
    let run = || case.run(&prepared);
    allocator::recycle(prepared.largest, run);
    let counts = Counts::of(run);
    let faults_recycled = Some(faults(run));
    let can_be_fresh = allocator::fresh_from().is_some_and(|from| from <= prepared.largest);
    let faults_fresh = can_be_fresh.then(|| {
        allocator::settle();
        // Not by the routine itself: one that keeps its block takes no page.
        let block = || drop(black_box(vec![1_u8; prepared.largest]));
        allocator::freshen(prepared.largest, block);
        faults(run)
    });
    let buffer_bytes = prepared.largest as u64;
    let peak_rss_kib = if rss { first_call_in_a_process(case.id())? } else { None };
    Ok(Row {
        id: case.id().to_owned(),
        buffer_bytes,
        counts,
        faults_recycled,
        faults_fresh,
        peak_rss_kib,
    })
}

/// Page faults of a call.
fn faults(run: impl Fn()) -> u64 {
    let of_one = |_| {
        let before = allocator::page_faults();
        run();
        allocator::page_faults() - before
    };
    (0..CALLS).map(of_one).min().expect("there are calls")
}

/// What the process for the first call of a case prints: a number of KiB, or nothing.
fn first_call(id: &str) -> Result<String, Failure> {
    let case = Case::parse(id).map_err(|error| Failure::new(error.to_string()))?;
    allocator::settle();
    let prepared = case.input();
    let growth = allocator::peak_growth(|| case.run(&prepared));
    Ok(growth.map(|kib| kib.to_string()).unwrap_or_default())
}

fn first_call_in_a_process(id: &str) -> Result<Option<u64>, Failure> {
    let failed = |reason: String| Failure::new(format!("{id}: its first call: {reason}"));
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let output = Command::new(program)
        .args([FIRST_CALL, id])
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).parse().ok())
}
