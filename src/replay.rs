//! The run of the origin: the serialization of a ledger replay, by several strategies in turns.
//!
//! What is modelled: the mix of instructions and account sizes ([`ledger`]), account data somewhere in a working set,
//! the allocator, several threads. What is not: running the programs, what is read back after them, and the other
//! work of a validator, which leaves the caches and the allocator in another state between two serializations.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::allocator;
use crate::cases::{Strategy, serializer};
use crate::failure::Failure;
use crate::paired::{Ratio, order};
use crate::parameters::{self, Aligned, Instruction};
use crate::progress::Progress;
use crate::routine::{self, ALIGN};
use crate::workload::{self, LEDGER_SEED, ledger};

/// A replay that was measured at the origin, in Solana pull request 17324: how long serialization took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Origin {
    /// The branch.
    pub branch: &'static str,
    /// Accounts that were serialized.
    pub accounts: u64,
    /// Bytes of account data that were serialized.
    pub bytes: u64,
    /// Seconds with zeroed memory, and with uninitialized memory.
    pub seconds: [f64; 2],
}

/// The replays of the origin.
pub const ORIGINS: [Origin; 2] = [
    Origin {
        branch: "master",
        accounts: 5_313_048,
        bytes: 341_233_366_608,
        seconds: [108.1, 78.5],
    },
    Origin { branch: "1.6", accounts: 5_834_166, bytes: 372_337_745_651, seconds: [153.1, 41.1] },
];

/// The strategies, in the order of the report.
pub const STRATEGIES: [Strategy; 6] = [
    Strategy::Zeroed,
    Strategy::Memset,
    Strategy::Uninit,
    Strategy::AlignedMemory,
    Strategy::Pooled,
    Strategy::Floor,
];

/// What to run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// How much of the origin's replay on master: 1.0 is all of it.
    pub scale: f64,
    /// Size of the working set that account data lie in, in bytes.
    pub working_set: usize,
    /// Threads that serialize at the same time, each its share.
    pub threads: usize,
}

impl Options {
    /// Instructions that each strategy serializes.
    ///
    /// # Errors
    /// [`Failure`] if the options make no sense.
    pub fn instructions(&self) -> Result<u64, Failure> {
        let Self { scale, working_set, threads } = *self;
        let accounts = scale * ORIGINS[0].accounts as f64;
        let instructions = (accounts / accounts_an_instruction()).round();
        if !(1.0..=1e9).contains(&instructions) {
            let reason = format!("--scale {scale} is no share of the replay; try 0.01");
            return Err(Failure::new(reason));
        }
        let instructions = instructions as u64;
        workload::check_working_set(working_set)?;
        if threads == 0 || threads as u64 > instructions {
            return Err(Failure::new(format!("--threads must be 1 to {instructions}")));
        }
        Ok(instructions)
    }
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Instructions that each strategy serialized.
    pub instructions: u64,
    /// Their accounts.
    pub accounts: u64,
    /// Bytes of their data and of that of the instructions.
    pub bytes: u64,
    /// In the order of [`STRATEGIES`].
    pub strategies: Vec<Serialized>,
}

/// What a strategy took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Serialized {
    /// Time of serialization, the sum over all threads.
    pub time: Duration,
    /// Minor page faults.
    pub faults: u64,
    /// Time as a multiple of that of [`Strategy::Zeroed`], paired block by block.
    pub ratio: Ratio,
}

/// Instructions that a strategy serializes at a stretch.
const BLOCK: usize = 32;

/// Time and page faults of a strategy for a block.
type Turn = (Duration, u64);

/// A block that was serialized by all strategies.
struct Block {
    instructions: u64,
    accounts: u64,
    bytes: u64,
    turns: [Turn; STRATEGIES.len()],
}

/// Runs a replay under the allocator of this process. Progress goes to standard error.
///
/// # Errors
/// [`Failure`] if the options make no sense, or a thread cannot be started.
pub fn run(options: Options) -> Result<Outcome, Failure> {
    let instructions = options.instructions()?;
    let Options { working_set, threads, .. } = options;
    let set = workload::patterned(working_set, 0);
    let mut progress = Progress::new("replay", "instructions", instructions as usize);
    let (send, receive) = mpsc::channel();
    let mut blocks: Vec<Block> = Vec::new();
    std::thread::scope(|scope| -> std::io::Result<()> {
        for thread in 0..threads as u64 {
            let of = |thread: u64| instructions * thread / threads as u64;
            let share = of(thread + 1) - of(thread);
            let (send, set) = (send.clone(), &set);
            let serialize = move || share_of_a_thread(thread, share, set, &send);
            std::thread::Builder::new().spawn_scoped(scope, serialize)?;
        }
        drop(send);
        let mut done = 0;
        for block in receive {
            done += block.instructions;
            progress.show(done as usize);
            blocks.push(block);
        }
        Ok(())
    })
    .map_err(|error| Failure::new(format!("a thread cannot be started: {error}")))?;
    let sum = |of: fn(&Block) -> u64| blocks.iter().map(of).sum();
    let strategy = |index: usize| {
        let turns = || blocks.iter().map(move |block| block.turns[index]);
        let zeroed = blocks.iter().map(|block| block.turns[0].0.as_secs_f64());
        Serialized {
            time: turns().map(|(time, _)| time).sum(),
            faults: turns().map(|(_, faults)| faults).sum(),
            ratio: Ratio::of(turns().map(|(time, _)| time.as_secs_f64()).zip(zeroed)),
        }
    };
    Ok(Outcome {
        instructions,
        accounts: sum(|block| block.accounts),
        bytes: sum(|block| block.bytes),
        strategies: (0..STRATEGIES.len()).map(strategy).collect(),
    })
}

