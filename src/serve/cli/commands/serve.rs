//! `playhouse serve`: programs behind a door, and the tokens of those who may come in.

use std::io;
use std::net::SocketAddr;
use std::os::unix;
#[cfg(target_os = "linux")]
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use futures_util::future::join_all;
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinHandle;

use crate::host::clock::{Clock, SystemClock, iso_text};
use crate::host::config::notify_socket;
use crate::host::launch::{Level, Remark, inventory};
use crate::host::ledger::sqlite::SqliteLedger;
use crate::host::ledger::{Ledger, TokenRow};
use crate::host::residents::Residents;
use crate::host::residents::offered::Offered;
use crate::host::tasks;
#[cfg(feature = "restate")]
use crate::serve::cli::commands::engine::{NodeArguments, ledger_of};
use crate::serve::cli::machinery::console::{Console, Exit, Failure, count, put};
use crate::serve::cli::machinery::offer::{Home, ended, offer, resident_failure, store};
use crate::serve::cli::machinery::output::table;
use crate::serve::cli::machinery::runtime::Runtime;
use crate::serve::cli::machinery::terminal::watch::{Reloaded, Watch};
use crate::serve::cli::machinery::world::{LiveArguments, tell};
use crate::serve::http::access::tokens::Access;
use crate::serve::http::access::{Role, tokens};
use crate::serve::http::{Server, serve_meanwhile};

const EXAMPLES: &str = "\
Examples:
  playhouse serve examples/order-status.md --tools examples/order-status.tools.json
  playhouse serve desk=desk.md,notes.md shop.md --listen 127.0.0.1:8000
  playhouse serve token new ida --role operator
  playhouse serve token list";

/// So often a node looks whether it has been registered.
const LOOK: Duration = Duration::from_millis(200);

/// Serves programs over HTTP: a page to talk with them and to look inside, and an API for other programs
#[derive(Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct ServeArguments {
    /// The programs: FILE, or NAME=FILE,FILE
    #[arg(required = true, value_name = "PROGRAM")]
    programs: Vec<String>,
    /// The address to listen at (port 0: any free port)
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7171")]
    listen: SocketAddr,
    /// Where to store sessions and tokens: a `.sqlite` or `.db` file [default:
    /// $XDG_STATE_HOME/playhouse/serve.sqlite]
    #[arg(long, value_name = "STORE")]
    journal: Option<PathBuf>,
    /// Reload a program when one of its files is saved; new sessions get the new text
    #[arg(long)]
    watch: bool,
    /// Let another process listen at the same address, so that the next server can start before this one stops
    #[arg(long)]
    reuse_port: bool,
    /// Also serve metrics for Prometheus at this address, to anyone who asks
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
    /// Serve everyone who can reach the address as an admin, without a token
    #[arg(long)]
    no_auth_i_know: bool,
    #[cfg(feature = "restate")]
    #[command(flatten)]
    node: NodeArguments,
    #[command(flatten)]
    world: LiveArguments,
    #[command(subcommand)]
    command: Option<ServeCommand>,
}

#[derive(Subcommand)]
enum ServeCommand {
    /// Makes, lists and revokes tokens, which decide who may come in
    Token(TokenArguments),
}

#[derive(Args)]
struct TokenArguments {
    #[command(subcommand)]
    command: TokenCommand,
    /// The store, as for `serve`
    #[arg(long, value_name = "STORE", global = true)]
    journal: Option<PathBuf>,
    /// The engine that keeps the tokens, instead of a store, as for `serve`
    #[cfg(feature = "restate")]
    #[arg(long, value_name = "restate:URL", conflicts_with = "journal", global = true)]
    engine: Option<String>,
}

#[derive(Subcommand)]
enum TokenCommand {
    /// Makes a token and prints it, this one time
    New {
        /// The name of its owner
        name: String,
        /// What its owner may do
        #[arg(long, value_enum, default_value_t = RoleName::User)]
        role: RoleName,
        /// The only program it gives access to
        #[arg(long, value_name = "NAME")]
        program: Option<String>,
        /// It belongs to a service (such as Open WebUI) that names its user in X-OpenWebUI-User-Id
        #[arg(long)]
        forwards: bool,
    },
    /// Lists all tokens, without their secrets
    List,
    /// Revokes a token
    Revoke {
        /// The name of its owner
        name: String,
    },
}

