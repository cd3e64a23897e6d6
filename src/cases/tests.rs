//! Tests of the table and of its ids.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

fn ids() -> Vec<String> {
    all().unwrap().iter().map(|case| case.id().to_owned()).collect()
}

/// The strategies that stand on the page of a fill.
fn strategies(fill: &str) -> BTreeSet<&'static str> {
    match fill {
        "zeroed" => ZEROS.iter().map(|zeros| zeros.strategy).collect(),
        // There is no fill with 0 to skip.
        "cursor" => strategies("mixed").into_iter().filter(|&s| s != "zeroed_skip").collect(),
        _ => Strategy::ALL.map(Strategy::name).into(),
    }
}

/// The ids that a table of `ids` lacks: a shape with a suffix stands there for every strategy of
/// the fill that can have it, or for none.
fn missing_siblings(ids: &[String]) -> Vec<String> {
    let rows: BTreeSet<_> = ids
        .iter()
        .map(|id| match id.splitn(3, '/').collect::<Vec<_>>()[..] {
            [fill, _, variant] => (fill, variant),
            _ => panic!("'{id}' is not an id"),
        })
        .collect();
    let siblings = rows.into_iter().flat_map(|(fill, variant)| {
        strategies(fill).into_iter().map(move |strategy| format!("{fill}/{strategy}/{variant}"))
    });
    siblings.filter(|id| !ids.contains(id) && Case::parse(id).is_ok()).collect()
}

#[test]
fn table_is_read() {
    let cases = all().unwrap();
    assert!(cases.len() >= 150, "{} cases are left: was a page emptied?", cases.len());
    for fill in Fill::ALL {
        let lines: Vec<_> = fill.page().lines().collect();
        let read = cases.iter().filter(|case| case.fill() == fill).map(Case::id);
        assert_eq!(read.collect::<Vec<_>>(), lines);
        assert_eq!(fill.page(), lines.join("\n") + "\n");
    }
}

#[test]
fn ids_of_the_table_mean_what_they_say() {
    for case in all().unwrap() {
        let again = Case::parse(case.id()).unwrap();
        assert_eq!(again.id(), case.id());
        assert_eq!(format!("{again:?}"), format!("{case:?}"));
        let (fill, strategy, variant) = (case.fill().name(), case.strategy(), case.variant());
        assert_eq!(format!("{fill}/{strategy}/{variant}"), case.id());
        assert!(strategies(fill).contains(strategy), "{}", case.id());
        let fresh = case.suffix().split('/').any(|suffix| suffix == "fresh");
        assert_eq!(case.heap() == HeapState::Fresh, fresh, "{}", case.id());
    }
}

#[test]
fn segments_have_names() {
    let case = Case::parse("zeroed/alloc_zeroed/1m/align64/fresh").unwrap();
    assert_eq!(case.fill(), Fill::Zeroed);
    assert_eq!(case.strategy(), "alloc_zeroed");
    assert_eq!(case.variant(), "1m/align64/fresh");
    assert_eq!(case.suffix(), "align64/fresh");
    assert_eq!(case.heap(), HeapState::Fresh);
    assert_eq!(case.bytes(), 1 << 20);

    let case = Case::parse("mixed/uninit/1x165").unwrap();
    assert_eq!(case.fill(), Fill::Mixed);
    assert_eq!((case.strategy(), case.variant(), case.suffix()), ("uninit", "1x165", ""));
    assert_eq!(case.heap(), HeapState::Recycled);
    assert_eq!(case.bytes(), 8 + (96 + 165 + 3 + 10_240) + 8 + 8 + 32);
    let unaligned = Case::parse("mixed/uninit/1x165_unaligned").unwrap();
    assert_eq!(unaligned.bytes(), 8 + (92 + 165) + 8 + 8 + 32);
    assert_eq!(Case::parse("cursor/floor/1k_by8").unwrap().bytes(), 1024);
}

#[test]
fn segments_decide_the_work() {
    let cuts = [Cut::Whole, Cut::By1, Cut::By8, Cut::By64, Cut::By4k];
    for (name, is) in ["1k", "1k_by1", "1k_by8", "1k_by64", "1k_by4k"].into_iter().zip(cuts) {
        let work = Case::parse(&format!("cursor/pooled/{name}")).unwrap().work;
        let Work::Cursor { strategy: Strategy::Pooled, len: 1024, cut } = work else {
            panic!("{name}: {work:?}");
        };
        assert_eq!(cut, is, "{name}");
    }
    for (name, is_aligned) in [("duplicates", true), ("duplicates_unaligned", false)] {
        let work = Case::parse(&format!("mixed/floor/{name}")).unwrap().work;
        let Work::Mixed { strategy: Strategy::Floor, shape, aligned } = work else {
            panic!("{name}: {work:?}");
        };
        assert_eq!((shape, aligned), (Shape::Duplicates, is_aligned), "{name}");
    }
}

