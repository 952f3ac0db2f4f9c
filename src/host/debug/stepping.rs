//! Is this where to stop? Pure: a machine, what it has just done, and what a person wants.

use std::collections::HashMap;
use std::sync::Arc;

use playhouse_vm::Machine;
use playhouse_vm::protocol::{Effect, Fact, FrameId, Location, Outcome, Place, Progress, Report};
use playhouse_vm::variables::fault::EvalFault;

use crate::debug::breakpoint::{Breakpoint, BreakpointId, DataScope, Exceptions, Target};

/// How far a program goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// To the next thing that a breakpoint stands at.
    #[default]
    Run,
    /// To the next line, wherever it is.
    Into,
    /// To the next line of this frame, or of one below it.
    Over {
        /// The frame.
        frame: FrameId,
        /// How many frames lie below it.
        depth: usize,
    },
    /// To the next line of a frame below.
    Out {
        /// How many frames lie below the one that is left.
        depth: usize,
    },
}

/// Why a program stands still.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// It is about to begin.
    Entry,
    /// A step is done.
    Step,
    /// Somebody wanted a pause.
    Pause,
    /// A line with a breakpoint.
    Line(BreakpointId),
    /// A playbook or plan with a breakpoint begins.
    Function(BreakpointId),
    /// A watched variable has another value.
    Data(BreakpointId, Arc<str>),
    /// A fault, or a call that failed: what happened, as a kind and in words.
    Fault(String, String),
    /// A trigger has matched: its name.
    Matched(String),
    /// A trigger was evaluated: its name, and what came of it.
    Evaluated(String, &'static str),
    /// A frame is begun anew.
    Restart,
    /// The past has been changed: this is another session from here on.
    Forked,
    /// The session ends here, or has ended here when it ran.
    Over,
    /// Going back has come to the beginning of the session.
    Beginning,
    /// Going on has come to where the past ends: from here on things happen that have not happened yet.
    Present,
}

/// What was seen in one thing that a machine did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Why to stop; empty: go on.
    pub reasons: Vec<Reason>,
    /// Messages of log points.
    pub logs: Vec<Log>,
}

/// The message of a log point, or a condition that could not be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// The text.
    pub text: String,
    /// Where.
    pub place: Place,
}

/// What stops a program: breakpoints, and how far the present step goes.
#[derive(Clone, Debug, Default)]
pub struct Debugger {
    breakpoints: Vec<Breakpoint>,
    exceptions: Exceptions,
    mode: Mode,
    /// The frame that is stepped over or out of has ended: a line beside it will do.
    has_left: bool,
    /// How often each breakpoint with a hit count was come to.
    hits: HashMap<BreakpointId, u64>,
    /// Frames whose first line is waited for, and the breakpoints on their playbooks.
    entered: Vec<(FrameId, Vec<BreakpointId>)>,
    /// Names that the debugger itself has set: that is no reason to stop.
    own_edits: Vec<Arc<str>>,
    /// The first line is the entry, not a step.
    at_entry: bool,
    /// The end has been seen: it is told again and again.
    has_ended: bool,
}

impl Debugger {
    /// One that stops nowhere.
    pub fn new() -> Debugger {
        Debugger::default()
    }

    /// Sets the breakpoints; those that were there keep their counts.
    pub fn set_breakpoints(&mut self, breakpoints: Vec<Breakpoint>) {
        self.hits.retain(|id, _| breakpoints.iter().any(|breakpoint| breakpoint.id == *id));
        self.breakpoints = breakpoints;
    }

    /// Sets what to stop at beside breakpoints.
    pub fn set_exceptions(&mut self, exceptions: Exceptions) {
        self.exceptions = exceptions;
    }

    /// Goes on, as far as a mode says.
    pub fn go(&mut self, mode: Mode) {
        self.mode = mode;
        self.has_left = false;
        self.at_entry = false;
    }

