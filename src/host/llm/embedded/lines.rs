//! Lines that say something in words, that return, and free text.

use serde_json::json;

use crate::lang::program::flow_graph::Node;
use crate::lang::program::{Returned, Step, Target, Type};
use crate::value::Value;

use super::english::{find_any, mentions, name_words, strip, strip_any, without_end, words};
use super::executor::{Executor, Next, literal_json};
use super::phrases::{self, Instead};
use super::reckon::{Worth, worth};
use super::say::{Part, parts};
use super::wording::{Values, plain};

impl Executor<'_> {
    /// A line that says something in words.
    pub(super) fn act_say(&mut self, line: &Step, text: &str) -> Next {
        if !self.say_parts(line, text) {
            let sentence = self.missing(line);
            return self.leave_out(line, text, sentence);
        }
        self.after_parts(line, text)
    }

    /// Leaves a line out that cannot be done, and says so; one that must be done is not passed.
    pub(super) fn leave_out(&mut self, line: &Step, text: &str, sentence: Option<String>) -> Next {
        let must_be_done = line.must_be_done() && self.playbook.strict;
        let instead = if must_be_done { Instead::Stop } else { Instead::LeaveOut };
        self.admit(line, &sentence.unwrap_or_else(|| phrases::cannot(&plain(without_end(text)), instead)));
        if must_be_done {
            self.give_up(line);
            return Next::Over;
        }
        self.write(line, json!({ "skip": phrases::BEYOND }));
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
        parts(text, &self.agent.title, &self.scope, &judge)
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
                let named = || mentions(words).into_iter().find(|reference| self.scope.told(reference).is_some());
                let worth = worth(words, &self.scope).or_else(|| named().map(Worth::Reference));
                worth.and_then(|worth| {
                    let value = worth.value(&self.scope)?;
                    let written = match worth {
                        Worth::Reference(reference) => reference.to_string().into(),
                        Worth::Value(_) => literal_json(&value),
                    };
                    Some((value, written))
                })
            }
        };
        match value.filter(|(value, _)| fits(value) && !self.is_careful) {
            Some((_, written)) => self.write(line, json!({ "return": written })),
            None => {
                self.admit(line, &phrases::cannot(&plain(without_end(text)), Instead::Nothing));
                self.give_up(line);
            }
        }
        Next::Over
    }

    /// Free text: a call, arithmetic, something to say, else it is left out and that is said.
    pub(super) fn act_free(&mut self, line: &Step, text: &str) -> Next {
        if let Some(next) = self.act_known(line, text) {
            return next;
        }
        if self.is_answered(line) || self.say_parts(line, text) {
            return self.after_parts(line, text);
        }
        // What only asks to be careful has nothing that could be left out.
        self.leave_out(line, text, None)
    }

    /// Free lines of forms that are known.
    fn act_known(&mut self, line: &Step, text: &str) -> Option<Next> {
        if let Some(wait) = strip(text, "wait").and_then(duration) {
            let label = self.label(line.id);
            // The time is over when the line is come to again.
            if self.turn.data.pointer == Some(line.id) && self.earlier.waits_at(&label) {
                return Some(Next::Done);
            }
            self.write(line, json!({ "wait": format!("timer:PT{wait}") }));
            return Some(Next::Over);
        }
        if strip_any(text, &["wait for all", "wait for the call", "wait for the calls", "wait for the result"])
            .is_some()
        {
            return Some(Next::Done);
        }
        if let Some(next) = self.act_named_call(line, text) {
            return Some(next);
        }
        if let Some(next) = self.act_collect(line, text) {
            return Some(next);
        }
        if let Some(target) = self.jump(text) {
            return Some(Next::Go(target));
        }
        self.act_kept(line, text)
    }

    /// `Get the user's $account_number`, `Find out their $age`: asks.
    fn act_collect(&mut self, line: &Step, text: &str) -> Option<Next> {
        let rest = strip_any(text, &["get", "collect", "find out", "learn", "obtain", "determine"])?;
        let clause = strip_any(rest, &["what", "which", "how", "whether", "if", "when", "where", "why"]);
        if clause.is_some_and(|clause| find_any(clause, &["the user", "they", "the customer", "them"]).is_some()) {
            return Some(self.act_ask(line, &[], &format!("ask the user {rest}")));
        }
        let noun = strip_any(rest, &["their", "the user's", "the customer's", "the caller's", "the client's"])?;
        let mentioned = mentions(noun).into_iter().next().filter(|_| noun.starts_with('$'));
        let name = match mentioned {
            Some(reference) => reference.name,
            // The playbook has a variable that is called so.
            None => {
                let names = self.playbook.steps.iter().flat_map(|step| step.reads.iter().chain(&step.writes));
                let wanted = without_end(noun);
                names.into_iter().find(|name| name_words(name).eq_ignore_ascii_case(wanted))?.clone()
            }
        };
        let target = Target { name, ty: Type::ANY, span: line.span };
        let question = format!("ask the user for their {noun}");
        Some(self.act_ask(line, &[target], &question))
    }

    /// `Go back to step 2`: where the line says to go.
    fn jump(&self, text: &str) -> Option<Node> {
        let rest = strip_any(text, &["go", "jump", "continue", "start", "begin", "return", "jmp"])?;
        let (_, end) = find_any(rest, &["step", "line"])?;
        let label =
            rest[end..].trim().split(char::is_whitespace).next()?.trim_end_matches(|c: char| !c.is_ascii_digit());
        self.playbook.find_step(label).map(Node::Step)
    }
}

/// `5 seconds` as part of an ISO 8601 duration.
fn duration(text: &str) -> Option<String> {
    let text = strip(text, "for").unwrap_or(text);
    let all = words(text);
    let at = all.iter().position(|word| {
        ["second", "seconds", "minute", "minutes", "hour", "hours"].contains(&word.to_lowercase().as_str())
    })?;
    let unit = all[at].chars().next()?.to_ascii_uppercase();
    let number = super::numbers::count(&all[..at].join(" ")).filter(|number| *number >= 0).or((at == 1).then_some(1))?;
    Some(format!("{number}{unit}"))
}
