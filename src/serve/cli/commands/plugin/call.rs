//! `playhouse plugin call FOLDER COMMAND`: one call, as a program would make it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::diagnostic::render;
use crate::host::launch::{Choices, Launch};
use crate::host::resource::Resources;
use crate::host::session::approval;
use crate::host::tool::plugin::{Plugin, PluginError, PluginOptions, identifier};
use crate::host::tool::{CallContext, Tool, ToolOutcome};
use crate::serve::cli::machinery::console::{Console, Exit, Failure, clean, put};
use crate::serve::cli::machinery::output::{agree, counted};
use crate::serve::cli::machinery::runtime::Runtime;
use crate::serve::cli::machinery::world::{launch_failure, workshop};
use crate::value::{Map, Value};
use crate::vm::protocol::Approval;

/// News that may wait to be written.
const PROGRESS: usize = 64;

const EXAMPLES: &str = "\
Examples:
  playhouse plugin call dice add --param '{\"start\": \"2026-05-04\"}'
  playhouse plugin call dice add --param '{\"start\": \"2026-05-04\"}' --config '{\"holidays\": [\"2026-05-05\"]}'";

/// Calls one command of a plugin and prints its response as JSON
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CallArguments {
    /// The plugin's folder, with .config/config.yaml
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// The command
    #[arg(value_name = "COMMAND")]
    command: String,
    /// The parameter [default: none]
    #[arg(long, value_name = "JSON", value_parser = json)]
    param: Option<Value>,
    /// Overrides for the plugin's own `config`
    #[arg(long, value_name = "JSON", value_parser = json)]
    config: Option<Value>,
    /// Approve the call if it needs an approval
    #[arg(long)]
    approve: bool,
    /// The answer to a question that the command asks a person (repeatable, in the order of the questions)
    #[arg(long = "answer", value_name = "TEXT")]
    answers: Vec<String>,
    /// The folder in which the plugin is told to work
    #[arg(long, value_name = "DIR", default_value = ".")]
    working_directory: PathBuf,
}

fn json(text: &str) -> Result<Value, String> {
    Value::from_json(text).map_err(|cause| format!("it is not JSON: {cause}"))
}

/// Makes the call.
pub(crate) fn call(console: &Console, arguments: &CallArguments) -> Result<Exit, Failure> {
    let config = match &arguments.config {
        Some(Value::Map(members)) => (**members).clone(),
        None => Map::new(),
        Some(other) => return Err(Failure::wrong(format!("--config must be a JSON object, not {}", other.kind()))),
    };
    let opened = open(console, &arguments.folder, &arguments.working_directory, config)?;
    let Opened { plugin, resources } = opened;
    let tool = find(&plugin, &arguments.command)?;
    let signature = tool.signature();
    let name = &signature.signature.name;
    let given = plugin.arguments(name, arguments.param.clone());
    let given = match tool.check(given) {
        Ok(given) => given,
        Err(faults) => {
            for fault in faults {
                console.error(&clean(&format!("`{}` {}", fault.path, fault.message)));
            }
            return Ok(Exit::Failed);
        }
    };
    if signature.approval != Approval::Never && !arguments.approve {
        let call = clean(&format!("{name}({})", Value::map(given.clone())));
        if !console.is_conversation {
            return Err(Failure::wrong(format!("{call} needs approval; add --approve")));
        }
        agree(console, &call, "--approve", "the call was not made")?;
    }
    let (outcome, said) = Runtime::for_one()?.block_on(async {
        let outcome = resources.run(perform(console, &*tool, given, &arguments.answers)).await;
        plugin.close().await;
        (outcome, plugin.last_words().await)
    });
    let outcome = outcome.map_err(Failure::failed)?;
    // An error may have it already: that the process has ended.
    let is_told = matches!(&outcome, ToolOutcome::Error(text) | ToolOutcome::Unavailable(text) if text.contains(&said));
    if !said.is_empty() && !is_told {
        console.remark(&clean(&said));
    }
    match outcome {
        ToolOutcome::Value(value) => put(&format!("{value}\n"))?,
        ToolOutcome::Secret(_) => {
            console.remark("the response is secret; only a program gets it");
            put("\"***\"\n")?;
        }
        ToolOutcome::Written { text, .. } => put(&format!("{}\n", Value::from(text)))?,
        ToolOutcome::Error(text) | ToolOutcome::Unavailable(text) => return Err(Failure::failed(clean(&text))),
        ToolOutcome::Needs(question) => {
            return Err(Failure::failed(format!("only a program can ask a person to agree: {}", clean(&question))));
        }
        ToolOutcome::Asks(question) => {
            return Err(Failure::failed(format!("{}\nadd the answer: --answer TEXT", clean(&question))));
        }
    }
    Ok(Exit::Finished)
}

