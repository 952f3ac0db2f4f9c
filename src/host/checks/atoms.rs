//! Whether an event is what an atom says.

use std::sync::Arc;

use playhouse_lang::diagnostic::Diagnostic;
use playhouse_lang::evaluation::checks::{
    self, ArgumentPattern, CallPattern, Check, Pattern, ResultPattern, ValuePattern,
};
use playhouse_lang::files::case_file::item::regex_fault;
use playhouse_lang::value::Value;
use playhouse_vm::protocol::CallKind;
use regex::Regex;

use crate::checks::binding::Binding;
use crate::checks::past::{Call, Past, holds_secret};
use crate::events::PublicBody;
use crate::secrets::MASK;

/// Something that can happen.
#[derive(Clone, Debug)]
pub(super) struct Atom {
    kind: AtomKind,
    /// As it is written.
    pub(super) text: String,
    /// The names that it binds.
    pub(super) names: Vec<Arc<str>>,
}

#[derive(Clone, Debug)]
enum AtomKind {
    Call(CallAtom),
    Says(Regex),
    UserSays(Regex),
    Reaches { agent: Option<Arc<str>>, place: Arc<str>, line: Option<Arc<str>> },
    Fires(Arc<str>),
}

#[derive(Clone, Debug)]
struct CallAtom {
    name: Arc<str>,
    arguments: Vec<(Arc<str>, ArgumentAtom)>,
    ends: Ends,
}

/// Which moment of a call is meant.
#[derive(Clone, Debug)]
enum Ends {
    /// It is made.
    No,
    /// It ends, however.
    Somehow,
    /// It ends so.
    So(ResultPattern),
}

#[derive(Clone, Debug)]
enum ArgumentAtom {
    Json(Value),
    Matches(Regex),
    Binds(Arc<str>),
}

/// What an event is to an atom.
pub(super) enum Match {
    /// Something else.
    No,
    /// What it says, with these values of its names.
    Yes(Binding),
    /// That cannot be told: something is secret.
    Hidden(String),
}

impl Atom {
    /// The atom of a check, as it was resolved; none: something is wrong with it.
    pub(super) fn new(check: &Check, atom: &checks::Atom, findings: &mut Vec<Diagnostic>) -> Option<Atom> {
        let (kind, text) = match atom {
            checks::Atom::Call(call) => return Atom::of_call(check, call, false, findings),
            checks::Atom::Says(pattern) => {
                (AtomKind::Says(compile(pattern, findings)?), format!("says {}", check.text_at(pattern.span)))
            }
            checks::Atom::UserSays(pattern) => {
                (AtomKind::UserSays(compile(pattern, findings)?), format!("user says {}", check.text_at(pattern.span)))
            }
            checks::Atom::Reaches { place, line } => {
                let text = line
                    .as_ref()
                    .map_or_else(|| place.text.to_string(), |line| format!("{}:{}", place.text, line.text));
                let (agent, place) = split_agent(&place.text);
                let line = line.as_ref().map(|line| line.text.clone());
                (AtomKind::Reaches { agent: agent.map(Arc::from), place: place.into(), line }, text)
            }
            checks::Atom::Fires(trigger) => {
                // Events name no agent before it.
                let (_, bare) = split_agent(&trigger.text);
                (AtomKind::Fires(bare.into()), trigger.text.to_string())
            }
        };
        Some(Atom { kind, text, names: Vec::new() })
    }

    /// A call; `is_known`: its end is meant in any case.
    pub(super) fn of_call(
        check: &Check,
        call: &CallPattern,
        is_known: bool,
        findings: &mut Vec<Diagnostic>,
    ) -> Option<Atom> {
        let mut argument = |ArgumentPattern { name, value, .. }: &ArgumentPattern| {
            let value = match value {
                ValuePattern::Json(value) => ArgumentAtom::Json(value.clone()),
                ValuePattern::Matches(pattern) => ArgumentAtom::Matches(compile(pattern, findings)?),
                ValuePattern::Binds(name) => ArgumentAtom::Binds(name.clone()),
            };
            Some((name.as_ref()?.text.clone(), value))
        };
        let arguments = call.arguments.iter().map(&mut argument).collect::<Option<_>>()?;
        let ends = match &call.result {
            Some(result) => Ends::So(result.clone()),
            None if is_known => Ends::Somehow,
            None => Ends::No,
        };
        let kind = AtomKind::Call(CallAtom { name: call.name.text.clone(), arguments, ends });
        let names = call.names().into_iter().cloned().collect();
        Some(Atom { kind, text: check.text_at(call.span).to_owned(), names })
    }

    /// What the event at the index is to it.
    pub(super) fn matches(&self, past: &Past<'_>, index: usize) -> Match {
        let event = &past.run.events[index];
        let is_it = match (&self.kind, &event.body) {
            (AtomKind::Call(call), _) => return call.matches(past, index),
            (AtomKind::Says(pattern), PublicBody::Said { text })
            | (AtomKind::UserSays(pattern), PublicBody::UserMessage { text }) => pattern.is_match(text),
            (AtomKind::Reaches { agent, place, line }, body) => {
                let is_moment = match line {
                    Some(line) => matches!(body, PublicBody::LineReached {}) && event.line.as_ref() == Some(line),
                    None => matches!(body, PublicBody::FramePushed { .. }),
                };
                is_moment && event.part() == Some(place) && (agent.is_none() || *agent == event.agent)
            }
            (AtomKind::Fires(name), PublicBody::TriggerMatched { trigger, .. }) => **trigger == **name,
            _ => false,
        };
        Match::of(is_it)
    }
}

