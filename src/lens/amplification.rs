//! Write amplification: bytes written for each byte of the finished buffer.
//!
//! DHAT sees every write to a block of the heap. What counts are the blocks that the routine allocates, not those of
//! set-up and warm-up; what calloc zeroes is not a write to DHAT and is added. It replaces the allocator, so that no heap
//! can be made fresh: what is written does not depend on that. Source of the format:
//! <https://valgrind.org/docs/manual/dh-manual.html>.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::profile::MEASURED;
use super::targets::{self, Counted, Fault, Tool, Way};
use crate::cases::{Case, Page};
use crate::environment::BUILT_FEATURES;
use crate::failure::Failure;
use crate::tsv::{self, Lines, check_id};

/// What a case wrote to the blocks that it allocated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The id of the case.
    pub id: String,
    /// Bytes written by the program.
    pub written: u64,
    /// Bytes that were asked for as zero.
    pub zeroed: u64,
    /// Bytes of the finished buffers.
    pub bytes: u64,
}

impl Written {
    /// Bytes written or zeroed for each byte of the finished buffers; `None` where the routine allocates nothing.
    #[must_use]
    pub fn amplification(&self) -> Option<f64> {
        let all = self.written + self.zeroed;
        (all > 0).then(|| all as f64 / self.bytes as f64)
    }
}

/// The text of a file with these; [`from_text`] reads it.
#[must_use]
pub fn to_text(all: &[Written]) -> String {
    let mut text = format!("# format\t1\n# lens\tamplification\n# columns\t{COLUMNS}\n");
    for Written { id, written, zeroed, bytes } in all {
        text += &format!("{id}\t{written}\t{zeroed}\t{bytes}\n");
    }
    text
}

/// Reads the text of a file.
///
/// # Errors
/// The number of the first wrong line and what is wrong with it.
pub fn from_text(text: &str) -> Result<Vec<Written>, (usize, String)> {
    let mut lines = Lines::new(text);
    lines.header("format", "1")?;
    lines.header("lens", "amplification")?;
    lines.header("columns", COLUMNS)?;
    lines.rows(parse_row, |written| &written.id)
}

fn parse_row(line: &str) -> Result<Written, String> {
    let [id, written, zeroed, bytes] = line.split('\t').collect::<Vec<_>>()[..] else {
        return Err(format!("the columns are not {COLUMNS}"));
    };
    check_id(id)?;
    Ok(Written {
        id: id.to_owned(),
        written: tsv::number(written, "written")?,
        zeroed: tsv::number(zeroed, "zeroed")?,
        bytes: tsv::number(bytes, "bytes")?,
    })
}

const COLUMNS: &str = "id written zeroed bytes";

/// Measures the cases of these pages in the project at `root`. What is to be said of those that could not be measured goes
/// with them.
///
/// # Errors
/// [`Failure`] if the harness cannot be built or run, or its records are not as they must be.
pub fn measure(
    root: &Path,
    pages: &[Page],
    way: Way,
) -> Result<(Vec<Written>, Vec<Fault>), Failure> {
    let target = super::target(root)?;
    let measured = targets::measure(root, &target, pages, BUILT_FEATURES, Tool::Dhat, way)?;
    let (mut all, mut faults) = (Vec::new(), measured.faults);
    for case in measured.cases {
        match read(&case) {
            Ok(written) => all.push(written),
            Err(reason) => faults.push(Fault { id: case.id, reason }),
        }
    }
    all.retain(|written| !written.id.starts_with(Page::Canary.name()));
    Ok((all, faults))
}

fn read(Counted { id, file, .. }: &Counted) -> Result<Written, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let case = Case::parse(id).map_err(|error| error.to_string())?;
    let (written, zeroed) = parse(&text)?;
    Ok(Written { id: id.clone(), written, zeroed, bytes: case.bytes() })
}

/// Bytes written to the blocks of the measured function, and bytes of those that calloc gave it.
fn parse(text: &str) -> Result<(u64, u64), String> {
    let file: Value = serde_json::from_str(text).map_err(|error| format!("not DHAT's: {error}"))?;
    let (Some(points), Some(frames)) = (file["pps"].as_array(), file["ftbl"].as_array()) else {
        return Err("not DHAT's: there are no program points".to_owned());
    };
    let mut sum = (0, 0);
    for point in points {
        let stack = point["fs"].as_array().ok_or("a program point has no frames")?;
        let frame = |index: &Value| frames.get(index.as_u64()? as usize)?.as_str();
        let stack: Vec<&str> = stack.iter().filter_map(frame).collect();
        if !stack.iter().any(|frame| frame.contains(MEASURED)) {
            continue;
        }
        let number = |key: &str| point[key].as_u64().ok_or(format!("a program point has no {key}"));
        sum.0 += number("wb")?;
        if stack[0].contains(": calloc ") {
            sum.1 += number("tb")?;
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(points: &str) -> String {
        format!(
            r#"{{"pps":[{points}],"ftbl":["[root]","0x1: malloc (in dhat.so)","0x2: calloc (in dhat.so)",
            "0x3: writeonce::routine::mixed (routine.rs:69)","0x4: x::__iai_callgrind_wrapper_mod::run (mixed.rs:10)",
            "0x5: prepare (cases.rs:1)"]}}"#
        )
    }

    #[test]
    fn blocks_of_the_routine_count_and_those_of_the_warm_up_do_not() {
        let points = r#"{"tb":100,"wb":90,"fs":[1,3,4]},{"tb":50,"wb":20,"fs":[2,3,4]},{"tb":100,"wb":90,"fs":[1,3,5]}"#;
        assert_eq!(parse(&file(points)), Ok((110, 50)));
        assert_eq!(parse(&file("")), Ok((0, 0)));
    }

    #[test]
    fn files_that_are_not_as_they_must_be_are_refused() {
        assert!(parse("{").unwrap_err().starts_with("not DHAT's: "));
        assert_eq!(parse("{}"), Err("not DHAT's: there are no program points".into()));
        assert_eq!(parse(&file(r#"{"tb":1,"fs":[1,4]}"#)), Err("a program point has no wb".into()));
        assert_eq!(parse(&file(r#"{"tb":1,"wb":1}"#)), Err("a program point has no frames".into()));
    }

    #[test]
    fn files_are_read_as_they_were_written() {
        let all = [Written { id: "mixed/uninit/1x0".to_owned(), written: 7, zeroed: 0, bytes: 7 }];
        let text = to_text(&all);
        assert_eq!(from_text(&text), Ok(all.to_vec()));
        let error = from_text(&text.replace("\t7\n", "\t-7\n")).unwrap_err();
        assert_eq!(error, (4, "bytes is '-7', not a count".into()));
        assert!(from_text(&text.replace("amplification", "footprint")).is_err());
        assert!(from_text(&text.replace("\t0", "")).is_err());
    }

    #[test]
    fn amplification_is_writes_and_zeroing_over_the_finished_bytes() {
        let written = |written, zeroed| Written { id: String::new(), written, zeroed, bytes: 100 };
        assert_eq!(written(100, 0).amplification(), Some(1.0));
        assert_eq!(written(80, 100).amplification(), Some(1.8));
        assert_eq!(written(0, 0).amplification(), None);
    }
}
