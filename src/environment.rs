//! The environment of a count: what it depends on, and the pins that take the CPU out of it.

/// What the C library of a measured process is told. glibc picks its memset and memcpy by the CPU and by
/// the size of its caches; with these pins it picks the SSE2 ones, which every x86-64 CPU has, and never
/// switches to non-temporal stores. The malloc thresholds stay where they are put (glibc moves them
/// otherwise), and there is one arena.
pub const GLIBC_TUNABLES: &str = "glibc.cpu.hwcaps=\
    -XSAVE,-AVX_Fast_Unaligned_Load,-ERMS,-SSE4_2,-SSE4_1,-SSSE3,Fast_Unaligned_Load\
    :glibc.cpu.x86_non_temporal_threshold=1073741824\
    :glibc.malloc.mmap_threshold=33554432\
    :glibc.malloc.trim_threshold=33554432\
    :glibc.malloc.arena_max=1";

/// The configuration of every instruction-count target: the pins, and a profile with callers.
///
/// Cache simulation is off (its misses are noisy), and iai-callgrind's own limits are: there is one gate.
#[cfg(feature = "instructions")]
#[must_use]
pub fn callgrind() -> iai_callgrind::LibraryBenchmarkConfig {
    use iai_callgrind::{Callgrind, LibraryBenchmarkConfig, OutputFormat};

    let mut config = LibraryBenchmarkConfig::default();
    config
        .env("GLIBC_TUNABLES", GLIBC_TUNABLES)
        .tool(Callgrind::with_args(["--separate-callers=16", "--cache-sim=no"]))
        .output_format(OutputFormat::default().truncate_description(None));
    config
}
