//! Random programs on every buffer, against a plain vector, under the hostile allocator. A program that fails is shrunk
//! and printed. The same programs, and no others, run each time.
#![cfg(feature = "suite")]

#[path = "programs/model.rs"]
mod model;

use std::panic::{set_hook, take_hook};
use std::sync::{LazyLock, Mutex, Once};
use std::thread;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use writeonce::allocator::hostile::{Hostile, ledger};
use writeonce::buffer::{Buffer, CapacityError, Full, Sink, Uninit};

use model::{Kind, Made, Operation, Piece, Size, THREAD, kinds};

/// Miri's own allocator is as hostile, and frees by rules that one with a header in front of its blocks cannot keep: the pointer
/// that a box is freed by reaches no further than the box.
#[cfg_attr(not(miri), global_allocator)]
#[cfg_attr(miri, expect(dead_code))]
static HOSTILE: Hostile = Hostile;

/// Programs on a kind of buffer at each of the five alignments: 10,000 on each strategy and peer. Where they are slow, the
/// variable has fewer of them run.
static PROGRAMS: LazyLock<u32> = LazyLock::new(|| match std::env::var("WRITEONCE_PROGRAMS") {
    Ok(number) => number.parse().expect("WRITEONCE_PROGRAMS is a number"),
    Err(_) => 2_000,
});

/// Most operations after the first, which makes a buffer.
const OPERATIONS: usize = 24;

fn size() -> impl Strategy<Value = Size> {
    let near = || prop_oneof![4 => -2..=2_i8, 1 => any::<i8>()];
    prop_oneof![
        8 => (0..=17_u8).prop_map(Size::Bytes),
        4 => near().prop_map(Size::Align),
        4 => near().prop_map(Size::Page),
        6 => near().prop_map(Size::Left),
        1 => any::<u8>().prop_map(Size::Bytes),
        1 => any::<u8>().prop_map(Size::Huge),
    ]
}

fn piece() -> impl Strategy<Value = Piece> {
    let value = prop_oneof![Just(0), any::<u8>()];
    prop_oneof![
        (size(), any::<u8>()).prop_map(|(size, from)| Piece::Bytes(size, from)),
        (size(), value).prop_map(|(size, value)| Piece::Fill(size, value)),
    ]
}

fn make() -> impl Strategy<Value = Operation> {
    let made = prop_oneof![
        3 => Just(Made::Empty),
        2 => Just(Made::Zeroed),
        1 => Just(Made::Zeros),
        1 => Just(Made::Copy),
    ];
    (made, [size(), size()]).prop_map(|(made, sizes)| Operation::Make(made, sizes))
}

fn operation() -> impl Strategy<Value = Operation> {
    let pieces = prop::collection::vec(piece(), 0..4);
    prop_oneof![
        6 => piece().prop_map(Operation::Write),
        4 => (any::<u64>(), pieces).prop_map(|(value, pieces)| Operation::Put(value, pieces)),
        3 => piece().prop_map(Operation::Unchecked),
        2 => (0..4_u8, any::<u64>()).prop_map(|(width, value)| Operation::Integer(width, value)),
        2 => piece().prop_map(Operation::Io),
        1 => (any::<u16>(), any::<u8>()).prop_map(|(index, value)| Operation::Change(index, value)),
        1 => Just(Operation::Clone),
        2 => make(),
        1 => any::<u8>().prop_map(Operation::Use),
        1 => any::<u8>().prop_map(Operation::Drop),
    ]
}

fn program() -> impl Strategy<Value = Vec<Operation>> {
    (make(), prop::collection::vec(operation(), 0..=OPERATIONS)).prop_map(|(first, mut rest)| {
        rest.insert(0, first);
        rest
    })
}

