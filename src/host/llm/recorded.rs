//! A model with a cassette: its replies are kept, or are those that were kept (spec `evaluate.md`, section 2).
//!
//! Of a turn both come line by line, in lockstep with what each line sets off: how the reply was cut into pieces, and how
//! long tools and classifier took, makes no difference.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::{Stream, StreamExt};
use playhouse_vm::protocol::{ReplyEnd, Usage};
use tokio::time::Instant;

use crate::cassette::entry::Reply;
use crate::cassette::key::{Asked, Message};
use crate::cassette::lockstep::Lockstep;
use crate::cassette::order::{Answer, Speaker};
use crate::cassette::take::{self, PATIENCE, Take, Ticket};
use crate::llm::{Llm, LlmRequest, ModelKind, NO_END, Purpose, ReplyPart, ReplyStream, refused};

/// So many bytes are read ahead of the line that is handed on.
const MAX_AHEAD: usize = 1 << 20;

/// A model and the run that records or replays it.
pub struct Recorded {
    llm: Arc<dyn Llm>,
    take: Arc<Take>,
}

/// A model of which nothing but its name is there.
pub struct Absent(pub Arc<str>);

impl Recorded {
    /// This model in this run. While the run is replayed, only what the model says of itself is asked.
    pub fn new(llm: Arc<dyn Llm>, take: Arc<Take>) -> Recorded {
        Recorded { llm, take }
    }

    /// What a request is found again by, and the line that is in hand.
    fn asked(&self, request: &LlmRequest) -> (Asked, Option<Arc<str>>) {
        let asked = Asked {
            purpose: request.purpose.into(),
            model: self.id(),
            sampling: self.sampling(),
            schema: request.schema.clone(),
            messages: request.messages.iter().map(Message::new).collect(),
        };
        (asked, request.turn.as_ref().map(|turn| turn.place().into()))
    }
}

impl Llm for Recorded {
    fn id(&self) -> Arc<str> {
        self.llm.id()
    }

    fn kind(&self) -> ModelKind {
        if self.take.is_replay() { ModelKind::Recorded } else { self.llm.kind() }
    }

    fn starts_in_think(&self) -> bool {
        self.llm.starts_in_think()
    }

    fn sampling(&self) -> serde_json::Map<String, serde_json::Value> {
        self.llm.sampling()
    }

    fn context_tokens(&self) -> Option<u64> {
        self.llm.context_tokens()
    }

    fn request(&self, request: LlmRequest) -> ReplyStream {
        let (asked, at) = self.asked(&request);
        let place = match request.purpose {
            Purpose::Turn => Some(Speaker::Turn),
            Purpose::Plan => Some(Speaker::Plan),
            // What is heard of these is a verdict.
            Purpose::Classifier | Purpose::User | Purpose::Judge | Purpose::Facts => None,
        };
        let answer = self.take.order().zip(place).map(|(order, speaker)| order.ask(speaker));
        let lockstep = (request.purpose == Purpose::Turn).then(|| self.take.lockstep().clone());
        match self.take.ask(asked, at.clone()) {
            take::Answer::Kept(reply) => {
                let cut = (reply.end == ReplyEnd::Closed).then(|| self.take.cut_short(at.as_deref()));
                let reply = replayed(reply, cut, lockstep.is_some());
                if let Some(answer) = answer {
                    let ordered = Ordered { reply, answer, held: Vec::new(), n_given: 0 };
                    return Box::pin(futures_util::stream::unfold(ordered, Ordered::next));
                }
                Box::pin(Paced::new(reply, lockstep, None))
            }
            take::Answer::Live(ticket) => {
                let note = Noting { take: self.take.clone(), ticket: Some(ticket), began: Instant::now() };
                Box::pin(Paced::new(self.llm.request(request), lockstep, Some(note)))
            }
            take::Answer::Missing(reason) => Box::pin(tokio_stream::once(refused(reason))),
        }
    }

    fn replayed(&self, request: &LlmRequest) {
        let (asked, at) = self.asked(request);
        self.take.asked_before(asked, at);
        self.llm.replayed(request);
    }
}

impl Llm for Absent {
    fn id(&self) -> Arc<str> {
        self.0.clone()
    }

    fn request(&self, _: LlmRequest) -> ReplyStream {
        let reason = format!("the model {} is not there: this run is a recording", self.0);
        Box::pin(tokio_stream::once(refused(reason)))
    }
}

/// A kept reply as a stream. Behind the place where we cut it there is nothing. A session that has all it wants of a turn
/// takes any end for its own; others give up by the clock, as they did.
fn replayed(reply: Reply, cut: Option<String>, is_turn: bool) -> ReplyStream {
    let Reply { text, end, usage, ms: _ } = reply;
    let bytes = (!text.is_empty()).then(|| ReplyPart::Bytes(text.into_bytes()));
    let end = async move {
        match cut {
            None => ReplyPart::End { end, usage },
            Some(reason) => {
                if !is_turn {
                    tokio::time::sleep(PATIENCE).await;
                }
                refused(reason)
            }
        }
    };
    Box::pin(tokio_stream::iter(bytes).chain(futures_util::stream::once(end)))
}

