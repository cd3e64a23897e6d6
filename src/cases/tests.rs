//! Tests of the table and of its ids.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// All pages, whatever this build can measure.
fn pages() -> impl Iterator<Item = Page> {
    Page::all()
}

fn ids(page: Page) -> Vec<String> {
    page.text().lines().map(str::to_owned).collect()
}

/// The strategies that stand on a page for a fill.
fn strategies(page: Page, fill: &str) -> BTreeSet<&'static str> {
    match (page, fill) {
        (Page::Alignment, "zeroed") => ["alloc_zeroed", "alloc_memset"].into(),
        (Page::Alignment, _) => {
            ["zeroed", "memset", "uninit", "zeroed_skip", "aligned_memory", "floor"].into()
        }
        (Page::Peers, _) => PEERS.into(),
        (_, "zeroed") => ZEROS.iter().map(|zeros| zeros.strategy).collect(),
        // There is no fill with 0 to skip.
        (_, "cursor") => {
            Strategy::ALL.map(Strategy::name).into_iter().filter(|&s| s != "zeroed_skip").collect()
        }
        _ => Strategy::ALL.map(Strategy::name).into(),
    }
}

/// The names of the peers, whether this build has them or not.
const PEERS: [&str; 8] =
    ["vec", "bytes_mut", "avec", "rkyv", "sbpf", "sbpf_write", "aligned_memory_write", "bump"];

/// The ids that a page of `ids` lacks: a shape with a suffix stands there for every strategy of
/// the fill that can have it, or for none.
fn missing_siblings(page: Page, ids: &[String]) -> Vec<String> {
    let rows: BTreeSet<_> = ids
        .iter()
        .map(|id| match id.splitn(3, '/').collect::<Vec<_>>()[..] {
            [fill, _, variant] => (fill, variant),
            _ => panic!("'{id}' is not an id"),
        })
        .collect();
    let siblings = rows.into_iter().flat_map(|(fill, variant)| {
        let strategies = strategies(page, fill).into_iter();
        strategies.map(move |strategy| format!("{fill}/{strategy}/{variant}"))
    });
    let can_be = |id: &String| !page.is_built() || Case::parse(id).is_ok();
    siblings.filter(|id| !ids.contains(id) && can_be(id)).collect()
}

#[test]
fn table_is_read() {
    let cases = all().unwrap();
    assert!(cases.len() >= 150, "{} cases are left: was a page emptied?", cases.len());
    let core: Vec<_> = Page::core().iter().copied().flat_map(ids).collect();
    assert_eq!(cases.iter().map(Case::id).collect::<Vec<_>>(), core);
    let picture = picture().unwrap();
    assert_eq!(picture.iter().map(|(page, _)| *page).collect::<Vec<_>>(), Page::built());
    for (page, cases) in &picture {
        assert_eq!(cases.iter().map(Case::id).collect::<Vec<_>>(), ids(*page), "{page:?}");
    }
    for page in pages() {
        assert_eq!(page.text(), ids(page).join("\n") + "\n", "{page:?}");
    }
}

#[test]
fn pages_of_the_picture_begin_with_the_core() {
    let built = Page::built();
    let peers: &[_] = if cfg!(feature = "peers") { &[Page::Peers] } else { &[] };
    assert_eq!(built, [Page::core(), &[Page::Alignment], peers].concat());
    // The core is a page a fill, in the order of the fills, and needs no feature.
    let core = Page::core();
    assert!(core.iter().map(|page| page.fill()).eq(Fill::ALL.map(Some)));
    assert!(core.iter().map(|page| page.name()).eq(Fill::ALL.map(Fill::name)));
    assert!(core.iter().all(|page| page.feature().is_none()));
}

#[test]
fn no_case_is_in_the_table_twice() {
    let all: Vec<_> = pages().flat_map(ids).collect();
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    let twice = read(&[Page::Alignment, Page::Alignment]).unwrap_err().to_string();
    let first = &ids(Page::Alignment)[0];
    let reason = "it is in the table twice (src/cases/alignment.txt:1)";
    assert_eq!(twice, format!("'{first}' is not a case: {reason}"));
}

