//! The audit finds what the programs of `tests/audit/` say of themselves, to the byte.

#![cfg(all(feature = "cli", target_arch = "x86_64", target_os = "linux"))]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/audit");

/// What a program says of itself.
#[derive(Default)]
struct Expected {
    arguments: Vec<String>,
    exit: i32,
    stdin: String,
    sites: Vec<String>,
}

impl Expected {
    fn read(source: &Path) -> Self {
        let mut expected = Self::default();
        let text = fs::read_to_string(source).unwrap();
        let site =
            if is_older_gcc() && text.contains("// older site: ") { "older site" } else { "site" };
        for line in text.lines().map_while(|line| line.strip_prefix("//")) {
            match line.trim().split_once(": ") {
                Some(("args", rest)) => {
                    expected.arguments = rest.split_whitespace().map(str::to_owned).collect();
                }
                Some(("exit", rest)) => expected.exit = rest.trim().parse().unwrap(),
                Some(("stdin", rest)) => expected.stdin = rest.to_owned(),
                Some((key, rest)) if key == site => {
                    expected.sites.push(rest.trim().trim_end_matches(" child").to_owned());
                }
                _ => {}
            }
        }
        expected.sites.sort();
        expected
    }
}

/// Whether the library of the C++ compiler is that of GCC before 11, which clears a vector by one memset as a whole.
fn is_older_gcc() -> bool {
    let version = Command::new("g++").arg("-dumpversion").output().unwrap();
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    version.split('.').next().and_then(|major| major.trim().parse::<u32>().ok()).unwrap() < 11
}

/// Compiles a program; where is it?
fn compile(source: &Path, folder: &Path) -> PathBuf {
    let program = folder.join(source.file_name().unwrap()).with_extension("");
    let mut command = match source.extension().and_then(|extension| extension.to_str()) {
        Some("rs") => {
            let mut command = Command::new("rustc");
            command.args(["--edition", "2024", "-O", "-g"]);
            command
        }
        Some("c") => Command::new("gcc"),
        _ => Command::new("g++"),
    };
    if !command.get_program().eq("rustc") {
        command.args(["-O1", "-g", "-pthread"]);
    }
    let output = command.arg("-o").arg(&program).arg(source).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

fn run(command: &mut Command, stdin: &str) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    child.wait_with_output().unwrap()
}

/// The exit code as a shell shows it.
fn code(output: &Output) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap())
}

/// A function without its path, its generic and other arguments.
fn plain(function: &str) -> &str {
    let name = function.split(['(', '<']).next().unwrap_or(function);
    name.rsplit("::").next().unwrap_or(name)
}

/// The sites of a report that are the program's own, as its header would say them.
fn sites(report: &Value, source: &Path) -> Vec<String> {
    let file = source.file_name().unwrap().to_str().unwrap();
    let of_program = |site: &&Value| site["file"].as_str().is_some_and(|path| path.ends_with(file));
    let mut sites: Vec<_> = report["sites"]
        .as_array()
        .unwrap()
        .iter()
        .filter(of_program)
        .map(|site| {
            format!(
                "{} {} calls={} zeroed={} overwritten={} kept={}",
                plain(site["function"].as_str().unwrap()),
                site["verdict"].as_str().unwrap(),
                site["calls"],
                site["zeroed"],
                site["overwritten"],
                site["kept"]
            )
        })
        .collect();
    sites.sort();
    sites
}

