//! From what a session did to spans: told in order what was recorded and what the machine did after it, it gives the
//! spans that are over. The same whether it is told live or from a journal.
//!
//! A stretch is a trace: the program from what somebody said to where it waits for a person again. Frames that stand on
//! the stack when it begins have spans in it, too, so that each trace shows where it was.

use std::sync::Arc;

use playhouse_lang::program::Program;
use playhouse_vm::protocol::{
    CallId, Effect, Evaluation, Fact, FrameId, Outcome, Place, Progress, Report, Ruling, Timestamp,
};

use crate::frames::{Frame, Frames};
use crate::journal::record::{Begun, RecordBody};
use crate::otel::content::Words;
use crate::otel::context::{SpanId, TraceId, TraceParent};
use crate::otel::names;
use crate::otel::spans::{Attribute, Span, SpanEvent};
use crate::otel::work::{Where, Work};
use crate::secrets::Secrets;

/// The spans of one session.
pub struct Tracer {
    session: Arc<str>,
    program: Arc<str>,
    parent: Option<TraceParent>,
    captures: bool,
    frames: Frames,
    n_stretches: u64,
    stretch: Option<Stretch>,
    /// The time of the last record.
    time: Timestamp,
    /// The program has come to its end.
    is_over: bool,
    work: Work,
    /// What secret variables were given: people say it, and replies set it, before anybody knows it for a secret.
    hidden: Secrets,
    finished: Vec<Span>,
}

/// A stretch that is not over.
struct Stretch {
    root: Span,
    words: Words,
    /// As many as frames, the bottom one first.
    frames: Vec<FrameSpans>,
}

/// The spans of a frame in a stretch.
struct FrameSpans {
    id: FrameId,
    n_reached: u64,
    /// Of its agent, where that is not the one of the frame below.
    agent: Option<Span>,
    frame: Span,
    line: Option<Span>,
}

impl FrameSpans {
    /// What is going on in it.
    fn innermost(&mut self) -> &mut Span {
        self.line.as_mut().unwrap_or(&mut self.frame)
    }
}

impl Tracer {
    /// Of a session that begins; `captures`: what was said is told, too.
    pub fn new(time: Timestamp, begun: &Begun, program: &Arc<Program>, captures: bool) -> Tracer {
        Tracer {
            session: begun.session.clone(),
            program: program.name(),
            parent: begun.trace_parent.as_deref().and_then(|parent| parent.parse().ok()),
            captures,
            frames: Frames::new(program.clone(), begun.settings.clone()),
            n_stretches: 0,
            stretch: None,
            time,
            is_over: false,
            work: Work::new(begun, captures),
            hidden: Secrets::new(),
            finished: Vec::new(),
        }
    }

    /// The spans that have ended since this was asked last.
    pub fn take_finished(&mut self) -> Vec<Span> {
        std::mem::take(&mut self.finished)
    }

    /// What the tool of a call that has begun is told of its span.
    pub fn call_context(&self, call: CallId) -> Option<TraceParent> {
        self.work.call_context(call)
    }

    /// Whether these are the first bytes of a reply: when they came is told.
    pub fn is_first_piece(&self, body: &RecordBody) -> bool {
        self.work.is_first_piece(body)
    }

    /// Something has happened; the machine is about to handle it.
    pub fn recorded(&mut self, time: Timestamp, body: &RecordBody) {
        self.time = time;
        let n_before = self.finished.len();
        self.work.recorded(time, body, &mut self.finished);
        self.mask_from(n_before);
    }

    /// The machine did something after the last record.
    pub fn moved(&mut self, progress: &Progress) {
        let (time, n_before) = (self.time, self.finished.len());
        self.frames.moved(progress);
        if self.stretch.is_none() && !self.is_over && begins(progress) {
            self.begin_stretch(time);
        }
        self.sync(time);
        match progress {
            Progress::Emit(Effect::Report(report)) => self.told(report, time),
            Progress::Emit(effect) => self.asked(effect, time),
            Progress::Blocked(wait) if wait.is_for_person() => self.end_stretch(time, None),
            Progress::Finished(outcome) => self.over(outcome, time),
            Progress::Blocked(_) | Progress::Reached(_) => {}
        }
        self.mask_from(n_before);
    }

    /// Nothing more is told: what is not over ends where it is. If the session goes on, those spans come again.
    pub fn end(&mut self) {
        let n_before = self.finished.len();
        self.end_stretch(self.time, None);
        self.work.end(self.time, &mut self.finished);
        self.mask_from(n_before);
    }

