//! Reports: verdicts and measurements for people.

mod amplification;
mod choose;
mod footprint;
mod paired;
mod replay;
mod sections;
mod splice;
mod terminal;

pub use amplification::amplification;
pub use choose::choice;
pub use footprint::footprints;
pub use paired::paired;
pub use replay::{replay_header, replay_table};
pub use splice::{readme_section, splice};
pub use terminal::{Counts, tables};
