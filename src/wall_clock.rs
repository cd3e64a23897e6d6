//! The wall-clock harness, by Criterion: every case, page by page; group = fill, function = strategy, value = the rest of
//! the id.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};

use crate::allocator;
use crate::cases::{self, Case};

/// The `main` of the bench target.
///
/// # Panics
/// If the table has a line that is no case.
pub fn harness() {
    allocator::start();
    let picture = cases::picture().unwrap_or_else(|error| panic!("{error}"));
    // Short: the whole table shall take minutes. Medians of 20 samples tell strategies apart.
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800))
        .sample_size(20)
        .configure_from_args();
    let same_fill = |a: &Case, b: &Case| a.fill() == b.fill();
    for cases in picture.iter().flat_map(|(_, cases)| cases.chunk_by(same_fill)) {
        let mut group = criterion.benchmark_group(cases[0].fill().name());
        for case in cases {
            if !case.can_be_prepared() {
                eprintln!(
                    "{}: skipped, the allocator cannot be made to hand out new pages",
                    case.id()
                );
                continue;
            }
            group.throughput(Throughput::Bytes(case.bytes()));
            // Criterion calls this many times for a case, and never if the case is filtered out.
            let mut prepared = None;
            group.bench_function(BenchmarkId::new(case.strategy(), case.variant()), |bencher| {
                let prepared = prepared.get_or_insert_with(|| case.prepare());
                bencher.iter(|| prepared.run());
            });
        }
        group.finish();
    }
    criterion.final_summary();
}
