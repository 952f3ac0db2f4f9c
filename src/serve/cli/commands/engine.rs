//! Sessions on many machines: what `playhouse serve --engine` takes, and `playhouse engine`, which looks after the engine.
//! The one file of the doors that knows its name.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha512};

use crate::host::config::node_secret;
use crate::host::engine::admin::{Admin, Status, Stuck};
use crate::host::engine::import::Imported;
use crate::host::engine::wire::ROOM;
use crate::host::engine::{Engine, EngineOptions, listen};
use crate::host::journal::JournalError;
use crate::host::ledger::Ledger;
use crate::host::ledger::sqlite::SqliteLedger;
use crate::host::tasks;
use crate::serve::cli::machinery::console::{Console, Exit, Failure, count, put};
use crate::serve::cli::machinery::offer::{Home, store_at};
use crate::serve::cli::machinery::output::table;
use crate::serve::cli::machinery::runtime::Runtime;

const EXAMPLES: &str = "\
Examples:
  playhouse engine register http://10.0.0.7:9080 --engine restate:http://10.0.0.2:8080
  playhouse engine status
  playhouse engine resume 20261121-224805-k3f9a2mwtx7cqz4b
  playhouse engine import serve.sqlite --engine restate:http://10.0.0.2:8080";

/// How a server takes part.
#[derive(Args)]
pub(crate) struct NodeArguments {
    /// The engine that keeps the sessions, instead of a store: restate:URL of its ingress
    #[arg(long, value_name = "restate:URL", conflicts_with = "journal")]
    engine: Option<String>,
    /// With --engine: the address where other nodes reach this one, such as http://10.0.0.7:7171
    #[arg(long, value_name = "URL", requires = "engine")]
    node: Option<String>,
    /// With --engine: the address where the engine calls this node
    #[arg(long, value_name = "ADDRESS", requires = "engine", default_value = "127.0.0.1:9080")]
    engine_listen: SocketAddr,
    /// With --engine: only accept calls from an engine that signs with this key, `publickeyv1_…` (repeatable)
    #[arg(long, value_name = "KEY", requires = "engine")]
    engine_key: Vec<String>,
}

/// Manages the engine that sessions run on
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EngineArguments {
    #[command(subcommand)]
    command: EngineCommand,
    /// The engine: restate:URL of its ingress
    #[arg(long, value_name = "restate:URL", default_value = "restate:http://127.0.0.1:8080", global = true)]
    engine: String,
    /// The engine's admin API [default: port 9070 on the host of the ingress]
    #[arg(long, value_name = "URL", global = true)]
    admin: Option<String>,
}

#[derive(Subcommand)]
enum EngineCommand {
    /// Tells the engine where the nodes are: the address of one, or of the load balancer in front of them
    Register {
        /// The address where nodes listen for the engine (`--engine-listen`)
        #[arg(required = true, value_name = "URI")]
        uris: Vec<String>,
        /// Register the address even if the engine knows it already and the node behind it has changed
        #[arg(long)]
        force: bool,
    },
    /// Shows where the nodes are, which sessions they run, and what is stuck
    Status,
    /// Imports the sessions of a store into the engine, which continues them; the store stays as it is. Stop the
    /// servers of the store first
    Import {
        /// The store: a `.sqlite` or `.db` file
        #[arg(value_name = "STORE")]
        store: PathBuf,
        /// Import only these sessions, and no tokens [default: all sessions, and the tokens]
        #[arg(value_name = "SESSION")]
        sessions: Vec<String>,
    },
    /// Retries a session that is stuck
    Resume {
        /// The session's id
        #[arg(value_name = "SESSION")]
        session: String,
    },
}

fn ingress_of(engine: &str) -> Result<&str, Failure> {
    engine.strip_prefix("restate:").ok_or_else(|| {
        Failure::wrong(format!("--engine: {engine} is not an engine; write it as in restate:http://127.0.0.1:8080"))
    })
}

/// What a server on this engine keeps beside the journals; none: there is no engine.
pub(crate) async fn ledger_of(engine: Option<&str>) -> Result<Option<Arc<dyn Ledger>>, Failure> {
    let Some(engine) = engine else { return Ok(None) };
    // No node of it is asked for anything.
    let (ingress, secret) = (ingress_of(engine)?.to_owned(), SecretString::from(String::new()));
    Ok(Some(join(ingress, "", secret).await?.ledger()))
}

async fn join(ingress: String, node: &str, secret: SecretString) -> Result<Arc<Engine>, Failure> {
    let options = EngineOptions { ingress, node: node.into(), secret, room: ROOM };
    Engine::join(options).await.map_err(Failure::failed)
}

impl NodeArguments {
    /// Joins the engine; none: there is none.
    pub(crate) async fn home(&self) -> Result<Option<Home>, Failure> {
        let NodeArguments { engine, node, engine_listen, engine_key } = self;
        let Some(engine) = engine else { return Ok(None) };
        let ingress = ingress_of(engine)?.to_owned();
        let node = node.as_deref().ok_or_else(|| {
            Failure::wrong(
                "--engine: the other nodes must reach this one; name its address, as in --node http://10.0.0.7:7171",
            )
        })?;
        let secret = node_secret().ok_or_else(|| {
            Failure::wrong(
                "--engine: nodes recognise each other by a secret; set PLAYHOUSE_NODE_SECRET to the same long random \
                 text on all of them (`openssl rand -hex 32` makes one)",
            )
        })?;
        Engine::check_keys(engine_key).map_err(|why| Failure::wrong(format!("--engine-key: {why}")))?;
        // What one node has signed the others know.
        let key = Sha512::digest(format!("playhouse cookies {}", secret.expose_secret())).into();
        let engine = join(ingress.clone(), node, secret).await?;
        let listener = listen(*engine_listen).map_err(|cause| {
            Failure::failed(format!("--engine-listen {engine_listen}: {cause}; choose another port"))
        })?;
        let (keeping, keys) = (engine.keeping(), engine_key.clone());
        Ok(Some(Home {
            keeping,
            key,
            words: format!("the engine at {ingress}, which calls this node at {engine_listen}"),
            joins: Some(Box::new(move |residents| {
                let (residents, draining) = (residents.clone(), residents.draining().clone());
                tasks::spawn(async move {
                    if let Err(why) = engine.serve(Some(&residents), listener, &keys, draining.cancelled()).await {
                        tracing::error!("--engine-key: {why}");
                    }
                })
            })),
        }))
    }
}

