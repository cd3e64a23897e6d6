//! THE table: which cases run and what their ids mean.
//!
//! Its [pages](Page) `cases/*.txt` hold one id a line and nothing else. They are compiled in here and read by the
//! instruction harness, so there is no second list. The core, a page a fill, is what the gate judges.
//!
//! An id is `fill/strategy/shape`, then `/align64` (or 8, or 4096), `/fresh`, `/touched` where the case differs
//! from the default (alignment 16, recycled heap, untouched), in this order. Segments are `[a-z0-9_]+`. The shape
//! of a `zeroed` case is a size (`10k`); of a `cursor` case a size and how it is cut (`1m_by8`, or `1m`
//! in one piece); of a `mixed` case a [workload](crate::workload::Shape), with `_unaligned` where the
//! format is (`1x165_unaligned`).

pub mod own;
mod page;
mod strategy;
mod work;

use std::collections::BTreeSet;
use std::fmt;

use crate::allocator;
use crate::workload::{self, Shape};

use own::Suite;
pub use page::Page;
pub use strategy::{Strategy, Visitor};
use work::{Align, CANARIES, Cut, Maker, Work, ZEROS};
pub use work::{Prepared, Serializer, serializer};

/// What is done to a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fill {
    /// Ask for zero bytes.
    Zeroed,
    /// Fill uninitialized memory by a write cursor.
    Cursor,
    /// Small writes, bulk copies and zero fills: program parameter serialization.
    Mixed,
    /// Nothing: the cases that show whether counting works at all.
    Canary,
    /// Whatever [a routine of somebody else's](crate::own::OwnRoutine) does.
    Own,
}

impl Fill {
    /// The fills of the table, in the order of its pages.
    pub const ALL: [Self; 3] = [Self::Zeroed, Self::Cursor, Self::Mixed];

    /// The name in ids.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zeroed => "zeroed",
            Self::Cursor => "cursor",
            Self::Mixed => "mixed",
            Self::Canary => "canary",
            Self::Own => "own",
        }
    }
}

/// What the allocator has for a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HeapState {
    /// It hands back a dirty block of the size asked for.
    Recycled,
    /// It hands out new pages of the kernel's.
    Fresh,
}

impl HeapState {
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recycled => "recycled",
            Self::Fresh => "fresh",
        }
    }
}

/// A line of the table.
#[derive(Debug, Clone)]
pub struct Case {
    id: String,
    fill: Fill,
    heap: HeapState,
    work: Work,
}

/// A word that is not the id of a case: which, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdError {
    id: String,
    reason: String,
}

impl fmt::Display for IdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not a case: {}", self.id.escape_debug(), self.reason)
    }
}

impl std::error::Error for IdError {}

impl Case {
    /// Reads an id.
    ///
    /// # Errors
    /// [`IdError`] if it is malformed or names something that does not exist.
    pub fn parse(id: &str) -> Result<Self, IdError> {
        parse(id).map_err(|reason| IdError { id: id.to_owned(), reason })
    }

    /// The id, the join key of every file and report.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What is done to the buffer.
    #[must_use]
    pub fn fill(&self) -> Fill {
        self.fill
    }

    /// The strategy, as the id has it.
    #[must_use]
    pub fn strategy(&self) -> &str {
        self.segments(3)[1]
    }

    /// Shape and what differs from the default, as the id has it: `1m/align64`.
    #[must_use]
    pub fn variant(&self) -> &str {
        self.segments(3)[2]
    }

    /// What differs from the default, as the id has it: `align64/fresh`, or nothing.
    #[must_use]
    pub fn suffix(&self) -> &str {
        self.segments(4).get(3).copied().unwrap_or_default()
    }

    /// The first segments of the id, the last of which is all the rest.
    fn segments(&self, count: usize) -> Vec<&str> {
        self.id.splitn(count, '/').collect()
    }

    /// The heap state that the case is measured in.
    #[must_use]
    pub fn heap(&self) -> HeapState {
        self.heap
    }

    /// Whether the allocator of this process can be brought to that heap state for the case.
    #[must_use]
    pub fn can_be_prepared(&self) -> bool {
        let is_fresh = |from| from as u64 <= self.bytes();
        self.heap == HeapState::Recycled || allocator::fresh_from().is_some_and(is_fresh)
    }