    /// Spans that have just ended tell no secret that is known by then: the same live and later.
    fn mask_from(&mut self, n_before: usize) {
        if !self.hidden.is_empty() {
            self.finished[n_before..].iter_mut().for_each(|span| span.mask(&self.hidden));
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "what else happens is no event of a span")]
    fn told(&mut self, report: &Report, time: Timestamp) {
        match &report.fact {
            Fact::TriggerMatched { trigger, .. } => {
                let name = self.frames.program().trigger_name(*trigger);
                self.trigger(report.place, name, "match", time);
            }
            Fact::TriggerEvaluated(evaluation) if is_trouble(evaluation) => {
                let name = self.frames.program().trigger_name(evaluation.trigger);
                self.trigger(report.place, name, (&evaluation.ruling).into(), time);
            }
            Fact::TurnFinished { .. } => self.work.turn_over(&report.fact, time, &mut self.finished),
            Fact::UserMessage { text } => self.said(text, true),
            Fact::Said { text } => self.said(text, false),
            Fact::VariableSet { value, .. } if self.captures && value.is_secret() => {
                self.hidden.add_value(value.value());
            }
            _ => {}
        }
    }

    /// The world is asked for something.
    fn asked(&mut self, effect: &Effect, time: Timestamp) {
        match effect {
            Effect::StartTurn(start) => {
                if let Some(place) = self.place(start.place) {
                    self.work.start_turn(start, place, time);
                }
            }
            Effect::StartCall(call) => {
                if let Some(place) = self.place(call.place) {
                    self.work.start_call(call, place);
                }
            }
            Effect::Classify(question) => {
                if let Some(place) = self.place(question.place) {
                    self.work.start_question(question.question, place, time);
                }
            }
            Effect::CloseReply { .. }
            | Effect::CancelCall { .. }
            | Effect::Say { .. }
            | Effect::StartTimer { .. }
            | Effect::Report(_) => {}
        }
    }

    fn said(&mut self, text: &str, by_user: bool) {
        if let Some(stretch) = self.stretch.as_mut().filter(|_| self.captures) {
            stretch.words.said(text, by_user);
        }
    }

    /// The spans that a place stands in.
    fn place(&self, place: Place) -> Option<Where> {
        let stretch = self.stretch.as_ref()?;
        let trace = stretch.root.trace;
        let spans = stretch.frames.iter().rfind(|spans| spans.id == place.frame);
        Some(match spans {
            Some(FrameSpans { frame, line, .. }) => {
                Where { trace, frame: frame.id, line: line.as_ref().map_or(frame.id, |line| line.id) }
            }
            None => Where { trace, frame: stretch.root.id, line: stretch.root.id },
        })
    }

    fn trigger(&mut self, place: Option<Place>, name: String, verdict: &'static str, time: Timestamp) {
        let Some(stretch) = &mut self.stretch else { return };
        let spans = stretch.frames.iter_mut().rfind(|spans| place.is_some_and(|place| place.frame == spans.id));
        let span = spans.map_or(&mut stretch.root, FrameSpans::innermost);
        let attributes = vec![(names::OUR_TRIGGER, Attribute::from(name)), (names::OUR_VERDICT, verdict.into())];
        span.events.push(SpanEvent { time, name: names::OUR_TRIGGER, attributes });
    }

    fn begin_stretch(&mut self, time: Timestamp) {
        let before = self.n_stretches;
        self.n_stretches += 1;
        let trace = |n| self.parent.map_or_else(|| TraceId::of(&self.session, n), |parent| parent.trace);
        let root = |n| SpanId::of(&self.session, names::INVOKE_WORKFLOW, [n, 0, 0]);
        let name = format!("{} {}", names::INVOKE_WORKFLOW, self.program);
        let parent = self.parent.map(|parent| parent.span);
        let mut span = Span::new(trace(self.n_stretches), root(self.n_stretches), parent, name, time);
        span.link = (before > 0).then(|| (trace(before), root(before)));
        span.set(names::OPERATION, names::INVOKE_WORKFLOW);
        span.set(names::KIND, "CHAIN");
        span.set(names::WORKFLOW, &*self.program);
        span.set(names::CONVERSATION, &*self.session);
        span.set(names::SESSION, &*self.session);
        self.stretch = Some(Stretch { root: span, words: Words::default(), frames: Vec::new() });
    }

    fn end_stretch(&mut self, time: Timestamp, error: Option<(String, &str)>) {
        let Some(Stretch { mut root, words, frames }) = self.stretch.take() else { return };
        for spans in frames.into_iter().rev() {
            self.close(spans, time);
        }
        words.tell(&mut root);
        if let Some((kind, message)) = error {
            root.set(names::ERROR, kind.clone());
            root.error = Some(if self.captures { message.to_owned() } else { kind });
        }
        self.finished.push(root.ended(time));
    }

    fn over(&mut self, outcome: &Outcome, time: Timestamp) {
        // A finished machine says so again whenever it is asked.
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        match outcome {
            Outcome::Done { .. } => self.end_stretch(time, None),
            Outcome::Failed(fault) => self.end_stretch(time, Some((fault.kind.to_string(), &fault.message))),
        }
    }

