//! An answer as it is given: what a session says until it waits again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{Instant, sleep_until};

use crate::host::events::{Mark, PublicBody, PublicEvent};
use crate::host::ledger::Served;
use crate::host::ledger::answers::{Answer, RowId};
use crate::host::residents::feed::{Heard, Until};
use crate::host::residents::standing::State;
use crate::host::serve_options::OnDisconnect;
use crate::host::session::Deed;
use crate::serve::http::access::caller::Caller;
use crate::serve::http::answers::key::Key;
use crate::serve::http::answers::live::{Ending, Live, Piece, Usage, tell};
use crate::serve::http::problem::Problem;
use crate::serve::http::server::Server;
use crate::serve::http::wire::A_COLLEAGUE;
use crate::vm::protocol::{INTERRUPTED, Wait};

/// So long a session that waits may take to count the tokens of its last reply.
const SETTLES_WITHIN: Duration = Duration::from_secs(1);

/// A program that waits longer for a moment goes on without whoever has asked.
const PAUSE: Duration = Duration::from_secs(10);

/// What is between two utterances.
const BETWEEN: &str = "\n\n";

/// An answer that is followed.
pub(crate) struct Follow<'a> {
    server: &'a Arc<Server>,
    caller: &'a Caller,
    served: &'a Served,
    /// Who is told; none: nobody.
    live: Option<&'a Live>,
    /// Who is told of all events that belong to it; then it ends where the session stops, whoever has spoken meanwhile.
    events: Option<UnboundedSender<Arc<PublicEvent>>>,
    /// Whether the answer is cancelled when nobody hears it any more.
    is_for_hearers: bool,
    /// The last mark that was heard.
    pub(crate) mark: Mark,
    /// What was said.
    pub(crate) speech: String,
    utterance: Option<u64>,
    question: Option<String>,
    usage: Usage,
    /// Turns whose tokens are to come.
    turns: BTreeSet<u64>,
    is_cancelled: bool,
    state: State,
}

impl Server {
    /// Keeps an answer: where it began, where the session was asked, and, if that is known, where and with what it ended.
    pub(crate) async fn keep_answer(
        &self,
        served: &Served,
        key: Key,
        (began, asked): (Mark, Mark),
        ended: Option<(Mark, String)>,
    ) -> Result<RowId, Problem> {
        let created = self.residents.now();
        let answer = Answer { key: key.bytes(), session: served.session.clone(), began, asked, ended, created };
        Ok(self.residents.ledger().add_answer(answer).await?)
    }
}

/// What to do next.
enum Next {
    Hear,
    /// The session stands, or pauses: it has so long until the answer is over.
    Within(Duration),
    End,
}

