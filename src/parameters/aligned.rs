//! The format of loaders 2 and 3: account data is aligned to 8 bytes and followed by room to grow.

use super::{ACCOUNT, Account, Format, MAX_ACCOUNT_DATA, ReadError, Reader};
use crate::buffer::Fill;

/// Number of accounts u64; for each account either a duplicate (index u8, 7 zero bytes) or 0xff,
/// `is_signer`, `is_writable`, `executable`, 4 zero bytes, key, owner, lamports u64, data length
/// u64, the data, 10,240 zero bytes to grow into and up to 7 more to align, rent epoch u64; then
/// length and bytes of the instruction data, and the program id. Integers are little-endian.
#[derive(Debug, Clone, Copy)]
pub struct Aligned;

/// Zero bytes behind the data of an account, for the program to grow it.
const GROWTH: usize = 10_240;

/// Bytes of an account of its own beside data and growth: 8 of marker, flags and padding, 2 keys, 3 integers.
const FIXED: usize = 8 + 2 * 32 + 3 * 8;

/// Bytes missing from `len` to a multiple of 8.
#[inline]
const fn pad8(len: usize) -> usize {
    len.wrapping_neg() % 8
}

impl Format for Aligned {
    type Account<'a> =
        (u8, bool, bool, bool, Fill, &'a [u8; 32], &'a [u8; 32], u64, u64, &'a [u8], Fill, &'a u64);
    type Duplicate = (u8, Fill);

    const DUPLICATE_LEN: usize = 8;

    #[inline]
    fn account_len(data_len: usize) -> usize {
        FIXED + data_len + pad8(data_len) + GROWTH
    }

    #[inline]
    fn account<'a>(account: &'a Account<'_>) -> Self::Account<'a> {
        let Account { key, owner, lamports, data, rent_epoch, is_signer, is_writable, executable } =
            account;
        (
            ACCOUNT,
            *is_signer,
            *is_writable,
            *executable,
            Fill::zeros(4),
            key,
            owner,
            *lamports,
            data.len() as u64,
            data,
            Fill::zeros(GROWTH + pad8(data.len())),
            rent_epoch,
        )
    }

    #[inline]
    fn duplicate(of: u8) -> Self::Duplicate {
        (of, Fill::zeros(7))
    }

    fn read_account<'a>(reader: &mut Reader<'a>) -> Result<Account<'a>, ReadError> {
        let is_signer = reader.flag()?;
        let is_writable = reader.flag()?;
        let executable = reader.flag()?;
        reader.zeros(4)?;
        let key = reader.array()?;
        let owner = reader.array()?;
        let lamports = reader.u64()?;
        let data = reader.bytes_with_len(MAX_ACCOUNT_DATA)?;
        reader.zeros(GROWTH + pad8(data.len()))?;
        let rent_epoch = reader.u64()?;
        Ok(Account { key, owner, lamports, data, rent_epoch, is_signer, is_writable, executable })
    }

    fn read_duplicate(reader: &mut Reader<'_>) -> Result<(), ReadError> {
        reader.zeros(7)
    }
}
