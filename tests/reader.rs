//! Malformed bytes and impossible instructions: each is refused at the place where it is wrong.

use std::ops::Range;

use writeonce::buffer::AlignedMemory;
use writeonce::parameters::{
    Account, Aligned, Entry, Format, Instruction, MAX_ACCOUNT_DATA, ReadError, Reason,
    SerializeError, Unaligned, plan, read, serialize, serialized_len,
};

/// An account of 3 bytes, its duplicate, an empty account, 5 bytes of instruction data.
fn small() -> Instruction<'static> {
    let first = Account {
        key: [0x11; 32],
        owner: [0x22; 32],
        lamports: 1_000_000_007,
        data: b"abc",
        rent_epoch: u64::MAX,
        is_signer: true,
        is_writable: false,
        executable: true,
    };
    let second = Account { key: [0x33; 32], owner: [0x44; 32], is_writable: true, ..first };
    let second = Account { data: b"", rent_epoch: 7, ..second };
    Instruction {
        accounts: vec![Entry::Account(first), Entry::Duplicate { of: 0 }, Entry::Account(second)],
        data: b"12345",
        program_id: [0x55; 32],
    }
}

fn bytes_of<F: Format>(instruction: &Instruction<'_>) -> Vec<u8> {
    serialize::<F, AlignedMemory<16>>(instruction).unwrap().as_slice().to_vec()
}

/// Where the fields of [`small`] are.
struct Places {
    first: usize,
    flags: [usize; 3],
    data_len: usize,
    duplicate: usize,
    second: usize,
    /// Length of the instruction data.
    tail: usize,
    padding: Vec<usize>,
}

const GROWTH: usize = 10_240;

fn aligned_places() -> Places {
    let (first, duplicate, second) = (8, 8 + 96 + 3 + 5 + GROWTH, 8 + 96 + 8 + GROWTH + 8);
    let tail = second + 96 + GROWTH;
    let mut padding: Vec<_> = (first + 4..first + 8).collect();
    padding.extend(first + 88 + 3..first + 88 + 8 + GROWTH);
    padding.extend(duplicate + 1..duplicate + 8);
    padding.extend(second + 4..second + 8);
    padding.extend(second + 88..second + 88 + GROWTH);
    let flags = [first + 1, first + 2, first + 3];
    Places { first, flags, data_len: first + 80, duplicate, second, tail, padding }
}

fn unaligned_places() -> Places {
    let (first, duplicate, second) = (8, 8 + 92 + 3, 8 + 92 + 3 + 1);
    let flags = [first + 1, first + 2, first + 51 + 3 + 32];
    let tail = second + 92;
    Places { first, flags, data_len: first + 43, duplicate, second, tail, padding: vec![] }
}

/// Reads the small instruction after `change`.
#[track_caller]
fn read_changed<F: Format>(change: impl FnOnce(&mut Vec<u8>)) -> Result<(), ReadError> {
    let mut bytes = bytes_of::<F>(&small());
    change(&mut bytes);
    read::<F>(&bytes).map(|_| ())
}

fn error(offset: usize, reason: Reason) -> Result<(), ReadError> {
    Err(ReadError { offset, reason })
}

fn put_u64(bytes: &mut [u8], offset: usize, value: u64) {
    bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
}

#[test]
fn places_are_those_of_the_fields() {
    fn check<F: Format>(places: &Places) {
        let bytes = bytes_of::<F>(&small());
        assert_eq!(bytes[places.first], 0xff);
        assert_eq!(places.flags.map(|flag| bytes[flag]), [1, 0, 1]);
        assert_eq!(bytes[places.data_len..][..11], [3, 0, 0, 0, 0, 0, 0, 0, b'a', b'b', b'c']);
        assert_eq!(bytes[places.duplicate], 0);
        assert_eq!(bytes[places.second], 0xff);
        assert_eq!(
            bytes[places.tail..][..13],
            [5, 0, 0, 0, 0, 0, 0, 0, b'1', b'2', b'3', b'4', b'5']
        );
        assert_eq!(bytes.len(), places.tail + 8 + 5 + 32);
        assert!(places.padding.iter().all(|&index| bytes[index] == 0));
    }
    check::<Aligned>(&aligned_places());
    check::<Unaligned>(&unaligned_places());
}

