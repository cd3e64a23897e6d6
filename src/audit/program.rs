//! Whether a program can be audited: what memcheck cannot run, or the library cannot be preloaded into, is refused with
//! what to do instead.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use object::read::elf::{Dyn, ElfFile64, ProgramHeader};
use object::{Architecture, Endianness, Object, ObjectSymbol, ReadCache};

use crate::failure::Failure;

/// Symbols that a program has only with an allocator of its own, and whose they are.
const ALLOCATORS: &[(&str, &str)] = &[
    ("_rjem_malloc", "jemalloc"),
    ("je_malloc", "jemalloc"),
    ("mallocx", "jemalloc"),
    ("mi_malloc", "mimalloc"),
    ("tc_malloc", "tcmalloc"),
    ("rpmalloc", "rpmalloc"),
    ("sn_rust_alloc", "snmalloc"),
    ("malloc", "its own malloc"),
];

/// The path of a program, as the shell finds it.
///
/// # Errors
/// [`Failure`] if there is none.
pub(crate) fn find(program: &Path) -> Result<PathBuf, Failure> {
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if program.components().count() > 1 {
        return if is_program(&program.to_owned()) {
            Ok(program.to_owned())
        } else {
            Err(Failure::at(program, "no such program, or it may not be run"))
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(is_program)
        .ok_or_else(|| Failure::at(program, "no such program in PATH; give its path"))
}

/// Refuses what cannot be audited. Of a script, it is the interpreter that counts.
///
/// # Errors
/// [`Failure`] with the reason and the way out.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    check_at(path, 0)
}

fn check_at(path: &Path, depth: u32) -> Result<(), Failure> {
    let unreadable = |error: std::io::Error| Failure::at(path, format!("cannot be read: {error}"));
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.permissions().mode() & 0o6000 != 0 {
        return Err(Failure::at(
            path,
            "it is setuid or setgid, into which nothing can be preloaded; audit a copy",
        ));
    }
    let mut line = Vec::new();
    BufReader::new(&file).read_until(b'\n', &mut line).map_err(unreadable)?;
    if line.starts_with(b"#!") && depth < 4 {
        let line = String::from_utf8_lossy(&line[2..]).into_owned();
        let mut words = line.split_whitespace();
        let interpreter = Path::new(words.next().unwrap_or_default());
        let by_env = interpreter.file_name().is_some_and(|name| name == "env");
        let interpreter = match words.find(|word| by_env && !word.starts_with('-')) {
            Some(name) => find(Path::new(name))?,
            None => interpreter.to_owned(),
        };
        return check_at(&interpreter, depth + 1);
    }
    let wrong = |reason: &str| Err(Failure::at(path, reason));
    let cache = ReadCache::new(file);
    let Ok(elf) = ElfFile64::<Endianness, _>::parse(&cache) else {
        return wrong("it is no 64-bit program of this system (ELF), which is what can be audited");
    };
    if elf.architecture() != Architecture::X86_64 {
        return wrong("it is not for x86-64, which is what can be audited");
    }
    let endian = elf.endian();
    let dynamic =
        elf.elf_program_headers().iter().any(|part| part.p_type(endian) == object::elf::PT_INTERP);
    if !dynamic {
        return wrong(
            "it is statically linked, so that nothing can be preloaded; link it dynamically for an audit \
                      (Rust: a -gnu target without `-C target-feature=+crt-static`)",
        );
    }
    let defined: std::collections::HashSet<_> = elf
        .symbols()
        .chain(elf.dynamic_symbols())
        .filter(|symbol| symbol.is_definition())
        .filter_map(|symbol| symbol.name().ok())
        .collect();
    if let Some((symbol, whose)) = ALLOCATORS.iter().find(|(symbol, _)| defined.contains(symbol)) {
        return wrong(&format!(
            "it has an allocator of its own ({whose}: it defines `{symbol}`), whose zeroing cannot be seen; build it \
             with the system's allocator for an audit (without its #[global_allocator], or that feature)"
        ));
    }
    for library in needed(&elf) {
        if ["jemalloc", "mimalloc", "tcmalloc"].iter().any(|name| library.contains(name)) {
            return wrong(&format!(
                "it is linked with {library}, whose zeroing cannot be seen; build it with the system's allocator"
            ));
        }
    }
    Ok(())
}

/// The libraries that a program names as needed.
fn needed<'data>(elf: &ElfFile64<'data, Endianness, &'data ReadCache<File>>) -> Vec<String> {
    let endian = elf.endian();
    let sections = elf.elf_section_table();
    let Ok(Some((entries, strings))) = sections.dynamic(endian, elf.data()) else {
        return Vec::new();
    };
    let Ok(strings) = sections.strings(endian, elf.data(), strings) else { return Vec::new() };
    entries
        .iter()
        .filter(|entry| entry.tag(endian) == object::elf::DT_NEEDED)
        .filter_map(|entry| entry.string(endian, strings).ok())
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect()
}
