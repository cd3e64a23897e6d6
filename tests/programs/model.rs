//! Programs of operations on buffers, and the plain vector that says what each buffer must hold. The property tests and
//! the fuzz target share this; they differ in where programs come from.

use std::alloc::Layout;
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;

use writeonce::allocator::hostile::{Ledger, watched};
use writeonce::buffer::{
    AlignedMemory, Buffer, CapacityError, Each, Either, Fill, Full, Pieces, Sink,
};
use writeonce::cases::{Strategy, Visitor};
use writeonce::contract::{SOURCE, assert_holds, bytes_of};

/// A length, at or near one where something may change.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(fuzzing, derive(arbitrary::Arbitrary))]
pub(crate) enum Size {
    /// So many bytes.
    Bytes(u8),
    /// The alignment, and so many bytes more or less.
    Align(i8),
    /// A page, and so many bytes more or less.
    Page(i8),
    /// What is left in the buffer, and so many bytes more or less.
    Left(i8),
    /// So many bytes less than there are numbers for: it fits nowhere.
    Huge(u8),
}

/// What is written as one.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(fuzzing, derive(arbitrary::Arbitrary))]
pub(crate) enum Piece {
    /// Bytes of [`SOURCE`], from that index on.
    Bytes(Size, u8),
    /// The same byte again and again.
    Fill(Size, u8),
}

/// How a buffer is made: by the constructor of that meaning where the type has one, otherwise by what every buffer can.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(fuzzing, derive(arbitrary::Arbitrary))]
pub(crate) enum Made {
    /// Empty.
    Empty,
    /// Empty, of zeroed memory.
    Zeroed,
    /// Full of zeros.
    Zeros,
    /// A copy of bytes.
    Copy,
}

/// A step of a program. But for `Make`, `Use` and `Drop` it is about the buffer that was made or used last.
#[derive(Debug, Clone)]
#[cfg_attr(fuzzing, derive(arbitrary::Arbitrary))]
pub(crate) enum Operation {
    /// Makes a buffer beside those that are alive. Its capacity is the sum.
    Make(Made, [Size; 2]),
    /// Writes by `Sink`.
    Write(Piece),
    /// Writes an integer and pieces, as a group.
    Put(u64, Vec<Piece>),
    /// Writes what there is room for without asking, where the type can do that.
    Unchecked(Piece),
    /// The same with an integer of 1, 2, 4 or 8 bytes.
    Integer(u8, u64),
    /// Writes by `std::io::Write` and `fill_write`, where the type has them.
    Io(Piece),
    /// Changes the byte at that index, modulo the length, where the type gives out its bytes.
    Change(u16, u8),
    /// Clones the buffer and uses the clone, where it can be cloned.
    Clone,
    /// Uses another one of the buffers that are alive.
    Use(u8),
    /// Drops one of them.
    Drop(u8),
}

impl Size {
    fn bytes(self, align: usize, left: usize) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.into(),
            Self::Align(more) => align.saturating_add_signed(more.into()),
            Self::Page(more) => 4096_usize.saturating_add_signed(more.into()),
            Self::Left(more) => left.saturating_add_signed(more.into()),
            Self::Huge(less) => usize::MAX - usize::from(less),
        }
    }
}

impl Piece {
    fn resolved(self, align: usize, left: usize) -> Either<&'static [u8], Fill> {
        match self {
            Self::Bytes(size, from) => {
                let source = &SOURCE[from.into()..];
                Either::A(&source[..size.bytes(align, left).min(source.len())])
            }
            Self::Fill(size, value) => Either::B(Fill { len: size.bytes(align, left), value }),
        }
    }
}

fn len_of(piece: &Either<&[u8], Fill>) -> usize {
    match piece {
        Either::A(bytes) => bytes.len(),
        Either::B(fill) => fill.len,
    }
}

/// What a buffer can do beside what every one can. What it cannot is done by that, or not at all.
trait Subject: Sized {
    fn make(made: Made, capacity: usize) -> Result<Self, CapacityError>;

    fn buffer(&mut self) -> &mut impl Buffer;

    /// Appends a piece for which there is room.
    fn write_unchecked(&mut self, piece: &Either<&[u8], Fill>) {
        piece.write_to(self.buffer()).expect("there is room");
    }

    /// Appends the lowest bytes of `value`, 1, 2, 4 or 8 of them, for which there is room.
    fn write_integer(&mut self, width: usize, value: u64) {
        self.buffer().write(&value.to_le_bytes()[..width]).expect("there is room");
    }

    fn write_io(&mut self, piece: &Either<&[u8], Fill>) -> Result<(), Full> {
        piece.write_to(self.buffer())
    }

    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        None
    }

    fn cloned(&self) -> Option<Self> {
        None
    }
}

/// A buffer that does what every buffer can.
struct Every<B>(B);

impl<B: Buffer> Subject for Every<B> {
    fn make(made: Made, capacity: usize) -> Result<Self, CapacityError> {
        let mut buffer = B::try_with_capacity(capacity)?;
        match made {
            Made::Empty | Made::Zeroed => {}
            Made::Zeros => buffer.fill(capacity, 0).expect("that is its capacity"),
            Made::Copy => buffer.write(&copied(capacity)).expect("that is its capacity"),
        }
        Ok(Self(buffer))
    }