#[test]
fn every_prefix_is_short() {
    fn check<F: Format>(instruction: &Instruction<'_>) {
        let bytes = bytes_of::<F>(instruction);
        assert_eq!(read::<F>(&bytes).as_ref(), Ok(instruction));
        for len in 0..bytes.len() {
            let ReadError { offset, reason } = read::<F>(&bytes[..len]).unwrap_err();
            let Reason::Short { wanted, left } = reason else { panic!("{len}: {reason:?}") };
            assert!(wanted > left, "{len}: {wanted} wanted, {left} left");
            assert_eq!(offset + left, len);
        }
    }
    check::<Unaligned>(&small());
    let mut instruction = small();
    check::<Aligned>(&Instruction { accounts: vec![], ..instruction.clone() });
    instruction.accounts.truncate(2);
    check::<Aligned>(&instruction);
}

#[test]
fn a_short_field_is_reported_where_it_begins() {
    let short = |len: usize, offset: usize, wanted: usize| {
        let reason = Reason::Short { wanted, left: len - offset };
        assert_eq!(read_changed::<Aligned>(|bytes| bytes.truncate(len)), error(offset, reason));
    };
    let places = aligned_places();
    short(0, 0, 8);
    short(7, 0, 8);
    short(8, 8, 1);
    short(places.flags[2], places.flags[2], 1);
    short(places.flags[2] + 3, places.flags[2] + 1, 4);
    short(places.first + 8, places.first + 8, 32);
    short(places.first + 41, places.first + 40, 32);
    short(places.first + 79, places.first + 72, 8);
    short(places.data_len + 7, places.data_len, 8);
    short(places.data_len + 10, places.data_len + 8, 3);
    short(places.data_len + 11, places.data_len + 11, GROWTH + 5);
    short(places.duplicate - 1, places.duplicate - 8, 8);
    short(places.duplicate + 7, places.duplicate + 1, 7);
    short(places.tail + 7, places.tail, 8);
    short(places.tail + 12, places.tail + 8, 5);
    short(places.tail + 13 + 31, places.tail + 13, 32);
}

#[test]
fn duplicates_must_name_an_earlier_account() {
    fn check<F: Format>(places: &Places) {
        // Itself, a later account, an index beyond all accounts.
        for of in [1, 2, 3, 0xfe] {
            let seen = read_changed::<F>(|bytes| bytes[places.duplicate] = of);
            assert_eq!(seen, error(places.duplicate, Reason::NotADuplicate { index: 1, of }));
        }
        let seen = read_changed::<F>(|bytes| bytes[places.first] = 0);
        assert_eq!(seen, error(places.first, Reason::NotADuplicate { index: 0, of: 0 }));

        // Another duplicate: what it duplicates could be named instead.
        let mut instruction = small();
        instruction.accounts[2] = Entry::Duplicate { of: 0 };
        let mut bytes = bytes_of::<F>(&instruction);
        assert_eq!(read::<F>(&bytes), Ok(instruction));
        bytes[places.second] = 1;
        let seen = read::<F>(&bytes).map(|_| ());
        assert_eq!(seen, error(places.second, Reason::NotADuplicate { index: 2, of: 1 }));
    }
    check::<Aligned>(&aligned_places());
    check::<Unaligned>(&unaligned_places());
}

#[test]
fn flags_are_0_or_1() {
    fn check<F: Format>(places: &Places) {
        for flag in places.flags {
            for value in [2, 0x80, 0xff] {
                let seen = read_changed::<F>(|bytes| bytes[flag] = value);
                assert_eq!(seen, error(flag, Reason::Flag(value)));
            }
            assert_eq!(read_changed::<F>(|bytes| bytes[flag] ^= 1), Ok(()));
        }
    }
    check::<Aligned>(&aligned_places());
    check::<Unaligned>(&unaligned_places());
}

#[test]
fn every_byte_of_padding_is_0() {
    let mut bytes = bytes_of::<Aligned>(&small());
    let padding = aligned_places().padding;
    assert_eq!(padding.len(), 4 + 5 + GROWTH + 7 + 4 + GROWTH);
    for index in padding {
        bytes[index] = 1 << (index % 8);
        assert_eq!(read::<Aligned>(&bytes).map(|_| ()), error(index, Reason::Padding));
        bytes[index] = 0;
    }
    assert_eq!(read::<Aligned>(&bytes), Ok(small()));
}

#[test]
fn more_than_255_accounts_are_too_many() {
    for count in [256, 257, u64::MAX] {
        let change = |bytes: &mut Vec<u8>| put_u64(bytes, 0, count);
        let expected = error(0, Reason::TooManyAccounts(count));
        assert_eq!(read_changed::<Aligned>(change), expected);
        assert_eq!(read_changed::<Unaligned>(change), expected);
    }
    // 255 may be: the fourth is not there, and where it would be are other bytes.
    let tail = unaligned_places().tail;
    let seen = read_changed::<Unaligned>(|bytes| put_u64(bytes, 0, 255));
    assert_eq!(seen, error(tail, Reason::NotADuplicate { index: 3, of: 5 }));
}

