//! Wall-clock times: running the Criterion harness and reading its estimates.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::allocator::Allocator;
use crate::environment::BUILT_FEATURES;
use crate::failure::Failure;
use crate::own::command;
use crate::process::{Group, check_interrupted, measures};
use crate::tsv::{self, Lines, check_id};

/// Times of cases, all under the same allocator.
#[derive(Debug, Clone, PartialEq)]
pub struct Times {
    /// The name of the allocator.
    pub allocator: String,
    /// How Criterion sampled: `quick` or `full`.
    pub sampling: String,
    /// A case each.
    pub cases: Vec<Time>,
}

/// How long a run of a case took.
#[derive(Debug, Clone, PartialEq)]
pub struct Time {
    /// The id of the case.
    pub id: String,
    /// Median, in nanoseconds.
    pub median: f64,
    /// The interval that holds it at 95 %.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Bytes of the finished buffers.
    pub bytes: u64,
}

const COLUMNS: &str = "id median_ns low_ns high_ns bytes";

impl Times {
    /// The text that is read back as this.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self { allocator, sampling, cases } = self;
        let mut text = format!(
            "# format\t1\n# lens\twall_clock\n# allocator\t{allocator}\n# sampling\t{sampling}\n# columns\t{COLUMNS}\n"
        );
        for Time { id, median, low, high, bytes } in cases {
            text += &format!("{id}\t{median}\t{low}\t{high}\t{bytes}\n");
        }
        text
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// The number of the first wrong line and what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut lines = Lines::new(text);
        lines.header("format", "1")?;
        lines.header("lens", "wall_clock")?;
        let [allocator, sampling] = lines.values(["allocator", "sampling"])?;
        lines.header("columns", COLUMNS)?;
        let cases = lines.rows(parse_row, |time| &time.id)?;
        Ok(Self { allocator, sampling, cases })
    }
}

fn parse_row(line: &str) -> Result<Time, String> {
    let [id, median, low, high, bytes] = line.split('\t').collect::<Vec<_>>()[..] else {
        return Err(format!("the columns are not {COLUMNS}"));
    };
    check_id(id)?;
    Ok(Time {
        id: id.to_owned(),
        median: tsv::decimal(median, "median_ns")?,
        low: tsv::decimal(low, "low_ns")?,
        high: tsv::decimal(high, "high_ns")?,
        bytes: tsv::number(bytes, "bytes")?,
    })
}

/// Times all cases in the project at `root` under the allocator of this process, with quick sampling or in full.
/// Criterion's own output goes to standard error, its files to a folder that is emptied first.
///
/// # Errors
/// [`Failure`] if the target cannot be built or run, or a file is not Criterion's.
pub fn measure(root: &Path, quick: bool) -> Result<Times, Failure> {
    let home = crate::lens::scratch(root)?.join("criterion");
    match fs::remove_dir_all(&home) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Failure::at(&home, error));
        }
        _ => {}
    }
    let target = super::target(root)?;
    let program = super::build(root, &target, &["wall_clock"], BUILT_FEATURES)?.remove(0);
    let mut command = Command::new(&program);
    measures(&mut command);
    command.arg("--bench").current_dir(root);
    if quick {
        command.arg("--quick");
    }
    command
        .env("CRITERION_HOME", &home)
        .env(Allocator::VARIABLE, Allocator::in_force().name())
        .stdout(std::io::stderr());
    let status = Group::spawn(&mut command)
        .and_then(Group::wait)
        .map_err(|error| Failure::at(&program, format!("cannot be run: {error}")))?;
    check_interrupted()?;
    if !status.success() {
        return Err(Failure::new(format!("wall_clock: {status}")));
    }
    let mut cases = Vec::new();
    collect(&home, &mut cases)?;
    Ok(Times {
        allocator: Allocator::in_force().name().to_owned(),
        sampling: if quick { "quick" } else { "full" }.to_owned(),
        cases,
    })
}

/// Adds the times that Criterion left below `folder`; none if nothing was timed there.
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
            .map_err(|error| Failure::at(&path, format!("{error}; run {} again", command::bench())))
    };
    let (benchmark, estimates) = (json("benchmark.json")?, json("estimates.json")?);
    let time = || {
        let median = &estimates["median"];
        Some(Time {
            id: benchmark["full_id"].as_str()?.to_owned(),
            median: median["point_estimate"].as_f64()?,
            low: median["confidence_interval"]["lower_bound"].as_f64()?,
            high: median["confidence_interval"]["upper_bound"].as_f64()?,
            bytes: benchmark["throughput"]["Bytes"].as_u64()?,
        })
    };
    time().ok_or_else(|| {
        let reason = format!("not an estimate of Criterion's; run {} again", command::bench());
        Failure::at(folder, reason)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_were_written() {
        let time = |id: &str, median| Time {
            id: id.to_owned(),
            median,
            low: 100.5,
            high: 200.0,
            bytes: 10_240,
        };
        let times = Times {
            allocator: "system".to_owned(),
            sampling: "quick".to_owned(),
            cases: vec![time("mixed/uninit/1x0", 123.456), time("mixed/floor/1x0", 1e7 / 3.0)],
        };
        let text = times.to_text();
        assert_eq!(Times::parse(&text), Ok(times));
        for wrong in ["-1", "NaN", "inf", "1e3", "0123.456", ""] {
            let error = Times::parse(&text.replace("123.456", wrong)).unwrap_err();
            assert_eq!(error, (6, format!("median_ns is '{wrong}', not a number")));
        }
        assert!(Times::parse(&text.replace("wall_clock", "footprint")).is_err());
    }

    #[test]
    fn estimates_are_read_where_criterion_leaves_them() {
        let folder = tempfile::tempdir().unwrap();
        let read = || {
            let mut times = Vec::new();
            collect(folder.path(), &mut times).map(|()| times)
        };
        assert_eq!(read(), Ok(Vec::new()));
        assert_eq!(collect(&folder.path().join("none"), &mut Vec::new()), Ok(()));
        let new = folder.path().join("mixed/uninit/1x0/new");
        fs::create_dir_all(&new).unwrap();
        let benchmark = r#"{"full_id":"mixed/uninit/1x0","throughput":{"Bytes":10395}}"#;
        let interval = r#"{"lower_bound":1.5,"upper_bound":2.5}"#;
        let estimates =
            format!(r#"{{"median":{{"point_estimate":2.0,"confidence_interval":{interval}}}}}"#);
        fs::write(new.join("benchmark.json"), benchmark).unwrap();
        fs::write(new.join("estimates.json"), &estimates).unwrap();
        let id = "mixed/uninit/1x0".to_owned();
        let time = Time { id, median: 2.0, low: 1.5, high: 2.5, bytes: 10_395 };
        assert_eq!(read(), Ok(vec![time]));
        for (text, reason) in [("{}", "not an estimate of Criterion's"), ("{", "EOF while parsing")]
        {
            fs::write(new.join("estimates.json"), text).unwrap();
            let line = read().unwrap_err().to_string();
            assert!(line.contains(reason) && line.ends_with("; run ci/bench again"), "{line}");
        }
    }
}