/// The mean of the mix.
fn accounts_an_instruction() -> f64 {
    let weighted =
        |template: &ledger::Template| template.weight as f64 * template.accounts.len() as f64;
    ledger::TEMPLATES.iter().map(weighted).sum::<f64>() / ledger::TOTAL_WEIGHT as f64
}

/// Serializes `n` instructions, block by block, by each strategy in turn.
fn share_of_a_thread(thread: u64, n: u64, set: &[u8], send: &mpsc::Sender<Block>) {
    let mut stream = ledger::Stream::new(n, LEDGER_SEED + thread, set);
    // A block that does not count: each strategy warms up the allocator.
    let warm: Vec<_> = ledger::Stream::new(BLOCK as u64, LEDGER_SEED, set).collect();
    for strategy in STRATEGIES {
        serialize(strategy, &warm);
    }
    for round in 0.. {
        let block: Vec<_> = stream.by_ref().take(BLOCK).collect();
        if block.is_empty() {
            break;
        }
        let mut turns = [(Duration::ZERO, 0); STRATEGIES.len()];
        for index in order(round, turns.len()) {
            turns[index] = serialize(STRATEGIES[index], &block);
        }
        let block = Block {
            instructions: block.len() as u64,
            accounts: block.iter().map(|instruction| instruction.accounts.len() as u64).sum(),
            bytes: block.iter().map(Instruction::data_bytes).sum(),
            turns,
        };
        if send.send(block).is_err() {
            break;
        }
    }
}

/// Serializes a block by one strategy.
fn serialize(strategy: Strategy, block: &[Instruction<'_>]) -> Turn {
    if strategy == Strategy::Floor {
        let plan = |instruction| {
            parameters::plan::<Aligned>(instruction).expect("the mix holds valid instructions")
        };
        let plans: Vec<_> = block.iter().map(plan).collect();
        return turn(&plans, routine::floor::<_, ALIGN>);
    }
    let serialize = serializer(strategy, ALIGN).expect("the default alignment has cases");
    turn(block, |instruction| serialize(instruction))
}

fn turn<I>(inputs: &[I], routine: impl Fn(&I) -> u64) -> Turn {
    let faults = allocator::page_faults();
    let start = Instant::now();
    for input in inputs {
        std::hint::black_box(routine(input));
    }
    (start.elapsed(), allocator::page_faults() - faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strategy_serializes_the_same_whatever_the_threads() {
        let run = |threads| {
            run(Options { scale: 1e-4, working_set: ledger::Stream::SMALLEST_SET, threads })
                .unwrap()
        };
        let (one, three) = (run(1), run(3));
        // 531 accounts at 7.7 an instruction.
        assert_eq!(one.instructions, 69);
        assert_eq!(three.instructions, 69);
        assert!((480..580).contains(&one.accounts), "{}", one.accounts);
        assert!(one.bytes / one.accounts > 20_000, "{}", one.bytes);
        assert_eq!(one.strategies.len(), STRATEGIES.len());
        assert_eq!(one.strategies[0].ratio, Ratio { value: 1.0, low: 1.0, high: 1.0 });
        assert!(one.strategies.iter().all(|strategy| strategy.time > Duration::ZERO));
    }

    #[test]
    fn options_that_make_no_sense_are_refused() {
        let sensible = Options { scale: 1e-5, working_set: 16 << 20, threads: 1 };
        let refused = |options| run(options).unwrap_err().to_string();
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = refused(Options { scale, ..sensible });
            assert!(error.starts_with(&format!("--scale {scale} is no share")), "{error}");
        }
        let error = refused(Options { working_set: (10 << 20) - 1, ..sensible });
        assert_eq!(error, "--working-set must be at least 10485760 bytes, the largest account");
        let error = refused(Options { working_set: usize::MAX, ..sensible });
        assert!(error.starts_with("--working-set: there is no memory for "), "{error}");
        let error = refused(Options { threads: 0, ..sensible });
        assert_eq!(error, "--threads must be 1 to 7");
    }

    #[test]
    fn origin_has_the_ratios_it_is_known_for() {
        let ratios = ORIGINS.map(|origin| origin.seconds[1] / origin.seconds[0]);
        assert_eq!(ratios.map(|ratio| format!("{ratio:.3}")), ["0.726", "0.268"]);
    }
}
