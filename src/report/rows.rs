//! What was measured, a row a case, lens and environment: for spreadsheets, and to compare runs. `docs/report.md` says
//! what each column is.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::Counts;
use crate::cases::{Case, Fill, Page};
use crate::failure::Failure;
use crate::files::read_text;
use crate::footprint;
use crate::last::{Last, Run};
use crate::lens::amplification::Written;
use crate::lens::footprint::Footprint;
use crate::lens::paired::Paired;
use crate::lens::wall_clock::Times;

/// Version of the columns: another one where a column goes or means something else.
const SCHEMA: &str = "1";

/// What stands between the series of a case that is in several.
pub(super) const SERIES_APART: &str = "; ";

/// What the last runs measured.
#[derive(Debug, Default)]
pub struct Measured {
    /// Instruction counts, pages apart.
    pub counts: Vec<Counts>,
    /// Wall-clock times.
    pub times: Option<Last<Times>>,
    /// Footprints, an allocator each.
    pub footprints: Vec<Last<Footprint>>,
    /// Write amplification.
    pub written: Option<Last<Vec<Written>>>,
    /// Times in turns, an allocator each.
    pub in_turns: Vec<Last<Paired>>,
}

/// Columns that say what a row is of.
const NAMES: [&str; 15] = [
    "schema",
    "id",
    "page",
    "fill",
    "strategy",
    "shape",
    "series",
    "size_bytes",
    "alignment",
    "heap",
    "lens",
    "allocator",
    "environment",
    "machine",
    "run",
];

/// Columns of values beside those of [`footprint::COLUMNS`], with the lens that each is of.
const VALUES: [(&str, &str); 18] = [
    ("instructions", "ir"),
    ("instructions", "ir_zeroing"),
    ("instructions", "ir_copying"),
    ("instructions", "ir_allocating"),
    ("instructions", "ir_code"),
    ("instructions", "allocator_calls"),
    ("wall_clock", "time_ns"),
    ("wall_clock", "time_ns_low"),
    ("wall_clock", "time_ns_high"),
    ("amplification", "written_bytes"),
    ("amplification", "zeroed_for_it_bytes"),
    ("amplification", "amplification"),
    ("in_turns", "turn_ns"),
    ("in_turns", "turn_faults"),
    ("in_turns", "ratio"),
    ("in_turns", "ratio_low"),
    ("in_turns", "ratio_high"),
    ("in_turns", "noise"),
];

/// A case through one lens in one environment.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    names: Vec<String>,
    /// Values by column.
    values: Vec<(String, f64)>,
}

impl Row {
    /// The row with these names and values, other names empty.
    #[cfg(test)]
    pub(super) fn new(names: &[(&str, &str)], values: &[(&str, f64)]) -> Self {
        let name = |column: &str| {
            names.iter().find(|(name, _)| *name == column).map_or("", |(_, text)| text)
        };
        Self {
            names: NAMES.map(|column| name(column).to_owned()).into(),
            values: values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        }
    }

    /// What column `name` says.
    #[must_use]
    pub fn name(&self, name: &str) -> &str {
        let place = NAMES.iter().position(|other| *other == name);
        place.and_then(|place| self.names.get(place)).map_or("", String::as_str)
    }

    /// The value in column `name`.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<f64> {
        self.values.iter().find(|(other, _)| other == name).map(|(_, value)| *value)
    }
}

/// All columns, in order.
fn columns() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().chain(VALUES.map(|(_, name)| name)).chain(footprint::COLUMNS)
}

