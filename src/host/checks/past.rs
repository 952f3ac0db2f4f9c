//! What has happened in a run before an event: calls, turns, the values of variables.

use std::collections::HashMap;
use std::sync::Arc;

use playhouse_lang::expr::Expr;
use playhouse_lang::value::{Reference, Value};
use playhouse_vm::protocol::{CallKind, Origin, Tracked, Usage};
use playhouse_vm::variables::eval::{Lookup, eval_condition};

use crate::checks::binding::Binding;
use crate::checks::verdict::Breach;
use crate::events::{PublicBody, PublicEvent};
use crate::resource::prices::PriceTable;
use crate::secrets::MASK;
use crate::text::{cut, one_line};
use crate::travel::Run;

/// So many characters of a value or text are told.
const MAX_TOLD: usize = 60;

/// A run, as far as it has been gone through.
pub(super) struct Past<'r> {
    pub(super) run: &'r Run,
    calls: HashMap<u64, Call<'r>>,
    turns: HashMap<u64, Turn<'r>>,
    /// How many turns have begun.
    pub(super) n_turns: u64,
    /// By name, the value that it was last given, in whatever playbook.
    values: HashMap<Arc<str>, Tracked>,
    prices: &'r PriceTable,
    model: Option<&'r str>,
    /// What the program returned.
    pub(super) result: Option<&'r Value>,
    /// Nothing more will happen.
    pub(super) is_over: bool,
}

/// A call that was made.
#[derive(Clone, Copy)]
pub(super) struct Call<'r> {
    pub(super) name: &'r str,
    pub(super) kind: CallKind,
    /// Who called.
    pub(super) agent: Option<&'r str>,
    pub(super) arguments: &'r Value,
    /// The index of the event.
    pub(super) made: usize,
    /// The turn whose reply holds it; none: the interpreter's own.
    pub(super) written_in: Option<u64>,
}

/// A turn that has begun.
#[derive(Clone, Copy)]
pub(super) struct Turn<'r> {
    /// The index of the event.
    pub(super) began: usize,
    /// Calls whose results its request did not tell of.
    pub(super) untaken: &'r [u64],
}

/// What a condition came to.
pub(super) enum Truth {
    /// It holds.
    Holds,
    /// It does not, and why.
    Fails(String),
    /// It cannot be told, and why.
    Unknown(String),
}

