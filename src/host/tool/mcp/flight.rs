//! A call that a server works on. It goes on while a person is asked, so it is no part of the attempt that began it.

use std::sync::Arc;
use std::time::Duration;

use playhouse_lang::value::Value;
use rmcp::ServiceError;
use rmcp::model::{CallToolRequestParams, CallToolResult, InputRequest, InputResponses, ServerResult};
use serde_json::Value as Json;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::connection::Connection;
use super::error::{Trouble, of_request};
use super::flights::{Asked, Happening, News};
use crate::tasks;

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

impl Flight {
    /// Makes the call; it ends when this is dropped.
    pub(super) fn begin(connection: Arc<Connection>, params: CallToolRequestParams) -> Flight {
        let (sender, happenings) = mpsc::channel(4);
        let cancel = CancellationToken::new();
        let news = News::default();
        tasks::spawn(fly(connection, params, sender, news.clone(), cancel.clone()));
        Flight { happenings, news, _cancel: cancel.drop_guard() }
    }

    /// From now on progress goes there.
    pub(super) fn tell(&self, progress: mpsc::Sender<Value>) {
        self.news.tell(progress);
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
        let mut handle = match connection.flights.send(&connection.peer, params.clone(), happenings, news).await {
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