    /// Goes on to the first line, which is the entry.
    pub fn go_to_entry(&mut self) {
        self.go(Mode::Into);
        self.at_entry = true;
    }

    /// Whether it stops at the first line.
    pub fn is_at_entry(&self) -> bool {
        self.at_entry
    }

    /// The debugger sets a variable.
    pub fn will_edit(&mut self, name: &Arc<str>) {
        self.own_edits.push(name.clone());
    }

    /// One that looks at the past: hit counts do not count there, and log points have been written.
    #[must_use]
    pub fn for_past(&self) -> Debugger {
        let mut past = self.clone();
        past.breakpoints.retain(|breakpoint| breakpoint.log.is_none());
        for breakpoint in &mut past.breakpoints {
            breakpoint.hits = None;
        }
        past.entered.clear();
        past.own_edits.clear();
        past
    }

    /// Whether to stop here: `machine` has just done `progress`.
    pub fn observe(&mut self, machine: &Machine, progress: &Progress) -> Seen {
        let mut seen = Seen::default();
        match progress {
            Progress::Reached(place) => self.observe_line(machine, *place, &mut seen),
            Progress::Emit(Effect::Report(report)) => self.observe_fact(machine, report, &mut seen),
            Progress::Finished(Outcome::Failed(fault)) if self.exceptions.faults && !self.has_ended => {
                self.has_ended = true;
                seen.reasons.push(Reason::Fault(fault.kind.to_string(), fault.message.to_string()));
            }
            Progress::Finished(_) if self.exceptions.end && !self.has_ended => {
                self.has_ended = true;
                seen.reasons.push(Reason::Over);
            }
            Progress::Emit(_) | Progress::Blocked(_) | Progress::Finished(_) => {}
        }
        seen
    }

    fn observe_line(&mut self, machine: &Machine, place: Place, seen: &mut Seen) {
        // What was set by hand has been told of before the next line, if it was anything new.
        self.own_edits.clear();
        for id in self.ids(|target| *target == Target::Line(place.location)) {
            if self.counts(id, machine, place, seen) {
                seen.reasons.push(Reason::Line(id));
            }
        }
        if let Some(index) = self.entered.iter().position(|(frame, _)| *frame == place.frame) {
            for id in self.entered.remove(index).1 {
                if self.counts(id, machine, place, seen) {
                    seen.reasons.push(Reason::Function(id));
                }
            }
        }
        let is_done = match self.mode {
            Mode::Run => false,
            Mode::Into => true,
            Mode::Over { frame, depth } => {
                place.frame == frame || place.depth < depth || (self.has_left && place.depth <= depth)
            }
            Mode::Out { depth } => place.depth < depth || (self.has_left && place.depth <= depth),
        };
        if is_done {
            seen.reasons.push(if self.at_entry { Reason::Entry } else { Reason::Step });
        }
    }

    fn observe_fact(&mut self, machine: &Machine, report: &Report, seen: &mut Seen) {
        let Report { place, fact } = report;
        match (fact, place) {
            (Fact::FramePushed { .. }, Some(place)) => self.observe_push(machine, *place),
            (Fact::FramePopped { .. }, Some(place)) => {
                self.entered.retain(|(frame, _)| *frame != place.frame);
                if let Mode::Over { depth, .. } | Mode::Out { depth } = self.mode {
                    self.has_left |= place.depth == depth;
                }
            }
            // The callee has taken the frame's place: what is stepped over is the call, until it returns.
            (Fact::FrameElided { .. }, Some(place)) => {
                if let Mode::Over { frame, depth } = self.mode
                    && (place.frame == frame || place.depth == depth)
                {
                    self.mode = Mode::Out { depth };
                    self.has_left = false;
                }
            }
            (Fact::VariableSet { name, local, .. }, _) => self.observe_set(machine, name, *local, *place, seen),
            (Fact::PlanFault(fault), _) if self.exceptions.faults => {
                seen.reasons.push(Reason::Fault(fault.kind.to_string(), fault.message.to_string()));
            }
            (Fact::CallFinished { name, result: Err(error), .. }, _) if self.exceptions.failed_calls => {
                seen.reasons.push(Reason::Fault("call".to_owned(), format!("{name} failed: {error}")));
            }
            (Fact::TriggerMatched { trigger, .. }, _) if self.exceptions.matches => {
                seen.reasons.push(Reason::Matched(machine.program().trigger_name(*trigger)));
            }
            (Fact::TriggerEvaluated(evaluation), _) if self.exceptions.evaluations => {
                let ruling = crate::events::wire::ruling_name(&evaluation.ruling).0;
                seen.reasons.push(Reason::Evaluated(machine.program().trigger_name(evaluation.trigger), ruling));
            }
            _ => {}
        }
    }

