//! Program parameters: what a program on Solana's virtual machine is called with.
//!
//! An [`Instruction`] is written to a buffer of its exact size in one pass ([`serialize`]) and read
//! back from bytes ([`read`]). There are two [formats](Format), [`Aligned`] and [`Unaligned`]. Both
//! start with the number of accounts and end alike; they differ in how an account is laid out.
//!
//! Source of the formats: `solana-program-runtime` 3.0.14, `serialization.rs`, account data copied.
//!
//! ```
//! use writeonce::buffer::AlignedMemory;
//! use writeonce::parameters::{Account, Aligned, Entry, Instruction, read, serialize};
//!
//! let token = Account { data: &[1; 165], lamports: 2_039_280, ..Account::default() };
//! let instruction = Instruction {
//!     accounts: vec![Entry::Account(token), Entry::Duplicate { of: 0 }],
//!     data: &[3, 1],
//!     program_id: [7; 32],
//! };
//! let buffer: AlignedMemory<16> = serialize::<Aligned, _>(&instruction)?;
//! assert_eq!(buffer.len(), 8 + (96 + 165 + 10_240 + 3) + 8 + 8 + 2 + 32);
//! assert_eq!(read::<Aligned>(buffer.as_slice())?, instruction);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod account;
mod aligned;
mod reader;
mod unaligned;

use std::fmt;

use crate::buffer::{Buffer, CapacityError, Each, Either, Full, Pieces, Plan};

pub use account::{Account, Entry, Instruction};
pub use aligned::Aligned;
pub use reader::{ReadError, Reader, Reason, read};
pub use unaligned::Unaligned;

/// Most accounts of an instruction: an index must differ from the marker of an account.
pub const MAX_ACCOUNTS: usize = 255;

/// Most bytes of data in an account: 10 MiB.
pub const MAX_ACCOUNT_DATA: usize = 10 * 1024 * 1024;

/// First byte of an account that stands for itself. A duplicate has its index there.
const ACCOUNT: u8 = 0xff;

/// How an account is laid out.
pub trait Format {
    /// An account of its own, as pieces.
    type Account<'a>: Pieces;
    /// A duplicate, as pieces.
    type Duplicate: Pieces;

    /// Bytes of a duplicate.
    const DUPLICATE_LEN: usize;

    /// Bytes of an account with `data_len` bytes of data, which is at most [`MAX_ACCOUNT_DATA`].
    fn account_len(data_len: usize) -> usize;

    /// The pieces of an account.
    fn account<'a>(account: &'a Account<'_>) -> Self::Account<'a>;

    /// The pieces of a duplicate of the account at index `of`.
    fn duplicate(of: u8) -> Self::Duplicate;

    /// Reads what follows the first byte of an account.
    ///
    /// # Errors
    /// [`ReadError`] at the first field that is not as the format has it.
    fn read_account<'a>(reader: &mut Reader<'a>) -> Result<Account<'a>, ReadError>;

    /// Reads what follows the first byte of a duplicate.
    ///
    /// # Errors
    /// [`ReadError`] if that is not as the format has it.
    fn read_duplicate(reader: &mut Reader<'_>) -> Result<(), ReadError>;
}

/// Bytes that `instruction` takes in format `F`.
///
/// # Errors
/// [`SerializeError`] if the format cannot express the instruction.
#[inline]
pub fn serialized_len<F: Format>(instruction: &Instruction<'_>) -> Result<usize, SerializeError> {
    let accounts = &instruction.accounts[..];
    if accounts.len() > MAX_ACCOUNTS {
        return Err(SerializeError::TooManyAccounts(accounts.len()));
    }
    let mut len = size_of::<u64>() + size_of::<u64>() + instruction.program_id.len();
    let mut rest = accounts.iter();
    while let Some(entry) = rest.next() {
        let added = match *entry {
            Entry::Account(ref account) => F::account_len(account.data.len()),
            Entry::Duplicate { of } => {
                let index = accounts.len() - rest.len() - 1;
                if !is_first(&accounts[..index], of) {
                    return Err(SerializeError::NotADuplicate { index, of });
                }
                F::DUPLICATE_LEN
            }
        };
        len = len.checked_add(added).ok_or(TOO_LONG)?;
    }
    // No account is longer than all of them together, so one question mostly answers for each.
    if len > MAX_ACCOUNT_DATA {
        check_data_lens(accounts)?;
    }
    len.checked_add(instruction.data.len()).ok_or(TOO_LONG)
}

/// A sum of lengths that overflows.
const TOO_LONG: SerializeError =
    SerializeError::Capacity(CapacityError::TooLarge { capacity: usize::MAX, align: 1 });

