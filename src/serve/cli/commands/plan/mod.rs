//! `playhouse plan`: plans for people, and plans from a model.

mod explain;
mod generate;

use clap::{Args, Subcommand};

use self::explain::ExplainArguments;
use self::generate::GenerateArguments;

use crate::serve::cli::machinery::console::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  playhouse plan explain refund.jmp.json --tools tools.json
  playhouse plan explain trip.yaml --format mermaid
  playhouse plan generate 'Tell where order 4334 is' --tools tools.json --out order.jmp.json
`playhouse run` runs a plan, and `playhouse check` checks it.";

/// Explains plans, and has a model write them
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PlanArguments {
    #[command(subcommand)]
    command: PlanCommand,
}

#[derive(Subcommand)]
enum PlanCommand {
    Explain(ExplainArguments),
    Generate(Box<GenerateArguments>),
}

/// Explains plans, or has one written.
pub(crate) fn plan(console: &Console, arguments: &PlanArguments) -> Result<Exit, Failure> {
    match &arguments.command {
        PlanCommand::Explain(arguments) => explain::explain(console, arguments),
        PlanCommand::Generate(arguments) => generate::generate(console, arguments),
    }
}