    /// Breakpoints on the playbook of a new frame count at its first line.
    fn observe_push(&mut self, machine: &Machine, place: Place) {
        let agent = machine.program().agent(place.agent).name.clone();
        let heading = match place.location {
            Location::Line { playbook, .. } => Location::Line { playbook, step: None },
            Location::Plan { plan, .. } => Location::Plan { plan, node: None },
        };
        let name = machine.describe(heading);
        let full = format!("{agent}.{name}");
        let ids =
            self.ids(|target| matches!(target, Target::Function(wanted) if [&*name, &*full].contains(&&**wanted)));
        if !ids.is_empty() {
            self.entered.push((place.frame, ids));
        }
    }

    fn observe_set(&mut self, machine: &Machine, name: &Arc<str>, local: bool, place: Option<Place>, seen: &mut Seen) {
        if let Some(index) = self.own_edits.iter().position(|edited| edited == name) {
            self.own_edits.remove(index);
            return;
        }
        let Some(place) = place else { return };
        let agent = &machine.program().agent(place.agent).name;
        let is_watched = |scope: &DataScope| match scope {
            DataScope::Frame(frame) => machine.defining_frame(place.frame, name) == Some(*frame),
            DataScope::Others(of) => !local && of == agent && machine.defining_frame(place.frame, name).is_none(),
            DataScope::Anywhere => true,
        };
        let is_it = |target: &Target| matches!(target, Target::Data { name: wanted, scope } if wanted == name && is_watched(scope));
        for id in self.ids(is_it) {
            if self.counts(id, machine, place, seen) {
                seen.reasons.push(Reason::Data(id, name.clone()));
            }
        }
    }

    /// The breakpoints that stand at such a thing.
    fn ids(&self, is_it: impl Fn(&Target) -> bool) -> Vec<BreakpointId> {
        let found = self.breakpoints.iter().filter(|breakpoint| is_it(&breakpoint.target));
        found.map(|breakpoint| breakpoint.id).collect()
    }

    /// Whether a breakpoint that was come to stops the program: its condition, its count, and whether it only writes.
    fn counts(&mut self, id: BreakpointId, machine: &Machine, place: Place, seen: &mut Seen) -> bool {
        let Some(breakpoint) = self.breakpoints.iter().find(|breakpoint| breakpoint.id == id) else { return false };
        if let Some(condition) = &breakpoint.condition {
            match machine.holds(Some(place.frame), condition) {
                Ok(true) => {}
                // What is not set yet is simply not so; a condition that says nothing must not pass in silence.
                Ok(false) | Err(EvalFault::Unset(_)) => return false,
                Err(fault) => {
                    let text = format!("the condition of a breakpoint cannot be evaluated: {fault}");
                    seen.logs.push(Log { text, place });
                    return true;
                }
            }
        }
        if let Some(hits) = breakpoint.hits {
            let n = self.hits.entry(id).or_default();
            *n += 1;
            if !hits.holds(*n) {
                return false;
            }
        }
        if let Some(message) = &breakpoint.log {
            seen.logs.push(Log { text: message.render(machine, Some(place.frame)), place });
            return false;
        }
        true
    }
}