impl CallAtom {
    fn matches(&self, past: &Past<'_>, index: usize) -> Match {
        let Some(call) = past.call_at(index).filter(|call| is_called(&self.name, call)) else { return Match::No };
        let ended = if let PublicBody::CallFinished { result, error, .. } = &past.run.events[index].body {
            Some((result.as_ref(), error.is_some()))
        } else {
            None
        };
        let mut all = match (&self.ends, ended) {
            (Ends::No, None) | (Ends::Somehow, Some(_)) => Match::of(true),
            (Ends::So(ResultPattern::Fails), Some((_, has_failed))) => Match::of(has_failed),
            (Ends::So(ResultPattern::Returns(wanted)), Some((Some(found), _))) => {
                fits(wanted, found, &|| format!("the result of {} is secret", call.name))
            }
            (Ends::No, Some(_)) | (Ends::Somehow | Ends::So(_), None) => Match::No,
            (Ends::So(ResultPattern::Returns(_)), Some((None, _))) => Match::No,
        };
        for (name, wanted) in &self.arguments {
            let Some(found) = call.arguments.as_map().and_then(|given| given.get(name)) else { return Match::No };
            all = all.and(wanted, found, &|| format!("the argument `{name}` of {} is secret", call.name));
        }
        all
    }
}

impl Match {
    fn of(is_it: bool) -> Match {
        if is_it { Match::Yes(Binding::default()) } else { Match::No }
    }

    /// The same, if an argument is what is wanted of it, too. What is known to be something else decides.
    fn and(self, wanted: &ArgumentAtom, found: &Value, secret: &dyn Fn() -> String) -> Match {
        let argument = match wanted {
            ArgumentAtom::Json(wanted) => fits(wanted, found, secret),
            // Nothing is shown of a value that is only the mask.
            ArgumentAtom::Matches(pattern) if pattern.is_match(&found.to_text()) && found.as_str() != Some(MASK) => {
                Match::of(true)
            }
            ArgumentAtom::Matches(_) | ArgumentAtom::Binds(_) if holds_secret(found) => Match::Hidden(secret()),
            ArgumentAtom::Matches(_) => Match::No,
            ArgumentAtom::Binds(name) => {
                let Match::Yes(mut binding) = self else { return self };
                return if binding.bind(name, found) { Match::Yes(binding) } else { Match::No };
            }
        };
        match (self, argument) {
            (Match::No, _) | (_, Match::No) => Match::No,
            (Match::Hidden(why), _) | (Match::Yes(_), Match::Hidden(why)) => Match::Hidden(why),
            (Match::Yes(binding), Match::Yes(_)) => Match::Yes(binding),
        }
    }
}

/// Whether a value is what is wanted: of a map the members that are wanted, of everything else the whole.
fn fits(wanted: &Value, found: &Value, secret: &dyn Fn() -> String) -> Match {
    let all = |pairs: &mut dyn Iterator<Item = (&Value, Option<&Value>)>| {
        let mut all = Match::of(true);
        for (wanted, found) in pairs {
            match found.map_or(Match::No, |found| fits(wanted, found, secret)) {
                Match::No => return Match::No,
                Match::Yes(_) => {}
                hidden @ Match::Hidden(_) => all = hidden,
            }
        }
        all
    };
    match (wanted, found) {
        (Value::Map(wanted), Value::Map(found)) => {
            all(&mut wanted.iter().map(|(name, wanted)| (wanted, found.get(name))))
        }
        (Value::List(wanted), Value::List(found)) if wanted.len() == found.len() => {
            all(&mut wanted.iter().zip(found.iter().map(Some)))
        }
        (wanted, found) if wanted == found => Match::of(true),
        (_, Value::Str(text)) if text.contains(MASK) => Match::Hidden(secret()),
        _ => Match::No,
    }
}

/// Whether a call is of what a check names: a playbook may be called with its agent's name or without.
fn is_called(name: &str, call: &Call<'_>) -> bool {
    let (of, bare) = split_agent(name);
    let (called_of, called) = split_agent(call.name);
    let is_playbook = call.kind == CallKind::Playbook && called == bare;
    let is_agent = of.is_none() || of == called_of || (called_of.is_none() && of == call.agent);
    call.name == name || (is_playbook && is_agent)
}

/// `Agent.Playbook`, or without its agent.
fn split_agent(name: &str) -> (Option<&str>, &str) {
    name.split_once('.').map_or((None, name), |(agent, bare)| (Some(agent), bare))
}

/// The regular expression, or a finding.
fn compile(pattern: &Pattern, findings: &mut Vec<Diagnostic>) -> Option<Regex> {
    let compiled = Regex::new(&pattern.source);
    let fault = |error| {
        let (message, next) = regex_fault(&pattern.source, &error);
        findings.push(Diagnostic::error("bad-regex", pattern.span, message).with_note(next));
    };
    compiled.map_err(fault).ok()
}
