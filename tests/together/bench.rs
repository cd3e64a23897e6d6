//! All cases under one valgrind, a fork a case: equal to a valgrind a case, whatever else is counted; and what is said of
//! cases that fail.
//!
//! This is a bench target, so that it can be what it tests: without an argument or a variable of the harness it runs the
//! tests.
#![allow(missing_docs, reason = "the macros make public items")]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use writeonce::cases::{Page, Prepared};
use writeonce::failure::Failure;
use writeonce::lens::instructions::{Counted, Row, Way, count};
use writeonce::own::{OwnRoutine, Suite};
use writeonce::together;

mod target {
    use super::SUITE;

    writeonce::harness!(instructions: SUITE, "tests/together/cases.txt");
}

static SUITE: Suite = Suite {
    package: env!("CARGO_PKG_NAME"),
    table: include_str!("cases.txt"),
    buffers: &[],
    routines: &[
        OwnRoutine::new("fine", |size| Prepared::of(move || spin(size), size as u64, 0)),
        OwnRoutine::new("panics", |_| Prepared::of(|| panic!("a panic of the routine's"), 0, 0)),
        OwnRoutine::new("panics_later", |_| Prepared::of(panics_later, 0, 0)),
        OwnRoutine::new("aborts", |_| Prepared::of(aborts, 0, 0)),
        OwnRoutine::new("is_killed", |_| Prepared::of(is_killed, 0, 0)),
        OwnRoutine::new("exits", |_| Prepared::of(|| std::process::exit(0), 0, 0)),
        OwnRoutine::new("hangs", |_| Prepared::of(hangs, 0, 0)),
        OwnRoutine::new("has_threads", |_| Prepared::of(has_threads, 0, 0)),
        OwnRoutine::new("has_processes", |_| Prepared::of(has_processes, 0, 0)),
    ],
};

fn spin(rounds: usize) -> u64 {
    (0..rounds as u64).fold(0, |sum, _| black_box(sum + 1))
}

fn panics_later() -> u64 {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    assert!(CALLS.fetch_add(1, Relaxed) == 0, "a panic of the measured call");
    0
}

fn aborts() -> u64 {
    eprintln!("said before the end\n");
    std::process::abort()
}

fn is_killed() -> u64 {
    // SAFETY: it ends this process.
    unsafe { libc::raise(libc::SIGKILL) };
    0
}

fn hangs() -> u64 {
    println!("it hangs");
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn has_threads() -> u64 {
    std::thread::spawn(|| 0).join().unwrap()
}

fn has_processes() -> u64 {
    assert!(Command::new("true").status().unwrap().success());
    0
}

fn main() -> ExitCode {
    let mut arguments = std::env::args();
    let program = arguments.next().unwrap_or_default();
    let argument = arguments.next().unwrap_or_default();
    let is_target = std::env::var_os(together::FOLDER).is_some()
        || program.ends_with("iai-callgrind-runner")
        || ["--iai-run", "--bench"].contains(&&*argument);
    if is_target {
        return target::main();
    }
    SUITE.install();
    if argument == HANG {
        return match count_here(&["own/hangs/0"], Way::default()) {
            Ok(_) => ExitCode::SUCCESS,
            Err(failure) => {
                eprintln!("{failure}");
                ExitCode::from(2)
            }
        };
    }
    let tests: [(&str, fn()); 4] = [
        ("rows_do_not_depend_on_what_else_is_counted", rows_do_not_depend_on_what_else_is_counted),
        ("a_valgrind_a_case_counts_the_same", a_valgrind_a_case_counts_the_same),
        ("a_case_that_fails_is_named_and_the_others_are_counted", a_case_that_fails_is_named),
        ("nothing_outlives_the_command", nothing_outlives_the_command),
    ];
    for (name, test) in tests.into_iter().filter(|(name, _)| name.contains(&argument)) {
        println!("test {name} ...");
        test();
    }
    println!("test result: ok");
    ExitCode::SUCCESS
}

/// Counts these cases by this program.
fn count_here(ids: &[&str], way: Way) -> Result<Counted, Failure> {
    let ids: Vec<_> = ids.iter().map(|&id| id.to_owned()).collect();
    let program = std::env::current_exe().unwrap();
    count(Path::new(env!("CARGO_MANIFEST_DIR")), &folder(), &program, &ids, way)
}

fn counted(ids: &[&str], way: Way) -> Counted {
    count_here(ids, way).unwrap_or_else(|failure| panic!("{failure}"))
}

/// Where what is counted leaves its files.
fn folder() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

fn rows(ids: &[&str]) -> Vec<Row> {
    let Counted { rows, canaries, faults, .. } = counted(ids, Way::default());
    assert!(faults.is_empty() && canaries.is_empty(), "{faults:?}");
    assert_eq!(rows.len(), ids.len());
    rows
}

/// A part of the table with all strategies, fills and heap states.
fn table() -> Vec<&'static str> {
    let pages = [Page::Zeroed, Page::Cursor, Page::Mixed].map(Page::text);
    pages.into_iter().flat_map(str::lines).step_by(5).collect()
}