#[test]
fn malformed_ids_are_refused_with_a_reason() {
    let no_word = "is not [a-z0-9_]+";
    let suffix = "is not one of align64, fresh, touched, in this order";
    for (id, reason) in [
        ("", no_word),
        ("/", no_word),
        ("zeroed//8", no_word),
        ("/zeroed/alloc_zeroed/8", no_word),
        ("zeroed/alloc_zeroed/8/", no_word),
        ("zeroed/alloc_zeroed/8 ", no_word),
        ("zeroed/alloc-zeroed/8", no_word),
        ("Zeroed/alloc_zeroed/8", no_word),
        ("zeroed/alloc_zeroed/1K", no_word),
        ("zeroed/alloc_zeroed/1k/ALIGN64", no_word),
        ("zeroed", "an id is fill/strategy/shape"),
        ("zeroed/alloc_zeroed", "an id is fill/strategy/shape"),
        ("filled/alloc_zeroed/8", "there is no fill 'filled'"),
        ("alloc_zeroed/zeroed/8", "there is no fill 'alloc_zeroed'"),
        ("zeroed/8/alloc_zeroed", "there is no zeroed strategy '8' at alignment 16"),
        ("zeroed/uninit/8", "there is no zeroed strategy 'uninit' at alignment 16"),
        ("cursor/alloc_zeroed/8", "there is no cursor strategy 'alloc_zeroed'"),
        ("mixed/unknown/1x165", "there is no mixed strategy 'unknown'"),
        ("zeroed/vec_zeroed/1m/align64", "no zeroed strategy 'vec_zeroed' at alignment 64"),
        ("zeroed/alloc_zeroed/1x165", "there is no zeroed shape '1x165'"),
        ("zeroed/alloc_zeroed/01k", "there is no zeroed shape '01k'"),
        ("zeroed/alloc_zeroed/65m", "there is no zeroed shape '65m'"),
        ("zeroed/alloc_zeroed/1k_by8", "there is no zeroed shape '1k_by8'"),
        ("cursor/uninit/1k_by2", "there is no cursor shape '1k_by2'"),
        ("cursor/uninit/1k_by", "there is no cursor shape '1k_by'"),
        ("cursor/uninit/_by8", "there is no cursor shape '_by8'"),
        ("cursor/uninit/65m_by8", "there is no cursor shape '65m_by8'"),
        ("cursor/uninit/1x165", "there is no cursor shape '1x165'"),
        ("mixed/uninit/1k", "there is no mixed shape '1k'"),
        ("mixed/uninit/256x1", "there is no mixed shape '256x1'"),
        ("mixed/uninit/1x11m", "there is no mixed shape '1x11m'"),
        ("mixed/uninit/_unaligned", "there is no mixed shape '_unaligned'"),
        ("mixed/uninit/orderbook_aligned", "there is no mixed shape 'orderbook_aligned'"),
        ("zeroed/alloc_zeroed/8/fresh", "fresh begins at 4096 bytes"),
        ("zeroed/alloc_zeroed/4095/fresh", "fresh begins at 4096 bytes"),
        ("mixed/uninit/1x165/align64", "align64 and touched are for the zeroed fill"),
        ("cursor/uninit/1k/touched", "align64 and touched are for the zeroed fill"),
        ("zeroed/alloc_zeroed/1m/align32", suffix),
        ("zeroed/alloc_zeroed/1m/recycled", suffix),
        ("zeroed/alloc_zeroed/1m/fresh/align64", suffix),
        ("zeroed/alloc_zeroed/1m/touched/fresh", suffix),
        ("zeroed/alloc_zeroed/1m/align64/align64", suffix),
        ("zeroed/alloc_zeroed/1m/fresh/fresh", suffix),
        ("zeroed/alloc_zeroed/1m/align64/fresh/touched/touched", suffix),
    ] {
        let error = Case::parse(id).expect_err(id).to_string();
        assert!(error.starts_with(&format!("'{id}' is not a case: ")), "{error}");
        assert!(error.ends_with(reason), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    for id in ["zeroed/vec_zeroed/4096/fresh", "zeroed/alloc_zeroed/1m/align64/fresh/touched"] {
        assert_eq!(Case::parse(id).unwrap().id(), id);
    }
}

#[test]
fn siblings_stand_together() {
    assert_eq!(missing_siblings(&ids()), Vec::<String>::new());
}

#[test]
fn a_line_that_is_deleted_is_missed() {
    let mut ids = ids();
    for index in 0..ids.len() {
        let deleted = ids.remove(index);
        assert_eq!(missing_siblings(&ids), [deleted.as_str()]);
        ids.insert(index, deleted);
    }
    ids.push("mixed/uninit/3x7".to_owned());
    assert_eq!(missing_siblings(&ids).len(), Strategy::ALL.len() - 1);
}

#[test]
fn every_strategy_of_a_fill_stands_without_a_suffix() {
    let cases = all().unwrap();
    for fill in Fill::ALL {
        let plain = cases.iter().filter(|case| case.fill() == fill && case.suffix().is_empty());
        let seen: BTreeSet<_> = plain.map(Case::strategy).collect();
        assert_eq!(seen, strategies(fill.name()), "{}", fill.name());
    }
}

#[test]
fn every_case_returns_its_checksum_and_siblings_agree() {
    let mut rows = BTreeMap::new();
    let cases = all().unwrap();
    for case in &cases {
        // The heap is left alone: memcheck brings its own. `tests/heap_state.rs` sets its state.
        let prepared = case.work.prepare();
        let seen = prepared.run();
        assert_eq!(seen, prepared.expected, "{}", case.id());
        let whole = prepared.largest as u64 == case.bytes();
        assert!(whole || case.variant() == "ledger", "{}: {}", case.id(), prepared.largest);
        let row = rows.entry((case.fill(), case.variant())).or_insert((seen, case.bytes()));
        assert_eq!(*row, (seen, case.bytes()), "{}", case.id());
    }
}

#[test]
#[should_panic(expected = "zeroed/broken/8: the routine built something else")]
fn a_wrong_checksum_is_noticed() {
    let work = Work::Zeroed { routine: |_| 1, len: 8 };
    let (fill, heap) = (Fill::Zeroed, HeapState::Recycled);
    drop(Case { id: "zeroed/broken/8".to_owned(), fill, heap, work }.prepare());
}

#[test]
#[should_panic(expected = "'mixed/uninit' is not a case: an id is fill/strategy/shape")]
fn what_is_not_an_id_is_not_prepared() {
    let _ = prepare("mixed/uninit".to_owned());
}
