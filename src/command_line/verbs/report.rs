//! `bench` and `report`.

use std::path::Path;

use crate::allocator::Allocator;
use crate::baseline::Baseline;
use crate::cases::{Fill, Page};
use crate::environment::BUILT_FEATURES;
use crate::failure::Failure;
use crate::files::write_whole;
use crate::footprint::{BESIDE, RSS};
use crate::lens::footprint::Footprint;
use crate::lens::paired::Paired;
use crate::lens::wall_clock::{self, Times};
use crate::lens::{self, amplification};
use crate::own::command;
use crate::report::Measured;
use crate::{last, report};

use super::{
    Picture, baselines, count, last_counts, last_counts_beside, last_footprint, last_paired,
    last_path, print, ready, root, settle,
};
use crate::command_line::{Counting, NOT_OK, OK};

pub(crate) fn bench(picture: &Picture, full: bool, counting: &Counting) -> Result<u8, Failure> {
    // Said before minutes of measuring, not behind them.
    super::require_optimized()?;
    let root = root()?;
    let environment = ready(&root, BUILT_FEATURES, counting)?;
    let times = wall_clock::measure(&root, !full)?;
    last::write(&last_path(&root, WALL_CLOCK)?, &times.to_text())?;
    let mut pages: Vec<_> = picture.iter().map(|(page, _)| *page).collect();
    let table: Vec<_> = picture.iter().flat_map(|(_, cases)| cases.clone()).collect();
    let counted = count(&root, &table, &pages, BUILT_FEATURES, environment, counting)?;
    let mut doubts = counted.doubts;
    for &allocator in Allocator::BUILT_IN {
        let footprint =
            lens::footprint::measure(&root, allocator, BUILT_FEATURES, "", &[RSS, BESIDE])?;
        last::write(&last_footprint(&root, allocator)?, &footprint.to_text())?;
    }
    // DHAT is slow: it is run for pages that serialize.
    pages.retain(|page| page.fill().is_none_or(|fill| fill == Fill::Mixed));
    let (written, faults) = amplification::measure(&root, &pages, counting.way())?;
    doubts.extend(faults.iter().map(|fault| Failure::new(format!("by DHAT: {fault}"))));
    last::write(&last_path(&root, AMPLIFICATION)?, &amplification::to_text(&written))?;
    let timed = super::time_all()?;
    if timed != OK {
        return Ok(timed);
    }
    let reported = self::report(picture)?;
    settle(doubts).map(|()| reported)
}

const WALL_CLOCK: &str = "wall_clock";
const AMPLIFICATION: &str = "amplification";

/// Everything that was measured last.
fn measured(root: &Path) -> Result<Measured, Failure> {
    let mut counts: Vec<report::Counts> = Vec::new();
    let core = (Page::core().to_vec(), last_counts(root)?);
    let beside =
        Page::beside().iter().map(|&page| Ok((vec![page], last_counts_beside(root, page)?)));
    for file in [Ok(core)].into_iter().chain(beside) {
        let (pages, path) = file?;
        counts.extend(last::read(&path, Baseline::parse)?.map(|counts| (pages, counts)));
    }
    let times = last::read(&last_path(root, WALL_CLOCK)?, Times::parse)?;
    let (mut footprints, mut in_turns) = (Vec::new(), Vec::new());
    // Whichever build measured them.
    for allocator in Allocator::ALL {
        footprints.extend(last::read(&last_footprint(root, allocator)?, Footprint::parse)?);
        in_turns.extend(last::read(&last_paired(root, allocator)?, Paired::parse)?);
    }
    let written = last::read(&last_path(root, AMPLIFICATION)?, amplification::from_text)?;
    Ok(Measured { counts, times, footprints, written, in_turns })
}

pub(crate) fn report(picture: &Picture) -> Result<u8, Failure> {
    let measured = measured(&root()?)?;
    let written = measured.written.as_ref();
    let text = [
        report::tables(picture, &measured.counts, measured.times.as_ref()),
        written.map_or_else(String::new, |written| report::amplification(picture, written)),
        report::footprints(picture, &measured.footprints),
        measured.in_turns.iter().map(report::paired).collect(),
    ]
    .concat();
    if text.is_empty() {
        return Err(nothing_measured());
    }
    print(&text)?;
    Ok(OK)
}

fn nothing_measured() -> Failure {
    Failure::new(format!("nothing has been measured yet; run {}", command::bench()))
}

/// Writes the last measurements as files.
pub(crate) fn export(
    picture: &Picture,
    csv: Option<&Path>,
    json: Option<&Path>,
    html: Option<&Path>,
) -> Result<u8, Failure> {
    let rows = report::rows(picture, &measured(&root()?)?);
    if rows.is_empty() {
        return Err(nothing_measured());
    }
    if let Some(file) = csv {
        write_whole(file, &report::to_csv(&rows)?)?;
    }
    if let Some(file) = json {
        write_whole(file, &format!("{}\n", report::to_json(&rows)))?;
    }
    if let Some(file) = html {
        write_whole(file, &report::page(&rows))?;
    }
    Ok(OK)
}

/// Writes the page of a file of rows.
pub(crate) fn page(rows: &Path, file: &Path) -> Result<u8, Failure> {
    write_whole(file, &report::page(&report::read_rows(rows)?))?;
    Ok(OK)
}

pub(crate) fn compare(before: &Path, after: &Path) -> Result<u8, Failure> {
    print(&report::compare(&report::read_rows(before)?, &report::read_rows(after)?))?;
    Ok(OK)
}

pub(crate) fn splice(file: &Path, check: bool) -> Result<u8, Failure> {
    let folder = baselines(&root()?);
    let (_, baseline) = Baseline::read_all(&folder)?
        .into_iter()
        .next()
        .ok_or_else(|| Failure::at(&folder, format!("no baseline; run `{}`", command::record())))?;
    let old = std::fs::read_to_string(file).map_err(|error| Failure::at(file, error))?;
    let new = report::splice(&old, &report::readme_section(&baseline))
        .map_err(|reason| Failure::at(file, reason))?;
    let chart = file.with_file_name(report::CHART);
    let new_chart = report::readme_chart(&baseline);
    let old_chart = std::fs::read_to_string(&chart).unwrap_or_default();
    for (file, old, new) in [(file, old, new), (&*chart, old_chart, new_chart)] {
        if new == old {
            continue;
        }
        if check {
            print(&format!("{}: its results are not those of the baseline\n", file.display()))?;
            return Ok(NOT_OK);
        }
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).map_err(|error| Failure::at(folder, error))?;
        }
        write_whole(file, &new)?;
    }
    Ok(OK)
}
