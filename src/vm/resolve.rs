//! References in what the model writes: resolved once, at any depth; values are never scanned again
//! (spec `turn-protocol.md`, "References").

use std::collections::BTreeMap;
use std::sync::Arc;

use playhouse_lang::value::{Map, Origin, PathStep, Reference, Tracked, Value};

use crate::Machine;
use crate::calls::Given;
use crate::eval::{EvalFault, read};
use crate::reply::CallArguments;
use crate::template::{Part, scan_text, whole_reference};

impl Machine {
    /// Replaces the references in a value that the model wrote. What it wrote itself is of origin `model`.
    pub(crate) fn resolve(&mut self, value: &Value) -> Result<Tracked, EvalFault> {
        let mut names = Vec::new();
        let mut result = Tracked::new(Value::Null, Origin::default());
        result.value = self.resolve_into(value, &mut result, &mut names)?;
        self.touch(names.iter());
        Ok(result)
    }

    /// The value that something written will have, if no name is mentioned that `changing` will give another value
    /// first, and nothing that may not be shown.
    pub(crate) fn literal(&self, value: &Value, changing: &BTreeMap<Arc<str>, Value>) -> Option<Value> {
        let mut names = Vec::new();
        let mut result = Tracked::new(Value::Null, Origin::default());
        let value = self.resolve_into(value, &mut result, &mut names).ok()?;
        let is_certain = !result.secret && !names.iter().any(|name| changing.contains_key(name));
        is_certain.then_some(value)
    }

    fn resolve_into(&self, value: &Value, result: &mut Tracked, names: &mut Vec<Arc<str>>) -> Result<Value, EvalFault> {
        match value {
            Value::Str(text) => self.resolve_text(text, result, names),
            Value::List(items) => {
                let items: Result<Vec<Value>, EvalFault> =
                    items.iter().map(|item| self.resolve_into(item, result, names)).collect();
                result.origin = result.origin.with(Origin::MODEL);
                items.map(Value::list)
            }
            Value::Map(members) => {
                let mut resolved = Map::new();
                for (key, member) in members.iter() {
                    resolved.insert(key.clone(), self.resolve_into(member, result, names)?);
                }
                result.origin = result.origin.with(Origin::MODEL);
                Ok(Value::map(resolved))
            }
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
                result.origin = result.origin.with(Origin::MODEL);
                Ok(value.clone())
            }
        }
    }

    fn resolve_text(
        &self,
        text: &Arc<str>,
        result: &mut Tracked,
        names: &mut Vec<Arc<str>>,
    ) -> Result<Value, EvalFault> {
        let mut absorb = |reference: Reference| -> Result<Value, EvalFault> {
            if self.top().pending(&reference.name).is_some() {
                return Err(EvalFault::Unset(reference.name));
            }
            let read = read(&reference, &self.reader())?;
            result.origin = result.origin.with(read.origin);
            result.secret |= read.secret;
            names.push(reference.name);
            Ok(read.value)
        };
        if let Some(reference) = whole_reference(text) {
            return absorb(reference);
        }
        let mut resolved = String::with_capacity(text.len());
        let mut is_plain = true;
        for part in scan_text(text) {
            match part {
                Part::Text(text) => resolved.push_str(&text),
                Part::Reference { reference, braced: true, .. } => {
                    is_plain = false;
                    resolved.push_str(&absorb(reference)?.to_text());
                }
                // A bare name inside other text is text everywhere but in speech.
                Part::Reference { braced: false, source, .. } => resolved.push_str(&source),
            }
        }
        result.origin = result.origin.with(Origin::MODEL);
        if is_plain && resolved == **text {
            return Ok(Value::Str(text.clone()));
        }
        Ok(Value::from(resolved))
    }

    /// The arguments of a call.
    pub(crate) fn resolve_arguments(&mut self, arguments: &CallArguments) -> Result<Given, EvalFault> {
        match arguments {
            CallArguments::Named(members) => self.resolve_members(members).map(Given::Named),
            CallArguments::Positional(values) => {
                let values: Result<Vec<_>, _> = values.iter().map(|value| self.resolve(value)).collect();
                values.map(Given::Positional)
            }
        }
    }

    fn resolve_members(&mut self, members: &Map) -> Result<Vec<(Arc<str>, Tracked)>, EvalFault> {
        members.iter().map(|(name, value)| Ok((name.clone(), self.resolve(value)?))).collect()
    }

    /// A reference inside speech as text; the error is the name of a variable that may still be on its way.
    /// An unknown one stays as it was written, and is told.
    pub(crate) fn speak_reference(&self, reference: &Reference, braced: bool, source: &str) -> Spoken {
        if self.top().pending(&reference.name).is_some() {
            return Spoken::Pending(reference.name.clone());
        }
        match read(reference, &self.reader()) {
            Ok(value) if value.secret => Spoken::Text("***".to_owned()),
            Ok(value) => Spoken::Text(value.value.to_text()),
            // `$name.Then` is a name and the next sentence.
            Err(EvalFault::Missing(_) | EvalFault::Other(_)) if !braced && !reference.path.is_empty() => {
                let mut shorter = reference.clone();
                let Some(last) = shorter.path.pop() else { return Spoken::Unknown };
                let rest = match &last {
                    PathStep::Member(name) => format!(".{name}"),
                    PathStep::Index(index) => format!("[{index}]"),
                };
                let source = source.strip_suffix(&rest).unwrap_or(source);
                match self.speak_reference(&shorter, false, source) {
                    Spoken::Text(text) => Spoken::Text(text + &rest),
                    other @ (Spoken::Pending(_) | Spoken::Unknown) => other,
                }
            }
            Err(_) => Spoken::Unknown,
        }
    }
}

/// What a reference in speech is.
pub(crate) enum Spoken {
    /// Its text.
    Text(String),
    /// A result that is on its way.
    Pending(Arc<str>),
    /// Nothing known.
    Unknown,
}
