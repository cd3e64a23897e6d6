//! What `buffer` promises of every strategy, held against an allocator that gives nothing for free.
#![cfg(feature = "suite")]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::RefCell;
use std::sync::atomic::Ordering::Relaxed;

use writeonce::allocator::hostile::{DIRT, Hostile, Ledger, assert_settled, ledger, watched};
use writeonce::buffer::{
    AlignedMemory, AllocMemset, AllocZeroed, Buffer, CapacityError, Each, Either, Fill, Floor,
    Full, Growing, Memset, Plan, Pooled, Sink, Uninit, VecResize, VecZeroed, Zeroed, ZeroedSkip,
    Zeros,
};
use writeonce::cases::{Strategy, Visitor};
use writeonce::contract::{
    self, Check, Dice, SOURCE, assert_holds, bytes_of, checks, every_kind, too_large_at,
};
use writeonce::routine;

#[global_allocator]
static HOSTILE: Hostile = Hostile;

/// A strategy, and the checks of the contract made for it.
struct Subject {
    name: String,
    align: usize,
    checks: [(&'static str, Check); 7],
}

/// Makes the subject of a strategy at an alignment.
struct Named(Strategy, usize);

impl Visitor for Named {
    type Output = Subject;

    fn visit<B: Buffer + 'static>(self) -> Subject {
        let name = format!("{} at {}", self.0.name(), self.1);
        Subject { name, align: self.0.align(self.1), checks: checks::<B>() }
    }
}

/// Every strategy, asked for alignment `A`.
fn at<const A: usize>() -> impl Iterator<Item = Subject> {
    Strategy::with_peers().map(|strategy| strategy.visit::<A, _>(Named(strategy, A)))
}

#[test]
fn every_strategy_keeps_the_contract_at_several_alignments() {
    let few = at::<1>().chain(at::<8>()).chain(at::<{ routine::ALIGN }>());
    let subjects: Vec<_> = few.chain(at::<64>()).chain(at::<4096>()).collect();
    let peers = if cfg!(feature = "peers") { 8 } else { 0 };
    assert_eq!(subjects.len(), 5 * (Strategy::ALL.len() + peers));
    for subject in &subjects {
        for (name, check) in subject.checks {
            contract::run(&format!("{}: {name}", subject.name), check, subject.align);
        }
    }
}

/// The borders of a buffer.
fn borders<B: Buffer>(align: usize, _: &Ledger) {
    for capacity in [0, 1, 4095, 4097] {
        let bytes = &SOURCE[..capacity];
        // The second one may get the memory of the first.
        for _ in 0..2 {
            let mut buffer = B::try_with_capacity(capacity).unwrap();
            assert_holds(&buffer, align, b"");
            let (first, rest) = bytes.split_at(capacity.min(1));
            buffer.write(first).unwrap();
            buffer.put((Fill::zeros(0), rest)).unwrap();
            assert_holds(&buffer, align, bytes);
            assert_eq!(buffer.write(b"x"), Err(Full));
            assert_eq!(buffer.fill(1, 0), Err(Full));
        }
    }
    for capacity in too_large_at(align) {
        assert!(B::try_with_capacity(capacity).is_err(), "{capacity} bytes");
    }
}

struct Borders;

impl Visitor for Borders {
    type Output = Check;

    fn visit<B: Buffer + 'static>(self) -> Check {
        borders::<B>
    }
}

/// The borders of every strategy at alignment `A`, and its zeros.
fn at_power<const A: usize>() -> Vec<(String, usize, Check)> {
    let borders = |strategy: Strategy| {
        let check = strategy.visit::<A, _>(Borders);
        (format!("{} at {A}", strategy.name()), strategy.align(A), check)
    };
    let zeros: [(&str, Check); 2] =
        [("alloc_zeroed", zeros::<AllocZeroed<A>>), ("alloc_memset", zeros::<AllocMemset<A>>)];
    let zeros = zeros.map(|(name, check)| (format!("{name} at {A}"), A, check));
    Strategy::with_peers().map(borders).chain(zeros).collect()
}

