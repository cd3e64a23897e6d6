//! One run of the program: under memcheck with the library preloaded, or with garbage in the place of zeros.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, OnceLock};

use tempfile::TempDir;

use super::account::{self, Account, Count, Kept};
use super::format::{FOLDER_BYTES, FRAMES, LIBRARY, MAGIC, PLAN_VARIABLE, RAGGED, mode};
use super::symbols::Symbols;
use super::uses::{self, Use};
use super::{Options, program};
use crate::failure::Failure;
use crate::process::{Group, check_interrupted, temporary_folder};

/// The preloaded library, compiled by the build script; empty where there is no audit.
const PRELOADED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/writeonce_audit.so"));

/// Which zeroings are chosen.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Chosen<'a> {
    All,
    /// Those at sites with these keys, but for the kept ranges.
    Only(&'a [u64], &'a Kept),
}

impl Chosen<'_> {
    /// Whether the zeroings at a site are chosen.
    pub(crate) fn names(&self, site: u64) -> bool {
        match self {
            Self::All => true,
            Self::Only(sites, _) => sites.contains(&site),
        }
    }
}

/// Whether memcheck finds out whose a byte was that is read as zero; that takes twice the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origins {
    Traced,
    Unknown,
}

/// What a run under memcheck showed.
#[derive(Debug)]
pub(crate) struct Pass {
    pub(crate) status: ExitStatus,
    pub(crate) sites: BTreeMap<u64, Count>,
    pub(crate) uses: Vec<Use>,
    pub(crate) kept: Kept,
    pub(crate) accounts: Vec<Account>,
}

/// A program that is being audited, and a private folder for what its runs leave.
pub(crate) struct Runner<'a> {
    options: &'a Options,
    program: PathBuf,
    folder: TempDir,
    input: Input,
    runs: usize,
}

/// Where the program's input comes from in runs after the first.
enum Input {
    /// A file, and where it stood.
    File(File, u64),
    /// What came through a pipe is kept here, if it could be.
    Spool(PathBuf, Arc<OnceLock<io::Error>>),
    /// There is none to give again.
    None,
}

impl<'a> Runner<'a> {
    /// Makes ready.
    pub(crate) fn new(options: &'a Options) -> Result<Self, Failure> {
        if PRELOADED.is_empty() {
            return Err(Failure::new("the audit is for x86-64 Linux with glibc"));
        }
        let program = program::find(&options.program)?;
        program::check(&program)?;
        let folder = temporary_folder("writeonce-audit-")?;
        let path = folder.path().as_os_str().as_bytes();
        if path.len() + 16 > FOLDER_BYTES || path.iter().any(|byte| b" :".contains(byte)) {
            return Err(Failure::at(
                folder.path(),
                "the loader takes no spaces or colons in the path of a preloaded library; set TMPDIR to another folder",
            ));
        }
        let library = folder.path().join(LIBRARY);
        fs::write(&library, PRELOADED).map_err(|error| Failure::at(&library, error))?;
        let input = Input::of_this_process(folder.path());
        Ok(Self { options, program, folder, input, runs: 0 })
    }

    /// Runs that may still be done.
    pub(crate) fn runs_left(&self) -> usize {
        self.options.runs.saturating_sub(self.runs)
    }

    /// Runs that were done under memcheck.
    pub(crate) fn runs(&self) -> usize {
        self.runs
    }

