//! Two files of rows compared, as benchstat does: what moved, and the geometric mean over all that both have.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::rows::Row;
use super::terminal::plain_table;

/// What a lens is compared by: the column, its unit, and the columns of its interval where it has one.
const COMPARED: [(&str, &str, &str, Option<[&str; 2]>); 5] = [
    ("instructions", "ir", "Ir", None),
    ("wall_clock", "time_ns", "ns", Some(["time_ns_low", "time_ns_high"])),
    ("footprint", "bytes", "bytes asked for", None),
    ("amplification", "amplification", "bytes written a byte", None),
    ("in_turns", "ratio", "x reference", Some(["ratio_low", "ratio_high"])),
];

/// The comparison of `after` with `before`: for each lens and allocator the cases that moved, `~` where the intervals of a
/// measured time overlap, and the geometric mean of all ratios. Numbers of different machines or environments are compared,
/// but it is said.
#[must_use]
pub fn compare(before: &[Row], after: &[Row]) -> String {
    let mut text = String::new();
    for (lens, column, unit, interval) in COMPARED {
        let of_lens = |row: &&Row| row.name("lens") == lens;
        let key = |row: &Row| ["allocator", "page", "id"].map(|name| row.name(name).to_owned());
        let old: HashMap<_, _> = before.iter().filter(of_lens).map(|row| (key(row), row)).collect();
        let allocators: BTreeSet<&str> =
            after.iter().filter(of_lens).map(|row| row.name("allocator")).collect();
        for allocator in allocators {
            let rows =
                after.iter().filter(of_lens).filter(|row| row.name("allocator") == allocator);
            let pairs: Vec<_> = rows.filter_map(|row| Some((*old.get(&key(row))?, row))).collect();
            text += &section(&format!("{lens}, {allocator} ({unit})"), &pairs, column, interval);
        }
    }
    let only = |one: &[Row], other: &[Row]| {
        let key =
            |row: &Row| ["lens", "allocator", "page", "id"].map(|name| row.name(name).to_owned());
        let known: HashSet<_> = other.iter().map(key).collect();
        one.iter().filter(|row| !known.contains(&key(row))).count()
    };
    let (gone, new) = (only(before, after), only(after, before));
    if gone + new > 0 {
        text += &format!("{gone} rows only in the first file, {new} only in the second\n");
    }
    if text.is_empty() { "the files have no row in common\n".to_owned() } else { text }
}

fn section(
    title: &str,
    pairs: &[(&Row, &Row)],
    column: &str,
    interval: Option<[&str; 2]>,
) -> String {
    let Some((old, new)) = pairs.first() else { return String::new() };
    let mut text = format!("{title}: {} cases\n", pairs.len());
    for name in ["machine", "environment"] {
        if old.name(name) != new.name(name) {
            text += &format!("  another {name}: {} -> {}\n", old.name(name), new.name(name));
        }
    }
    let mut table = plain_table(&["case", "before", "after", "ratio"], 1);
    let (mut logarithms, mut count, mut moved) = (0.0, 0u32, 0);
    for (old, new) in pairs {
        let (Some(a), Some(b)) = (old.value(column), new.value(column)) else { continue };
        if a <= 0.0 || b <= 0.0 {
            if a != b {
                table.add_row([
                    new.name("id").to_owned(),
                    a.to_string(),
                    b.to_string(),
                    "-".to_owned(),
                ]);
                moved += 1;
            }
            continue;
        }
        logarithms += (b / a).ln();
        count += 1;
        let overlap = interval.is_some_and(|[low, high]| {
            let bounds = |row: &Row| Some((row.value(low)?, row.value(high)?));
            bounds(old).zip(bounds(new)).is_some_and(|(a, b)| a.0 <= b.1 && b.0 <= a.1)
        });
        if a != b && !overlap {
            let short = |value: f64| {
                if value.fract() == 0.0 { value.to_string() } else { format!("{value:.3}") }
            };
            table.add_row([new.name("id").to_owned(), short(a), short(b), format!("{:.3}", b / a)]);
            moved += 1;
        }
    }
    if moved > 0 {
        text += &format!("{}\n", table.trim_fmt());
    }
    if count > 0 {
        let mean = (logarithms / f64::from(count)).exp();
        text += &match moved {
            0 => format!("  ~ none moved; geometric mean {mean:.3}\n\n"),
            _ => format!("  {moved} moved, the others ~; geometric mean {mean:.3}\n\n"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(lens: &str, id: &str, values: &[(&str, f64)]) -> Row {
        Row::new(&[("lens", lens), ("id", id), ("allocator", "system"), ("machine", "m")], values)
    }

    #[test]
    fn what_moved_is_named_and_the_mean_is_over_all() {
        let count = |id: &str, ir| row("instructions", id, &[("ir", ir)]);
        let before = [count("a", 100.0), count("b", 200.0), count("gone", 1.0)];
        let after = [count("a", 400.0), count("b", 200.0), count("new", 1.0)];
        let text = compare(&before, &after);
        let lines: Vec<Vec<_>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0].join(" "), "instructions, system (Ir): 2 cases");
        assert_eq!(lines[2], ["a", "100", "400", "4.000"]);
        assert_eq!(lines[3].join(" "), "1 moved, the others ~; geometric mean 2.000");
        assert!(text.ends_with("1 rows only in the first file, 1 only in the second\n"), "{text}");
    }

    #[test]
    fn times_whose_intervals_overlap_have_not_moved() {
        let time = |ns, low, high| {
            [row(
                "wall_clock",
                "a",
                &[("time_ns", ns), ("time_ns_low", low), ("time_ns_high", high)],
            )]
        };
        let text = compare(&time(10.0, 9.0, 11.0), &time(11.5, 11.0, 12.0));
        assert!(text.contains("~ none moved; geometric mean 1.150"), "{text}");
        let text = compare(&time(10.0, 9.0, 11.0), &time(12.5, 11.5, 13.0));
        assert!(text.contains("1 moved"), "{text}");
    }

    #[test]
    fn an_allocator_has_one_section_however_the_rows_are_sorted() {
        let of = |id, allocator| {
            let names = [("lens", "footprint"), ("id", id), ("allocator", allocator)];
            Row::new(&names, &[("bytes", 8.0)])
        };
        let rows = [of("a", "system"), of("a", "jemalloc"), of("b", "system")];
        let text = compare(&rows, &rows);
        assert_eq!(
            text.matches("footprint, system (bytes asked for): 2 cases").count(),
            1,
            "{text}"
        );
        assert_eq!(text.matches("footprint, jemalloc").count(), 1, "{text}");
    }

    #[test]
    fn files_without_a_row_in_common_say_so() {
        assert_eq!(compare(&[], &[]), "the files have no row in common\n");
    }
}
