//! The beginning of a session: declared variables, arguments, and which playbook is called first.

use std::collections::VecDeque;
use std::sync::Arc;

use playhouse_lang::analysis::Analysis;
use playhouse_lang::plan::{PlanBody, PlanId};
use playhouse_lang::program::{AgentId, Entry, EntryId, Parameter, Program};
use playhouse_lang::value::{Map, Value};

use crate::machine::conversation::Conversation;
use crate::machine::frame_core::{Phase, Then};
use crate::machine::state::{Begin, Machine, NextIds};
use crate::prompt::system::Prompts;
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::view::Counters;
use crate::protocol::{FrameOrigin, Origin, Outcome, Tracked};
use crate::triggers::watcher::Watcher;
use crate::variables::scope::{Scope, Stamp};

impl Machine {
    /// A machine at its beginning: nothing has been done yet. What cannot be begun (no such playbook, wrong
    /// arguments) is a fault that the first `advance` tells.
    pub fn begin(begin: Begin) -> Machine {
        let Begin { program, settings, tools, entry, arguments, time } = begin;
        let entries = entry.map_or_else(|| entries_of(&program), |entry| VecDeque::from([entry]));
        let mut machine = Machine {
            globals: vec![Scope::default(); program.agents.len()],
            prompts: Arc::new(Prompts::new(&program)),
            has_frame_limits: program.playbooks.iter().any(|playbook| playbook.limits.is_set()),
            layouts: Arc::new(settings.layouts(&program)),
            analysis: Arc::new(Analysis::new(program.clone())),
            program,
            settings: Arc::new(settings),
            tools,
            now: time,
            frames: Vec::new(),
            turn: None,
            closing: Vec::new(),
            time_limit: None,
            unwinding: None,
            entries,
            arguments,
            last_value: Tracked::default(),
            messages: VecDeque::new(),
            conversation: Conversation::default(),
            last_prose: String::new(),
            written_plans: Vec::new(),
            outbox: VecDeque::new(),
            outcome: None,
            blocked: None,
            n_directives: 0,
            n_idle_directives: 0,
            next: NextIds::default(),
            stamp: Stamp::default(),
            counters: Counters::default(),
            watcher: Watcher::default(),
        };
        machine.declare_variables();
        machine.tell_watcher(|watcher, sight| watcher.begun(sight));
        if machine.entries.is_empty() {
            machine
                .fault_at_begin("the program has no playbook to begin with; write one under an H2 heading".to_owned());
        } else {
            machine.take_arguments();
            let unsupported = machine.entries.iter().find_map(|&entry| match entry {
                EntryId::Playbook(id) => machine.program.unsupported(id),
                EntryId::Plan(_) => None,
            });
            if let Some(reason) = unsupported {
                machine.fault_at_begin(format!("the session cannot begin: {reason}"));
            }
        }
        machine
    }

    pub(crate) fn fault_at_begin(&mut self, message: String) {
        self.outcome = Some(Outcome::Failed(Fault { kind: FaultKind::Begin, place: None, message: message.into() }));
    }

    fn declare_variables(&mut self) {
        self.declare_new_variables(|_, _| false);
    }

    /// Variables that are declared get their values, but for those that were before.
    pub(crate) fn declare_new_variables(&mut self, was_declared: impl Fn(AgentId, &str) -> bool) {
        let program = self.program.clone();
        for agent in &program.agents {
            for declared in agent.variables.iter().filter(|declared| !was_declared(agent.id, &declared.name)) {
                if let Some(value) = &declared.value {
                    let value = Tracked::new(value.clone(), Origin::CODE);
                    self.set_global_silently(agent.id, &declared.name, value);
                }
            }
        }
    }

    /// Arguments that are no parameter of the first playbook become variables of its agent.
    fn take_arguments(&mut self) {
        let program = self.program.clone();
        let first = match self.entries[0] {
            EntryId::Playbook(id) => program.playbook(id),
            EntryId::Plan(id) => return self.check_plan_arguments(id),
        };
        let arguments = std::mem::take(&mut self.arguments);
        for (name, value) in arguments {
            if first.parameters.iter().any(|parameter| parameter.name == name) {
                self.arguments.insert(name, value);
                continue;
            }
            if let Some(ty) = self.stack().type_of(first.id, &name)
                && !ty.accepts(&value)
            {
                return self.fault_at_begin(format!("--arg {name}: ${name} must be {ty}, not {}", value.kind()));
            }
            self.set_global_silently(first.agent, &name, Tracked::new(value, Origin::ARGUMENT));
        }
        let missing: Vec<String> = first
            .parameters
            .iter()
            .filter(|parameter| parameter.required() && !self.arguments.contains_key(&parameter.name))
            .map(|parameter| format!("${}: {}", parameter.name, parameter.ty))
            .collect();
        if !missing.is_empty() {
            return self.fault_at_begin(format!(
                "playbook {} needs {}; give each with --arg name=value",
                first.name,
                missing.join(", ")
            ));
        }
        for parameter in &first.parameters {
            if let Some(value) = self.arguments.get(&parameter.name)
                && !parameter.ty.accepts(value)
            {
                let message = format!("--arg {}: must be {}, not {}", parameter.name, parameter.ty, value.kind());
                return self.fault_at_begin(message);
            }
        }
    }

    /// A dataflow plan takes what it has parameters for. Any variable may be given to a JSON plan: what of it is read
    /// is seen when it runs.
    fn check_plan_arguments(&mut self, id: PlanId) {
        let Some(plan) = self.plan(id).cloned() else { return };
        if !matches!(plan.body, PlanBody::Dataflow(_)) {
            return;
        }
        let unknown = self.arguments.keys().find(|name| !plan.parameters.contains(name));
        if let Some(name) = unknown {
            let there = if plan.parameters.is_empty() {
                "it has none: an alias without a value (`city:`) is one".to_owned()
            } else {
                format!("it has: {}", plan.parameters.join(", "))
            };
            return self.fault_at_begin(format!("--arg {name}: {} has no such parameter; {there}", plan.name));
        }
        let missing: Vec<&str> =
            plan.parameters.iter().filter(|name| !self.arguments.contains_key(*name)).map(|name| &**name).collect();
        if !missing.is_empty() {
            let message = format!("plan {} needs {}; give each with --arg name=value", plan.name, missing.join(", "));
            self.fault_at_begin(message);
        }
    }

    /// The stack is empty: the next beginning, or the end.
    pub(crate) fn step_empty_stack(&mut self) {
        let Some(entry) = self.entries.pop_front() else {
            self.outcome = Some(Outcome::Done { value: self.last_value.clone() });
            return;
        };
        let arguments = std::mem::take(&mut self.arguments);
        let program = self.program.clone();
        let entry = match entry {
            EntryId::Playbook(entry) => entry,
            EntryId::Plan(plan) => {
                let argument = |(name, value): (Arc<str>, Value)| (name, Tracked::new(value, Origin::ARGUMENT));
                return self.push_plan(plan, arguments.into_iter().map(argument).collect(), FrameOrigin::Begin);
            }
        };
        let playbook = program.playbook(entry);
        let bound = bind_begin(&playbook.parameters, &arguments);
        self.push_frame(entry, bound, FrameOrigin::Begin);
        // The implicit root has nothing to do before somebody speaks.
        if playbook.implicit && self.outcome.is_none() {
            self.core_mut().phase = Phase::Draining(Then::WaitUser);
        }
    }
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
