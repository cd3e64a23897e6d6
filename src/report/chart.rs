//! The chart of the README: where the instructions of one shape go, strategy by strategy.

use minijinja::context;

use super::markup::render;
use crate::baseline::Baseline;
use crate::cases::Strategy;
use crate::gate::number;
use crate::lens::profile::Classes;

/// The shape that it shows: 8 accounts of the mean size of the replay.
const SHAPE: &str = "8x64226";

/// Sizes in pixels: of the picture, of a line, and where bars begin and the longest may end.
const WIDTH: f64 = 760.0;
const LINE: f64 = 30.0;
const TOP: f64 = 64.0;
const LEFT: f64 = 130.0;
const RIGHT: f64 = 660.0;

/// The instructions of each strategy on one shape of the `mixed` fill as stacked bars of the cost classes, with the
/// multiple of the floor, as SVG that is legible on light and dark.
#[must_use]
pub fn readme_chart(baseline: &Baseline) -> String {
    let row = |strategy: Strategy| {
        let id = format!("mixed/{}/{SHAPE}", strategy.name());
        baseline.rows.iter().find(|row| row.id == id)
    };
    let floor = row(Strategy::Floor).map_or(1, |row| row.total()).max(1);
    let rows: Vec<_> =
        Strategy::ALL.into_iter().filter_map(|strategy| Some((strategy, row(strategy)?))).collect();
    let longest = rows.iter().map(|(_, row)| row.total()).max().unwrap_or(1).max(1);
    let pixels = |count: u64| count as f64 / longest as f64 * (RIGHT - LEFT);
    let rounded = |value: f64| format!("{value:.1}");
    let bars: Vec<_> = rows
        .iter()
        .enumerate()
        .map(|(index, (strategy, row))| {
            let mut left = LEFT;
            let parts =
                Classes::NAMES.into_iter().zip(row.classes.values()).map(|(class, count)| {
                    let (x, width) = (left, pixels(count));
                    left += width;
                    context! { class, x => rounded(x), width => rounded(width) }
                });
            let parts: Vec<_> = parts.collect();
            context! {
                name => strategy.name(),
                parts,
                y => rounded(TOP + index as f64 * LINE),
                text_y => rounded(TOP + index as f64 * LINE + 14.0),
                end => rounded(left + 6.0),
                multiple => format!("{:.2} x", row.total() as f64 / floor as f64),
            }
        })
        .collect();
    let legend: Vec<_> = Classes::NAMES
        .into_iter()
        .enumerate()
        .map(|(index, class)| {
            let x = LEFT + index as f64 * 110.0;
            context! { class, x => rounded(x), text_x => rounded(x + 18.0) }
        })
        .collect();
    render(
        include_str!("chart.svg"),
        context! {
            width => WIDTH, height => TOP + rows.len() as f64 * LINE + 8.0, bars, legend, shape => SHAPE,
            left => LEFT, floor => number(floor), target => baseline.environment.in_short(),
        },
    )
}
