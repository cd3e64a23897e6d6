//! The library that `writeonce audit` preloads into a program: it stands in front of the functions that allocate, free
//! and zero memory, and follows what becomes of the zeroed bytes.
//!
//! Under memcheck, zeroed bytes are marked undefined although they hold zero, so that the program behaves the same; what
//! the program writes becomes defined. When a block is freed, or the process ends, memcheck's V bits say how many bytes
//! were overwritten and how many kept; where the program's behaviour depends on a marked byte, memcheck reports it.
//! Without memcheck, the library can put garbage in the place of zeros that were found to be superfluous.
//!
//! The program's own allocator is never used: the library's memory is mapped, and it needs nothing but the C library.
//! Allocation calls that it makes itself, or that come while it holds its lock, go through untouched.

#![no_std]
#![allow(
    clippy::missing_safety_doc,
    reason = "each function has the contract of the one it stands before"
)]
#![allow(
    clippy::unused_unit,
    reason = "a macro takes a return type, and some functions return nothing"
)]

mod account;
mod blocks;
#[path = "../format.rs"]
mod format;
mod plan;
mod request;
mod system;
mod unwind;

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use format::{LIBRARY, PLAN_VARIABLE, header, kind};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    let next = next!(c"_exit", fn(c_int) -> ());
    loop {
        // SAFETY: ends the process.
        unsafe { next(99) };
    }
}

/// The next definition of a function, as a function pointer; where there is none yet (it is being looked for), the
/// caller returns the value after `or`.
macro_rules! next {
    ($name:literal, fn($($argument:ty),*) -> $result:ty $(, or $otherwise:expr)?) => {{
        static SLOT: AtomicUsize = AtomicUsize::new(0);
        let found = system::next(&SLOT, $name);
        $(
            if found == 0 {
                return $otherwise;
            }
        )?
        // SAFETY: the function of that name has this type, in the C library or in libstdc++.
        unsafe { core::mem::transmute::<usize, unsafe extern "C" fn($($argument),*) -> $result>(found) }
    }};
}
use next;

/// Memory for what `dlsym` allocates when it is first called: never given back.
static mut EARLY: [u128; 1024] = [0; 1024];
static EARLY_USED: AtomicUsize = AtomicUsize::new(0);
const EARLY_BYTES: usize = 16 * 1024;

fn early(bytes: usize) -> *mut c_void {
    let units = bytes.div_ceil(16).max(1);
    let first = EARLY_USED.fetch_add(16 * units, Ordering::Relaxed);
    if first + 16 * units > EARLY_BYTES {
        return core::ptr::null_mut();
    }
    // SAFETY: within the array, and handed out once.
    unsafe { (&raw mut EARLY).cast::<u8>().add(first).cast() }
}

fn is_early(block: *mut c_void) -> bool {
    let start = (&raw const EARLY) as usize;
    (start..start + EARLY_BYTES).contains(&(block as usize))
}

/// Sets memory by the C library's own function, or byte by byte while that is being looked for.
unsafe fn set(start: *mut u8, byte: c_int, length: usize) {
    static SLOT: AtomicUsize = AtomicUsize::new(0);
    let found = system::next(&SLOT, c"memset");
    if found == 0 {
        for index in 0..length {
            // SAFETY: as for this function. Volatile, or the compiler makes it a call of memset.
            unsafe { start.add(index).write_volatile(byte as u8) };
        }
        return;
    }
    type Memset = unsafe extern "C" fn(*mut u8, c_int, usize) -> *mut u8;
    // SAFETY: memset has this type, and the caller owns the bytes.
    unsafe { core::mem::transmute::<usize, Memset>(found)(start, byte, length) };
}

fn note_allocated(block: *mut c_void, bytes: usize) {
    if plan::concerns(bytes)
        && !block.is_null()
        && let Some(_lock) = account::lock()
    {
        blocks::allocated(block as usize, bytes);
    }
}

fn note_freed(block: *mut c_void) {
    if plan::in_force()
        && let Some(_lock) = account::lock()
    {
        blocks::freed(block as usize);
    }
}

/// Takes note of zeroed bytes. The stack is walked before the lock is taken: the walk asks the loader.
fn note_zeroed(start: *mut c_void, length: usize, kind: u64) {
    let trace = unwind::trace();
    if !trace.by_system
        && let Some(_lock) = account::lock()
    {
        blocks::zeroed(start as usize, length, &trace, kind);
    }
}

fn is_known(start: *mut c_void, length: usize) -> bool {
    account::lock().is_some_and(|_lock| blocks::hold(start as usize, length))
}

/// Standard C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(bytes: usize) -> *mut c_void {
    let next = next!(c"malloc", fn(usize) -> *mut c_void, or early(bytes));
    // SAFETY: the caller's call.
    let block = unsafe { next(bytes) };
    note_allocated(block, bytes);
    block
}

