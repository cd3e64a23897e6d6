//! Tables on a terminal: one a page and fill, a line a case, each beside the least of its shape.

use std::collections::HashMap;

use comfy_table::{CellAlignment, Table, presets};

use super::sections::{Section, sections};
use crate::cases::{Case, Fill, Page, Strategy};
use crate::gate::number;
use crate::lens::instructions::Row;
use crate::lens::wall_clock::Time;
use crate::paired::Ratio;

/// What was measured, by id.
struct Measured<'a> {
    counts: HashMap<&'a str, u64>,
    times: HashMap<&'a str, &'a Time>,
}

impl Measured<'_> {
    /// Instructions, in Ir.
    fn count(&self, id: &str) -> Option<u64> {
        self.counts.get(id).copied()
    }

    /// Median time, in nanoseconds.
    fn time(&self, id: &str) -> Option<f64> {
        self.times.get(id).map(|time| time.median)
    }
}

/// One table a page and fill: time, throughput and instructions of each case, as they are and as multiples of the
/// floor of the shape; the `zeroed` fill has no floor, there it is the least of the shape. What was not measured
/// is `-`. The best of a shape beside the floor is marked `*`.
#[must_use]
pub fn tables(picture: &[(Page, Vec<Case>)], counts: &[Row], times: &[Time]) -> String {
    let measured = Measured {
        counts: counts.iter().map(|row| (&*row.id, row.total())).collect(),
        times: times.iter().map(|time| (&*time.id, time)).collect(),
    };
    let mut text = String::new();
    for section in sections(picture) {
        let table = table(&section, &measured);
        text += &format!("{}\n{}\n\n", section.title(), table.trim_fmt());
        if (section.page, section.fill) == (Page::Alignment, Fill::Zeroed)
            && let Some(line) = calloc_cliff(&measured)
        {
            text += &format!("{line}\n\n");
        }
    }
    for page in Page::BESIDE.into_iter().filter(|page| !page.is_built()) {
        let feature = page.feature().unwrap_or_default();
        text += &format!("{}: not in this build; add `--features {feature}`\n\n", page.name());
    }
    text
}

fn table(section: &Section<'_>, measured: &Measured<'_>) -> Table {
    let limit = if section.fill == Fill::Zeroed { "least" } else { "floor" };
    let multiple_of = format!("x {limit}");
    let mut table = plain_table(
        &["shape", "strategy", "time", &multiple_of, "throughput", "Ir", &multiple_of],
        2,
    );
    let time = |case: &Case| measured.time(case.id());
    let count = |case: &Case| measured.count(case.id()).map(|count| count as f64);
    for shape in &section.shapes {
        let (least_time, least_count) = (limits(shape, time), limits(shape, count));
        for (index, case) in shape.iter().enumerate() {
            let throughput = measured.times.get(case.id()).filter(|time| time.bytes > 0);
            table.add_row([
                if index == 0 { case.variant().to_owned() } else { String::new() },
                case.strategy().to_owned(),
                time(case).map_or("-".to_owned(), nanoseconds),
                multiple(time(case), &least_time),
                throughput.map_or("-".to_owned(), |time| {
                    format!("{:.2} GB/s", time.bytes as f64 / time.median)
                }),
                measured.count(case.id()).map_or("-".to_owned(), number),
                multiple(count(case), &least_count),
            ]);
        }
    }
    table
}

/// A table without lines. The first columns are words, the others numbers.
pub(super) fn plain_table<S: AsRef<str>>(header: &[S], words: usize) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header.iter().map(AsRef::as_ref));
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

/// The same zero bytes from new pages, at an alignment that calloc serves and at one that it does not.
const CLIFF: [&str; 2] =
    ["zeroed/alloc_zeroed/10m/align8/fresh", "zeroed/alloc_zeroed/10m/align64/fresh"];

