//! Times in turns: each case beside a reference and beside what the machine needs at least.

use super::sections::alignment;
use super::terminal::{nanoseconds, plain_table, ratio};
use crate::gate::number;
use crate::last::Last;
use crate::lens::paired::{Paired, shape};
use crate::paired::shape::{Timed, TimedCase};

/// One table a fill of shapes that were timed in turns in one process.
#[must_use]
pub fn paired(Last { run, measured }: &Last<Paired>) -> String {
    let Paired { allocator, only, shapes } = measured;
    let fill = |timed: &Timed| shape(&timed.cases[0].id).0.to_owned();
    let mut text = String::new();
    for shapes in shapes.chunk_by(|a, b| fill(a) == fill(b)) {
        let ids = shapes.iter().flat_map(|timed| &timed.cases).map(|case| &case.id);
        let alignment = alignment(ids.map(|id| id.split('/').nth(1).unwrap_or_default()));
        let some = if only.is_empty() { String::new() } else { format!(", of ids with '{only}'") };
        text += &format!(
            "{}, in turns ({} shapes{some}): allocator {allocator}, {alignment} and a recycled heap where the \
             shape says nothing else\ntime: median of a call; ratio: the median of \
             a round; faults: minor page faults of a call; {run}\n{}\n",
            fill(&shapes[0]),
            shapes.len(),
            table(shapes)
        );
    }
    text
}

fn table(shapes: &[Timed]) -> String {
    let header = ["shape", "strategy", "time", "ratio to", "", "95 %", "of the rate", "faults"];
    let mut table = plain_table(&header, 2);
    for Timed { reference, again, rate, cases } in shapes {
        let mut variant = cases.first().map_or(String::new(), |case| shape(&case.id).1.to_owned());
        for TimedCase { id, median, ratio: times, faults } in cases {
            let [value, interval] = ratio(*times);
            let share = rate.as_ref().map_or("-".to_owned(), |rate| {
                format!("{:.0} % of {}", rate.median / median * 100.0, rate.name)
            });
            table.add_row([
                std::mem::take(&mut variant),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::last::Run;
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
        let other =
            Timed { cases: vec![case("zeroed/alloc_memset/1k", 90.0, 1.0)], ..shape.clone() };
        let of = |only: &str| Paired {
            allocator: "mimalloc".to_owned(),
            only: only.to_owned(),
            shapes: vec![other.clone(), shape.clone()],
        };
        let run = Run { began: "today".to_owned(), machine: "a machine".to_owned() };
        let text = paired(&Last { run: run.clone(), measured: of("") });
        assert!(text.contains("\n\nmixed, in turns (1 shapes): allocator mimalloc, "), "{text}");
        assert_eq!(text.matches("; run of today on a machine\n").count(), 2, "{text}");
        let words =
            |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
        let lines: Vec<_> =
            text.lines().map(words).skip_while(|line| !line.starts_with("mixed")).skip(2).collect();
        assert_eq!(lines[1], "1x10k zeroed 3.00 us floor 1.500 1.490-1.510 33 % of copy 129");
        assert_eq!(lines[2], "floor 2.00 us floor ~ 1.000 0.990-1.010 50 % of copy 129");
        assert_eq!(lines[3], "(A/A) floor ~ 1.001 0.990-1.020");
        let text = paired(&Last { run, measured: of("1k") });
        assert!(text.contains("mixed, in turns (1 shapes, of ids with '1k'): "), "{text}");
    }
}
