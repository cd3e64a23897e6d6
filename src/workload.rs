//! Workloads: the shapes by name, and the sources that are written to buffers.
//!
//! A shape is made once and lives as long as the process, so that all strategies copy from the same
//! memory. Sources hold a pattern: bytes that nobody wrote share the kernel's zero page and make
//! copies look twice as fast as they are.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;

use crate::failure::Failure;
use crate::parameters::{Account, Entry, Instruction, MAX_ACCOUNT_DATA, MAX_ACCOUNTS};

pub mod ledger;

/// Instructions of the shape `ledger`.
pub const LEDGER_INSTRUCTIONS: u64 = 64;

/// Seed of the shape `ledger`: the number of the pull request it stands for.
pub const LEDGER_SEED: u64 = 17_324;

/// Accounts that the shape `duplicates` names, and how many of them are different.
const DUPLICATES: (usize, usize) = (64, 8);

/// Bytes of a token account.
const TOKEN: usize = 165;

/// The size that `name` stands for, in bytes: digits, then nothing, `k` (1,024) or `m` (1,048,576).
///
/// ```
/// assert_eq!(writeonce::workload::size("10k"), Some(10_240));
/// assert_eq!(writeonce::workload::size("10K"), None);
/// ```
#[must_use]
pub fn size(name: &str) -> Option<usize> {
    let (digits, unit) = match name.as_bytes().last()? {
        b'k' => (&name[..name.len() - 1], 1 << 10),
        b'm' => (&name[..name.len() - 1], 1 << 20),
        _ => (name, 1),
    };
    let canonical = digits == "0" || (!digits.starts_with('0') && !digits.is_empty());
    if !canonical || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

/// The largest source: a shape may name no more.
pub const MAX_SOURCE: usize = 64 << 20;

/// `len` bytes of a pattern, at most [`MAX_SOURCE`].
#[must_use]
pub fn source(len: usize) -> Option<&'static [u8]> {
    (len <= MAX_SOURCE).then(|| pattern(len, 0))
}

/// `len` bytes of a pattern that differs by `salt`, made once for each pair.
fn pattern(len: usize, salt: usize) -> &'static [u8] {
    static MADE: Mutex<BTreeMap<(usize, usize), &'static [u8]>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.entry((len, salt)).or_insert_with(|| patterned(len, salt).leak())
}

/// `len` bytes of a pattern that differs by `salt`.
#[must_use]
pub fn patterned(len: usize, salt: usize) -> Vec<u8> {
    // A prime period, so that no block or page repeats another.
    let period: Vec<u8> =
        (0..len.min(4093)).map(|i| (i * 31 + (i >> 8) * 151 + salt * 17 + 1) as u8).collect();
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        bytes.extend_from_slice(&period[..period.len().min(len - bytes.len())]);
    }
    bytes
}

/// What is serialized by a `mixed` case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// `AxB`: an instruction with `count` accounts of `bytes` bytes.
    Accounts {
        /// Number of accounts.
        count: usize,
        /// Length of the data of each, in bytes.
        bytes: usize,
    },
    /// `orderbook`: the 12 accounts of a new order.
    Orderbook,
    /// `duplicates`: 64 accounts, of which 8 are different.
    Duplicates,
    /// `ledger`: 64 instructions of the [ledger mix](ledger).
    Ledger,
}

impl Shape {
    /// The shape of that name, if there is one.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "orderbook" => Self::Orderbook,
            "duplicates" => Self::Duplicates,
            "ledger" => Self::Ledger,
            _ => {
                let (count, bytes) = name.split_once('x')?;
                let (count, bytes) = (size(count)?, size(bytes)?);
                let valid = (1..=MAX_ACCOUNTS).contains(&count)
                    && bytes <= MAX_ACCOUNT_DATA
                    && count.checked_mul(bytes).is_some_and(|total| total <= MAX_SOURCE);
                return valid.then_some(Self::Accounts { count, bytes });
            }
        })
    }

    /// Its instructions, made once.
    #[must_use]
    pub fn instructions(self) -> &'static [Instruction<'static>] {
        static MADE: Mutex<BTreeMap<Shape, &'static [Instruction<'static>]>> =
            Mutex::new(BTreeMap::new());
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        made.entry(self).or_insert_with(|| self.make().leak())
    }

    fn make(self) -> Vec<Instruction<'static>> {
        match self {
            Self::Accounts { count, bytes } => instructions(&[vec![bytes; count]]),
            Self::Orderbook => vec![of_template(&ledger::TEMPLATES[1])],
            Self::Duplicates => {
                let (named, different) = DUPLICATES;
                let mut instruction = instruction(&vec![TOKEN; different], 8);
                let duplicates =
                    (different..named).map(|i| Entry::Duplicate { of: (i % different) as u8 });
                instruction.accounts.extend(duplicates);
                vec![instruction]
            }
            Self::Ledger => ledger_mix(LEDGER_INSTRUCTIONS),
        }
    }
}

fn of_template(template: &'static ledger::Template) -> Instruction<'static> {
    instruction(template.accounts, template.data_len)
}

/// An instruction with accounts of these many bytes and instruction data of `data_len` bytes.
fn instruction(accounts: &[usize], data_len: usize) -> Instruction<'static> {
    instruction_from(accounts, data_len, |len, index| pattern(len, index))
}

/// Instructions with accounts of these many bytes, and 8 bytes of instruction data each.
#[must_use]
pub fn instructions(sizes: &[Vec<usize>]) -> Vec<Instruction<'static>> {
    sizes.iter().map(|accounts| instruction(accounts, 8)).collect()
}

