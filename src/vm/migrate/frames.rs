//! Frames of an old program as frames of a new one.

use std::sync::Arc;

use playhouse_lang::analysis::layout::Layouts;
use playhouse_lang::plan::PlanId;
use playhouse_lang::program::{Parameter, PlaybookId, Program};

use crate::calls::call::{Callee, QueuedCall};
use crate::machine::frame::{Chat, Frame, PlaybookFrame};
use crate::machine::frame_core::FrameCore;
use crate::migrate::lines::{Lines, Moved};
use crate::migrate::migration::Migration;
use crate::protocol::{CallKind, Fact, FrameId, FrameOrigin, LeftLine, Location, Origin, Place, Timestamp, Tracked};
use crate::variables::scope::{Scope, Stamp};

impl Migration {
    /// Why a frame cannot go on; none: it can.
    pub(super) fn gone(&self, frame: &Frame) -> Option<Arc<str>> {
        match frame {
            Frame::Playbook(frame) => self.gone_playbook(frame.playbook),
            Frame::Plan(frame) => self.gone_plan(frame.plan(), &frame.source().name),
        }
        .or_else(|| {
            let agent = frame.core().agent;
            let name = || self.old.agents.get(agent.0 as usize).map_or_else(|| "".into(), |agent| agent.name.clone());
            self.agent(agent).is_none().then(|| format!("the agent {} is not in the changed program", name()).into())
        })
    }

    fn gone_playbook(&self, id: PlaybookId) -> Option<Arc<str>> {
        match self.matching.playbook(id) {
            None => Some(format!("the playbook {} is not in the changed program", self.old_playbook_name(id)).into()),
            Some(id) => self.new.unsupported(id).map(Arc::from),
        }
    }

    fn gone_plan(&self, id: PlanId, name: &str) -> Option<Arc<str>> {
        match self.matching.plan(id) {
            None => Some(format!("the plan {name} is not in the changed program").into()),
            Some(_) if self.matching.is_same_plan(id) => None,
            Some(_) => Some(format!("the plan {name} has another text in the changed program").into()),
        }
    }

    /// Takes frames over to the new program, where every one of them can go on. Answers what became of their lines.
    pub(super) fn frames(&mut self, frames: &mut [Frame]) -> Vec<Moved> {
        let mut all_moved = Vec::with_capacity(frames.len());
        for frame in frames {
            let old_location = frame.location();
            let moved = match frame {
                Frame::Playbook(frame) => self.playbook_frame(frame),
                Frame::Plan(frame) => {
                    let id = self.matching.plan(frame.plan()).unwrap_or(frame.plan());
                    let source = self.new.plan(id).unwrap_or(frame.source()).clone();
                    frame.adopt(id, source);
                    Moved::No
                }
            };
            let location = frame.location();
            self.core(frame.core_mut(), heading(location));
            if moved != Moved::No {
                let name =
                    |program, location| crate::protocol::view::place_name(program, &[], location).unwrap_or_default();
                let (from, to) = (name(&self.old, old_location), name(&self.new, location));
                self.left.push(LeftLine { from: from.into(), to: Some(to.into()) });
            }
            all_moved.push(moved);
        }
        all_moved
    }

    fn playbook_frame(&self, frame: &mut PlaybookFrame) -> Moved {
        let Some(id) = self.matching.playbook(frame.playbook) else { return Moved::No };
        let lines =
            Lines { old: self.old.playbook(frame.playbook), new: self.new.playbook(id), matching: &self.matching };
        let moved = lines.move_frame(frame);
        frame.playbook = id;
        frame.elided_results.retain_mut(|result| match self.agent(result.agent) {
            Some(agent) => {
                result.agent = agent;
                true
            }
            None => false,
        });
        moved
    }

    fn core(&self, core: &mut FrameCore, heading: Location) {
        core.agent = self.agent(core.agent).unwrap_or(core.agent);
        let from = |from| self.location(from).unwrap_or(heading);
        core.origin = match core.origin {
            FrameOrigin::Begin => FrameOrigin::Begin,
            FrameOrigin::Call { call, from: at } => FrameOrigin::Call { call, from: from(at) },
            FrameOrigin::Trigger { trigger, from: at } => match self.matching.trigger(trigger) {
                Some(trigger) => FrameOrigin::Trigger { trigger, from: from(at) },
                // Nobody is there any more who would be told of its return.
                None => FrameOrigin::Begin,
            },
        };
        core.trigger = core.trigger.and_then(|trigger| self.matching.trigger(trigger));
        self.scope(&mut core.scope);
        core.watch.map(|id| self.matching.trigger(id));
        core.queue.filter_map(|queued| self.queued(queued, heading));
    }

    /// None: a guard whose trigger is gone.
    fn queued(&self, mut queued: QueuedCall, heading: Location) -> Option<QueuedCall> {
        if let Some(guard) = &mut queued.guards {
            guard.trigger = self.matching.trigger(guard.trigger)?;
        }
        queued.callee = self.callee(queued.callee);
        let location = self.location(queued.place.location).unwrap_or(heading);
        let agent = self.agent(queued.place.agent).unwrap_or(queued.place.agent);
        queued.place = Place { agent, location, ..queued.place };
        Some(queued)
    }

