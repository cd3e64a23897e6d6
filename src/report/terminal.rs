//! Tables on a terminal: one a page and fill, a line a case, each beside the least of its shape.

use std::collections::HashMap;

use comfy_table::{CellAlignment, Table, presets};

use super::sections::{Section, sections};
use crate::baseline::Baseline;
use crate::cases::{Case, Fill, Page, Strategy};
use crate::gate::number;
use crate::last::Last;
use crate::lens::wall_clock::{Time, Times};
use crate::paired::Ratio;

/// Counts of some pages, all of one run.
pub type Counts = (Vec<Page>, Last<Baseline>);

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
pub fn tables(
    picture: &[(Page, Vec<Case>)],
    counts: &[Counts],
    times: Option<&Last<Times>>,
) -> String {
    let mut text = String::new();
    if counts.is_empty() && times.is_none() {
        return text;
    }
    for section in sections(picture) {
        let counts = counts.iter().find(|(pages, _)| pages.contains(&section.page));
        let counts = counts.map(|(_, counts)| counts);
        if counts.is_none() && times.is_none() {
            continue;
        }
        let rows = counts.iter().flat_map(|last| &last.measured.rows);
        let cases = times.iter().flat_map(|last| &last.measured.cases);
        let measured = Measured {
            counts: rows.map(|row| (&*row.id, row.total())).collect(),
            times: cases.map(|time| (&*time.id, time)).collect(),
        };
        let table = table(&section, &measured);
        let legend = legend(&section, counts, times);
        text += &format!("{legend}{}\n\n", table.trim_fmt());
        if (section.page, section.fill) == (Page::Alignment, Fill::Zeroed)
            && let Some(line) = calloc_cliff(&measured)
        {
            text += &format!("{line}\n\n");
        }
    }
    for page in Page::beside().iter().filter(|page| !page.is_built()) {
        let feature = page.feature().unwrap_or_default();
        text += &format!("{}: not in this build; add `--features {feature}`\n\n", page.name());
    }
    text
}

