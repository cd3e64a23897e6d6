//! How far a measurement is.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// One line that is written over on a terminal, now and then a line elsewhere.
#[derive(Debug)]
pub struct Progress {
    what: &'static str,
    unit: &'static str,
    total: usize,
    start: Instant,
    shown: Instant,
    terminal: bool,
}

impl Progress {
    /// Nothing is done of `total` things, which are called `unit`.
    #[must_use]
    pub fn new(what: &'static str, unit: &'static str, total: usize) -> Self {
        let now = Instant::now();
        let terminal = std::io::stderr().is_terminal();
        Self { what, unit, total, start: now, shown: now, terminal }
    }

    /// Says that `done` things are done, unless it has just been said.
    pub fn show(&mut self, done: usize) {
        let pause = Duration::from_millis(if self.terminal { 200 } else { 10_000 });
        if done < self.total && self.shown.elapsed() < pause {
            return;
        }
        self.shown = Instant::now();
        let left = self.start.elapsed().as_secs_f64() / done as f64
            * self.total.saturating_sub(done) as f64;
        let (start, end) = match (self.terminal, done < self.total) {
            (true, true) => ("\r", ""),
            (true, false) => ("\r", "\n"),
            (false, _) => ("", "\n"),
        };
        let Self { what, unit, total, .. } = self;
        let mut stderr = std::io::stderr();
        let _ = write!(stderr, "{start}{what}: {done} of {total} {unit}, {left:.0} s left {end}");
        let _ = stderr.flush();
    }
}
