//! A request is answered: from what it has set going until the session stops for somebody, or the client would give up.

use std::mem::take;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolResponse, ClientResult, ElicitRequest, ElicitResult, ProgressNotificationParam, RequestStateCodec,
    ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RequestHandle};
use tokio::time::{Instant, interval_at, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::host::events::{Mark, PublicBody, PublicEvent};
use crate::host::ledger::Served;
use crate::host::residents::Residents;
use crate::host::residents::error::ResidentError;
use crate::host::residents::feed::{Heard, Until};
use crate::host::residents::standing::{Asked, Standing, State};
use crate::host::serve_options::Approvals;
use crate::host::session::{Deed, Refusal, SendError};
use crate::serve::http::access::caller::Caller;
use crate::serve::mcp::ask::{Means, Question, Sealed};
use crate::serve::mcp::result::{Told, Wrong};

/// So long a program may be at work before the client is told to come back: clients give up at 60 s.
const AT_WORK: Duration = Duration::from_secs(50);

/// So long a form may lie before a person while the request waits.
const FORM_STANDS: Duration = Duration::from_secs(600);

/// So often a client that wants it hears that something is done.
const PROGRESS: Duration = Duration::from_secs(10);

/// What all requests of a server share.
pub(super) struct Shared {
    pub(super) residents: Arc<Residents>,
    pub(super) approvals: Approvals,
    /// What clients hold for us between rounds is sealed with the server's key.
    pub(super) seal: RequestStateCodec,
    /// Clients are going away, and none means it when its requests end.
    pub(super) ending: CancellationToken,
}

/// A request that is being answered.
pub(super) struct Request<'a> {
    pub(super) shared: &'a Shared,
    pub(super) caller: &'a Caller,
    pub(super) context: &'a RequestContext<RoleServer>,
    /// The tool that was called.
    pub(super) tool: &'a str,
    /// Whether it also waits for what its client cannot bring about.
    pub(super) is_patient: bool,
}

/// What has been heard of a session since the user last spoke.
#[derive(Default)]
pub(super) struct Exchange {
    /// What the program has said, by the number of the utterance.
    said: Vec<(u64, String)>,
    /// The utterance that is being said.
    utterance: u64,
    /// It waits for a person, or is over.
    has_stopped: bool,
    heard: Option<Mark>,
    /// A stop counts from this mark on.
    goal: Option<Mark>,
    /// What the user has begun the session with: said when the program first waits for them.
    opening: Option<String>,
    /// That is said: what the program has said before belongs to its first answer.
    is_opened: bool,
}

impl Exchange {
    /// What comes after a mark.
    pub(super) fn from(goal: Mark) -> Exchange {
        Exchange { goal: Some(goal), ..Exchange::default() }
    }

    /// From the beginning of a session that the user has begun with these words, if any.
    pub(super) fn begun_with(opening: Option<String>) -> Exchange {
        Exchange { opening, ..Exchange::default() }
    }

    fn hear(&mut self, event: &PublicEvent) {
        let Some(mark) = event.mark else { return };
        self.heard = Some(mark);
        #[expect(clippy::wildcard_enum_match_arm, reason = "what is neither said nor waited for changes nothing here")]
        match &event.body {
            PublicBody::SaidDelta { utterance, .. } => self.utterance = *utterance,
            PublicBody::Said { text } => self.said.push((self.utterance, text.to_string())),
            PublicBody::StreamCancelled { withdrawn, .. } => self.said.retain(|(n, _)| !withdrawn.contains(n)),
            PublicBody::UserMessage { .. } => {
                self.has_stopped = false;
                if !take(&mut self.is_opened) {
                    self.said.clear();
                }
            }
            PublicBody::ApprovalGiven { .. } => self.has_stopped = false,
            PublicBody::Waiting { on } => self.has_stopped |= on.is_for_person(),
            PublicBody::Finished { .. } | PublicBody::Failed { .. } => self.has_stopped = true,
            _ => {}
        }
    }

    /// Whether the session has stopped after what this request has set going.
    fn is_done(&self) -> bool {
        self.has_stopped && self.heard >= self.goal
    }

    /// What was said, to be told.
    fn said(&self) -> Vec<String> {
        self.said.iter().map(|(_, text)| text.clone()).collect()
    }

    /// The user has answered.
    fn go_on(&mut self, from: Mark) {
        (self.has_stopped, self.goal) = (false, Some(from));
    }
}

