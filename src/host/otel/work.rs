//! The spans of what models and tools do for a session: they begin in a stretch, and may end after it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::{
    CallId, CallKind, Fact, Judge, QuestionId, StartCall, StartTurn, Timestamp, TurnEnd, TurnId, Usage,
};

use crate::journal::record::{Begun, EndWire, OutcomeWire, RecordBody, UsageWire, VerdictWire};
use crate::journal::wire::ToolWire;
use crate::otel::content::{input_messages, output_messages};
use crate::otel::context::{SpanId, TraceId, TraceParent};
use crate::otel::names;
use crate::otel::spans::{Attribute, Span};
use crate::secrets::MASK;

/// Where work is done: what the spans of models and tools are parts of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Where {
    pub(super) trace: TraceId,
    /// The playbook's span.
    pub(super) frame: SpanId,
    /// The line's, or the playbook's where that stands at its heading.
    pub(super) line: SpanId,
}

/// What is under way.
pub(super) struct Work {
    session: Arc<str>,
    model: Arc<str>,
    classifier: Arc<str>,
    captures: bool,
    /// The tools that MCP servers have.
    of_servers: HashSet<Arc<str>>,
    turns: Vec<Turn>,
    /// Calls that the machine has asked for.
    wanted: HashMap<CallId, Wanted>,
    calls: Vec<(CallId, Span)>,
    questions: Vec<(QuestionId, Span)>,
}

/// A reply that is not over.
struct Turn {
    id: TurnId,
    span: Span,
    first_piece: Option<Timestamp>,
    end: Option<EndWire>,
    /// As far as it is told.
    reply: Vec<u8>,
}

/// A call that has not begun.
struct Wanted {
    name: Arc<str>,
    kind: CallKind,
    arguments: Option<String>,
    place: Where,
}

impl Work {
    pub(super) fn new(begun: &Begun, captures: bool) -> Work {
        let mut work = Work {
            session: begun.session.clone(),
            model: begun.model.clone(),
            classifier: begun.classifier.clone().unwrap_or_default(),
            captures,
            of_servers: HashSet::new(),
            turns: Vec::new(),
            wanted: HashMap::new(),
            calls: Vec::new(),
            questions: Vec::new(),
        };
        work.know(&begun.tools);
        work
    }

    pub(super) fn call_context(&self, call: CallId) -> Option<TraceParent> {
        self.calls.iter().find(|(known, _)| *known == call).map(|(_, span)| span.context())
    }

    pub(super) fn is_first_piece(&self, body: &RecordBody) -> bool {
        let RecordBody::Chunk { turn, .. } = body else { return false };
        self.turns.iter().any(|known| known.id.0 == *turn && known.first_piece.is_none())
    }

    pub(super) fn recorded(&mut self, time: Timestamp, body: &RecordBody, finished: &mut Vec<Span>) {
        match body {
            RecordBody::Chunk { turn, text } => {
                let Some(turn) = self.turns.iter_mut().find(|known| known.id.0 == *turn) else { return };
                turn.first_piece.get_or_insert(time);
                if self.captures {
                    turn.reply.extend_from_slice(&text.0);
                }
            }
            RecordBody::ReplyEnded { turn, end, .. } => {
                if let Some(turn) = self.turns.iter_mut().find(|known| known.id.0 == *turn) {
                    turn.end = Some(end.clone());
                }
            }
            RecordBody::CallStarted { call, attempt } => self.begin_call(CallId(*call), *attempt, time),
            RecordBody::CallEnded { call, outcome, usage } => {
                self.end_call(CallId(*call), outcome, *usage, time, finished);
            }
            RecordBody::Verdict { question, verdict, .. } => {
                self.end_question(QuestionId(*question), verdict, time, finished);
            }
            RecordBody::SignaturesChanged { tools } => self.know(tools),
            RecordBody::ProgramChanged(changed) => {
                self.know(&changed.tools);
                if changed.reopened {
                    self.lose(finished);
                }
            }
            // Nothing more comes of what the process before had asked for.
            RecordBody::Reopened => self.lose(finished),
            RecordBody::Begun(_)
            | RecordBody::Message { .. }
            | RecordBody::Signal { .. }
            | RecordBody::TimerFired { .. }
            | RecordBody::Approved { .. }
            | RecordBody::Interrupted { .. }
            | RecordBody::Edited { .. }
            | RecordBody::GoOn => {}
        }
    }

