//! The runs of an audit: a survey of all sites, then as many as it takes to prove what the survey suggests.
//!
//! A survey does not trace origins, which takes twice the time. If it saw that zeros were read, a run that does says whose they
//! were; if memcheck takes some for memory that the program never initialized, a run without marks tells which are.
//!
//! That leaves two questions. Memcheck reports a place in the program *once*, whichever site the byte came from: so what is to
//! be called superfluous is marked alone, without the bytes that were kept. If memcheck then reports nothing, nothing of it was
//! needed; what keeps its bytes in too many pieces is marked alone as a whole. And bytes that were *copied* from another zeroed
//! and never written block stay undefined, so that they look kept although they were written: where more than one site has
//! kept bytes, those that are partly overwritten are marked alone, and then, one by one, some that look wholly kept.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::account::{Count, Kept};
use super::format::RAGGED;
use super::run::{Chosen, Origins, Pass, Runner};
use super::symbols::Symbols;
use super::uses::{Origin, Use};
use super::verdict::{Audit, Site};
use super::verify::{Verified, verify};
use super::{Options, verdict};
use crate::failure::Failure;

/// How many of the sites that look wholly kept are looked at one by one.
const ALONE: usize = 4;

/// What is known of a site.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    /// The counts when other sites could not hide anything; those of the survey until then.
    pub(crate) exact: Count,
    /// Reads of its zeros.
    pub(crate) reads: Vec<Use>,
    /// Reads of zeros that were overwritten later: the zeroing of those bytes was needed.
    pub(crate) read_before_overwritten: bool,
    /// What was overwritten is known not to have been read as zero.
    pub(crate) proven: bool,
    /// Bytes that count as kept may be copies of other zeros.
    pub(crate) may_hide_copies: bool,
}

/// Everything that the runs found out.
pub(crate) struct Findings {
    pub(crate) known: BTreeMap<u64, Known>,
    pub(crate) kept: Kept,
}

impl Findings {
    fn of(survey: &Pass) -> Self {
        let known = |count: &Count| Known {
            exact: *count,
            reads: Vec::new(),
            read_before_overwritten: false,
            proven: false,
            may_hide_copies: false,
        };
        Self {
            known: survey.sites.iter().map(|(key, count)| (*key, known(count))).collect(),
            kept: survey.kept.clone(),
        }
    }

    fn add_reads(&mut self, uses: &[Use]) {
        for read in uses {
            if let Origin::Site(key) = read.origin
                && let Some(known) = self.known.get_mut(&key)
                && known
                    .reads
                    .iter()
                    .all(|other| other.stack != read.stack || other.how != read.how)
            {
                known.reads.push(read.clone());
            }
        }
    }

    fn update(&mut self, keys: &[u64], change: impl Fn(u64, &mut Known)) {
        for key in keys {
            if let Some(known) = self.known.get_mut(key) {
                change(*key, known);
            }
        }
    }

    fn keys(&self, which: impl Fn(&Known) -> bool) -> Vec<u64> {
        self.known.iter().filter(|(_, known)| which(known)).map(|(key, _)| *key).collect()
    }

    /// Takes over what a run found in which only `sites` were marked.
    fn sharpen(&mut self, sites: &[u64], pass: &Pass) {
        self.update(sites, |key, known| {
            known.exact = pass.sites.get(&key).copied().unwrap_or(known.exact)
        });
        self.kept.retain(|(site, _), _| !sites.contains(site));
        self.kept.extend(pass.kept.iter().map(|(zeroing, kept)| (*zeroing, kept.clone())));
        self.add_reads(&pass.uses);
    }
}

fn is_partly_overwritten(known: &Known) -> bool {
    known.exact.overwritten > 0 && known.exact.kept > 0
}

fn is_wholly_kept(known: &Known) -> bool {
    known.exact.overwritten == 0 && known.exact.kept > 0 && known.reads.is_empty()
}

/// What is to be called superfluous, wholly or in part.
fn is_candidate(known: &Known) -> bool {
    known.exact.overwritten > 0
        && (known.exact.kept > 0 || known.reads.is_empty())
        && !known.read_before_overwritten
}

