//! The command line end to end, on the committed baseline: exit codes and the one line that says why.

#![cfg(feature = "cli")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder that the command line takes for a checkout, with the committed baselines in it and copies as what was
/// measured.
struct Checkout {
    folder: tempfile::TempDir,
    baseline: PathBuf,
    measured: PathBuf,
    text: String,
    footprint_baseline: PathBuf,
    footprint: PathBuf,
    footprint_text: String,
}

/// Path and text of the first committed baseline with this ending.
fn committed(ending: &str) -> (PathBuf, String) {
    let files = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/baselines")).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    let path = files.filter(|path| path.to_str().unwrap().ends_with(ending)).min().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    (path, text)
}

impl Checkout {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (path, text) = committed(".instructions.tsv");
        let (footprint_path, footprint_text) = committed(".footprint.tsv");
        fs::write(folder.path().join("Cargo.toml"), "[package]\nname = \"writeonce\"\n").unwrap();
        let baselines = folder.path().join("baselines");
        fs::create_dir(&baselines).unwrap();
        let checkout = Self {
            baseline: baselines.join(path.file_name().unwrap()),
            measured: folder.path().join("measured.tsv"),
            text,
            footprint_baseline: baselines.join(footprint_path.file_name().unwrap()),
            footprint: folder.path().join("footprint.tsv"),
            footprint_text,
            folder,
        };
        checkout.write(&checkout.footprint_baseline, &checkout.footprint_text);
        checkout.write(&checkout.footprint, &checkout.footprint_text);
        checkout.write(&checkout.baseline, &checkout.text);
        checkout.write(&checkout.measured, &checkout.text);
        checkout
    }

    fn write(&self, path: &Path, text: &str) {
        fs::write(path, text).unwrap();
    }

    /// The text of the counts with the line of a case replaced.
    fn with_line(&self, id: &str, change: impl Fn(&str) -> String) -> String {
        Self::replaced(&self.text, id, change)
    }

    /// A text with the line of a case replaced.
    fn replaced(old: &str, id: &str, change: impl Fn(&str) -> String) -> String {
        let mut found = 0;
        let mut text = String::new();
        for line in old.lines() {
            if line.starts_with(&format!("{id}\t")) {
                found += 1;
                text += &change(line);
            } else {
                text += &format!("{line}\n");
            }
        }
        assert_eq!(found, 1, "{id}");
        text
    }

    fn gate(&self) -> Output {
        run(self.folder.path(), &["gate", "--merge", "measured.tsv", "footprint.tsv"])
    }
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_writeonce"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