/// What multiples in a table are multiples of.
fn limit(section: &Section<'_>) -> &'static str {
    if matches!(section.fill, Fill::Zeroed | Fill::Own) { "least" } else { "floor" }
}

/// What the numbers of a table are, and of which runs.
fn legend(
    section: &Section<'_>,
    counts: Option<&Last<Baseline>>,
    times: Option<&Last<Times>>,
) -> String {
    let mut text = format!(
        "{}: {} and a recycled heap where the shape says nothing else; x {}: of the shape, * the least beside it\n",
        section.title(),
        section.alignment(),
        limit(section)
    );
    if let Some(Last { run, measured: Times { allocator, sampling, .. } }) = times {
        text += &format!(
            "time: Criterion's median of a call, {sampling} sampling; allocator {allocator}; {run}\n"
        );
    }
    if let Some(Last { run, measured }) = counts {
        text +=
            &format!("Ir: instructions of a call; {}; {run}\n", measured.environment.in_short());
    }
    text
}

fn table(section: &Section<'_>, measured: &Measured<'_>) -> Table {
    let limit = limit(section);
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
    use crate::environment::Environment;
    use crate::last::Run;
    use crate::lens::instructions::Row;
    use crate::lens::profile::Classes;

    fn last<T>(measured: T) -> Last<T> {
        let run = Run { began: "today".to_owned(), machine: "a machine".to_owned() };
        Last { run, measured }
    }

    fn counts(page: Page, rows: Vec<Row>) -> Counts {
        let environment = Environment::new(Environment::KEYS.map(|key| format!("some {key}")));
        (vec![page], last(Baseline { environment, rows }))
    }

    fn times(cases: Vec<Time>) -> Last<Times> {
        last(Times { allocator: "system".to_owned(), sampling: "quick".to_owned(), cases })
    }

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
        let counts =
            counts(Page::Mixed, ids.into_iter().zip([3000, 1500, 1000]).map(row).collect());
        let times = times(vec![Time {
            id: ids[1].to_owned(),
            median: 2500.0,
            low: 2500.0,
            high: 2500.0,
            bytes: 10_000,
        }]);
        let text = tables(&[(Page::Mixed, cases.into())], &[counts], Some(&times));
        let legend: Vec<_> = text.lines().take(3).collect();
        assert!(legend[0].starts_with("mixed (3 cases): alignment 16 and a recycled heap "));
        assert!(legend[1].ends_with("quick sampling; allocator system; run of today on a machine"));
        assert!(legend[2].starts_with("Ir: instructions of a call; allocator some allocator, "));
        assert!(legend[2].ends_with(", valgrind some valgrind; run of today on a machine"));
        let lines: Vec<Vec<_>> =
            text.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[2], ["1x165", "zeroed", "-", "-", "-", "3,000", "3.00"]);
        let uninit = ["uninit", "2.50", "us", "*", "1.00", "4.00", "GB/s", "1,500", "*", "1.50"];
        assert_eq!(lines[3], uninit);
        assert_eq!(lines[4], ["floor", "-", "-", "-", "1,000", "1.00"]);
    }

    #[test]
    fn counts_of_pages_are_not_mixed() {
        let parse = |ids: &[&str]| ids.iter().map(|id| Case::parse(id).unwrap()).collect();
        let mixed = ["mixed/uninit/1x82", "mixed/aligned_memory/1x82", "mixed/floor/1x82"];
        // Whatever stands on that page: this build may know no peer.
        let picture = [(Page::Mixed, parse(&mixed)), (Page::Peers, parse(&["mixed/memset/1x82"]))];
        let page =
            |page, rows: &[(&str, u64)]| counts(page, rows.iter().copied().map(row).collect());
        let core = page(Page::Mixed, &[(mixed[0], 900), (mixed[1], 1010), (mixed[2], 1000)]);
        let ids = ["mixed/memset/1x82", mixed[1], mixed[2]];
        let beside = page(Page::Peers, &[(ids[0], 3000), (ids[1], 2020), (ids[2], 2000)]);
        let text = tables(&picture, &[core, beside], None);
        let lines: Vec<Vec<_>> = text
            .lines()
            .skip_while(|line| !line.starts_with("peers (1 cases)"))
            .skip(3)
            .take(4)
            .map(|line| line.split_whitespace().skip_while(|word| *word == "1x82").collect())
            .collect();
        assert_eq!(lines[0], ["memset", "-", "-", "-", "3,000", "1.50"]);
        assert_eq!(lines[1], ["aligned_memory", "-", "-", "-", "2,020", "*", "1.01"]);
        assert_eq!(lines[2], ["floor", "-", "-", "-", "2,000", "1.00"]);
        assert!(lines[3].is_empty(), "{text}");
    }

    #[test]
    fn calloc_cliff_is_named_where_it_shows() {
        let ids: Vec<_> = Page::Alignment.text().lines().collect();
        assert!(CLIFF.iter().all(|id| ids.contains(id)));
        let picture = [(Page::Alignment, CLIFF.map(|id| Case::parse(id).unwrap()).into())];
        let said = |ir: [u64; 2], medians: &[f64]| {
            let counts = counts(Page::Alignment, CLIFF.into_iter().zip(ir).map(row).collect());
            let time = |(id, &median): (&str, _)| Time {
                id: id.to_owned(),
                median,
                low: median,
                high: median,
                bytes: 1,
            };
            let times = times(CLIFF.into_iter().zip(medians).map(time).collect());
            let text = tables(&picture, &[counts], Some(&times));
            assert!(text.starts_with("alignment, zeroed (2 cases): "), "{text}");
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
        let text = tables(&[], &[counts(Page::Mixed, Vec::new())], None);
        let line = "peers: not in this build; add `--features peers`\n\n";
        assert_eq!(text, if cfg!(feature = "peers") { "" } else { line });
        assert_eq!(tables(&[], &[], None), "");
    }

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let shown = [94.94, 1250.0, 30_466.0, 4.1e6, 2e9].map(nanoseconds);
        assert_eq!(shown, ["94.9 ns", "1.25 us", "30.5 us", "4.10 ms", "2.00 s"]);
    }
}
