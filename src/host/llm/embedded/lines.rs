//! Lines that say something in words, that return, and free text.

use playhouse_lang::program::{Returned, Step, Target, Type};
use playhouse_lang::value::Value;
use serde_json::json;

use super::english::{mentions, strip, without_end};
use super::executor::{Executor, Next};
use super::phrases::{self, Instead};
use super::say::{Part, parts};
use super::scope::Worth;
use super::wording::literal_json;

impl Executor<'_> {
    /// A line that says something in words.
    pub(super) fn act_say(&mut self, line: &Step, text: &str) -> Next {
        if !self.say_parts(line, text) {
            return self.leave_out(line);
        }
        self.after_parts(line, text)
    }

    /// Leaves a line out that cannot be done, and tells why; one that must be done is not passed.
    pub(super) fn leave_out(&mut self, line: &Step) -> Next {
        let missing = self.missing(line);
        if line.must_be_done() && self.playbook.strict {
            return self.stop(line, missing);
        }
        self.write(line, json!({ "skip": missing.as_deref().unwrap_or(phrases::cannot(Instead::LeaveOut)) }));
        Next::Done
    }

    /// Says what can be said of a line; false: nothing.
    fn say_parts(&mut self, line: &Step, text: &str) -> bool {
        if self.is_answered(line) {
            return true;
        }
        let parts = self.parts(text);
        for part in &parts {
            if let Part::Say(text) = part {
                self.say(line, text);
            }
        }
        !parts.is_empty()
    }

    fn parts(&self, text: &str) -> Vec<Part> {
        let said = self.last_words();
        let judge = |condition: &str| super::judge::judge(condition, &self.scope, said.as_deref());
        parts(text, &self.scope, &judge)
    }

    /// What a line wants besides speech: `and ask for their $rating`, `then end the program`.
    fn after_parts(&mut self, line: &Step, text: &str) -> Next {
        for part in self.parts(text) {
            match part {
                Part::Say(_) => {}
                Part::Ask(direction) => {
                    let mentioned = mentions(&direction).into_iter().rev().find(|reference| reference.path.is_empty());
                    let target =
                        mentioned.map(|reference| Target { name: reference.name, ty: Type::ANY, span: line.span });
                    let targets: Vec<Target> = target.into_iter().collect();
                    let next = self.act_ask(line, &targets, &direction);
                    if next == Next::Over {
                        return next;
                    }
                }
                Part::End => {
                    self.write(line, json!({ "end": true }));
                    return Next::Over;
                }
            }
        }
        Next::Done
    }

    /// A line that returns.
    pub(super) fn act_return(&mut self, line: &Step, returned: &Returned, text: &str) -> Next {
        let ty = self.playbook.returns.unwrap_or(Type::ANY);
        let fits = |value: &Value| ty.accepts(value);
        let value = match returned {
            Returned::Nothing => Some((Value::Null, serde_json::Value::Null)),
            Returned::Value(expr) => self.scope.eval(expr).ok().map(|value| (value.clone(), literal_json(&value))),
            Returned::Call(site) => return self.return_call(line, site, text),
            Returned::Words => {
                let words = without_end(strip(text, "return").unwrap_or(text));
                let named = || mentions(words).into_iter().find_map(|reference| Worth::of(reference, &self.scope));
                let worth = self.scope.worth(words).or_else(named);
                worth.map(|worth| (worth.value.clone(), worth.written()))
            }
        };
        match value.filter(|(value, _)| fits(value) && !self.is_careful) {
            Some((_, written)) => {
                self.write(line, json!({ "return": written }));
                Next::Over
            }
            None => {
                self.admit(line, phrases::cannot(Instead::Nothing));
                self.give_up(line)
            }
        }
    }

    /// Free text: something to say or to ask, else it is left out and that is said.
    pub(super) fn act_free(&mut self, line: &Step, text: &str) -> Next {
        if self.is_answered(line) || self.say_parts(line, text) {
            return self.after_parts(line, text);
        }
        self.leave_out(line)
    }
}
