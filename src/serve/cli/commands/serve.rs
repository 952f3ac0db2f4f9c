//! `playhouse serve`: programs behind a door, and the tokens of those who may come in.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use futures_util::future::join_all;
use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

use crate::host::clock::{Clock, SystemClock, iso_text};
use crate::host::config::{ConfigError, FileConfig};
use crate::host::journal::address::Place;
use crate::host::launch::inventory;
use crate::host::ledger::{Ledger, TokenRow};
use crate::host::residents::Residents;
use crate::host::residents::error::ResidentError;
use crate::host::residents::offered::Offered;
use crate::serve::cli::commands::run::runtime;
use crate::serve::cli::machinery::console::{Console, Exit, Failure, put};
use crate::serve::cli::machinery::output::table;
use crate::serve::cli::machinery::terminal::watch::{Reloaded, Watch};
use crate::serve::cli::machinery::world::{WorldArguments, journal_failure, launch_failure, tell, workshop};
use crate::serve::http::Server;
use crate::serve::http::access::cookie::Cookies;
use crate::serve::http::access::tokens::Access;
use crate::serve::http::access::{Role, tokens};

const EXAMPLES: &str = "\
Examples:
  playhouse serve examples/order-status.md --tools examples/order-status.tools.json
  playhouse serve desk=desk.md,notes.md shop.md --listen 127.0.0.1:8000
  playhouse serve token new ida --role operator
  playhouse serve token list";

/// Serves programs over HTTP: a page to talk and to look inside, and an interface for other programs
#[derive(Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct ServeArguments {
    /// The programs: FILE, or NAME=FILE,FILE
    #[arg(required = true, value_name = "PROGRAM")]
    programs: Vec<String>,
    /// The address; port 0: any
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7171")]
    listen: SocketAddr,
    /// Where sessions and tokens are kept: a `.sqlite` or `.db` file [default:
    /// $XDG_STATE_HOME/playhouse/serve.sqlite]
    #[arg(long, value_name = "STORE")]
    journal: Option<PathBuf>,
    /// Load a program anew when one of its files is saved: new sessions have the new text
    #[arg(long)]
    watch: bool,
    /// Let another process listen on the same address, so that the next one can begin before this one ends
    #[arg(long)]
    reuse_port: bool,
    /// Tell figures for Prometheus at this address, too, to whoever asks
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
    /// Serve everybody who reaches the address, without a token and as an admin
    #[arg(long)]
    no_auth_i_know: bool,
    #[command(flatten)]
    world: WorldArguments,
    #[command(subcommand)]
    command: Option<ServeCommand>,
}

#[derive(Subcommand)]
enum ServeCommand {
    /// Tokens: who may come in
    Token(TokenArguments),
}

#[derive(Args)]
struct TokenArguments {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Subcommand)]
enum TokenCommand {
    /// Makes a token, and prints it: once
    New {
        /// Whose it is
        name: String,
        /// What it may do
        #[arg(long, value_enum, default_value_t = RoleName::User)]
        role: RoleName,
        /// The only program that it is for
        #[arg(long, value_name = "NAME")]
        program: Option<String>,
        /// The store, as for `serve`
        #[arg(long, value_name = "STORE")]
        journal: Option<PathBuf>,
    },
    /// Lists all tokens, without what they are
    List {
        /// The store, as for `serve`
        #[arg(long, value_name = "STORE")]
        journal: Option<PathBuf>,
    },
    /// Takes a token away
    Revoke {
        /// Whose it is
        name: String,
        /// The store, as for `serve`
        #[arg(long, value_name = "STORE")]
        journal: Option<PathBuf>,
    },
}

/// What a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RoleName {
    /// Talk in own sessions, and see their state
    User,
    /// See all sessions, fork them, answer approvals
    Operator,
    /// Everything
    Admin,
}

/// Performs the command.
pub(crate) fn serve(console: &Console, arguments: &ServeArguments) -> Result<Exit, Failure> {
    match &arguments.command {
        None => {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
            let runtime = runtime.map_err(|cause| {
                Failure::failed(format!("cannot start: {cause}; close some programs and try again"))
            })?;
            runtime.block_on(serve_programs(console, arguments))
        }
        Some(ServeCommand::Token(TokenArguments { command })) => runtime()?.block_on(perform(console, command)),
    }
}

