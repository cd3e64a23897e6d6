//! What an audit says of each site.

use std::process::ExitStatus;

use super::format::kind;
use super::prove::{Findings, Known};
use super::run::Pass;
use super::symbols::{Frame, Symbols};
use super::uses::How;
use super::verify::Verified;

/// What the zeroing at a site was good for, in this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Every byte was overwritten before anybody needed its zero.
    Superfluous,
    /// A part of the bytes was overwritten before anybody needed its zero.
    Mostly,
    /// Bytes were overwritten, but no run showed that nobody needed their zeros before.
    Unproven,
    /// The program's behaviour depended on zeros that it did not overwrite, or before it did.
    Needed,
    /// Never overwritten and never seen read: calloc is right.
    Kept,
}

impl Verdict {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Superfluous => "superfluous",
            Self::Mostly => "mostly",
            Self::Unproven => "unproven",
            Self::Needed => "needed",
            Self::Kept => "kept",
        }
    }
}

/// A place where the program's behaviour depended on a zero.
#[derive(Debug, Clone)]
pub struct Read {
    /// How.
    pub how: How,
    /// The stack, the innermost frame first.
    pub stack: Vec<Frame>,
}

impl Read {
    /// The frame that the place is named after.
    #[must_use]
    pub fn frame(&self) -> Option<&Frame> {
        own(&self.stack)
    }
}

/// A site and what became of the bytes that were zeroed there; in bytes where not said otherwise.
#[derive(Debug, Clone)]
pub struct Site {
    /// Known by this in every run.
    pub(crate) key: u64,
    /// What the zeroing was good for.
    pub verdict: Verdict,
    /// Zeroed by the allocator, by calloc; otherwise by memset.
    pub by_calloc: bool,
    /// Number of zeroings.
    pub calls: u64,
    /// Bytes zeroed.
    pub zeroed: u64,
    /// Bytes overwritten before the block ended.
    pub overwritten: u64,
    /// Bytes still as they were zeroed when the block ended.
    pub kept: u64,
    /// Bytes of which nothing is known, because a process ended without a word.
    pub unaccounted: u64,
    /// Bytes zeroed for nothing.
    pub wasted: u64,
    /// Some of what counts as kept may have been overwritten by copies of other zeros.
    pub may_hide_copies: bool,
    /// Where zeros were needed.
    pub reads: Vec<Read>,
    /// The stack, the innermost frame first, inlined ones too.
    pub stack: Vec<Frame>,
}

impl Site {
    /// The frame that the site is named after.
    #[must_use]
    pub fn frame(&self) -> Option<&Frame> {
        own(&self.stack)
    }

    /// Whether some frame's `function file:line` contains `pattern`.
    #[must_use]
    pub fn matches(&self, pattern: &str) -> bool {
        self.stack.iter().any(|frame| frame.place().contains(pattern))
    }

    /// What to do about it; nothing where the zeroing is right.
    #[must_use]
    pub fn suggestion(&self) -> Option<String> {
        let library = self.stack.iter().take_while(|frame| frame.library);
        let through = |part: &str| library.clone().any(|frame| frame.function.contains(part));
        match self.verdict {
            Verdict::Superfluous if through("from_elem") || through("alloc_zeroed") => Some(
                "take capacity only, unless it is handed out before it is written: `Vec::with_capacity` and `extend_from_slice`; to \
                 read into it, `take(n).read_to_end` or `spare_capacity_mut`"
                    .to_owned(),
            ),
            Verdict::Superfluous if through("extend_with") || through("resize") => Some(
                "no `resize`: `extend_from_slice`, or `reserve` and write `spare_capacity_mut`".to_owned(),
            ),
            Verdict::Superfluous if through("std::") || through("operator new") => Some(
                "construct without a value: `reserve` and `insert`, `make_unique_for_overwrite`, `new char[n]`".to_owned(),
            ),
            Verdict::Superfluous if self.by_calloc => {
                Some("malloc instead of calloc; in Rust `MaybeUninit` or capacity only".to_owned())
            }
            Verdict::Superfluous => Some("leave the memset out, unless others may see the memory before".to_owned()),
            Verdict::Mostly => Some(format!(
                "zero only what is not written: {} of {} bytes a call on average",
                self.kept.div_ceil(self.calls.max(1)),
                self.zeroed.div_ceil(self.calls.max(1)),
            )),
            Verdict::Unproven => Some("more runs may prove it: --runs".to_owned()),
            Verdict::Needed | Verdict::Kept if !self.by_calloc && through("alloc_zeroed") => {
                Some("calloc instead of malloc and memset: new pages are zero already".to_owned())
            }
            Verdict::Needed | Verdict::Kept => None,
        }
    }
}

