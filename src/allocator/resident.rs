//! The memory of the process that is in core.

/// By how many KiB `run` raises the most memory that this process had in core; nothing where the system does not say.
///
/// On Linux the record is begun anew for it; elsewhere only what goes beyond all that was before is seen.
pub fn peak_growth(run: impl FnOnce()) -> Option<u64> {
    begin_anew()?;
    let before = peak()?;
    run();
    Some(peak()?.saturating_sub(before))
}

#[cfg(target_os = "linux")]
fn begin_anew() -> Option<()> {
    std::fs::write("/proc/self/clear_refs", "5").ok()
}

#[cfg(target_os = "linux")]
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    value.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(not(target_os = "linux"))]
fn begin_anew() -> Option<()> {
    Some(())
}

#[cfg(not(target_os = "linux"))]
fn peak() -> Option<u64> {
    // KiB, but for macOS, which tells bytes.
    let unit = if cfg!(target_os = "macos") { 1024 } else { 1 };
    u64::try_from(super::usage(libc::RUSAGE_SELF).ru_maxrss).ok().map(|peak| peak / unit)
}
