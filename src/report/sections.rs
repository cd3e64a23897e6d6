//! What stands in one table: the cases of a page and fill, shape by shape.

use crate::cases::{Case, Fill, Page, Strategy};
use crate::own::Suite;
use crate::routine::ALIGN;

/// The alignment of buffers whose shape says nothing of it, for the title of a table with these strategies: published
/// vectors have their own.
pub(super) fn alignment<'a>(strategies: impl Iterator<Item = &'a str>) -> String {
    let mut own = Vec::new();
    for name in strategies {
        let known = || Strategy::with_peers().find(|known| known.name() == name);
        let align = match Suite::buffer(name) {
            Some(buffer) => buffer.align,
            None => known().map_or(ALIGN, |known| known.align(ALIGN)),
        };
        let said = format!("{name}: {align}");
        if align != ALIGN && !own.contains(&said) {
            own.push(said);
        }
    }
    let own = if own.is_empty() { String::new() } else { format!(" ({})", own.join(", ")) };
    format!("alignment {ALIGN}{own}")
}

/// The cases of one table.
#[derive(Debug)]
pub(super) struct Section<'a> {
    /// The page that it is of.
    pub(super) page: Page,
    /// What all its cases do to a buffer.
    pub(super) fill: Fill,
    /// The cases of each shape, behind them those that they are compared with.
    pub(super) shapes: Vec<Vec<&'a Case>>,
    /// How many of all these are of the page.
    own: usize,
}

impl Section<'_> {
    /// The alignment of its buffers.
    pub(super) fn alignment(&self) -> String {
        if self.fill == Fill::Own {
            return "blocks as its routines take them".to_owned();
        }
        alignment(self.shapes.iter().flatten().map(|case| case.strategy()))
    }

    /// Page, fill and number of cases.
    pub(super) fn title(&self) -> String {
        let page = self.page.name();
        match self.fill.name() {
            fill if fill != page && self.page.fill().is_none() => {
                format!("{page}, {fill} ({} cases)", self.own)
            }
            _ => format!("{page} ({} cases)", self.own),
        }
    }
}

/// The tables of a report: one a page and fill, in table order.
pub(super) fn sections(picture: &[(Page, Vec<Case>)]) -> impl Iterator<Item = Section<'_>> {
    picture.iter().flat_map(move |(page, cases)| {
        let references = references(*page, picture);
        let fills = cases.chunk_by(|a, b| a.fill() == b.fill());
        fills.map(move |own| section(*page, own, &references))
    })
}

/// The table of the cases `own`, which are all of one fill.
fn section<'a>(page: Page, own: &'a [Case], references: &[&'a Case]) -> Section<'a> {
    let mut shapes = Vec::new();
    for shape in own.chunk_by(|a, b| a.variant() == b.variant()) {
        let same_shape = |case: &&Case| case.variant() == shape[0].variant();
        shapes.push(shape.iter().chain(references.iter().copied().filter(same_shape)).collect());
    }
    Section { page, fill: own[0].fill(), shapes, own: own.len() }
}

/// The cases that those of a page are compared with.
fn references(page: Page, picture: &[(Page, Vec<Case>)]) -> Vec<&Case> {
    let Some((on, strategies)) = page.references() else { return Vec::new() };
    let is_reference =
        |case: &&Case| strategies.iter().any(|strategy| strategy.name() == case.strategy());
    let pages = picture.iter().filter(|(page, _)| *page == on);
    pages.flat_map(|(_, cases)| cases).filter(is_reference).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_vectors_have_an_alignment_of_their_own() {
        assert_eq!(alignment(["floor", "memset"].into_iter()), "alignment 16");
        let vectors = alignment(["vec", "floor", "bytes_mut", "vec", "avec"].into_iter());
        let own = if cfg!(feature = "peers") { " (vec: 1, bytes_mut: 1)" } else { "" };
        assert_eq!(vectors, format!("alignment 16{own}"));
    }

    #[test]
    fn peers_stand_beside_aligned_memory_and_the_floor_of_the_mixed_page() {
        let parse = |ids: &[&str]| ids.iter().map(|id| Case::parse(id).unwrap()).collect();
        let mixed = ["mixed/uninit/1x82", "mixed/aligned_memory/1x82", "mixed/floor/1x82"];
        let alignment = ["zeroed/alloc_zeroed/1k/align8", "mixed/uninit/1x165/align8"];
        let picture = [
            (Page::Mixed, parse(&mixed)),
            (Page::Alignment, parse(&alignment)),
            // Whatever stands on that page: this build may know no peer.
            (Page::Peers, parse(&["mixed/memset/1x82", "mixed/memset/1x165"])),
        ];
        let sections: Vec<_> = sections(&picture).collect();
        let titles: Vec<_> = sections.iter().map(Section::title).collect();
        let fills = ["alignment, zeroed (1 cases)", "alignment, mixed (1 cases)"];
        assert_eq!(titles, ["mixed (3 cases)", fills[0], fills[1], "peers (2 cases)"]);
        let ids = |shape: &Vec<&Case>| shape.iter().map(|case| case.id().to_owned()).collect();
        let peers: Vec<Vec<_>> = sections[3].shapes.iter().map(ids).collect();
        assert_eq!(
            peers,
            [vec!["mixed/memset/1x82", mixed[1], mixed[2]], vec!["mixed/memset/1x165"]]
        );
    }
}
