//! Configuration: the only reader of environment variables and of `playhouse.toml`.
//!
//! Layers, the first that says something wins: command line, the program's front matter, `playhouse.toml` (beside
//! the program, or `--config`), environment, defaults. The model's choice has an order of its own (spec `cli.md`).

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::tz::TimeZone;
use playhouse_lang::program::FrontMatter;
use playhouse_lang::value::Value;
use playhouse_vm::dataflow::date;
use playhouse_vm::protocol::settings::Settings;

use crate::child::DEPTH;
use crate::config_file as file;
use crate::equipment::declaration;
use crate::journal::address::Place;
use crate::judge::VOTES;
use crate::llm::local::{self, LocalServer};
use crate::llm::openai::{OpenAiConfig, Secret};
use crate::otel::options::OtelEnvironment;
use crate::resource::model::ModelOptions;
use crate::session::SessionOptions;

pub use crate::config_file::limits_between;
pub use crate::config_file::{FileConfig, SkippedMutant};
pub use crate::keys::ConfigError;

/// The model of `openai:` when only a key or a server is given.
const DEFAULT_OPENAI_MODEL: &str = "gpt-4.1-mini";

/// The model that is looked for on this machine.
const AUTO: &str = "auto";

/// What is said where nobody has chosen a model.
pub const EMBEDDED_REASON: &str =
    "model embedded: built in, no key needed; `playhouse doctor` shows how to use a language model";

/// What the environment says. Read once, at the start of a process.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `OPENAI_API_KEY`.
    pub api_key: Option<Secret>,
    /// `OPENAI_BASE_URL`.
    pub base_url: Option<String>,
    /// `PLAYHOUSE_MODEL`.
    pub model: Option<String>,
    /// `PLAYHOUSE_LOG`: which tracing events are written, as `playhouse=debug`.
    pub log: Option<String>,
    /// `NO_COLOR` is set and not empty.
    pub no_color: bool,
    /// `HOME`: below it are skills that a person has for all their projects.
    pub home: Option<PathBuf>,
    /// `XDG_STATE_HOME`, or `$HOME/.local/state`.
    pub state_home: Option<PathBuf>,
    /// Where what can be made again is kept: `XDG_CACHE_HOME`, or `~/.cache`.
    pub cache_home: Option<PathBuf>,
    /// `PLAYHOUSE_SESSIONS`: where sessions are kept that have no place of their own, a folder or a store.
    pub sessions: Option<PathBuf>,
    /// `PLAYHOUSE_LOCAL_PORTS`: where servers of models are looked for on this machine.
    pub local_ports: Option<String>,
    /// `OTEL_…` and `TRACEPARENT`: where traces go.
    pub otel: OtelEnvironment,
    /// `GITHUB_STEP_SUMMARY`: what GitHub shows as the summary of a job's step.
    pub github_step_summary: Option<PathBuf>,
    /// The system's time zone, by its name in the IANA database; none: it is not known.
    pub zone: Option<String>,
    /// `playhouse` itself, which confines commands by being started again. The command line names itself; a program that
    /// embeds Playhouse can name one. None: commands are not confined.
    pub executable: Option<Arc<Path>>,
}

/// What the command line says that is configuration.
#[derive(Clone, Debug, Default)]
pub struct CommandLine {
    /// `--model`.
    pub model: Option<String>,
    /// `--classifier`.
    pub classifier: Option<String>,
    /// `--base-url`.
    pub base_url: Option<String>,
    /// The first program file; its front matter's paths are relative to its folder.
    pub program: Option<PathBuf>,
}

/// Everything that was configured, all layers together.
#[derive(Clone, Debug)]
pub struct Config {
    model: (ModelId, String),
    classifier: (ClassifierId, String),
    /// The server of `openai:` models; none: OpenAI's.
    pub base_url: Option<String>,
    /// What its models need, whatever their names. It has `context_tokens` if those were configured; else the model may
    /// know better.
    pub openai: OpenAiConfig,
    /// Bounds and switches of the machine.
    pub settings: Settings,
    /// Times of the session's task.
    pub session: SessionOptions,
    /// Sessions that may be live in a process.
    pub max_sessions: usize,
    /// Characters of descriptions of skills that a classifier is shown.
    pub skills_budget: usize,
    /// How many votes a judge has, more than half of which make a no.
    pub judge_votes: NonZeroU32,
    /// The file that says some of it, if there is one.
    pub file: Option<PathBuf>,
    sessions_place: Option<Place>,
    /// Whether a model is looked for on this machine before [`Config::model`] is taken.
    pub search: Search,
    /// The servers that are asked then.
    pub local_servers: Vec<LocalServer>,
}

