//! Records and steps of a session's past, each as one line of text for people. Secrets are masked by whoever made them.

use std::sync::Arc;

use crate::host::events::PublicBody;
use crate::host::events::wire::{UpdateWire, ruling_name};
use crate::host::journal::record::{EndWire, OutcomeWire, Record, RecordBody, VerdictWire};
use crate::host::travel::Step;
use crate::serve::cli::machinery::console::{clean, count};
use crate::serve::show::{after_text, answer_text, one_line, short_value, wait_text, whole_line};
use crate::value::Value;

/// What a record tells; it must be [`Record::shown`].
pub(crate) fn record_text(record: &Record) -> String {
    clean(&match &record.body {
        RecordBody::Begun(begun) => {
            let forked = begun.forked_from.as_ref();
            let forked =
                forked.map(|from| format!(", forked from {} at {}.{}", from.session, from.seq, from.directive));
            format!("begun: {}, model {}{}", begun.roots.join(", "), begun.model, forked.unwrap_or_default())
        }
        RecordBody::Chunk { turn, text } => {
            format!("reply {turn}: {}", quoted(&String::from_utf8_lossy(&text.0)))
        }
        RecordBody::ReplyEnded { turn, end, .. } => format!("reply {turn} ended: {}", end_text(end)),
        RecordBody::CallStarted { call, attempt: 1 } => format!("call {call} starts"),
        RecordBody::CallStarted { call, attempt } => format!("call {call} starts, attempt {attempt}"),
        RecordBody::CallEnded { call, outcome, .. } => match outcome {
            OutcomeWire::Value { value, .. } => format!("call {call} ended: {}", short_value(value)),
            OutcomeWire::Error { error } => format!("call {call} failed: {}", whole_line(error)),
            OutcomeWire::Needs { question, .. } => format!("call {call} asks: {}", one_line(question)),
            OutcomeWire::Interrupted => format!("call {call} was interrupted"),
        },
        RecordBody::Message { text, by, .. } => format!("message{}: {}", of(by), quoted(text)),
        RecordBody::Signal { name, data, by, .. } => format!("event {name}{}: {}", of(by), short_value(data)),
        RecordBody::Verdict { question, verdict, .. } => {
            format!("verdict on question {question}: {}", verdict_text(verdict))
        }
        RecordBody::TimerFired { timer } => format!("timer {timer} ran out"),
        RecordBody::Approved { call, answer, by } => {
            format!("answer{} about call {call}: {}", of(by), short_value(answer))
        }
        RecordBody::Interrupted { by } => format!("interrupted by {}", by.as_deref().unwrap_or("the user")),
        RecordBody::Edited { frame, name, value, after, by } => {
            let place = frame.map_or("the agent's others".to_owned(), |frame| format!("frame {frame}"));
            let paused = if after.is_some() { ", while it was paused" } else { "" };
            format!("edited{}: ${name} = {} in {place}{paused}", of(by), short_value(value))
        }
        RecordBody::SignaturesChanged { tools } => format!("the tools changed: {}", count(tools.len(), "tool")),
        RecordBody::ProgramChanged(changed) => {
            format!("the program changed: {}", changed.roots.join(", "))
        }
        RecordBody::GoOn => "another budget of directives".to_owned(),
        RecordBody::Reopened => "resumed by another process".to_owned(),
    })
}

/// Who did it, where that is known.
fn of(by: &Option<Arc<str>>) -> String {
    by.as_ref().map(|by| format!(" by {}", one_line(by))).unwrap_or_default()
}

fn end_text(end: &EndWire) -> String {
    match end {
        EndWire::Complete { finish } => format!("complete ({finish})"),
        EndWire::Broken { reason, .. } => format!("broken: {}", whole_line(reason)),
        EndWire::Refused { reason } => format!("refused: {}", whole_line(reason)),
        EndWire::Closed => "closed".to_owned(),
    }
}

fn verdict_text(verdict: &VerdictWire) -> String {
    match verdict {
        VerdictWire::Judged { matched, abstained, .. } => {
            let abstained = match abstained.len() {
                0 => String::new(),
                n => format!(", {} not judged", count(n, "trigger")),
            };
            match matched.len() {
                0 => format!("no match{abstained}"),
                n => format!("{} matched{abstained}", count(n, "trigger")),
            }
        }
        VerdictWire::TimedOut => "no answer in time".to_owned(),
        VerdictWire::Failed { reason } => format!("failed: {}", whole_line(reason)),
    }
}

