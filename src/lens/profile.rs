//! One callgrind profile: where the instructions of a case went.
//!
//! Format: <https://valgrind.org/docs/manual/cl-format.html>. The profile was taken with
//! `--separate-callers`, so that a function is named together with its callers, innermost first:
//! `memset'calloc'...'run`.

use std::collections::{BTreeMap, HashMap};

use crate::own::command;

/// Where the instructions of a case went, in Ir.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Classes {
    /// memset and its family.
    pub zeroing: u64,
    /// memcpy, memmove and their family.
    pub copying: u64,
    /// malloc, calloc, realloc, free and what they call, without the two above.
    pub allocating: u64,
    /// The rest.
    pub code: u64,
}

impl Classes {
    /// The names, in the order of [`values`](Self::values).
    pub const NAMES: [&str; 4] = ["zeroing", "copying", "allocating", "code"];

    /// The counts, in the order of [`NAMES`](Self::NAMES).
    #[must_use]
    pub fn values(&self) -> [u64; 4] {
        [self.zeroing, self.copying, self.allocating, self.code]
    }

    /// The sum, or `None` if it overflows.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.values().into_iter().try_fold(0, u64::checked_add)
    }
}

/// What one profile says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profile {
    /// Self cost by class.
    pub classes: Classes,
    /// Calls from the program into the allocator: malloc, calloc, realloc, an aligned allocation or free.
    pub allocator_calls: u64,
    /// Self cost by function, the largest first.
    pub functions: Vec<Function>,
}

/// A function as it was called from the routine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name and those of its callers up to the routine: `memset < calloc < routine::mixed`.
    pub chain: String,
    /// Instructions executed by itself.
    pub ir: u64,
    /// How often it was called.
    pub calls: u64,
}

/// The frame around a measured function: what is above it was set-up.
pub(super) const MEASURED: &str = "__iai_callgrind_wrapper_mod";

/// The path of this crate in the names of its functions.
const OURS: &str = "writeonce::";

/// The start of the names of Rust's allocation shims.
const SHIM: &str = "__rustc::";

/// The functions through which a program calls glibc's allocator.
const ALLOCATOR: [&str; 7] =
    ["malloc", "calloc", "realloc", "free", "posix_memalign", "aligned_alloc", "memalign"];

