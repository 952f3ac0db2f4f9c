//! Connections to a server: TLS wherever the way is not this machine's own, and statements that are ended with whoever
//! waits for them.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::task::JoinHandle;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{CancelToken, Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::net;
use crate::resource::ResourceError;
use crate::resource::sql::PostgresConfig;
use crate::tasks;

/// How long a connection may take to close.
const CLOSING: Duration = Duration::from_secs(1);

/// A server and how to reach it.
pub(super) struct Server {
    config: Config,
    /// None: without TLS.
    tls: Option<MakeRustlsConnect>,
    shown: Arc<str>,
}

/// A connection with the task that moves its bytes.
pub(super) struct Connected {
    pub(super) client: Client,
    task: JoinHandle<()>,
}

impl Server {
    pub(super) fn new(settings: &PostgresConfig) -> Result<Server, ResourceError> {
        // The parser's own words may hold a piece of the password.
        let mut config = Config::from_str(&settings.url).map_err(|_| {
            ResourceError::new(
                "its `url` cannot be read",
                "write `postgres://user:password@host:port/database`; in a password, percent-encode `@`, `:`, `/` and `%`",
            )
        })?;
        if config.get_hosts().is_empty() {
            return Err(ResourceError::new("its `url` names no host", "write `postgres://user@host/database`"));
        }
        config.connect_timeout(settings.timeout).application_name("playhouse");
        let is_local = config.get_hosts().iter().all(is_local);
        match (config.get_ssl_mode(), is_local) {
            // What has not been decided: on this machine nobody listens in, elsewhere anybody could, and a server that
            // says it knows no TLS would be believed.
            (SslMode::Prefer, true) => config.ssl_mode(SslMode::Disable),
            (SslMode::Prefer, false) => config.ssl_mode(SslMode::Require),
            (_, _) => &mut config,
        };
        let is_plain = config.get_ssl_mode() == SslMode::Disable;
        let tls = if is_plain { None } else { Some(tls(settings.certificates.as_deref())?) };
        Ok(Server { shown: shown(&config).into(), config, tls })
    }

    /// Host and port, nothing of users and passwords.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    pub(super) async fn connect(&self) -> Result<Connected, ResourceError> {
        let connected = match &self.tls {
            None => {
                let connected = self.config.connect(NoTls).await;
                connected.map(|(client, connection)| (client, tasks::spawn(finish(connection))))
            }
            Some(tls) => {
                let connected = self.config.connect(tls.clone()).await;
                connected.map(|(client, connection)| (client, tasks::spawn(finish(connection))))
            }
        };
        let (client, task) = connected.map_err(|error| {
            let cause = match error.as_db_error() {
                Some(cause) => cause.message().to_owned(),
                None => net::innermost(&error),
            };
            let advice = "check its `url`, and that the server runs and accepts this user";
            ResourceError::new(format!("{} cannot be reached: {cause}", self.shown), advice)
        })?;
        Ok(Connected { client, task })
    }
}

impl Connected {
    /// A guard that ends what the connection does if it is dropped before its time.
    pub(super) fn cancel_on_drop(&self, server: &Server) -> CancelOnDrop {
        CancelOnDrop(Some((self.client.cancel_token(), server.tls.clone())))
    }

    pub(super) async fn close(self) {
        drop(self.client);
        let _ = tokio::time::timeout(CLOSING, self.task).await;
    }
}

/// Ends a statement that nobody waits for; the connection is then closed, not used again.
pub(super) struct CancelOnDrop(Option<(CancelToken, Option<MakeRustlsConnect>)>);

impl CancelOnDrop {
    pub(super) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some((token, tls)) = self.0.take() else { return };
        if tokio::runtime::Handle::try_current().is_ok() {
            tasks::spawn(async move {
                let cancelled = match tls {
                    Some(tls) => token.cancel_query(tls).await,
                    None => token.cancel_query(NoTls).await,
                };
                if let Err(error) = cancelled {
                    tracing::warn!("a statement could not be cancelled: {error}");
                }
            });
        }
    }
}

async fn finish<S, T>(connection: tokio_postgres::Connection<S, T>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    if let Err(error) = connection.await {
        tracing::warn!("a connection to PostgreSQL broke: {error}");
    }
}

fn tls(certificates: Option<&str>) -> Result<MakeRustlsConnect, ResourceError> {
    net::provide_tls();
    let Some(certificates) = certificates else {
        return MakeRustlsConnect::with_native_certs().map(|(tls, _)| tls).map_err(|errors| {
            let cause = errors.first().map_or_else(|| "there are none".to_owned(), ToString::to_string);
            ResourceError::new(
                format!("the certificates of this system cannot be read: {cause}"),
                "give a file with the server's certificate authority in `certificates`",
            )
        });
    };
    let unusable = |cause: String| {
        ResourceError::new(format!("its `certificates` cannot be used: {cause}"), "give certificates in PEM format")
    };
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(certificates.as_bytes()) {
        let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
        roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(unusable("there is none in the file".to_owned()));
    }
    Ok(MakeRustlsConnect::new(rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()))
}

fn is_local(host: &Host) -> bool {
    match host {
        #[cfg(unix)]
        Host::Unix(_) => true,
        Host::Tcp(name) => net::is_loopback(name),
    }
}

fn shown(config: &Config) -> String {
    let hosts = config.get_hosts().iter().enumerate().map(|(index, host)| {
        let ports = config.get_ports();
        let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432);
        match host {
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
            Host::Tcp(name) => format!("{name}:{port}"),
        }
    });
    format!("the PostgreSQL server {}", hosts.collect::<Vec<_>>().join(", "))
}
