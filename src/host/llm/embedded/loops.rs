//! Loops that are not the interpreter's: their rounds are counted by the marks that the executor writes.

use serde_json::json;

use crate::lang::program::flow_graph::EdgeKind;
use crate::lang::program::{Loop, Step, StepId, StepKind};
use crate::value::Value;

use super::earlier::ROUND;
use super::english::{find, find_any, name_words, one_line, strip_any, without_end};
use super::executor::{Executor, Next};
use super::judge::{is_leaving, judge};
use super::numbers::count;
use super::phrases::{self, Instead};
use super::wording::{Values, plain};

impl Executor<'_> {
    /// A loop header: into its body, or past it.
    pub(super) fn act_loop(&mut self, line: &Step, header: &Loop, text: &str) -> Next {
        let label = self.label(line.id);
        let n_rounds = self.earlier.rounds(&label);
        let (inside, behind) =
            (Next::Go(self.edge(line.id, EdgeKind::Then)), Next::Go(self.edge(line.id, EdgeKind::Else)));
        let goes_on = match header {
            Loop::ForEach { variable, list } => {
                let items = match list {
                    Some(list) => self.scope.eval(list).ok(),
                    None => self.list_in_words(text),
                };
                let Some(Value::List(items)) = items else {
                    let sentence = self.missing(line);
                    let cannot = || phrases::cannot(&plain(without_end(text)), Instead::LeaveOut);
                    self.admit(line, &sentence.unwrap_or_else(cannot));
                    self.name(line.id);
                    return behind;
                };
                if let Some(item) = items.get(n_rounds) {
                    self.set(line, variable, item.clone());
                }
                n_rounds < items.len()
            }
            Loop::Repeat { count: times } => {
                let times = match times {
                    Some(times) => match self.scope.eval(times) {
                        Ok(Value::Int(times)) => Some(times),
                        Ok(_) | Err(_) => None,
                    },
                    None => find(text, "times")
                        .and_then(|(at, _)| count(strip_any(&text[..at], &["repeat", "loop", "do"])?)),
                };
                match times {
                    Some(times) => i64::try_from(n_rounds).is_ok_and(|n_rounds| n_rounds < times),
                    None => self.goes_on_once(line, text, n_rounds),
                }
            }
            Loop::While { condition } => match condition {
                Some(condition) => match self.scope.eval(condition) {
                    Ok(Value::Bool(truth)) => truth,
                    Ok(_) | Err(_) => {
                        let condition = strip_any(text, &["while", "repeat while", "as long as"]).unwrap_or(text);
                        self.is_missing(line, "While", condition)
                    }
                },
                None => match strip_any(text, &["while", "repeat while", "as long as"]) {
                    Some(condition) => self.holds(line, "While", condition),
                    // `Repeat`, `For each order that …`.
                    None => self.goes_on_once(line, text, n_rounds),
                },
            },
            Loop::Until { condition, .. } => {
                let condition_text = find(text, "until").map_or("", |(_, end)| text[end..].trim());
                let is_entered = !self.earlier.was_inside(&label);
                let is_over = match condition {
                    _ if is_entered => Some(false),
                    Some(condition) => match self.scope.eval(condition) {
                        Ok(Value::Bool(truth)) => Some(truth),
                        Ok(_) | Err(_) => None,
                    },
                    None => judge(condition_text, &self.scope, self.last_words().as_deref()),
                };
                match is_over {
                    Some(is_over) => !is_over,
                    None => self.goes_on_once(line, text, n_rounds),
                }
            }
        };
        if goes_on {
            // The mark that rounds are counted by.
            self.write(line, json!({ "think": format!("{ROUND}{}", n_rounds + 1) }));
            return inside;
        }
        self.name(line.id);
        behind
    }

    /// Of a loop that nobody here can judge: one in which the user speaks goes on until they have had enough, any
    /// other is done once.
    fn goes_on_once(&mut self, line: &Step, text: &str, n_rounds: usize) -> bool {
        let shown = plain(without_end(text));
        if n_rounds == 0 {
            return true;
        }
        if !self.waits_inside(line) {
            self.admit(line, &phrases::cannot(&shown, Instead::GoOn));
            return false;
        }
        let is_over = self.last_words().is_some_and(|said| is_leaving(&said));
        if !is_over && find_any(text, &["forever"]).is_none() {
            self.admit(line, &phrases::cannot(&shown, Instead::NotSo));
        }
        !is_over
    }

    /// The loop around a line that the user's words end, if there is one: then the line need not be done.
    pub(super) fn left_loop(&self, line: &Step, said: &str) -> Option<StepId> {
        let around = std::iter::successors(line.parent, |&id| self.playbook.step(id).parent);
        let mut loops = around.map(|id| self.playbook.step(id)).filter(|header| !header.explicit);
        let ended = loops.find(|header| {
            let text = one_line(&header.text);
            match &header.kind {
                StepKind::Loop(Loop::Until { condition: None, .. }) => {
                    let condition = find(&text, "until").map_or("", |(_, end)| text[end..].trim());
                    judge(condition, &self.scope, Some(said)).unwrap_or_else(|| is_leaving(said))
                }
                StepKind::Loop(Loop::While { condition: None }) => {
                    let condition = strip_any(&text, &["while", "repeat while", "as long as"]);
                    match condition {
                        Some(condition) => judge(condition, &self.scope, Some(said)) == Some(false),
                        None => is_leaving(said),
                    }
                }
                StepKind::Loop(_)
                | StepKind::Branch { .. }
                | StepKind::Return(_)
                | StepKind::End
                | StepKind::Break
                | StepKind::Continue
                | StepKind::Call(_)
                | StepKind::Assign { .. }
                | StepKind::Ask { .. }
                | StepKind::Say { .. }
                | StepKind::Free => false,
            }
        });
        ended.map(|header| header.id)
    }

    /// Whether a line under this one waits for the user.
    fn waits_inside(&self, line: &Step) -> bool {
        line.children
            .iter()
            .map(|&child| self.playbook.step(child))
            .any(|child| matches!(child.kind, StepKind::Ask { .. }) || self.waits_inside(child))
    }

    /// The list that a loop over `the items in the cart` means.
    fn list_in_words(&self, text: &str) -> Option<Value> {
        let (_, end) = find_any(text, &["in", "of", "from"])?;
        let noun = without_end(&text[end..]);
        if let Some(worth) = super::reckon::worth(noun, &self.scope) {
            return worth.value(&self.scope);
        }
        let bare = strip_any(noun, &["the", "their", "all", "all the"]).unwrap_or(noun);
        let name = self.scope.names().into_iter().find(|name| name_words(name).eq_ignore_ascii_case(bare))?;
        self.scope.value(&name).cloned()
    }
}