macro_rules! at_powers {
    ($($power:literal)*) => { [$(at_power::<{ 1 << $power }>()),*] };
}

#[test]
fn every_power_of_two_up_to_2_mib_can_be_an_alignment() {
    let all = at_powers!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21);
    for (name, align, check) in all.into_iter().flatten() {
        contract::run(&name, check, align);
    }
}

#[test]
fn each_alternative_is_written() {
    let mut buffer = AlignedMemory::<16>::with_capacity(3);
    for piece in [Either::A([1u8, 2]), Either::B(3u8)] {
        Buffer::put(&mut buffer, piece).unwrap();
    }
    assert_eq!(buffer.as_slice(), [1, 2, 3]);
}

/// Builds plans at alignment `A` and compares them with the model.
fn plans<const A: usize>(_: &Ledger) {
    for seed in 0..32 {
        let mut dice = Dice(seed);
        let group: Vec<_> = (0..seed).map(|_| dice.piece(A, &SOURCE)).collect();
        let bytes = group.iter().map(bytes_of).collect::<Vec<_>>().concat();
        let plan = Plan::new(Each(group)).unwrap();
        assert_eq!((plan.len(), plan.is_empty()), (bytes.len(), bytes.is_empty()));
        for _ in 0..2 {
            let mut floor = Floor::<A>::build(&plan).unwrap();
            assert_holds(&floor, A, &bytes);
            assert_eq!(floor.write(b"x"), Err(Full));
            assert_eq!(floor.fill(usize::MAX, 0), Err(Full));
        }
    }
    let (pieces, bytes) = every_kind();
    assert_holds(&Floor::<A>::build(&Plan::new(pieces).unwrap()).unwrap(), A, &bytes);
}

#[test]
fn a_built_plan_has_the_bytes_of_the_model() {
    for (align, check) in [
        (1, plans::<1> as fn(&Ledger)),
        (16, plans::<16>),
        (64, plans::<64>),
        (4096, plans::<4096>),
    ] {
        let (name, ledger) = (format!("plan at {align}"), ledger());
        watched(&name, ledger, move || check(ledger));
        assert_settled(&name, ledger);
    }
}

#[test]
fn a_plan_that_no_allocation_can_hold_is_an_error() {
    let beyond = |pieces: (Fill, Fill)| Plan::new(pieces).err();
    let too_large = |capacity, align| Some(CapacityError::TooLarge { capacity, align });
    let most = Fill::zeros(usize::MAX);
    assert_eq!(beyond((most, most)), too_large(usize::MAX, 1));
    assert_eq!(beyond((Fill::zeros(isize::MAX as usize), Fill::zeros(1))), too_large(1 << 63, 1));
    // A byte string can be that long, but not at alignment 16.
    let plan = Plan::new(Fill::zeros(isize::MAX as usize)).unwrap();
    let error = Floor::<16>::build(&plan).err();
    assert_eq!(error, too_large(isize::MAX as usize, 16));
}

/// What a way to get zeros promises.
fn zeros<Z: Zeros>(align: usize, ledger: &Ledger) {
    let before = ledger.calls();
    let mut none = Z::try_zeros(0).unwrap();
    assert_eq!(none.as_slice_mut().len(), 0);
    assert_eq!(none.as_slice_mut().as_ptr().addr() % align, 0);
    drop(none);
    for len in too_large_at(align) {
        let error = CapacityError::TooLarge { capacity: len, align };
        assert_eq!(Z::try_zeros(len).err(), Some(error));
    }
    assert_eq!(ledger.calls(), before);

    for len in [1, 7, align, align + 1, 2 * align - 1, 4095, 4096, 4097, 100_000] {
        // The second one may get the memory that the first one has made dirty.
        for _ in 0..2 {
            let mut zeros = Z::try_zeros(len).unwrap();
            let bytes = zeros.as_slice_mut();
            assert_eq!(bytes.len(), len);
            assert_eq!(bytes.as_ptr().addr() % align, 0, "address of {len} bytes");
            assert_eq!(bytes.iter().position(|&byte| byte != 0), None, "not 0, of {len} bytes");
            bytes.fill(0xff);
            assert!(zeros.as_slice_mut().iter().all(|&byte| byte == 0xff));
        }
    }
}

