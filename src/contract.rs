//! The contract of a [`Buffer`], as checks of any type that says it is one.
//!
//! They need an allocator that gives nothing for free as the global one of the test: [`contract!`](crate::contract!) makes
//! such a test.

use crate::allocator::hostile::{Ledger, assert_settled, ledger, watched};
use crate::buffer::{
    AlignedMemory, Buffer, CapacityError, Chunks, Each, Either, Fill, Full, Pieces,
};
use crate::parameters::{Aligned, Format, Instruction, Unaligned, serialize};
use crate::workload::Shape;

/// A check of a buffer type of this alignment, in a thread that writes to the ledger.
pub type Check = fn(usize, &Ledger);

/// The checks for a buffer type, by what they hold it to.
#[must_use]
pub fn checks<B: Buffer>() -> [(&'static str, Check); 7] {
    [
        ("every program leaves the bytes of the model", programs::<B>),
        ("beyond the capacity a buffer is full", full::<B>),
        ("pieces that do not fit leave at most leading ones", full_put::<B>),
        ("without capacity the allocator is not called", empty::<B>),
        ("impossible capacities are errors", too_large::<B>),
        ("pieces of every kind are written in order", pieces::<B>),
        ("serializations are those of aligned_memory", serialized::<B>),
    ]
}

/// Runs all checks for the buffer type `B`, whose bytes begin at a multiple of `align` bytes.
///
/// # Panics
/// If the type does not keep the contract, or [`Hostile`](crate::allocator::hostile::Hostile) is not the global allocator.
pub fn check<B: Buffer>(align: usize) {
    for (name, check) in checks::<B>() {
        run(name, check, align);
    }
}

/// Runs a check.
///
/// # Panics
/// If it fails, or [`Hostile`](crate::allocator::hostile::Hostile) is not the global allocator.
pub fn run(name: &str, check: Check, align: usize) {
    let ledger = ledger();
    // A shape is made once and kept: that is not the buffer's.
    SHAPES.into_iter().for_each(|shape| _ = instructions(shape));
    watched(name, ledger, move || {
        drop(std::hint::black_box(Box::new(0_u8)));
        assert!(
            ledger.calls() > 0,
            "the global allocator is not writeonce::allocator::hostile::Hostile"
        );
        check(align, ledger);
    });
    assert_settled(name, ledger);
}

/// A test of the name `keeps_the_contract` that holds a buffer type of that alignment to the contract, in a test target of
/// its own: `writeonce::contract!(Ring, 16);`.
#[macro_export]
macro_rules! contract {
    ($buffer:ty, $align:expr) => {
        #[global_allocator]
        static HOSTILE: $crate::allocator::hostile::Hostile = $crate::allocator::hostile::Hostile;

        #[test]
        fn keeps_the_contract() {
            $crate::contract::check::<$buffer>($align);
        }
    };
}

/// Numbers that look random and are the same each time (SplitMix64).
#[derive(Debug)]
pub struct Dice(pub u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.roll() % end as u64) as usize
    }

    /// A size at one of the borders where something may change.
    fn size(&mut self, align: usize) -> usize {
        let sizes = [0, 1, align - 1, align, align + 1, 4095, 4096, 4097];
        sizes[self.below(sizes.len())]
    }

    /// A write or a fill, of a part of `source`, which has 8 KiB.
    pub fn piece(&mut self, align: usize, source: &'static [u8]) -> Either<&'static [u8], Fill> {
        let len = self.size(align);
        match self.below(4) {
            0 => Either::B(Fill::zeros(len)),
            1 => Either::B(Fill { len, value: self.roll() as u8 }),
            _ => Either::A(&source[self.below(source.len() - len + 1)..][..len]),
        }
    }
}

/// The bytes of a write or a fill.
#[must_use]
pub fn bytes_of(piece: &Either<&[u8], Fill>) -> Vec<u8> {
    match *piece {
        Either::A(bytes) => bytes.to_vec(),
        Either::B(Fill { len, value }) => vec![value; len],
    }
}

/// 8 KiB in which no byte is 0, [`DIRT`](crate::allocator::hostile::DIRT) or
/// [`POISON`](crate::allocator::hostile::POISON).
pub static SOURCE: [u8; 8192] = {
    let mut source = [0; 8192];
    let mut i = 0;
    while i < source.len() {
        source[i] = 1 + (i % 83) as u8;
        i += 1;
    }
    source
};

/// Fails unless a buffer holds these bytes, from an address that is a multiple of `align`.
///
/// # Panics
/// If it does not.
#[track_caller]
pub fn assert_holds(buffer: &impl Buffer, align: usize, bytes: &[u8]) {
    let slice = buffer.as_slice();
    assert_eq!(slice.as_ptr().addr() % align, 0, "address of {} bytes", bytes.len());
    assert_eq!(slice.len(), bytes.len());
    if slice != bytes {
        let wrong = slice.iter().zip(bytes).position(|(a, b)| a != b);
        panic!("the first wrong byte of {} is at {wrong:?}", bytes.len());
    }
}

