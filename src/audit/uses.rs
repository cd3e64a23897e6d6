//! Where the program's behaviour depended on a zeroed byte: memcheck's reports, and the site that each is about.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::account::{Account, files};
use super::format::LIBRARY;
use super::symbols::{Frame, Symbols};
use crate::failure::Failure;

/// How the program used a zeroed byte.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// It took a branch by it.
    Branch,
    /// It made an address of it.
    Address,
    /// It gave it to the system: the call and its argument, `write(buf)`.
    SystemCall(String),
}

/// Whose byte it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A zeroing at the site with this key.
    Site(u64),
    /// Memcheck has lost it.
    Unknown,
    /// Not ours: memory that the program itself never initialized.
    Program,
}

impl Origin {
    pub(crate) fn site(self) -> Option<u64> {
        match self {
            Self::Site(key) => Some(key),
            Self::Unknown | Self::Program => None,
        }
    }
}

/// A use of a byte that was marked, or that the program never initialized.
#[derive(Debug, Clone)]
pub(crate) struct Use {
    pub(crate) how: How,
    pub(crate) origin: Origin,
    /// The stack of the use, the innermost frame first.
    pub(crate) stack: Vec<Frame>,
}

impl Use {
    /// Whether memcheck takes them for the same: it compares the innermost frames, of which there may be fewer on one side.
    pub(crate) fn is_at_the_place_of(&self, other: &Self) -> bool {
        let known = !self.stack.is_empty() && !other.stack.is_empty();
        known && self.how == other.how && self.stack.iter().zip(&other.stack).all(|(a, b)| a == b)
    }
}

/// Reads the reports in the logs of `folder`.
pub(crate) fn uses(
    folder: &Path,
    accounts: &[Account],
    symbols: &mut Symbols,
) -> Result<Vec<Use>, Failure> {
    let mut uses = Vec::new();
    for path in files(folder, "log.")? {
        let bytes = fs::read(&path).map_err(|error| Failure::at(&path, error))?;
        let text = String::from_utf8_lossy(&bytes);
        // A child that was forked writes into the log of its parent: `==PROCESS== text`.
        let mut processes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for line in text.lines() {
            if let Some((process, line)) =
                line.strip_prefix("==").and_then(|line| line.split_once("=="))
            {
                processes.entry(process).or_default().push(line.strip_prefix(' ').unwrap_or(line));
            }
        }
        for lines in processes.values() {
            for report in lines.split(|line| line.trim().is_empty()) {
                uses.extend(
                    Report::read(report).and_then(|report| report.into_use(accounts, symbols)),
                );
            }
        }
    }
    Ok(uses)
}

/// A report of memcheck: what it is, and the stacks below.
struct Report<'a> {
    how: How,
    stack: Vec<Line<'a>>,
    /// What made the byte, and its stack.
    origin: Option<(&'a str, Vec<Line<'a>>)>,
}

/// A line of a stack: `at 0x4846828: malloc (in /usr/lib/vgpreload.so)` or `by 0x10922E: main (t.c:6)`.
struct Line<'a> {
    address: u64,
    function: &'a str,
    place: &'a str,
}

impl<'a> Line<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let line = line.trim_start();
        let line = line.strip_prefix("at 0x").or_else(|| line.strip_prefix("by 0x"))?;
        let (address, rest) = line.split_once(": ")?;
        let (function, place) = rest.rsplit_once(" (").unwrap_or((rest, ""));
        Some(Self {
            address: u64::from_str_radix(address, 16).ok()?,
            function,
            place: place.strip_suffix(')').unwrap_or(place),
        })
    }

    fn module(&self) -> &'a str {
        self.place.strip_prefix("in ").unwrap_or_default()
    }

    fn is_in_library(&self) -> bool {
        self.module().ends_with(LIBRARY)
    }
}

