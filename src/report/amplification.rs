//! Write amplification: one table a page and fill, shapes by strategies.

use std::collections::HashMap;

use super::sections::sections;
use super::terminal::plain_table;
use crate::cases::{Case, Page};
use crate::last::Last;
use crate::lens::amplification::Written;

/// One table a page and fill: bytes written or zeroed for each byte of the finished buffer, a line a shape and a column a
/// strategy. What was not measured has no table.
#[must_use]
pub fn amplification(picture: &[(Page, Vec<Case>)], last: &Last<Vec<Written>>) -> String {
    let Last { run, measured } = last;
    let by_id: HashMap<_, _> =
        measured.iter().map(|written| (&*written.id, written.amplification())).collect();
    let mut text = String::new();
    for section in sections(picture) {
        let measured = section.shapes.iter().flatten().filter(|case| by_id.contains_key(case.id()));
        let mut strategies: Vec<&str> = Vec::new();
        for case in measured {
            if !strategies.contains(&case.strategy()) {
                strategies.push(case.strategy());
            }
        }
        if strategies.is_empty() {
            continue;
        }
        let mut table = plain_table(&[&["shape"], &strategies[..]].concat(), 1);
        for shape in &section.shapes {
            let cell = |strategy: &&str| {
                let case = shape.iter().find(|case| case.strategy() == *strategy);
                let amplification = case.and_then(|case| *by_id.get(case.id())?);
                amplification.map_or("-".to_owned(), |amplification| format!("{amplification:.2}"))
            };
            let cells = strategies.iter().map(cell);
            table.add_row(std::iter::once(shape[0].variant().to_owned()).chain(cells));
        }
        text += &format!(
            "write amplification, {}: {} where the shape says nothing else\nBytes written by the program or \
             zeroed by calloc for each byte of the finished buffer, - where the routine allocates nothing; DHAT with its own \
             allocator, to which a fresh heap is none; {run}\n{}\n\n",
            section.title(),
            section.alignment(),
            table.trim_fmt()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::last::Run;

    #[test]
    fn strategies_stand_side_by_side() {
        let ids = ["mixed/memset/1x0", "mixed/pooled/1x0", "mixed/memset/1x165"];
        let written = |(id, (written, zeroed)): (&str, _)| Written {
            id: id.to_owned(),
            written,
            zeroed,
            bytes: 100,
        };
        let all: Vec<_> = ids.into_iter().zip([(200, 0), (0, 0), (80, 100)]).map(written).collect();
        let cases = |ids: &[&str]| ids.iter().map(|id| Case::parse(id).unwrap()).collect();
        let picture =
            [(Page::Zeroed, cases(&["zeroed/alloc_zeroed/1k"])), (Page::Mixed, cases(&ids))];
        let last = |measured| Last { run: Run::this().clone(), measured };
        let text = amplification(&picture, &last(all));
        assert!(text.starts_with("write amplification, mixed (3 cases): "), "{text}");
        let lines: Vec<Vec<_>> =
            text.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["shape", "memset", "pooled"]);
        assert_eq!(lines[1], ["1x0", "2.00", "-"]);
        assert_eq!(lines[2], ["1x165", "1.80", "-"]);
        assert_eq!(amplification(&picture, &last(Vec::new())), "");
    }
}