#[test]
fn every_way_to_get_zeros_gets_zeros() {
    // Those that can be aligned are held to it at every alignment, above.
    let ways: [(&str, usize, Check); 2] =
        [("vec_zeroed", 1, zeros::<VecZeroed>), ("vec_resize", 1, zeros::<VecResize>)];
    for (name, align, check) in ways {
        let ledger = ledger();
        watched(name, ledger, move || check(align, ledger));
        assert_settled(name, ledger);
    }
}

/// What `work` asks of the allocator: blocks, those of them zeroed, size and alignment of the last one.
fn asked(work: impl FnOnce() + Send + 'static) -> (usize, usize, (usize, usize)) {
    let ledger = ledger();
    watched("asked", ledger, work);
    assert_settled("asked", ledger);
    (ledger.taken.load(Relaxed), ledger.taken_zeroed.load(Relaxed), ledger.last())
}

/// Fills a buffer of 1,000 bytes by 1,000 writes.
fn filled<B: Buffer>() {
    let mut buffer = B::try_with_capacity(1000).unwrap();
    (0..1000).for_each(|_| buffer.write(b"x").unwrap());
}

#[test]
fn memory_is_asked_for_as_each_strategy_says() {
    assert_eq!(asked(filled::<Zeroed<16>>), (1, 1, (1016, 1)));
    assert_eq!(asked(filled::<Memset<16>>), (1, 0, (1000, 16)));
    assert_eq!(asked(filled::<Uninit<16>>), (1, 0, (1016, 1)));
    assert_eq!(asked(filled::<ZeroedSkip<16>>), (1, 1, (1000, 16)));
    assert_eq!(asked(filled::<AlignedMemory<16>>), (1, 0, (1000, 16)));
    assert_eq!(asked(filled::<Growing<16>>), (2, 0, (1000, 16)));
    assert_eq!(asked(filled::<Pooled<16>>), (1, 0, (1000, 4096)));
    let floor = || drop(Floor::<16>::build(&Plan::new(Fill::zeros(1000)).unwrap()).unwrap());
    assert_eq!(asked(floor), (1, 0, (1000, 16)));

    assert_eq!(asked(|| drop(AllocZeroed::<64>::try_zeros(1000))), (1, 1, (1000, 64)));
    assert_eq!(asked(|| drop(AllocMemset::<64>::try_zeros(1000))), (1, 0, (1000, 64)));
    assert_eq!(asked(|| drop(VecZeroed::try_zeros(1000))), (1, 1, (1000, 1)));
}

#[test]
#[cfg(feature = "peers")]
fn memory_is_asked_for_as_each_peer_says() {
    use writeonce::buffer::peers::{
        AVecPeer, BytesMutPeer, RkyvPeer, SbpfPeer, SbpfWritePeer, VecPeer,
    };

    assert_eq!(asked(filled::<VecPeer>), (1, 0, (1000, 1)));
    assert_eq!(asked(filled::<BytesMutPeer>), (1, 0, (1000, 1)));
    assert_eq!(asked(filled::<AVecPeer<64>>), (1, 0, (1000, 64)));
    assert_eq!(asked(filled::<RkyvPeer<64>>), (1, 0, (1000, 64)));
    assert_eq!(asked(filled::<SbpfPeer<64>>), (1, 0, (1000, 64)));
    assert_eq!(asked(filled::<SbpfWritePeer<64>>), (1, 0, (1000, 64)));
}

