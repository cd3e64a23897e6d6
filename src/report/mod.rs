//! Reports: verdicts and measurements for people.

mod splice;
mod terminal;

pub use splice::{readme_section, splice};
pub use terminal::tables;
