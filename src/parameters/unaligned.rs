//! The format of the deprecated loader 1: no padding, no room to grow.

use super::{ACCOUNT, Account, Format, MAX_ACCOUNT_DATA, ReadError, Reader};

/// Number of accounts u64; for each account either a duplicate (index u8) or 0xff, `is_signer`,
/// `is_writable`, key, lamports u64, data length u64, the data, owner, `executable`, rent epoch u64;
/// then length and bytes of the instruction data, and the program id. Integers are little-endian.
#[derive(Debug, Clone, Copy)]
pub struct Unaligned;

/// Bytes of an account of its own beside its data: marker and 3 flags, 2 keys, 3 integers.
const FIXED: usize = 4 + 2 * 32 + 3 * 8;

impl Format for Unaligned {
    type Account<'a> =
        (u8, bool, bool, &'a [u8; 32], u64, u64, &'a [u8], &'a [u8; 32], &'a bool, &'a u64);
    type Duplicate = u8;

    const DUPLICATE_LEN: usize = 1;

    #[inline]
    fn account_len(data_len: usize) -> usize {
        FIXED + data_len
    }

    #[inline]
    fn account<'a>(account: &'a Account<'_>) -> Self::Account<'a> {
        let Account { key, owner, lamports, data, rent_epoch, is_signer, is_writable, executable } =
            account;
        (
            ACCOUNT,
            *is_signer,
            *is_writable,
            key,
            *lamports,
            data.len() as u64,
            data,
            owner,
            executable,
            rent_epoch,
        )
    }

    #[inline]
    fn duplicate(of: u8) -> Self::Duplicate {
        of
    }

    fn read_account<'a>(reader: &mut Reader<'a>) -> Result<Account<'a>, ReadError> {
        let is_signer = reader.flag()?;
        let is_writable = reader.flag()?;
        let key = reader.array()?;
        let lamports = reader.u64()?;
        let data = reader.bytes_with_len(MAX_ACCOUNT_DATA)?;
        let owner = reader.array()?;
        let executable = reader.flag()?;
        let rent_epoch = reader.u64()?;
        Ok(Account { key, owner, lamports, data, rent_epoch, is_signer, is_writable, executable })
    }

    fn read_duplicate(_: &mut Reader<'_>) -> Result<(), ReadError> {
        Ok(())
    }
}
