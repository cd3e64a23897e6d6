//! The cases of one shape timed in turns, beside the rates of this machine.

use std::cell::RefCell;
use std::hint::black_box;
use std::time::Duration;

use super::{Ratio, Turns};
use crate::allocator::{FRESH_FROM, page_faults};
use crate::cases::{Case, HeapState, Prepared};

use crate::workload;

/// What the cases of one shape took.
#[derive(Debug, Clone, PartialEq)]
pub struct Timed {
    /// The strategy that the others are compared with.
    pub reference: String,
    /// The reference against itself: the noise.
    pub again: Ratio,
    /// What this machine needs at least.
    pub rate: Option<Rate>,
    /// A case each, in the order of the table.
    pub cases: Vec<TimedCase>,
}

/// What a case took.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedCase {
    /// Its id.
    pub id: String,
    /// Median, in nanoseconds a call.
    pub median: f64,
    /// Time as a multiple of that of the reference.
    pub ratio: Ratio,
    /// Minor page faults of a call, the least of four in a row.
    pub faults: u64,
}

/// How fast this machine does the one thing that cannot be left out, for as many bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// One of [`NAMES`](Self::NAMES).
    pub name: &'static str,
    /// Median, in nanoseconds.
    pub median: f64,
}

impl Rate {
    /// What can be the one thing.
    pub const NAMES: [&'static str; 4] = ["copy", "fill", "copy and fill", "first touch"];
}

/// Times the cases of one shape in turns for about `budget`. They are compared with the strategy `reference`, or the
/// first if it is not among them.
///
/// # Panics
/// If there is no case, or one of them cannot be prepared.
#[must_use]
pub fn time(cases: &[&Case], reference: &str, budget: Duration) -> Timed {
    let prepared: Vec<_> = cases.iter().map(|case| case.prepare()).collect();
    let reference = cases.iter().position(|case| case.strategy() == reference).unwrap_or(0);
    let runs: Vec<_> = prepared.iter().map(|prepared| || prepared.run()).collect();
    let mut routines: Vec<&dyn Fn() -> u64> = runs.iter().map(|run| run as _).collect();
    let again = routines.len();
    routines.push(routines[reference]);
    let rate = rate(cases[0], prepared[reference].largest.max(1));
    if let Some((_, routine)) = &rate {
        black_box(routine());
        routines.push(routine);
    }
    let turns = Turns::take(&routines, budget);
    let timed = |(index, case): (usize, &&Case)| TimedCase {
        id: case.id().to_owned(),
        median: turns.median(index),
        ratio: turns.ratio(index, reference),
        faults: faults(&prepared[index]),
    };
    Timed {
        reference: cases[reference].strategy().to_owned(),
        again: turns.ratio(again, reference),
        rate: rate.map(|(name, _)| Rate { name, median: turns.median(again + 1) }),
        cases: cases.iter().enumerate().map(timed).collect(),
    }
}

fn faults(prepared: &Prepared) -> u64 {
    let mut least = u64::MAX;
    for _ in 0..4 {
        let before = page_faults();
        black_box(prepared.run());
        least = least.min(page_faults() - before);
    }
    least
}

type Routine = Box<dyn Fn() -> u64>;

/// What a case cannot do without, for all of its bytes in blocks of at most `block` bytes: to copy what comes from a
/// source and to fill the rest, or to take new pages. Below a page there is no rate to speak of.
fn rate(case: &Case, block: usize) -> Option<(&'static str, Routine)> {
    let [bytes, copied] = [case.bytes(), case.copied()].map(|n| usize::try_from(n).unwrap_or(0));
    if bytes < FRESH_FROM {
        return None;
    }
    if case.heap() == HeapState::Fresh {
        return Some(("first touch", Box::new(move || in_blocks(bytes, block, first_touch))));
    }
    let to = RefCell::new(workload::patterned(block, 1));
    let from = workload::patterned(block, 2);
    let copy_and_fill = move || {
        in_blocks(copied, block, |len| {
            black_box(&mut to.borrow_mut()[..len]).copy_from_slice(black_box(&from[..len]));
        });
        in_blocks(bytes - copied, block, |len| black_box(&mut to.borrow_mut()[..len]).fill(0));
        bytes as u64
    };
    let name = match copied {
        0 => "fill",
        _ if copied == bytes => "copy",
        _ => "copy and fill",
    };
    Some((name, Box::new(copy_and_fill)))
}

fn in_blocks(bytes: usize, block: usize, work: impl Fn(usize)) -> u64 {
    let mut left = bytes;
    while left > 0 {
        let len = left.min(block);
        work(len);
        left -= len;
    }
    bytes as u64
}

/// Takes new pages and writes a byte to each.
fn first_touch(len: usize) {
    let mut block: Vec<u8> = Vec::with_capacity(len);
    for byte in block.spare_capacity_mut().iter_mut().step_by(FRESH_FROM) {
        byte.write(1);
    }
    black_box(block);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(ids: &[&str], reference: &str) -> Timed {
        let cases: Vec<_> = ids.iter().map(|id| Case::parse(id).unwrap()).collect();
        time(&cases.iter().collect::<Vec<_>>(), reference, Duration::ZERO)
    }

    #[test]
    fn cases_are_compared_with_the_reference() {
        let ids = ["mixed/uninit/1x165", "mixed/floor/1x165"];
        let timed = timed(&ids, "floor");
        assert_eq!(timed.reference, "floor");
        assert_eq!(timed.cases.iter().map(|case| &*case.id).collect::<Vec<_>>(), ids);
        assert_eq!(timed.cases[1].ratio, Ratio { value: 1.0, low: 1.0, high: 1.0 });
        assert!(timed.cases[0].ratio.low <= timed.cases[0].ratio.high);
        assert_eq!(timed.rate.unwrap().name, "copy and fill");
    }

    #[test]
    fn first_case_is_the_reference_where_the_other_is_missing() {
        let timed = timed(&["zeroed/alloc_zeroed/10k", "zeroed/alloc_memset/10k"], "floor");
        assert_eq!(timed.reference, "alloc_zeroed");
        assert_eq!(timed.rate.unwrap().name, "fill");
    }

    #[test]
    fn bytes_are_worked_through_in_blocks() {
        let seen = RefCell::new(Vec::new());
        assert_eq!(in_blocks(10, 4, |len| seen.borrow_mut().push(len)), 10);
        assert_eq!(seen.into_inner(), [4, 4, 2]);
    }
}