/// Standard C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    let bytes = count.saturating_mul(size);
    // What is early is static memory, which is zero.
    let next = next!(c"calloc", fn(usize, usize) -> *mut c_void, or early(bytes));
    // SAFETY: the caller's call.
    let block = unsafe { next(count, size) };
    if plan::concerns(bytes) && !block.is_null() {
        note_allocated(block, bytes);
        note_zeroed(block, bytes, kind::CALLOC);
    }
    block
}

unsafe fn reallocate(
    old: *mut c_void,
    bytes: usize,
    call: impl FnOnce() -> *mut c_void,
) -> *mut c_void {
    if is_early(old) {
        // SAFETY: the caller's call.
        let new = unsafe { malloc(bytes) };
        let most = (&raw const EARLY) as usize + EARLY_BYTES - old as usize;
        if !new.is_null() {
            // SAFETY: both blocks have that many bytes: early memory goes on to its end.
            unsafe { new.cast::<u8>().copy_from_nonoverlapping(old.cast(), bytes.min(most)) };
        }
        return new;
    }
    if !plan::in_force() {
        return call();
    }
    let moving = account::lock().and_then(|_lock| {
        if old.is_null() { None } else { blocks::about_to_move(old as usize, bytes) }
    });
    let new = call();
    if let Some(_lock) = account::lock() {
        if !new.is_null() && (moving.is_some() || plan::concerns(bytes)) {
            blocks::moved(moving, new as usize, bytes);
        } else if new.is_null() && bytes > 0 {
            blocks::stayed(moving);
        }
    }
    new
}

/// Standard C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(old: *mut c_void, bytes: usize) -> *mut c_void {
    let next = next!(c"realloc", fn(*mut c_void, usize) -> *mut c_void);
    // SAFETY: the caller's call.
    unsafe { reallocate(old, bytes, || next(old, bytes)) }
}

/// glibc, BSD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn reallocarray(old: *mut c_void, count: usize, size: usize) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: the caller's call.
        Some(bytes) => unsafe { realloc(old, bytes) },
        None => core::ptr::null_mut(),
    }
}

/// Standard C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(block: *mut c_void) {
    if block.is_null() || is_early(block) {
        return;
    }
    note_freed(block);
    let next = next!(c"free", fn(*mut c_void) -> (), or());
    // SAFETY: the caller's call.
    unsafe { next(block) }
}

/// POSIX.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(
    to: *mut *mut c_void,
    alignment: usize,
    bytes: usize,
) -> c_int {
    const NO_MEMORY: c_int = 12;
    let next = next!(c"posix_memalign", fn(*mut *mut c_void, usize, usize) -> c_int, or NO_MEMORY);
    // SAFETY: the caller's call.
    let result = unsafe { next(to, alignment, bytes) };
    if result == 0 {
        // SAFETY: the call has succeeded and written there.
        note_allocated(unsafe { *to }, bytes);
    }
    result
}

/// Functions that return a block of as many bytes as one of their arguments says.
macro_rules! allocating {
    ($($(#[$doc:meta])* $name:ident = $symbol:literal ($($argument:ident: $type:ty),*) gives $bytes:ident;)*) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> *mut c_void {
                let next = next!($symbol, fn($($type),*) -> *mut c_void, or core::ptr::null_mut());
                // SAFETY: the caller's call.
                let block = unsafe { next($($argument),*) };
                note_allocated(block, $bytes);
                block
            }
        )*
    };
}

allocating! {
    /// Standard C.
    aligned_alloc = c"aligned_alloc"(alignment: usize, bytes: usize) gives bytes;
    /// Old.
    memalign = c"memalign"(alignment: usize, bytes: usize) gives bytes;
    /// Old.
    valloc = c"valloc"(bytes: usize) gives bytes;
    /// operator new(size_t)
    _Znwm = c"_Znwm"(bytes: usize) gives bytes;
    /// operator new[](size_t)
    _Znam = c"_Znam"(bytes: usize) gives bytes;
    /// operator new(size_t, nothrow)
    _ZnwmRKSt9nothrow_t = c"_ZnwmRKSt9nothrow_t"(bytes: usize, tag: usize) gives bytes;
    /// operator new[](size_t, nothrow)
    _ZnamRKSt9nothrow_t = c"_ZnamRKSt9nothrow_t"(bytes: usize, tag: usize) gives bytes;
    /// operator new(size_t, align_val_t)
    _ZnwmSt11align_val_t = c"_ZnwmSt11align_val_t"(bytes: usize, alignment: usize) gives bytes;
    /// operator new[](size_t, align_val_t)
    _ZnamSt11align_val_t = c"_ZnamSt11align_val_t"(bytes: usize, alignment: usize) gives bytes;
    /// operator new(size_t, align_val_t, nothrow)
    _ZnwmSt11align_val_tRKSt9nothrow_t = c"_ZnwmSt11align_val_tRKSt9nothrow_t"
        (bytes: usize, alignment: usize, tag: usize) gives bytes;
    /// operator new[](size_t, align_val_t, nothrow)
    _ZnamSt11align_val_tRKSt9nothrow_t = c"_ZnamSt11align_val_tRKSt9nothrow_t"
        (bytes: usize, alignment: usize, tag: usize) gives bytes;
}

