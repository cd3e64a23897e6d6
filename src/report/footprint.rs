//! Footprints on a terminal: one table a page and fill, a line a case, the allocators side by side.

use super::sections::sections;
use super::terminal::plain_table;
use crate::cases::{Case, Page};
use crate::footprint::Row;
use crate::gate::number;
use crate::last::Last;
use crate::lens::footprint::Footprint;

/// One table a page and fill: what one call asks of the allocator, which is the same under all of them, and the page
/// faults of a call under each, on a recycled heap and on a fresh one. What was not measured is `-`. Nothing if nothing
/// was.
#[must_use]
pub fn footprints(picture: &[(Page, Vec<Case>)], last: &[Last<Footprint>]) -> String {
    let footprints: Vec<_> = last.iter().map(|last| &last.measured).collect();
    let Some(first) = footprints.first() else { return String::new() };
    let mut text = String::new();
    for section in sections(picture) {
        let mut table = plain_table(&header(&footprints), 2);
        for shape in &section.shapes {
            for (index, case) in shape.iter().enumerate() {
                let variant = if index == 0 { case.variant() } else { "" };
                let rows: Vec<_> = footprints.iter().map(|all| find(all, case)).collect();
                let mut cells = vec![variant.to_owned(), case.strategy().to_owned()];
                cells.extend(asked(rows[0]));
                for row in rows {
                    cells.push(shown(row.and_then(|row| row.faults_recycled)));
                    cells.push(shown(row.and_then(|row| row.faults_fresh)));
                }
                table.add_row(cells);
            }
        }
        text += &format!(
            "footprint, {}: {} where the shape says nothing else; {}\nAllocator calls and bytes of one call when \
             warm, the same under every allocator; peak x: peak live bytes as a multiple of the largest buffer; RSS KiB:\n\
             growth of peak RSS by the first call of a process under {}; then minor page faults of a call by allocator and \
             heap state\n{}{}\n\n",
            section.title(),
            section.alignment(),
            conditions(first),
            first.conditions.allocator(),
            runs(last),
            table.trim_fmt()
        );
    }
    text
}

/// What page faults depend on, but for the allocator.
fn conditions(footprint: &Footprint) -> String {
    let fields = footprint.conditions.fields().filter(|(key, _)| *key != "allocator");
    fields.map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>().join(", ")
}

/// The run that all are of, or that of each.
fn runs(last: &[Last<Footprint>]) -> String {
    if last.iter().all(|other| other.run == last[0].run) {
        return format!("{}\n", last[0].run);
    }
    let one = |Last { run, measured }: &Last<Footprint>| {
        format!("{}: {run}\n", measured.conditions.allocator())
    };
    format!("not of one run:\n{}", last.iter().map(one).collect::<String>())
}

fn header(footprints: &[&Footprint]) -> Vec<String> {
    let asked = ["shape", "strategy", "calls", "reallocs", "bytes", "zeroed", "peak x", "RSS KiB"];
    let mut header: Vec<_> = asked.map(str::to_owned).into();
    for footprint in footprints {
        let allocator = footprint.conditions.allocator();
        header.extend(["recycled", "fresh"].map(|heap| format!("{allocator}\n{heap}")));
    }
    header
}

/// The columns that do not depend on the allocator, and the peak of memory in core.
fn asked(row: Option<&Row>) -> Vec<String> {
    let Some(Row { buffer_bytes, counts, peak_rss_kib, .. }) = row else {
        return vec!["-".to_owned(); 6];
    };
    vec![
        number(counts.calls()),
        number(counts.reallocations),
        number(counts.bytes),
        number(counts.zeroed_bytes),
        format!("{:.2}", counts.peak_bytes as f64 / *buffer_bytes as f64),
        shown(*peak_rss_kib),
    ]
}

fn find<'a>(footprint: &'a Footprint, case: &Case) -> Option<&'a Row> {
    footprint.rows.iter().find(|row| row.id == case.id())
}

fn shown(value: Option<u64>) -> String {
    value.map_or("-".to_owned(), number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footprint::{COLUMNS, Conditions};
    use crate::last::Run;

    #[test]
    fn allocators_stand_side_by_side() {
        let ids = ["mixed/growing/1x1m", "mixed/pooled/1x1m"];
        let picture = [(Page::Mixed, ids.map(|id| Case::parse(id).unwrap()).into())];
        let footprint = |allocator: &str, faults| {
            let value = |column: &str| match column {
                "buffer_bytes" => Some(1000),
                "reallocations" => Some(1),
                "bytes" => Some(1500),
                "peak_bytes" => Some(1250),
                "faults_recycled" => Some(faults),
                "faults_fresh" | "peak_rss_kib" => None,
                _ => Some(0),
            };
            let conditions = ["64", allocator, "glibc 2.36", "4096"].map(str::to_owned);
            let row = Row::new(ids[0], COLUMNS.map(value)).unwrap();
            let measured = Footprint { conditions: Conditions::new(conditions), rows: vec![row] };
            let run = Run { began: "today".to_owned(), machine: "a machine".to_owned() };
            Last { run, measured }
        };
        let mut last = [footprint("system", 3), footprint("mimalloc", 1259)];
        let text = footprints(&picture, &last);
        let lines: Vec<&str> = text.lines().collect();
        let title = "footprint, mixed (2 cases): alignment 16 where the shape says nothing else; \
                     pointer_width 64, libc glibc 2.36, page_size 4096";
        assert_eq!(lines[0], title);
        assert_eq!(lines[3], "run of today on a machine");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let expected =
            ["1x1m", "growing", "1", "1", "1,500", "0", "1.25", "-", "3", "-", "1,259", "-"];
        assert_eq!(words(lines[4])[10..], ["system", "system", "mimalloc", "mimalloc"]);
        assert_eq!(words(lines[5]), ["recycled", "fresh", "recycled", "fresh"]);
        assert_eq!(words(lines[6]), expected);
        assert_eq!(words(lines[7])[1..], ["-"; 10]);
        assert_eq!(footprints(&picture, &[]), "");

        last[1].run.began = "yesterday".to_owned();
        let text = footprints(&picture, &last);
        let runs = "not of one run:\nsystem: run of today on a machine\n\
                    mimalloc: run of yesterday on a machine\n";
        assert!(text.contains(runs), "{text}");
    }
}
