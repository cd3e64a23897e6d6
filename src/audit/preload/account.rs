//! The account of this process, in memory shared with a file, and the locks.

use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::format::{
    self, ACCOUNT_BYTES, FRAMES, KEPT_WORDS, LOGGED, MAGIC, MODULES, SITES, header, module, site,
};
use crate::plan;
use crate::system;
use crate::unwind::{Trace, mix};

/// A lock that knows its thread, so that what a thread allocates while it holds the lock is let through.
struct Lock(AtomicUsize);

/// Held until dropped.
pub(crate) struct Held(&'static Lock);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.0.store(0, Ordering::Release);
    }
}

impl Lock {
    fn take(&'static self) -> Option<Held> {
        let me = system::thread();
        loop {
            match self.0.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(Held(self)),
                Err(owner) if owner == me => return None,
                Err(_) => system::yield_now(),
            }
        }
    }
}

static BLOCKS: Lock = Lock(AtomicUsize::new(0));
static RULES: Lock = Lock(AtomicUsize::new(0));

/// The lock of everything but the rules; none if this thread holds it already.
pub(crate) fn lock() -> Option<Held> {
    BLOCKS.take()
}

/// The lock of the rules of the walk and of the modules. It is never held while the system is asked for anything that
/// takes locks itself.
pub(crate) fn lock_rules() -> Option<Held> {
    RULES.take()
}

/// After a fork only this thread goes on: whoever held a lock is gone.
pub(crate) fn unlock_all() {
    BLOCKS.0.store(0, Ordering::Release);
    RULES.0.store(0, Ordering::Release);
}

static mut ACCOUNT: *mut u64 = core::ptr::null_mut();

/// Places of the sites by key, one more than the index; 0 for none.
static mut PLACES: *mut u32 = core::ptr::null_mut();
const PLACES_LENGTH: usize = 2 * SITES;

/// Kept ranges that are not in the log yet.
static mut PENDING: [u64; PENDING_WORDS] = [0; PENDING_WORDS];
static mut PENDING_LENGTH: usize = 0;
static mut RANGES_LOGGED: u64 = 0;
const PENDING_WORDS: usize = 800 * KEPT_WORDS;

/// Opens the account of this process. False if there can be none.
pub(crate) fn open() -> bool {
    let account = (0..1000).find_map(|attempt| {
        let path = Path::new(c"account", attempt);
        let account = system::shared(path.as_c(), ACCOUNT_BYTES);
        (!account.is_null()).then_some(account)
    });
    let Some(account) = account else { return false };
    // SAFETY: the account has the size of the format and is only reached through this pointer; nothing runs beside.
    unsafe {
        if PLACES.is_null() {
            PLACES = system::pages(4 * PLACES_LENGTH).cast();
        } else {
            PLACES.write_bytes(0, PLACES_LENGTH);
        }
        if PLACES.is_null() {
            return false;
        }
        PENDING_LENGTH = 0;
        *account.add(header::PROCESS) = system::process();
        *account.add(header::MAGIC) = MAGIC;
        ACCOUNT = account;
    }
    true
}

/// Begins another account: in a child that was forked. What the parent accounted for is the parent's.
pub(crate) fn reopen() -> bool {
    // SAFETY: nothing runs beside a child that was just forked; the mapping is not used from here on.
    unsafe {
        if !ACCOUNT.is_null() {
            system::unmap(ACCOUNT, ACCOUNT_BYTES);
            ACCOUNT = core::ptr::null_mut();
        }
    }
    let opened = open();
    if opened {
        crate::unwind::forget();
    }
    opened
}

/// Whether this is the process that opened the account: after `vfork` nobody tells the child that it is another.
pub(crate) fn is_ours() -> bool {
    *word(header::PROCESS) == system::process()
}

/// A path in the folder of the plan.
struct Path([u8; format::FOLDER_BYTES + 64], usize);

impl Path {
    fn new(name: &CStr, attempt: u64) -> Self {
        let mut path = Self([0; format::FOLDER_BYTES + 64], 0);
        path.text(plan::folder());
        path.text(b"/");
        path.text(name.to_bytes());
        path.text(b".");
        path.number(system::process());
        if attempt > 0 {
            path.text(b".");
            path.number(attempt);
        }
        path
    }

    fn text(&mut self, text: &[u8]) {
        for &byte in text {
            if self.1 + 1 < self.0.len() {
                self.0[self.1] = byte;
                self.1 += 1;
            }
        }
    }

    fn number(&mut self, number: u64) {
        if number >= 10 {
            self.number(number / 10);
        }
        self.text(&[b'0' + (number % 10) as u8]);
    }

    fn as_c(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or(c"")
    }
}