    /// Runs the program under memcheck. The first time it has the input and the outputs of this process, later its outputs
    /// go nowhere.
    pub(crate) fn pass(
        &mut self,
        chosen: Chosen<'_>,
        origins: Origins,
        symbols: &mut Symbols,
    ) -> Result<Pass, Failure> {
        let first = self.runs == 0;
        self.runs += 1;
        let folder = self.folder.path().join(format!("run{}", self.runs));
        let plan = self.plan(&folder, mode::MARK, chosen)?;
        let log = log_option(&folder);
        let mut command = Command::new("valgrind");
        command
            .args([
                "--tool=memcheck",
                "--soname-synonyms=somalloc=nouserintercepts",
                "--undef-value-errors=yes",
                "--quiet",
            ])
            .arg(match origins {
                Origins::Traced => "--track-origins=yes",
                Origins::Unknown => "--track-origins=no",
            })
            .args(["--error-limit=yes", "--leak-check=no", "--read-inline-info=no"])
            .args(["--keep-stacktraces=none", "--vgdb=no", "--show-error-list=no"])
            // Origins are told apart by their whole stacks; uses alone are not.
            .arg(match origins {
                Origins::Traced => format!("--num-callers={}", FRAMES + 6),
                Origins::Unknown => "--num-callers=6".to_owned(),
            })
            .arg(if self.options.follow { "--trace-children=yes" } else { "--trace-children=no" })
            .arg(log)
            .arg("--")
            .arg(&self.program)
            .args(&self.options.arguments);
        self.preload(&mut command, &plan);
        let cannot = |error: io::Error| {
            // Whoever audits may have this program alone, without a checkout.
            Failure::new(format!("valgrind cannot be run ({error}); install the package valgrind"))
        };
        let status = if first {
            self.input.first(&mut command).map_err(cannot)?
        } else {
            command.stdin(self.input.again()?).stdout(Stdio::null()).stderr(Stdio::null());
            Group::spawn(&mut command).and_then(Group::wait).map_err(cannot)?
        };
        check_interrupted()?;
        check_room(&folder)?;
        let accounts = account::accounts(&folder)?;
        if accounts.is_empty() {
            return Err(Failure::at(&self.program, memcheck_said(&folder)));
        }
        let mut sites: BTreeMap<u64, Count> = BTreeMap::new();
        for (key, count, _) in accounts.iter().flat_map(|account| &account.sites) {
            let sum = sites.entry(*key).or_default();
            sum.kind = count.kind;
            sum.calls += count.calls;
            sum.zeroed += count.zeroed;
            sum.marked += count.marked;
            sum.overwritten += count.overwritten;
            sum.kept += count.kept;
            sum.changed += count.changed;
        }
        let uses = uses::uses(&folder, &accounts, symbols)?;
        let kept = account::kept(&folder)?;
        let _ = fs::remove_dir_all(&folder);
        Ok(Pass { status, sites, uses, kept, accounts })
    }

    /// Runs the program without memcheck, with garbage in the place of the chosen zeros or untouched.
    pub(crate) fn native(
        &self,
        garbage: Option<Chosen<'_>>,
        name: &str,
    ) -> Result<Output, Failure> {
        let mut command = Command::new(&self.program);
        command.args(&self.options.arguments);
        if let Some(chosen) = garbage {
            let plan = self.plan(&self.folder.path().join(name), mode::GARBAGE, chosen)?;
            self.preload(&mut command, &plan);
        }
        command.stdin(self.input.again()?).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = Group::spawn(&mut command).and_then(Group::wait_with_output);
        let output =
            output.map_err(|error| Failure::at(&self.program, format!("cannot be run: {error}")));
        check_interrupted()?;
        output
    }

    fn preload(&self, command: &mut Command, plan: &Path) {
        let mut preloaded = self.folder.path().join(LIBRARY).into_os_string();
        if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
            preloaded.push(":");
            preloaded.push(others);
        }
        let variable = OsStr::from_bytes(PLAN_VARIABLE.to_bytes());
        command.env("LD_PRELOAD", preloaded).env(variable, plan);
    }

    /// Writes the plan of a run into its folder.
    fn plan(&self, folder: &Path, mode: u64, chosen: Chosen<'_>) -> Result<PathBuf, Failure> {
        let none = Kept::new();
        let (only, sites, kept) = match chosen {
            Chosen::All => (0, &[][..], &none),
            Chosen::Only(sites, kept) => (1, sites, kept),
        };
        let mut sites = sites.to_vec();
        sites.sort_unstable();
        let (mut masks, mut ranges) = (Vec::new(), Vec::new());
        for ((site, ordinal), (length, kept)) in kept {
            if sites.binary_search(site).is_ok() {
                let whole = *length == RAGGED;
                masks.push([
                    *site,
                    *ordinal,
                    *length,
                    ranges.len() as u64,
                    if whole { 0 } else { kept.len() as u64 },
                ]);
                ranges.extend(kept.iter().copied());
            }
        }
        let head = [
            MAGIC,
            mode,
            self.options.min.max(1),
            u64::from(self.options.follow),
            only,
            sites.len() as u64,
            masks.len() as u64,
            ranges.len() as u64,
        ];
        let mut bytes: Vec<u8> = head.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.extend(folder.as_os_str().as_bytes());
        bytes.resize(8 * head.len() + FOLDER_BYTES, 0);
        let tail = sites.iter().chain(masks.iter().flatten()).chain(ranges.iter().flatten());
        bytes.extend(tail.flat_map(|word| word.to_ne_bytes()));
        let path = folder.join("plan");
        fs::create_dir(folder)
            .and_then(|()| fs::write(&path, bytes))
            .map_err(|error| Failure::at(&path, error))?;
        Ok(path)
    }
}