/// A form lies before the person at the client.
struct Asking {
    question: Question,
    standing: Standing,
    request: RequestHandle<RoleServer>,
}

/// What comes of a stop.
enum Next {
    /// The request is answered.
    Answer(Box<CallToolResponse>),
    /// The person is asked.
    Ask(Box<Asking>),
    /// Something else may happen.
    Listen,
}

impl Request<'_> {
    /// Answers when the session stops after `exchange`'s goal. `after`: where to begin to listen.
    pub(super) async fn follow(
        &self,
        served: &Served,
        after: Option<Mark>,
        mut exchange: Exchange,
    ) -> Result<CallToolResponse, Wrong> {
        let answer = self.listen(served, after, &mut exchange).await;
        if let (Ok(_), Some(text)) = (&answer, exchange.opening.take()) {
            // The program has not waited for the user so far; it hears them when it does. One that is over never will.
            let _ = self.deliver(served, Deed::Message { text: text.into(), id: None }).await;
        }
        answer
    }

    async fn listen(
        &self,
        served: &Served,
        after: Option<Mark>,
        exchange: &mut Exchange,
    ) -> Result<CallToolResponse, Wrong> {
        let residents = &self.shared.residents;
        let mut heard = residents.listen(served.clone(), after, Until::Over);
        let began = Instant::now();
        let mut deadline = began + AT_WORK;
        let mut progress = interval_at(began + PROGRESS, PROGRESS);
        let token = self.context.meta.get_progress_token();
        let mut asking: Option<Box<Asking>> = None;
        loop {
            tokio::select! {
                biased;
                () = self.context.ct.cancelled() => {
                    if let Some(asked) = asking {
                        let _ = asked.request.cancel(Some("the request was cancelled".to_owned())).await;
                    }
                    return Err(self.interrupt(served).await);
                }
                event = heard.recv() => match event {
                    Some(Heard::Event(event)) => exchange.hear(&event),
                    Some(Heard::Reset) => exchange.said.clear(),
                    // The server ends; or something is wrong, and whoever asks again is told what.
                    Some(Heard::Bye) | None => return Ok(running(served, exchange)),
                },
                filled = filled(&mut asking) => {
                    let Some(asked) = asking.take() else { continue };
                    let Asking { question, standing, .. } = *asked;
                    let deed = filled.and_then(|filled| question.deed(&filled, standing.mark));
                    let Some(deed) = deed else { return Ok(self.stopped(served, standing, exchange.said())) };
                    let mark = self.deliver(served, deed).await?.unwrap_or(standing.mark);
                    exchange.go_on(mark);
                    deadline = Instant::now() + AT_WORK;
                    continue;
                }
                () = sleep_until(deadline) => {
                    if let Some(asked) = asking {
                        let _ = asked.request.cancel(Some("nobody has answered".to_owned())).await;
                        return Ok(self.stopped(served, asked.standing, exchange.said()));
                    }
                    // Who is patient may have waited for somebody else.
                    let standing = self.stands(served).await?;
                    return match standing.state.has_stopped() {
                        true => Ok(self.stopped(served, standing, exchange.said())),
                        false => Ok(running(served, exchange)),
                    };
                }
                _ = progress.tick(), if token.is_some() => {
                    let Some(token) = token.clone() else { continue };
                    let what = if asking.is_some() { "waits for you" } else { "is still running" };
                    let message = format!("the program {what} (session {})", served.session);
                    let news = ProgressNotificationParam::new(token, began.elapsed().as_secs_f64()).with_message(message);
                    // A client that has gone hears of nothing.
                    let _ = self.context.peer.notify_progress(news).await;
                    continue;
                }
            }
            match (exchange.is_done(), asking.take()) {
                (true, None) => match self.at_stop(served, exchange).await? {
                    Next::Answer(answer) => return Ok(*answer),
                    Next::Ask(asked) => {
                        asking = Some(asked);
                        deadline = Instant::now() + FORM_STANDS;
                    }
                    Next::Listen => {}
                },
                (true, still) => asking = still,
                (false, None) => {}
                (false, Some(asked)) => {
                    let _ = asked.request.cancel(Some("somebody else has answered".to_owned())).await;
                    deadline = Instant::now() + AT_WORK;
                }
            }
        }
    }

    /// The session waits for a person, or is over.
    async fn at_stop(&self, served: &Served, exchange: &mut Exchange) -> Result<Next, Wrong> {
        let standing = self.stands(served).await?;
        let is_over = standing.state.is_over();
        if !standing.state.has_stopped() {
            // It has gone on since.
            exchange.has_stopped = false;
            return Ok(Next::Listen);
        }
        if standing.state == State::Waiting
            && let Some(text) = exchange.opening.take()
        {
            let mark = self.deliver(served, Deed::Message { text: text.into(), id: None }).await?;
            exchange.is_opened = true;
            exchange.go_on(mark.unwrap_or(standing.mark));
            return Ok(Next::Listen);
        }
        let asked = standing.asked.as_ref();
        let means = if self.person_may(asked) { Means::of(self.context) } else { Means::None };
        if is_over || means == Means::None {
            if self.is_patient && !is_over && !self.model_may(asked) {
                return Ok(Next::Listen);
            }
            let answer = self.stopped(served, standing, exchange.said());
            return Ok(Next::Answer(Box::new(answer)));
        }
        let question = Question::of(&standing, exchange.said());
        if means == Means::Rounds {
            let sealed = Sealed::of(&served.session, &standing);
            let round = sealed.ask(&self.shared.seal, &self.whom(), &question);
            return Ok(Next::Answer(Box::new(round.into())));
        }
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(question.form()));
        let sent = self.context.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        Ok(match sent {
            Ok(request) => Next::Ask(Box::new(Asking { question, standing, request })),
            Err(error) => {
                tracing::debug!(%error, "a question does not reach the client");
                Next::Answer(Box::new(self.stopped(served, standing, exchange.said())))
            }
        })
    }

    /// How the session stands now.
    async fn stands(&self, served: &Served) -> Result<Standing, Wrong> {
        // The row may be another one since this request began.
        let row = self.shared.residents.find(&served.session).await?;
        Ok(self.shared.residents.standing(&row).await?.0)
    }

    /// Does something to the session: the mark after which what comes of it stands; none if the question was answered
    /// already.
    pub(super) async fn deliver(&self, served: &Served, deed: Deed) -> Result<Option<Mark>, Wrong> {
        match self.shared.residents.deliver(served, &self.caller.name, deed).await {
            Ok(receipt) => Ok(Some(receipt.mark)),
            Err(ResidentError::Send(SendError::Refused(Refusal::NotAsked(_)))) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The client does not want the answer any more: what is going on is cancelled. Where it has only gone away, its
    /// sessions go on.
    async fn interrupt(&self, served: &Served) -> Wrong {
        if !self.shared.ending.is_cancelled()
            && let Err(error) = self.shared.residents.deliver(served, &self.caller.name, Deed::Interrupt).await
        {
            tracing::warn!(session = &*served.session, %error, "a cancelled request leaves its session at work");
        }
        Wrong("the request was cancelled".to_owned())
    }

    /// The answer about a session that has stopped.
    pub(super) fn stopped(&self, served: &Served, standing: Standing, said: Vec<String>) -> CallToolResponse {
        let may_answer = self.model_may(standing.asked.as_ref());
        Told::stopped(&served.session, standing, said, may_answer).answer().into()
    }

    /// Whether the person at the client may answer.
    pub(super) fn person_may(&self, asked: Option<&Asked>) -> bool {
        asked.is_none_or(|asked| self.caller.may_answer(self.shared.approvals, asked.by_tool))
    }

    /// Whether the client's model may hand on the answer. What the operator has put before a call no model answers, also
    /// with an operator's token.
    pub(super) fn model_may(&self, asked: Option<&Asked>) -> bool {
        asked.is_none_or(|asked| self.shared.approvals.let_user(asked.by_tool))
    }

    /// For whom a state is sealed.
    pub(super) fn whom(&self) -> String {
        format!("{} {}", self.tool, self.caller.name)
    }
}

fn running(served: &Served, exchange: &Exchange) -> CallToolResponse {
    Told::running(&served.session, exchange.said()).answer().into()
}

/// Comes when the person has filled in the form, or has not; none: it cannot be known.
async fn filled(asking: &mut Option<Box<Asking>>) -> Option<ElicitResult> {
    let Some(asking) = asking else { return std::future::pending().await };
    match (&mut asking.request.rx).await {
        Ok(Ok(ClientResult::ElicitResult(result))) => Some(result),
        Ok(Ok(_)) | Err(_) => None,
        Ok(Err(error)) => {
            tracing::debug!(%error, "the client cannot ask");
            None
        }
    }
}
