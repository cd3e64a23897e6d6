//! Results in prose: spliced between markers by a command, never pasted.

use crate::baseline::Baseline;
use crate::cases::Strategy;
use crate::gate::number;

const BEGIN: &str = "<!-- writeonce report: begin -->\n";
const END: &str = "<!-- writeonce report: end -->\n";

/// The shapes of the table in the README.
const SHAPES: [&str; 6] = ["1x0", "1x165", "1x10k", "8x64226", "1x1m", "ledger"];

/// The chart that the section shows, beside the file that the section is in.
pub const CHART: &str = "docs/results.svg";

/// The section of the README: instructions of the `mixed` fill as multiples of the floor, from a baseline.
#[must_use]
pub fn readme_section(baseline: &Baseline) -> String {
    let others = Strategy::ALL.into_iter().filter(|&strategy| strategy != Strategy::Floor);
    let strategies: Vec<_> = others.map(Strategy::name).collect();
    let total = |strategy: &str, shape: &str| {
        let id = format!("mixed/{strategy}/{shape}");
        baseline.rows.iter().find(|row| row.id == id).map(|row| row.total())
    };
    let mut text = format!("![Where the instructions go, strategy by strategy]({CHART})\n\n");
    text += &format!("| shape | {} | floor, Ir |\n", strategies.join(" | "));
    text += &format!("| --- |{}\n", " ---: |".repeat(strategies.len() + 1));
    for shape in SHAPES {
        let floor = total(Strategy::Floor.name(), shape);
        let multiple = |strategy: &&str| match (total(strategy, shape), floor) {
            (Some(total), Some(floor)) => format!("{:.2}", total as f64 / floor as f64),
            _ => "-".to_owned(),
        };
        let cells: Vec<_> = strategies.iter().map(multiple).collect();
        let floor = floor.map_or("-".to_owned(), number);
        text += &format!("| {shape} | {} | {floor} |\n", cells.join(" | "));
    }
    let environment = baseline.environment.in_short();
    text + &format!("\nFrom the committed baseline ({environment}); alignment 16, recycled heap.\n")
}

/// `text` with `section` between the markers.
///
/// # Errors
/// One line, if the markers do not stand there once each, in order, each on a line of its own.
pub fn splice(text: &str, section: &str) -> Result<String, String> {
    let markers = || {
        let (before, rest) = text.split_once(BEGIN)?;
        let (old, after) = rest.split_once(END)?;
        let twice = [old, after].iter().any(|part| part.contains(BEGIN) || part.contains(END));
        (!twice).then_some((before, after))
    };
    let (before, after) = markers()
        .ok_or_else(|| format!("needs the lines '{}' and '{}' once", BEGIN.trim(), END.trim()))?;
    Ok(format!("{before}{BEGIN}\n{section}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_replaces_what_is_between_the_markers() {
        let text = format!("a\n{BEGIN}old\n{END}b\n");
        let spliced = splice(&text, "new\n").unwrap();
        assert_eq!(spliced, format!("a\n{BEGIN}\nnew\n\n{END}b\n"));
        assert_eq!(splice(&spliced, "new\n").unwrap(), spliced);
    }

    #[test]
    fn text_without_both_markers_once_is_refused() {
        let [both, twice] = [1, 2].map(|count| format!("{BEGIN}{END}").repeat(count));
        assert!(splice(&both, "").is_ok());
        for text in ["", BEGIN, END, &format!("{END}{BEGIN}"), &twice] {
            assert!(splice(text, "").unwrap_err().starts_with("needs the lines"), "{text}");
        }
    }
}