/// What a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RoleName {
    /// Talk in one's own sessions, and see their state
    User,
    /// See all sessions, fork them, answer approvals
    Operator,
    /// Everything
    Admin,
}

/// Performs the command.
pub(crate) fn serve(console: &Console, arguments: &ServeArguments) -> Result<Exit, Failure> {
    match &arguments.command {
        None => Runtime::for_many()?.block_on(serve_programs(console, arguments)),
        Some(ServeCommand::Token(arguments)) => Runtime::for_one()?.block_on(perform(console, arguments)),
    }
}

async fn serve_programs(console: &Console, arguments: &ServeArguments) -> Result<Exit, Failure> {
    #[cfg(feature = "restate")]
    let elsewhere = arguments.node.home().await?;
    #[cfg(not(feature = "restate"))]
    let elsewhere = None;
    let home = match elsewhere {
        Some(home) => home,
        None => Home::in_file(&store(console, arguments.journal.as_deref(), "serve")?).await?,
    };
    let Home { keeping, key, words, joins } = home;
    let (residents, options) = offer(console, &arguments.world, &arguments.programs, keeping).await?;
    let listener = listen("--listen", arguments.listen, arguments.reuse_port)?;
    // From here on the engine can be told where this node is.
    let joined = joins.map(|join| join(&residents));
    // One that is known already takes what comes in this moment a moment later.
    if joined.is_some()
        && let Err(error) = residents.ledger().is_writable().await
    {
        console.remark(&format!("waits: {error}"));
        let registered = until_registered(&residents);
        serve_meanwhile(&listener, registered).await.map_err(|cause| Failure::failed(format!("--listen: {cause}")))?;
    }
    let access = Access::new(residents.ledger(), options.has_strangers(), arguments.no_auth_i_know).await;
    let access = access?;
    let needs_tokens = access.needs_tokens();
    if !needs_tokens && !access.is_open() {
        let reached = if !arguments.listen.ip().is_loopback() {
            Some(format!("--listen {}", arguments.listen))
        } else if !options.hosts.is_empty() || !options.trusted_proxies.is_empty() {
            // Those that come through a proxy come from this machine.
            Some("`hosts` or `trusted_proxies` under [serve]".to_owned())
        } else {
            None
        };
        if let Some(reached) = reached {
            return Err(Failure::wrong(format!(
                "{reached}: others could reach this server, and there are no tokens; make one with `playhouse serve \
                 token new NAME --role admin`, or serve only this machine"
            )));
        }
    }
    let metrics = arguments.metrics.map(|address| listen("--metrics", address, arguments.reuse_port)).transpose()?;
    let address = listener.local_addr().map_err(|cause| Failure::failed(format!("--listen: {cause}")))?;
    let server = Server::new(residents.clone(), options, access, address, key);
    // Before anybody is told that it is there.
    let stop = ended()?;
    let n_recovered = residents.recover().await.map_err(|error| resident_failure(console, error))?;
    // Whatever is saved from here on is seen.
    let watches: Vec<_> = if arguments.watch {
        residents.programs().into_iter().map(|offered| watch(console, &residents, offered)).collect()
    } else {
        Vec::new()
    };
    put(&format!("http://{address}/\n"))?;
    let names: Vec<String> = residents.programs().iter().map(|offered| offered.name.to_string()).collect();
    let who = match needs_tokens {
        true => "with a token",
        false => "for everyone on this machine, who may do everything; `playhouse serve token new NAME` makes tokens",
    };
    console.remark(&format!("serves {} {who}; sessions are stored in {words}", names.join(", ")));
    if n_recovered > 0 {
        console.remark(&format!("continues {}", count(n_recovered, "session")));
    }
    let watching = arguments.watch.then(|| tasks::spawn(join_all(watches)));
    tell_manager(console, "READY=1");
    let stop = async {
        stop.await;
        tell_manager(console, "STOPPING=1");
    };
    server.serve(listener, metrics, stop).await;
    watching.inspect(JoinHandle::abort);
    if let Some(joined) = joined {
        // What is still called has been answered.
        let _ = joined.await;
    }
    console.remark("all sessions are saved; they continue when the server starts again");
    Ok(Exit::Finished)
}