/// Checks that account data can lie in a working set of `bytes` bytes.
///
/// # Errors
/// [`Failure`] if the largest account does not fit, or there is no memory.
pub fn check_working_set(bytes: usize) -> Result<(), Failure> {
    if bytes < MAX_ACCOUNT_DATA {
        let reason =
            format!("--working-set must be at least {MAX_ACCOUNT_DATA} bytes, the largest account");
        return Err(Failure::new(reason));
    }
    if Vec::<u8>::new().try_reserve_exact(bytes).is_err() {
        let reason = format!("--working-set: there is no memory for {bytes} bytes");
        return Err(Failure::new(reason));
    }
    Ok(())
}

/// The same instructions with the data of their accounts somewhere in `set`.
///
/// # Panics
/// If `set` is smaller than the largest account.
pub fn scattered<'a>(
    instructions: &[Instruction<'a>],
    set: &'a [u8],
    rng: &mut Xoshiro256PlusPlus,
) -> Vec<Instruction<'a>> {
    let mut scattered = instructions.to_vec();
    for entry in scattered.iter_mut().flat_map(|instruction| &mut instruction.accounts) {
        if let Entry::Account(account) = entry {
            account.data = somewhere(set, account.data.len(), rng);
        }
    }
    scattered
}

/// `len` bytes of `set`, at a multiple of 8, as the data of an account lie.
fn somewhere<'a>(set: &'a [u8], len: usize, rng: &mut Xoshiro256PlusPlus) -> &'a [u8] {
    let start = rng.random_range(0..=(set.len() - len) / 8) * 8;
    &set[start..start + len]
}

/// `n` instructions of the [ledger mix](ledger), drawn with [`LEDGER_SEED`].
#[must_use]
pub fn ledger_mix(n: u64) -> Vec<Instruction<'static>> {
    ledger::draw(n, LEDGER_SEED).into_iter().map(of_template).collect()
}

/// The same with account data from `source`, which is told how long they are and of which account.
fn instruction_from<'a>(
    accounts: &[usize],
    data_len: usize,
    mut source: impl FnMut(usize, usize) -> &'a [u8],
) -> Instruction<'a> {
    let key = |salt: usize| std::array::from_fn(|i| (salt * 5 + i * 7 + 16) as u8);
    let account = |(index, &len): (usize, &usize)| {
        Entry::Account(Account {
            key: key(index),
            owner: key(index + 128),
            lamports: 1_000_000_007 * (index as u64 + 1),
            data: source(len, index),
            rent_epoch: u64::MAX,
            is_signer: index == 0,
            is_writable: index % 3 != 2,
            executable: false,
        })
    };
    Instruction {
        accounts: accounts.iter().enumerate().map(account).collect(),
        data: pattern(data_len, 255),
        program_id: key(255),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::{AlignedMemory, Buffer};
    use crate::parameters::{Aligned, serialize};

    #[test]
    fn sizes_are_read_and_others_refused() {
        let read = ["0", "165", "1k", "100000", "10m"].map(size);
        assert_eq!(read, [0, 165, 1024, 100_000, 10 << 20].map(Some));
        for name in ["", "k", "01", "1K", "-1", "1 k", "1g", "+1", "99999999999999999999", "é"] {
            assert_eq!(size(name), None, "{name}");
        }
    }

    #[test]
    fn unknown_shapes_are_refused() {
        for name in ["", "x", "1x", "x1", "0x0", "256x1", "1x11m", "1x1x1", "order", "255x10m"] {
            assert_eq!(Shape::parse(name), None, "{name}");
        }
        assert_eq!(Shape::parse("8x10k"), Some(Shape::Accounts { count: 8, bytes: 10_240 }));
    }

    #[test]
    fn sources_are_patterned_and_not_zero() {
        let bytes = source(100_000).unwrap();
        assert_eq!(bytes.len(), 100_000);
        assert!(bytes.chunks(4096).all(|page| page.iter().any(|&byte| byte != 0)));
        assert_ne!(bytes[..4096], bytes[4096..8192]);
        assert!(source(MAX_SOURCE + 1).is_none());
    }

    #[test]
    fn orderbook_is_the_new_order() {
        let accounts = &Shape::Orderbook.instructions()[0].accounts;
        assert_eq!(ledger::TEMPLATES[1].name, "serum_new_order");
        assert_eq!(accounts.len(), 12);
    }

    #[test]
    fn ledger_has_its_golden_checksum() {
        let instructions = Shape::Ledger.instructions();
        assert_eq!(instructions.len() as u64, LEDGER_INSTRUCTIONS);
        // FNV-1a over all serialized bytes, in 64-bit words where they last, and over the lengths.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |word: u64| hash = (hash ^ word).wrapping_mul(0x0100_0000_01b3);
        let mut len = 0;
        for instruction in instructions {
            let buffer: AlignedMemory<16> = serialize::<Aligned, _>(instruction).unwrap();
            let bytes = Buffer::as_slice(&buffer);
            len += bytes.len();
            add(bytes.len() as u64);
            let (words, rest) = bytes.as_chunks();
            words.iter().for_each(|&word| add(u64::from_le_bytes(word)));
            rest.iter().for_each(|&byte| add(byte.into()));
        }
        assert_eq!((len, hash), (36_249_821, 9_550_496_283_378_253_140));
    }
}
