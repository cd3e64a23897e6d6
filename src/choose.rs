//! Which strategy to take: a cost model that is fitted to this machine, and what it says of a workload.
//!
//! A call costs a fixed time, and something for each account, each byte copied, each byte zeroed, each byte of a
//! buffer that is too large for a cache, and each page fault. What each of these costs is fitted for
//! every strategy on its own, to shapes that were timed in turns; how wrong that is is found on each shape by a fit
//! that has not seen it. Shapes and workload are timed alike, where they are met with: account data somewhere in a working
//! set, the heap as the calls before leave it.

mod setting;

use std::fmt;
use std::time::Duration;

use self::setting::Setting;
use crate::cases::{Strategy, serializer};
use crate::failure::Failure;
use crate::paired::Ratio;
use crate::parameters::{self, Aligned, Entry, Instruction};
use crate::workload::{self, Shape};

/// The strategies to choose from: all but the floor, which checks nothing.
pub const STRATEGIES: [Strategy; 7] = [
    Strategy::Zeroed,
    Strategy::Memset,
    Strategy::Uninit,
    Strategy::ZeroedSkip,
    Strategy::AlignedMemory,
    Strategy::Growing,
    Strategy::Pooled,
];

/// What the cost of a workload is made of.
pub const PARTS: [&str; 8] = [
    "call",
    "account",
    "byte copied",
    "byte zeroed",
    "byte beyond 40 KiB",
    "byte beyond 1.5 MiB",
    "byte beyond 8 MiB",
    "page fault",
];

/// How much of each part a workload has, or what each costs in nanoseconds, in the order of [`PARTS`].
pub type Parts = [f64; PARTS.len()];

/// Sizes of a buffer together with its sources from which every byte of it costs more, in bytes: about those of the
/// caches of today's machines.
const BEYOND: [usize; 3] = [40 << 10, 1536 << 10, 8 << 20];

/// How much of each part the serialization of `instructions` by `strategy` has.
///
/// # Panics
/// If the format cannot express one of them.
#[must_use]
pub fn parts(strategy: Strategy, instructions: &[Instruction<'_>], faults: f64) -> Parts {
    let mut sum = [0.0; PARTS.len()];
    for instruction in instructions {
        let len = parameters::serialized_len::<Aligned>(instruction)
            .expect("a workload holds valid instructions");
        let copied = instruction.data_bytes() as usize;
        let rest = len - copied;
        // Whole blocks are zeroed by some, what is zero in the end by all that do not skip it.
        let zeroed = match strategy {
            Strategy::Zeroed | Strategy::ZeroedSkip => len,
            Strategy::Memset => len + rest,
            _ => rest,
        };
        let beyond = BEYOND.map(|size| if len + copied > size { len } else { 0 });
        let [near, far, farthest] = beyond;
        // A duplicate is 8 bytes and no more.
        let is_account = |entry: &&Entry<'_>| matches!(entry, Entry::Account(_));
        let accounts = instruction.accounts.iter().filter(is_account).count();
        let of_one = [1, accounts, copied, zeroed, near, far, farthest, 0].map(|n| n as f64);
        sum.iter_mut().zip(of_one).for_each(|(sum, part)| *sum += part);
    }
    sum[PARTS.len() - 1] = faults;
    sum
}

/// What each part costs with one strategy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    /// Nanoseconds for one of each.
    pub costs: Parts,
}

impl Model {
    /// Fits the costs to observations: parts, and the nanoseconds they took. It is the sum of the squares of the
    /// relative errors that becomes least, so that small shapes count as much as large ones; no cost is negative.
    #[must_use]
    pub fn fit(observations: &[(Parts, f64)]) -> Self {
        // Relative errors: every row is divided by its time, so that all shall add up to 1. Columns are scaled to
        // length 1.
        let rows: Vec<Parts> =
            observations.iter().map(|(parts, time)| parts.map(|part| part / time)).collect();
        let columns = || 0..PARTS.len();
        let product = |a: usize, b: usize| rows.iter().map(|row| row[a] * row[b]).sum::<f64>();
        // A part that no shape has costs nothing.
        let present: Vec<_> = columns().filter(|&column| product(column, column) > 0.0).collect();
        let lengths: Parts = std::array::from_fn(|column| product(column, column).sqrt());
        let cosines: [Parts; PARTS.len()] = std::array::from_fn(|a| {
            std::array::from_fn(|b| product(a, b) / (lengths[a] * lengths[b]))
        });
        let wanted: Parts =
            std::array::from_fn(|a| rows.iter().map(|row| row[a]).sum::<f64>() / lengths[a]);
        let mut costs = [0.0; PARTS.len()];
        // Coordinate descent: one cost after another takes its best value, the others as they are.
        for _ in 0..50_000 {
            for &column in &present {
                let others = present.iter().filter(|&&other| other != column);
                let rest: f64 = others.map(|&other| costs[other] * cosines[column][other]).sum();
                costs[column] = (wanted[column] - rest).max(0.0);
            }
        }
        for &column in &present {
            costs[column] /= lengths[column];
        }
        Self { costs }
    }

