//! The ledger workload: a mix of instructions like that of a replay.
//!
//! 17 instruction templates, each with the sizes of its accounts and a weight. Account sizes are
//! those of public account layouts; the weights are a model, not a measurement: they are chosen, and the
//! weight of the largest is solved for the mean of the replay in Solana pull request 17324, 64,225.6
//! bytes of account data an account (341,233,366,608 bytes in 5,313,048 accounts).

use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use crate::parameters::{Instruction, MAX_ACCOUNT_DATA};

/// An instruction of the mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Template {
    /// What the instruction does.
    pub name: &'static str,
    /// Its share of the mix, out of [`TOTAL_WEIGHT`].
    pub weight: u64,
    /// Length of the instruction data, in bytes.
    pub data_len: usize,
    /// Length of the data of each account, in bytes.
    pub accounts: &'static [usize],
}

/// Sum of all weights.
pub const TOTAL_WEIGHT: u64 = 1_000_000_000_000;

/// The mix.
#[rustfmt::skip]
pub const TEMPLATES: [Template; 17] = [
    Template { name: "spl_transfer", weight: 192_521_000_000, data_len: 9, accounts: &[165, 165, 0] },
    Template { name: "serum_new_order", weight: 101_073_525_000, data_len: 51, accounts: &[388, 3228, 5132, 262_156, 65_548, 65_548, 165, 0, 165, 165, 162_312, 17] },
    Template { name: "serum_new_order_l", weight: 43_317_225_000, data_len: 51, accounts: &[388, 3228, 5132, 1_048_588, 65_548, 65_548, 165, 0, 165, 165, 162_312, 17] },
    Template { name: "serum_consume_2", weight: 53_905_880_000, data_len: 7, accounts: &[3228, 3228, 388, 262_156, 165, 165] },
    Template { name: "serum_consume_2_l", weight: 23_102_520_000, data_len: 7, accounts: &[3228, 3228, 388, 1_048_588, 165, 165] },
    Template { name: "serum_consume_8", weight: 67_382_350_000, data_len: 7, accounts: &[3228, 3228, 3228, 3228, 3228, 3228, 3228, 3228, 388, 262_156, 165, 165] },
    Template { name: "serum_consume_8_l", weight: 28_878_150_000, data_len: 7, accounts: &[3228, 3228, 3228, 3228, 3228, 3228, 3228, 3228, 388, 1_048_588, 165, 165] },
    Template { name: "serum_cancel", weight: 134_764_700_000, data_len: 25, accounts: &[388, 65_548, 65_548, 3228, 0, 262_156] },
    Template { name: "serum_cancel_l", weight: 57_756_300_000, data_len: 25, accounts: &[388, 65_548, 65_548, 3228, 0, 1_048_588] },
    Template { name: "serum_settle", weight: 77_008_400_000, data_len: 5, accounts: &[388, 3228, 0, 165, 165, 165, 165, 0, 162_312] },
    Template { name: "amm_swap", weight: 53_905_880_000, data_len: 17, accounts: &[162_312, 752, 0, 3228, 2208, 165, 165, 36, 388, 65_548, 65_548, 262_156, 165, 165, 0, 165, 165, 0] },
    Template { name: "amm_swap_l", weight: 23_102_520_000, data_len: 17, accounts: &[162_312, 752, 0, 3228, 2208, 165, 165, 36, 388, 65_548, 65_548, 1_048_588, 165, 165, 0, 165, 165, 0] },
    Template { name: "oracle_update", weight: 86_634_450_000, data_len: 40, accounts: &[0, 3312, 40] },
    Template { name: "nft_metadata", weight: 19_252_100_000, data_len: 150, accounts: &[679, 82, 0, 0, 0, 14, 17] },
    Template { name: "big_1mib", weight: 26_176_500_000, data_len: 16, accounts: &[1_048_576, 0, 40, 165] },
    Template { name: "big_4mib", weight: 8_226_900_000, data_len: 16, accounts: &[4_194_304, 0, 40, 165] },
    Template { name: "big_10mib", weight: 2_991_600_000, data_len: 16, accounts: &[10_485_760, 0, 40, 165] },
];