/// The option that makes memcheck write a log for each process into `folder`, in whose path no percent sign begins a pattern.
fn log_option(folder: &Path) -> OsString {
    let mut option = b"--log-file=".to_vec();
    for &byte in folder.as_os_str().as_bytes() {
        option.extend([byte].repeat(if byte == b'%' { 2 } else { 1 }));
    }
    option.extend(b"/log.%p");
    OsString::from_vec(option)
}

/// What a disk must have left behind a run, in bytes: where it has not, a log may lack its end, of which nobody tells.
const ROOM: usize = 1 << 16;

/// Finds out whether what the run left can be whole.
fn check_room(folder: &Path) -> Result<(), Failure> {
    let probe = folder.join("room");
    let left = fs::write(&probe, vec![0; ROOM]).and_then(|()| fs::remove_file(&probe));
    left.map_err(|error| {
        Failure::at(
            folder,
            format!(
                "the run cannot be trusted: {error}; make room, or set TMPDIR to another folder"
            ),
        )
    })
}

/// Why there is no account: what memcheck had to say, or that the library was not loaded.
fn memcheck_said(folder: &Path) -> String {
    let logs = account::files(folder, "log.").unwrap_or_default();
    let said = logs.iter().filter_map(|log| fs::read_to_string(log).ok()).collect::<String>();
    let line = said
        .lines()
        .map(|line| line.trim_start_matches(|c: char| "=-*".contains(c) || c.is_ascii_digit()));
    match line.map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => format!("memcheck cannot run it: {line}"),
        None => {
            "it did not load the library (was it killed at its start, or does it clear LD_PRELOAD?)"
                .to_owned()
        }
    }
}

impl Input {
    fn of_this_process(folder: &Path) -> Self {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            return Self::None;
        }
        let Ok(owned) = stdin.as_fd().try_clone_to_owned() else { return Self::None };
        let mut file = File::from(owned);
        match file.metadata().map(|data| data.file_type()) {
            Ok(kind) if kind.is_file() => match file.stream_position() {
                Ok(at) => Self::File(file, at),
                Err(_) => Self::None,
            },
            Ok(kind) if kind.is_fifo() || kind.is_socket() => {
                Self::Spool(folder.join("input"), Arc::default())
            }
            _ => Self::None,
        }
    }

    /// Runs the command with the input of this process, which is kept for later runs if it comes through a pipe.
    fn first(&self, command: &mut Command) -> io::Result<ExitStatus> {
        let Self::Spool(path, lost) = self else {
            return Group::in_foreground(command).and_then(Group::wait);
        };
        let lost = Arc::clone(lost);
        let mut spool = File::create(path)?;
        let mut child = Group::in_foreground(command.stdin(Stdio::piped()))?;
        let mut pipe = child.child().stdin.take();
        // Not joined: it may wait for input that the program does not want any more.
        std::thread::spawn(move || {
            let mut part = [0; 1 << 16];
            while let Ok(length @ 1..) = io::stdin().read(&mut part) {
                if let Err(error) = spool.write_all(&part[..length]) {
                    let _ = lost.set(error);
                }
                if pipe.as_mut().is_none_or(|pipe| pipe.write_all(&part[..length]).is_err()) {
                    break;
                }
            }
        });
        child.wait()
    }

    /// The same input again.
    fn again(&self) -> Result<Stdio, Failure> {
        let input = match self {
            Self::None => return Ok(Stdio::null()),
            Self::Spool(path, lost) => match lost.get() {
                Some(error) => Err(error.kind().into()),
                None => File::open(path),
            },
            Self::File(file, at) => file.try_clone().and_then(|mut file| {
                file.seek(SeekFrom::Start(*at))?;
                Ok(file)
            }),
        };
        let input = input
            .map_err(|error| Failure::new(format!("the input cannot be given again: {error}")))?;
        Ok(input.into())
    }
}
