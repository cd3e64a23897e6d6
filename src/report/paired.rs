//! Times in turns: each case beside a reference and beside what the machine needs at least.

use super::terminal::{nanoseconds, plain_table, ratio};
use crate::cases::Case;
use crate::gate::number;
use crate::paired::shape::{Timed, TimedCase};

/// One table of shapes that were timed in turns in one process.
#[must_use]
pub fn paired_table(shapes: &[Timed]) -> String {
    let header = ["shape", "strategy", "time", "ratio to", "", "95 %", "of the rate", "faults"];
    let mut table = plain_table(&header, 2);
    for Timed { reference, again, rate, cases } in shapes {
        let mut shape = cases.first().map_or(String::new(), |case| variant(&case.id));
        for TimedCase { id, median, ratio: times, faults } in cases {
            let [value, interval] = ratio(*times);
            let share = rate.as_ref().map_or("-".to_owned(), |rate| {
                format!("{:.0} % of {}", rate.median / median * 100.0, rate.name)
            });
            table.add_row([
                std::mem::take(&mut shape),
                id.split('/').nth(1).unwrap_or_default().to_owned(),
                nanoseconds(*median),
                reference.clone(),
                value,
                interval,
                share,
                number(*faults),
            ]);
        }
        let [value, interval] = ratio(*again);
        table.add_row(["", "(A/A)", "", reference, &value, &interval, "", ""]);
    }
    format!("{}\n", table.trim_fmt())
}

/// Shape and what differs from the default.
fn variant(id: &str) -> String {
    Case::parse(id).map_or_else(|_| id.to_owned(), |case| case.variant().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::Ratio;
    use crate::paired::shape::Rate;

    #[test]
    fn rows_say_ratio_interval_and_share() {
        let case = |id: &str, median, value| TimedCase {
            id: id.to_owned(),
            median,
            ratio: Ratio { value, low: value - 0.01, high: value + 0.01 },
            faults: 129,
        };
        let shape = Timed {
            reference: "floor".to_owned(),
            again: Ratio { value: 1.001, low: 0.99, high: 1.02 },
            rate: Some(Rate { name: "copy", median: 1000.0 }),
            cases: vec![
                case("mixed/zeroed/1x10k", 3000.0, 1.5),
                case("mixed/floor/1x10k", 2000.0, 1.0),
            ],
        };
        let text = paired_table(&[shape]);
        let words =
            |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
        let lines: Vec<_> = text.lines().map(words).collect();
        assert_eq!(lines[1], "1x10k zeroed 3.00 us floor 1.500 1.490-1.510 33 % of copy 129");
        assert_eq!(lines[2], "floor 2.00 us floor ~ 1.000 0.990-1.010 50 % of copy 129");
        assert_eq!(lines[3], "(A/A) floor ~ 1.001 0.990-1.020");
    }
}
