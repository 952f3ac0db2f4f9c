//! `RunCommand`: a command of the shell, in the working directory.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use playhouse_lang::program::TypeKind;
use playhouse_lang::program::permits::{COMMAND, RUN_COMMAND, SKILL_FOLDER};
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::{Approval, EffectClass, ToolSignature};
use tokio::time::Instant;

use crate::directory::WorkingDirectory;
use crate::sandbox::policy::{Limits, Policy};
use crate::sandbox::{Available, Ended, Finished, Job, Sandbox};
use crate::secrets::Secrets;
use crate::skills::options::SkillsOptions;
use crate::text::{first_few, shorten};
use crate::tool::arguments::{check_arguments, parameter, tool};
use crate::tool::{ArgumentFault, CallContext, Tool, ToolFuture, ToolOutcome};

/// How long a command may take of which nobody says so, in seconds.
const TIMEOUT: i64 = 60;

/// How long a command may take at most, in seconds.
const MAX_TIMEOUT: i64 = 600;

/// What a call takes besides its command: what is looked at before and after.
const AROUND: Duration = Duration::from_secs(10);

/// Paths that a message names, and characters of what the command wrote.
const MAX_NAMED: usize = 10;
const MAX_SHOWN: usize = 500;

/// How commands run; by default each is asked about.
#[derive(Clone, Debug, Default)]
pub struct Commands {
    /// What confines them.
    pub sandbox: Sandbox,
    /// What is decided about skills.
    pub skills: SkillsOptions,
    /// What nobody may see.
    pub secrets: Arc<Secrets>,
}

impl Commands {
    /// What people should know of commands on this system.
    pub(crate) fn warnings(&self) -> Vec<String> {
        match self.sandbox.available() {
            Available::Confined(lacks) => lacks,
            Available::Unconfined(why) => vec![format!("commands are not confined, so each one needs approval: {why}")],
        }
    }
}

/// The tool.
pub(in crate::tool) struct RunCommand {
    folder: Arc<Path>,
    commands: Commands,
    available: Available,
}

impl RunCommand {
    /// In this folder.
    pub(in crate::tool) fn new(directory: &WorkingDirectory, commands: &Commands) -> RunCommand {
        let available = commands.sandbox.available();
        RunCommand { folder: directory.root().clone(), commands: commands.clone(), available }
    }

    async fn perform(&self, context: CallContext, arguments: Map) -> ToolOutcome {
        let seconds = seconds(&arguments);
        let left = context.deadline.saturating_duration_since(Instant::now());
        let time = Duration::from_secs(seconds.unsigned_abs()).min(left);
        let command = arguments.get(COMMAND).and_then(Value::as_str).unwrap_or_default();
        let command = ["/bin/sh", "-c", command].map(str::to_owned);
        let skill = context.skill.as_deref().map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.to_owned()));
        let policy = Policy {
            readable: skill.iter().cloned().collect(),
            working_directory: self.folder.to_path_buf(),
            network: skill.as_deref().is_some_and(|skill| self.may_use_network(skill)),
            limits: Limits::of_time(time),
        };
        let variables = skill.iter().map(|folder| (SKILL_FOLDER.to_owned(), folder.display().to_string()));
        let variables: Vec<_> = variables.collect();
        let Commands { sandbox, secrets, .. } = &self.commands;
        let job = Job { command: &command, policy: &policy, variables: &variables, secrets };
        let running = async {
            match self.available {
                Available::Confined(_) => sandbox.run(job).await,
                // A person has been asked.
                Available::Unconfined(_) => sandbox.run_unconfined(job).await,
            }
        };
        let finished = tokio::select! {
            finished = running => finished,
            // What runs ends with its future.
            () = context.cancel.cancelled() => return ToolOutcome::Error("the command was cancelled".to_owned()),
        };
        match finished {
            Ok(finished) if finished.changed.is_empty() => ToolOutcome::Value(told(&finished, time)),
            Ok(finished) => ToolOutcome::Error(self.commands.secrets.mask_text(&refused(&finished))),
            Err(error) => ToolOutcome::Error(self.commands.secrets.mask_text(&error.to_string())),
        }
    }

    fn may_use_network(&self, skill: &Path) -> bool {
        let name = skill.file_name().map(|name| name.to_string_lossy());
        name.and_then(|name| self.commands.skills.skills.get(&*name)).is_some_and(|options| options.network)
    }
}

