//! The allocators by name, each in processes of its own.
#![cfg(feature = "suite")]

use std::hint::black_box;
use std::process::{Command, Output};

use writeonce::allocator::{self, Allocator, Chosen, Counting, Counts, FRESH_FROM, page_faults};
use writeonce::cases::all;

#[global_allocator]
static ALLOCATOR: Counting<Chosen> = Counting(Chosen);

/// Set in the processes that a test starts of itself: there it does what it is about.
const CHILD: &str = "WRITEONCE_TEST_CHILD";

fn is_child() -> bool {
    let is_child = std::env::var_os(CHILD).is_some();
    if is_child {
        allocator::start();
    }
    is_child
}

/// Runs a test alone in a process of its own, with the variable set.
fn child(name: Option<&str>, test: &str) -> Output {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "--nocapture", test]).env(CHILD, "").env_remove(Allocator::VARIABLE);
    if let Some(name) = name {
        child.env(Allocator::VARIABLE, name);
    }
    child.output().unwrap()
}

/// What that process printed in a line that begins with `key`; it must have run the test, and the test have passed.
fn printed(name: Option<&str>, test: &str, key: &str) -> String {
    let output = child(name, test);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{name:?}: {said}");
    assert!(said.contains("test result: ok. 1 passed"), "{name:?}: {said}");
    let value = said.lines().find_map(|line| line.strip_prefix(key));
    value.unwrap_or_else(|| panic!("{name:?}: {said}")).to_owned()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn under_every_allocator(test: &str) {
    for allocator in Allocator::BUILT_IN {
        assert_eq!(printed(Some(allocator.name()), test, "under "), allocator.name());
    }
}

#[test]
fn variable_names_the_allocator() {
    if is_child() {
        println!("\nunder {}", Allocator::in_force().name());
        return;
    }
    under_every_allocator("variable_names_the_allocator");
    assert_eq!(printed(None, "variable_names_the_allocator", "under "), "system");
}

#[test]
fn names_of_no_allocator_end_the_program_with_one_line() {
    if is_child() {
        return;
    }
    let not_built_in = (Allocator::BUILT_IN.len() == 1).then_some("mimalloc");
    for name in ["glibc", ""].into_iter().chain(not_built_in) {
        let output = child(Some(name), "names_of_no_allocator_end_the_program_with_one_line");
        let stderr = text(&output.stderr);
        assert_eq!((output.status.code(), stderr.lines().count()), (Some(2), 1), "{stderr}");
        assert!(stderr.starts_with("writeonce: WRITEONCE_ALLOCATOR: "), "{stderr}");
    }
}

#[test]
fn a_pool_that_is_warm_asks_for_nothing() {
    if !is_child() {
        return under_every_allocator("a_pool_that_is_warm_asks_for_nothing");
    }
    let cases = all().unwrap();
    let pooled: Vec<_> = cases.iter().filter(|case| case.strategy() == "pooled").collect();
    assert!(pooled.len() > 20, "{} cases", pooled.len());
    for case in pooled {
        let prepared = case.prepare();
        let before = page_faults();
        let counts = Counts::of(|| case.run(&prepared));
        assert_eq!((counts, page_faults() - before), (Counts::default(), 0), "{}", case.id());
    }
    println!("\nunder {}", Allocator::in_force().name());
}

#[test]
fn heaps_are_recycled_and_fresh_as_they_say() {
    if !is_child() {
        return under_every_allocator("heaps_are_recycled_and_fresh_as_they_say");
    }
    let faults_of = |len: usize| {
        let before = page_faults();
        drop(black_box(vec![1_u8; len]));
        page_faults() - before
    };
    // Blocks of sizes that share their pages with others are in use, too.
    let in_use = [FRESH_FROM, 10_240].map(|len| vec![1_u8; len]);
    for len in [FRESH_FROM, 10_240, 64 << 10, 1 << 20] {
        // Twice, because one state must not leave traces in the other.
        for _ in 0..2 {
            allocator::settle();
            allocator::recycle(len, || {});
            // The first may take a page that is not the block's.
            let faults = [faults_of(len), faults_of(len), faults_of(len)];
            assert_eq!(faults[1..], [0, 0], "{len} recycled");
            if allocator::fresh_from().is_some_and(|from| from <= len) {
                allocator::settle();
                allocator::freshen(len, || drop(black_box(vec![1_u8; len])));
                let pages = (len as u64).div_ceil(allocator::page_size());
                for _ in 0..3 {
                    let faults = faults_of(len);
                    assert!(faults >= pages, "{len} fresh: {faults} faults for {pages} pages");
                }
            }
        }
    }
    drop(black_box(in_use));
    println!("\nunder {}", Allocator::in_force().name());
}

#[test]
fn zeroed_blocks_of_jemalloc_as_it_was_are_new_pages() {
    const TEST: &str = "zeroed_blocks_of_jemalloc_as_it_was_are_new_pages";
    const LEN: usize = 1 << 20;
    if is_child() {
        allocator::settle();
        let zeroed = || {
            let mut block = black_box(vec![0_u8; LEN]);
            block.iter_mut().step_by(4096).for_each(|byte| *black_box(byte) = 1);
        };
        allocator::recycle(LEN, zeroed);
        let before = page_faults();
        zeroed();
        println!("\nfaults: {}", page_faults() - before);
        return;
    }
    for (allocator, new) in
        [("system", false), ("jemalloc", false), ("jemalloc_madvise", true), ("mimalloc", false)]
    {
        if Allocator::parse(allocator).is_ok() {
            let faults: u64 = printed(Some(allocator), TEST, "faults: ").parse().unwrap();
            let pages = LEN as u64 / allocator::page_size();
            assert_eq!(faults >= pages, new, "{allocator}: {faults} faults for {pages} pages");
        }
    }
}
