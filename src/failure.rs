//! What stops a measurement or a judgement: one line that says what was wrong, where, and what to do.

use std::fmt;
use std::path::Path;

/// A reason for exit code 2: nothing could be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure(String);

impl Failure {
    /// A failure with that line.
    #[must_use]
    pub fn new(line: impl Into<String>) -> Self {
        Self(line.into())
    }

    /// A failure at a file: `FILE: reason`.
    #[must_use]
    pub fn at(path: &Path, reason: impl fmt::Display) -> Self {
        Self(format!("{}: {reason}", path.display()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&one_line(&self.0))
    }
}

/// A text as one line, whatever a system error, another program or the name of a file has brought into it.
pub(crate) fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ")
}

impl std::error::Error for Failure {}
