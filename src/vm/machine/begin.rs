//! The beginning of a session: declared variables, arguments, and which playbook is called first.

use std::collections::VecDeque;
use std::sync::Arc;

use playhouse_lang::plan::{Plan, PlanBody};
use playhouse_lang::program::{AgentId, Entry, EntryId, Parameter, Program};
use playhouse_lang::value::{Map, Value};

use crate::machine::ending::Ending;
use crate::machine::frame_core::{Phase, Then};
use crate::machine::interpreter::Interpreter;
use crate::machine::stack::Stack;
use crate::machine::state::{Begin, Machine};
use crate::protocol::fault::FaultKind;
use crate::protocol::{FrameOrigin, Origin, Tracked};

impl Machine {
    /// A machine at its beginning: nothing has been done yet. What cannot be begun (no such playbook, wrong
    /// arguments) is a fault that the first `advance` tells.
    pub fn begin(begin: Begin) -> Machine {
        let Begin { program, settings, tools, entry, arguments, time } = begin;
        let entries = entry.map_or_else(|| entries_of(&program), |entry| VecDeque::from([entry]));
        let mut machine = Machine {
            interpreter: Interpreter::new(Stack::new(program, settings, tools, time)),
            turn: None,
            closing: Vec::new(),
            time_limit: None,
            unwinding: None,
            entries,
            ending: Ending::default(),
            arguments,
            blocked: None,
            heard: None,
            n_directives: 0,
            n_idle_directives: 0,
        };
        let Machine { interpreter, entries, .. } = &mut machine;
        interpreter.declare_new_variables(|_, _| false);
        interpreter.tell_watcher(|watcher, context| watcher.begun(context));
        if entries.is_empty() {
            let nothing = "the program has no playbook to begin with; write one under an H2 heading";
            interpreter.fail(FaultKind::Begin, nothing);
            return machine;
        }
        let program = interpreter.stack.program.clone();
        let unsupported = entries.iter().find_map(|&entry| match entry {
            EntryId::Playbook(id) => program.unsupported(id),
            EntryId::Plan(_) => None,
        });
        if let Some(reason) = unsupported {
            interpreter.fail(FaultKind::Begin, format!("the session cannot begin: {reason}"));
        } else if let Err(problem) = machine.take_arguments() {
            machine.interpreter.fail(FaultKind::Begin, problem);
        }
        machine
    }

    /// Arguments that are no parameter of the first playbook become variables of its agent.
    fn take_arguments(&mut self) -> Result<(), String> {
        let program = self.interpreter.stack.program.clone();
        let first = match self.entries[0] {
            EntryId::Playbook(id) => program.playbook(id),
            EntryId::Plan(id) => {
                return program.plan(id).map_or(Ok(()), |plan| check_plan_arguments(plan, &self.arguments));
            }
        };
        let arguments = std::mem::take(&mut self.arguments);
        for (name, value) in arguments {
            if first.parameters.iter().any(|parameter| parameter.name == name) {
                self.arguments.insert(name, value);
                continue;
            }
            if let Some(wanted) = self.interpreter.stack.wanted(first.id, &name, &value) {
                return Err(format!("--arg {name}: ${name} must be {wanted}, not {}", value.kind()));
            }
            self.interpreter.set_global_silently(first.agent, &name, Tracked::new(value, Origin::ARGUMENT));
        }
        let missing: Vec<String> = first
            .parameters
            .iter()
            .filter(|parameter| parameter.required() && !self.arguments.contains_key(&parameter.name))
            .map(|parameter| format!("${}: {}", parameter.name, parameter.ty))
            .collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            return Err(format!("playbook {} needs {missing}; give each with --arg name=value", first.name));
        }
        for parameter in &first.parameters {
            if let Some(value) = self.arguments.get(&parameter.name)
                && !parameter.ty.accepts(value)
            {
                return Err(format!("--arg {}: must be {}, not {}", parameter.name, parameter.ty, value.kind()));
            }
        }
        Ok(())
    }

    /// The stack is empty: the next beginning, or the end.
    pub(crate) fn step_empty_stack(&mut self) {
        let Some(entry) = self.entries.pop_front() else {
            let (value, program) = (self.interpreter.last_value.clone(), &self.interpreter.stack.program);
            self.interpreter.outcome = self.ending.begin(value, program, &mut self.entries);
            return;
        };
        let arguments = std::mem::take(&mut self.arguments);
        let program = self.interpreter.stack.program.clone();
        let entry = match entry {
            EntryId::Playbook(entry) => entry,
            EntryId::Plan(plan) => {
                let argument = |(name, value): (Arc<str>, Value)| (name, Tracked::new(value, Origin::ARGUMENT));
                return self.interpreter.push_plan(
                    plan,
                    arguments.into_iter().map(argument).collect(),
                    FrameOrigin::Begin,
                );
            }
        };
        let playbook = program.playbook(entry);
        let bound = bind_begin(&playbook.parameters, &arguments);
        self.interpreter.push_frame(entry, bound, FrameOrigin::Begin);
        // The implicit root has nothing to do before somebody speaks.
        if playbook.implicit && self.interpreter.outcome.is_none() {
            self.interpreter.stack.core_mut().phase = Phase::Draining(Then::WaitUser);
        }
    }
}

