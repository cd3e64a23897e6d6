//! The blocks that are alive, and which of their bytes were zeroed where.
//!
//! Blocks are found by any address in them: a radix table leads from a granule of addresses to the block that covers
//! its first byte, and to the list of the blocks that begin in it.

use core::ptr::null_mut;

use crate::account::{self, Site};
use crate::format::{GARBAGE, RAGGED, RANGES, header, site};
use crate::plan;
use crate::request;
use crate::system;
use crate::unwind::Trace;

/// Items by number, in pages that never move; 0 is none.
struct Pool<T> {
    chunks: [*mut T; CHUNKS],
    used: u32,
    free: u32,
}

const CHUNKS: usize = 1 << 14;
const CHUNK: usize = 1 << 12;

trait Item: Copy {
    /// The link of the list of free items.
    fn next(&mut self) -> &mut u32;
}

impl<T: Item> Pool<T> {
    const fn new() -> Self {
        Self { chunks: [null_mut(); CHUNKS], used: 1, free: 0 }
    }

    fn at(&mut self, item: u32) -> &mut T {
        // SAFETY: items that were handed out lie in chunks that were mapped.
        unsafe { &mut *self.chunks[item as usize / CHUNK].add(item as usize % CHUNK) }
    }

    /// A new item; 0 if there is no more memory.
    fn put(&mut self, value: T) -> u32 {
        let mut item = self.free;
        if item != 0 {
            self.free = *self.at(item).next();
        } else {
            item = self.used;
            let Some(chunk) = self.chunks.get_mut(item as usize / CHUNK) else { return 0 };
            if chunk.is_null() {
                *chunk = system::pages(CHUNK * size_of::<T>()).cast();
                if chunk.is_null() {
                    return 0;
                }
            }
            self.used += 1;
        }
        *self.at(item) = value;
        item
    }

    fn give_back(&mut self, item: u32) {
        let free = self.free;
        *self.at(item).next() = free;
        self.free = item;
    }
}

#[derive(Clone, Copy)]
struct Block {
    /// 0 for a block that is not alive.
    start: usize,
    end: usize,
    /// The next block that begins in the same granule.
    next: u32,
    /// The first of its regions, in order of address.
    regions: u32,
}

/// Bytes of one zeroing that were marked and nothing has happened to as a whole.
#[derive(Clone, Copy)]
struct Region {
    start: usize,
    end: usize,
    /// Where the zeroing began, moved along with the block, and its length.
    origin: usize,
    length: usize,
    ordinal: u64,
    site: Site,
    next: u32,
    /// Ranges of this region that were logged.
    ranges: u32,
}

impl Item for Block {
    fn next(&mut self) -> &mut u32 {
        &mut self.next
    }
}

impl Item for Region {
    fn next(&mut self) -> &mut u32 {
        &mut self.next
    }
}

/// What is known of a granule.
#[derive(Clone, Copy)]
struct Granule {
    /// The block that covers its first byte.
    cover: u32,
    /// The first block that begins in it.
    first: u32,
}

const GRANULE: usize = 1 << 10;
/// User addresses of x86-64 have 47 bits: three levels of 13, 12 and 12 above the granule.
const ADDRESS_BITS: u32 = 47;
const TOP: usize = 1 << 13;
const LEVEL: usize = 1 << 12;

struct State {
    blocks: Pool<Block>,
    regions: Pool<Region>,
    top: [*mut [*mut Granule; LEVEL]; TOP],
    bits: [u8; 1 << 14],
}

static mut STATE: State =
    State { blocks: Pool::new(), regions: Pool::new(), top: [null_mut(); TOP], bits: [0; 1 << 14] };

/// The one state; the caller holds the lock.
fn state() -> &'static mut State {
    let state = &raw mut STATE;
    // SAFETY: the lock is held by whoever calls the functions of this module.
    unsafe { &mut *state }
}