/// What is beyond the alignment of calloc, if it was measured and costs several times as much.
fn calloc_cliff(measured: &Measured<'_>) -> Option<String> {
    let [below, above] = CLIFF;
    let count = |id: &str| measured.count(id).map(|count| count as f64);
    let times = |above: Option<f64>, below: Option<f64>, unit: &str| {
        let ratio = above? / below?;
        (ratio >= 2.0).then(|| format!("{ratio:.0} times the {unit}"))
    };
    let parts: Vec<_> = [
        times(count(above), count(below), "Ir"),
        times(measured.time(above), measured.time(below), "time"),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "The calloc cliff: above alignment 16, alloc_zeroed is an aligned allocation and a memset, no calloc. \
             {above} takes {} of {below}, as long as nobody touches the pages.",
            parts.join(" and ")
        )
    })
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

    fn row((id, code): (&str, u64)) -> Row {
        Row {
            id: id.to_owned(),
            classes: Classes { code, ..Classes::default() },
            allocator_calls: 2,
            functions: Vec::new(),
        }
    }

    #[test]
    fn cases_stand_beside_the_floor_of_their_shape() {
        let ids = ["mixed/zeroed/1x165", "mixed/uninit/1x165", "mixed/floor/1x165"];
        let cases = ids.map(|id| Case::parse(id).unwrap());
        let counts: Vec<_> = ids.into_iter().zip([3000, 1500, 1000]).map(row).collect();
        let times = [Time { id: ids[1].to_owned(), median: 2500.0, bytes: 10_000 }];
        let text = tables(&[(Page::Mixed, cases.into())], &counts, &times);
        let lines: Vec<Vec<_>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["mixed", "(3", "cases)"]);
        assert_eq!(lines[2], ["1x165", "zeroed", "-", "-", "-", "3,000", "3.00"]);
        let uninit = ["uninit", "2.50", "us", "*", "1.00", "4.00", "GB/s", "1,500", "*", "1.50"];
        assert_eq!(lines[3], uninit);
        assert_eq!(lines[4], ["floor", "-", "-", "-", "1,000", "1.00"]);
    }

    #[test]
    fn peers_stand_beside_the_floor_and_aligned_memory_of_the_mixed_page() {
        let parse = |ids: &[&str]| ids.iter().map(|id| Case::parse(id).unwrap()).collect();
        let mixed = ["mixed/uninit/1x82", "mixed/aligned_memory/1x82", "mixed/floor/1x82"];
        // Whatever stands on that page: this build may know no peer.
        let picture = [(Page::Mixed, parse(&mixed)), (Page::Peers, parse(&["mixed/memset/1x82"]))];
        let ids = [mixed[0], mixed[1], mixed[2], "mixed/memset/1x82"];
        let counts: Vec<_> = ids.into_iter().zip([900, 1010, 1000, 1500]).map(row).collect();
        let text = tables(&picture, &counts, &[]);
        let lines: Vec<Vec<_>> = text
            .lines()
            .skip_while(|line| !line.starts_with("peers (1 cases)"))
            .skip(2)
            .take(4)
            .map(|line| line.split_whitespace().skip_while(|word| *word == "1x82").collect())
            .collect();
        assert_eq!(lines[0], ["memset", "-", "-", "-", "1,500", "1.50"]);
        assert_eq!(lines[1], ["aligned_memory", "-", "-", "-", "1,010", "*", "1.01"]);
        assert_eq!(lines[2], ["floor", "-", "-", "-", "1,000", "1.00"]);
        assert!(lines[3].is_empty(), "{text}");
    }

    #[test]
    fn calloc_cliff_is_named_where_it_shows() {
        let ids: Vec<_> = Page::Alignment.text().lines().collect();
        assert!(CLIFF.iter().all(|id| ids.contains(id)));
        let picture = [(Page::Alignment, CLIFF.map(|id| Case::parse(id).unwrap()).into())];
        let said = |counts: [u64; 2], medians: &[f64]| {
            let counts: Vec<_> = CLIFF.into_iter().zip(counts).map(row).collect();
            let time = |(id, &median): (&str, _)| Time { id: id.to_owned(), median, bytes: 1 };
            let times: Vec<_> = CLIFF.into_iter().zip(medians).map(time).collect();
            let text = tables(&picture, &counts, &times);
            assert!(text.starts_with("alignment, zeroed (2 cases)\n"), "{text}");
            text.lines().find_map(|line| line.strip_prefix("The calloc cliff: ").map(str::to_owned))
        };
        let line = said([400, 600_000], &[5e3, 5e6]).unwrap();
        let takes = " takes 1500 times the Ir and 1000 times the time of zeroed/";
        assert!(line.contains(&format!("{}{takes}", CLIFF[1])), "{line}");
        assert!(said([400, 600_000], &[]).unwrap().contains(" takes 1500 times the Ir of "));
        assert_eq!(said([400, 400], &[5e3, 5e3]), None);
    }

    #[test]
    fn pages_that_this_build_lacks_are_named() {
        let text = tables(&[], &[], &[]);
        let line = "peers: not in this build; add `--features peers`\n\n";
        assert_eq!(text, if cfg!(feature = "peers") { "" } else { line });
    }

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let shown = [94.94, 1250.0, 30_466.0, 4.1e6, 2e9].map(nanoseconds);
        assert_eq!(shown, ["94.9 ns", "1.25 us", "30.5 us", "4.10 ms", "2.00 s"]);
    }
}
