//! The command line: arguments to an exit code. One file per command; data goes to standard output, everything
//! for people to standard error.

mod changed;
mod check;
mod completions;
mod console;
mod conversation;
#[cfg(feature = "dap")]
mod debug;
#[cfg(not(feature = "dap"))]
#[path = "debug_absent.rs"]
mod debug_listen;
#[cfg(feature = "dap")]
mod debug_listen;
mod ending;
mod events_file;
mod failures;
mod later;
mod library;
mod lines;
mod model;
mod new;
mod plan;
mod plan_explain;
mod plan_generate;
mod plugin;
mod plugin_call;
mod plugin_new;
mod run;
mod sessions;
mod sessions_delete;
mod sessions_diff;
mod sessions_export;
mod sessions_kept;
mod sessions_send;
mod sessions_travel;
mod terminal;
mod test;
mod test_compare;
pub mod test_file;
mod test_session;
mod travel_text;
pub mod trigger_tests;
mod world;

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};

pub use self::console::Exit;
use self::console::{Console, Failure};
use crate::host::config::Environment;

const EXAMPLES: &str = "\
Examples:
  playhouse new shop                          a folder to start from
  playhouse check --explain shop/program.md   what is understood of a program
  playhouse run shop/program.md --model openai:gpt-4.1-mini
  playhouse test shop                         its scripted conversations, without a model

Exit codes: 0 done; 1 the program (or a test) failed; 2 the command or the program's text is wrong;
3 the program waits for the user and standard input has ended.";

/// Runs playbooks: Markdown procedures that a language model carries out line by line, while an interpreter keeps
/// the call stack, the current line, the variables and the calls.
#[derive(Parser)]
#[command(name = "playhouse", version, after_help = EXAMPLES, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(Box<run::RunArguments>),
    Check(check::CheckArguments),
    #[cfg(feature = "dap")]
    Debug(Box<debug::DebugArguments>),
    Test(test::TestArguments),
    Sessions(sessions::SessionsArguments),
    Model(model::ModelArguments),
    Plan(plan::PlanArguments),
    New(new::NewArguments),
    Plugin(plugin::PluginArguments),
    Library(library::LibraryArguments),
    Completions(completions::CompletionsArguments),
    /// Commands that are not there: those that come later have a word of their own.
    #[command(external_subcommand)]
    Other(Vec<OsString>),
}

/// Runs the command line `arguments`, the program's name first.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let environment = Environment::read();
    let console = Console::new(environment);
    console::start_log(&console);
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

fn perform(console: &Console, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Run(arguments) => run::run(console, &arguments),
        Command::Test(arguments) => test::test(console, &arguments),
        Command::Check(arguments) => check::check(console, &arguments),
        #[cfg(feature = "dap")]
        Command::Debug(arguments) => debug::debug(console, &arguments),
        Command::Sessions(arguments) => sessions::sessions(console, &arguments),
        Command::Model(arguments) => model::model(console, &arguments),
        Command::Plan(arguments) => plan::plan(console, &arguments),
        Command::New(arguments) => new::new(&arguments),
        Command::Plugin(arguments) => plugin::plugin(console, &arguments),
        Command::Library(arguments) => library::library(&arguments),
        Command::Completions(arguments) => completions::completions(&arguments),
        Command::Other(words) => {
            let name = words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
            Err(later::unknown_command(&name))
        }
    }
}

/// The whole command line as clap knows it, for completions and for tests of what the guides show.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Help and version are no failures; an option that comes later is told as such.
fn failure_from_clap(error: clap::Error) -> Failure {
    let kind = error.kind();
    if matches!(kind, ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // A closed pipe is the only way this fails.
        let _ = error.print();
        return Failure::Quiet(Exit::Finished);
    }
    if kind == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg)
        && let Some(failure) = later::later_option(argument)
    {
        return failure;
    }
    let _ = error.print();
    Failure::Quiet(Exit::Wrong)
}
