//! Conditions in words, as far as patterns can tell. None: nobody here can judge it.

use playhouse_lang::value::Value;
use playhouse_vm::protocol::{USER_MESSAGE, Update};

use crate::patterns::words::judge_words;
use crate::patterns::{Thing, gives};

use super::answer::{MAX_READ, yes_or_no};
use super::english::{find_any, strip_any, strip_user, without_end};
use super::evasion::is_leaving;
use super::numbers::numbers;
use super::scope::Scope;

/// Whether a condition holds; `said`: the user's last words.
pub(super) fn judge(condition: &str, scope: &Scope, said: Option<&str>) -> Option<bool> {
    let condition = without_end(condition);
    if condition.contains('$') {
        let worth = scope.worth(condition)?;
        return if let Value::Bool(truth) = worth.value { Some(truth) } else { None };
    }
    let said = said?;
    let said = &said[..said.floor_char_boundary(MAX_READ)];
    let update = Update { name: USER_MESSAGE.into(), old: None, new: Value::str(said) };
    if let Some(truth) = judge_words(&format!("if {condition}"), std::slice::from_ref(&update)) {
        return Some(truth);
    }
    if condition == "yes" {
        return yes_or_no(said);
    }
    let act = strip_user(condition).or_else(|| strip_any(condition, "they|he or she|somebody"))?;
    of_act(act, said)
}

/// What the user did: `says goodbye`, `names a temperature`.
fn of_act(act: &str, said: &str) -> Option<bool> {
    const LEAVES: &str = "goodbye|bye|is done|are done|nothing else|no more questions|wants to stop|wants to leave";
    if find_any(act, "not|doesn't|don't|didn't|never").is_some() {
        return None;
    }
    if find_any(act, LEAVES).is_some() {
        return Some(is_leaving(said));
    }
    if let Some(thing) = strip_any(act, "says|names|gives|mentions|provides|enters") {
        let thing = strip_any(thing, "a|an|the|their|another").unwrap_or(thing);
        return match thing.to_lowercase().as_str() {
            "yes" => Some(yes_or_no(said) == Some(true)),
            "no" => Some(yes_or_no(said) == Some(false)),
            "number" | "temperature" | "amount" | "price" | "age" => Some(numbers(said).len() == 1),
            "date" | "day" => Some(gives(said, Thing::Date)),
            "email" | "e-mail" | "email address" | "e-mail address" => Some(gives(said, Thing::Email)),
            "phone number" => Some(gives(said, Thing::Phone)),
            _ => None,
        };
    }
    // A yes or a no to what was asked; other words may mean either.
    strip_any(act, "wants|want|would like|agrees|agree|accepts|confirms")?;
    yes_or_no(said)
}