#[test]
fn account_data_is_at_most_10_mib() {
    fn check<F: Format>(places: &Places) {
        let max = MAX_ACCOUNT_DATA as u64;
        let total = bytes_of::<F>(&small()).len();
        for len in [max + 1, u64::MAX] {
            let seen = read_changed::<F>(|bytes| put_u64(bytes, places.data_len, len));
            assert_eq!(seen, error(places.data_len, Reason::DataTooLong(len)));
        }
        let seen = read_changed::<F>(|bytes| put_u64(bytes, places.data_len, max));
        let data = places.data_len + 8;
        let reason = Reason::Short { wanted: MAX_ACCOUNT_DATA, left: total - data };
        assert_eq!(seen, error(data, reason));
    }
    check::<Aligned>(&aligned_places());
    check::<Unaligned>(&unaligned_places());
}

#[test]
fn instruction_data_is_at_most_what_is_left() {
    fn check<F: Format>(places: &Places) {
        let data = places.tail + 8;
        let left = 5 + 32;
        for len in [left as u64 + 1, 1 << 32, u64::MAX - 1, u64::MAX] {
            let seen = read_changed::<F>(|bytes| put_u64(bytes, places.tail, len));
            assert_eq!(seen, error(data, Reason::Short { wanted: len as usize, left }));
        }
        // All that is left may be data: then it is the program id that is missing.
        let seen = read_changed::<F>(|bytes| put_u64(bytes, places.tail, left as u64));
        assert_eq!(seen, error(data + left, Reason::Short { wanted: 32, left: 0 }));
        let seen = read_changed::<F>(|bytes| put_u64(bytes, places.tail, 4));
        assert_eq!(seen, error(data + 4 + 32, Reason::BytesLeft(1)));
    }
    check::<Aligned>(&aligned_places());
    check::<Unaligned>(&unaligned_places());
}

#[test]
fn nothing_follows_the_program_id() {
    fn check<F: Format>() {
        let total = bytes_of::<F>(&small()).len();
        for extra in [1, 8, 1000] {
            let seen = read_changed::<F>(|bytes| bytes.resize(total + extra, 0));
            assert_eq!(seen, error(total, Reason::BytesLeft(extra)));
        }
    }
    check::<Aligned>();
    check::<Unaligned>();
}

/// Changes a byte, reads, and writes what was read. Returns whether it could be read.
fn survives<F: Format>(bytes: &mut [u8], index: usize, value: u8) -> bool {
    let before = std::mem::replace(&mut bytes[index], value);
    let read = read::<F>(bytes).map(|instruction| {
        let again = serialize::<F, AlignedMemory<16>>(&instruction).unwrap();
        assert!(again.as_slice() == bytes, "{value} at {index} was written differently");
    });
    bytes[index] = before;
    read.is_ok()
}

/// How many changes of one byte outside of `except` leave something that can be read.
fn survivors<F: Format>(instruction: &Instruction<'_>, except: Range<usize>) -> usize {
    let mut bytes = bytes_of::<F>(instruction);
    let mut survivors = 0;
    for index in (0..bytes.len()).filter(|index| !except.contains(index)) {
        let before = bytes[index];
        let others = (0..=u8::MAX).filter(|&value| value != before);
        survivors += others.filter(|&value| survives::<F>(&mut bytes, index, value)).count();
    }
    survivors
}

#[test]
fn what_is_read_after_any_change_is_written_again() {
    // Keys, lamports and rent epoch may be anything, and so may data; a flag has one other value.
    let (account, tail) = (32 + 32 + 8 + 8, 5 + 32);
    let expected = 255 * (2 * account + 3 + tail) + 2 * 3;
    assert_eq!(survivors::<Unaligned>(&small(), 0..0), expected);

    let mut instruction = small();
    instruction.accounts.truncate(2);
    // Growth is left out: each change of a byte of it is an error of its own test.
    let growth = aligned_places().data_len + 8 + 8..aligned_places().duplicate - 8;
    // Padding may be data as well: a length of 3 may become 4, 5, 6, 7 or 8.
    let expected = 255 * (account + 3 + tail) + 3 + 5;
    assert_eq!(survivors::<Aligned>(&instruction, growth), expected);
}

fn serialize_error(instruction: &Instruction<'_>) -> Option<SerializeError> {
    let expected = serialized_len::<Aligned>(instruction).err();
    assert_eq!(serialized_len::<Unaligned>(instruction).err(), expected);
    assert_eq!(serialize::<Aligned, AlignedMemory<16>>(instruction).err(), expected);
    assert_eq!(serialize::<Unaligned, AlignedMemory<16>>(instruction).err(), expected);
    assert_eq!(plan::<Aligned>(instruction).err(), expected);
    assert_eq!(plan::<Unaligned>(instruction).err(), expected);
    expected
}

