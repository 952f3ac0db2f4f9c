//! The model and the trigger classifier of a session: chosen, looked for on this machine, opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use playhouse_lang::program::{FrontMatter, Program};

use crate::cassette::file::Cassette;
use crate::classify::model::ModelClassifier;
use crate::classify::off::Off;
use crate::classify::rules::Rules;
use crate::classify::script::ScriptClassifier;
use crate::classify::{self, TriggerClassifier, never_judged, semantic_triggers};
use crate::config::{ClassifierId, CommandLine, Config, ConfigError, Environment, FileConfig, ModelId, Search};
use crate::journal::record::{Begun, GivenFiles};
use crate::launch::error::LaunchError;
use crate::launch::recorded::recorded_replies;
use crate::launch::workshop::{Choices, Launch, Remark};
use crate::llm::embedded::{self, Embedded};
use crate::llm::local::{self, FoundServer, PATIENCE, PATIENCE_IF_ASKED};
use crate::llm::openai::OpenAi;
use crate::llm::recorded::{Absent, Recorded};
use crate::llm::replay::Replay;
use crate::llm::script::Script;
use crate::llm::{Llm, ModelKind};

/// What is said where `--model auto` finds nothing.
const NOT_FOUND: &str = "model embedded: built in, as neither Ollama nor LM Studio nor llama.cpp answers on this machine; \
                         start one of them, or name a model as in --model openai:NAME";

/// What is said where a run is to be recorded, and nobody has chosen a model.
const NOTHING_TO_RECORD: &str = "there is no model to record: name one, as in --model openai:NAME, or set OPENAI_API_KEY or \
                                 OPENAI_BASE_URL; the embedded model needs no recording (`- model: embedded`)";

/// A configuration whose model is sure.
pub struct Chosen {
    /// All layers together.
    pub config: Config,
    /// Why the model is this one, in one line for people; none: whoever launches has given it.
    pub reason: Option<String>,
}

/// Who thinks in a session.
pub(super) struct Cast {
    /// The model.
    pub(super) llm: Arc<dyn Llm>,
    /// The configuration.
    pub(super) chosen: Chosen,
    /// What judges triggers in words.
    pub(super) classifier: Arc<dyn TriggerClassifier>,
    /// Whether the program has such triggers.
    pub(super) has_classifier: bool,
    /// Which they are, and why.
    pub(super) remarks: Vec<Remark>,
}

/// What a session was begun with, which is what it goes on with if nothing else is chosen.
#[derive(Clone)]
pub(super) struct BegunWith {
    model: Arc<str>,
    classifier: Option<Arc<str>>,
    /// The base URL of the model's server, where the journal says it.
    server: Option<Arc<str>>,
}

impl BegunWith {
    /// As a journal says.
    pub(super) fn of(begun: &Begun) -> BegunWith {
        BegunWith {
            model: begun.model.clone(),
            classifier: begun.classifier.clone(),
            server: begun.given.server.clone(),
        }
    }

    /// As a session has been opened.
    pub(super) fn now(llm: &dyn Llm, classifier: &dyn TriggerClassifier, given: &GivenFiles) -> BegunWith {
        BegunWith { model: llm.id(), classifier: Some(classifier.id()), server: given.server.clone() }
    }

    /// Why the model is this one, for people: they read where the conversation goes. `choices`: what was named now.
    fn reason(&self, config: &Config, choices: &Choices, key_is_kept: bool) -> String {
        let reason = match choices.model {
            Some(_) => config.model().1.to_owned(),
            None => format!("model {} (as the session began)", self.model),
        };
        let Some(server) = config.server() else { return reason };
        if key_is_kept {
            return format!(
                "{reason}, asked at {server} without your key, which is for another server; --base-url {server} sends it"
            );
        }
        match choices.base_url.is_some() || self.server.is_some() {
            true => format!("{reason}, asked at {server}"),
            false => format!(
                "{reason}, asked at {server}: the session does not say which server it began with; --base-url names \
                 another one"
            ),
        }
    }

    /// The classifier's id as one writes it. The session's own model stays that, whatever the model is now.
    fn classifier(&self) -> Option<String> {
        let id = self.classifier.as_deref()?;
        let is_own = id.strip_prefix("model:") == Some(&self.model);
        Some(if is_own { "model".to_owned() } else { id.to_owned() })
    }
}

/// The trigger classifier that a session was begun with, as one writes it; `model`: its own model.
pub fn classifier_of(begun: &Begun) -> Option<String> {
    BegunWith::of(begun).classifier()
}