/// What happened in a step; none for pieces of speech, which the whole utterance follows.
pub(crate) fn step_text(step: &Step) -> Option<String> {
    let event = &step.event;
    let name = event.part().map_or("", |part| &**part);
    let place = || event.place().unwrap_or_default();
    let frame = || format!("{}.{name}", event.agent.as_deref().unwrap_or(""));
    let text = match &event.body {
        PublicBody::SaidDelta { .. } => return None,
        PublicBody::SessionStarted { program, model } => format!("begins: {program}, model {model}"),
        PublicBody::SessionResumed { program, model } => format!("continues: {program}, model {model}"),
        PublicBody::TurnStarted { kind, messages, .. } => {
            let turn = event.turn.map_or(String::new(), |turn| format!(" {turn}"));
            format!("asks the model, turn{turn} ({}): {}", word(kind), count(*messages, "message"))
        }
        PublicBody::TurnFinished { end, completion_tokens, .. } => {
            let turn = event.turn.map_or(String::new(), |turn| format!(" {turn}"));
            format!("turn{turn} is over ({}): {completion_tokens} tokens", word(end))
        }
        PublicBody::LineReached {} => {
            let words = step.words.as_deref().map_or(String::new(), |words| format!("  {}", one_line(words)));
            format!("{}{words}", place())
        }
        PublicBody::Said { text } => format!("says {}", quoted(text)),
        PublicBody::VariableSet { variable, value, old, .. } => {
            let old = old.as_ref().map_or(String::new(), |old| format!(" (was {})", short_value(old)));
            format!("${variable} = {}{old}", short_value(value))
        }
        PublicBody::VariableRemoved { variable, reason } => format!("${variable} is removed: {reason}"),
        PublicBody::CallQueued { call, callable, args, .. } => {
            format!("call {call}: {callable}({})", arguments_text(args))
        }
        PublicBody::CallStarted { call, callable, attempt, .. } => {
            let attempt = if *attempt == 1 { String::new() } else { format!(", attempt {attempt}") };
            format!("call {call} of {callable} is under way{attempt}")
        }
        PublicBody::CallFinished { call, callable, result, error, .. } => match (result, error) {
            (Some(result), _) => format!("call {call} of {callable} gave {}", short_value(result)),
            (None, Some(error)) => format!("call {call} of {callable} failed: {}", whole_line(error)),
            (None, None) => format!("call {call} of {callable} is over"),
        },
        PublicBody::TriggerEvaluated { trigger, by, ruling, update, .. } => {
            let (verdict, reason) = ruling_name(ruling);
            let by = word(by);
            let reason = reason.as_ref().map_or(String::new(), |reason| format!(": {}", one_line(reason)));
            let verdict = verdict.replace('_', " ");
            format!("trigger {trigger}: {verdict} (by {by}{}){reason}", because(",", update))
        }
        PublicBody::TriggerMatched { trigger, update } => {
            format!("trigger {trigger} fires{}", because("", update))
        }
        PublicBody::StreamCancelled { reason, .. } => format!("the reply is cut off: {}", one_line(reason)),
        PublicBody::FramePushed { origin } => format!("enters {} ({})", frame(), word(origin)),
        PublicBody::FrameElided { left } => format!("{} replaces {left}", frame()),
        PublicBody::FramePopped { value } => match value {
            Some(value) => format!("leaves {} with {}", frame(), short_value(value)),
            None => format!("leaves {}", frame()),
        },
        PublicBody::PlanFault { fault, message, .. } => format!("{} fails: {} ({fault})", place(), whole_line(message)),
        PublicBody::Replanned { attempt } => format!("continues with another plan, attempt {attempt}"),
        PublicBody::Repair { cause, attempt } => {
            format!("the model is told of a mistake, attempt {attempt}: {}", whole_line(cause))
        }
        PublicBody::Degraded { cause } => format!("continues without what failed: {}", one_line(cause)),
        PublicBody::Retry { cause, attempt, delay_ms } => {
            format!("tries again{}, attempt {attempt}: {}", after_text(*delay_ms), one_line(cause))
        }
        PublicBody::Ignored { cause } => format!("ignored: {}", one_line(cause)),
        PublicBody::ProgramChanged { files, lines } => {
            let left = match lines.len() {
                0 => String::new(),
                n => format!("; {} no longer existed", count(n, "line")),
            };
            format!("continues with a changed program: {}{left}", files.join(", "))
        }
        PublicBody::SessionRenewed { reason } => format!("a new chat session: {reason}"),
        PublicBody::LinesSkipped { lines, reason } => {
            let lines = lines.join(", ");
            reason
                .as_ref()
                .map_or_else(|| format!("skipped: {lines}"), |why| format!("skipped: {lines} ({})", one_line(why)))
        }
        PublicBody::ApprovalAsked { call, question, .. } => format!("call {call} asks: {}", one_line(question)),
        PublicBody::ApprovalGiven { call, answer, refused, by } => {
            format!("call {call} is {}", answer_text(answer, *refused, by))
        }
        PublicBody::CallProgress { call, value } => format!("call {call}: {}", short_value(value)),
        PublicBody::UserMessage { text } => format!("the user says {}", quoted(text)),
        PublicBody::EventArrived { event, data, fate, .. } => {
            format!("the event {event} comes ({}): {}", word(fate).replace('_', " "), short_value(data))
        }
        PublicBody::Waiting { on } => wait_text(on, &|call| format!("call {}", call.0)),
        PublicBody::Finished { value } => format!("finished with {}", short_value(value)),
        PublicBody::Failed { fault, message } => format!("failed: {} ({fault})", whole_line(message)),
    };
    Some(clean(&text))
}

/// An enum as the word that it is in JSON.
fn word<T>(value: T) -> &'static str
where
    &'static str: From<T>,
{
    <&'static str>::from(value)
}

/// Text as one line, in quotation marks; of a long one the beginning.
fn quoted(text: &str) -> String {
    short_value(&Value::str(text))
}

fn arguments_text(arguments: &Value) -> String {
    let Some(members) = arguments.as_map() else { return short_value(arguments) };
    let members = members.iter().map(|(name, value)| format!("{name}: {}", short_value(value)));
    members.collect::<Vec<_>>().join(", ")
}

/// ` because of $x, $y`, after `mark`; nothing where no update is the cause.
fn because(mark: &str, updates: &[UpdateWire]) -> String {
    let names = updates.iter().map(|update| format!("${}", update.name)).collect::<Vec<_>>().join(", ");
    if names.is_empty() { names } else { format!("{mark} because of {names}") }
}
