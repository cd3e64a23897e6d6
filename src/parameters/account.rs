//! What is serialized.

/// An instruction: the accounts it names, its data, and the program it calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction<'a> {
    /// The accounts in the order of the instruction, at most [`MAX_ACCOUNTS`](super::MAX_ACCOUNTS).
    pub accounts: Vec<Entry<'a>>,
    /// The instruction data.
    pub data: &'a [u8],
    /// The key of the program.
    pub program_id: [u8; 32],
}

/// An account of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry<'a> {
    /// An account that stands for itself.
    Account(Account<'a>),
    /// One that was named before.
    Duplicate {
        /// The index of its first occurrence.
        of: u8,
    },
}

impl Instruction<'_> {
    /// Bytes of data: that of its accounts and its own.
    #[must_use]
    pub fn data_bytes(&self) -> u64 {
        let of = |entry: &Entry<'_>| match entry {
            Entry::Account(account) => account.data.len() as u64,
            Entry::Duplicate { .. } => 0,
        };
        self.accounts.iter().map(of).sum::<u64>() + self.data.len() as u64
    }
}

/// An account as a program sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account<'a> {
    /// Its public key.
    pub key: [u8; 32],
    /// The program that owns it.
    pub owner: [u8; 32],
    /// Its balance, in lamports (10^-9 SOL).
    pub lamports: u64,
    /// Its data, at most [`MAX_ACCOUNT_DATA`](super::MAX_ACCOUNT_DATA) bytes.
    pub data: &'a [u8],
    /// The epoch in which it next owes rent.
    pub rent_epoch: u64,
    /// Whether it signed the transaction.
    pub is_signer: bool,
    /// Whether the instruction may change it.
    pub is_writable: bool,
    /// Whether it is a program.
    pub executable: bool,
}
