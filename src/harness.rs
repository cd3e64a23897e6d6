//! The bench targets of [a suite of somebody else's](crate::own), a line each.

/// The bench target of a harness: `harness!(wall_clock: SUITE)`, and so `footprint` and `command_line`;
/// `harness!(instructions: SUITE, "benches/cases.txt")` also names the file of the table, as seen from the root of the
/// workspace: iai-callgrind reads it for `--isolated`. The pages of this crate have theirs by
/// `harness!(instructions of Mixed, "src/cases/mixed.txt")`.
#[macro_export]
macro_rules! harness {
    (instructions: $suite:expr, $table:tt) => {
        $crate::harness!(@instructions $suite.install(), [Own, Canary], $table);
    };
    (instructions of $page:ident, $table:tt) => {
        $crate::harness!(@instructions (), [$page], $table);
    };
    (@instructions $install:expr, [$($page:ident),+], $table:tt) => {
        mod measured {
            #[allow(unused_imports, reason = "a suite is named as its file knows it")]
            use super::*;

            /// The measured function, in the module by whose name counting begins and ends.
            mod __iai_callgrind_wrapper_mod {
                #[inline(never)]
                pub(super) fn run(case: &'static $crate::cases::Prepared) -> u64 {
                    std::hint::black_box(case).run()
                }
            }

            fn install() {
                $install;
            }

            fn prepare(id: impl Into<String>) -> &'static $crate::cases::Prepared {
                install();
                $crate::cases::prepare(id.into())
            }

            fn run(id: &str) {
                let case = prepare(id);
                std::hint::black_box(__iai_callgrind_wrapper_mod::run(case));
            }

            mod together {
                #[allow(unused_imports, reason = "the macros of iai-callgrind name it so")]
                use $crate::instructions::iai_callgrind;
                use $crate::instructions::iai_callgrind::{
                    library_benchmark, library_benchmark_group, main,
                };

                #[library_benchmark]
                fn together() {}

                library_benchmark_group!(name = cases; benchmarks = together);

                main!(config = $crate::environment::callgrind(); library_benchmark_groups = cases);

                pub(super) fn harness() {
                    main();
                }
            }

            mod isolated {
                #[allow(unused_imports, reason = "the macros of iai-callgrind name it so")]
                use $crate::instructions::iai_callgrind;
                use $crate::instructions::iai_callgrind::{
                    library_benchmark, library_benchmark_group, main,
                };

                use super::prepare;

                #[library_benchmark]
                #[benches::case(file = $table, setup = prepare)]
                fn isolated(case: &'static $crate::cases::Prepared) -> u64 {
                    std::hint::black_box(case).run()
                }

                library_benchmark_group!(name = cases; benchmarks = isolated);

                main!(config = $crate::environment::callgrind(); library_benchmark_groups = cases);

                pub(super) fn harness() {
                    main();
                }
            }

            pub(crate) fn main() -> std::process::ExitCode {
                $crate::instructions::harness($crate::instructions::Target {
                    install,
                    pages: &[$($crate::cases::Page::$page),+],
                    run,
                    together: together::harness,
                    isolated: isolated::harness,
                })
            }
        }

        pub(crate) fn main() -> std::process::ExitCode {
            measured::main()
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
