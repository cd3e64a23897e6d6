//! The pages of the table.

use super::own::Suite;
use super::{Fill, Strategy};

/// A page of the table: a file of ids, and the bench target that counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// The `zeroed` fill.
    Zeroed,
    /// The `cursor` fill.
    Cursor,
    /// The `mixed` fill.
    Mixed,
    /// The cases that show whether counting works at all. They are counted in every run, beside the others.
    Canary,
    /// Fills at other alignments.
    Alignment,
    /// The `mixed` fill by published buffers.
    Peers,
    /// The table of [a suite of somebody else's](Suite), whole.
    Own,
}

impl Page {
    /// The core: what the gate judges and a baseline holds. A page is a fill there, but for [a suite of somebody
    /// else's](Suite), which is one page.
    #[must_use]
    pub fn core() -> &'static [Self] {
        if Suite::installed().is_some() {
            &[Self::Own]
        } else {
            &[Self::Zeroed, Self::Cursor, Self::Mixed]
        }
    }

    /// What is measured and reported beside the core.
    #[must_use]
    pub fn beside() -> &'static [Self] {
        if Suite::installed().is_some() { &[] } else { &[Self::Alignment, Self::Peers] }
    }

    /// All that is measured and reported: the core, then what is beside it.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::core().iter().chain(Self::beside()).copied()
    }

    /// The pages that this build can measure, in that order.
    #[must_use]
    pub fn built() -> Vec<Self> {
        Self::all().filter(|page| page.is_built()).collect()
    }

    /// The name of the file, and in the name of the bench target.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zeroed => Fill::Zeroed.name(),
            Self::Cursor => Fill::Cursor.name(),
            Self::Mixed => Fill::Mixed.name(),
            Self::Canary => Fill::Canary.name(),
            Self::Alignment => "alignment",
            Self::Peers => "peers",
            Self::Own => Fill::Own.name(),
        }
    }

    /// The ids, one a line.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Zeroed => include_str!("zeroed.txt"),
            Self::Cursor => include_str!("cursor.txt"),
            Self::Mixed => include_str!("mixed.txt"),
            Self::Canary => include_str!("canary.txt"),
            Self::Alignment => include_str!("alignment.txt"),
            Self::Peers => include_str!("peers.txt"),
            Self::Own => Suite::installed().map_or("", |suite| suite.table),
        }
    }

    /// The feature that its strategies need, if they need one.
    #[must_use]
    pub const fn feature(self) -> Option<&'static str> {
        match self {
            Self::Peers => Some("peers"),
            _ => None,
        }
    }

    /// Whether this build has the feature that the page needs.
    #[must_use]
    pub const fn is_built(self) -> bool {
        self.feature().is_none() || cfg!(feature = "peers")
    }

    /// The page, and the strategies on it, that its cases are compared with in reports.
    #[must_use]
    pub const fn references(self) -> Option<(Self, &'static [Strategy])> {
        match self {
            Self::Peers => Some((Self::Mixed, &[Strategy::AlignedMemory, Strategy::Floor])),
            _ => None,
        }
    }

    /// Whether the tables of this page have the case of that id: one of its own, or one that those are compared with.
    #[must_use]
    pub fn shows(self, id: &str) -> bool {
        let stands_on = |page: Self| page.text().lines().any(|line| line == id);
        let is_reference = |(page, strategies): (Self, &[Strategy])| {
            let strategy = id.split('/').nth(1).unwrap_or_default();
            strategies.iter().any(|other| other.name() == strategy) && stands_on(page)
        };
        stands_on(self) || self.references().is_some_and(is_reference)
    }

    /// The fill of all its cases, where there is only one.
    #[must_use]
    pub const fn fill(self) -> Option<Fill> {
        match self {
            Self::Zeroed => Some(Fill::Zeroed),
            Self::Cursor => Some(Fill::Cursor),
            Self::Mixed | Self::Peers => Some(Fill::Mixed),
            Self::Canary => Some(Fill::Canary),
            Self::Alignment | Self::Own => None,
        }
    }
}
