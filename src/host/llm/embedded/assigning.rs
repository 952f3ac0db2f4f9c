//! Values for variables: expressions, and what the user's last words hold.

use playhouse_lang::expr::Expr;
use playhouse_lang::program::{Step, Target, Type};
use playhouse_lang::value::Value;

use super::answer;
use super::english::{name_words, strip_any, without_end};
use super::executor::{Executor, Next, nothing_of};
use super::phrases::{self, Instead};
use super::wanted::{Kind, kind_of_name, kind_of_type, without_types};
use super::wording::Values;

impl Executor<'_> {
    /// An assignment: an expression, or a value out of the user's last words.
    pub(super) fn act_assign(&mut self, line: &Step, target: &Target, value: Option<&Expr>, text: &str) -> Next {
        let ty = self.type_of(target);
        let question = format!("ask the user for ${}", target.name);
        if self.is_answered(line) {
            return self.act_ask(line, std::slice::from_ref(target), &question);
        }
        if let Some(value) = value
            && let Ok(value) = self.scope.eval(value)
            && ty.accepts(&value)
        {
            self.set(line, target, value);
            return Next::Done;
        }
        let written = without_types(text);
        let words = after_target(&written, target).unwrap_or("");
        if let Some(worth) = self.scope.worth(words).filter(|worth| ty.accepts(&worth.value) && !self.is_careful) {
            self.set_written(line, target, worth.value.clone(), worth.written());
            return Next::Done;
        }
        if let Some(said) = self.last_words() {
            if means_last_words(words) && ty.accepts(&Value::Str(said.clone())) {
                self.set_written(line, target, Value::Str(said), "$user_message".into());
                return Next::Done;
            }
            let kind = assigned_kind(words, target, ty);
            if let Some(value) = kind.and_then(|kind| answer::assigned(&kind, ty, &said)) {
                self.set(line, target, value);
                return Next::Done;
            }
        }
        // What it was before it stays.
        if let Some(value) = self.scope.value(&target.name).filter(|value| **value != Value::Null && ty.accepts(value))
        {
            let value = value.clone();
            self.admit(line, phrases::cannot(Instead::LeaveOut));
            self.set_written(line, target, value, format!("${}", target.name).into());
            return Next::Done;
        }
        // Where nothing can stand for what is not known, the user may know it.
        let Some(value) = nothing_of(ty) else {
            return self.act_ask(line, std::slice::from_ref(target), &question);
        };
        let missing = self.missing(line);
        self.admit(line, missing.as_deref().unwrap_or(phrases::cannot(Instead::Nothing)));
        self.set(line, target, value);
        Next::Done
    }
}

/// What is assigned: after the variable and `to` or `=`.
fn after_target<'t>(text: &'t str, target: &Target) -> Option<&'t str> {
    let mention = format!("${}", target.name);
    let at = text.find(&mention)? + mention.len();
    let rest = text[at..].trim_start();
    rest.strip_prefix('=').map(str::trim_start).or_else(|| strip_any(rest, "to|be|as"))
}

/// Whether all that the user has said is meant.
fn means_last_words(words: &str) -> bool {
    let whose = strip_any(words, "what|whatever").and_then(|rest| strip_any(rest, "the user|they"));
    let verb = whose.and_then(|rest| strip_any(rest, "said|says|wrote|want|wants|asked"));
    let owned = strip_any(words, "the user's|their");
    verb.is_some() || owned.is_some_and(|rest| strip_any(rest, "message|answer|words|reply").is_some())
}

/// The kind of value that an assignment takes out of the user's words.
fn assigned_kind(words: &str, target: &Target, ty: Type) -> Option<Kind> {
    let from_type = kind_of_type(ty).filter(|kind| !matches!(kind, Kind::List));
    let noun = without_end(words.split(',').next().unwrap_or(""));
    let noun = strip_any(noun, "the|their|that|this").unwrap_or(noun);
    // `Set $phone to the number`: the variable's own name says more.
    let of_name = kind_of_name(&name_words(&target.name), false);
    let own = of_name.clone().filter(|kind| matches!(kind, Kind::Email | Kind::Phone));
    from_type.or(own).or_else(|| kind_of_name(noun, false)).or(of_name)
}
