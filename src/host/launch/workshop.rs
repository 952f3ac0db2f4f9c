//! What is launched with: a process, choices, and what people should know of what came of them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use playhouse_lang::SourceText;

use crate::cassette::take::Take;
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, ConfigError, Environment, FileConfig};
use crate::journal::address::Place;
use crate::launch::trust::Trust;
use crate::llm::Llm;
use crate::program::ProgramCache;
use crate::secrets::Secrets;
use crate::tool::Tool;

/// What a process has. Cheap to clone.
#[derive(Clone)]
pub struct Workshop {
    /// The environment, read once.
    pub environment: Environment,
    /// What nobody may see; filled while things are opened.
    pub secrets: Arc<Secrets>,
    /// The clock of all sessions.
    pub clock: Arc<dyn Clock>,
    /// Whether a person reads which model was taken: only then one is looked for on this machine that nobody has asked
    /// for.
    pub is_watched: bool,
    /// What texts of programs may name.
    pub trust: Trust,
    /// Programs that have been read.
    pub programs: ProgramCache,
    /// Whether sessions are traced where that is configured.
    pub telemetry: Telemetry,
}

impl Workshop {
    /// Where sessions are kept that have no place of their own; a mistake elsewhere in the configuration is none of this.
    ///
    /// # Errors
    /// The environment names no place.
    pub fn sessions_place(&self) -> Result<Place, ConfigError> {
        let Environment { state_home, sessions, .. } = self.environment.clone();
        let environment = Environment { state_home, sessions, ..Environment::default() };
        Config::resolve(&Default::default(), &Default::default(), &FileConfig::default(), &environment)?
            .sessions_place()
            .cloned()
    }
}

/// Nothing of the environment, and the system's clock.
impl Default for Workshop {
    fn default() -> Workshop {
        Workshop {
            environment: Environment::default(),
            secrets: Arc::default(),
            clock: Arc::new(SystemClock),
            is_watched: false,
            trust: Trust::default(),
            programs: ProgramCache::default(),
            telemetry: Telemetry::Off,
        }
    }
}

/// With what a program is to run, as far as somebody has said so; the rest is configuration and defaults.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    /// The model's id.
    pub model: Option<String>,
    /// The trigger classifier's.
    pub classifier: Option<String>,
    /// The server of `openai:` models.
    pub base_url: Option<String>,
    /// The configuration; none: the one beside the program.
    pub config: Option<PathBuf>,
    /// Files of canned tools, which stand in front of all others; those of the configuration come after them.
    pub tools: Vec<PathBuf>,
    /// The folder that file tools stay below; none: the current one.
    pub working_directory: Option<PathBuf>,
    /// Skills that come with the program: names, and paths (with a `/`, or those that begin with a dot).
    pub skills: Vec<String>,
}

impl Choices {
    /// What a file of cases at `path` says of its program: canned tools beside it, and that file tools stay in its folder.
    pub fn beside(path: &Path, tools: Option<&str>) -> Choices {
        Choices {
            tools: tools.iter().map(|file| path.with_file_name(file)).collect(),
            working_directory: Some(folder_of(path).to_owned()),
            ..Choices::default()
        }
    }
}

/// The folder of a file.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}

/// What is to be launched with.
#[derive(Clone)]
pub struct Launch {
    /// The process.
    pub workshop: Workshop,
    /// What was chosen.
    pub choices: Choices,
    /// A configuration in place of the one in a file.
    pub configuration: Option<FileConfig>,
    /// A model in place of the one that is configured. Which model would judge triggers is then none of its business,
    /// either: unless a classifier was chosen, patterns do.
    pub llm: Option<Arc<dyn Llm>>,
    /// Tools beside those that are declared.
    pub tools: Vec<Arc<dyn Tool>>,
    /// The run that records what models and tools answer, or replays it, for one session.
    pub take: Option<Arc<Take>>,
    /// A text in place of the one that a file of the program has on disk.
    pub changed: Option<Arc<SourceText>>,
}

impl Launch {
    /// Everything as it is configured.
    pub fn new(workshop: Workshop, choices: Choices) -> Launch {
        Launch { workshop, choices, configuration: None, llm: None, tools: Vec::new(), take: None, changed: None }
    }
}

/// How much a remark matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Good to know.
    Note,
    /// Odd, and perhaps not what was meant.
    Warning,
}

/// What people should know of what was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// How much it matters.
    pub level: Level,
    /// What it is about: `model`, `classifier`, `findings`, `tools`.
    pub code: &'static str,
    /// In words; without a full stop.
    pub text: String,
}

impl Remark {
    /// Something good to know.
    pub(crate) fn note(code: &'static str, text: impl Into<String>) -> Remark {
        Remark { level: Level::Note, code, text: text.into() }
    }

    /// Something odd.
    pub(crate) fn warning(code: &'static str, text: impl Into<String>) -> Remark {
        Remark { level: Level::Warning, code, text: text.into() }
    }
}

/// Whether sessions are traced where a collector is configured. A door says so: tests and checks are of no interest to
/// anybody else.
#[derive(Clone, Default)]
pub enum Telemetry {
    /// No.
    #[default]
    Off,
    /// Yes.
    On {
        /// `--otlp`.
        url: Option<String>,
        /// Told in words that spans were lost; once for each program that is open.
        tell: Arc<dyn Fn(&str) + Send + Sync>,
        /// Whether that is told as soon as it is so; else when the program is closed.
        at_once: bool,
    },
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Telemetry::Off => f.write_str("Off"),
            Telemetry::On { url, .. } => f.debug_struct("On").field("url", url).finish_non_exhaustive(),
        }
    }
}