impl Launch {
    /// Chooses the model of a program with this front matter, or of one that would be `beside` a configuration. Looks on
    /// this machine where nobody has chosen one.
    ///
    /// # Errors
    /// The configuration is wrong.
    pub async fn choose_model(&self, beside: &Path, front_matter: &FrontMatter) -> Result<Chosen, LaunchError> {
        let file = self.file_config(Some(beside))?;
        self.choose(&self.command_line(Some(beside.to_owned())), front_matter, &file).await
    }

    /// Opens the model that was chosen.
    ///
    /// # Errors
    /// It cannot be opened.
    pub async fn open_model(&self, chosen: &Chosen) -> Result<Arc<dyn Llm>, LaunchError> {
        match &self.llm {
            Some(llm) => Ok(self.recorded(llm.clone())),
            None => self.make(&chosen.config, chosen.config.model().0).await,
        }
    }

    /// The model with this id; where a run is replayed, as much of it as tells what it is.
    async fn make(&self, config: &Config, id: &ModelId) -> Result<Arc<dyn Llm>, LaunchError> {
        let Some(take) = &self.take else { return open_model(config, id).await };
        let llm = match id {
            ModelId::Embedded if !take.is_replay() => return Err(LaunchError::Model(NOTHING_TO_RECORD.to_owned())),
            _ if !take.is_replay() => open_model(config, id).await?,
            // Nothing is connected before the first request.
            ModelId::OpenAi(_) => make_model(config, id)?,
            ModelId::Script(_) | ModelId::Replay(_) | ModelId::Embedded => Arc::new(Absent(id.to_string().into())),
        };
        Ok(self.recorded(llm))
    }

    /// The model in the run that records or replays it, if there is one.
    fn recorded(&self, llm: Arc<dyn Llm>) -> Arc<dyn Llm> {
        match &self.take {
            Some(take) => Arc::new(Recorded::new(llm, take.clone())),
            None => llm,
        }
    }

    /// Whether a program may name the model and the classifier that it does.
    fn check_ids(&self, program: &Program) -> Result<(), ConfigError> {
        let named = program.settings.other.iter().filter(|(key, ..)| key == "classifier");
        let classifiers = named.filter_map(|(_, value, _)| value.as_str());
        let mut ids = program.settings.model.as_deref().into_iter().chain(classifiers);
        ids.try_for_each(|id| self.workshop.trust.check_id(id, &format!("{}: front matter", program.name())))
    }

    /// The model and the classifier of a program.
    pub(super) async fn cast(
        &self,
        program: &Program,
        first: Option<PathBuf>,
        begun: Option<&BegunWith>,
    ) -> Result<Cast, LaunchError> {
        self.check_ids(program)?;
        let file = self.file_config(first.as_deref())?;
        let mut command_line = self.command_line(first);
        // What a session was begun with comes before all configuration.
        command_line.model = command_line.model.or_else(|| begun.map(|begun| begun.model.to_string()));
        command_line.classifier = command_line.classifier.or_else(|| begun.and_then(BegunWith::classifier));
        if let Some(take) = self.take.as_deref().filter(|take| take.is_replay()) {
            let Cassette { model, classifier, .. } = take.cassette();
            command_line.model = Some(model.to_string());
            command_line.classifier = command_line.classifier.or_else(|| classifier.as_deref().map(str::to_owned));
        }
        // The conversation goes on where it has been, whatever server is configured now. The key is for the configured one.
        let configured = self.resolve(&command_line, &program.settings, &file)?.openai("");
        let is_elsewhere = |server: &&str| self.choices.base_url.is_none() && **server != *configured.base_url;
        let (mut chosen, key_is_kept) = match begun.and_then(|begun| begun.server.as_deref()).filter(is_elsewhere) {
            Some(server) => {
                let id = command_line.model.clone().unwrap_or_default();
                let config = self.at_server(&command_line, &program.settings, &file, &id, server)?;
                (Chosen { config, reason: None }, configured.api_key.is_some())
            }
            None => (self.choose(&command_line, &program.settings, &file).await?, false),
        };
        if let Some(begun) = begun {
            chosen.reason = Some(begun.reason(&chosen.config, &self.choices, key_is_kept));
        }
        let llm = self.open_model(&chosen).await?;
        let has_classifier = semantic_triggers(program).next().is_some();
        let (id, reason) = chosen.config.classifier();
        let classifier_reason = match (begun.and_then(BegunWith::classifier), &self.choices.classifier) {
            (Some(_), None) => format!("classifier {id} (as the session began)"),
            _ => reason.to_owned(),
        };
        let own = self.llm.is_none().then_some(&llm);
        let classifier = self.open_classifier(&chosen.config, id, own, program).await?;
        let is_embedded = self.llm.is_none() && llm.kind() == ModelKind::Embedded;
        let beyond = is_embedded.then(|| embedded::beyond(program)).flatten();
        let remarks = chosen.reason.iter().cloned().chain(beyond).map(|text| Remark::note("model", text));
        // Of the classifier only where the program has triggers that it is asked about.
        let of_classifier = has_classifier.then(|| Remark::note("classifier", classifier_reason));
        let unjudged = never_judged(program, &*classifier).map(|text| Remark::warning("classifier", text));
        let remarks = remarks.chain(of_classifier.filter(|_| self.llm.is_none())).chain(unjudged).collect();
        Ok(Cast { llm, chosen, classifier, has_classifier, remarks })
    }