#[test]
fn at_most_255_accounts_are_written() {
    let with = |count: usize| {
        let mut instruction = Instruction { accounts: vec![], ..small() };
        instruction.accounts.resize(count, Entry::Account(Account::default()));
        instruction
    };
    assert_eq!(serialize_error(&with(256)), Some(SerializeError::TooManyAccounts(256)));
    assert_eq!(serialize_error(&with(1000)), Some(SerializeError::TooManyAccounts(1000)));
    assert_eq!(serialize_error(&with(255)), None);
    let bytes = bytes_of::<Unaligned>(&with(255));
    assert_eq!(read::<Unaligned>(&bytes).unwrap(), with(255));
}

#[test]
fn at_most_10_mib_of_account_data_are_written() {
    let data = vec![0x5c; MAX_ACCOUNT_DATA + 1];
    let with = |lens: &[usize]| {
        let account =
            |&len: &usize| Entry::Account(Account { data: &data[..len], ..Account::default() });
        Instruction { accounts: lens.iter().map(account).collect(), ..small() }
    };
    let too_long = |index| Some(SerializeError::DataTooLong { index, len: MAX_ACCOUNT_DATA + 1 });
    assert_eq!(serialize_error(&with(&[MAX_ACCOUNT_DATA + 1])), too_long(0));
    assert_eq!(serialize_error(&with(&[0, 5, MAX_ACCOUNT_DATA + 1, 7])), too_long(2));
    assert_eq!(serialize_error(&with(&[MAX_ACCOUNT_DATA, MAX_ACCOUNT_DATA + 1])), too_long(1));
    // Each for itself: together they may be longer.
    assert_eq!(serialized_len::<Unaligned>(&with(&[MAX_ACCOUNT_DATA; 255])).err(), None);
    let largest = with(&[MAX_ACCOUNT_DATA, 1]);
    assert_eq!(serialize_error(&largest), None);
    assert!(read::<Aligned>(&bytes_of::<Aligned>(&largest)).unwrap() == largest);
}

#[test]
fn only_duplicates_of_an_earlier_account_are_written() {
    let duplicate = |index: usize, of: u8| {
        let mut instruction = small();
        instruction.accounts[index] = Entry::Duplicate { of };
        serialize_error(&instruction)
    };
    let not = |index, of| Some(SerializeError::NotADuplicate { index, of });
    assert_eq!(duplicate(0, 0), not(0, 0), "of itself");
    assert_eq!(duplicate(1, 1), not(1, 1), "of itself");
    assert_eq!(duplicate(1, 2), not(1, 2), "of a later one");
    assert_eq!(duplicate(1, 255), not(1, 255), "of none");
    assert_eq!(duplicate(2, 1), not(2, 1), "of a duplicate");
    assert_eq!(duplicate(2, 0), None);
}

#[test]
fn errors_name_the_place_and_the_reason() {
    let read_error = |offset, reason| ReadError { offset, reason }.to_string();
    let short = Reason::Short { wanted: 8, left: 7 };
    assert_eq!(read_error(3, short), "offset 3: 8 bytes wanted, 7 left");
    assert_eq!(
        read_error(0, Reason::TooManyAccounts(256)),
        "offset 0: 256 accounts, more than 255"
    );
    assert_eq!(read_error(9, Reason::Flag(2)), "offset 9: a flag is 2, not 0 or 1");
    assert_eq!(read_error(12, Reason::Padding), "offset 12: padding is not 0");
    assert_eq!(
        read_error(8, Reason::NotADuplicate { index: 1, of: 2 }),
        "offset 8: entry 1 duplicates 2, which is not an earlier account"
    );
    assert_eq!(
        read_error(88, Reason::DataTooLong(10_485_761)),
        "offset 88: 10485761 bytes of account data, more than 10485760"
    );
    assert_eq!(
        read_error(51, Reason::BytesLeft(1)),
        "offset 51: 1 bytes left behind the program id"
    );
    assert_eq!(SerializeError::TooManyAccounts(256).to_string(), "256 accounts, at most 255 fit");
    assert_eq!(
        SerializeError::DataTooLong { index: 1, len: 10_485_761 }.to_string(),
        "account 1 has 10485761 bytes of data, more than 10485760"
    );
    assert_eq!(
        SerializeError::NotADuplicate { index: 1, of: 2 }.to_string(),
        "entry 1 duplicates 2, which is not an earlier account"
    );
}
