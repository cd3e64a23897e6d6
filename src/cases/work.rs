//! From a line of the table to a routine with its input.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;

use super::own::{OwnBuffer, OwnRoutine};
use super::{Strategy, Visitor};
use crate::buffer::{
    AllocMemset, AllocZeroed, Buffer, Chunks, Pieces, Plan, VecResize, VecZeroed, Zeros,
};
use crate::parameters::{self, Aligned, Format, Instruction, InstructionPlan, Unaligned};
use crate::routine::{self, ALIGN, zeroed, zeroed_touched};
use crate::workload::{self, Shape};

/// What a case does.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    Zeroed { routine: LenRoutine, len: usize },
    Cursor { maker: Maker, len: usize, cut: Cut },
    Mixed { maker: Maker, shape: Shape, aligned: bool, align: Align },
    Canary { make: fn(usize) -> Routine, size: usize },
    Own { routine: &'static OwnRoutine, size: usize },
}

/// Whose buffer a case fills.
#[derive(Debug, Clone, Copy)]
pub(super) enum Maker {
    Known(Strategy),
    Own(&'static OwnBuffer),
}

impl Maker {
    /// The alignment of its buffers where `asked` is asked for, both in bytes.
    pub(super) const fn align(self, asked: usize) -> usize {
        match self {
            Self::Known(strategy) => strategy.align(asked),
            Self::Own(own) => own.align,
        }
    }
}

/// A canary: its name, and what makes its routine for a number of rounds or bytes, which it returns.
pub(super) type Canary = (&'static str, fn(usize) -> Routine);

/// The canaries: two routines that only spin, the same work in two functions, and two that call the C library.
pub(super) const CANARIES: [Canary; 4] = [
    ("spin", |rounds| Box::new(move || routine::spin(rounds))),
    ("twin", |rounds| Box::new(move || routine::spin_twin(rounds))),
    ("set", |len| {
        let block = RefCell::new(vec![0; len]);
        Box::new(move || routine::set(&mut block.borrow_mut()))
    }),
    ("copy", |len| {
        // Whole pages: how the blocks lie to each other within a page, which a copy looks at, is the same for all sizes.
        let pages = len.next_multiple_of(4096);
        let (from, to) = (vec![1; pages], RefCell::new(vec![0; pages]));
        Box::new(move || routine::copy(&from[..len], &mut to.borrow_mut()[..len]))
    }),
];

/// A routine with its input.
type Routine = Box<dyn Fn() -> u64>;

type LenRoutine = fn(usize) -> u64;

/// How a source is cut into writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    By1,
    By8,
    By64,
    By4k,
    Whole,
}

impl Cut {
    /// How a shape ends that is cut so.
    const fn suffix(self) -> &'static str {
        match self {
            Self::By1 => "_by1",
            Self::By8 => "_by8",
            Self::By64 => "_by64",
            Self::By4k => "_by4k",
            Self::Whole => "",
        }
    }
}

/// The alignment of the buffers of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    To8,
    To16,
    To64,
    To4096,
}

impl Align {
    /// That of ids which say nothing of it.
    pub(super) const DEFAULT: Self = Self::To16;

    /// Those that an id has a suffix for.
    pub(super) const OTHERS: [Self; 3] = [Self::To8, Self::To64, Self::To4096];

    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::To8 => 8,
            Self::To16 => routine::ALIGN,
            Self::To64 => 64,
            Self::To4096 => 4096,
        }
    }

    /// The suffix of an id.
    pub(super) fn suffix(self) -> String {
        format!("align{}", self.bytes())
    }
}

/// A way to get zero bytes.
pub(super) struct WayToZeros {
    pub(super) strategy: &'static str,
    pub(super) align: Align,
    pub(super) untouched: LenRoutine,
    pub(super) touched: LenRoutine,
}

impl WayToZeros {
    const fn new<Z: Zeros>(strategy: &'static str, align: Align) -> Self {
        Self { strategy, align, untouched: zeroed::<Z>, touched: zeroed_touched::<Z> }
    }
}

/// The strategies of the `zeroed` fill. A vector has no alignment to choose; its memory has that of
/// every allocation.
pub(super) const ZEROS: [WayToZeros; 10] = [
    WayToZeros::new::<AllocZeroed<8>>("alloc_zeroed", Align::To8),
    WayToZeros::new::<AllocZeroed<16>>("alloc_zeroed", Align::To16),
    WayToZeros::new::<AllocZeroed<64>>("alloc_zeroed", Align::To64),
    WayToZeros::new::<AllocZeroed<4096>>("alloc_zeroed", Align::To4096),
    WayToZeros::new::<AllocMemset<8>>("alloc_memset", Align::To8),
    WayToZeros::new::<AllocMemset<16>>("alloc_memset", Align::To16),
    WayToZeros::new::<AllocMemset<64>>("alloc_memset", Align::To64),
    WayToZeros::new::<AllocMemset<4096>>("alloc_memset", Align::To4096),
    WayToZeros::new::<VecZeroed>("vec_zeroed", Align::To16),
    WayToZeros::new::<VecResize>("vec_resize", Align::To16),
];

