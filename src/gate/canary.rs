//! Canaries: signs that counting and judging work at all. Where one is dead, no verdict is to be trusted.

use std::collections::BTreeMap;

use super::{Kind, compare};
use crate::cases::Case;
use crate::failure::Failure;
use crate::lens::instructions::Row;
use crate::workload;

/// Most instructions of a call that does nothing, in Ir.
const MOST_OF_NOTHING: u64 = 64;

/// Bytes that one instruction writes at most, with a margin: the widest store of the pinned functions has 16.
const MOST_BYTES_PER_IR: u64 = 64;

/// Bytes from which on a case must cost more as it grows.
const LARGE: u64 = 4096;

/// What is wrong with the canary cases, and which counts of the table are impossible: a doubt for each sign that is missing.
///
/// An impossible count may be a real one: of a case that a fault made as expensive as a larger one. Its verdict says so.
pub fn doubts(canaries: &[Row], table: &[Case], rows: &[Row]) -> impl Iterator<Item = Failure> {
    let broken = |reason| Failure::new(format!("measurement is broken: {reason}"));
    let doubtful = |reason| {
        Failure::new(format!(
            "distrusted: {reason}; unless the verdicts explain it, measurement is broken"
        ))
    };
    let dead = [check_spins(canaries), check_pins(canaries)].into_iter().filter_map(Result::err);
    let impossible = check_table(table, rows).err();
    dead.map(broken).chain(impossible.map(doubtful))
}

/// A no-op costs next to nothing, twins cost the same, every round costs the same, and the comparison that judges
/// cases tells 1 % apart.
fn check_spins(canaries: &[Row]) -> Result<(), String> {
    let find = |id: &str| {
        canaries.iter().find(|row| row.id == id).ok_or_else(|| format!("{id} was not counted"))
    };
    let nothing = find("canary/spin/0")?;
    let (spin, twin) = (find("canary/spin/1000")?, find("canary/twin/1000")?);
    let (more, twice) = (find("canary/spin/1010")?, find("canary/spin/2000")?);
    if nothing.total() >= MOST_OF_NOTHING {
        return Err(format!("a no-op counts {} Ir", nothing.total()));
    }
    if spin.total() != twin.total() {
        return Err(format!("twins count {} and {} Ir", spin.total(), twin.total()));
    }
    let beyond_spin = |row: &Row| i128::from(row.total()) - i128::from(spin.total());
    let (ten, thousand) = (beyond_spin(more), beyond_spin(twice));
    if ten <= 0 || thousand != 100 * ten {
        return Err(format!("10 more rounds count {ten} Ir, 1,000 more {thousand}"));
    }
    if compare(twin, spin) != Kind::Ok || compare(more, spin) != Kind::Regressed {
        return Err("1 % more instructions are not told apart; is the tolerance too large?".into());
    }
    Ok(())
}

/// Bytes of the blocks by which the pinned functions set and copy.
const BLOCK: u64 = 64;

/// Least instructions for [`BLOCK`] bytes where a register has 16 of them: by a store each, or a load and a store.
const LEAST: [(&str, u64); 2] = [("set", 4), ("copy", 8)];

/// Most instructions for [`BLOCK`] bytes. `rep stosb` and `rep movsb` count one a byte.
const MOST: u64 = 16;

/// On x86-64 the C library sets and copies by registers of 16 bytes, which every CPU has, and in one way, whatever the size: not by
/// `rep stosb` or non-temporal stores from some size on. This is seen in what was executed, not in the names of functions: those can
/// share code.
fn check_pins(canaries: &[Row]) -> Result<(), String> {
    if !cfg!(target_arch = "x86_64") {
        return Ok(());
    }
    for (name, least) in LEAST {
        let prefix = format!("canary/{name}/");
        let mut counts = Vec::new();
        for row in canaries.iter().filter(|row| row.id.starts_with(&prefix)) {
            let size = workload::size(&row.id[prefix.len()..]);
            counts.push((size.unwrap_or_default() as u64, row.total(), &*row.id));
        }
        counts.sort_unstable();
        let mut cost = None;
        for &[(size, less, small), (larger, more, id)] in counts.array_windows() {
            let (bytes, ir) = (larger - size, more.saturating_sub(less));
            // What a block costs is a whole number, and the same from every size to the next.
            let here = ir * BLOCK / bytes;
            let is_whole = here * bytes == ir * BLOCK;
            if !is_whole || !(least..=MOST).contains(&here) || *cost.get_or_insert(here) != here {
                return Err(format!(
                    "the pins are not in force: {bytes} bytes more count {ir} Ir more from {small} to {id}{}",
                    cost.map_or(String::new(), |cost| format!(
                        ", {cost} Ir for {BLOCK} bytes before"
                    ))
                ));
            }
        }
        if cost.is_none() {
            return Err(format!("{prefix} was not counted at two sizes"));
        }
    }
    Ok(())
}