/// Audits a program: it is run under memcheck, with the input and outputs of this process, and then again as often as
/// the proofs need. `progress` is told what each run is for.
///
/// # Errors
/// [`Failure`] if the program cannot be audited, or this process has been interrupted.
pub fn audit(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Audit, Failure> {
    let mut symbols = Symbols::default();
    let mut runner = Runner::new(options)?;
    let survey = runner.pass(Chosen::All, Origins::Unknown, &mut symbols)?;
    let findings = Findings::of(&survey);
    let uses = survey.uses.clone();
    let own = Vec::new();
    let mut auditor =
        Auditor { runner, symbols, survey, uses, own, findings, differs: false, progress };
    auditor.look_whose_zeros_were_read()?;
    auditor.prove()?;
    if auditor.look_for_copies()? {
        auditor.prove()?;
    }
    auditor.prove_alone()?;
    let mut audit = auditor.outcome();
    if options.verify {
        audit.verified = Some(auditor.verify(&audit.sites)?);
    }
    Ok(audit)
}

/// An audit after its survey.
struct Auditor<'a> {
    runner: Runner<'a>,
    symbols: Symbols,
    survey: Pass,
    /// Uses of marked bytes when all sites were marked, with their origins if those were traced.
    uses: Vec<Use>,
    /// Uses of memory that the program itself never initialized.
    own: Vec<Use>,
    findings: Findings,
    /// A later run was another one.
    differs: bool,
    progress: &'a mut dyn FnMut(&str),
}

