//! Walks the stack by the call frame information that the compiler leaves in `.eh_frame` (DWARF 5, section 6.4; the
//! Linux Standard Base, "Exception Frames").
//!
//! What has to be done at an address to come to its caller is worked out once and remembered, so that a walk costs some
//! twenty instructions a frame. Of the registers, the stack pointer and the frame pointer are followed; a frame that is
//! found by another one ends the walk.

use core::arch::asm;
use core::ffi::{c_char, c_int, c_void};

use crate::account;
use crate::format::FRAMES;
use crate::system;

/// Where the zeroed memory was asked for: return addresses, the innermost first, and their hash.
pub(crate) struct Trace {
    pub(crate) addresses: [u64; FRAMES],
    pub(crate) length: usize,
    /// The same for the same stack in another run, wherever the modules lie.
    pub(crate) key: u64,
    /// It is the C library or the loader that zeroes, for itself.
    pub(crate) by_system: bool,
}

/// How to come from an address to its caller.
#[derive(Clone, Copy)]
struct Rule {
    /// The address itself; 0 for an empty entry.
    address: u64,
    /// Hash of the address relative to its module.
    relative: u64,
    row: Row,
    whose: Whose,
}

/// Whose code an address is in.
#[derive(Clone, Copy, PartialEq)]
enum Whose {
    Program,
    /// The C library or the loader.
    System,
    /// This library.
    Ours,
}

#[derive(Clone, Copy, PartialEq)]
enum Base {
    StackPointer,
    FramePointer,
    /// The word at frame pointer + offset: functions that align their stack.
    AtFramePointer,
    /// The walk ends here.
    None,
}

#[derive(Clone, Copy, PartialEq)]
enum Saved {
    Same,
    /// Saved at the canonical frame address + this.
    AtFrame(i32),
    /// Saved at the frame pointer + this.
    AtFramePointer(i32),
}

const RULES: usize = 1 << 15;

/// The rules that are known: a cache, in which each entry is found at its place or the one after.
static mut KNOWN: *mut Rule = core::ptr::null_mut();

/// Forgets all rules: a module may have gone, and its addresses may come back as another's.
pub(crate) fn forget() {
    let _lock = account::lock_rules();
    for index in 0..RULES {
        // SAFETY: the table has that many entries, and the lock is held.
        unsafe {
            if !KNOWN.is_null() {
                (*KNOWN.add(index)).address = 0;
            }
        }
    }
}

fn known(address: u64) -> Option<Rule> {
    let _lock = account::lock_rules();
    // SAFETY: the table has RULES entries, and the lock is held.
    unsafe {
        if KNOWN.is_null() {
            return None;
        }
        let rule = *KNOWN.add(place(address));
        (rule.address == address).then_some(rule)
    }
}

fn remember(rule: Rule) {
    let _lock = account::lock_rules();
    // SAFETY: the table has RULES entries, and the lock is held.
    unsafe {
        if KNOWN.is_null() {
            KNOWN = system::pages(RULES * size_of::<Rule>()).cast();
        }
        if !KNOWN.is_null() {
            *KNOWN.add(place(rule.address)) = rule;
        }
    }
}

fn place(address: u64) -> usize {
    (mix(address) >> 32) as usize % RULES
}

/// A step of a hash: multiplication by the 64-bit golden ratio, high half folded into the low one.
pub(crate) fn mix(value: u64) -> u64 {
    let product = u128::from(value) * 0x9e37_79b9_7f4a_7c15;
    (product >> 64) as u64 ^ product as u64
}