    /// Bytes of the finished buffers: the throughput of a run.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.work.bytes()
    }

    /// Bytes of them that are copied from a source; the others are fixed fields and fills.
    #[must_use]
    pub fn copied(&self) -> u64 {
        self.work.copied()
    }

    /// Whether the case is known to write all of its bytes: not where zero bytes may come from new pages, which the kernel
    /// zeroed.
    #[must_use]
    pub fn writes(&self) -> bool {
        match self.fill {
            Fill::Zeroed => self.heap == HeapState::Recycled,
            Fill::Own => false,
            _ => true,
        }
    }

    /// The series in which the case grows by one size alone: their names, and its size in each.
    #[must_use]
    pub fn series(&self) -> Vec<(String, u64)> {
        let name = |series: String| format!("{}/{}/{series}", self.fill.name(), self.strategy());
        let series = self.work.series();
        series.into_iter().map(|(series, size)| (name(series), size)).collect()
    }

    /// Makes the case ready to run: makes its input, runs it once, checks what it returned against what
    /// it must return, and brings the heap to its state, unless [`allocator::HEAP_AS_IT_IS`] is set.
    ///
    /// # Panics
    /// If the routine returns a wrong checksum, or the heap state cannot be set on this platform.
    #[must_use]
    pub fn prepare(&self) -> Prepared {
        allocator::settle();
        let prepared = self.input();
        let warm = || self.run(&prepared);
        match self.heap {
            HeapState::Fresh if std::env::var_os(allocator::HEAP_AS_IT_IS).is_none() => {
                allocator::freshen(prepared.largest, warm);
            }
            _ => allocator::recycle(prepared.largest, warm),
        }
        prepared
    }

    /// Makes the input of the case and no more: it has not run, and the heap is as it happens to be.
    #[must_use]
    pub fn input(&self) -> Prepared {
        self.work.prepare()
    }

    /// Runs the routine once.
    ///
    /// # Panics
    /// If it returns a wrong checksum.
    pub fn run(&self, prepared: &Prepared) {
        let seen = prepared.run();
        assert_eq!(seen, prepared.expected, "{}: the routine built something else", self.id);
    }
}

/// All cases of the core, in table order.
///
/// # Errors
/// As [`picture`].
pub fn all() -> Result<Vec<Case>, IdError> {
    Ok(read(Page::core())?.into_iter().flat_map(|(_, cases)| cases).collect())
}

/// The cases of all pages that this build can measure, in table order: the core, then what is beside it.
///
/// # Errors
/// [`IdError`] at the first line of a page that is not an id of its fill, or is in the table twice.
pub fn picture() -> Result<Vec<(Page, Vec<Case>)>, IdError> {
    read(&Page::built())
}

fn read(pages: &[Page]) -> Result<Vec<(Page, Vec<Case>)>, IdError> {
    let mut ids = BTreeSet::new();
    let mut table = Vec::new();
    for &page in pages {
        let mut cases = Vec::new();
        for (index, line) in page.text().split_terminator('\n').enumerate() {
            let place = match page {
                Page::Own => format!("line {} of the table", index + 1),
                _ => format!("src/cases/{}.txt:{}", page.name(), index + 1),
            };
            let wrong = |reason: String| IdError {
                id: line.to_owned(),
                reason: format!("{reason} ({place})"),
            };
            let case = parse(line).map_err(wrong)?;
            if let Some(fill) = page.fill()
                && case.fill != fill
            {
                return Err(wrong(format!("the fill of this page is {}", fill.name())));
            }
            if !ids.insert(line) {
                return Err(wrong("it is in the table twice".to_owned()));
            }
            cases.push(case);
        }
        table.push((page, cases));
    }
    Ok(table)
}