/// The rows of everything that was measured of these cases, in table order, lens after lens.
#[must_use]
pub fn rows(picture: &[(Page, Vec<Case>)], measured: &Measured) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |pages: &[Page],
                   lens: &str,
                   id: &str,
                   allocator: &str,
                   environment: &str,
                   run: &Run,
                   values: &[Option<f64>]| {
        let found = picture
            .iter()
            .find_map(|(page, cases)| Some((page, cases.iter().find(|case| case.id() == id)?)));
        let Some((page, case)) = found else { return };
        // Where the cases of a page were counted beside those that they are compared with, these are of that page, too.
        let page = pages.iter().find(|page| page.shows(id)).unwrap_or(page);
        let columns: Vec<&str> = match lens {
            "footprint" => footprint::COLUMNS.to_vec(),
            _ => VALUES.iter().filter(|(of, _)| *of == lens).map(|(_, name)| *name).collect(),
        };
        let values = columns.iter().zip(values);
        rows.push(Row {
            names: names(*page, case, lens, allocator, environment, run),
            values: values
                .filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?)))
                .collect(),
        });
    };
    let number = |value: u64| Some(value as f64);
    for (pages, Last { run, measured: counts }) in &measured.counts {
        for row in &counts.rows {
            let classes = &row.classes;
            let parts =
                [row.total(), classes.zeroing, classes.copying, classes.allocating, classes.code];
            let values: Vec<_> =
                parts.into_iter().chain([row.allocator_calls]).map(number).collect();
            let environment = counts.environment.in_short();
            add(pages, "instructions", &row.id, "system", &environment, run, &values);
        }
    }
    if let Some(Last { run, measured: times }) = &measured.times {
        for time in &times.cases {
            let values = [time.median, time.low, time.high].map(Some);
            add(
                &[],
                "wall_clock",
                &time.id,
                &times.allocator,
                &format!("sampling {}", times.sampling),
                run,
                &values,
            );
        }
    }
    for Last { run, measured: footprint } in &measured.footprints {
        let fields: Vec<_> = footprint.conditions.fields().collect();
        let allocator =
            fields.iter().find(|(key, _)| *key == "allocator").map_or("", |(_, value)| value);
        let environment: Vec<_> =
            fields.iter().map(|(key, value)| format!("{key} {value}")).collect();
        let environment = environment.join(", ");
        for row in &footprint.rows {
            let values = row.values().map(|value| value.map(|value| value as f64));
            add(&[], "footprint", &row.id, allocator, &environment, run, &values);
        }
    }
    if let Some(Last { run, measured: written }) = &measured.written {
        for row in written {
            let values = [number(row.written), number(row.zeroed), row.amplification()];
            add(&[], "amplification", &row.id, "DHAT", "", run, &values);
        }
    }
    for Last { run, measured: paired } in &measured.in_turns {
        for shape in &paired.shapes {
            for case in &shape.cases {
                let ratio = case.ratio;
                let values = [
                    case.median,
                    case.faults as f64,
                    ratio.value,
                    ratio.low,
                    ratio.high,
                    shape.again.value,
                ];
                let environment = format!("reference {}", shape.reference);
                add(
                    &[],
                    "in_turns",
                    &case.id,
                    &paired.allocator,
                    &environment,
                    run,
                    &values.map(Some),
                );
            }
        }
    }
    rows
}

fn names(
    page: Page,
    case: &Case,
    lens: &str,
    allocator: &str,
    environment: &str,
    run: &Run,
) -> Vec<String> {
    let suffix = case.suffix().split('/');
    let alignment = suffix.filter_map(|part| part.strip_prefix("align")).next().unwrap_or("16");
    let shape = case.variant();
    let fill = case.fill().name();
    let size = case.bytes().to_string();
    [
        SCHEMA,
        case.id(),
        page.name(),
        fill,
        case.strategy(),
        shape,
        &series(case),
        &size,
        alignment,
        case.heap().name(),
        lens,
        allocator,
        environment,
        &run.machine,
        &run.began,
    ]
    .map(str::to_owned)
    .into()
}

/// The series in which the case grows by one size alone, whatever the strategy and the heap.
fn series(case: &Case) -> String {
    if case.fill() == Fill::Zeroed {
        let others = case.suffix().split('/').filter(|part| !part.is_empty() && *part != "fresh");
        return ["N"].into_iter().chain(others).collect::<Vec<_>>().join("/");
    }
    let name = |series: &str| series.splitn(3, '/').nth(2).unwrap_or_default().to_owned();
    let names: Vec<_> = case.series().iter().map(|(series, _)| name(series)).collect();
    names.join(SERIES_APART)
}

/// The rows as comma-separated values (RFC 4180), with a header.
///
/// # Errors
/// [`Failure`] if they cannot be written, which memory always can.
pub fn to_csv(rows: &[Row]) -> Result<String, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::new(format!("no CSV: {error}"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns()).map_err(|error| wrong(&error))?;
    for row in rows {
        let values = columns()
            .skip(NAMES.len())
            .map(|name| row.value(name).map_or(String::new(), |value| value.to_string()));
        let record = row.names.iter().cloned().chain(values);
        writer.write_record(record).map_err(|error| wrong(&error))?;
    }
    let bytes = writer.into_inner().map_err(|error| wrong(&error))?;
    String::from_utf8(bytes).map_err(|error| wrong(&error))
}

