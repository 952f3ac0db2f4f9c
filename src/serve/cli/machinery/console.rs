//! Where commands write: data to standard output, words for people to standard error; exit codes; the log.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use tracing_subscriber::EnvFilter;

use crate::host::config::Environment;
use crate::host::secrets::Secrets;

pub(crate) use crate::serve::show::count;

/// How a command ends; the numbers are a public interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done; of `run`: the program finished.
    Finished,
    /// The program, or a test, failed.
    Failed,
    /// The command, or the program's text, is wrong.
    Wrong,
    /// The program waits for the user, and nobody says anything more.
    Waits,
    /// Too little is known to say yes or no.
    TooLittle,
}

impl Exit {
    /// The process' exit code.
    pub fn code(self) -> u8 {
        match self {
            Exit::Finished => 0,
            Exit::Failed => 1,
            Exit::Wrong => 2,
            Exit::Waits => 3,
            Exit::TooLittle => 4,
        }
    }
}

/// Why a command ends before its time.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A message for people.
    Told {
        /// Place, cause and next step, in lower case.
        message: String,
        /// The exit code.
        exit: Exit,
    },
    /// Everything has been said, or nobody listens any more.
    Quiet(Exit),
}

impl Failure {
    /// The command is wrong: another one would work.
    pub(crate) fn wrong(message: impl Display) -> Failure {
        Failure::Told { message: message.to_string(), exit: Exit::Wrong }
    }

    /// It went wrong while it was done.
    pub(crate) fn failed(message: impl Display) -> Failure {
        Failure::Told { message: message.to_string(), exit: Exit::Failed }
    }
}

/// What is known about the process' surroundings, read once.
#[derive(Clone)]
pub(crate) struct Console {
    /// The environment's configuration.
    pub(crate) environment: Environment,
    /// Whether a person types and reads: a conversation with a prompt.
    pub(crate) is_conversation: bool,
    /// Whether a line can be edited before it is sent: a terminal on both sides that understands more than text.
    pub(crate) is_editable: bool,
    /// Whether standard error takes colours.
    pub(crate) color: bool,
    /// Whether standard error is a terminal.
    pub(crate) is_watched: bool,
    /// What nobody may see, not in the log either; filled while things are opened.
    pub(crate) secrets: Arc<Secrets>,
}

impl Console {
    /// Looks around.
    pub(crate) fn new(environment: Environment) -> Console {
        // `TERM`, as the help texts' colours are decided.
        let is_capable = anstyle_query::term_supports_color();
        let is_watched = io::stderr().is_terminal();
        let is_conversation = io::stdin().is_terminal();
        let secrets = Arc::new(Secrets::new());
        environment.api_key.iter().for_each(|key| key.hide(&secrets));
        Console {
            is_conversation,
            is_editable: is_conversation && is_capable && io::stdout().is_terminal(),
            color: is_watched && is_capable && !environment.no_color,
            is_watched,
            secrets,
            environment,
        }
    }

    /// Tells people that something went wrong.
    pub(crate) fn error(&self, message: &str) {
        self.marked("error", "1;31", message);
    }

    /// Tells people that something is odd.
    pub(crate) fn warning(&self, message: &str) {
        self.marked("warning", "1;33", message);
    }

    /// Tells people that a program failed, and of what kind that is.
    pub(crate) fn fault(&self, kind: &str, message: &str) {
        self.marked(&format!("error[{kind}]"), "1;31", message);
    }

    fn marked(&self, mark: &str, style: &str, message: &str) {
        self.tell(&format!("{}: {message}\n", self.styled(style, mark)));
    }

    fn styled(&self, style: &str, text: &str) -> String {
        if self.color { format!("\u{1b}[{style}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// A remark that is less important than what the program says.
    pub(crate) fn remark(&self, message: &str) {
        self.tell(&(self.styled("2", message) + "\n"));
    }

    /// Text for people, as it is. That nobody can read it is no reason to stop.
    pub(crate) fn tell(&self, text: &str) {
        let mut stderr = io::stderr().lock();
        let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
    }
}

/// Data, to standard output, at once.
pub(crate) fn put(text: &str) -> Result<(), Failure> {
    put_bytes(text.as_bytes())
}

/// The same, and with it all is done.
pub(crate) fn finish(text: &str) -> Result<Exit, Failure> {
    put(text).map(|()| Exit::Finished)
}

/// The same of what is no text, or not in any case.
pub(crate) fn put_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(output_failure)
}

/// Text of a model, a tool or a user as a terminal may get it: what would move the cursor or worse is replaced.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// A reader that has gone away wants no more, and no message either.
fn output_failure(cause: io::Error) -> Failure {
    if cause.kind() == io::ErrorKind::BrokenPipe {
        return Failure::Quiet(Exit::Finished);
    }
    Failure::failed(format!("standard output: {cause}; the output is incomplete"))
}

/// Writes tracing events to standard error, if `PLAYHOUSE_LOG` asks for them.
pub(crate) fn start_log(console: &Console) {
    let Some(filter) = &console.environment.log else { return };
    match EnvFilter::try_new(filter) {
        Ok(filter) => {
            let secrets = console.secrets.clone();
            let writer = move || MaskedLog { secrets: secrets.clone() };
            let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
            // Only fails if there is a subscriber already: then that one is meant.
            let _ = log.with_ansi(console.color).try_init();
        }
        Err(cause) => {
            console.warning(&format!("PLAYHOUSE_LOG: {cause}; write for example PLAYHOUSE_LOG=playhouse=debug"));
        }
    }
}

/// Standard error without secrets. Libraries log what they send and get, whole, if they are asked to.
struct MaskedLog {
    secrets: Arc<Secrets>,
}

impl Write for MaskedLog {
    /// One event, which is written at once.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        io::stderr().write_all(self.secrets.mask(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