/// A reply whose pieces come in the order in which they were heard.
struct Ordered {
    reply: ReplyStream,
    answer: Answer,
    /// What comes later.
    held: Vec<u8>,
    n_given: usize,
}

impl Ordered {
    async fn next(mut self) -> Option<(ReplyPart, Ordered)> {
        let up_to = self.answer.turn().await;
        if self.held.is_empty() {
            match self.reply.next().await? {
                ReplyPart::Bytes(bytes) => self.held = bytes,
                end @ ReplyPart::End { .. } => {
                    self.answer.has_spoken();
                    return Some((end, self));
                }
            }
        }
        let room = up_to.map_or(self.held.len(), |up_to| up_to.saturating_sub(self.n_given).min(self.held.len()));
        let rest = self.held.split_off(room);
        let bytes = std::mem::replace(&mut self.held, rest);
        self.n_given += bytes.len();
        if up_to.is_some() {
            self.answer.has_spoken();
        }
        Some((ReplyPart::Bytes(bytes), self))
    }
}

/// A reply line by line.
struct Paced {
    inner: ReplyStream,
    /// Only of a turn.
    lockstep: Option<Arc<Lockstep>>,
    /// What has come and is not handed on.
    buffer: Vec<u8>,
    end: Option<(ReplyEnd, Option<Usage>)>,
    /// What has been handed on.
    read: Vec<u8>,
    /// A line has just been handed on: whoever reads comes to see what it sets off before the next one.
    has_just_given: bool,
    is_over: bool,
    note: Option<Noting>,
}

/// Who is told how the reply ended, also if nobody reads it to its end.
struct Noting {
    take: Arc<Take>,
    ticket: Option<Ticket>,
    began: Instant,
}

impl Paced {
    fn new(inner: ReplyStream, lockstep: Option<Arc<Lockstep>>, note: Option<Noting>) -> Paced {
        let (buffer, read) = (Vec::new(), Vec::new());
        Paced { inner, lockstep, buffer, end: None, read, has_just_given: false, is_over: false, note }
    }

    /// Takes what has come, so that a server never waits for us.
    fn read_ahead(&mut self, context: &mut Context<'_>) {
        while self.end.is_none() && self.buffer.len() < MAX_AHEAD {
            match self.inner.as_mut().poll_next(context) {
                Poll::Ready(Some(ReplyPart::Bytes(bytes))) => self.buffer.extend_from_slice(&bytes),
                Poll::Ready(Some(ReplyPart::End { end, usage })) => self.end = Some((end, usage)),
                Poll::Ready(None) => {
                    self.end = Some((ReplyEnd::Broken { reason: NO_END.into(), retry_after_ms: None }, None));
                }
                Poll::Pending => return,
            }
        }
    }

    /// The next line, once it is whole; at the end what is left.
    fn next_line(&mut self) -> Option<Vec<u8>> {
        let length = self.buffer.iter().position(|&byte| byte == b'\n').map(|at| at + 1);
        let is_all = self.end.is_some() || self.buffer.len() >= MAX_AHEAD;
        let length = length.or_else(|| is_all.then_some(self.buffer.len())).filter(|&length| length > 0)?;
        let rest = self.buffer.split_off(length);
        Some(std::mem::replace(&mut self.buffer, rest))
    }

    fn note(&mut self, end: ReplyEnd, usage: Option<Usage>) {
        if let Some(note) = &mut self.note {
            note.end(&self.read, end, usage);
        }
    }
}

impl Noting {
    fn end(&mut self, read: &[u8], end: ReplyEnd, usage: Option<Usage>) {
        if let Some(ticket) = self.ticket.take() {
            let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.take.answered(ticket, Reply { text: String::from_utf8_lossy(read).into_owned(), end, usage, ms });
        }
    }
}

impl Stream for Paced {
    type Item = ReplyPart;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ReplyPart>> {
        let this = &mut *self;
        if std::mem::take(&mut this.has_just_given) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if this.is_over {
            return Poll::Ready(None);
        }
        this.read_ahead(context);
        // What is under way is the session's, which comes back here when it has been answered.
        if this.lockstep.as_ref().is_some_and(|lockstep| !lockstep.is_quiet()) {
            return Poll::Pending;
        }
        if let Some(line) = this.next_line() {
            this.read.extend_from_slice(&line);
            this.has_just_given = this.lockstep.is_some();
            return Poll::Ready(Some(ReplyPart::Bytes(line)));
        }
        let Some((end, usage)) = this.end.take() else { return Poll::Pending };
        this.note(end.clone(), usage);
        this.is_over = true;
        Poll::Ready(Some(ReplyPart::End { end, usage }))
    }
}

impl Drop for Paced {
    fn drop(&mut self) {
        self.note(ReplyEnd::Closed, None);
    }
}
