//! Values for variables: expressions, arithmetic in words, and what the user's last words hold.

use crate::lang::expr::Expr;
use crate::lang::program::{Step, Target, Type};
use crate::value::Value;

use super::answer;
use super::english::{find_any, mentions, name_words, strip, strip_any, without_end};
use super::executor::{Executor, Next, literal_json, nothing_of};
use super::kinds::{Kind, kind_of_name, kind_of_type};
use super::phrases::{self, Instead};
use super::reckon::{Worth, plain_words, worth};
use super::wanted;
use super::wording::{Values, plain};

impl Executor<'_> {
    /// An assignment: an expression, arithmetic in words, or a value out of the user's last words.
    pub(super) fn act_assign(&mut self, line: &Step, target: &Target, value: Option<&Expr>, text: &str) -> Next {
        let ty = self.type_of(target);
        if self.is_answered(line) {
            let question = format!("ask the user for ${}", target.name);
            return self.act_ask(line, std::slice::from_ref(target), &question);
        }
        if let Some(value) = value
            && let Ok(value) = self.scope.eval(value)
            && ty.accepts(&value)
        {
            self.set(line, target, value);
            return Next::Done;
        }
        let written = text;
        let text = wanted::without_types(text);
        // `Work out the sum and keep it as $sum`: the value stands before its variable.
        if value.is_none() && after_target(&text, target).is_none() {
            return self.act_free(line, written);
        }
        let words = after_target(&text, target).unwrap_or(&text);
        self.assign_words(line, target, ty, words, &text)
    }

    fn assign_words(&mut self, line: &Step, target: &Target, ty: Type, words: &str, text: &str) -> Next {
        let found = worth(words, &self.scope).filter(|_| !self.is_careful);
        if let Some(worth) = found
            && let Some(value) = worth.value(&self.scope)
            && ty.accepts(&value)
        {
            let written = match worth {
                Worth::Reference(reference) => reference.to_string().into(),
                Worth::Value(_) => literal_json(&value),
            };
            self.set_written(line, target, value, written);
            return Next::Done;
        }
        if let Some(said) = self.last_words() {
            if means_last_words(words) && ty.accepts(&Value::Str(said.clone())) {
                self.set_written(line, target, Value::Str(said), "$user_message".into());
                return Next::Done;
            }
            let value = assigned_kind(words, target, ty).and_then(|kind| answer::assigned(&kind, ty, &said, text));
            if let Some(value) = value {
                self.set(line, target, value);
                return Next::Done;
            }
        }
        if let Some(value) = plain_words(words).filter(|value| ty.accepts(value)) {
            self.set(line, target, value);
            return Next::Done;
        }
        // What it was before it stays.
        if let Some(value) = self.scope.value(&target.name).filter(|value| **value != Value::Null && ty.accepts(value))
        {
            let value = value.clone();
            self.admit(line, &phrases::cannot(&plain(without_end(text)), Instead::LeaveOut));
            self.set_written(line, target, value, format!("${}", target.name).into());
            return Next::Done;
        }
        // Where nothing can stand for what is not known, the user may know it.
        let Some(value) = nothing_of(ty) else {
            let question = format!("ask the user for ${}", target.name);
            return self.act_ask(line, std::slice::from_ref(target), &question);
        };
        let sentence = self.missing(line);
        let sentence = sentence.unwrap_or_else(|| phrases::cannot(&plain(without_end(text)), Instead::Nothing));
        self.admit(line, &sentence);
        self.set(line, target, value);
        Next::Done
    }

    /// `Work out … and keep it as $x`, `Add $item to $cart`, `Increase $n by 1`.
    pub(super) fn act_kept(&mut self, line: &Step, text: &str) -> Option<Next> {
        let target_of =
            |reference: crate::value::Reference| Target { name: reference.name, ty: Type::ANY, span: line.span };
        if let Some(rest) = strip(text, "add") {
            let (start, end) = find_any(rest, &["to"])?;
            let target = mentions(&rest[end..]).into_iter().next().filter(|reference| reference.path.is_empty())?;
            let added = worth(&rest[..start], &self.scope)?.value(&self.scope)?;
            let sum = match (self.scope.value(&target.name)?, added) {
                (Value::List(items), added) => Value::list(items.iter().cloned().chain([added]).collect()),
                (Value::Int(_) | Value::Float(_), added) => {
                    self.scope.eval_text(&format!("${} + {}", target.name, added.to_json()))?
                }
                (Value::Null | Value::Bool(_) | Value::Str(_) | Value::Map(_), _) => return None,
            };
            self.set(line, &target_of(target), sum);
            return Some(Next::Done);
        }
        for (verbs, sign) in
            [(["increase", "increment", "raise", "count up"], '+'), (["decrease", "decrement", "reduce", "lower"], '-')]
        {
            if let Some(rest) = strip_any(text, &verbs) {
                let target = mentions(rest).into_iter().next().filter(|reference| reference.path.is_empty())?;
                let by =
                    find_any(rest, &["by"]).and_then(|(_, end)| worth(&rest[end..], &self.scope)?.value(&self.scope));
                let by = by.unwrap_or(Value::Int(1));
                let value = self.scope.eval_text(&format!("${} {sign} {}", target.name, by.to_json()))?;
                self.set(line, &target_of(target), value);
                return Some(Next::Done);
            }
        }
        const VERBS: [&str; 12] = [
            "work out",
            "calculate",
            "compute",
            "determine",
            "remember",
            "store",
            "save",
            "keep",
            "note",
            "find out",
            "count",
            "extract",
        ];
        let rest = strip_any(text, &VERBS)?;
        let (start, end) =
            find_any(rest, &["as", "in", "into"]).filter(|(_, end)| rest[*end..].trim_start().starts_with('$'))?;
        let target = mentions(&rest[end..]).into_iter().next().filter(|reference| reference.path.is_empty())?;
        let what = rest[..start].trim();
        let what = find_any(what, &["and keep", "and store", "and save", "and remember"])
            .map_or(what, |(at, _)| what[..at].trim());
        let target = target_of(target);
        let ty = self.type_of(&target);
        Some(self.assign_words(line, &target, ty, what, text))
    }
}

