//! The last measurements, kept for reports: each file says of which run it is and on which machine that was.
//!
//! Two header lines, `# run` and `# machine`, stand before the text of the lens.

use std::fmt;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use crate::environment::machine;
use crate::failure::Failure;
use crate::files::{damaged, read_text, write_whole};
use crate::own::command;
use crate::tsv::Lines;

/// A run of the command line, with the processes that it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// When it began: date and time, UTC.
    pub began: String,
    /// The machine that it was on.
    pub machine: String,
}

impl Run {
    const VARIABLE: &str = "WRITEONCE_RUN";

    /// The run that this process is a part of.
    pub fn this() -> &'static Self {
        static THIS: OnceLock<Run> = OnceLock::new();
        THIS.get_or_init(|| {
            let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            let now = || date_and_time(since_1970.unwrap_or_default());
            Self {
                began: std::env::var(Self::VARIABLE).unwrap_or_else(|_| now()),
                machine: machine(),
            }
        })
    }

    /// The variable that tells another process that it is a part of this run, and its value.
    pub(crate) fn variable(&self) -> (&'static str, &str) {
        (Self::VARIABLE, &self.began)
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run of {} on {}", self.began, self.machine)
    }
}

/// What was measured last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Last<T> {
    /// The run that it is of.
    pub run: Run,
    /// What was measured.
    pub measured: T,
}

/// Writes what was measured in this run, as the text of its lens, whole or not at all.
///
/// # Errors
/// [`Failure`] if it cannot be written; what was there before is there still.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let Run { began, machine } = Run::this();
    write_whole(path, &format!("# run\t{began}\n# machine\t{machine}\n{text}"))
}

/// Reads what was measured last, if anything was; `parse` reads the text of the lens.
///
/// # Errors
/// [`Failure`] with file and line if it cannot be read or is damaged.
pub fn read<T>(
    path: &Path,
    parse: impl Fn(&str) -> Result<T, (usize, String)>,
) -> Result<Option<Last<T>>, Failure> {
    if !path.exists() {
        return Ok(None);
    }
    let parse = |text: &str| {
        let mut lines = Lines::new(text);
        let (began, machine) = (lines.value("run")?.to_owned(), lines.value("machine")?.to_owned());
        let measured = parse(lines.rest()).map_err(|(line, reason)| (line + 2, reason))?;
        Ok(Last { run: Run { began, machine }, measured })
    };
    parse(&read_text(path)?)
        .map(Some)
        .map_err(|error| damaged(path, error, &format!("run {}", command::bench())))
}

/// A time since the beginning of 1970 as date and time, UTC.
fn date_and_time(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let (mut days, mut year) = (seconds / 86_400, 1970);
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    for len in [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < len {
            break;
        }
        days -= len;
        month += 1;
    }
    let (day, [hour, minute, second]) =
        (days + 1, [seconds / 3600 % 24, seconds / 60 % 60, seconds % 60]);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_says_of_which_run_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("last.tsv");
        let parse = |text: &str| match text {
            "rows\n" => Ok(7),
            _ => Err((1, "no rows".to_owned())),
        };
        assert_eq!(read(&path, parse), Ok(None));
        write(&path, "rows\n").unwrap();
        assert_eq!(read(&path, parse), Ok(Some(Last { run: Run::this().clone(), measured: 7 })));
        write(&path, "row\n").unwrap();
        let error = read(&path, parse).unwrap_err().to_string();
        assert_eq!(error, format!("{}:3: no rows; run ci/bench", path.display()));
        std::fs::write(&path, "rows\n").unwrap();
        assert!(read(&path, parse).unwrap_err().to_string().contains(":1: '# run<TAB>value' is "));
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        let at = |seconds| date_and_time(Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(at(951_782_399), "2000-02-28 23:59:59 UTC");
        assert_eq!(at(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(at(1_767_225_599), "2025-12-31 23:59:59 UTC");
        assert_eq!(at(4_107_542_400), "2100-03-01 00:00:00 UTC");
    }
}
