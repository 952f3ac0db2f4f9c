//! What a program is equipped with beside playbooks and models: what is declared, opened and closed.

pub mod declaration;

mod builtin;

mod resources;

mod surroundings;

#[cfg(feature = "mcp")]
mod servers;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use playhouse_lang::program::ToolNames;
use playhouse_lang::program::permits::RUN_COMMAND;
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::EffectClass;

use crate::directory::WorkingDirectory;
use crate::equipment::declaration::{Declarations, PluginDeclaration, ResourceDeclaration, ServerDeclaration};
use crate::equipment::resources::Made;
use crate::resource::Resources;
use crate::resource::documents::DEFAULT_INDEX;
use crate::skills::known::KnownSkills;
use crate::tool::Tool;
use crate::tool::builtin::{Ground, add_builtins};
use crate::tool::canned;
use crate::tool::http::{HTTP_GET, HTTP_POST, add_http_tools};
use crate::tool::plugin::{self, Packages, Plugin, PluginOptions};
use crate::tool::registry::Registry;
use crate::tool::retrieval::{Retrieval, no_index};
use crate::tool::sql::{SQL_QUERY, add_sql_tools};

pub use crate::equipment::surroundings::{EquipmentError, Models, Reach, Surroundings};

/// Tools that come with resources, which another program beside the same configuration may have.
const OF_RESOURCES: [&str; 3] = [HTTP_GET, HTTP_POST, SQL_QUERY];

/// The tools, and what stands after them.
pub struct Equipment {
    /// The tools.
    pub tools: Arc<Registry>,
    /// Whether there may be more tools, known only at run time.
    pub is_open_world: bool,
    /// The skills that the program may name.
    pub skills: KnownSkills,
    /// What is odd and no error, for people.
    pub warnings: Vec<String>,
    /// Why each tool is there, for people; `NAME.*` for those of a server that has not been asked for its tools.
    pub reasons: Vec<(Arc<str>, String)>,
    /// The names of canned tools.
    canned: BTreeSet<Arc<str>>,
    resources: Arc<Resources>,
    plugins: Vec<Plugin>,
    #[cfg(feature = "mcp")]
    servers: Vec<Arc<crate::tool::mcp::McpServer>>,
}

impl Equipment {
    /// Opens what is declared; with [`Reach::Survey`] only as far as nothing is started for it.
    ///
    /// # Errors
    /// The first that cannot be opened; what was opened before is closed again.
    pub async fn open(
        declared: &Declarations,
        around: &Surroundings<'_>,
        reach: Reach,
    ) -> Result<Equipment, EquipmentError> {
        let folder = around.folder()?;
        let mut stand_ins: Vec<(&Path, Arc<dyn Tool>)> = Vec::new();
        for path in &around.canned {
            stand_ins.extend(canned::load(path, &folder)?.into_iter().map(|tool| (path.as_path(), tool)));
        }
        let declared = &with_default_index(declared, around.working_directory, &stand_ins);
        let made = resources::make(&declared.resources, around, reach, &folder)?;
        let mut equipment = Equipment {
            tools: Arc::new(Registry::with_policies(declared.policies.clone())),
            is_open_world: false,
            skills: around.skills.clone(),
            warnings: Vec::new(),
            reasons: Vec::new(),
            canned: BTreeSet::new(),
            resources: made.all.clone(),
            plugins: Vec::new(),
            #[cfg(feature = "mcp")]
            servers: Vec::new(),
        };
        let filled = equipment.fill(declared, around, reach, &folder, &made, stand_ins).await;
        match filled {
            Ok(()) => Ok(equipment),
            Err(error) => {
                equipment.close().await;
                Err(error)
            }
        }
    }