    /// What these parts take, in nanoseconds.
    #[must_use]
    pub fn predict(&self, parts: &Parts) -> f64 {
        self.costs.iter().zip(parts).map(|(cost, part)| cost * part).sum()
    }

    /// How far, relative to what was seen, the prediction for each observation is off by a fit that has not seen it.
    #[must_use]
    pub fn errors(observations: &[(Parts, f64)]) -> Vec<f64> {
        let error = |left_out: usize| {
            let mut others = observations.to_vec();
            let (parts, time) = others.remove(left_out);
            (Self::fit(&others).predict(&parts) - time).abs() / time
        };
        (0..observations.len()).map(error).collect()
    }
}

/// What there is to choose from for a workload, and what it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// In the order of [`STRATEGIES`].
    pub candidates: Vec<Candidate>,
    /// The index of the one to take: the fastest.
    pub best: usize,
    /// The index of the fastest of the others.
    pub next: usize,
    /// How many times as long as the best the next takes.
    pub lead: Ratio,
    /// Relative errors of the predictions for shapes that the fit has not seen, all strategies together, in order.
    pub errors: Vec<f64>,
    /// From which size on which one is the best for an instruction with one account, by the model.
    pub crossings: Vec<(usize, Strategy)>,
}

/// A strategy for a workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// What its parts cost.
    pub model: Model,
    /// Time for the workload by the model, in nanoseconds.
    pub predicted: f64,
    /// Time for the workload as measured, in nanoseconds.
    pub measured: f64,
    /// Time as a multiple of that of the best.
    pub ratio: Ratio,
    /// Minor page faults for the workload.
    pub faults: f64,
}

/// The shapes that the model is fitted to.
#[rustfmt::skip]
pub const SHAPES: [&str; 21] = [
    "1x0", "1x82", "1x165", "1x1k", "1x10k", "1x64k", "1x100000", "1x300k", "1x1m", "1x4m", "1x8m", "1x10m", "2x1m",
    "8x165", "8x10k", "64x165", "255x165", "8x64226", "orderbook", "duplicates", "ledger",
];

/// The largest account for which the model says what is best, in bytes.
const LARGEST: usize = parameters::MAX_ACCOUNT_DATA;

