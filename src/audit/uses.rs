//! Where the program's behaviour depended on a zeroed byte: memcheck's reports, and the site that each is about.

use std::fs;
use std::path::Path;

use roxmltree::{Document, Node};

use super::account::{Account, files};
use super::symbols::{Frame, Symbols};
use crate::failure::Failure;

/// The file name of the preloaded library.
pub(crate) const LIBRARY: &str = "writeonce_audit.so";

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

/// Reads the reports in `folder`. A process that was killed leaves its file unfinished: reports are read one by one.
pub(crate) fn uses(
    folder: &Path,
    accounts: &[Account],
    symbols: &mut Symbols,
) -> Result<Vec<Use>, Failure> {
    let mut uses = Vec::new();
    for path in files(folder, "errors.")? {
        let bytes = fs::read(&path).map_err(|error| Failure::at(&path, error))?;
        let text = String::from_utf8_lossy(&bytes);
        for part in text.split("<error>").skip(1) {
            let Some((part, _)) = part.split_once("</error>") else { continue };
            let whole = format!("<error>{part}</error>");
            let Ok(document) = Document::parse(&whole) else { continue };
            uses.extend(read(document.root_element(), accounts, symbols));
        }
    }
    Ok(uses)
}

fn text<'a>(node: Node<'a, 'a>, name: &str) -> Option<&'a str> {
    node.children().find(|child| child.has_tag_name(name))?.text()
}

fn read(error: Node<'_, '_>, accounts: &[Account], symbols: &mut Symbols) -> Option<Use> {
    let how = match text(error, "kind")? {
        "UninitCondition" => How::Branch,
        "UninitValue" => How::Address,
        "SyscallParam" => {
            let what = text(error, "what").unwrap_or_default();
            // "Syscall param write(buf) points to uninitialised byte(s)"
            if !what.contains("uninitialised") {
                return None;
            }
            How::SystemCall(what.split_whitespace().nth(2).unwrap_or("?").to_owned())
        }
        _ => return None,
    };
    let mut stacks = Vec::new();
    let mut created = None;
    for child in error.children() {
        if child.has_tag_name("stack") {
            stacks.push((created.take(), child));
        } else if child.has_tag_name("auxwhat") {
            let what = child.text().unwrap_or_default();
            created = what.contains("was created by").then_some(what);
        }
    }
    let origin = match stacks.iter().find_map(|(created, stack)| Some((created.as_ref()?, *stack)))
    {
        Some((what, stack)) if what.contains("client request") => site(stack, accounts),
        Some(_) => Origin::Program,
        None => Origin::Unknown,
    };
    let stack = stacks.iter().find(|(created, _)| created.is_none());
    let frames = |stack: Node<'_, '_>, symbols: &mut Symbols| -> Vec<Frame> {
        addresses(stack)
            .flat_map(|(frame, address)| named(frame, address, accounts, symbols))
            .collect()
    };
    let mut stack = stack.map_or_else(Vec::new, |(_, stack)| frames(*stack, symbols));
    // What is given to free or realloc is used by whoever stands before them.
    let stands_before = |frame: &Frame| {
        let module = frame.module.file_name().unwrap_or_default().to_string_lossy();
        module == LIBRARY || module.starts_with("vgpreload_")
    };
    stack.retain(|frame| !stands_before(frame));
    Some(Use { how, origin, stack })
}

fn addresses<'a>(stack: Node<'a, 'a>) -> impl Iterator<Item = (Node<'a, 'a>, u64)> {
    stack.children().filter(|child| child.has_tag_name("frame")).filter_map(|frame| {
        let address = text(frame, "ip")?.strip_prefix("0x")?;
        Some((frame, u64::from_str_radix(address, 16).ok()?))
    })
}

/// The site whose stack this is: below the library's own frames the addresses are those of its calls.
fn site<'a>(stack: Node<'a, 'a>, accounts: &[Account]) -> Origin {
    let is_ours =
        |frame: Node<'_, '_>| text(frame, "obj").is_some_and(|object| object.ends_with(LIBRARY));
    let mut frames = addresses(stack).peekable();
    if !frames.peek().is_some_and(|(frame, _)| is_ours(*frame)) {
        return Origin::Program;
    }
    let calls: Vec<_> =
        frames.skip_while(|(frame, _)| is_ours(*frame)).map(|(_, address)| address).collect();
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
fn named(
    frame: Node<'_, '_>,
    address: u64,
    accounts: &[Account],
    symbols: &mut Symbols,
) -> Vec<Frame> {
    let module = accounts.iter().find_map(|account| account.module(address));
    let frames =
        module.map(|module| symbols.frames(&module.path, address.wrapping_sub(module.base)));
    frames.filter(|frames| !frames.is_empty()).unwrap_or_else(|| {
        let module = text(frame, "obj").unwrap_or_default();
        let file = text(frame, "file").map(|file| match text(frame, "dir") {
            Some(folder) => format!("{folder}/{file}"),
            None => file.to_owned(),
        });
        let line = text(frame, "line").and_then(|line| line.parse().ok());
        let function = text(frame, "fn").unwrap_or("?").to_owned();
        vec![Frame::new(function, file, line, Path::new(module))]
    })
}