/// Exit code, standard output, standard error.
fn said(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// A failure: exit code 2, nothing on standard output, one line on standard error, which is returned.
fn failure(output: &Output) -> String {
    let (code, stdout, stderr) = said(output);
    assert_eq!((code, &*stdout), (2, ""), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    stderr.trim_end().to_owned()
}

const ID: &str = "mixed/uninit/1x1m";

/// The line of a case with some Ir more in one class (and so in total) and some allocator calls more.
fn more(line: &str, class: usize, ir: u64, calls: u64) -> String {
    let mut fields: Vec<_> = line.split('\t').map(str::to_owned).collect();
    for (field, more) in [(1, ir), (class, ir), (6, calls)] {
        fields[field] = (fields[field].parse::<u64>().unwrap() + more).to_string();
    }
    fields.join("\t") + "\n"
}

#[test]
fn unchanged_counts_are_ok() {
    let (code, stdout, stderr) = said(&Checkout::new().gate());
    let cases = said(&run(Path::new("."), &["cases"])).1.lines().count();
    let expected =
        ["footprint", "gate"].map(|name| format!("{name}: {cases} cases: {cases} ok\n")).concat();
    assert_eq!((code, stdout, stderr), (0, expected, String::new()));
}

#[test]
fn cases_are_printed_one_a_line_in_table_order() {
    let (code, stdout, _) = said(&run(Path::new("/"), &["cases"]));
    let pages = ["zeroed", "cursor", "mixed"].map(|fill| {
        let page = format!("{}/src/cases/{fill}.txt", env!("CARGO_MANIFEST_DIR"));
        fs::read_to_string(page).unwrap()
    });
    assert_eq!((code, stdout), (0, pages.concat()));
}

#[test]
fn moved_counts_are_red_and_named() {
    let checkout = Checkout::new();
    for (class, name, ir, calls) in [(2, "zeroing", 512, 0), (5, "code", 60_000, 0), (5, "", 0, 1)]
    {
        let measured = checkout.with_line(ID, |line| more(line, class, ir, calls));
        checkout.write(&checkout.measured, &measured);
        checkout.write(&checkout.baseline, &checkout.text);
        let (code, stdout, _) = said(&checkout.gate());
        let lines: Vec<_> = stdout.lines().collect();
        assert_eq!((code, lines.len()), (1, 3), "{stdout}");
        assert!(lines[0].starts_with(&format!("regressed: {ID}: ")), "{stdout}");
        let moved = if ir > 0 { format!(", {name} +") } else { ", allocator calls 2 -> 3".into() };
        assert!(lines[0].contains(&moved), "{stdout}");
        assert!(lines[1].starts_with("footprint: ") && lines[1].ends_with(" ok"), "{stdout}");
        assert!(lines[2].ends_with(" ok, 1 regressed"), "{stdout}");

        checkout.write(&checkout.baseline, &measured);
        checkout.write(&checkout.measured, &checkout.text);
        let (code, stdout, _) = said(&checkout.gate());
        assert!(code == 1 && stdout.starts_with(&format!("improved: {ID}: ")), "{stdout}");
    }
}

/// The line of a footprint with some more in one of its columns.
fn more_footprint(line: &str, column: usize, more: u64) -> String {
    let mut fields: Vec<_> = line.split('\t').map(str::to_owned).collect();
    fields[column] = (fields[column].parse::<u64>().unwrap() + more).to_string();
    fields.join("\t") + "\n"
}

#[test]
fn moved_footprints_are_red_and_named() {
    let checkout = Checkout::new();
    let columns = [
        (2, "alloc calls 1 -> 2"),
        (4, "realloc calls 0 -> 1"),
        (7, "zeroed bytes asked for 0 -> 1"),
        (9, "peak live bytes 1,058,984 -> 1,058,985"),
    ];
    for (column, moved) in columns {
        let changed = Checkout::replaced(&checkout.footprint_text, ID, |line| {
            more_footprint(line, column, 1)
        });
        checkout.write(&checkout.footprint, &changed);
        checkout.write(&checkout.footprint_baseline, &checkout.footprint_text);
        let (code, stdout, _) = said(&checkout.gate());
        let lines: Vec<_> = stdout.lines().collect();
        assert_eq!((code, lines.len()), (1, 3), "{stdout}");
        assert_eq!(lines[0], format!("regressed: footprint: {ID}: {moved}"));
        assert!(lines[1].starts_with("footprint: ") && lines[1].ends_with(" ok, 1 regressed"));
        assert!(lines[2].starts_with("gate: ") && lines[2].ends_with(" ok"), "{stdout}");

        checkout.write(&checkout.footprint, &checkout.footprint_text);
        checkout.write(&checkout.footprint_baseline, &changed);
        let (code, stdout, _) = said(&checkout.gate());
        assert!(code == 1 && stdout.starts_with(&format!("improved: footprint: {ID}: ")));
    }
    let without = Checkout::replaced(&checkout.footprint_text, ID, |_| String::new());
    checkout.write(&checkout.footprint_baseline, &without);
    let (code, stdout, _) = said(&checkout.gate());
    assert!(code == 1 && stdout.starts_with(&format!("unknown: footprint: {ID}: ")), "{stdout}");
    checkout.write(&checkout.footprint_baseline, &checkout.footprint_text);
    checkout.write(&checkout.footprint, &without);
    let (code, stdout, _) = said(&checkout.gate());
    assert!(code == 1 && stdout.starts_with(&format!("missing: footprint: {ID}: ")), "{stdout}");
}

#[test]
fn page_faults_are_compared_under_the_same_conditions_only() {
    let checkout = Checkout::new();
    let fresh = |more| {
        let change = |line: &str| more_footprint(line, 11, more);
        Checkout::replaced(&checkout.footprint_text, ID, change)
    };
    checkout.write(&checkout.footprint, &fresh(100));
    let (code, stdout, _) = said(&checkout.gate());
    let line = format!("regressed: footprint: {ID}: page faults fresh ");
    assert!(code == 1 && stdout.starts_with(&line), "{stdout}");
    checkout.write(&checkout.footprint, &fresh(1));
    assert_eq!(said(&checkout.gate()).0, 0);

    let elsewhere = |text: &str| text.replace("# allocator\tsystem", "# allocator\tjemalloc");
    checkout.write(&checkout.footprint, &elsewhere(&fresh(100)));
    let (code, stdout, _) = said(&checkout.gate());
    assert_eq!(code, 0, "{stdout}");
    assert!(stdout.starts_with("footprint: page faults are not compared: "), "{stdout}");
    assert!(stdout.contains(" has another allocator: jemalloc, not system\n"), "{stdout}");
    // Calls and bytes are compared everywhere.
    let calls = Checkout::replaced(&checkout.footprint_text, ID, |line| more_footprint(line, 4, 1));
    checkout.write(&checkout.footprint, &elsewhere(&calls));
    let (code, stdout, _) = said(&checkout.gate());
    assert!(code == 1 && stdout.contains(&format!("{ID}: realloc calls 0 -> 1\n")), "{stdout}");
}

#[test]
fn footprints_without_a_baseline_are_not_judged() {
    let checkout = Checkout::new();
    let narrow = checkout.footprint_text.replace("# pointer_width\t64", "# pointer_width\t32");
    checkout.write(&checkout.footprint, &narrow);
    let line = failure(&checkout.gate());
    assert!(line.starts_with("writeonce: no footprint baseline in "), "{line}");
    let way = " for pointers of 32 bits; record one with `cargo run -- record`";
    assert!(line.ends_with(way), "{line}");

    checkout.write(&checkout.footprint, &checkout.footprint_text);
    checkout.write(
        &checkout.footprint_baseline.with_file_name("zz.footprint.tsv"),
        &checkout.footprint_text,
    );
    assert!(failure(&checkout.gate()).ends_with(" is of the same conditions; remove one"));
    let twice = ["gate", "--merge", "measured.tsv", "footprint.tsv", "footprint.tsv"];
    let line = failure(&run(checkout.folder.path(), &twice));
    assert_eq!(line, "writeonce: footprint.tsv: there are two footprints; name one");
    let line = failure(&run(checkout.folder.path(), &["gate", "--merge", "footprint.tsv"]));
    assert_eq!(line, "writeonce: none of these files has counts; name files of --fill");
}

#[test]
fn damaged_footprints_are_refused_with_the_line() {
    let checkout = Checkout::new();
    let text = &checkout.footprint_text;
    let lines = text.lines().count();
    let path = checkout.footprint_baseline.display();
    let last = text.lines().last().unwrap();
    let damages = [
        (text[..text.len() - 1].to_owned(), lines, "the line is cut short".to_owned()),
        (text.clone() + "word\n", lines + 1, "1 columns, not 13".to_owned()),
        (text.replace("# format\t1", "# format\t2"), 1, "format is '2', not '1'".to_owned()),
        (
            text.clone() + last + "\n",
            lines + 1,
            last.split('\t').next().unwrap().to_owned() + " stands here twice",
        ),
        (
            Checkout::replaced(text, ID, |line| line.replace("\t1\t", "\t-\t") + "\n"),
            text.lines().position(|line| line.starts_with(ID)).unwrap() + 1,
            format!("{ID} lacks calls or bytes"),
        ),
    ];
    for (text, line, reason) in damages {
        checkout.write(&checkout.footprint_baseline, &text);
        let expected = format!(
            "writeonce: {path}:{line}: {reason}; take the file from version control again, or measure anew"
        );
        assert_eq!(failure(&checkout.gate()), expected);
    }
}

#[test]
fn names_of_no_allocator_are_refused_before_anything_is_done() {
    let output = Command::new(env!("CARGO_BIN_EXE_writeonce"))
        .arg("cases")
        .env("WRITEONCE_ALLOCATOR", "glibc")
        .output()
        .unwrap();
    let line = failure(&output);
    let start = "writeonce: WRITEONCE_ALLOCATOR: there is no allocator 'glibc'; there is system";
    assert!(line.starts_with(start), "{line}");
}

#[test]
fn sets_of_cases_must_match() {
    let checkout = Checkout::new();
    let without = checkout.with_line(ID, |_| String::new());
    checkout.write(&checkout.baseline, &without);
    let (code, stdout, _) = said(&checkout.gate());
    let accept = "not in the baseline; accept it with `cargo run -- record`";
    assert_eq!(code, 1);
    assert!(stdout.starts_with(&format!("unknown: {ID}: ")), "{stdout}");
    assert!(stdout.lines().next().unwrap().ends_with(accept), "{stdout}");

    checkout.write(&checkout.baseline, &checkout.text);
    checkout.write(&checkout.measured, &without);
    let (code, stdout, _) = said(&checkout.gate());
    assert_eq!(code, 1);
    assert!(stdout.starts_with(&format!("missing: {ID}: in the baseline, ")), "{stdout}");

    let renamed = checkout.with_line(ID, |line| line.replace(ID, "mixed/uninit/2x1m") + "\n");
    checkout.write(&checkout.measured, &renamed);
    let (code, stdout, _) = said(&checkout.gate());
    assert_eq!(code, 1);
    assert!(stdout.lines().any(|line| line.starts_with("unknown: mixed/uninit/2x1m: ")));
}

#[test]
fn damaged_baselines_are_refused_with_the_line() {
    let checkout = Checkout::new();
    let lines = checkout.text.lines().count();
    let path = checkout.baseline.display();
    let damages = [
        (checkout.text[..checkout.text.len() - 1].to_owned(), lines, "the line is cut short"),
        (checkout.text.clone() + "word\n", lines + 1, "1 columns, not 7"),
        (checkout.text.replace("# format\t1", "# format\t2"), 1, "format is '2', not '1'"),
        (checkout.text.replace("\r", "").replace('\n', "\r\n"), 1, "format is '1\\r', not '1'"),
    ];
    for (text, line, reason) in damages {
        checkout.write(&checkout.baseline, &text);
        let expected = format!(
            "writeonce: {path}:{line}: {reason}; take the file from version control again, or \
             measure anew"
        );
        assert_eq!(failure(&checkout.gate()), expected);
    }
    fs::write(&checkout.baseline, [0xff, 0xfe]).unwrap();
    assert_eq!(
        failure(&checkout.gate()),
        format!(
            "writeonce: {path}: it is not UTF-8; take the file from version control again, or measure anew"
        )
    );
}

#[test]
fn half_a_baseline_is_red() {
    let checkout = Checkout::new();
    let half = checkout.text.len() / 2;
    checkout.write(&checkout.baseline, &checkout.text[..half]);
    assert!(failure(&checkout.gate()).contains(": the line is cut short; "));
    let line_end = checkout.text[..half].rfind('\n').unwrap() + 1;
    checkout.write(&checkout.baseline, &checkout.text[..line_end]);
    let (code, stdout, _) = said(&checkout.gate());
    assert!(code == 1 && stdout.contains("unknown: "), "{stdout}");
}

#[test]
fn other_environments_are_not_compared() {
    let checkout = Checkout::new();
    let other = checkout.text.replace("# libc\tglibc ", "# libc\tglibc 9");
    assert_ne!(other, checkout.text);
    checkout.write(&checkout.measured, &other);
    let line = failure(&checkout.gate());
    assert!(line.starts_with("writeonce: no baseline for this environment: "), "{line}");
    assert!(line.contains(" has another libc: glibc 9"), "{line}");
    let ways = "; compare with the commit before by `ci/gate --against HEAD~1`, or record one \
                with `cargo run -- record`";
    assert!(line.ends_with(ways), "{line}");

    // Of several, the one that fits is taken.
    let second = checkout.baseline.with_file_name("a.instructions.tsv");
    checkout.write(&second, &other);
    assert_eq!(said(&checkout.gate()).0, 0);

    fs::remove_file(&second).unwrap();
    fs::remove_file(&checkout.baseline).unwrap();
    let line = failure(&checkout.gate());
    assert!(line.contains("baselines has none; compare with the commit before by "), "{line}");
}

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn gate_without_a_baseline_says_so_before_it_builds_anything() {
    let checkout = Checkout::new();
    let root = checkout.folder.path();
    fs::create_dir(root.join("ci")).unwrap();
    for script in ["ci/gate", "ci/setup"] {
        // A copy could still be open for writing in a child of another test when it is run.
        let script_here = Path::new(env!("CARGO_MANIFEST_DIR")).join(script);
        std::os::unix::fs::symlink(script_here, root.join(script)).unwrap();
    }
    let gate = |arguments: &[&str]| {
        Command::new(root.join("ci/gate")).args(arguments).current_dir(root).output().unwrap()
    };
    checkout.write(&checkout.baseline, &checkout.text.replace("# libc\tglibc ", "# libc\tglibc 9"));
    let (code, stdout, stderr) = said(&gate(&[]));
    assert_eq!((code, &*stdout), (2, ""), "{stderr}");
    assert!(stderr.starts_with("gate: baselines/ has none for "), "{stderr}");
    assert!(stderr.ends_with("by `ci/gate --against HEAD~1`\n"), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(!root.join("target").exists());
    // What needs no baseline goes on, here to a package without sources.
    for arguments in [&["--against", "HEAD"][..], &["--fill", "mixed"], &["--or-against=HEAD"]] {
        let (code, _, stderr) = said(&gate(arguments));
        assert_eq!(code, 2);
        assert!(stderr.contains("gate: the command line does not build"), "{stderr}");
    }
}

#[test]
fn slices_are_judged_together() {
    let checkout = Checkout::new();
    let is_row = |line: &&str, fill: &str| line.starts_with('#') || line.starts_with(fill);
    for fill in ["zeroed", "cursor", "mixed"] {
        let slice: Vec<_> = checkout.text.lines().filter(|line| is_row(line, fill)).collect();
        let text = slice.join("\n") + "\n";
        for name in [format!("{fill}.tsv"), format!("{fill}.instructions.tsv")] {
            checkout.write(&checkout.folder.path().join(name), &text);
        }
        let functions = "# format\t1\n# lens\tfunctions\n# columns\tid (ir calls chain)*\n";
        checkout.write(&checkout.folder.path().join(format!("{fill}.functions.tsv")), functions);
    }
    let merge = |files: &[&str]| {
        run(checkout.folder.path(), &[&["gate", "--merge", "footprint.tsv"], files].concat())
    };
    assert_eq!(said(&merge(&["mixed.tsv", "zeroed.tsv", "cursor.tsv"])).0, 0);
    let (code, stdout, _) = said(&merge(&["mixed.tsv", "zeroed.tsv"]));
    assert!(code == 1 && stdout.contains("missing: cursor/"), "{stdout}");
    // The whole folder of slices can be named: the functions go with their counts.
    let names = |ending| ["cursor", "mixed", "zeroed"].map(|fill| format!("{fill}.{ending}.tsv"));
    let (functions, counts) = (names("functions"), names("instructions"));
    let all: Vec<_> = functions.iter().chain(&counts).map(String::as_str).collect();
    assert_eq!(said(&merge(&all)).0, 0);
    assert_eq!(
        failure(&merge(&all[..3])),
        "writeonce: cursor.functions.tsv:2: lens is 'functions', not 'instructions'; take the file from version \
         control again, or measure anew"
    );
    let line = failure(&merge(&["mixed.tsv", "zeroed.tsv", "mixed.tsv"]));
    assert_eq!(line, "writeonce: mixed.tsv: mixed/zeroed/1x0 is in two files");
    let other = checkout.folder.path().join("cursor.tsv");
    let text = fs::read_to_string(&other).unwrap().replace("# libc\tglibc ", "# libc\tglibc 9");
    checkout.write(&other, &text);
    let line = failure(&merge(&["mixed.tsv", "zeroed.tsv", "cursor.tsv"]));
    assert!(
        line.starts_with("writeonce: cursor.tsv: another environment: libc: glibc 9"),
        "{line}"
    );
    assert!(failure(&merge(&["none.tsv"])).starts_with("writeonce: none.tsv: No such file"));
}

#[test]
fn what_was_not_measured_is_not_judged() {
    let checkout = Checkout::new();
    let baseline = checkout.baseline.to_str().unwrap();
    let line = failure(&run(checkout.folder.path(), &["gate", "--merge", baseline]));
    assert!(
        line.ends_with(": it is a baseline, not a measurement; name files of --fill"),
        "{line}"
    );

    let rows = checkout.text.find("\nzeroed/").unwrap() + 1;
    checkout.write(&checkout.measured, &checkout.text[..rows]);
    let expected = "writeonce: measured.tsv: it has no cases; count the slice again with --fill";
    assert_eq!(failure(&checkout.gate()), expected);
}

#[test]
fn two_baselines_of_one_environment_are_refused() {
    let checkout = Checkout::new();
    checkout.write(&checkout.baseline.with_file_name("zz.instructions.tsv"), &checkout.text);
    let line = failure(&checkout.gate());
    assert!(line.ends_with(" is of the same environment; remove one"), "{line}");
}

#[test]
fn a_part_of_the_cases_is_no_gate() {
    let checkout = Checkout::new();
    let only = |pattern: &str| {
        let files = ["measured.tsv", "footprint.tsv"];
        run(checkout.folder.path(), &[&["gate", "--only", pattern, "--merge"], &files[..]].concat())
    };
    let (code, stdout, stderr) = said(&only("uninit/1x1m"));
    assert_eq!((code, &*stdout), (2, "footprint: 1 cases: 1 ok\ngate: 1 cases: 1 ok\n"));
    assert_eq!(stderr, "writeonce: partial run, not a gate\n");
    assert!(
        failure(&only("none")).ends_with("no case has 'none' in its id; see `writeonce cases`")
    );

    checkout.write(&checkout.measured, &checkout.with_line(ID, |line| more(line, 2, 512, 0)));
    let (code, stdout, _) = said(&only("uninit/1x1m"));
    assert!(code == 1 && stdout.starts_with(&format!("regressed: {ID}: ")), "{stdout}");
    assert_eq!(said(&only("floor")).0, 2);
}

#[test]
fn places_that_are_no_checkout_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let line = failure(&run(folder.path(), &["gate"]));
    assert!(line.ends_with(": not in a checkout of writeonce; change to one"), "{line}");
}

#[test]
fn bad_arguments_exit_with_2() {
    let conflict = ["gate", "--fill", "mixed", "--merge", "x"];
    let bad =
        [&["gates"][..], &["gate", "--tolerance", "9"], &["report", "--check"], &[], &conflict];
    for arguments in bad {
        let output = run(Path::new("."), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn results_are_spliced_between_markers_only() {
    let checkout = Checkout::new();
    let file = checkout.folder.path().join("page.md");
    let page = "a\n<!-- writeonce report: begin -->\nold\n<!-- writeonce report: end -->\nb\n";
    checkout.write(&file, page);
    let check = || run(checkout.folder.path(), &["report", "--splice", "page.md", "--check"]);
    let stale = "page.md: its results are not those of the baseline\n";
    assert_eq!(said(&check()), (1, stale.into(), String::new()));
    assert_eq!(fs::read_to_string(&file).unwrap(), page);
    assert_eq!(said(&run(checkout.folder.path(), &["report", "--splice", "page.md"])).0, 0);
    assert_eq!(said(&check()).0, 0);
    let spliced = fs::read_to_string(&file).unwrap();
    assert!(spliced.starts_with("a\n<!-- ") && spliced.ends_with(" -->\nb\n"), "{spliced}");
    assert!(spliced.contains("| ledger | "), "{spliced}");
    let chart = checkout.folder.path().join("docs/results.svg");
    let drawn = fs::read_to_string(&chart).unwrap();
    assert!(spliced.contains("](docs/results.svg)") && drawn.contains(">zeroed_skip<"), "{drawn}");
    checkout.write(&chart, &drawn.replace("zeroed_skip", "zeroed_gone"));
    assert_eq!(said(&check()).0, 1);

    checkout.write(&file, "no markers\n");
    assert!(failure(&check()).starts_with("writeonce: page.md: needs the lines '<!-- "));
}

#[test]
fn report_shows_what_was_measured_last_and_of_which_run() {
    let checkout = Checkout::new();
    let folder = checkout.folder.path();
    fs::create_dir(folder.join("src")).unwrap();
    fs::write(folder.join("src/lib.rs"), "").unwrap();
    let report = || {
        Command::new(env!("CARGO_BIN_EXE_writeonce"))
            .arg("report")
            .current_dir(folder)
            .env_remove("CARGO_TARGET_DIR")
            .output()
            .unwrap()
    };
    assert_eq!(failure(&report()), "writeonce: nothing has been measured yet; run ci/bench");

    let last = folder.join("target/writeonce");
    let keep = |what: &str, run: &str, text: &str| {
        let file = format!("# run\t{run}\n# machine\ta machine\n{text}");
        fs::write(last.join(format!("last.{what}.tsv")), file).unwrap();
    };
    keep("instructions", "Monday", &checkout.text);
    let header: String = checkout
        .text
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|l| format!("{l}\n"))
        .collect();
    let aligned = "mixed/floor/1x165/align64\t1683\t0\t0\t154\t1529\t2\n";
    keep("alignment.instructions", "Tuesday", &(header.replace("glibc ", "glibc 9") + aligned));
    let columns = "id time_ns faults reference ratio ratio_low ratio_high again again_low again_high rate rate_ns";
    let timed = "mixed/floor/1x165\t512.5\t0\tfloor\t1\t1\t1\t1.01\t0.99\t1.02\t-\t-\n";
    let paired = format!(
        "# format\t1\n# lens\tpaired\n# allocator\tsystem\n# only\t165\n# columns\t{columns}\n{timed}"
    );
    keep("system.paired", "Friday", &paired);
    let (code, stdout, stderr) = said(&report());
    assert_eq!((code, &*stderr), (0, ""));
    let table = |title: &str| {
        let rest = stdout.split_once(title).unwrap_or_else(|| panic!("{title}: {stdout}")).1;
        rest.split("\n\n").next().unwrap().to_owned()
    };
    let mixed = table("mixed (144 cases): ");
    assert!(mixed.contains("; run of Monday on a machine\n"), "{mixed}");
    let aligned = table("alignment, mixed (54 cases): ");
    assert!(aligned.contains("glibc 9") && aligned.contains("; run of Tuesday on a machine\n"));
    assert!(aligned.contains(" 1,683 "), "{aligned}");
    let in_turns = table("mixed, in turns (1 shapes, of ids with '165'): allocator system, ");
    assert!(in_turns.contains("; run of Friday on a machine\n") && in_turns.contains("512 ns"));

    // What another build has measured is shown by this one, which has but one allocator.
    keep("mimalloc.paired", "Sunday", &paired.replace("\tsystem\n", "\tmimalloc\n"));
    let (_, stdout, _) = said(&report());
    assert!(
        stdout.contains("): allocator mimalloc, ")
            && stdout.contains("; run of Sunday on a machine\n"),
        "{stdout}"
    );

    keep("system.paired", "Friday", &paired.replace("512.5", "long"));
    let line = failure(&report());
    assert!(line.contains("last.system.paired.tsv:"), "{line}");
}

#[test]
fn timing_says_what_it_cannot_do() {
    let folder = tempfile::tempdir().unwrap();
    let failed = |arguments: &[&str]| failure(&run(folder.path(), arguments));
    let line = failed(&["time", "--only", "nowhere"]);
    assert_eq!(line, "writeonce: no case has 'nowhere' in its id; see `writeonce cases`");
    let line = failed(&["choose", "nowhere"]);
    assert!(
        line.contains("nowhere: neither a shape, as 8x165 or ledger are, nor a file"),
        "{line}"
    );
    fs::write(folder.path().join("sizes"), "165 165\n11m\n").unwrap();
    let line = failed(&["choose", "sizes"]);
    assert!(
        line.ends_with("sizes: line 2: '11m' is no size of an account, which has 0 to 10m bytes"),
        "{line}"
    );
    // The tests are built without optimization, and times of such a build mean nothing.
    for arguments in [&["time"][..], &["replay"], &["choose", "1x165"]] {
        let line = failed(arguments);
        assert!(line.contains("use `cargo run --profile bench`"), "{line}");
    }
}
