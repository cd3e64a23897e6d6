//! A suite of somebody else's in this process: what its ids mean, and what is refused.
#![cfg(feature = "suite")]

use writeonce::buffer::{AlignedMemory, Buffer, CapacityError, Full, Sink};
use writeonce::cases::{self, Case, Fill, Page, Prepared};
use writeonce::own::{OwnBuffer, OwnRoutine, Suite};

/// A buffer that forgets its last byte.
struct Forgetful(AlignedMemory<16>);

impl Sink for Forgetful {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Full> {
        Sink::write(&mut self.0, bytes)
    }

    fn fill(&mut self, len: usize, value: u8) -> Result<(), Full> {
        Sink::fill(&mut self.0, len, value)
    }
}

impl Buffer for Forgetful {
    fn try_with_capacity(capacity: usize) -> Result<Self, CapacityError> {
        Buffer::try_with_capacity(capacity).map(Self)
    }

    fn as_slice(&self) -> &[u8] {
        self.0.as_slice().split_last().map_or(&[], |(_, rest)| rest)
    }
}

static SUITE: Suite = Suite {
    package: env!("CARGO_PKG_NAME"),
    table: "mixed/boxed/1x165\nmixed/floor/1x165\ncursor/boxed/1k_by8\nown/double/21\n",
    buffers: &[
        OwnBuffer::new::<AlignedMemory<64>>("boxed", 64),
        OwnBuffer::new::<Forgetful>("forgetful", 16),
        OwnBuffer::new::<AlignedMemory<16>>("pooled", 16),
        OwnBuffer::new::<AlignedMemory<16>>("<script>", 16),
    ],
    routines: &[OwnRoutine::new("double", |size| {
        Prepared::of(move || 2 * size as u64, 2 * size as u64, 0)
    })],
};

fn refused(id: &str) -> String {
    SUITE.install();
    Case::parse(id).unwrap_err().to_string()
}

#[test]
fn the_table_is_one_page_that_the_gate_judges() {
    SUITE.install();
    assert_eq!(Page::core(), [Page::Own]);
    assert_eq!(Page::built(), [Page::Own]);
    let cases = cases::all().unwrap();
    let seen: Vec<_> = cases.iter().map(|case| (case.fill(), case.strategy())).collect();
    let boxed = |fill| (fill, "boxed");
    assert_eq!(
        seen,
        [boxed(Fill::Mixed), (Fill::Mixed, "floor"), boxed(Fill::Cursor), (Fill::Own, "double")]
    );
}

#[test]
fn own_buffers_and_routines_run_and_are_checked() {
    SUITE.install();
    let kinds = ["1x165", "1x165_unaligned"].map(|shape| format!("mixed/boxed/{shape}"));
    let cuts = ["1k_by1", "1k_by8", "1k_by64", "10k_by4k", "1k"];
    for id in kinds.into_iter().chain(cuts.map(|cut| format!("cursor/boxed/{cut}"))) {
        let case = Case::parse(&id).unwrap();
        let input = case.input();
        case.run(&input);
        // The floor of the shape returns the same.
        let floor = Case::parse(&id.replace("boxed", "floor")).unwrap();
        assert_eq!(floor.input().run(), input.expected, "{id}");
    }
    assert_eq!(Case::parse("own/double/21").unwrap().input().run(), 42);
}

#[test]
#[should_panic(expected = "mixed/forgetful/1x165: the routine built something else")]
fn a_buffer_that_builds_something_else_is_found() {
    SUITE.install();
    let case = Case::parse("mixed/forgetful/1x165").unwrap();
    case.run(&case.input());
}

#[test]
fn names_that_mean_something_else_or_nothing_are_refused() {
    let twice = refused("mixed/pooled/1x165");
    assert!(
        twice.ends_with("'pooled' is a strategy of writeonce's too; give the buffer another name"),
        "{twice}"
    );
    for hostile in ["<script>", "a|b", "a\tb", "\u{202e}boxed", "", "Boxed"] {
        let line = refused(&format!("mixed/{hostile}/1x165"));
        assert!(
            line.ends_with("is not [a-z0-9_]+") && !line.contains(['\t', '\u{202e}']),
            "{line}"
        );
    }
    let long = "x".repeat(300);
    assert!(refused(&format!("mixed/{long}/1x165")).contains("there is no mixed strategy"));
    assert!(refused("own/triple/21").ends_with("there is no own strategy 'triple'"));
    assert!(refused("own/double/xyz").ends_with("there is no own shape 'xyz'"));
    // The buffer has an alignment of its own.
    assert!(refused("mixed/boxed/1x165/align8").contains("at alignment 8"));
    assert!(Case::parse("mixed/boxed/1x165/align64").is_ok());
}

/// This repository's scripts are not in their package.
#[cfg(feature = "cli")]
#[test]
fn what_to_install_is_said_without_a_script() {
    SUITE.install();
    let nameless = "events: Ir\nsummary: 5\n\nob=/lib/libc.so.6\n\
                    fn=0x97bd0'bench::__iai_callgrind_wrapper_mod::run\n1 5\n\ntotals: 5\n";
    let error = writeonce::lens::profile::Profile::parse(nameless).unwrap_err();
    assert!(error.ends_with(" has no name; install valgrind and libc6-dbg"), "{error}");
}
