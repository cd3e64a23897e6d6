//! The vectors of `data/golden.json`, made by the serializer of the origin.
#![cfg(feature = "suite")]

use std::collections::HashSet;
use std::sync::LazyLock;

use serde_json::Value;
use sha2::{Digest, Sha256};
use writeonce::buffer::{AlignedMemory, Buffer, Floor};
use writeonce::cases::{Strategy, Visitor};
use writeonce::parameters::{
    Account, Aligned, Entry, Format, Instruction, SerializeError, Unaligned, plan, read, serialize,
    serialized_len,
};

/// An instruction, and what the origin made of it.
struct Vector {
    name: String,
    aligned: bool,
    instruction: Instruction<'static>,
    outcome: Result<Serialized, String>,
}

struct Serialized {
    bytes: Vec<u8>,
    sha256: String,
    hex: Option<String>,
    /// For each entry, where its account is.
    offsets: Vec<Offsets>,
}

struct Offsets {
    key: usize,
    owner: usize,
    lamports: usize,
    data: usize,
    original_data_len: usize,
}

/// All vectors, each on the page only once: some are long.
static VECTORS: LazyLock<Vec<Vector>> = LazyLock::new(|| {
    let file: Value = serde_json::from_str(include_str!("data/golden.json")).unwrap();
    file["cases"].as_array().unwrap().iter().map(vector).collect()
});

/// The vectors that are not errors.
fn serialized() -> impl Iterator<Item = (&'static Vector, &'static Serialized)> {
    VECTORS.iter().filter_map(|vector| Some((vector, vector.outcome.as_ref().ok()?)))
}

fn vector(value: &Value) -> Vector {
    let instruction = Instruction {
        accounts: list(value, "accounts", |entry| entry_of(entry, flag(value, "mask_rent_epoch"))),
        data: bytes(number(value, "ix_data_len"), |i| i * 13 + 5),
        program_id: key(value, "program_id"),
    };
    let outcome = match &value["error"] {
        Value::Null => Ok(Serialized {
            bytes: list(value, "compact", |segment| expand(segment, &instruction)).concat(),
            sha256: text(value, "sha256").to_owned(),
            hex: value["hex"].as_str().map(str::to_owned),
            offsets: list(value, "offsets", offsets),
        }),
        error => Err(error.as_str().unwrap().to_owned()),
    };
    if let Ok(serialized) = &outcome {
        assert_eq!(serialized.bytes.len(), number(value, "serialized_len"));
    }
    let name = text(value, "name").to_owned();
    Vector { name, aligned: flag(value, "aligned"), instruction, outcome }
}

fn entry_of(entry: &Value, mask_rent_epoch: bool) -> Entry<'static> {
    if !entry["dup_of"].is_null() {
        return Entry::Duplicate { of: number(entry, "dup_of").try_into().unwrap() };
    }
    let salt = number(entry, "data_k") * 17;
    Entry::Account(Account {
        key: key(entry, "key"),
        owner: key(entry, "owner"),
        lamports: entry["lamports"].as_u64().unwrap(),
        data: bytes(number(entry, "data_len"), |i| i * 31 + (i >> 8) * 151 + (i >> 16) * 43 + salt),
        rent_epoch: if mask_rent_epoch { u64::MAX } else { entry["rent_epoch"].as_u64().unwrap() },
        is_signer: flag(entry, "is_signer"),
        is_writable: flag(entry, "is_writable"),
        executable: flag(entry, "executable"),
    })
}

fn offsets(value: &Value) -> Offsets {
    Offsets {
        key: number(value, "key"),
        owner: number(value, "owner"),
        lamports: number(value, "lamports"),
        data: number(value, "data"),
        original_data_len: number(value, "original_data_len"),
    }
}

/// The bytes of a segment of `compact`.
fn expand(segment: &Value, instruction: &Instruction<'_>) -> Vec<u8> {
    if let Some(hex) = segment.as_str() {
        return unhex(hex);
    }
    let argument = |index: usize| usize::try_from(segment[index].as_u64().unwrap()).unwrap();
    match segment[0].as_str().unwrap() {
        "rep" => vec![argument(1).try_into().unwrap(); argument(2)],
        "data" => match instruction.accounts[argument(1)] {
            Entry::Account(Account { data, .. }) => data[..argument(2)].to_vec(),
            Entry::Duplicate { .. } => panic!("a duplicate has no data"),
        },
        "ix" => instruction.data[..argument(1)].to_vec(),
        other => panic!("unknown segment '{other}'"),
    }
}

fn bytes(len: usize, byte: impl Fn(usize) -> usize) -> &'static [u8] {
    (0..len).map(|i| byte(i) as u8).collect::<Vec<_>>().leak()
}

fn number(value: &Value, name: &str) -> usize {
    usize::try_from(value[name].as_u64().unwrap_or_else(|| panic!("{name} is a number"))).unwrap()
}

fn flag(value: &Value, name: &str) -> bool {
    value[name].as_bool().unwrap_or_else(|| panic!("{name} is true or false"))
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} is a string"))
}

fn list<T>(value: &Value, name: &str, of: impl FnMut(&Value) -> T) -> Vec<T> {
    value[name].as_array().unwrap_or_else(|| panic!("{name} is a list")).iter().map(of).collect()
}

fn key(value: &Value, name: &str) -> [u8; 32] {
    unhex(text(value, name)).try_into().unwrap()
}

fn unhex(hex: &str) -> Vec<u8> {
    let (pairs, []) = hex.as_bytes().as_chunks::<2>() else { panic!("half a byte in {hex}") };
    let digit = |digit: u8| char::from(digit).to_digit(16).expect("a hex digit") as u8;
    pairs.iter().map(|&[high, low]| digit(high) << 4 | digit(low)).collect()
}

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
