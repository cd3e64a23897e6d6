//! The buffer that others may use for itself: `AlignedMemory`.

use std::io::{ErrorKind, Write};

use writeonce::buffer::{AlignedMemory, Buffer, CapacityError, Pod};

type Memory = AlignedMemory<16>;

#[track_caller]
fn assert_aligned<const ALIGN: usize>(memory: &AlignedMemory<ALIGN>) {
    assert_eq!(memory.as_slice().as_ptr().addr() % ALIGN, 0);
}

#[test]
fn from_slice_copies_and_leaves_no_room() {
    for len in [0, 1, 15, 16, 17, 5000] {
        let data: Vec<u8> = (0..len).map(|i| i as u8).collect();
        let mut memory = Memory::from_slice(&data);
        assert_eq!(memory.as_slice(), data);
        assert_eq!((memory.len(), memory.capacity()), (len, len));
        assert_eq!(memory.write(b"x").unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_aligned(&memory);
    }
}

#[test]
fn from_takes_whatever_is_bytes() {
    assert_eq!(Memory::from([1, 2, 3]).as_slice(), [1, 2, 3]);
    assert_eq!(Memory::from(vec![1, 2, 3]).as_slice(), [1, 2, 3]);
    assert_eq!(Memory::from(&[1u8, 2, 3][..]).as_slice(), [1, 2, 3]);
    assert_eq!(Memory::from("abc").as_slice(), b"abc");
    assert_eq!(Memory::from(String::new()).capacity(), 0);
}

#[test]
fn a_buffer_with_capacity_is_empty() {
    for mut memory in [Memory::with_capacity(24), Memory::with_capacity_zeroed(24)] {
        assert_eq!((memory.len(), memory.write_index(), memory.capacity()), (0, 0, 24));
        assert!(memory.is_empty());
        assert_eq!(memory.as_slice(), b"");
        assert_eq!(memory.as_slice_mut(), b"");
        memory.write_all(b"abc").unwrap();
        assert_eq!((memory.len(), memory.write_index(), memory.capacity()), (3, 3, 24));
        assert!(!memory.is_empty());
        assert_eq!(memory.as_slice(), b"abc");
    }
}

#[test]
fn a_zero_filled_buffer_is_full_of_zeros() {
    for len in [0, 1, 4096, 100_000] {
        let mut memory = Memory::zero_filled(len);
        assert_eq!((memory.len(), memory.write_index(), memory.capacity()), (len, len, len));
        assert!(memory.as_slice().iter().all(|&byte| byte == 0));
        assert_eq!(memory.fill_write(1, 0).unwrap_err().kind(), ErrorKind::InvalidInput);
        memory.as_slice_mut().fill(1);
        assert!(memory.as_slice().iter().all(|&byte| byte == 1));
    }
}

#[test]
fn mem_size_counts_the_allocation_and_the_value() {
    for capacity in [0, 1, 1000] {
        assert_eq!(Memory::with_capacity(capacity).mem_size(), capacity + size_of::<Memory>());
        assert_eq!(Memory::zero_filled(capacity).mem_size(), capacity + size_of::<Memory>());
    }
}

#[test]
fn the_slice_can_be_changed_in_place() {
    let mut memory = Memory::with_capacity(8);
    memory.write_all(b"abc").unwrap();
    memory.as_slice_mut()[1] = b'x';
    memory.write_all(b"de").unwrap();
    assert_eq!(memory.as_slice(), b"axcde");
    assert_eq!(memory.as_slice_mut().len(), 5);
}

#[test]
fn fills_append_or_change_nothing() {
    for mut memory in [Memory::with_capacity(10), Memory::with_capacity_zeroed(10)] {
        memory.fill_write(3, 0).unwrap();
        memory.fill_write(0, 9).unwrap();
        memory.fill_write(4, 0xaa).unwrap();
        for num in [4, 10, usize::MAX - 7, usize::MAX] {
            for value in [0, 1] {
                let error = memory.fill_write(num, value).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidInput);
                assert_eq!(error.to_string(), "write beyond the capacity of the buffer");
                assert_eq!(memory.len(), 7);
            }
        }
        memory.fill_write(3, 0).unwrap();
        assert_eq!(memory.as_slice(), b"\0\0\0\xaa\xaa\xaa\xaa\0\0\0");
        memory.fill_write(0, 0).unwrap();
    }
}