/// Runs `programs` programs on a kind of buffer.
///
/// # Errors
/// What failed, and the smallest program found with which it does.
fn check(kind: &Kind, programs: u32) -> Result<(), String> {
    // While a program is shrunk, its panics say nothing that the end does not.
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let loud = take_hook();
        set_hook(Box::new(move |info| {
            if !thread::current().name().is_some_and(|name| name.starts_with(THREAD)) {
                loud(info);
            }
        }));
    });
    let ledger = ledger();
    let config = Config { cases: programs, failure_persistence: None, ..Config::default() };
    // The same programs each time, and others on each kind.
    let mut seed = [0; 32];
    seed.iter_mut().zip(kind.name.bytes()).for_each(|(seed, byte)| *seed = byte);
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let run =
        runner.run(&program(), |program| kind.check(program, ledger).map_err(TestCaseError::fail));
    let in_force = ledger.calls() > 0 || programs == 0;
    assert!(in_force || cfg!(miri), "the hostile allocator is not in force");
    run.map_err(|error| match error {
        TestError::Fail(why, program) => {
            let lines: String = program.iter().map(|step| format!("    {step:?}\n")).collect();
            format!("{}: {why}, after\n{lines}", kind.name)
        }
        TestError::Abort(why) => format!("{}: {why}", kind.name),
    })
}

fn check_all_at<const A: usize>() {
    for kind in kinds::<A>() {
        check(&kind, *PROGRAMS).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

#[test]
fn programs_leave_the_bytes_of_the_model_at_alignment_1() {
    check_all_at::<1>();
}

#[test]
fn programs_leave_the_bytes_of_the_model_at_alignment_8() {
    check_all_at::<8>();
}

#[test]
fn programs_leave_the_bytes_of_the_model_at_alignment_16() {
    check_all_at::<16>();
}

#[test]
fn programs_leave_the_bytes_of_the_model_at_alignment_64() {
    check_all_at::<64>();
}

#[test]
fn programs_leave_the_bytes_of_the_model_at_alignment_4096() {
    check_all_at::<4096>();
}

/// A buffer with a fault, which shows where it holds 17 bytes.
struct Faulty<const FAULT: u8>(Uninit<16>);

/// The last byte is wrong.
const WRONG_BYTE: u8 = 0;
/// When it is dropped, a block is not freed.
const KEPT_BLOCK: u8 = 1;
/// It is full, whatever its capacity.
const FULL: u8 = 2;

impl<const FAULT: u8> Sink for Faulty<FAULT> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.0.write(bytes)
    }

    fn fill(&mut self, len: usize, value: u8) -> Result<(), Full> {
        match FAULT {
            WRONG_BYTE if self.0.as_slice().len().checked_add(len) == Some(17) && len > 0 => {
                self.0.fill(len - 1, value)?;
                self.0.fill(1, !value)
            }
            FULL if self.0.as_slice().len() == 17 && len > 0 => Err(Full),
            _ => self.0.fill(len, value),
        }
    }
}

impl<const FAULT: u8> Buffer for Faulty<FAULT> {
    fn try_with_capacity(capacity: usize) -> Result<Self, CapacityError> {
        Uninit::try_with_capacity(capacity).map(Self)
    }

    fn as_slice(&self) -> &[u8] {
        self.0.as_slice()
    }
}

impl<const FAULT: u8> Drop for Faulty<FAULT> {
    fn drop(&mut self) {
        static KEPT: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
        if FAULT == KEPT_BLOCK && self.0.as_slice().len() == 17 {
            KEPT.lock().unwrap().push(vec![0]);
        }
    }
}

// Without these, a check above may pass because nothing is checked.

#[test]
#[cfg_attr(miri, ignore = "it takes too long there")]
fn faults_are_found_and_their_programs_shrunk() {
    let failure = |kind: Kind| {
        let failure = check(&kind, 10_000).expect_err("a fault is found");
        println!("{failure}");
        let operations = failure.lines().filter(|line| line.starts_with("    ")).count();
        (failure, operations)
    };
    let (why, operations) = failure(Kind::of::<Faulty<WRONG_BYTE>>("faulty".to_owned(), 16));
    assert!(why.contains("the first wrong byte of 17 is at Some(16)"), "{why}");
    assert!(operations <= 3, "{why}");
    let (why, operations) = failure(Kind::of::<Faulty<KEPT_BLOCK>>("faulty".to_owned(), 16));
    assert!(why.contains("1 blocks are not freed, 0 are with"), "{why}");
    assert!(operations <= 3, "{why}");
    let (why, operations) = failure(Kind::of::<Faulty<FULL>>("faulty".to_owned(), 16));
    assert!(why.contains("Full"), "{why}");
    assert!(operations <= 4, "{why}");
}