/// A routine with its input, and what it must return.
pub struct Prepared {
    run: Box<dyn Fn() -> u64>,
    /// The checksum that [`run`](Self::run) must return.
    pub expected: u64,
    /// Bytes of the largest buffer.
    pub largest: usize,
}

impl Prepared {
    /// A routine made ready: `run` returns the checksum `expected` each time, and `largest` is the size of the largest
    /// block that it takes, in bytes, or 0.
    #[must_use]
    pub fn of(run: impl Fn() -> u64 + 'static, expected: u64, largest: usize) -> Self {
        Self { run: Box::new(run), expected, largest }
    }

    /// Runs the routine once and returns its checksum.
    #[inline]
    #[must_use]
    pub fn run(&self) -> u64 {
        (self.run)()
    }

    /// A routine that writes `plans` in some way. They are leaked whether it uses them or not, so that
    /// the heap is the same for all strategies.
    fn new<P: Pieces + 'static>(
        plans: Vec<Plan<P>>,
        routine: impl FnOnce(&'static [Plan<P>]) -> Box<dyn Fn() -> u64>,
    ) -> Self {
        let plans: &'static [Plan<P>] = plans.leak();
        Self {
            run: routine(plans),
            expected: run(routine::expected_of_plan, plans)(),
            largest: plans.iter().map(Plan::len).max().unwrap_or(0),
        }
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("expected", &self.expected).finish_non_exhaustive()
    }
}

impl Work {
    /// Bytes of the finished buffers together.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::Zeroed { len, .. } | Self::Cursor { len, .. } => len as u64,
            Self::Mixed { shape, aligned: true, .. } => serialized_len::<Aligned>(shape),
            Self::Mixed { shape, aligned: false, .. } => serialized_len::<Unaligned>(shape),
            Self::Canary { .. } => 0,
            Self::Own { size, .. } => size as u64,
        }
    }

    /// Bytes of them that are copied from a source.
    pub(super) fn copied(self) -> u64 {
        match self {
            Self::Cursor { len, .. } => len as u64,
            Self::Mixed { shape, .. } => {
                shape.instructions().iter().map(Instruction::data_bytes).sum()
            }
            Self::Zeroed { .. } | Self::Canary { .. } | Self::Own { .. } => 0,
        }
    }

    /// The series in which only one size grows, named as a shape with `N` for it, and that size.
    pub(super) fn series(self) -> Vec<(String, u64)> {
        match self {
            Self::Cursor { len, cut, .. } => vec![(format!("N{}", cut.suffix()), len as u64)],
            Self::Mixed { shape: Shape::Accounts { count, bytes }, aligned, align, .. } => {
                let format = if aligned { "" } else { "_unaligned" };
                let align = match align {
                    Align::DEFAULT => String::new(),
                    align => format!("/{}", align.suffix()),
                };
                vec![
                    (format!("{count}xN{format}{align}"), bytes as u64),
                    (format!("Nx{bytes}{format}{align}"), count as u64),
                ]
            }
            _ => Vec::new(),
        }
    }

    /// Makes the input.
    pub(super) fn prepare(self) -> Prepared {
        match self {
            Self::Zeroed { routine, len } => Prepared {
                run: Box::new(move || routine(len)),
                expected: routine::expected_of_zeros(len),
                largest: len,
            },
            Self::Cursor { maker, len, cut } => {
                let source = workload::source(len).expect("parse has checked the length");
                match (maker, cut) {
                    (Maker::Known(strategy), Cut::By1) => by::<1>(strategy, source),
                    (Maker::Known(strategy), Cut::By8) => by::<8>(strategy, source),
                    (Maker::Known(strategy), Cut::By64) => by::<64>(strategy, source),
                    (Maker::Known(strategy), Cut::By4k) => by::<4096>(strategy, source),
                    (Maker::Known(strategy), Cut::Whole) => cursor(strategy, source, Whole(source)),
                    (Maker::Own(own), Cut::By1) => own_cursor(Chunks::<1>(source), own.by_1),
                    (Maker::Own(own), Cut::By8) => own_cursor(Chunks::<8>(source), own.by_8),
                    (Maker::Own(own), Cut::By64) => own_cursor(Chunks::<64>(source), own.by_64),
                    (Maker::Own(own), Cut::By4k) => own_cursor(Chunks::<4096>(source), own.by_4k),
                    (Maker::Own(own), Cut::Whole) => own_cursor(Chunks::<4096>(source), own.whole),
                }
            }
            Self::Canary { make, size } => {
                Prepared { run: make(size), expected: size as u64, largest: 0 }
            }
            Self::Mixed { maker: Maker::Known(strategy), shape, aligned, align } => {
                let instructions = shape.instructions();
                if aligned {
                    mixed::<Aligned>(strategy, align, instructions)
                } else {
                    mixed::<Unaligned>(strategy, align, instructions)
                }
            }
            Self::Mixed { maker: Maker::Own(own), shape, aligned, .. } => {
                let instructions = shape.instructions();
                if aligned {
                    Prepared::new(plans::<Aligned>(instructions), |_| {
                        run(own.aligned, instructions)
                    })
                } else {
                    let plans = plans::<Unaligned>(instructions);
                    Prepared::new(plans, |_| run(own.unaligned, instructions))
                }
            }
            Self::Own { routine, size } => (routine.prepare)(size),
        }
    }
}