/// Measures the shapes, fits the model, and measures the workload: all under the allocator of this process, in buffers
/// aligned to `align` bytes, with account data in `set`. Every shape takes about `budget`; `progress` is told the number
/// of shapes that are done.
///
/// # Errors
/// [`Failure`] if no case has that alignment.
///
/// # Panics
/// If an account does not fit the set.
pub fn choose(
    instructions: &[Instruction<'static>],
    align: usize,
    set: &[u8],
    budget: Duration,
    mut progress: impl FnMut(usize),
) -> Result<Choice, Failure> {
    let serializers: Option<Vec<_>> =
        STRATEGIES.iter().map(|&strategy| serializer(strategy, align)).collect();
    let serializers = serializers
        .ok_or_else(|| Failure::new(format!("--align {align} is not among 8, 16, 64 and 4096")))?;
    let mut setting = Setting::new(serializers, set);
    let mut observations = vec![Vec::new(); STRATEGIES.len()];
    // Bytes of one account, and the page faults of each strategy.
    let mut faults: Vec<(usize, Vec<f64>)> = Vec::new();
    for (done, name) in SHAPES.iter().enumerate() {
        let Some(shape) = Shape::parse(name) else { unreachable!("the shapes have names") };
        let taken = setting.take(shape.instructions(), budget);
        for (index, seen) in observations.iter_mut().enumerate() {
            let parts = parts(STRATEGIES[index], shape.instructions(), taken.faults[index]);
            seen.push((parts, taken.times[index]));
        }
        if let Shape::Accounts { count: 1, bytes } = shape {
            faults.push((bytes, taken.faults));
        }
        progress(done + 1);
    }
    let models: Vec<_> = observations.iter().map(|seen| Model::fit(seen)).collect();
    let mut errors: Vec<_> = observations.iter().flat_map(|seen| Model::errors(seen)).collect();
    errors.sort_unstable_by(f64::total_cmp);

    let taken = setting.take(instructions, budget * 5);
    let (turns, times) = (&taken.turns, &taken.times);
    let fastest = |but: Option<usize>| {
        let others = (0..STRATEGIES.len()).filter(|&index| Some(index) != but);
        others.min_by(|&a, &b| times[a].total_cmp(&times[b])).unwrap_or_default()
    };
    let best = fastest(None);
    let next = fastest(Some(best));
    let candidate = |index: usize| Candidate {
        model: models[index],
        predicted: models[index].predict(&parts(
            STRATEGIES[index],
            instructions,
            taken.faults[index],
        )),
        measured: times[index],
        ratio: turns.ratio(index, best),
        faults: taken.faults[index],
    };
    let costs = |size: usize| {
        let instructions = workload::instructions(&[vec![size]]);
        let cost = |(index, &strategy): (usize, &Strategy)| {
            let points = faults.iter().map(|(bytes, faults)| (*bytes, faults[index]));
            models[index].predict(&parts(strategy, &instructions, between(points, size)))
        };
        (size, STRATEGIES.iter().enumerate().map(cost).collect())
    };
    let sizes = (0..).map(|step| 16 << step).take_while(|&size| size <= LARGEST);
    let costs: Vec<_> = std::iter::once(0).chain(sizes).map(costs).collect();
    Ok(Choice {
        candidates: (0..STRATEGIES.len()).map(candidate).collect(),
        best,
        next,
        lead: turns.ratio(next, best),
        errors,
        crossings: crossings(&costs)
            .into_iter()
            .map(|(size, index)| (size, STRATEGIES[index]))
            .collect(),
    })
}

/// The value at `x` on the lines between `points`, which are in order; beyond them that of the nearest.
fn between(points: impl Iterator<Item = (usize, f64)>, x: usize) -> f64 {
    let mut before: Option<(usize, f64)> = None;
    for (at, value) in points {
        if at >= x {
            let Some((from, least)) = before else { return value };
            return least + (value - least) * (x - from) as f64 / (at - from) as f64;
        }
        before = Some((at, value));
    }
    before.map_or(0.0, |(_, value)| value)
}

/// Reads a workload: an instruction a line, the sizes of its accounts in bytes with spaces between them. Empty lines
/// and what follows a `#` are nothing.
///
/// # Errors
/// The number of the first wrong line and what is wrong with it, or 0 if there is no instruction.
pub fn parse(text: &str) -> Result<Vec<Vec<usize>>, WorkloadError> {
    let mut instructions = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = |reason: String| WorkloadError { line: index + 1, reason };
        let sizes = line.split('#').next().unwrap_or_default().split_whitespace();
        let size = |word: &str| {
            let size =
                crate::workload::size(word).filter(|&size| size <= parameters::MAX_ACCOUNT_DATA);
            size.ok_or_else(|| {
                wrong(format!(
                    "'{}' is no size of an account, which has 0 to 10m bytes",
                    word.escape_debug()
                ))
            })
        };
        let sizes: Vec<usize> = sizes.map(size).collect::<Result<_, _>>()?;
        if sizes.len() > parameters::MAX_ACCOUNTS {
            return Err(wrong(format!(
                "{} accounts are more than {}",
                sizes.len(),
                parameters::MAX_ACCOUNTS
            )));
        }
        if !sizes.is_empty() {
            instructions.push(sizes);
        }
    }
    if instructions.is_empty() {
        return Err(WorkloadError { line: 0, reason: "there is no instruction".to_owned() });
    }
    Ok(instructions)
}

/// A workload that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadError {
    /// The line, counted from 1; 0 if it is the whole.
    pub line: usize,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.reason),
            line => write!(f, "line {line}: {}", self.reason),
        }
    }
}

impl std::error::Error for WorkloadError {}