/// Draws `n` instructions: one from each of `n` equal strata of the cumulated weight, then shuffled.
/// Plain draws need many more instructions to come close to the mean. The generator is
/// xoshiro256++ seeded with `seed`.
#[must_use]
pub fn draw(n: u64, seed: u64) -> Vec<&'static Template> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let border =
        |stratum: u64| (u128::from(TOTAL_WEIGHT) * u128::from(stratum) / u128::from(n)) as u64;
    let mut drawn: Vec<_> =
        (0..n).map(|stratum| at(rng.random_range(border(stratum)..border(stratum + 1)))).collect();
    drawn.shuffle(&mut rng);
    drawn
}

/// Instructions of the mix, drawn as [`draw`] does, whose account data lie somewhere in a working set.
#[derive(Debug)]
pub struct Stream<'a> {
    templates: std::vec::IntoIter<&'static Template>,
    set: &'a [u8],
    rng: Xoshiro256PlusPlus,
}

impl<'a> Stream<'a> {
    /// The smallest working set, in bytes: that of the largest account.
    pub const SMALLEST_SET: usize = MAX_ACCOUNT_DATA;

    /// A stream of `n` instructions; the places of their data in `set` are drawn with `seed` too.
    ///
    /// # Panics
    /// If `set` is smaller than [`SMALLEST_SET`](Self::SMALLEST_SET).
    #[must_use]
    pub fn new(n: u64, seed: u64, set: &'a [u8]) -> Self {
        assert!(
            set.len() >= Self::SMALLEST_SET,
            "the largest account does not fit the working set"
        );
        let rng = Xoshiro256PlusPlus::seed_from_u64(!seed);
        Self { templates: draw(n, seed).into_iter(), set, rng }
    }
}

impl<'a> Iterator for Stream<'a> {
    type Item = Instruction<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let template = self.templates.next()?;
        let somewhere = |len: usize, _| super::somewhere(self.set, len, &mut self.rng);
        Some(super::instruction_from(template.accounts, template.data_len, somewhere))
    }
}

/// The template at a point of the cumulated weight below [`TOTAL_WEIGHT`].
fn at(mut point: u64) -> &'static Template {
    for template in &TEMPLATES {
        match point.checked_sub(template.weight) {
            Some(rest) => point = rest,
            None => return template,
        }
    }
    unreachable!("the weights add up to more than any point")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Entry;

    #[test]
    fn weights_add_up_to_the_total() {
        assert_eq!(TEMPLATES.iter().map(|t| t.weight).sum::<u64>(), TOTAL_WEIGHT);
    }

    #[test]
    fn mean_is_that_of_the_replay() {
        let weighted = |f: fn(&Template) -> usize| -> f64 {
            TEMPLATES.iter().map(|t| t.weight as f64 * f(t) as f64).sum::<f64>()
        };
        let mean = weighted(|t| t.accounts.iter().sum()) / weighted(|t| t.accounts.len());
        assert!((mean - 64_225.6).abs() < 0.1, "{mean} bytes an account");
    }

    #[test]
    fn strata_draw_each_template_as_often_as_its_weight_says() {
        let drawn = draw(1000, 7);
        for template in &TEMPLATES {
            let expected = 1000 * template.weight / TOTAL_WEIGHT;
            let seen = drawn.iter().filter(|t| t.name == template.name).count() as u64;
            assert!(seen.abs_diff(expected) <= 2, "{}: {seen}, not {expected}", template.name);
        }
    }

    #[test]
    fn stream_draws_the_same_instructions_from_a_working_set() {
        let set = vec![7; Stream::SMALLEST_SET + 1000];
        let stream: Vec<_> = Stream::new(64, 3, &set).collect();
        let lens = |instruction: &Instruction<'_>| -> Vec<_> {
            let data = |entry: &Entry<'_>| match entry {
                Entry::Account(account) => account.data.as_ptr_range(),
                Entry::Duplicate { .. } => panic!("the mix has no duplicates"),
            };
            let ranges = instruction.accounts.iter().map(data);
            ranges
                .inspect(|data| {
                    assert!(set.as_ptr() <= data.start && data.end <= set.as_ptr_range().end);
                })
                .map(|data| data.end.addr() - data.start.addr())
                .collect()
        };
        let drawn: Vec<_> = draw(64, 3).iter().map(|template| template.accounts.to_vec()).collect();
        assert_eq!(stream.iter().map(lens).collect::<Vec<_>>(), drawn);
        assert_eq!(stream, Stream::new(64, 3, &set).collect::<Vec<_>>());
    }

    #[test]
    fn draw_is_decided_by_the_seed() {
        assert_eq!(draw(64, 1), draw(64, 1));
        assert_ne!(draw(64, 1), draw(64, 2));
    }
}