impl<'r> Past<'r> {
    /// Nothing has happened yet: variables have the values that they begin with.
    pub(super) fn new(run: &'r Run, prices: &'r PriceTable) -> Past<'r> {
        let declared = run.program.agents.iter().flat_map(|agent| &agent.variables);
        let declared = declared.filter_map(|declared| {
            let value = if declared.secret { Value::str(MASK) } else { declared.value.clone()? };
            Some((declared.name.clone(), value))
        });
        let given = run.arguments.iter().map(|(name, value)| (name.clone(), value.clone()));
        let values = declared.chain(given).map(|(name, value)| (name, Tracked::new(value, Origin::CODE))).collect();
        let (calls, turns) = (HashMap::new(), HashMap::new());
        Past { run, calls, turns, n_turns: 0, values, prices, model: None, result: None, is_over: false }
    }

    /// The event at the index has happened.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no check looks back at anything else")]
    pub(super) fn note(&mut self, index: usize) {
        let event = &self.run.events[index];
        match &event.body {
            PublicBody::SessionStarted { model, .. } => self.model = Some(model),
            PublicBody::TurnStarted { untaken, .. } => {
                self.n_turns += 1;
                if let Some(turn) = event.turn {
                    self.turns.insert(turn, Turn { began: index, untaken });
                }
            }
            PublicBody::CallQueued { call, .. } => {
                let Some((id, made)) = self.call_at(index).map(|made| (*call, made)) else { return };
                // What a playbook is called with are its variables.
                if let (CallKind::Playbook | CallKind::Plan, Some(given)) = (made.kind, made.arguments.as_map()) {
                    given.iter().for_each(|(name, value)| self.set(name, value));
                }
                self.calls.insert(id, made);
            }
            PublicBody::VariableSet { variable, value, .. } => self.set(variable, value),
            PublicBody::Finished { value } => (self.is_over, self.result) = (true, Some(value)),
            PublicBody::Failed { .. } => self.is_over = true,
            _ => {}
        }
    }

    fn set(&mut self, name: &Arc<str>, value: &Value) {
        self.values.insert(name.clone(), Tracked::new(value.clone(), Origin::CODE));
    }

    pub(super) fn call(&self, id: u64) -> Option<&Call<'r>> {
        self.calls.get(&id)
    }

    /// The call that is made, or ends, with the event at the index.
    pub(super) fn call_at(&self, index: usize) -> Option<Call<'r>> {
        let event = &self.run.events[index];
        if let PublicBody::CallFinished { call, .. } = &event.body {
            return self.call(*call).copied();
        }
        let PublicBody::CallQueued { callable, kind, args, written_in, .. } = &event.body else { return None };
        let agent = event.agent.as_deref();
        Some(Call { name: callable, kind: *kind, agent, arguments: args, made: index, written_in: *written_in })
    }

    pub(super) fn turn(&self, id: u64) -> Option<&Turn<'r>> {
        self.turns.get(&id)
    }

    /// What a request has cost, if the model's prices are known.
    pub(super) fn cost(&self, usage: &Usage) -> Option<f64> {
        self.prices.cost(self.model?, usage)
    }

    /// The value at a reference, if it is there.
    pub(super) fn value(&self, reference: &Reference) -> Option<&Value> {
        self.values.get(&reference.name)?.value().at(&reference.path).ok()
    }

    /// Whether a condition holds here; names of the binding stand before variables.
    pub(super) fn truth(&self, condition: &Expr, binding: &Binding) -> Truth {
        let scope = Scope { past: self, bound: binding.tracked() };
        let (mut told, mut secret): (Vec<String>, Option<String>) = (Vec::new(), None);
        condition.for_each_reference(&mut |reference| {
            let value = scope.lookup(&reference.name).and_then(|value| value.value().at(&reference.path).ok());
            if value.is_some_and(holds_secret) {
                secret = Some(format!("the value of {reference} is secret"));
            }
            let shown = value.map_or_else(|| format!("{reference} is not set"), |value| told_as(reference, value));
            if !told.contains(&shown) {
                told.push(shown);
            }
        });
        let holds = eval_condition(condition, &scope);
        match (secret, holds) {
            (Some(secret), _) => Truth::Unknown(secret),
            (None, Ok(true)) => Truth::Holds,
            (None, Ok(false)) => Truth::Fails(told.join(", ")),
            (None, Err(fault)) if fault.is_missing() => Truth::Fails(fault.to_string()),
            (None, Err(fault)) => Truth::Unknown(fault.to_string()),
        }
    }

    /// That a check was broken with the event at the index.
    pub(super) fn breach(&self, event: usize, sentence: String) -> Breach {
        let place = self.run.events.get(event).and_then(PublicEvent::place);
        Breach { event, point: self.run.point(event), place, sentence }
    }

    /// Where the event at the index stands: ` at 40.0`, or in which turn.
    pub(super) fn at(&self, index: usize) -> String {
        match (self.run.point(index), self.run.events.get(index).and_then(|event| event.turn)) {
            (Some(point), _) => format!(" at {point}"),
            (None, Some(turn)) => format!(" in turn {turn}"),
            (None, None) => String::new(),
        }
    }

    /// What happened with the event at the index.
    #[expect(clippy::wildcard_enum_match_arm, reason = "atoms are about these")]
    pub(super) fn told(&self, index: usize) -> String {
        let event = &self.run.events[index];
        match &event.body {
            PublicBody::CallQueued { .. } => format!("{} was called", self.call_text(index)),
            PublicBody::CallFinished { error: Some(error), .. } => {
                format!("{} failed: {}", self.call_text(index), cut(&one_line(error), MAX_TOLD))
            }
            PublicBody::CallFinished { result, .. } => {
                let result = result.as_ref().map_or_else(String::new, |result| format!(" {}", shown(result)));
                format!("{} returned{result}", self.call_text(index))
            }
            PublicBody::Said { text } => format!("the program said {}", shown(&Value::Str(text.clone()))),
            PublicBody::UserMessage { text } => format!("the user said {}", shown(&Value::Str(text.clone()))),
            PublicBody::LineReached {} => format!("{} was reached", event.place().unwrap_or_default()),
            PublicBody::FramePushed { .. } => format!("{} was begun", event.part().map_or("", |part| &**part)),
            PublicBody::TriggerMatched { trigger, .. } => format!("{trigger} fired"),
            body => body.name().to_owned(),
        }
    }

    /// The call that the event at the index is about: `Refund("4334")`.
    pub(super) fn call_text(&self, index: usize) -> String {
        let Some(call) = self.call_at(index) else { return "a call".to_owned() };
        let arguments = call.arguments.as_map().into_iter().flatten().map(|(_, value)| shown(value));
        format!("{}({})", call.name, arguments.collect::<Vec<_>>().join(", "))
    }
}

/// Where a condition reads its variables.
struct Scope<'p, 'r> {
    past: &'p Past<'r>,
    bound: Vec<(Arc<str>, Tracked)>,
}

impl Lookup for Scope<'_, '_> {
    fn lookup(&self, name: &str) -> Option<&Tracked> {
        let bound = self.bound.iter().find(|(known, _)| **known == *name).map(|(_, value)| value);
        bound.or_else(|| self.past.values.get(name))
    }
}

/// Whether a value, or a part of it, is not shown.
pub(super) fn holds_secret(value: &Value) -> bool {
    match value {
        Value::Str(text) => text.contains(MASK),
        Value::List(items) => items.iter().any(holds_secret),
        Value::Map(members) => members.values().any(holds_secret),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => false,
    }
}

/// A value as it is told.
fn shown(value: &Value) -> String {
    cut(&value.to_json(), MAX_TOLD)
}

/// `$total = 60`
pub(super) fn told_as(reference: &Reference, value: &Value) -> String {
    format!("{reference} = {}", shown(value))
}