/// Cases that write do so at a possible rate, and none costs less than a smaller one.
fn check_table(table: &[Case], rows: &[Row]) -> Result<(), String> {
    let totals: BTreeMap<_, _> = rows.iter().map(|row| (&*row.id, row.total())).collect();
    let mut series: BTreeMap<String, Vec<(u64, u64, &str)>> = BTreeMap::new();
    for case in table {
        let Some(&total) = totals.get(case.id()) else { continue };
        let bytes = case.bytes();
        if bytes < LARGE {
            continue;
        }
        if case.writes() && total < bytes / MOST_BYTES_PER_IR {
            return Err(format!("{} writes {bytes} bytes in {total} Ir", case.id()));
        }
        for (name, size) in case.series() {
            series.entry(name).or_default().push((size, total, case.id()));
        }
    }
    for cases in series.values_mut() {
        cases.sort_unstable();
        if let Some([(_, less, small), (_, total, id)]) =
            cases.array_windows().find(|[(_, small, _), (_, large, _)]| large < small)
        {
            return Err(format!("{id} counts {total} Ir, the smaller {small} {less}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases;
    use crate::lens::profile::Classes;

    fn row(id: &str, code: u64) -> Row {
        let classes = Classes { code, ..Classes::default() };
        Row { id: id.to_owned(), classes, allocator_calls: 0, functions: Vec::new() }
    }

    fn spins(counts: [u64; 5]) -> Result<(), String> {
        let ids = cases::Page::Canary.text().lines().take(counts.len());
        check_spins(&ids.zip(counts).map(|(id, count)| row(id, count)).collect::<Vec<_>>())
    }

    fn table(rows: &[(&str, u64)]) -> Result<(), String> {
        let cases: Vec<_> = rows.iter().map(|(id, _)| Case::parse(id).unwrap()).collect();
        check_table(&cases, &rows.iter().map(|(id, count)| row(id, *count)).collect::<Vec<_>>())
    }

    #[test]
    fn each_missing_sign_is_a_doubt_and_none_hides_another() {
        let table =
            ["mixed/uninit/64x165", "mixed/uninit/8x165"].map(|id| Case::parse(id).unwrap());
        let rows = [row("mixed/uninit/64x165", 50_000), row("mixed/uninit/8x165", 50_001)];
        let said: Vec<_> = doubts(&[], &table, &rows).map(|doubt| doubt.to_string()).collect();
        assert_eq!(said[0], "measurement is broken: canary/spin/0 was not counted");
        let last = said.last().unwrap();
        assert!(last.starts_with("distrusted: mixed/uninit/64x165 counts 50000 Ir, "), "{last}");
        assert_eq!(said.len(), if cfg!(target_arch = "x86_64") { 3 } else { 2 });
    }

    #[test]
    fn living_canaries_pass() {
        assert_eq!(spins([20, 4022, 4022, 4062, 8022]), Ok(()));
    }

    #[test]
    fn each_dead_canary_is_named() {
        assert_eq!(check_spins(&[]), Err("canary/spin/0 was not counted".into()));
        assert_eq!(spins([64, 4022, 4022, 4062, 8022]), Err("a no-op counts 64 Ir".into()));
        let twins = "twins count 4022 and 4023 Ir";
        assert_eq!(spins([20, 4022, 4023, 4062, 8022]), Err(twins.into()));
        let rounds =
            |ten, thousand| format!("10 more rounds count {ten} Ir, 1,000 more {thousand}");
        assert_eq!(spins([20, 4022, 4022, 4063, 8022]), Err(rounds(41, 4000)));
        assert_eq!(spins([20, 4022, 4022, 4022, 4022]), Err(rounds(0, 0)));
        assert_eq!(spins([20, 20, 20, 20, 20]), Err(rounds(0, 0)));
        assert_eq!(spins([20, 9000, 9000, 8990, 8000]), Err(rounds(-10, -1000)));
    }

    /// What canaries of the C library count that set and copy by as many instructions for 64 bytes, and a few at the
    /// beginning.
    #[cfg(target_arch = "x86_64")]
    fn pinned(set: u64, copy: u64) -> Vec<Row> {
        let rows = |name, cost| {
            ["1k", "4k", "64k"].map(|size| {
                let bytes = workload::size(size).unwrap() as u64;
                row(&format!("canary/{name}/{size}"), 30 + bytes / 64 * cost)
            })
        };
        [rows("set", set), rows("copy", copy)].concat()
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn pins_that_are_not_in_force_are_seen_in_what_was_executed() {
        let error = |rows: &[Row]| check_pins(rows).unwrap_err();
        assert_eq!(check_pins(&pinned(7, 12)), Ok(()));
        assert_eq!(check_pins(&pinned(4, 8)), Ok(()));
        // Wider registers need fewer instructions, `rep stosb` counts one a byte.
        let wide = "the pins are not in force: 3072 bytes more count 144 Ir more from canary/set/1k to canary/set/4k";
        assert_eq!(error(&pinned(3, 12)), wide);
        assert!(error(&pinned(7, 7)).ends_with("from canary/copy/1k to canary/copy/4k"));
        assert!(error(&pinned(64, 12)).contains(" 3072 bytes more count 3072 Ir more "));
        // Another way from some size on, be it one instruction longer in all.
        for moved in [-1, 1] {
            let mut rows = pinned(7, 12);
            rows[2].classes.code = rows[2].classes.code.strict_add_signed(moved);
            let (bytes, ir) = (60 << 10, 6720 + moved);
            assert_eq!(
                error(&rows),
                format!(
                    "the pins are not in force: {bytes} bytes more count {ir} Ir more from canary/set/4k to \
                     canary/set/64k, 7 Ir for 64 bytes before"
                )
            );
        }
        assert_eq!(error(&[]), "canary/set/ was not counted at two sizes");
        assert_eq!(error(&pinned(7, 12)[..4]), "canary/copy/ was not counted at two sizes");
    }

    #[test]
    fn impossible_rates_of_writing_are_refused() {
        assert_eq!(table(&[("mixed/uninit/1x1m", 198_484)]), Ok(()));
        let error = table(&[("mixed/uninit/1x1m", 100)]).unwrap_err();
        assert_eq!(error, "mixed/uninit/1x1m writes 1058968 bytes in 100 Ir");
        // Zero bytes from the kernel are not written by the program.
        assert_eq!(table(&[("zeroed/alloc_zeroed/1m/fresh", 400)]), Ok(()));
        assert!(table(&[("zeroed/alloc_zeroed/1m", 400)]).is_err());
    }

    #[test]
    fn counts_that_fall_as_the_size_grows_are_refused() {
        let both = |large| table(&[("cursor/uninit/10m", large), ("cursor/uninit/1m", 200_000)]);
        assert_eq!(both(200_000), Ok(()));
        let error = "cursor/uninit/10m counts 199999 Ir, the smaller cursor/uninit/1m 200000";
        assert_eq!(both(199_999), Err(error.into()));
        // Other strategies, cuts and numbers of accounts are no measure.
        let others = [("cursor/floor/10m", 190_000), ("cursor/uninit/1m", 200_000)];
        assert_eq!(table(&others), Ok(()));
        let mixed = [("mixed/uninit/64x165", 90_000), ("mixed/uninit/1x100000", 10_000)];
        assert_eq!(table(&mixed), Ok(()));
        let error = table(&[("mixed/uninit/64x165", 50_000), ("mixed/uninit/8x165", 50_001)]);
        assert!(error.unwrap_err().starts_with("mixed/uninit/64x165 counts 50000 Ir"));
    }
}
