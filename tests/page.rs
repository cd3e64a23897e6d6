//! The page of a report: of the whole suite, of many cases, of hostile names. `ci/page` looks at these pages in a browser.

#![cfg(feature = "cli")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use writeonce::baseline::Baseline;
use writeonce::cases::{self, Page};
use writeonce::environment::Environment;
use writeonce::last::{Last, Run};
use writeonce::lens::footprint::Footprint;
use writeonce::lens::instructions;
use writeonce::lens::paired::Paired;
use writeonce::lens::profile::Classes;
use writeonce::lens::wall_clock::{Time, Times};
use writeonce::paired::Ratio;
use writeonce::paired::shape::{Timed, TimedCase};
use writeonce::report::{Measured, Row, page, read_rows, rows, to_csv};

/// Where the pages are left for a browser.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn last<T>(began: &str, measured: T) -> Last<T> {
    let machine = "a machine, 2 cores, linux".to_owned();
    Last { run: Run { began: began.to_owned(), machine }, measured }
}

/// A time for so many instructions and bytes: beyond a cache they cost more.
fn nanoseconds(ir: u64, bytes: u64) -> f64 {
    20.0 + ir as f64 * 0.11 + bytes as f64 * if bytes > 1 << 18 { 0.12 } else { 0.03 }
}

/// Rows of every case, built from the committed baselines with times that are made up, under four allocators.
fn suite() -> Vec<Row> {
    let picture = cases::picture().unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("baselines");
    let (_, baseline) = Baseline::read_all(&folder).unwrap().into_iter().next().unwrap();
    let (_, footprint) = Footprint::read_all(&folder).unwrap().into_iter().next().unwrap();
    let all: Vec<_> = picture.iter().flat_map(|(_, cases)| cases).collect();
    let ir = |id: &str, bytes: u64| {
        let row = baseline.rows.iter().find(|row| row.id == id);
        row.map_or(1_500 + bytes / 9, instructions::Row::total)
    };
    let beside = |page: Page| {
        let cases = picture.iter().filter(|(other, _)| *other == page).flat_map(|(_, cases)| cases);
        let row = |case: &cases::Case| {
            let total = ir(case.id(), case.bytes());
            let classes =
                Classes { zeroing: total / 3, code: total - total / 3, ..Classes::default() };
            instructions::Row {
                id: case.id().to_owned(),
                classes,
                allocator_calls: 2,
                functions: Vec::new(),
            }
        };
        let environment = Environment::new(Environment::KEYS.map(str::to_owned));
        (vec![page], last("Tuesday", Baseline { environment, rows: cases.map(row).collect() }))
    };
    let time = |case: &&cases::Case| {
        let median = nanoseconds(ir(case.id(), case.bytes()), case.bytes());
        let id = case.id().to_owned();
        Time { id, median, low: median * 0.99, high: median * 1.015, bytes: case.bytes() }
    };
    let times = Times {
        allocator: "system".to_owned(),
        sampling: "quick".to_owned(),
        cases: all.iter().map(time).collect(),
    };
    let allocators = ["system", "jemalloc", "jemalloc_madvise", "mimalloc"];
    let in_turns = allocators.into_iter().enumerate().map(|(index, allocator)| {
        let timed = |case: &&cases::Case| {
            let median =
                nanoseconds(ir(case.id(), case.bytes()), case.bytes()) + 9.5 * index as f64;
            let ratio = Ratio { value: 1.1234, low: 1.1, high: 1.15 };
            Timed {
                reference: "floor".to_owned(),
                again: Ratio { value: 1.001, low: 0.99, high: 1.01 },
                rate: None,
                cases: vec![TimedCase { id: case.id().to_owned(), median, ratio, faults: 0 }],
            }
        };
        let shapes = all.iter().map(timed).collect();
        last("Friday", Paired { allocator: allocator.to_owned(), only: String::new(), shapes })
    });
    let footprints = allocators.into_iter().map(|allocator| {
        let text =
            footprint.to_text().replace("allocator\tsystem", &format!("allocator\t{allocator}"));
        last("Thursday", Footprint::parse(&text).unwrap())
    });
    let measured = Measured {
        counts: [(Page::core().to_vec(), last("Monday", baseline.clone()))]
            .into_iter()
            .chain([beside(Page::Alignment)])
            .collect(),
        times: Some(last("Wednesday", times)),
        footprints: footprints.collect(),
        written: None,
        in_turns: in_turns.collect(),
    };
    rows(&picture, &measured)
}

