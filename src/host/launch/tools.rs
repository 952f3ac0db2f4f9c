//! The tools of a program: what it declares, what the configuration beside it declares, what was chosen.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt;
use playhouse_lang::Loaded;
use playhouse_lang::program::{FrontMatter, Program};
use playhouse_lang::value::Map;
use playhouse_vm::plan::LLM_GENERATE;
use playhouse_vm::protocol::settings::Settings;

use crate::config::{CommandLine, Config, Environment, FileConfig, ModelId, Search, child_environment, named_variable};
#[cfg(feature = "sqlite")]
use crate::documents::command::Extractors;
use crate::equipment::declaration::{self, Declarations, FromProgram};
use crate::equipment::{Equipment, EquipmentError, Models, Reach, Surroundings, for_author};
use crate::launch::error::LaunchError;
use crate::launch::models::make_model;
use crate::launch::workshop::Launch;
use crate::llm::embeddings::Embedder;
use crate::program::{ToolInventory, load_files, load_settings_of};
use crate::resource::documents::MakeEmbedder;
use crate::resource::model::ModelOptions;
use crate::sandbox::Sandbox;
use crate::skills::find::Places;
use crate::skills::known::{KnownSkills, Wanted};
use crate::tool::plugin::{self, Packages};
use crate::tool::registry::Registry;
use crate::tool::workspace::command::Commands;

/// What the compiler needs to know of all tools.
pub fn inventory(registry: &Registry) -> ToolInventory {
    let signatures = registry.signatures().iter().map(|tool| tool.signature.clone()).collect();
    let (others, fields) = (registry.others(), registry.fields());
    ToolInventory { signatures, are_more: false, others, fields, ..ToolInventory::default() }
}

/// The same of all tools and skills that a program is opened with.
pub(super) fn opened(equipment: &Equipment) -> ToolInventory {
    ToolInventory { skills: equipment.skills.clone(), ..inventory(&equipment.tools) }
}

/// The same of tools that were surveyed: once they are opened there may be more.
pub fn surveyed(equipment: &Equipment) -> ToolInventory {
    ToolInventory { are_more: equipment.is_open_world, ..opened(equipment) }
}

/// The first file of a program.
pub(super) fn first_file(program: &Program) -> Option<PathBuf> {
    program.sources.iter().next().map(|(_, file)| PathBuf::from(&*file.name))
}

impl Launch {
    /// Opens what a program declares, and what the configuration beside `first` does; nothing that a recording answers for.
    pub(super) async fn equip(&self, program: &FromProgram, first: Option<&Path>) -> Result<Equipment, LaunchError> {
        let Some(take) = &self.take else { return self.open_tools(program, first, Reach::Open).await };
        let is_answered = take.is_replay() && take.has_tools();
        let reach = if is_answered { Reach::Survey } else { Reach::Open };
        let equipment = self.open_tools(program, first, reach).await?;
        equipment.tools.record(take.clone()).map_err(EquipmentError::from)?;
        Ok(equipment)
    }

    /// What can be known of the program in these files, and of its tools, without starting anything.
    ///
    /// # Errors
    /// What is declared is wrong, or a file cannot be read. What is wrong with the text is in the diagnostics.
    pub fn survey(&self, files: &[PathBuf]) -> Result<(Equipment, Loaded), LaunchError> {
        let equipment = self.survey_tools(files)?;
        let (_, loaded) = load_files(files, &surveyed(&equipment))?;
        Ok((equipment, loaded))
    }

    /// The same of its tools alone: of the program nothing is read but what it declares.
    ///
    /// # Errors
    /// As for [`Launch::survey`].
    pub fn survey_tools(&self, files: &[PathBuf]) -> Result<Equipment, LaunchError> {
        let declared = self.declared_by(files)?;
        let first = files.first().map(PathBuf::as_path);
        // Nothing of it waits for anything.
        let opened = self.open_tools(&declared, first, Reach::Survey).now_or_never();
        opened.unwrap_or_else(|| Err(LaunchError::Model("internal error: a survey waits; please report this".into())))
    }

    /// Opens the tools for a plan that is not there yet: what the configuration beside its file declares, and the model.
    ///
    /// # Errors
    /// One of them cannot be opened.
    pub async fn tools_for_plan(&self, file: &Path) -> Result<Equipment, LaunchError> {
        let names_model = FromProgram { texts: vec![("plan".into(), LLM_GENERATE.into())], ..FromProgram::default() };
        self.equip(&names_model, Some(file)).await
    }

    /// What asks for the vectors of an index: the server is the one that models of programs beside it have, if none is chosen.
    ///
    /// # Errors
    /// The model is none of a server, or the configuration is wrong.
    pub fn embedder(&self, id: &str, index: &Path) -> Result<Embedder, LaunchError> {
        let file = self.file_config(Some(index))?;
        let make = embedders(file, self.workshop.environment.clone(), self.choices.base_url.clone());
        make(id, None).map_err(LaunchError::Model)
    }

    /// What makes texts of files that are none, for an index: as the configuration beside it says.
    ///
    /// # Errors
    /// The configuration is wrong.
    #[cfg(feature = "sqlite")]
    pub fn extractors(&self, index: &Path) -> Result<Extractors, LaunchError> {
        let file = self.file_config(Some(index))?;
        let sandbox = self.sandbox(&file, child_environment());
        Ok(Extractors { by_ending: file.extract, sandbox })
    }