fn parse(id: &str) -> Result<Case, String> {
    let segments: Vec<_> = id.split('/').collect();
    let word = |segment: &str| {
        let allowed = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_';
        !segment.is_empty() && segment.bytes().all(allowed)
    };
    if let Some(bad) = segments.iter().find(|segment| !word(segment)) {
        return Err(format!("the segment '{}' is not [a-z0-9_]+", bad.escape_debug()));
    }
    let [fill, strategy, shape, suffixes @ ..] = &segments[..] else {
        return Err("an id is fill/strategy/shape".to_owned());
    };
    let mut rest = suffixes.iter().peekable();
    let mut has = |suffix: &str| rest.next_if(|segment| **segment == suffix).is_some();
    let align = Align::OTHERS.into_iter().find(|align| has(&align.suffix()));
    let (fresh, touched) = (has("fresh"), has("touched"));
    if let Some(unexpected) = rest.next() {
        let aligns = Align::OTHERS.map(Align::suffix).join(", ");
        return Err(format!(
            "'{unexpected}' is not one of {aligns}, fresh, touched, in this order"
        ));
    }
    let fill = Fill::ALL
        .into_iter()
        .chain([Fill::Canary, Fill::Own])
        .find(|known| known.name() == *fill)
        .ok_or_else(|| format!("there is no fill '{fill}'"))?;
    if fill != Fill::Zeroed && touched {
        return Err("touched is for the zeroed fill".to_owned());
    }
    if fill != Fill::Zeroed && fill != Fill::Mixed && align.is_some() {
        return Err("alignments are for the zeroed and the mixed fill".to_owned());
    }
    let align = align.unwrap_or(Align::DEFAULT);

    let no_shape = || format!("there is no {} shape '{shape}'", fill.name());
    let no_strategy = || format!("there is no {} strategy '{strategy}'", fill.name());
    let not_aligned = || format!("{} at alignment {}", no_strategy(), align.bytes());
    let maker = || {
        let known = Strategy::with_peers().find(|known| known.name() == *strategy);
        match (known, Suite::buffer(strategy)) {
            (Some(known), None) => Ok(Maker::Known(known)),
            (None, Some(own)) => Ok(Maker::Own(own)),
            (Some(_), Some(_)) => Err(format!(
                "'{strategy}' is a strategy of writeonce's too; give the buffer another name"
            )),
            (None, None) => Err(no_strategy()),
        }
    };
    let source_len = |name: &str| workload::size(name).filter(|&len| len <= workload::MAX_SOURCE);
    let (work, len) = match fill {
        Fill::Zeroed => {
            let zeros = ZEROS
                .iter()
                .find(|zeros| zeros.strategy == *strategy && zeros.align == align)
                .ok_or_else(not_aligned)?;
            let len = source_len(shape).ok_or_else(no_shape)?;
            let routine = if touched { zeros.touched } else { zeros.untouched };
            (Work::Zeroed { routine, len }, len)
        }
        Fill::Cursor => {
            let (len, cut) = match shape.split_once("_by") {
                Some((len, "1")) => (len, Cut::By1),
                Some((len, "8")) => (len, Cut::By8),
                Some((len, "64")) => (len, Cut::By64),
                Some((len, "4k")) => (len, Cut::By4k),
                Some(_) => return Err(no_shape()),
                None => (*shape, Cut::Whole),
            };
            let len = source_len(len).ok_or_else(no_shape)?;
            (Work::Cursor { maker: maker()?, len, cut }, len)
        }
        Fill::Mixed => {
            let (name, aligned) = match shape.strip_suffix("_unaligned") {
                Some(name) => (name, false),
                None => (*shape, true),
            };
            let shape = Shape::parse(name).ok_or_else(no_shape)?;
            // The least that an instruction takes: an aligned one has room to grow for each account.
            let len = if aligned { 10_240 } else { 0 };
            let maker = maker()?;
            if align != Align::DEFAULT && maker.align(align.bytes()) != align.bytes() {
                return Err(not_aligned());
            }
            (Work::Mixed { maker, shape, aligned, align }, len)
        }
        Fill::Canary => {
            let find = |(name, _): &&(&str, _)| name == strategy;
            let (_, make) = CANARIES.iter().find(find).ok_or_else(no_strategy)?;
            let size = source_len(shape).ok_or_else(no_shape)?;
            (Work::Canary { make: *make, size }, 0)
        }
        Fill::Own => {
            let routine = Suite::routine(strategy).ok_or_else(no_strategy)?;
            let size = source_len(shape).ok_or_else(no_shape)?;
            (Work::Own { routine, size }, size)
        }
    };
    if fresh && (fill == Fill::Canary || len < allocator::FRESH_FROM) {
        return Err(format!("fresh begins at {} bytes", allocator::FRESH_FROM));
    }
    Ok(Case {
        id: id.to_owned(),
        fill,
        heap: if fresh { HeapState::Fresh } else { HeapState::Recycled },
        work,
    })
}

/// Makes the case of that id ready and keeps it for good: the set-up of the instruction harness, where
/// an owned argument would be dropped inside the count.
///
/// # Panics
/// If there is no such case, or [`Case::prepare`] does.
#[must_use]
pub fn prepare(id: String) -> &'static Prepared {
    let case = Case::parse(&id).unwrap_or_else(|error| panic!("{error}"));
    Box::leak(Box::new(case.prepare()))
}

#[cfg(test)]
mod tests;
