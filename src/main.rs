//! The `playhouse` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(playhouse::serve::cli::main(std::env::args_os()).code())
}