fn rows_do_not_depend_on_what_else_is_counted() {
    let table = table();
    let all = rows(&table);
    let same = |ids: &[&str]| {
        for row in rows(ids) {
            assert_eq!(Some(&row), all.iter().find(|other| other.id == row.id));
        }
    };
    // Every seventh, seven times: a fixed shuffle.
    let shuffled: Vec<_> =
        (0..7).flat_map(|first| table.iter().skip(first).step_by(7)).copied().collect();
    assert_eq!(shuffled.len(), table.len());
    same(&shuffled);
    let reversed: Vec<_> = table.iter().rev().copied().collect();
    same(&reversed);
    let (first, second) = table.split_at(table.len() / 2);
    same(first);
    same(second);
    for id in table.iter().step_by(11) {
        same(&[id]);
    }
}

fn a_valgrind_a_case_counts_the_same() {
    let ids: Vec<_> = SUITE.table.lines().collect();
    let isolated = counted(&ids, Way { isolated: true, ..Way::default() });
    assert!(isolated.faults.is_empty(), "{:?}", isolated.faults);
    assert_eq!(isolated.rows, rows(&ids));
}

fn a_case_that_fails_is_named() {
    let ids = [
        "own/fine/1000",
        "own/panics/0",
        "own/panics_later/0",
        "own/aborts/0",
        "own/is_killed/0",
        "own/exits/0",
        "own/has_threads/0",
        "own/has_processes/0",
        "own/fine/2000",
    ];
    let Counted { rows, faults, .. } = counted(&ids, Way::default());
    let ids: Vec<_> = rows.iter().map(|row| &*row.id).collect();
    assert_eq!(ids, ["own/fine/1000", "own/fine/2000"]);
    let several = "it has several threads or processes, and only one can be counted";
    let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        faults,
        [
            "own/panics/0: it panicked: a panic of the routine's",
            "own/panics_later/0: it panicked: a panic of the measured call",
            "own/aborts/0: it was killed by signal 6: said before the end",
            "own/is_killed/0: it was killed by signal 9",
            "own/exits/0: it ended with code 0",
            &format!("own/has_threads/0: {several}"),
            &format!("own/has_processes/0: {several}"),
        ]
    );
    // Apart from the others, which may take that long on a busy machine.
    let hanging = counted(&["own/hangs/0"], Way { limit: 2, ..Way::default() }).faults;
    let said = hanging[0].to_string();
    assert!(said.starts_with("own/hangs/0: it took longer than 2 s"), "{said}");
}

/// The argument by which this program counts a case that does not end.
const HANG: &str = "--hang";

fn nothing_outlives_the_command() {
    for signal in ["INT", "TERM", "KILL"] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let mut command = command.arg(HANG).stderr(Stdio::null()).spawn().unwrap();
        wait_until(|| hanging().len() >= 5, "valgrind and its child");
        let id = command.id().to_string();
        let kill = Command::new("kill").args(["-s", signal, &id]).status().unwrap();
        assert!(kill.success());
        assert!(!command.wait().unwrap().success());
        wait_until(|| hanging().is_empty(), &format!("the end of all after SIG{signal}"));
    }
}

/// The processes that count for another one: the target, twice, its runner, valgrind and a child a case.
fn hanging() -> Vec<PathBuf> {
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let is_ours = |path: &PathBuf| {
        let read = |name| {
            String::from_utf8_lossy(&std::fs::read(path.join(name)).unwrap_or_default())
                .into_owned()
        };
        read("cmdline").contains(program) && read("environ").contains(together::FOLDER)
    };
    processes.filter(is_ours).collect()
}

fn wait_until(is_so: impl Fn() -> bool, what: &str) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}: waited for half a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}
