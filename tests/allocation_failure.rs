//! An allocator that has no memory left: constructors that can say so do, the others end the program as `Vec` does.
//! Nothing leaks, and what is left can be used.
#![cfg(all(feature = "suite", unix))]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::ptr::null_mut;

use writeonce::allocator::hostile::{Hostile, assert_settled, ledger, watched};
use writeonce::buffer::{
    AlignedMemory, AllocMemset, AllocZeroed, Buffer, CapacityError, Fill, Floor, Growing, Plan,
    Pooled, Sink, VecResize, VecZeroed, Zeros,
};
use writeonce::cases::{Strategy, Visitor};
use writeonce::contract::{SOURCE, assert_holds};
use writeonce::parameters::{Account, Aligned, Entry, Instruction, SerializeError, serialize};

/// The hostile allocator, which has no memory left at one call of a thread.
struct Failing;

#[global_allocator]
static FAILING: Failing = Failing;

/// None is to fail.
const ENDLESS: usize = usize::MAX;

thread_local! {
    /// Calls for memory before the one that fails.
    static LEFT: Cell<usize> = const { Cell::new(ENDLESS) };
}

impl Failing {
    /// Whether this call for memory is the one that fails.
    fn fails() -> bool {
        let left = LEFT.get();
        if left != ENDLESS {
            LEFT.set(left.checked_sub(1).unwrap_or(ENDLESS));
        }
        left == 0
    }
}

// SAFETY: what is handed out is the hostile allocator's.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if Self::fails() {
            return null_mut();
        }
        // SAFETY: as the caller says.
        unsafe { Hostile.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if Self::fails() {
            return null_mut();
        }
        // SAFETY: as the caller says.
        unsafe { Hostile.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if Self::fails() {
            return null_mut();
        }
        // SAFETY: as the caller says.
        unsafe { Hostile.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller says.
        unsafe { Hostile.dealloc(block, layout) }
    }
}

/// Does the work again and again, in which first one call for memory fails, then the next one, until none is left to
/// fail. Returns what each of them came to, and what all ended with.
fn fail_each<T, E>(mut work: impl FnMut() -> Result<T, E>) -> (Vec<E>, T) {
    let mut errors = Vec::new();
    loop {
        LEFT.set(errors.len());
        let result = work();
        let failed = LEFT.replace(ENDLESS) == ENDLESS;
        match result {
            Err(error) if failed => errors.push(error),
            Ok(made) if !failed => return (errors, made),
            Err(_) => panic!("call {}: an error, and no call had failed", errors.len()),
            Ok(_) => panic!("call {}: it failed, and nobody says so", errors.len()),
        }
    }
}

/// Runs work in a thread whose ledger must be settled in the end.
fn settled(name: &str, work: impl FnOnce() + Send + 'static) {
    let ledger = ledger();
    watched(name, ledger, work);
    assert!(ledger.calls() > 0, "{name}: the hostile allocator is not in force");
    assert_settled(name, ledger);
}

/// Checks that a missing block was the only error, and that it was as large as what it was for.
fn assert_out_of_memory(name: &str, errors: &[CapacityError], capacity: usize) {
    let [CapacityError::OutOfMemory(layout)] = errors else { panic!("{name}: {errors:?}") };
    assert!(layout.size() >= capacity, "{name}: {layout:?} for {capacity} bytes");
}

/// The strategies whose constructors can say that no memory is left: those of this crate.
fn own() -> impl Iterator<Item = Strategy> {
    Strategy::with_peers().filter(|strategy| {
        Strategy::ALL.contains(strategy) || strategy.name() == "aligned_memory_write"
    })
}

/// Makes buffers of a strategy while calls for memory fail.
struct Making<const ALIGN: usize>(Strategy);

impl<const ALIGN: usize> Visitor for Making<ALIGN> {
    type Output = ();

    fn visit<B: Buffer + 'static>(self) {
        let name = format!("{} at {ALIGN}", self.0.name());
        settled(&name.clone(), move || {
            // Each is larger than the one before: the pool of the thread is too small every time.
            for capacity in [2, 17, 5000] {
                let (errors, mut buffer) = fail_each(|| B::try_with_capacity(capacity));
                // What is asked for first is half of it if the buffer grows.
                assert_out_of_memory(&name, &errors, capacity / 2);
                buffer.write(&SOURCE[..capacity]).unwrap();
                assert_holds(&buffer, ALIGN, &SOURCE[..capacity]);
            }
        });
    }
}

