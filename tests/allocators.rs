//! The allocators by name, each in processes of its own.
#![cfg(feature = "suite")]

use std::process::{Command, Output};

use writeonce::allocator::{self, Allocator, Chosen, Counting, Counts, FRESH_FROM, page_faults};
use writeonce::cases::all;

#[global_allocator]
static ALLOCATOR: Counting<Chosen> = Counting(Chosen);

/// Runs one of the tests below that are not run by themselves, with the variable set.
fn child(name: Option<&str>, test: &str) -> Output {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--ignored", "--exact", "--nocapture", test]).env_remove(Allocator::VARIABLE);
    if let Some(name) = name {
        child.env(Allocator::VARIABLE, name);
    }
    child.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs a test under every allocator; each of them must run it, and pass.
fn under_every_allocator(test: &str) {
    for allocator in Allocator::ALL {
        let output = child(Some(allocator.name()), test);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.success(), "{}: {said}", allocator.name());
        assert!(said.contains("test result: ok. 1 passed"), "{}: {said}", allocator.name());
    }
}

#[test]
fn variable_names_the_allocator() {
    let names = Allocator::ALL.iter().map(|allocator| (Some(allocator.name()), allocator.name()));
    for (variable, name) in names.chain([(None, "system")]) {
        let output = child(variable, "print_the_allocator");
        assert!(output.status.success(), "{variable:?}: {}", text(&output.stderr));
        assert!(text(&output.stdout).contains(&format!("in force: {name}\n")), "{variable:?}");
    }
}

#[test]
#[ignore = "runs in a process of its own, for `variable_names_the_allocator`"]
fn print_the_allocator() {
    allocator::start();
    println!("\nin force: {}", Allocator::in_force().name());
}

#[test]
fn names_of_no_allocator_end_the_program_with_one_line() {
    let not_built_in = (Allocator::ALL.len() == 1).then_some("mimalloc");
    for name in ["glibc", ""].into_iter().chain(not_built_in) {
        let output = child(Some(name), "print_the_allocator");
        let stderr = text(&output.stderr);
        assert_eq!((output.status.code(), stderr.lines().count()), (Some(2), 1), "{stderr}");
        assert!(stderr.starts_with("writeonce: WRITEONCE_ALLOCATOR: "), "{stderr}");
    }
}

#[test]
fn a_pool_that_is_warm_asks_for_nothing() {
    under_every_allocator("pooled_cases");
}

#[test]
#[ignore = "runs in processes of its own, for `a_pool_that_is_warm_asks_for_nothing`"]
fn pooled_cases() {
    allocator::start();
    let cases = all().unwrap();
    let pooled: Vec<_> = cases.iter().filter(|case| case.strategy() == "pooled").collect();
    assert!(pooled.len() > 20, "{} cases", pooled.len());
    for case in pooled {
        let prepared = case.prepare();
        let before = page_faults();
        let counts = Counts::of(|| case.run(&prepared));
        assert_eq!((counts, page_faults() - before), (Counts::default(), 0), "{}", case.id());
    }
}

#[test]
fn heaps_are_recycled_and_fresh_as_they_say() {
    under_every_allocator("heap_states");
}

#[test]
#[ignore = "runs in processes of its own, for `heaps_are_recycled_and_fresh_as_they_say`"]
fn heap_states() {
    allocator::start();
    let faults_of = |len: usize| {
        let before = page_faults();
        drop(std::hint::black_box(vec![1_u8; len]));
        page_faults() - before
    };
    for len in [FRESH_FROM, 64 << 10, 1 << 20] {
        // Twice, because one state must not leave traces in the other.
        for _ in 0..2 {
            allocator::settle();
            allocator::recycle(len, || {});
            // The first may take a page that is not the block's.
            let faults = [faults_of(len), faults_of(len), faults_of(len)];
            assert_eq!(faults[1..], [0, 0], "{len} recycled");
            if allocator::fresh_from().is_some_and(|from| from <= len) {
                allocator::settle();
                allocator::freshen(|| drop(std::hint::black_box(vec![1_u8; len])));
                let pages = (len as u64).div_ceil(allocator::page_size());
                for _ in 0..3 {
                    let faults = faults_of(len);
                    assert!(faults >= pages, "{len} fresh: {faults} faults for {pages} pages");
                }
            }
        }
    }
}

#[test]
fn zeroed_blocks_of_jemalloc_as_it_was_are_new_pages() {
    for (allocator, new) in [("jemalloc", false), ("jemalloc_madvise", true)] {
        if Allocator::parse(allocator).is_err() {
            continue;
        }
        let output = child(Some(allocator), "print_faults_of_a_zeroed_block");
        let said = text(&output.stdout);
        let faults = said.lines().find_map(|line| line.strip_prefix("faults: ")).expect(&said);
        assert_eq!(
            faults.parse::<u64>().unwrap() >= (1 << 20) / allocator::page_size(),
            new,
            "{allocator}: {faults}"
        );
    }
}

#[test]
#[ignore = "runs in processes of its own, for `zeroed_blocks_of_jemalloc_as_it_was_are_new_pages`"]
fn print_faults_of_a_zeroed_block() {
    allocator::start();
    allocator::settle();
    let zeroed = || {
        let mut block = std::hint::black_box(vec![0_u8; 1 << 20]);
        block.iter_mut().step_by(4096).for_each(|byte| *std::hint::black_box(byte) = 1);
    };
    allocator::recycle(1 << 20, zeroed);
    let before = page_faults();
    zeroed();
    println!("\nfaults: {}", page_faults() - before);
}
