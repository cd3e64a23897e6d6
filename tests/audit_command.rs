//! What `writeonce audit` refuses, passes through and gates.

#![cfg(all(feature = "cli", target_arch = "x86_64", target_os = "linux"))]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Compiles a program in C; its path.
fn program(folder: &TempDir, name: &str, source: &str, options: &[&str]) -> PathBuf {
    let (path, file) = (folder.path().join(name), folder.path().join("program.c"));
    fs::write(&file, source).unwrap();
    let status = Command::new("gcc")
        .args(["-O1", "-g", "-w"])
        .args(options)
        .arg("-o")
        .args([&path, &file])
        .status()
        .unwrap();
    assert!(status.success());
    path
}

fn audit<S: AsRef<std::ffi::OsStr>>(options: &[S], program: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_writeonce"))
        .arg("audit")
        .args(options)
        .arg("--")
        .arg(program)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The audit refuses the program with one line that holds `reason`.
fn assert_refused(program: &Path, reason: &str) {
    let output = audit::<&str>(&[], program);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert_eq!(said(&output).lines().count(), 1, "{}", said(&output));
    assert!(said(&output).contains(reason), "{}", said(&output));
}

/// Zeroes a block and writes all of it.
const WASTEFUL: &str = r#"
#include <stdlib.h>
#include <stdio.h>
char *__attribute__((noinline)) wasted(int n) {
    char *volatile p = calloc(1, n);
    for (int i = 0; i < n; i++) p[i] = i | 1;
    return p;
}
int main(void) { char *p = wasted(5000); printf("%d\n", p[77]); free(p); return 0; }
"#;

const EMPTY: &str = "int main(void) { return 0; }";

/// Who installed the command line has no script to run.
#[test]
fn without_valgrind_the_package_to_install_is_named() {
    let folder = folder();
    let mut audit = Command::new(env!("CARGO_BIN_EXE_writeonce"));
    audit
        .args(["audit", "--"])
        .arg(program(&folder, "empty", EMPTY, &[]))
        .current_dir(folder.path());
    let output = audit.env("PATH", folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = said(&output);
    assert!(said.trim_end().ends_with("; install the package valgrind"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn what_cannot_be_audited_is_refused_with_the_way_out() {
    let folder = folder();
    assert_refused(Path::new("no-such-program-anywhere"), "no such program in PATH");
    assert_refused(&folder.path().join("none"), "no such program");
    let path = program(&folder, "static", EMPTY, &["-static"]);
    assert_refused(&path, "statically linked");
    let path = program(&folder, "setuid", EMPTY, &[]);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4755)).unwrap();
    assert_refused(&path, "setuid");
    let path = program(
        &folder,
        "jemalloc",
        "void *mallocx(void) { return 0; } int main(void) { return 0; }",
        &[],
    );
    assert_refused(&path, "jemalloc: it defines `mallocx`");
    let path = folder.path().join("text");
    fs::write(&path, "no program").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    assert_refused(&path, "no 64-bit program");
    let mut other = fs::read(program(&folder, "arm", EMPTY, &[])).unwrap();
    // e_machine: AArch64.
    other[18] = 183;
    fs::write(&path, other).unwrap();
    assert_refused(&path, "not for x86-64");
}

#[test]
fn waste_beyond_what_is_allowed_is_exit_code_1() {
    let folder = folder();
    let wasteful = program(&folder, "wasteful", WASTEFUL, &[]);
    let code = |options: &[&str]| audit(options, &wasteful).status.code();
    assert_eq!(code(&[]), Some(0));
    assert_eq!(code(&["--max-wasted", "5000"]), Some(0));
    let output = audit(&["--max-wasted", "4999"], &wasteful);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said(&output).contains("5000 bytes are zeroed for nothing, 4999 may be"),
        "{}",
        said(&output)
    );
    // Sites that are not looked at, or below --min, waste nothing.
    assert_eq!(code(&["--max-wasted", "0", "--only", "another"]), Some(0));
    assert_eq!(code(&["--max-wasted", "0", "--min", "5001"]), Some(0));
}

#[test]
fn an_exception_needs_a_reason() {
    let folder = folder();
    let wasteful = program(&folder, "wasteful", WASTEFUL, &[]);
    let allow = folder.path().join("allow");
    let with = |text: &str| {
        fs::write(&allow, text).unwrap();
        audit(&["--max-wasted", "0", "--allow", allow.to_str().unwrap()], &wasteful)
    };
    let output = with("# Ours.\n\nwasted program.c:5 # the kernel zeroes it\n");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("allowed: the kernel zeroes it"), "{}", said(&output));
    assert_eq!(with("other # a reason\n").status.code(), Some(1));
    for wrong in ["wasted", "wasted #", "wasted # "] {
        let output = with(wrong);
        assert_eq!(output.status.code(), Some(2));
        assert!(said(&output).contains("line 1: an exception is"), "{}", said(&output));
    }
}

#[test]
fn a_process_that_is_killed_leaves_what_is_known_until_then() {
    let folder = folder();
    let source = r#"
#include <stdlib.h>
#include <signal.h>
void __attribute__((noinline)) fill(volatile int n) {
    char *volatile p = calloc(1, 1000 * n);
    for (int i = 0; i < 1000 * n; i++) p[i] = 1;
    __asm__ volatile("" ::: "memory");
    if (n == 1) free(p);
}
int main(void) {
    for (volatile int n = 1; n <= 2; n++) fill(n);
    raise(SIGKILL);
}
"#;
    let output = audit::<&str>(&[], &program(&folder, "killed", source, &[]));
    assert_eq!(output.status.code(), Some(128 + 9), "{}", said(&output));
    assert!(said(&output).contains("1,000 of 3,000 bytes overwritten"), "{}", said(&output));
    assert!(said(&output).contains("nothing is known of 2,000 bytes"), "{}", said(&output));
    assert!(!said(&output).contains("superfluous"), "{}", said(&output));
}

#[test]
fn what_no_run_has_proven_is_not_called_waste() {
    let folder = folder();
    let source =
        WASTEFUL.replace("return 0;", "char *q = calloc(1, 500); if (q[7]) return 3; return 0;");
    let program = program(&folder, "read", &source, &[]);
    let once = audit(&["--runs", "1", "--max-wasted", "0"], &program);
    assert_eq!(once.status.code(), Some(0), "{}", said(&once));
    assert!(said(&once).contains("unproven     5,000 of 5,000 bytes"), "{}", said(&once));
    let proven = audit(&["--max-wasted", "0"], &program);
    assert_eq!(proven.status.code(), Some(1), "{}", said(&proven));
    assert!(said(&proven).contains("superfluous  5,000 of 5,000 bytes"), "{}", said(&proven));
    assert!(said(&proven).contains("needed       0 of 500 bytes"), "{}", said(&proven));
}

#[test]
fn children_are_audited_on_request() {
    let folder = folder();
    let wasteful = program(&folder, "wasteful", WASTEFUL, &[]);
    let script = folder.path().join("script");
    fs::write(&script, format!("#!/bin/sh\n'{0}'\n'{0}'\n", wasteful.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let alone = audit(&["--only", "wasted"], &script);
    assert!(said(&alone).contains("0 places"), "{}", said(&alone));
    let followed = audit(&["--only", "wasted", "--follow"], &script);
    assert_eq!(followed.status.code(), Some(0), "{}", said(&followed));
    assert!(
        said(&followed).contains("10,000 of 10,000 bytes overwritten, 0 kept, 2 calls"),
        "{}",
        said(&followed)
    );
    assert_eq!(followed.stdout, alone.stdout);
}

#[test]
fn programs_that_are_started_see_nothing_of_the_audit() {
    let folder = folder();
    let source = r#"
#include <stdlib.h>
int main(void) { return system("env"); }
"#;
    let output = audit::<&str>(&[], &program(&folder, "environment", source, &[]));
    let variables = String::from_utf8_lossy(&output.stdout);
    assert!(variables.contains("PATH="), "{variables}");
    assert!(!variables.to_lowercase().contains("writeonce_audit"), "{variables}");
}

#[test]
fn zeros_that_are_needed_without_memcheck_are_not_verified() {
    let folder = folder();
    // Reads the zeros only where memcheck is not: a stand-in for a program that is another one at full speed.
    let source = r#"
#include <stdlib.h>
#include <stdio.h>
int main(void) {
    char *volatile p = calloc(1, 100);
    int sum = 0;
    if (!getenv("LD_PRELOAD")) for (int i = 0; i < 100; i++) sum += p[i];
    for (int i = 0; i < 100; i++) p[i] = 1;
    printf("%d\n", sum);
}
"#;
    let output = audit(&["--verify"], &program(&folder, "otherwise", source, &[]));
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(
        said(&output).contains("something else: standard output differs from byte 0 on"),
        "{}",
        said(&output)
    );
}

#[test]
fn names_are_escaped_in_the_page() {
    let folder = folder();
    let path = program(&folder, "<script>&", WASTEFUL, &[]);
    let page = folder.path().join("page.html");
    let output = audit(&["--html".as_ref(), page.as_os_str()], &path);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let page = fs::read_to_string(page).unwrap();
    assert!(!page.contains("<script"), "{page}");
    assert!(page.contains("&lt;script&gt;&amp;"), "{page}");
    assert!(page.contains("5,000 of 5,000 bytes overwritten"), "{page}");
}

#[test]
fn a_program_may_have_any_name() {
    let folder = folder();
    for name in ["with space", "quo'te\"s", "ünï→日本", "new\nline", "100 %p"] {
        let output = audit(&["--max-wasted", "4999"], &program(&folder, name, WASTEFUL, &[]));
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        let site = "superfluous  5,000 of 5,000 bytes overwritten, 0 kept, 1 call\n             \
                    calloc <- wasted program.c:5 <- main program.c:9\n";
        assert!(said(&output).contains(site), "{}", said(&output));
    }
}

#[test]
fn the_temporary_folder_may_be_missing_or_odd() {
    let folder = folder();
    let wasteful = program(&folder, "wasteful", WASTEFUL, &[]);
    let temporary = |name: &str| {
        let mut audit = Command::new(env!("CARGO_BIN_EXE_writeonce"));
        audit.args(["audit", "--max-wasted", "4999", "--"]).arg(&wasteful);
        audit.env("TMPDIR", folder.path().join(name)).output().unwrap()
    };
    for name in ["100%", "100%p%%n", "ünï→日本", "new\nline", "quo'te\""] {
        fs::create_dir(folder.path().join(name)).unwrap();
        let output = temporary(name);
        assert_eq!(output.status.code(), Some(1), "{name}: {}", said(&output));
        assert!(said(&output).contains("superfluous  5,000 of 5,000 bytes"), "{}", said(&output));
    }
    for name in ["with space", "co:lon"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        let output = temporary(name);
        assert_eq!(output.status.code(), Some(2), "{name}: {}", said(&output));
        assert!(said(&output).ends_with("; set TMPDIR to another folder\n"), "{}", said(&output));
    }
    let output = temporary("none");
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).starts_with("writeonce: no temporary folder: "), "{}", said(&output));
    assert!(said(&output).ends_with("; set TMPDIR to a folder that can be written\n"));
}

#[test]
fn input_that_could_not_be_kept_is_not_given_again() {
    let folder = folder();
    let source = r#"
#include <stdlib.h>
#include <stdio.h>
int main(void) {
    char *volatile p = calloc(1, 5000);
    for (int i = 0; i < 5000; i++) p[i] = 1;
    int sum = 0, c;
    while ((c = getchar()) != EOF) sum += c + p[c];
    printf("%d\n", sum);
}
"#;
    let reader = program(&folder, "reader", source, &[]);
    // As on a full disk: no file may be larger than 32 MB, which is enough for the rest.
    let script = "trap '' XFSZ; ulimit -f 64000; head -c 40000000 /dev/zero | \"$0\" audit --verify -- \"$1\"";
    let limited = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_writeonce")])
        .arg(&reader)
        .output()
        .unwrap();
    assert_eq!(limited.status.code(), Some(2), "{}", said(&limited));
    assert!(said(&limited).contains("the input cannot be given again: file too large"));
    assert!(!said(&limited).contains("verified"), "{}", said(&limited));
}

#[test]
fn an_interruption_leaves_nothing_behind() {
    let folder = folder();
    let source = r#"
#include <unistd.h>
int main(void) { write(1, "here\n", 5); for (;;) sleep(1); }
"#;
    let endless = program(&folder, "endless", source, &[]);
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_writeonce"))
        .args(["audit", "--"])
        .arg(&endless)
        .env("TMPDIR", &temporary)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(
        &mut std::io::BufReader::new(child.stdout.take().unwrap()),
        &mut line,
    )
    .unwrap();
    assert_eq!(line, "here\n");
    let id = child.id().to_string();
    assert!(Command::new("sh").args(["-c", "kill -INT $0", &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("interrupted"), "{}", said(&output));
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    let runs = || {
        let command_line = |entry: fs::DirEntry| fs::read(entry.path().join("cmdline")).ok();
        let lines = fs::read_dir("/proc").unwrap().flatten().filter_map(command_line);
        lines.map(|line| String::from_utf8_lossy(&line).into_owned()).any(|line| {
            // The arguments end with a zero each.
            line.split('\0').any(|word| word == endless.to_str().unwrap())
        })
    };
    let start = Instant::now();
    while runs() && start.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!runs(), "the program still runs");
}
