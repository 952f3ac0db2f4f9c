//! AG-UI 1.0 (spec `serving.md`, section 9): a thread is a session, and a run is what it does until it stops for a person.
//! What a client says of state, context and tools has no effect, as no client rewrites the program.

pub(super) mod input;
mod run;
mod tell;
mod thread;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use futures_util::stream::unfold;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::host::events::PublicEvent;
use crate::host::tasks;
use crate::serve::http::access::caller::Caller;
use crate::serve::http::agui::input::RunInput;
use crate::serve::http::agui::run::Run;
use crate::serve::http::agui::tell::Telling;
use crate::serve::http::answers::live::Ending;
use crate::serve::http::body::{PING, Path, Typed, event_stream, ping};
use crate::serve::http::limits::Counted;
use crate::serve::http::problem::Problem;
use crate::serve::http::relay::Unplaced;
use crate::serve::http::server::Server;

/// `POST /agui/{program}`.
pub(super) async fn run(
    State(server): State<Arc<Server>>,
    caller: Caller,
    incoming: Unplaced,
    Path(program): Path<String>,
    Typed(input): Typed<RunInput>,
) -> Result<Response, Problem> {
    let wanted = input.read()?;
    server.residents.check_open()?;
    server.limits.message(&caller)?;
    let counted = server.limits.stream(&caller)?;
    let (served, is_new) = server.thread(&caller, &program, &wanted).await?;
    if !incoming.is_relayed() && server.residents.other_holder(&served.session).await.is_some() {
        return Ok(incoming.pass_on(&server, &served.session, &input).await);
    }
    let mut telling = Telling::new(&server, &caller, &served, &wanted);
    let run = Run { server: server.clone(), caller, served, is_new, wanted };
    let begun = run.begin().await?;
    telling.begin(begun.began).await?;
    let (sender, events) = unbounded_channel();
    // It goes on, also if nobody hears it any more.
    let ending = tasks::spawn(run.go_on(begun, sender));
    let hearing = Hearing { telling, events, ending: Some(ending), _counted: counted };
    Ok(event_stream(unfold(hearing, |mut hearing| async move { Some((hearing.next().await?, hearing)) })))
}

/// Somebody who hears a run.
struct Hearing {
    telling: Telling,
    events: UnboundedReceiver<Arc<PublicEvent>>,
    /// How it ends; none: that is told.
    ending: Option<JoinHandle<Result<Ending, Problem>>>,
    _counted: Counted,
}

impl Hearing {
    /// What is sent next.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let told = self.telling.take();
            if !told.is_empty() {
                return Some(told.into());
            }
            self.ending.as_ref()?;
            match timeout(PING, self.events.recv()).await {
                Err(_) => return Some(ping()),
                Ok(Some(event)) => self.telling.hear(&event),
                Ok(None) => {
                    let ended = self.ending.take()?.await;
                    let lost = || Problem::internal("the run was lost; please report this");
                    self.telling.end(ended.unwrap_or_else(|_| Err(lost())));
                }
            }
        }
    }
}