#[test]
fn a_growing_buffer_doubles() {
    let grown = |capacity: usize, writes: &'static [usize]| {
        asked(move || {
            let mut buffer = Growing::<8>::try_with_capacity(capacity).unwrap();
            writes.iter().for_each(|&len| buffer.write(&SOURCE[..len]).unwrap());
            assert_eq!(buffer.as_slice().len(), writes.iter().sum::<usize>());
        })
    };
    assert_eq!(grown(1000, &[500]), (1, 0, (500, 8)));
    assert_eq!(grown(1000, &[501]), (2, 0, (1000, 8)));
    assert_eq!(grown(1000, &[500, 1, 499]), (2, 0, (1000, 8)));
    // Doubled it falls short by a byte, and would be too large if it were doubled again.
    assert_eq!(grown(1001, &[1000]), (2, 0, (1000, 8)));
    assert_eq!(grown(1001, &[1000, 1]), (3, 0, (1001, 8)));
    assert_eq!(grown(1001, &[1001]), (2, 0, (1001, 8)));
    assert_eq!(grown(1, &[1]), (1, 0, (1, 8)));
}

#[test]
fn pooled_buffers_alive_at_once_are_independent() {
    let ledger = ledger();
    watched("pooled", ledger, || {
        let mut buffers = [(); 3].map(|()| Pooled::<16>::try_with_capacity(100).unwrap());
        for (value, buffer) in (1..).zip(&mut buffers) {
            buffer.fill(100, value).unwrap();
        }
        for (value, buffer) in (1..).zip(&buffers) {
            assert_holds(buffer, 16, &[value; 100]);
        }
    });
    assert_settled("pooled", ledger);
}

#[test]
fn a_pooled_buffer_takes_the_block_of_the_one_before() {
    let ledger = ledger();
    watched("pooled", ledger, || {
        let mut first = Pooled::<16>::try_with_capacity(100).unwrap();
        first.write(&SOURCE[..100]).unwrap();
        drop(first);
        let before = ledger.calls();
        for capacity in [100, 99, 0, 1] {
            let mut next = Pooled::<64>::try_with_capacity(capacity).unwrap();
            assert_holds(&next, 64, b"");
            next.fill(capacity, 7).unwrap();
            assert_eq!(next.write(b"x"), Err(Full));
            assert_holds(&next, 64, &[7; 100][..capacity]);
        }
        assert_eq!(ledger.calls(), before);
        // Too small a block is replaced by a larger one, and the larger one is kept.
        drop(Pooled::<16>::try_with_capacity(101).unwrap());
        assert_eq!((ledger.calls(), ledger.last()), (before + 2, (101, 4096)));
        let both = [50, 10].map(|capacity| Pooled::<16>::try_with_capacity(capacity).unwrap());
        assert_eq!((ledger.calls(), ledger.last()), (before + 3, (10, 4096)));
        drop(both);
        drop(Pooled::<16>::try_with_capacity(101).unwrap());
        assert_eq!(ledger.calls(), before + 4);
    });
    assert_settled("pooled", ledger);
}

#[test]
fn a_pooled_buffer_can_be_dropped_by_another_thread() {
    let ledger = ledger();
    let buffer = watched("maker", ledger, || {
        let mut buffer = Pooled::<16>::try_with_capacity(100).unwrap();
        buffer.write(b"abc").unwrap();
        buffer
    });
    assert_eq!(ledger.taken.load(Relaxed) - ledger.freed.load(Relaxed), 1);
    watched("dropper", ledger, move || {
        assert_holds(&buffer, 16, b"abc");
        drop(buffer);
        let before = ledger.calls();
        drop(Pooled::<16>::try_with_capacity(100).unwrap());
        assert_eq!(ledger.calls(), before, "the block is in the pool of the thread now");
    });
    assert_settled("pooled", ledger);
}

