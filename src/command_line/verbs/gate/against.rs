//! `gate --against REV`: the other side is a git revision, measured here.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::allocator::Allocator;
use crate::baseline::Baseline;
use crate::cases::Page;
use crate::environment::{Environment, GATED_FEATURES, workspace_manifest};
use crate::failure::Failure;
use crate::footprint::Conditions;
use crate::lens;
use crate::lens::footprint::Footprint;
use crate::lens::instructions::{self, Way};
use crate::own::Suite;

use super::footprint::Other;
use crate::command_line::say;

/// What a revision of the repository around `root` counts in this environment. It is checked out and built in a
/// folder of its own; the result is kept and reused.
pub(super) fn measured(
    root: &Path,
    environment: &Environment,
    conditions: &Conditions,
    revision: &str,
    way: Way,
) -> Result<(Baseline, Option<Other>), Failure> {
    let commit = git(
        root,
        &[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &format!("{revision}^{{commit}}"),
        ],
    )
    .map_err(|failure| Failure::new(format!("cannot compare with '{revision}': {failure}")))?;
    let prefix = git(root, &["rev-parse", "--show-prefix"])?;
    let scratch = lens::scratch(root)?.join("against");
    // A revision may be older than the footprint.
    let harness = format!("{commit}:{prefix}benches/footprint.rs");
    let has_footprint = git(root, &["cat-file", "-e", &harness]).is_ok();
    let kept = scratch.join(format!("{commit}.instructions.tsv"));
    let kept_footprint = scratch.join(format!("{commit}.footprint.tsv"));
    if let Ok(counts) = Baseline::read(&kept)
        && counts.environment == *environment
    {
        if !has_footprint {
            return Ok((counts, None));
        }
        if let Ok(footprint) = Footprint::read(&kept_footprint)
            && footprint.conditions == *conditions
        {
            return Ok((counts, Some(Other::measured(footprint))));
        }
    }
    std::fs::create_dir_all(&scratch).map_err(|error| Failure::at(&scratch, error))?;
    let checkout = tempfile::Builder::new()
        .prefix("checkout-")
        .tempdir_in(&scratch)
        .map_err(|error| Failure::at(&scratch, error))?;
    // Nothing is written to the user's repository.
    clone(root, checkout.path())?;
    git(checkout.path(), &["checkout", "--quiet", "--detach", &commit])?;
    let project = checkout.path().join(prefix);
    if Suite::installed().is_some() {
        lend_lock(root, &project)?;
    }
    say(&format!("counting {revision} ({commit})"));
    let there = Environment::detect(&project, GATED_FEATURES)?;
    if let Some(difference) = environment.differences(&there).first() {
        return Err(Failure::new(format!("{revision} is of another environment: {difference}")));
    }
    // Built beside the checkout, so that the next revision finds the dependencies built.
    let target = scratch.join("target");
    let counted = instructions::measure_in(&project, &target, Page::core(), GATED_FEATURES, way)?;
    if let Some(fault) = counted.faults.first() {
        return Err(Failure::new(format!("{revision} could not be counted: {fault}")));
    }
    let counts = Baseline { environment: there, rows: counted.rows };
    counts.write(&kept)?;
    if !has_footprint {
        return Ok((counts, None));
    }
    let allocator = Allocator::in_force();
    let footprint =
        lens::footprint::measure_in(&project, &target, allocator, GATED_FEATURES, "", &[])?;
    footprint.write(&kept_footprint)?;
    Ok((counts, Some(Other::measured(footprint))))
}

/// Gives a checkout that has no lock file of its own the one that is used here, so that both sides have the same
/// dependencies.
fn lend_lock(root: &Path, project: &Path) -> Result<(), Failure> {
    let lock = |root| Ok(workspace_manifest(root)?.with_file_name("Cargo.lock"));
    let (ours, theirs) = (lock(root)?, lock(project)?);
    if ours.exists() && !theirs.exists() {
        std::fs::copy(&ours, &theirs).map_err(|error| Failure::at(&theirs, error))?;
    }
    Ok(())
}

/// Clones the repository around `root` into the empty folder `into`, without files yet. Objects are hard links where that can
/// be; they are not borrowed, because git keeps the path of a lender as a line.
fn clone(root: &Path, into: &Path) -> Result<(), Failure> {
    let up = git(root, &["rev-parse", "--show-cdup"])?;
    let source = root.join(up);
    let options = ["clone", "--quiet", "--no-checkout", "--"].map(OsStr::new);
    git(root, &[&options[..], &[source.as_os_str(), into.as_os_str()]].concat()).map(drop)
}

/// What git prints in `folder`, without the last newline.
fn git(folder: &Path, arguments: &[impl AsRef<OsStr>]) -> Result<String, Failure> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .output()
        .map_err(|error| Failure::new(format!("git cannot be run: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        // With --quiet it says nothing of a name that it does not know.
        let said = if said.trim().is_empty() { "there is no such revision" } else { &*said };
        let verb = arguments[0].as_ref().display();
        return Err(Failure::new(format!("git {verb} failed: {said}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned())
}