/// The rows as JSON: `schema`, and `rows` with the columns that a row has.
#[must_use]
pub fn to_json(rows: &[Row]) -> Value {
    let row = |row: &Row| {
        let names = NAMES.iter().zip(&row.names).skip(1);
        let values = row.values.iter().map(|(name, value)| (name.clone(), json!(value)));
        let names = names.map(|(name, text)| ((*name).to_owned(), json!(text)));
        names.chain(values).collect::<Map<_, _>>()
    };
    json!({"schema": SCHEMA, "rows": rows.iter().map(row).collect::<Vec<_>>()})
}

/// Reads a file that [`to_csv`] or [`to_json`] wrote, told apart by how its name ends.
///
/// # Errors
/// [`Failure`] with file and place if it is neither, or of another schema.
pub fn read(path: &Path) -> Result<Vec<Row>, Failure> {
    let text = read_text(path)?;
    let json = path.extension().is_some_and(|extension| extension == "json");
    let rows = if json { from_json(&text) } else { from_csv(&text) };
    rows.map_err(|reason| Failure::at(path, reason))
}

/// Reads the text of what [`to_json`] made.
///
/// # Errors
/// What is wrong, and where.
pub fn from_json(text: &str) -> Result<Vec<Row>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if value["schema"] != SCHEMA {
        return Err(format!("its schema is {}, not \"{SCHEMA}\"", value["schema"]));
    }
    let rows = value["rows"].as_array().ok_or("it has no rows")?;
    rows.iter()
        .enumerate()
        .map(|(index, row)| {
            let word = |name: &str| match name {
                "schema" => Some(SCHEMA.to_owned()),
                name => row[name].as_str().map(str::to_owned),
            };
            let names = NAMES.iter().map(|name| word(name)).collect::<Option<Vec<_>>>();
            let names = names.ok_or_else(|| format!("row {}: it lacks a name", index + 1))?;
            let value = |name: &str| Some((name.to_owned(), row[name].as_f64()?));
            Ok(Row { names, values: columns().skip(NAMES.len()).filter_map(value).collect() })
        })
        .collect()
}