impl Auditor<'_> {
    /// Runs the program again, as `chosen`. None if there is no run left, or the program did something else than in the
    /// survey.
    fn again(
        &mut self,
        chosen: Chosen<'_>,
        origins: Origins,
        why: &str,
    ) -> Result<Option<Pass>, Failure> {
        if self.runner.runs_left() == 0 {
            return Ok(None);
        }
        (self.progress)(&format!("run {}: {why}", self.runner.runs() + 1));
        let mut pass = self.runner.pass(chosen, origins, &mut self.symbols)?;
        let mut keys = pass.sites.keys().filter(|key| chosen.names(**key));
        let same = pass.status == self.survey.status
            && keys.all(|key| calls(&pass, *key) == calls(&self.survey, *key));
        self.differs |= !same;
        if let (Chosen::Only([site], _), Origins::Unknown) = (chosen, origins) {
            pass.uses.iter_mut().for_each(|read| read.origin = Origin::Site(*site));
        }
        pass.uses.retain(|read| !self.own.iter().any(|own| own.is_at_the_place_of(read)));
        Ok(same.then_some(pass))
    }

    /// Finds out whose the zeros were, if any were read.
    fn look_whose_zeros_were_read(&mut self) -> Result<(), Failure> {
        if self.uses.is_empty() {
            return Ok(());
        }
        if let Some(pass) = self.again(Chosen::All, Origins::Traced, "whose zeros were read")? {
            self.findings.add_reads(&pass.uses);
            self.uses = pass.uses;
        }
        // Memcheck may be wrong about an origin: the program's own is what it reports without our marks too.
        if self.uses.iter().any(|read| read.origin == Origin::Program) {
            let why = "what the program itself never initialized";
            if let Some(pass) =
                self.again(Chosen::Only(&[], &Kept::new()), Origins::Unknown, why)?
            {
                self.own = pass.uses;
                self.uses.retain(|read| !self.own.iter().any(|own| own.is_at_the_place_of(read)));
            }
        }
        Ok(())
    }

    /// Marks alone what may only look kept; whether anything was found.
    fn look_for_copies(&mut self) -> Result<bool, Failure> {
        let with_kept = self.findings.keys(|known| known.exact.kept > 0);
        if with_kept.len() < 2 {
            return Ok(false);
        }
        self.findings.update(&with_kept, |_, known| known.may_hide_copies = true);
        let nothing = Kept::new();
        let partly = self.findings.keys(is_partly_overwritten);
        let mut wholly = self.findings.keys(is_wholly_kept);
        wholly.sort_by_key(|key| Reverse(self.findings.known[key].exact.kept));
        let groups =
            [partly].into_iter().chain(wholly.into_iter().take(ALONE).map(|key| vec![key]));
        let mut found = false;
        for group in groups.filter(|group| !group.is_empty()) {
            let why = format!("how much is kept of {} without the others", sites(group.len()));
            let chosen = Chosen::Only(&group, &nothing);
            let Some(pass) = self.again(chosen, Origins::Unknown, &why)? else { continue };
            let before: Vec<_> = group.iter().map(|key| self.findings.known[key].exact).collect();
            self.findings.sharpen(&group, &pass);
            for (key, before) in group.iter().zip(before) {
                let changed = self.findings.known[key].exact != before;
                found |= changed;
                self.findings.update(&[*key], |_, known| {
                    known.proven &= !changed;
                    known.proven |= pass.uses.is_empty();
                    known.may_hide_copies = group.len() > 1 && known.exact.kept > 0;
                });
            }
        }
        Ok(found)
    }

    /// Marks alone what is to be called superfluous, until nobody reads any of it.
    fn prove(&mut self) -> Result<(), Failure> {
        if self.uses.is_empty() {
            let all = self.findings.keys(|known| known.reads.is_empty());
            self.findings.update(&all, |_, known| known.proven = true);
        }
        let mut origins = Origins::Unknown;
        loop {
            let maskable = self.maskable();
            let candidates = self.findings.keys(|known| is_candidate(known) && !known.proven);
            let candidates: Vec<_> = candidates.into_iter().filter(maskable).collect();
            if candidates.is_empty() {
                return Ok(());
            }
            let kept = self.findings.kept.clone();
            let why = format!("whether the zeros of {} are needed", sites(candidates.len()));
            let chosen = Chosen::Only(&candidates, &kept);
            let Some(pass) = self.again(chosen, origins, &why)? else { return Ok(()) };
            if pass.uses.is_empty() {
                self.findings.update(&candidates, |key, known| {
                    known.proven = pass.sites.get(&key).is_some_and(|count| {
                        count.changed == 0 && count.kept == 0 && count.unaccounted() == 0
                    });
                });
                return Ok(());
            }
            let read: Vec<_> = pass.uses.iter().filter_map(|read| read.origin.site()).collect();
            if read.is_empty() && origins == Origins::Traced {
                return Ok(());
            }
            origins = Origins::Traced;
            self.findings.add_reads(&pass.uses);
            self.findings.update(&read, |_, known| known.read_before_overwritten = true);
        }
    }

    /// Marks one by one what keeps its bytes in too many pieces to be left out: if nobody reads any, none was needed.
    fn prove_alone(&mut self) -> Result<(), Failure> {
        let mut left = self.findings.keys(|known| is_candidate(known) && !known.proven);
        left.sort_by_key(|key| Reverse(self.findings.known[key].exact.overwritten));
        for key in left {
            let why = "whether any zero of 1 site is needed";
            let nothing = Kept::new();
            let site = [key];
            let chosen = Chosen::Only(&site, &nothing);
            let Some(pass) = self.again(chosen, Origins::Unknown, why)? else { return Ok(()) };
            self.findings.add_reads(&pass.uses);
            self.findings.update(&site, |_, known| {
                known.proven = pass.uses.is_empty();
                known.read_before_overwritten = !pass.uses.is_empty();
            });
        }
        Ok(())
    }

    /// Whether what a site keeps is known for each of its zeroings.
    fn maskable(&self) -> impl Fn(&u64) -> bool + use<> {
        let ragged = self.findings.kept.iter().filter(|(_, (length, _))| *length == RAGGED);
        let mut unknown: BTreeSet<u64> = ragged.map(|((site, _), _)| *site).collect();
        if self.survey.accounts.iter().any(|account| account.log_cut) {
            unknown.extend(self.findings.keys(|known| known.exact.kept > 0));
        }
        move |key| !unknown.contains(key)
    }

    /// Runs the program with garbage in the place of what is called superfluous.
    fn verify(&mut self, sites: &[Site]) -> Result<Verified, Failure> {
        let keys: Vec<_> =
            sites.iter().filter(|site| site.wasted > 0).map(|site| site.key).collect();
        if keys.is_empty() {
            return Ok(Verified::Nothing);
        }
        let left_out = self.findings.kept.iter();
        let left_out =
            left_out.filter(|((site, _), (length, _))| *length == RAGGED && keys.contains(site));
        let left_out = left_out.count();
        let chosen = Chosen::Only(&keys, &self.findings.kept);
        verify(&self.runner, chosen, left_out, self.progress)
    }

    fn outcome(&mut self) -> Audit {
        let accounts = &self.survey.accounts;
        Audit {
            status: self.survey.status,
            runs: self.runner.runs(),
            differs: self.differs,
            processes: accounts.len(),
            unfinished: accounts.iter().filter(|account| !account.ended).count(),
            left_out: accounts.iter().map(|account| account.left_out).sum(),
            own_reads: self.own.len(),
            sites: verdict::sites(&self.findings, &self.survey, &mut self.symbols),
            verified: None,
        }
    }
}

fn calls(pass: &Pass, key: u64) -> Option<(u64, u64)> {
    pass.sites.get(&key).map(|count| (count.calls, count.zeroed))
}

fn sites(count: usize) -> String {
    if count == 1 { "1 site".to_owned() } else { format!("{count} sites") }
}
