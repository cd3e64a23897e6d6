//! Hostile places: strange names, full disks, odd environments, what an earlier run left. One line says the cause, the exit
//! code is the documented one, and what was there before is there still. `ci/hostile` has the cases that take a whole run.

#![cfg(all(feature = "cli", unix))]

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder that the command line takes for a checkout, with the committed baselines and copies as what was measured.
struct Place {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

/// The text of the first committed baseline with this ending.
fn committed(ending: &str) -> (String, String) {
    let files = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/baselines")).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    let path = files.filter(|path| path.to_str().unwrap().ends_with(ending)).min().unwrap();
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    (name, fs::read_to_string(path).unwrap())
}

const COUNTS: &str = ".instructions.tsv";
const FOOTPRINT: &str = ".footprint.tsv";

impl Place {
    fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join(name);
        fs::create_dir_all(root.join("src")).unwrap();
        fs::create_dir(root.join("baselines")).unwrap();
        fs::write(root.join("src/lib.rs"), "").unwrap();
        fs::write(root.join("Cargo.toml"), "[package]\nname = \"writeonce\"\n").unwrap();
        for ending in [COUNTS, FOOTPRINT] {
            let (name, text) = committed(ending);
            fs::write(root.join("baselines").join(name), &text).unwrap();
            fs::write(root.join(format!("measured{ending}")), text).unwrap();
        }
        Self { _folder: folder, root }
    }

    /// A place where something was measured.
    fn measured() -> Self {
        let place = Self::new("place");
        for (what, text) in lasts() {
            place.keep(what, text.as_bytes());
        }
        place
    }

    /// Writes what a run may have kept.
    fn keep(&self, what: &str, text: &[u8]) {
        fs::create_dir_all(self.last(what).parent().unwrap()).unwrap();
        fs::write(self.last(what), text).unwrap();
    }

    fn last(&self, what: &str) -> PathBuf {
        self.root.join(format!("target/writeonce/last.{what}.tsv"))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_writeonce"));
        self.there(command.args(arguments));
        command
    }

    /// A shell, in which `$0` is the command line.
    fn shell(&self, script: &str) -> Output {
        let mut command = Command::new("sh");
        self.there(command.args(["-c", script, env!("CARGO_BIN_EXE_writeonce")]));
        command.output().unwrap()
    }

    fn there(&self, command: &mut Command) {
        command.current_dir(&self.root).env_remove("CARGO_TARGET_DIR");
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.root.join(file)).unwrap()
    }
}

/// What a run keeps: the name of each file, and its text.
fn lasts() -> Vec<(&'static str, String)> {
    let paired = "id time_ns faults reference ratio ratio_low ratio_high again again_low again_high rate rate_ns";
    let files = [
        ("instructions", committed(COUNTS).1),
        ("system.footprint", committed(FOOTPRINT).1),
        (
            "wall_clock",
            "# format\t1\n# lens\twall_clock\n# allocator\tsystem\n# sampling\tquick\n\
             # columns\tid median_ns low_ns high_ns bytes\nmixed/uninit/1x0\t12.5\t12\t13.25\t10395\n"
                .to_owned(),
        ),
        (
            "amplification",
            "# format\t1\n# lens\tamplification\n# columns\tid written zeroed bytes\nmixed/uninit/1x0\t10395\t0\t10395\n"
                .to_owned(),
        ),
        (
            "system.paired",
            format!(
                "# format\t1\n# lens\tpaired\n# allocator\tsystem\n# only\t\n# columns\t{paired}\n\
                 mixed/uninit/1x0\t12.5\t0\tfloor\t1.25\t1\t1.5\t1.01\t0.99\t1.02\t-\t-\n"
            ),
        ),
    ];
    files.map(|(what, text)| (what, format!("# run\tMonday\n# machine\tours\n{text}"))).into()
}

