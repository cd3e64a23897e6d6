//! The state of the heap, set on purpose.
//!
//! glibc moves the border between its heap and `mmap` after the first large free, so that what an
//! allocation costs depends on the history of the process. Both thresholds are therefore set, together,
//! for every case.

/// The smallest buffer for which a fresh heap differs from a recycled one, in bytes: a page.
pub const FRESH_FROM: usize = 4096;

/// The highest threshold glibc takes, in bytes: smaller requests come from the heap, so they are recycled.
pub const RECYCLE_BELOW: usize = 32 << 20;

/// Value of the dirty bytes.
const DIRT: u8 = 0xa5;

/// Makes the allocator hand out a dirty block for `len` bytes: `warm` runs the routine, which leaves its
/// block free, then a block of that size is written and freed.
///
/// # Panics
/// If the allocator does not take the thresholds.
pub fn recycle(len: usize, warm: impl FnOnce()) {
    thresholds(RECYCLE_BELOW);
    warm();
    drop(std::hint::black_box(vec![DIRT; len]));
}

/// Makes the allocator hand out new pages of the kernel's for [`FRESH_FROM`] bytes and more: `warm` runs
/// the routine, then all free memory is given back.
///
/// # Panics
/// Where the allocator is not glibc's.
pub fn freshen(warm: impl FnOnce()) {
    assert!(CAN_FRESHEN, "a fresh heap needs glibc's allocator");
    thresholds(FRESH_FROM);
    warm();
    give_back();
}

/// Whether [`freshen`] works on this platform.
pub const CAN_FRESHEN: bool = cfg!(all(target_os = "linux", target_env = "gnu"));

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn thresholds(bytes: usize) {
    let bytes = libc::c_int::try_from(bytes).expect("both thresholds fit an int");
    for parameter in [libc::M_MMAP_THRESHOLD, libc::M_TRIM_THRESHOLD] {
        // SAFETY: mallopt takes any parameter and value and says whether it took them.
        let taken = unsafe { libc::mallopt(parameter, bytes) };
        assert_eq!(taken, 1, "glibc did not take {bytes} for malloc parameter {parameter}");
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn give_back() {
    // SAFETY: malloc_trim may be called at any time.
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn thresholds(_: usize) {}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back() {}