    /// The trigger classifier of a program alone, and the configuration that says which it is: patterns, if nobody has
    /// named another one. The program's own model is none: whoever asks has no session.
    ///
    /// # Errors
    /// The configuration is wrong, or the classifier cannot be opened.
    pub async fn classifier(
        &self,
        program: &Program,
        first: Option<PathBuf>,
    ) -> Result<(Arc<dyn TriggerClassifier>, Config), LaunchError> {
        self.check_ids(program)?;
        let file = self.file_config(first.as_deref())?;
        let config = self.resolve(&self.command_line(first), &program.settings, &file)?;
        let in_program = program.settings.other.iter().any(|(key, ..)| key == "classifier");
        let is_named = self.choices.classifier.is_some() || file.classifier.is_some() || in_program;
        let config = if is_named { config } else { by_patterns(config) };
        let classifier = self.open_classifier(&config, config.classifier().0, None, program).await?;
        Ok((classifier, config))
    }

    /// The trigger classifier with this id. `own` is the session's model, for `model` without an id; what a script names
    /// must be a trigger of `program`.
    async fn open_classifier(
        &self,
        config: &Config,
        id: &ClassifierId,
        own: Option<&Arc<dyn Llm>>,
        program: &Program,
    ) -> Result<Arc<dyn TriggerClassifier>, LaunchError> {
        let wrong = |message: &str| LaunchError::Model(message.to_owned());
        let judge = |llm: Arc<dyn Llm>| -> Result<Arc<dyn TriggerClassifier>, LaunchError> {
            if llm.kind() == ModelKind::Embedded {
                return Err(wrong(
                    "the embedded model cannot judge triggers in words; choose `--classifier rules`, or a model that can, \
                     as in `--classifier model:openai:NAME`",
                ));
            }
            Ok(Arc::new(ModelClassifier::new(llm).with_budget(config.skills_budget)))
        };
        let classifier: Arc<dyn TriggerClassifier> = match id {
            ClassifierId::Off => Arc::new(Off),
            ClassifierId::Rules => Arc::new(Rules),
            ClassifierId::Model(Some(id)) => judge(self.make(config, id).await?)?,
            ClassifierId::Model(None) => judge(own.cloned().ok_or_else(|| {
                wrong("there is no model of its own here; name one, as in `--classifier model:openai:NAME`")
            })?)?,
            ClassifierId::Script(path) => {
                let script = ScriptClassifier::load(path).map_err(|error| wrong(&error.to_string()))?;
                check_triggers(&script, program)?;
                Arc::new(script)
            }
        };
        Ok(match &self.take {
            Some(take) => Arc::new(classify::recorded::Recorded::new(classifier, take.clone())),
            None => classifier,
        })
    }

    fn command_line(&self, program: Option<PathBuf>) -> CommandLine {
        let Choices { model, classifier, base_url, .. } = self.choices.clone();
        CommandLine { model, classifier, base_url, program }
    }

    fn resolve(
        &self,
        command_line: &CommandLine,
        front_matter: &FrontMatter,
        file: &FileConfig,
    ) -> Result<Config, LaunchError> {
        Ok(Config::resolve(command_line, front_matter, file, &self.workshop.environment)?)
    }

