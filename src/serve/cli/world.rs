//! What commands give a session to act with: tools, a model, a configuration.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use futures_util::FutureExt;

use crate::host::classify::model::ModelClassifier;
use crate::host::classify::off::Off;
use crate::host::classify::rules::Rules;
use crate::host::classify::script::ScriptClassifier;
use crate::host::classify::{TriggerClassifier, has_semantic_triggers};
use crate::host::clock::SystemClock;
use crate::host::config::{
    ClassifierId, CommandLine, Config, ConfigError, Environment, FileConfig, ModelId, Search, child_environment,
    named_variable,
};
use crate::host::equipment::declaration::{self, Declarations, FromProgram};
use crate::host::equipment::{Equipment, Models, Reach, Surroundings, for_author};
use crate::host::journal::address::Place;
use crate::host::journal::record::{GivenFiles, Record};
use crate::host::llm::Llm;
use crate::host::llm::embedded::{self as embedded_model, Embedded};
use crate::host::llm::openai::OpenAi;
use crate::host::llm::replay::{RecordedReply, Replay};
use crate::host::llm::script::Script;
use crate::host::program::{ToolInventory, load_settings_of};
use crate::host::resource::model::ModelOptions;
use crate::host::secrets::Secrets;
use crate::host::session::{SessionOptions, World};
use crate::host::tool::generate::LlmGenerate;
use crate::host::tool::plugin::{self, Packages};
use crate::host::tool::registry::Registry;
use crate::host::tool::retrieval::Retrieval;
use crate::host::tool::{self, Tool};
use crate::lang::program::{FrontMatter, Program};
use crate::serve::cli::chosen::{Chosen, at_server, choose};
use crate::serve::cli::console::{Console, Failure};
use crate::serve::cli::going_on::to_keep;
use crate::serve::cli::sessions::waited;
use crate::value::Map;
use crate::vm::protocol::settings::Settings;
use crate::vm::protocol::{Event, ReplyEnd, ToolSignature, TurnId};

/// Options that say with what a program runs.
#[derive(Args, Clone, Default)]
pub(crate) struct WorldArguments {
    /// The model: openai:NAME, auto (one that is found on this machine), embedded, script:FILE or replay:SESSION [default:
    /// openai if a key or a base URL is set, else on a terminal auto, else embedded]
    #[arg(long, value_name = "ID")]
    pub(crate) model: Option<String>,
    /// What judges triggers in words: off, rules, model, model:ID or script:FILE [default: model, or rules where the model
    /// is embedded or scripted]
    #[arg(long, value_name = "ID")]
    pub(crate) classifier: Option<String>,
    /// An OpenAI-compatible server, such as http://127.0.0.1:8080/v1
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The configuration [default: playhouse.toml beside the program]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// A file of canned tools
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Vec<PathBuf>,
    /// The folder that file tools stay below [default: .]
    #[arg(long, value_name = "DIR")]
    pub(crate) working_directory: Option<PathBuf>,
}

/// A world, and what else its configuration says.
pub(crate) struct Equipped {
    /// The world.
    pub(crate) world: World,
    /// The machine's settings for this model.
    pub(crate) settings: Settings,
    /// What a session keeps of what it is begun with.
    pub(crate) given: GivenFiles,
    /// Which model and which trigger classifier were chosen, and why, for people; a line each. Of the classifier only
    /// where the program has triggers that it is asked about.
    pub(crate) choices: Vec<String>,
    /// Whether the program has such triggers.
    pub(crate) has_classifier: bool,
}

/// What a session was begun with, which is what it goes on with if the command line says nothing else.
pub(crate) struct BegunWith<'a> {
    /// The model's id.
    pub(crate) model: &'a str,
    /// The trigger classifier's.
    pub(crate) classifier: Option<&'a str>,
    /// The base URL of the model's server, where that was found on this machine.
    pub(crate) server: Option<&'a str>,
}

impl WorldArguments {
    /// Opens what the program's files and its configuration declare.
    pub(crate) async fn open(&self, console: &Console, files: &[PathBuf]) -> Result<Equipment, Failure> {
        self.outfit(console).open(&declared_by(files)?, files.first().map(PathBuf::as_path), Reach::Open).await
    }

