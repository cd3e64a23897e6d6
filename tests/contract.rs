//! What `buffer` promises of every strategy, held against an allocator that gives nothing for free.
#![cfg(feature = "suite")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use writeonce::buffer::{
    AlignedMemory, AllocMemset, AllocZeroed, Buffer, CapacityError, Chunks, Each, Either, Fill,
    Floor, Full, Growing, Memset, Pieces, Plan, Pooled, Sink, Uninit, VecResize, VecZeroed, Zeroed,
    ZeroedSkip, Zeros,
};
use writeonce::cases::{Strategy, Visitor};
use writeonce::routine;

#[global_allocator]
static HOSTILE: Hostile = Hostile;

/// An allocator whose memory is dirty, aligned to what was asked for and to no more, moved whenever it
/// is reallocated, and overwritten when it is freed. What the thread allocates is in its ledger.
struct Hostile;

/// Value of memory that was handed out and not asked to be zero.
const DIRT: u8 = 0xa5;

/// Value of memory that was freed.
const POISON: u8 = 0x5a;

/// What was asked of the allocator.
#[derive(Default)]
struct Ledger {
    /// Blocks handed out.
    taken: AtomicUsize,
    /// Those of them that were asked to be zero.
    taken_zeroed: AtomicUsize,
    /// Blocks taken back, by whichever thread.
    freed: AtomicUsize,
    /// Blocks freed or reallocated with another layout than they were handed out with.
    wrong_layouts: AtomicUsize,
    /// Size and alignment of the block handed out last.
    last: [AtomicUsize; 2],
}

impl Ledger {
    const fn new() -> Self {
        let [taken, taken_zeroed, freed, wrong_layouts] = [const { AtomicUsize::new(0) }; 4];
        let last = [const { AtomicUsize::new(0) }; 2];
        Self { taken, taken_zeroed, freed, wrong_layouts, last }
    }

    fn calls(&self) -> usize {
        self.taken.load(Relaxed) + self.freed.load(Relaxed)
    }

    fn last(&self) -> (usize, usize) {
        (self.last[0].load(Relaxed), self.last[1].load(Relaxed))
    }
}

/// The ledger of threads that are not watched.
static OTHERS: Ledger = Ledger::new();

thread_local! {
    static LEDGER: Cell<&'static Ledger> = const { Cell::new(&OTHERS) };
}

/// What is kept in front of each block.
#[derive(Clone, Copy)]
struct Header {
    ledger: &'static Ledger,
    /// What the block was cut from.
    whole: *mut u8,
    /// What the block was handed out with.
    layout: Layout,
}

impl Hostile {
    /// The layout of what a block is cut from, and where the block begins in it: behind the header, at
    /// an odd multiple of its alignment.
    fn whole(layout: Layout) -> Option<(Layout, usize)> {
        let align = layout.align();
        let offset = size_of::<Header>().next_multiple_of(align);
        let offset = if (offset / align).is_multiple_of(2) { offset + align } else { offset };
        let size = layout.size().checked_add(offset)?;
        Some((Layout::from_size_align(size, align.checked_mul(2)?).ok()?, offset))
    }

    /// Cuts a block from memory that `take` gets.
    fn cut(layout: Layout, take: impl FnOnce(Layout) -> *mut u8) -> *mut u8 {
        let Some((whole_layout, offset)) = Self::whole(layout) else {
            return std::ptr::null_mut();
        };
        let whole = take(whole_layout);
        if whole.is_null() {
            return whole;
        }
        let ledger = LEDGER.get();
        ledger.taken.fetch_add(1, Relaxed);
        ledger.last[0].store(layout.size(), Relaxed);
        ledger.last[1].store(layout.align(), Relaxed);
        // SAFETY: `offset` is within the memory, whose size is that and the size of the block.
        let block = unsafe { whole.add(offset) };
        // SAFETY: `offset` is at least the size of a header.
        let header = unsafe { block.cast::<Header>().sub(1) };
        // SAFETY: the bytes in front of the block belong to nobody else; the write needs no alignment.
        unsafe { header.write_unaligned(Header { ledger, whole, layout }) };
        block
    }