impl Interpreter {
    /// Variables that are declared get their values, but for those that were before.
    pub(crate) fn declare_new_variables(&mut self, was_declared: impl Fn(AgentId, &str) -> bool) {
        let program = self.stack.program.clone();
        for agent in &program.agents {
            for declared in agent.variables.iter().filter(|declared| !was_declared(agent.id, &declared.name)) {
                if let Some(value) = &declared.value {
                    let value = Tracked::new(value.clone(), Origin::CODE);
                    self.set_global_silently(agent.id, &declared.name, value);
                }
            }
        }
    }
}

/// A dataflow plan takes what it has parameters for. Any variable may be given to a JSON plan: what of it is read
/// is seen when it runs.
fn check_plan_arguments(plan: &Plan, arguments: &Map) -> Result<(), String> {
    if !matches!(plan.body, PlanBody::Dataflow(_)) {
        return Ok(());
    }
    if let Some(name) = arguments.keys().find(|name| !plan.parameters.contains(name)) {
        let there = if plan.parameters.is_empty() {
            "it has none: an alias without a value (`city:`) is one".to_owned()
        } else {
            format!("it has: {}", plan.parameters.join(", "))
        };
        return Err(format!("--arg {name}: {} has no such parameter; {there}", plan.name));
    }
    let missing: Vec<&str> =
        plan.parameters.iter().filter(|name| !arguments.contains_key(*name)).map(|name| &**name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("plan {} needs {}; give each with --arg name=value", plan.name, missing.join(", ")))
}

/// What a program begins with.
pub(crate) fn entries_of(program: &Program) -> VecDeque<EntryId> {
    match &program.entry {
        Entry::Beginning(entries) => entries.iter().copied().map(EntryId::Playbook).collect(),
        Entry::Single(entry) | Entry::Root(entry) => VecDeque::from([EntryId::Playbook(*entry)]),
        Entry::Plan(plan) => VecDeque::from([EntryId::Plan(*plan)]),
        Entry::None => VecDeque::new(),
    }
}

fn bind_begin(parameters: &[Parameter], arguments: &Map) -> Vec<(Arc<str>, Tracked)> {
    parameters
        .iter()
        .map(|parameter| {
            let value = match (arguments.get(&parameter.name), &parameter.default) {
                (Some(value), _) => Tracked::new(value.clone(), Origin::ARGUMENT),
                (None, Some(default)) => Tracked::new(default.clone(), Origin::CODE),
                (None, None) => Tracked::new(Value::Null, Origin::CODE),
            };
            (parameter.name.clone(), value)
        })
        .collect()
}
