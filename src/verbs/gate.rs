//! `gate`: what is compared with what.

mod against;

use std::path::{Path, PathBuf};

use writeonce::baseline::Baseline;
use writeonce::cases::{Case, Page};
use writeonce::environment::Environment;
use writeonce::failure::Failure;
use writeonce::gate::{self, Kind, Verdict};
use writeonce::lens;
use writeonce::lens::instructions::Counted;

use super::{baselines, count, print, ready, root};
use crate::{CANNOT_JUDGE, Counting, Gate, NOT_OK, OK};

pub(crate) fn gate(table: &[Case], arguments: Gate) -> Result<u8, Failure> {
    let root = root()?;
    if let Some(fill) = &arguments.fill {
        return slice(&root, table, fill, &arguments.counting);
    }
    let only = arguments.only.as_deref().unwrap_or_default();
    let pages: Vec<_> = Page::CORE
        .into_iter()
        .filter(|page| page.text().lines().any(|id| id.contains(only)))
        .collect();
    if pages.is_empty() {
        return Err(Failure::new(format!("no case has '{only}' in its id; see `writeonce cases`")));
    }
    let committed = baselines(&root);
    let merged =
        (!arguments.merge.is_empty()).then(|| merged(&arguments.merge, &committed)).transpose()?;
    // A missing baseline is found before the minute that counting takes.
    let find = |environment: &Environment| match &arguments.against {
        Some(revision) => {
            against::measured(&root, environment, revision, arguments.counting.allow_aslr)
        }
        None => fitting(&committed, environment),
    };
    let (measured, baseline, counted) = match merged {
        Some(measured) => {
            let baseline = find(&measured.environment)?;
            (measured, baseline, None)
        }
        None => {
            let environment = ready(&root, &arguments.counting)?;
            let baseline = find(&environment)?;
            let (measured, counted) =
                count(&root, table, &pages, environment, &arguments.counting)?;
            (measured, baseline, Some(counted))
        }
    };
    let ids: Vec<_> = table.iter().map(|case| case.id().to_owned()).collect();
    let mut verdicts = gate::judge(&ids, &measured.rows, &baseline.rows);
    verdicts.retain(|verdict| verdict.id.contains(only));
    let mut text = String::new();
    let mut listed = Vec::new();
    if let Some(revision) = &arguments.against {
        for (old, new) in gate::renamed(&verdicts) {
            text += &format!("renamed: {old} is {new} now, with the same counts\n");
            verdicts.retain(|verdict| verdict.id != old && verdict.id != new);
        }
        let one_side =
            |verdict: &mut Verdict| verdict.measured.is_none() || verdict.baseline.is_none();
        listed = verdicts.extract_if(.., one_side).collect();
        for verdict in &listed {
            let side = if verdict.measured.is_some() { "here" } else { revision };
            text += &format!("only {side}: {}\n", verdict.id);
        }
    }
    let red: Vec<_> = verdicts.iter().filter(|verdict| verdict.kind != Kind::Ok).collect();
    for verdict in &red {
        text += &format!("{verdict}\n");
    }
    if let Some(counted) = &counted {
        text += &keep_profiles(&root, counted, &red)?;
    }
    text += &summary(&verdicts, listed.len());
    print(&text)?;
    if !red.is_empty() {
        Ok(NOT_OK)
    } else if verdicts.is_empty() {
        Err(Failure::new("nothing was compared: no case is on both sides"))
    } else if arguments.only.is_some() {
        eprintln!("writeonce: partial run, not a gate");
        Ok(CANNOT_JUDGE)
    } else {
        Ok(OK)
    }
}

/// How many verdicts of each kind there are, on one line.
fn summary(verdicts: &[Verdict], listed: usize) -> String {
    let kinds = [Kind::Ok, Kind::Regressed, Kind::Improved, Kind::Missing, Kind::Unknown];
    let count = |kind| verdicts.iter().filter(|verdict| verdict.kind == kind).count();
    let mut parts: Vec<_> = kinds
        .into_iter()
        .map(|kind| (count(kind), kind.name()))
        .chain([(listed, "on one side only")])
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    if parts.is_empty() {
        parts.push("none compared".to_owned());
    }
    format!("gate: {} cases: {}\n", verdicts.len() + listed, parts.join(", "))
}

