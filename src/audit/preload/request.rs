//! Client requests to valgrind: the sequence of instructions that it documents in `valgrind.h` for x86-64 Linux, which
//! does nothing elsewhere.

use core::arch::asm;

/// `VG_USERREQ_TOOL_BASE('M','C')` of `memcheck.h`.
const MEMCHECK: usize = 0x4d43_0000;

/// The answer to request `code`, or `default` where there is no valgrind.
///
/// # Safety
/// The arguments must be what the request asks for.
unsafe fn request(default: usize, code: usize, arguments: [usize; 3]) -> usize {
    let block = [code, arguments[0], arguments[1], arguments[2], 0, 0];
    let mut answer = default;
    // SAFETY: the four rotations of rdi add up to 128 bits and the exchange is of a register with itself, so that
    // nothing but flags (and under valgrind rdx, and what the request is about) changes.
    unsafe {
        asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") block.as_ptr(),
            inout("rdx") answer,
        );
    }
    answer
}

/// Whether this runs under valgrind.
pub(crate) fn on_valgrind() -> bool {
    // SAFETY: the request takes no arguments.
    unsafe { request(0, 0x1001, [0; 3]) != 0 }
}

/// Makes memcheck take the bytes for undefined.
///
/// # Safety
/// They must be the caller's to write.
pub(crate) unsafe fn make_undefined(start: usize, length: usize) {
    // SAFETY: the bytes are the caller's.
    unsafe { request(0, MEMCHECK + 1, [start, length, 0]) };
}

/// Reports of memcheck so far, those of the same place too.
pub(crate) fn reports() -> usize {
    // SAFETY: the request takes no arguments.
    unsafe { request(0, 0x1201, [0; 3]) }
}

/// Stops the reports about what this thread does: each takes about a microsecond, the thousandth of a place too.
pub(crate) fn stop_reports() {
    // SAFETY: the request takes by how much reporting is to be disabled.
    unsafe { request(0, 0x1801, [1, 0, 0]) };
}

/// Makes memcheck know of the bytes at `start` what `bits` says.
///
/// # Safety
/// The bytes must be the caller's to write.
pub(crate) unsafe fn set_v_bits(start: usize, bits: &[u8]) {
    // SAFETY: memcheck checks that both ranges can be addressed; the bytes are the caller's.
    unsafe { request(0, MEMCHECK + 9, [start, bits.as_ptr() as usize, bits.len()]) };
}

/// Copies what memcheck knows of the bytes at `start`: 0 for a byte that is defined. False if some cannot be addressed.
pub(crate) fn v_bits(start: usize, bits: &mut [u8]) -> bool {
    // SAFETY: memcheck checks that both ranges can be addressed.
    unsafe { request(0, MEMCHECK + 8, [start, bits.as_mut_ptr() as usize, bits.len()]) == 1 }
}
