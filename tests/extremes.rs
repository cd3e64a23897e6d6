//! The largest and the smallest: buffers of nothing and of more than 4 GiB, instructions at the limits of the format.
#![cfg(feature = "suite")]

use writeonce::buffer::{
    AlignedMemory, AllocMemset, AllocZeroed, Buffer, Full, VecResize, VecZeroed, Zeros,
};
use writeonce::cases::{Strategy, Visitor};
use writeonce::parameters::{
    Account, Aligned, Entry, Format, Instruction, MAX_ACCOUNT_DATA, MAX_ACCOUNTS, Unaligned, read,
    serialize,
};

/// A byte more than 32 bits can count, and some.
const LARGE: usize = (4 << 30) + 1;

/// Fails unless all bytes are `value`.
#[track_caller]
fn assert_all(bytes: &[u8], value: u8) {
    let whole = vec![value; 1 << 20];
    for (index, chunk) in bytes.chunks(whole.len()).enumerate() {
        assert!(chunk == &whole[..chunk.len()], "not {value} in MiB {index}");
    }
}

/// Fills a buffer of that many bytes from its first byte to its last.
struct Filled(usize);

impl Visitor for Filled {
    type Output = ();

    fn visit<B: Buffer + 'static>(self) {
        let Self(capacity) = self;
        let mut buffer = B::try_with_capacity(capacity).unwrap();
        let (first, last) = (capacity.min(1), capacity.saturating_sub(1).min(1));
        buffer.write(&b"a"[..first]).unwrap();
        buffer.fill(capacity - first - last, 7).unwrap();
        assert_eq!(buffer.fill(last + 1, 0), Err(Full));
        buffer.write(&b"z"[..last]).unwrap();
        assert_eq!(buffer.write(b"x"), Err(Full));
        let bytes = buffer.as_slice();
        assert_eq!(bytes.len(), capacity);
        assert_eq!(bytes.first(), b"a"[..first].first());
        assert_all(&bytes[first..capacity - last], 7);
        assert_eq!(&bytes[capacity - last..], &b"z"[..last]);
    }
}

/// Fills a buffer of every strategy, one after another, each in a thread whose pool goes with it.
fn fill_all(capacity: usize) {
    for strategy in Strategy::with_peers() {
        let fill = move || strategy.visit::<16, _>(Filled(capacity));
        let filled = std::thread::spawn(fill).join();
        assert!(filled.is_ok(), "{} with {capacity} bytes", strategy.name());
    }
}

#[test]
fn small_buffers_are_filled_to_their_last_byte() {
    (0..=3).for_each(fill_all);
}

#[test]
#[ignore = "takes 4 GiB of memory"]
fn buffers_of_more_than_4_gib_are_filled_to_their_last_byte() {
    fill_all(LARGE);
}

#[test]
#[ignore = "takes 4 GiB of memory"]
fn more_than_4_gib_are_zeroed() {
    fn zeros<Z: Zeros>() {
        let mut zeros = Z::try_zeros(LARGE).unwrap();
        assert_eq!(zeros.as_slice_mut().len(), LARGE);
        assert_all(zeros.as_slice_mut(), 0);
    }
    zeros::<AllocZeroed<16>>();
    zeros::<AllocMemset<16>>();
    zeros::<VecZeroed>();
    zeros::<VecResize>();
    let mut memory = AlignedMemory::<16>::zero_filled(LARGE);
    assert_eq!((memory.len(), memory.capacity()), (LARGE, LARGE));
    memory.as_slice_mut()[LARGE - 1] = 1;
    assert_all(&memory.as_slice()[..LARGE - 1], 0);
}

/// Serializes an instruction into a buffer, which has these bytes.
struct Serializes<'a, F: Format>(&'a Instruction<'a>, &'a [u8], std::marker::PhantomData<F>);

impl<F: Format> Visitor for Serializes<'_, F> {
    type Output = bool;

    fn visit<B: Buffer + 'static>(self) -> bool {
        serialize::<F, B>(self.0).unwrap().as_slice() == self.1
    }
}

/// Fails unless every strategy writes the same bytes of that length, from which the instruction can be read.
#[track_caller]
fn assert_written<F: Format>(instruction: &Instruction<'_>, len: usize) {
    let model: AlignedMemory<16> = serialize::<F, _>(instruction).unwrap();
    assert_eq!(model.len(), len);
    assert!(read::<F>(model.as_slice()).unwrap() == *instruction);
    for strategy in Strategy::with_peers() {
        let written = Serializes::<F>(instruction, model.as_slice(), std::marker::PhantomData);
        assert!(strategy.visit::<16, _>(written), "{}", strategy.name());
    }
}

/// Bytes of an instruction without accounts and data.
const BARE: usize = 8 + 8 + 32;

#[test]
fn an_account_and_254_duplicates_of_it_are_written_by_every_strategy() {
    let mut accounts = vec![Entry::Account(Account { data: b"abc", ..Account::default() })];
    accounts.resize(MAX_ACCOUNTS, Entry::Duplicate { of: 0 });
    let instruction = Instruction { accounts, data: b"", program_id: [9; 32] };
    assert_written::<Aligned>(&instruction, BARE + 96 + 3 + 10_240 + 5 + 254 * 8);
    assert_written::<Unaligned>(&instruction, BARE + 92 + 3 + 254);
}

#[test]
fn ten_mib_of_account_data_are_written_by_every_strategy() {
    let data: Vec<_> = (0..MAX_ACCOUNT_DATA).map(|index| (index % 251) as u8).collect();
    let account = Account { data: &data, ..Account::default() };
    let instruction =
        Instruction { accounts: vec![Entry::Account(account)], data: b"", program_id: [9; 32] };
    assert_written::<Aligned>(&instruction, BARE + 96 + 10_485_760 + 10_240);
    assert_written::<Unaligned>(&instruction, BARE + 92 + 10_485_760);
}

#[test]
fn no_instruction_data_and_10_kib_are_written_by_every_strategy() {
    let data: Vec<_> = (0..10 << 10).map(|index| (index % 251) as u8).collect();
    for data in [&data[..0], &data[..]] {
        let account = Entry::Account(Account::default());
        let instruction = Instruction { accounts: vec![account], data, program_id: [9; 32] };
        assert_written::<Aligned>(&instruction, BARE + 96 + 10_240 + data.len());
        assert_written::<Unaligned>(&instruction, BARE + 92 + data.len());
        let bare = Instruction { accounts: vec![], ..instruction };
        assert_written::<Aligned>(&bare, BARE + data.len());
        assert_written::<Unaligned>(&bare, BARE + data.len());
    }
}