    /// The header of a block that is given back with `layout`.
    ///
    /// # Safety
    /// The block was handed out by this allocator and is not freed.
    unsafe fn header(block: *mut u8, layout: Layout) -> Header {
        // SAFETY: there is a header in front of each block.
        let header = unsafe { block.cast::<Header>().sub(1) };
        // SAFETY: it was written when the block was handed out; the read needs no alignment.
        let header = unsafe { header.read_unaligned() };
        if header.layout != layout {
            header.ledger.wrong_layouts.fetch_add(1, Relaxed);
        }
        header
    }
}

// SAFETY: blocks are cut from memory of the system's, large and aligned enough for the header and the
// block; nothing here unwinds.
unsafe impl GlobalAlloc for Hostile {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = Self::cut(layout, |whole| {
            // SAFETY: with a header in it the size is not 0.
            unsafe { System.alloc(whole) }
        });
        if !block.is_null() {
            // SAFETY: the block is `layout.size()` bytes long.
            unsafe { block.write_bytes(DIRT, layout.size()) };
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LEDGER.get().taken_zeroed.fetch_add(1, Relaxed);
        Self::cut(layout, |whole| {
            // SAFETY: with a header in it the size is not 0.
            unsafe { System.alloc_zeroed(whole) }
        })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller says that the block is one of these.
        let header = unsafe { Self::header(block, layout) };
        header.ledger.freed.fetch_add(1, Relaxed);
        // SAFETY: that is how long the block is.
        unsafe { block.write_bytes(POISON, header.layout.size()) };
        // What is freed need not be written, unless somebody may look at it.
        black_box(block);
        let (whole, _) = Self::whole(header.layout).expect("the layout it was cut with");
        // SAFETY: the block was cut from that memory, which has this layout.
        unsafe { System.dealloc(header.whole, whole) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Ok(new_layout) = Layout::from_size_align(size, layout.align()) else {
            return std::ptr::null_mut();
        };
        // SAFETY: the caller says that the size is not 0.
        let new = unsafe { self.alloc(new_layout) };
        if !new.is_null() {
            // SAFETY: the caller says that the block is as long as its layout; the new one is another.
            unsafe { std::ptr::copy_nonoverlapping(block, new, layout.size().min(size)) };
            // SAFETY: the caller gives the block away.
            unsafe { self.dealloc(block, layout) };
        }
        new
    }
}

/// Runs `work` in a thread of its own, which writes to `ledger`. When this returns the thread has ended
/// and freed what it kept.
fn watched<T: Send + 'static>(
    name: &str,
    ledger: &'static Ledger,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let watched = move || {
        LEDGER.set(ledger);
        let result = work();
        LEDGER.set(&OTHERS);
        result
    };
    let thread = thread::Builder::new().name(name.to_owned()).spawn(watched);
    thread.expect("a thread").join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A ledger with nothing in it.
fn ledger() -> &'static Ledger {
    Box::leak(Box::new(Ledger::new()))
}

/// Fails unless all blocks came back with the layout they were handed out with.
fn settle(name: &str, ledger: &Ledger) {
    let wrong = ledger.wrong_layouts.load(Relaxed) + OTHERS.wrong_layouts.load(Relaxed);
    assert_eq!(wrong, 0, "{name}: blocks freed with a wrong layout");
    assert_eq!(ledger.taken.load(Relaxed), ledger.freed.load(Relaxed), "{name}: taken and freed");
}

/// A check of a strategy of this alignment, in a thread that writes to the ledger.
type Check = fn(usize, &Ledger);

/// A strategy, and the checks of the contract made for it.
struct Subject {
    name: String,
    align: usize,
    programs: Check,
    full: Check,
    full_put: Check,
    empty: Check,
    too_large: Check,
    pieces: Check,
}

impl Subject {
    fn of<B: Buffer>(name: &str, align: usize) -> Self {
        Self {
            name: format!("{name} at {align}"),
            align,
            programs: programs::<B>,
            full: full::<B>,
            full_put: full_put::<B>,
            empty: empty::<B>,
            too_large: too_large::<B>,
            pieces: pieces::<B>,
        }
    }
}

/// Makes the subject of a strategy at an alignment.
struct Named(Strategy, usize);

impl Visitor for Named {
    type Output = Subject;

    fn visit<B: Buffer + 'static>(self) -> Subject {
        Subject::of::<B>(self.0.name(), self.0.align(self.1))
    }
}

