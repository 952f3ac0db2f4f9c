//! Plugins: messages, secrets, processes, folders, the commands for their authors.

mod cli;
mod command;
mod folder;
mod message;
mod process;
mod questions;
mod secrets;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use playhouse::host::clock::SystemClock;
use playhouse::host::secrets::Secrets;
use playhouse::host::tool::CallContext;
use playhouse::host::tool::plugin::process::{ProcessLimits, ProcessOptions, ProcessPlugin};
use playhouse::host::tool::plugin::{Component, ComponentError, Packages, Plugin, PluginError, PluginOptions};
use playhouse::host::tool::plugin::{PROCESS, Surroundings};
use playhouse::value::{Map, Value};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// What every `sh` plugin here knows: `next` takes a call, `answer JSON` and `fail TEXT` answer it, `tell TEXT` is news,
/// `ask TEXT` is a question to a person.
pub(crate) const SH: &str = r#"
put() { printf '{"sender":{"role":"%s","name":"demo"},"receiver":{"role":"cerebrum"},%s,"thrd_id":"%s"}\n' "$@"; }
next() {
  while IFS= read -r line; do
    case $line in
      *'"event":"exit"'*) exit 0 ;;
      *'"event":"configure"'*) configure=$line ;;
      *'"event":"cancel"'*) cancel=$line; echo "$line" >>cancelled ;;
      *) id=${line##*'"thrd_id":"'}; id=${id%%'"'*}
         command=${line#*'"command":"'}; command=${command%%'"'*}
         return 0 ;;
    esac
  done
  exit 0
}
answer() { put plugin "\"content_type\":\"command\",\"content\":{\"command\":\"$command\",\"response\":$1}" "$id"; }
fail() { put system "\"content_type\":\"<class 'dict'>\",\"content\":{\"error\":\"$1\",\"detail\":\"$2\"}" "$id"; }
tell() { put plugin "\"content_type\":\"text/plain\",\"content\":\"$1\"" "$id"; }
ask() { (put() { printf '{"sender":{"role":"plugin"},"receiver":{"role":"user"},%s,"thrd_id":"%s"}\n' "$2" "$3"; }; tell "$1"); }
echo start >>starts
echo $$ >pid
"#;

/// A plugin that is a process of `sh`, in a folder of its own.
pub(crate) struct Demo {
    pub(crate) folder: TempDir,
    pub(crate) options: ProcessOptions,
}

impl Demo {
    /// The script, with [`SH`] in front of it.
    pub(crate) fn new(script: &str) -> Demo {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("plugin.sh"), format!("{SH}{script}")).unwrap();
        let surroundings = surroundings(folder.path());
        let options = ProcessOptions {
            name: "demo".into(),
            command: vec!["sh".into(), "plugin.sh".into()],
            folder: folder.path().to_owned(),
            environment: surroundings.environment,
            config: Value::map(Map::new()),
            commands: json(r#"[{"command_name": "go"}]"#),
            working_directory: folder.path().to_owned(),
            concurrency: 1,
            secrets: surroundings.secrets,
            clock: surroundings.clock,
            limits: ProcessLimits::default(),
        };
        Demo { folder, options }
    }

    pub(crate) fn plugin(&self) -> ProcessPlugin {
        ProcessPlugin::new(self.options.clone())
    }

    /// The text of a file that the plugin has written.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    /// How often it has been started.
    pub(crate) fn n_starts(&self) -> usize {
        self.read("starts").lines().count()
    }
}

pub(crate) fn surroundings(folder: &Path) -> Surroundings {
    Surroundings {
        working_directory: folder.to_owned(),
        environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        secrets: Arc::new(Secrets::new()),
        resources: Arc::default(),
        clock: Arc::new(SystemClock),
        value_bytes: 1 << 20,
    }
}

/// What a call of the registry is given, and its news.
pub(crate) fn context(call_id: &str, time: Duration) -> (CallContext, mpsc::Receiver<Value>) {
    let (progress, news) = mpsc::channel(8);
    let context = CallContext {
        session: "s1".into(),
        call_id: call_id.into(),
        deadline: Instant::now() + time,
        cancel: CancellationToken::new(),
        progress,
        ask: None,
        answers: Vec::new(),
        llm: None,
        trace: None,
        skill: None,
    };
    (context, news)
}

/// Time that is enough for whatever does not hang.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// Calls a command as the registry does; the error of a call whose time is over is `late`.
pub(crate) async fn call_within(
    plugin: &ProcessPlugin,
    command: &str,
    param: Value,
    time: Duration,
) -> Result<Value, String> {
    let (context, _news) = context("s1/1", time);
    match timeout_at(context.deadline, plugin.command(command, param, &context)).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(ComponentError::Unavailable(text))) => Err(format!("unavailable: {text}")),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("late".to_owned()),
    }
}

/// Calls `go`, with time enough.
pub(crate) async fn call(plugin: &ProcessPlugin) -> Result<Value, String> {
    call_within(plugin, "go", Value::Null, LONG).await
}

/// The folder of a plugin: `.config/config.yaml` with these commands, and `plugin.sh`.
pub(crate) fn write_folder(folder: &Path, commands: &str, script: &str) {
    let config = format!(
        "group_id: org.example\nartifact_id: demo\nversion: 0.1.0\ntype: plugin\nas_plugin: true\n\
         info: {{title: Demo, description: Shows things.}}\n\
         setup: {{package: {PROCESS}, command: [sh, plugin.sh]}}\nconfig: {{greeting: hello}}\ncommands:\n{commands}"
    );
    fs::create_dir_all(folder.join(".config")).unwrap();
    fs::write(folder.join(".config/config.yaml"), config).unwrap();
    fs::write(folder.join("plugin.sh"), format!("{SH}{script}")).unwrap();
}

pub(crate) fn options(folder: &Path) -> PluginOptions {
    PluginOptions {
        folder: folder.to_owned(),
        name: None,
        instance_id: None,
        config: Map::new(),
        runtime: None,
        surroundings: surroundings(folder),
    }
}

pub(crate) fn open(folder: &Path) -> Result<Plugin, PluginError> {
    Plugin::open(options(folder), &Packages::default())
}

pub(crate) fn json(text: &str) -> Value {
    Value::from_json(text).unwrap()
}

/// The members of a JSON object.
#[track_caller]
pub(crate) fn map(text: &str) -> Map {
    let Value::Map(members) = json(text) else { panic!("{text}") };
    Arc::unwrap_or_clone(members)
}