impl Tool for RunCommand {
    fn signature(&self) -> ToolSignature {
        let command = parameter(COMMAND, TypeKind::Str, None, "a shell command, as for `sh -c`");
        let timeout = format!("seconds until it is stopped, at most {MAX_TIMEOUT}");
        let timeout = parameter("timeout", TypeKind::Int, Some(Value::Int(TIMEOUT)), &timeout);
        let summary = "Runs a command in the working directory and returns its exit_code, stdout and stderr; `ended` \
                       says why there is no exit code, `cut` that part of its output is left out.";
        let signature = tool(RUN_COMMAND, vec![command, timeout], TypeKind::Dict, summary, EffectClass::Write);
        let approval = match self.available {
            Available::Confined(_) => Approval::Unpermitted,
            Available::Unconfined(_) => Approval::Ask,
        };
        ToolSignature { approval, ..signature }
    }

    fn check(&self, arguments: Map) -> Result<Map, Vec<ArgumentFault>> {
        let arguments = check_arguments(&self.signature().signature, arguments)?;
        if (1..=MAX_TIMEOUT).contains(&seconds(&arguments)) {
            return Ok(arguments);
        }
        Err(vec![ArgumentFault::new("timeout", format!("must be from 1 to {MAX_TIMEOUT} seconds"))])
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(MAX_TIMEOUT.unsigned_abs()) + AROUND
    }

    fn call(&self, context: CallContext, arguments: Map) -> ToolFuture<'_> {
        Box::pin(self.perform(context, arguments))
    }
}

/// How long a command may take.
fn seconds(arguments: &Map) -> i64 {
    if let Some(Value::Int(seconds)) = arguments.get("timeout") { *seconds } else { TIMEOUT }
}

/// What a program is told of a command that has ended, however it did.
fn told(finished: &Finished, time: Duration) -> Value {
    let (code, ended) = match finished.ended {
        Ended::Exited(code) => (Value::Int(code.into()), None),
        Ended::Signalled(signal) => (Value::Null, Some(format!("by signal {signal}"))),
        Ended::TimedOut => (Value::Null, Some(format!("by its time limit of {} s", time.as_secs()))),
    };
    let outputs = [("stdout", &finished.stdout), ("stderr", &finished.stderr)];
    let mut all: Map = [("exit_code".into(), code)].into_iter().collect();
    all.extend(outputs.map(|(name, output)| (name.into(), Value::str(&*output.text))));
    all.extend(ended.map(|ended| ("ended".into(), Value::from(ended))));
    let cut = outputs.iter().filter(|(_, output)| output.n_left_out > 0);
    let cut: Vec<_> =
        cut.map(|(name, output)| format!("{} bytes in the middle of {name}", output.n_left_out)).collect();
    all.extend((!cut.is_empty()).then(|| ("cut".into(), Value::from(cut.join(", ")))));
    Value::map(all)
}

/// That a command has changed what it must not.
fn refused(finished: &Finished) -> String {
    let changed: Vec<String> = finished.changed.iter().map(|path| format!("`{path}`")).collect();
    let wrote = shorten(finished.stdout.text.trim_end(), MAX_SHOWN);
    format!(
        "the command changed {}: files and folders of the working directory that begin with a dot are reserved. What \
         it did was not undone; look at it and undo it. It wrote: {wrote}",
        first_few(&changed, MAX_NAMED)
    )
}