impl State {
    /// The granule of an address; none if there is no memory for it or, unless `make`, nothing is known of it.
    fn granule(&mut self, address: usize, make: bool) -> Option<&'static mut Granule> {
        if address >> ADDRESS_BITS != 0 {
            return None;
        }
        let index = address / GRANULE;
        let middle = &mut self.top[index / LEVEL / LEVEL];
        if middle.is_null() {
            if !make {
                return None;
            }
            *middle = system::pages(size_of::<[*mut Granule; LEVEL]>()).cast();
            if middle.is_null() {
                return None;
            }
        }
        // SAFETY: mapped above, or before.
        let low = unsafe { &mut (**middle)[index / LEVEL % LEVEL] };
        if low.is_null() {
            if !make {
                return None;
            }
            *low = system::pages(LEVEL * size_of::<Granule>()).cast();
            if low.is_null() {
                return None;
            }
        }
        // SAFETY: mapped above, or before, with that many granules.
        Some(unsafe { &mut *low.add(index % LEVEL) })
    }

    /// The granules whose first byte a block covers.
    fn covered(start: usize, end: usize) -> impl Iterator<Item = usize> {
        (start / GRANULE + 1..end.div_ceil(GRANULE)).map(|index| index * GRANULE)
    }

    fn find(&mut self, address: usize) -> u32 {
        let Some(&mut granule) = self.granule(address, false) else { return 0 };
        let mut item = granule.first;
        while item != 0 {
            let block = self.blocks.at(item);
            if (block.start..block.end).contains(&address) {
                return item;
            }
            item = block.next;
        }
        if granule.cover != 0 && address < self.blocks.at(granule.cover).end {
            granule.cover
        } else {
            0
        }
    }

    fn insert(&mut self, start: usize, end: usize, regions: u32) {
        let Some(granule) = self.granule(start, true) else { return };
        let item = self.blocks.put(Block { start, end, next: granule.first, regions });
        if item == 0 {
            return;
        }
        granule.first = item;
        for address in Self::covered(start, end) {
            if let Some(granule) = self.granule(address, true) {
                granule.cover = item;
            }
        }
    }

    /// Takes a block out that begins at `start`.
    fn remove(&mut self, start: usize) -> Option<Block> {
        let granule = self.granule(start, false)?;
        let (mut item, mut before) = (granule.first, 0);
        while item != 0 {
            let block = *self.blocks.at(item);
            if block.start != start {
                (item, before) = (block.next, item);
                continue;
            }
            if before == 0 {
                granule.first = block.next;
            } else {
                self.blocks.at(before).next = block.next;
            }
            for address in Self::covered(block.start, block.end) {
                if let Some(granule) = self.granule(address, false) {
                    granule.cover = 0;
                }
            }
            self.blocks.at(item).start = 0;
            self.blocks.give_back(item);
            return Some(block);
        }
        None
    }

    /// Asks memcheck what became of a region.
    fn settle(&mut self, region: &mut Region) {
        let (mut at, mut kept) = (region.start, 0);
        // The kept range that is still growing.
        let mut range: Option<(usize, usize)> = None;
        while at < region.end {
            let bits = &mut self.bits[..(region.end - at).min(1 << 14)];
            if !request::v_bits(at, bits) {
                region.site.add(site::LOST, bits.len() as u64);
                region.site.add(site::OVERWRITTEN, 0u64.wrapping_sub(bits.len() as u64));
                at += bits.len();
                continue;
            }
            let mut index = 0;
            while index < bits.len() {
                let defined = bits[index..].iter().take_while(|&&bits| bits == 0).count();
                index += defined;
                if defined > 0
                    && let Some(range) = range.take()
                {
                    region.log(range);
                }
                let undefined = bits[index..].iter().take_while(|&&bits| bits != 0).count();
                if undefined > 0 {
                    range.get_or_insert((at + index, at + index)).1 = at + index + undefined;
                    kept += undefined as u64;
                    index += undefined;
                }
            }
            at += bits.len();
        }
        if let Some(range) = range {
            region.log(range);
        }
        region.site.add(site::KEPT, kept);
        region.site.add(site::OVERWRITTEN, (region.end - region.start) as u64 - kept);
    }

    /// Settles the regions of a list and gives them back.
    fn settle_all(&mut self, mut item: u32) {
        while item != 0 {
            let mut region = *self.regions.at(item);
            self.settle(&mut region);
            self.regions.give_back(item);
            item = region.next;
        }
    }

    /// Cuts what lies in `start..end` out of the regions of `list`; they are zeroed again there, which overwrites them.
    fn zeroed_again(&mut self, list: u32, start: usize, end: usize) -> u32 {
        let (mut first, mut before, mut item) = (list, 0, list);
        while item != 0 {
            let region = *self.regions.at(item);
            let (low, high) = (region.start.max(start), region.end.min(end));
            if region.start >= end {
                break;
            }
            let mut follower = region.next;
            if low < high {
                region.site.add(site::OVERWRITTEN, (high - low) as u64);
                if high < region.end {
                    let rest = Region { start: high, ranges: 0, ..region };
                    let rest_item = self.regions.put(rest);
                    if rest_item == 0 {
                        region.site.add(site::LOST, (region.end - high) as u64);
                    } else {
                        follower = rest_item;
                    }
                }
                if region.start < low {
                    let head = self.regions.at(item);
                    head.end = low;
                    head.next = follower;
                    before = item;
                } else {
                    self.regions.give_back(item);
                    if before == 0 {
                        first = follower
                    } else {
                        self.regions.at(before).next = follower
                    }
                }
            } else {
                before = item;
            }
            item = follower;
        }
        first
    }

    /// Puts a region into a list in its order, of which nothing overlaps it.
    fn add_region(&mut self, list: u32, region: Region) -> u32 {
        let (mut before, mut after) = (0, list);
        while after != 0 && self.regions.at(after).start < region.start {
            (before, after) = (after, self.regions.at(after).next);
        }
        let item = self.regions.put(Region { next: after, ..region });
        if item == 0 {
            region.site.add(site::LOST, (region.end - region.start) as u64);
            return list;
        }
        if before == 0 {
            return item;
        }
        self.regions.at(before).next = item;
        list
    }
}

