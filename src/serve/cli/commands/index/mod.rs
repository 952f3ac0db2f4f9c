//! `playhouse index`: documents that programs look into.

mod find;
mod keep;
mod options;

use clap::{Args, Subcommand};

use self::find::{EvalArguments, FactsArguments, SearchArguments, ShowArguments};
use self::keep::{AddArguments, DeleteArguments, EmbedArguments, ListArguments, RefreshArguments};
use crate::serve::cli::machinery::console::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  playhouse index add docs                       indexes the texts of a folder, in ./playhouse.index
  playhouse index search \"late refunds\" --explain
  playhouse index show docs/refunds.md:12-40 --after 1
  playhouse index refresh                        reads what has changed since
  playhouse index facts \"late refunds\"           what the documents say about them
  playhouse index eval questions.jsonl           how well questions find their sources

A program that names SearchDocuments, ReadDocument or LookUpFacts searches ./playhouse.index.";

/// Indexes documents for programs to search, and searches them
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct IndexArguments {
    #[command(subcommand)]
    command: IndexCommand,
}

#[derive(Subcommand)]
enum IndexCommand {
    Add(AddArguments),
    Refresh(RefreshArguments),
    Embed(EmbedArguments),
    Delete(DeleteArguments),
    List(ListArguments),
    Search(SearchArguments),
    Show(ShowArguments),
    Facts(FactsArguments),
    Eval(EvalArguments),
}

/// Performs one of the commands.
pub(crate) fn index(console: &Console, arguments: &IndexArguments) -> Result<Exit, Failure> {
    match &arguments.command {
        IndexCommand::Add(arguments) => keep::add(console, arguments),
        IndexCommand::Refresh(arguments) => keep::refresh(console, arguments),
        IndexCommand::Embed(arguments) => keep::embed(console, arguments),
        IndexCommand::Delete(arguments) => keep::delete(console, arguments),
        IndexCommand::List(arguments) => keep::list(arguments),
        IndexCommand::Search(arguments) => find::search(console, arguments),
        IndexCommand::Show(arguments) => find::show(arguments),
        IndexCommand::Facts(arguments) => find::facts(console, arguments),
        IndexCommand::Eval(arguments) => find::eval(console, arguments),
    }
}
