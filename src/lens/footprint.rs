//! Footprints: running the harness and reading what it prints.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::allocator::Allocator;
use crate::failure::Failure;
use crate::footprint::{COLUMNS, Conditions, Row};
use crate::process::{Group, check_interrupted, measures};
use crate::together::reason;
use crate::tsv::{self, Lines, check_id};

/// Footprints that were measured under the same conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footprint {
    /// What their page faults depend on.
    pub conditions: Conditions,
    /// One row a case.
    pub rows: Vec<Row>,
}

impl Footprint {
    /// Reads what the harness prints.
    ///
    /// # Errors
    /// The number of the first wrong line and what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut lines = Lines::new(text);
        lines.header("format", "1")?;
        lines.header("lens", "footprint")?;
        let values = lines.values(Conditions::KEYS)?;
        lines.header("columns", &format!("id {}", COLUMNS.join(" ")))?;
        let rows = lines.rows(parse_row, |row| &row.id)?;
        Ok(Self { conditions: Conditions::new(values), rows })
    }

    /// The text that is read back as this.
    #[must_use]
    pub fn to_text(&self) -> String {
        let rows = self.rows.iter().map(|row| format!("{row}\n"));
        self.conditions.header() + &rows.collect::<String>()
    }

    /// This without page faults: what does not depend on the allocator.
    #[must_use]
    pub fn without_faults(mut self) -> Self {
        for row in &mut self.rows {
            (row.faults_recycled, row.faults_fresh) = (None, None);
        }
        self
    }
}

fn parse_row(line: &str) -> Result<Row, String> {
    let mut fields = line.split('\t');
    let id = fields.next().unwrap_or_default();
    check_id(id)?;
    let fields: Vec<_> = fields.collect();
    if fields.len() != COLUMNS.len() {
        return Err(format!("{} columns, not {}", fields.len() + 1, COLUMNS.len() + 1));
    }
    let mut values = [None; COLUMNS.len()];
    for ((field, column), value) in fields.into_iter().zip(COLUMNS).zip(&mut values) {
        *value = (field != "-").then(|| tsv::number(field, column)).transpose()?;
    }
    Row::new(id, values).ok_or_else(|| format!("{id} lacks calls or bytes"))
}

/// Measures the cases with `part` in their ids in the project at `root`, under an allocator, by a harness with these
/// features: those of the core, unless the `options` of the harness ask for more.
///
/// # Errors
/// [`Failure`] if the harness cannot be built or run, or prints something else.
pub fn measure(
    root: &Path,
    allocator: Allocator,
    features: &[&str],
    part: &str,
    options: &[&str],
) -> Result<Footprint, Failure> {
    measure_in(root, &crate::lens::target(root)?, allocator, features, part, options)
}

/// The same, built in the folder `target`.
///
/// # Errors
/// As [`measure`].
pub fn measure_in(
    root: &Path,
    target: &Path,
    allocator: Allocator,
    features: &[&str],
    part: &str,
    options: &[&str],
) -> Result<Footprint, Failure> {
    let program = super::build(root, target, &["footprint"], features)?.remove(0);
    let mut command = Command::new(&program);
    measures(&mut command);
    command
        .args(["--bench", part])
        .args(options)
        .current_dir(root)
        .env(Allocator::VARIABLE, allocator.name())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let output = Group::spawn(&mut command)
        .and_then(Group::wait_with_output)
        .map_err(|error| Failure::at(&program, format!("cannot be run: {error}")))?;
    check_interrupted()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let (status, reason) = (output.status, reason(&said));
        let last = String::from_utf8_lossy(&output.stdout);
        let last = last.lines().rfind(|line| !line.starts_with('#'));
        let place = last.and_then(|line| line.split('\t').next()).unwrap_or("the start");
        return Err(Failure::new(format!("footprint, after {place}: {status}: {reason}")));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let read = Footprint::parse(&text).map_err(|(line, reason)| {
        Failure::new(format!("footprint: line {line} of what the harness printed: {reason}"))
    })?;
    if read.conditions.allocator() == allocator.name() {
        Ok(read)
    } else {
        let ran = read.conditions.allocator();
        Err(Failure::new(format!("footprint: it ran under {ran}, not {}", allocator.name())))
    }
}
