//! The program's text changes while its session goes on: the whole state is taken over to the new program, as far as
//! that has the same parts.
//!
//! A frame whose playbook or plan is gone goes with all above it, and the call that waits for it fails. The others go
//! on at the line where they stood, or behind the last line before it that is still there. Whatever was in progress
//! with a model is begun afresh, for it was about the old text; tools run on.

mod frames;
mod lines;
mod migration;

use std::sync::Arc;

use playhouse_lang::analysis::Analysis;
use playhouse_lang::program::{AgentId, EntryId, Program};
use playhouse_lang::value::Map;

use crate::calls::call::Callee;
use crate::machine::begin::entries_of;
use crate::machine::frame_core::{Phase, Then};
use crate::machine::state::Machine;
use crate::migrate::lines::Moved;
use crate::prompt::system::Prompts;
use crate::protocol::LeftLine;
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::{Fact, FrameOrigin, Outcome, Progress, ToolSignature};
use crate::triggers::watch::OpenQuestion;
use crate::variables::scope::Scope;

pub use crate::migrate::migration::Migration;

/// Why replies are cut.
const REASON: &str = "the program has changed";

impl Machine {
    /// The program has another text. `reopened`: the process was restarted, too.
    pub(crate) fn handle_program_changed(
        &mut self,
        program: Arc<Program>,
        tools: Arc<[ToolSignature]>,
        reopened: bool,
    ) {
        let mut migration = Migration::new(self.program.clone(), program);
        self.blocked = None;
        let had_failed = self.clear_failure();
        if reopened {
            self.reopen_turns();
            self.reopen_calls();
        }
        // While the old program is still there: what it cannot be without is ended.
        let apart = self.set_regions_apart();
        let asked = self.watcher.question.clone();
        self.give_up_question();
        self.put_back_updates(asked);
        let (was_begun, has_begun) = (!self.frames.is_empty(), self.next.frame > 0);
        let gone = self.frames.iter().position(|frame| migration.gone(frame).is_some());
        self.close_turn_for_change(gone.is_some());
        let lines = self.drop_gone_frames(gone, &migration);
        self.cancel_limit();
        if had_failed {
            self.repair_calls();
        }
        let told = std::mem::take(&mut self.outbox);
        let moved = self.take_over_to(&mut migration, tools);
        migration.left.extend(lines);
        self.report(Fact::ProgramChanged(Arc::new(migration.change())));
        self.outbox.extend(told.iter().filter_map(|progress| migration.progress(progress)));
        // From here on everything is of the new program.
        self.declare_changed(&migration);
        self.join_regions(&apart, &moved);
        self.complete_left_sentence(&moved);
        self.fail_gone_calls();
        self.renew_chats();
        let is_over = self.outcome.is_some() || self.unwinding.is_some();
        let lost_all = was_begun || had_failed || (!has_begun && self.entries.is_empty());
        if !is_over && self.frames.is_empty() && lost_all {
            self.begin_anew(was_begun);
        }
        if reopened {
            self.reopen_timers();
        }
        if !is_over {
            self.start_trigger_timers();
        }
        if moved.last() == Some(&Moved::ToFirst)
            && let Some(place) = self.place()
        {
            self.outbox.push_back(Progress::Reached(place));
        }
    }

    /// What was being said on a line that is gone is not gone on with.
    fn complete_left_sentence(&mut self, moved: &[Moved]) {
        let Some(depth) = self.find_asker() else { return };
        if moved.iter().skip(depth).all(|moved| *moved == Moved::No) {
            return;
        }
        let asker = self.asker_mut();
        asker.told.forget_saying();
        if let Some(utterance) = asker.saying.take() {
            self.complete_utterance(utterance);
        }
    }

    /// A session that has failed goes on: the new text may have mended it. Answers whether it had.
    fn clear_failure(&mut self) -> bool {
        if !matches!(self.outcome, Some(Outcome::Failed(_))) {
            return false;
        }
        self.outcome = None;
        for frame in self.frames.iter_mut().filter_map(|frame| frame.playbook_mut()) {
            (frame.n_failures, frame.n_idle_turns, frame.n_attempts) = (0, 0, 0);
        }
        true
    }

    /// What the classifier was being asked about happened: it is asked again about those triggers that there are.
    fn put_back_updates(&mut self, asked: Option<OpenQuestion>) {
        let Some(OpenQuestion { frame, mut updates, n_ahead, .. }) = asked else { return };
        updates.truncate(updates.len().saturating_sub(n_ahead));
        if let Some(frame) = self.frames.iter_mut().find(|other| other.core().id == frame) {
            let watch = &mut frame.core_mut().watch;
            updates.append(&mut watch.updates);
            watch.updates = updates;
        }
    }