impl<'a> Report<'a> {
    fn read(lines: &[&'a str]) -> Option<Self> {
        let (what, rest) = lines.split_first()?;
        let how = match *what {
            "Conditional jump or move depends on uninitialised value(s)" => How::Branch,
            what if what.starts_with("Use of uninitialised value") => How::Address,
            what if what.contains("uninitialised") => {
                // Syscall param write(buf) points to uninitialised byte(s)
                let call = what.strip_prefix("Syscall param ")?;
                How::SystemCall(call.split_whitespace().next()?.to_owned())
            }
            _ => return None,
        };
        let mut report = Self { how, stack: Vec::new(), origin: None };
        // Other lines, of an address for example, have stacks of their own.
        let mut others = false;
        for line in rest {
            match Line::read(line) {
                None if line.contains("was created by") => {
                    report.origin = Some((line, Vec::new()));
                    others = false;
                }
                None => others = true,
                Some(_) if others => {}
                Some(line) => match &mut report.origin {
                    Some((_, stack)) => stack.push(line),
                    None => report.stack.push(line),
                },
            }
        }
        Some(report)
    }

    fn into_use(self, accounts: &[Account], symbols: &mut Symbols) -> Option<Use> {
        let origin = match &self.origin {
            Some((what, stack)) if what.contains("client request") => site(stack, accounts),
            Some(_) => Origin::Program,
            None => Origin::Unknown,
        };
        // What is given to free or realloc is used by whoever stands before them.
        let stands_before =
            |line: &&Line<'_>| !line.is_in_library() && !line.module().contains("/vgpreload_");
        let lines = self.stack.iter().filter(stands_before);
        let stack = lines.flat_map(|line| named(line, accounts, symbols)).collect();
        Some(Use { how: self.how, origin, stack })
    }
}

/// The site whose stack this is: below the library's own frames the addresses are those of its calls.
fn site(stack: &[Line<'_>], accounts: &[Account]) -> Origin {
    if !stack.first().is_some_and(Line::is_in_library) {
        return Origin::Program;
    }
    let calls: Vec<_> =
        stack.iter().skip_while(|line| line.is_in_library()).map(|line| line.address).collect();
    let sites = accounts.iter().flat_map(|account| &account.sites);
    let common = |addresses: &[u64]| {
        addresses.iter().zip(&calls).take_while(|(after, call)| **after == **call + 1).count()
    };
    sites
        .map(|(key, _, addresses)| (common(addresses), *key))
        .max_by_key(|(common, _)| *common)
        .filter(|(common, _)| *common > 0)
        .map_or(Origin::Unknown, |(_, key)| Origin::Site(key))
}

/// The frames of an address by the debug information, or what memcheck says of it.
fn named(line: &Line<'_>, accounts: &[Account], symbols: &mut Symbols) -> Vec<Frame> {
    let module = accounts.iter().find_map(|account| account.module(line.address));
    let frames =
        module.map(|module| symbols.frames(&module.path, line.address.wrapping_sub(module.base)));
    frames.filter(|frames| !frames.is_empty()).unwrap_or_else(|| {
        let place = line.place.rsplit_once(':').filter(|_| line.module().is_empty());
        let file = place.map(|(file, _)| file.to_owned());
        let number = place.and_then(|(_, number)| number.parse().ok());
        vec![Frame::new(line.function.to_owned(), file, number, Path::new(line.module()))]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::account::Count;

    #[test]
    fn a_use_is_where_another_is_if_all_frames_that_both_have_are_the_same() {
        let at = |how: How, functions: &[&str]| {
            let frame =
                |name: &&str| Frame::new((*name).to_owned(), None, None, Path::new("program"));
            Use { how, origin: Origin::Unknown, stack: functions.iter().map(frame).collect() }
        };
        let read = at(How::Branch, &["f", "g", "main"]);
        assert!(read.is_at_the_place_of(&at(How::Branch, &["f", "g"])));
        assert!(!read.is_at_the_place_of(&at(How::Branch, &["f", "h"])));
        assert!(!read.is_at_the_place_of(&at(How::Address, &["f", "g"])));
        // What nobody can tell is not taken for the program's own.
        assert!(!read.is_at_the_place_of(&at(How::Branch, &[])));
    }

    const LOG: &str = "\
==7== Conditional jump or move depends on uninitialised value(s)
==7==    at 0x101: sum (t.c:6)
==7==    by 0x201: main (t.c:9)
==7==  Uninitialised value was created by a client request
==7==    at 0x901: note (in /tmp/x/writeonce_audit.so)
==7==    by 0x901: calloc (in /tmp/x/writeonce_audit.so)
==7==    by 0x301: half (t.c:5)
==8== Invalid read of size 1
==8==    at 0x101: sum (t.c:6)
==7==    by 0x401: main (t.c:8)
==7==\x20
==7== Syscall param write(buf) points to uninitialised byte(s)
==7==    at 0x501: write (write.c:26)
==7==  Address 0x4a2 is 0 bytes inside a block of size 9 alloc'd
==7==    at 0x601: malloc (in /usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so)
==7==  Uninitialised value was created by a stack allocation
==7==    at 0x701: f (t.c:1)
==7==
==7== Use of uninitialised value of size 8
==7==    at 0x101: sum (t.c:6)
";

    #[test]
    fn reports_are_read_with_whose_the_byte_was() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("log.7"), LOG).unwrap();
        let site = |key, addresses: &[u64]| (key, Count::default(), addresses.to_vec());
        let account = Account {
            ended: true,
            left_out: 0,
            log_cut: false,
            modules: Vec::new(),
            sites: vec![site(1, &[0x302, 0x999]), site(2, &[0x302, 0x402])],
        };
        let uses = uses(folder.path(), &[account], &mut Symbols::default()).unwrap();
        let found: Vec<_> = uses.iter().map(|read| (read.how.clone(), read.origin)).collect();
        let expected = [
            (How::Branch, Origin::Site(2)),
            (How::SystemCall("write(buf)".to_owned()), Origin::Program),
            (How::Address, Origin::Unknown),
        ];
        assert_eq!(found, expected);
        let places: Vec<_> = uses[0].stack.iter().map(Frame::place).collect();
        assert_eq!(places, ["sum t.c:6", "main t.c:9"]);
        assert_eq!(uses[1].stack.len(), 1);
    }
}