fn find(plugin: &Plugin, command: &str) -> Result<Arc<dyn Tool>, Failure> {
    let wanted = identifier(command).map(|command| format!("{}.{command}", plugin.name));
    let name = |tool: &Arc<dyn Tool>| tool.signature().signature.name;
    if let Some(tool) = plugin.tools().iter().find(|tool| Some(&*name(tool)) == wanted.as_deref()) {
        return Ok(tool.clone());
    }
    let own = |tool| name(tool).split_once('.').map(|(_, own)| format!("`{own}`")).unwrap_or_default();
    let known: Vec<String> = plugin.tools().iter().map(own).collect();
    Err(Failure::wrong(format!("`{}` has no command `{command}`; it has {}", plugin.name, known.join(", "))))
}

/// Makes the call, and makes it again as long as it asks and there is an answer.
async fn perform(console: &Console, tool: &dyn Tool, arguments: Map, answers: &[String]) -> ToolOutcome {
    let mut answered: Vec<(Arc<str>, Value)> = Vec::new();
    loop {
        match (attempt(console, tool, arguments.clone(), &answered).await, answers.get(answered.len())) {
            (ToolOutcome::Asks(question), Some(answer)) => {
                console.remark(&clean(&question));
                answered.push((question.into(), approval(answer)));
            }
            (outcome, _) => return outcome,
        }
    }
}

async fn attempt(console: &Console, tool: &dyn Tool, arguments: Map, answered: &[(Arc<str>, Value)]) -> ToolOutcome {
    let (progress, mut news) = mpsc::channel(PROGRESS);
    let cancel = CancellationToken::new();
    let deadline = Instant::now() + tool.timeout();
    let context = CallContext {
        session: "plugin-call".into(),
        call_id: "plugin-call/1".into(),
        deadline,
        cancel,
        progress,
        ask: answered.last().map(|(_, answer)| answer.clone()),
        answers: answered.to_vec(),
        llm: None,
        trace: None,
        skill: None,
    };
    let mut call = std::pin::pin!(timeout_at(deadline, tool.call(context.clone(), arguments)));
    let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
    let ended = loop {
        tokio::select! {
            biased;
            Some(news) = news.recv() => console.remark(&clean(&news.to_text())),
            ended = &mut call => break ended,
            _ = &mut interrupt, if !context.cancel.is_cancelled() => context.cancel.cancel(),
        }
    };
    while let Ok(news) = news.try_recv() {
        console.remark(&clean(&news.to_text()));
    }
    let late = || ToolOutcome::Error(format!("it gave no answer within {} s", tool.timeout().as_secs_f64()));
    ended.unwrap_or_else(|_| late())
}

/// A plugin, and the resources of the configuration, not acquired yet.
pub(crate) struct Opened {
    pub(crate) plugin: Plugin,
    pub(crate) resources: Arc<Resources>,
}

/// Opens a plugin as it is, without its user's copy of its files, and tells what is odd about it.
pub(crate) fn open(console: &Console, folder: &Path, working_directory: &Path, config: Map) -> Result<Opened, Failure> {
    let choices = Choices { working_directory: Some(working_directory.to_owned()), ..Choices::default() };
    let made = Launch::new(workshop(console), choices).for_author(&config);
    let (packages, surroundings, config) = made.map_err(|error| launch_failure(console, error))?;
    let resources = surroundings.resources.clone();
    let folder = folder.to_owned();
    let options = PluginOptions { folder, name: None, instance_id: None, config, runtime: None, surroundings };
    let plugin = Plugin::open(options, &packages).map_err(|error| match error {
        PluginError::Config { findings, sources } => {
            console.tell(&format!("{}\n", render(&findings, &sources, console.color)));
            console.tell(&format!("{}\n", counted(&findings)));
            Failure::Quiet(Exit::Wrong)
        }
        PluginError::Read { .. }
        | PluginError::NoPlugin { .. }
        | PluginError::Runtime { .. }
        | PluginError::Setup { .. } => Failure::wrong(error),
    })?;
    for warning in &plugin.warnings {
        console.tell(&format!("{}\n", warning.trim_end()));
    }
    Ok(Opened { plugin, resources })
}