impl Region {
    fn log(&mut self, (start, end): (usize, usize)) {
        self.ranges += 1;
        let (start, length) = match self.ranges {
            ..RANGES => ((start - self.origin) as u64, (end - start) as u64),
            RANGES => (RAGGED, 0),
            _ => return,
        };
        account::log([self.site.key(), self.ordinal, self.length as u64, start, length]);
    }
}

/// A block has been allocated.
pub(crate) fn allocated(start: usize, bytes: usize) {
    state().insert(start, start + bytes, 0);
}

/// A block is about to be freed.
pub(crate) fn freed(start: usize) {
    let state = state();
    if let Some(block) = state.remove(start) {
        state.settle_all(block.regions);
        spare_reports();
    }
}

/// Whether `length` bytes from `start` lie in one block that is known.
pub(crate) fn hold(start: usize, length: usize) -> bool {
    let state = state();
    let item = state.find(start);
    item != 0 && start + length <= state.blocks.at(item).end
}

/// What memcheck knew of some bytes.
pub(crate) struct Remembered {
    start: usize,
    bits: &'static mut [u8],
}

/// Remembers what memcheck knows of bytes that may be marked, if there are any.
pub(crate) fn remember(start: usize, length: usize) -> Option<Remembered> {
    let state = state();
    let item = state.find(start);
    if item == 0 || state.blocks.at(item).regions == 0 || start + length > state.blocks.at(item).end
    {
        return None;
    }
    let pages = system::pages(length);
    if pages.is_null() {
        return None;
    }
    // SAFETY: new pages of that many bytes, given back when this is used up.
    let bits = unsafe { core::slice::from_raw_parts_mut(pages, length) };
    request::v_bits(start, bits).then_some(Remembered { start, bits })
}

impl Remembered {
    /// Makes it hold again from byte `first` on.
    pub(crate) fn restore(self, first: usize) {
        if let Some(bits) = self.bits.get(first..) {
            // SAFETY: the caller of the library gave this buffer to be written.
            unsafe { request::set_v_bits(self.start + first, bits) };
        }
        // SAFETY: the pages are these, and nothing refers to them any more.
        unsafe { system::unmap(self.bits.as_mut_ptr().cast(), self.bits.len()) };
    }
}

/// Reports after which memcheck is asked to stop: all that counts is that there are some, and what the first say.
const REPORTS: usize = 20_000;

/// Stops the reports if there are very many.
fn spare_reports() {
    if request::reports() > REPORTS {
        request::stop_reports();
    }
}

/// A block that is being reallocated.
pub(crate) struct Moving(Block);