/// Whether a model is looked for on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// A model has been chosen.
    Never,
    /// Nobody has chosen one: where a person sees which it is.
    OnTerminal,
    /// The model is `auto`.
    Always,
}

/// A model, by what runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelId {
    /// `openai:NAME`: any OpenAI-compatible server.
    OpenAi(String),
    /// `script:FILE`.
    Script(PathBuf),
    /// `replay:SESSION`.
    Replay(String),
    /// `embedded`: the guided executor inside the binary.
    Embedded,
}

/// A trigger classifier, by what judges (spec `triggers.md`, "The classifier").
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassifierId {
    /// `off`: nobody; semantic triggers never fire.
    Off,
    /// `rules`: patterns.
    Rules,
    /// `model:ID`, or `model` for the session's own.
    Model(Option<ModelId>),
    /// `script:FILE`.
    Script(PathBuf),
}

impl Environment {
    /// Reads the process' environment. A variable that is empty counts as not set.
    // The one place where the environment is read (DESIGN.md, invariant 8).
    #[allow(clippy::disallowed_methods)]
    pub fn read() -> Environment {
        let zone = TimeZone::system().iana_name().map(str::to_owned);
        Environment { zone, ..Environment::from_variables(&|name| std::env::var(name).ok()) }
    }

    fn sessions_place(&self) -> Option<Place> {
        let default = || Some(Place::at(&self.state_home.as_ref()?.join("playhouse/sessions")));
        self.sessions.as_deref().map(Place::at).or_else(default)
    }

    /// The environment as `get` tells it.
    pub fn from_variables(get: &dyn Fn(&str) -> Option<String>) -> Environment {
        let get = |name: &str| get(name).filter(|value| !value.is_empty());
        let folder = |name: &str| get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        Environment {
            api_key: get("OPENAI_API_KEY").map(Secret::new),
            base_url: get("OPENAI_BASE_URL"),
            model: get("PLAYHOUSE_MODEL"),
            log: get("PLAYHOUSE_LOG"),
            no_color: get("NO_COLOR").is_some(),
            home: folder("HOME"),
            state_home: folder("XDG_STATE_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/state"))),
            cache_home: folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache"))),
            sessions: get("PLAYHOUSE_SESSIONS").map(PathBuf::from),
            local_ports: get("PLAYHOUSE_LOCAL_PORTS"),
            otel: OtelEnvironment {
                endpoint: get("OTEL_EXPORTER_OTLP_ENDPOINT"),
                traces_endpoint: get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
                headers: get("OTEL_EXPORTER_OTLP_HEADERS"),
                service_name: get("OTEL_SERVICE_NAME"),
                is_disabled: get("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")),
                parent: get("TRACEPARENT"),
            },
            github_step_summary: folder("GITHUB_STEP_SUMMARY"),
            zone: None,
            executable: None,
        }
    }
}

/// The environment variables that processes we start find: where programs are, who the user is and how they write.
/// Nothing else, keys least of all.
const CHILD_VARIABLES: [&str; 14] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "PATHEXT",
    "SHELL",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
];

/// The environment of processes that we start.
#[allow(clippy::disallowed_methods)]
pub fn child_environment() -> Vec<(String, String)> {
    let found = CHILD_VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
    let depth = named_variable(DEPTH).and_then(|depth| depth.parse().ok()).unwrap_or(0_u32);
    found.chain([(DEPTH.to_owned(), depth.saturating_add(1).to_string())]).collect()
}

/// The program that runs: `playhouse`, if its command line asks.
pub fn own_executable() -> Option<Arc<Path>> {
    std::env::current_exe().ok().map(Arc::from)
}

/// Where a service manager hears how a service is (`sd_notify(3)`).
#[allow(clippy::disallowed_methods)]
pub fn notify_socket() -> Option<PathBuf> {
    std::env::var_os("NOTIFY_SOCKET").map(PathBuf::from)
}

/// What the servers that share their sessions know each other by.
#[cfg(feature = "restate")]
pub fn node_secret() -> Option<secrecy::SecretString> {
    named_variable("PLAYHOUSE_NODE_SECRET").map(Into::into)
}

/// The environment variable that a declaration names (`{from_env: NAME}`).
#[allow(clippy::disallowed_methods)]
pub fn named_variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