impl Profile {
    /// Reads a callgrind file.
    ///
    /// # Errors
    /// One line, if the text is not a whole profile with resolved names, or the pins did not take effect.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut profile = Self::default();
        let mut names = Names::default();
        let (mut object, mut function, mut callee) = (String::new(), String::new(), String::new());
        let mut after_calls = false;
        let (mut summary, mut totals) = (None, None);
        let (mut costs, mut counts) = (BTreeMap::new(), BTreeMap::new());
        for (index, line) in text.lines().enumerate() {
            let damaged = |what: &str| format!("line {}: {what}", index + 1);
            if let Some(events) = line.strip_prefix("events: ") {
                if events.trim() != "Ir" {
                    return Err(damaged("the events are not Ir alone"));
                }
            } else if let Some(total) = line.strip_prefix("summary: ") {
                summary = Some(total.trim().parse().map_err(|_| damaged("not a count"))?);
            } else if let Some(total) = line.strip_prefix("totals: ") {
                totals = total.trim().parse::<u64>().ok();
            } else if let Some(name) = line.strip_prefix("ob=") {
                object = names.resolve("ob", name);
            } else if let Some(name) = line.strip_prefix("fn=") {
                function = names.resolve("fn", name);
            } else if let Some(name) = line.strip_prefix("cfn=") {
                callee = names.resolve("fn", name);
            } else if let Some(name) = line.strip_prefix("cob=") {
                names.resolve("ob", name);
            } else if let Some(calls) = line.strip_prefix("calls=") {
                after_calls = true;
                let count = calls.split(' ').next().and_then(|count| count.parse::<u64>().ok());
                let count = count.ok_or_else(|| damaged("not a number of calls"))?;
                if enters_allocator(&function, &callee) {
                    profile.allocator_calls += count;
                }
                if callee.contains(MEASURED) && !callee.starts_with(SHIM) {
                    *counts.entry(chain(&callee)).or_insert(0) += count;
                }
            } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
                // The line behind `calls=` is the cost of the callee.
                if std::mem::take(&mut after_calls) {
                    continue;
                }
                let cost = line.split(' ').nth(1).and_then(|cost| cost.parse::<u64>().ok());
                let cost = cost.ok_or_else(|| damaged("not a cost"))?;
                check_name(&function, &object)?;
                profile.classes.add(class(&function), cost);
                *costs.entry(chain(&function)).or_insert(0) += cost;
            }
        }
        let of = |(chain, ir): (String, u64)| {
            let calls = counts.get(&chain).copied().unwrap_or(0);
            Function { chain, ir, calls }
        };
        profile.functions = costs.into_iter().filter(|&(_, ir)| ir > 0).map(of).collect();
        profile.functions.sort_by_key(|function| std::cmp::Reverse(function.ir));
        let total = profile.classes.total();
        match summary {
            None => Err("the profile is cut short: it has no summary".to_owned()),
            Some(0) => Err("0 instructions were counted; a stripped binary counts none: keep `strip = false` in [profile.bench]".to_owned()),
            Some(summary) if total != Some(summary) => Err(format!(
                "the profile is cut short: its costs add up to {}, not {summary}",
                total.unwrap_or(u64::MAX)
            )),
            // The last line. Before it may stand calls, which cost nothing of their own.
            Some(summary) if totals != Some(summary) => {
                Err("the profile is cut short: its last line is missing".to_owned())
            }
            Some(_) => Ok(profile),
        }
    }
}