    /// Ends all that is under way.
    pub(super) fn end(&mut self, time: Timestamp, finished: &mut Vec<Span>) {
        let turns = self.turns.drain(..).map(|turn| turn.span);
        let calls = self.calls.drain(..).map(|(_, span)| span);
        let questions = self.questions.drain(..).map(|(_, span)| span);
        finished.extend(turns.chain(calls).chain(questions).map(|span| span.ended(time)));
    }

    /// All that is under way has been lost with the process that was at it: when is not known.
    fn lose(&mut self, finished: &mut Vec<Span>) {
        let mut lost = Vec::new();
        self.end(Timestamp::default(), &mut lost);
        finished.extend(lost.into_iter().map(|span| failed(span, "lost", None)));
    }

    /// Which of these tools MCP servers have.
    fn know(&mut self, tools: &[ToolWire]) {
        self.of_servers = tools.iter().filter(|tool| tool.is_mcp).map(|tool| tool.name.clone()).collect();
    }

    pub(super) fn start_turn(&mut self, start: &StartTurn, place: Where, time: Timestamp) {
        // How long is waited before it is asked again.
        let asked = Timestamp(time.0.saturating_add(i64::try_from(start.delay_ms).unwrap_or(0)));
        let id = SpanId::of(&self.session, names::CHAT, [start.turn.0, 0, 0]);
        let mut span = self.chat(&self.model, id, (place.trace, place.frame), asked);
        if self.captures {
            span.set(names::INPUT_MESSAGES, input_messages(&start.messages));
        }
        self.turns.push(Turn { id: start.turn, span, first_piece: None, end: None, reply: Vec::new() });
    }

    /// A reply is over.
    pub(super) fn turn_over(&mut self, fact: &Fact, time: Timestamp, finished: &mut Vec<Span>) {
        let Fact::TurnFinished { turn, end, usage, estimated, .. } = fact else { return };
        let Some(index) = self.turns.iter().position(|known| known.id == *turn) else { return };
        let Turn { mut span, first_piece, end: how, reply, .. } = self.turns.swap_remove(index);
        set_usage(&mut span, *usage);
        if *estimated {
            span.set(names::OUR_ESTIMATED, Attribute::Truth(true));
        }
        let finish = match &how {
            Some(EndWire::Complete { finish }) => Some(&**finish),
            Some(EndWire::Broken { .. } | EndWire::Refused { .. } | EndWire::Closed) | None => None,
        };
        if let Some(finish) = finish {
            span.set(names::FINISH_REASONS, Attribute::Texts(vec![finish.to_owned()]));
        }
        if let Some(first) = first_piece {
            span.set(names::FIRST_CHUNK, Attribute::Float(seconds_between(span.start, first)));
        }
        if self.captures && !reply.is_empty() {
            span.set(names::OUTPUT_MESSAGES, output_messages(&String::from_utf8_lossy(&reply), finish));
        }
        let trouble = match &how {
            Some(EndWire::Broken { reason, .. }) => Some(("broken", Some(reason))),
            Some(EndWire::Refused { reason }) => Some(("refused", Some(reason))),
            Some(EndWire::Complete { .. } | EndWire::Closed) | None if *end == TurnEnd::Error => {
                Some(("protocol", None))
            }
            Some(EndWire::Complete { .. } | EndWire::Closed) | None => None,
        };
        let span = span.ended(time);
        finished.push(match trouble {
            Some((kind, reason)) => failed(span, kind, reason.filter(|_| self.captures).map(|reason| &**reason)),
            None => span,
        });
    }

    /// The machine wants a call.
    pub(super) fn start_call(&mut self, call: &StartCall, place: Where) {
        let shown = || {
            let arguments = call.arguments.iter().map(|(name, value)| (name.clone(), value.shown()));
            Value::map(arguments.collect::<Map>()).to_json()
        };
        let arguments = self.captures.then(shown);
        self.wanted.insert(call.call, Wanted { name: call.name.clone(), kind: call.kind, arguments, place });
    }

    fn begin_call(&mut self, call: CallId, attempt: u32, time: Timestamp) {
        let Some(Wanted { name, kind, arguments, place }) = self.wanted.remove(&call) else { return };
        let id = SpanId::of(&self.session, names::EXECUTE_TOOL, [call.0, attempt.into(), 0]);
        let span = match kind {
            CallKind::Model => {
                let mut span = self.chat(&self.model, id, (place.trace, place.line), time);
                span.set(names::OUR_PURPOSE, "plan");
                span
            }
            CallKind::Tool | CallKind::Playbook | CallKind::Plan => {
                let mut span =
                    Span::new(place.trace, id, Some(place.line), format!("{} {name}", names::EXECUTE_TOOL), time);
                span.set(names::OPERATION, names::EXECUTE_TOOL);
                span.set(names::KIND, "TOOL");
                span.set(names::TOOL, &*name);
                span.set(names::TOOL_CALL, format!("{}/{}", self.session, call.0));
                if self.of_servers.contains(&name) {
                    span.is_client = true;
                    span.set(names::MCP_METHOD, names::MCP_CALL);
                }
                if let Some(arguments) = arguments {
                    span.set(names::TOOL_ARGUMENTS, arguments);
                }
                span
            }
        };
        self.calls.push((call, span));
    }