/// Reads the text that [`to_csv`] made.
///
/// # Errors
/// What is wrong, and where.
pub fn from_csv(text: &str) -> Result<Vec<Row>, String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| error.to_string())?;
    if !header.iter().eq(columns()) {
        return Err("line 1: the columns are not those of `report --csv`".to_owned());
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        let line = record.position().map_or(0, csv::Position::line);
        if &record[0] != SCHEMA {
            return Err(format!("line {line}: its schema is '{}', not '{SCHEMA}'", &record[0]));
        }
        let mut values = Vec::new();
        for (name, text) in
            columns().zip(&record).skip(NAMES.len()).filter(|(_, text)| !text.is_empty())
        {
            let value: f64 = text
                .parse()
                .ok()
                .filter(|value: &f64| value.is_finite())
                .ok_or_else(|| format!("line {line}: {name} is '{text}', not a number"))?;
            values.push((name.to_owned(), value));
        }
        rows.push(Row {
            names: record.iter().take(NAMES.len()).map(str::to_owned).collect(),
            values,
        });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::Baseline;
    use crate::environment::Environment;
    use crate::lens::instructions;
    use crate::lens::profile::Classes;
    use crate::lens::wall_clock::Time;

    /// A count and a time of one case, on a machine with a hostile name.
    fn measured() -> (Vec<(Page, Vec<Case>)>, Measured) {
        let id = "zeroed/alloc_zeroed/1m/align64/fresh";
        let run = Run {
            began: "2026-01-01 00:00:00 UTC".to_owned(),
            machine: "\"a\", <b>\n|c".to_owned(),
        };
        let classes = Classes { zeroing: 700, code: 50, ..Classes::default() };
        let row = instructions::Row {
            id: id.to_owned(),
            classes,
            allocator_calls: 2,
            functions: Vec::new(),
        };
        let environment = Environment::new(Environment::KEYS.map(str::to_owned));
        let counts = Last { run: run.clone(), measured: Baseline { environment, rows: vec![row] } };
        let time = Time { id: id.to_owned(), median: 1.5, low: 1.25, high: 2.0, bytes: 1024 };
        let times = Times {
            allocator: "system".to_owned(),
            sampling: "quick".to_owned(),
            cases: vec![time],
        };
        let measured = Measured {
            counts: vec![(vec![Page::Zeroed], counts)],
            times: Some(Last { run, measured: times }),
            ..Measured::default()
        };
        (vec![(Page::Zeroed, vec![Case::parse(id).unwrap()])], measured)
    }

    #[test]
    fn a_row_says_what_it_is_of() {
        let (picture, measured) = measured();
        let rows = rows(&picture, &measured);
        assert_eq!(rows.len(), 2);
        let said = ["page", "fill", "strategy", "shape", "alignment", "heap", "lens", "allocator"]
            .map(|name| rows[0].name(name));
        let shape = "1m/align64/fresh";
        assert_eq!(
            said,
            ["zeroed", "zeroed", "alloc_zeroed", shape, "64", "fresh", "instructions", "system"]
        );
        assert_eq!((rows[0].name("series"), rows[0].name("size_bytes")), ("N/align64", "1048576"));
        assert_eq!(rows[0].value("ir"), Some(750.0));
        assert_eq!(rows[0].value("ir_zeroing"), Some(700.0));
        assert_eq!(rows[0].value("time_ns"), None);
        assert_eq!(rows[1].value("time_ns_high"), Some(2.0));
    }

    #[test]
    fn series_are_shapes_with_one_size_that_grows() {
        let of = |id: &str| series(&Case::parse(id).unwrap());
        assert_eq!(of("zeroed/vec_zeroed/1m/fresh/touched"), "N/touched");
        assert_eq!(of("cursor/uninit/64k_by8"), "N_by8");
        assert_eq!(of("mixed/floor/1x165_unaligned"), "1xN_unaligned; Nx165_unaligned");
        assert_eq!(of("mixed/floor/8x1k/align64"), "8xN/align64; Nx1024/align64");
        assert_eq!(of("mixed/floor/ledger"), "");
    }

    #[test]
    fn what_peers_were_counted_beside_is_of_their_page() {
        let ids = ["mixed/floor/1x82", "mixed/uninit/1x82"];
        let cases: Vec<_> = ids.map(|id| Case::parse(id).unwrap()).into();
        let (_, Measured { counts, .. }) = measured();
        let (_, mut counts) = counts.into_iter().next().unwrap();
        counts.measured.rows[0].id = ids[0].to_owned();
        let of = |pages: Vec<Page>| {
            let measured =
                Measured { counts: vec![(pages, counts.clone())], ..Measured::default() };
            rows(&[(Page::Mixed, cases.clone())], &measured)[0].name("page").to_owned()
        };
        assert_eq!([of(Page::core().to_vec()), of(vec![Page::Peers])], ["mixed", "peers"]);
    }

    #[test]
    fn rows_are_read_as_they_were_written_whatever_the_names() {
        let (picture, measured) = measured();
        let rows = rows(&picture, &measured);
        let folder = tempfile::tempdir().unwrap();
        let (csv, json) = (folder.path().join("rows.csv"), folder.path().join("rows.json"));
        std::fs::write(&csv, to_csv(&rows).unwrap()).unwrap();
        std::fs::write(&json, to_json(&rows).to_string()).unwrap();
        assert_eq!(read(&csv).unwrap(), rows);
        assert_eq!(read(&json).unwrap(), rows);
    }

    // Found by the fuzz target `rows`.
    #[test]
    fn numbers_are_read_from_json_to_the_last_bit() {
        let (picture, measured) = measured();
        let text = to_csv(&rows(&picture, &measured)).unwrap().replace(",750,", ",1.10001e299,");
        let rows = from_csv(&text).unwrap();
        assert!(rows.iter().any(|row| row.values.iter().any(|(_, value)| *value == 1.10001e299)));
        assert_eq!(from_json(&to_json(&rows).to_string()), Ok(rows));
    }

    #[test]
    fn files_that_are_something_else_are_refused_with_the_place() {
        let (picture, measured) = measured();
        let text = to_csv(&rows(&picture, &measured)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let refused = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            read(&path).unwrap_err().to_string()
        };
        let wrong = [
            ("a.csv", text.replace("schema,id", "id,schema"), "line 1: the columns are not"),
            ("b.csv", text.replace("\n1,", "\n2,"), "its schema is '2', not '1'"),
            ("c.csv", text.replace(",750,", ",many,"), "ir is 'many', not a number"),
            ("d.csv", text.replace(",750,", ",inf,"), "ir is 'inf', not a number"),
            ("e.json", "{".to_owned(), "EOF"),
            ("f.json", r#"{"schema": "2", "rows": []}"#.to_owned(), "its schema is \"2\""),
            ("g.json", r#"{"schema": "1", "rows": [{}]}"#.to_owned(), "row 1: it lacks a name"),
        ];
        for (name, text, reason) in wrong {
            let error = refused(name, &text);
            assert!(error.contains(reason), "{name}: {error}");
        }
    }
}
