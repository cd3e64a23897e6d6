//! What the heap of glibc can be told and asked.

use libc::c_int;

use super::heap::RECYCLE_BELOW;

/// Bytes of a block that the program does not get.
pub(super) const OVERHEAD: usize = 8;
/// The smallest block, in bytes.
pub(super) const SMALLEST: usize = 32;
/// What the sizes of blocks are multiples of, in bytes.
pub(super) const STEP: usize = 16;

/// Whether memory comes from glibc: a block that is larger than the threshold is then a mapping of its own, as long
/// as the heap is small. So it is asked once, at first.
pub(super) fn is_the_allocator() -> bool {
    static ANSWER: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *ANSWER.get_or_init(|| {
        let mapped = mapped_blocks();
        let block = std::hint::black_box(Vec::<u8>::with_capacity(2 * RECYCLE_BELOW));
        mapped_blocks() > mapped && block.capacity() > 0
    })
}

/// Size of the heap and what is free at its end, in bytes: one of them changes when a block comes from there.
pub(super) fn end_of_heap() -> (c_int, c_int) {
    let info = info();
    (info.arena, info.keepcost)
}

/// What glibc tells of its heap. Its numbers are small and wrap; `mallinfo2`, in which they do not, is there from 2.33 on only.
fn info() -> libc::mallinfo {
    // SAFETY: mallinfo may be called at any time.
    unsafe { libc::mallinfo() }
}

pub(super) fn set_thresholds(bytes: usize) {
    let bytes = c_int::try_from(bytes).expect("both thresholds fit an int");
    for parameter in [libc::M_MMAP_THRESHOLD, libc::M_TRIM_THRESHOLD] {
        // SAFETY: mallopt takes any parameter and value and says whether it took them.
        let taken = unsafe { libc::mallopt(parameter, bytes) };
        assert_eq!(taken, 1, "glibc did not take {bytes} for malloc parameter {parameter}");
    }
}

pub(super) fn give_back_free_memory() {
    // SAFETY: malloc_trim may be called at any time.
    unsafe { libc::malloc_trim(0) };
}

/// Blocks that are mappings of their own.
pub(super) fn mapped_blocks() -> c_int {
    info().hblks
}

pub(super) fn version() -> String {
    // SAFETY: gnu_get_libc_version may be called at any time.
    let version = unsafe { libc::gnu_get_libc_version() };
    // SAFETY: it returns a C string that stays.
    let version = unsafe { std::ffi::CStr::from_ptr(version) };
    format!("glibc {}", version.to_string_lossy())
}