impl<'a> Follow<'a> {
    /// The answer of a session after a mark.
    pub(crate) fn new(
        (server, caller): (&'a Arc<Server>, &'a Caller),
        served: &'a Served,
        began: Mark,
        live: Option<&'a Live>,
    ) -> Follow<'a> {
        Follow {
            server,
            caller,
            served,
            live,
            events: None,
            is_for_hearers: live.is_some() && server.options.openai.on_disconnect == OnDisconnect::Interrupt,
            mark: began,
            speech: String::new(),
            utterance: None,
            question: None,
            usage: Usage::default(),
            turns: BTreeSet::new(),
            is_cancelled: false,
            state: State::Speaking,
        }
    }

    /// The answer goes on, also if nobody hears it.
    pub(crate) fn in_background(self) -> Follow<'a> {
        Follow { is_for_hearers: false, ..self }
    }

    /// Somebody is told of all events.
    pub(crate) fn telling(self, events: UnboundedSender<Arc<PublicEvent>>) -> Follow<'a> {
        Follow { events: Some(events), ..self }
    }

    /// Something is said.
    pub(crate) fn say(&mut self, utterance: Option<u64>, text: &str) {
        let is_new = utterance.is_none() || utterance != self.utterance;
        let between = if is_new && !self.speech.is_empty() { BETWEEN } else { "" };
        let text = format!("{between}{text}");
        self.utterance = utterance;
        self.speech.push_str(&text);
        if let Some(live) = self.live {
            tell(live, Piece::Speech(text));
        }
    }

    /// How the answer ends here.
    pub(crate) fn end(&self, state: State, failure: Option<String>) -> Ending {
        Ending { mark: self.mark, state, usage: self.usage, failure, is_cancelled: self.is_cancelled }
    }

    /// Hears the session until it waits for a person, is over, or somebody else says something. `asked` is where it stood
    /// when it was given the message; `until`, where the answer is known to end.
    pub(crate) async fn go_on(&mut self, asked: Mark, until: Option<Mark>) -> Result<Ending, Problem> {
        let mut was_taken = asked == Mark::START;
        let mut failure = None;
        let mut deadline = None;
        while until.is_none_or(|until| self.mark < until) {
            let after = Some(self.mark).filter(|mark| *mark != Mark::START);
            let mut heard = self.server.residents.listen(self.served.clone(), after, Until::Over);
            loop {
                let next = tokio::select! {
                    next = heard.recv() => next,
                    () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                        return Ok(self.end(self.state, failure));
                    }
                    () = closed(self.live), if self.is_for_hearers => {
                        self.is_for_hearers = false;
                        self.server.residents.deliver(self.served, &self.caller.name, Deed::Interrupt).await?;
                        continue;
                    }
                };
                let event = match next {
                    Some(Heard::Event(event)) => event,
                    Some(Heard::Reset) => return Err(Problem::internal("the session has another past than it had")),
                    Some(Heard::Bye) => {
                        let detail = "the server is shutting down, and the answer continues when it has started \
                                      again; ask again";
                        return Err(Problem::unavailable(detail, 2));
                    }
                    // All was told, or more than could be kept: then the rest is heard from here on.
                    None if self.state.is_over() => return Ok(self.end(self.state, failure)),
                    None => break,
                };
                let is_later = event.mark.is_some_and(|mark| mark > asked);
                if is_later && matches!(event.body, PublicBody::UserMessage { .. }) {
                    if was_taken && until.is_none() && self.events.is_none() {
                        return Ok(self.end(self.state, failure));
                    }
                    was_taken = true;
                }
                was_taken |= is_later && matches!(event.body, PublicBody::ApprovalGiven { .. });
                if let PublicBody::Failed { message, .. } = &event.body {
                    failure = Some(message.to_string());
                }
                self.mark = event.mark.unwrap_or(self.mark);
                if let Some(events) = &self.events {
                    // The answer goes on, also if nobody hears it.
                    let _ = events.send(event.clone());
                }
                // What is asked about a call comes before a message that is not taken yet.
                let is_asked = matches!(event.body, PublicBody::Waiting { on: Wait::Approval(_) });
                match self.hear(&event, was_taken || (self.events.is_some() && is_later && is_asked)) {
                    Next::Hear => {}
                    Next::Within(time) => deadline = Some(Instant::now() + time),
                    Next::End => return Ok(self.end(self.state, failure)),
                }
                if self.state == State::Speaking {
                    deadline = None;
                }
                if until.is_some_and(|until| self.mark >= until) {
                    break;
                }
            }
        }
        Ok(self.end(self.state, failure))
    }

    /// The same to the end of the answer, which is kept in this row.
    pub(crate) async fn finish(mut self, asked: Mark, until: Option<Mark>, row: RowId) -> Result<Ending, Problem> {
        let ending = self.go_on(asked, until).await?;
        self.server.residents.ledger().end_answer(row, ending.mark, self.speech).await?;
        Ok(ending)
    }

    /// What an event means for the answer.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "an answer is made of these events, whatever others there will be"
    )]
    fn hear(&mut self, event: &PublicEvent, was_taken: bool) -> Next {
        let is_count = matches!(event.body, PublicBody::TurnFinished { .. });
        if self.state == State::Timer && !is_count {
            self.state = State::Speaking;
        }
        match &event.body {
            PublicBody::SaidDelta { text, utterance } => self.say(Some(*utterance), text),
            PublicBody::LineReached {} => self.step(event),
            PublicBody::TurnStarted { .. } => self.turns.extend(event.turn),
            PublicBody::TurnFinished { prompt_tokens, cached_tokens, completion_tokens, .. } => {
                if event.turn.is_some_and(|turn| self.turns.remove(&turn)) {
                    self.usage.prompt += prompt_tokens;
                    self.usage.cached += cached_tokens;
                    self.usage.completion += completion_tokens;
                }
                // It waits already, and this was the last thing to know.
                let is_waiting = matches!(self.state, State::Waiting | State::Approval);
                return if is_waiting && self.turns.is_empty() { Next::End } else { Next::Hear };
            }
            PublicBody::StreamCancelled { reason, .. } => self.is_cancelled |= was_taken && **reason == *INTERRUPTED,
            PublicBody::ApprovalAsked { question, by_tool, .. } => {
                let may_answer = self.server.may_answer(self.caller, *by_tool);
                self.question = Some(if may_answer { question.to_string() } else { A_COLLEAGUE.to_owned() });
            }
            PublicBody::Finished { .. } => return self.over(State::Finished),
            PublicBody::Failed { .. } => return self.over(State::Failed),
            // One without a mark was told before, in another process.
            PublicBody::Waiting { on } if was_taken && event.mark.is_some() => return self.wait(on),
            PublicBody::Waiting { .. } => {}
            PublicBody::UserMessage { .. } | PublicBody::ApprovalGiven { .. } => self.state = State::Speaking,
            _ => {}
        }
        Next::Hear
    }

    fn over(&mut self, state: State) -> Next {
        self.state = state;
        Next::End
    }

    fn wait(&mut self, wait: &Wait) -> Next {
        let settles = if self.turns.is_empty() { Next::End } else { Next::Within(SETTLES_WITHIN) };
        match wait {
            Wait::User => {
                self.state = State::Waiting;
                settles
            }
            Wait::Approval(_) => {
                self.state = State::Approval;
                if let Some(question) = self.question.take() {
                    self.say(None, &question);
                }
                settles
            }
            Wait::Timer(_) => {
                self.state = State::Timer;
                Next::Within(PAUSE)
            }
            Wait::Reply(_) | Wait::Call(_) | Wait::Verdict(_) | Wait::Budget => {
                self.state = State::Speaking;
                Next::Hear
            }
        }
    }

    /// A line that is reached, in its own words where they are known.
    fn step(&mut self, event: &PublicEvent) {
        let (Some(live), Some(playbook), Some(line)) = (self.live, &event.playbook, &event.line) else { return };
        if !self.server.options.openai.steps {
            return;
        }
        let offered = self.server.residents.program(&self.served.program).ok();
        let words = offered.filter(|offered| offered.version == self.served.version).and_then(|offered| {
            let playbooks = offered.opened.program.playbooks.iter().filter(|known| known.name == *playbook);
            let mut steps = playbooks.flat_map(|playbook| &playbook.steps);
            steps.find(|step| step.label == *line).map(|step| step.text.to_string())
        });
        tell(live, Piece::Step(format!("{playbook}:{line} {}\n", words.unwrap_or_default())));
    }
}

/// Comes when nobody hears an answer any more.
async fn closed(live: Option<&Live>) {
    match live {
        Some(live) => live.closed().await,
        None => std::future::pending().await,
    }
}