/// A block is about to be reallocated to `bytes`: what is cut off ends here.
pub(crate) fn about_to_move(start: usize, bytes: usize) -> Option<Moving> {
    let state = state();
    let block = state.remove(start)?;
    Some(Moving(block)).inspect(|_| {
        let cut = start + bytes;
        let mut item = block.regions;
        while item != 0 {
            let region = *state.regions.at(item);
            if region.end > cut {
                let mut tail = Region { start: region.start.max(cut), ..region };
                state.settle(&mut tail);
                let kept = state.regions.at(item);
                kept.end = kept.end.min(cut).max(kept.start);
            }
            item = region.next;
        }
    })
}

/// A block has been reallocated, from `moving` to `bytes` at `start`.
pub(crate) fn moved(moving: Option<Moving>, start: usize, bytes: usize) {
    let state = state();
    let mut regions = 0;
    if let Some(Moving(block)) = moving {
        regions = block.regions;
        let mut item = regions;
        while item != 0 {
            let region = state.regions.at(item);
            let shift = |address: usize| address.wrapping_sub(block.start).wrapping_add(start);
            (region.start, region.end, region.origin) =
                (shift(region.start), shift(region.end), shift(region.origin));
            item = region.next;
        }
    }
    state.insert(start, start + bytes, regions);
}

/// A reallocation has failed: the block is where it was. What was cut off is not followed any more.
pub(crate) fn stayed(moving: Option<Moving>) {
    if let Some(Moving(block)) = moving {
        state().insert(block.start, block.end, block.regions);
    }
}

/// Bytes of a block that is known have been zeroed.
pub(crate) fn zeroed(start: usize, length: usize, trace: &Trace, kind: u64) {
    let state = state();
    let item = state.find(start);
    if item == 0 {
        return;
    }
    let end = start + length;
    let regions = state.blocks.at(item).regions;
    let regions = state.zeroed_again(regions, start, end);
    state.blocks.at(item).regions = regions;
    let Some(site) = Site::of(trace, kind) else {
        account::note(header::LEFT_OUT, 1);
        return;
    };
    let ordinal = site.add(site::CALLS, 1);
    spare_reports();
    site.add(site::ZEROED, length as u64);
    if !plan::chooses(site.key()) {
        return;
    }
    let ranges = match plan::mask(site.key(), ordinal) {
        None => &[][..],
        Some(mask) if mask.length == length as u64 && mask.count > 0 => plan::ranges(mask),
        Some(mask) => {
            site.add(site::CHANGED, u64::from(mask.count > 0));
            return;
        }
    };
    let mut at = start;
    let whole = [length as u64, 0];
    for &[offset, kept] in ranges.iter().chain([&whole]) {
        let until = start + offset as usize;
        if at < until {
            mark(at, until);
            site.add(site::MARKED, (until - at) as u64);
            let region = Region {
                start: at,
                end: until,
                origin: start,
                length,
                ordinal,
                site,
                next: 0,
                ranges: 0,
            };
            let regions = state.blocks.at(item).regions;
            let regions = state.add_region(regions, region);
            state.blocks.at(item).regions = regions;
        }
        at = until + kept as usize;
    }
}

fn mark(start: usize, end: usize) {
    if plan::garbage() {
        // SAFETY: the bytes lie in a block that is alive and have just been zeroed for its owner.
        unsafe { crate::set(start as *mut u8, GARBAGE.into(), end - start) };
    } else {
        // SAFETY: as above.
        unsafe { request::make_undefined(start, end - start) };
    }
}

/// Settles what is alive: the process is about to end.
pub(crate) fn settle_living() {
    let state = state();
    for item in 1..state.blocks.used {
        let block = *state.blocks.at(item);
        if block.start != 0 && block.regions != 0 {
            state.settle_all(block.regions);
            state.blocks.at(item).regions = 0;
        }
    }
    account::flush();
}

/// Forgets what was zeroed so far: it is the parent's to account for.
pub(crate) fn forget_regions() {
    let state = state();
    for item in 1..state.blocks.used {
        let mut region = state.blocks.at(item).regions;
        state.blocks.at(item).regions = 0;
        while region != 0 {
            let next = state.regions.at(region).next;
            state.regions.give_back(region);
            region = next;
        }
    }
}