    fn buffer(&mut self) -> &mut impl Buffer {
        &mut self.0
    }
}

impl<const ALIGN: usize> Subject for AlignedMemory<ALIGN> {
    fn make(made: Made, capacity: usize) -> Result<Self, CapacityError> {
        match made {
            Made::Empty => Self::try_with_capacity(capacity),
            Made::Zeroed => Ok(Self::with_capacity_zeroed(capacity)),
            Made::Zeros => Ok(Self::zero_filled(capacity)),
            Made::Copy => Ok(Self::from_slice(&copied(capacity))),
        }
    }

    fn buffer(&mut self) -> &mut impl Buffer {
        self
    }

    fn write_unchecked(&mut self, piece: &Either<&[u8], Fill>) {
        match piece {
            // SAFETY: there is room, says the caller.
            Either::A(bytes) => unsafe { self.write_all_unchecked(bytes) },
            Either::B(fill) => self.fill_write(fill.len, fill.value).expect("there is room"),
        }
    }

    fn write_integer(&mut self, width: usize, value: u64) {
        match width {
            // SAFETY: there is room, says the caller.
            1 => unsafe { self.write_unchecked((value as u8).to_le()) },
            // SAFETY: there is room, says the caller.
            2 => unsafe { self.write_unchecked((value as u16).to_le()) },
            // SAFETY: there is room, says the caller.
            4 => unsafe { self.write_unchecked((value as u32).to_le()) },
            // SAFETY: there is room, says the caller.
            _ => unsafe { self.write_unchecked(value.to_le()) },
        }
    }

    fn write_io(&mut self, piece: &Either<&[u8], Fill>) -> Result<(), Full> {
        let written = match *piece {
            Either::A(bytes) => self.write_all(bytes),
            Either::B(Fill { len, value }) => self.fill_write(len, value),
        };
        written.map_err(|_| Full)
    }

    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        Some(self.as_slice_mut())
    }

    fn cloned(&self) -> Option<Self> {
        let clone = self.clone();
        assert_eq!(&clone, self);
        assert_eq!(clone.capacity(), self.capacity());
        Some(clone)
    }
}

/// What a buffer that is made by copying holds.
fn copied(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index % 251) as u8).collect()
}

/// A buffer, and what it must hold.
struct Live<S> {
    subject: S,
    model: Vec<u8>,
    capacity: usize,
}

impl<S: Subject> Live<S> {
    fn make(made: Made, capacity: usize) -> Self {
        let subject = S::make(made, capacity).expect("a possible capacity");
        let model = match made {
            Made::Empty | Made::Zeroed => Vec::new(),
            Made::Zeros => vec![0; capacity],
            Made::Copy => copied(capacity),
        };
        Self { subject, model, capacity }
    }

    fn left(&self) -> usize {
        self.capacity - self.model.len()
    }

    /// Writes a piece by `write`, which must say whether it fits.
    fn append(
        &mut self,
        piece: &Either<&[u8], Fill>,
        write: impl FnOnce(&mut S, &Either<&[u8], Fill>) -> Result<(), Full>,
    ) {
        let fits = len_of(piece) <= self.left();
        assert_eq!(write(&mut self.subject, piece), if fits { Ok(()) } else { Err(Full) });
        if fits {
            self.model.extend(bytes_of(piece));
        }
    }

    fn put(&mut self, value: u64, pieces: Vec<Either<&'static [u8], Fill>>) {
        let head = value.to_le_bytes();
        let mut parts = vec![Either::A(&head[..])];
        parts.extend(&pieces);
        let len: u128 = parts.iter().map(|part| len_of(part) as u128).sum();
        let put = self.subject.buffer().put((value, Each(pieces)));
        if len <= self.left() as u128 {
            assert_eq!(put, Ok(()));
            self.model.extend(parts.iter().flat_map(bytes_of));
        } else {
            assert_eq!(put, Err(Full));
            let held = self.subject.buffer().as_slice().len();
            let (_, leading) = parts.split_last().expect("the integer is one");
            for part in leading {
                if self.model.len() < held {
                    assert!(len_of(part) <= held - self.model.len(), "a part of a piece is there");
                    self.model.extend(bytes_of(part));
                }
            }
        }
    }