/// Functions that free their first argument.
macro_rules! freeing {
    ($($(#[$doc:meta])* $name:ident = $symbol:literal ($block:ident $(, $argument:ident)*);)*) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($block: *mut c_void $(, $argument: usize)*) {
                if $block.is_null() {
                    return;
                }
                note_freed($block);
                let next = next!($symbol, fn(*mut c_void $(, freeing!(@type $argument))*) -> (), or ());
                // SAFETY: the caller's call.
                unsafe { next($block $(, $argument)*) }
            }
        )*
    };
    (@type $argument:ident) => { usize };
}

freeing! {
    /// operator delete(void*)
    _ZdlPv = c"_ZdlPv"(block);
    /// operator delete[](void*)
    _ZdaPv = c"_ZdaPv"(block);
    /// operator delete(void*, size_t)
    _ZdlPvm = c"_ZdlPvm"(block, bytes);
    /// operator delete[](void*, size_t)
    _ZdaPvm = c"_ZdaPvm"(block, bytes);
    /// operator delete(void*, nothrow)
    _ZdlPvRKSt9nothrow_t = c"_ZdlPvRKSt9nothrow_t"(block, tag);
    /// operator delete[](void*, nothrow)
    _ZdaPvRKSt9nothrow_t = c"_ZdaPvRKSt9nothrow_t"(block, tag);
    /// operator delete(void*, align_val_t)
    _ZdlPvSt11align_val_t = c"_ZdlPvSt11align_val_t"(block, alignment);
    /// operator delete[](void*, align_val_t)
    _ZdaPvSt11align_val_t = c"_ZdaPvSt11align_val_t"(block, alignment);
    /// operator delete(void*, size_t, align_val_t)
    _ZdlPvmSt11align_val_t = c"_ZdlPvmSt11align_val_t"(block, bytes, alignment);
    /// operator delete[](void*, size_t, align_val_t)
    _ZdaPvmSt11align_val_t = c"_ZdaPvmSt11align_val_t"(block, bytes, alignment);
}

/// Standard C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memset(start: *mut c_void, byte: c_int, length: usize) -> *mut c_void {
    // SAFETY: the caller's call.
    unsafe { set(start.cast(), byte, length) };
    if byte as u8 == 0 && plan::concerns(length) && is_known(start, length) {
        note_zeroed(start, length, kind::MEMSET);
    }
    start
}

/// What `_FORTIFY_SOURCE` makes of memset.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __memset_chk(
    start: *mut c_void,
    byte: c_int,
    length: usize,
    room: usize,
) -> *mut c_void {
    if length > room {
        let next =
            next!(c"__memset_chk", fn(*mut c_void, c_int, usize, usize) -> *mut c_void, or start);
        // SAFETY: the caller's call, which ends the process.
        return unsafe { next(start, byte, length, room) };
    }
    // SAFETY: the caller's call.
    unsafe { memset(start, byte, length) }
}

/// Old.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bzero(start: *mut c_void, length: usize) {
    // SAFETY: the caller's call.
    unsafe { memset(start, 0, length) };
}

/// Memcheck 3.19 takes the whole buffer of `recv` for written, however little came.
unsafe fn receive(buffer: *mut c_void, length: usize, call: impl FnOnce() -> isize) -> isize {
    let remembered = if plan::in_force() && !plan::garbage() {
        account::lock().and_then(|_lock| blocks::remember(buffer as usize, length))
    } else {
        None
    };
    let received = call();
    if let Some(remembered) = remembered {
        remembered.restore(usize::try_from(received).unwrap_or(0));
    }
    received
}

/// POSIX.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recv(
    socket: c_int,
    buffer: *mut c_void,
    length: usize,
    flags: c_int,
) -> isize {
    let next = next!(c"recv", fn(c_int, *mut c_void, usize, c_int) -> isize);
    // SAFETY: the caller's call.
    unsafe { receive(buffer, length, || next(socket, buffer, length, flags)) }
}

/// POSIX.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvfrom(
    socket: c_int,
    buffer: *mut c_void,
    length: usize,
    flags: c_int,
    address: *mut c_void,
    address_length: *mut c_void,
) -> isize {
    let next =
        next!(c"recvfrom", fn(c_int, *mut c_void, usize, c_int, *mut c_void, *mut c_void) -> isize);
    // SAFETY: the caller's call.
    unsafe {
        receive(buffer, length, || next(socket, buffer, length, flags, address, address_length))
    }
}

