//! The way back: from bytes to an instruction, or to the place where they are malformed.

use std::fmt;

use super::{ACCOUNT, Entry, Format, Instruction, MAX_ACCOUNT_DATA, MAX_ACCOUNTS, is_first};

/// Reads an instruction that was written in format `F`. It borrows its data from `bytes`.
///
/// What is accepted serializes back to the same bytes.
///
/// # Errors
/// [`ReadError`] with the offset of the first field that is malformed.
pub fn read<F: Format>(bytes: &[u8]) -> Result<Instruction<'_>, ReadError> {
    let mut reader = Reader { bytes, offset: 0 };
    let count = reader.u64()?;
    if count > MAX_ACCOUNTS as u64 {
        return Err(ReadError { offset: 0, reason: Reason::TooManyAccounts(count) });
    }
    let mut accounts = Vec::new();
    for index in 0..count as usize {
        let offset = reader.offset;
        accounts.push(match reader.u8()? {
            ACCOUNT => Entry::Account(F::read_account(&mut reader)?),
            of if is_first(&accounts, of) => {
                F::read_duplicate(&mut reader)?;
                Entry::Duplicate { of }
            }
            of => return Err(ReadError { offset, reason: Reason::NotADuplicate { index, of } }),
        });
    }
    let data = reader.bytes_with_len(usize::MAX)?;
    let program_id = reader.array()?;
    match bytes.len() - reader.offset {
        0 => Ok(Instruction { accounts, data, program_id }),
        left => Err(ReadError { offset: reader.offset, reason: Reason::BytesLeft(left) }),
    }
}

/// A position in bytes that are being read.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    fn error(&self, reason: Reason) -> ReadError {
        ReadError { offset: self.offset, reason }
    }

    /// The next `len` bytes.
    fn take(&mut self, len: usize) -> Result<&'a [u8], ReadError> {
        let left = &self.bytes[self.offset..];
        match left.get(..len) {
            Some(bytes) => {
                self.offset += len;
                Ok(bytes)
            }
            None => Err(self.error(Reason::Short { wanted: len, left: left.len() })),
        }
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        let left = &self.bytes[self.offset..];
        match left.first_chunk() {
            Some(bytes) => {
                self.offset += N;
                Ok(*bytes)
            }
            None => Err(self.error(Reason::Short { wanted: N, left: left.len() })),
        }
    }

    fn u8(&mut self) -> Result<u8, ReadError> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn u64(&mut self) -> Result<u64, ReadError> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn flag(&mut self) -> Result<bool, ReadError> {
        let offset = self.offset;
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            value => Err(ReadError { offset, reason: Reason::Flag(value) }),
        }
    }

    pub(super) fn zeros(&mut self, len: usize) -> Result<(), ReadError> {
        let start = self.offset;
        match self.take(len)?.iter().position(|&byte| byte != 0) {
            None => Ok(()),
            Some(index) => Err(ReadError { offset: start + index, reason: Reason::Padding }),
        }
    }

    /// A length of at most `max`, then that many bytes.
    pub(super) fn bytes_with_len(&mut self, max: usize) -> Result<&'a [u8], ReadError> {
        let offset = self.offset;
        let len = self.u64()?;
        if len > max as u64 {
            return Err(ReadError { offset, reason: Reason::DataTooLong(len) });
        }
        // A length beyond `usize` is beyond what is left, too.
        self.take(usize::try_from(len).unwrap_or(usize::MAX))
    }
}

/// Where bytes are not what the format has there, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadError {
    /// Offset of the malformed field, in bytes.
    pub offset: usize,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What is wrong with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The bytes end too early.
    Short {
        /// Bytes that the field has.
        wanted: usize,
        /// Bytes that are left.
        left: usize,
    },
    /// A count of accounts above [`MAX_ACCOUNTS`].
    TooManyAccounts(u64),
    /// The entry at `index` says it duplicates `of`, where no earlier account stands for itself.
    NotADuplicate {
        /// Index of the entry.
        index: usize,
        /// The index it refers to.
        of: u8,
    },
    /// A flag that is neither 0 nor 1.
    Flag(u8),
    /// A byte of padding or of growth that is not 0.
    Padding,
    /// A length of account data above [`MAX_ACCOUNT_DATA`].
    DataTooLong(u64),
    /// Bytes behind the program id: this many.
    BytesLeft(usize),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {}: ", self.offset)?;
        match self.reason {
            Reason::Short { wanted, left } => write!(f, "{wanted} bytes wanted, {left} left"),
            Reason::TooManyAccounts(n) => write!(f, "{n} accounts, more than {MAX_ACCOUNTS}"),
            Reason::NotADuplicate { index, of } => {
                write!(f, "entry {index} duplicates {of}, which is not an earlier account")
            }
            Reason::Flag(value) => write!(f, "a flag is {value}, not 0 or 1"),
            Reason::Padding => f.write_str("padding is not 0"),
            Reason::DataTooLong(len) => {
                write!(f, "{len} bytes of account data, more than {MAX_ACCOUNT_DATA}")
            }
            Reason::BytesLeft(left) => write!(f, "{left} bytes left behind the program id"),
        }
    }
}

impl std::error::Error for ReadError {}
