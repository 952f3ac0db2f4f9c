//! The command line: arguments to an exit code. `commands` has one file for each command, `machinery` what they are
//! made of. Data goes to standard output, everything for people to standard error.

mod commands;
mod machinery;

use std::ffi::OsString;

use clap::Parser;
use clap::error::ErrorKind;

use self::commands::{Arguments, perform};
use self::machinery::console::{Console, Failure, start_log};
use crate::host::config::{Environment, own_executable};

pub use self::commands::command;
pub use self::machinery::console::Exit;
pub use self::machinery::test_session::session_of_test;
pub use self::machinery::{judge_tests, scores, trigger_tests};

/// Runs the command line `arguments`, the program's name first.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let environment = Environment { executable: own_executable(), ..Environment::read() };
    let console = Console::new(environment);
    start_log(&console);
    let result = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => perform(&console, arguments.command),
        Err(error) => Err(failure_from_clap(error)),
    };
    match result {
        Ok(exit) => exit,
        Err(Failure::Quiet(exit)) => exit,
        Err(Failure::Told { message, exit }) => {
            console.error(&message);
            exit
        }
    }
}

/// Help and version are no failures.
fn failure_from_clap(error: clap::Error) -> Failure {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // A closed pipe is the only way this fails.
        let _ = error.print();
        return Failure::Quiet(Exit::Finished);
    }
    let _ = error.print();
    Failure::Quiet(Exit::Wrong)
}