    fn callee(&self, callee: Callee) -> Callee {
        match callee {
            Callee::Playbook(id) => self.matching.playbook(id).map_or(Callee::Gone(callee.kind()), Callee::Playbook),
            Callee::Plan(id) => self.matching.plan(id).map_or(Callee::Gone(callee.kind()), Callee::Plan),
            Callee::Tool(_) | Callee::Model | Callee::Gone(_) => callee,
        }
    }

    pub(super) fn scope(&self, scope: &mut Scope) {
        for variable in scope.iter_mut() {
            variable.changed_at = variable.changed_at.and_then(|location| self.location(location));
        }
    }
}

/// Calls that a failure left without the frame that was to answer them are made again.
pub(super) fn repair_calls(frames: &mut [Frame]) {
    let origins: Vec<FrameOrigin> = frames.iter().map(|frame| frame.core().origin).collect();
    for queued in frames.iter_mut().flat_map(|frame| frame.core_mut().queue.iter_mut()) {
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

/// What runs inside a line becomes a frame of its own: the line may be another one in the new text. Answers which.
pub(super) fn set_regions_apart(frames: &mut Vec<Frame>) -> Vec<FrameId> {
    let mut apart = Vec::new();
    for depth in (0..frames.len()).rev() {
        if let Some(above) = frames[depth].playbook_mut().and_then(PlaybookFrame::split_off_inside) {
            apart.push(above.core.id);
            frames.insert(depth + 1, Frame::Playbook(above));
        }
    }
    apart
}

/// What ran inside a line does so again where the new text has it there too; else it goes on as an ordinary frame, and
/// its caller's model is told what is set from now on.
pub(super) fn join_regions(frames: &mut Vec<Frame>, apart: &[FrameId], moved: &[Moved], layouts: &Layouts, now: Stamp) {
    for depth in (1..frames.len()).rev() {
        let (below, above) = frames.split_at_mut(depth);
        let (Some(caller), Some(frame)) = (below[depth - 1].playbook_mut(), above[0].playbook_mut()) else { continue };
        if !apart.contains(&frame.core.id) {
            continue;
        }
        let stays = moved.get(depth - 1) == Some(&Moved::No);
        let layout = layouts.layout(caller.playbook);
        let region = layout.zip(caller.pointer).and_then(|(layout, line)| layout.region_at(line));
        let region = region.filter(|region| stays && region.playbook == frame.playbook);
        match region.and_then(|region| caller.join_inside(frame, *region)) {
            Some(()) => drop(frames.remove(depth)),
            None => caller.told.suspend(now),
        }
    }
}

/// Queued calls of playbooks and plans that are gone fail, and those that do not fit any more. A parameter that has
/// come gets its default value.
pub(super) fn fail_gone_calls(frames: &mut [Frame], program: &Program, now: Timestamp) -> Vec<(Place, Fact)> {
    let mut facts = Vec::new();
    for frame in frames {
        let place = frame.place(None);
        for queued in frame.core_mut().queue.iter_mut().filter(|queued| queued.is_waiting()) {
            let fault = match queued.callee {
                Callee::Gone(kind) => {
                    let kind = if kind == CallKind::Plan { "plan" } else { "playbook" };
                    Some(format!("the {kind} {} is not in the changed program", queued.name))
                }
                Callee::Playbook(id) if queued.guards.is_none() => {
                    fit_arguments(&program.playbook(id).parameters, &mut queued.arguments)
                        .map(|missing| format!("in the changed program {} needs ${missing}", queued.name))
                }
                Callee::Playbook(_) | Callee::Plan(_) | Callee::Tool(_) | Callee::Model => None,
            };
            facts.extend(fault.map(|error| (place, queued.finish(now, Err(error.into())))));
        }
    }
    facts
}

/// Every chat session is begun afresh: what it holds is about the old text.
pub(super) fn renew_chats(frames: &mut [Frame]) -> Vec<(Place, Fact)> {
    let mut facts = Vec::new();
    for frame in frames {
        let place = frame.place(None);
        let Some(frame) = frame.playbook_mut() else { continue };
        // They name lines by their old ids, and mistakes in replies that nobody knows of.
        frame.told.forget_lines();
        if !frame.chat.messages.is_empty() {
            frame.chat = Chat::default();
            facts.push((place, Fact::SessionRenewed { reason: "the program has changed" }));
        }
    }
    facts
}

/// Arguments for parameters that there are; the first one that is missing.
fn fit_arguments(parameters: &[Parameter], arguments: &mut Vec<(Arc<str>, Tracked)>) -> Option<Arc<str>> {
    arguments.retain(|(name, _)| parameters.iter().any(|parameter| parameter.name == *name));
    for parameter in parameters {
        if arguments.iter().any(|(name, _)| *name == parameter.name) {
            continue;
        }
        let Some(default) = &parameter.default else { return Some(parameter.name.clone()) };
        arguments.push((parameter.name.clone(), Tracked::new(default.clone(), Origin::CODE)));
    }
    None
}

/// The whole of what a location is in.
pub(super) fn heading(location: Location) -> Location {
    match location {
        Location::Line { playbook, .. } => Location::Line { playbook, step: None },
        Location::Plan { plan, .. } => Location::Plan { plan, node: None },
    }
}
