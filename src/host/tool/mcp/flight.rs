//! A call that a server works on. It goes on while a person is asked, so it is no part of the attempt that began it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, InputRequest, InputResponses, ProgressNotificationParam, ProgressToken, RequestId, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle};
use rmcp::{RoleClient, ServiceError};
use serde_json::Value as Json;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Mask;
use super::connection::Connection;
use super::error::{Trouble, of_request};
use super::text;
use crate::value::{Map, Value};

/// How long a call may wait for a person's answers before it is given up.
const PATIENCE: Duration = Duration::from_secs(60 * 60);

/// How often a server may ask for input within one call.
const MAX_ROUNDS: usize = 32;

/// A call in flight; dropping it tells the server that nobody waits for it any more.
pub(super) struct Flight {
    pub(super) happenings: mpsc::Receiver<Happening>,
    news: News,
    _cancel: DropGuard,
}

/// What happens to a call in flight.
pub(super) enum Happening {
    /// The server asks a person.
    Asks(Box<Asked>),
    /// It is over.
    Ended(Box<Result<CallToolResult, Trouble>>),
}

/// A question of the server, and where the answer goes.
pub(super) struct Asked {
    pub(super) request: ElicitRequestParams,
    pub(super) reply: oneshot::Sender<ElicitResult>,
}

/// Where progress goes: to the attempt that waits, if one does.
#[derive(Clone, Default)]
struct News(Arc<Lock<Option<mpsc::Sender<Value>>>>);

/// The calls in flight on one connection.
#[derive(Default)]
pub(super) struct Flights(Mutex<HashMap<RequestId, Line>>);

/// The line to a call in flight.
#[derive(Clone)]
struct Line {
    token: ProgressToken,
    happenings: mpsc::Sender<Happening>,
    news: News,
    /// Whether a person is being asked on its behalf.
    is_asking: Arc<AtomicBool>,
}

impl Flight {
    /// Makes the call; it ends when this is dropped.
    pub(super) fn begin(connection: Arc<Connection>, params: CallToolRequestParams) -> Flight {
        let (sender, happenings) = mpsc::channel(4);
        let cancel = CancellationToken::new();
        let news = News::default();
        tokio::spawn(fly(connection, params, sender, news.clone(), cancel.clone()));
        Flight { happenings, news, _cancel: cancel.drop_guard() }
    }

    /// From now on progress goes there.
    pub(super) fn tell(&self, progress: mpsc::Sender<Value>) {
        *self.news.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }
}

impl Flights {
    /// Sends a call. News of it cannot come before it is known.
    async fn send(
        &self,
        connection: &Connection,
        params: CallToolRequestParams,
        happenings: &mpsc::Sender<Happening>,
        news: &News,
    ) -> Result<RequestHandle<RoleClient>, ServiceError> {
        let request = CallToolRequest::new(params);
        let mut lines = self.0.lock().await;
        let handle = connection
            .peer
            .send_request_with_option(ClientRequest::CallToolRequest(request), PeerRequestOptions::no_options())
            .await?;
        let line = Line {
            token: handle.progress_token.clone(),
            happenings: happenings.clone(),
            news: news.clone(),
            is_asking: Arc::default(),
        };
        lines.insert(handle.id.clone(), line);
        Ok(handle)
    }

    async fn forget(&self, id: &RequestId) {
        self.0.lock().await.remove(id);
    }

    /// News of a call.
    pub(super) async fn progress(&self, progress: ProgressNotificationParam, mask: &Mask) {
        let lines = self.0.lock().await;
        let Some(line) = lines.values().find(|line| line.token == progress.progress_token) else { return };
        let mut members = Map::new();
        if let Some(message) = &progress.message {
            members.insert("message".into(), Value::from(text::words(message, text::MAX_SUMMARY)));
        }
        for (name, number) in [("progress", Some(progress.progress)), ("total", progress.total)] {
            if let Some(number) = number.and_then(|number| serde_json::from_value(Json::from(number)).ok()) {
                members.insert(name.into(), number);
            }
        }
        let value = mask.value(Value::map(members));
        let sender = line.news.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(sender) = sender {
            // What does not fit is dropped.
            let _ = sender.try_send(value);
        }
    }

