//! What the documentation says of the strategies, held against every committed baseline.

#![cfg(feature = "cli")]

use std::path::Path;

use writeonce::baseline::Baseline;
use writeonce::cases::{Page, Strategy};

/// Checks each committed baseline, through a function that gives the total of a case in Ir.
fn for_each_baseline(check: impl Fn(&dyn Fn(&str) -> u64)) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("baselines");
    let baselines = Baseline::read_all(&folder).unwrap();
    assert!(!baselines.is_empty());
    for (path, baseline) in baselines {
        check(&|id| {
            let row = baseline.rows.iter().find(|row| row.id == id);
            row.unwrap_or_else(|| panic!("{}: no {id}", path.display())).total()
        });
    }
}

/// The shapes of the `mixed` fill, as ids have them.
fn mixed_shapes() -> impl Iterator<Item = &'static str> {
    Page::Mixed.text().lines().filter_map(|id| id.strip_prefix("mixed/floor/"))
}

#[test]
fn a_superfluous_memset_is_not_optimized_away() {
    for_each_baseline(|total| {
        for shape in ["mixed/*/1x1m", "mixed/*/1x10m", "mixed/*/ledger", "cursor/*/10m"] {
            let of = |strategy| total(&shape.replace('*', strategy)) as f64;
            assert!(of("memset") >= 1.4 * of("uninit"), "{shape}");
        }
    });
}

#[test]
fn fresh_zeroed_memory_costs_few_instructions_up_to_an_alignment() {
    for_each_baseline(|total| {
        for size in ["4k", "64k", "1m", "10m"] {
            assert!(total(&format!("zeroed/alloc_zeroed/{size}/fresh")) < 500, "{size}");
        }
        let aligned = total("zeroed/alloc_zeroed/1m/align64/fresh");
        assert!(aligned >= 50 * total("zeroed/alloc_zeroed/1m/fresh"));
    });
}

#[test]
fn the_floor_is_the_least_of_those_that_allocate() {
    for_each_baseline(|total| {
        for shape in mixed_shapes() {
            let of = |strategy: &str| total(&format!("mixed/{strategy}/{shape}"));
            for strategy in Strategy::ALL.map(Strategy::name) {
                assert!(strategy == "pooled" || of(strategy) >= of("floor"), "{strategy} {shape}");
            }
        }
    });
}

#[test]
fn aligned_memory_is_near_the_floor_on_every_shape() {
    for_each_baseline(|total| {
        for shape in mixed_shapes() {
            let of = |strategy: &str| total(&format!("mixed/{strategy}/{shape}")) as f64;
            let multiple = of("aligned_memory") / of("floor");
            assert!(multiple <= 1.10, "{shape}: {multiple:.3}");
        }
    });
}

#[test]
fn aligned_memory_is_the_best_where_account_data_are_half_of_the_bytes() {
    let shapes = ["1x64k", "1x100000", "1x1m", "1x10m", "8x64226", "orderbook", "ledger"];
    for_each_baseline(|total| {
        for shape in shapes.into_iter().chain(["1x165_unaligned", "64x165_unaligned"]) {
            let of = |strategy: &str| total(&format!("mixed/{strategy}/{shape}"));
            for strategy in Strategy::ALL.map(Strategy::name) {
                let limit = ["floor", "pooled"].contains(&strategy);
                assert!(limit || of("aligned_memory") <= of(strategy), "{strategy} {shape}");
            }
        }
    });
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_audit_estimates_by_the_pinned_memset() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("baselines");
    for (path, baseline) in Baseline::read_all(&folder).unwrap() {
        let row = baseline.rows.iter().find(|row| row.id == "zeroed/alloc_memset/1m").unwrap();
        let zeroing = row.classes.zeroing;
        assert_eq!(zeroing, writeonce::audit::ZEROING_IR_PER_MIB, "{}", path.display());
    }
}