#[test]
fn a_pooled_buffer_outlives_the_pool_of_its_thread() {
    thread_local! {
        static KEPT: RefCell<Option<Late>> = const { RefCell::new(None) };
    }
    struct Late(Pooled<16>);
    impl Drop for Late {
        fn drop(&mut self) {
            assert_holds(&self.0, 16, b"abc");
            let mut another = Pooled::<16>::try_with_capacity(1).unwrap();
            another.write(b"x").unwrap();
            assert_holds(&another, 16, b"x");
        }
    }
    let ledger = ledger();
    watched("pooled", ledger, || {
        // The first to be used is the last to be dropped.
        KEPT.set(None);
        let mut buffer = Pooled::<16>::try_with_capacity(3).unwrap();
        buffer.write(b"abc").unwrap();
        KEPT.set(Some(Late(buffer)));
    });
    assert_settled("pooled", ledger);
}

// The allocator itself: without these, a check above may pass because nothing is checked.

#[test]
fn hostile_memory_is_dirty_and_aligned_to_no_more_than_asked() {
    for align in [1, 2, 8, 16, 64, 4096] {
        for size in [1, 15, 16, 100, 5000] {
            let layout = Layout::from_size_align(size, align).unwrap();
            // SAFETY: the size is not 0.
            let block = unsafe { HOSTILE.alloc(layout) };
            assert_eq!(block.addr() % (2 * align), align);
            // SAFETY: the allocator has written all of the block.
            let bytes = unsafe { std::slice::from_raw_parts(block, size) };
            assert!(bytes.iter().all(|&byte| byte == DIRT));
            // SAFETY: all of it is the block's.
            unsafe { block.write_bytes(1, size) };
            // SAFETY: the block is live, its layout is that, and the new size is not 0.
            let moved = unsafe { HOSTILE.realloc(block, layout, size + 3) };
            assert_ne!(moved, block);
            assert_eq!(moved.addr() % (2 * align), align);
            // SAFETY: what was not copied has been written by the allocator.
            let bytes = unsafe { std::slice::from_raw_parts(moved, size + 3) };
            assert!(bytes.starts_with(&vec![1; size]) && bytes.ends_with(&[DIRT; 3]));
            let layout = Layout::from_size_align(size + 3, align).unwrap();
            // SAFETY: the block is live and its layout is that.
            unsafe { HOSTILE.dealloc(moved, layout) };

            // SAFETY: the size is not 0.
            let block = unsafe { HOSTILE.alloc_zeroed(layout) };
            assert_eq!(block.addr() % (2 * align), align);
            // SAFETY: the allocator has zeroed all of the block.
            let bytes = unsafe { std::slice::from_raw_parts(block, layout.size()) };
            assert!(bytes.iter().all(|&byte| byte == 0));
            // SAFETY: the block is live and its layout is that.
            unsafe { HOSTILE.dealloc(block, layout) };
        }
    }
}

#[test]
fn ledger_sees_wrong_layouts_and_leaks() {
    let ledger = ledger();
    watched("wrong", ledger, || {
        let right = Layout::from_size_align(24, 8).unwrap();
        let wrong = [Layout::from_size_align(24, 16), Layout::from_size_align(23, 8)];
        for layout in wrong.map(Result::unwrap) {
            // SAFETY: the size is not 0.
            let block = unsafe { HOSTILE.alloc(right) };
            // SAFETY: the block is live; of the layout, the allocator believes nothing.
            unsafe { HOSTILE.dealloc(block, layout) };
        }
        // SAFETY: the size is not 0.
        let block = unsafe { HOSTILE.alloc(right) };
        let shorter = Layout::from_size_align(20, 8).unwrap();
        // SAFETY: the block is live; a layout that is shorter lets less be copied.
        let block = unsafe { HOSTILE.realloc(block, shorter, 32) };
        let grown = Layout::from_size_align(32, 8).unwrap();
        // SAFETY: the block is live and its layout is that.
        unsafe { HOSTILE.dealloc(block, grown) };
    });
    assert_eq!(ledger.wrong_layouts.load(Relaxed), 3);
    assert_eq!((ledger.taken.load(Relaxed), ledger.freed.load(Relaxed)), (4, 4));

    watched("leak", ledger, || std::mem::forget(vec![1u8; 3]));
    assert_eq!((ledger.taken.load(Relaxed), ledger.freed.load(Relaxed)), (5, 4));
}