/// What is wrong with the audit of a program.
fn check(source: &Path, folder: &Path) -> Vec<String> {
    let expected = Expected::read(source);
    let program = compile(source, folder);
    let json = program.with_extension("json");
    let plain = run(&mut Command::new(&program), &expected.stdin);
    let mut command = Command::new(env!("CARGO_BIN_EXE_writeonce"));
    command.arg("audit").args(&expected.arguments).arg("--verify").arg("--json").arg(&json);
    let audited = run(command.arg("--").arg(&program), &expected.stdin);
    let said = String::from_utf8_lossy(&audited.stderr);
    let mut wrong = Vec::new();
    if code(&plain) != expected.exit {
        wrong.push(format!("it ends with {}, not {}", code(&plain), expected.exit));
    }
    if code(&audited) != expected.exit {
        wrong.push(format!("audited, it ends with {}: {said}", code(&audited)));
    }
    if audited.stdout != plain.stdout {
        wrong.push("audited, its output is another one".to_owned());
    }
    if said.contains("something else") {
        wrong.push(format!("not verified: {said}"));
    }
    let report = fs::read_to_string(&json).ok().and_then(|text| serde_json::from_str(&text).ok());
    let Some(report): Option<Value> = report else {
        wrong.push(format!("no report: {said}"));
        return wrong;
    };
    let found = sites(&report, source);
    if found != expected.sites {
        wrong.push(format!(
            "expected:\n  {}\nfound:\n  {}",
            expected.sites.join("\n  "),
            found.join("\n  ")
        ));
    }
    wrong
}

/// Checks the programs in this language; `WRITEONCE_AUDIT_ONLY` is a part of the names of some.
fn check_all(extension: &str) {
    let only = std::env::var("WRITEONCE_AUDIT_ONLY").unwrap_or_default();
    let mut sources: Vec<_> = fs::read_dir(PROGRAMS)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .filter(|path| path.file_stem().unwrap().to_str().unwrap().contains(&only))
        .collect();
    sources.sort();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let failures: Vec<_> = sources
        .iter()
        .flat_map(|source| {
            let name = source.file_name().unwrap().to_string_lossy();
            check(source, folder.path()).into_iter().map(move |wrong| format!("{name}: {wrong}"))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn programs_in_rust_are_audited_to_the_byte() {
    check_all("rs");
}

#[test]
fn programs_in_c_are_audited_to_the_byte() {
    check_all("c");
}

#[test]
fn programs_in_cpp_are_audited_to_the_byte() {
    check_all("cpp");
}

/// The sites of a case of the suite, run once, in the routine itself.
fn sites_of_case(id: &str) -> Vec<Value> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let json = folder.path().join("report.json");
    let writeonce = env!("CARGO_BIN_EXE_writeonce");
    let output = Command::new(writeonce)
        .args(["audit", "--only", "routine.rs", "--json"])
        .arg(&json)
        .args(["--", writeonce, "run", id])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    report["sites"].as_array().unwrap().clone()
}

/// The zero fills of `mixed/*/8x64226`: for each account 4 bytes beside its flags, room to grow, and 6 up to the next 8.
const PADS: u64 = 8 * (4 + 10_240 + 6);
/// Its parameters: counts, accounts, instruction data, program id.
const TOTAL: u64 = 8 + 8 * (96 + 64_226 + 10_240 + 6) + 8 + ID_AND_DATA;
const ID_AND_DATA: u64 = 40;

#[test]
fn the_origin_is_found() {
    let sites = sites_of_case("mixed/zeroed/8x64226");
    let [site] = &sites[..] else { panic!("{sites:#?}") };
    assert_eq!(site["verdict"], "mostly");
    assert_eq!(site["overwritten"], TOTAL - PADS);
    // The rest is what the buffer was over-allocated by.
    assert_eq!(site["kept"], PADS + 16);
}

#[test]
fn what_mended_the_origin_zeroes_the_pads_only() {
    // Fills of 4 and 6 bytes are inlined or below --min.
    for strategy in ["uninit", "aligned_memory"] {
        let sites = sites_of_case(&format!("mixed/{strategy}/8x64226"));
        let [site] = &sites[..] else { panic!("{sites:#?}") };
        assert_eq!(site["verdict"], "kept");
        let zeroed = site["zeroed"].as_u64().unwrap();
        assert!((8 * 10_240..=PADS).contains(&zeroed), "{zeroed}");
    }
}
