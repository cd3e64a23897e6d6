//! The page of a report: curves and bars of what was measured, each beside its table, in one file that needs nothing else.
//!
//! The rows go into the page once, as JSON, with the charts that each is a point of; `page.js` draws what is chosen.

use std::collections::{HashMap, HashSet};

use minijinja::context;
use serde_json::{Value, json};

use super::markup::{is_hidden, render};
use super::rows::{Row, SERIES_APART};
use crate::cases::{HeapState, Page, Strategy};

/// A kind of number that charts are of.
struct Metric {
    /// What titles call it.
    name: &'static str,
    lens: &'static str,
    /// What the numbers are, for captions.
    what: &'static str,
    /// One of `ns`, `Ir` and `faults`: how numbers are written.
    unit: &'static str,
    /// Columns of the rows, and what the table calls them. The first is what a point stands at.
    columns: &'static [(&'static str, &'static str)],
    /// Places in these columns of the ends of an interval, and of what it is an interval of.
    interval: Option<[usize; 3]>,
    /// Places in these columns of the parts of a bar.
    parts: &'static [usize],
    curves: bool,
}

/// In the order of a section.
const METRICS: [Metric; 4] = [
    Metric {
        name: "Time",
        lens: "wall_clock",
        what: "Criterion's median of a call and its 95 % interval, in nanoseconds",
        unit: "ns",
        columns: &[
            ("time_ns", "time, ns"),
            ("time_ns_low", "from, ns"),
            ("time_ns_high", "to, ns"),
        ],
        interval: Some([1, 2, 0]),
        parts: &[0],
        curves: true,
    },
    Metric {
        name: "Time in turns",
        lens: "in_turns",
        what: "median of a call where the strategies of a shape have turns, in nanoseconds; the interval is that of the ratio",
        unit: "ns",
        columns: &[
            ("turn_ns", "time, ns"),
            ("ratio", "ratio"),
            ("ratio_low", "from"),
            ("ratio_high", "to"),
            ("noise", "noise"),
        ],
        interval: Some([2, 3, 1]),
        parts: &[0],
        curves: true,
    },
    Metric {
        name: "Instructions",
        lens: "instructions",
        what: "instructions of a call (Ir)",
        unit: "Ir",
        columns: &[
            ("ir", "Ir"),
            ("ir_zeroing", "zeroing"),
            ("ir_copying", "copying"),
            ("ir_allocating", "allocating"),
            ("ir_code", "code"),
            ("allocator_calls", "allocator calls"),
        ],
        interval: None,
        parts: &[1, 2, 3, 4],
        curves: true,
    },
    Metric {
        name: "Page faults",
        lens: "footprint",
        what: "minor page faults of a call",
        unit: "faults",
        columns: &[("faults", "page faults")],
        interval: None,
        parts: &[0],
        curves: false,
    },
];

/// Heap states, with the column of a footprint that is of each.
const HEAPS: [(HeapState, &str); 2] =
    [(HeapState::Recycled, "faults_recycled"), (HeapState::Fresh, "faults_fresh")];

/// Text that shows what would be invisible in it or turn it around.
fn shown(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars() {
        if is_hidden(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

/// Words, each once, by place.
#[derive(Default)]
struct Words {
    words: Vec<String>,
    places: HashMap<String, usize>,
}

impl Words {
    /// The place of a word, which is added if it is new.
    fn place(&mut self, word: &str) -> usize {
        if let Some(&place) = self.places.get(word) {
            return place;
        }
        self.words.push(shown(word));
        self.places.insert(word.to_owned(), self.words.len() - 1);
        self.words.len() - 1
    }
}

/// A chart and the places of its rows.
struct Chart {
    /// What links to it lead to.
    id: String,
    title: String,
    /// The place of its metric.
    metric: usize,
    /// Whether it is a curve against size, not bars of a shape.
    curve: bool,
    rows: Vec<usize>,
}

/// The charts of a page and fill.
struct Section {
    id: String,
    title: String,
    charts: Vec<Chart>,
}

/// A row that is a point of a chart.
struct Point<'a> {
    row: &'a Row,
    metric: usize,
    heap: &'a str,
    values: Vec<Option<f64>>,
}

impl Point<'_> {
    /// The shape without the heap state, which is said beside it.
    fn shape(&self) -> String {
        let shape = self.row.name("shape");
        let parts = shape.split('/').filter(|part| self.heap != "fresh" || *part != "fresh");
        parts.collect::<Vec<_>>().join("/")
    }

    fn size(&self) -> Option<f64> {
        self.row.name("size_bytes").parse().ok().filter(|size: &f64| size.is_finite())
    }
}

/// The points of the rows: one each, but of a footprint one for each heap state.
fn points(rows: &[Row]) -> Vec<Point<'_>> {
    let is_fresh = |row: &Row| row.name("heap") == "fresh";
    let footprints = rows.iter().filter(|row| row.name("lens") == "footprint");
    // A case with new pages stands for itself; another one also says what it takes there.
    let key = |row: &Row, id: &str| {
        ["page", "allocator", "run", "machine"].map(|name| row.name(name).to_owned()).join("\0")
            + id
    };
    let of_fresh: HashSet<_> =
        footprints.filter(|row| is_fresh(row)).map(|row| key(row, row.name("id"))).collect();
    let mut points = Vec::new();
    for row in rows {
        let Some(metric) = METRICS.iter().position(|metric| metric.lens == row.name("lens")) else {
            continue;
        };
        let mut add = |heap, values: Vec<Option<f64>>| {
            if values[0].is_some() {
                points.push(Point { row, metric, heap, values });
            }
        };
        if METRICS[metric].lens != "footprint" {
            let columns = METRICS[metric].columns.iter();
            add(row.name("heap"), columns.map(|(column, _)| row.value(column)).collect());
            continue;
        }
        for (state, column) in HEAPS {
            let heap = state.name();
            let own = row.name("heap") == heap;
            let other = state == HeapState::Fresh
                && !of_fresh.contains(&key(row, &format!("{}/fresh", row.name("id"))));
            if own || other {
                add(heap, vec![row.value(column)]);
            }
        }
    }
    points
}