fn programs<B: Buffer>(align: usize, _: &Ledger) {
    for seed in 0..32 {
        let mut dice = Dice(seed);
        let capacity = dice.size(align) + dice.size(align) + dice.size(align);
        let mut buffer = B::try_with_capacity(capacity).unwrap();
        let mut model = Vec::new();
        for _ in 0..24 {
            let left = capacity - model.len();
            match dice.piece(align, &SOURCE) {
                Either::A(bytes) => {
                    let fits = bytes.len() <= left;
                    assert_eq!(buffer.write(bytes), if fits { Ok(()) } else { Err(Full) });
                    model.extend(bytes.iter().filter(|_| fits));
                }
                Either::B(Fill { len, value }) => {
                    let fits = len <= left;
                    assert_eq!(buffer.fill(len, value), if fits { Ok(()) } else { Err(Full) });
                    model.resize(model.len() + if fits { len } else { 0 }, value);
                }
            }
            assert_holds(&buffer, align, &model);

            let group = [(); 3].map(|()| dice.piece(align, &SOURCE));
            let bytes = group.each_ref().map(bytes_of);
            let len: usize = bytes.iter().map(Vec::len).sum();
            let put = buffer.put(Each(group.to_vec()));
            if len <= capacity - model.len() {
                assert_eq!(put, Ok(()));
                model.extend(bytes.concat());
            } else {
                assert_eq!(put, Err(Full));
                append_leading(&mut model, &bytes, buffer.as_slice().len());
            }
            assert_holds(&buffer, align, &model);
        }
    }
}

/// Appends the pieces that a failed `put` may have appended before its buffer was `len` bytes long.
fn append_leading(model: &mut Vec<u8>, pieces: &[Vec<u8>], len: usize) {
    let (_, leading) = pieces.split_last().expect("pieces");
    for piece in leading {
        if model.len() < len {
            model.extend(piece);
        }
    }
    assert_eq!(model.len(), len, "a failed put appended a part of a piece, or all");
}

fn full<B: Buffer>(align: usize, _: &Ledger) {
    // The thread's pool has room to spare from here on.
    drop(B::try_with_capacity(1000).unwrap());
    for capacity in (0..=17).chain([align, align + 1]).filter(|&capacity| capacity <= 65) {
        for len in 0..=capacity {
            let (bytes, left) = (&SOURCE[..len], capacity - len);
            let mut buffer = B::try_with_capacity(capacity).unwrap();
            buffer.write(bytes).unwrap();
            for beyond in [left + 1, 2 * capacity + 1, SOURCE.len()] {
                assert_eq!(buffer.write(&SOURCE[..beyond]), Err(Full));
                assert_holds(&buffer, align, bytes);
            }
            for beyond in [left + 1, 2 * capacity + 1, usize::MAX - len, usize::MAX] {
                for value in [0, 7] {
                    assert_eq!(buffer.fill(beyond, value), Err(Full));
                    assert_holds(&buffer, align, bytes);
                }
            }
            // A refusal changes nothing: what is left can be used, and no more.
            buffer.fill(left, 0).unwrap();
            assert_eq!(buffer.write(b"x"), Err(Full));
            assert_eq!(buffer.fill(1, 0), Err(Full));
            buffer.write(b"").unwrap();
            buffer.fill(0, 1).unwrap();
            let mut all = bytes.to_vec();
            all.resize(capacity, 0);
            assert_holds(&buffer, align, &all);
        }
    }
}

fn full_put<B: Buffer>(align: usize, _: &Ledger) {
    let pieces = || ([1u8; 3], Fill { len: 4, value: 2 }, [3u8; 5]);
    let parts = [vec![1; 3], vec![2; 4], vec![3; 5]];
    drop(B::try_with_capacity(1000).unwrap());
    for capacity in 0..=14 {
        let mut buffer = B::try_with_capacity(capacity + 2).unwrap();
        let mut model = b"ab".to_vec();
        buffer.write(&model).unwrap();
        let put = buffer.put(pieces());
        if capacity < 12 {
            assert_eq!(put, Err(Full), "12 bytes to {capacity}");
            append_leading(&mut model, &parts, buffer.as_slice().len());
        } else {
            assert_eq!(put, Ok(()), "12 bytes to {capacity}");
            model.extend(parts.concat());
        }
        assert_holds(&buffer, align, &model);
        // Lengths that overflow together fit nowhere.
        let endless = (Fill::zeros(usize::MAX), Fill { len: usize::MAX, value: 1 }, [1, 2]);
        assert_eq!(buffer.put(endless), Err(Full));
        assert_eq!(buffer.put((Fill::zeros(0), Fill::zeros(usize::MAX - 1))), Err(Full));
        assert_holds(&buffer, align, &model);
    }
}

