//! The bench targets of [a suite of somebody else's](crate::own), a line each.

/// The bench target of a harness: `harness!(wall_clock: SUITE)`, and so `footprint` and `command_line`;
/// `harness!(instructions: SUITE, "benches/cases.txt")` also names the file of the table, as seen from the root of the
/// workspace.
#[macro_export]
macro_rules! harness {
    (instructions: $suite:expr, $table:tt) => {
        mod measured {
            #[allow(unused_imports, reason = "the macros of iai-callgrind name it so")]
            use $crate::instructions::iai_callgrind;
            use $crate::instructions::iai_callgrind::{
                library_benchmark, library_benchmark_group, main,
            };

            use super::*;

            fn prepare(id: impl Into<String>) -> &'static $crate::cases::Prepared {
                $suite.install();
                $crate::cases::prepare(id.into())
            }

            #[library_benchmark]
            #[benches::case(file = $table, setup = prepare)]
            #[benches::canary(args = [
                "canary/spin/0", "canary/spin/1000", "canary/twin/1000", "canary/spin/1010", "canary/spin/2000",
                "canary/set/1k", "canary/set/4k", "canary/set/64k", "canary/set/10m",
                "canary/copy/1k", "canary/copy/4k", "canary/copy/64k", "canary/copy/10m"
            ], setup = prepare)]
            fn run(case: &'static $crate::cases::Prepared) -> u64 {
                std::hint::black_box(case).run()
            }

            library_benchmark_group!(name = cases; benchmarks = run);

            main!(config = $crate::environment::callgrind(); library_benchmark_groups = cases);

            pub(super) fn harness() {
                main();
            }
        }

        fn main() -> std::process::ExitCode {
            $crate::instructions::harness(measured::harness)
        }
    };
    (wall_clock: $suite:expr) => {
        #[global_allocator]
        static ALLOCATOR: $crate::allocator::Chosen = $crate::allocator::Chosen;

        fn main() {
            $suite.install();
            $crate::wall_clock::harness();
        }
    };
    (footprint: $suite:expr) => {
        #[global_allocator]
        static ALLOCATOR: $crate::allocator::Counting<$crate::allocator::Chosen> =
            $crate::allocator::Counting($crate::allocator::Chosen);

        fn main() -> std::process::ExitCode {
            $suite.install();
            $crate::footprint::harness()
        }
    };
    (command_line: $suite:expr) => {
        #[global_allocator]
        static ALLOCATOR: $crate::allocator::Chosen = $crate::allocator::Chosen;

        fn main() -> std::process::ExitCode {
            $suite.install();
            $crate::command_line::main()
        }
    };
}