    async fn fill(
        &mut self,
        declared: &Declarations,
        around: &Surroundings<'_>,
        reach: Reach,
        folder: &WorkingDirectory,
        made: &Made,
        stand_ins: Vec<(&Path, Arc<dyn Tool>)>,
    ) -> Result<(), EquipmentError> {
        let wanted = |name: &str| declared.builtins.iter().find(|(builtin, _)| *builtin == name);
        let is_wanted = |name: &str| wanted(name).is_some();
        if let Some((kind, why)) = wanted_retrieval(declared, &stand_ins)
            && made.indexes.is_empty()
            && reach == Reach::Open
        {
            let place = why.strip_prefix("named in ").unwrap_or(why).to_owned();
            return Err(EquipmentError::Declared { place, message: no_index(kind) });
        }
        let Surroundings { clock, commands, .. } = around;
        let ground = Ground { directory: folder, clock, max_bytes: around.max_bytes, indexes: &made.indexes, commands };
        add_builtins(&self.tools, &ground, is_wanted)?;
        if is_wanted(RUN_COMMAND) {
            self.warnings.extend(commands.warnings());
        }
        self.explain(|name| format!("built in, {}", wanted(name).map_or("", |(_, why)| why)));
        let resources = |kinds: &[&str]| {
            let of_kinds = declared.resources.iter().filter(|one| kinds.contains(&&*one.kind));
            let places: Vec<&str> = of_kinds.map(|one| &*one.place).collect();
            format!("of resources ({})", places.join(", "))
        };
        add_http_tools(&self.tools, &made.http)?;
        self.explain(|_| resources(&["http"]));
        add_sql_tools(&self.tools, &made.databases)?;
        self.explain(|_| resources(&["sqlite", "postgres"]));
        for tool in around.tools {
            self.tools.add(tool.clone())?;
        }
        self.explain(|_| "of the program that runs it, in Rust".to_owned());
        if reach == Reach::Open {
            self.resources.acquire_all().await.map_err(|error| {
                // Whoever opens has made all that are declared.
                let place = declared.resources.get(error.index).map_or_else(String::new, |one| one.place.clone());
                EquipmentError::Declared { place, message: error.to_string() }
            })?;
        }
        let packages = packages(declared, around, &self.resources);
        for plugin in &declared.plugins {
            let fault = |message: String| EquipmentError::Declared { place: plugin.place.clone(), message };
            let opened = open_plugin(plugin, around, reach, folder, &packages, &self.resources).map_err(fault)?;
            for tool in opened.tools() {
                self.tools.add(tool.clone())?;
            }
            self.warnings.extend(opened.warnings.iter().cloned());
            self.plugins.push(opened);
            self.explain(|_| format!("of the plugin `{}` ({})", plugin.name, plugin.place));
        }
        // Of a server that canned tools stand in for nothing is wanted.
        let stands_in = |server: &ServerDeclaration| {
            let prefix = format!("{}.", server.name);
            stand_ins.iter().any(|(_, tool)| tool.signature().signature.name.starts_with(&prefix))
        };
        let (replaced, wanted): (Vec<_>, Vec<_>) = declared.servers.iter().partition(|server| stands_in(server));
        self.is_open_world = made.is_incomplete || reach == Reach::Survey && !wanted.is_empty();
        if made.is_incomplete {
            self.tools.expect("*".into());
        }
        let unseen = if reach == Reach::Survey { &wanted[..] } else { &[] };
        for server in replaced.iter().chain(unseen) {
            self.tools.expect(format!("{}.*", server.name).into());
        }
        for server in unseen {
            let why =
                format!("of the server `{}` ({}), which is asked when the program runs", server.name, server.place);
            self.reasons.push((format!("{}.*", server.name).into(), why));
        }
        if reach == Reach::Open {
            self.connect(&wanted, around).await?;
        }
        self.explain(|name| {
            let server = declared.servers.iter().find(|server| name.starts_with(&format!("{}.", server.name)));
            server.map_or_else(String::new, |server| format!("of the server `{}` ({})", server.name, server.place))
        });
        self.check_stand_ins(&stand_ins)?;
        for (file, tool) in &stand_ins {
            let name = tool.signature().signature.name;
            self.reasons.retain(|(explained, _)| *explained != name);
            self.canned.insert(name);
            self.tools.replace(tool.clone())?;
            self.explain(|_| format!("canned in {}", file.display()));
        }
        self.tools.keep_for_skills(&declared.for_skills);
        self.check_rules(declared)?;
        self.warn_of_lowering(declared);
        Ok(())
    }

    /// Whether a tool that is not canned may change something.
    pub fn acts_outside(&self) -> bool {
        let tools = self.tools.signatures();
        tools.iter().any(|tool| tool.effect != EffectClass::ReadOnly && !self.canned.contains(&tool.signature.name))
    }