/// Calls `routine` for its only input, or for each.
fn run<I>(routine: fn(&I) -> u64, inputs: &'static [I]) -> Box<dyn Fn() -> u64> {
    match inputs {
        [input] => Box::new(move || routine(input)),
        _ => Box::new(move || routine::each(routine, inputs)),
    }
}

fn by<const N: usize>(strategy: Strategy, source: &'static [u8]) -> Prepared {
    cursor(strategy, Chunks::<N>(source), By::<N>(source))
}

fn cursor<P: Pieces + 'static>(
    strategy: Strategy,
    pieces: P,
    others: impl Visitor<Output = Box<dyn Fn() -> u64>>,
) -> Prepared {
    let plan = Plan::new(pieces).expect("parse has checked the length");
    Prepared::new(vec![plan], |plans| match strategy {
        Strategy::Floor => run(routine::floor::<_, ALIGN>, plans),
        _ => strategy.visit::<ALIGN, _>(others),
    })
}

fn serialized_len<F: Format>(shape: Shape) -> u64 {
    let len = |instruction| {
        parameters::serialized_len::<F>(instruction).expect("a shape holds valid instructions")
    };
    shape.instructions().iter().map(|instruction| len(instruction) as u64).sum()
}

/// The aligned serialization by a strategy, into buffers aligned to `align` bytes; `None` if no case has these.
#[must_use]
pub fn serializer(strategy: Strategy, align: usize) -> Option<Serializer> {
    let align = [Align::DEFAULT].into_iter().chain(Align::OTHERS).find(|a| a.bytes() == align)?;
    Some(match align {
        Align::To8 => strategy.visit::<8, _>(Serialize),
        Align::To16 => strategy.visit::<ALIGN, _>(Serialize),
        Align::To64 => strategy.visit::<64, _>(Serialize),
        Align::To4096 => strategy.visit::<4096, _>(Serialize),
    })
}

/// Serializes an instruction and returns a checksum.
pub type Serializer = fn(&Instruction<'_>) -> u64;

struct Serialize;

impl Visitor for Serialize {
    type Output = Serializer;

    fn visit<B: Buffer + 'static>(self) -> Self::Output {
        routine::mixed::<Aligned, B>
    }
}

fn mixed<F: Format + 'static>(
    strategy: Strategy,
    align: Align,
    instructions: &'static [Instruction<'static>],
) -> Prepared {
    match align {
        Align::To8 => mixed_at::<F, 8>(strategy, instructions),
        Align::To16 => mixed_at::<F, ALIGN>(strategy, instructions),
        Align::To64 => mixed_at::<F, 64>(strategy, instructions),
        Align::To4096 => mixed_at::<F, 4096>(strategy, instructions),
    }
}

fn mixed_at<F: Format + 'static, const A: usize>(
    strategy: Strategy,
    instructions: &'static [Instruction<'static>],
) -> Prepared {
    Prepared::new(plans::<F>(instructions), |plans| match strategy {
        Strategy::Floor => run(routine::floor::<_, A>, plans),
        _ => strategy.visit::<A, _>(Mixed::<F>(instructions, PhantomData)),
    })
}

fn plans<F: Format>(
    instructions: &'static [Instruction<'static>],
) -> Vec<InstructionPlan<'static, F>> {
    let plan =
        |instruction| parameters::plan::<F>(instruction).expect("a shape holds valid instructions");
    instructions.iter().map(plan).collect()
}

fn own_cursor<const N: usize>(chunks: Chunks<'static, N>, routine: fn(&[u8]) -> u64) -> Prepared {
    let source = chunks.0;
    let plan = Plan::new(chunks).expect("parse has checked the length");
    Prepared::new(vec![plan], |_| Box::new(move || routine(source)))
}

struct By<const N: usize>(&'static [u8]);

impl<const N: usize> Visitor for By<N> {
    type Output = Box<dyn Fn() -> u64>;

    fn visit<B: Buffer + 'static>(self) -> Self::Output {
        Box::new(move || routine::cursor::<B, N>(self.0))
    }
}

struct Whole(&'static [u8]);

impl Visitor for Whole {
    type Output = Box<dyn Fn() -> u64>;

    fn visit<B: Buffer + 'static>(self) -> Self::Output {
        Box::new(move || routine::cursor_whole::<B>(self.0))
    }
}

struct Mixed<F>(&'static [Instruction<'static>], PhantomData<F>);

impl<F: Format + 'static> Visitor for Mixed<F> {
    type Output = Box<dyn Fn() -> u64>;

    fn visit<B: Buffer + 'static>(self) -> Self::Output {
        run(routine::mixed::<F, B>, self.0)
    }
}