/// The store's place.
fn place(console: &Console, given: Option<&Path>) -> Result<Place, Failure> {
    let place = match given {
        Some(path) => Place::at(path),
        None => {
            let none = |error: ConfigError| Failure::wrong(error.to_string());
            let sessions = workshop(console).sessions_place().map_err(none)?;
            Place::at(&sessions.path().with_file_name("serve.sqlite"))
        }
    };
    match place.is_for_one() || !place.has_ending() {
        true => Err(Failure::wrong(format!(
            "--journal: {} is no store for a server; name a `.sqlite` or `.db` file",
            place.path().display()
        ))),
        false => Ok(place),
    }
}

/// `FILE`, or `NAME=FILE,FILE`.
fn program_of(text: &str) -> Result<(String, Vec<PathBuf>), Failure> {
    let named = text.split_once('=').filter(|(name, _)| !name.is_empty() && !name.contains(['/', '.']));
    let (name, files) = match named {
        Some((name, files)) => (name.to_owned(), files.split(',').map(PathBuf::from).collect()),
        None => {
            let path = PathBuf::from(text);
            let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            (stem, vec![path])
        }
    };
    let is_good = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    match !name.is_empty() && name.chars().all(is_good) {
        true => Ok((name, files)),
        false => Err(Failure::wrong(format!(
            "{text}: `{name}` is no name for a program in addresses; give it one of letters, digits, `-` and `_`, as in \
             desk={text}"
        ))),
    }
}

async fn serve_programs(console: &Console, arguments: &ServeArguments) -> Result<Exit, Failure> {
    let place = place(console, arguments.journal.as_deref())?;
    let programs: Vec<_> = arguments.programs.iter().map(|text| program_of(text)).collect::<Result<_, _>>()?;
    let launch = arguments.world.launch(console);
    let first = programs.first().and_then(|(_, files)| files.first());
    let config = FileConfig::find(arguments.world.config.as_deref(), first.map(PathBuf::as_path));
    let options = config.map_err(|error| Failure::wrong(error.to_string()))?.serve;
    let failed = |error: ResidentError| {
        if let ResidentError::Launch(error) = error {
            return launch_failure(console, error);
        }
        if let ResidentError::Journal(error) = error {
            return journal_failure(error);
        }
        Failure::failed(error.to_string())
    };
    let residents = Residents::open(launch, &place, &options).await.map_err(failed)?;
    for (name, files) in &programs {
        if residents.programs().iter().any(|offered| *offered.name == **name) {
            return Err(Failure::wrong(format!(
                "two programs are called {name}; name one, as in other={}",
                files[0].display()
            )));
        }
        let offered = residents.offer(name, files).await.map_err(failed)?;
        tell(console, &offered.opened.remarks);
    }
    let access = Access::new(residents.ledger(), options.has_strangers(), arguments.no_auth_i_know).await;
    let access = access.map_err(journal_failure)?;
    let needs_tokens = access.needs_tokens();
    if !needs_tokens && !access.is_open() && !arguments.listen.ip().is_loopback() {
        return Err(Failure::wrong(format!(
            "--listen {}: others could reach this, and there are no tokens; make one with `playhouse serve token new NAME \
             --role admin`, or listen on 127.0.0.1",
            arguments.listen
        )));
    }
    let listener = listen("--listen", arguments.listen, arguments.reuse_port)?;
    let metrics = arguments.metrics.map(|address| listen("--metrics", address, arguments.reuse_port)).transpose()?;
    let address = listener.local_addr().map_err(|cause| Failure::failed(format!("--listen: {cause}")))?;
    let key_file = place.path().with_extension("key");
    let key = Cookies::key_in(&key_file).map_err(|cause| {
        Failure::failed(format!(
            "{}: {cause}; it is the key of the server's cookies: remove it, and another is made",
            key_file.display()
        ))
    })?;
    let server = Server::new(residents.clone(), options, access, address, key);
    // Before anybody is told that it is there.
    let stop = ended()?;
    let n_recovered = residents.recover().await.map_err(failed)?;
    put(&format!("http://{address}/\n"))?;
    let names: Vec<String> = residents.programs().iter().map(|offered| offered.name.to_string()).collect();
    let who = match needs_tokens {
        true => "with a token",
        false => "for everybody on this machine, who may do everything; `playhouse serve token new NAME` makes tokens",
    };
    console.remark(&format!("serves {} {who}; sessions are kept in {}", names.join(", "), place.path().display()));
    if n_recovered > 0 {
        console.remark(&format!("{n_recovered} sessions go on that were under way"));
    }
    let watching = arguments.watch.then(|| {
        let each = residents.programs().into_iter().map(|offered| watch(console, &residents, offered));
        tokio::spawn(join_all(each.collect::<Vec<_>>()))
    });
    server.serve(listener, metrics, stop).await;
    watching.inspect(JoinHandle::abort);
    console.remark("all sessions rest; they go on when the server is started again");
    Ok(Exit::Finished)
}

