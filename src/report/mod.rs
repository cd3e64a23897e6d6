//! Reports: verdicts and measurements for people.

mod amplification;
mod chart;
mod choose;
mod compare;
mod footprint;
mod markdown;
mod markup;
mod page;
mod paired;
mod replay;
mod rows;
mod sections;
mod splice;
mod terminal;

pub use amplification::amplification;
pub use chart::readme_chart;
pub use choose::choice;
pub use compare::compare;
pub use footprint::footprints;
pub use markdown::Comment;
pub use page::page;
pub use paired::paired;
pub use replay::{replay_header, replay_table};
pub use rows::{Measured, Row, from_csv, from_json, read as read_rows, rows, to_csv, to_json};
pub use splice::{CHART, readme_section, splice};
pub use terminal::{Counts, tables};

#[cfg(unix)]
pub(crate) use crate::gate::number;
#[cfg(unix)]
pub(crate) use markup::render;
