//! Paired timing: routines that do the same are timed in turns, so that the drift of a shared machine hits all alike.
//!
//! Times of two runs cannot be compared on a machine that others use too; ratios within one run can. In every round
//! each routine has its turn, and what is kept is the ratio of two turns of one round.

pub mod shape;

use std::hint::black_box;
use std::time::{Duration, Instant};

/// The shortest turn: far above the resolution of the clock and the cost of asking it.
const TURN: Duration = Duration::from_micros(20);

/// The fewest rounds, whatever they take: fewer hold no 95 % interval worth the name.
pub const FEWEST_ROUNDS: usize = 15;

/// The most rounds.
const MOST_ROUNDS: usize = 2000;

/// The turns of several routines.
#[derive(Debug, Clone, PartialEq)]
pub struct Turns {
    /// Nanoseconds a call, a list a routine, each with one entry a round.
    times: Vec<Vec<f64>>,
}

impl Turns {
    /// Times `routines` in turns for about `budget`, but for [`FEWEST_ROUNDS`] rounds at least. Each has been run
    /// before: nothing is warmed up here.
    pub fn take(routines: &[&dyn Fn() -> u64], budget: Duration) -> Self {
        let calls: Vec<_> = routines.iter().map(|routine| calls_of_a_turn(routine)).collect();
        let mut times = vec![Vec::new(); routines.len()];
        let start = Instant::now();
        for round in 0..MOST_ROUNDS {
            if round >= FEWEST_ROUNDS && start.elapsed() >= budget {
                break;
            }
            for index in order(round, routines.len()) {
                let time = turn_of(routines[index], calls[index]);
                times[index].push(time.as_nanos() as f64 / calls[index] as f64);
            }
        }
        Self { times }
    }

    /// Turns that were timed: nanoseconds a call, a list a routine, each with one entry a round.
    #[must_use]
    pub fn new(times: Vec<Vec<f64>>) -> Self {
        Self { times }
    }

    /// The median of a routine, in nanoseconds a call.
    #[must_use]
    pub fn median(&self, routine: usize) -> f64 {
        median(&mut self.times[routine].clone())
    }

    /// How many times as long as `reference` a routine takes.
    #[must_use]
    pub fn ratio(&self, routine: usize, reference: usize) -> Ratio {
        let pairs = self.times[routine].iter().zip(&self.times[reference]);
        Ratio::of(pairs.map(|(&time, &reference)| (time, reference)))
    }
}

/// The order in which `n` routines have their turns in a round: another one begins each time, and every other round goes
/// backwards, so that nobody always follows the same.
pub fn order(round: usize, n: usize) -> impl Iterator<Item = usize> {
    let turn = move |turn: usize| if round.is_multiple_of(2) { turn } else { n - 1 - turn };
    (0..n).map(move |place| (turn(place) + round / 2) % n)
}

/// The number of calls that fill a turn.
fn calls_of_a_turn(routine: &dyn Fn() -> u64) -> u32 {
    let mut calls = 1;
    while turn_of(routine, calls) < TURN && calls < 1 << 20 {
        calls *= 2;
    }
    calls
}

/// Calls before a turn is timed. The first finds the caches as another routine left them; a cache that keeps only what was
/// used twice is warm after the second. Without that, a routine that has a block to itself seems slower than those that get,
/// one after another, the same block from the allocator.
const UNTIMED: u32 = 2;

/// A turn.
fn turn_of(routine: &dyn Fn() -> u64, calls: u32) -> Duration {
    for _ in 0..UNTIMED {
        black_box(routine());
    }
    let start = Instant::now();
    for _ in 0..calls {
        black_box(routine());
    }
    start.elapsed()
}

