//! The program's text changes while its session goes on: the whole state is taken over to the new program, as far as
//! that has the same parts.
//!
//! A frame whose playbook or plan is gone goes with all above it, and the call that waits for it fails. The others go
//! on at the line where they stood, or after the last line before it that is still there. Whatever was in progress
//! with a model is begun afresh, for it was about the old text; tools run on.

mod frames;
mod lines;
mod migration;

use std::sync::Arc;

use playhouse_lang::program::{EntryId, Program};
use playhouse_lang::value::Map;

use crate::machine::begin::entries_of;
use crate::machine::frame::Frame;
use crate::machine::state::Machine;
use crate::migrate::frames::{fail_gone_calls, join_regions, renew_chats, repair_calls, set_regions_apart};
use crate::migrate::lines::Moved;
use crate::protocol::fault::FaultKind;
use crate::protocol::{Fact, FrameOrigin, LeftLine, Outcome, ToolSignature, Tracked};
use crate::variables::scope::{Scope, Variable};

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
        let mut migration = Migration::new(self.interpreter.stack.program.clone(), program);
        self.blocked = None;
        let had_failed = matches!(self.interpreter.outcome, Some(Outcome::Failed(_)));
        if had_failed {
            self.interpreter.outcome = None;
            for frame in self.interpreter.stack.frames.iter_mut().filter_map(Frame::playbook_mut) {
                (frame.n_failures, frame.n_idle_turns, frame.n_attempts, frame.n_unfinished) = (0, 0, 0, 0);
            }
        }
        if reopened {
            self.reopen_turns();
            self.interpreter.reopen_calls();
        }
        // While the old program is still there: what it cannot be without is ended.
        let apart = set_regions_apart(&mut self.interpreter.stack.frames);
        let asked = self.interpreter.watcher.asked();
        self.interpreter.tell_watcher(|watcher, _| watcher.give_up_question());
        // What the classifier was being asked about happened: it is asked again about those triggers that there are.
        if let Some((frame, updates)) = asked
            && let Some(core) =
                self.interpreter.stack.frames.iter_mut().map(Frame::core_mut).find(|core| core.id == frame)
        {
            core.watch.put_back(updates);
        }
        let (was_begun, has_begun) = (!self.interpreter.stack.frames.is_empty(), self.interpreter.ids.has_frames());
        let gone = self.interpreter.stack.frames.iter().position(|frame| migration.gone(frame).is_some());
        self.close_turn_for_change(REASON, gone.is_some());
        let lines = self.drop_gone_frames(gone, &migration);
        // The limit that a frame had reached may be another one now.
        self.unwinding.take_if(|unwinding| unwinding.is_of_limit());
        if had_failed {
            repair_calls(&mut self.interpreter.stack.frames);
        }
        // Everything that holds an id of the old program gets that of the new one.
        let moved = migration.frames(&mut self.interpreter.stack.frames);
        self.interpreter.stack.globals = migration.globals(std::mem::take(&mut self.interpreter.stack.globals));
        for closing in &mut self.closing {
            closing.migrate(|place| migration.place(place));
        }
        self.entries = self.entries.iter().filter_map(|entry| migration.entry(*entry)).collect();
        self.interpreter.watcher.map(|id| migration.matching.trigger(id));
        let program = migration.new.clone();
        self.interpreter.stack.execute(program, tools);
        migration.left.extend(lines);
        // What was told and not yet taken is about the old program.
        let change = Fact::ProgramChanged(Arc::new(migration.change()));
        self.interpreter.tell_before(change, |progress| migration.progress(progress));
        // From here on everything is of the new program. Variables that are declared now and were not before get their
        // values; what the session has set meanwhile is not lost to a declaration.
        let before = self.interpreter.stack.globals.clone();
        self.interpreter.declare_new_variables(|agent, name| {
            migration.was_declared(agent, name) || before[agent.0 as usize].contains(name)
        });
        let stack = &mut self.interpreter.stack;
        let stamp = stack.stamp();
        mark_secret(&stack.program, &mut stack.frames, &mut stack.globals);
        join_regions(&mut stack.frames, &apart, &moved, &stack.layouts, stamp);
        // What was being said on a line that is gone is not gone on with.
        if let Some(depth) = self.interpreter.stack.find_chat_owner()
            && moved.iter().skip(depth).any(|moved| *moved != Moved::No)
        {
            let chat_owner = self.interpreter.stack.chat_owner_mut();
            chat_owner.told.forget_saying();
            let saying = chat_owner.saying.take();
            saying.into_iter().for_each(|utterance| self.interpreter.complete_utterance(utterance));
        }
        let failed = fail_gone_calls(
            &mut self.interpreter.stack.frames,
            &self.interpreter.stack.program,
            self.interpreter.stack.now,
        );
        let renewed = renew_chats(&mut self.interpreter.stack.frames);
        failed.into_iter().chain(renewed).for_each(|(place, fact)| self.interpreter.report_at(place, fact));
        let is_over = self.interpreter.outcome.is_some() || self.unwinding.is_some();
        let lost_all = was_begun || had_failed || (!has_begun && self.entries.is_empty());
        if !is_over && self.interpreter.stack.frames.is_empty() && lost_all {
            // It begins again with the variables that there are. One that had not begun (its arguments were wrong,
            // say) does so where it was told to.
            if was_begun || self.entries.is_empty() {
                self.entries = entries_of(&self.interpreter.stack.program);
            }
            let given = std::mem::take(&mut self.arguments);
            match first_arguments(
                &self.interpreter.stack.program,
                self.entries.front(),
                &given,
                &self.interpreter.stack.globals,
            ) {
                Ok(arguments) => self.arguments = arguments,
                Err(message) => self.interpreter.fail(FaultKind::Begin, message),
            }
        }
        if reopened {
            self.interpreter.reopen_timers();
        }
        if !is_over {
            self.interpreter.tell_watcher(|watcher, context| watcher.begun(context));
        }
        if moved.last() == Some(&Moved::ToFirst)
            && let Some(place) = self.interpreter.place()
        {
            self.interpreter.reached(place);
        }
    }

    /// The frame at `depth` and all above it go without results; the call that waits for it fails. Answers where they
    /// stood.
    fn drop_gone_frames(&mut self, depth: Option<usize>, migration: &Migration) -> Vec<LeftLine> {
        let Some(depth) = depth else { return Vec::new() };
        let reason = migration.gone(&self.interpreter.stack.frames[depth]).unwrap_or_else(|| REASON.into());
        let mut left = Vec::new();
        while self.interpreter.stack.frames.len() > depth {
            if let Some(top) = self.interpreter.stack.frames.last() {
                left.push(LeftLine { from: self.interpreter.stack.describe(top.location()).into(), to: None });
            }
            self.interpreter.report(Fact::FramePopped { value: None });
            let frame = self.interpreter.leave_frame();
            if self.interpreter.stack.frames.len() > depth {
                continue;
            }
            match frame.core().origin {
                FrameOrigin::Begin => {}
                FrameOrigin::Call { call, .. } => self.interpreter.refuse_call(call, reason.clone()),
                FrameOrigin::Trigger { trigger, .. } => {
                    // Where it was to say whether a call may be made, another is asked.
                    let caller = self.interpreter.stack.frames.last_mut().map(Frame::core_mut);
                    if let Some(guard) = caller.and_then(|caller| caller.queue.running_guard(trigger)) {
                        guard.put_back();
                        self.interpreter.watcher.put_back(trigger);
                    }
                }
            }
        }
        left.reverse();
        left
    }
}