/// Counts one page and writes it for `--merge`.
fn slice(root: &Path, table: &[Case], name: &str, counting: &Counting) -> Result<u8, Failure> {
    let page = Page::CORE.into_iter().find(|page| page.name() == name).ok_or_else(|| {
        let names = Page::CORE.map(Page::name).join(", ");
        Failure::new(format!("the gate has no page '{name}'; its pages are {names}"))
    })?;
    let (measured, _) = count(root, table, &[page], ready(root, counting)?, counting)?;
    let path = lens::scratch(root)?.join(format!("{name}.instructions.tsv"));
    measured.write(&path)?;
    let rows = measured.rows.len();
    print(&format!("counted {rows} cases in {}; judge all slices with --merge\n", path.display()))?;
    Ok(OK)
}

/// Copies the callgrind files of red cases to one folder, and says how to open them.
fn keep_profiles(root: &Path, counted: &Counted, red: &[&Verdict]) -> Result<String, Failure> {
    let folder = lens::scratch(root)?.join("red");
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Failure::at(&folder, error));
        }
        _ => {}
    }
    let mut kept = 0;
    for verdict in red {
        let Some(profile) = counted.profile(&verdict.id) else { continue };
        let copy = folder.join(format!("{}.callgrind.out", verdict.id.replace('/', ".")));
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::copy(profile, &copy))
            .map_err(|error| Failure::at(&copy, error))?;
        kept += 1;
    }
    if kept == 0 {
        return Ok(String::new());
    }
    Ok(format!("profiles: {kept} in {}; open one with callgrind_annotate FILE\n", folder.display()))
}

/// Slices of one measurement, put together. A committed baseline is none.
fn merged(files: &[PathBuf], committed: &Path) -> Result<Baseline, Failure> {
    let mut slices = files.iter().map(|file| {
        let folder =
            std::fs::canonicalize(file).ok().and_then(|file| Some(file.parent()?.to_owned()));
        if folder.is_some() && folder == std::fs::canonicalize(committed).ok() {
            return Err(Failure::at(
                file,
                "it is a baseline, not a measurement; name files of --fill",
            ));
        }
        let slice = Baseline::read(file)?;
        if slice.rows.is_empty() {
            return Err(Failure::at(file, "it has no cases; count the slice again with --fill"));
        }
        Ok((file, slice))
    });
    let (_, mut whole) = slices.next().expect("there is a file")?;
    for slice in slices {
        let (file, slice) = slice?;
        if let Some(difference) = slice.environment.differences(&whole.environment).first() {
            return Err(Failure::at(file, format!("another environment: {difference}")));
        }
        if let Some(row) = slice.rows.iter().find(|row| whole.rows.iter().any(|r| r.id == row.id)) {
            return Err(Failure::at(file, format!("{} is in two files", row.id)));
        }
        whole.rows.extend(slice.rows);
    }
    Ok(whole)
}

/// The baseline of an environment.
fn fitting(folder: &Path, environment: &Environment) -> Result<Baseline, Failure> {
    let mut closest: Option<(usize, String)> = None;
    let mut fitting: Option<(PathBuf, Baseline)> = None;
    for (path, baseline) in Baseline::read_all(folder)? {
        let differences = environment.differences(&baseline.environment);
        if differences.is_empty() {
            if let Some((other, _)) = fitting {
                let reason = format!("{} is of the same environment; remove one", other.display());
                return Err(Failure::at(&path, reason));
            }
            fitting = Some((path, baseline));
            continue;
        }
        if closest.as_ref().is_none_or(|(count, _)| differences.len() < *count) {
            let line = format!("{} has another {}", path.display(), differences.join(", "));
            closest = Some((differences.len(), line));
        }
    }
    if let Some((_, baseline)) = fitting {
        return Ok(baseline);
    }
    let why = closest.map_or_else(|| format!("{} has none", folder.display()), |(_, line)| line);
    let record = gate::RECORD;
    Err(Failure::new(format!(
        "no baseline for this environment: {why}; record one with `{record}`, or compare with a revision by \
         `ci/gate --against REV`"
    )))
}