    /// Does what is about one buffer.
    fn step(&mut self, operation: &Operation, align: usize) {
        let left = self.left();
        match operation {
            Operation::Write(piece) => {
                self.append(&piece.resolved(align, left), |subject, piece| {
                    piece.write_to(subject.buffer())
                });
            }
            Operation::Put(value, pieces) => {
                self.put(*value, pieces.iter().map(|piece| piece.resolved(align, left)).collect());
            }
            Operation::Unchecked(piece) => {
                let piece = piece.resolved(align, left);
                if len_of(&piece) <= left {
                    self.append(&piece, |subject, piece| {
                        subject.write_unchecked(piece);
                        Ok(())
                    });
                }
            }
            Operation::Integer(width, value) => {
                let width = 1 << (width % 4);
                if width <= left {
                    self.append(&Either::A(&value.to_le_bytes()[..width]), |subject, _| {
                        subject.write_integer(width, *value);
                        Ok(())
                    });
                }
            }
            Operation::Io(piece) => self.append(&piece.resolved(align, left), S::write_io),
            Operation::Change(index, value) => {
                if let Some(bytes) = self.subject.bytes_mut()
                    && let Some(index) = usize::from(*index).checked_rem(bytes.len())
                {
                    bytes[index] = *value;
                    self.model[index] = *value;
                }
            }
            Operation::Make(..) | Operation::Clone | Operation::Use(_) | Operation::Drop(_) => {}
        }
    }

    fn assert_holds(&mut self, align: usize) {
        assert_holds(self.subject.buffer(), align, &self.model);
    }
}

/// Most buffers that are alive at a time.
const MOST_ALIVE: usize = 4;

/// Runs a program on buffers whose bytes begin at a multiple of `align`, and compares them with the model after each step.
fn run<S: Subject>(program: &[Operation], align: usize) {
    let mut alive: Vec<Live<S>> = Vec::new();
    for operation in program {
        match operation {
            Operation::Make(made, sizes) => {
                let [one, other] = sizes.map(|size| size.bytes(align, 0));
                let capacity = one.saturating_add(other);
                if Layout::from_size_align(capacity, align).is_ok() {
                    alive.push(Live::make(*made, capacity));
                } else {
                    let error = S::make(Made::Empty, capacity).err();
                    assert!(matches!(error, Some(CapacityError::TooLarge { .. })), "{error:?}");
                }
            }
            Operation::Use(which) if !alive.is_empty() => {
                let which = usize::from(*which) % alive.len();
                alive.rotate_left(which);
            }
            Operation::Drop(which) if !alive.is_empty() => {
                let which = usize::from(*which) % alive.len();
                let mut dropped = alive.remove(which);
                dropped.assert_holds(align);
            }
            Operation::Clone => {
                let Some(live) = alive.last() else { continue };
                let Some(subject) = live.subject.cloned() else { continue };
                let (model, capacity) = (live.model.clone(), live.capacity);
                alive.push(Live { subject, model, capacity });
            }
            about_one => {
                let Some(live) = alive.last_mut() else { continue };
                live.step(about_one, align);
            }
        }
        if let Some(live) = alive.last_mut() {
            live.assert_holds(align);
        }
        if alive.len() > MOST_ALIVE {
            alive.remove(0);
        }
    }
    for live in &mut alive {
        live.assert_holds(align);
    }
}

/// What the names of the threads begin with in which programs run.
pub(crate) const THREAD: &str = "program on ";

/// A kind of buffer, on which programs run.
#[derive(Debug)]
pub(crate) struct Kind {
    /// Its name, for people.
    pub(crate) name: String,
    align: usize,
    run: fn(&[Operation], usize),
}

impl Kind {
    /// The buffer type `B`, whose bytes begin at a multiple of `align`.
    pub(crate) fn of<B: Buffer>(name: String, align: usize) -> Self {
        Self { name, align, run: run::<Every<B>> }
    }

    /// Runs a program in a thread of its own, which writes to `ledger`.
    ///
    /// # Errors
    /// If memory is not given back as it was taken.
    ///
    /// # Panics
    /// If a buffer does not hold what it must.
    pub(crate) fn check(
        &self,
        program: Vec<Operation>,
        ledger: &'static Ledger,
    ) -> Result<(), String> {
        let balance = || {
            let [taken, freed, wrong] =
                [&ledger.taken, &ledger.freed, &ledger.wrong_layouts].map(|sum| sum.load(Relaxed));
            (taken.wrapping_sub(freed), wrong)
        };
        let (before, align, run) = (balance(), self.align, self.run);
        watched(&format!("{THREAD}{}", self.name), ledger, move || run(&program, align));
        let (kept, wrong) = balance();
        if (kept, wrong) == before {
            return Ok(());
        }
        let (kept, wrong) = (kept as isize - before.0 as isize, wrong - before.1);
        Err(format!("{kept} blocks are not freed, {wrong} are with a wrong layout"))
    }
}

/// Makes the kind of a strategy at an alignment.
struct Named(Strategy, usize);

impl Visitor for Named {
    type Output = Kind;

    fn visit<B: Buffer + 'static>(self) -> Kind {
        let Self(strategy, asked) = self;
        Kind::of::<B>(format!("{} at {asked}", strategy.name()), strategy.align(asked))
    }
}

/// Every strategy and peer asked for alignment `A`, and the drop-in by its own calls.
pub(crate) fn kinds<const A: usize>() -> impl Iterator<Item = Kind> {
    let by_own_calls = Kind {
        name: format!("aligned_memory at {A} by its own calls"),
        align: A,
        run: run::<AlignedMemory<A>>,
    };
    let strategies = Strategy::with_peers();
    strategies.map(|strategy| strategy.visit::<A, _>(Named(strategy, A))).chain([by_own_calls])
}
