//! What the library asks of the system: memory, files, threads, and the functions that it stands in front of.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

#[link(name = "c")]
// Where dlsym was before glibc 2.34; later it is empty.
#[link(name = "dl")]
unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn mmap(
        at: *mut c_void,
        bytes: usize,
        access: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn munmap(at: *mut c_void, bytes: usize) -> c_int;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn close(file: c_int) -> c_int;
    fn ftruncate(file: c_int, bytes: i64) -> c_int;
    fn write(file: c_int, from: *const c_void, bytes: usize) -> isize;
    fn lseek(file: c_int, offset: i64, whence: c_int) -> i64;
    fn readlink(path: *const c_char, to: *mut c_char, bytes: usize) -> isize;
    fn getenv(name: *const c_char) -> *const c_char;
    fn getpid() -> c_int;
    fn sched_yield() -> c_int;
    fn pthread_self() -> usize;
}

const NEXT: *mut c_void = usize::MAX as *mut c_void;
const READ: c_int = 1;
const WRITE: c_int = 2;
const SHARED: c_int = 1;
const PRIVATE: c_int = 2;
const ANONYMOUS: c_int = 0x20;
const READ_WRITE_CREATE_NEW: c_int = 0o2 | 0o100 | 0o200 | 0o2000000;
const APPEND_CREATE: c_int = 0o1 | 0o100 | 0o2000 | 0o2000000;
const READ_ONLY: c_int = 0o2000000;

/// The thread that is resolving a function: what `dlsym` allocates meanwhile comes from the start-up memory.
static RESOLVING: AtomicUsize = AtomicUsize::new(0);

/// The next definition of a function after this library, kept in `slot`; 0 while it is being looked for.
pub(crate) fn next(slot: &AtomicUsize, name: &CStr) -> usize {
    let known = slot.load(Ordering::Acquire);
    if known != 0 {
        return known;
    }
    let me = thread();
    if RESOLVING.load(Ordering::Relaxed) == me {
        return 0;
    }
    while RESOLVING.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_err() {
        yield_now();
    }
    // SAFETY: the name ends in a zero byte.
    let found = unsafe { dlsym(NEXT, name.as_ptr()) } as usize;
    slot.store(found, Ordering::Release);
    RESOLVING.store(0, Ordering::Release);
    found
}

/// The number of this thread; never 0.
pub(crate) fn thread() -> usize {
    // SAFETY: no conditions.
    unsafe { pthread_self() }
}

pub(crate) fn yield_now() {
    // SAFETY: no conditions.
    unsafe { sched_yield() };
}

pub(crate) fn process() -> u64 {
    // SAFETY: no conditions.
    u64::from(unsafe { getpid() }.unsigned_abs())
}

/// New zeroed pages, or null.
pub(crate) fn pages(bytes: usize) -> *mut u8 {
    // SAFETY: a new mapping anywhere.
    let at =
        unsafe { mmap(core::ptr::null_mut(), bytes, READ | WRITE, PRIVATE | ANONYMOUS, -1, 0) };
    if at as isize == -1 { core::ptr::null_mut() } else { at.cast() }
}

/// A new file of `bytes` zero bytes as shared memory, or null.
pub(crate) fn shared(path: &CStr, bytes: usize) -> *mut u64 {
    // SAFETY: the path ends in a zero byte; `open` takes the mode where it creates.
    let file = unsafe { open(path.as_ptr(), READ_WRITE_CREATE_NEW, 0o600 as c_int) };
    if file < 0 {
        return core::ptr::null_mut();
    }
    // SAFETY: the file is open.
    let sized = unsafe { ftruncate(file, bytes as i64) } == 0;
    // SAFETY: a new mapping anywhere.
    let at = unsafe { mmap(core::ptr::null_mut(), bytes, READ | WRITE, SHARED, file, 0) };
    // SAFETY: the file is open; the mapping stays.
    unsafe { close(file) };
    if !sized || at as isize == -1 { core::ptr::null_mut() } else { at.cast() }
}

/// Gives shared memory back.
///
/// # Safety
/// Nothing may use it any more.
pub(crate) unsafe fn unmap(at: *mut u64, bytes: usize) {
    // SAFETY: as for this function.
    unsafe { munmap(at.cast(), bytes) };
}

/// The words of a file that is never changed, mapped for good. Empty if it cannot be read.
pub(crate) fn words(path: &CStr) -> &'static [u64] {
    // SAFETY: the path ends in a zero byte.
    let file = unsafe { open(path.as_ptr(), READ_ONLY) };
    if file < 0 {
        return &[];
    }
    // SAFETY: the file is open.
    let bytes = unsafe { lseek(file, 0, 2) } as usize;
    // SAFETY: a new mapping anywhere.
    let at = unsafe { mmap(core::ptr::null_mut(), bytes, READ, PRIVATE, file, 0) };
    // SAFETY: the file is open; the mapping stays.
    unsafe { close(file) };
    if at as isize == -1 {
        return &[];
    }
    // SAFETY: the mapping is of that many bytes, page-aligned, and stays.
    unsafe { core::slice::from_raw_parts(at.cast(), bytes / 8) }
}

/// Appends to a file; a failure is the caller's to tell.
pub(crate) fn append(path: &CStr, words: &[u64]) -> bool {
    // SAFETY: the path ends in a zero byte; `open` takes the mode where it creates.
    let file = unsafe { open(path.as_ptr(), APPEND_CREATE, 0o600 as c_int) };
    if file < 0 {
        return false;
    }
    // SAFETY: the words are ours to read.
    let written = unsafe { write(file, words.as_ptr().cast(), size_of_val(words)) };
    // SAFETY: the file is open.
    unsafe { close(file) };
    written == size_of_val(words) as isize
}

/// The path of the running program, into `to`; its length.
pub(crate) fn program(to: &mut [u8]) -> usize {
    // SAFETY: the link's name ends in a zero byte, and `to` is ours to write.
    let length = unsafe { readlink(c"/proc/self/exe".as_ptr(), to.as_mut_ptr().cast(), to.len()) };
    usize::try_from(length).unwrap_or(0)
}

/// The value of a variable.
pub(crate) fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name ends in a zero byte.
    let value = unsafe { getenv(name.as_ptr()) };
    // SAFETY: where there is a value, it ends in a zero byte; it stays until the variable is set again.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}
