//! The commands: which there are, and one file or folder for each.

mod check;
mod completions;
#[cfg(feature = "dap")]
mod debug;
mod doctor;
#[cfg(feature = "restate")]
mod engine;
mod evaluation;
mod fmt;
mod graph;
#[cfg(feature = "sqlite")]
mod index;
mod later;
mod library;
#[cfg(feature = "lsp")]
mod lsp;
mod man;
#[cfg(all(feature = "mcp", feature = "serve"))]
mod mcp;
mod model;
mod new;
mod plan;
mod plugin;
mod run;
mod sandbox_exec;
#[cfg(feature = "serve")]
mod serve;
mod sessions;
mod skills;
mod test;

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand};

use crate::serve::cli::machinery::console::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  playhouse new shop                          a folder to start from
  playhouse check --explain shop/program.md   how a program is understood, line by line
  playhouse run shop/program.md --model openai:gpt-4.1-mini
  playhouse test shop                         its scripted conversations, without a model

Exit codes: 0 done; 1 the program (or a test) failed; 2 the command or the program's text is wrong;
3 the program waits for the user and standard input has ended; 4 too little was measured.";

/// Runs playbooks: Markdown procedures that a language model carries out line by line, while an interpreter keeps
/// the call stack, the current line, the variables and the calls.
#[derive(Parser)]
#[command(name = "playhouse", version, after_help = EXAMPLES, max_term_width = 100)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Subcommand)]
pub(super) enum Command {
    Run(Box<run::RunArguments>),
    Check(check::CheckArguments),
    Fmt(fmt::FmtArguments),
    Graph(graph::GraphArguments),
    #[cfg(feature = "dap")]
    Debug(Box<debug::DebugArguments>),
    Test(test::TestArguments),
    Backtest(evaluation::BacktestArguments),
    Eval(evaluation::EvalArguments),
    Compare(evaluation::CompareArguments),
    Coverage(evaluation::CoverageArguments),
    Mutants(evaluation::MutantsArguments),
    #[cfg(feature = "serve")]
    Serve(Box<serve::ServeArguments>),
    #[cfg(feature = "restate")]
    Engine(engine::EngineArguments),
    #[cfg(all(feature = "mcp", feature = "serve"))]
    Mcp(Box<mcp::McpArguments>),
    #[cfg(feature = "lsp")]
    Lsp(lsp::LspArguments),
    Sessions(sessions::SessionsArguments),
    Skills(skills::SkillsArguments),
    Model(model::ModelArguments),
    Plan(plan::PlanArguments),
    New(new::NewArguments),
    Doctor(doctor::DoctorArguments),
    Plugin(plugin::PluginArguments),
    Library(library::LibraryArguments),
    #[cfg(feature = "sqlite")]
    Index(index::IndexArguments),
    Completions(completions::CompletionsArguments),
    Man(man::ManArguments),
    SandboxExec(sandbox_exec::SandboxExecArguments),
    /// Commands that are not there.
    #[command(external_subcommand)]
    Other(Vec<OsString>),
}

/// Performs one of them.
pub(super) fn perform(console: &Console, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Run(arguments) => run::run(console, &arguments),
        Command::Test(arguments) => test::test(console, &arguments),
        Command::Backtest(arguments) => evaluation::backtest(console, &arguments),
        Command::Eval(arguments) => evaluation::eval(console, &arguments),
        Command::Compare(arguments) => evaluation::compare(console, &arguments),
        Command::Coverage(arguments) => evaluation::coverage(console, &arguments),
        Command::Mutants(arguments) => evaluation::mutants(console, &arguments),
        Command::Check(arguments) => check::check(console, &arguments),
        Command::Fmt(arguments) => fmt::fmt(console, &arguments),
        Command::Graph(arguments) => graph::graph(console, &arguments),
        #[cfg(feature = "dap")]
        Command::Debug(arguments) => debug::debug(console, &arguments),
        #[cfg(feature = "serve")]
        Command::Serve(arguments) => serve::serve(console, &arguments),
        #[cfg(feature = "restate")]
        Command::Engine(arguments) => engine::engine(console, &arguments),
        #[cfg(all(feature = "mcp", feature = "serve"))]
        Command::Mcp(arguments) => mcp::mcp(console, &arguments),
        #[cfg(feature = "lsp")]
        Command::Lsp(arguments) => lsp::lsp(&arguments),
        Command::Sessions(arguments) => sessions::sessions(console, &arguments),
        Command::Skills(arguments) => skills::skills(console, &arguments),
        Command::Model(arguments) => model::model(console, &arguments),
        Command::Plan(arguments) => plan::plan(console, &arguments),
        Command::New(arguments) => new::new(console, &arguments),
        Command::Doctor(arguments) => doctor::doctor(console, &arguments),
        Command::Plugin(arguments) => plugin::plugin(console, &arguments),
        Command::Library(arguments) => library::library(&arguments),
        #[cfg(feature = "sqlite")]
        Command::Index(arguments) => index::index(console, &arguments),
        Command::Completions(arguments) => completions::completions(&arguments),
        Command::Man(arguments) => man::man(&arguments),
        Command::SandboxExec(arguments) => sandbox_exec::sandbox_exec(&arguments),
        Command::Other(words) => {
            let name = words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
            Err(later::unknown_command(&name))
        }
    }
}

/// The whole command line as clap knows it, for completions, the manual, and tests of what the guides show.
pub fn command() -> clap::Command {
    Arguments::command()
}
