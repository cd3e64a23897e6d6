//! `bench` and `report`.

use std::path::Path;

use writeonce::allocator::Allocator;
use writeonce::baseline::{Baseline, write_whole};
use writeonce::cases::{Fill, Page};
use writeonce::failure::Failure;
use writeonce::footprint::{BESIDE, RSS};
use writeonce::lens::footprint::Footprint;
use writeonce::lens::paired::Paired;
use writeonce::lens::wall_clock::{self, Times};
use writeonce::lens::{self, amplification};
use writeonce::{gate, last, report};

use super::{
    Picture, baselines, count, last_counts, last_counts_beside, last_footprint, last_paired,
    last_path, print, ready, root,
};
use crate::{Counting, NOT_OK, OK};

pub(crate) fn bench(picture: &Picture, full: bool, counting: &Counting) -> Result<u8, Failure> {
    let root = root()?;
    let environment = ready(&root, counting)?;
    let times = wall_clock::measure(&root, !full)?;
    last::write(&last_path(&root, WALL_CLOCK)?, &times.to_text())?;
    let mut pages: Vec<_> = picture.iter().map(|(page, _)| *page).collect();
    let table: Vec<_> = picture.iter().flat_map(|(_, cases)| cases.clone()).collect();
    count(&root, &table, &pages, environment, counting)?;
    for &allocator in Allocator::ALL {
        let footprint = lens::footprint::measure(&root, allocator, "", &[RSS, BESIDE])?;
        last::write(&last_footprint(&root, allocator)?, &footprint.to_text())?;
    }
    // DHAT is slow: it is run for pages that serialize.
    pages.retain(|page| page.fill().is_none_or(|fill| fill == Fill::Mixed));
    let written = amplification::measure(&root, &pages)?;
    last::write(&last_path(&root, AMPLIFICATION)?, &amplification::to_text(&written))?;
    let timed = super::time_all()?;
    if timed != OK {
        return Ok(timed);
    }
    self::report(picture)
}

const WALL_CLOCK: &str = "wall_clock";
const AMPLIFICATION: &str = "amplification";

pub(crate) fn report(picture: &Picture) -> Result<u8, Failure> {
    let root = root()?;
    let mut counts: Vec<report::Counts> = Vec::new();
    let core = (Page::CORE.to_vec(), last_counts(&root)?);
    let beside = Page::BESIDE.map(|page| Ok((vec![page], last_counts_beside(&root, page)?)));
    for file in [Ok(core)].into_iter().chain(beside) {
        let (pages, path) = file?;
        counts.extend(last::read(&path, Baseline::parse)?.map(|counts| (pages, counts)));
    }
    let times = last::read(&last_path(&root, WALL_CLOCK)?, Times::parse)?;
    let (mut footprints, mut in_turns) = (Vec::new(), String::new());
    for &allocator in Allocator::ALL {
        footprints.extend(last::read(&last_footprint(&root, allocator)?, Footprint::parse)?);
        let timed = last::read(&last_paired(&root, allocator)?, Paired::parse)?;
        in_turns += &timed.as_ref().map(report::paired).unwrap_or_default();
    }
    let written = last::read(&last_path(&root, AMPLIFICATION)?, amplification::from_text)?;
    let text = [
        report::tables(picture, &counts, times.as_ref()),
        written.map_or_else(String::new, |written| report::amplification(picture, &written)),
        report::footprints(picture, &footprints),
        in_turns,
    ]
    .concat();
    if text.is_empty() {
        return Err(Failure::new("nothing has been measured yet; run ci/bench"));
    }
    print(&text)?;
    Ok(OK)
}

pub(crate) fn splice(file: &Path, check: bool) -> Result<u8, Failure> {
    let folder = baselines(&root()?);
    let (_, baseline) = Baseline::read_all(&folder)?
        .into_iter()
        .next()
        .ok_or_else(|| Failure::at(&folder, format!("no baseline; run `{}`", gate::RECORD)))?;
    let old = std::fs::read_to_string(file).map_err(|error| Failure::at(file, error))?;
    let new = report::splice(&old, &report::readme_section(&baseline))
        .map_err(|reason| Failure::at(file, reason))?;
    if new == old {
        return Ok(OK);
    }
    if check {
        print(&format!("{}: its results are not those of the baseline\n", file.display()))?;
        return Ok(NOT_OK);
    }
    write_whole(file, &new)?;
    Ok(OK)
}