/// The innermost frame that is not the language's or the system's; the innermost if all are.
fn own(stack: &[Frame]) -> Option<&Frame> {
    stack.iter().find(|frame| !frame.library).or_else(|| stack.first())
}

/// The outcome of an audit.
#[derive(Debug)]
pub struct Audit {
    /// How the program ended.
    pub status: ExitStatus,
    /// How often it was run.
    pub runs: usize,
    /// A later run was another one, so that it proves nothing.
    pub differs: bool,
    /// Number of processes that were followed.
    pub processes: usize,
    /// Number of those that ended without a word: killed, or by a system call.
    pub unfinished: usize,
    /// Number of zeroings that were left alone because there were too many sites or blocks.
    pub left_out: u64,
    /// Number of reports about memory that the program itself never initialized.
    pub own_reads: usize,
    /// The sites, those that waste most first.
    pub sites: Vec<Site>,
    /// What a run with garbage showed, if one was asked for.
    pub verified: Option<Verified>,
}

fn verdict(known: &Known) -> Verdict {
    let count = &known.exact;
    let whole = count.kept == 0 && count.unaccounted() == 0;
    let read = !known.reads.is_empty();
    match (count.overwritten > 0, whole) {
        (true, true) if read => Verdict::Needed,
        (true, _) if known.read_before_overwritten => Verdict::Needed,
        (true, _) if !known.proven => Verdict::Unproven,
        (true, true) => Verdict::Superfluous,
        (true, false) => Verdict::Mostly,
        (false, _) if read => Verdict::Needed,
        (false, _) => Verdict::Kept,
    }
}

/// The sites with their names and verdicts, those that waste most first.
pub(crate) fn sites(findings: &Findings, survey: &Pass, symbols: &mut Symbols) -> Vec<Site> {
    let mut sites: Vec<_> = findings
        .known
        .iter()
        .map(|(&key, known)| {
            let verdict = verdict(known);
            let count = known.exact;
            let wasted = match verdict {
                Verdict::Superfluous | Verdict::Mostly => count.overwritten,
                Verdict::Unproven | Verdict::Needed | Verdict::Kept => 0,
            };
            let read =
                |read: &super::uses::Use| Read { how: read.how.clone(), stack: read.stack.clone() };
            Site {
                key,
                verdict,
                by_calloc: count.kind == kind::CALLOC,
                calls: count.calls,
                zeroed: count.zeroed,
                overwritten: count.overwritten,
                kept: count.kept,
                unaccounted: count.unaccounted(),
                wasted,
                may_hide_copies: known.may_hide_copies,
                reads: known.reads.iter().map(read).collect(),
                stack: stack(key, survey, symbols),
            }
        })
        .collect();
    sites.sort_by(|a, b| (b.wasted, b.zeroed, &name(a)).cmp(&(a.wasted, a.zeroed, &name(b))));
    sites
}

fn name(site: &Site) -> String {
    site.stack.iter().map(Frame::place).collect()
}

fn stack(key: u64, survey: &Pass, symbols: &mut Symbols) -> Vec<Frame> {
    let found = survey.accounts.iter().find_map(|account| {
        let (_, _, addresses) = account.sites.iter().find(|(site, _, _)| *site == key)?;
        Some((account, addresses))
    });
    let Some((account, addresses)) = found else { return Vec::new() };
    let frames = addresses.iter().flat_map(|&after| match account.module(after - 1) {
        Some(module) => symbols.frames(&module.path, (after - 1).wrapping_sub(module.base)),
        None => Vec::new(),
    });
    let mut stack: Vec<Frame> = frames.collect();
    // Below the start of a program in Rust, `main` is the language's.
    if let Some(start) =
        stack.iter().position(|frame| frame.function.starts_with("std::rt::lang_start"))
    {
        stack[start..].iter_mut().for_each(|frame| frame.library = true);
    }
    stack
}