/// What is assigned: after the variable and `to` or `=`.
fn after_target<'t>(text: &'t str, target: &Target) -> Option<&'t str> {
    let mention = format!("${}", target.name);
    let at = text.find(&mention)? + mention.len();
    let rest = text[at..].trim_start();
    rest.strip_prefix('=').map(str::trim_start).or_else(|| strip_any(rest, &["to", "be", "as"]))
}

/// Whether all that the user has said is meant.
fn means_last_words(words: &str) -> bool {
    const FORMS: [&str; 22] = [
        "what the user said",
        "what the user says",
        "what the user wrote",
        "what the user wants",
        "what the user asked",
        "what they said",
        "what they want",
        "what they wrote",
        "what they asked",
        "whatever the user said",
        "whatever the user says",
        "whatever they said",
        "the user's message",
        "the user's answer",
        "the user's words",
        "the user's reply",
        "the user's question",
        "the user's request",
        "their message",
        "their answer",
        "their words",
        "their reply",
    ];
    strip_any(words, &FORMS).is_some()
}

/// The kind of value that an assignment takes out of the user's words.
fn assigned_kind(words: &str, target: &Target, ty: Type) -> Option<Kind> {
    let from_type = kind_of_type(ty).filter(|kind| !matches!(kind, Kind::List));
    let noun = without_end(words.split(',').next().unwrap_or(""));
    let noun = strip_any(noun, &["the", "their", "that", "this", "his or her"]).unwrap_or(noun);
    let of_noun = kind_of_name(noun, false);
    let of_name = kind_of_name(&name_words(&target.name), false);
    match (from_type, of_name, of_noun) {
        (Some(kind), ..) => Some(kind),
        // `Set $phone to the number`: the variable's own name says more.
        (None, Some(kind @ (Kind::Email | Kind::Phone)), _) => Some(kind),
        (None, _, Some(kind)) | (None, Some(kind), None) => Some(kind),
        (None, None, None) => None,
    }
}
