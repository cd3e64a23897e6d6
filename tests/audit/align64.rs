// `alloc_zeroed` with an alignment of 64 is an aligned allocation and a memset, here wholly overwritten.
// site: aligned superfluous calls=1 zeroed=12288 overwritten=12288 kept=0

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

#[inline(never)]
fn aligned(layout: Layout) -> *mut u8 {
    // SAFETY: the size is not 0.
    let block = unsafe { alloc_zeroed(layout) };
    if block.is_null() {
        handle_alloc_error(layout);
    }
    block
}

fn main() {
    let layout = Layout::from_size_align(12_288, 64).expect("a valid layout");
    let block = aligned(layout);
    // SAFETY: the block has 12,288 bytes, which are initialized, and nothing else points to it.
    let bytes = unsafe { std::slice::from_raw_parts_mut(block, layout.size()) };
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = (i * 31 % 255) as u8;
    }
    println!("{}", bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>());
    // SAFETY: the block is from `alloc_zeroed` with the same layout, and is not used after.
    unsafe { dealloc(block, layout) };
}
