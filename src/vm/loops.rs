//! Loops of the interpreter: items, rounds, and what passing a header does (spec `turn-protocol.md`, "The
//! pointer").

use playhouse_lang::flow_graph::EdgeKind;
use playhouse_lang::program::{Loop, StepId, Type};
use playhouse_lang::value::{Origin, Tracked, Value};

use crate::Machine;
use crate::calls::shorten;
use crate::eval::{EvalFault, eval, eval_condition};
use crate::frame::LoopState;
use crate::walk::{Act, other};

impl Machine {
    /// Passes the header of one of the interpreter's loops: the next round, or out of it.
    pub(crate) fn act_loop(&mut self, step: StepId, header: &Loop) -> Result<Act, EvalFault> {
        let running = self.top_mut().loop_mut(step).cloned();
        let round = running.as_ref().map_or(0, |state| state.round);
        let mut items = running.as_ref().and_then(|state| state.items.clone());
        let n_rounds = match (header, &running) {
            (Loop::ForEach { list: Some(list), .. }, None) => {
                let value = eval(list, &self.reader())?.value;
                let Value::List(list) = value else {
                    return Err(other(format!("it goes over a list, not {}", value.kind())));
                };
                items = Some(list.clone());
                Some(list.len())
            }
            (Loop::Repeat { count: Some(count) }, None) => {
                let value = eval(count, &self.reader())?.value;
                let Value::Int(count) = value else {
                    return Err(other(format!("it is repeated an int of times, not {}", value.kind())));
                };
                Some(usize::try_from(count).unwrap_or(0))
            }
            (Loop::ForEach { .. } | Loop::Repeat { .. }, Some(state)) => state.n_rounds,
            (Loop::While { .. } | Loop::Until { .. }, _) => None,
            (Loop::ForEach { list: None, .. } | Loop::Repeat { count: None }, None) => {
                return Err(other("what it goes over is in words".to_owned()));
            }
        };
        let goes_on = match header {
            Loop::ForEach { .. } | Loop::Repeat { .. } => n_rounds.is_some_and(|n| round < n),
            Loop::While { condition: Some(condition) } => eval_condition(condition, &self.reader())?,
            Loop::Until { condition: Some(condition) } => round == 0 || !eval_condition(condition, &self.reader())?,
            Loop::While { condition: None } | Loop::Until { condition: None } => {
                return Err(other("its condition is in words".to_owned()));
            }
        };
        let since = self.stamp;
        let frame = self.top_mut();
        if !goes_on {
            frame.loops.retain(|state| state.header != step);
            self.tell_done(step, "is over");
            return Ok(Act::Go(EdgeKind::Else));
        }
        match frame.loop_mut(step) {
            Some(state) => state.round += 1,
            None => frame.loops.push(LoopState { header: step, items: items.clone(), n_rounds, round: 1 }),
        }
        // A new round: what was done in the last does not count.
        if round > 0 {
            frame.start_afresh(since);
        }
        let mut text = match n_rounds {
            Some(n) => format!("item {} of {n}", round + 1),
            None => format!("round {}", round + 1),
        };
        if let Loop::ForEach { variable, .. } = header
            && let Some(item) = items.as_ref().and_then(|items| items.get(round))
        {
            if !variable.ty.accepts(item) && variable.ty != Type::ANY {
                return Err(other(format!("${} must be {}, not {}", variable.name, variable.ty, item.kind())));
            }
            let item = Tracked::new(item.clone(), self.loop_origin(header));
            text = format!("{text}: ${} = {}", variable.name, shorten(&item, self.settings.shown_value_bytes));
            self.bind_variable(&variable.name, item, true);
        }
        self.tell_done(step, &text);
        Ok(Act::Go(EdgeKind::Then))
    }

    /// An item comes from where its list came from.
    fn loop_origin(&self, header: &Loop) -> Origin {
        match header {
            Loop::ForEach { list: Some(list), .. } => {
                eval(list, &self.reader()).map_or(Origin::CODE, |list| list.origin)
            }
            Loop::ForEach { list: None, .. } | Loop::Repeat { .. } | Loop::While { .. } | Loop::Until { .. } => {
                Origin::CODE
            }
        }
    }
}
