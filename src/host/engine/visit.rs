//! The object `Session`, whose key is a session's id: what comes in, one after the other (spec `engine.md`, "Objects").

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use playhouse_vm::protocol::Timestamp;
use restate_sdk::prelude::{
    ContextClient, ContextReadState, ContextSideEffects, ContextWriteState, HandlerError, Json, ObjectContext,
    RunFuture,
};
use tokio::sync::watch;

use crate::engine::colleagues::News;
use crate::engine::ingress::Wait;
use crate::engine::node::{Engine, Visiting};
use crate::engine::wire::{Closing, Delivery, Visited};
use crate::journal::JournalErrorKind;
use crate::launch::LaunchError;
use crate::residents::dispatch::{Receipted, Visit};
use crate::residents::error::ResidentError;
use crate::residents::standing::Standing;
use crate::session::{SendError, SessionError};
use crate::tasks;

/// The key under which the object keeps when it wakes up.
const DUE: &str = "due";

/// So often a visit may fail for a fault of the session.
const FAILURES: u32 = 5;

/// The object.
pub(super) struct Session {
    pub(super) engine: Arc<Engine>,
}

#[allow(missing_docs, reason = "the clients that the macro makes are not used")]
#[restate_sdk::object]
impl Session {
    /// Something comes in.
    #[handler]
    async fn deliver(
        &self,
        context: ObjectContext<'_>,
        delivery: Json<Delivery>,
    ) -> Result<Json<Visited>, HandlerError> {
        let visited = self.visited(&context, delivery.into_inner()).await?;
        Ok(Json(visited))
    }

    /// Its time has come: in milliseconds since the Unix epoch.
    #[handler]
    async fn wake(&self, context: ObjectContext<'_>, due: Json<i64>) -> Result<(), HandlerError> {
        let due = due.into_inner();
        // Otherwise another visit has been since, and it is to be woken at another time.
        if context.get::<i64>(DUE).await? == Some(due) {
            context.clear(DUE);
            let id = format!("wake-{due}").into();
            self.visited(&context, Delivery { id, visit: Visit::Wake, reply_to: None }).await?;
        }
        Ok(())
    }
}

impl Session {
    async fn visited(&self, context: &ObjectContext<'_>, delivery: Delivery) -> Result<Visited, HandlerError> {
        let (engine, session): (_, Arc<str>) = (self.engine.clone(), context.key().into());
        let known = context.get::<i64>(DUE).await?;
        let visit = context.run(|| async move {
            let visited = engine.visit_once(session, delivery).await;
            Ok(visited.map(|(visited, now)| Json((visited, now)))?)
        });
        let (visited, now) = visit.name("visit").await?.into_inner();
        match visited.due {
            Some(due) if known != Some(due) => {
                context.set(DUE, due);
                let wait = u64::try_from(due.saturating_sub(now)).unwrap_or(0);
                let wake = context.object_client::<SessionClient<'_>>(context.key()).wake(Json(due));
                wake.send_after(Duration::from_millis(wait));
            }
            None if known.is_some() => context.clear(DUE),
            Some(_) | None => {}
        }
        Ok(visited)
    }
}

impl Engine {
    /// Visits a session, once for all attempts of the same visit here: how it ended, and when.
    async fn visit_once(self: Arc<Self>, session: Arc<str>, delivery: Delivery) -> Result<(Visited, i64), String> {
        let residents =
            self.residents().ok_or("this node runs no sessions: it only stores them, or is shutting down")?;
        let mut running = {
            let id = delivery.id.clone();
            let key: Arc<str> = format!("{session}/{id}").into();
            let entry = self.running.entry(key.clone());
            entry
                .or_insert_with(|| {
                    let (sender, receiver) = watch::channel(None);
                    let engine = self.clone();
                    // A task of its own: whatever becomes of the engine's connection, the session comes to its wait.
                    tasks::spawn(async move {
                        let visited = engine.clone().visit(session, delivery).await;
                        engine.running.remove(&key);
                        sender.send_replace(Some(visited));
                    });
                    receiver
                })
                .clone()
        };
        let ended = running.wait_for(Option::is_some).await;
        let visited = ended.map_err(|_| "the visit ended unexpectedly")?.clone();
        Ok((visited.unwrap_or_else(|| Err("the visit ended unexpectedly".to_owned()))?, residents.now().0))
    }

