//! What commands give a session to act with, as options; and what is said where nothing can be launched.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::diagnostic::{Severity, render};
use crate::host::journal::address::Place;
use crate::host::journal::{JournalError, JournalErrorKind};
use crate::host::launch::{Choices, Launch, LaunchError, Level, Remark, Telemetry, Workshop};
use crate::host::session::SessionError;
use crate::lang::Loaded;
use crate::lang::program::Program;
use crate::serve::cli::machinery::console::{Console, Exit, Failure};
use crate::serve::cli::machinery::output::{counted, n_of};

/// Options that say with what a program runs.
#[derive(Args, Clone, Default)]
pub(crate) struct WorldArguments {
    /// The model: openai:NAME, auto (one found on this machine), embedded, script:FILE or replay:SESSION [default:
    /// openai if a key or a base URL is set; otherwise auto on a terminal, and embedded elsewhere]
    #[arg(long, value_name = "ID")]
    pub(crate) model: Option<String>,
    /// The classifier, which judges triggers in words: off, rules, model, model:ID or script:FILE [default: model, or
    /// rules if the model is embedded or scripted]
    #[arg(long, value_name = "ID")]
    pub(crate) classifier: Option<String>,
    /// An OpenAI-compatible server, such as http://127.0.0.1:8080/v1
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The configuration file [default: playhouse.toml beside the program]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// A file of canned tools (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Vec<PathBuf>,
    /// The folder that file tools must stay inside [default: .]
    #[arg(long, value_name = "DIR")]
    pub(crate) working_directory: Option<PathBuf>,
}

impl WorldArguments {
    /// What was chosen.
    pub(crate) fn choices(&self) -> Choices {
        let WorldArguments { model, classifier, base_url, config, tools, working_directory } = self.clone();
        Choices { model, classifier, base_url, config, tools, working_directory, ..Choices::default() }
    }

    /// A launch with these choices.
    pub(crate) fn launch(&self, console: &Console) -> Launch {
        Launch::new(workshop(console), self.choices())
    }
}

/// Options that say with what a program runs, where sessions may be traced.
#[derive(Args, Clone, Default)]
pub(crate) struct LiveArguments {
    #[command(flatten)]
    pub(crate) world: WorldArguments,
    /// Send traces of sessions over HTTP to this OpenTelemetry collector, such as http://127.0.0.1:4318 [default:
    /// `[otel]` in playhouse.toml, or $OTEL_EXPORTER_OTLP_ENDPOINT]
    #[cfg(feature = "otel")]
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
}

impl LiveArguments {
    /// A launch with these choices. `at_once`: that spans are lost is told as soon as it is so.
    pub(crate) fn launch(&self, console: &Console, at_once: bool) -> Launch {
        let mut launch = self.world.launch(console);
        let console = console.clone();
        let tell = Arc::new(move |lost: &str| console.warning(&format!("traces: {lost}")));
        #[cfg(feature = "otel")]
        let url = self.otlp.clone();
        #[cfg(not(feature = "otel"))]
        let url = None;
        launch.workshop.telemetry = Telemetry::On { url, tell, at_once };
        launch
    }
}

/// What this process has.
pub(crate) fn workshop(console: &Console) -> Workshop {
    Workshop {
        environment: console.environment.clone(),
        secrets: console.secrets.clone(),
        is_watched: console.is_conversation && console.is_watched,
        ..Workshop::default()
    }
}

/// Where sessions are kept: at `given`, else where the environment says.
pub(crate) fn sessions_place(console: &Console, given: Option<&Path>) -> Result<Place, Failure> {
    match given {
        Some(path) => Ok(Place::at(path)),
        None => workshop(console).sessions_place().map_err(Failure::wrong),
    }
}

/// Tells what people should know.
pub(crate) fn tell(console: &Console, remarks: &[Remark]) {
    for Remark { level, text, .. } in remarks {
        match level {
            Level::Note => console.remark(text),
            Level::Warning => console.warning(text),
        }
    }
}

/// The program of files, read without starting anything; `tools` are canned. One with errors is refused: much of it may not
/// be there.
pub(crate) fn whole_program(console: &Console, files: &[PathBuf], tools: &[PathBuf]) -> Result<Program, Failure> {
    let launch = Launch::new(workshop(console), Choices { tools: tools.to_vec(), ..Choices::default() });
    let failure = |error| launch_failure(console, error);
    let (_, Loaded { program, diagnostics }) = launch.survey(files).map_err(failure)?;
    match n_of(&diagnostics, Severity::Error) {
        0 => Ok(program),
        _ => Err(failure(LaunchError::Program { findings: diagnostics, sources: program.sources })),
    }
}

/// What is said of a session that cannot be opened; findings in the program's text are told at once.
pub(crate) fn launch_failure(console: &Console, error: LaunchError) -> Failure {
    match error {
        LaunchError::Program { findings, sources } => {
            console.tell(&render(&findings, &sources, console.color));
            console.tell(&format!("\n{}\n", counted(&findings)));
            Failure::Quiet(Exit::Wrong)
        }
        LaunchError::NoEntry { .. } => Failure::wrong(format!("--playbook: {error}")),
        LaunchError::Journal(error) => error.into(),
        LaunchError::Session(error) => error.into(),
        LaunchError::Config(_)
        | LaunchError::File(_)
        | LaunchError::Equipment(_)
        | LaunchError::Model(_)
        | LaunchError::Gone(_) => Failure::wrong(error),
    }
}

impl From<JournalError> for Failure {
    /// A journal that is there already is a matter of the command; everything else is not. Which options name another
    /// place is said here: the rest is true for every door.
    fn from(error: JournalError) -> Failure {
        match &error.kind {
            JournalErrorKind::Exists => Failure::wrong(format!("{error} (--session ID, --journal PATH)")),
            JournalErrorKind::Foreign(_) | JournalErrorKind::Unsupported(_) => {
                Failure::wrong(format!("{error} (--journal PATH)"))
            }
            JournalErrorKind::NoSession(_) => Failure::wrong(format!(
                "{error}; `playhouse sessions list --journal {}` shows the sessions",
                error.location
            )),
            JournalErrorKind::SessionId(_) | JournalErrorKind::OtherSession { .. } => Failure::wrong(error),
            JournalErrorKind::Full { .. } => Failure::failed(format!("{error} (--session ID)")),
            JournalErrorKind::Unavailable { .. } => Failure::failed(format!("{error} (--journal PATH)")),
            JournalErrorKind::Fenced
            | JournalErrorKind::Held(_)
            | JournalErrorKind::Corrupt { .. }
            | JournalErrorKind::Format { .. }
            | JournalErrorKind::SecretsMissing { .. } => Failure::failed(error),
        }
    }
}

impl From<SessionError> for Failure {
    /// It cannot begin or go on.
    fn from(error: SessionError) -> Failure {
        match error {
            SessionError::Journal(error) => error.into(),
            SessionError::NoPoint(_) | SessionError::Change(_) => Failure::wrong(error),
            SessionError::NoSession(_)
            | SessionError::Program(_)
            | SessionError::Replay { .. }
            | SessionError::TooMany { .. }
            | SessionError::Open(_)
            | SessionError::Draining
            | SessionError::Vanished => Failure::failed(error),
        }
    }
}