/// Where another strategy becomes the best as one size grows: the size, and which.
///
/// `costs` are sizes in order, each with what every strategy takes there.
#[must_use]
pub fn crossings(costs: &[(usize, Vec<f64>)]) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (size, costs) in costs {
        let best = (0..costs.len()).min_by(|&a, &b| costs[a].total_cmp(&costs[b]));
        if let Some(best) = best.filter(|best| found.last().is_none_or(|(_, last)| last != best)) {
            found.push((*size, best));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_an_instruction_are_those_of_the_format() {
        let instructions = Shape::parse("2x165").unwrap().instructions();
        let len = 8.0 + 2.0 * (96.0 + 165.0 + 10_240.0 + 3.0) + 8.0 + 8.0 + 32.0;
        let copied = 2.0 * 165.0 + 8.0;
        let of = |strategy| parts(strategy, instructions, 7.0);
        assert_eq!(of(Strategy::Uninit), [1.0, 2.0, copied, len - copied, 0.0, 0.0, 0.0, 7.0]);
        assert_eq!(of(Strategy::Zeroed), [1.0, 2.0, copied, len, 0.0, 0.0, 0.0, 7.0]);
        assert_eq!(
            of(Strategy::Memset),
            [1.0, 2.0, copied, len + len - copied, 0.0, 0.0, 0.0, 7.0]
        );
        let large = Shape::parse("1x1m").unwrap().instructions();
        let [near, far, farthest] = [4, 5, 6].map(|part| parts(Strategy::Uninit, large, 0.0)[part]);
        assert!(near > 1e6 && far == near && farthest == 0.0, "{near} {far} {farthest}");
    }

    /// Observations of shapes that cost just what `costs` says.
    fn observations(costs: Parts) -> Vec<(Parts, f64)> {
        let shapes = [
            "1x0", "1x165", "1x1k", "1x10k", "1x64k", "1x1m", "1x10m", "8x165", "64x165",
            "8x64226", "1x2m", "1x3m", "255x165", "1x5m", "2x5m", "9x1m", "1x300k",
        ];
        let parts = |(index, shape): (usize, &&str)| {
            let faults = (index % 3) as f64 * 10.0;
            parts(Strategy::Zeroed, Shape::parse(shape).unwrap().instructions(), faults)
        };
        shapes
            .iter()
            .enumerate()
            .map(parts)
            .map(|parts| (parts, Model { costs }.predict(&parts)))
            .collect()
    }

    #[test]
    fn costs_are_found_again() {
        let costs = [50.0, 10.0, 0.05, 0.02, 0.01, 0.02, 0.03, 700.0];
        let observations = observations(costs);
        let model = Model::fit(&observations);
        for (parts, time) in &observations {
            let predicted = model.predict(parts);
            assert!((predicted / time - 1.0).abs() < 0.01, "{predicted}, not {time}: {model:?}");
        }
        assert!(Model::errors(&observations).iter().all(|&error| error < 0.05));
    }

    #[test]
    fn costs_are_never_negative_and_absent_parts_cost_nothing() {
        let mut observations = observations([50.0, 10.0, 0.05, 0.0, 0.0, 0.0, 0.0, 0.0]);
        observations.iter_mut().for_each(|(parts, _)| parts[7] = 0.0);
        let model = Model::fit(&observations);
        assert!(model.costs.iter().all(|&cost| cost >= 0.0), "{model:?}");
        assert_eq!(model.costs[7], 0.0);
        assert_eq!(Model::fit(&[]).costs, [0.0; PARTS.len()]);
    }

    #[test]
    fn errors_are_those_of_shapes_that_were_not_seen() {
        let mut observations = observations([50.0, 10.0, 0.05, 0.02, 0.01, 0.02, 0.03, 700.0]);
        // One shape that takes twice as long as the others say.
        observations[5].1 *= 2.0;
        let errors = Model::errors(&observations);
        assert!(errors[5] > 0.4, "{errors:?}");
    }

    #[test]
    fn workloads_are_read_and_others_refused() {
        assert_eq!(
            parse("165 165 0 # a transfer\n\n10k\n").unwrap(),
            [vec![165, 165, 0], vec![10_240]]
        );
        let refused = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(refused(""), "there is no instruction");
        assert_eq!(refused("# nothing\n"), "there is no instruction");
        assert_eq!(
            refused("1\n-5\n"),
            "line 2: '-5' is no size of an account, which has 0 to 10m bytes"
        );
        assert_eq!(
            refused("11m"),
            "line 1: '11m' is no size of an account, which has 0 to 10m bytes"
        );
        assert_eq!(refused(&"1 ".repeat(256)), "line 1: 256 accounts are more than 255");
    }

    #[test]
    fn faults_of_other_sizes_lie_between() {
        let at = |x| between([(10, 1.0), (20, 3.0), (40, 3.0)].into_iter(), x);
        assert_eq!([5, 10, 15, 20, 30, 50].map(at), [1.0, 1.0, 2.0, 3.0, 3.0, 3.0]);
        assert_eq!(between(std::iter::empty(), 7), 0.0);
    }

    #[test]
    fn crossings_say_from_which_size_on_another_is_best() {
        let costs =
            [(1, vec![1.0, 2.0]), (2, vec![2.0, 2.5]), (4, vec![4.0, 3.0]), (8, vec![8.0, 3.5])];
        assert_eq!(crossings(&costs), [(1, 0), (4, 1)]);
        assert!(crossings(&[]).is_empty());
    }
}
