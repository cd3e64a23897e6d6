//! One allocator for the process, chosen when it starts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{CStr, OsStr};
use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::failure::Failure;

/// An allocator to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocator {
    /// That of the C library.
    System = 1,
    /// jemalloc 5.3.1 as it comes.
    Jemalloc,
    /// jemalloc with `calloc_madvise_threshold:0`, as it was before 5.3.1: large zeroed blocks are given back to the
    /// kernel and come again as new pages.
    JemallocMadvise,
    /// mimalloc 3.
    Mimalloc,
}

/// The name of the variable, as the C library takes it.
const VARIABLE: &CStr = c"WRITEONCE_ALLOCATOR";

#[cfg(feature = "allocators")]
const SYSTEM: u8 = Allocator::System as u8;
#[cfg(feature = "allocators")]
const MIMALLOC: u8 = Allocator::Mimalloc as u8;

/// The allocator of this process, as a number; 0 until it is chosen.
static CHOICE: AtomicU8 = AtomicU8::new(0);

impl Allocator {
    /// The environment variable that names the allocator of a program; without it, that is the system's.
    pub const VARIABLE: &str = match VARIABLE.to_str() {
        Ok(name) => name,
        Err(_) => unreachable!(),
    };

    /// All there are, in the order of reports.
    pub const ALL: [Self; 4] =
        [Self::System, Self::Jemalloc, Self::JemallocMadvise, Self::Mimalloc];

    /// Those that are compiled in: all of them with the feature `allocators`, the system's without.
    pub const BUILT_IN: &[Self] =
        if cfg!(feature = "allocators") { &Self::ALL } else { &[Self::System] };

    /// The name in the variable, in files and in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Jemalloc => "jemalloc",
            Self::JemallocMadvise => "jemalloc_madvise",
            Self::Mimalloc => "mimalloc",
        }
    }

    /// The allocator of that name.
    ///
    /// # Errors
    /// [`Failure`] if there is none, or it is not compiled in.
    pub fn parse(name: &str) -> Result<Self, Failure> {
        let find = |all: &[Self]| all.iter().copied().find(|allocator| allocator.name() == name);
        find(Self::BUILT_IN).ok_or_else(|| {
            if find(&Self::ALL).is_some() {
                Failure::new(format!("{name} is not built in; build with `--features allocators`"))
            } else {
                let names: Vec<_> =
                    Self::BUILT_IN.iter().map(|allocator| allocator.name()).collect();
                let name = name.escape_debug();
                Failure::new(format!(
                    "there is no allocator '{name}'; there is {}",
                    names.join(", ")
                ))
            }
        })
    }

    /// The allocator that this process runs under.
    #[must_use]
    pub fn in_force() -> Self {
        if let [only] = Self::BUILT_IN {
            return *only;
        }
        if CHOICE.load(Ordering::Relaxed) == 0 {
            // If `Chosen` is the global allocator, it has a choice after this.
            drop(std::hint::black_box(Box::new(0_u8)));
        }
        Self::ALL
            .into_iter()
            .find(|allocator| *allocator as u8 == CHOICE.load(Ordering::Relaxed))
            .unwrap_or(Self::System)
    }

    /// The choice of the variable, made without allocating. A name that means nothing is for [`start`] to report.
    #[cold]
    #[inline(never)]
    #[cfg(feature = "allocators")]
    fn choose() -> Self {
        // SAFETY: the name is a C string. The first allocation is made before `main`, when no other thread is there to
        // change the environment.
        let value = unsafe { libc::getenv(VARIABLE.as_ptr()) };
        let mut chosen = Self::System;
        if !value.is_null() {
            // SAFETY: what getenv returns is a C string, or null.
            let value = unsafe { CStr::from_ptr(value) };
            for allocator in Self::BUILT_IN {
                if allocator.name().as_bytes() == value.to_bytes() {
                    chosen = *allocator;
                }
            }
        }
        CHOICE.store(chosen as u8, Ordering::Relaxed);
        chosen
    }

    #[cfg(feature = "allocators")]
    #[inline]
    fn functions(self) -> &'static dyn GlobalAlloc {
        match self {
            Self::System => &System,
            Self::Jemalloc | Self::JemallocMadvise => &tikv_jemallocator::Jemalloc,
            Self::Mimalloc => &mimalloc::MiMalloc,
        }
    }
}

