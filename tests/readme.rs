//! The commands of the README: every one is known, and those that take no minutes are run as they stand there.
//! `ci/readme` runs the others.
#![cfg(feature = "cli")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const README: &str = include_str!("../README.md");

/// A command a line: how it is run (`quick`, `minutes`, or `itself`: the one that runs this test), its exit code, as it stands
/// in the README, and what is run instead where that has a placeholder.
const COMMANDS: &str = include_str!("data/readme.tsv");

/// The lines of blocks of shell commands, without their comments.
fn in_blocks() -> impl Iterator<Item = String> {
    let blocks = README.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let command = |line: &'static str| line.split("    #").next().unwrap_or_default().trim();
    let lines = blocks.flat_map(str::lines).filter(|line| !line.starts_with('#'));
    lines.map(move |line| command(line).to_owned())
}

/// The commands in the text: spans of code that begin with cargo or a script of `ci/`.
fn in_text() -> impl Iterator<Item = String> {
    let text: String = README
        .split("```")
        .enumerate()
        .filter(|(index, _)| index.is_multiple_of(2))
        .map(|(_, part)| part)
        .collect();
    let spans: Vec<_> = text
        .split('`')
        .enumerate()
        .filter(|(index, _)| !index.is_multiple_of(2))
        .map(|(_, part)| part.replace('\n', " "))
        .collect();
    let is_command = |span: &String| {
        let program = span.split(' ').next().unwrap_or_default();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(program);
        span.starts_with("cargo ") || program.starts_with("ci/") && is_script(&script)
    };
    spans.into_iter().filter(is_command)
}

fn is_script(path: &Path) -> bool {
    std::fs::read_to_string(path).is_ok_and(|text| text.starts_with("#!"))
}

#[test]
fn every_command_of_the_readme_is_run_by_something() {
    let known: BTreeSet<_> = COMMANDS
        .lines()
        .map(|line| line.split('\t').nth(2).expect("a command").to_owned())
        .collect();
    let seen: BTreeSet<_> = in_blocks().chain(in_text()).collect();
    assert!(seen.len() > 20, "{seen:?}");
    let not_known: Vec<_> = seen.difference(&known).collect();
    assert!(not_known.is_empty(), "in the README, not in tests/data/readme.tsv: {not_known:?}");
    let not_there: Vec<_> = known.difference(&seen).collect();
    assert!(not_there.is_empty(), "in tests/data/readme.tsv, not in the README: {not_there:?}");
}

#[test]
fn quick_commands_of_the_readme_run_as_written() {
    let mut run = 0;
    for line in COMMANDS.lines() {
        let [how, code, command, ..] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        if how != "quick" {
            continue;
        }
        let output = Command::new("sh")
            .args(["-c", command])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), code.parse().ok(), "{command}: {said}");
        run += 1;
    }
    assert_eq!(run, 4);
}

#[test]
fn what_the_readme_shows_of_the_example_is_in_it() {
    let suite = include_str!("../examples/bring_your_own/benches/suite/mod.rs");
    let (_, rest) = README.split_once("```rust,ignore\n").expect("the block");
    let (block, _) = rest.split_once("  ```").expect("its end");
    let block: String =
        block.lines().map(|line| format!("{}\n", line.trim_start_matches("  "))).collect();
    let without_space = |text: &str| text.split_whitespace().collect::<String>();
    assert!(without_space(suite).contains(&without_space(&block)), "{block}");
    for (file, part) in [
        (
            include_str!("../examples/bring_your_own/benches/wall_clock.rs"),
            "writeonce::harness!(wall_clock: suite::SUITE);",
        ),
        (
            include_str!("../examples/bring_your_own/tests/contract.rs"),
            "writeonce::contract!(bring_your_own::Boxed, 1);",
        ),
        (include_str!("../examples/bring_your_own/benches/cases.txt"), "mixed/boxed/1x165\n"),
        (include_str!("../examples/bring_your_own/benches/cases.txt"), "mixed/floor/1x165\n"),
        (include_str!("../examples/bring_your_own/benches/cases.txt"), "own/adler32/10k\n"),
    ] {
        assert!(file.contains(part), "{part}");
        assert!(README.contains(part.trim_end()), "{part}");
    }
}