/// Every strategy, asked for alignment `A`.
fn at<const A: usize>() -> impl Iterator<Item = Subject> {
    Strategy::with_peers().map(|strategy| strategy.visit::<A, _>(Named(strategy, A)))
}

/// Makes one check for every strategy, at several alignments.
fn every_strategy(check: impl Fn(&Subject) -> Check) {
    let few = at::<1>().chain(at::<8>()).chain(at::<{ routine::ALIGN }>());
    let subjects: Vec<_> = few.chain(at::<64>()).chain(at::<4096>()).collect();
    let peers = if cfg!(feature = "peers") { 7 } else { 0 };
    assert_eq!(subjects.len(), 5 * (Strategy::ALL.len() + peers));
    for subject in &subjects {
        let (check, align, ledger) = (check(subject), subject.align, ledger());
        watched(&subject.name, ledger, move || check(align, ledger));
        settle(&subject.name, ledger);
    }
}

/// Numbers that look random and are the same each time (SplitMix64).
struct Dice(u64);

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

    /// A write or a fill.
    fn piece(&mut self, align: usize, source: &'static [u8]) -> Either<&'static [u8], Fill> {
        let len = self.size(align);
        match self.below(4) {
            0 => Either::B(Fill::zeros(len)),
            1 => Either::B(Fill { len, value: self.roll() as u8 }),
            _ => Either::A(&source[self.below(source.len() - len + 1)..][..len]),
        }
    }
}

/// The bytes of a write or a fill.
fn bytes_of(piece: &Either<&[u8], Fill>) -> Vec<u8> {
    match *piece {
        Either::A(bytes) => bytes.to_vec(),
        Either::B(Fill { len, value }) => vec![value; len],
    }
}

/// 8 KiB in which no byte is 0, [`DIRT`] or [`POISON`].
static SOURCE: [u8; 8192] = {
    let mut source = [0; 8192];
    let mut i = 0;
    while i < source.len() {
        source[i] = 1 + (i % 83) as u8;
        i += 1;
    }
    source
};

#[track_caller]
fn assert_holds(buffer: &impl Buffer, align: usize, bytes: &[u8]) {
    let slice = buffer.as_slice();
    assert_eq!(slice.as_ptr().addr() % align, 0, "address of {} bytes", bytes.len());
    assert_eq!(slice.len(), bytes.len());
    if slice != bytes {
        let wrong = slice.iter().zip(bytes).position(|(a, b)| a != b);
        panic!("the first wrong byte of {} is at {wrong:?}", bytes.len());
    }
}