    /// The same for a program that is loaded.
    pub(crate) async fn open_for(&self, console: &Console, program: &Program) -> Result<Equipment, Failure> {
        let first = first_file(program);
        self.outfit(console)
            .open(&declaration::of_program(&program.settings, &program.sources), first.as_deref(), Reach::Open)
            .await
    }

    /// The same for a program that is not there yet: what the configuration beside its file declares.
    pub(crate) async fn open_beside(&self, console: &Console, file: &Path) -> Result<Equipment, Failure> {
        self.outfit(console).open(&FromProgram::default(), Some(file), Reach::Open).await
    }

    fn outfit<'a>(&'a self, console: &'a Console) -> Outfit<'a> {
        Outfit {
            canned: &self.tools,
            working_directory: self.working_directory.as_deref().unwrap_or(Path::new(".")),
            config: self.config.as_deref(),
            environment: &console.environment,
            secrets: console.secrets.clone(),
        }
    }

    /// Everything a session acts through. `begun` is for a session that goes on, and comes before all configuration
    /// but the command line's.
    pub(crate) async fn equip(
        &self,
        console: &Console,
        program: &Program,
        tools: Arc<Registry>,
        begun: Option<&BegunWith<'_>>,
    ) -> Result<Equipped, Failure> {
        let wrong = |error: crate::host::config::ConfigError| Failure::wrong(error.to_string());
        let first_file = first_file(program);
        let file = FileConfig::find(self.config.as_deref(), first_file.as_deref()).map_err(wrong)?;
        let command_line = CommandLine {
            model: self.model.clone().or_else(|| begun.map(|begun| begun.model.to_owned())),
            classifier: self.classifier.clone().or_else(|| begun.and_then(BegunWith::classifier)),
            base_url: self.base_url.clone(),
            program: first_file,
        };
        let kept = begun.filter(|_| self.model.is_none());
        let Chosen { config, reason, found } = match kept.and_then(|begun| begun.server) {
            Some(server) if self.base_url.is_none() => {
                let model = command_line.model.as_deref().unwrap_or_default();
                let config = at_server(console, &command_line, &program.settings, &file, model, server);
                Chosen { config: config.map_err(wrong)?, reason: String::new(), found: None }
            }
            _ => choose(console, &command_line, &program.settings, &file).await.map_err(wrong)?,
        };
        let model_reason = kept.map_or(reason, |begun| format!("model {} (as the session began)", begun.model));
        let (id, _) = config.model();
        let (classifier_id, reason) = config.classifier();
        let classifier_reason = match (begun.and_then(BegunWith::classifier), &self.classifier) {
            (Some(_), None) => format!("classifier {classifier_id} (as the session began)"),
            _ => reason.to_owned(),
        };
        let beyond = matches!(id, ModelId::Embedded).then(|| embedded_model::beyond(program)).flatten();
        let llm = open_model(&config, id)?;
        add_plan_tools(&tools, program, &llm);
        let options = SessionOptions { constrain: config.constrain, ..config.session.clone() };
        let settings = config.settings_for(&*llm);
        let classifier = open_classifier(&config, classifier_id, Some(&llm), program)?;
        let world = World { llm, classifier, tools, clock: Arc::new(SystemClock), options };
        let has_classifier = has_semantic_triggers(program);
        let classifier_reason = has_classifier.then_some(classifier_reason);
        let choices = [Some(model_reason), beyond, classifier_reason].into_iter().flatten().collect();
        let given = to_keep(self, config.file.as_deref(), found);
        Ok(Equipped { world, settings, given, choices, has_classifier })
    }

    /// The model for questions outside of a session, with the configuration beside `beside`. Tells which it is.
    pub(crate) async fn open_llm(
        &self,
        console: &Console,
        beside: Option<PathBuf>,
    ) -> Result<(Arc<dyn Llm>, Chosen), Failure> {
        let wrong = |error: crate::host::config::ConfigError| Failure::wrong(error.to_string());
        let file = FileConfig::find(self.config.as_deref(), beside.as_deref()).map_err(wrong)?;
        let command_line = CommandLine {
            model: self.model.clone(),
            classifier: None,
            base_url: self.base_url.clone(),
            program: beside,
        };
        let settings = FrontMatter::default();
        let chosen = choose(console, &command_line, &settings, &file).await.map_err(wrong)?;
        console.remark(&chosen.reason);
        Ok((open_model(&chosen.config, chosen.config.model().0)?, chosen))
    }
}