/// A ratio, and the interval that holds it with a confidence of 95 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The median of the ratios of the pairs.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Ratio {
    /// The median ratio of `pairs`, first to second. The interval is that of the sign test, which assumes nothing about
    /// how times are distributed: with `n` ratios in order, from the `n/2 - 0.98 sqrt(n)`-th to the
    /// `n/2 + 1 + 0.98 sqrt(n)`-th (W. J. Conover, Practical Nonparametric Statistics, section 3.2).
    ///
    /// # Panics
    /// If there is no pair.
    pub fn of(pairs: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut ratios: Vec<f64> = pairs.map(|(first, second)| first / second).collect();
        let value = median(&mut ratios);
        let (middle, half) = (ratios.len() as f64 / 2.0, 0.98 * (ratios.len() as f64).sqrt());
        let low = (middle - half).floor().max(1.0) as usize - 1;
        let high = ((middle + 1.0 + half).ceil() as usize).min(ratios.len()) - 1;
        Self { value, low: ratios[low], high: ratios[high] }
    }

    /// Whether the interval holds 1: no difference was seen.
    #[must_use]
    pub fn may_be_one(&self) -> bool {
        (self.low..=self.high).contains(&1.0)
    }
}

/// The median; `values` are in order afterwards.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn every_routine_has_a_turn_in_every_round() {
        let order = RefCell::new(Vec::new());
        let turn = |name: u64| {
            order.borrow_mut().push(name);
            std::thread::sleep(TURN);
            name
        };
        let (a, b, c) = (|| turn(0), || turn(1), || turn(2));
        let turns = Turns::take(&[&a, &b, &c], Duration::ZERO);
        assert!(turns.times.iter().all(|times| times.len() == FEWEST_ROUNDS));
        // Behind the calls that find out how long one takes, a round is three turns, each another, of a timed call behind the others.
        let order = order.into_inner();
        let calls = UNTIMED as usize + 1;
        let rounds = order[order.len() - 3 * calls * FEWEST_ROUNDS..].chunks(3 * calls);
        let mut seen: Vec<Vec<_>> = rounds
            .map(|round| {
                assert!(
                    round.chunks(calls).all(|turn| turn.iter().all(|name| *name == turn[0])),
                    "{round:?}"
                );
                round.iter().copied().step_by(calls).collect()
            })
            .collect();
        assert_eq!(seen[..4], [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]]);
        seen.iter_mut().for_each(|round| round.sort_unstable());
        assert!(seen.iter().all(|round| *round == [0, 1, 2]));
    }

    #[test]
    fn a_ratio_is_that_of_the_pairs_and_not_of_the_medians() {
        // The machine becomes slower and slower: the times say nothing, their pairs all.
        let pairs = (1..=31).map(|round| (1.5 * f64::from(round), f64::from(round)));
        assert_eq!(Ratio::of(pairs), Ratio { value: 1.5, low: 1.5, high: 1.5 });
    }

    #[test]
    fn interval_is_that_of_the_sign_test() {
        // The exact ranks for 25 values at 95 % are the 8th and the 18th; the rule is a rank wider at most.
        let ratio = Ratio::of((1..=25).rev().map(|value| (f64::from(value), 1.0)));
        assert_eq!(ratio, Ratio { value: 13.0, low: 7.0, high: 19.0 });
        let few = Ratio::of([(2.0, 1.0), (4.0, 1.0)].into_iter());
        assert_eq!(few, Ratio { value: 3.0, low: 2.0, high: 4.0 });
    }

    #[test]
    fn interval_holds_the_true_ratio_nineteen_times_of_twenty() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut noise = || 1.0 + rng.random_range(0.0..1.0_f64).powi(4);
        let mut held = [0; 2];
        for _ in 0..1000 {
            let pairs: Vec<_> = (0..51).map(|_| (1.1 * noise(), noise())).collect();
            let ratio = Ratio::of(pairs.into_iter());
            held[0] += usize::from((ratio.low..=ratio.high).contains(&1.1));
            held[1] += usize::from(ratio.may_be_one());
        }
        assert!((940..=995).contains(&held[0]), "{held:?}");
        // And it does not hold just anything.
        assert!(held[1] < 900, "{held:?}");
    }

    #[test]
    fn median_is_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
