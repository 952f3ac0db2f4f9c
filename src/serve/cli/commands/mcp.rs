//! `playhouse mcp`: programs as tools of the agent that has started this.

use std::path::PathBuf;

use clap::Args;

use crate::serve::cli::machinery::console::{Console, Exit, Failure};
use crate::serve::cli::machinery::offer::{Home, ended, offer, resident_failure, store};
use crate::serve::cli::machinery::runtime::Runtime;
use crate::serve::cli::machinery::world::LiveArguments;
use crate::serve::mcp::stdio;

const EXAMPLES: &str = r#"Examples:
  playhouse mcp examples/order-status.md --tools examples/order-status.tools.json
  playhouse mcp desk=desk.md,notes.md shop.md --model openai:gpt-4.1-mini
  claude mcp add desk -- playhouse mcp "$PWD/desk.md""#;

/// Offers programs to an MCP client on standard input and output; public playbooks become tools
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct McpArguments {
    /// The programs: FILE, or NAME=FILE,FILE
    #[arg(required = true, value_name = "PROGRAM")]
    programs: Vec<String>,
    /// Where to store the sessions: a `.sqlite` or `.db` file [default: $XDG_STATE_HOME/playhouse/mcp.sqlite]
    #[arg(long, value_name = "STORE")]
    journal: Option<PathBuf>,
    #[command(flatten)]
    world: LiveArguments,
}

/// Performs the command.
pub(crate) fn mcp(console: &Console, arguments: &McpArguments) -> Result<Exit, Failure> {
    let runtime = Runtime::for_many()?;
    let exit = runtime.block_on(async {
        let place = store(console, arguments.journal.as_deref(), "mcp")?;
        let Home { keeping, key, words, .. } = Home::in_file(&place).await?;
        let (residents, options) = offer(console, &arguments.world, &arguments.programs, keeping).await?;
        let stop = ended()?;
        residents.recover().await.map_err(|error| resident_failure(console, error))?;
        let names: Vec<String> = residents.programs().iter().map(|offered| offered.name.to_string()).collect();
        console.remark(&format!(
            "an MCP client can talk with {} on standard input and output; sessions are stored in {}",
            names.join(", "),
            words
        ));
        stdio::serve(residents, &options, &key, stdio::stdio_pipes(), stop).await;
        Ok(Exit::Finished)
    });
    // After a signal a thread may still wait for input.
    runtime.shutdown_background();
    exit
}
