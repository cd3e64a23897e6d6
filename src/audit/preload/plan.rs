//! The plan of the run: what the command line wants.

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::format::{self, MAGIC, Mask, Plan};
use crate::system;

static PLAN: AtomicPtr<Plan> = AtomicPtr::new(core::ptr::null_mut());

/// Zeroings of fewer bytes are left alone; nothing reaches it while there is no plan.
static MIN: AtomicU64 = AtomicU64::new(u64::MAX);

/// Reads the plan at `path`. False if it is none.
pub(crate) fn read(path: &CStr) -> bool {
    let words = system::words(path);
    if words.len() < size_of::<Plan>() / 8 || words[0] != MAGIC {
        return false;
    }
    PLAN.store(words.as_ptr().cast_mut().cast(), Ordering::Release);
    true
}

/// Begins with the plan, or stops.
pub(crate) fn put_in_force(in_force: bool) {
    MIN.store(if in_force { plan().min } else { u64::MAX }, Ordering::Release);
}

/// Whether a block of that many bytes is of interest.
pub(crate) fn concerns(bytes: usize) -> bool {
    bytes as u64 >= MIN.load(Ordering::Relaxed)
}

/// Whether there is a plan in force.
pub(crate) fn in_force() -> bool {
    MIN.load(Ordering::Relaxed) != u64::MAX
}

fn plan() -> &'static Plan {
    // SAFETY: callers come after a plan has been read; its pages stay and do not change.
    unsafe { &*PLAN.load(Ordering::Acquire) }
}

/// The items that begin `skip` words after the head.
fn tail<T>(skip: u64, count: u64) -> &'static [T] {
    let first =
        PLAN.load(Ordering::Acquire).wrapping_add(1).cast::<u64>().wrapping_add(skip as usize);
    // SAFETY: the command line writes as many as the head says; the pages stay and do not change.
    unsafe { core::slice::from_raw_parts(first.cast(), count as usize) }
}

pub(crate) fn garbage() -> bool {
    plan().mode == format::mode::GARBAGE
}

pub(crate) fn follow() -> bool {
    plan().follow != 0
}

pub(crate) fn folder() -> &'static [u8] {
    CStr::from_bytes_until_nul(&plan().folder).map_or(&[], CStr::to_bytes)
}

/// Whether the zeroings of a site are chosen.
pub(crate) fn chooses(site: u64) -> bool {
    plan().only == 0 || tail::<u64>(0, plan().sites).binary_search(&site).is_ok()
}

/// What to leave zero of a zeroing.
pub(crate) fn mask(site: u64, ordinal: u64) -> Option<&'static Mask> {
    let masks = tail::<Mask>(plan().sites, plan().masks);
    let found =
        masks.binary_search_by_key(&(site, ordinal), |mask| (mask.site, mask.ordinal)).ok()?;
    Some(&masks[found])
}

/// The ranges of a mask, in order.
pub(crate) fn ranges(mask: &Mask) -> &'static [[u64; 2]] {
    let skip = plan().sites + plan().masks * (size_of::<Mask>() as u64 / 8) + 2 * mask.first;
    tail(skip, mask.count)
}
