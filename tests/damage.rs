//! Baselines damaged in a thousand seeded ways: never a panic, and never green unless the meaning is unchanged.

#![cfg(feature = "cli")]

use std::path::Path;

use writeonce::baseline::Baseline;
use writeonce::gate::{Kind, judge, slack};
use writeonce::lens::footprint::Footprint;

/// Numbers that look random and are the same each time (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }
}

/// The text with one damage, and which kind it was.
fn damaged(text: &str, dice: &mut Dice) -> (&'static str, Vec<u8>) {
    let mut lines: Vec<_> = text.split_inclusive('\n').map(str::to_owned).collect();
    let (one, other) = (dice.below(lines.len()), dice.below(lines.len()));
    let kind = match dice.below(7) {
        0 => {
            let mut bytes = text.as_bytes().to_vec();
            let place = dice.below(bytes.len());
            bytes[place] ^= 1 << dice.below(8);
            return ("byte flipped", bytes);
        }
        1 => return ("cut short", text.as_bytes()[..dice.below(text.len())].to_vec()),
        2 => {
            lines.remove(one);
            "line cut"
        }
        3 => {
            let line = lines[one].clone();
            lines.insert(other, line);
            "line doubled"
        }
        4 => {
            lines.swap(one, other);
            "lines swapped"
        }
        5 => {
            let fields: Vec<_> = lines[one].split('\t').map(str::to_owned).collect();
            let field = dice.below(fields.len());
            let huge = [u64::MAX, u64::MAX / 4, 1 << 40][dice.below(3)].to_string();
            let changed = fields
                .iter()
                .enumerate()
                .map(|(index, text)| if index == field { huge.clone() } else { text.clone() });
            lines[one] = changed.collect::<Vec<_>>().join("\t");
            "huge number"
        }
        _ => {
            let header = lines.iter().filter(|line| line.starts_with('#')).count();
            lines[dice.below(header)] = "# another\theader\n".to_owned();
            "wrong header"
        }
    };
    (kind, lines.concat().into_bytes())
}

#[test]
fn no_damage_is_green_unless_the_meaning_is_unchanged() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("baselines");
    let (path, whole) = Baseline::read_all(&folder).unwrap().remove(0);
    let text = std::fs::read_to_string(path).unwrap();
    let whole =
        Baseline { environment: whole.environment, rows: Baseline::parse(&text).unwrap().rows };
    let table: Vec<_> = whole.rows.iter().map(|row| row.id.clone()).collect();
    let mut dice = Dice(17_324);
    let (mut refused, mut red) = (0, 0);
    for _ in 0..1000 {
        let (kind, bytes) = damaged(&text, &mut dice);
        let Some(damaged) =
            String::from_utf8(bytes).ok().and_then(|text| Baseline::parse(&text).ok())
        else {
            refused += 1;
            continue;
        };
        let verdicts = judge(&table, &whole.rows, &damaged.rows);
        let green = damaged.environment == whole.environment
            && verdicts.iter().all(|verdict| verdict.kind == Kind::Ok);
        if !green {
            red += 1;
            continue;
        }
        let mut rows = damaged.rows;
        rows.sort_by_key(|row| table.iter().position(|id| *id == row.id));
        assert_eq!(rows, whole.rows, "{kind}: green although the meaning changed");
    }
    assert!(refused > 300 && red > 50, "{refused} refused, {red} red");
}

#[test]
fn no_damage_of_a_footprint_is_green_unless_the_meaning_is_unchanged() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("baselines");
    let (path, whole) = Footprint::read_all(&folder).unwrap().remove(0);
    let text = std::fs::read_to_string(path).unwrap();
    let table: Vec<_> = whole.rows.iter().map(|row| row.id.clone()).collect();
    let mut dice = Dice(17_324);
    let (mut refused, mut red) = (0, 0);
    for _ in 0..1000 {
        let (kind, bytes) = damaged(&text, &mut dice);
        let Some(damaged) =
            String::from_utf8(bytes).ok().and_then(|text| Footprint::parse(&text).ok())
        else {
            refused += 1;
            continue;
        };
        let verdicts = judge(&table, &whole.rows, &damaged.rows);
        let green = damaged.conditions == whole.conditions
            && verdicts.iter().all(|verdict| verdict.kind == Kind::Ok);
        if !green {
            red += 1;
            continue;
        }
        let mut damaged = damaged;
        damaged.rows.iter_mut().for_each(|row| row.peak_rss_kib = None);
        damaged.rows.sort_by_key(|row| table.iter().position(|id| *id == row.id));
        for (row, other) in damaged.rows.iter_mut().zip(&whole.rows) {
            for (faults, then) in [
                (&mut row.faults_recycled, other.faults_recycled),
                (&mut row.faults_fresh, other.faults_fresh),
            ] {
                let near =
                    faults.zip(then).is_none_or(|(now, then)| now.abs_diff(then) <= slack(other));
                assert!(near, "{kind}: green although the page faults changed");
                *faults = then;
            }
        }
        assert_eq!(damaged.rows, whole.rows, "{kind}: green although the meaning changed");
    }
    assert!(refused > 300 && red > 50, "{refused} refused, {red} red");
}
