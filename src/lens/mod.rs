//! Lenses: reading what a harness measured.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::failure::Failure;
use crate::own::{self, Suite};
use crate::process::{Group, check_interrupted};

pub mod amplification;
pub mod footprint;
pub mod instructions;
pub mod paired;
pub mod profile;
mod targets;
pub mod wall_clock;

/// Cargo, in the project at `root`, without what would replace the runner of the instruction harness.
fn cargo(root: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root).env_remove("IAI_CALLGRIND_RUNNER");
    cargo
}

/// `cargo bench` in the project at `root`, with these features and no others; a suite of somebody else's is measured
/// with its default features, and the dependencies that its lock file has.
fn cargo_bench(root: &Path, features: &[&str]) -> Command {
    let mut cargo = cargo(root);
    cargo.arg("bench");
    if Suite::installed().is_none() {
        cargo.args(["--locked", "--no-default-features", "--features", &features.join(",")]);
    }
    cargo
}

/// Builds bench targets in a folder and returns their executables.
fn build(
    root: &Path,
    folder: &Path,
    targets: &[impl AsRef<str>],
    features: &[&str],
) -> Result<Vec<PathBuf>, Failure> {
    let mut cargo = cargo_bench(root, features);
    cargo.env("CARGO_TARGET_DIR", folder);
    cargo.args(["--no-run", "--message-format=json-render-diagnostics"]);
    for target in targets {
        cargo.args(["--bench", target.as_ref()]);
    }
    cargo.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let output = Group::spawn(&mut cargo)
        .and_then(Group::wait_with_output)
        .map_err(|error| Failure::new(format!("cargo cannot be run: {error}")))?;
    check_interrupted()?;
    if !output.status.success() {
        return Err(Failure::new("the bench targets do not build; cargo said why above"));
    }
    let messages: Vec<Value> = output
        .stdout
        .split(|&byte| byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    let executable = |name: &str| {
        messages
            .iter()
            .filter(|message| message["target"]["name"] == *name)
            .find_map(|message| message["executable"].as_str())
            .map(PathBuf::from)
            .ok_or_else(|| Failure::new(format!("cargo built no executable for {name}")))
    };
    targets.iter().map(|target| executable(target.as_ref())).collect()
}

/// The target folder of the project at `root`.
///
/// # Errors
/// [`Failure`] if cargo does not say where it is.
pub fn target(root: &Path) -> Result<PathBuf, Failure> {
    let output = cargo(root)
        .args(["metadata", "--no-deps", "--format-version=1"])
        .output()
        .map_err(|error| Failure::new(format!("cargo cannot be run ({error}); install rustup")))?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    metadata["target_directory"].as_str().map(PathBuf::from).ok_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Failure::new(format!("cargo metadata failed: {said}"))
    })
}

/// The folder for results in the target folder of the project at `root`; it is made if it is not there.
///
/// # Errors
/// [`Failure`] if cargo does not say where the target folder is, or the folder cannot be made.
pub fn scratch(root: &Path) -> Result<PathBuf, Failure> {
    let mut folder = target(root)?.join(env!("CARGO_PKG_NAME"));
    if Suite::installed().is_some() {
        // Packages of one workspace share the target folder.
        folder.push(own::package());
    }
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::at(&folder, format!("cannot be made a folder: {error}")))?;
    Ok(folder)
}
