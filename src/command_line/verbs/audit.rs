//! `audit`.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;

use crate::audit::{self, Exceptions, Options, Verified};
use crate::failure::Failure;
use crate::files::write_whole;

use crate::command_line::{Audit, NOT_OK};

pub(crate) fn audit(arguments: Audit) -> Result<u8, Failure> {
    let exceptions = match &arguments.allow {
        Some(file) => Exceptions::read(file)?,
        None => Exceptions::default(),
    };
    let Some((program, rest)) = arguments.command.split_first() else {
        return Err(Failure::new("no program to audit; give it after --"));
    };
    let options = Options {
        program: program.into(),
        arguments: rest.to_vec(),
        min: arguments.min,
        follow: arguments.follow,
        runs: arguments.runs.max(1),
        verify: arguments.verify,
    };
    let outcome = audit::audit(&options, &mut |line| say(line))?;
    let sites: Vec<_> = outcome
        .sites
        .iter()
        .filter(|site| arguments.only.as_ref().is_none_or(|pattern| site.matches(pattern)))
        .collect();
    let title = options.program.display().to_string();
    let text = audit::text(&outcome, &sites, &exceptions);
    let _ = writeln!(std::io::stderr(), "\nwriteonce audit of {title}: {text}");
    if let Some(file) = &arguments.json {
        write_whole(file, &format!("{:#}\n", audit::json(&outcome, &sites, &exceptions)))?;
    }
    if let Some(file) = &arguments.html {
        write_whole(file, &audit::page(&title, &outcome, &sites, &exceptions))?;
    }
    match &outcome.verified {
        None => {}
        Some(Verified::Same(left_out)) => {
            say("verified: with garbage instead of these zeros the program does the same");
            if *left_out > 0 {
                say(&format!(
                    "but {left_out} zeroings were not tried: what is kept of them lies in too many pieces"
                ));
            }
        }
        Some(Verified::Nothing) => say("nothing to verify"),
        Some(Verified::Differs(how)) => {
            say(&format!(
                "with garbage instead of these zeros the program does something else: {how}"
            ));
            return Ok(NOT_OK);
        }
    }
    let wasted: u64 =
        sites.iter().filter(|site| exceptions.reason(site).is_none()).map(|site| site.wasted).sum();
    if let Some(most) = arguments.max_wasted.filter(|most| wasted > *most) {
        say(&format!("{wasted} bytes are zeroed for nothing, {most} may be"));
        return Ok(NOT_OK);
    }
    let signal = outcome.status.signal().map(|signal| signal + 128);
    Ok(outcome.status.code().or(signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(NOT_OK))
}

/// Progress and verdicts go to standard error: standard output is the program's.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "writeonce audit: {line}");
}