/// Listens at an address.
fn listen(option: &str, address: SocketAddr, is_shared: bool) -> Result<TcpListener, Failure> {
    let listen = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // Those of a server that has just ended are in nobody's way.
        socket.set_reuseaddr(true)?;
        socket.set_reuseport(is_shared)?;
        socket.bind(address)?;
        socket.listen(1024)
    };
    listen().map_err(|cause| Failure::failed(format!("{option} {address}: {cause}; choose another port, or 0 for any")))
}

/// Offers a program anew whenever one of its files is saved. Never ends.
fn watch(
    console: &Console,
    residents: &Arc<Residents>,
    offered: Arc<Offered>,
) -> impl Future<Output = ()> + Send + 'static {
    let (console, residents) = (console.clone(), residents.clone());
    async move {
        let mut watch = Watch::new(&offered.files, console.color);
        // What is wrong with it now was told when it was offered.
        let _ = watch.load(&inventory(&offered.opened.world.tools));
        loop {
            watch.saved().await;
            match watch.reload() {
                Reloaded::Same => {}
                Reloaded::Bad(findings) => {
                    console.remark(&format!("{} stays as it is:\n{findings}", offered.name));
                }
                Reloaded::Good => match residents.offer(&offered.name, &offered.files).await {
                    Ok(_) => console.remark(&format!("{} is reloaded for new sessions", offered.name)),
                    Err(error) => console.remark(&format!("{} stays as it is: {error}", offered.name)),
                },
            }
        }
    }
}

/// Comes when the process is to end.
fn ended() -> Result<impl Future<Output = ()>, Failure> {
    let listen = |kind| signal(kind).map_err(|cause| Failure::failed(format!("signals: {cause}")));
    let (mut terminate, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

async fn perform(console: &Console, command: &TokenCommand) -> Result<Exit, Failure> {
    let (TokenCommand::New { journal, .. } | TokenCommand::List { journal } | TokenCommand::Revoke { journal, .. }) =
        command;
    let place = place(console, journal.as_deref())?;
    let ledger = Ledger::open(place.path()).await.map_err(journal_failure)?;
    match command {
        TokenCommand::New { name, role, program, .. } => {
            let role = match role {
                RoleName::User => Role::User,
                RoleName::Operator => Role::Operator,
                RoleName::Admin => Role::Admin,
            };
            let made = tokens::new_token(name, role, program.as_deref(), (SystemClock.now(), None));
            let (token, row) =
                made.map_err(|error| Failure::failed(format!("there are no random numbers: {error}")))?;
            if !ledger.add_token(row).await.map_err(journal_failure)? {
                return Err(Failure::wrong(format!(
                    "there is a token for {name}; choose another name, or take that one away with `playhouse serve token \
                     revoke {name}`"
                )));
            }
            put(&format!("{token}\n"))?;
            console.remark("this is shown once: only its hash is kept");
        }
        TokenCommand::List { .. } => {
            let row = |TokenRow { name, role, program, created, expires, .. }: &TokenRow| {
                let ends = expires
                    .map_or(String::new(), |expires| format!("until {}", iso_text(expires, &SystemClock.zone())));
                [
                    name.to_string(),
                    role.clone(),
                    program.as_deref().unwrap_or("").to_owned(),
                    iso_text(*created, &SystemClock.zone()),
                    ends,
                ]
            };
            let rows: Vec<_> = ledger.tokens().await.map_err(journal_failure)?.iter().map(row).collect();
            put(&table(&rows))?;
        }
        TokenCommand::Revoke { name, .. } => {
            if !ledger.revoke(Arc::from(name.as_str())).await.map_err(journal_failure)? {
                return Err(Failure::wrong(format!(
                    "there is no token for {name}; `playhouse serve token list` lists them"
                )));
            }
            console.remark(&format!("the token for {name} is taken away; a server that runs knows it at once"));
        }
    }
    Ok(Exit::Finished)
}