/// The stack of the caller of this library.
#[inline(never)]
pub(crate) fn trace() -> Trace {
    let (mut address, mut stack, mut frame): (u64, u64, u64);
    // SAFETY: reads three registers.
    unsafe {
        asm!("lea {}, [rip]", "mov {}, rsp", "mov {}, rbp", out(reg) address, out(reg) stack, out(reg) frame,
             options(nomem, nostack, preserves_flags));
    }
    let mut trace = Trace { addresses: [0; FRAMES], length: 0, key: 0, by_system: false };
    loop {
        let rule = known(address).unwrap_or_else(|| {
            let rule = work_out(address);
            remember(rule);
            rule
        });
        if rule.whose != Whose::Ours {
            trace.by_system |= trace.length == 0 && rule.whose == Whose::System;
            trace.addresses[trace.length] = address;
            trace.length += 1;
            trace.key = mix(trace.key ^ rule.relative);
        }
        let row = rule.row;
        let end = match row.base {
            Base::StackPointer => stack.wrapping_add_signed(i64::from(row.offset)),
            Base::FramePointer => frame.wrapping_add_signed(i64::from(row.offset)),
            Base::AtFramePointer => {
                match load(stack, frame.wrapping_add_signed(i64::from(row.offset))) {
                    Some(end) => end,
                    None => return trace,
                }
            }
            Base::None => return trace,
        };
        let Some(caller) = load(stack, end.wrapping_sub(8)) else { return trace };
        let saved = match row.frame_pointer {
            Saved::Same => Some(frame),
            Saved::AtFrame(offset) => load(stack, end.wrapping_add_signed(i64::from(offset))),
            Saved::AtFramePointer(offset) => {
                load(stack, frame.wrapping_add_signed(i64::from(offset)))
            }
        };
        let Some(saved) = saved else { return trace };
        if end <= stack || caller == 0 || trace.length == FRAMES {
            return trace;
        }
        (address, stack, frame) = (caller, end, saved);
    }
}

/// The word at `at`, which must lie on the stack, not far above `stack`.
fn load(stack: u64, at: u64) -> Option<u64> {
    const FAR: u64 = 64 << 20;
    if !at.is_multiple_of(8) || at < stack || at - stack > FAR {
        return None;
    }
    // SAFETY: aligned and on the stack of this thread, above its stack pointer, where callers keep their frames.
    Some(unsafe { *(at as *const u64) })
}

/// What `dl_iterate_phdr` passes of a module (`link.h`).
#[repr(C)]
struct Loaded {
    base: u64,
    name: *const c_char,
    segments: *const Segment,
    count: u16,
}

/// `Elf64_Phdr` (`elf.h`).
#[repr(C)]
#[derive(Clone, Copy)]
struct Segment {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    physical: u64,
    in_file: u64,
    in_memory: u64,
    alignment: u64,
}

const PT_LOAD: u32 = 1;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;

