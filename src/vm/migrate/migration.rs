//! From the ids of an old program to those of a new one, for everything that a machine keeps or tells.

use std::sync::Arc;

use playhouse_lang::analysis::diff::changes::changed_files;
use playhouse_lang::analysis::diff::matching::Matching;
use playhouse_lang::program::{AgentId, EntryId, PlaybookId, Program};

use crate::protocol::fault::Fault;
use crate::protocol::{
    Candidate, Effect, Evaluation, Fact, FrameOrigin, LeftLine, Location, Outcome, Place, PlanFault, ProgramChange,
    Progress, Question, Report, StartCall, StartTurn, TurnData,
};
use crate::variables::scope::Scope;

/// From an old program to a new one: what the old one's parts are in the new one, and what was left.
pub struct Migration {
    pub(super) old: Arc<Program>,
    pub(super) new: Arc<Program>,
    pub(super) left: Vec<LeftLine>,
    pub(super) matching: Matching,
}

impl Migration {
    /// Compares two programs.
    pub fn new(old: Arc<Program>, new: Arc<Program>) -> Migration {
        let matching = Matching::new(&old, &new);
        Migration { old, new, left: Vec::new(), matching }
    }

    /// What is told of it.
    pub(super) fn change(&self) -> ProgramChange {
        let files = changed_files(&self.old, &self.new).into_iter().map(|(name, _)| name).collect();
        ProgramChange { old: self.old.clone(), new: self.new.clone(), files, left: self.left.clone() }
    }

    /// A place of the old program in the new one; none: its playbook or plan is gone. A line that is gone is told as
    /// its playbook's heading.
    pub fn location(&self, location: Location) -> Option<Location> {
        match location {
            Location::Line { playbook, step } => {
                let step = step.and_then(|step| self.matching.line(playbook, step));
                Some(Location::Line { playbook: self.matching.playbook(playbook)?, step })
            }
            Location::Plan { plan, node } => {
                let node = node.filter(|_| self.matching.is_same_plan(plan));
                Some(Location::Plan { plan: self.matching.plan(plan)?, node })
            }
        }
    }

    /// The same for a whole place.
    pub fn place(&self, place: Place) -> Option<Place> {
        let (agent, location) = (self.matching.agent(place.agent)?, self.location(place.location)?);
        Some(Place { agent, location, ..place })
    }

    /// A fact of the old program's times, told with the ids of the new one; none: what it is about is gone.
    pub fn fact(&self, fact: &Fact) -> Option<Fact> {
        Some(match fact {
            Fact::TriggerEvaluated(evaluation) => {
                let trigger = self.matching.trigger(evaluation.trigger)?;
                Fact::TriggerEvaluated(Box::new(Evaluation { trigger, ..Evaluation::clone(evaluation) }))
            }
            Fact::TriggerMatched { trigger, updates } => {
                Fact::TriggerMatched { trigger: self.matching.trigger(*trigger)?, updates: updates.clone() }
            }
            Fact::FramePushed { origin } => Fact::FramePushed { origin: self.told_origin(*origin) },
            Fact::FrameElided { playbook } => Fact::FrameElided { playbook: self.matching.playbook(*playbook)? },
            Fact::PlanFault(fault) => {
                let plan = self.matching.plan(fault.plan).filter(|_| self.matching.is_same_plan(fault.plan))?;
                Fact::PlanFault(Box::new(PlanFault { plan, ..PlanFault::clone(fault) }))
            }
            Fact::Replanned { plan, source, attempt } => {
                Fact::Replanned { plan: self.matching.plan(*plan)?, source: source.clone(), attempt: *attempt }
            }
            Fact::TurnStarted { .. }
            | Fact::TurnFinished { .. }
            | Fact::Said { .. }
            | Fact::VariableSet { .. }
            | Fact::VariableRemoved { .. }
            | Fact::CallQueued { .. }
            | Fact::CallStarted { .. }
            | Fact::CallFinished { .. }
            | Fact::StreamCancelled { .. }
            | Fact::FramePopped { .. }
            | Fact::Repair { .. }
            | Fact::Degraded { .. }
            | Fact::Retry { .. }
            | Fact::Ignored { .. }
            | Fact::SessionRenewed { .. }
            | Fact::ProgramChanged(_)
            | Fact::LinesSkipped { .. }
            | Fact::ApprovalAsked { .. }
            | Fact::ApprovalGiven { .. }
            | Fact::UserMessage { .. }
            | Fact::SignalArrived { .. }
            | Fact::Waiting { .. } => fact.clone(),
        })
    }

    /// The same for all that a machine tells.
    pub fn progress(&self, progress: &Progress) -> Option<Progress> {
        Some(match progress {
            Progress::Emit(effect) => Progress::Emit(self.effect(effect)?),
            Progress::Reached(place) => Progress::Reached(self.place(*place)?),
            Progress::Finished(Outcome::Failed(fault)) => {
                let place = fault.place.and_then(|place| self.place(place));
                Progress::Finished(Outcome::Failed(Fault { place, ..fault.clone() }))
            }
            Progress::Blocked(_) | Progress::Finished(Outcome::Done { .. }) => progress.clone(),
        })
    }

