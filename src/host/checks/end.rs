//! What is asked of the end of a run: conditions, schemas, how much it took.

use std::sync::Arc;

use playhouse_lang::diagnostic::Diagnostic;
use playhouse_lang::evaluation::checks::{Measure, Subject, Word};
use playhouse_lang::expr::Expr;
use playhouse_vm::protocol::Usage;

use crate::checks::binding::Binding;
use crate::checks::past::{Past, Truth, holds_secret, told_as};
use crate::checks::schema::{ReadSchema, Schema};
use crate::events::PublicBody;

/// What a form comes to at the end.
pub(super) enum Ended {
    /// It holds.
    Holds,
    /// What is missing may still come if the session goes on; the event that wanted it.
    Missing(String, Option<usize>),
    /// It does not hold, whatever comes.
    Broken(String),
    /// It cannot be told.
    Unknown(String),
}

/// One check of the end.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// A condition.
    Condition(Expr),
    /// The form of a value.
    Schema(Subject, Schema),
    /// How much something took.
    Meter(Meter),
    /// A question to a model.
    Judge,
}

/// How much of something there has been.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    measure: Measure,
    most: f64,
    so_far: f64,
    /// A person is waited for.
    is_waiting: bool,
}

impl End {
    /// `$x matches schema FILE`; none: something is wrong with the schema.
    pub(super) fn schema(
        subject: &Subject,
        schema: &Word,
        findings: &mut Vec<Diagnostic>,
        read: &mut ReadSchema<'_>,
    ) -> Option<End> {
        let read = read(schema.span.file, &schema.text).and_then(|text| Schema::read(&text));
        let fault = |cause| {
            let message = format!("{}: {cause}", schema.text);
            let next = "name a JSON Schema, relative to this file";
            findings.push(Diagnostic::error("bad-schema", schema.span, message).with_note(next));
        };
        Some(End::Schema(subject.clone(), read.map_err(fault).ok()?))
    }

    /// `tokens at most N`
    pub(super) fn meter(measure: Measure, most: f64) -> End {
        End::Meter(Meter { measure, most, so_far: 0.0, is_waiting: false })
    }

    /// The event at the index happens: whether more has been taken than there may be, or that cannot be told.
    pub(super) fn step(&mut self, past: &Past<'_>, index: usize) -> Result<Option<String>, String> {
        if let End::Meter(meter) = self { meter.step(past, index) } else { Ok(None) }
    }

    /// What it comes to.
    pub(super) fn end(self, past: &Past<'_>) -> Ended {
        match self {
            End::Condition(condition) => match past.truth(&condition, &Binding::default()) {
                Truth::Holds => Ended::Holds,
                Truth::Fails(told) => Ended::Missing(told, None),
                Truth::Unknown(why) => Ended::Unknown(why),
            },
            End::Schema(subject, schema) => judge(past, &subject, &schema),
            End::Meter(_) => Ended::Holds,
            End::Judge => Ended::Unknown("no judge was asked".to_owned()),
        }
    }
}

fn judge(past: &Past<'_>, subject: &Subject, schema: &Schema) -> Ended {
    let (name, value) = match subject {
        Subject::Variable(reference) => (reference.to_string(), past.value(reference)),
        Subject::Result => ("the result".to_owned(), past.result),
    };
    let Some(value) = value else {
        let missing =
            if *subject == Subject::Result { "there is no result".to_owned() } else { format!("{name} is not set") };
        return Ended::Missing(missing, None);
    };
    match (schema.fault(value), subject) {
        (None, _) => Ended::Holds,
        (Some(_), _) if holds_secret(value) => Ended::Unknown(format!("a part of {name} is secret")),
        (Some(fault), Subject::Result) => Ended::Broken(format!("the result: {fault}")),
        (Some(fault), Subject::Variable(reference)) => {
            Ended::Missing(format!("{}: {fault}", told_as(reference, value)), None)
        }
    }
}

impl Meter {
    #[expect(clippy::wildcard_enum_match_arm, reason = "what else happens, happens while nobody is waited for")]
    fn step(&mut self, past: &Past<'_>, index: usize) -> Result<Option<String>, String> {
        let event = &past.run.events[index];
        match (self.measure, &event.body) {
            (Measure::Turns, PublicBody::TurnStarted { .. }) => self.so_far += 1.0,
            (Measure::Tokens, PublicBody::TurnFinished { prompt_tokens, completion_tokens, .. }) => {
                self.so_far += whole(prompt_tokens + completion_tokens);
            }
            (Measure::Cost, PublicBody::TurnFinished { prompt_tokens, cached_tokens, completion_tokens, .. }) => {
                let usage = Usage {
                    prompt_tokens: *prompt_tokens,
                    cached_tokens: *cached_tokens,
                    completion_tokens: *completion_tokens,
                };
                let cost = past.cost(&usage);
                self.so_far += cost.ok_or("the model's prices are not known; `[prices]` of playhouse.toml has them")?;
            }
            (Measure::Depth, _) => {
                self.so_far = self.so_far.max(event.depth.map_or(0.0, |below| whole(below as u64 + 1)))
            }
            (Measure::Seconds, body) => {
                let before = index.checked_sub(1).map_or(event.time, |before| past.run.events[before].time);
                if !self.is_waiting {
                    self.so_far += whole(u64::try_from(event.time.0.saturating_sub(before.0)).unwrap_or(0)) / 1000.0;
                }
                self.is_waiting = match body {
                    PublicBody::Waiting { on } => on.is_for_person(),
                    // What comes late of what was before.
                    PublicBody::TurnFinished { .. } | PublicBody::CallFinished { .. } => self.is_waiting,
                    _ => false,
                };
            }
            (Measure::Turns | Measure::Tokens | Measure::Cost, _) => {}
        }
        let Meter { measure, most, so_far, .. } = self;
        Ok((*so_far > *most).then(|| format!("{so_far} {}, not at most {most}", words(*measure))))
    }
}

fn words(measure: Measure) -> Arc<str> {
    match measure {
        Measure::Depth => "playbooks on each other".into(),
        Measure::Cost => "of cost".into(),
        Measure::Turns | Measure::Tokens | Measure::Seconds => measure.to_string().into(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "2^53 of anything are more than there are")]
fn whole(n: u64) -> f64 {
    n as f64
}