#[link(name = "c")]
unsafe extern "C" {
    fn dl_iterate_phdr(
        callback: unsafe extern "C" fn(*const Loaded, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
}

struct Search {
    address: u64,
    base: u64,
    start: u64,
    end: u64,
    name: *const c_char,
    /// The table of `.eh_frame_hdr`; 0 if the module has none.
    table: u64,
}

unsafe extern "C" fn look(loaded: *const Loaded, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: `dl_iterate_phdr` passes a module, and the data that `find` gave it.
    let (loaded, search) = unsafe { (&*loaded, &mut *data.cast::<Search>()) };
    // SAFETY: the module has that many segments.
    let segments = unsafe { core::slice::from_raw_parts(loaded.segments, loaded.count.into()) };
    let (mut start, mut end, mut table, mut inside) = (u64::MAX, 0, 0, false);
    for segment in segments {
        let first = loaded.base.wrapping_add(segment.address);
        if segment.kind == PT_LOAD {
            let last = first + segment.in_memory;
            inside |= (first..last).contains(&search.address);
            start = start.min(first);
            end = end.max(last);
        } else if segment.kind == PT_GNU_EH_FRAME {
            table = first;
        }
    }
    if inside {
        (search.base, search.start, search.end, search.name, search.table) =
            (loaded.base, start, end, loaded.name, table);
    }
    c_int::from(inside)
}

fn work_out(address: u64) -> Rule {
    let mut rule = Rule { address, relative: mix(address), row: Row::NONE, whose: Whose::Program };
    // A call may be the last instruction of its function: the address after it is another's.
    let inside = address - 1;
    let mut search =
        Search { address: inside, base: 0, start: 0, end: 0, name: core::ptr::null(), table: 0 };
    // SAFETY: `look` takes the search.
    if unsafe { dl_iterate_phdr(look, (&raw mut search).cast()) } == 0 {
        return rule;
    }
    let ours = (work_out as *const ()) as u64;
    let module = account::module(search.start, search.end, search.base, search.name);
    if (search.start..search.end).contains(&ours) {
        rule.whose = Whose::Ours;
    } else if module.is_system {
        rule.whose = Whose::System;
    }
    rule.relative = mix(module.hash ^ address.wrapping_sub(search.base));
    if search.table != 0
        && let Some(row) = row(search.table, inside)
    {
        rule.row = row;
    }
    rule
}

/// A place in call frame information.
#[derive(Clone, Copy)]
struct Reader(u64);

impl Reader {
    fn take<T: Copy>(&mut self) -> T {
        let at = self.0 as *const T;
        self.0 += size_of::<T>() as u64;
        // SAFETY: the reader follows the lengths that the call frame information of a loaded module states of itself.
        unsafe { at.read_unaligned() }
    }

    fn unsigned(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte: u8 = self.take();
            if shift < 64 {
                value |= u64::from(byte & 0x7f) << shift;
            }
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    }

    fn signed(&mut self) -> i64 {
        let (mut value, mut shift) = (0i64, 0);
        loop {
            let byte: u8 = self.take();
            if shift < 64 {
                value |= i64::from(byte & 0x7f) << shift;
            }
            shift += 7;
            if byte < 0x80 {
                return if shift < 64 && byte & 0x40 != 0 { value | (-1 << shift) } else { value };
            }
        }
    }

    /// A pointer in encoding `kind` (`DW_EH_PE_*`), relative to its own place or to `data`.
    fn pointer(&mut self, kind: u8, data: u64) -> Option<u64> {
        let here = self.0;
        let value = match kind & 0x0f {
            0x00 | 0x04 | 0x0c => self.take::<u64>(),
            0x01 => self.unsigned(),
            0x02 => self.take::<u16>().into(),
            0x03 => self.take::<u32>().into(),
            0x09 => self.signed() as u64,
            0x0a => i64::from(self.take::<i16>()) as u64,
            0x0b => i64::from(self.take::<i32>()) as u64,
            _ => return None,
        };
        match kind & 0x70 {
            0x00 => Some(value),
            0x10 => Some(value.wrapping_add(here)),
            0x30 => Some(value.wrapping_add(data)),
            _ => None,
        }
    }
}

/// What holds at an address.
#[derive(Clone, Copy)]
struct Row {
    /// The canonical frame address is `base + offset`, or what stands there.
    base: Base,
    offset: i32,
    frame_pointer: Saved,
    /// The return address is not known: the outermost frame.
    outermost: bool,
}

impl Row {
    const NONE: Self =
        Self { base: Base::None, offset: 0, frame_pointer: Saved::Same, outermost: false };
}

const STACK_POINTER: u64 = 7;
const FRAME_POINTER: u64 = 6;
const RETURN_ADDRESS: u64 = 16;

fn row(table: u64, address: u64) -> Option<Row> {
    let entry = entry(table, address)?;
    let mut reader = Reader(entry);
    let end = body(&mut reader)?;
    let back = reader.0 - u64::from(reader.take::<u32>());
    let common = Common::read(back)?;
    let first = reader.pointer(common.encoding, 0)?;
    let length = reader.pointer(common.encoding & 0x0f, 0)?;
    if !(first..first + length).contains(&address) {
        return None;
    }
    if common.augmented {
        let skip = reader.unsigned();
        reader.0 += skip;
    }
    let mut row = Row::NONE;
    let mut at = first;
    let initial = row;
    run(Reader(common.program), common.end, &common, &mut row, initial, &mut at, u64::MAX)?;
    let initial = row;
    run(reader, end, &common, &mut row, initial, &mut at, address)?;
    (!row.outermost).then_some(row)
}

/// The entry for `address`, by the sorted table of `.eh_frame_hdr`.
fn entry(table: u64, address: u64) -> Option<u64> {
    let mut reader = Reader(table);
    let [version, frame, count, kind]: [u8; 4] = reader.take();
    // The one form of table that linkers write: 32 bits relative to the table.
    if version != 1 || kind != 0x3b {
        return None;
    }
    reader.pointer(frame, table)?;
    let count = reader.pointer(count, table)?;
    let key = |index: u64| {
        let mut entry = Reader(reader.0 + 8 * index);
        table.wrapping_add_signed(entry.take::<i32>().into())
    };
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if key(middle) <= address { low = middle + 1 } else { high = middle }
    }
    let found = low.checked_sub(1)?;
    let mut entry = Reader(reader.0 + 8 * found + 4);
    Some(table.wrapping_add_signed(entry.take::<i32>().into()))
}

/// Reads the length of an entry; its end.
fn body(reader: &mut Reader) -> Option<u64> {
    let length: u32 = reader.take();
    let length = match length {
        0 => return None,
        u32::MAX => reader.take::<u64>(),
        length => length.into(),
    };
    Some(reader.0 + length)
}

/// What entries have in common.
struct Common {
    program: u64,
    end: u64,
    code_factor: u64,
    data_factor: i64,
    encoding: u8,
    augmented: bool,
}

impl Common {
    fn read(at: u64) -> Option<Self> {
        let mut reader = Reader(at);
        let end = body(&mut reader)?;
        let _id: u32 = reader.take();
        let version: u8 = reader.take();
        let mut augmentation = [0u8; 8];
        let mut length = 0;
        loop {
            let letter: u8 = reader.take();
            if letter == 0 {
                break;
            }
            *augmentation.get_mut(length)? = letter;
            length += 1;
        }
        let code_factor = reader.unsigned();
        let data_factor = reader.signed();
        if version == 1 {
            reader.take::<u8>().into()
        } else {
            reader.unsigned()
        };
        let mut encoding = 0;
        let augmented = augmentation[0] == b'z';
        if augmented {
            let length = reader.unsigned();
            let program = reader.0 + length;
            for letter in &augmentation[1..] {
                match letter {
                    b'R' => encoding = reader.take(),
                    b'L' => drop(reader.take::<u8>()),
                    b'P' => {
                        let kind: u8 = reader.take();
                        // An indirect pointer has the size of a direct one.
                        reader.pointer(kind & 0x0f, 0)?;
                    }
                    _ => {}
                }
            }
            reader.0 = program;
        }
        Some(Self { program: reader.0, end, code_factor, data_factor, encoding, augmented })
    }
}

/// Runs a program of call frame instructions up to `address`.
fn run(
    mut reader: Reader,
    end: u64,
    common: &Common,
    row: &mut Row,
    initial: Row,
    at: &mut u64,
    address: u64,
) -> Option<()> {
    let mut stack = [initial; 8];
    let mut depth = 0;
    let factored = |offset: u64| (offset as i64).wrapping_mul(common.data_factor) as i32;
    while reader.0 < end {
        let code: u8 = reader.take();
        let low = u64::from(code & 0x3f);
        let mut advance = None;
        match (code >> 6, code & 0x3f) {
            (1, _) => advance = Some(low),
            (2, _) => {
                let offset = factored(reader.unsigned());
                saved(row, low, Some(offset));
            }
            (3, _) => restore(row, low, &initial),
            (_, 0x00) => {}
            (_, 0x01) => *at = reader.pointer(common.encoding, 0)?,
            (_, 0x02) => advance = Some(reader.take::<u8>().into()),
            (_, 0x03) => advance = Some(reader.take::<u16>().into()),
            (_, 0x04) => advance = Some(reader.take::<u32>().into()),
            // offset_extended and offset_extended_sf
            (_, 0x05) => {
                let register = reader.unsigned();
                let offset = factored(reader.unsigned());
                saved(row, register, Some(offset));
            }
            (_, 0x11) => {
                let register = reader.unsigned();
                let offset = factored(reader.signed() as u64);
                saved(row, register, Some(offset));
            }
            (_, 0x06) => {
                let register = reader.unsigned();
                restore(row, register, &initial);
            }
            // undefined
            (_, 0x07) => row.outermost |= reader.unsigned() == RETURN_ADDRESS,
            // same_value
            (_, 0x08) => {
                let register = reader.unsigned();
                saved(row, register, None);
            }
            // register
            (_, 0x09) => {
                reader.unsigned();
                reader.unsigned();
            }
            (_, 0x0a) => {
                *stack.get_mut(depth)? = *row;
                depth += 1;
            }
            (_, 0x0b) => {
                depth = depth.checked_sub(1)?;
                *row = stack[depth];
            }
            // def_cfa and def_cfa_sf
            (_, 0x0c) => {
                row.base = base(reader.unsigned());
                row.offset = reader.unsigned() as i32;
            }
            (_, 0x12) => {
                row.base = base(reader.unsigned());
                row.offset = factored(reader.signed() as u64);
            }
            (_, 0x0d) => row.base = base(reader.unsigned()),
            // def_cfa_offset and def_cfa_offset_sf
            (_, 0x0e) => row.offset = reader.unsigned() as i32,
            (_, 0x13) => row.offset = factored(reader.signed() as u64),
            (_, 0x0f) => {
                (row.base, row.offset) = match expression(&mut reader) {
                    Some((FRAME_POINTER, offset, true)) => (Base::AtFramePointer, offset),
                    Some((register, offset, false)) => (base(register), offset),
                    _ => (Base::None, 0),
                };
            }
            // expression and val_expression
            (_, 0x10) => {
                let register = reader.unsigned();
                let place = expression(&mut reader);
                if register == FRAME_POINTER {
                    let Some((FRAME_POINTER, offset, false)) = place else { return None };
                    row.frame_pointer = Saved::AtFramePointer(offset);
                }
            }
            (_, 0x16) => {
                reader.unsigned();
                expression(&mut reader);
            }
            // GNU_args_size
            (_, 0x2e) => drop(reader.unsigned()),
            _ => return None,
        }
        if let Some(units) = advance {
            *at += units * common.code_factor;
            if *at > address {
                return Some(());
            }
        }
    }
    Some(())
}

fn base(register: u64) -> Base {
    match register {
        STACK_POINTER => Base::StackPointer,
        FRAME_POINTER => Base::FramePointer,
        _ => Base::None,
    }
}

fn saved(row: &mut Row, register: u64, offset: Option<i32>) {
    if register == FRAME_POINTER {
        row.frame_pointer = offset.map_or(Saved::Same, Saved::AtFrame);
    }
}

fn restore(row: &mut Row, register: u64, initial: &Row) {
    if register == FRAME_POINTER {
        row.frame_pointer = initial.frame_pointer;
    }
}

/// An expression of the form `register + offset`, or what stands there; anything else is passed over.
fn expression(reader: &mut Reader) -> Option<(u64, i32, bool)> {
    let length = reader.unsigned();
    let end = reader.0 + length;
    let mut inner = *reader;
    reader.0 = end;
    let code: u8 = inner.take();
    if !(0x70..=0x8f).contains(&code) {
        return None;
    }
    let offset = inner.signed() as i32;
    let register = u64::from(code - 0x70);
    if inner.0 == end {
        return Some((register, offset, false));
    }
    let code: u8 = inner.take();
    (code == 0x06 && inner.0 == end).then_some((register, offset, true))
}
