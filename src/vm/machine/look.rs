//! The whole state as plain data, and places in words.

use playhouse_lang::plan::{NodeId, Plan};

use crate::calls::call::{AskedBy, CallState, QueuedCall};
use crate::machine::frame::{Frame, PlaybookFrame};
use crate::machine::interpreter::Interpreter;
use crate::machine::stack::Stack;
use crate::machine::state::Machine;
use crate::protocol::view::{CallView, FrameView, View};
use crate::protocol::{CallOutcome, FrameOrigin, Location, TurnId};
use crate::variables::bounds::bound_outcome;

impl Machine {
    /// What came of a call, as the machine takes it. Whoever writes it down asks first: a journal keeps no result that
    /// is too large for the session.
    pub fn bounded(&self, outcome: CallOutcome) -> CallOutcome {
        bound_outcome(outcome, self.interpreter.stack.settings.bounds())
    }

    /// The whole state as plain data.
    pub fn view(&self) -> View {
        let Interpreter { stack, watcher, inbox, .. } = &self.interpreter;
        View {
            stack: stack.view_stack(self.interpreter.turn()),
            written_plans: stack.written_plans.iter().map(|written| written.plan.clone()).collect(),
            globals: stack
                .globals
                .iter()
                .zip(&stack.program.agents)
                .map(|(scope, agent)| (agent.name.clone(), scope.view()))
                .collect(),
            wait: self.blocked.clone(),
            outcome: self.interpreter.outcome.clone(),
            messages: inbox
                .iter()
                .filter(|message| message.heard_as.is_none())
                .map(|message| message.text.clone())
                .collect(),
            n_waiting_messages: inbox.iter().count(),
            signals: watcher.signals().cloned().collect(),
            conversation: stack.conversation.utterances.iter().cloned().collect(),
            triggers: watcher.view(&stack.program),
            question: watcher.question().cloned(),
            counters: watcher.count(self.interpreter.counters),
            skipped: self.interpreter.skipped.clone(),
        }
    }
}

impl Stack {
    /// The frames, and what runs inside of them as frames of their own.
    fn view_stack(&self, turn: Option<TurnId>) -> Vec<FrameView> {
        let mut stack = Vec::with_capacity(self.frames.len() + 1);
        for frame in &self.frames {
            let mut view = self.view_frame(frame, None);
            let Some((frame, inside)) = frame.playbook().and_then(|frame| Some((frame, frame.inside.as_ref()?))) else {
                stack.push(view);
                continue;
            };
            let callee = self.program.playbook(inside.region.playbook);
            let above = FrameView {
                id: inside.id,
                name: callee.name.clone(),
                location: view.location,
                line: view.location.step().map(|step| callee.step(step).label.clone()),
                origin: self.describe_origin(inside.origin),
                result_name: inside.call.result_name.clone(),
                inlined: true,
                n_elided: 0,
                variables: inside.scope.view(),
                queue: std::mem::replace(&mut view.queue, vec![view_call(&inside.call)]),
                loops: Vec::new(),
                messages: Vec::new(),
                n_turns: view.n_turns.saturating_sub(inside.n_turns_before),
                ..view.clone()
            };
            let line = inside.region.line;
            view.location = Location::Line { playbook: frame.playbook, step: Some(line) };
            view.line = Some(self.program.playbook(frame.playbook).step(line).label.clone());
            stack.extend([view, above]);
        }
        if let Some(top) = stack.last_mut() {
            top.turn = turn;
        }
        stack
    }

    fn view_frame(&self, frame: &Frame, turn: Option<TurnId>) -> FrameView {
        let core = frame.core();
        let result_name = self
            .frames
            .iter()
            .flat_map(|caller| caller.core().queue.iter())
            .find(|queued| matches!(core.origin, FrameOrigin::Call { call, .. } if call == queued.id))
            .and_then(|queued| queued.result_name.clone());
        let view = FrameView {
            id: core.id,
            agent: self.program.agent(core.agent).name.clone(),
            name: "".into(),
            language: None,
            location: frame.awaited_from().unwrap_or_else(|| frame.location()),
            line: None,
            origin: self.describe_origin(core.origin),
            result_name,
            inlined: false,
            n_elided: 0,
            variables: core.scope.view(),
            queue: core.queue.iter().map(view_call).collect(),
            loops: Vec::new(),
            messages: Vec::new(),
            n_turns: core.spent.turns,
            turn,
        };
        match frame {
            Frame::Playbook(frame) => self.view_playbook(frame, view),
            Frame::Plan(frame) => view_plan(frame.source(), frame.node(), view),
        }
    }

    fn view_playbook(&self, frame: &PlaybookFrame, view: FrameView) -> FrameView {
        let playbook = self.program.playbook(frame.playbook);
        FrameView {
            name: playbook.name.clone(),
            line: view.location.step().filter(|_| frame.inside.is_none()).map(|step| playbook.step(step).label.clone()),
            n_elided: frame.n_elided,
            loops: frame
                .loops
                .iter()
                .map(|state| format!("{}, {}", playbook.step(state.header).label, state.describe()))
                .collect(),
            messages: frame.chat.messages.clone(),
            ..view
        }
    }

    /// `begin`, `call at Name:03`.
    fn describe_origin(&self, origin: FrameOrigin) -> String {
        match origin {
            FrameOrigin::Begin => "begin".to_owned(),
            FrameOrigin::Call { from, .. } => format!("call at {}", self.describe(from)),
            FrameOrigin::Trigger { trigger, from } => {
                format!("trigger {} at {}", self.program.trigger_name(trigger), self.describe(from))
            }
        }
    }

    /// `Name:03`, or `Name` for its heading.
    pub(crate) fn describe(&self, location: Location) -> String {
        match location {
            Location::Line { playbook, step } => {
                let playbook = self.program.playbook(playbook);
                match step {
                    Some(step) => format!("{}:{}", playbook.name, playbook.step(step).label),
                    None => playbook.name.to_string(),
                }
            }
            Location::Plan { plan, node } => {
                let Some(plan) = self.plan(plan) else { return String::new() };
                match node {
                    Some(node) => format!("{}:{}", plan.name, plan.node(node).label),
                    None => plan.name.to_string(),
                }
            }
        }
    }
}

fn view_plan(plan: &Plan, node: Option<NodeId>, view: FrameView) -> FrameView {
    FrameView {
        name: plan.name.clone(),
        language: Some(plan.language()),
        line: node.map(|node| plan.node(node).label.clone()),
        ..view
    }
}

fn view_call(queued: &QueuedCall) -> CallView {
    CallView {
        call: queued.id,
        name: queued.name.clone(),
        kind: queued.callee.kind(),
        arguments: queued.arguments.clone(),
        state: match queued.state() {
            CallState::Queued => "queued",
            CallState::Running { .. } => "running",
            CallState::Asking { .. } => "needs approval",
            CallState::Done(Ok(_)) => "done",
            CallState::Done(Err(_)) => "failed",
        },
        question: match queued.state() {
            CallState::Asking { question, .. } => Some(question.clone()),
            CallState::Queued | CallState::Running { .. } | CallState::Done(_) => None,
        },
        is_asked_by_tool: matches!(queued.state(), CallState::Asking { asked_by: AskedBy::Tool { .. }, .. }),
        result_name: queued.result_name.clone(),
    }
}