#[test]
fn every_shape_of_the_mixed_page_is_compared_with_the_peers() {
    let shapes = |page, strategy: &str| {
        let start = format!("mixed/{strategy}/");
        let shape = |id: String| id.strip_prefix(&start).map(str::to_owned);
        ids(page).into_iter().filter_map(shape).collect::<Vec<_>>()
    };
    let floors = shapes(Page::Mixed, "floor");
    assert!(floors.len() >= 18 && floors == shapes(Page::Mixed, "aligned_memory"));
    for peer in PEERS {
        assert_eq!(shapes(Page::Peers, peer), floors, "{peer}");
    }
    assert_eq!(ids(Page::Peers).len(), PEERS.len() * floors.len());
}

#[test]
fn every_shape_of_the_alignment_page_has_all_alignments() {
    // A few of the core's have a suffix, too; they are not repeated.
    let zeroed = ids(Page::Zeroed);
    let page = ids(Page::Alignment);
    let mut shapes = BTreeSet::new();
    for id in &page {
        let parts: Vec<_> = id.splitn(5, '/').collect();
        assert!(Align::OTHERS.map(Align::suffix).iter().any(|align| align == parts[3]), "{id}");
        shapes.insert((parts[..3].join("/"), parts[4..].concat()));
    }
    for (start, end) in &shapes {
        for align in Align::OTHERS.map(Align::suffix) {
            let id = [start.as_str(), &align, end].join("/").trim_end_matches('/').to_owned();
            assert!(page.contains(&id) != zeroed.contains(&id), "{id}");
        }
    }
}

#[test]
fn ids_of_the_table_mean_what_they_say() {
    let cases = picture().unwrap().into_iter();
    for (page, case) in cases.flat_map(|(page, cases)| cases.into_iter().map(move |c| (page, c))) {
        let again = Case::parse(case.id()).unwrap();
        assert_eq!(again.id(), case.id());
        assert_eq!(format!("{again:?}"), format!("{case:?}"));
        let (fill, strategy, variant) = (case.fill().name(), case.strategy(), case.variant());
        assert_eq!(format!("{fill}/{strategy}/{variant}"), case.id());
        assert!(strategies(page, fill).contains(strategy), "{}", case.id());
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
        let Work::Cursor { maker: Maker::Known(Strategy::Pooled), len: 1024, cut } = work else {
            panic!("{name}: {work:?}");
        };
        assert_eq!(cut, is, "{name}");
    }
    for (name, is_aligned) in [("duplicates", true), ("duplicates_unaligned", false)] {
        let work = Case::parse(&format!("mixed/floor/{name}")).unwrap().work;
        let Work::Mixed {
            maker: Maker::Known(Strategy::Floor),
            shape,
            aligned,
            align: Align::To16,
        } = work
        else {
            panic!("{name}: {work:?}");
        };
        assert_eq!((shape, aligned), (Shape::Duplicates, is_aligned), "{name}");
    }
    let aligns = [(8, Align::To8), (64, Align::To64), (4096, Align::To4096)];
    for (bytes, is) in aligns {
        let work = Case::parse(&format!("mixed/floor/1x165_unaligned/align{bytes}")).unwrap().work;
        let Work::Mixed { aligned: false, align, .. } = work else { panic!("{bytes}: {work:?}") };
        assert_eq!((align, align.bytes()), (is, bytes));
    }
}

#[test]
fn malformed_ids_are_refused_with_a_reason() {
    let no_word = "is not [a-z0-9_]+";
    let suffix = "is not one of align8, align64, align4096, fresh, touched, in this order";
    let no_align = "alignments are for the zeroed and the mixed fill";
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
        ("cursor/uninit/1k/align64", no_align),
        ("canary/spin/1000/align8", no_align),
        ("mixed/uninit/1x165/touched", "touched is for the zeroed fill"),
        ("cursor/uninit/1k/touched", "touched is for the zeroed fill"),
        // What is the default has no name.
        ("zeroed/alloc_zeroed/1m/align16", suffix),
        ("mixed/uninit/1x165/align16", suffix),
        ("mixed/uninit/1x165/align", suffix),
        ("mixed/uninit/1x165/align8/align64", suffix),
        ("mixed/uninit/1x165/fresh/align8", suffix),
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
    for id in [
        "zeroed/vec_zeroed/4096/fresh",
        "zeroed/alloc_zeroed/1m/align64/fresh/touched",
        "zeroed/alloc_memset/165/align4096",
        "mixed/uninit/1x165/align8",
        "mixed/floor/ledger/align4096/fresh",
        "mixed/growing/64x165_unaligned/align64",
    ] {
        assert_eq!(Case::parse(id).unwrap().id(), id);
    }
}

