//! Where a server is, and how its tools are called.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::secrets::Secrets;
pub use crate::tool::generation::Generation;

/// How to reach a server, and how its tools are called.
#[derive(Clone)]
pub struct McpOptions {
    /// The first part of all names of its tools; an identifier of the language.
    pub name: Arc<str>,
    /// Where it is.
    pub transport: Transport,
    /// Which generation of the protocol is spoken.
    pub generation: Generation,
    /// How long one call may take, with all its attempts.
    pub timeout: Duration,
    /// How long the server may take until it is ready, and for each list that it is asked for.
    pub start_timeout: Duration,
    /// How many calls of each of its tools may run at a time; none: any number.
    pub concurrency: Option<usize>,
    /// What must not be seen in anything that comes from it.
    pub secrets: Arc<Secrets>,
}

/// Where a server is.
#[derive(Clone)]
pub enum Transport {
    /// A process of our own, on its standard input and output. It ends when the server is closed or dropped.
    Command {
        /// The program and its arguments.
        command: Vec<String>,
        /// Where it runs.
        folder: PathBuf,
        /// All of its environment; nothing is inherited, `PATH` neither.
        environment: Vec<(String, String)>,
    },
    /// Streamable HTTP.
    Url {
        /// The address of the endpoint.
        url: String,
        /// Sent with every request.
        headers: Vec<(String, String)>,
    },
    /// Whatever `Dial` opens; one message a line. For embedding and for tests.
    Stream(Dial),
}

/// What comes from a server.
pub type Incoming = Box<dyn AsyncRead + Send + Unpin>;

/// What goes to a server.
pub type Outgoing = Box<dyn AsyncWrite + Send + Unpin>;

/// Opens a byte stream to a server; called again for each new connection.
pub type Dial = Arc<dyn Fn() -> BoxFuture<'static, io::Result<(Incoming, Outgoing)>> + Send + Sync>;

impl McpOptions {
    /// A server of this name there; all else as usual.
    pub fn new(name: impl Into<Arc<str>>, transport: Transport) -> McpOptions {
        McpOptions {
            name: name.into(),
            transport,
            generation: Generation::Auto,
            timeout: Duration::from_secs(60),
            start_timeout: Duration::from_secs(60),
            concurrency: None,
            secrets: Arc::default(),
        }
    }

    /// Where the server is, in words that may be shown: no arguments, no credentials, no query.
    pub(super) fn place(&self) -> String {
        match &self.transport {
            Transport::Command { command, .. } => match command.first() {
                Some(program) => format!("`{program}`"),
                None => "a command".to_owned(),
            },
            Transport::Url { url, .. } => match url.parse::<http::Uri>() {
                Ok(uri) => {
                    let port = uri.port().map(|port| format!(":{port}")).unwrap_or_default();
                    let (scheme, host) = (uri.scheme_str().unwrap_or("http"), uri.host().unwrap_or_default());
                    format!("{scheme}://{host}{port}{}", uri.path())
                }
                Err(_) => "its address".to_owned(),
            },
            Transport::Stream(_) => "its stream".to_owned(),
        }
    }
}

// Neither commands nor headers: they may hold keys.
impl fmt::Debug for McpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpOptions").field("name", &self.name).field("place", &self.place()).finish_non_exhaustive()
    }
}
