//! Write amplification: shapes by strategies.

use super::terminal::plain_table;
use crate::cases::Case;
use crate::lens::amplification::Written;

/// One table: bytes written or zeroed for each byte of the finished buffer, a line a shape and a column a strategy.
/// Nothing if nothing was measured.
#[must_use]
pub fn amplification(all: &[Written]) -> String {
    let cases: Vec<_> = all
        .iter()
        .filter_map(|written| Some((Case::parse(&written.id).ok()?, written.amplification())))
        .collect();
    let mut strategies: Vec<&str> = Vec::new();
    let mut shapes: Vec<&str> = Vec::new();
    for (case, _) in &cases {
        if !strategies.contains(&case.strategy()) {
            strategies.push(case.strategy());
        }
        if !shapes.contains(&case.variant()) {
            shapes.push(case.variant());
        }
    }
    if shapes.is_empty() {
        return String::new();
    }
    let mut table = plain_table(&[&["shape"], &strategies[..]].concat(), 1);
    for shape in shapes {
        let cell = |strategy: &&str| {
            let is_it =
                |(case, _): &&(Case, _)| case.variant() == shape && case.strategy() == *strategy;
            let amplification =
                cases.iter().find(is_it).and_then(|(_, amplification)| *amplification);
            amplification.map_or("-".to_owned(), |amplification| format!("{amplification:.2}"))
        };
        table.add_row(std::iter::once(shape.to_owned()).chain(strategies.iter().map(cell)));
    }
    format!(
        "write amplification, mixed ({} cases): bytes written by the program or zeroed by the allocator for each byte of the \
         finished buffer, alignment 16; - where the routine allocates nothing\n{}\n\n",
        cases.len(),
        table.trim_fmt()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategies_stand_side_by_side() {
        let written =
            |id: &str, written, zeroed| Written { id: id.to_owned(), written, zeroed, bytes: 100 };
        let text = amplification(&[
            written("mixed/memset/1x0", 200, 0),
            written("mixed/pooled/1x0", 0, 0),
            written("mixed/memset/1x165", 80, 100),
        ]);
        let lines: Vec<Vec<_>> =
            text.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["shape", "memset", "pooled"]);
        assert_eq!(lines[1], ["1x0", "2.00", "-"]);
        assert_eq!(lines[2], ["1x165", "1.80", "-"]);
        assert_eq!(amplification(&[]), "");
    }
}
