//! Reports: verdicts and measurements for people.

mod footprint;
mod splice;
mod terminal;

pub use footprint::footprints;
pub use splice::{readme_section, splice};
pub use terminal::tables;