/// Whether a profile has a function of libc without a name: its debug symbols are missing.
#[must_use]
pub fn libc_is_nameless(text: &str) -> bool {
    let mut in_libc = false;
    text.lines().any(|line| {
        if let Some(object) = line.strip_prefix("ob=") {
            in_libc = object.contains("/libc.so") || object.contains("/libc-");
        }
        in_libc && line.starts_with("fn=0x")
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Zeroing,
    Copying,
    Allocating,
    Code,
}

impl Classes {
    fn add(&mut self, class: Class, cost: u64) {
        *match class {
            Class::Zeroing => &mut self.zeroing,
            Class::Copying => &mut self.copying,
            Class::Allocating => &mut self.allocating,
            Class::Code => &mut self.code,
        } += cost;
    }
}

/// The class of a function with its callers.
fn class(function: &str) -> Class {
    let mut frames = function.split('\'');
    let name = frames.next().unwrap_or_default();
    match memory_family(name) {
        Some(class) => class,
        None if is_allocator(name) || frames.any(is_allocator) => Class::Allocating,
        None => Class::Code,
    }
}

/// Whether a function is one of glibc's or the compiler's that set or copy memory.
fn memory_family(name: &str) -> Option<Class> {
    let name = name.rsplit("::").next().unwrap_or_default().trim_start_matches('_');
    let is = |family: &[&str]| family.iter().any(|prefix| name.starts_with(prefix));
    if is(&["memset", "bzero"]) {
        Some(Class::Zeroing)
    } else if is(&["memcpy", "memmove", "mempcpy"]) {
        Some(Class::Copying)
    } else {
        None
    }
}

fn is_allocator(name: &str) -> bool {
    ALLOCATOR.contains(&name)
}

/// A function and its callers as people read them: without Rust's allocation shims, the versions of symbols, and
/// what is above the routine.
fn chain(function: &str) -> String {
    let mut frames = Vec::new();
    for frame in function.split('\'').filter(|frame| !frame.starts_with(SHIM)) {
        if frame.contains(MEASURED) {
            break;
        }
        let name = frame.split('@').next().unwrap_or_default();
        let name = name.strip_prefix(OURS).unwrap_or(name);
        frames.push(name);
        if name.starts_with("routine::") {
            break;
        }
    }
    if frames.is_empty() { "(harness)".to_owned() } else { frames.join(" < ") }
}

/// Whether a call is one from the measured program into the allocator.
fn enters_allocator(caller: &str, callee: &str) -> bool {
    is_allocator(callee.split('\'').next().unwrap_or_default())
        && caller.contains(MEASURED)
        && !caller.split('\'').any(is_allocator)
}

/// Checks that a function with a cost has a name, and that it is not one that the pins forbid.
fn check_name(function: &str, object: &str) -> Result<(), String> {
    let name = function.split('\'').next().unwrap_or_default();
    if name.starts_with("0x") {
        return Err(format!("a function of {object} has no name; {}", command::setup()));
    }
    // Not `erms`: code that both entries of a function share can go by that name. The canaries tell what was executed.
    let by_cpu = ["avx", "evex", "ssse3"];
    if memory_family(name).is_some() && by_cpu.iter().any(|kind| name.contains(kind)) {
        return Err(format!("the pins did not take effect: glibc chose {name} by the CPU"));
    }
    Ok(())
}

/// Names that were given a number where they stood first: `(3) name`, then `(3)`.
#[derive(Default)]
struct Names(HashMap<(&'static str, u64), String>);

impl Names {
    fn resolve(&mut self, kind: &'static str, text: &str) -> String {
        let numbered = text.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let Some((number, name)) =
            numbered.and_then(|(number, name)| Some((number.parse().ok()?, name.trim_start())))
        else {
            return text.to_owned();
        };
        if !name.is_empty() {
            self.0.insert((kind, number), name.to_owned());
        }
        self.0.get(&(kind, number)).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "writeonce::routine::zeroed'bench::__iai_callgrind_wrapper_mod::run'main";

    fn text(body: &str, total: u64) -> String {
        format!("events: Ir\nsummary: {total}\n\nob=/lib/libc.so.6\n{body}\ntotals: {total}\n")
    }

    fn profile(body: &str, total: u64) -> Result<Profile, String> {
        Profile::parse(&text(body, total))
    }

    #[test]
    fn costs_go_to_their_class() {
        let body = format!(
            "fn=__memset_sse2_unaligned'calloc'{RUN}\n1 5\n+1 2\n\
             fn=memcpy@GLIBC_2.2.5'{RUN}\n1 7\n\
             fn=_int_malloc'malloc'{RUN}\n1 11\n\
             fn=malloc'{RUN}\n1 13\ncfn=_int_malloc'malloc'{RUN}\ncalls=1 3\n2 11\n\
             fn=writeonce::buffer::memset::Memset::write'{RUN}\n1 17\n"
        );
        let classes = profile(&body, 55).unwrap().classes;
        assert_eq!(classes, Classes { zeroing: 7, copying: 7, allocating: 24, code: 17 });
    }

    #[test]
    fn calls_into_the_allocator_are_counted_below_the_routine_only() {
        let body = format!(
            "fn=__rustc::__rdl_alloc'{RUN}\n1 1\ncfn=malloc'{RUN}\ncalls=2 3\n2 0\n\
             fn=posix_memalign'{RUN}\n1 1\ncfn=malloc'posix_memalign'{RUN}\ncalls=4 3\n2 0\n\
             fn=__rustc::__rdl_dealloc'prepare'main\n1 0\ncfn=free'prepare'main\ncalls=8 3\n2 0\n"
        );
        assert_eq!(profile(&body, 2).unwrap().allocator_calls, 2);
    }

    #[test]
    fn functions_are_named_with_their_callers_up_to_the_routine() {
        let body = format!(
            "fn=__memset_sse2_unaligned'calloc'__rustc::__rdl_alloc_zeroed'{RUN}\n1 5\n\
             fn=memcpy@GLIBC_2.2.5'{RUN}\n1 9\n\
             fn={RUN}\n1 1\ncfn=memcpy@GLIBC_2.2.5'{RUN}\ncalls=3 1\n1 9\n\
             fn=bench::__iai_callgrind_wrapper_mod::run'main\n1 2\n"
        );
        let functions = profile(&body, 17).unwrap().functions;
        let seen: Vec<_> = functions.iter().map(|f| (&*f.chain, f.ir, f.calls)).collect();
        assert_eq!(
            seen,
            [
                ("memcpy < routine::zeroed", 9, 3),
                ("__memset_sse2_unaligned < calloc < routine::zeroed", 5, 0),
                ("(harness)", 2, 0),
                ("routine::zeroed", 1, 0),
            ]
        );
    }

    #[test]
    fn numbered_names_are_resolved() {
        let body = format!("fn=(1) memset'{RUN}\n1 5\nfn=(2) f'{RUN}\n1 1\nfn=(1)\n1 4\n");
        assert_eq!(profile(&body, 10).unwrap().classes.zeroing, 9);
    }

    #[test]
    fn functions_without_a_name_are_refused() {
        let error = profile(&format!("fn=0x0000000000097bd0'{RUN}\n1 5\n"), 5).unwrap_err();
        assert_eq!(error, "a function of /lib/libc.so.6 has no name; run ci/setup");
    }

    #[test]
    fn functions_chosen_by_the_cpu_are_refused() {
        let read = |name: &str| profile(&format!("fn={name}'{RUN}\n1 5\n"), 5);
        for name in ["__memset_avx2_unaligned_erms", "__memmove_evex_unaligned", "__memcpy_ssse3"] {
            assert_eq!(
                read(name).unwrap_err(),
                format!("the pins did not take effect: glibc chose {name} by the CPU")
            );
        }
        assert_eq!(read("__memset_sse2_unaligned_erms").unwrap().classes.zeroing, 5);
    }

    #[test]
    fn missing_symbols_of_libc_are_seen() {
        let profile =
            |object: &str, name: &str| format!("ob={object}\nfn={name}\n1 5\nob=/bin/true\n");
        assert!(libc_is_nameless(&profile("/usr/lib/libc.so.6", "0x00097bd0")));
        assert!(libc_is_nameless(&profile("/lib/libc-2.31.so", "0x00097bd0")));
        assert!(!libc_is_nameless(&profile("/usr/lib/libc.so.6", "malloc")));
        assert!(!libc_is_nameless(&profile("/lib64/ld-linux-x86-64.so.2", "0x0001ab70")));
    }

    #[test]
    fn profiles_that_are_cut_short_are_refused() {
        let whole = format!("fn=f'{RUN}\n1 5\n1 6\n");
        assert!(profile(&whole, 11).is_ok());
        let error = profile(&whole, 12).unwrap_err();
        assert_eq!(error, "the profile is cut short: its costs add up to 11, not 12");
        assert!(Profile::parse("events: Ir\n").unwrap_err().contains("no summary"));
        assert!(Profile::parse("").unwrap_err().contains("no summary"));
    }

    #[test]
    fn wherever_a_profile_is_cut_it_is_refused() {
        let body = format!(
            "fn=(1) {RUN}\n1 5\ncfn=(2) malloc'{RUN}\ncalls=1 3\n2 11\n\nfn=(2)\n+3 11\n\n\
             fn=(1)\n7 2\ncfn=(3) free'{RUN}\ncalls=1 3\n8 0\n"
        );
        let text = text(&body, 18);
        let whole = Profile::parse(&text).unwrap();
        assert_eq!((whole.classes.total(), whole.allocator_calls), (Some(18), 2));
        // All but the end of the last line are missed.
        for end in 0..text.len() - 1 {
            assert!(Profile::parse(&text[..end]).is_err(), "{}", &text[..end]);
        }
    }

    #[test]
    fn counts_of_zero_are_refused() {
        let error = profile("", 0).unwrap_err();
        assert_eq!(
            error,
            "0 instructions were counted; a stripped binary counts none: keep `strip = false` in [profile.bench]"
        );
    }
}