    fn close(&mut self, spans: FrameSpans, time: Timestamp) {
        let FrameSpans { agent, frame, line, .. } = spans;
        self.finished.extend(line.into_iter().chain([frame]).chain(agent).map(|span| span.ended(time)));
    }

    /// The spans are those of the frames that are there now.
    fn sync(&mut self, time: Timestamp) {
        let Some(mut stretch) = self.stretch.take() else { return };
        let stack = self.frames.stack();
        let n_kept = stretch.frames.iter().zip(stack).take_while(|(spans, frame)| spans.id == frame.id).count();
        for spans in stretch.frames.drain(n_kept..).rev().collect::<Vec<_>>() {
            self.close(spans, time);
        }
        let stack = self.frames.stack();
        for (spans, frame) in stretch.frames.iter_mut().zip(stack) {
            if spans.n_reached == frame.n_reached {
                continue;
            }
            spans.n_reached = frame.n_reached;
            let line = self.line_span(&spans.frame, frame, time);
            let before = std::mem::replace(&mut spans.line, line);
            self.finished.extend(before.map(|span| span.ended(time)));
        }
        for index in n_kept..stack.len() {
            let spans = self.frame_spans(&stretch, index, time);
            stretch.frames.push(spans);
        }
        self.stretch = Some(stretch);
    }

    fn frame_spans(&self, stretch: &Stretch, index: usize, time: Timestamp) -> FrameSpans {
        let stack = self.frames.stack();
        let frame = &stack[index];
        let below = index.checked_sub(1).map(|below| (&stack[below], &stretch.frames[below]));
        let around = match below {
            Some((_, FrameSpans { line: Some(line), .. })) => line,
            Some((_, FrameSpans { frame, .. })) => frame,
            None => &stretch.root,
        };
        let is_other_agent = below.is_none_or(|(below, _)| below.agent != frame.agent);
        let agent = is_other_agent.then(|| {
            let name = format!("{} {}", names::INVOKE_AGENT, frame.agent);
            let mut span = self.span(around, name, [frame.id.0, 0], time);
            span.set(names::OPERATION, names::INVOKE_AGENT);
            span.set(names::KIND, "AGENT");
            span.set(names::AGENT, &*frame.agent);
            span
        });
        let name = format!("{} {}", names::PLAYBOOK, frame.name);
        let mut span = self.span(agent.as_ref().unwrap_or(around), name, [frame.id.0, 0], time);
        span.set(names::KIND, "CHAIN");
        span.set(names::AGENT, &*frame.agent);
        let line = self.line_span(&span, frame, time);
        FrameSpans { id: frame.id, n_reached: frame.n_reached, agent, frame: span, line }
    }

    fn line_span(&self, around: &Span, frame: &Frame, time: Timestamp) -> Option<Span> {
        let line = frame.line.as_ref()?;
        let place = format!("{}:{}", frame.name, line.label);
        let mut span = self.span(around, format!("{} {place}", names::LINE), [frame.id.0, frame.n_reached], time);
        span.set(names::KIND, "CHAIN");
        span.set(names::OUR_LINE, place);
        span.set(names::OUR_TEXT, &*line.words);
        span.set(names::OUR_BY, if line.is_explicit { "interpreter" } else { "model" });
        Some(span)
    }

    /// A span inside another one; the numbers tell it from others with the name's first word.
    fn span(&self, around: &Span, name: String, [frame, n_reached]: [u64; 2], time: Timestamp) -> Span {
        let what = name.split(' ').next().unwrap_or_default();
        let id = SpanId::of(&self.session, what, [self.n_stretches, frame, n_reached]);
        Span::new(around.trace, id, Some(around.id), name, time)
    }
}

/// Whether a move of the machine is something that a person has set off, or a time that has come: where it has waited
/// for a person, a stretch begins with it. The end of a reply that ran on for its usage is nothing of that.
#[expect(clippy::wildcard_enum_match_arm, reason = "what tells of something else begins nothing")]
fn begins(progress: &Progress) -> bool {
    match progress {
        Progress::Reached(_) | Progress::Finished(_) => true,
        Progress::Emit(Effect::Report(report)) => matches!(
            report.fact,
            Fact::UserMessage { .. }
                | Fact::FramePushed { .. }
                | Fact::TriggerMatched { .. }
                | Fact::ApprovalGiven { .. }
        ),
        Progress::Emit(Effect::StartTurn(_) | Effect::StartCall(_) | Effect::Classify(_) | Effect::Say { .. }) => true,
        _ => false,
    }
}

/// Whether a trigger could not be judged for want of somebody who can.
fn is_trouble(evaluation: &Evaluation) -> bool {
    matches!(
        evaluation.ruling,
        Ruling::TimedOut | Ruling::Abstained | Ruling::Failed(_) | Ruling::Fault(_) | Ruling::NotCallable(_)
    )
}
