//! Reading the accounts and logs that the preloaded library leaves.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::format::{self, KEPT_WORDS, MAGIC, MODULES, RAGGED, header, module, site};
use crate::failure::Failure;

/// What was counted at a site, in bytes where not said otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// One of [`format::kind`].
    pub(crate) kind: u64,
    /// Number of zeroings.
    pub(crate) calls: u64,
    pub(crate) zeroed: u64,
    pub(crate) marked: u64,
    pub(crate) overwritten: u64,
    pub(crate) kept: u64,
    /// Number of zeroings that did not fit their mask.
    pub(crate) changed: u64,
}

impl Count {
    /// Marked bytes of which nothing is known: a process ended without a word, or memcheck could not say.
    pub(crate) fn unaccounted(&self) -> u64 {
        self.marked.saturating_sub(self.overwritten + self.kept)
    }
}

/// A module of a process.
#[derive(Debug, Clone)]
pub(crate) struct Module {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) base: u64,
    pub(crate) path: PathBuf,
}

/// What one process left.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) ended: bool,
    pub(crate) left_out: u64,
    pub(crate) log_cut: bool,
    pub(crate) modules: Vec<Module>,
    /// Key, counts and return addresses of each site.
    pub(crate) sites: Vec<(u64, Count, Vec<u64>)>,
}

impl Account {
    /// The module that an address lies in.
    pub(crate) fn module(&self, address: u64) -> Option<&Module> {
        self.modules.iter().find(|module| (module.start..module.end).contains(&address))
    }
}

/// The kept ranges of each zeroing that has any: by site and ordinal, the length of the zeroing and the ranges (start,
/// length); no range stands for too many.
pub(crate) type Kept = BTreeMap<(u64, u64), (u64, Vec<[u64; 2]>)>;

fn words(path: &Path) -> Result<Vec<u64>, Failure> {
    let bytes = fs::read(path).map_err(|error| Failure::at(path, error))?;
    Ok(bytes
        .chunks_exact(8)
        .map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()))
        .collect())
}

/// Files in `folder` whose name begins with `name`, in order.
pub(crate) fn files(folder: &Path, name: &str) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(folder).map_err(|error| Failure::at(folder, error))?;
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(name))
        })
        .collect();
    files.sort();
    Ok(files)
}

/// Reads the accounts in `folder`.
pub(crate) fn accounts(folder: &Path) -> Result<Vec<Account>, Failure> {
    files(folder, "account.")?.iter().map(|path| account(path)).collect()
}

fn account(path: &Path) -> Result<Account, Failure> {
    let words = words(path)?;
    if words.len() * 8 < format::ACCOUNT_BYTES || words[header::MAGIC] != MAGIC {
        return Err(Failure::at(path, "it is not a whole account; is the disk full?"));
    }
    let modules = words[header::WORDS..]
        .chunks_exact(module::WORDS)
        .take(words[header::MODULES].min(MODULES as u64) as usize)
        .map(|words| {
            let bytes: Vec<u8> =
                words[module::HEAD..].iter().flat_map(|word| word.to_ne_bytes()).collect();
            let path = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
            Module {
                start: words[module::START],
                end: words[module::END],
                base: words[module::BASE],
                path: PathBuf::from(OsStr::from_bytes(path)),
            }
        })
        .collect();
    let sites = words[header::WORDS + MODULES * module::WORDS..]
        .chunks_exact(site::WORDS)
        .take(words[header::SITES] as usize)
        .map(|words| {
            let count = Count {
                kind: words[site::KIND],
                calls: words[site::CALLS],
                zeroed: words[site::ZEROED],
                marked: words[site::MARKED],
                overwritten: words[site::OVERWRITTEN],
                kept: words[site::KEPT],
                changed: words[site::CHANGED],
            };
            let frames = (words[site::FRAMES] as usize).min(format::FRAMES);
            (words[site::KEY], count, words[site::ADDRESSES..][..frames].to_vec())
        })
        .collect();
    Ok(Account {
        ended: words[header::ENDED] != 0,
        left_out: words[header::LEFT_OUT],
        log_cut: words[header::LOG_CUT] != 0,
        modules,
        sites,
    })
}

/// Reads the logs of kept ranges in `folder`.
pub(crate) fn kept(folder: &Path) -> Result<Kept, Failure> {
    let mut kept = Kept::new();
    for path in files(folder, "kept.")? {
        for range in words(&path)?.chunks_exact(KEPT_WORDS) {
            let &[site, ordinal, length, start, count] = range else { continue };
            let entry = kept.entry((site, ordinal)).or_insert_with(|| (length, Vec::new()));
            // Two processes that zeroed otherwise at the same site cannot share a mask either.
            if start == RAGGED || entry.0 != length {
                entry.0 = RAGGED;
            }
            entry.1.push([start, count]);
        }
    }
    for (length, ranges) in kept.values_mut() {
        ranges.sort_unstable();
        if *length == RAGGED {
            ranges.clear();
        }
    }
    Ok(kept)
}
