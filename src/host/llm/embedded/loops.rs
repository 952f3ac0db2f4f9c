//! Loops that are not the interpreter's: their rounds are counted by the marks that the executor writes.

use playhouse_lang::program::flow_graph::EdgeKind;
use playhouse_lang::program::{Loop, Step, StepId, StepKind};
use playhouse_lang::value::Value;
use serde_json::json;

use super::earlier::ROUND;
use super::english::{find, one_line, strip_any};
use super::evasion::is_leaving;
use super::executor::{Executor, Next};
use super::judge::judge;
use super::phrases::{self, Instead};

/// How a loop begins that goes on while something is so.
const WHILES: &str = "while|repeat while|as long as";

impl Executor<'_> {
    /// A loop header: into its body, or past it.
    pub(super) fn act_loop(&mut self, line: &Step, header: &Loop, text: &str) -> Next {
        let label = self.turn.label(line);
        let n_rounds = self.earlier.rounds(&label);
        let (inside, after) =
            (Next::Go(self.edge(line.id, EdgeKind::Then)), Next::Go(self.edge(line.id, EdgeKind::Else)));
        let goes_on = match header {
            Loop::ForEach { variable, list } => {
                let Some(list) = list else {
                    self.admit(line, phrases::cannot(Instead::LeaveOut));
                    self.name(line.id);
                    return after;
                };
                let items = match self.scope.eval(list) {
                    Ok(Value::List(items)) => items,
                    Ok(value) => return self.stop(line, Some(phrases::no_list(value.kind()))),
                    Err(fault) => return self.stop(line, self.missing(line).or(Some(fault.to_string()))),
                };
                if let Some(item) = items.get(n_rounds) {
                    self.set(line, variable, item.clone());
                }
                n_rounds < items.len()
            }
            Loop::Repeat { count: None } => self.goes_on_once(line, n_rounds),
            Loop::Repeat { count: Some(times) } => match self.scope.eval(times) {
                Ok(Value::Int(times)) => i64::try_from(n_rounds).is_ok_and(|n_rounds| n_rounds < times),
                Ok(value) => return self.stop(line, Some(phrases::no_count(value.kind()))),
                Err(fault) => return self.stop(line, self.missing(line).or(Some(fault.to_string()))),
            },
            Loop::While { condition } => match condition {
                Some(condition) => match self.holds_exactly(line, condition) {
                    Ok(holds) => holds,
                    Err(over) => return over,
                },
                None => match strip_any(text, WHILES) {
                    Some(condition) => self.holds(line, condition),
                    // `Repeat`, `For each order that …`.
                    None => self.goes_on_once(line, n_rounds),
                },
            },
            Loop::Until { condition, .. } => {
                let condition_text = find(text, "until").map_or("", |(_, end)| text[end..].trim());
                let is_entered = !self.earlier.was_inside(&label);
                let is_over = match condition {
                    _ if is_entered => Some(false),
                    Some(condition) => match self.holds_exactly(line, condition) {
                        Ok(is_over) => Some(is_over),
                        Err(over) => return over,
                    },
                    None => judge(condition_text, &self.scope, self.last_words().as_deref()),
                };
                match is_over {
                    Some(is_over) => !is_over,
                    None => self.goes_on_once(line, n_rounds),
                }
            }
        };
        if goes_on {
            // The mark that rounds are counted by.
            self.write(line, json!({ "think": format!("{ROUND}{}", n_rounds + 1) }));
            return inside;
        }
        self.name(line.id);
        after
    }

    /// Of a loop that nobody here can judge: it is done once.
    fn goes_on_once(&mut self, line: &Step, n_rounds: usize) -> bool {
        if n_rounds > 0 {
            self.admit(line, phrases::cannot(Instead::GoOn));
        }
        n_rounds == 0
    }

    /// The loop around a line that the user's words end, if there is one: then the line need not be done.
    pub(super) fn left_loop(&self, line: &Step, said: &str) -> Option<StepId> {
        let around = std::iter::successors(line.parent, |&id| self.playbook.step(id).parent);
        let mut loops = around.map(|id| self.playbook.step(id)).filter(|header| !header.explicit);
        let ended = loops.find(|header| {
            let text = one_line(&header.text);
            let StepKind::Loop(header) = &header.kind else { return false };
            if let Loop::Until { condition: None, .. } = header {
                let condition = find(&text, "until").map_or("", |(_, end)| text[end..].trim());
                return judge(condition, &self.scope, Some(said)).unwrap_or_else(|| is_leaving(said));
            }
            // `Repeat`, without an end.
            matches!(header, Loop::While { condition: None }) && strip_any(&text, WHILES).is_none() && is_leaving(said)
        });
        ended.map(|header| header.id)
    }
}
