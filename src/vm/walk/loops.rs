//! Loops of the interpreter: items, rounds, and what passing a header does (spec `turn-protocol.md`, "The
//! pointer").

use playhouse_lang::program::flow_graph::EdgeKind;
use playhouse_lang::program::{Loop, StepId};
use playhouse_lang::value::Value;

use crate::machine::frame::LoopState;
use crate::machine::interpreter::Interpreter;
use crate::machine::stack::Stack;
use crate::protocol::Tracked;
use crate::variables::display::shorten;
use crate::variables::eval::{eval, eval_condition};
use crate::variables::fault::EvalFault;
use crate::walk::LineEffect;

impl Interpreter {
    /// Passes the header of one of the interpreter's loops: the next round, or out of it.
    pub(crate) fn act_loop(&mut self, step: StepId, header: &Loop) -> Result<LineEffect, EvalFault> {
        let running = self.stack.top().loops.iter().find(|state| state.header == step);
        let state = match running {
            Some(state) => LoopState { round: state.round + 1, ..state.clone() },
            None => self.stack.begin_loop(step, header)?,
        };
        let goes_on = match header {
            Loop::ForEach { .. } | Loop::Repeat { .. } => state.n_rounds.is_some_and(|n| state.round <= n),
            Loop::While { condition: Some(condition) } => eval_condition(condition, &self.stack.reader())?,
            Loop::Until { condition: Some(condition), .. } => {
                let is_bounded = state.n_rounds.is_some_and(|n| state.round > n);
                state.round == 1 || (!is_bounded && !eval_condition(condition, &self.stack.reader())?)
            }
            Loop::While { condition: None } | Loop::Until { condition: None, .. } => {
                return Err(EvalFault::words("its condition is in words"));
            }
        };
        if !goes_on {
            self.stack.top_mut().loops.retain(|state| state.header != step);
            self.stack.note_done_line(step, format_args!("is over"));
            return Ok(LineEffect::Go(EdgeKind::Else));
        }
        let mut text = state.describe();
        // What can go wrong with the item does so before the round has begun: the loop stays where it was.
        let mut item = None;
        if let (Loop::ForEach { variable, .. }, Some(value)) = (header, state.item()) {
            let value = self.stack.as_declared(&variable.name, value)?;
            text = format!("{text}: ${} = {}", variable.name, shorten(&value, self.stack.settings.shown_value_bytes));
            item = Some((&variable.name, value));
        }
        let frame = self.stack.top_mut();
        let is_first = state.round == 1;
        match frame.loop_mut(step) {
            Some(running) => *running = state,
            None => frame.loops.push(state),
        }
        // A new round: what was done in the last does not count.
        if !is_first {
            frame.work.start_afresh();
        }
        if let Some((name, item)) = item {
            self.bind_variable(name, item, true);
        }
        self.stack.note_done_line(step, format_args!("{text}"));
        Ok(LineEffect::Go(EdgeKind::Then))
    }
}

impl Stack {
    /// The first round of a loop: what it goes over is what it is now, whatever the body does with it.
    fn begin_loop(&self, header: StepId, kind: &Loop) -> Result<LoopState, EvalFault> {
        let new =
            |items: Option<Tracked>, n_rounds, is_secret| LoopState { header, items, n_rounds, is_secret, round: 1 };
        match kind {
            Loop::ForEach { list: Some(list), .. } => {
                let list = eval(list, &self.reader())?;
                let Some(n_items) = list.n_items() else {
                    return Err(EvalFault::words(format!("it goes over a list, not {}", list.value().kind())));
                };
                let is_secret = list.is_secret();
                Ok(new(Some(list), Some(n_items), is_secret))
            }
            Loop::Repeat { count: Some(count) } | Loop::Until { at_most: Some(count), .. } => {
                let count = eval(count, &self.reader())?;
                let Value::Int(n_rounds) = count.value() else {
                    return Err(EvalFault::words(format!(
                        "it is repeated an int of times, not {}",
                        count.value().kind()
                    )));
                };
                Ok(new(None, Some(usize::try_from(*n_rounds).unwrap_or(0)), count.is_secret()))
            }
            Loop::While { .. } | Loop::Until { .. } => Ok(new(None, None, false)),
            Loop::ForEach { list: None, .. } | Loop::Repeat { count: None } => {
                Err(EvalFault::words("what it goes over is in words"))
            }
        }
    }
}

impl LoopState {
    /// The item of the round in progress, of a loop over a list.
    fn item(&self) -> Option<Tracked> {
        self.items.as_ref()?.item(self.round.checked_sub(1)?)
    }

    /// `item 3 of 5`; how many there are of something secret is not told.
    pub(crate) fn describe(&self) -> String {
        match self.n_rounds {
            Some(n) if !self.is_secret => format!("item {} of {n}", self.round),
            Some(_) => format!("item {}", self.round),
            None => format!("round {}", self.round),
        }
    }
}
