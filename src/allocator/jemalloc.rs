//! What jemalloc can be told and asked.

use std::ffi::{CString, OsStr, c_uint};
use std::hint::black_box;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr::null_mut;

use tikv_jemalloc_sys::mallctl;

use crate::failure::Failure;

/// The variable that jemalloc reads its options from, before `main`.
const OPTIONS: &str = "_RJEM_MALLOC_CONF";

/// The option by which large zeroed blocks are new pages of the kernel's, as before jemalloc 5.3.1.
const MADVISE: &str = "calloc_madvise_threshold:0";

/// A block that [`MADVISE`] makes a difference for, in bytes: by default that begins at 8 MiB.
const LARGE: usize = 1 << 20;

/// Sees to it that jemalloc runs with [`MADVISE`] and no other option, or with none. It has read them already: where
/// they are others, the program is run anew.
pub(super) fn require(madvise: bool) -> Result<(), Failure> {
    let wanted = madvise.then_some(OsStr::new(MADVISE));
    if std::env::var_os(OPTIONS).as_deref() != wanted {
        let program = std::env::current_exe().map_err(|error| {
            Failure::new(format!("where the program is, is not known: {error}"))
        })?;
        let mut again = Command::new(program);
        let mut arguments = std::env::args_os();
        if let Some(name) = arguments.next() {
            again.arg0(name);
        }
        match wanted {
            Some(options) => again.args(arguments).env(OPTIONS, options),
            None => again.args(arguments).env_remove(OPTIONS),
        };
        let error = again.exec();
        return Err(Failure::new(format!("the program cannot be run anew: {error}")));
    }
    // mallctl does not know this option, so it is seen by what it does.
    if zeroed_blocks_are_new() == madvise {
        Ok(())
    } else {
        let not = if madvise { "does not take" } else { "behaves as with" };
        Err(Failure::new(format!("jemalloc {not} {MADVISE}; look for /etc/_rjem_malloc.conf")))
    }
}

/// Whether a zeroed block that was written and freed before comes as new pages.
fn zeroed_blocks_are_new() -> bool {
    drop(black_box(vec![1_u8; LARGE]));
    let before = super::page_faults();
    let mut block = black_box(vec![0_u8; LARGE]);
    for byte in block.iter_mut().step_by(4096) {
        *black_box(byte) = 1;
    }
    let faults = super::page_faults() - before;
    drop(block);
    // Nothing of it is left to the program. 4096 stands for all arenas.
    // SAFETY: a name without a value takes none.
    unsafe { mallctl(c"arena.4096.purge".as_ptr(), null_mut(), null_mut(), null_mut(), 0) };
    // A page has up to 64 KiB.
    faults >= LARGE as u64 / 65_536
}

/// Keeps what is freed, for good: the next block of that size is a dirty one.
pub(super) fn keep() {
    set("thread.tcache.enabled", true);
    set_decay(-1);
}

/// Gives back to the kernel what is free and what is freed from now on.
pub(super) fn give_back() {
    set("thread.tcache.enabled", false);
    set_decay(0);
}

/// After how many milliseconds free pages of this thread's arena go back to the kernel; -1 is never. Blocks from 8
/// MiB on are of another arena, which gives back at once whatever is set here.
fn set_decay(milliseconds: isize) {
    let mut arena: c_uint = 0;
    let mut size = size_of_val(&arena);
    // SAFETY: `thread.arena` is read as an unsigned int, of which there is one at the pointer, and its size at the
    // other.
    let code = unsafe {
        mallctl(c"thread.arena".as_ptr(), (&raw mut arena).cast(), &raw mut size, null_mut(), 0)
    };
    assert_eq!(code, 0, "jemalloc does not know its thread.arena");
    set(&format!("arena.{arena}.dirty_decay_ms"), milliseconds);
}

/// Sets a value of jemalloc's by its name.
fn set<T: Copy>(name: &str, mut value: T) {
    let path = CString::new(name).expect("a name has no zero byte");
    // SAFETY: mallctl reads the value if its size is that of what goes by the name, and fails otherwise.
    let code = unsafe {
        mallctl(path.as_ptr(), null_mut(), null_mut(), (&raw mut value).cast(), size_of::<T>())
    };
    assert_eq!(code, 0, "jemalloc does not take {name}");
}
