//! `time`, `replay` and `choose`: what is timed in this process, under one allocator after another.

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use crate::allocator::Allocator;
use crate::cases::Case;
use crate::choose::{self, SHAPES};
use crate::environment::machine;
use crate::failure::Failure;
use crate::last::{self, Last, Run};
use crate::lens::paired::Paired;
use crate::paired::shape;
use crate::parameters::Instruction;
use crate::process;
use crate::progress::Progress;
use crate::workload::{self, Shape, check_working_set, patterned};
use crate::{replay as origin, report};

use super::{Picture, last_paired, print, root};
use crate::command_line::{CANNOT_JUDGE, Choose, OK, Replay, Time, Under};

/// Times all cases in turns, under each allocator, for a report and no more.
pub(crate) fn time_all() -> Result<u8, Failure> {
    for &allocator in Allocator::BUILT_IN {
        if !again_under(allocator, ["time", "--quiet", "--milliseconds=100"])?.success() {
            return Ok(CANNOT_JUDGE);
        }
    }
    Ok(OK)
}

/// Cases of one shape are timed in turns, those of all pages together: peers beside the strategies.
pub(crate) fn time(picture: &Picture, arguments: &Time) -> Result<u8, Failure> {
    let Time { only, reference, milliseconds, quiet, under } = arguments;
    let cases = picture.iter().flat_map(|(_, cases)| cases);
    let mut chosen: Vec<_> = cases.filter(|case| case.id().contains(&**only)).collect();
    if chosen.is_empty() {
        return Err(Failure::new(format!("no case has '{only}' in its id; see `writeonce cases`")));
    }
    require_optimized()?;
    let root = root()?;
    let order: Vec<_> = chosen.iter().map(|case| (case.fill(), case.variant())).collect();
    let place =
        |case: &Case| order.iter().position(|shape| *shape == (case.fill(), case.variant()));
    chosen.sort_by_key(|case| (case.fill(), place(case)));
    let budget = Duration::from_millis(*milliseconds);
    under_each(under, |allocator| {
        let can_be_timed = |shape: &&[&Case]| shape[0].can_be_prepared();
        let same_shape = |a: &&Case, b: &&Case| (a.fill(), a.variant()) == (b.fill(), b.variant());
        let shapes: Vec<_> = chosen.chunk_by(same_shape).filter(can_be_timed).collect();
        let mut progress = Progress::new(allocator.name(), "shapes", shapes.len());
        let time = |(index, shape): (usize, &&[&Case])| {
            let timed = shape::time(shape, reference, budget);
            progress.show(index + 1);
            timed
        };
        let shapes = shapes.iter().enumerate().map(time).collect();
        let measured =
            Paired { allocator: allocator.name().to_owned(), only: only.clone(), shapes };
        last::write(&last_paired(&root, allocator)?, &measured.to_text())?;
        if *quiet {
            return Ok(());
        }
        print(&report::paired(&Last { run: Run::this().clone(), measured }))
    })
}

pub(crate) fn replay(arguments: &Replay) -> Result<u8, Failure> {
    require_optimized()?;
    let options = origin::Options {
        scale: arguments.scale,
        working_set: arguments.working_set.saturating_mul(1 << 20),
        threads: arguments.threads,
    };
    if std::env::var_os(Allocator::VARIABLE).is_none() {
        options.instructions()?;
        print(&format!("machine: {}\n{}", machine(), report::replay_header(&options)))?;
    }
    under_each(&arguments.under, |allocator| {
        let outcome = origin::run(options)?;
        print(&report::replay_table(allocator.name(), &options, &outcome))
    })
}

pub(crate) fn choose(arguments: &Choose) -> Result<u8, Failure> {
    let Choose { workload, align, working_set, under } = arguments;
    let instructions = instructions(workload)?;
    let bytes = working_set.saturating_mul(1 << 20);
    check_working_set(bytes)?;
    require_optimized()?;
    under_each(under, |allocator| {
        print(&format!(
            "\n{workload}: {} instructions, account data somewhere in {working_set} MiB; times of this machine ({}) and this run; \
             allocator {}, heap as the calls before leave it, alignment {align}\n",
            instructions.len(),
            machine(),
            allocator.name()
        ))?;
        let set = patterned(bytes, 0);
        let mut progress = Progress::new("choose", "shapes", SHAPES.len());
        let budget = Duration::from_millis(100);
        let choice =
            choose::choose(&instructions, *align, &set, budget, |done| progress.show(done))?;
        print(&report::choice(&choice))
    })
}

/// Instructions of the ledger mix to choose for: so many that the rarest are among them.
const LEDGER: u64 = 1024;

/// The instructions of a shape of that name, of the ledger mix, or those in the file of that name.
fn instructions(name: &str) -> Result<Vec<Instruction<'static>>, Failure> {
    match Shape::parse(name) {
        Some(Shape::Ledger) => return Ok(workload::ledger_mix(LEDGER)),
        Some(shape) => return Ok(shape.instructions().to_vec()),
        None => {}
    }
    let path = Path::new(name);
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::at(
            path,
            format!(
                "neither a shape, as 8x165 or ledger are, nor a file that can be read: {error}"
            ),
        )
    })?;
    let sizes = choose::parse(&text).map_err(|error| Failure::at(path, error))?;
    Ok(workload::instructions(&sizes))
}

/// Times mean nothing where the compiler did not optimize.
pub(crate) fn require_optimized() -> Result<(), Failure> {
    if cfg!(debug_assertions) {
        return Err(Failure::new(
            "this was built without optimization; use `cargo run --profile bench`",
        ));
    }
    Ok(())
}

/// Does `work` under each allocator asked for. The allocator of a process is chosen at its start: without the variable
/// that says which, this process runs itself once for each.
fn under_each(
    under: &Under,
    work: impl Fn(Allocator) -> Result<(), Failure>,
) -> Result<u8, Failure> {
    if std::env::var_os(Allocator::VARIABLE).is_some() {
        return work(Allocator::in_force()).map(|()| OK);
    }
    let chosen = match &*under.allocator {
        "all" => Allocator::BUILT_IN.to_vec(),
        name => vec![Allocator::parse(name)?],
    };
    for allocator in chosen {
        if !again_under(allocator, std::env::args_os().skip(1))?.success() {
            return Ok(CANNOT_JUDGE);
        }
    }
    Ok(OK)
}

/// Runs this program again under that allocator, as a part of this run.
fn again_under(
    allocator: Allocator,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Result<ExitStatus, Failure> {
    process::again(arguments, &[(Allocator::VARIABLE, allocator.name()), Run::this().variable()])
}