    /// Says why those tools are there that nothing was said of yet.
    fn explain(&mut self, why: impl Fn(&str) -> String) {
        for tool in self.tools.signatures().iter() {
            let name = &tool.signature.name;
            if !self.reasons.iter().any(|(explained, _)| explained == name) {
                self.reasons.push((name.clone(), why(name)));
            }
        }
    }

    /// Whoever writes a program and would lower what a tool says of itself relies on a word that has no effect.
    fn warn_of_lowering(&mut self, declared: &Declarations) {
        for tool in self.tools.signatures().iter() {
            let name = &tool.signature.name;
            let words = declared.policies.of(name).without_effect(tool);
            self.warnings.extend(words.iter().map(|word| {
                format!(
                    "`{word}` of the program for `{name}` has no effect: a program makes things stricter; \
                     `[tools]` of playhouse.toml can lower them"
                )
            }));
        }
    }

    /// A canned tool that no plugin has stands in for nothing, and the real one would be called.
    fn check_stand_ins(&self, stand_ins: &[(&Path, Arc<dyn Tool>)]) -> Result<(), EquipmentError> {
        let signatures = self.tools.signatures();
        let names = ToolNames::new(signatures.iter().map(|tool| &*tool.signature.name), &[]);
        for (file, tool) in stand_ins {
            let name = tool.signature().signature.name;
            let is_of_plugin =
                name.split_once('.').is_some_and(|(owner, _)| self.plugins.iter().any(|one| *one.name == *owner));
            if is_of_plugin && !names.has(&name) {
                let message = missing(&names, &name, names.nearest(&name));
                return Err(EquipmentError::Declared { place: file.display().to_string(), message });
            }
        }
        Ok(())
    }

    /// Whether a plugin is called by this name although there are canned tools.
    pub fn is_real_beside_canned(&self, name: &str) -> bool {
        let is_of_plugin =
            |plugin: &Plugin| plugin.tools().iter().any(|tool| *tool.signature().signature.name == *name);
        !self.canned.is_empty() && !self.canned.contains(name) && self.plugins.iter().any(is_of_plugin)
    }

    /// A rule for a tool that is not there holds for nothing, and whoever wrote it relies on it.
    fn check_rules(&self, declared: &Declarations) -> Result<(), EquipmentError> {
        let (signatures, others) = (self.tools.signatures(), self.tools.others());
        let known = signatures.iter().map(|tool| &*tool.signature.name);
        let names = ToolNames::new(known.chain(OF_RESOURCES), &others);
        for (rule, place) in declared.rules.iter().filter(|(rule, _)| !names.has(rule)) {
            let near = names.nearest(rule);
            // A configuration may be that of several programs, each with plugins and servers of its own.
            if near.is_none() && rule.contains('.') && !names.has_owner(rule) {
                continue;
            }
            return Err(EquipmentError::Declared { place: place.clone(), message: missing(&names, rule, near) });
        }
        Ok(())
    }

    #[cfg(feature = "mcp")]
    async fn connect(
        &mut self,
        wanted: &[&ServerDeclaration],
        around: &Surroundings<'_>,
    ) -> Result<(), EquipmentError> {
        self.servers = servers::connect(wanted, around, &self.tools).await?;
        Ok(())
    }

    #[cfg(not(feature = "mcp"))]
    async fn connect(&mut self, wanted: &[&ServerDeclaration], _: &Surroundings<'_>) -> Result<(), EquipmentError> {
        match wanted.first() {
            None => Ok(()),
            Some(server) => Err(EquipmentError::Declared {
                place: server.place.clone(),
                message: format!(
                    "server `{}`: this program was built without MCP; build it with `--features mcp`",
                    server.name
                ),
            }),
        }
    }

    /// Closes all, the last opened first. Whoever still calls a tool gets an error.
    pub async fn close(&self) {
        #[cfg(feature = "mcp")]
        futures_util::future::join_all(self.servers.iter().map(|server| server.close())).await;
        futures_util::future::join_all(self.plugins.iter().map(Plugin::close)).await;
        self.resources.release_all().await;
    }
}