    /// The reply in progress is about the old text. `drops_frame`: so is the frame.
    fn close_turn_for_change(&mut self, drops_frame: bool) {
        if let Some(turn) = self.turn.as_mut() {
            // It is not the model's idleness. A sentence is gone on with, if its line is still there.
            (turn.progress, turn.is_cut_short) = (true, !drops_frame);
            let undo = turn.undo.take();
            if drops_frame {
                self.core_mut().queue.drop_waiting();
            }
            self.cut_turn(REASON);
            // Nothing of it took effect: what the model had been told counts as not told.
            if let Some(undo) = undo {
                self.asker_mut().told = undo.1;
            }
        }
        if let Some(frame) = self.frames.last_mut()
            && frame.core().phase == Phase::Turn
        {
            frame.core_mut().phase = Phase::Draining(Then::GoOn);
        }
    }

    /// The frame at `depth` and all above it go without results; the call that waits for it fails. Answers where they
    /// stood.
    fn drop_gone_frames(&mut self, depth: Option<usize>, migration: &Migration) -> Vec<LeftLine> {
        let Some(depth) = depth else { return Vec::new() };
        let reason = migration.gone(&self.frames[depth]).unwrap_or_else(|| REASON.into());
        let mut left = Vec::new();
        while self.frames.len() > depth {
            if let Some(top) = self.frames.last() {
                left.push(LeftLine { from: self.describe(top.location()).into(), to: None });
            }
            self.report(Fact::FramePopped { value: None });
            let frame = self.leave_frame();
            if self.frames.len() > depth {
                continue;
            }
            match frame.core().origin {
                FrameOrigin::Begin => {}
                FrameOrigin::Call { call, .. } => {
                    let now = self.now;
                    let failed = self.find_call(call).map(|queued| queued.finish(now, Err(reason.clone())));
                    failed.into_iter().for_each(|fact| self.report(fact));
                }
                FrameOrigin::Trigger { trigger, .. } => self.ask_guard_again(trigger),
            }
        }
        left.reverse();
        left
    }

    /// A playbook that was to say whether a call may be made has gone before it did.
    fn ask_guard_again(&mut self, trigger: playhouse_lang::program::TriggerId) {
        let Some(frame) = self.frames.last_mut() else { return };
        if let Some(guard) = frame.core_mut().queue.running_guard(trigger) {
            guard.put_back();
            *self.watcher.active.entry(trigger).or_default() += 1;
        }
    }

    /// Calls that a failure left without the frame that was to answer them are made again.
    fn repair_calls(&mut self) {
        let origins: Vec<FrameOrigin> = self.frames.iter().map(|frame| frame.core().origin).collect();
        for queued in self.frames.iter_mut().flat_map(|frame| frame.core_mut().queue.iter_mut()) {
            let is_answered = origins.iter().any(|origin| match (origin, queued.guards) {
                (FrameOrigin::Call { call, .. }, None) => *call == queued.id,
                (FrameOrigin::Trigger { trigger, .. }, Some(guard)) => *trigger == guard.trigger,
                (FrameOrigin::Begin | FrameOrigin::Call { .. } | FrameOrigin::Trigger { .. }, _) => false,
            });
            let is_frames = matches!(queued.callee, Callee::Playbook(_) | Callee::Plan(_));
            if is_frames && !is_answered && queued.is_running() {
                queued.put_back();
            }
        }
    }

    /// Everything that holds an id of the old program gets that of the new one. Answers what became of the frames'
    /// lines.
    fn take_over_to(&mut self, migration: &mut Migration, tools: Arc<[ToolSignature]>) -> Vec<Moved> {
        let program = migration.new.clone();
        let frames = migration.frames(std::mem::take(&mut self.frames));
        let moved = frames.iter().map(|(_, moved)| *moved).collect();
        self.frames = frames.into_iter().map(|(frame, _)| frame).collect();
        let mut others = vec![Scope::default(); program.agents.len()];
        for (index, mut scope) in std::mem::take(&mut self.others).into_iter().enumerate() {
            let agent = u32::try_from(index).ok().and_then(|index| migration.agent(AgentId(index)));
            if let Some(kept) = agent.and_then(|agent| others.get_mut(agent.0 as usize)) {
                migration.scope(&mut scope);
                *kept = scope;
            }
        }
        self.others = others;
        for closing in &mut self.closing {
            closing.place = closing.place.and_then(|place| migration.place(place));
        }
        let same_entry = |entry: EntryId| match entry {
            EntryId::Playbook(id) => migration.matching.playbook(id).map(EntryId::Playbook),
            EntryId::Plan(id) => migration.matching.plan(id).map(EntryId::Plan),
        };
        self.entries = std::mem::take(&mut self.entries).into_iter().filter_map(same_entry).collect();
        let trigger = |id| migration.matching.trigger(id);
        let watcher = &mut self.watcher;
        watcher.truths.map(trigger);
        let active = std::mem::take(&mut watcher.active);
        watcher.active = active.into_iter().filter_map(|(id, n)| Some((trigger(id)?, n))).collect();
        watcher.verdicts.map(trigger);
        watcher.timers.retain_mut(|timer| match trigger(timer.trigger) {
            Some(same) => {
                timer.trigger = same;
                true
            }
            None => false,
        });
        self.prompts = Arc::new(Prompts::new(&program));
        self.has_frame_limits = program.playbooks.iter().any(|playbook| playbook.limits.is_set());
        self.analysis = Arc::new(Analysis::new(program.clone()));
        self.layouts = Arc::new(self.settings.layouts(&program));
        self.program = program;
        self.tools = tools;
        moved
    }