impl Config {
    /// Puts the layers together.
    ///
    /// # Errors
    /// A key of the front matter, a model's or a classifier's id is wrong.
    pub fn resolve(
        command_line: &CommandLine,
        front_matter: &FrontMatter,
        file: &FileConfig,
        environment: &Environment,
    ) -> Result<Config, ConfigError> {
        let mut settings = Settings::default();
        let mut has_context_tokens = false;
        for (key, value) in &file.limits {
            has_context_tokens |= key == "context_tokens";
            // Checked when the file was read.
            let _ = file::set_limit(&mut settings, key, value.clone());
        }
        let mut starts_in_think = file.starts_in_think;
        let mut front_classifier = None;
        settings.resume_fresh = file.resume_fresh.unwrap_or(settings.resume_fresh);
        for (key, value, _) in &front_matter.other {
            let wrong = |message: String| ConfigError::File { place: front_place(command_line), message };
            match (key.as_str(), value) {
                ("limits", Value::Map(limits)) => {
                    for (key, value) in limits.iter() {
                        has_context_tokens |= &**key == "context_tokens";
                        let json = serde_json::to_value(value).unwrap_or_default();
                        file::set_limit(&mut settings, key, json).map_err(wrong)?;
                    }
                }
                ("limits", _) => return Err(wrong("`limits` must be a map, as in `limits: {turns: 100}`".to_owned())),
                ("resume", value) => settings.resume_fresh = file::resume(value.as_str()).map_err(wrong)?,
                ("starts_in_think", Value::Bool(starts)) => starts_in_think = Some(*starts),
                ("starts_in_think", _) => return Err(wrong("`starts_in_think` must be true or false".to_owned())),
                ("classifier", Value::Str(id)) => front_classifier = Some(id.to_string()),
                // YAML of old reads `off` so.
                ("classifier", Value::Bool(false)) => front_classifier = Some("off".to_owned()),
                ("classifier", _) => {
                    return Err(wrong("`classifier` must be text, as in `classifier: rules`".to_owned()));
                }
                // Text is no other key's.
                ("model", _) => return Err(wrong("`model` must be text, as in `model: openai:NAME`".to_owned())),
                // Titles, authors and what other programs read.
                _ => {}
            }
        }
        // What the system calls its zone may be none that plans know.
        let zone = file.zone.clone().or_else(|| environment.zone.clone().filter(|name| date::zone(name).is_ok()));
        settings.zone = zone.map_or(settings.zone, Into::into);
        settings.times_of_day = file.times_of_day;
        let base_url = [&command_line.base_url, &file.base_url, &environment.base_url];
        let base_url = base_url.into_iter().flatten().next().cloned();
        let unnamed = OpenAiConfig::new("");
        let openai = OpenAiConfig {
            base_url: base_url.clone().unwrap_or(unnamed.base_url),
            api_key: environment.api_key.clone(),
            temperature: file.temperature,
            max_tokens: file.max_tokens,
            extra_body: file.extra_body.clone(),
            extra_headers: file.extra_headers.clone(),
            constrain: file.constrain.unwrap_or(false),
            starts_in_think,
            context_tokens: has_context_tokens.then_some(settings.context_tokens),
            connect_timeout: file.connect_timeout.unwrap_or(unnamed.connect_timeout),
            read_timeout: file.read_timeout.unwrap_or(unnamed.read_timeout),
            model: unnamed.model,
        };
        let defaults = SessionOptions::default();
        let mut config = Config {
            model: (ModelId::Embedded, String::new()),
            classifier: (ClassifierId::Rules, String::new()),
            base_url,
            openai,
            settings,
            session: SessionOptions {
                yield_grace: file.yield_grace.unwrap_or(defaults.yield_grace),
                turn_timeout: file.turn_timeout.unwrap_or(defaults.turn_timeout),
                classifier_timeout: file.classifier_timeout.unwrap_or(defaults.classifier_timeout),
                prices: Arc::new(declaration::prices(&file.declared)?),
                ..defaults
            },
            max_sessions: file.max_sessions.unwrap_or(10_000),
            skills_budget: file.skills.budget,
            judge_votes: file.judge_votes.unwrap_or(VOTES),
            file: Some(file.path.clone()).filter(|path| !path.as_os_str().is_empty()),
            sessions_place: environment.sessions_place(),
            search: Search::Never,
            local_servers: local_servers(environment)?,
        };
        (config.model, config.search) = choose_model(&config, command_line, front_matter, file, environment)?;
        config.choose_classifier(choose_classifier(&config, command_line, front_classifier.as_ref(), file)?);
        Ok(config)
    }

    /// The model, and why it is this one, in one line for people.
    pub fn model(&self) -> (&ModelId, &str) {
        (&self.model.0, &self.model.1)
    }

    /// The trigger classifier, and why it is this one, in one line for people.
    pub fn classifier(&self) -> (&ClassifierId, &str) {
        (&self.classifier.0, &self.classifier.1)
    }

