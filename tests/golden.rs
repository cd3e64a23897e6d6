//! The golden vectors are written by every strategy, and read back.
#![cfg(feature = "suite")]

mod vectors;

use std::collections::HashSet;

use sha2::{Digest, Sha256};
use writeonce::buffer::{AlignedMemory, Buffer, Floor};
use writeonce::cases::{Strategy, Visitor};
use writeonce::parameters::{
    Aligned, Entry, Format, SerializeError, Unaligned, plan, read, serialize, serialized_len,
};

use vectors::{Serialized, VECTORS, Vector, serialized};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Fails at the first wrong byte, not with pages of them.
#[track_caller]
fn assert_bytes(seen: &[u8], expected: &[u8], what: &str) {
    assert_eq!(seen.len(), expected.len(), "{what}");
    if seen != expected {
        let wrong = seen.iter().zip(expected).position(|(a, b)| a != b);
        panic!("{what}: the first wrong byte is at {wrong:?}");
    }
}

#[test]
fn golden_file_is_complete() {
    assert!(VECTORS.len() > 50, "{} vectors", VECTORS.len());
    let names: HashSet<_> = VECTORS.iter().map(|vector| &vector.name).collect();
    assert_eq!(names.len(), VECTORS.len());
    let count = |is: fn(&Vector) -> bool| VECTORS.iter().filter(|&vector| is(vector)).count();
    assert!(count(|vector| vector.aligned) > 20);
    assert!(count(|vector| !vector.aligned) > 20);
    assert!(count(|vector| vector.outcome.is_err()) > 0);
    let duplicate = |entry: &Entry<'_>| matches!(entry, Entry::Duplicate { .. });
    assert!(VECTORS.iter().any(|vector| vector.instruction.accounts.iter().any(duplicate)));
}

#[test]
fn golden_bytes_are_those_that_were_hashed() {
    for (vector, serialized) in serialized() {
        let name = &vector.name;
        assert_eq!(hex(&Sha256::digest(&serialized.bytes)), serialized.sha256, "{name}");
        assert_eq!(serialized.hex.is_some(), serialized.bytes.len() < 4096, "{name}");
        if let Some(whole) = &serialized.hex {
            assert_eq!(&hex(&serialized.bytes), whole, "{name}");
        }
    }
}

#[test]
fn golden_bytes_are_written_by_every_strategy() {
    for (vector, expected) in serialized() {
        for strategy in Strategy::with_peers() {
            strategy.visit::<{ writeonce::routine::ALIGN }, _>(Serializes(
                vector,
                &expected.bytes,
                strategy.name(),
            ));
        }
    }
}

struct Serializes(&'static Vector, &'static [u8], &'static str);

impl Visitor for Serializes {
    type Output = ();

    fn visit<B: Buffer + 'static>(self) {
        let Self(vector, expected, strategy) = self;
        let buffer: B = match vector.aligned {
            true => serialize::<Aligned, _>(&vector.instruction),
            false => serialize::<Unaligned, _>(&vector.instruction),
        }
        .unwrap_or_else(|error| panic!("{}, {strategy}: {error}", vector.name));
        assert_bytes(buffer.as_slice(), expected, &format!("{}, {strategy}", vector.name));
    }
}

#[test]
fn golden_bytes_are_written_from_a_plan() {
    for (vector, expected) in serialized() {
        match vector.aligned {
            true => build::<Aligned>(vector, &expected.bytes),
            false => build::<Unaligned>(vector, &expected.bytes),
        }
    }
}

fn build<F: Format>(vector: &Vector, expected: &[u8]) {
    let plan = plan::<F>(&vector.instruction).unwrap();
    assert_eq!(plan.len(), expected.len(), "{}", vector.name);
    assert_eq!(serialized_len::<F>(&vector.instruction), Ok(expected.len()), "{}", vector.name);
    assert_bytes(Floor::<16>::build(&plan).unwrap().as_slice(), expected, &vector.name);
}

#[test]
fn golden_bytes_are_read_back() {
    for (vector, Serialized { bytes, .. }) in serialized() {
        let seen = if vector.aligned { read::<Aligned>(bytes) } else { read::<Unaligned>(bytes) };
        let seen = seen.unwrap_or_else(|error| panic!("{}: {error}", vector.name));
        assert!(seen == vector.instruction, "{}: another instruction was read", vector.name);
    }
}

#[test]
fn golden_offsets_lead_to_the_fields() {
    for (vector, Serialized { bytes, offsets, .. }) in serialized() {
        let (name, accounts) = (&vector.name, &vector.instruction.accounts);
        assert_eq!(offsets.len(), accounts.len(), "{name}");
        for (offsets, entry) in offsets.iter().zip(accounts) {
            let first = match entry {
                Entry::Duplicate { of } => &accounts[usize::from(*of)],
                first => first,
            };
            let Entry::Account(account) = first else { panic!("{name}: a duplicate of another") };
            let at = |offset: usize, len: usize| &bytes[offset..offset + len];
            assert_eq!(at(offsets.key, 32), account.key, "{name}");
            assert_eq!(at(offsets.owner, 32), account.owner, "{name}");
            assert_eq!(at(offsets.lamports, 8), account.lamports.to_le_bytes(), "{name}");
            let len = offsets.original_data_len;
            assert_eq!(at(offsets.data - 8, 8), (len as u64).to_le_bytes(), "{name}");
            assert_bytes(at(offsets.data, len), account.data, name);
        }
    }
}

#[test]
fn golden_errors_are_errors() {
    for vector in VECTORS.iter() {
        let Err(error) = &vector.outcome else { continue };
        let instruction = &vector.instruction;
        let expected = match error.as_str() {
            "MaxAccountsExceeded" => SerializeError::TooManyAccounts(instruction.accounts.len()),
            other => panic!("{}: unknown error '{other}'", vector.name),
        };
        let seen = match vector.aligned {
            true => serialize::<Aligned, AlignedMemory<16>>(instruction),
            false => serialize::<Unaligned, AlignedMemory<16>>(instruction),
        };
        assert_eq!(seen.err(), Some(expected), "{}", vector.name);
    }
}
