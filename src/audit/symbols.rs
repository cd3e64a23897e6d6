//! Names for addresses: function, file and line, the frames that were inlined, and whose code it is.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use addr2line::Loader;
use object::Object;

/// A frame of a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The function, demangled; `?` if nobody knows.
    pub function: String,
    /// Its source file and line.
    pub file: Option<String>,
    /// The line in the file.
    pub line: Option<u32>,
    /// The program or library that it is in.
    pub module: PathBuf,
    /// It belongs to the language, the C library or the system, not to whom the audit is for.
    pub library: bool,
}

impl Frame {
    pub(crate) fn new(
        function: String,
        file: Option<String>,
        line: Option<u32>,
        module: &Path,
    ) -> Self {
        let library = is_library(&function, file.as_deref(), module);
        Self { function, file, line, module: module.to_owned(), library }
    }

    /// The function without its generic arguments.
    #[must_use]
    pub fn short(&self) -> String {
        // `<T as Trait>::f` and operators keep their brackets.
        if self.function.starts_with(['<', '_']) || self.function.contains("operator") {
            return self.function.clone();
        }
        let mut depth = 0u32;
        let mut short = String::new();
        for letter in self.function.chars() {
            match letter {
                '<' => depth += 1,
                '>' => depth = depth.saturating_sub(1),
                letter if depth == 0 => short.push(letter),
                _ => {}
            }
        }
        // What an `impl` in brackets leaves.
        short.replace("::::", "::")
    }

    /// `function file:line`, the file without its folders; the module where there is no file.
    #[must_use]
    pub fn place(&self) -> String {
        let function = self.short();
        let name =
            |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match (&self.file, self.line) {
            (Some(file), Some(line)) => {
                format!("{function} {}:{line}", name(Path::new(file)))
            }
            (Some(file), None) => format!("{function} {}", name(Path::new(file))),
            _ if function.contains("+0x") => function,
            _ => format!("{function} in {}", name(&self.module)),
        }
    }
}

/// Beginnings of the names of functions that belong to a language.
const LANGUAGE: &[&str] = &[
    "std::",
    "core::",
    "alloc::",
    "hashbrown::",
    "<std::",
    "<core::",
    "<alloc::",
    "<hashbrown::",
    "__rust",
    "__rdl_",
    "__rg_",
    "rust_",
    "__gnu_cxx::",
    "operator new",
    "operator delete",
    "void std::",
    "bool std::",
    "char* std::",
    "<&mut std::",
    "<&mut core::",
    "<&mut alloc::",
    "<&std::",
    "<&core::",
    "<&alloc::",
    "<[",
    "<T as core::",
    "<T as alloc::",
    "<T as std::",
];

/// Parts of the paths of source files that belong to a language.
const SOURCES: &[&str] = &[
    "/library/std/src/",
    "/library/core/src/",
    "/library/alloc/src/",
    "/rustc/",
    "/usr/include/c++/",
    "/x86_64-linux-gnu/c++/",
];

/// Beginnings of the file names of libraries that belong to the system.
const SYSTEM: &[&str] = &[
    "libc.so",
    "libc-2.",
    "ld-linux",
    "ld-2.",
    "libstdc++.so",
    "libgcc_s.so",
    "libpthread",
    "libm.so",
];

fn is_library(function: &str, file: Option<&str>, module: &Path) -> bool {
    let module = module.file_name().unwrap_or_default().to_string_lossy();
    LANGUAGE.iter().any(|name| function.starts_with(name))
        || file.is_some_and(|file| SOURCES.iter().any(|part| file.contains(part)))
        || SYSTEM.iter().any(|name| module.starts_with(name))
        || matches!(function, "_start" | "__libc_start_main" | "__libc_start_call_main")
}

/// The debug information of the modules that were asked for so far.
#[derive(Default)]
pub(crate) struct Symbols {
    loaders: HashMap<PathBuf, Option<Loader>>,
    known: HashMap<(PathBuf, u64), Vec<Frame>>,
}

impl Symbols {
    /// The frames at an address of a module (relative to where it was loaded), the innermost inlined one first.
    pub(crate) fn frames(&mut self, module: &Path, address: u64) -> Vec<Frame> {
        let key = (module.to_owned(), address);
        if let Some(frames) = self.known.get(&key) {
            return frames.clone();
        }
        let loader = self.loaders.entry(module.to_owned()).or_insert_with(|| load(module));
        let frames =
            loader.as_ref().map_or_else(Vec::new, |loader| look_up(loader, module, address));
        self.known.insert(key, frames.clone());
        frames
    }
}

/// The debug information of a module: its own, or that which the system keeps apart by the build id.
fn load(module: &Path) -> Option<Loader> {
    let apart = || {
        let bytes = fs::read(module).ok()?;
        let file = object::read::elf::ElfFile64::<object::Endianness>::parse(&*bytes).ok()?;
        let id: String = file.build_id().ok()??.iter().map(|byte| format!("{byte:02x}")).collect();
        let (first, rest) = id.split_at_checked(2)?;
        Loader::new(format!("/usr/lib/debug/.build-id/{first}/{rest}.debug")).ok()
    };
    apart().or_else(|| Loader::new(module).ok())
}

fn look_up(loader: &Loader, module: &Path, address: u64) -> Vec<Frame> {
    let mut named = Vec::new();
    if let Ok(mut frames) = loader.find_frames(address) {
        while let Ok(Some(frame)) = frames.next() {
            let function =
                frame.function.as_ref().and_then(|name| Some(name.demangle().ok()?.into_owned()));
            let location = frame.location.as_ref();
            let file = location.and_then(|location| location.file).map(str::to_owned);
            let line = location.and_then(|location| location.line);
            named.push((function, file, line));
        }
    }
    let symbol = || {
        let name = loader.find_symbol(address)?;
        Some(addr2line::demangle_auto(name.into(), None).into_owned())
    };
    if named.is_empty() {
        named.push((None, None, None));
    }
    named
        .into_iter()
        .map(|(function, file, line)| {
            let nameless = || {
                let module = module.file_name().unwrap_or_default().to_string_lossy();
                format!("{module}+{address:#x}")
            };
            let function = function.or_else(symbol).unwrap_or_else(nameless);
            Frame::new(function, file, line, module)
        })
        .collect()
}
