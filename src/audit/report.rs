//! An audit for people and for programs: text, JSON and a page.

use minijinja::context;
use serde_json::{Value, json};

use super::exceptions::Exceptions;
use super::symbols::Frame;
use super::uses::How;
use super::verdict::{Audit, Read, Site};
use crate::report::{number, render};

/// Version of the JSON: another one where a field goes or means something else.
const SCHEMA: u64 = 1;

/// What zeroing a byte costs, in Ir per 1,048,576 bytes: the pinned memset of `zeroed/alloc_memset/1m`
/// (`tests/claims.rs` holds it against the committed baselines).
pub const ZEROING_IR_PER_MIB: u64 = 114_701;

/// Bytes of a page.
const PAGE: u64 = 4096;

/// How many reads of a site are worth a line, and how many frames of a stack are worth their room in one.
const SHOWN: usize = 3;
const FRAMES: usize = 5;

fn instructions(bytes: u64) -> u64 {
    (u128::from(bytes) * u128::from(ZEROING_IR_PER_MIB) / (1 << 20)) as u64
}

fn how(read: &Read) -> String {
    match &read.how {
        How::Branch => "branch".to_owned(),
        How::Address => "address".to_owned(),
        How::SystemCall(call) => call.clone(),
    }
}

/// Where the zeros of some sites were read, each place once.
fn reads(sites: &[&Site]) -> Vec<String> {
    let reads = sites.iter().flat_map(|site| &site.reads);
    let place = |read: &Read| read.frame().map_or_else(|| "?".to_owned(), Frame::place);
    let mut places: Vec<_> =
        reads.map(|read| format!("({}) at {}", how(read), place(read))).collect();
    let mut seen = std::collections::HashSet::new();
    places.retain(|place| seen.insert(place.clone()));
    places
}

/// The frames of a stack that are not the language's or the system's, and one word for those before the first.
fn folded(site: &Site) -> String {
    let by = if site.by_calloc { "calloc" } else { "memset" };
    let through = site.stack.iter().take_while(|frame| frame.library).last();
    let own = site.stack.iter().filter(|frame| !frame.library).map(Frame::place);
    let through = through.map(Frame::short);
    let mut parts: Vec<_> = [by.to_owned()].into_iter().chain(through).chain(own).collect();
    if parts.len() > FRAMES {
        parts.truncate(FRAMES);
        parts.push("...".to_owned());
    }
    parts.join(" <- ")
}

fn notes(site: &Site) -> Vec<String> {
    let mut notes = Vec::new();
    if site.may_hide_copies {
        notes.push("kept may include copies of other zeros".to_owned());
    }
    if site.unaccounted > 0 {
        notes.push(format!("nothing is known of {}", counted(site.unaccounted, "byte")));
    }
    notes
}

/// What to do about a site, or why nothing has to be done.
fn advice(site: &Site, exceptions: &Exceptions) -> Option<String> {
    let allowed = exceptions.reason(site).map(|reason| format!("allowed: {reason}"));
    allowed.or_else(|| site.suggestion())
}

/// The lines of an audit: what was zeroed for nothing, then each site, those that waste most first.
#[must_use]
pub fn text(audit: &Audit, sites: &[&Site], exceptions: &Exceptions) -> String {
    let places = places(sites);
    let sum = |count: fn(&Site) -> u64| sites.iter().map(|site| count(site)).sum::<u64>();
    let wasted = sum(|site| site.wasted);
    let faults = wasted / PAGE;
    let mut text = format!(
        "{}: {} zeroed, {} of them for nothing; by estimate {} Ir at the suite's pinned memset where blocks are recycled, \
         up to {} where they are new\n",
        counted(places.len() as u64, "place"),
        counted(sum(|site| site.zeroed), "byte"),
        number(wasted),
        number(instructions(wasted)),
        counted(faults, "page fault"),
    );
    for place in &places {
        let site = place[0];
        let sum = |count: fn(&Site) -> u64| place.iter().map(|site| count(site)).sum::<u64>();
        text += &format!(
            "\n{:<11}  {} of {} overwritten, {} kept, {}\n             {}\n",
            site.verdict.name(),
            number(sum(|site| site.overwritten)),
            counted(sum(|site| site.zeroed), "byte"),
            number(sum(|site| site.kept)),
            counted(sum(|site| site.calls), "call"),
            folded(site),
        );
        if place.len() > 1 {
            let others = counted(place.len() as u64 - 1, "other caller");
            text += &format!("             and from {others} of the same line\n");
        }
        let reads = reads(place);
        for read in reads.iter().take(SHOWN) {
            text += &format!("             read as zero {read}\n");
        }
        if let Some(more @ 1..) = reads.len().checked_sub(SHOWN) {
            text += &format!("             and at {} more\n", counted(more as u64, "place"));
        }
        for note in notes(site) {
            text += &format!("             {note}\n");
        }
        if let Some(advice) = advice(site, exceptions) {
            text += &format!("             {advice}\n");
        }
    }
    for line in limits(audit) {
        text += &format!("\n{line}\n");
    }
    text
}

