//! The heap state of every case can be set. One test and no other, because the heap is the process's; and
//! not under memcheck, which replaces the allocator.
#![cfg(feature = "suite")]

use writeonce::allocator::CAN_FRESHEN;
use writeonce::cases::{HeapState, picture};

#[test]
fn every_case_is_prepared_and_returns_its_checksum() {
    let states = if CAN_FRESHEN { 2 } else { 1 };
    for state in [HeapState::Recycled, HeapState::Fresh].into_iter().take(states) {
        let picture = picture().unwrap();
        let cases = picture.iter().flat_map(|(_, cases)| cases);
        let cases: Vec<_> = cases.filter(|case| case.heap() == state).collect();
        assert!(!cases.is_empty(), "{state:?}");
        for case in cases {
            let prepared = case.prepare();
            assert_eq!(prepared.run(), prepared.expected, "{}", case.id());
            assert_eq!(prepared.run(), prepared.expected, "{}, once more", case.id());
        }
    }
}