/// Rows of a file with these lines, columns by name.
fn read(lines: &[Vec<(&str, String)>]) -> Vec<Row> {
    let header = to_csv(&[]).unwrap();
    let columns: Vec<_> = header.trim_end().split(',').collect();
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut text = header.clone();
    for line in lines {
        let value = |column: &&str| {
            let found = line.iter().find(|(name, _)| name == column);
            found.map_or(String::new(), |(_, value)| quoted(value))
        };
        text += &(columns.iter().map(value).collect::<Vec<_>>().join(",") + "\n");
    }
    let file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
    fs::write(file.path(), text).unwrap();
    read_rows(file.path()).unwrap()
}

/// What every line of a synthetic file says.
fn line<'a>(lens: &str, strategy: &str, shape: &str, size: u64) -> Vec<(&'a str, String)> {
    [
        ("schema", "1"),
        ("id", &*format!("mixed/{strategy}/{shape}")),
        ("page", "mixed"),
        ("fill", "mixed"),
        ("strategy", strategy),
        ("shape", shape),
        ("series", "1xN"),
        ("size_bytes", &*size.to_string()),
        ("alignment", "16"),
        ("heap", "recycled"),
        ("lens", lens),
        ("allocator", "system"),
        ("environment", "some environment"),
        ("machine", "a machine"),
        ("run", "Monday"),
    ]
    .map(|(name, text)| (name, text.to_owned()))
    .into()
}

#[test]
fn the_page_of_the_whole_suite_is_below_a_megabyte() {
    let rows = suite();
    let text = page(&rows);
    fs::write(folder().join("suite.html"), &text).unwrap();
    fs::write(folder().join("suite.csv"), to_csv(&rows).unwrap()).unwrap();
    println!("{} rows, {} bytes", rows.len(), text.len());
    assert!(text.len() < 1_000_000, "{} bytes of {} rows", text.len(), rows.len());
    for id in
        ["zeroed-time-by-size-n", "mixed-instructions-by-size-1xn", "mixed-page-faults-by-strategy"]
    {
        assert!(text.contains(id), "{id}");
    }
}

#[test]
fn two_thousand_cases_are_a_page_in_two_seconds() {
    let strategies = [
        "zeroed",
        "memset",
        "uninit",
        "zeroed_skip",
        "aligned_memory",
        "growing",
        "pooled",
        "floor",
    ];
    let mut lines = Vec::new();
    for index in 0..250_u32 {
        let size = (10_000.0 * 1.03_f64.powi(index as i32)) as u64;
        for (place, strategy) in strategies.into_iter().enumerate() {
            let cost = 1.0 + ((index as usize * 7 + place * 31) % 41) as f64 / 100.0;
            let shape = format!("1x{size}");
            let ir = (size as f64 * cost).round();
            let values: [(&str, Vec<(&str, f64)>); 4] = [
                ("instructions", vec![("ir", ir), ("ir_zeroing", ir / 2.0), ("ir_code", ir / 2.0)]),
                (
                    "wall_clock",
                    vec![
                        ("time_ns", ir / 9.0),
                        ("time_ns_low", ir / 9.1),
                        ("time_ns_high", ir / 8.9),
                    ],
                ),
                (
                    "in_turns",
                    vec![
                        ("turn_ns", ir / 9.0),
                        ("ratio", cost),
                        ("ratio_low", cost * 0.99),
                        ("ratio_high", cost * 1.01),
                    ],
                ),
                (
                    "footprint",
                    vec![("faults_recycled", 0.0), ("faults_fresh", (size / 4096) as f64)],
                ),
            ];
            for (lens, values) in values {
                let values = values.into_iter().map(|(name, value)| (name, value.to_string()));
                lines.push(line(lens, strategy, &shape, size).into_iter().chain(values).collect());
            }
        }
    }
    let rows = read(&lines);
    assert_eq!(rows.len(), 8_000);
    let began = Instant::now();
    let text = page(&rows);
    let seconds = began.elapsed().as_secs_f64();
    fs::write(folder().join("many.html"), &text).unwrap();
    println!("{seconds:.3} s, {} bytes", text.len());
    assert!(seconds < 2.0, "{seconds} s");
    assert!(text.len() < 4_000_000, "{} bytes", text.len());
}

