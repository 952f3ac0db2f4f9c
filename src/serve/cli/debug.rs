//! `playhouse debug`: the Debug Adapter Protocol on standard input and output, or at an address.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use futures_util::future::BoxFuture;

use crate::host::clock::SystemClock;
use crate::host::debug::debuggee::{Ground, Launcher};
use crate::host::equipment::Equipment;
use crate::host::journal::address::Place;
use crate::host::sessions::new_id;
use crate::lang::program::Program;
use crate::serve::cli::console::{Console, Exit, Failure};
use crate::serve::cli::conversation::TalkArguments;
use crate::serve::cli::debug_listen::{bind, to_subject};
use crate::serve::cli::run::{RunArguments, prepare, runtime};
use crate::serve::cli::world::{self, BegunWith, WorldArguments};
use crate::serve::dap::accept::accept;
use crate::serve::dap::{AttachArguments, Door, LaunchArguments, Launched, Reached, serve};
use crate::value::Value;

const EXAMPLES: &str = "\
Examples:
  playhouse debug program.md                            a client starts this and speaks with it
  playhouse debug program.md --listen 127.0.0.1:4711    a client connects
  playhouse run program.md --debug-listen 127.0.0.1:0   a program that runs can be attached to";

/// Debugs a program: the Debug Adapter Protocol on standard input and output, for editors
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DebugArguments {
    /// The program's files [default: `program` of the client's launch arguments]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    world: WorldArguments,
    /// Listen for clients at this address instead, such as 127.0.0.1:4711 (port 0: any)
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
}

/// Serves clients: one on standard input and output, or all that connect.
pub(crate) fn debug(console: &Console, arguments: &DebugArguments) -> Result<Exit, Failure> {
    let world = arguments.world.clone();
    let door: Arc<dyn Door> =
        Arc::new(CommandLineDoor { console: console.clone(), files: arguments.files.clone(), world });
    let runtime = runtime()?;
    let served = runtime.block_on(async {
        let Some(address) = arguments.listen else {
            if console.is_conversation {
                console.remark(
                    "this is for an editor, which speaks the Debug Adapter Protocol here; --listen 127.0.0.1:4711 waits \
                     for one to connect (docs/debugging.md)",
                );
            }
            serve(tokio::io::stdin(), tokio::io::stdout(), door).await;
            return Ok(Exit::Finished);
        };
        let listener = bind(console, address, "--listen").await?;
        loop {
            let (stream, _) = tokio::select! {
                accepted = accept(|| listener.accept()) => accepted,
                _ = tokio::signal::ctrl_c() => return Ok(Exit::Finished),
            };
            let (reader, writer) = stream.into_split();
            tokio::spawn(serve(reader, writer, door.clone()));
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
            let run = self.run_arguments(arguments)?;
            let (console, told) = self.console.kept();
            let in_words = |failure: Failure| {
                let told = std::mem::take(&mut *told.lock().unwrap_or_else(PoisonError::into_inner));
                match failure {
                    Failure::Told { message, .. } => told + &message,
                    Failure::Quiet(_) => told,
                }
            };
            let ready = prepare(&console, &run, !is_again, None).await.map_err(in_words)?;
            let about = ready.about;
            let session = match ready.open.await {
                Ok(session) => session,
                Err(failure) => {
                    ready.equipment.close().await;
                    return Err(in_words(failure));
                }
            };
            let told = std::mem::take(&mut *told.lock().unwrap_or_else(PoisonError::into_inner));
            let mut warnings = ready.equipment.warnings.clone();
            warnings.extend(about.warning.map(str::to_owned));
            let grounds = Arc::new(Grounds {
                program: about.subject.program.clone(),
                ids: about.ids,
                place: world::sessions_place(&console, run.journal.as_deref()).map_err(in_words)?,
                console,
                world: about.world,
                opened: Mutex::new(vec![ready.equipment]),
            });
            let launcher = grounds.clone();
            Ok(Launched {
                session,
                subject: to_subject(&about.subject),
                launcher,
                remarks: told.lines().map(str::to_owned).chain(about.choices).collect(),
                warnings,
                closing: Box::pin(async move {
                    let opened = std::mem::take(&mut *grounds.opened.lock().unwrap_or_else(PoisonError::into_inner));
                    for equipment in opened {
                        equipment.close().await;
                    }
                }),
            })
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
    /// The command line of `run` that a client means.
    fn run_arguments(&self, launch: LaunchArguments) -> Result<RunArguments, String> {
        let files: Vec<PathBuf> = launch.program.all().iter().map(PathBuf::from).collect();
        let files = if files.is_empty() { self.files.clone() } else { files };
        if files.is_empty() {
            return Err(
                "which program? give `program` among the launch arguments, or a file to `playhouse debug`".to_owned()
            );
        }
        let tools: Vec<PathBuf> = launch.tools.all().iter().map(PathBuf::from).collect();
        let world = self.world.clone();
        let world = WorldArguments {
            model: launch.model.or(world.model),
            classifier: launch.classifier.or(world.classifier),
            base_url: launch.base_url.or(world.base_url),
            config: launch.config.map(PathBuf::from).or(world.config),
            tools: if tools.is_empty() { world.tools } else { tools },
            working_directory: launch.working_directory.map(PathBuf::from).or(world.working_directory),
        };
        // JSON that was read: as values it is the same.
        let value = |json: serde_json::Value| Value::from_json(&json.to_string()).unwrap_or_default();
        let arg = launch.args.into_iter().map(|(name, json)| (name.trim_start_matches('$').into(), value(json)));
        Ok(RunArguments {
            files,
            world,
            playbook: launch.playbook,
            arg: arg.collect(),
            max_replans: launch.max_replans,
            session: launch.session,
            journal: launch.journal.map(PathBuf::from),
            debug_listen: None,
            migrate: false,
            watch: false,
            talk: TalkArguments::default(),
        })
    }
}

/// What forks of a session run with: the same as it, begun anew.
struct Grounds {
    console: Console,
    world: WorldArguments,
    program: Arc<Program>,
    /// The ids of its model and of its trigger classifier.
    ids: (String, String),
    /// Where it is kept.
    place: Place,
    /// What has to be closed at the end.
    opened: Mutex<Vec<Equipment>>,
}

impl Launcher for Grounds {
    fn ground(&self) -> BoxFuture<'_, Result<Ground, String>> {
        Box::pin(async move {
            let in_words = |failure: Failure| match failure {
                Failure::Told { message, .. } => message,
                Failure::Quiet(_) => "the program cannot be opened again".to_owned(),
            };
            let equipment = self.world.open_for(&self.console, &self.program).await.map_err(in_words)?;
            let tools = equipment.tools.clone();
            self.opened.lock().unwrap_or_else(PoisonError::into_inner).push(equipment);
            // What was found is looked for again: `auto` is among the arguments then.
            let begun = BegunWith { model: &self.ids.0, classifier: Some(&self.ids.1), server: None };
            let equipped = self.world.equip(&self.console, &self.program, tools, Some(&begun)).await;
            let equipped = equipped.map_err(in_words)?;
            let id = new_id(&SystemClock);
            let address = self.place.beside(&id).address(&id).map_err(|error| error.to_string())?;
            let journal = address.open().await.map_err(|error| error.to_string())?;
            Ok(Ground { world: equipped.world, journal, id })
        })
    }
}
