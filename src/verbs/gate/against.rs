//! `gate --against REV`: the other side is a git revision, measured here.

use std::path::Path;
use std::process::Command;

use writeonce::baseline::Baseline;
use writeonce::cases::Page;
use writeonce::environment::Environment;
use writeonce::failure::Failure;
use writeonce::lens::{self, instructions};

/// What a revision of the repository around `root` counts in this environment. It is checked out and built in a
/// folder of its own; the result is kept and reused.
pub(super) fn measured(
    root: &Path,
    environment: &Environment,
    revision: &str,
    allow_aslr: bool,
) -> Result<Baseline, Failure> {
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
    .map_err(|_| Failure::new(format!("'{revision}' is no revision of this repository")))?;
    let prefix = git(root, &["rev-parse", "--show-prefix"])?;
    let scratch = lens::scratch(root)?.join("against");
    let kept = scratch.join(format!("{commit}.instructions.tsv"));
    if let Ok(kept) = Baseline::read(&kept)
        && kept.environment == *environment
    {
        return Ok(kept);
    }
    std::fs::create_dir_all(&scratch).map_err(|error| Failure::at(&scratch, error))?;
    let checkout = tempfile::Builder::new()
        .prefix("checkout-")
        .tempdir_in(&scratch)
        .map_err(|error| Failure::at(&scratch, error))?;
    // A clone that borrows the objects: nothing is written to the user's repository.
    let source = git(root, &["rev-parse", "--show-toplevel"])?;
    let into = checkout.path().to_string_lossy();
    git(root, &["clone", "--quiet", "--shared", "--no-checkout", &source, &into])?;
    git(checkout.path(), &["checkout", "--quiet", "--detach", &commit])?;
    let project = checkout.path().join(prefix);
    eprintln!("counting {revision} ({commit})");
    let there = Environment::detect(&project)?;
    if let Some(difference) = environment.differences(&there).first() {
        return Err(Failure::new(format!("{revision} is of another environment: {difference}")));
    }
    // Built beside the checkout, so that the next revision finds the dependencies built.
    let counted =
        instructions::measure_in(&project, &scratch.join("target"), &Page::CORE, allow_aslr)?;
    let measured = Baseline { environment: there, rows: counted.rows };
    measured.write(&kept)?;
    Ok(measured)
}

/// What git prints in `folder`, without the last newline.
fn git(folder: &Path, arguments: &[&str]) -> Result<String, Failure> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .output()
        .map_err(|error| Failure::new(format!("git cannot be run: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Failure::new(format!("git {} failed: {said}", arguments[0])));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned())
}
