//! The measured functions: build a buffer, observe it, free it.
//!
//! Every harness calls the same symbols. Each returns a checksum, which tells a buffer of the wrong
//! length or contents from a right one and costs the same few instructions for every strategy; that
//! all bytes are right is for the tests to prove.

use std::hint::black_box;

use crate::buffer::{Buffer, Chunks, Floor, Full, Pieces, Plan, Sink, Zeros};
use crate::parameters::{Format, Instruction, serialize};

/// Alignment of buffers where nothing else is asked for, in bytes: that of the host in the origin.
pub const ALIGN: usize = 16;

/// Bytes between two that are touched: the smallest page of the supported machines.
const PAGE: usize = 4096;

/// Asks for `len` zero bytes.
///
/// # Panics
/// If there is no memory for it.
#[inline(never)]
pub fn zeroed<Z: Zeros>(len: usize) -> u64 {
    let mut buffer = Z::try_zeros(len).expect("the table holds only sizes that fit");
    observe(buffer.as_slice_mut())
}

/// Asks for `len` zero bytes and writes one byte in each page.
///
/// # Panics
/// If there is no memory for it.
#[inline(never)]
pub fn zeroed_touched<Z: Zeros>(len: usize) -> u64 {
    let mut buffer = Z::try_zeros(len).expect("the table holds only sizes that fit");
    for byte in buffer.as_slice_mut().iter_mut().step_by(PAGE) {
        *black_box(byte) = 0;
    }
    observe(buffer.as_slice_mut())
}

/// Fills a buffer from `source` by writes of `N` bytes, and one of the rest.
///
/// # Panics
/// If there is no memory for it.
#[inline(never)]
pub fn cursor<B: Buffer, const N: usize>(source: &[u8]) -> u64 {
    let mut buffer = B::try_with_capacity(source.len()).expect("as large as the source");
    Chunks::<N>(source).write_to(&mut buffer).expect("as large as the source");
    observe(buffer.as_slice())
}

/// Fills a buffer from `source` by one write.
///
/// # Panics
/// If there is no memory for it.
#[inline(never)]
pub fn cursor_whole<B: Buffer>(source: &[u8]) -> u64 {
    let mut buffer = B::try_with_capacity(source.len()).expect("as large as the source");
    buffer.write(source).expect("as large as the source");
    observe(buffer.as_slice())
}

/// Serializes an instruction.
///
/// # Panics
/// If the format cannot express the instruction.
#[inline(never)]
pub fn mixed<F: Format, B: Buffer>(instruction: &Instruction<'_>) -> u64 {
    let buffer: B = serialize::<F, _>(instruction).expect("the table holds valid instructions");
    observe(buffer.as_slice())
}

/// Writes a plan at alignment `A`: the floor of [`cursor`] and [`mixed`].
///
/// # Panics
/// If there is no memory for it.
#[inline(never)]
pub fn floor<P: Pieces, const A: usize>(plan: &Plan<P>) -> u64 {
    let buffer = Floor::<A>::build(plan).expect("the table holds only sizes that fit");
    observe(buffer.as_slice())
}

/// Calls a routine for each of several inputs and combines what it returns.
#[inline(never)]
pub fn each<I>(routine: fn(&I) -> u64, inputs: &[I]) -> u64 {
    inputs.iter().fold(0, |sum, input| combine(sum, routine(input)))
}

/// Goes round a loop that does nothing, and returns the number of rounds: a canary. Every round costs the same.
#[inline(never)]
pub fn spin(rounds: usize) -> u64 {
    go_round(rounds)
}

/// The same as [`spin`], in a function of its own.
#[inline(never)]
pub fn spin_twin(rounds: usize) -> u64 {
    go_round(rounds)
}

#[inline(always)]
fn go_round(rounds: usize) -> u64 {
    let mut done = 0;
    while done < rounds as u64 {
        black_box(());
        done += 1;
    }
    done
}

/// Sets the bytes of a block by the C library, and returns how many: a canary of the pins.
#[inline(never)]
pub fn set(block: &mut [u8]) -> u64 {
    block.fill(black_box(1));
    black_box(block).len() as u64
}

/// Copies as many bytes as both blocks have by the C library, and returns how many: a canary of the pins.
#[inline(never)]
pub fn copy(from: &[u8], to: &mut [u8]) -> u64 {
    let len = from.len().min(to.len());
    to[..len].copy_from_slice(&from[..len]);
    black_box(to).len() as u64
}

/// The checksum that [`zeroed`] must return.
#[must_use]
pub fn expected_of_zeros(len: usize) -> u64 {
    checksum(len, [0; SAMPLES])
}

/// The checksum that writing a plan must return, found without building anything.
pub fn expected_of_plan<P: Pieces>(plan: &Plan<P>) -> u64 {
    let mut sampler = Sampler { at: positions(plan.len()), seen: [0; SAMPLES], offset: 0 };
    let written = plan.pieces().write_to(&mut sampler);
    debug_assert!(written.is_ok(), "a sampler is never full");
    checksum(sampler.offset, sampler.seen)
}

const SAMPLES: usize = 3;

/// Where a checksum looks: the first byte, one in the middle, the last.
fn positions(len: usize) -> [usize; SAMPLES] {
    [0, len / 2, len.saturating_sub(1)]
}

fn checksum(len: usize, [first, middle, last]: [u8; SAMPLES]) -> u64 {
    (len as u64) << 24 | u64::from(first) << 16 | u64::from(middle) << 8 | u64::from(last)
}

/// Makes all of `bytes` count as read, and sums up a few of them.
#[inline]
fn observe(bytes: &[u8]) -> u64 {
    let bytes = black_box(bytes);
    let [first, middle, last] = positions(bytes.len());
    let at = |index: usize| bytes.get(index).copied().unwrap_or(0);
    checksum(bytes.len(), [at(first), at(middle), at(last)])
}

#[inline]
fn combine(sum: u64, checksum: u64) -> u64 {
    sum.rotate_left(7) ^ checksum
}

/// A sink that keeps nothing but the bytes at a few positions.
struct Sampler {
    at: [usize; SAMPLES],
    seen: [u8; SAMPLES],
    offset: usize,
}

impl Sampler {
    fn pass(&mut self, len: usize, byte: impl Fn(usize) -> u8) {
        for (at, seen) in self.at.iter().zip(&mut self.seen) {
            if (self.offset..self.offset + len).contains(at) {
                *seen = byte(at - self.offset);
            }
        }
        self.offset += len;
    }
}

impl Sink for Sampler {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.pass(bytes.len(), |index| bytes[index]);
        Ok(())
    }

    fn fill(&mut self, len: usize, value: u8) -> Result<(), Full> {
        self.pass(len, |_| value);
        Ok(())
    }
}
