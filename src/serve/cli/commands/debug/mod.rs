//! `playhouse debug`: the Debug Adapter Protocol on standard input and output, or at an address.

mod of_test;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use futures_util::future::BoxFuture;

use self::of_test::launch_test;
use crate::host::clock::SystemClock;
use crate::host::debuggee::{Ground, Launcher};
use crate::host::journal::address::Place;
use crate::host::launch::{Choices, Launch, LaunchError, Level, Opened, Wanted};
use crate::host::sessions::new_id;
use crate::host::tasks;
use crate::lang::kind::TEST;
use crate::serve::cli::machinery::console::{Console, Exit, Failure};
use crate::serve::cli::machinery::debug_listen::{bind, tell_address};
use crate::serve::cli::machinery::runtime::Runtime;
use crate::serve::cli::machinery::world::{WorldArguments, sessions_place, workshop};
use crate::serve::dap::accept::accept;
use crate::serve::dap::{AttachArguments, Door, LaunchArguments, Launched, Reached, Subject, serve};
use crate::value::Value;

const EXAMPLES: &str = "\
Examples:
  playhouse debug program.md                            a client starts this and talks to it
  playhouse debug program.test.md                       the program, with the messages and replies of the test
  playhouse debug program.md --listen 127.0.0.1:4711    a client connects
  playhouse run program.md --debug-listen 127.0.0.1:0   lets a debugger attach to the program";

/// Debugs a program for an editor: the Debug Adapter Protocol on standard input and output
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DebugArguments {
    /// The program's files, or a test (`*.test.md`) [default: `program` in the client's launch arguments]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    world: WorldArguments,
    /// Listen for clients at this address instead, such as 127.0.0.1:4711 (port 0: any free port)
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
}

/// Serves clients: one on standard input and output, or all that connect.
pub(crate) fn debug(console: &Console, arguments: &DebugArguments) -> Result<Exit, Failure> {
    let world = arguments.world.clone();
    let door: Arc<dyn Door> =
        Arc::new(CommandLineDoor { console: console.clone(), files: arguments.files.clone(), world });
    let runtime = Runtime::for_one()?;
    let served = runtime.block_on(async {
        let Some(address) = arguments.listen else {
            if console.is_conversation {
                console.remark(
                    "an editor starts this command and talks to it over the Debug Adapter Protocol; use --listen \
                     127.0.0.1:4711 to wait for one to connect (docs/debugging.md)",
                );
            }
            serve(tokio::io::stdin(), tokio::io::stdout(), door).await;
            return Ok(Exit::Finished);
        };
        let (listener, address) = bind(console, address, "--listen").await?;
        tell_address(console, address);
        loop {
            let (stream, _) = tokio::select! {
                accepted = accept(|| listener.accept()) => accepted,
                _ = tokio::signal::ctrl_c() => return Ok(Exit::Finished),
            };
            let (reader, writer) = stream.into_split();
            tasks::spawn(serve(reader, writer, door.clone()));
        }
    });
    // Whoever reads standard input cannot be stopped; the process ends without them.
    runtime.shutdown_background();
    served
}

/// Programs as `run` opens them, with what the client adds to the command line.
struct CommandLineDoor {
    console: Console,
    files: Vec<PathBuf>,
    world: WorldArguments,
}