/// The charts of everything, in the order of the table.
fn sections(points: &[Point<'_>]) -> Vec<Section> {
    let mut ids = HashSet::new();
    let mut places: Vec<(&str, &str)> = Vec::new();
    let mut own: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for (index, point) in points.iter().enumerate() {
        let place = (point.row.name("page"), point.row.name("fill"));
        own.entry(place).or_insert_with(|| {
            places.push(place);
            Vec::new()
        });
        own.entry(place).and_modify(|points| points.push(index));
    }
    let rank =
        |page: &str| Page::all().position(|known| known.name() == page).unwrap_or(usize::MAX);
    places.sort_by_key(|(page, _)| rank(page));
    let mut sections = Vec::new();
    for place @ (page, fill) in places {
        let known = Page::all().find(|known| known.name() == page);
        let references = known.and_then(Page::references).into_iter().flat_map(|reference| {
            own.get(&(reference.0.name(), fill))
                .map_or(Vec::new(), |others| references(points, &own[&place], others, reference.1))
        });
        let of_section: Vec<_> = own[&place].iter().copied().chain(references).collect();
        let title = if page == fill { shown(page) } else { shown(&format!("{page}, {fill}")) };
        let id = unused(&mut ids, &title);
        let charts = charts(points, &of_section, &title, &mut ids);
        sections.push(Section { id, title, charts });
    }
    sections
}

/// The points of another page that `own` are compared with: of the shapes and metrics that have none of those strategies.
fn references(
    points: &[Point<'_>],
    own: &[usize],
    others: &[usize],
    strategies: &[Strategy],
) -> Vec<usize> {
    let key = |point: &Point<'_>| {
        let names = ["shape", "allocator", "strategy"].map(|name| point.row.name(name).to_owned());
        (point.metric, names)
    };
    let has: HashSet<_> = own.iter().map(|&index| key(&points[index])).collect();
    let shapes: HashSet<_> = own.iter().map(|&index| points[index].row.name("shape")).collect();
    let wanted = |point: &Point<'_>| {
        strategies.iter().any(|strategy| strategy.name() == point.row.name("strategy"))
            && shapes.contains(point.row.name("shape"))
            && !has.contains(&key(point))
    };
    others.iter().copied().filter(|&index| wanted(&points[index])).collect()
}

