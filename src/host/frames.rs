//! The frames of a session, as somebody sees them who follows what its machine does.

use std::sync::Arc;

use playhouse_lang::plan::Plan;
use playhouse_lang::program::Program;
use playhouse_vm::protocol::settings::Settings;
use playhouse_vm::protocol::view::plan;
use playhouse_vm::protocol::{Effect, Fact, FrameId, Location, Place, Progress};

/// The frames of one session, the bottom one first.
#[derive(Clone, Debug)]
pub struct Frames {
    program: Arc<Program>,
    settings: Settings,
    /// Plans that a model has written since the session began.
    written: Vec<Arc<Plan>>,
    stack: Vec<Frame>,
}

/// A frame, by the names that it had when it was pushed: they outlive a change of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Its id.
    pub id: FrameId,
    /// The agent's name.
    pub agent: Arc<str>,
    /// The playbook's or plan's name.
    pub name: Arc<str>,
    /// The line it stands on; none: its heading.
    pub line: Option<Line>,
    /// How often it has come to a line, or to its heading.
    pub n_reached: u64,
}

/// A line of a playbook, or an instruction, alias or domain of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its line id (`02.01`); of a plan the label.
    pub label: Arc<str>,
    /// The author's words, on one line or several.
    pub words: Arc<str>,
    /// Whether the interpreter performs it as a rule.
    pub is_explicit: bool,
}

impl Frames {
    /// No frames yet.
    pub fn new(program: Arc<Program>, settings: Settings) -> Frames {
        Frames { program, settings, written: Vec::new(), stack: Vec::new() }
    }

    /// The frames, the bottom one first.
    pub fn stack(&self) -> &[Frame] {
        &self.stack
    }

    /// The program as it is now.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The frame with this id, and how many lie below it.
    pub fn find(&self, id: FrameId) -> Option<usize> {
        self.stack.iter().rposition(|frame| frame.id == id)
    }

    /// Takes what one `advance` did.
    pub fn moved(&mut self, progress: &Progress) {
        match progress {
            Progress::Reached(place) => self.reached(*place),
            Progress::Emit(Effect::Report(report)) => match (&report.fact, report.place) {
                (Fact::FramePushed { .. }, Some(place)) => self.reached(place),
                (Fact::FramePopped { .. } | Fact::FrameElided { .. }, Some(place)) => self.stack.truncate(place.depth),
                (Fact::Replanned { source, .. }, _) => self.written.push(source.clone()),
                (Fact::ProgramChanged(change), _) => self.program = change.new.clone(),
                _ => {}
            },
            Progress::Emit(_) | Progress::Blocked(_) | Progress::Finished(_) => {}
        }
    }

    /// A frame stands at a place: it is on top.
    fn reached(&mut self, place: Place) {
        let line = self.line(place.location);
        self.stack.truncate(place.depth + 1);
        if let Some(frame) = self.stack.last_mut().filter(|frame| frame.id == place.frame) {
            (frame.line, frame.n_reached) = (line, frame.n_reached + 1);
            return;
        }
        self.stack.truncate(place.depth);
        let agent = self.program.agent(place.agent).name.clone();
        self.stack.push(Frame { id: place.frame, agent, name: self.name(place.location), line, n_reached: 0 });
    }

    fn name(&self, location: Location) -> Arc<str> {
        match location {
            Location::Line { playbook, .. } => self.program.playbook(playbook).name.clone(),
            Location::Plan { plan: id, .. } => {
                plan(&self.program, &self.written, id).map_or_else(|| "".into(), |plan| plan.name.clone())
            }
        }
    }

    /// The line at a place; none at a heading.
    pub fn line(&self, location: Location) -> Option<Line> {
        match location {
            Location::Line { playbook, step } => {
                let step = self.program.playbook(playbook).step(step?);
                let (label, words) = (step.label.clone(), step.text.clone());
                Some(Line { label, words, is_explicit: self.settings.performs(step) })
            }
            Location::Plan { plan: id, node } => {
                let label = plan(&self.program, &self.written, id)?.node(node?).label.clone();
                let words = words_of(&self.program, location).unwrap_or_default().into();
                Some(Line { label, words, is_explicit: true })
            }
        }
    }
}

/// The words of a line as they are written; none at a heading. Of a plan that a model wrote, the program's sources hold
/// no text.
pub fn words_of(program: &Program, location: Location) -> Option<String> {
    Some(match location {
        Location::Line { playbook, step } => {
            program.playbooks.get(playbook.0 as usize)?.steps.get(step?.0 as usize)?.text.to_string()
        }
        Location::Plan { plan, node } => {
            let span = program.plan(plan)?.nodes.get(node?.0 as usize)?.span;
            program.sources.text(span).to_owned()
        }
    })
}
