//! The calls in flight on one connection, and what happens to them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as Lock, PoisonError};

use playhouse_lang::value::{Map, Value};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ProgressNotificationParam, ProgressToken, RequestId,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle};
use rmcp::{RoleClient, ServiceError};
use serde_json::Value as Json;
use tokio::sync::{Mutex, mpsc, oneshot};

use super::error::Trouble;
use super::text;
use crate::secrets::Secrets;

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
pub(super) struct News(Arc<Lock<Option<mpsc::Sender<Value>>>>);

impl News {
    /// From now on progress goes there.
    pub(super) fn tell(&self, progress: mpsc::Sender<Value>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }
}

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

impl Flights {
    /// Sends a call. News of it cannot come before it is known.
    pub(super) async fn send(
        &self,
        peer: &Peer<RoleClient>,
        params: CallToolRequestParams,
        happenings: &mpsc::Sender<Happening>,
        news: &News,
    ) -> Result<RequestHandle<RoleClient>, ServiceError> {
        let request = CallToolRequest::new(params);
        let mut lines = self.0.lock().await;
        let request = ClientRequest::CallToolRequest(request);
        let handle = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await?;
        let line = Line {
            token: handle.progress_token.clone(),
            happenings: happenings.clone(),
            news: news.clone(),
            is_asking: Arc::default(),
        };
        lines.insert(handle.id.clone(), line);
        Ok(handle)
    }

    pub(super) async fn forget(&self, id: &RequestId) {
        self.0.lock().await.remove(id);
    }

    /// News of a call.
    pub(super) async fn progress(&self, progress: ProgressNotificationParam, secrets: &Secrets) {
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
        let value = secrets.mask_value(Value::map(members));
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
            tracing::warn!("a server asked something outside of any call, or in an unknown one; nobody was asked");
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