/// Curves of each series that has more than one size, then bars of each metric.
fn charts(
    points: &[Point<'_>],
    own: &[usize],
    section: &str,
    ids: &mut HashSet<String>,
) -> Vec<Chart> {
    let mut names: Vec<&str> = Vec::new();
    let mut series: HashMap<(&str, usize), Vec<usize>> = HashMap::new();
    for &index in own {
        let point = &points[index];
        if point.size().is_none() || !METRICS[point.metric].curves {
            continue;
        }
        for name in point.row.name("series").split(SERIES_APART).filter(|name| !name.is_empty()) {
            if METRICS.iter().enumerate().all(|(metric, _)| !series.contains_key(&(name, metric))) {
                names.push(name);
            }
            series.entry((name, point.metric)).or_default().push(index);
        }
    }
    let mut charts = Vec::new();
    let mut add = |title: String, metric, curve, rows| {
        let id = unused(ids, &format!("{section} {title}"));
        charts.push(Chart { id, title: shown(&title), metric, curve, rows });
    };
    for name in names {
        for (metric, Metric { name: what, .. }) in METRICS.iter().enumerate() {
            let Some(rows) = series.remove(&(name, metric)) else { continue };
            let size = |index: &usize| points[*index].size().map(f64::to_bits);
            if rows.iter().any(|row| size(row) != size(&rows[0])) {
                add(format!("{what} by size: {name}"), metric, true, rows);
            }
        }
    }
    for (metric, Metric { name, parts, .. }) in METRICS.iter().enumerate() {
        let rows: Vec<_> =
            own.iter().copied().filter(|&index| points[index].metric == metric).collect();
        if !rows.is_empty() {
            let by = if parts.len() > 1 { "by cost class" } else { "by strategy" };
            add(format!("{name} {by}"), metric, false, rows);
        }
    }
    charts
}

/// Ids that the template has.
const TAKEN: [&str; 5] = ["charts", "data", "runs", "state", "switches"];

/// What the template adds to an id.
const ENDINGS: [&str; 3] = ["", "-table", "-title"];

/// A name of letters, digits and hyphens that is none of `ids` yet.
fn unused(ids: &mut HashSet<String>, title: &str) -> String {
    let words = title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    name.truncate(60);
    if name.is_empty() {
        name.push_str("unnamed");
    }
    let all = |name: &str| ENDINGS.map(|ending| format!("{name}{ending}"));
    let is_used = |name: &String| all(name).iter().any(|id| ids.contains(id));
    let mut number = 1;
    let mut unused = name.clone();
    while TAKEN.contains(&&*unused) || is_used(&unused) {
        number += 1;
        unused = format!("{name}-{number}");
    }
    ids.extend(all(&unused));
    unused
}

/// JSON that no text in it can end the element of.
fn embedded(value: &Value) -> String {
    let text = value.to_string();
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// What points are of, each once, by place.
struct Names {
    words: Words,
    strategies: Words,
    allocators: Words,
    heaps: Words,
    /// A metric, then the places of an allocator, an environment, a machine and a run.
    sources: Vec<[usize; 5]>,
    places: HashMap<[usize; 5], usize>,
}

impl Names {
    /// No names but the strategies of this crate, which have their colours on every page.
    fn new() -> Self {
        let mut strategies = Words::default();
        for strategy in Strategy::ALL {
            strategies.place(strategy.name());
        }
        let [words, allocators, heaps] = std::array::from_fn(|_| Words::default());
        Self { words, strategies, allocators, heaps, sources: Vec::new(), places: HashMap::new() }
    }

    fn source(&mut self, point: &Point<'_>) -> usize {
        let source = [
            point.metric,
            self.allocators.place(point.row.name("allocator")),
            self.words.place(point.row.name("environment")),
            self.words.place(point.row.name("machine")),
            self.words.place(point.row.name("run")),
        ];
        *self.places.entry(source).or_insert_with(|| {
            self.sources.push(source);
            self.sources.len() - 1
        })
    }

    /// A point as `page.js` reads it, `ROW` there.
    fn numbers(&mut self, point: &Point<'_>) -> Value {
        let source = self.source(point);
        json!([
            self.strategies.place(point.row.name("strategy")),
            self.words.place(&point.shape()),
            point.size(),
            self.words.place(point.row.name("alignment")),
            self.heaps.place(point.heap),
            source,
            point.values,
        ])
    }

    /// Runs and their machines, each once.
    fn runs(&self) -> Vec<String> {
        let mut seen = HashSet::new();
        let own = self.sources.iter().filter(|[.., machine, run]| seen.insert((machine, run)));
        let words = &self.words.words;
        own.map(|&[.., machine, run]| format!("{} on {}", words[run], words[machine])).collect()
    }
}

/// What `page.js` draws.
fn data(points: &[Point<'_>], sections: &[Section], names: &mut Names) -> Value {
    let rows: Vec<_> = points.iter().map(|point| names.numbers(point)).collect();
    let charts = sections.iter().enumerate().flat_map(|(section, Section { charts, .. })| {
        charts.iter().map(move |Chart { metric, curve, rows, .. }| {
            json!({"section": section, "metric": metric, "curve": curve, "rows": rows})
        })
    });
    let metric = |metric: &Metric| {
        json!({
            "what": metric.what,
            "unit": metric.unit,
            "columns": metric.columns.iter().map(|(_, heading)| heading).collect::<Vec<_>>(),
            "interval": metric.interval,
            "parts": metric.parts,
        })
    };
    json!({
        "words": names.words.words,
        "strategies": names.strategies.words,
        "floor": names.strategies.place(Strategy::Floor.name()),
        "allocators": names.allocators.words,
        "heaps": names.heaps.words,
        "sources": names.sources,
        "metrics": METRICS.iter().map(metric).collect::<Vec<_>>(),
        "rows": rows,
        "charts": charts.collect::<Vec<_>>(),
    })
}

/// The rows as one page: curves of time and instructions against size, cost classes and page faults of each shape, with a
/// table beside each, for the allocator and heap state that is chosen there.
#[must_use]
pub fn page(rows: &[Row]) -> String {
    let points = points(rows);
    let sections = sections(&points);
    let mut names = Names::new();
    let data = data(&points, &sections, &mut names);
    let word = |place: usize| &names.words.words[place];
    let source = |&[metric, allocator, environment, machine, run]: &[usize; 5]| {
        context! {
            lens => METRICS[metric].lens,
            allocator => &names.allocators.words[allocator],
            environment => word(environment),
            machine => word(machine),
            run => word(run),
        }
    };
    let chart = |chart: &Chart| context! { id => &chart.id, title => &chart.title };
    let section = |section: &Section| {
        context! {
            id => &section.id,
            title => &section.title,
            charts => section.charts.iter().map(chart).collect::<Vec<_>>(),
        }
    };
    let cases: HashSet<_> = points.iter().map(|point| point.row.name("id")).collect();
    render(
        include_str!("page.html"),
        context! {
            style => include_str!("page.css"),
            script => include_str!("page.js"),
            data => embedded(&data),
            cases => cases.len(),
            points => points.len(),
            runs => names.runs(),
            allocators => &names.allocators.words,
            heaps => &names.heaps.words,
            sources => names.sources.iter().map(source).collect::<Vec<_>>(),
            sections => sections.iter().map(section).collect::<Vec<_>>(),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_of_one_element_each() {
        let mut ids = HashSet::new();
        let titles = ["runs", "a b", "A/b", "a b table", "\u{202e}", "\u{202e}"];
        let unused = titles.map(|title| unused(&mut ids, title));
        assert_eq!(unused, ["runs-2", "a-b", "a-b-2", "a-b-table-2", "unnamed", "unnamed-2"]);
    }

    #[test]
    fn a_case_with_new_pages_stands_for_itself() {
        let row = |id: &str, shape: &str, heap: &str, fresh: f64| {
            let names = [("id", id), ("shape", shape), ("heap", heap), ("lens", "footprint")];
            Row::new(&names, &[("faults_recycled", 0.0), ("faults_fresh", fresh)])
        };
        let rows = [
            row("a/1m", "1m", "recycled", 7.0),
            row("a/2m", "2m", "recycled", 9.0),
            row("a/1m/fresh", "1m/fresh", "fresh", 8.0),
        ];
        let seen: Vec<_> = points(&rows)
            .iter()
            .map(|point| (point.shape(), point.heap.to_owned(), point.values[0].unwrap()))
            .collect();
        let of = |shape: &str, heap: &str, faults| (shape.to_owned(), heap.to_owned(), faults);
        let recycled = |shape| of(shape, "recycled", 0.0);
        let fresh = |shape, faults| of(shape, "fresh", faults);
        assert_eq!(seen, [recycled("1m"), recycled("2m"), fresh("2m", 9.0), fresh("1m", 8.0)]);
    }

    #[test]
    fn peers_stand_beside_aligned_memory_and_the_floor_of_the_mixed_page() {
        let row = |page: &str, strategy: &str, shape: &str, size: &str| {
            let names = [
                ("id", &*format!("mixed/{strategy}/{shape}")),
                ("page", page),
                ("fill", "mixed"),
                ("strategy", strategy),
                ("shape", shape),
                ("series", "1xN"),
                ("size_bytes", size),
                ("lens", "wall_clock"),
            ];
            Row::new(&names, &[("time_ns", 1.0)])
        };
        let rows = [
            row("mixed", "floor", "1x1", "1"),
            row("mixed", "floor", "1x2", "2"),
            row("mixed", "uninit", "1x2", "2"),
            row("peers", "vec", "1x2", "2"),
            row("peers", "vec", "1x3", "3"),
        ];
        let points = points(&rows);
        let sections = sections(&points);
        let of: Vec<_> = sections
            .iter()
            .map(|section| (&*section.title, &*section.charts[0].title, &*section.charts[0].rows))
            .collect();
        let title = "Time by size: 1xN";
        assert_eq!(of, [("mixed", title, &[0, 1, 2][..]), ("peers, mixed", title, &[3, 4, 1][..])]);
    }
}