    /// The same with another trigger classifier.
    #[must_use]
    pub fn with_classifier(&self, id: ClassifierId) -> Config {
        let mut config = self.clone();
        config.choose_classifier((id, String::new()));
        config
    }

    fn choose_classifier(&mut self, chosen: (ClassifierId, String)) {
        self.settings.classifier = chosen.0 != ClassifierId::Off;
        self.settings.classifier_first = chosen.0 == ClassifierId::Rules;
        self.classifier = chosen;
    }

    /// The same model with other options of its own.
    #[must_use]
    pub fn with_options(&self, options: &ModelOptions) -> Config {
        let mut config = self.clone();
        config.openai.max_tokens = options.max_tokens.or(config.openai.max_tokens);
        config.openai.temperature = options.temperature.or(config.openai.temperature);
        config
    }

    /// The base URL of the server that the model or the classifier is asked at; none: both are elsewhere. It holds neither
    /// a password nor a key: such a URL is refused when the model is opened.
    pub fn server(&self) -> Option<String> {
        let is_on_server = |id: &ModelId| matches!(id, ModelId::OpenAi(_));
        let asks = match &self.classifier.0 {
            ClassifierId::Model(Some(id)) => is_on_server(id) || is_on_server(&self.model.0),
            ClassifierId::Model(None) | ClassifierId::Off | ClassifierId::Rules | ClassifierId::Script(_) => {
                is_on_server(&self.model.0)
            }
        };
        asks.then(|| self.openai.base_url.clone())
    }

    /// What the model named `name` on an OpenAI-compatible server needs.
    pub fn openai(&self, name: &str) -> OpenAiConfig {
        OpenAiConfig { model: name.to_owned(), ..self.openai.clone() }
    }

    /// The machine's settings for a session with this model: what the model knows of itself fills what nobody
    /// has configured.
    pub fn settings_for(&self, llm: &dyn crate::llm::Llm) -> Settings {
        let mut settings = self.settings.clone();
        let starts_in_think = self.openai.starts_in_think;
        settings.starts_in_think = starts_in_think.unwrap_or(settings.starts_in_think || llm.starts_in_think());
        if let (Some(context_tokens), None) = (llm.context_tokens(), self.openai.context_tokens) {
            settings.context_tokens = context_tokens;
        }
        settings
    }

    /// Where sessions are kept that have no place of their own: `PLAYHOUSE_SESSIONS`, or
    /// `$XDG_STATE_HOME/playhouse/sessions`.
    ///
    /// # Errors
    /// The environment names none.
    pub fn sessions_place(&self) -> Result<&Place, ConfigError> {
        self.sessions_place.as_ref().ok_or(ConfigError::NoStateFolder)
    }
}

impl std::fmt::Display for ClassifierId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ClassifierId::Off => write!(f, "off"),
            ClassifierId::Rules => write!(f, "rules"),
            ClassifierId::Model(None) => write!(f, "model"),
            ClassifierId::Model(Some(id)) => write!(f, "model:{id}"),
            ClassifierId::Script(path) => write!(f, "script:{}", path.display()),
        }
    }
}

impl std::fmt::Display for ModelId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ModelId::OpenAi(name) => write!(f, "openai:{name}"),
            ModelId::Script(path) => write!(f, "script:{}", path.display()),
            ModelId::Replay(session) => write!(f, "replay:{session}"),
            ModelId::Embedded => write!(f, "embedded"),
        }
    }
}

/// `--classifier`, front matter, `playhouse.toml`; else what fits the model.
fn choose_classifier(
    config: &Config,
    command_line: &CommandLine,
    front_matter: Option<&String>,
    file: &FileConfig,
) -> Result<(ClassifierId, String), ConfigError> {
    let named = [
        (command_line.classifier.as_ref(), "--classifier".to_owned(), PathBuf::new()),
        (front_matter, front_place(command_line), folder_of(command_line.program.as_deref())),
        (file.classifier.as_ref(), file.path.display().to_string(), folder_of(Some(&file.path))),
    ];
    for (id, reason, folder) in named {
        if let Some(id) = id {
            return Ok((read_classifier(id, &reason, &folder)?, format!("classifier {id} ({reason})")));
        }
    }
    Ok(match config.model.0 {
        ModelId::OpenAi(_) => (ClassifierId::Model(None), "classifier model (the session's own)".to_owned()),
        // What a script or a stored session would answer to questions of ours is anybody's guess, and the embedded
        // model judges nothing.
        ModelId::Script(_) | ModelId::Replay(_) | ModelId::Embedded => {
            (ClassifierId::Rules, "classifier rules (the default without a live model)".to_owned())
        }
    })
}