    fn effect(&self, effect: &Effect) -> Option<Effect> {
        Some(match effect {
            Effect::Report(report) => {
                let place = report.place.and_then(|place| self.place(place));
                Effect::Report(Box::new(Report { place, fact: self.fact(&report.fact)? }))
            }
            Effect::Say { utterance, text, last, place } => {
                let place = self.place_or_any(*place)?;
                Effect::Say { utterance: *utterance, text: text.clone(), last: *last, place }
            }
            Effect::StartCall(start) => {
                let place = self.place_or_any(start.place)?;
                Effect::StartCall(Box::new(StartCall { place, ..StartCall::clone(start) }))
            }
            Effect::StartTurn(start) => {
                let (place, data) = (self.place_or_any(start.place)?, self.turn_data(&start.data)?);
                Effect::StartTurn(Box::new(StartTurn { place, data, ..StartTurn::clone(start) }))
            }
            Effect::Classify(question) => Effect::Classify(Box::new(self.question(question)?)),
            Effect::CloseReply { .. } | Effect::CancelCall { .. } | Effect::StartTimer { .. } => effect.clone(),
        })
    }

    fn turn_data(&self, data: &TurnData) -> Option<TurnData> {
        let playbook = self.matching.playbook(data.playbook)?;
        let pointer = data.pointer.and_then(|step| self.matching.line(data.playbook, step));
        let inside = data
            .inside
            .and_then(|(caller, step)| Some((self.matching.playbook(caller)?, self.matching.line(caller, step)?)));
        Some(TurnData { playbook, pointer, inside, ..data.clone() })
    }

    fn question(&self, question: &Question) -> Option<Question> {
        let candidate = |candidate: &Candidate| {
            Some(Candidate { trigger: self.matching.trigger(candidate.trigger)?, ..candidate.clone() })
        };
        Some(Question {
            place: self.place_or_any(question.place)?,
            candidates: question.candidates.iter().filter_map(candidate).collect(),
            active: question.active.iter().filter_map(candidate).collect(),
            ..question.clone()
        })
    }

    /// Why a frame was pushed; of one that a trigger called which is gone only that it began.
    fn told_origin(&self, origin: FrameOrigin) -> FrameOrigin {
        let mapped = match origin {
            FrameOrigin::Begin => None,
            FrameOrigin::Call { call, from } => self.location(from).map(|from| FrameOrigin::Call { call, from }),
            FrameOrigin::Trigger { trigger, from } => self
                .matching
                .trigger(trigger)
                .zip(self.location(from))
                .map(|(trigger, from)| FrameOrigin::Trigger { trigger, from }),
        };
        mapped.unwrap_or(FrameOrigin::Begin)
    }

    /// A place for what must be told, whatever is gone; none: the new program is empty.
    fn place_or_any(&self, place: Place) -> Option<Place> {
        let playbook = self.new.playbooks.first().filter(|_| !self.new.agents.is_empty());
        let any = playbook.map(|playbook| Place {
            agent: playbook.agent,
            location: Location::Line { playbook: playbook.id, step: None },
            ..place
        });
        self.place(place).or(any)
    }

    /// What the session begins with in the new program; none: it is gone.
    pub(super) fn entry(&self, entry: EntryId) -> Option<EntryId> {
        match entry {
            EntryId::Playbook(id) => self.matching.playbook(id).map(EntryId::Playbook),
            EntryId::Plan(id) => self.matching.plan(id).map(EntryId::Plan),
        }
    }

    /// Every agent's other variables; those of agents that are gone go with them.
    pub(super) fn globals(&self, old: Vec<Scope>) -> Vec<Scope> {
        let mut globals = vec![Scope::default(); self.new.agents.len()];
        for (index, mut scope) in (0..).zip(old) {
            if let Some(kept) = self.agent(AgentId(index)).and_then(|agent| globals.get_mut(agent.0 as usize)) {
                self.scope(&mut scope);
                *kept = scope;
            }
        }
        globals
    }

    /// Whether the old program has declared a variable of one of the new one's agents.
    pub(super) fn was_declared(&self, agent: AgentId, name: &str) -> bool {
        let before = self.old.agents.iter().find(|before| self.agent(before.id) == Some(agent));
        before.is_some_and(|before| before.variables.iter().any(|declared| *declared.name == *name))
    }

    /// An agent's or a playbook's name in the old program, for messages.
    pub(super) fn old_playbook_name(&self, id: PlaybookId) -> Arc<str> {
        self.old.playbooks.get(id.0 as usize).map_or_else(|| "".into(), |playbook| playbook.name.clone())
    }

    pub(super) fn agent(&self, old: AgentId) -> Option<AgentId> {
        self.matching.agent(old)
    }
}