/// The global allocator of a program that runs under any of [`Allocator::BUILT_IN`]. Each function is the same function of
/// the allocator that is chosen; without the feature `allocators` that is the system's, and nothing is in between.
#[derive(Debug, Clone, Copy, Default)]
pub struct Chosen;

impl Chosen {
    #[cfg(feature = "allocators")]
    #[inline]
    fn functions() -> &'static dyn GlobalAlloc {
        match CHOICE.load(Ordering::Relaxed) {
            0 => Allocator::choose().functions(),
            SYSTEM => Allocator::System.functions(),
            MIMALLOC => Allocator::Mimalloc.functions(),
            _ => Allocator::Jemalloc.functions(),
        }
    }

    #[cfg(not(feature = "allocators"))]
    #[inline]
    fn functions() -> System {
        System
    }
}

// SAFETY: every function is that of one allocator, which never changes: the variable is read once, before the first
// block is handed out. (Two first allocations at a time would read the same.)
unsafe impl GlobalAlloc for Chosen {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises what this function of the allocator asks for.
        unsafe { Self::functions().alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { Self::functions().alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above; the block is of this allocator, because there is no other.
        unsafe { Self::functions().realloc(block, layout, size) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above; the block is of this allocator, because there is no other.
        unsafe { Self::functions().dealloc(block, layout) }
    }
}

/// The start of a program whose global allocator is [`Chosen`], or counts the calls of it: sees to it that the
/// allocator that the variable names is in force, with its options. jemalloc has read its options before `main`: where
/// they are others, the program is run anew.
///
/// Where that cannot be, ends the program with one line on standard error and exit code 2.
pub fn start() {
    if let Err(failure) = check() {
        let (program, variable) = (env!("CARGO_PKG_NAME"), Allocator::VARIABLE);
        let _ = writeln!(std::io::stderr(), "{program}: {variable}: {failure}");
        std::process::exit(2);
    }
}

fn check() -> Result<(), Failure> {
    let value = std::env::var_os(Allocator::VARIABLE);
    let name = value.as_deref().map_or(Allocator::System.name().into(), OsStr::to_string_lossy);
    let (named, in_force) = (Allocator::parse(&name)?, Allocator::in_force());
    if named != in_force {
        let (named, in_force) = (named.name(), in_force.name());
        return Err(Failure::new(format!(
            "this program runs under {in_force}, not {named}; unset it"
        )));
    }
    #[cfg(feature = "allocators")]
    match named {
        Allocator::Jemalloc => super::jemalloc::require(false)?,
        Allocator::JemallocMadvise => super::jemalloc::require(true)?,
        Allocator::System | Allocator::Mimalloc => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for &allocator in Allocator::BUILT_IN {
            assert_eq!(Allocator::parse(allocator.name()), Ok(allocator));
        }
        assert_eq!(Allocator::VARIABLE, "WRITEONCE_ALLOCATOR");
    }

    #[test]
    fn other_names_are_refused() {
        for name in ["", "System", "tcmalloc", "a\nb"] {
            let line = Allocator::parse(name).unwrap_err().to_string();
            let start = format!("there is no allocator '{}'; there is system", name.escape_debug());
            assert!(line.starts_with(&start), "{line}");
        }
        if let [Allocator::System] = Allocator::BUILT_IN {
            let line = Allocator::parse("mimalloc").unwrap_err().to_string();
            assert_eq!(line, "mimalloc is not built in; build with `--features allocators`");
        }
    }

    #[test]
    fn a_program_with_another_global_allocator_runs_under_the_systems() {
        assert_eq!(Allocator::in_force(), Allocator::System);
    }
}