impl BegunWith<'_> {
    /// The classifier's id for the command line. The session's own model stays that, whatever the model is now.
    fn classifier(&self) -> Option<String> {
        let id = self.classifier?;
        let is_own = id.strip_prefix("model:") == Some(self.model);
        Some(if is_own { "model".to_owned() } else { id.to_owned() })
    }
}

/// Where sessions are kept: at `given`, else where the environment says; a mistake elsewhere in the configuration is
/// none of this.
pub(crate) fn sessions_place(console: &Console, given: Option<&Path>) -> Result<Place, Failure> {
    if let Some(path) = given {
        return Ok(Place::at(path));
    }
    let Environment { state_home, sessions, .. } = console.environment.clone();
    let environment = Environment { state_home, sessions, ..Environment::default() };
    let wrong = |error: ConfigError| Failure::wrong(error.to_string());
    let config =
        Config::resolve(&CommandLine::default(), &FrontMatter::default(), &FileConfig::default(), &environment);
    config.and_then(|config| config.sessions_place().cloned()).map_err(wrong)
}

/// What is given on a command line, or in a test, to be opened with.
pub(crate) struct Outfit<'a> {
    /// Files of canned tools, which stand in front of all others.
    pub(crate) canned: &'a [PathBuf],
    /// The folder that file tools stay below.
    pub(crate) working_directory: &'a Path,
    /// `--config`.
    pub(crate) config: Option<&'a Path>,
    /// Where models that are resources find their keys.
    pub(crate) environment: &'a Environment,
    /// Gets what nobody may see.
    pub(crate) secrets: Arc<Secrets>,
}

impl Outfit<'_> {
    /// Opens what a program declares, and what the configuration beside `first` does.
    pub(crate) async fn open(
        &self,
        program: &FromProgram,
        first: Option<&Path>,
        reach: Reach,
    ) -> Result<Equipment, Failure> {
        let (declared, around) = self.look_around(program, first)?;
        Equipment::open(&declared, &around, reach).await.map_err(|error| Failure::wrong(error.to_string()))
    }

    /// What a plugin is made of that its author opens by itself: the packages, what it is given, and the `config` that
    /// overrides its own.
    pub(crate) fn for_author(&self, config: &Map) -> Result<(Packages, plugin::Surroundings, Map), Failure> {
        let beside = self.working_directory.join("program.md");
        let (declared, around) = self.look_around(&FromProgram::default(), Some(&beside))?;
        for_author(&declared, &around, config).map_err(|error| Failure::wrong(error.to_string()))
    }

    fn look_around(
        &self,
        program: &FromProgram,
        first: Option<&Path>,
    ) -> Result<(Declarations, Surroundings<'_>), Failure> {
        let wrong = |error: ConfigError| Failure::wrong(error.to_string());
        let file = FileConfig::find(self.config, first).map_err(wrong)?;
        let declared = Declarations::read(&file.declared, program).map_err(wrong)?;
        let around = Surroundings {
            working_directory: self.working_directory,
            canned: self.canned,
            clock: Arc::new(SystemClock),
            max_bytes: Settings::default().value_bytes,
            environment: child_environment(),
            variable: &named_variable,
            secrets: self.secrets.clone(),
            models: models(file, self.environment.clone()),
            packages: Packages::default(),
        };
        Ok((declared, around))
    }

    /// The configuration with which the program of these files would run. Of the environment nothing counts: what is
    /// wrong with a program must be so on every machine.
    pub(crate) fn configure(&self, files: &[PathBuf], program: &Program) -> Result<Config, Failure> {
        let wrong = |error: ConfigError| Failure::wrong(error.to_string());
        let first = files.first();
        let file = FileConfig::find(self.config, first.map(PathBuf::as_path)).map_err(wrong)?;
        let command_line = CommandLine { program: first.cloned(), ..CommandLine::default() };
        Config::resolve(&command_line, &program.settings, &file, &Environment::default()).map_err(wrong)
    }

    /// What can be known of it without starting anything.
    pub(crate) fn survey(&self, files: &[PathBuf]) -> Result<Equipment, Failure> {
        // Nothing of it waits for anything.
        let opened = self.open(&declared_by(files)?, files.first().map(PathBuf::as_path), Reach::Survey).now_or_never();
        opened.unwrap_or_else(|| Err(Failure::failed("internal error: a survey waits; please report this")))
    }
}

