//! Wall-clock times: running the Criterion harness and reading its estimates.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::failure::Failure;
use crate::process::{Group, check_interrupted};

/// How long a run of a case took.
#[derive(Debug, Clone, PartialEq)]
pub struct Time {
    /// The id of the case.
    pub id: String,
    /// Median, in nanoseconds.
    pub median: f64,
    /// Bytes of the finished buffers.
    pub bytes: u64,
}

/// Times all cases in the project at `root`, with quick sampling or in full, into an empty folder of its own.
/// Criterion's own output goes to standard error.
///
/// # Errors
/// [`Failure`] if the target cannot be built or run.
pub fn measure(root: &Path, quick: bool) -> Result<(), Failure> {
    let home = crate::lens::scratch(root)?.join("criterion");
    match fs::remove_dir_all(&home) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Failure::at(&home, error));
        }
        _ => {}
    }
    let mut cargo = crate::lens::cargo_bench(root);
    cargo.args(["--bench", "wall_clock", "--"]);
    if quick {
        cargo.arg("--quick");
    }
    cargo.env("CRITERION_HOME", &home).stdout(std::io::stderr());
    let status = Group::spawn(&mut cargo)
        .and_then(Group::wait)
        .map_err(|error| Failure::new(format!("cargo cannot be run: {error}")))?;
    check_interrupted()?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("wall_clock: {status}"))) }
}

/// The times that Criterion left below `home`; none if nothing was timed there.
///
/// # Errors
/// [`Failure`] if a file cannot be read or is not Criterion's.
pub fn read(home: &Path) -> Result<Vec<Time>, Failure> {
    let mut times = Vec::new();
    collect(home, &mut times)?;
    Ok(times)
}

fn collect(folder: &Path, times: &mut Vec<Time>) -> Result<(), Failure> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|error| Failure::at(folder, error))?,
    };
    for entry in entries {
        let path = entry.map_err(|error| Failure::at(folder, error))?.path();
        if path.file_name().is_some_and(|name| name == "new") {
            times.push(read_estimate(&path)?);
        } else if path.is_dir() {
            collect(&path, times)?;
        }
    }
    Ok(())
}

fn read_estimate(folder: &Path) -> Result<Time, Failure> {
    let json = |name: &str| {
        let path = folder.join(name);
        let text = fs::read_to_string(&path).map_err(|error| Failure::at(&path, error))?;
        serde_json::from_str::<Value>(&text)
            .map_err(|error| Failure::at(&path, format!("{error}; run ci/bench again")))
    };
    let (benchmark, estimates) = (json("benchmark.json")?, json("estimates.json")?);
    let time = || {
        Some(Time {
            id: benchmark["full_id"].as_str()?.to_owned(),
            median: estimates["median"]["point_estimate"].as_f64()?,
            bytes: benchmark["throughput"]["Bytes"].as_u64()?,
        })
    };
    time().ok_or_else(|| Failure::at(folder, "not an estimate of Criterion's; run ci/bench again"))
}
