//! `run --debug-listen`: a program that runs can be debugged by whoever connects.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::host::session::Session;
use crate::host::tasks;
use crate::serve::cli::machinery::console::{Console, Failure};
use crate::serve::cli::machinery::ending;
use crate::serve::dap::accept::accept;
use crate::serve::dap::{AttachArguments, Door, LaunchArguments, Launched, Reached, Running, Subject, serve};

/// Debuggers hear that the program has ended; they have so long to take leave.
const LEAVE_WITHIN: Duration = Duration::from_secs(1);

/// An address at which debuggers are listened to, as long as this is there.
pub(crate) struct Listening {
    running: Arc<Mutex<Option<Running>>>,
    connections: Arc<Mutex<JoinSet<()>>>,
    accepting: tokio::task::JoinHandle<()>,
    address: SocketAddr,
    /// Where that is told: before a program runs, whoever attaches would be sent away.
    told: Once,
}

impl Listening {
    /// Begins to listen.
    pub(crate) async fn open(console: &Console, address: SocketAddr) -> Result<Listening, Failure> {
        let (listener, address) = bind(console, address, "--debug-listen").await?;
        let running = Arc::new(Mutex::new(None));
        let connections = Arc::new(Mutex::new(JoinSet::new()));
        let door: Arc<dyn Door> = Arc::new(RunningDoor { running: running.clone() });
        let accepted = connections.clone();
        let accepting = tasks::spawn(async move {
            loop {
                let (stream, _) = accept(|| listener.accept()).await;
                let (reader, writer) = stream.into_split();
                let mut accepted = accepted.lock().unwrap_or_else(PoisonError::into_inner);
                while accepted.try_join_next().is_some() {}
                accepted.spawn(serve(reader, writer, door.clone()).boxed());
            }
        });
        Ok(Listening { running, connections, accepting, address, told: Once::new() })
    }

    /// A program is about to run. With the first it is told where it can be debugged.
    pub(crate) fn show(&self, console: &Console, session: &Session, subject: &ending::Subject) {
        let ending::Subject { program, is_plan, .. } = subject;
        let subject = Subject { program: program.clone(), is_plan: *is_plan };
        let running = Running { handle: session.handle(), subject };
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
        self.told.call_once(|| tell_address(console, self.address));
    }

    /// It has ended: debuggers are given the time to hear of it.
    pub(crate) async fn hide(&self) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let mut connections = std::mem::take(&mut *self.connections.lock().unwrap_or_else(PoisonError::into_inner));
        // Those that stay longer are cut off with their connections.
        let _ = tokio::time::timeout(LEAVE_WITHIN, async { while connections.join_next().await.is_some() {} }).await;
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Tells where a debugger can attach.
pub(crate) fn tell_address(console: &Console, address: SocketAddr) {
    console.remark(&format!("a debugger can attach at {address}"));
}

/// Listens at an address, and gives it with its port; what is not of this machine is warned of.
pub(crate) async fn bind(
    console: &Console,
    address: SocketAddr,
    option: &str,
) -> Result<(TcpListener, SocketAddr), Failure> {
    let wrong =
        |cause| Failure::wrong(format!("{option} {address}: cannot listen: {cause}; choose another port, or 0"));
    let listener = TcpListener::bind(address).await.map_err(wrong)?;
    let address = listener.local_addr().map_err(wrong)?;
    if !address.ip().is_loopback() {
        console.warning(&format!(
            "{option} {address}: anyone who can reach this address can see the program's data and run programs as \
             you; 127.0.0.1 is for this machine only"
        ));
    }
    Ok((listener, address))
}

/// The way to the program that runs in this process.
struct RunningDoor {
    running: Arc<Mutex<Option<Running>>>,
}

impl Door for RunningDoor {
    fn launch(&self, _: LaunchArguments, _: bool) -> BoxFuture<'_, Result<Launched, String>> {
        let refusal = "a program is already running here; attach to it, or launch another one with `playhouse debug`";
        Box::pin(async move { Err(refusal.to_owned()) })
    }

    fn attach(&self, arguments: &AttachArguments) -> Result<Reached, String> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let running = running.ok_or("no session is running here at the moment; try again")?;
        match &arguments.session {
            Some(wanted) if **wanted != **running.handle.id() => Err(format!(
                "session {} is running here, not {wanted}; attach without naming a session, or to that one",
                running.handle.id()
            )),
            Some(_) | None => Ok(Reached::Here(running)),
        }
    }
}