    fn end_call(
        &mut self,
        call: CallId,
        outcome: &OutcomeWire,
        usage: Option<UsageWire>,
        time: Timestamp,
        finished: &mut Vec<Span>,
    ) {
        let Some(index) = self.calls.iter().position(|(known, _)| *known == call) else { return };
        let (_, mut span) = self.calls.swap_remove(index);
        if let Some(usage) = usage {
            set_usage(&mut span, usage.to_usage());
        }
        let span = span.ended(time);
        finished.push(match outcome {
            OutcomeWire::Value { value, secret } => {
                let mut span = span;
                if self.captures {
                    let shown = if *secret { Value::str(MASK).to_json() } else { value.to_json() };
                    span.set(names::TOOL_RESULT, shown);
                }
                span
            }
            OutcomeWire::Error { error } => failed(span, "tool_error", self.captures.then_some(&**error)),
            OutcomeWire::Interrupted => failed(span, "cancelled", None),
            // A person is asked, and the call is made again.
            OutcomeWire::Needs { .. } => span,
        });
    }

    /// The trigger classifier is asked.
    pub(super) fn start_question(&mut self, question: QuestionId, place: Where, time: Timestamp) {
        let model = self.classifier.strip_prefix("model:").unwrap_or(&self.model);
        let id = SpanId::of(&self.session, "classifier", [question.0, 0, 0]);
        let mut span = self.chat(model, id, (place.trace, place.line), time);
        span.set(names::OUR_PURPOSE, "classifier");
        self.questions.push((question, span));
    }

    /// It has answered. Patterns and scripts take no time and are no models.
    fn end_question(&mut self, question: QuestionId, verdict: &VerdictWire, time: Timestamp, finished: &mut Vec<Span>) {
        let Some(index) = self.questions.iter().position(|(known, _)| *known == question) else { return };
        let (_, mut span) = self.questions.swap_remove(index);
        let is_model = self.classifier.starts_with("model");
        let span = match verdict {
            VerdictWire::Judged { by: Judge::Model, usage, .. } => {
                if let Some(usage) = usage {
                    set_usage(&mut span, usage.to_usage());
                }
                span.ended(time)
            }
            VerdictWire::Judged { .. } => return,
            VerdictWire::TimedOut | VerdictWire::Failed { .. } if !is_model => return,
            VerdictWire::TimedOut => failed(span.ended(time), "timeout", None),
            VerdictWire::Failed { reason } => failed(span.ended(time), "failed", self.captures.then_some(&**reason)),
        };
        finished.push(span);
    }

    /// A request to a model.
    fn chat(&self, model: &str, id: SpanId, (trace, parent): (TraceId, SpanId), time: Timestamp) -> Span {
        let (provider, model) = model.split_once(':').unwrap_or((names::OURSELVES, model));
        let mut span = Span::new(trace, id, Some(parent), format!("{} {model}", names::CHAT), time);
        span.is_client = true;
        span.set(names::OPERATION, names::CHAT);
        span.set(names::KIND, "LLM");
        span.set(names::CONVERSATION, &*self.session);
        span.set(names::PROVIDER, provider);
        span.set(names::MODEL, model);
        span
    }
}

/// The same span, which went wrong; `message` only for those who may be told what was said.
fn failed(mut span: Span, kind: &str, message: Option<&str>) -> Span {
    span.set(names::ERROR, kind);
    span.error = Some(message.unwrap_or(kind).to_owned());
    span
}

fn set_usage(span: &mut Span, usage: Usage) {
    span.set(names::INPUT_TOKENS, usage.prompt_tokens);
    span.set(names::OUTPUT_TOKENS, usage.completion_tokens);
    span.set(names::CACHED_TOKENS, usage.cached_tokens);
}

#[allow(clippy::cast_precision_loss, reason = "nobody waits for 2^53 milliseconds")]
fn seconds_between(from: Timestamp, to: Timestamp) -> f64 {
    to.0.saturating_sub(from.0).max(0) as f64 / 1000.0
}