    /// A question of the server. `origin` is the call on whose behalf it is asked, if the transport knows it; else it
    /// is the only call that is not waiting for an answer. Where there are several nobody is asked: it could be the
    /// wrong person.
    pub(super) async fn ask(&self, request: ElicitRequestParams, origin: Option<&RequestId>) -> ElicitResult {
        let line = {
            let lines = self.0.lock().await;
            match origin {
                Some(id) => lines.get(id).cloned(),
                None => {
                    let mut idle = lines.values().filter(|line| !line.is_asking.load(Ordering::Relaxed));
                    idle.next().filter(|_| idle.next().is_none()).cloned()
                }
            }
        };
        let cancelled = ElicitResult::new(ElicitationAction::Cancel);
        let Some(line) = line else {
            tracing::warn!("a server asks something on behalf of no call, or of nobody knows which; nobody was asked");
            return cancelled;
        };
        let (reply, answer) = oneshot::channel();
        line.is_asking.store(true, Ordering::Relaxed);
        let asked = Happening::Asks(Box::new(Asked { request, reply }));
        let answer = match line.happenings.send(asked).await {
            Ok(()) => answer.await.unwrap_or(cancelled),
            Err(_) => cancelled,
        };
        line.is_asking.store(false, Ordering::Relaxed);
        answer
    }
}

async fn fly(
    connection: Arc<Connection>,
    params: CallToolRequestParams,
    happenings: mpsc::Sender<Happening>,
    news: News,
    cancel: CancellationToken,
) {
    let out_of_patience = tokio::time::sleep(PATIENCE);
    let ended = {
        let work = rounds(&connection, params, &happenings, &news, &cancel);
        tokio::pin!(work);
        tokio::select! {
            ended = &mut work => ended,
            () = out_of_patience => {
                cancel.cancel();
                // The server is told.
                work.await;
                Some(Err(Trouble::Failed("nobody answered its question in time".to_owned())))
            }
        }
    };
    if let Some(mut ended) = ended {
        if let Err(Trouble::Lost(words)) = &mut ended {
            connection.give_up();
            if let Some(why) = connection.post_mortem().await {
                *words = why;
            }
        }
        let _ = happenings.send(Happening::Ended(Box::new(ended))).await;
    }
}

/// The call, made again each time the server wants input first; none if it was cancelled.
async fn rounds(
    connection: &Connection,
    mut params: CallToolRequestParams,
    happenings: &mpsc::Sender<Happening>,
    news: &News,
    cancel: &CancellationToken,
) -> Option<Result<CallToolResult, Trouble>> {
    for _ in 0..MAX_ROUNDS {
        let mut handle = match connection.flights.send(connection, params.clone(), happenings, news).await {
            Ok(handle) => handle,
            Err(error) => return Some(Err(of_request(&error))),
        };
        let id = handle.id.clone();
        let response = tokio::select! {
            response = &mut handle.rx => Some(response),
            () = cancel.cancelled() => {
                // It may have gone meanwhile.
                let _ = handle.cancel(Some("nobody waits for the result any more".to_owned())).await;
                None
            }
            () = connection.gone.cancelled() => Some(Ok(Err(ServiceError::TransportClosed))),
        };
        connection.flights.forget(&id).await;
        let response = match response?.unwrap_or(Err(ServiceError::TransportClosed)) {
            Ok(response) => response,
            Err(error) => return Some(Err(of_request(&error))),
        };
        let required = if let ServerResult::CallToolResult(result) = response {
            return Some(Ok(result));
        } else if let ServerResult::InputRequiredResult(required) = response {
            required
        } else {
            return Some(Err(of_request(&ServiceError::UnexpectedResponse)));
        };
        let mut responses = InputResponses::new();
        for (key, request) in required.input_requests.unwrap_or_default() {
            let InputRequest::Elicitation(request) = request else {
                let words = "the server asks for the model or for folders, which are not offered to servers";
                return Some(Err(Trouble::Failed(words.to_owned())));
            };
            let (reply, answer) = oneshot::channel();
            let asked = Happening::Asks(Box::new(Asked { request: request.params, reply }));
            happenings.send(asked).await.ok()?;
            let answer = tokio::select! {
                answer = answer => answer.ok()?,
                () = cancel.cancelled() => return None,
                () = connection.gone.cancelled() => {
                    return Some(Err(Trouble::Lost("closed the connection".to_owned())));
                }
            };
            responses.insert(key, serde_json::to_value(answer).unwrap_or(Json::Null));
        }
        params.input_responses = Some(responses);
        params.request_state = required.request_state;
    }
    Some(Err(Trouble::Failed(format!("the server asked for input {MAX_ROUNDS} times and still has no result"))))
}
