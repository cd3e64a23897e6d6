//! The allocator under test: which one it is, what is counted of its calls, and the state of its heap.
//!
//! A program that shall run under any of them has [`Chosen`] as its global allocator and calls [`start`] first. The
//! choice is made by the variable [`Allocator::VARIABLE`] when the program starts, because a block must be freed by the
//! allocator that it came from.

mod chosen;
mod counting;
mod heap;
pub mod hostile;

#[cfg_attr(not(all(target_os = "linux", target_env = "gnu")), path = "allocator/not_glibc.rs")]
mod glibc;
#[cfg(feature = "allocators")]
mod jemalloc;
#[cfg(feature = "allocators")]
mod mimalloc;
mod resident;

pub use chosen::{Allocator, Chosen, start};
pub use counting::{Counting, Counts};
pub use heap::{
    CAN_FRESHEN, FRESH_FROM, HEAP_AS_IT_IS, RECYCLE_BELOW, can_freshen, fresh_from, freshen,
    recycle, settle,
};
pub use resident::peak_growth;

/// Page faults of this thread so far that needed no disk; of the process where a system does not tell threads apart.
///
/// # Panics
/// If the system does not say.
#[must_use]
pub fn page_faults() -> u64 {
    #[cfg(target_os = "linux")]
    let who = libc::RUSAGE_THREAD;
    #[cfg(not(target_os = "linux"))]
    let who = libc::RUSAGE_SELF;
    u64::try_from(usage(who).ru_minflt).expect("a number of faults")
}

fn usage(who: libc::c_int) -> libc::rusage {
    // SAFETY: rusage is plain integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a whole rusage.
    let result = unsafe { libc::getrusage(who, &raw mut usage) };
    assert_eq!(result, 0, "getrusage failed");
    usage
}

/// Bytes of a page of the kernel's.
///
/// # Panics
/// If the system does not say.
#[must_use]
pub fn page_size() -> u64 {
    // SAFETY: sysconf takes any number, and answers -1 to those it does not know.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).expect("every system has a page size")
}

/// Name and version of the C library, as far as it says them.
#[must_use]
pub fn libc_version() -> String {
    glibc::version()
}

/// Makes a page fault of this process and of those that it starts be about one page, whatever the kernel is set to:
/// Linux may put 2 MiB of memory in place at once.
pub fn use_small_pages() {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: this option of prctl takes integers and touches no memory. Where it is unknown, it does nothing.
        unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
    }
}