    /// What a plugin is made of that its author opens by itself: the packages, what it is given, and the `config` that
    /// overrides its own.
    ///
    /// # Errors
    /// The configuration is wrong.
    pub fn for_author(&self, config: &Map) -> Result<(Packages, plugin::Surroundings, Map), LaunchError> {
        let beside = self.working_directory().join("program.md");
        let (declared, around) = self.look_around(&FromProgram::default(), Some(&beside))?;
        Ok(for_author(&declared, &around, config)?)
    }

    /// The configuration with which the program of these files would run. Of the environment nothing counts: what is
    /// wrong with a program must be so on every machine.
    ///
    /// # Errors
    /// A key or an id is wrong.
    pub fn configure(&self, files: &[PathBuf], program: &Program) -> Result<Config, LaunchError> {
        let first = files.first();
        let file = self.file_config(first.map(PathBuf::as_path))?;
        let command_line = CommandLine { program: first.cloned(), ..CommandLine::default() };
        Ok(Config::resolve(&command_line, &program.settings, &file, &Environment::default())?)
    }

    /// The configuration in a file, or what stands in its place.
    pub(super) fn file_config(&self, first: Option<&Path>) -> Result<FileConfig, LaunchError> {
        match &self.configuration {
            Some(configuration) => Ok(configuration.clone()),
            None => Ok(FileConfig::find(self.choices.config.as_deref(), first)?),
        }
    }

    /// What the front matter of these files declares; other mistakes in them are found later.
    pub(super) fn declared_by(&self, files: &[PathBuf]) -> Result<FromProgram, LaunchError> {
        let skills = self.skills(files.first().map(PathBuf::as_path))?;
        let (settings, sources) = load_settings_of(files, Some(&skills))?;
        Ok(FromProgram { skills, ..declaration::of_program(&settings, &sources) })
    }

    /// The skills that a program may name, and those that come with every program.
    ///
    /// # Errors
    /// The configuration beside `first` is wrong.
    pub fn skills(&self, first: Option<&Path>) -> Result<KnownSkills, LaunchError> {
        let discover = self.file_config(first)?.skills.discover;
        let Environment { home, state_home, .. } = self.workshop.environment.clone();
        Ok(KnownSkills::new(Wanted {
            places: Places { working: self.choices.working_directory.clone().unwrap_or_default(), home },
            state_home,
            chosen: self.choices.skills.clone(),
            discover,
        }))
    }

    fn working_directory(&self) -> &Path {
        self.choices.working_directory.as_deref().unwrap_or(Path::new("."))
    }

    async fn open_tools(
        &self,
        program: &FromProgram,
        first: Option<&Path>,
        reach: Reach,
    ) -> Result<Equipment, LaunchError> {
        let (declared, around) = self.look_around(program, first)?;
        Ok(Equipment::open(&declared, &around, reach).await?)
    }

    /// What confines commands that get this environment.
    fn sandbox(&self, file: &FileConfig, environment: Vec<(String, String)>) -> Sandbox {
        Sandbox::new(file.skills.sandbox, self.workshop.environment.executable.clone(), environment)
    }

    fn look_around(
        &self,
        program: &FromProgram,
        first: Option<&Path>,
    ) -> Result<(Declarations, Surroundings<'_>), LaunchError> {
        for written in &program.written {
            self.workshop.trust.check(written)?;
        }
        let file = self.file_config(first)?;
        let mut declared = Declarations::read(&file.declared, program)?;
        self.workshop.trust.check_commands(&mut declared)?;
        let environment = child_environment();
        let sandbox = self.sandbox(&file, environment.clone());
        let secrets = self.workshop.secrets.clone();
        let commands = Commands { sandbox, skills: file.skills.clone(), secrets: secrets.clone() };
        let around = Surroundings {
            skills: program.skills.clone(),
            working_directory: self.working_directory(),
            canned: file.canned_tools.iter().chain(&self.choices.tools).cloned().collect(),
            tools: &self.tools,
            clock: self.workshop.clock.clone(),
            max_bytes: Settings::default().value_bytes,
            commands,
            environment,
            variable: &named_variable,
            secrets,
            models: models(file.clone(), self.workshop.environment.clone()),
            embedders: embedders(file, self.workshop.environment.clone(), self.choices.base_url.clone()),
            packages: Packages::default(),
        };
        Ok((declared, around))
    }
}

/// Makes what asks for vectors, by the same rules as a program's model; `base_url` is what was chosen for all.
fn embedders(file: FileConfig, environment: Environment, base_url: Option<String>) -> MakeEmbedder {
    Arc::new(move |id: &str, of_index: Option<&str>| {
        let base_url = of_index.map(str::to_owned).or(base_url.clone());
        let command_line = CommandLine { model: Some(id.to_owned()), base_url, ..CommandLine::default() };
        let config = Config::resolve(&command_line, &FrontMatter::default(), &file, &environment);
        let config = config.map_err(|error| error.to_string())?;
        let ModelId::OpenAi(name) = config.model().0 else {
            return Err(format!("`{id}` cannot make vectors; name a model of a server, as in openai:nomic-embed-text"));
        };
        Embedder::new(config.openai(name)).map_err(|error| error.to_string())
    })
}

/// Makes models that are resources: by the same rules as a program's own.
fn models(file: FileConfig, environment: Environment) -> Models {
    Arc::new(move |id: &str, options: &ModelOptions| {
        let command_line = CommandLine { model: Some(id.to_owned()), ..CommandLine::default() };
        let config = Config::resolve(&command_line, &FrontMatter::default(), &file, &environment);
        let config = config.map_err(|error| error.to_string())?.with_options(options);
        if config.search == Search::Always {
            return Err("`auto` is only for the model of a run; name the model, as in openai:NAME".to_owned());
        }
        make_model(&config, config.model().0).map_err(|error| error.to_string())
    })
}