/// Waits until what is kept elsewhere can be read.
async fn until_registered(residents: &Residents) {
    while residents.ledger().is_writable().await.is_err() {
        tokio::time::sleep(LOOK).await;
    }
}

/// Tells systemd how the server is, if that has started it and waits for it (`Type=notify`).
fn tell_manager(console: &Console, state: &str) {
    let Some(path) = notify_socket() else { return };
    let send = || UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &manager_address(&path)?);
    if let Err(error) = send() {
        let place = path.display();
        console.remark(&format!("cannot tell the service manager {state} ({place}, NOTIFY_SOCKET): {error}"));
    }
}

/// `@` begins a name that is in no folder (`sd_notify(3)`).
fn manager_address(path: &Path) -> io::Result<unix::net::SocketAddr> {
    #[cfg(target_os = "linux")]
    if let Some(name) = path.as_os_str().as_bytes().strip_prefix(b"@") {
        use std::os::linux::net::SocketAddrExt;
        return unix::net::SocketAddr::from_abstract_name(name);
    }
    unix::net::SocketAddr::from_pathname(path)
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
    let mut watch = Watch::new(&offered.files, console.color);
    // What is wrong with it now was told when it was offered.
    let _ = watch.load(&inventory(&offered.opened.world.tools));
    async move {
        loop {
            watch.saved().await;
            match watch.reload() {
                Reloaded::Same => {}
                Reloaded::Bad(findings) => {
                    console.remark(&format!("{} stays as it is:\n{findings}", offered.name));
                }
                Reloaded::Good => match residents.offer(&offered.name, &offered.files).await {
                    Ok(again) => {
                        console.remark(&format!("{} is reloaded for new sessions", offered.name));
                        // Which model it has was told at the start.
                        let of_text = |remark: &&Remark| remark.code == "findings" || remark.level == Level::Warning;
                        tell(&console, &again.opened.remarks.iter().filter(of_text).cloned().collect::<Vec<_>>());
                    }
                    Err(error) => console.remark(&format!("{} stays as it is: {error}", offered.name)),
                },
            }
        }
    }
}

async fn perform(console: &Console, arguments: &TokenArguments) -> Result<Exit, Failure> {
    #[cfg(feature = "restate")]
    let elsewhere = ledger_of(arguments.engine.as_deref()).await?;
    #[cfg(not(feature = "restate"))]
    let elsewhere = None;
    let ledger: Arc<dyn Ledger> = match elsewhere {
        Some(ledger) => ledger,
        None => {
            let place = store(console, arguments.journal.as_deref(), "serve")?;
            Arc::new(SqliteLedger::open(place.path()).await?)
        }
    };
    match &arguments.command {
        TokenCommand::New { name, role, program, forwards, .. } => {
            let role = match role {
                RoleName::User => Role::User,
                RoleName::Operator => Role::Operator,
                RoleName::Admin => Role::Admin,
            };
            let made = tokens::new_token(name, role, program.as_deref(), (SystemClock.now(), None));
            let (token, row) = made.map_err(|error| Failure::failed(format!("cannot get random numbers: {error}")))?;
            let row = TokenRow { forwards: *forwards, ..row };
            if !ledger.add_token(row).await? {
                return Err(Failure::wrong(format!(
                    "there already is a token for {name}; choose another name, or revoke that one with `playhouse \
                     serve token revoke {name}`"
                )));
            }
            put(&format!("{token}\n"))?;
            console.remark("this is shown only once: the store has only its hash");
        }
        TokenCommand::List => {
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
            put(&table(ledger.tokens().await?.iter().map(row)))?;
        }
        TokenCommand::Revoke { name } => {
            if !ledger.revoke(Arc::from(name.as_str())).await? {
                return Err(Failure::wrong(format!(
                    "there is no token for {name}; `playhouse serve token list` lists them"
                )));
            }
            console.remark(&format!("the token for {name} is revoked; a running server knows it within two seconds"));
        }
    }
    Ok(Exit::Finished)
}
