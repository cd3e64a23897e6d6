//! Who may use whom: data flows one way, from the table to the reports.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Each module of the crate, and the modules that it may use. What all may use stands in [`EVERYWHERE`].
const MAY_USE: &[(&str, &str)] = &[
    ("buffer", ""),
    ("parameters", "buffer"),
    ("workload", "parameters"),
    ("routine", "buffer parameters"),
    ("allocator", ""),
    ("cases", "allocator buffer parameters routine workload"),
    ("contract", "allocator buffer parameters workload"),
    ("environment", "allocator own together"),
    // A child a case, safe to call.
    ("fork", ""),
    ("together", "fork"),
    ("footprint", "allocator cases environment fork together"),
    ("instructions", "cases environment fork together"),
    ("wall_clock", "allocator cases"),
    ("paired", "allocator cases workload"),
    // The macro: what it makes calls these.
    ("harness", "allocator cases command_line environment footprint instructions wall_clock"),
    ("process", "fork"),
    ("progress", ""),
    ("tsv", ""),
    ("files", ""),
    ("lens", "allocator cases environment footprint own paired process progress together tsv"),
    ("baseline", "environment files lens tsv"),
    ("last", "environment files own tsv"),
    ("gate", "cases footprint lens own workload"),
    ("doctor", "environment files lens own process"),
    ("replay", "allocator cases paired parameters progress routine workload"),
    ("choose", "allocator cases paired parameters workload"),
    ("report", "baseline cases choose files footprint gate last lens own paired replay routine"),
    ("audit", "process report"),
    (
        "command_line",
        "allocator audit baseline cases choose doctor environment files footprint gate last lens own paired \
         parameters process progress replay report together workload",
    ),
    ("main", "allocator command_line"),
];

/// Errors are for everybody.
const EVERYWHERE: [&str; 1] = ["failure"];

/// The source files below a folder.
fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            // A crate of its own, which uses nothing.
            if !path.ends_with("audit/preload") && !path.ends_with("src/bin") {
                files(&path, into);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// The names behind `crate::`, also those in braces.
fn used(code: &str) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let word = |text: &str| {
            text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
        };
        match rest.strip_prefix('{') {
            None => _ = used.insert(word(rest)),
            Some(group) => {
                let (mut depth, mut at_start) = (0, true);
                for (index, c) in group.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => at_start = true,
                        c if at_start && c.is_alphabetic() => {
                            used.insert(word(&group[index..]));
                            at_start = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    used
}

/// The code of a file without its tests and comments.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn modules_use_what_the_table_says_and_no_more() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    files(&src, &mut paths);
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in paths {
        let first = path.strip_prefix(&src).unwrap().components().next().unwrap();
        let module = Path::new(first.as_os_str()).file_stem().unwrap().to_str().unwrap();
        if module == "lib" || EVERYWHERE.contains(&module) || path.ends_with("cases/tests.rs") {
            continue;
        }
        let text = code(&path).replace("writeonce::", "crate::");
        seen.entry(module.to_owned()).or_default().extend(used(&text));
    }
    let table: BTreeMap<_, BTreeSet<_>> =
        MAY_USE.iter().map(|(module, uses)| (*module, uses.split_whitespace().collect())).collect();
    let mut wrong = Vec::new();
    for (module, uses) in &seen {
        let Some(may) = table.get(&**module) else {
            wrong.push(format!("{module} is not in the table"));
            continue;
        };
        let known = |used: &str| table.contains_key(used) || used == "own";
        let uses: BTreeSet<_> = uses
            .iter()
            .map(|used| &**used)
            .filter(|used| known(used) && used != module && !EVERYWHERE.contains(used))
            .collect();
        wrong.extend(uses.difference(may).map(|used| format!("{module} uses {used}")));
        wrong.extend(may.difference(&uses).map(|used| format!("{module} need not use {used}")));
    }
    wrong.extend(
        table
            .keys()
            .filter(|module| !seen.contains_key(**module))
            .map(|m| format!("no module {m}")),
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_strategy_never_uses_another() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/buffer");
    let mut paths = Vec::new();
    files(&folder, &mut paths);
    let stem = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let shared = ["mod", "block", "pieces"];
    let strategies: Vec<_> =
        paths.iter().map(|path| stem(path)).filter(|name| !shared.contains(&&**name)).collect();
    assert!(strategies.len() >= 10);
    for path in &paths {
        let (name, code) = (stem(path), code(path));
        for other in strategies.iter().filter(|other| **other != name && name != "mod") {
            let imports =
                code.split("use super::").skip(1).filter_map(|rest| rest.split(';').next());
            let mut names =
                imports.flat_map(|list| list.split(|c: char| !c.is_alphanumeric() && c != '_'));
            let its_type = camel_case(other);
            assert!(!names.any(|name| name == *other || name == its_type), "{name} uses {other}");
        }
    }
}

fn camel_case(name: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_').map(word).collect()
}

/// Whether code names a script of this repository: `ci/` as a word, in a message then.
fn names_a_script(code: &str) -> bool {
    let starts_a_word = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric());
    code.match_indices("ci/").any(|(at, _)| starts_a_word(at))
}

/// A package of somebody else's has no `ci/`, nor has who installed the command line: `own::command` knows what to say.
#[test]
fn scripts_of_this_repository_are_named_in_one_place() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    files(&src, &mut paths);
    paths.retain(|path| names_a_script(&code(path)));
    assert_eq!(paths, [src.join("cases/own.rs")]);
}

#[test]
fn names_of_scripts_are_found() {
    assert!(names_a_script("Err(\"run ci/setup\")"));
    assert!(names_a_script("\"install libc6-dbg (ci/setup)\""));
    assert!(names_a_script("ci/bench"));
    assert!(!names_a_script("\"https://asci/x\" + command::setup()"));
}

#[test]
fn names_behind_crate_are_found() {
    let code = "use crate::buffer::{Full, Sink};\nuse crate::{gate, lens::{profile, x}, report as r};\ncrate::tsv::number();";
    let names: Vec<_> = used(code).into_iter().collect();
    assert_eq!(names, ["buffer", "gate", "lens", "report", "tsv"]);
}