#[test]
fn zeroed_memory_reads_zeros_whatever_was_written_before() {
    let mut memory = Memory::with_capacity_zeroed(12);
    memory.fill_write(2, 0).unwrap();
    memory.write_all(b"ab").unwrap();
    memory.as_slice_mut().fill(0xff);
    memory.fill_write(4, 0).unwrap();
    memory.fill_write(2, 7).unwrap();
    memory.fill_write(2, 0).unwrap();
    assert_eq!(memory.as_slice(), b"\xff\xff\xff\xff\0\0\0\0\x07\x07\0\0");
}

#[test]
fn io_writes_append_all_or_nothing() {
    let mut memory = Memory::with_capacity(5);
    assert_eq!(memory.write(b"abc").unwrap(), 3);
    assert_eq!(memory.write(b"").unwrap(), 0);
    assert_eq!(memory.write(b"def").unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(memory.write_all(b"def").unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(memory.as_slice(), b"abc");
    memory.write_all(b"de").unwrap();
    memory.write_all(b"").unwrap();
    memory.flush().unwrap();
    assert_eq!(memory.as_slice(), b"abcde");
    assert_eq!(memory.write(b"f").unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn formatted_text_can_be_written() {
    let mut memory = Memory::with_capacity(8);
    write!(memory, "{}-ab", 12).unwrap();
    assert_eq!(memory.as_slice(), b"12-ab");
    assert_eq!(write!(memory, "{}", 1234).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(memory.as_slice(), b"12-ab");
}

/// Writes `value` at an odd address, up to the end of the buffer.
#[track_caller]
fn assert_written<T: Pod>(value: T, bytes: &[u8]) {
    let mut memory = Memory::with_capacity(1 + size_of::<T>());
    memory.write_all(b"x").unwrap();
    // SAFETY: the capacity was chosen so that there is room.
    unsafe { memory.write_unchecked(value) };
    assert_eq!(memory.as_slice(), [b"x", bytes].concat());
    assert_eq!(memory.len(), memory.capacity());
}

#[test]
fn integers_of_all_widths_are_written_unchecked() {
    assert_written(0x12u8, &[0x12]);
    assert_written(0x1234u16, &0x1234u16.to_ne_bytes());
    assert_written(0x1234_5678u32, &0x1234_5678u32.to_ne_bytes());
    assert_written(0x0123_4567_89ab_cdefu64, &0x0123_4567_89ab_cdefu64.to_ne_bytes());
    assert_written(u128::MAX / 3, &(u128::MAX / 3).to_ne_bytes());
    assert_written(usize::MAX / 3, &(usize::MAX / 3).to_ne_bytes());
    assert_written(-2i8, &[0xfe]);
    assert_written(-2i16, &(-2i16).to_ne_bytes());
    assert_written(-2i32, &(-2i32).to_ne_bytes());
    assert_written(-2i64, &(-2i64).to_ne_bytes());
    assert_written(-2i128, &(-2i128).to_ne_bytes());
    assert_written(-2isize, &(-2isize).to_ne_bytes());
}

#[test]
fn slices_are_written_unchecked() {
    let mut memory = Memory::with_capacity(7);
    for part in [&b"abc"[..], b"", b"defg", b""] {
        // SAFETY: 7 bytes are written in all.
        unsafe { memory.write_all_unchecked(part) };
    }
    assert_eq!(memory.as_slice(), b"abcdefg");
    let mut none = Memory::with_capacity(0);
    // SAFETY: nothing is written.
    unsafe { none.write_all_unchecked(b"") };
    assert!(none.is_empty());
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "write beyond the capacity")]
fn an_unchecked_write_without_room_is_noticed_in_debug_builds() {
    let mut memory = Memory::with_capacity(7);
    // SAFETY: there is no room: the assertion in front of the write ends it.
    unsafe { memory.write_unchecked(1u64) };
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "write beyond the capacity")]
fn an_unchecked_copy_without_room_is_noticed_in_debug_builds() {
    let mut memory = Memory::with_capacity(7);
    // SAFETY: there is no room: the assertion in front of the copy ends it.
    unsafe { memory.write_all_unchecked(b"12345678") };
}

#[test]
fn clones_are_alike_and_apart() {
    let mut memory = AlignedMemory::<4096>::with_capacity(10);
    memory.write_all(b"abc").unwrap();
    let mut clone = memory.clone();
    assert_eq!(clone, memory);
    assert_eq!((clone.len(), clone.capacity()), (3, 10));
    assert_aligned(&clone);
    clone.as_slice_mut()[0] = b'x';
    clone.write_all(b"defghij").unwrap();
    assert!(clone.write_all(b"k").is_err());
    assert_eq!(clone.as_slice(), b"xbcdefghij");
    assert_eq!(memory.as_slice(), b"abc");
    assert_eq!(Memory::with_capacity(0).clone().capacity(), 0);
}

#[test]
fn clones_of_zeroed_memory_are_zeroed() {
    let mut memory = Memory::with_capacity_zeroed(1000);
    memory.write_all(&[0xff; 500]).unwrap();
    let mut clone = memory.clone();
    // What the clone may be given next has been dirty.
    drop(memory);
    clone.fill_write(500, 0).unwrap();
    assert_eq!(clone.as_slice()[..500], [0xff; 500]);
    assert_eq!(clone.as_slice()[500..], [0; 500]);
    let again = clone.clone();
    assert_eq!(again, clone);
    // And of memory that is not, a fill with 0 is written.
    let mut memory = Memory::with_capacity(1000);
    memory.write_all(&[0xff; 500]).unwrap();
    let mut clone = memory.clone();
    clone.fill_write(500, 0).unwrap();
    assert_eq!(clone.as_slice()[500..], [0; 500]);
}

#[test]
fn debug_shows_alignment_capacity_and_bytes() {
    let mut memory = Memory::with_capacity(4);
    memory.write_all(&[1, 2]).unwrap();
    let shown = format!("{memory:?}");
    assert_eq!(shown, "AlignedMemory { align: 16, capacity: 4, bytes: [1, 2] }");
}

#[test]
fn buffers_are_equal_when_their_bytes_are() {
    let written = |capacity: usize, bytes: &[u8]| {
        let mut memory = Memory::with_capacity(capacity);
        memory.write_all(bytes).unwrap();
        memory
    };
    assert_eq!(written(3, b"abc"), written(100, b"abc"));
    assert_eq!(written(0, b""), written(100, b""));
    assert_ne!(written(3, b"abc"), written(3, b"abd"));
    assert_ne!(written(3, b"abc"), written(3, b"ab"));
    assert_eq!(Memory::zero_filled(3), written(3, b"\0\0\0"));
}

fn assert_at<const ALIGN: usize>() {
    for len in [0, 1, ALIGN - 1, ALIGN, ALIGN + 1] {
        let mut memory = AlignedMemory::<ALIGN>::with_capacity(len);
        assert_aligned(&memory);
        memory.fill_write(len, 0xee).unwrap();
        assert!(memory.fill_write(1, 0).is_err());
        assert_aligned(&memory);
        assert!(memory.as_slice().iter().all(|&byte| byte == 0xee));
        let zeros = AlignedMemory::<ALIGN>::zero_filled(len);
        assert_aligned(&zeros);
        assert!(zeros.as_slice().iter().all(|&byte| byte == 0));
        assert_aligned(&memory.clone());
        assert_aligned(&AlignedMemory::<ALIGN>::from_slice(memory.as_slice()));
    }
    let capacity = isize::MAX as usize + 2 - ALIGN;
    let error = AlignedMemory::<ALIGN>::try_with_capacity(capacity).unwrap_err();
    assert_eq!(error, CapacityError::TooLarge { capacity, align: ALIGN });
}

#[test]
fn memory_is_aligned_at_every_alignment() {
    assert_at::<1>();
    assert_at::<2>();
    assert_at::<16>();
    assert_at::<64>();
    assert_at::<4096>();
    // Miri takes an hour for that many bytes.
    if !cfg!(miri) {
        assert_at::<{ 2 << 20 }>();
    }
}

#[test]
fn a_buffer_can_be_sent_and_shared() {
    const fn assert_send_and_sync<T: Send + Sync>() {}
    const { assert_send_and_sync::<Memory>() };

    let mut memory = Memory::with_capacity(6);
    memory.write_all(b"abc").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(memory.as_slice(), b"abc"));
        }
    });
    let writer = move || {
        memory.write_all(b"def").unwrap();
        memory
    };
    assert_eq!(std::thread::spawn(writer).join().unwrap().as_slice(), b"abcdef");
}

#[test]
#[should_panic(expected = "no allocation can hold 18446744073709551615 bytes at alignment 16")]
fn with_capacity_panics_at_an_impossible_capacity() {
    drop(Memory::with_capacity(usize::MAX));
}

#[test]
#[should_panic(expected = "no allocation can hold 9223372036854775807 bytes at alignment 16")]
fn with_capacity_zeroed_panics_at_an_impossible_capacity() {
    drop(Memory::with_capacity_zeroed(isize::MAX as usize));
}

#[test]
#[should_panic(expected = "no allocation can hold 18446744073709551615 bytes at alignment 16")]
fn zero_filled_panics_at_an_impossible_length() {
    drop(Memory::zero_filled(usize::MAX));
}
