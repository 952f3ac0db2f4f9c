//! Calls that the model writes.

use std::sync::Arc;

use playhouse_lang::program::StepKind;
use playhouse_lang::value::Value;

use crate::calls::arguments::bind;
use crate::calls::call::Called;
use crate::machine::stack::Stack;
use crate::reply::{Action, CallArguments};
use crate::turn::state::Todo;
use crate::turn::{TurnOver, TurnResult, TurnStep, mistake};
use crate::variables::fault::EvalFault;

impl TurnStep<'_> {
    /// `call`: a call is queued, or takes the frame's place.
    pub(super) fn call(
        &mut self,
        name: Arc<str>,
        arguments: CallArguments,
        each: Option<Box<(Arc<str>, Value)>>,
        result: Option<Arc<str>>,
    ) -> TurnResult {
        let resolved = self.interpreter.stack.find_callee(&name).map_err(TurnOver::Mistaken)?;
        let called = Called { callee: resolved.callee, name: name.clone() };
        if self.call_of_region(&called)? {
            return Ok(());
        }
        let stack = &self.interpreter.stack;
        if stack.top().here.performed.is_some() && stack.is_call_line(&called) {
            self.interpreter.ignore(format!("the interpreter has called {name} itself"));
            return Ok(());
        }
        if let Some(result) = &result
            && (result.is_empty() || playhouse_lang::expr::scan_name(result) != result.len())
        {
            return mistake(format!("\"{result}\" in \"as\" is not a variable name"));
        }
        // Results that are there are taken first; one that is on its way is waited for.
        if let Some(call) = stack.call_in_the_way() {
            self.turn.todo_first(Todo::Act(Action::Call { name, arguments, each, result }));
            return self.hold_for_call(call);
        }
        let interpreter = &mut *self.interpreter;
        let given = interpreter.resolve_arguments(&arguments).and_then(|given| {
            let list = each.as_ref().map(|each| Ok((each.0.clone(), interpreter.resolve(&each.1)?)));
            Ok((given, list.transpose()?))
        });
        let (given, list) = match given {
            Ok(given) => given,
            Err(EvalFault::Unset(unset)) if interpreter.stack.top().pending(&unset).is_some() => {
                self.turn.todo_first(Todo::Act(Action::Call { name, arguments, each, result }));
                return self.hold_for(&unset);
            }
            Err(fault) => return mistake(format!("call of {name}: {fault}")),
        };
        if let Some((parameter, list)) = list {
            interpreter.call_for_each(&resolved, given, &parameter, &list, result).map_err(TurnOver::Mistaken)?;
        } else {
            let bound = bind(&resolved, given).map_err(TurnOver::Mistaken)?;
            let depth = interpreter.stack.frames.len() - 1;
            let bound = interpreter.admit_arguments(depth, resolved.callee, &name, bound).ok_or(TurnOver::Failed)?;
            if let Some(site) = interpreter.stack.tail_call(&called, result.as_ref()) {
                self.apply_line_in_hand()?;
                return Err(TurnOver::TailCall(site.call(&resolved, bound, self.interpreter.turn())));
            }
            let written_in = interpreter.turn();
            interpreter.queue_call(&resolved, bound, result, written_in);
        }
        self.turn.progress = true;
        self.go_on_unless_failed()
    }
}

impl Stack {
    /// Whether the pointer's line is this call.
    fn is_call_line(&self, called: &Called) -> bool {
        let frame = self.top();
        let line = frame.pointer.map(|step| &self.body(frame).step(step).kind);
        matches!(line, Some(StepKind::Call(site)) if called.is_of(site))
    }
}
