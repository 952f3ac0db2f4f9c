//! The stack: frames and variables, the program that they execute, and what has been said.
//!
//! Questions about lines, ways, variables and callees, and the texts that a model is shown, are answered from here. So
//! none of them depends on the reply that is being read, on triggers or on timers.

use std::fmt;
use std::sync::Arc;

use playhouse_lang::analysis::Analysis;
use playhouse_lang::analysis::layout::Layouts;
use playhouse_lang::plan::{Plan, PlanId};
use playhouse_lang::program::{AgentId, Body, Program, StepId};

use crate::calls::call::QueuedCall;
use crate::machine::conversation::Conversation;
use crate::machine::frame::{Frame, PlaybookFrame};
use crate::machine::frame_core::{FrameCore, Phase};
use crate::plan::request::WrittenPlan;
use crate::prompt::system::Prompts;
use crate::protocol::settings::Settings;
use crate::protocol::view::Utterance;
use crate::protocol::{CallId, Timestamp, ToolSignature};
use crate::variables::scope::{Scope, Stamp};

/// The frames and variables of a session, and what is executed in them.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    pub(crate) program: Arc<Program>,
    /// What follows from the program.
    pub(crate) analysis: Arc<Analysis>,
    /// Its playbooks as they are executed under these settings.
    pub(crate) layouts: Arc<Layouts>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) tools: Arc<[ToolSignature]>,
    pub(crate) prompts: Arc<Prompts>,
    pub(crate) now: Timestamp,
    /// The frames, the lowest first.
    pub(crate) frames: Vec<Frame>,
    /// The globals, by agent.
    pub(crate) globals: Vec<Scope>,
    pub(crate) conversation: Conversation,
    /// Plans that a model wrote while the session ran; their numbers go on from those of the program's.
    pub(crate) written_plans: Vec<WrittenPlan>,
    stamp: Stamp,
}

impl Stack {
    /// The stack of a session that has not begun: no frame, no variable.
    pub(crate) fn new(program: Arc<Program>, settings: Settings, tools: Arc<[ToolSignature]>, now: Timestamp) -> Stack {
        Stack {
            globals: vec![Scope::default(); program.agents.len()],
            prompts: Arc::new(Prompts::new(&program)),
            layouts: Arc::new(settings.layouts(&program)),
            analysis: Arc::new(Analysis::new(program.clone())),
            program,
            settings: Arc::new(settings),
            tools,
            now,
            frames: Vec::new(),
            conversation: Conversation::default(),
            written_plans: Vec::new(),
            stamp: Stamp::default(),
        }
    }

    /// Another program is executed from now on. What holds an id of the old one has been taken over.
    pub(crate) fn execute(&mut self, program: Arc<Program>, tools: Arc<[ToolSignature]>) {
        self.prompts = Arc::new(Prompts::new(&program));
        self.analysis = Arc::new(Analysis::new(program.clone()));
        self.layouts = Arc::new(self.settings.layouts(&program));
        (self.program, self.tools) = (program, tools);
    }

    /// The tools there are have changed.
    pub(crate) fn change_tools(&mut self, tools: Arc<[ToolSignature]>) {
        self.prompts = Arc::new(Prompts::new(&self.program));
        self.tools = tools;
    }

    /// The system message of an agent: the same bytes for all its turns.
    pub(crate) fn system_message(&self, agent: AgentId) -> Arc<str> {
        self.prompts.system(&self.program, &self.tools, agent, &self.layouts, &self.settings)
    }

    /// The plan with this number: one of the program, or one that a model wrote.
    pub(crate) fn plan(&self, id: PlanId) -> Option<&Arc<Plan>> {
        let written = || self.written_plans.get((id.0 as usize).checked_sub(self.program.plans.len())?);
        self.program.plan(id).or_else(|| written().map(|written| &written.plan))
    }

    pub(crate) fn is_plan_on_top(&self) -> bool {
        matches!(self.frames.last(), Some(Frame::Plan(_)))
    }

    /// The playbook on top of the stack. To be asked for only by what is done for a playbook.
    pub(crate) fn top(&self) -> &PlaybookFrame {
        self.frames.last().and_then(Frame::playbook).expect("only asked for with a playbook on top of the stack")
    }

    pub(crate) fn top_mut(&mut self) -> &mut PlaybookFrame {
        let top = self.frames.last_mut().and_then(Frame::playbook_mut);
        top.expect("only asked for with a playbook on top of the stack")
    }

    /// What the top frame has in whatever language.
    pub(crate) fn core(&self) -> &FrameCore {
        self.frames.last().expect("a step is made only with a frame on the stack").core()
    }

    pub(crate) fn core_mut(&mut self) -> &mut FrameCore {
        self.frames.last_mut().expect("a step is made only with a frame on the stack").core_mut()
    }

    /// The nearest playbook's frame: its chat session is where what a plan above it brings is told.
    pub(crate) fn chat_owner(&self) -> &PlaybookFrame {
        let depth = self.find_chat_owner().unwrap_or(0);
        self.frames[depth].playbook().expect("only asked for with a playbook on the stack")
    }

    pub(crate) fn chat_owner_mut(&mut self) -> &mut PlaybookFrame {
        let depth = self.find_chat_owner().unwrap_or(0);
        self.frames[depth].playbook_mut().expect("only asked for with a playbook on the stack")
    }

    /// The depth of the nearest playbook, if there is one.
    pub(crate) fn find_chat_owner(&self) -> Option<usize> {
        self.frames.iter().rposition(|frame| frame.playbook().is_some())
    }

    /// The call with this id, wherever it stands.
    pub(crate) fn find_call(&mut self, call: CallId) -> Option<&mut QueuedCall> {
        self.frames.iter_mut().find_map(|frame| frame.core_mut().queue.get_mut(call))
    }

    /// The lines of a frame as they are executed.
    pub(crate) fn body(&self, frame: &PlaybookFrame) -> &Body {
        self.layouts.body(frame.playbook)
    }

    /// When the last value was set.
    pub(crate) fn stamp(&self) -> Stamp {
        self.stamp
    }

    pub(crate) fn next_stamp(&mut self) -> Stamp {
        self.stamp.0 += 1;
        self.stamp
    }

    /// Somebody has said something; the playbooks on the stack remember how their conversation began.
    pub(crate) fn note_utterance(&mut self, by_user: bool, text: Arc<str>) {
        const OPENING: usize = 2;
        let number = self.conversation.n_total();
        let beginning = self.frames.iter_mut().filter_map(Frame::playbook_mut).filter(|f| f.opening.len() < OPENING);
        beginning.for_each(|frame| frame.opening.push((number, Utterance { by_user, text: text.clone() })));
        self.conversation.push(by_user, text, self.settings.conversation.max(1));
    }

    /// The interpreter has done something at a line of the top frame, of which its model is told.
    pub(crate) fn note_done_line(&mut self, step: StepId, what: fmt::Arguments<'_>) {
        if self.frames.is_empty() {
            return;
        }
        let label = self.label(step);
        self.chat_owner_mut().told.push_done(format!("{label} {what}"));
    }

    /// Time has passed; it counts for every frame unless the user was waited for.
    pub(crate) fn spend_time(&mut self, ms: u64) {
        if self.frames.last().is_some_and(|frame| frame.core().phase != Phase::WaitingUser) {
            for frame in &mut self.frames {
                frame.core_mut().spent.active_ms += ms;
            }
        }
    }

    /// Tokens that were used count for every frame.
    pub(crate) fn spend_tokens(&mut self, tokens: u64) {
        for frame in &mut self.frames {
            frame.core_mut().spent.tokens += tokens;
        }
    }
}
