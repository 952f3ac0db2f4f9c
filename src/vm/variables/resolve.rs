//! References in what the model writes: resolved once, at any depth; values are never scanned again
//! (spec `turn-protocol.md`, "References").

use std::collections::BTreeMap;
use std::sync::Arc;

use playhouse_lang::value::{Map, PathStep, Reference, Value};

use crate::calls::arguments::Given;
use crate::machine::interpreter::Interpreter;
use crate::machine::stack::Stack;
use crate::protocol::{Origin, Provenance, Tracked};
use crate::reply::CallArguments;
use crate::variables::eval::read;
use crate::variables::fault::EvalFault;
use playhouse_lang::expr::template::{Part, scan_text, whole_reference};

impl Interpreter {
    /// Replaces the references in a value that the model wrote. What it wrote itself is of origin `model`.
    pub(crate) fn resolve(&mut self, value: &Value) -> Result<Tracked, EvalFault> {
        let mut names = Vec::new();
        let resolved = self.stack.resolve_value(value, &mut names)?;
        self.stack.touch(names.iter());
        Ok(resolved)
    }

    /// The arguments of a call.
    pub(crate) fn resolve_arguments(&mut self, arguments: &CallArguments) -> Result<Given, EvalFault> {
        match arguments {
            CallArguments::Named(members) => self.resolve_members(members).map(Given::named),
            CallArguments::Positional(values) => {
                let values: Result<Vec<_>, _> = values.iter().map(|value| self.resolve(value)).collect();
                Ok(Given { positional: values?, named: Vec::new() })
            }
        }
    }

    fn resolve_members(&mut self, members: &Map) -> Result<Vec<(Arc<str>, Tracked)>, EvalFault> {
        members.iter().map(|(name, value)| Ok((name.clone(), self.resolve(value)?))).collect()
    }
}

impl Stack {
    /// The value that something written will have, if no name is mentioned that `changing` will give another value
    /// first, and nothing that may not be shown.
    pub(crate) fn literal(&self, value: &Value, changing: &BTreeMap<Arc<str>, Value>) -> Option<Value> {
        let mut names = Vec::new();
        let resolved = self.resolve_value(value, &mut names).ok()?;
        let is_certain = !resolved.is_secret() && !names.iter().any(|name| changing.contains_key(name));
        is_certain.then(|| resolved.into_value())
    }

    fn resolve_value(&self, value: &Value, names: &mut Vec<Arc<str>>) -> Result<Tracked, EvalFault> {
        match value {
            Value::Str(text) => self.resolve_text(text, names),
            Value::List(items) => {
                Tracked::list(Origin::MODEL, items.iter().map(|item| self.resolve_value(item, names)))
            }
            Value::Map(members) => {
                let members = members.iter().map(|(key, member)| Ok((key.clone(), self.resolve_value(member, names)?)));
                Tracked::map(Origin::MODEL, members)
            }
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
                Ok(Tracked::new(value.clone(), Origin::MODEL))
            }
        }
    }

    fn resolve_text(&self, text: &Arc<str>, names: &mut Vec<Arc<str>>) -> Result<Tracked, EvalFault> {
        let mut read = |reference: Reference| -> Result<Tracked, EvalFault> {
            if self.top().pending(&reference.name).is_some() {
                return Err(EvalFault::Unset(reference.name));
            }
            let value = read(&reference, &self.reader())?;
            names.push(reference.name);
            Ok(value)
        };
        if let Some(reference) = whole_reference(text) {
            return read(reference);
        }
        let mut provenance = Provenance::of(Origin::MODEL);
        let mut resolved = String::with_capacity(text.len());
        for part in scan_text(text) {
            match part {
                Part::Text(text) => resolved.push_str(&text),
                Part::Reference { reference, braced: true, .. } => {
                    resolved.push_str(&provenance.absorb(read(reference)?).to_text());
                }
                // A bare name inside other text is text everywhere but in speech.
                Part::Reference { braced: false, source, .. } => resolved.push_str(&source),
            }
        }
        let is_plain = resolved == **text;
        Ok(provenance.track(if is_plain { Value::Str(text.clone()) } else { Value::from(resolved) }))
    }

    /// A reference inside speech as text; the error is the name of a variable that may still be on its way.
    /// An unknown one stays as it was written, and is told.
    pub(crate) fn speak_reference(&self, reference: &Reference, braced: bool, source: &str) -> Spoken {
        if self.top().pending(&reference.name).is_some() {
            return Spoken::Pending(reference.name.clone());
        }
        match read(reference, &self.reader()) {
            Ok(value) => Spoken::Text(value.shown_text()),
            // `$name.Then` is a name and the next sentence.
            Err(EvalFault::NoStep { .. }) if !braced => {
                let mut shorter = reference.clone();
                let Some(last) = shorter.path.pop() else { return Spoken::Unknown(EvalFault::Unset(shorter.name)) };
                let rest = match &last {
                    PathStep::Member(name) => format!(".{name}"),
                    PathStep::Index(index) => format!("[{index}]"),
                };
                let source = source.strip_suffix(&rest).unwrap_or(source);
                match self.speak_reference(&shorter, false, source) {
                    Spoken::Text(text) => Spoken::Text(text + &rest),
                    other @ (Spoken::Pending(_) | Spoken::Unknown(_)) => other,
                }
            }
            Err(fault) => Spoken::Unknown(fault),
        }
    }
}

/// What a reference in speech is.
pub(crate) enum Spoken {
    /// Its text.
    Text(String),
    /// A result that is on its way.
    Pending(Arc<str>),
    /// Nothing known, and why.
    Unknown(EvalFault),
}