    /// Puts the layers together and looks on this machine, if nobody has chosen a model or `auto` says so.
    async fn choose(
        &self,
        command_line: &CommandLine,
        front_matter: &FrontMatter,
        file: &FileConfig,
    ) -> Result<Chosen, LaunchError> {
        let config = self.resolve(command_line, front_matter, file)?;
        if self.llm.is_some() {
            let config = if command_line.classifier.is_none() { by_patterns(config) } else { config };
            return Ok(Chosen { config, reason: None });
        }
        let patience = match config.search {
            Search::OnTerminal if self.workshop.is_watched => Some(PATIENCE),
            Search::OnTerminal | Search::Never => None,
            Search::Always => Some(PATIENCE_IF_ASKED),
        };
        let servers = match patience {
            Some(patience) => local::find(&config.local_servers, tokio::time::sleep(patience)).await,
            None => Vec::new(),
        };
        let first = servers.iter().find_map(|server| Some((server, server.models.first()?)));
        let Some((FoundServer { name, base_url, .. }, model)) = first else {
            let reason = if config.search == Search::Always { NOT_FOUND } else { config.model().1 }.to_owned();
            return Ok(Chosen { config, reason: Some(reason) });
        };
        let id = format!("openai:{model}");
        let reason = format!(
            "model {id}, found in {name} at {base_url}; --model openai:NAME --base-url {base_url} chooses another, \
             --model embedded the built-in one, and --model auto looks for one without a terminal, too"
        );
        let config = self.at_server(command_line, front_matter, file, &id, base_url)?;
        Ok(Chosen { config, reason: Some(reason) })
    }

    /// The same layers with a model of a server that nobody has named: it was found, or a journal says it. Keys and headers
    /// are meant for another one, so it gets none.
    fn at_server(
        &self,
        command_line: &CommandLine,
        front_matter: &FrontMatter,
        file: &FileConfig,
        id: &str,
        base_url: &str,
    ) -> Result<Config, LaunchError> {
        let command_line =
            CommandLine { model: Some(id.to_owned()), base_url: Some(base_url.to_owned()), ..command_line.clone() };
        let environment = Environment { api_key: None, ..self.workshop.environment.clone() };
        let mut config = Config::resolve(&command_line, front_matter, file, &environment)?;
        config.openai.extra_headers.clear();
        Ok(config)
    }
}

/// The configuration with patterns in place of a model that judges triggers.
fn by_patterns(config: Config) -> Config {
    match config.classifier().0 {
        ClassifierId::Model(_) => config.with_classifier(ClassifierId::Rules),
        ClassifierId::Off | ClassifierId::Rules | ClassifierId::Script(_) => config,
    }
}

/// The model with this id; the journal of a stored session is read for it.
async fn open_model(config: &Config, id: &ModelId) -> Result<Arc<dyn Llm>, LaunchError> {
    let ModelId::Replay(session) = id else { return make_model(config, id) };
    let place = config.sessions_place()?;
    let records = async { place.find(session).await?.read().await }.await?;
    Ok(Arc::new(Replay::of_session(session, recorded_replies(&records))))
}

/// The model with this id, where nothing has to be waited for.
pub(super) fn make_model(config: &Config, id: &ModelId) -> Result<Arc<dyn Llm>, LaunchError> {
    let wrong = |error: &dyn std::fmt::Display| LaunchError::Model(error.to_string());
    Ok(match id {
        ModelId::OpenAi(name) => Arc::new(OpenAi::new(config.openai(name)).map_err(|error| wrong(&error))?),
        ModelId::Embedded => Arc::new(Embedded),
        ModelId::Script(path) => Arc::new(Script::load(path).map_err(|error| wrong(&error))?),
        ModelId::Replay(_) => {
            return Err(wrong(
                &"a stored session is for the model of a run; name another model here, as in openai:NAME",
            ));
        }
    })
}

/// A trigger that a script names and that is none would never match.
fn check_triggers(script: &ScriptClassifier, program: &Program) -> Result<(), LaunchError> {
    let triggers = program.playbooks.iter().flat_map(|playbook| &playbook.triggers);
    let known: Vec<String> = triggers.map(|trigger| program.trigger_name(trigger.id)).collect();
    match script.named_triggers().find(|(id, _)| !known.iter().any(|name| **name == ***id)) {
        Some((id, place)) => Err(LaunchError::Model(format!(
            "{place}: the program has no trigger `{id}`; it has {}",
            if known.is_empty() { "none".to_owned() } else { known.join(", ") }
        ))),
        None => Ok(()),
    }
}
