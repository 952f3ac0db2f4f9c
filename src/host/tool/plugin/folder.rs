//! A plugin's folder: read, checked, made into tools.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use playhouse_lang::diagnostic::{Diagnostic, render};
use playhouse_lang::span::Sources;
use playhouse_lang::value::{Map, Value};

use crate::component::config::MAX_TEXT;
use crate::component::runtime::{RuntimeError, prepare_runtime};
use crate::component::{ComponentConfig, Identity};
use crate::resource::Resources;
use crate::text;
use crate::tool::Tool;
use crate::tool::plugin::command::CommandTool;
use crate::tool::plugin::component::{Component, ComponentError};
use crate::tool::plugin::copied::Copied;
use crate::tool::plugin::packages::{Packages, Parts, Surroundings};

/// The folder of configuration inside a component's folder.
const FOLDER: &str = ".config";

/// The component's own file there.
const FILE: &str = "config.yaml";

/// Which plugin, and what others say of it.
#[derive(Clone)]
pub struct PluginOptions {
    /// Its folder.
    pub folder: PathBuf,
    /// What stands in front of the dot; none: what its `config.yaml` says.
    pub name: Option<Arc<str>>,
    /// Which of several copies of its files.
    pub instance_id: Option<Arc<str>>,
    /// What overrides its `config`.
    pub config: Map,
    /// The folder below whose `.runtime` its user's copy of its files is, made at the first use; none: there is no
    /// such copy.
    pub runtime: Option<Arc<Dir>>,
    /// What all plugins are given.
    pub surroundings: Surroundings,
}

/// Why a folder is no plugin that can be used.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// A file cannot be read.
    #[error("{}: cannot read it: {cause}; {}", path.display(), config_hint(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The configuration is wrong.
    #[error("{}", render(findings, sources, false))]
    Config {
        /// All that was found.
        findings: Vec<Diagnostic>,
        /// Where.
        sources: Sources,
    },
    /// It is a component, and no plugin.
    #[error("{}: {identity} says `as_plugin: false`: it has no commands to call", path.display())]
    NoPlugin {
        /// The configuration.
        path: PathBuf,
        /// Which component.
        identity: Identity,
    },
    /// Its user's copy of the files cannot be used.
    #[error("{}: {cause}", path.display())]
    Runtime {
        /// The plugin's folder.
        path: PathBuf,
        /// Why.
        cause: RuntimeError,
    },
    /// What is configured cannot be made.
    #[error("{}: {message}", path.display())]
    Setup {
        /// The configuration.
        path: PathBuf,
        /// What is wrong, and what to do.
        message: String,
    },
}

/// A plugin that can be used. Nothing of it runs before the first call.
pub struct Plugin {
    /// What stands in front of the dot.
    pub name: Arc<str>,
    /// What it is for, in words for models.
    pub description: Arc<str>,
    /// What else a model is told of it, if it says so.
    pub prompt: Option<Arc<str>>,
    /// What is odd about its configuration, and what of the overrides was ignored, as it is shown.
    pub warnings: Vec<String>,
    component: Arc<dyn Component>,
    commands: Vec<Arc<CommandTool>>,
    tools: Vec<Arc<dyn Tool>>,
}

impl Plugin {
    /// Reads a plugin's folder and makes its tools.
    ///
    /// # Errors
    /// All that keeps it from being used.
    pub fn open(options: PluginOptions, packages: &Packages) -> Result<Plugin, PluginError> {
        let PluginOptions { folder, name, instance_id, config: overrides, runtime, surroundings } = options;
        let absolute = |cause| PluginError::Read { path: folder.clone(), cause };
        let at = std::path::absolute(&folder).map_err(absolute)?;
        let shown = folder.join(FOLDER);
        let path = shown.join(FILE);
        let files = Dir::open_ambient_dir(&shown, ambient_authority());
        let files = files.map_err(|cause| PluginError::Read { path: path.clone(), cause })?;
        let (mut config, mut warnings) = read_text(&files, &shown)?;
        if !config.as_plugin {
            return Err(PluginError::NoPlugin { path, identity: config.identity });
        }
        let wrong = |message: String| PluginError::Setup { path: path.clone(), message };
        if let Some(directory) = runtime {
            let cause = |cause| PluginError::Runtime { path: folder.clone(), cause };
            let instance_id = instance_id.as_ref().or(config.instance_id.as_ref());
            let copy = prepare_runtime(&directory, &files, &config.identity, instance_id.map(|id| &**id));
            let copy = copy.map_err(cause)?;
            // Its `config` is its user's to edit. What is run, and what it takes and gives, are the component's own.
            let (kept, _) = read_text(&copy.folder, &copy.path)?;
            let copied = Copied { copy: &copy, source: &files, file: FILE };
            let (counts, is_stale) = copied.config(kept.config, std::mem::take(&mut config.config)).map_err(cause)?;
            config.config = counts;
            if is_stale {
                warnings.push(format!(
                    "{}: its `config` does not count: that of {} does, which differs; edit it there, or delete that \
                     folder to use the plugin's own",
                    path.display(),
                    copy.path.join(FILE).display()
                ));
            }
        }
        let section = Map::from_iter([("config".into(), Value::map(overrides))]);
        for key in config.override_config(&section) {
            warnings.push(format!("{}: `{key}` cannot be overridden, and is ignored", path.display()));
        }
        let name = name.or_else(|| config.name()).unwrap_or_else(|| config.identity.artifact_id.clone());
        let name: Arc<str> = identifier(&name).ok_or_else(|| wrong(format!("`{name}` cannot be its name")))?.into();
        let info = config.info.clone().unwrap_or_default();
        let prompt = info.prompt_text(&files).map_err(wrong)?;
        let parts = Parts {
            name: name.clone(),
            folder: at,
            config: config.config.clone(),
            commands: config.written.clone(),
            setup: config.setup.clone(),
            surroundings: surroundings.clone(),
        };
        check_resources(&config.config, &surroundings.resources).map_err(wrong)?;
        let component = packages.make(parts).map_err(wrong)?;
        let description = info.for_model();
        let about = prompt.clone().or_else(|| (!description.is_empty()).then(|| description.into()));
        let config = Arc::new(config);
        let mut names: Vec<(String, Arc<str>)> = Vec::new();
        let mut commands = Vec::new();
        for command in &config.commands {
            let own = &command.name;
            let called = identifier(own).ok_or_else(|| wrong(format!("`{own}` cannot be the name of a command")))?;
            if let Some((_, other)) = names.iter().find(|(known, _)| *known == called) {
                return Err(wrong(format!("its commands `{other}` and `{own}` are both called `{name}.{called}`")));
            }
            let tool = {
                let (config, component) = (config.clone(), component.clone());
                CommandTool::new(&name, &called, command, config, component, about.clone(), &surroundings)
            };
            names.push((called, own.clone()));
            commands.push(Arc::new(tool));
        }
        let tools = commands.iter().map(|tool| tool.clone() as Arc<dyn Tool>).collect();
        Ok(Plugin { name, description: info.for_model().into(), prompt, warnings, component, commands, tools })
    }