/// What `_FORTIFY_SOURCE` makes of recv.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __recv_chk(
    socket: c_int,
    buffer: *mut c_void,
    length: usize,
    room: usize,
    flags: c_int,
) -> isize {
    let next = next!(c"__recv_chk", fn(c_int, *mut c_void, usize, usize, c_int) -> isize);
    // SAFETY: the caller's call.
    unsafe { receive(buffer, length, || next(socket, buffer, length, room, flags)) }
}

/// POSIX. A module that goes may leave its addresses to another.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlclose(handle: *mut c_void) -> c_int {
    let next = next!(c"dlclose", fn(*mut c_void) -> c_int, or 0);
    // SAFETY: the caller's call.
    let result = unsafe { next(handle) };
    unwind::forget();
    result
}

/// Accounts for the blocks that live to the end.
extern "C" fn settle() {
    if plan::in_force()
        && !plan::garbage()
        && account::is_ours()
        && let Some(_lock) = account::lock()
    {
        blocks::settle_living();
        account::note(header::ENDED, 1);
    }
}

/// Functions that end the process, or make it another program, without running what is run at its end.
macro_rules! ending {
    ($($(#[$doc:meta])* $name:ident = $symbol:literal ($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
                settle();
                let next = next!($symbol, fn($($type),*) -> $result);
                // SAFETY: the caller's call.
                unsafe { next($($argument),*) }
            }
        )*
    };
}

type Strings = *const *const c_char;

ending! {
    /// POSIX.
    _exit = c"_exit"(code: c_int) -> ();
    /// Standard C.
    _Exit = c"_Exit"(code: c_int) -> ();
    /// Standard C.
    quick_exit = c"quick_exit"(code: c_int) -> ();
    /// Standard C.
    abort = c"abort"() -> ();
    /// POSIX.
    execve = c"execve"(path: *const c_char, arguments: Strings, variables: Strings) -> c_int;
    /// POSIX.
    execv = c"execv"(path: *const c_char, arguments: Strings) -> c_int;
    /// POSIX.
    execvp = c"execvp"(file: *const c_char, arguments: Strings) -> c_int;
    /// glibc.
    execvpe = c"execvpe"(file: *const c_char, arguments: Strings, variables: Strings) -> c_int;
    /// POSIX.
    fexecve = c"fexecve"(file: c_int, arguments: Strings, variables: Strings) -> c_int;
}

#[link(name = "c")]
unsafe extern "C" {
    static mut environ: *mut *mut c_char;
    fn pthread_atfork(
        before: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
}

/// A child has its own account; the parent accounts for what was zeroed before.
extern "C" fn in_child() {
    account::unlock_all();
    if plan::in_force() {
        blocks::forget_regions();
        plan::put_in_force(plan::garbage() || account::reopen());
    }
}

/// Hides the library from the programs that this one starts.
fn leave_no_trace() {
    let (variable, library) = (PLAN_VARIABLE.to_bytes(), LIBRARY.as_bytes());
    // SAFETY: before main nothing else changes the environment; each entry is a string that ends in a zero byte.
    unsafe {
        let (mut from, mut to) = (environ, environ);
        while !(*from).is_null() {
            let entry = CStr::from_ptr(*from).to_bytes();
            if !(entry.starts_with(variable) && entry.get(variable.len()) == Some(&b'=')) {
                *to = *from;
                to = to.add(1);
            }
            if entry.starts_with(b"LD_PRELOAD=")
                && let Some(end) = entry.windows(library.len()).position(|part| part == library)
            {
                let end = end + library.len();
                let start = entry[..end].iter().rposition(|&byte| byte == b':' || byte == b'=');
                let start = start.map_or(0, |start| start + 1);
                let text = (*from).cast::<u8>();
                let rest = entry.len() + 1 - end;
                // With the separator before it, where there is one.
                let start = if *text.add(start - 1) == b':' { start - 1 } else { start };
                for index in 0..rest {
                    text.add(start + index).write_volatile(*text.add(end + index));
                }
                if entry[..start] == *b"LD_PRELOAD=" && rest == 1 {
                    to = to.sub(1);
                }
            }
            from = from.add(1);
        }
        *to = core::ptr::null_mut();
    }
}

extern "C" fn start() {
    let Some(path) = system::variable(PLAN_VARIABLE) else { return };
    if !plan::read(path) || (!plan::garbage() && !request::on_valgrind()) {
        return;
    }
    if !plan::follow() {
        leave_no_trace();
    }
    // SAFETY: the handlers stay: this library is never unloaded.
    unsafe { pthread_atfork(None, None, Some(in_child)) };
    plan::put_in_force(account::open());
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = settle;