/// Makes models that are resources: by the same rules as a program's own.
fn models(file: FileConfig, environment: Environment) -> Models {
    Arc::new(move |id: &str, options: &ModelOptions| {
        let command_line = CommandLine { model: Some(id.to_owned()), ..CommandLine::default() };
        let config = Config::resolve(&command_line, &FrontMatter::default(), &file, &environment);
        let config = config.map_err(|error| error.to_string())?.with_options(options);
        if config.search == Search::Always {
            return Err("`auto` is for the model of a run; name the one that is meant, as in openai:NAME".to_owned());
        }
        open_model(&config, config.model().0).map_err(|failure| match failure {
            Failure::Told { message, .. } => message,
            Failure::Quiet(_) => "it cannot be made".to_owned(),
        })
    })
}

/// What the front matter of these files declares; other mistakes in them are found later.
pub(crate) fn declared_by(files: &[PathBuf]) -> Result<FromProgram, Failure> {
    let (settings, sources) = load_settings_of(files).map_err(|error| Failure::wrong(error.to_string()))?;
    Ok(declaration::of_program(&settings, &sources))
}

fn first_file(program: &Program) -> Option<PathBuf> {
    program.sources.iter().next().map(|(_, file)| PathBuf::from(&*file.name))
}

/// What the compiler needs to know of all tools, those for plans among them.
pub(crate) fn inventory(registry: &Registry) -> ToolInventory {
    let known = registry.signatures();
    let is_free = |tool: &ToolSignature| registry.get(&tool.signature.name).is_none();
    let for_plans: Vec<ToolSignature> = tool::for_plans().filter(is_free).collect();
    let signatures = known.iter().chain(&for_plans).map(|tool| tool.signature.clone()).collect();
    ToolInventory { signatures, are_more: false, others: registry.others() }
}

/// The same of a survey, after which there may be more tools.
pub(crate) fn surveyed(equipment: &Equipment) -> ToolInventory {
    ToolInventory { are_more: equipment.is_open_world, ..inventory(&equipment.tools) }
}

/// Adds the tools for plans that the program names, where no other has their names. Every model is told of every
/// tool there is, so one that nobody names is left out.
pub(crate) fn add_plan_tools(registry: &Registry, program: &Program, llm: &Arc<dyn Llm>) {
    let mut tools: Vec<Arc<dyn Tool>> = vec![Arc::new(LlmGenerate::new(llm.clone()))];
    for retrieval in Retrieval::ALL {
        tools.push(Arc::new(retrieval));
    }
    for tool in tools {
        let name = tool.signature().signature.name;
        if program.sources.iter().any(|(_, file)| file.text.contains(&*name)) {
            // A tool of the name that is there already stays.
            let _ = registry.add(tool);
        }
    }
}

fn open_model(config: &Config, id: &ModelId) -> Result<Arc<dyn Llm>, Failure> {
    Ok(match id {
        ModelId::OpenAi(name) => {
            Arc::new(OpenAi::new(config.openai(name)).map_err(|error| Failure::wrong(error.to_string()))?)
        }
        ModelId::Embedded => Arc::new(Embedded),
        ModelId::Script(path) => Arc::new(Script::load(path).map_err(|error| Failure::wrong(error.to_string()))?),
        ModelId::Replay(session) => {
            let place = config.sessions_place().map_err(|error| Failure::wrong(error.to_string()))?;
            let read = async { place.find(session).await?.read().await };
            let records = waited(read)?.map_err(|error| Failure::wrong(error.to_string()))?;
            Arc::new(Replay::of_session(session, recorded_replies(&records)))
        }
    })
}