fn empty<B: Buffer>(align: usize, ledger: &Ledger) {
    let before = ledger.calls();
    let buffer = B::try_with_capacity(0).unwrap();
    assert_holds(&buffer, align, b"");
    drop(buffer);
    assert_eq!(ledger.calls(), before);
    let mut buffer = B::try_with_capacity(0).unwrap();
    assert_eq!(buffer.write(b"x"), Err(Full));
    assert_eq!(buffer.fill(1, 0), Err(Full));
    assert_eq!(buffer.fill(usize::MAX, 1), Err(Full));
    assert_eq!(buffer.put((7u64, true)), Err(Full));
    assert_eq!(buffer.write(b""), Ok(()));
    assert_eq!(buffer.fill(0, 0), Ok(()));
    assert_eq!(buffer.fill(0, 1), Ok(()));
    assert_eq!(buffer.put(([], Fill::zeros(0))), Ok(()));
    assert_holds(&buffer, align, b"");
}

/// Capacities that no allocation can have at this alignment, from the smallest on.
pub fn too_large_at(align: usize) -> impl Iterator<Item = usize> {
    let max = isize::MAX as usize;
    let smallest = max - (align - 1) + 1;
    // At alignment 1 the largest sizes are valid: to ask for them would end the program.
    [smallest, max - 1, max, max + 1, usize::MAX - align, usize::MAX - 1, usize::MAX]
        .into_iter()
        .filter(move |&capacity| capacity >= smallest)
}

fn too_large<B: Buffer>(align: usize, ledger: &Ledger) {
    let before = ledger.calls();
    for capacity in too_large_at(align) {
        let error = B::try_with_capacity(capacity).err().expect("an error");
        let CapacityError::TooLarge { capacity: asked, align: at } = error else {
            panic!("{capacity} bytes: {error}");
        };
        assert_eq!(asked, capacity);
        assert!(at >= align, "alignment {at}");
    }
    assert_eq!(ledger.calls(), before);
    // Nothing is broken by it.
    let mut buffer = B::try_with_capacity(3).unwrap();
    buffer.write(b"abc").unwrap();
    assert!(B::try_with_capacity(usize::MAX).is_err());
    assert_holds(&buffer, align, b"abc");
}

/// One piece of every kind, and their bytes.
#[must_use]
pub fn every_kind() -> (impl Pieces, Vec<u8>) {
    static REST: [u8; 11] = *b"01234567890";
    let pieces = (
        (0xffu8, true, false),
        0x0102_0304_0506_0708u64,
        [9u8, 8, 7],
        &REST[..2],
        Fill { len: 3, value: 0xee },
        Fill::zeros(5),
        Chunks::<4>(&REST),
        Chunks::<1>(b""),
        Each(vec![Either::A(&[1u8, 2]), Either::B(0x55u8)]),
        (&true, &6u64, &[4u8; 2]),
    );
    let mut bytes = vec![0xff, 1, 0, 8, 7, 6, 5, 4, 3, 2, 1, 9, 8, 7];
    bytes.extend(b"01\xee\xee\xee\0\0\0\0\0");
    bytes.extend(b"01234567890");
    bytes.extend([1, 2, 0x55, 1, 6, 0, 0, 0, 0, 0, 0, 0, 4, 4]);
    (pieces, bytes)
}

fn pieces<B: Buffer>(align: usize, _: &Ledger) {
    let (pieces, bytes) = every_kind();
    let mut buffer = B::try_with_capacity(bytes.len() + 1).unwrap();
    buffer.put(&pieces).unwrap();
    assert_holds(&buffer, align, &bytes);
    assert_eq!(buffer.put([1, 2]), Err(Full));
    buffer.put(9u8).unwrap();
    assert_holds(&buffer, align, &[&bytes[..], &[9]].concat());
}

/// The shapes that are serialized.
const SHAPES: [&str; 7] = ["1x0", "1x82", "3x200", "8x165", "1x10k", "duplicates", "orderbook"];

fn instructions(shape: &str) -> &'static [Instruction<'static>] {
    Shape::parse(shape).expect("it is a shape").instructions()
}

fn serialized<B: Buffer>(align: usize, _: &Ledger) {
    fn same<F: Format, B: Buffer>(shape: &str, align: usize) {
        for instruction in instructions(shape) {
            let model: AlignedMemory<16> = serialize::<F, _>(instruction).unwrap();
            let buffer: B = serialize::<F, _>(instruction).unwrap();
            assert_holds(&buffer, align, model.as_slice());
        }
    }
    for shape in SHAPES {
        same::<Aligned, B>(shape, align);
        same::<Unaligned, B>(shape, align);
    }
}
