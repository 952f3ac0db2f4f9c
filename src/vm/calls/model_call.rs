//! Calls that the model writes.

use std::sync::Arc;

use playhouse_lang::program::StepKind;
use playhouse_lang::value::Value;

use crate::calls::arguments::bind;
use crate::calls::call::Called;
use crate::machine::stack_view::StackView;
use crate::machine::state::Machine;
use crate::protocol::Fact;
use crate::reply::{Action, CallArguments};
use crate::turn::state::Todo;
use crate::variables::fault::EvalFault;

impl Machine {
    /// `call`: a call is queued, or takes the frame's place.
    pub(crate) fn call(
        &mut self,
        name: Arc<str>,
        arguments: CallArguments,
        each: Option<Box<(Arc<str>, Value)>>,
        result: Option<Arc<str>>,
    ) {
        let resolved = match self.stack().find_callee(&name) {
            Ok(resolved) => resolved,
            Err(problem) => return self.fail_turn(&problem),
        };
        let called = Called { callee: resolved.callee, name: name.clone() };
        if self.call_of_region(&called) {
            return;
        }
        if self.top().here.performed.is_some() && self.stack().is_call_line(&called) {
            let cause = format!("the interpreter has called {name} itself");
            return self.report(Fact::Ignored { cause: cause.into() });
        }
        if let Some(result) = &result
            && (result.is_empty() || playhouse_lang::expr::scan_name(result) != result.len())
        {
            return self.fail_turn(&format!("\"{result}\" in \"as\" is no variable name"));
        }
        // Results that are there are taken first; one that is on its way is waited for.
        if let Some(call) = self.stack().call_in_the_way() {
            self.todo_first(Todo::Act(Action::Call { name, arguments, each, result }));
            return self.hold_for_call(call);
        }
        let given = self.resolve_arguments(&arguments).and_then(|given| {
            let list = each.as_ref().map(|each| Ok((each.0.clone(), self.resolve(&each.1)?)));
            Ok((given, list.transpose()?))
        });
        let (given, list) = match given {
            Ok(given) => given,
            Err(EvalFault::Unset(unset)) if self.top().pending(&unset).is_some() => {
                self.todo_first(Todo::Act(Action::Call { name, arguments, each, result }));
                return self.hold_for(&unset);
            }
            Err(fault) => return self.fail_turn(&format!("call of {name}: {fault}")),
        };
        if let Some((parameter, list)) = list {
            return self.call_for_each(&resolved, given, &parameter, &list, result);
        }
        let bound = match bind(&resolved, given) {
            Ok(bound) => bound,
            Err(problem) => return self.fail_turn(&problem),
        };
        let Some(bound) = self.admit_arguments(self.frames.len() - 1, resolved.callee, &name, bound) else { return };
        if let Some(tail_call) = self.stack().tail_call(&called, result.as_ref()) {
            return self.make_tail_call(tail_call, &resolved, bound);
        }
        self.queue_call(&resolved, bound, result);
        self.progressed();
    }
}

impl<'a> StackView<'a> {
    /// Whether the pointer's line is this call.
    fn is_call_line(self, called: &Called) -> bool {
        let frame = self.top();
        let Some(step) = frame.pointer else { return false };
        match &self.body(frame).step(step).kind {
            StepKind::Call(site) => called.is_of(site),
            StepKind::Branch { .. }
            | StepKind::Loop(_)
            | StepKind::Return(_)
            | StepKind::End
            | StepKind::Assign { .. }
            | StepKind::Ask { .. }
            | StepKind::Say { .. }
            | StepKind::Free => false,
        }
    }
}
