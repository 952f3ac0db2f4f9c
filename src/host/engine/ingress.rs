//! The engine's door for calls: HTTP with JSON.

use std::time::Duration;

use reqwest::{Client, StatusCode, Url};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::time::{Instant, sleep, timeout_at};

use crate::journal::JournalError;
use crate::net::{client, innermost, is_loopback};

/// So long a call is tried that waits for no session: longer, and whoever waits for it is told so (spec `engine.md`,
/// "Limits and failure").
const PATIENCE: Duration = Duration::from_secs(5);

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(100);

/// What is said of an engine that does not answer.
const ADVICE: &str = "check that it runs and can be reached, then try again";

/// The door.
pub(super) struct Ingress {
    client: Client,
    address: Url,
}

/// How long somebody waits for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// A few seconds.
    Briefly,
    /// Until it comes, as long as the engine can be reached: it may wait for others before it.
    AsLongAsItTakes,
}

impl Ingress {
    /// The door at an address.
    ///
    /// # Errors
    /// It cannot be used, in words.
    pub(super) fn at(address: &str) -> Result<Ingress, String> {
        let address: Url = address.parse().map_err(|error| format!("{address} is not an address: {error}"))?;
        let host = address.host_str().unwrap_or_default();
        let client = client(address.scheme() == "https", is_loopback(host))
            .connect_timeout(PATIENCE)
            .tcp_nodelay(true)
            .build()
            .map_err(|error| format!("{address}: {}", innermost(&error)))?;
        Ok(Ingress { client, address })
    }

    /// Where it is, for messages.
    pub(super) fn location(&self) -> String {
        self.address.to_string()
    }

    /// Whether it answers at all.
    ///
    /// # Errors
    /// It does not.
    pub(super) async fn is_there(&self) -> Result<(), JournalError> {
        let mut url = self.address.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["restate", "health"]);
        }
        let answer = timeout_at(Instant::now() + PATIENCE, self.client.get(url).send()).await;
        let answer = answer.map_err(|_| self.fault(format!("no answer within {} s", PATIENCE.as_secs())))?;
        let answer = answer.map_err(|error| self.fault(innermost(&error)))?;
        match answer.status().is_success() {
            true => Ok(()),
            false => Err(self.fault(format!("{} from its health check", answer.status()))),
        }
    }

    /// Asks an object's handler. With an id, however often it is asked, it is once.
    ///
    /// # Errors
    /// It cannot be reached in time, or has no such object.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        (object, key, handler): (&str, &str, &str),
        body: Option<&(impl Serialize + Sync)>,
        id: Option<&str>,
        wait: Wait,
    ) -> Result<T, JournalError> {
        self.ask(&[object, key, handler], body, id, wait).await
    }

    /// The same, when its time comes: nobody waits for the answer.
    ///
    /// # Errors
    /// As for [`Ingress::call`]: nothing is handed in then.
    pub(super) async fn send(
        &self,
        (object, key, handler): (&str, &str, &str),
        body: &(impl Serialize + Sync),
        id: &str,
    ) -> Result<(), JournalError> {
        let path = [object, key, handler, "send"];
        self.ask(&path, Some(body), Some(id), Wait::Briefly).await.map(|IgnoredAny| ())
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: Option<&(impl Serialize + Sync)>,
        id: Option<&str>,
        wait: Wait,
    ) -> Result<T, JournalError> {
        let object = path.first().copied().unwrap_or_default();
        let mut url = self.address.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut request = self.client.post(url.clone());
            if let Some(body) = body {
                // Writing JSON of our own types into memory cannot fail.
                let body = serde_json::to_vec(body).unwrap_or_default();
                request = request.header("content-type", "application/json").body(body);
            }
            if let Some(id) = id {
                request = request.header("idempotency-key", id);
            }
            let answer = async {
                let answer = request.send().await?;
                let status = answer.status();
                answer.bytes().await.map(|bytes| (status, bytes))
            };
            let answer = match wait {
                Wait::Briefly => match timeout_at(deadline, answer).await {
                    Ok(answer) => answer,
                    Err(_) => return Err(self.fault(format!("no answer within {} s", PATIENCE.as_secs()))),
                },
                Wait::AsLongAsItTakes => answer.await,
            };
            let why = match answer {
                Ok((status, bytes)) if status.is_success() => {
                    return serde_json::from_slice(&bytes).map_err(|error| self.fault(format!("{object}: {error}")));
                }
                Ok((StatusCode::NOT_FOUND, _)) => {
                    return Err(JournalError::unavailable(
                        self.location(),
                        "use",
                        format!("no node is registered there (it has no {object})"),
                        "register a node with `playhouse engine register URI`",
                    ));
                }
                Ok((status, bytes)) => {
                    let why = format!("{status}: {}", String::from_utf8_lossy(&bytes));
                    if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS {
                        return Err(self.fault(why));
                    }
                    why
                }
                Err(error) => innermost(&error),
            };
            if Instant::now() + PAUSE >= deadline {
                return Err(self.fault(why));
            }
            sleep(PAUSE).await;
        }
    }

    fn fault(&self, why: String) -> JournalError {
        JournalError::unavailable(self.location(), "reach the engine of", why, ADVICE)
    }
}
