//! Which pins the C library of this machine knows.

use std::process::{Command, Stdio};

use super::GLIBC_TUNABLES;

/// The dynamic loader, which can list what it knows; its place is part of the ABI.
const LOADER: &str = if cfg!(target_arch = "aarch64") {
    "/lib/ld-linux-aarch64.so.1"
} else {
    "/lib64/ld-linux-x86-64.so.2"
};

/// The pins that the C library of this machine knows; the others it ignores. All of them where it does not say what it
/// knows: glibc does from 2.33 on.
pub(super) fn known() -> String {
    let list = |option| {
        let mut loader = Command::new(LOADER);
        loader.arg(option).env_clear().stdin(Stdio::null());
        let output = loader.output().ok().filter(|output| output.status.success());
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    match (list("--list-tunables"), list("--list-diagnostics")) {
        (Some(tunables), Some(diagnostics)) => known_to(&tunables, &diagnostics),
        _ => GLIBC_TUNABLES.to_owned(),
    }
}

/// The pins of which the names are in these lists. Features of a CPU, which are upper case, are not listed by name.
fn known_to(tunables: &str, diagnostics: &str) -> String {
    let is_known = |name: &str| {
        let feature = name.trim_start_matches('-');
        let listed = format!("x86.cpu_features.preferred.{feature}=");
        !feature.contains(|c: char| c.is_ascii_lowercase())
            || diagnostics.lines().any(|line| line.starts_with(&listed))
    };
    let mut known = Vec::new();
    for tunable in GLIBC_TUNABLES.split(':') {
        let (name, value) = tunable.split_once('=').expect("a tunable has a value");
        if !tunables.lines().any(|line| line.split(':').next() == Some(name)) {
            continue;
        }
        let values: Vec<_> = value.split(',').filter(|value| is_known(value)).collect();
        known.push(format!("{name}={}", values.join(",")));
    }
    known.join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lists of a C library that knows these names.
    fn lists(preferred: &[&str]) -> (String, String) {
        let tunables = GLIBC_TUNABLES.split(':').filter_map(|tunable| tunable.split_once('='));
        let tunables = tunables.map(|(name, _)| format!("{name}: 0x0 (min: 0x0, max: 0x1)\n"));
        let preferred =
            preferred.iter().map(|name| format!("x86.cpu_features.preferred.{name}=0x1\n"));
        (tunables.collect(), preferred.collect())
    }

    #[test]
    fn pins_that_the_c_library_does_not_know_are_left_out() {
        let (tunables, all) =
            lists(&["AVX_Fast_Unaligned_Load", "Fast_Unaligned_Load", "Avoid_Non_Temporal_Memset"]);
        // As it is with glibc 2.41 and 2.36.
        assert_eq!(known_to(&tunables, &all), GLIBC_TUNABLES.replace(",-AVX2_Usable", ""));
        let (_, older) = lists(&["AVX_Fast_Unaligned_Load", "Fast_Unaligned_Load"]);
        let without = GLIBC_TUNABLES.replace(",-AVX2_Usable,Avoid_Non_Temporal_Memset", "");
        assert_eq!(known_to(&tunables, &older), without);
        let arena = ":glibc.malloc.arena_max=1";
        let none = tunables.replace("glibc.malloc.arena_max:", "glibc.malloc.arena_maximum:");
        assert_eq!(known_to(&none, &older), without.replace(arena, ""));
    }
}