/// Reads a classifier's id; `folder` is what its paths are relative to.
fn read_classifier(id: &str, reason: &str, folder: &Path) -> Result<ClassifierId, ConfigError> {
    match id.split_once(':') {
        None if id == "off" => Ok(ClassifierId::Off),
        None if id == "rules" => Ok(ClassifierId::Rules),
        None if id == "model" => Ok(ClassifierId::Model(None)),
        Some(("model", model)) if !model.is_empty() => {
            Ok(ClassifierId::Model(Some(read_model(model, reason, folder)?)))
        }
        Some(("script", path)) if !path.is_empty() => Ok(ClassifierId::Script(folder.join(path))),
        _ => {
            let message = "write off, rules, model, model:ID (as in model:openai:NAME) or script:FILE";
            Err(wrong_id("trigger classifier", id, reason, message))
        }
    }
}

fn wrong_id(what: &'static str, id: &str, reason: &str, message: &str) -> ConfigError {
    ConfigError::Id { what, id: id.to_owned(), reason: reason.to_owned(), message: message.to_owned() }
}

fn local_servers(environment: &Environment) -> Result<Vec<LocalServer>, ConfigError> {
    let Some(text) = &environment.local_ports else { return Ok(local::SERVERS.to_vec()) };
    local::at_ports(text).map_err(|message| ConfigError::Ports { text: text.clone(), message })
}

/// The folder that paths in a file are relative to.
fn folder_of(path: Option<&Path>) -> PathBuf {
    path.and_then(Path::parent).unwrap_or(Path::new("")).to_owned()
}

/// The order of spec `cli.md`: `--model`, front matter, `playhouse.toml`, `PLAYHOUSE_MODEL`, a key or a base URL; and
/// whether another one is looked for first.
fn choose_model(
    config: &Config,
    command_line: &CommandLine,
    front_matter: &FrontMatter,
    file: &FileConfig,
    environment: &Environment,
) -> Result<((ModelId, String), Search), ConfigError> {
    let named = [
        (&command_line.model, "--model".to_owned(), PathBuf::new()),
        (&front_matter.model, front_place(command_line), folder_of(command_line.program.as_deref())),
        (&file.model, file.path.display().to_string(), folder_of(Some(&file.path))),
        (&environment.model, "PLAYHOUSE_MODEL".to_owned(), PathBuf::new()),
    ];
    for (id, reason, folder) in named {
        if let Some(id) = id {
            let chosen = format!("model {id} ({reason})");
            return Ok(match id == AUTO {
                true => ((ModelId::Embedded, chosen), Search::Always),
                false => ((read_model(id, &reason, &folder)?, chosen), Search::Never),
            });
        }
    }
    let reason = match (&config.openai.api_key, &config.base_url) {
        (_, Some(url)) => format!("a base URL is set: {url}"),
        (Some(_), None) => "OPENAI_API_KEY is set".to_owned(),
        (None, None) => return Ok(((ModelId::Embedded, EMBEDDED_REASON.to_owned()), Search::OnTerminal)),
    };
    let id = ModelId::OpenAi(DEFAULT_OPENAI_MODEL.to_owned());
    let reason = format!("model {id} ({reason})");
    Ok(((id, reason), Search::Never))
}

/// Whether this is the id of a model, or `auto`.
pub fn is_model_id(text: &str) -> bool {
    text == AUTO || read_model(text, "", Path::new("")).is_ok()
}

/// Reads a model's id; `folder` is what its paths are relative to.
fn read_model(id: &str, reason: &str, folder: &Path) -> Result<ModelId, ConfigError> {
    let wrong = |message: &str| wrong_id("model", id, reason, message);
    let (kind, rest) = id.split_once(':').unwrap_or((id, ""));
    match (kind, rest) {
        ("embedded", "") if id == kind => Ok(ModelId::Embedded),
        ("embedded", _) => Err(wrong("the embedded model no longer has weights; write embedded, without a colon")),
        ("openai" | "script" | "replay", "") => Err(wrong("a name must follow the colon, as in openai:NAME")),
        ("openai", name) => Ok(ModelId::OpenAi(name.to_owned())),
        ("script", path) => Ok(ModelId::Script(folder.join(path))),
        ("replay", session) => Ok(ModelId::Replay(session.to_owned())),
        _ => Err(wrong("write openai:NAME, embedded, script:FILE or replay:SESSION; for a run, also auto")),
    }
}

fn front_place(command_line: &CommandLine) -> String {
    match &command_line.program {
        Some(program) => format!("{}: front matter", program.display()),
        None => "front matter".to_owned(),
    }
}