/// The trigger classifier with this id. `own` is the session's model, for `model` without an id; what a script names
/// must be a trigger of `program`.
pub(crate) fn open_classifier(
    config: &Config,
    id: &ClassifierId,
    own: Option<&Arc<dyn Llm>>,
    program: &Program,
) -> Result<Arc<dyn TriggerClassifier>, Failure> {
    let is_embedded = |llm: &dyn Llm| llm.id().starts_with("embedded");
    let judges_nothing = match (id, own) {
        (ClassifierId::Model(Some(id)), _) => matches!(id, ModelId::Embedded),
        (ClassifierId::Model(None), Some(own)) => is_embedded(&**own),
        (ClassifierId::Off | ClassifierId::Rules | ClassifierId::Script(_) | ClassifierId::Model(None), _) => false,
    };
    if judges_nothing {
        return Err(Failure::wrong(
            "the embedded model cannot judge triggers in words; choose `--classifier rules`, or a model that can, as in \
             `--classifier model:openai:NAME`",
        ));
    }
    Ok(match id {
        ClassifierId::Off => Arc::new(Off),
        ClassifierId::Rules => Arc::new(Rules),
        ClassifierId::Model(Some(id)) => Arc::new(ModelClassifier::new(open_model(config, id)?)),
        ClassifierId::Model(None) => match own {
            Some(llm) => Arc::new(ModelClassifier::new(llm.clone())),
            None => {
                let message = "there is no model of its own here; name one, as in `--classifier model:openai:NAME`";
                return Err(Failure::wrong(message));
            }
        },
        ClassifierId::Script(path) => {
            let script = ScriptClassifier::load(path).map_err(|error| Failure::wrong(error.to_string()))?;
            check_triggers(&script, program)?;
            Arc::new(script)
        }
    })
}

/// A trigger that a script names and that is none would never match.
fn check_triggers(script: &ScriptClassifier, program: &Program) -> Result<(), Failure> {
    let triggers = program.playbooks.iter().flat_map(|playbook| &playbook.triggers);
    let known: Vec<String> = triggers.map(|trigger| program.trigger_name(trigger.id)).collect();
    match script.named_triggers().find(|(id, _)| !known.iter().any(|name| **name == ***id)) {
        Some((id, place)) => Err(Failure::wrong(format!(
            "{place}: the program has no trigger `{id}`; it has {}",
            if known.is_empty() { "none".to_owned() } else { known.join(", ") }
        ))),
        None => Ok(()),
    }
}

/// The replies that a journal holds, in order.
fn recorded_replies(records: &[Record]) -> Vec<RecordedReply> {
    let mut replies = Vec::new();
    let mut open: Vec<(TurnId, Vec<u8>)> = Vec::new();
    // As far as replies are concerned.
    let event = |record: &Record| if record.body.reopens() { Some(Event::Reopened) } else { record.body.to_event() };
    for event in records.iter().filter_map(event) {
        match event {
            Event::Chunk { turn, bytes } => match open.iter_mut().find(|(of, _)| *of == turn) {
                Some((_, so_far)) => so_far.extend_from_slice(&bytes),
                None => open.push((turn, bytes.to_vec())),
            },
            Event::ReplyEnded { turn, end, usage } => {
                let index = open.iter().position(|(of, _)| *of == turn);
                let bytes = index.map(|index| open.remove(index).1).unwrap_or_default();
                replies.push(RecordedReply { bytes, end, usage });
            }
            Event::Reopened => {
                let end = ReplyEnd::Broken { reason: "the process was stopped".into(), retry_after_ms: None };
                replies.extend(open.drain(..).map(|(_, bytes)| RecordedReply { bytes, end: end.clone(), usage: None }));
            }
            Event::CallStarted { .. }
            | Event::CallEnded { .. }
            | Event::Message { .. }
            | Event::Signal(_)
            | Event::Verdict { .. }
            | Event::TimerFired { .. }
            | Event::Approved { .. }
            | Event::Interrupted
            | Event::Edited { .. }
            | Event::SignaturesChanged { .. }
            | Event::ProgramChanged { .. }
            | Event::GoOn => {}
        }
    }
    replies
}