    async fn visit(self: Arc<Self>, session: Arc<str>, delivery: Delivery) -> Result<Visited, String> {
        let residents =
            self.residents().ok_or("this node runs no sessions: it only stores them, or is shutting down")?;
        let Delivery { id, visit, reply_to } = delivery;
        let visiting = Visiting { delivery: id.clone(), reply_to: reply_to.clone() };
        self.visiting.insert(session.clone(), visiting);
        let mut receipt = Receipted::Failed("the visit has ended".to_owned());
        let told = |done: Result<_, _>| {
            receipt = done.into();
            // Why the session is gone is known when the visit has ended.
            if let (Some(node), false) = (&reply_to, matches!(receipt, Receipted::Refused(SendError::Gone(_)))) {
                self.tell(node, News::Receipt(id.clone(), receipt.clone()));
            }
        };
        let left = std::panic::AssertUnwindSafe(residents.visit(&session, &visit, told)).catch_unwind().await;
        // Another visit may have come while this one was already another node's.
        self.visiting.remove_if(&session, |_, visiting| visiting.delivery == id);
        let error = match left {
            Ok(Ok(due)) => return Ok(Visited { receipt, due: due.map(|Timestamp(due)| due) }),
            Ok(Err(error)) => error,
            Err(_) => ResidentError::Session(SessionError::Vanished),
        };
        let why = format!("{}: {error}", self.node);
        let Some(attempts) = attempts(&error) else { return Err(why) };
        if let Visit::Migrate(_) = visit {
            // What was wanted is at fault: the session is as it was.
            self.let_go(&session, None).await?;
            return Ok(Visited { receipt: Receipted::Failed(error.to_string()), due: None });
        }
        // The queue must go on; whoever resumes it by hand finds the journal as it was.
        let failed: Result<u32, _> = self.ingress.call(("Log", &session, "fail"), Some(&id), None, Wait::Briefly).await;
        match failed {
            Ok(n) if n < attempts => return Err(why),
            Err(error) => return Err(format!("{why}; {error}")),
            Ok(_) => {}
        }
        let standing = Standing::failed(residents.now(), error.to_string().into());
        self.let_go(&session, serde_json::to_string(&standing).ok().map(|standing| (standing, None))).await?;
        Ok(Visited { receipt: Receipted::Failed(error.to_string()), due: None })
    }

    async fn let_go(&self, session: &str, standing: Option<(String, Option<i64>)>) -> Result<(), String> {
        let Some(owned) = self.owned.get(session).map(|owned| *owned) else { return Ok(()) };
        let closing = Closing { epoch: owned.epoch, standing };
        self.close(session, closing).await.map(|_| ()).map_err(|error| error.to_string())
    }
}

/// So often a visit may fail so until its session has failed. None: the fault is this node's, or the engine's, and another
/// attempt may go well, here or elsewhere.
fn attempts(error: &ResidentError) -> Option<u32> {
    let of_session = |error: &SessionError| match error {
        SessionError::Journal(error) => attempts_with(&error.kind),
        SessionError::TooMany { .. } | SessionError::Open(_) | SessionError::Draining => None,
        SessionError::NoSession(_)
        | SessionError::Change(_)
        | SessionError::Program(_)
        | SessionError::Replay { .. }
        | SessionError::NoPoint(_)
        | SessionError::Vanished => Some(FAILURES),
    };
    match error {
        ResidentError::NoProgram { .. } | ResidentError::TooBusy(_) => None,
        ResidentError::NoSession(_)
        | ResidentError::Taken(_)
        | ResidentError::Elsewhere(_)
        | ResidentError::Send(_) => Some(FAILURES),
        ResidentError::Journal(error) => attempts_with(&error.kind),
        ResidentError::Ended(error) => of_session(error),
        ResidentError::Session(error) | ResidentError::Launch(LaunchError::Session(error)) => of_session(error),
        ResidentError::Launch(LaunchError::Program { .. } | LaunchError::NoEntry { .. }) => Some(FAILURES),
        ResidentError::Launch(LaunchError::Journal(error)) => attempts_with(&error.kind),
        // Another node may have what this one has not.
        ResidentError::Launch(
            LaunchError::Config(_)
            | LaunchError::File(_)
            | LaunchError::Equipment(_)
            | LaunchError::Model(_)
            | LaunchError::Gone(_),
        ) => None,
    }
}

/// The same, of a journal.
fn attempts_with(kind: &JournalErrorKind) -> Option<u32> {
    match kind {
        JournalErrorKind::Fenced | JournalErrorKind::Held(_) | JournalErrorKind::Unavailable { .. } => None,
        // A node with a newer program reads it.
        JournalErrorKind::Format { .. } => None,
        // It stays full, and each attempt may cost a reply.
        JournalErrorKind::Full { .. } => Some(1),
        JournalErrorKind::Corrupt { .. }
        | JournalErrorKind::SecretsMissing { .. }
        | JournalErrorKind::Foreign(_)
        | JournalErrorKind::Unsupported(_)
        | JournalErrorKind::SessionId(_)
        | JournalErrorKind::NoSession(_)
        | JournalErrorKind::OtherSession { .. }
        | JournalErrorKind::Exists => Some(FAILURES),
    }
}