#[cold]
#[inline(never)]
fn check_data_lens(accounts: &[Entry<'_>]) -> Result<(), SerializeError> {
    for (index, entry) in accounts.iter().enumerate() {
        if let Entry::Account(Account { data, .. }) = entry
            && data.len() > MAX_ACCOUNT_DATA
        {
            return Err(SerializeError::DataTooLong { index, len: data.len() });
        }
    }
    Ok(())
}

/// Whether the entry at index `of` is an account that stands for itself.
#[inline]
fn is_first(earlier: &[Entry<'_>], of: u8) -> bool {
    matches!(earlier.get(usize::from(of)), Some(Entry::Account(_)))
}

/// Writes `instruction` in format `F` to a buffer of its exact size.
///
/// # Errors
/// [`SerializeError`] if the format cannot express the instruction or no buffer can hold it.
#[inline]
pub fn serialize<F: Format, B: Buffer>(instruction: &Instruction<'_>) -> Result<B, SerializeError> {
    let mut buffer = B::try_with_capacity(serialized_len::<F>(instruction)?)?;
    buffer.put(head(instruction))?;
    for entry in &instruction.accounts {
        match *entry {
            Entry::Account(ref account) => buffer.put(F::account(account))?,
            Entry::Duplicate { of } => buffer.put(F::duplicate(of))?,
        }
    }
    buffer.put(tail(instruction))?;
    Ok(buffer)
}

/// The pieces that [`serialize`] writes, measured beforehand: for [`Floor`](crate::buffer::Floor).
///
/// # Errors
/// [`SerializeError`] as [`serialize`] has it.
pub fn plan<'a, F: Format>(
    instruction: &'a Instruction<'_>,
) -> Result<InstructionPlan<'a, F>, SerializeError> {
    serialized_len::<F>(instruction)?;
    let entries = instruction.accounts.iter().map(|entry| match *entry {
        Entry::Account(ref account) => Either::A(F::account(account)),
        Entry::Duplicate { of } => Either::B(F::duplicate(of)),
    });
    Ok(Plan::new((head(instruction), Each(entries.collect()), tail(instruction)))?)
}

/// The plan of an instruction: number of accounts, the accounts, the rest.
pub type InstructionPlan<'a, F> = Plan<(Head, Entries<'a, F>, Tail<'a>)>;
/// The pieces of all accounts.
pub type Entries<'a, F> = Each<Either<<F as Format>::Account<'a>, <F as Format>::Duplicate>>;
/// Number of accounts.
pub type Head = u64;
/// Length of the instruction data, the data, program id.
pub type Tail<'a> = (u64, &'a [u8], &'a [u8; 32]);

#[inline]
fn head(instruction: &Instruction<'_>) -> Head {
    instruction.accounts.len() as u64
}

#[inline]
fn tail<'a>(instruction: &'a Instruction<'_>) -> Tail<'a> {
    (instruction.data.len() as u64, instruction.data, &instruction.program_id)
}

/// Why an instruction could not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SerializeError {
    /// More than [`MAX_ACCOUNTS`] accounts: this many.
    TooManyAccounts(usize),
    /// The account at `index` has `len` bytes of data, more than [`MAX_ACCOUNT_DATA`].
    DataTooLong {
        /// Index of the account.
        index: usize,
        /// Its data, in bytes.
        len: usize,
    },
    /// The entry at `index` is a duplicate of `of`, where no earlier account stands for itself.
    NotADuplicate {
        /// Index of the entry.
        index: usize,
        /// The index it refers to.
        of: u8,
    },
    /// There is no memory for the buffer.
    Capacity(CapacityError),
    /// The buffer took less than the capacity asked for: a fault of the buffer.
    Full(Full),
}

impl fmt::Display for SerializeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooManyAccounts(n) => write!(f, "{n} accounts, at most {MAX_ACCOUNTS} fit"),
            Self::DataTooLong { index, len } => {
                write!(f, "account {index} has {len} bytes of data, more than {MAX_ACCOUNT_DATA}")
            }
            Self::NotADuplicate { index, of } => {
                write!(f, "entry {index} duplicates {of}, which is not an earlier account")
            }
            Self::Capacity(error) => error.fmt(f),
            Self::Full(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SerializeError {}

impl From<CapacityError> for SerializeError {
    fn from(error: CapacityError) -> Self {
        Self::Capacity(error)
    }
}

impl From<Full> for SerializeError {
    fn from(error: Full) -> Self {
        Self::Full(error)
    }
}