/// Exit code, standard output, standard error.
fn said(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[track_caller]
fn assert_ok(output: &Output) {
    let (code, _, stderr) = said(output);
    assert_eq!((code, &*stderr), (0, ""));
}

/// A failure: exit code 2, nothing on standard output, one line on standard error, which is returned.
#[track_caller]
fn failure(output: &Output) -> String {
    let (code, stdout, stderr) = said(output);
    assert_eq!((code, &*stdout), (2, ""), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    stderr.trim_end().to_owned()
}

const NAMES: [&str; 6] =
    ["with space", "quo'te\"s", "ünï→日本", "new\nline", "$(touch x) `y` \\ * ; &", "100 %p -x"];

#[test]
fn a_checkout_may_have_any_name() {
    for name in NAMES {
        let place = Place::new(name);
        let slices = ["gate", "--merge", "measured.instructions.tsv", "measured.footprint.tsv"];
        assert_ok(&place.run(&slices));
        assert!(failure(&place.run(&["report"])).contains("nothing has been measured yet"));
        for (what, text) in lasts() {
            place.keep(what, text.as_bytes());
        }
        assert_ok(&place.run(&["report"]));
        let rows = place.root.join("rows.csv");
        let files = ["--csv", rows.to_str().unwrap(), "--json", "rows.json", "--html", "page.html"];
        assert_ok(&place.run(&[&["report"], &files[..]].concat()));
        assert!(place.read("page.html").contains("uninit"));
        assert_ok(&place.run(&["report", "--compare", rows.to_str().unwrap(), "rows.json"]));

        place.keep("instructions", b"# run\tMonday\n");
        let line = failure(&place.run(&["report"]));
        assert!(line.contains("last.instructions.tsv:2: "), "{line}");
    }
}

#[test]
fn a_check_is_a_line_whatever_the_checkout_is_called() {
    let (_, stdout, stderr) = said(&Place::new("new\nline").run(&["doctor"]));
    assert!(stdout.lines().all(|line| line.starts_with("ok ") || line.starts_with("failed ")));
    assert!(stdout.contains("new; line/target can be written\n"), "{stdout}{stderr}");
}

#[test]
fn a_place_that_valgrind_cannot_write_to_is_found_before_a_run() {
    let place = Place::new("100 %p");
    let (code, stdout, _) = said(&place.run(&["doctor"]));
    let line = stdout.lines().find(|line| line.contains("target folder: ")).unwrap();
    assert_eq!((code, &line[..8]), (2, "failed  "), "{stdout}");
    assert!(line.contains("valgrind takes no % in ") && line.contains("; set CARGO_TARGET_DIR"));
}

/// The file of an old report: longer than what a file may have below, and than nothing.
const OLD: &str = "an old report\n";

/// Whether nothing but these files is in the folder.
fn is_all_there_is(folder: &Path, names: &[&str]) -> bool {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut seen: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
    seen.sort();
    seen == names
}

#[test]
fn a_file_that_cannot_be_written_whole_is_the_old_one_still() {
    let place = Place::measured();
    let reports = place.root.join("reports");
    fs::create_dir(&reports).unwrap();
    for (option, name) in [("csv", "a.csv"), ("html", "a.html"), ("json", "a.json")] {
        fs::write(reports.join(name), OLD).unwrap();
        // As on a full disk, a write ends in the middle: no file may be larger than a block or two.
        let limit = "trap '' XFSZ; ulimit -f 1; exec \"$0\"";
        let line = failure(&place.shell(&format!("{limit} report --{option} reports/{name}")));
        let start = format!("writeonce: reports/{name}: cannot be written: ");
        assert!(line.starts_with(&start), "{line}");
        assert_eq!(place.read(&format!("reports/{name}")), OLD);
    }
    assert!(is_all_there_is(&reports, &["a.csv", "a.html", "a.json"]));
    let line = failure(&place.run(&["report", "--csv", "measured.instructions.tsv/a.csv"]));
    assert!(line.contains("a.csv: cannot be written: "), "{line}");
    let line = failure(&place.run(&["report", "--csv", "reports"]));
    assert!(line.starts_with("writeonce: reports: cannot be written: "), "{line}");
}

#[test]
fn a_verdict_that_cannot_be_written_does_not_hide_why_there_is_none() {
    let place = Place::new("place");
    let gate = |slice: &str| {
        place.run(&[
            "gate",
            "--markdown",
            "Cargo.toml/x.md",
            "--merge",
            slice,
            "measured.footprint.tsv",
        ])
    };
    let line = failure(&gate("none.tsv"));
    assert!(line.starts_with("writeonce: none.tsv: No such file"), "{line}");
    let (code, stdout, stderr) = said(&gate("measured.instructions.tsv"));
    assert_eq!((code, stderr.lines().count()), (2, 1), "{stderr}");
    assert!(stdout.starts_with("footprint: ") && stderr.contains("x.md: cannot be written: "));
}

#[test]
fn what_nobody_can_read_has_its_exit_code_still() {
    let place = Place::measured();
    let line = failure(&place.shell("exec \"$0\" cases >/dev/full"));
    assert!(line.starts_with("writeonce: cannot print: "), "{line}");
    for (script, code) in [
        ("exec \"$0\" gate --merge none 2>/dev/full", 2),
        ("exec \"$0\" gate --merge none 2>&-", 2),
        ("exec \"$0\" report >/dev/full 2>/dev/full", 2),
        ("WRITEONCE_ALLOCATOR=none exec \"$0\" cases 2>/dev/full", 2),
        ("exec \"$0\" cases >&-", 0),
    ] {
        assert_eq!(place.shell(script).status.code(), Some(code), "{script}");
    }
}

#[test]
fn what_is_no_file_is_written_to_and_stays() {
    // A pipe, because a device that is lost, as by root, is everybody's.
    let place = Place::measured();
    assert_ok(&place.run(&["report", "--csv", "rows.csv"]));
    assert!(Command::new("mkfifo").arg(place.root.join("pipe")).status().unwrap().success());
    symlink("pipe", place.root.join("link")).unwrap();
    for name in ["pipe", "link"] {
        let pipe = place.root.join("pipe");
        let reader = std::thread::spawn(move || fs::read_to_string(pipe).unwrap());
        assert_ok(&place.run(&["report", "--csv", name]));
        assert!(place.root.join("link").is_symlink());
        assert!(place.root.join("pipe").metadata().unwrap().file_type().is_fifo());
        assert_eq!(reader.join().unwrap(), place.read("rows.csv"));
    }
}

#[test]
fn files_are_as_private_as_the_user_has_them() {
    let place = Place::measured();
    let mode = |file: &str| place.root.join(file).metadata().unwrap().permissions().mode() & 0o777;
    assert_ok(&place.shell("umask 077; exec \"$0\" report --csv private.csv --html old.html"));
    assert_eq!(mode("private.csv"), 0o600);
    assert_ok(&place.shell("umask 022; exec \"$0\" report --csv public.csv"));
    assert_eq!(mode("public.csv"), 0o644);
    // An old file keeps what it has.
    fs::set_permissions(place.root.join("old.html"), fs::Permissions::from_mode(0o640)).unwrap();
    assert_ok(&place.shell("umask 077; exec \"$0\" report --html old.html"));
    assert_eq!(mode("old.html"), 0o640);
}

#[test]
fn reports_do_not_depend_on_locale_time_zone_or_home() {
    let place = Place::measured();
    let report = |change: &dyn Fn(&mut Command) -> &mut Command| {
        let mut command = place.command(&["report"]);
        let output = change(&mut command).output().unwrap();
        assert_ok(&output);
        output.stdout
    };
    let plain = report(&|command| command);
    let comma = [("LC_ALL", "de_DE.UTF-8"), ("LANG", "de_DE.UTF-8"), ("LC_NUMERIC", "fr_FR")];
    assert_eq!(report(&|command| command.envs(comma)), plain);
    assert_eq!(report(&|command| command.env("TZ", "Asia/Kathmandu")), plain);
    assert_eq!(report(&|command| command.env_remove("HOME")), plain);
    let none = place.root.join("none");
    assert_eq!(report(&|command| command.env("HOME", &none)), plain);
    assert_eq!(report(&|command| command.env_remove("TMPDIR")), plain);
    assert_eq!(report(&|command| command.env("TMPDIR", none.join("none"))), plain);
}

#[test]
fn a_missing_temporary_folder_is_named_with_the_cure() {
    let place = Place::new("place");
    let mut doctor = place.command(&["doctor"]);
    let (code, stdout, stderr) =
        said(&doctor.env("TMPDIR", place.root.join("none")).output().unwrap());
    assert_eq!((code, &*stderr), (2, ""));
    let line = stdout.lines().find(|line| line.contains("libc symbols: ")).unwrap();
    assert!(line.starts_with("failed  libc symbols: no temporary folder: "), "{line}");
    assert!(line.ends_with("; set TMPDIR to a folder that can be written"), "{line}");
}

#[test]
fn what_an_older_or_broken_run_left_is_refused_and_nothing_is_lost() {
    let place = Place::measured();
    assert_ok(&place.run(&["report", "--csv", "rows.csv"]));
    let old = place.read("rows.csv");
    for (what, text) in lasts() {
        let damages = [
            String::new().into_bytes(),
            text.as_bytes()[..text.len() - 3].to_vec(),
            text.replace("# format\t1", "# format\t0").into_bytes(),
            text.replace("# columns\tid ", "# columns\tid older ").into_bytes(),
            // Before there were runs.
            text.split_once("# format").unwrap().1.as_bytes().to_vec(),
            b"\xff\xfe\0".to_vec(),
        ];
        for damage in damages {
            place.keep(what, &damage);
            let line = failure(&place.run(&["report", "--csv", "rows.csv"]));
            assert!(line.contains(&format!("last.{what}.tsv:")), "{line}");
        }
        fs::remove_file(place.last(what)).unwrap();
        fs::create_dir(place.last(what)).unwrap();
        let line = failure(&place.run(&["report", "--csv", "rows.csv"]));
        assert!(line.contains(&format!("last.{what}.tsv: ")), "{line}");
        assert_eq!(place.read("rows.csv"), old);
        fs::remove_dir(place.last(what)).unwrap();
        place.keep(what, text.as_bytes());
    }
    // Files of an unknown name are nobody's.
    place.keep("of_the_future", b"\xff");
    assert_ok(&place.run(&["report"]));
}

#[test]
fn the_target_folder_may_be_a_link() {
    let place = Place::measured();
    let plain = said(&place.run(&["report"])).1;
    let target = place.root.join("target");
    fs::rename(&target, place.root.join("elsewhere")).unwrap();
    symlink("elsewhere", &target).unwrap();
    assert_eq!(said(&place.run(&["report"])), (0, plain, String::new()));
    assert!(target.is_symlink());

    for (name, wrong) in [("nowhere", "a link to nothing"), ("Cargo.toml", "a link to a file")] {
        fs::remove_file(&target).unwrap();
        symlink(name, &target).unwrap();
        let line = failure(&place.run(&["report"]));
        assert!(line.contains("target/writeonce: cannot be made a folder: "), "{wrong}: {line}");
        let (code, stdout, _) = said(&place.run(&["doctor"]));
        assert!(code == 2 && stdout.contains("failed  target folder: "), "{wrong}: {stdout}");
    }
}

#[test]
fn a_folder_that_is_gone_is_a_failure() {
    let place = Place::new("place");
    let line = failure(&place.shell("mkdir gone && cd gone && rmdir ../gone && exec \"$0\" gate"));
    assert!(line.starts_with("writeonce: no folder: "), "{line}");
}

#[test]
fn a_reader_that_has_gone_away_wants_no_more() {
    let place = Place::measured();
    let mut command = place.command(&["report"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_ok(&child.wait_with_output().unwrap());
}

#[test]
fn manifest_in_another_spelling_is_the_checkout() {
    let place = Place::measured();
    fs::write(place.root.join("Cargo.toml"), "package={name=\"writeonce\"} # one line\n").unwrap();
    assert_ok(&place.run(&["report"]));
    fs::write(place.root.join("Cargo.toml"), "[lib]\nname = \"writeonce\"\n").unwrap();
    assert!(failure(&place.run(&["report"])).contains("not in a checkout of writeonce"));
}

#[test]
fn manifest_or_configuration_that_is_not_toml_is_named_with_its_line() {
    let place = Place::new("place");
    fs::create_dir(place.root.join(".cargo")).unwrap();
    fs::write(place.root.join(".cargo/config.toml"), "[build]\nrustflags = \n").unwrap();
    let (code, stdout, _) = said(&place.run(&["doctor"]));
    let config = place.root.canonicalize().unwrap().join(".cargo/config.toml");
    assert_eq!(code, 2);
    assert!(stdout.contains(&format!("failed  flags: {}:2: ", config.display())), "{stdout}");
    assert_eq!(stdout.lines().count(), 7, "{stdout}");

    fs::write(place.root.join("Cargo.toml"), "[package]\nname = \"writeonce\"\n\n[profile.bench\n")
        .unwrap();
    let manifest = place.root.canonicalize().unwrap().join("Cargo.toml");
    for verb in ["doctor", "gate", "report"] {
        let line = failure(&place.run(&[verb]));
        assert!(line.contains(&format!("{}:4: ", manifest.display())), "{line}");
    }
}

#[test]
fn flags_in_the_configuration_are_refused_however_they_are_written() {
    let place = Place::new("place");
    fs::create_dir(place.root.join(".cargo")).unwrap();
    let doctor = |text: &str| {
        fs::write(place.root.join(".cargo/config.toml"), text).unwrap();
        let (_, stdout, _) = said(&place.run(&["doctor"]));
        stdout.lines().find(|line| line.contains("  flags: ")).unwrap_or_default().to_owned()
    };
    assert_eq!(doctor("[build]\njobs = 1\n"), "ok      flags: none");
    assert_eq!(
        doctor("build.rustflags = ['-Copt-level=1']\n"),
        "failed  flags: build.rustflags = [\"-Copt-level=1\"] changes the code that is measured; unset it"
    );
}