fn word(index: usize) -> &'static mut u64 {
    // SAFETY: callers stay within the format, hold the lock of what they change, and use one word at a time.
    unsafe { &mut *ACCOUNT.add(index) }
}

/// Adds to a word of the header.
pub(crate) fn note(index: usize, more: u64) {
    *word(index) += more;
}

/// What is told of a module.
pub(crate) struct Module {
    /// Of its file name.
    pub(crate) hash: u64,
    /// It is the C library or the loader.
    pub(crate) is_system: bool,
}

/// Tells of a module, which is put on the list if it is new.
pub(crate) fn module(start: u64, end: u64, base: u64, name: *const c_char) -> Module {
    let mut own = [0u8; 8 * (module::WORDS - module::HEAD)];
    let mut path = &[][..];
    if !name.is_null() {
        // SAFETY: a name ends in a zero byte.
        path = unsafe { CStr::from_ptr(name) }.to_bytes();
    }
    if path.is_empty() {
        let length = system::program(&mut own);
        path = &own[..length];
    }
    let file = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    let told = Module {
        hash: file.iter().fold(1, |hash, &byte| mix(hash ^ u64::from(byte))),
        is_system: file.starts_with(b"libc.so") || file.starts_with(b"ld-linux"),
    };
    let _lock = lock_rules();
    // SAFETY: only asked whether it is null.
    if unsafe { ACCOUNT.is_null() } {
        return told;
    }
    let count = *word(header::MODULES) as usize;
    let at = |index: usize| header::WORDS + index * module::WORDS;
    let known =
        (0..count).any(|index| *word(at(index)) == start && *word(at(index) + module::END) == end);
    if !known && count < MODULES {
        for (place, bytes) in path.chunks(8).take(module::WORDS - module::HEAD - 1).enumerate() {
            let mut text = [0; 8];
            for (to, from) in text.iter_mut().zip(bytes) {
                *to = *from;
            }
            *word(at(count) + module::HEAD + place) = u64::from_ne_bytes(text);
        }
        *word(at(count) + module::START) = start;
        *word(at(count) + module::END) = end;
        *word(at(count) + module::BASE) = base;
        *word(header::MODULES) += 1;
    }
    told
}

/// A site of the account.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Site(u32);

impl Site {
    /// The site of a stack; none if the table is full.
    pub(crate) fn of(trace: &Trace, kind: u64) -> Option<Self> {
        let mut place = trace.key as usize % PLACES_LENGTH;
        loop {
            // SAFETY: the table has that many places, and the lock is held.
            let index = unsafe { &mut *PLACES.add(place) };
            if *index == 0 {
                let count = *word(header::SITES) as usize;
                if count == SITES {
                    return None;
                }
                *index = count as u32 + 1;
                let new = Self(count as u32);
                *new.word(site::KEY) = trace.key;
                *new.word(site::KIND) = kind;
                *new.word(site::FRAMES) = trace.length as u64;
                for frame in 0..FRAMES {
                    *new.word(site::ADDRESSES + frame) = trace.addresses[frame];
                }
                *word(header::SITES) += 1;
                return Some(new);
            }
            let known = Self(*index - 1);
            if known.key() == trace.key {
                return Some(known);
            }
            place = (place + 1) % PLACES_LENGTH;
        }
    }

    pub(crate) fn key(self) -> u64 {
        *self.word(site::KEY)
    }

    /// Adds to a counter; its new value.
    pub(crate) fn add(self, counter: usize, more: u64) -> u64 {
        let value = self.word(counter);
        *value += more;
        *value
    }

    fn word(self, index: usize) -> &'static mut u64 {
        word(header::WORDS + MODULES * module::WORDS + self.0 as usize * site::WORDS + index)
    }
}

/// Puts a kept range into the log.
pub(crate) fn log(range: [u64; KEPT_WORDS]) {
    // SAFETY: the lock is held.
    unsafe {
        if RANGES_LOGGED == LOGGED {
            *word(header::LOG_CUT) = 1;
            return;
        }
        RANGES_LOGGED += 1;
        let pending = &raw mut PENDING;
        for (index, part) in range.into_iter().enumerate() {
            (*pending)[PENDING_LENGTH + index] = part;
        }
        PENDING_LENGTH += KEPT_WORDS;
        if PENDING_LENGTH == PENDING_WORDS {
            flush();
        }
    }
}

/// Writes out what the log has pending.
pub(crate) fn flush() {
    // SAFETY: the lock is held.
    unsafe {
        let pending = &raw const PENDING;
        if PENDING_LENGTH > 0
            && !system::append(Path::new(c"kept", 0).as_c(), &(&(*pending))[..PENDING_LENGTH])
        {
            *word(header::LOG_CUT) = 1;
        }
        PENDING_LENGTH = 0;
    }
}