impl Door for CommandLineDoor {
    fn launch(&self, arguments: LaunchArguments, is_again: bool) -> BoxFuture<'_, Result<Launched, String>> {
        Box::pin(async move {
            let files = self.files_of(&arguments);
            if let [file] = files.as_slice()
                && file.to_string_lossy().ends_with(TEST)
            {
                let classifier = arguments.classifier.or(self.world.choices().classifier);
                return launch_test(file, classifier.as_deref(), &self.console.environment).await;
            }
            let (choices, wanted) = self.wanted(files, arguments, is_again)?;
            let place = wanted.place.clone();
            let in_words = |error: LaunchError| error.to_string();
            let ready = Launch::new(workshop(&self.console), choices).prepare(wanted, None).await.map_err(in_words)?;
            let is_plan = ready.is_plan();
            let (opened, session) = ready.begin().await;
            let session = match session {
                Ok(session) => session,
                Err(error) => {
                    opened.close().await;
                    return Err(in_words(error));
                }
            };
            let texts = |level| {
                let remarks = opened.remarks.iter().filter(move |remark| remark.level == level);
                remarks.map(|remark| remark.text.clone()).collect::<Vec<_>>()
            };
            let (remarks, warnings) = (texts(Level::Note), texts(Level::Warning));
            let program = opened.program.clone();
            let subject = Subject { program, is_plan };
            let grounds = Arc::new(Grounds { place, first: opened, others: Mutex::default() });
            let launcher = grounds.clone();
            let closing = Box::pin(async move { grounds.close().await });
            Ok(Launched { session, subject, launcher, remarks, warnings, verdict: None, closing })
        })
    }

    fn attach(&self, arguments: &AttachArguments) -> Result<Reached, String> {
        arguments.address.clone().map(Reached::At).ok_or_else(|| {
            "attach needs `address`: where a program listens, as in `playhouse run FILE --debug-listen 127.0.0.1:4711`"
                .to_owned()
        })
    }
}

impl CommandLineDoor {
    /// The files that a client wants, else those of the command line.
    fn files_of(&self, launch: &LaunchArguments) -> Vec<PathBuf> {
        let files: Vec<PathBuf> = launch.program.all().iter().map(PathBuf::from).collect();
        if files.is_empty() { self.files.clone() } else { files }
    }

    /// What a client wants, with what the command line says where it says nothing.
    fn wanted(
        &self,
        files: Vec<PathBuf>,
        launch: LaunchArguments,
        is_again: bool,
    ) -> Result<(Choices, Wanted), String> {
        if files.is_empty() {
            return Err(
                "which program? give `program` among the launch arguments, or a file to `playhouse debug`".to_owned()
            );
        }
        let tools: Vec<PathBuf> = launch.tools.all().iter().map(PathBuf::from).collect();
        let world = self.world.choices();
        let choices = Choices {
            model: launch.model.or(world.model),
            classifier: launch.classifier.or(world.classifier),
            base_url: launch.base_url.or(world.base_url),
            config: launch.config.map(PathBuf::from).or(world.config),
            tools: if tools.is_empty() { world.tools } else { tools },
            working_directory: launch.working_directory.map(PathBuf::from).or(world.working_directory),
            ..Choices::default()
        };
        // JSON that was read: as values it is the same.
        let value = |json: serde_json::Value| Value::from_json(&json.to_string()).unwrap_or_default();
        let arguments = launch.args.into_iter().map(|(name, json)| (name.trim_start_matches('$').into(), value(json)));
        let journal = launch.journal.map(PathBuf::from).filter(|path| !is_again || !Place::at(path).is_for_one());
        let place = sessions_place(&self.console, journal.as_deref()).map_err(|failure| match failure {
            Failure::Told { message, .. } => message,
            Failure::Quiet(_) => "there is no place to store its journal".to_owned(),
        })?;
        let wanted = Wanted {
            files,
            playbook: launch.playbook,
            arguments: arguments.collect(),
            max_replans: launch.max_replans,
            session: launch.session.filter(|_| !is_again).map(Arc::from),
            place,
            migrate: false,
        };
        Ok((choices, wanted))
    }
}

/// What forks of a session run with: the same as it, begun anew.
struct Grounds {
    /// Where it is kept.
    place: Place,
    first: Opened,
    /// What has to be closed at the end besides.
    others: Mutex<Vec<Opened>>,
}

impl Grounds {
    async fn close(&self) {
        let others = std::mem::take(&mut *self.others.lock().unwrap_or_else(PoisonError::into_inner));
        for opened in std::iter::once(&self.first).chain(&others) {
            opened.close().await;
        }
    }
}

impl Launcher for Grounds {
    fn ground(&self) -> BoxFuture<'_, Result<Ground, String>> {
        Box::pin(async move {
            let opened = self.first.again().await.map_err(|error| error.to_string())?;
            let world = opened.world.clone();
            self.others.lock().unwrap_or_else(PoisonError::into_inner).push(opened);
            let id = new_id(&SystemClock);
            let address = self.place.beside(&id).address(&id).map_err(|error| error.to_string())?;
            let journal = address.open().await.map_err(|error| error.to_string())?;
            Ok(Ground { world, journal, id })
        })
    }
}