    /// One tool per command.
    pub fn tools(&self) -> &[Arc<dyn Tool>] {
        &self.tools
    }

    /// The arguments that a call of the tool `name` has whose command is to get `param`.
    pub fn arguments(&self, name: &str, param: Option<Value>) -> Map {
        let tool = self.commands.iter().find(|tool| *tool.signature().signature.name == *name);
        tool.map(|tool| tool.arguments(param)).unwrap_or_default()
    }

    /// Makes sure that it could be called now.
    ///
    /// # Errors
    /// It cannot, and why.
    pub async fn start(&self) -> Result<(), ComponentError> {
        self.component.start().await
    }

    /// The end: whatever it holds is let go, processes among it. No call comes after it.
    pub async fn close(&self) {
        self.component.close().await;
    }

    /// After its end, what it wrote last for its author and nobody else: a process, to standard error.
    pub async fn last_words(&self) -> String {
        self.component.last_words().await
    }
}

/// A resource that a plugin wants and that is not there is an error before any command (source 004, "Resources for
/// components to use").
fn check_resources(config: &Map, resources: &Resources) -> Result<(), String> {
    let entries = match config.get("resources") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::List(entries)) => entries,
        Some(_) => return Err("`config.resources` must be a list, as in `[{type: model, id: default}]`".to_owned()),
    };
    for entry in entries.iter() {
        let members = if let Value::Map(members) = entry { Some(members) } else { None };
        let part = |name: &str| members?.get(name).filter(|part| **part != Value::Null).map(Value::to_text);
        let (kind, id, name) = (part("type"), part("id"), part("name"));
        let found = resources.find(kind.as_deref(), id.as_deref(), name.as_deref());
        found.map_err(|error| format!("`config.resources`: {error}; declare it under `resources`"))?;
    }
    Ok(())
}

/// What to do about a `config.yaml` that cannot be read.
fn config_hint(path: &Path) -> String {
    let folder = path.ancestors().nth(2).unwrap_or(path);
    let script = folder.join("plugin.py");
    if path.exists() || !script.is_file() {
        return "a plugin is a folder with .config/config.yaml".to_owned();
    }
    format!("if it is written with playhouse-sdk, write the file: python3 {} declare", script.display())
}

/// A configuration without errors, and what is odd about it.
fn read_text(files: &Dir, shown: &Path) -> Result<(ComponentConfig, Vec<String>), PluginError> {
    let path = shown.join(FILE);
    let unreadable = |cause| PluginError::Read { path: path.clone(), cause };
    if !files.metadata(FILE).map_err(unreadable)?.is_file() {
        return Err(unreadable(io::Error::other("it is not a file")));
    }
    let mut text = String::new();
    let file = files.open(FILE).map_err(unreadable)?;
    file.take(MAX_TEXT as u64 + 1).read_to_string(&mut text).map_err(unreadable)?;
    let mut sources = Sources::default();
    let file = sources.add(path.display().to_string(), text.as_str());
    let (config, findings) = ComponentConfig::read(file, &text);
    match config {
        Some(config) => {
            let warnings = findings.iter().map(|finding| render(std::slice::from_ref(finding), &sources, false));
            Ok((config, warnings.collect()))
        }
        None => Err(PluginError::Config { findings, sources }),
    }
}

/// A foreign name as one of the language: what is neither a letter nor a digit nor `_` becomes `_`. None: nothing of it
/// is a letter or a digit.
pub fn identifier(name: &str) -> Option<String> {
    Some(text::identifier(name.trim())).filter(|name| name.contains(char::is_alphanumeric))
}
