//! The command line.

use std::process::ExitCode;

use writeonce::allocator::Chosen;

#[global_allocator]
static ALLOCATOR: Chosen = Chosen;

fn main() -> ExitCode {
    writeonce::command_line::main()
}
