//! `AlignedMemory` in the place of `solana_sbpf`'s: the same calls compile and do the same.
#![cfg(feature = "peers")]

use std::io::ErrorKind;

/// What can be seen of a buffer after a call, and what the call returned.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    result: Result<usize, ErrorKind>,
    bytes: Vec<u8>,
    len: usize,
    is_empty: bool,
    write_index: usize,
    capacity: usize,
    is_aligned: bool,
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % end as u64) as usize
    }
}

/// No byte of it is 0.
static SOURCE: [u8; 64] = [7; 64];

/// The calls, compiled against the buffer of a module.
macro_rules! calls {
    ($name:ident, $($module:ident)::+) => {
        mod $name {
            use std::fmt::Debug;
            use std::io::{Result, Write};

            use $($module)::+::{AlignedMemory, Pod};

            use super::{Dice, SOURCE, Seen};

            /// Every public method has this type.
            pub(super) fn signatures<const A: usize, T: Pod>() {
                let _: fn(&[u8]) -> AlignedMemory<A> = AlignedMemory::from_slice;
                let _: fn(usize) -> AlignedMemory<A> = AlignedMemory::with_capacity;
                let _: fn(usize) -> AlignedMemory<A> = AlignedMemory::with_capacity_zeroed;
                let _: fn(usize) -> AlignedMemory<A> = AlignedMemory::zero_filled;
                let _: fn(&AlignedMemory<A>) -> usize = AlignedMemory::mem_size;
                let _: fn(&AlignedMemory<A>) -> usize = AlignedMemory::len;
                let _: fn(&AlignedMemory<A>) -> bool = AlignedMemory::is_empty;
                let _: fn(&AlignedMemory<A>) -> usize = AlignedMemory::write_index;
                let _: fn(&AlignedMemory<A>) -> &[u8] = AlignedMemory::as_slice;
                let _: fn(&mut AlignedMemory<A>) -> &mut [u8] = AlignedMemory::as_slice_mut;
                let _: fn(&mut AlignedMemory<A>, usize, u8) -> Result<()> = AlignedMemory::fill_write;
                let _: unsafe fn(&mut AlignedMemory<A>, T) = AlignedMemory::write_unchecked;
                let _: unsafe fn(&mut AlignedMemory<A>, &[u8]) = AlignedMemory::write_all_unchecked;
                let _: fn(Vec<u8>) -> AlignedMemory<A> = AlignedMemory::from;
                let _: fn(&'static str) -> AlignedMemory<A> = AlignedMemory::from;
                fn traits<M: Clone + Debug + Eq + Send + Sync + Unpin + Write>() {}
                traits::<AlignedMemory<A>>();
                fn pod<T: Pod>() {}
                (pod::<u8>(), pod::<u16>(), pod::<u32>(), pod::<u64>());
                (pod::<i8>(), pod::<i16>(), pod::<i32>(), pod::<i64>());
            }

            fn seen<const A: usize>(memory: &AlignedMemory<A>, result: Result<usize>) -> Seen {
                Seen {
                    result: result.map_err(|error| error.kind()),
                    bytes: memory.as_slice().to_vec(),
                    len: memory.len(),
                    is_empty: memory.is_empty(),
                    write_index: memory.write_index(),
                    capacity: memory.mem_size() - size_of::<AlignedMemory<A>>(),
                    is_aligned: memory.as_slice().as_ptr().addr() % A == 0,
                }
            }

            /// What is seen of a new buffer, made in every way.
            pub(super) fn made<const A: usize>(len: usize) -> Vec<Seen> {
                let bytes = &SOURCE[..len];
                let memories = [
                    AlignedMemory::<A>::with_capacity(len),
                    AlignedMemory::with_capacity_zeroed(len),
                    AlignedMemory::zero_filled(len),
                    AlignedMemory::from_slice(bytes),
                    AlignedMemory::from(bytes),
                    AlignedMemory::from(bytes.to_vec()),
                    AlignedMemory::from("text"),
                ];
                memories.iter().map(|memory| seen(memory, Ok(0))).collect()
            }

            /// What is seen after each of a number of calls that `seed` chooses, on a buffer with that many bytes left.
            pub(super) fn called<const A: usize>(
                mut memory: AlignedMemory<A>,
                mut left: usize,
                seed: u64,
            ) -> Vec<Seen> {
                let mut dice = Dice(seed);
                let mut all = vec![seen(&memory, Ok(0))];
                for _ in 0..24 {
                    let before = memory.len();
                    let (len, value) = (dice.below(12), dice.below(3) as u8);
                    let bytes = &SOURCE[..len];
                    let result = match dice.below(9) {
                        0 => memory.write(bytes),
                        1 => memory.write_all(bytes).map(|()| len),
                        2 => memory.fill_write(len, value).map(|()| len),
                        3 => memory.fill_write(usize::MAX - dice.below(12), value).map(|()| len),
                        4 => write!(memory, "{len}").map(|()| 1),
                        5 => {
                            memory.as_slice_mut().reverse();
                            memory.flush().map(|()| 0)
                        }
                        // SAFETY: there is room.
                        6 if len <= left => unsafe { Ok(memory.write_all_unchecked(bytes)).map(|()| len) },
                        // SAFETY: there is room.
                        7 if left >= 8 => unsafe { Ok(memory.write_unchecked(before as u64)).map(|()| 8) },
                        // SAFETY: there is room.
                        8 if left >= 2 => unsafe { Ok(memory.write_unchecked(-2i16)).map(|()| 2) },
                        _ => Ok(0),
                    };
                    left -= memory.len() - before;
                    all.push(seen(&memory, result));
                }
                let clone = memory.clone();
                assert_eq!(clone.as_slice(), memory.as_slice());
                assert_eq!(clone.as_slice().as_ptr().addr() % A, 0);
                all
            }
        }
    };
}

calls!(ours, writeonce::buffer);
calls!(theirs, solana_sbpf::aligned_memory);

fn assert_same_at<const A: usize>() {
    for len in [0, 1, 8, 63, 64] {
        assert_eq!(ours::made::<A>(len), theirs::made::<A>(len), "{len} bytes at {A}");
    }
    for seed in 0..100 {
        for len in [0, 1, 16, 64] {
            type Ours<const A: usize> = writeonce::buffer::AlignedMemory<A>;
            type Theirs<const A: usize> = solana_sbpf::aligned_memory::AlignedMemory<A>;
            let both = [
                (
                    ours::called(Ours::<A>::with_capacity(len), len, seed),
                    theirs::called(Theirs::<A>::with_capacity(len), len, seed),
                ),
                (
                    ours::called(Ours::<A>::with_capacity_zeroed(len), len, seed),
                    theirs::called(Theirs::<A>::with_capacity_zeroed(len), len, seed),
                ),
                (
                    ours::called(Ours::<A>::zero_filled(len), 0, seed),
                    theirs::called(Theirs::<A>::zero_filled(len), 0, seed),
                ),
                (
                    ours::called(Ours::<A>::from(&SOURCE[..len]), 0, seed),
                    theirs::called(Theirs::<A>::from(&SOURCE[..len]), 0, seed),
                ),
            ];
            for (ours, theirs) in both {
                assert_eq!(ours, theirs, "{len} bytes at {A}, seed {seed}");
            }
        }
    }
}

#[test]
fn the_same_calls_have_the_same_types() {
    ours::signatures::<16, u64>();
    theirs::signatures::<16, u64>();
}

#[test]
fn the_same_calls_do_the_same() {
    assert_same_at::<1>();
    assert_same_at::<16>();
    assert_same_at::<64>();
    assert_same_at::<4096>();
}

#[test]
fn the_calls_succeed_and_fail() {
    let memory = writeonce::buffer::AlignedMemory::<16>::with_capacity(64);
    let seen = ours::called(memory, 64, 0);
    assert!(seen.iter().any(|seen| seen.len == 64 || seen.result.is_err()));
    assert!(seen.iter().any(|seen| seen.result.is_ok_and(|len| len > 0)));
    assert!(seen.iter().any(|seen| seen.result == Err(ErrorKind::InvalidInput)));
}

/// Where ours does more: what differs is known, and that it does.
#[test]
fn what_differs_is_known() {
    use solana_sbpf::aligned_memory::AlignedMemory as Theirs;
    use std::io::Write;
    use writeonce::buffer::AlignedMemory as Ours;

    // A clone has the room of what it was cloned from.
    assert_eq!(Ours::<16>::with_capacity(4).clone().write(b"1234").unwrap(), 4);
    assert!(Theirs::<16>::with_capacity(4).clone().write(b"1234").is_err());
    // Buffers of the same bytes are equal, however they got their memory.
    assert_eq!(Ours::<16>::with_capacity(4), Ours::<16>::with_capacity_zeroed(4));
    assert_ne!(Theirs::<16>::with_capacity(4), Theirs::<16>::with_capacity_zeroed(4));
    // A type of the user's is promised to have no padding; the documentation of `Pod` has the one that is refused.
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Pair(u32, u32);
    // SAFETY: two integers of the same width have nothing between or behind them.
    unsafe impl writeonce::buffer::Pod for Pair {}
    impl solana_sbpf::aligned_memory::Pod for Pair {}
    let (mut ours, mut theirs) = (Ours::<16>::with_capacity(8), Theirs::<16>::with_capacity(8));
    // SAFETY: there are 8 bytes.
    unsafe { ours.write_unchecked(Pair(1, 2)) };
    // SAFETY: there are 8 bytes.
    unsafe { theirs.write_unchecked(Pair(1, 2)) };
    assert_eq!(ours.as_slice(), theirs.as_slice());
    assert_eq!(ours.len(), 8);
}

/// Theirs can be given as it is to a region of the virtual machine, ours by its slice.
#[test]
fn the_slice_can_be_a_region_of_the_virtual_machine() {
    use solana_sbpf::memory_region::MemoryRegion;

    let ours = writeonce::buffer::AlignedMemory::<16>::zero_filled(100);
    let theirs = solana_sbpf::aligned_memory::AlignedMemory::<16>::zero_filled(100);
    let ours = MemoryRegion::new(&raw const *ours.as_slice(), 1 << 32);
    let theirs = MemoryRegion::new(&theirs, 1 << 32);
    assert_eq!(ours.vm_addr_range(), theirs.vm_addr_range());
}