#[test]
fn peers_are_cases_where_the_feature_is() {
    for peer in PEERS {
        let parse = |suffix: &str| Case::parse(&format!("mixed/{peer}/1x165{suffix}"));
        let unknown =
            || format!("'mixed/{peer}/1x165' is not a case: there is no mixed strategy '{peer}'");
        assert_eq!(parse("").is_ok(), cfg!(feature = "peers"), "{peer}");
        match parse("") {
            Ok(case) => assert_eq!(case.strategy(), peer),
            Err(error) => assert_eq!(error.to_string(), unknown()),
        }
        // A vector keeps no alignment.
        let keeps = cfg!(feature = "peers") && !["vec", "bytes_mut"].contains(&peer);
        for align in Align::OTHERS {
            match parse(&format!("/{}", align.suffix())) {
                Ok(_) => assert!(keeps, "{peer}"),
                Err(error) if cfg!(feature = "peers") => {
                    let reason = format!("strategy '{peer}' at alignment {}", align.bytes());
                    assert!(!keeps && error.to_string().ends_with(&reason), "{error}");
                }
                Err(_) => {}
            }
        }
    }
    let names: Vec<_> = Strategy::PEERS.iter().map(|strategy| strategy.name()).collect();
    assert_eq!(names, if cfg!(feature = "peers") { &PEERS[..] } else { &[] });
}

#[test]
fn siblings_stand_together() {
    for page in pages() {
        assert_eq!(missing_siblings(page, &ids(page)), Vec::<String>::new(), "{page:?}");
    }
}

#[test]
fn a_line_that_is_deleted_is_missed() {
    for page in pages() {
        let mut ids = ids(page);
        for index in 0..ids.len() {
            let deleted = ids.remove(index);
            assert_eq!(missing_siblings(page, &ids), [deleted.as_str()]);
            ids.insert(index, deleted);
        }
    }
    for (page, id, siblings) in
        [(Page::Mixed, "mixed/uninit/3x7", 8), (Page::Peers, "mixed/vec/3x7", PEERS.len())]
    {
        let ids = [ids(page), vec![id.to_owned()]].concat();
        assert_eq!(missing_siblings(page, &ids).len(), siblings - 1);
    }
}

#[test]
fn every_strategy_of_a_fill_stands_without_a_suffix() {
    for &page in Page::core() {
        let plain: Vec<_> = ids(page).into_iter().filter(|id| id.split('/').count() == 3).collect();
        let seen: BTreeSet<_> = plain.iter().filter_map(|id| id.split('/').nth(1)).collect();
        assert_eq!(seen, strategies(page, page.name()), "{page:?}");
    }
}

#[test]
fn every_case_returns_its_checksum_and_siblings_agree() {
    let mut rows = BTreeMap::new();
    let cases: Vec<_> = picture().unwrap().into_iter().flat_map(|(_, cases)| cases).collect();
    for case in &cases {
        // The heap is left alone: memcheck brings its own. `tests/heap_state.rs` sets its state.
        let prepared = case.work.prepare();
        let seen = prepared.run();
        assert_eq!(seen, prepared.expected, "{}", case.id());
        let whole = prepared.largest as u64 == case.bytes();
        assert!(whole || case.variant() == "ledger", "{}: {}", case.id(), prepared.largest);
        // The same shape at another alignment, too, and by whichever strategy.
        let shape = case.variant().split('/').next().expect("a shape");
        let row = rows.entry((case.fill(), shape)).or_insert((seen, case.bytes()));
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