#[test]
fn every_program_leaves_the_bytes_of_the_model() {
    every_strategy(|subject| subject.programs);
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

#[test]
fn beyond_the_capacity_a_buffer_is_full_at_every_level() {
    every_strategy(|subject| subject.full);
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

#[test]
fn pieces_that_do_not_fit_leave_at_most_leading_ones() {
    every_strategy(|subject| subject.full_put);
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

#[test]
fn without_capacity_the_allocator_is_not_called() {
    every_strategy(|subject| subject.empty);
}

fn empty<B: Buffer>(align: usize, ledger: &Ledger) {
    let before = ledger.calls();
    let mut buffer = B::try_with_capacity(0).unwrap();
    assert_holds(&buffer, align, b"");
    assert_eq!(buffer.write(b"x"), Err(Full));
    assert_eq!(buffer.fill(1, 0), Err(Full));
    assert_eq!(buffer.fill(usize::MAX, 1), Err(Full));
    assert_eq!(buffer.put((7u64, true)), Err(Full));
    assert_eq!(buffer.write(b""), Ok(()));
    assert_eq!(buffer.fill(0, 0), Ok(()));
    assert_eq!(buffer.fill(0, 1), Ok(()));
    assert_eq!(buffer.put(([], Fill::zeros(0))), Ok(()));
    assert_holds(&buffer, align, b"");
    drop(buffer);
    // The errors of the safe writes are those of `std::io`, which are boxed.
    if !std::any::type_name::<B>().contains("::ByWrite<") {
        assert_eq!(ledger.calls(), before);
    }
}

/// Capacities that no allocation can have at this alignment, from the smallest on.
fn too_large_at(align: usize) -> impl Iterator<Item = usize> {
    let max = isize::MAX as usize;
    let smallest = max - (align - 1) + 1;
    // At alignment 1 the largest sizes are valid: to ask for them would end the program.
    [smallest, max - 1, max, max + 1, usize::MAX - align, usize::MAX - 1, usize::MAX]
        .into_iter()
        .filter(move |&capacity| capacity >= smallest)
}

#[test]
fn impossible_capacities_are_errors() {
    every_strategy(|subject| subject.too_large);
}

fn too_large<B: Buffer>(align: usize, ledger: &Ledger) {
    let before = ledger.calls();
    for capacity in too_large_at(align) {
        let error = B::try_with_capacity(capacity).err().expect("an error");
        assert_eq!(error.capacity, capacity);
        assert!(error.align >= align, "alignment {}", error.align);
    }
    assert_eq!(ledger.calls(), before);
    // Nothing is broken by it.
    let mut buffer = B::try_with_capacity(3).unwrap();
    buffer.write(b"abc").unwrap();
    assert!(B::try_with_capacity(usize::MAX).is_err());
    assert_holds(&buffer, align, b"abc");
}

/// One piece of every kind, and their bytes.
fn every_kind() -> (impl Pieces, Vec<u8>) {
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

#[test]
fn pieces_of_every_kind_are_written_in_order() {
    every_strategy(|subject| subject.pieces);
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

#[test]
fn each_alternative_is_written() {
    let mut buffer = AlignedMemory::<16>::with_capacity(3);
    for piece in [Either::A([1u8, 2]), Either::B(3u8)] {
        Buffer::put(&mut buffer, piece).unwrap();
    }
    assert_eq!(buffer.as_slice(), [1, 2, 3]);
}

/// Builds plans at alignment `A` and compares them with the model.
fn plans<const A: usize>(_: &Ledger) {
    for seed in 0..32 {
        let mut dice = Dice(seed);
        let group: Vec<_> = (0..seed).map(|_| dice.piece(A, &SOURCE)).collect();
        let bytes = group.iter().map(bytes_of).collect::<Vec<_>>().concat();
        let plan = Plan::new(Each(group)).unwrap();
        assert_eq!((plan.len(), plan.is_empty()), (bytes.len(), bytes.is_empty()));
        for _ in 0..2 {
            let mut floor = Floor::<A>::build(&plan).unwrap();
            assert_holds(&floor, A, &bytes);
            assert_eq!(floor.write(b"x"), Err(Full));
            assert_eq!(floor.fill(usize::MAX, 0), Err(Full));
        }
    }
    let (pieces, bytes) = every_kind();
    assert_holds(&Floor::<A>::build(&Plan::new(pieces).unwrap()).unwrap(), A, &bytes);
}

#[test]
fn a_built_plan_has_the_bytes_of_the_model() {
    for (align, check) in [
        (1, plans::<1> as fn(&Ledger)),
        (16, plans::<16>),
        (64, plans::<64>),
        (4096, plans::<4096>),
    ] {
        let (name, ledger) = (format!("plan at {align}"), ledger());
        watched(&name, ledger, move || check(ledger));
        settle(&name, ledger);
    }
}

#[test]
fn a_plan_that_no_allocation_can_hold_is_an_error() {
    let beyond = |pieces: (Fill, Fill)| Plan::new(pieces).unwrap_err().capacity;
    assert_eq!(beyond((Fill::zeros(usize::MAX), Fill::zeros(usize::MAX))), usize::MAX);
    assert_eq!(beyond((Fill::zeros(isize::MAX as usize), Fill::zeros(1))), 1 << 63);
    // A byte string can be that long, but not at alignment 16.
    let plan = Plan::new(Fill::zeros(isize::MAX as usize)).unwrap();
    let error = Floor::<16>::build(&plan).err();
    assert_eq!(error, Some(CapacityError { capacity: isize::MAX as usize, align: 16 }));
}

/// What a way to get zeros promises.
fn zeros<Z: Zeros>(align: usize, ledger: &Ledger) {
    let before = ledger.calls();
    let mut none = Z::try_zeros(0).unwrap();
    assert_eq!(none.as_slice_mut().len(), 0);
    assert_eq!(none.as_slice_mut().as_ptr().addr() % align, 0);
    drop(none);
    for len in too_large_at(align) {
        assert_eq!(Z::try_zeros(len).err(), Some(CapacityError { capacity: len, align }));
    }
    assert_eq!(ledger.calls(), before);

    for len in [1, 7, align, align + 1, 2 * align - 1, 4095, 4096, 4097, 100_000] {
        // The second one may get the memory that the first one has made dirty.
        for _ in 0..2 {
            let mut zeros = Z::try_zeros(len).unwrap();
            let bytes = zeros.as_slice_mut();
            assert_eq!(bytes.len(), len);
            assert_eq!(bytes.as_ptr().addr() % align, 0, "address of {len} bytes");
            assert_eq!(bytes.iter().position(|&byte| byte != 0), None, "not 0, of {len} bytes");
            bytes.fill(0xff);
            assert!(zeros.as_slice_mut().iter().all(|&byte| byte == 0xff));
        }
    }
}

#[test]
fn every_way_to_get_zeros_gets_zeros() {
    let ways: [(&str, usize, Check); 8] = [
        ("alloc_zeroed at 1", 1, zeros::<AllocZeroed<1>>),
        ("alloc_zeroed at 16", 16, zeros::<AllocZeroed<16>>),
        ("alloc_zeroed at 64", 64, zeros::<AllocZeroed<64>>),
        ("alloc_memset at 1", 1, zeros::<AllocMemset<1>>),
        ("alloc_memset at 16", 16, zeros::<AllocMemset<16>>),
        ("alloc_memset at 64", 64, zeros::<AllocMemset<64>>),
        ("vec_zeroed", 1, zeros::<VecZeroed>),
        ("vec_resize", 1, zeros::<VecResize>),
    ];
    for (name, align, check) in ways {
        let ledger = ledger();
        watched(name, ledger, move || check(align, ledger));
        settle(name, ledger);
    }
}

/// What `work` asks of the allocator: blocks, those of them zeroed, size and alignment of the last one.
fn asked(work: impl FnOnce() + Send + 'static) -> (usize, usize, (usize, usize)) {
    let ledger = ledger();
    watched("asked", ledger, work);
    settle("asked", ledger);
    (ledger.taken.load(Relaxed), ledger.taken_zeroed.load(Relaxed), ledger.last())
}

/// Fills a buffer of 1,000 bytes by 1,000 writes.
fn filled<B: Buffer>() {
    let mut buffer = B::try_with_capacity(1000).unwrap();
    (0..1000).for_each(|_| buffer.write(b"x").unwrap());
}

#[test]
fn memory_is_asked_for_as_each_strategy_says() {
    assert_eq!(asked(filled::<Zeroed<16>>), (1, 1, (1016, 1)));
    assert_eq!(asked(filled::<Memset<16>>), (1, 0, (1000, 16)));
    assert_eq!(asked(filled::<Uninit<16>>), (1, 0, (1016, 1)));
    assert_eq!(asked(filled::<ZeroedSkip<16>>), (1, 1, (1000, 16)));
    assert_eq!(asked(filled::<AlignedMemory<16>>), (1, 0, (1000, 16)));
    assert_eq!(asked(filled::<Growing<16>>), (2, 0, (1000, 16)));
    assert_eq!(asked(filled::<Pooled<16>>), (1, 0, (1000, 4096)));
    let floor = || drop(Floor::<16>::build(&Plan::new(Fill::zeros(1000)).unwrap()).unwrap());
    assert_eq!(asked(floor), (1, 0, (1000, 16)));

    assert_eq!(asked(|| drop(AllocZeroed::<64>::try_zeros(1000))), (1, 1, (1000, 64)));
    assert_eq!(asked(|| drop(AllocMemset::<64>::try_zeros(1000))), (1, 0, (1000, 64)));
    assert_eq!(asked(|| drop(VecZeroed::try_zeros(1000))), (1, 1, (1000, 1)));
}

#[test]
#[cfg(feature = "peers")]
fn memory_is_asked_for_as_each_peer_says() {
    use writeonce::buffer::peers::{
        AVecPeer, BytesMutPeer, RkyvPeer, SbpfPeer, SbpfWritePeer, VecPeer,
    };

    assert_eq!(asked(filled::<VecPeer>), (1, 0, (1000, 1)));
    assert_eq!(asked(filled::<BytesMutPeer>), (1, 0, (1000, 1)));
    assert_eq!(asked(filled::<AVecPeer<64>>), (1, 0, (1000, 64)));
    assert_eq!(asked(filled::<RkyvPeer<64>>), (1, 0, (1000, 64)));
    assert_eq!(asked(filled::<SbpfPeer<64>>), (1, 0, (1000, 64)));
    assert_eq!(asked(filled::<SbpfWritePeer<64>>), (1, 0, (1000, 64)));
}

#[test]
fn a_growing_buffer_doubles() {
    let grown = |capacity: usize, writes: &'static [usize]| {
        asked(move || {
            let mut buffer = Growing::<8>::try_with_capacity(capacity).unwrap();
            writes.iter().for_each(|&len| buffer.write(&SOURCE[..len]).unwrap());
            assert_eq!(buffer.as_slice().len(), writes.iter().sum::<usize>());
        })
    };
    assert_eq!(grown(1000, &[500]), (1, 0, (500, 8)));
    assert_eq!(grown(1000, &[501]), (2, 0, (1000, 8)));
    assert_eq!(grown(1000, &[500, 1, 499]), (2, 0, (1000, 8)));
    // Doubled it falls short by a byte, and would be too large if it were doubled again.
    assert_eq!(grown(1001, &[1000]), (2, 0, (1000, 8)));
    assert_eq!(grown(1001, &[1000, 1]), (3, 0, (1001, 8)));
    assert_eq!(grown(1001, &[1001]), (2, 0, (1001, 8)));
    assert_eq!(grown(1, &[1]), (1, 0, (1, 8)));
}

#[test]
fn pooled_buffers_alive_at_once_are_independent() {
    let ledger = ledger();
    watched("pooled", ledger, || {
        let mut buffers = [(); 3].map(|()| Pooled::<16>::try_with_capacity(100).unwrap());
        for (value, buffer) in (1..).zip(&mut buffers) {
            buffer.fill(100, value).unwrap();
        }
        for (value, buffer) in (1..).zip(&buffers) {
            assert_holds(buffer, 16, &[value; 100]);
        }
    });
    settle("pooled", ledger);
}

#[test]
fn a_pooled_buffer_takes_the_block_of_the_one_before() {
    let ledger = ledger();
    watched("pooled", ledger, || {
        let mut first = Pooled::<16>::try_with_capacity(100).unwrap();
        first.write(&SOURCE[..100]).unwrap();
        drop(first);
        let before = ledger.calls();
        for capacity in [100, 99, 0, 1] {
            let mut next = Pooled::<64>::try_with_capacity(capacity).unwrap();
            assert_holds(&next, 64, b"");
            next.fill(capacity, 7).unwrap();
            assert_eq!(next.write(b"x"), Err(Full));
            assert_holds(&next, 64, &[7; 100][..capacity]);
        }
        assert_eq!(ledger.calls(), before);
        // Too small a block is replaced by a larger one, and the larger one is kept.
        drop(Pooled::<16>::try_with_capacity(101).unwrap());
        assert_eq!((ledger.calls(), ledger.last()), (before + 2, (101, 4096)));
        let both = [50, 10].map(|capacity| Pooled::<16>::try_with_capacity(capacity).unwrap());
        assert_eq!((ledger.calls(), ledger.last()), (before + 3, (10, 4096)));
        drop(both);
        drop(Pooled::<16>::try_with_capacity(101).unwrap());
        assert_eq!(ledger.calls(), before + 4);
    });
    settle("pooled", ledger);
}

#[test]
fn a_pooled_buffer_can_be_dropped_by_another_thread() {
    let ledger = ledger();
    let buffer = watched("maker", ledger, || {
        let mut buffer = Pooled::<16>::try_with_capacity(100).unwrap();
        buffer.write(b"abc").unwrap();
        buffer
    });
    assert_eq!(ledger.taken.load(Relaxed) - ledger.freed.load(Relaxed), 1);
    watched("dropper", ledger, move || {
        assert_holds(&buffer, 16, b"abc");
        drop(buffer);
        let before = ledger.calls();
        drop(Pooled::<16>::try_with_capacity(100).unwrap());
        assert_eq!(ledger.calls(), before, "the block is in the pool of the thread now");
    });
    settle("pooled", ledger);
}

#[test]
fn a_pooled_buffer_outlives_the_pool_of_its_thread() {
    thread_local! {
        static KEPT: RefCell<Option<Late>> = const { RefCell::new(None) };
    }
    struct Late(Pooled<16>);
    impl Drop for Late {
        fn drop(&mut self) {
            assert_holds(&self.0, 16, b"abc");
            let mut another = Pooled::<16>::try_with_capacity(1).unwrap();
            another.write(b"x").unwrap();
            assert_holds(&another, 16, b"x");
        }
    }
    let ledger = ledger();
    watched("pooled", ledger, || {
        // The first to be used is the last to be dropped.
        KEPT.set(None);
        let mut buffer = Pooled::<16>::try_with_capacity(3).unwrap();
        buffer.write(b"abc").unwrap();
        KEPT.set(Some(Late(buffer)));
    });
    settle("pooled", ledger);
}

// The allocator itself: without these, a check above may pass because nothing is checked.

#[test]
fn hostile_memory_is_dirty_and_aligned_to_no_more_than_asked() {
    for align in [1, 2, 8, 16, 64, 4096] {
        for size in [1, 15, 16, 100, 5000] {
            let layout = Layout::from_size_align(size, align).unwrap();
            // SAFETY: the size is not 0.
            let block = unsafe { HOSTILE.alloc(layout) };
            assert_eq!(block.addr() % (2 * align), align);
            // SAFETY: the allocator has written all of the block.
            let bytes = unsafe { std::slice::from_raw_parts(block, size) };
            assert!(bytes.iter().all(|&byte| byte == DIRT));
            // SAFETY: all of it is the block's.
            unsafe { block.write_bytes(1, size) };
            // SAFETY: the block is live, its layout is that, and the new size is not 0.
            let moved = unsafe { HOSTILE.realloc(block, layout, size + 3) };
            assert_ne!(moved, block);
            assert_eq!(moved.addr() % (2 * align), align);
            // SAFETY: what was not copied has been written by the allocator.
            let bytes = unsafe { std::slice::from_raw_parts(moved, size + 3) };
            assert!(bytes.starts_with(&vec![1; size]) && bytes.ends_with(&[DIRT; 3]));
            let layout = Layout::from_size_align(size + 3, align).unwrap();
            // SAFETY: the block is live and its layout is that.
            unsafe { HOSTILE.dealloc(moved, layout) };

            // SAFETY: the size is not 0.
            let block = unsafe { HOSTILE.alloc_zeroed(layout) };
            assert_eq!(block.addr() % (2 * align), align);
            // SAFETY: the allocator has zeroed all of the block.
            let bytes = unsafe { std::slice::from_raw_parts(block, layout.size()) };
            assert!(bytes.iter().all(|&byte| byte == 0));
            // SAFETY: the block is live and its layout is that.
            unsafe { HOSTILE.dealloc(block, layout) };
        }
    }
}

#[test]
fn ledger_sees_wrong_layouts_and_leaks() {
    let ledger = ledger();
    watched("wrong", ledger, || {
        let right = Layout::from_size_align(24, 8).unwrap();
        let wrong = [Layout::from_size_align(24, 16), Layout::from_size_align(23, 8)];
        for layout in wrong.map(Result::unwrap) {
            // SAFETY: the size is not 0.
            let block = unsafe { HOSTILE.alloc(right) };
            // SAFETY: the block is live; of the layout, the allocator believes nothing.
            unsafe { HOSTILE.dealloc(block, layout) };
        }
        // SAFETY: the size is not 0.
        let block = unsafe { HOSTILE.alloc(right) };
        let shorter = Layout::from_size_align(20, 8).unwrap();
        // SAFETY: the block is live; a layout that is shorter lets less be copied.
        let block = unsafe { HOSTILE.realloc(block, shorter, 32) };
        let grown = Layout::from_size_align(32, 8).unwrap();
        // SAFETY: the block is live and its layout is that.
        unsafe { HOSTILE.dealloc(block, grown) };
    });
    assert_eq!(ledger.wrong_layouts.load(Relaxed), 3);
    assert_eq!((ledger.taken.load(Relaxed), ledger.freed.load(Relaxed)), (4, 4));

    watched("leak", ledger, || std::mem::forget(vec![1u8; 3]));
    assert_eq!((ledger.taken.load(Relaxed), ledger.freed.load(Relaxed)), (5, 4));
}
