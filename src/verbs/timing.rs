//! `time`, `replay` and `choose`: what is timed in this process, under one allocator after another.

use std::path::Path;
use std::time::Duration;

use writeonce::allocator::{self, Allocator};
use writeonce::cases::{Case, HeapState};
use writeonce::environment::machine;
use writeonce::failure::Failure;
use writeonce::lens::{self, turns};
use writeonce::choose::{self, SHAPES};
use writeonce::parameters::Instruction;
use writeonce::progress::Progress;
use writeonce::workload::Shape;
use writeonce::{replay as origin, report};

use super::print;
use crate::{CANNOT_JUDGE, Choose, OK, Replay, Time, Under};

pub(crate) fn time(table: &[Case], arguments: &Time) -> Result<u8, Failure> {
    let Time { only, reference, milliseconds, under } = arguments;
    let chosen: Vec<_> = table.iter().filter(|case| case.id().contains(&**only)).collect();
    if chosen.is_empty() {
        return Err(Failure::new(format!("no case has '{only}' in its id; see `writeonce cases`")));
    }
    under_each(under, |allocator| {
        for page in chosen.chunk_by(|a, b| a.fill() == b.fill()) {
            let heap =
                |case: &Case| if case.heap() == HeapState::Fresh { "fresh" } else { "recycled" };
            let possible =
                |shape: &&[&Case]| shape[0].heap() == HeapState::Recycled || allocator::CAN_FRESHEN;
            let shapes: Vec<_> = page
                .chunk_by(|a, b| a.variant() == b.variant())
                .filter(possible)
                .map(|shape| turns::time(shape, reference, Duration::from_millis(*milliseconds)))
                .collect();
            print(&format!(
                "\n{}: times of this machine ({}) and this run, in turns; allocator {}, heap {} where not said otherwise, \
                 alignment 16 where not said otherwise\n{}",
                page[0].fill().name(),
                machine(),
                allocator.name(),
                heap(page[0]),
                report::paired_table(&shapes)
            ))?;
        }
        Ok(())
    })
}

pub(crate) fn replay(arguments: &Replay) -> Result<u8, Failure> {
    let options = origin::Options {
        scale: arguments.scale,
        working_set: arguments.working_set << 20,
        threads: arguments.threads,
    };
    if std::env::var_os(Allocator::VARIABLE).is_none() {
        print(&format!("machine: {}\n{}", machine(), report::replay_header(&options)))?;
    }
    under_each(&arguments.under, |allocator| {
        let outcome = origin::run(options)?;
        print(&report::replay_table(allocator.name(), &options, &outcome))
    })
}

pub(crate) fn choose(arguments: &Choose) -> Result<u8, Failure> {
    let Choose { workload, align, under } = arguments;
    let instructions = instructions(workload)?;
    under_each(under, |allocator| {
        print(&format!(
            "\n{workload}: {} instructions; times of this machine ({}) and this run; allocator {}, heap recycled, alignment {align}\n",
            instructions.len(), machine(), allocator.name()
        ))?;
        let mut progress = Progress::new("choose", "shapes", SHAPES.len());
        let choice = choose::choose(instructions, *align, Duration::from_millis(100), |done| progress.show(done))?;
        print(&report::choice(&choice))
    })
}

/// The instructions of a shape of that name, or those in the file of that name.
fn instructions(workload: &str) -> Result<&'static [Instruction<'static>], Failure> {
    if let Some(shape) = Shape::parse(workload) {
        return Ok(shape.instructions());
    }
    let path = Path::new(workload);
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::at(path, format!("neither a shape, as 8x165 or ledger are, nor a file that can be read: {error}"))
    })?;
    let sizes = choose::parse(&text).map_err(|error| Failure::at(path, error))?;
    Ok(writeonce::workload::instructions(&sizes).leak())
}

/// Does `work` under each allocator asked for. The allocator of a process is chosen at its start: without the variable
/// that says which, this process runs itself once for each.
fn under_each(
    under: &Under,
    work: impl Fn(Allocator) -> Result<(), Failure>,
) -> Result<u8, Failure> {
    if cfg!(debug_assertions) {
        return Err(Failure::new(
            "this was built without optimization; use `cargo run --profile bench`",
        ));
    }
    if std::env::var_os(Allocator::VARIABLE).is_some() {
        return work(Allocator::in_force()).map(|()| OK);
    }
    let chosen = match &*under.allocator {
        "all" => Allocator::ALL.to_vec(),
        name => vec![Allocator::parse(name)?],
    };
    for allocator in chosen {
        if !lens::again(Allocator::VARIABLE, allocator.name())?.success() {
            return Ok(CANNOT_JUDGE);
        }
    }
    Ok(OK)
}
