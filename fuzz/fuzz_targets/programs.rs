//! The programs of the property tests, on every strategy and peer at five alignments, under the hostile allocator.
#![no_main]

#[path = "../../tests/programs/model.rs"]
mod model;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use writeonce::allocator::hostile::{Hostile, Ledger, ledger};

use model::{Kind, Operation, kinds};

#[global_allocator]
static HOSTILE: Hostile = Hostile;

static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    let few = kinds::<1>().chain(kinds::<8>()).chain(kinds::<16>());
    few.chain(kinds::<64>()).chain(kinds::<4096>()).collect()
});

static LEDGER: LazyLock<&Ledger> = LazyLock::new(ledger);

fuzz_target!(|input: (u8, Vec<Operation>)| {
    let (kind, program) = input;
    KINDS[usize::from(kind) % KINDS.len()].check(program, &LEDGER).unwrap();
});
