//! The vectors of `data/golden.json`, made by the serializer of the origin.

// Each test uses its part.
#![allow(dead_code)]

use std::sync::LazyLock;

use serde_json::Value;
use writeonce::parameters::{Account, Entry, Instruction};

/// An instruction, and what the origin made of it.
pub(crate) struct Vector {
    pub(crate) name: String,
    pub(crate) aligned: bool,
    pub(crate) instruction: Instruction<'static>,
    pub(crate) outcome: Result<Serialized, String>,
}

pub(crate) struct Serialized {
    pub(crate) bytes: Vec<u8>,
    pub(crate) sha256: String,
    pub(crate) hex: Option<String>,
    /// For each entry, where its account is.
    pub(crate) offsets: Vec<Offsets>,
}

pub(crate) struct Offsets {
    pub(crate) key: usize,
    pub(crate) owner: usize,
    pub(crate) lamports: usize,
    pub(crate) data: usize,
    pub(crate) original_data_len: usize,
}

/// All vectors, each on the page only once: some are long.
pub(crate) static VECTORS: LazyLock<Vec<Vector>> = LazyLock::new(|| {
    let file: Value = serde_json::from_str(include_str!("../data/golden.json")).unwrap();
    file["cases"].as_array().unwrap().iter().map(vector).collect()
});

/// The vectors that are not errors.
pub(crate) fn serialized() -> impl Iterator<Item = (&'static Vector, &'static Serialized)> {
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
