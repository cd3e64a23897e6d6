//! Judging footprints: calls and bytes exactly, page faults within a slack, the peak of memory in core not at all.

use std::fmt;

use super::{Kind, Measured, number};
use crate::footprint::{COLUMNS, Row};

/// By how many pages the faults of a call may differ from the baseline, either way: one for each block that it asks
/// for.
///
/// Under glibc and mimalloc they are the same in every run. jemalloc begins large blocks at random places in a page, so
/// that one more or less is touched.
#[must_use]
pub fn slack(baseline: &Row) -> u64 {
    let counts = &baseline.counts;
    // What is read from a file may be any number.
    counts.calls().saturating_sub(counts.frees)
}

/// What people call the [`COLUMNS`].
const NAMES: [&str; COLUMNS.len()] = [
    "bytes of the buffer",
    "alloc calls",
    "alloc_zeroed calls",
    "realloc calls",
    "free calls",
    "bytes asked for",
    "zeroed bytes asked for",
    "bytes moved",
    "peak live bytes",
    "page faults recycled",
    "page faults fresh",
    "peak RSS KiB",
];

/// Index of the first column that may differ by the [`slack`], and of the first that is not judged.
const FAULTS: usize = 9;
const NOT_JUDGED: usize = 11;

/// What differs: the name of the column, now, then.
fn differences<'a>(
    measured: &'a Row,
    baseline: &'a Row,
) -> impl Iterator<Item = (&'static str, Option<u64>, Option<u64>)> {
    let values = measured.values().into_iter().zip(baseline.values()).enumerate();
    values.take(NOT_JUDGED).filter_map(|(index, (now, then))| {
        let slack = if index < FAULTS { 0 } else { slack(baseline) };
        let same = match (now, then) {
            (Some(now), Some(then)) => now.abs_diff(then) <= slack,
            _ => now == then,
        };
        (!same).then_some((NAMES[index], now, then))
    })
}

impl Measured for Row {
    const LENS: &str = "footprint: ";

    fn id(&self) -> &str {
        &self.id
    }

    fn compare(&self, baseline: &Self) -> Kind {
        // A number that is there on one side only is none that is better.
        let pair = |(_, now, then): (_, Option<u64>, Option<u64>)| match (now, then) {
            (Some(now), Some(then)) => (now, then),
            _ => (1, 0),
        };
        Kind::of(&differences(self, baseline).map(pair).collect::<Vec<_>>())
    }

    fn summary(&self) -> String {
        let (calls, bytes) = (self.counts.calls(), number(self.counts.bytes));
        format!("{calls} allocator calls, {bytes} bytes asked for")
    }

    fn moved(&self, baseline: &Self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value: Option<u64>| value.map_or("-".to_owned(), number);
        let changes = differences(self, baseline)
            .map(|(name, now, then)| format!("{name} {} -> {}", show(then), show(now)));
        let changes: Vec<_> = changes.collect();
        f.write_str(if changes.is_empty() { "nothing moved" } else { "" })?;
        f.write_str(&changes.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::{Verdict, judge};

    const ID: &str = "mixed/uninit/1x1m";

    /// A row with these values of the columns, all others 2.
    fn row(values: &[(&str, Option<u64>)]) -> Row {
        let value = |column| {
            let given = values.iter().find(|(name, _)| *name == column);
            given.map_or(Some(2), |(_, value)| *value)
        };
        Row::new(ID, COLUMNS.map(value)).unwrap()
    }

    fn verdict(measured: &Row, baseline: &Row) -> Verdict<Row> {
        let rows = std::slice::from_ref;
        judge(&[ID.to_owned()], rows(measured), rows(baseline)).remove(0)
    }

    #[test]
    fn calls_and_bytes_are_judged_exactly_both_ways() {
        for column in &COLUMNS[..FAULTS] {
            let [less, same, more] =
                [1, 2, 3].map(|value| verdict(&row(&[(column, Some(value))]), &row(&[])).kind);
            let expected = (Kind::Improved, Kind::Ok, Kind::Regressed);
            assert_eq!((less, same, more), expected, "{column}");
        }
    }

    #[test]
    fn faults_are_judged_with_the_slack_both_ways() {
        for column in ["faults_recycled", "faults_fresh"] {
            let baseline = row(&[(column, Some(100))]);
            assert_eq!(slack(&baseline), 2 + 2 + 2);
            let kind = |faults| verdict(&row(&[(column, Some(faults))]), &baseline).kind;
            assert_eq!([100, 106, 94].map(kind), [Kind::Ok; 3], "{column}");
            assert_eq!([107, 93].map(kind), [Kind::Regressed, Kind::Improved], "{column}");
            // Numbers that are not there are no numbers that are as they were.
            assert_eq!(verdict(&row(&[(column, None)]), &baseline).kind, Kind::Regressed);
            assert_eq!(verdict(&baseline, &row(&[(column, None)])).kind, Kind::Regressed);
            let none = row(&[(column, None)]);
            assert_eq!(verdict(&none, &none).kind, Kind::Ok);
        }
    }

    #[test]
    fn peak_of_memory_in_core_is_not_judged() {
        let rows = [None, Some(1), Some(9000)].map(|value| row(&[("peak_rss_kib", value)]));
        for measured in &rows {
            assert_eq!(verdict(measured, &rows[0]).kind, Kind::Ok);
        }
    }

    #[test]
    fn line_names_the_columns_that_moved() {
        let baseline = row(&[("reallocations", Some(0)), ("faults_fresh", Some(2000))]);
        let measured = row(&[("bytes", Some(1_000_000)), ("faults_fresh", Some(1000))]);
        assert_eq!(
            verdict(&measured, &baseline).to_string(),
            "regressed: footprint: mixed/uninit/1x1m: realloc calls 0 -> 2, bytes asked for 2 -> 1,000,000, \
             page faults fresh 2,000 -> 1,000"
        );
        let unknown = judge(&[ID.to_owned()], &[baseline], &[]).remove(0).to_string();
        assert_eq!(
            unknown,
            "unknown: footprint: mixed/uninit/1x1m: 6 allocator calls, 2 bytes asked for, not in the baseline; \
             accept it with `cargo run -- record`"
        );
    }
}
