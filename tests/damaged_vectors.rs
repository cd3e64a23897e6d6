//! The golden vectors cut short, and with a byte changed: never a panic, and what is accepted is written as it was read.

mod vectors;

use writeonce::buffer::AlignedMemory;
use writeonce::parameters::{Aligned, Format, ReadError, Reason, Unaligned, read, serialize};

use vectors::{Serialized, Vector, serialized};

/// Most bytes of a vector of which every prefix is read by default, if it has growth behind its accounts: reading takes as
/// long as the growth is.
const SHORT: usize = 12_500;

/// Most bytes of a vector that has each of its bytes changed in all ways by default.
const SMALL: usize = 320;

/// Reads a prefix, which is too short.
#[track_caller]
fn prefix<F: Format>(name: &str, bytes: &[u8], len: usize) {
    match read::<F>(&bytes[..len]) {
        Err(ReadError { offset, reason: Reason::Short { wanted, left } })
            if offset + left == len && wanted > left => {}
        seen => panic!("{name}, {len} bytes: {seen:?}"),
    }
}

/// Reads prefixes of a vector.
fn prefixes(vector: &Vector, bytes: &[u8], lens: impl Iterator<Item = usize>) {
    for len in lens {
        match vector.aligned {
            true => prefix::<Aligned>(&vector.name, bytes, len),
            false => prefix::<Unaligned>(&vector.name, bytes, len),
        }
    }
}

#[test]
fn every_prefix_of_a_vector_is_short() {
    for (vector, Serialized { bytes, .. }) in serialized() {
        if !vector.aligned || bytes.len() <= SHORT {
            prefixes(vector, bytes, 0..bytes.len());
        }
    }
}

#[test]
fn prefixes_of_long_vectors_that_end_around_a_field_are_short() {
    for (vector, Serialized { bytes, offsets, .. }) in serialized() {
        let fields = offsets.iter().flat_map(|offsets| {
            let data = offsets.data + offsets.original_data_len;
            [offsets.key, offsets.owner, offsets.lamports, offsets.data, data, data + 10_240]
        });
        let near = |field: usize| field.saturating_sub(9)..field + 10;
        let last = bytes.len().saturating_sub(100)..bytes.len();
        let lens = fields.flat_map(near).chain(last).filter(|&len| len < bytes.len());
        prefixes(vector, bytes, lens);
    }
}

#[test]
#[ignore = "takes minutes"]
fn every_prefix_of_every_vector_is_short() {
    for (vector, Serialized { bytes, .. }) in serialized() {
        prefixes(vector, bytes, 0..bytes.len());
    }
}

/// Changes a byte to each of `values` and reads; what is accepted is written as it was read.
fn changes<F: Format>(name: &str, bytes: &mut [u8], index: usize, values: &[u8]) {
    let before = bytes[index];
    for &value in values.iter().filter(|&&value| value != before) {
        bytes[index] = value;
        let Ok(instruction) = read::<F>(bytes) else { continue };
        let again = serialize::<F, AlignedMemory<16>>(&instruction);
        let again = again.unwrap_or_else(|error| panic!("{name}, {value} at {index}: {error}"));
        assert!(again.as_slice() == bytes, "{name}, {value} at {index} was written differently");
    }
    bytes[index] = before;
}

/// Changes every byte of a vector, each to what `values` makes of it.
fn change_all<const N: usize>(vector: &Vector, bytes: &[u8], values: impl Fn(u8) -> [u8; N]) {
    let mut bytes = bytes.to_vec();
    for index in 0..bytes.len() {
        let values = values(bytes[index]);
        match vector.aligned {
            true => changes::<Aligned>(&vector.name, &mut bytes, index, &values),
            false => changes::<Unaligned>(&vector.name, &mut bytes, index, &values),
        }
    }
}

const EVERY_VALUE: [u8; 256] = {
    let mut values = [0; 256];
    let mut value = 0;
    while value < values.len() {
        values[value] = value as u8;
        value += 1;
    }
    values
};

#[test]
fn whatever_a_byte_of_a_small_vector_is_changed_to_is_written_as_it_is_read() {
    for (vector, Serialized { bytes, .. }) in serialized() {
        if bytes.len() <= SMALL {
            change_all(vector, bytes, |_| EVERY_VALUE);
        }
    }
}

#[test]
fn a_flipped_bit_of_a_short_vector_is_written_as_it_is_read() {
    for (vector, Serialized { bytes, .. }) in serialized() {
        if (SMALL..=SHORT).contains(&bytes.len()) {
            change_all(vector, bytes, |byte| [byte ^ 1, byte ^ 0x80, !byte]);
        }
    }
}

#[test]
#[ignore = "takes minutes"]
fn whatever_a_byte_of_a_short_vector_is_changed_to_is_written_as_it_is_read() {
    for (vector, Serialized { bytes, .. }) in serialized() {
        if bytes.len() <= SHORT {
            change_all(vector, bytes, |_| EVERY_VALUE);
        }
    }
}