/// What is said of a tool that is named and not there.
fn missing(names: &ToolNames<'_>, name: &str, near: Option<String>) -> String {
    let hint = near.as_ref().map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    names.missing(name, near.as_deref()) + &hint
}

/// The tools for documents that a program names, and why it has them, but for those that canned tools stand in for.
fn wanted_retrieval<'d>(
    declared: &'d Declarations,
    stand_ins: &[(&Path, Arc<dyn Tool>)],
) -> Option<(Retrieval, &'d str)> {
    let is_canned = |name: &str| stand_ins.iter().any(|(_, tool)| &*tool.signature().signature.name == name);
    let mut named = declared.builtins.iter().filter(|(name, _)| !is_canned(name));
    named.find_map(|(name, why)| Some((name.parse().ok()?, &**why)))
}

/// What is declared; and, if a program names tools for documents and nobody has said in which, the index in the working
/// directory.
fn with_default_index<'d>(
    declared: &'d Declarations,
    working_directory: &Path,
    stand_ins: &[(&Path, Arc<dyn Tool>)],
) -> Cow<'d, Declarations> {
    let is_declared = declared.resources.iter().any(|resource| &*resource.kind == "documents");
    let is_wanted = wanted_retrieval(declared, stand_ins).is_some();
    if is_declared || !is_wanted || !working_directory.join(DEFAULT_INDEX).is_file() {
        return Cow::Borrowed(declared);
    }
    let mut declared = declared.clone();
    declared.resources.push(ResourceDeclaration {
        kind: "documents".into(),
        id: "default".into(),
        name: None,
        config: [("path".into(), Value::str(DEFAULT_INDEX))].into_iter().collect(),
        folder: working_directory.to_owned(),
        place: working_directory.join(DEFAULT_INDEX).display().to_string(),
    });
    Cow::Owned(declared)
}

fn open_plugin(
    declared: &PluginDeclaration,
    around: &Surroundings<'_>,
    reach: Reach,
    folder: &WorkingDirectory,
    packages: &Packages,
    resources: &Arc<Resources>,
) -> Result<Plugin, String> {
    // A survey knows no secrets: a variable that is not set yet is none of its business.
    let config = if reach == Reach::Open { around.resolve(&declared.config)? } else { declared.config.clone() };
    let options = PluginOptions {
        folder: declared.folder.clone(),
        name: Some(declared.name.clone()),
        instance_id: declared.instance_id.clone(),
        config,
        // Nothing is written by a survey.
        runtime: (reach == Reach::Open).then(|| folder.folder().clone()),
        surroundings: of_plugins(around, resources)?,
    };
    Plugin::open(options, packages).map_err(|error| error.to_string())
}

/// All that `setup.package` may name.
fn packages(declared: &Declarations, around: &Surroundings<'_>, resources: &Arc<Resources>) -> Packages {
    let mut packages = around.packages.clone();
    builtin::add_packages(&mut packages, resources, &Arc::new(declared.prices.clone()));
    #[cfg(feature = "mcp")]
    servers::add_package(&mut packages);
    packages
}

/// What all plugins are given.
fn of_plugins(around: &Surroundings<'_>, resources: &Arc<Resources>) -> Result<plugin::Surroundings, String> {
    Ok(plugin::Surroundings {
        working_directory: std::path::absolute(around.working_directory).map_err(|cause| cause.to_string())?,
        environment: around.environment.clone(),
        secrets: around.secrets.clone(),
        resources: resources.clone(),
        clock: around.clock.clone(),
        value_bytes: around.max_bytes,
    })
}

/// What a plugin is made of that is opened by itself, for its author: the packages, and what it is given. Its
/// `resources` are those of the configuration, none of them acquired.
///
/// # Errors
/// A resource cannot be made.
pub fn for_author(
    declared: &Declarations,
    around: &Surroundings<'_>,
    config: &Map,
) -> Result<(Packages, plugin::Surroundings, Map), EquipmentError> {
    let made = resources::make(&declared.resources, around, Reach::Open, &around.folder()?)?;
    let own = |message| EquipmentError::Declared { place: "--config".to_owned(), message };
    let config = around.resolve(config).map_err(own)?;
    let surroundings = of_plugins(around, &made.all).map_err(own)?;
    Ok((packages(declared, around, &made.all), surroundings, config))
}
