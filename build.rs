//! Compiles the library that `writeonce audit` preloads, so that it is inside the one binary that gets installed.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=src/audit/preload");
    println!("cargo::rerun-if-changed=src/audit/format.rs");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let library = PathBuf::from(variable("OUT_DIR")).join("writeonce_audit.so");
    let wanted = env::var_os("CARGO_FEATURE_CLI").is_some()
        && ["CARGO_CFG_TARGET_ARCH", "CARGO_CFG_TARGET_OS", "CARGO_CFG_TARGET_ENV"].map(variable)
            == ["x86_64", "linux", "gnu"];
    if !wanted {
        // Elsewhere the verb says that there is no audit.
        std::fs::write(&library, []).expect("OUT_DIR is writable");
        return;
    }
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args(["--edition=2024", "--crate-name=writeonce_audit", "--crate-type=cdylib"]);
    rustc.args(["--target", &variable("TARGET")]);
    // Aborting, and linked as a whole, so that nothing is left that needs std. Unwind tables, because the library walks
    // the stack from inside itself.
    rustc.args(["-Cpanic=abort", "-Clto=fat", "-Cforce-unwind-tables=yes"]);
    rustc.args(["-Copt-level=2", "-Ccodegen-units=1", "-Cstrip=debuginfo"]);
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = OsString::from("-Clinker=");
        option.push(linker);
        rustc.arg(option);
    }
    rustc.arg("-o").arg(&library).arg("src/audit/preload/lib.rs");
    let status = rustc.status().expect("cargo names a compiler that runs");
    assert!(status.success(), "the preloaded library does not compile");
}
