//! Counts of known programs, exactly.
#![cfg(feature = "suite")]

use std::alloc::System;
use std::hint::black_box;

use writeonce::allocator::{Counting, Counts};

#[global_allocator]
static ALLOCATOR: Counting<System> = Counting(System);

#[test]
fn each_call_is_counted_by_its_kind_with_its_bytes() {
    let counts = Counts::of(|| {
        let mut grown = black_box(Vec::<u8>::with_capacity(100));
        let zeroed = black_box(vec![0_u8; 1000]);
        grown.reserve_exact(300);
        grown.shrink_to(10);
        drop((grown, zeroed));
    });
    let expected = Counts {
        allocations: 1,
        zeroed_allocations: 1,
        reallocations: 2,
        frees: 2,
        bytes: 100 + 1000 + 300 + 10,
        zeroed_bytes: 1000,
        moved_bytes: 100 + 10,
        peak_bytes: 1000 + 300,
        live_bytes: 0,
    };
    assert_eq!(counts, expected);
    assert_eq!(counts.calls(), 6);
}

#[test]
fn nothing_is_counted_where_nothing_is_asked_for() {
    let counts = Counts::of(|| drop(black_box(Vec::<u8>::new())));
    assert_eq!(counts, Counts::default());
}

#[test]
fn peak_is_the_most_at_a_time_and_what_is_left_is_live() {
    let mut kept = Vec::new();
    let counts = Counts::of(|| {
        drop(black_box(vec![1_u8; 500]));
        drop(black_box(vec![1_u8; 700]));
        kept = black_box(vec![1_u8; 600]);
    });
    assert_eq!((counts.bytes, counts.peak_bytes, counts.live_bytes), (1800, 700, 600));
    // What was there before does not count, nor does freeing it.
    let counts = Counts::of(|| drop(std::mem::take(&mut kept)));
    assert_eq!((counts.frees, counts.peak_bytes, counts.live_bytes), (1, 0, -600));
}

#[test]
fn other_threads_and_other_times_are_not_counted() {
    let outside = black_box(vec![1_u8; 64]);
    let counts = Counts::of(|| {
        let inner = Counts::of(|| drop(black_box(vec![1_u8; 32])));
        assert_eq!((inner.calls(), inner.bytes), (2, 32));
    });
    assert_eq!(counts, Counts::default());
    drop(outside);
    let (ask, asked) = std::sync::mpsc::sync_channel::<()>(0);
    let (answer, answered) = std::sync::mpsc::sync_channel::<()>(0);
    let other = std::thread::spawn(move || {
        asked.recv().unwrap();
        drop(black_box(vec![1_u8; 4096]));
        answer.send(()).unwrap();
    });
    // The channel itself may allocate for a thread that waits, so bytes are looked at, not calls.
    let counts = Counts::of(|| {
        ask.send(()).unwrap();
        answered.recv().unwrap();
    });
    assert!(counts.bytes < 4096, "{counts:?}");
    other.join().unwrap();
}

#[test]
fn a_call_that_fails_is_a_call_for_no_bytes() {
    let counts = Counts::of(|| {
        let mut bytes = Vec::<u8>::new();
        assert!(black_box(&mut bytes).try_reserve_exact(isize::MAX as usize).is_err());
    });
    assert_eq!(counts, Counts { allocations: 1, ..Counts::default() });
}
