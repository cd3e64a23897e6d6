//! The other proof: the program runs at full speed, without memcheck, with garbage in the place of the zeros that were
//! called superfluous. If they are, nobody sees a difference.

use super::run::{Chosen, Runner};
use crate::failure::Failure;

/// What a run with garbage showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verified {
    /// The same outputs and exit code. As many zeroings were left as they were, because what is kept of them lies in too
    /// many pieces.
    Same(usize),
    /// Something else: what.
    Differs(String),
    /// Nothing was called superfluous.
    Nothing,
}

/// Runs the program twice as it is and once with garbage in the place of what `chosen` names. An output that is another
/// one in each run, because it tells the time for example, is not compared, and `progress` is told so.
///
/// # Errors
/// [`Failure`] if the program cannot be run, or this process has been interrupted.
pub(crate) fn verify(
    runner: &Runner<'_>,
    chosen: Chosen<'_>,
    left_out: usize,
    progress: &mut dyn FnMut(&str),
) -> Result<Verified, Failure> {
    let [first, second] = [runner.native(None, "")?, runner.native(None, "")?];
    let garbage = runner.native(Some(chosen), "garbage")?;
    if first.status == second.status && garbage.status != first.status {
        return Ok(Verified::Differs(format!("{} instead of {}", garbage.status, first.status)));
    }
    let outputs = [
        ("standard output", &first.stdout, &second.stdout, &garbage.stdout),
        ("standard error", &first.stderr, &second.stderr, &garbage.stderr),
    ];
    for (name, first, second, garbage) in outputs {
        if first != second {
            progress(&format!("{name} is another one in each run and is not compared"));
        } else if garbage != first {
            let same = first.iter().zip(garbage).take_while(|(a, b)| a == b).count();
            return Ok(Verified::Differs(format!("{name} differs from byte {same} on")));
        }
    }
    Ok(Verified::Same(left_out))
}
