//! What is measured: the buffer, the routine, and the table of cases.

use bring_your_own::{Boxed, adler32};
use writeonce::cases::Prepared;
use writeonce::own::{OwnBuffer, OwnRoutine, Suite};
use writeonce::workload;

pub static SUITE: Suite = Suite {
    package: env!("CARGO_PKG_NAME"),
    table: include_str!("../cases.txt"),
    buffers: &[OwnBuffer::new::<Boxed>("boxed", 1)],
    routines: &[OwnRoutine::new("adler32", adler32_of)],
};

/// The routine for a size: its input, what it must return, and that it takes no block.
fn adler32_of(size: usize) -> Prepared {
    let source = workload::source(size).expect("the table has sizes that fit");
    let expected = adler32(source);
    Prepared::of(move || adler32(source).into(), expected.into(), 0)
}