#[test]
fn hostile_names_are_text() {
    let long = "m".repeat(300);
    let hostile = [
        "<script>window.broken = true</script>",
        "</script><img src=x onerror=\"window.broken = true\">",
        "a|b\nc\r\nd",
        "left\u{202e}right\u{200f}",
        "{{ data }} {% raw %} &amp; <!--",
        &long,
    ];
    let mut lines = Vec::new();
    for (index, name) in hostile.into_iter().enumerate() {
        for size in [1_000_u64, 2_000, 1_000_000] {
            let mut own = line("instructions", name, &format!("{size}{name}"), size);
            let hostile =
                ["page", "fill", "allocator", "environment", "machine", "run", "alignment", "heap"];
            if index > 0 {
                // Every name of some rows; the first are of a page that is known.
                for (column, text) in &mut own {
                    if hostile.contains(column) {
                        name.clone_into(text);
                    }
                }
            }
            let ir = size as f64 * (1.0 + index as f64);
            own.extend([("ir", ir.to_string()), ("ir_code", ir.to_string())]);
            lines.push(own);
        }
    }
    // Nothing and far too much stand in charts, too.
    for (size, ir) in [(0, "0"), (1_000, "1e300"), (1 << 60, "0")] {
        let mut own = line("instructions", "extreme", &size.to_string(), size);
        own.push(("ir", ir.to_owned()));
        lines.push(own);
    }
    let text = page(&read(&lines));
    fs::write(folder().join("hostile.html"), &text).unwrap();
    assert_eq!(text.matches("<script").count(), 2, "the data and the script of the page");
    assert_eq!(text.matches("</script").count(), 2);
    for raw in ["<img", "\u{202e}", "\u{200f}", "a|b\n", "<!--"] {
        assert!(!text.contains(raw), "{raw:?}");
    }
    assert!(text.contains(r"left\u{202e}right\u{200f}") && text.contains(&long));
    assert!(text.contains(r"\u003cscript\u003ewindow.broken") && text.contains("{{ data }}"));
}

#[test]
fn a_page_of_nothing_says_so() {
    let text = page(&[]);
    fs::write(folder().join("empty.html"), &text).unwrap();
    assert!(text.contains("None of the rows is a time, a count of instructions or a footprint."));
}

#[test]
fn the_command_line_makes_a_page_of_rows_and_refuses_what_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_writeonce"));
        command.args(arguments).current_dir(folder.path()).output().unwrap()
    };
    let mut own = line("instructions", "uninit", "1x1k", 1024);
    own.push(("ir", "1500".to_owned()));
    fs::write(folder.path().join("rows.csv"), to_csv(&read(&[own])).unwrap()).unwrap();
    let output = run(&["report", "--html", "page.html", "--from", "rows.csv"]);
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty());
    let text = fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(text.starts_with("<!doctype html>") && text.contains("1 case, 1 point"));

    fs::write(folder.path().join("other.csv"), "id\n").unwrap();
    let output = run(&["report", "--html", "none.html", "--from", "other.csv"]);
    assert_eq!(output.status.code(), Some(2));
    let line = String::from_utf8(output.stderr).unwrap();
    assert!(line.contains("other.csv: line 1: the columns are not"), "{line}");
    assert!(!folder.path().join("none.html").exists());
    for arguments in
        [&["--from", "rows.csv"][..], &["--html", "a", "--from", "rows.csv", "--csv", "b"]]
    {
        let output = run(&[&["report"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}