/// What is declared secret now is so, wherever it is kept.
fn mark_secret(program: &Program, frames: &mut [Frame], globals: &mut [Scope]) {
    for agent in &program.agents {
        for declared in agent.variables.iter().filter(|declared| declared.secret) {
            let own = frames.iter_mut().map(Frame::core_mut).filter(|core| core.agent == agent.id);
            let scopes = own.map(|core| &mut core.scope).chain(globals.get_mut(agent.id.0 as usize));
            scopes.filter_map(|scope| scope.get_mut(&declared.name)).for_each(Variable::mark_secret);
        }
    }
}

/// The arguments of the playbook that a changed program begins with: the values that were given, else those of the
/// variables of its parameters' names.
fn first_arguments(program: &Program, first: Option<&EntryId>, given: &Map, globals: &[Scope]) -> Result<Map, String> {
    let mut arguments = Map::new();
    let EntryId::Playbook(id) = first.ok_or("the changed program has no playbook to begin with")? else {
        return Ok(arguments);
    };
    let playbook = program.playbook(*id);
    for parameter in &playbook.parameters {
        let set = globals.get(playbook.agent.0 as usize).and_then(|scope| scope.get(&parameter.name));
        let set = set.map(|variable| &variable.value).filter(|value| !value.is_secret()).map(Tracked::value);
        let value = [given.get(&parameter.name), set].into_iter().flatten().find(|value| parameter.ty.accepts(value));
        match value {
            Some(value) => drop(arguments.insert(parameter.name.clone(), value.clone())),
            None if parameter.required() => {
                return Err(format!(
                    "the changed program begins with {}, which needs ${}: {}, and there is no such variable; give it a \
                     default value",
                    playbook.name, parameter.name, parameter.ty
                ));
            }
            None => {}
        }
    }
    Ok(arguments)
}
