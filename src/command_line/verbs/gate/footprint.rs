//! The footprint's part of the gate.

use std::path::Path;

use crate::failure::Failure;
use crate::footprint::{Conditions, Row};
use crate::gate::{self, Verdict};
use crate::lens::footprint::Footprint;
use crate::own::command;

/// A footprint to compare with, and what has to be said of it.
pub(super) struct Other {
    footprint: Footprint,
    /// Why page faults are not compared, where they are not.
    no_faults: Option<String>,
}

impl Other {
    /// The footprint of a revision, measured under the same conditions.
    pub(super) fn measured(footprint: Footprint) -> Self {
        Self { footprint, no_faults: None }
    }

    /// The committed footprint that fits the conditions; where there is none, one whose calls and bytes do.
    pub(super) fn fitting(folder: &Path, conditions: &Conditions) -> Result<Self, Failure> {
        let mut fitting: Vec<(_, Vec<String>, Footprint)> = Footprint::read_all(folder)?
            .into_iter()
            .filter(|(_, other)| other.conditions.pointer_width() == conditions.pointer_width())
            .map(|(path, other)| (path, conditions.differences(&other.conditions), other))
            .collect();
        fitting.sort_by_key(|(_, differences, _)| differences.len());
        if let [(one, first, _), (other, second, _), ..] = &fitting[..]
            && first.is_empty()
            && second.is_empty()
        {
            let reason = format!("{} is of the same conditions; remove one", one.display());
            return Err(Failure::at(other, reason));
        }
        let first = fitting.into_iter().next();
        let (path, differences, footprint) = first.ok_or_else(|| {
            Failure::new(format!(
                "no footprint baseline in {} for pointers of {} bits; record one with `{}`",
                folder.display(),
                conditions.pointer_width(),
                command::record()
            ))
        })?;
        let no_faults = (!differences.is_empty())
            .then(|| format!("{} has another {}", path.display(), differences.join(", ")));
        Ok(Self { footprint, no_faults })
    }

    /// Judges the cases with `only` in their ids. What has to be said of it goes with the verdicts.
    pub(super) fn judge(
        &self,
        ids: &[String],
        measured: Footprint,
        only: &str,
    ) -> (Vec<Verdict<Row>>, String) {
        let (mut measured, mut other, mut note) = (measured, self.footprint.clone(), String::new());
        if let Some(why) = &self.no_faults {
            note = format!("footprint: page faults are not compared: {why}\n");
            (measured, other) = (measured.without_faults(), other.without_faults());
        }
        let mut verdicts = gate::judge(ids, &measured.rows, &other.rows);
        verdicts.retain(|verdict| verdict.id.contains(only));
        (verdicts, note)
    }
}
