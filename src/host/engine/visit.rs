//! The object `Session`, whose key is a session's id: what comes in, one after the other (spec `engine.md`, "Objects").

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use restate_sdk::prelude::{
    ContextClient, ContextReadState, ContextSideEffects, ContextWriteState, HandlerError, Json, ObjectContext,
    RunFuture,
};
use tokio::sync::watch;

use crate::host::engine::colleagues::News;
use crate::host::engine::ingress::Wait;
use crate::host::engine::node::{Engine, Visiting};
use crate::host::engine::wire::{Closing, Delivery, Visited};
use crate::host::journal::JournalErrorKind;
use crate::host::launch::LaunchError;
use crate::host::residents::dispatch::{Receipted, Visit};
use crate::host::residents::error::ResidentError;
use crate::host::residents::standing::Standing;
use crate::host::residents::visit::Left;
use crate::host::session::SessionError;
use crate::vm::protocol::Timestamp;

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
        let residents = self.residents().ok_or("this node is about to end")?;
        let mut running = {
            let id = delivery.id.clone();
            let key: Arc<str> = format!("{session}/{id}").into();
            let entry = self.running.entry(key.clone());
            entry
                .or_insert_with(|| {
                    let (sender, receiver) = watch::channel(None);
                    let engine = self.clone();
                    // A task of its own: whatever becomes of the engine's connection, the session comes to its wait.
                    tokio::spawn(async move {
                        let visited = engine.clone().visit(session, delivery).await;
                        engine.running.remove(&key);
                        sender.send_replace(Some(visited));
                    });
                    receiver
                })
                .clone()
        };
        let ended = running.wait_for(Option::is_some).await;
        let visited = ended.map_err(|_| "the visit has ended unexpectedly")?.clone();
        Ok((visited.unwrap_or_else(|| Err("the visit has ended unexpectedly".to_owned()))?, residents.now().0))
    }

    async fn visit(self: Arc<Self>, session: Arc<str>, delivery: Delivery) -> Result<Visited, String> {
        let residents = self.residents().ok_or("this node is about to end")?;
        let Delivery { id, visit, reply_to } = delivery;
        let visiting = Visiting { delivery: id.clone(), reply_to: reply_to.clone() };
        self.visiting.insert(session.clone(), visiting);
        let mut receipt = Receipted::Failed("the visit has come to its end".to_owned());
        let told = |done: Result<_, _>| {
            receipt = done.into();
            if let Some(node) = &reply_to {
                self.tell(node, News::Receipt(id.clone(), receipt.clone()));
            }
        };
        let left = std::panic::AssertUnwindSafe(residents.visit(&session, &visit, told)).catch_unwind().await;
        // Another visit may have come while this one was already another node's.
        self.visiting.remove_if(&session, |_, visiting| visiting.delivery == id);
        let error = match left {
            Ok(Ok(Left { due })) => return Ok(Visited { receipt, due: due.map(|Timestamp(due)| due) }),
            Ok(Err(error)) => error,
            Err(_) => ResidentError::Session(SessionError::Vanished),
        };
        let why = format!("{}: {error}", self.node);
        if !is_of_session(&error) {
            return Err(why);
        }
        if let Visit::Migrate(_) = visit {
            // What was wanted is at fault: the session is as it was.
            self.let_go(&session, None).await?;
            return Ok(Visited { receipt: Receipted::Failed(error.to_string()), due: None });
        }
        // The queue must go on; whoever resumes it by hand finds the journal as it was.
        let failed: Result<u32, _> = self.ingress.call(("Log", &session, "fail"), Some(&id), None, Wait::Briefly).await;
        match failed {
            Ok(n) if n < FAILURES => return Err(why),
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

/// Whether every node would fail so: the fault is the session's, not this node's, nor the engine's.
fn is_of_session(error: &ResidentError) -> bool {
    let of_session = |error: &SessionError| match error {
        SessionError::Journal(error) => is_for_good(&error.kind),
        SessionError::TooMany { .. } | SessionError::Open(_) | SessionError::Draining => false,
        SessionError::NoSession(_)
        | SessionError::Change(_)
        | SessionError::Program(_)
        | SessionError::Replay { .. }
        | SessionError::NoPoint(_)
        | SessionError::Vanished => true,
    };
    match error {
        ResidentError::NoProgram { .. } | ResidentError::TooBusy(_) => false,
        ResidentError::NoSession(_)
        | ResidentError::Taken(_)
        | ResidentError::Elsewhere(_)
        | ResidentError::Send(_) => true,
        ResidentError::Journal(error) => is_for_good(&error.kind),
        ResidentError::Ended(error) => of_session(error),
        ResidentError::Session(error) | ResidentError::Launch(LaunchError::Session(error)) => of_session(error),
        ResidentError::Launch(LaunchError::Program { .. } | LaunchError::NoEntry { .. }) => true,
        ResidentError::Launch(LaunchError::Journal(error)) => is_for_good(&error.kind),
        // Another node may have what this one has not.
        ResidentError::Launch(
            LaunchError::Config(_)
            | LaunchError::File(_)
            | LaunchError::Equipment(_)
            | LaunchError::Model(_)
            | LaunchError::Gone(_),
        ) => false,
    }
}

/// Whether a journal stays so, whoever opens it.
fn is_for_good(kind: &JournalErrorKind) -> bool {
    match kind {
        JournalErrorKind::Fenced | JournalErrorKind::Held(_) | JournalErrorKind::Unavailable { .. } => false,
        // A node with a newer program reads it.
        JournalErrorKind::Format { .. } => false,
        JournalErrorKind::Corrupt { .. }
        | JournalErrorKind::Full { .. }
        | JournalErrorKind::SecretsMissing { .. }
        | JournalErrorKind::Foreign(_)
        | JournalErrorKind::Unsupported(_)
        | JournalErrorKind::SessionId(_)
        | JournalErrorKind::NoSession(_)
        | JournalErrorKind::OtherSession { .. }
        | JournalErrorKind::Exists => true,
    }
}
