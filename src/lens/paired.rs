//! Times in turns, as they are kept for reports: one line a case, with what its shape has in common.

use crate::paired::Ratio;
use crate::paired::shape::{Rate, Timed, TimedCase};
use crate::tsv::{self, Lines, check_id};

/// Shapes that were timed in turns in one process.
#[derive(Debug, Clone, PartialEq)]
pub struct Paired {
    /// The name of the allocator.
    pub allocator: String,
    /// What the ids of all cases that were to be timed have in them.
    pub only: String,
    /// A shape each, in the order of the table.
    pub shapes: Vec<Timed>,
}

const COLUMNS: [&str; 12] = [
    "id",
    "time_ns",
    "faults",
    "reference",
    "ratio",
    "ratio_low",
    "ratio_high",
    "again",
    "again_low",
    "again_high",
    "rate",
    "rate_ns",
];

impl Paired {
    /// The text that is read back as this.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self { allocator, only, shapes } = self;
        let mut text = format!(
            "# format\t1\n# lens\tpaired\n# allocator\t{allocator}\n# only\t{only}\n# columns\t{}\n",
            COLUMNS.join(" ")
        );
        let of = |Ratio { value, low, high }| format!("{value}\t{low}\t{high}");
        for Timed { reference, again, rate, cases } in shapes {
            let rate = rate
                .as_ref()
                .map_or("-\t-".to_owned(), |Rate { name, median }| format!("{name}\t{median}"));
            let again = of(*again);
            for TimedCase { id, median, ratio, faults } in cases {
                let ratio = of(*ratio);
                text +=
                    &format!("{id}\t{median}\t{faults}\t{reference}\t{ratio}\t{again}\t{rate}\n");
            }
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
        lines.header("lens", "paired")?;
        let [allocator, only] = lines.values(["allocator", "only"])?;
        lines.header("columns", &COLUMNS.join(" "))?;
        let cases = lines.rows(parse_row, |timed| &timed.cases[0].id)?;
        let mut shapes: Vec<Timed> = Vec::new();
        for timed in cases {
            match shapes.last_mut() {
                Some(last) if shape(&last.cases[0].id) == shape(&timed.cases[0].id) => {
                    last.cases.extend(timed.cases);
                }
                _ => shapes.push(timed),
            }
        }
        Ok(Self { allocator, only, shapes })
    }
}

/// Fill and variant of an id, whether or not this build knows the strategy between them.
#[must_use]
pub fn shape(id: &str) -> (&str, &str) {
    let mut segments = id.splitn(3, '/');
    let fill = segments.next().unwrap_or_default();
    (fill, segments.nth(1).unwrap_or_default())
}

/// A shape with one case.
fn parse_row(line: &str) -> Result<Timed, String> {
    let fields: Vec<_> = line.split('\t').collect();
    let Ok(fields) = <[&str; COLUMNS.len()]>::try_from(fields) else {
        return Err(format!("the columns are not {}", COLUMNS.join(" ")));
    };
    let [id, _, faults, reference, .., rate, _] = fields;
    check_id(id)?;
    let decimal = |column: usize| tsv::decimal(fields[column], COLUMNS[column]);
    let ratio = |from: usize| {
        Ok::<_, String>(Ratio {
            value: decimal(from)?,
            low: decimal(from + 1)?,
            high: decimal(from + 2)?,
        })
    };
    let rate = match Rate::NAMES.into_iter().find(|name| *name == rate) {
        Some(name) => Some(Rate { name, median: decimal(11)? }),
        None if rate == "-" => None,
        None => return Err(format!("rate is '{rate}', not one of {}", Rate::NAMES.join(", "))),
    };
    let case = TimedCase {
        id: id.to_owned(),
        median: decimal(1)?,
        ratio: ratio(4)?,
        faults: tsv::number(faults, "faults")?,
    };
    Ok(Timed { reference: reference.to_owned(), again: ratio(7)?, rate, cases: vec![case] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paired() -> Paired {
        let ratio = |value| Ratio { value, low: value / 3.0, high: value * 1.1 };
        let case = |id: &str, median| TimedCase {
            id: id.to_owned(),
            median,
            ratio: ratio(median / 7.0),
            faults: 3,
        };
        let shape =
            |cases, rate| Timed { reference: "floor".to_owned(), again: ratio(1.001), rate, cases };
        let rate = Rate { name: Rate::NAMES[2], median: 12.5 };
        let cases = vec![case("mixed/uninit/1x0", 10.25), case("mixed/floor/1x0", 7.0)];
        Paired {
            allocator: "mimalloc".to_owned(),
            only: String::new(),
            shapes: vec![
                shape(cases, Some(rate)),
                shape(vec![case("zeroed/alloc_zeroed/165/align8", 9.0)], None),
            ],
        }
    }

    #[test]
    fn times_are_read_as_they_were_written() {
        assert_eq!(Paired::parse(&paired().to_text()), Ok(paired()));
    }

    #[test]
    fn damage_is_refused_with_its_line() {
        let text = paired().to_text();
        let error = |from: &str, to: &str| {
            assert!(text.contains(from), "{text}");
            Paired::parse(&text.replacen(from, to, 1)).unwrap_err()
        };
        assert_eq!(error("paired", "footprint"), (2, "lens is 'footprint', not 'paired'".into()));
        assert_eq!(error("\t10.25\t", "\tlong\t"), (6, "time_ns is 'long', not a number".into()));
        let rates = "copy, fill, copy and fill, first touch";
        let wrong = format!("rate is 'flight', not one of {rates}");
        assert_eq!(error("\tcopy and fill\t", "\tflight\t"), (6, wrong));
        assert!(error("\t-\t-\n", "\t-\n").1.starts_with("the columns are not "));
        let twice = "mixed/uninit/1x0 stands here twice";
        assert_eq!(error("mixed/floor/1x0", "mixed/uninit/1x0"), (7, twice.into()));
    }
}