#[test]
fn a_buffer_for_which_no_memory_is_left_is_an_error() {
    for strategy in own() {
        strategy.visit::<1, _>(Making::<1>(strategy));
        strategy.visit::<16, _>(Making::<16>(strategy));
        strategy.visit::<64, _>(Making::<64>(strategy));
        strategy.visit::<4096, _>(Making::<4096>(strategy));
    }
}

/// Serializes to a strategy while calls for memory fail.
struct Serializing(Strategy);

impl Visitor for Serializing {
    type Output = ();

    fn visit<B: Buffer + 'static>(self) {
        let name = self.0.name();
        settled(name, move || {
            let account = Account { data: &SOURCE[..165], ..Account::default() };
            let accounts = vec![Entry::Account(account), Entry::Duplicate { of: 0 }];
            let instruction = Instruction { accounts, data: b"data", program_id: [7; 32] };
            let (errors, buffer) = fail_each(|| serialize::<Aligned, B>(&instruction));
            let errors: Vec<_> = errors
                .into_iter()
                .map(|error| match error {
                    SerializeError::Capacity(error) => error,
                    error => panic!("{name}: {error}"),
                })
                .collect();
            assert_out_of_memory(name, &errors, buffer.as_slice().len());
            let expected: AlignedMemory<16> = serialize::<Aligned, _>(&instruction).unwrap();
            assert_holds(&buffer, 16, expected.as_slice());
        });
    }
}

#[test]
fn a_serialization_for_which_no_memory_is_left_is_an_error() {
    // One that grows can only end the program in the middle of it.
    for strategy in own().filter(|&strategy| strategy != Strategy::Growing) {
        strategy.visit::<16, _>(Serializing(strategy));
    }
}

#[test]
fn a_plan_and_zeros_for_which_no_memory_is_left_are_errors() {
    settled("floor", || {
        let plan = Plan::new((&SOURCE[..100], Fill::zeros(7))).unwrap();
        let (errors, floor) = fail_each(|| Floor::<16>::build(&plan));
        assert_out_of_memory("floor", &errors, 107);
        assert_holds(&floor, 16, &[&SOURCE[..100], &[0; 7]].concat());
    });
    fn zeros<Z: Zeros + 'static>() {
        settled("zeros", || {
            let (errors, mut zeros) = fail_each(|| Z::try_zeros(1000));
            assert_out_of_memory("zeros", &errors, 1000);
            assert_eq!(zeros.as_slice_mut(), [0; 1000]);
        });
    }
    zeros::<AllocZeroed<1>>();
    zeros::<AllocZeroed<64>>();
    zeros::<AllocMemset<1>>();
    zeros::<AllocMemset<64>>();
}

#[test]
fn a_pool_can_be_used_after_it_could_not_grow() {
    settled("pooled", || {
        let mut kept = Pooled::<16>::try_with_capacity(100).unwrap();
        kept.write(&SOURCE[..100]).unwrap();
        LEFT.set(0);
        assert!(Pooled::<16>::try_with_capacity(1).is_err(), "its block is in use");
        assert_holds(&kept, 16, &SOURCE[..100]);
        drop(kept);
        LEFT.set(0);
        assert!(Pooled::<16>::try_with_capacity(101).is_err(), "its block is too small");
        let mut next = Pooled::<16>::try_with_capacity(101).unwrap();
        next.write(&SOURCE[..101]).unwrap();
        assert_holds(&next, 16, &SOURCE[..101]);
    });
}