/// The sites by the line that zeroes and their verdict, in the order of the first of each: recursion and callers make many
/// sites of one line.
fn places<'a>(sites: &[&'a Site]) -> Vec<Vec<&'a Site>> {
    let mut places: Vec<Vec<&Site>> = Vec::new();
    for &site in sites {
        let same = |place: &&mut Vec<&Site>| {
            let first = place[0];
            site.frame().is_some()
                && (first.verdict, first.by_calloc, first.frame())
                    == (site.verdict, site.by_calloc, site.frame())
        };
        match places.iter_mut().find(same) {
            Some(place) => place.push(site),
            None => places.push(vec![site]),
        }
    }
    let wasted = |place: &Vec<&Site>| place.iter().map(|site| site.wasted).sum::<u64>();
    let zeroed = |place: &Vec<&Site>| place.iter().map(|site| site.zeroed).sum::<u64>();
    places.sort_by_key(|place| std::cmp::Reverse((wasted(place), zeroed(place))));
    places
}

/// A number and what it counts.
fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", number(count), if count == 1 { "" } else { "s" })
}

/// What the audit could not see, if there was anything.
fn limits(audit: &Audit) -> Vec<String> {
    let mut lines = Vec::new();
    if audit.differs {
        lines.push(
            "in a later run the program did something else, so that this run proves nothing"
                .to_owned(),
        );
    }
    if audit.unfinished > 0 {
        lines.push(format!(
            "{} of {} processes ended without a word (killed, or by a system call): of what was alive then nothing is known",
            audit.unfinished, audit.processes
        ));
    }
    if audit.left_out > 0 {
        lines.push(format!(
            "{} zeroings were left alone: there are too many sites",
            number(audit.left_out)
        ));
    }
    if audit.own_reads > 0 {
        lines.push(format!(
            "memcheck also reports {} uses of memory that the program itself never initialized: run valgrind on it",
            number(audit.own_reads as u64)
        ));
    }
    lines
}

fn frame(frame: &Frame) -> Value {
    json!({
        "function": frame.function,
        "file": frame.file,
        "line": frame.line,
        "module": frame.module.to_string_lossy(),
        "library": frame.library,
    })
}

fn stack(frames: &[Frame]) -> Value {
    frames.iter().map(frame).collect()
}

/// The audit as JSON; `docs/audit.md` says what each field is.
#[must_use]
pub fn json(audit: &Audit, sites: &[&Site], exceptions: &Exceptions) -> Value {
    let site = |site: &&Site| {
        let named = site.frame();
        let reads: Vec<_> = site
            .reads
            .iter()
            .map(|read| json!({"how": how(read), "stack": stack(&read.stack)}))
            .collect();
        json!({
            "verdict": site.verdict.name(),
            "function": named.map(|frame| &frame.function),
            "file": named.and_then(|frame| frame.file.as_ref()),
            "line": named.and_then(|frame| frame.line),
            "zeroed_by": if site.by_calloc { "calloc" } else { "memset" },
            "calls": site.calls,
            "zeroed": site.zeroed,
            "overwritten": site.overwritten,
            "kept": site.kept,
            "unaccounted": site.unaccounted,
            "wasted": site.wasted,
            "may_hide_copies": site.may_hide_copies,
            "estimated_ir": instructions(site.wasted),
            "estimated_page_faults": site.wasted / PAGE,
            "reads": reads,
            "suggestion": site.suggestion(),
            "allowed": exceptions.reason(site),
            "stack": stack(&site.stack),
        })
    };
    json!({
        "schema": SCHEMA,
        "writeonce": env!("CARGO_PKG_VERSION"),
        "runs": audit.runs,
        "processes": audit.processes,
        "limits": limits(audit),
        "sites": sites.iter().map(site).collect::<Vec<_>>(),
    })
}

/// The audit as one page that needs nothing else.
#[must_use]
pub fn page(title: &str, audit: &Audit, sites: &[&Site], exceptions: &Exceptions) -> String {
    let row = |site: &&Site| {
        let stack = site.stack.iter();
        context! {
            verdict => site.verdict.name(),
            name => site.frame().map(Frame::place),
            zeroed => number(site.zeroed),
            overwritten => number(site.overwritten),
            kept => number(site.kept),
            calls => number(site.calls),
            share => (site.overwritten * 100).checked_div(site.zeroed).unwrap_or(0),
            stack => stack.map(|frame| context! { place => frame.place(), library => frame.library }).collect::<Vec<_>>(),
            reads => reads(&[*site]),
            notes => notes(site),
            advice => advice(site, exceptions),
        }
    };
    let wasted: u64 = sites.iter().map(|site| site.wasted).sum();
    render(
        include_str!("page.html"),
        context! {
            title,
            sites => sites.iter().map(row).collect::<Vec<_>>(),
            zeroed => number(sites.iter().map(|site| site.zeroed).sum()),
            wasted => number(wasted),
            instructions => number(instructions(wasted)),
            faults => number(wasted / PAGE),
            runs => audit.runs,
            limits => limits(audit),
        },
    )
}
