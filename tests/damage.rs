//! Baselines damaged in a thousand seeded ways: never a panic, and never green unless the meaning is unchanged.

#![cfg(feature = "cli")]

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use writeonce::baseline::Baseline;
use writeonce::gate::{Kind, Measured, judge, slack};
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

/// Damages `text` a thousand times: what is read of it is refused, or red, or means what was there before, but for what
/// `allow` takes back from a row that it compares with the whole one.
fn never_green_by_damage<W, R: Measured + Clone + PartialEq + Debug>(
    text: &str,
    rows: &[R],
    parse: impl Fn(&str) -> Option<W>,
    same_header: impl Fn(&W) -> bool,
    rows_of: impl Fn(W) -> Vec<R>,
    allow: impl Fn(&mut R, &R),
) {
    let table: Vec<_> = rows.iter().map(|row| row.id().to_owned()).collect();
    let mut dice = Dice(17_324);
    let (mut refused, mut red) = (0, 0);
    for _ in 0..1000 {
        let (kind, bytes) = damaged(text, &mut dice);
        let Some(damaged) = String::from_utf8(bytes).ok().and_then(|text| parse(&text)) else {
            refused += 1;
            continue;
        };
        let same_header = same_header(&damaged);
        let mut damaged = rows_of(damaged);
        let verdicts = judge(&table, rows, &damaged);
        if !same_header || verdicts.iter().any(|verdict| verdict.kind != Kind::Ok) {
            red += 1;
            continue;
        }
        damaged.sort_by_key(|row| table.iter().position(|id| *id == row.id()));
        damaged.iter_mut().zip(rows).for_each(|(row, whole)| allow(row, whole));
        assert_eq!(damaged, rows, "{kind}: green although the meaning changed");
    }
    assert!(refused > 300 && red > 50, "{refused} refused, {red} red");
}

fn baselines() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("baselines")
}

#[test]
fn no_damage_is_green_unless_the_meaning_is_unchanged() {
    let (path, _) = Baseline::read_all(&baselines()).unwrap().remove(0);
    let text = std::fs::read_to_string(path).unwrap();
    let whole = Baseline::parse(&text).unwrap();
    never_green_by_damage(
        &text,
        &whole.rows,
        |text| Baseline::parse(text).ok(),
        |damaged| damaged.environment == whole.environment,
        |damaged| damaged.rows,
        |_, _| {},
    );
}

#[test]
fn no_damage_of_a_footprint_is_green_unless_the_meaning_is_unchanged() {
    let (path, whole) = Footprint::read_all(&baselines()).unwrap().remove(0);
    let text = std::fs::read_to_string(path).unwrap();
    never_green_by_damage(
        &text,
        &whole.rows,
        |text| Footprint::parse(text).ok(),
        |damaged| damaged.conditions == whole.conditions,
        |damaged| damaged.rows,
        |row, whole| {
            // Nothing is compared with the peak, and page faults have a slack.
            row.peak_rss_kib = None;
            for (faults, then) in [
                (&mut row.faults_recycled, whole.faults_recycled),
                (&mut row.faults_fresh, whole.faults_fresh),
            ] {
                let near =
                    faults.zip(then).is_none_or(|(now, then)| now.abs_diff(then) <= slack(whole));
                assert!(near, "green although the page faults changed");
                *faults = then;
            }
        },
    );
}
