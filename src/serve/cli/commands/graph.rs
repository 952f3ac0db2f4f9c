//! `playhouse graph FILE…`: a program as a picture, or one playbook line by line; with what a session took of it.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use strum::VariantNames;

use crate::host::graph::{GraphFormat, chart, taken};
use crate::host::journal::tail::joined;
use crate::host::profile::Profile;
use crate::host::resource::prices::PriceTable;
use crate::host::travel::Run;
use crate::lang::analysis::diff::matching::Matching;
use crate::serve::cli::commands::sessions::kept::{Kept, waited};
use crate::serve::cli::machinery::console::{Console, Exit, Failure, finish};
use crate::serve::cli::machinery::world::whole_program;

const EXAMPLES: &str = "\
Examples:
  playhouse graph program.md                              Mermaid, for Markdown pages
  playhouse graph program.md --format svg > program.svg   a self-contained picture
  playhouse graph program.md --flow TakeBack --format dot | dot -Tpdf > flow.pdf
  playhouse graph program.md --session 20261121-224805-k3f9 --format svg > taken.svg";

/// Draws a program, without a model: who calls whom, and what fires which trigger
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GraphArguments {
    /// The files of the program or plan [with --session: the program as the session has it]
    #[arg(required_unless_present = "session", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The output format: a flowchart for Mermaid or Graphviz, a picture, or a JSON object for programs
    #[arg(long, default_value = "mermaid", value_parser = formats())]
    format: GraphFormat,
    /// Draw the lines of this playbook instead, and which line can follow which
    #[arg(long, value_name = "NAME")]
    flow: Option<String>,
    /// Also show the path of this session: how often, how many tokens, and where it is now
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Where the session is stored: a `.sqlite` or `.db` file, a `.jsonl` file, or a folder of these [default:
    /// $PLAYHOUSE_SESSIONS, or $XDG_STATE_HOME/playhouse/sessions]
    #[arg(long, value_name = "PATH", requires = "session")]
    journal: Option<PathBuf>,
    /// A file of canned tools, which count as declared (repeatable)
    #[arg(long, value_name = "FILE")]
    tools: Vec<PathBuf>,
}

fn formats() -> impl TypedValueParser<Value = GraphFormat> {
    PossibleValuesParser::new(GraphFormat::VARIANTS).try_map(|name| name.parse::<GraphFormat>())
}

/// Draws.
pub(crate) fn graph(console: &Console, arguments: &GraphArguments) -> Result<Exit, Failure> {
    let GraphArguments { files, tools, .. } = arguments;
    let given = if files.is_empty() { None } else { Some(whole_program(console, files, tools)?) };
    let session = arguments.session.as_ref().map(|id| session(console, arguments, id)).transpose()?;
    let ran = session.as_ref().map(|(run, _)| &*run.program);
    let Some(program) = given.as_ref().or(ran) else { return Ok(Exit::Finished) };
    let chart = chart(program, arguments.flow.as_deref());
    let mut chart = chart.map_err(|why| Failure::wrong(format!("--flow: {why}")))?;
    if let Some((run, spent)) = &session {
        chart = chart.with_taken(&taken(run, spent).in_other(&Matching::new(&run.program, program)));
    }
    finish(&arguments.format.write(&chart))
}

/// What a session did, and what it has spent.
fn session(console: &Console, arguments: &GraphArguments, id: &str) -> Result<(Run, Profile), Failure> {
    let kept = Kept::at(console, arguments.journal.as_deref())?;
    let records = waited(kept.find(id)?.read_pieces())??;
    let mut spent = Profile::default();
    spent.add(&records, &PriceTable::default())?;
    let run = Run::stored(joined(records, false))?;
    Ok((run, spent))
}