#[test]
fn the_error_says_what_was_asked_for() {
    LEFT.set(0);
    let error = AlignedMemory::<64>::try_with_capacity(1000).unwrap_err();
    assert_eq!(error.to_string(), "no memory is left for 1000 bytes at alignment 64");
    assert_eq!(error, CapacityError::OutOfMemory(Layout::from_size_align(1000, 64).unwrap()));
    let error = SerializeError::from(error);
    assert_eq!(error.to_string(), "no memory is left for 1000 bytes at alignment 64");
}

/// What has no error to return: its name, the calls for memory before the one that fails, and the work, which asks for
/// 1,000 bytes then.
const ENDS: &[(&str, usize, fn())] = &[
    ("with_capacity", 0, || drop(AlignedMemory::<16>::with_capacity(1000))),
    ("with_capacity_zeroed", 0, || drop(AlignedMemory::<16>::with_capacity_zeroed(1000))),
    ("zero_filled", 0, || drop(AlignedMemory::<16>::zero_filled(1000))),
    ("from_slice", 0, || drop(AlignedMemory::<16>::from_slice(&SOURCE[..1000]))),
    ("from", 0, || drop(AlignedMemory::<16>::from(&SOURCE[..1000]))),
    ("clone", 1, || drop(AlignedMemory::<16>::with_capacity(1000).clone())),
    ("growing, a write", 1, || {
        let mut growing = Growing::<16>::try_with_capacity(1000).unwrap();
        _ = growing.write(&SOURCE[..501]);
    }),
    ("growing, a fill", 1, || {
        let mut growing = Growing::<16>::try_with_capacity(1000).unwrap();
        _ = growing.fill(501, 0);
    }),
    ("vec_zeroed", 0, || drop(VecZeroed::try_zeros(1000))),
    ("vec_resize", 0, || drop(VecResize::try_zeros(1000))),
    #[cfg(feature = "peers")]
    ("vec", 0, peer::<writeonce::buffer::peers::VecPeer>),
    #[cfg(feature = "peers")]
    ("bytes_mut", 0, peer::<writeonce::buffer::peers::BytesMutPeer>),
    #[cfg(feature = "peers")]
    ("avec", 0, peer::<writeonce::buffer::peers::AVecPeer<16>>),
    #[cfg(feature = "peers")]
    ("rkyv", 0, peer::<writeonce::buffer::peers::RkyvPeer<16>>),
    #[cfg(feature = "peers")]
    ("sbpf", 0, peer::<writeonce::buffer::peers::SbpfPeer<16>>),
    #[cfg(feature = "peers")]
    ("sbpf_write", 0, peer::<writeonce::buffer::peers::SbpfWritePeer<16>>),
];

/// Makes a published buffer.
#[cfg(feature = "peers")]
fn peer<B: Buffer>() {
    drop(B::try_with_capacity(1000));
}

/// The signal of `abort`, on every Unix.
const SIGABRT: i32 = 6;

/// The variable that says which of [`ENDS`] a child process is to come to.
const END: &str = "WRITEONCE_TEST_END";

#[test]
fn what_has_no_error_to_return_ends_the_program_through_handle_alloc_error() {
    for (name, ..) in ENDS {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "an_end", "--ignored", "--nocapture"])
            .env(END, name)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stderr);
        assert!(said.contains("memory allocation of 1000 bytes failed"), "{name}: {said}");
        assert_eq!(child.status.signal(), Some(SIGABRT), "{name}: {}", child.status);
    }
}

#[test]
#[ignore = "it ends the process: the test above runs it in another one"]
fn an_end() {
    let Ok(wanted) = std::env::var(END) else { return };
    let (_, left, work) = ENDS.iter().find(|(name, ..)| *name == wanted).expect("an end");
    LEFT.set(*left);
    work();
}
