//! What a workload takes where it is met with: account data lie somewhere in a working set, and the heap is as the calls
//! before leave it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use crate::allocator;
use crate::cases::Serializer;
use crate::paired::{FEWEST_ROUNDS, Turns, median, order};
use crate::parameters::{self, Aligned, Instruction};
use crate::workload;

/// Bytes that one strategy serializes at a stretch: with their sources more than the caches of a core hold, so that none
/// finds there what another has read, and few enough to be rarely interrupted.
const STRETCH: usize = 4 << 20;

/// Strategies and the working set of their sources.
pub(super) struct Setting<'a> {
    serializers: Vec<Serializer>,
    set: &'a [u8],
    rng: Xoshiro256PlusPlus,
}

/// What a workload took.
pub(super) struct Taken {
    /// A round is the whole workload by each strategy.
    pub(super) turns: Turns,
    /// Nanoseconds that each strategy takes for the whole workload: the sum of the medians of all stretches, so that what
    /// interrupts one of them is left out.
    pub(super) times: Vec<f64>,
    /// Minor page faults of each strategy for the whole workload, the median of the rounds.
    pub(super) faults: Vec<f64>,
}

impl<'a> Setting<'a> {
    pub(super) fn new(serializers: Vec<Serializer>, set: &'a [u8]) -> Self {
        Self { serializers, set, rng: Xoshiro256PlusPlus::seed_from_u64(workload::LEDGER_SEED) }
    }

    /// Times the workload for about `budget`, but for [`FEWEST_ROUNDS`] rounds at least: in each the data lie elsewhere,
    /// and the strategies have their turns one stretch after another. A small workload is repeated to fill a stretch.
    pub(super) fn take(&mut self, workload: &[Instruction<'static>], budget: Duration) -> Taken {
        let copies = STRETCH.div_ceil(serialized_len(workload)).max(1);
        let strategies = self.serializers.len();
        let start = Instant::now();
        let (mut turn, mut rounds) = (0, Vec::new());
        while rounds.len() <= FEWEST_ROUNDS || start.elapsed() < budget {
            let scattered: Vec<_> = (0..copies)
                .flat_map(|_| workload::scattered(workload, self.set, &mut self.rng))
                .collect();
            // A list a strategy, each with one entry a stretch.
            let mut round = vec![Vec::new(); strategies];
            for stretch in stretches(&scattered) {
                for index in order(turn, strategies) {
                    round[index].push(take(self.serializers[index], stretch));
                }
                turn += 1;
            }
            rounds.push(round);
        }
        // It warmed up the allocator.
        rounds.remove(0);
        let of = |index: usize| rounds.iter().map(move |round| &round[index]);
        let whole = |index: usize, part: fn(&Turn) -> f64| -> Vec<f64> {
            of(index).map(|round| round.iter().map(part).sum::<f64>() / copies as f64).collect()
        };
        let typical = |index: usize| -> f64 {
            let stretches = 0..rounds[0][index].len();
            let medians = stretches.map(|stretch| {
                median(&mut of(index).map(|round| round[stretch].time).collect::<Vec<_>>())
            });
            medians.sum::<f64>() / copies as f64
        };
        Taken {
            turns: Turns::new(
                (0..strategies).map(|index| whole(index, |turn| turn.time)).collect(),
            ),
            times: (0..strategies).map(typical).collect(),
            faults: (0..strategies)
                .map(|index| median(&mut whole(index, |turn| turn.faults)))
                .collect(),
        }
    }
}

/// What a strategy took for a stretch.
#[derive(Clone, Copy)]
struct Turn {
    /// Nanoseconds.
    time: f64,
    /// Minor page faults.
    faults: f64,
}

fn take(serialize: Serializer, stretch: &[Instruction<'_>]) -> Turn {
    let faults = allocator::page_faults();
    let start = Instant::now();
    for instruction in stretch {
        black_box(serialize(instruction));
    }
    let time = start.elapsed().as_nanos() as f64;
    Turn { time, faults: (allocator::page_faults() - faults) as f64 }
}

/// The instructions in order, cut where a stretch is full.
fn stretches<'i, 'a>(instructions: &'i [Instruction<'a>]) -> Vec<&'i [Instruction<'a>]> {
    let (mut stretches, mut from, mut len) = (Vec::new(), 0, 0);
    for (index, instruction) in instructions.iter().enumerate() {
        len += serialized_len(std::slice::from_ref(instruction));
        if len >= STRETCH || index + 1 == instructions.len() {
            stretches.push(&instructions[from..=index]);
            (from, len) = (index + 1, 0);
        }
    }
    stretches
}

/// Bytes of the buffers of all.
pub(super) fn serialized_len(instructions: &[Instruction<'_>]) -> usize {
    let len = |instruction| {
        parameters::serialized_len::<Aligned>(instruction)
            .expect("a workload holds valid instructions")
    };
    instructions.iter().map(len).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::workload::Shape;

    #[test]
    fn stretches_are_all_instructions_in_order() {
        let workload = workload::instructions(&[vec![1 << 20], vec![4 << 20], vec![165], vec![0]]);
        let workload = [workload.clone(), workload].concat();
        let stretches = stretches(&workload);
        assert_eq!(stretches.iter().map(|stretch| stretch.len()).collect::<Vec<_>>(), [2, 4, 2]);
        assert_eq!(stretches.concat(), workload);
    }

    #[test]
    fn every_strategy_serializes_the_whole_workload_in_every_round() {
        static SEEN: AtomicU64 = AtomicU64::new(0);
        fn count(instruction: &Instruction<'_>) -> u64 {
            SEEN.fetch_add(instruction.data_bytes(), Ordering::Relaxed)
        }
        let shape = Shape::parse("2x1m").unwrap().instructions();
        let set = vec![7; 10 << 20];
        let taken = Setting::new(vec![count; 3], &set).take(shape, Duration::ZERO);
        let bytes = shape.iter().map(Instruction::data_bytes).sum::<u64>();
        // Two copies fill a stretch; the first round is not kept.
        let rounds = FEWEST_ROUNDS as u64 + 1;
        assert_eq!(SEEN.load(Ordering::Relaxed), 3 * rounds * 2 * bytes);
        assert_eq!(taken.faults.len(), 3);
        assert_eq!(taken.times.len(), 3);
        assert!(taken.turns.ratio(1, 1).may_be_one());
    }
}