    /// Variables that are declared now and were not before get their values; what is declared secret now is so.
    fn declare_changed(&mut self, migration: &Migration) {
        let old = migration.old.clone();
        let was_declared = |agent: AgentId, name: &str| {
            let before = old.agents.iter().find(|before| migration.agent(before.id) == Some(agent));
            before.is_some_and(|before| before.variables.iter().any(|declared| *declared.name == *name))
        };
        // What the session has set meanwhile is not lost to a declaration.
        let is_set: Vec<(AgentId, Arc<str>)> = self
            .program
            .agents
            .iter()
            .flat_map(|agent| agent.variables.iter().map(|declared| (agent.id, declared.name.clone())))
            .filter(|(agent, name)| self.others[agent.0 as usize].contains(name))
            .collect();
        self.declare_new_variables(|agent, name| {
            was_declared(agent, name) || is_set.iter().any(|(of, set)| *of == agent && **set == *name)
        });
        let program = self.program.clone();
        for agent in &program.agents {
            for declared in agent.variables.iter().filter(|declared| declared.secret) {
                let own = self.frames.iter_mut().map(|frame| frame.core_mut()).filter(|core| core.agent == agent.id);
                let scopes = own.map(|core| &mut core.scope).chain(self.others.get_mut(agent.id.0 as usize));
                for variable in scopes.filter_map(|scope| scope.get_mut(&declared.name)) {
                    variable.mark_secret();
                }
            }
        }
    }

    /// No frame is left: the program begins with the variables that there are. One that had not begun (its arguments
    /// were wrong, say) does so where it was told to.
    fn begin_anew(&mut self, was_begun: bool) {
        if was_begun || self.entries.is_empty() {
            self.entries = entries_of(&self.program);
        }
        if let Err(message) = self.take_variables_as_arguments() {
            let fault = Fault { kind: FaultKind::Begin, place: None, message: message.into() };
            self.outcome = Some(Outcome::Failed(fault));
        }
    }

    /// The parameters of the first playbook get the values that were given, else those of the variables of their names.
    fn take_variables_as_arguments(&mut self) -> Result<(), String> {
        let given = std::mem::take(&mut self.arguments);
        let mut arguments = Map::new();
        let first = self.entries.front().ok_or("the changed program has no playbook to begin with")?;
        if let EntryId::Playbook(id) = first {
            let playbook = self.program.playbook(*id);
            let reader = self.visible_to(playbook.agent, self.frames.len());
            for parameter in &playbook.parameters {
                if let Some(value) = given.get(&parameter.name).filter(|value| parameter.ty.accepts(value)) {
                    arguments.insert(parameter.name.clone(), value.clone());
                    continue;
                }
                let set = reader.variable(&parameter.name).map(|variable| &variable.value);
                match set.filter(|value| parameter.ty.accepts(value.value()) && !value.is_secret()) {
                    Some(value) => {
                        arguments.insert(parameter.name.clone(), value.value().clone());
                    }
                    None if parameter.required() => {
                        return Err(format!(
                            "the changed program begins with {}, which needs ${}: {}, and there is no such variable; \
                             give it a default value",
                            playbook.name, parameter.name, parameter.ty
                        ));
                    }
                    None => {}
                }
            }
        }
        self.arguments = arguments;
        Ok(())
    }

    /// The limit that a frame had reached may be another one now.
    fn cancel_limit(&mut self) {
        if self.unwinding.as_ref().is_some_and(|unwinding| unwinding.is_of_limit()) {
            self.unwinding = None;
        }
    }
}
