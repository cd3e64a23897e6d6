//! Tables on a terminal: one a fill, a line a case, each beside the least of its shape.

use std::collections::HashMap;

use comfy_table::{CellAlignment, Table, presets};

use crate::cases::{Case, Fill, Strategy};
use crate::gate::number;
use crate::lens::instructions::Row;
use crate::lens::wall_clock::Time;
use crate::paired::Ratio;

/// One table a fill: time, throughput and instructions of each case, as they are and as multiples of the
/// floor of the shape; the `zeroed` fill has no floor, there it is the least of the shape. What was not measured
/// is `-`. The best of a shape beside the floor is marked `*`.
#[must_use]
pub fn tables(cases: &[Case], counts: &[Row], times: &[Time]) -> String {
    let counts: HashMap<_, _> = counts.iter().map(|row| (&*row.id, row.total())).collect();
    let times: HashMap<_, _> = times.iter().map(|time| (&*time.id, time)).collect();
    let time = |case: &Case| times.get(case.id()).map(|time| time.median);
    let count = |case: &Case| counts.get(case.id()).map(|&count| count as f64);
    let mut text = String::new();
    for fill in Fill::ALL {
        let page: Vec<_> = cases.iter().filter(|case| case.fill() == fill).collect();
        let limit = if fill == Fill::Zeroed { "least" } else { "floor" };
        let multiple_of = format!("x {limit}");
        let mut table = plain_table(
            ["shape", "strategy", "time", &multiple_of, "throughput", "Ir", &multiple_of],
            2,
        );
        for shape in page.chunk_by(|a, b| a.variant() == b.variant()) {
            let (least_time, least_count) = (limits(shape, time), limits(shape, count));
            for (index, case) in shape.iter().enumerate() {
                let throughput = times.get(case.id()).filter(|time| time.bytes > 0);
                table.add_row([
                    if index == 0 { case.variant().to_owned() } else { String::new() },
                    case.strategy().to_owned(),
                    time(case).map_or("-".to_owned(), nanoseconds),
                    multiple(time(case), &least_time),
                    throughput.map_or("-".to_owned(), |time| {
                        format!("{:.2} GB/s", time.bytes as f64 / time.median)
                    }),
                    counts.get(case.id()).map_or("-".to_owned(), |&count| number(count)),
                    multiple(count(case), &least_count),
                ]);
            }
        }
        text += &format!("{} ({} cases)\n{}\n\n", fill.name(), page.len(), table.trim_fmt());
    }
    text
}

/// A table without lines. The first columns are words, the others numbers.
pub(super) fn plain_table<const N: usize>(header: [&str; N], words: usize) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    for column in table.column_iter_mut().skip(words) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A ratio and its interval; with `~` where no difference was seen.
pub(super) fn ratio(ratio: Ratio) -> [String; 2] {
    let Ratio { value, low, high } = ratio;
    let sign = if ratio.may_be_one() { "~ " } else { "" };
    [format!("{sign}{value:.3}"), format!("{low:.3}-{high:.3}")]
}

/// The reference of a shape and the best of its cases beside the floor.
struct Limits {
    reference: Option<f64>,
    best: Option<f64>,
}

fn limits(shape: &[&Case], value: impl Fn(&Case) -> Option<f64>) -> Limits {
    let is_floor = |case: &&&Case| case.strategy() == Strategy::Floor.name();
    let floor = shape.iter().find(is_floor).and_then(|case| value(case));
    let others = shape.iter().filter(|case| !is_floor(case)).filter_map(|case| value(case));
    let best = others.min_by(f64::total_cmp);
    Limits { reference: floor.or(best), best }
}

fn multiple(value: Option<f64>, limits: &Limits) -> String {
    match (value, limits.reference) {
        (Some(value), Some(reference)) => {
            format!(
                "{}{:.2}",
                if limits.best == Some(value) { "* " } else { "" },
                value / reference
            )
        }
        _ => "-".to_owned(),
    }
}

/// A time with three significant digits and its unit.
pub(super) fn nanoseconds(time: f64) -> String {
    let (value, unit) = match time {
        time if time < 1e3 => (time, "ns"),
        time if time < 1e6 => (time / 1e3, "us"),
        time if time < 1e9 => (time / 1e6, "ms"),
        time => (time / 1e9, "s"),
    };
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lens::profile::Classes;

    #[test]
    fn cases_stand_beside_the_floor_of_their_shape() {
        let ids = ["mixed/zeroed/1x165", "mixed/uninit/1x165", "mixed/floor/1x165"];
        let cases = ids.map(|id| Case::parse(id).unwrap());
        let row = |(id, code): (&str, u64)| Row {
            id: id.to_owned(),
            classes: Classes { code, ..Classes::default() },
            allocator_calls: 2,
            functions: Vec::new(),
        };
        let counts: Vec<_> = ids.into_iter().zip([3000, 1500, 1000]).map(row).collect();
        let times = [Time { id: ids[1].to_owned(), median: 2500.0, bytes: 10_000 }];
        let text = tables(&cases, &counts, &times);
        let lines: Vec<Vec<_>> = text
            .lines()
            .skip_while(|line| !line.starts_with("mixed"))
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(lines[0], ["mixed", "(3", "cases)"]);
        assert_eq!(lines[2], ["1x165", "zeroed", "-", "-", "-", "3,000", "3.00"]);
        let uninit = ["uninit", "2.50", "us", "*", "1.00", "4.00", "GB/s", "1,500", "*", "1.50"];
        assert_eq!(lines[3], uninit);
        assert_eq!(lines[4], ["floor", "-", "-", "-", "1,000", "1.00"]);
    }

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let shown = [94.94, 1250.0, 30_466.0, 4.1e6, 2e9].map(nanoseconds);
        assert_eq!(shown, ["94.9 ns", "1.25 us", "30.5 us", "4.10 ms", "2.00 s"]);
    }
}