/// Performs the command.
pub(crate) fn engine(console: &Console, arguments: &EngineArguments) -> Result<Exit, Failure> {
    Runtime::for_one()?.block_on(perform(console, arguments))
}

async fn perform(console: &Console, arguments: &EngineArguments) -> Result<Exit, Failure> {
    let EngineArguments { command, engine, admin } = arguments;
    let admin = Admin::of(ingress_of(engine)?, admin.as_deref()).map_err(Failure::wrong)?;
    match command {
        EngineCommand::Register { uris, force } => {
            for uri in uris {
                let objects = admin.register(uri, *force).await.map_err(Failure::failed)?;
                put(&format!("{uri}: {}\n", objects.join(", ")))?;
            }
        }
        EngineCommand::Status => {
            let Status { deployments, held, stuck } = admin.status().await.map_err(Failure::failed)?;
            let mut text = String::new();
            // Writing to a `String` can't fail.
            let _ = writeln!(text, "registered: {}", or_none(&deployments.join(", ")));
            text.push_str(&table(held.into_iter().map(|(node, n)| [node, format!("{n} sessions")])));
            let is_stuck = !stuck.is_empty();
            let row = |stuck: Stuck| [stuck.session, stuck.state, format!("{} attempts", stuck.attempts), stuck.why];
            text.push_str(&table(stuck.into_iter().map(row)));
            put(&text)?;
            console.remark(match is_stuck {
                true => {
                    "a paused session waits for `playhouse engine resume SESSION`; the others are retried \
                     automatically"
                }
                false => "nothing is stuck",
            });
        }
        EngineCommand::Import { store, sessions } => return import(console, engine, store, sessions).await,
        EngineCommand::Resume { session } => {
            let n = admin.resume(session).await.map_err(Failure::failed)?;
            if n == 0 {
                return Err(Failure::wrong(format!(
                    "session {session} is not paused; `playhouse engine status` shows what is stuck"
                )));
            }
            console.remark(&format!("session {session} is being retried"));
        }
    }
    Ok(Exit::Finished)
}

async fn import(console: &Console, engine: &str, path: &Path, sessions: &[String]) -> Result<Exit, Failure> {
    let (place, ingress) = (store_at("STORE", path)?, ingress_of(engine)?.to_owned());
    if !path.is_file() {
        return Err(Failure::wrong(format!("{}: there is no such store; name the file of --journal", path.display())));
    }
    let engine = join(ingress, "`playhouse engine import`", SecretString::from(String::new())).await?;
    let ledger = SqliteLedger::open(path).await?;
    let store = place.store();
    let mut ids = Vec::new();
    for session in sessions {
        ids.push(place.find(session).await?.session().clone());
    }
    let mut n_tokens = 0;
    if sessions.is_empty() {
        ids.extend(store.list().await?.into_iter().map(|listed| listed.id));
        n_tokens = import_tokens(console, &ledger, &*engine.ledger()).await?;
    }
    let (mut n_came, mut n_known, mut n_refused) = (0, 0, 0);
    for id in &ids {
        match engine.import(&store, &ledger, id).await {
            Ok(Imported::Came { n_records, is_woken }) => {
                n_came += 1;
                let goes_on = if is_woken { ", and is visited now" } else { "" };
                put(&format!("{id}: {}{goes_on}\n", count(n_records, "record")))?;
            }
            Ok(Imported::Known) => {
                n_known += 1;
                put(&format!("{id}: is there already\n"))?;
            }
            Err(error) => {
                n_refused += 1;
                console.error(&error.to_string());
                if error.is_of_all() {
                    return Err(Failure::Quiet(Exit::Failed));
                }
            }
        }
    }
    let words = [(n_came, "came"), (n_known, "there already"), (n_refused, "refused")];
    let words: Vec<String> = words.iter().map(|(n, what)| format!("{n} {what}")).collect();
    put(&format!("{}: {}; {}\n", count(ids.len(), "session"), words.join(", "), count(n_tokens, "token")))?;
    Ok(if n_refused == 0 { Exit::Finished } else { Exit::Failed })
}

/// Brings all tokens: how many came. One whose name another token has there does not come.
async fn import_tokens(console: &Console, from: &SqliteLedger, to: &dyn Ledger) -> Result<usize, JournalError> {
    let known = to.tokens().await?;
    let mut n_came = 0;
    for token in from.tokens().await? {
        match known.iter().find(|known| known.name == token.name) {
            Some(known) if known.hash == token.hash => {}
            Some(_) => console.warning(&format!(
                "the engine already has another token for {}, and keeps it; the one from the store is not valid there",
                token.name
            )),
            None => n_came += usize::from(to.add_token(token).await?),
        }
    }
    Ok(n_came)
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "no nodes; `playhouse engine register URI` adds one" } else { text }
}
