//! `bench` and `report`.

use std::path::{Path, PathBuf};

use writeonce::allocator::Allocator;
use writeonce::baseline::{Baseline, write_whole};
use writeonce::failure::Failure;
use writeonce::footprint::{BESIDE, RSS};
use writeonce::lens::footprint::Footprint;
use writeonce::lens::{self, amplification, wall_clock};
use writeonce::{gate, report};

use super::{Picture, baselines, count, last_counts, last_footprint, print, ready, root};
use crate::{Counting, NOT_OK, OK};

pub(crate) fn bench(picture: &Picture, full: bool, counting: &Counting) -> Result<u8, Failure> {
    let root = root()?;
    let environment = ready(&root, counting)?;
    wall_clock::measure(&root, !full)?;
    let pages: Vec<_> = picture.iter().map(|(page, _)| *page).collect();
    let table: Vec<_> = picture.iter().flat_map(|(_, cases)| cases.clone()).collect();
    count(&root, &table, &pages, environment, counting)?;
    for &allocator in Allocator::ALL {
        let footprint = lens::footprint::measure(&root, allocator, "", &[RSS, BESIDE])?;
        footprint.write(&last_footprint(&root, allocator)?)?;
    }
    let amplification = amplification::to_text(&amplification::measure(&root, &pages)?);
    write_whole(&last_amplification(&root)?, &amplification)?;
    self::report(picture)?;
    super::time_all()
}

pub(crate) fn report(picture: &Picture) -> Result<u8, Failure> {
    let root = root()?;
    let last = last_counts(&root)?;
    if !last.exists() {
        return Err(Failure::new("nothing has been measured yet; run ci/bench"));
    }
    let counts = Baseline::read(&last)?;
    let times = wall_clock::read(&lens::scratch(&root)?.join("criterion"))?;
    let mut footprints = Vec::new();
    for &allocator in Allocator::ALL {
        let last = last_footprint(&root, allocator)?;
        if last.exists() {
            footprints.push(Footprint::read(&last)?);
        }
    }
    let last = last_amplification(&root)?;
    let written = if last.exists() {
        let text = std::fs::read_to_string(&last).map_err(|error| Failure::at(&last, error))?;
        amplification::from_text(&text).map_err(|(line, why)| {
            Failure::at(&last, format!("line {line}: {why}; run ci/bench"))
        })?
    } else {
        Vec::new()
    };
    let tables = report::tables(picture, &counts.rows, &times);
    let amplification = report::amplification(picture, &written);
    print(&(tables + &amplification + &report::footprints(picture, &footprints)))?;
    Ok(OK)
}

/// Where the last write amplification is kept for reports.
fn last_amplification(root: &Path) -> Result<PathBuf, Failure> {
    Ok(lens::scratch(root)?.join("last.amplification.tsv"))
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
