//! What can stand after a plugin: `setup.package` is a key into this table. Source 004 names a Python package there;
//! here it is a name that the binary, or the program that embeds it, knows. Nothing is ever loaded by it.

use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexMap;
use playhouse_lang::value::{Map, Value};

use crate::child::set_variables;
use crate::clock::Clock;
use crate::component::Setup;
use crate::component::identity::scalar_text;
use crate::resource::Resources;
use crate::secrets::Secrets;
use crate::tool::plugin::component::Component;
use crate::tool::plugin::process::{ProcessLimits, ProcessOptions, ProcessPlugin};

/// The package of plugins that are processes.
pub const PROCESS: &str = "playhouse.process";

/// A line of a process holds an answer and what is around it, in bytes besides the value's own limit.
const AROUND_A_VALUE: usize = 4 << 20;

/// What all plugins of a process are given.
#[derive(Clone)]
pub struct Surroundings {
    /// The folder of the program's files; absolute.
    pub working_directory: PathBuf,
    /// The environment of processes: `PATH` and what else they may know.
    pub environment: Vec<(String, String)>,
    /// What nobody may see.
    pub secrets: Arc<Secrets>,
    /// The resources that plugins may want.
    pub resources: Arc<Resources>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The largest value, in bytes of JSON.
    pub value_bytes: usize,
}

/// What a component is made of.
pub struct Parts {
    /// The plugin's name, as programs know it.
    pub name: Arc<str>,
    /// Its folder; absolute.
    pub folder: PathBuf,
    /// Its configuration, overrides and all.
    pub config: Map,
    /// Its `commands`, as they are written.
    pub commands: Value,
    /// Its `setup`.
    pub setup: Setup,
    /// What all plugins are given.
    pub surroundings: Surroundings,
}

/// Makes a component, or says why not.
pub type Make = Arc<dyn Fn(Parts) -> Result<Arc<dyn Component>, String> + Send + Sync>;

/// What `setup.package` may name.
#[derive(Clone)]
pub struct Packages {
    makers: IndexMap<Arc<str>, Make>,
}

impl Default for Packages {
    /// What every program has: [`PROCESS`].
    fn default() -> Packages {
        let mut packages = Packages { makers: IndexMap::new() };
        packages.add(PROCESS, Arc::new(make_process));
        packages
    }
}

impl Packages {
    /// Adds a package, in place of one with its name.
    pub fn add(&mut self, name: &str, make: Make) {
        self.makers.insert(name.into(), make);
    }

    /// Makes the component that `parts.setup.package` names.
    ///
    /// # Errors
    /// There is no such package, or it cannot make anything of the parts.
    pub fn make(&self, parts: Parts) -> Result<Arc<dyn Component>, String> {
        let name = &parts.setup.package;
        match self.makers.get(name) {
            Some(make) => make(parts),
            None => {
                let known: Vec<String> = self.makers.keys().map(|name| format!("`{name}`")).collect();
                Err(format!("`setup.package` is `{name}`, which is not known; there is {}", known.join(", ")))
            }
        }
    }
}

fn make_process(parts: Parts) -> Result<Arc<dyn Component>, String> {
    let Parts { name, folder, config, commands, setup, surroundings } = parts;
    let mut concurrency = 1;
    let Surroundings { working_directory, mut environment, secrets, resources: _, clock, value_bytes } = surroundings;
    for (key, value) in &setup.rest {
        match (&**key, value) {
            ("concurrency", Value::Int(n_calls)) => {
                let n_calls = usize::try_from(*n_calls).ok().filter(|n_calls| *n_calls > 0);
                concurrency = n_calls.ok_or("`setup.concurrency` must be 1 or more")?;
            }
            ("concurrency", _) => return Err("`setup.concurrency` must be a number of calls".to_owned()),
            ("environment", Value::Map(variables)) => {
                for (variable, value) in variables.iter() {
                    let value =
                        scalar_text(value).ok_or_else(|| format!("`setup.environment.{variable}` must be text"))?;
                    set_variables(&mut environment, [(variable.to_string(), value.to_string())]);
                }
            }
            ("environment", _) => return Err("`setup.environment` must be a map of variables".to_owned()),
            // Source 004 lets a component keep there what it likes.
            _ => {}
        }
    }
    let command = setup.command("plugin.py")?;
    let command = command.ok_or("`setup.command` is missing: what is to be run, as in [python3, plugin.py]")?;
    Ok(Arc::new(ProcessPlugin::new(ProcessOptions {
        name,
        command,
        folder,
        environment,
        config: Value::map(config),
        commands,
        working_directory,
        concurrency,
        secrets,
        clock,
        limits: ProcessLimits { line_bytes: AROUND_A_VALUE + value_bytes, ..ProcessLimits::default() },
    })))
}
