//! The replay beside that of the origin.

use std::fmt::Write as _;

use super::terminal::{plain_table, ratio};
use crate::gate::number;
use crate::replay::{ORIGINS, Options, Outcome, STRATEGIES, Serialized};

/// What every replay under one of these options models, and the replays of the origin.
#[must_use]
pub fn replay_header(options: &Options) -> String {
    let Options { scale, working_set, threads } = options;
    let mut text = format!(
        "Serialization of the ledger mix, {:.3} % of the replay on master: {threads} {}, account data somewhere in {} MiB.\n",
        scale * 100.0,
        if *threads == 1 { "thread" } else { "threads" },
        working_set >> 20
    );
    text += "Times are of this machine and this run, the strategies in turns, 32 instructions at a stretch. Not modelled: \
             what a validator does between two serializations.\n";
    for origin in ORIGINS {
        let [before, after] = origin.seconds;
        let _ = writeln!(
            text,
            "origin, branch {}: {} accounts, {} bytes: zeroed {before} s, uninit {after} s, ratio {:.3}",
            origin.branch,
            number(origin.accounts),
            number(origin.bytes),
            after / before
        );
    }
    text
}

/// A table of an outcome under one allocator.
#[must_use]
pub fn replay_table(allocator: &str, options: &Options, outcome: &Outcome) -> String {
    let Outcome { instructions, accounts, bytes, strategies } = outcome;
    let mut table = plain_table(
        &["strategy", "serialize", "whole replay", "x zeroed", "95 %", "faults/instruction"],
        1,
    );
    for (strategy, &Serialized { time, faults, ratio: times }) in STRATEGIES.iter().zip(strategies)
    {
        let [value, interval] = ratio(times);
        table.add_row([
            strategy.name().to_owned(),
            format!("{:.3} s", time.as_secs_f64()),
            format!("{:.1} s", time.as_secs_f64() / options.scale),
            value,
            interval,
            format!("{:.1}", faults as f64 / *instructions as f64),
        ]);
    }
    format!(
        "\nallocator {allocator}, alignment 16, heap as the calls before leave it: {} instructions, {} accounts, {} bytes of data\n{}\n",
        number(*instructions),
        number(*accounts),
        number(*bytes),
        table.trim_fmt()
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::paired::Ratio;

    #[test]
    fn table_stands_beside_the_origin() {
        let options = Options { scale: 0.01, working_set: 256 << 20, threads: 2 };
        let header = replay_header(&options);
        assert!(
            header.starts_with(
                "Serialization of the ledger mix, 1.000 % of the replay on master: 2 threads, "
            ),
            "{header}"
        );
        assert!(
            header.contains("341,233,366,608 bytes: zeroed 108.1 s, uninit 78.5 s, ratio 0.726"),
            "{header}"
        );
        let strategy = |milliseconds, value: f64| Serialized {
            time: Duration::from_millis(milliseconds),
            faults: 1300,
            ratio: Ratio { value, low: value - 0.01, high: value + 0.01 },
        };
        let strategies =
            [1000, 1010, 750, 740, 700, 690].map(|ms| strategy(ms, ms as f64 / 1000.0)).to_vec();
        let outcome = Outcome { instructions: 1000, accounts: 7700, bytes: 1 << 20, strategies };
        let text = replay_table("jemalloc", &options, &outcome);
        let lines: Vec<_> = text.lines().skip(1).collect();
        assert_eq!(
            lines[0],
            "allocator jemalloc, alignment 16, heap as the calls before leave it: 1,000 instructions, 7,700 accounts, 1,048,576 bytes of data"
        );
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            words(lines[2]),
            ["zeroed", "1.000", "s", "100.0", "s", "~", "1.000", "0.990-1.010", "1.3"]
        );
        assert_eq!(
            words(lines[4]),
            ["uninit", "0.750", "s", "75.0", "s", "0.750", "0.740-0.760", "1.3"]
        );
    }
}
