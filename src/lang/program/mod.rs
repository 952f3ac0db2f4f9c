//! The program: what the machine runs. Made by `lower` from the trees of all files; immutable afterwards, and plain
//! data: what follows from it is computed beside it, by `analysis`.

mod agent;
pub mod builtins;
pub mod flow_graph;
mod ids;
pub mod permits;
mod playbook;
mod step;
mod tool_list;
mod trigger_index;

use std::sync::Arc;

use crate::plan::{Plan, PlanId};
pub use crate::program::agent::{Agent, AgentKind, DeclaredVariable};
pub use crate::program::ids::{AgentId, PlaybookId, StepId, TriggerId};
use crate::program::permits::DELEGATE;
pub use crate::program::playbook::{
    ARGUMENTS, BegunBy, Body, FrameLimits, Mode, OnLimit, Playbook, SkillMode, SkillRun, SkillText, one_of,
};
pub use crate::program::step::{Argument, Arm, CallSite, Loop, Returned, Step, StepKind, Target};
pub use crate::program::tool_list::{ToolList, ToolNames, fits};
pub use crate::program::trigger_index::{
    CALL, CallName, Days, EVENT, Trigger, TriggerIndex, TriggerKind, USER_MESSAGE, WEEKDAYS,
};
pub use crate::signature::{Parameter, Signature, Type, TypeKind};
use crate::span::{Sources, Span};
use crate::value::Value;

/// A checked program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The texts it was made from.
    pub sources: Sources,
    /// All agents in file order.
    pub agents: Vec<Agent>,
    /// All playbooks in file order; implicit ones (the root of an agent without an entry) come last.
    pub playbooks: Vec<Playbook>,
    /// All plans: those that were given, then those that are imported.
    pub plans: Vec<Arc<Plan>>,
    /// The playbooks that plans call, by whatever agent they may be run.
    pub called_by_plans: Vec<PlaybookId>,
    /// What the front matter says, of all files together.
    pub settings: FrontMatter,
    /// Which tools may be called at all: what all files say together.
    pub tools: ToolList,
    /// What the session begins with.
    pub entry: Entry,
}

/// What a session begins with when no `--playbook` is given (spec `language.md`, "File").
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The playbooks of one agent that have an `At the beginning`, in program order. Never empty.
    Beginning(Vec<PlaybookId>),
    /// The only playbook there is.
    Single(PlaybookId),
    /// The implicit root playbook of the first agent: goal mode, waits for the user first.
    Root(PlaybookId),
    /// A plan that was given alone.
    Plan(PlanId),
    /// There is nothing to run.
    None,
}

/// What a session can begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryId {
    /// A playbook.
    Playbook(PlaybookId),
    /// A plan.
    Plan(PlanId),
}

/// What front matter can hold; the keys of `playhouse.toml` (spec `language.md`, "File").
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrontMatter {
    /// `model: openai:NAME`.
    pub model: Option<String>,
    /// Everything else that was written, key by key, for the host to read (`limits`, `tools`, `resume`, …).
    pub other: Vec<(String, Value, Span)>,
}

impl Program {
    /// The name of its first file: what people call it.
    pub fn name(&self) -> Arc<str> {
        self.sources.iter().next().map_or_else(|| "".into(), |(_, file)| file.name.clone())
    }

    /// `program.md:12`; none if the text is of another program.
    pub fn place_of(&self, span: Span) -> Option<String> {
        let file = self.sources.get(span.file)?;
        Some(format!("{}:{}", file.name, file.lines.line_column(span.start as usize).0))
    }

    /// `program.md:12, line 03 of Greet`.
    pub fn place_of_line(&self, playbook: &Playbook, step: &Step) -> Option<String> {
        Some(format!("{}, line {} of {}", self.place_of(step.span)?, step.label, playbook.name))
    }

    /// The agent with `id`.
    ///
    /// # Panics
    /// If `id` is of another program.
    pub fn agent(&self, id: AgentId) -> &Agent {
        &self.agents[id.0 as usize]
    }

    /// The playbook with `id`.
    ///
    /// # Panics
    /// If `id` is of another program.
    pub fn playbook(&self, id: PlaybookId) -> &Playbook {
        &self.playbooks[id.0 as usize]
    }

    /// The playbook that `name` means when an agent's text or model says it: its own by plain name, another
    /// agent's public one by `Agent.Playbook`.
    pub fn find_playbook(&self, agent: AgentId, name: &str) -> Option<PlaybookId> {
        if let Some(&id) = self.agent(agent).playbooks.iter().find(|&&id| &*self.playbook(id).name == name) {
            return Some(id);
        }
        if let Some(delegate) = self.delegate_of(agent).filter(|_| name == DELEGATE) {
            return Some(delegate);
        }
        let Some((owner, name)) = name.split_once('.') else {
            let skill = self.playbooks.iter().find(|playbook| playbook.skill.is_some() && *playbook.name == *name);
            return skill.map(|playbook| playbook.id);
        };
        let owner = self.agents.iter().find(|other| &*other.name == owner)?;
        let found = owner.playbooks.iter().find(|&&id| &*self.playbook(id).name == name)?;
        (owner.id == agent || self.playbook(*found).public).then_some(*found)
    }

    /// The skill that an agent is, if it is one.
    pub fn skill_of(&self, agent: AgentId) -> Option<&Playbook> {
        self.agent(agent).playbooks.iter().map(|id| self.playbook(*id)).find(|playbook| playbook.skill.is_some())
    }

    /// What the skill that an agent is hands a part of its task to, if its text speaks of such a thing.
    pub fn delegate_of(&self, agent: AgentId) -> Option<PlaybookId> {
        self.skill_of(agent)?.skill.as_ref()?.delegate
    }

    /// The name of the file that a playbook stands in.
    pub fn file_of(&self, playbook: &Playbook) -> Arc<str> {
        self.sources.get(playbook.span.file).map_or_else(|| "".into(), |file| file.name.clone())
    }

    /// How a playbook is called from those of an agent: by its name alone if it is one of them or a skill, else as
    /// `Agent.Playbook`. What [`Program::find_playbook`] finds again.
    pub fn name_for(&self, agent: AgentId, playbook: &Playbook) -> String {
        if playbook.agent == agent || playbook.skill.is_some() {
            return playbook.name.to_string();
        }
        self.full_name(playbook)
    }

    /// `Agent.Playbook`.
    pub fn full_name(&self, playbook: &Playbook) -> String {
        format!("{}.{}", self.agent(playbook.agent).name, playbook.name)
    }

    /// All playbooks that a name means, whoever says it: `Playbook` of any agent, or `Agent.Playbook`.
    pub fn playbooks_named<'p, 'n>(&'p self, name: &'n str) -> impl Iterator<Item = &'p Playbook> + use<'p, 'n> {
        let (agent, name) = name.split_once('.').map_or((None, name), |(agent, name)| (Some(agent), name));
        let is_of = move |playbook: &Playbook| agent.is_none_or(|agent| *self.agent(playbook.agent).name == *agent);
        self.playbooks.iter().filter(move |playbook| *playbook.name == *name && is_of(playbook))
    }

    /// The plan with `id`; none: it is one that a model wrote while a session ran.
    pub fn plan(&self, id: PlanId) -> Option<&Arc<Plan>> {
        self.plans.get(id.0 as usize)
    }

    /// The plan that is called `name`.
    pub fn find_plan(&self, name: &str) -> Option<PlanId> {
        let index = self.plans.iter().position(|plan| &*plan.name == name)?;
        Some(PlanId(u32::try_from(index).unwrap_or(u32::MAX)))
    }

    /// What a session can begin with under this name: a playbook of the agent the program begins with, one of another
    /// agent, `Agent.Playbook`, or a plan.
    pub fn find_entry(&self, name: &str) -> Option<EntryId> {
        let first = match &self.entry {
            Entry::Beginning(ids) => ids.first().map(|id| self.playbook(*id).agent),
            Entry::Single(id) | Entry::Root(id) => Some(self.playbook(*id).agent),
            Entry::Plan(_) | Entry::None => None,
        };
        let mut agents = first.into_iter().chain(self.agents.iter().map(|agent| agent.id));
        let found = agents.find_map(|agent| self.find_playbook(agent, name)).map(EntryId::Playbook);
        found.or_else(|| self.find_plan(name).map(EntryId::Plan))
    }

    /// What a session can begin with.
    pub fn entry_names(&self) -> impl Iterator<Item = &Arc<str>> {
        let playbooks = self.playbooks.iter().filter(|playbook| !playbook.implicit).map(|playbook| &playbook.name);
        playbooks.chain(self.plans.iter().map(|plan| &plan.name))
    }

    /// Why a playbook cannot be run by our machine, in words; none: it can.
    pub fn unsupported(&self, id: PlaybookId) -> Option<String> {
        let playbook = self.playbook(id);
        let agent = self.agent(playbook.agent);
        match agent.kind {
            AgentKind::Playbooks if playbook.meeting => {
                Some(format!("{} is a meeting; meetings are not supported yet", playbook.name))
            }
            AgentKind::Playbooks => None,
            AgentKind::Human => {
                Some(format!("{} stands for a person; agents of that kind are not supported yet", agent.name))
            }
            AgentKind::Remote => Some(format!("{} is a remote agent; those are not supported yet", agent.name)),
        }
    }

    /// The trigger with `id`.
    ///
    /// # Panics
    /// If `id` is of another program.
    pub fn trigger(&self, id: TriggerId) -> &Trigger {
        &self.playbook(id.playbook).triggers[id.index as usize]
    }

    /// Whether a trigger of an agent waits for calls of a playbook: before, after, or when one fails.
    ///
    /// # Panics
    /// If an id is of another program.
    pub fn is_call_watched(&self, agent: AgentId, callee: PlaybookId) -> bool {
        let calls = &self.agent(agent).triggers.calls;
        calls.iter().any(|id| self.trigger(*id).kind.waits_for_call(|call| call.playbook == Some(callee)))
    }

    /// The triggers of its skills: what somebody waits for who has nothing but them.
    pub fn triggers_of_skills(&self) -> TriggerIndex {
        let skills = self.playbooks.iter().filter(|playbook| playbook.skill.is_some());
        TriggerIndex::new(skills.flat_map(|playbook| &playbook.triggers))
    }

    /// `Playbook:T1`.
    pub fn trigger_name(&self, id: TriggerId) -> String {
        format!("{}:T{}", self.playbook(id.playbook).name, id.index + 1)
    }

    /// A playbook's name, with its agent before it if several playbooks have that name.
    ///
    /// # Panics
    /// If `id` is of another program.
    pub fn unique_name(&self, id: PlaybookId) -> String {
        let playbook = self.playbook(id);
        let n_same = self.playbooks.iter().filter(|other| other.name == playbook.name).count();
        if n_same > 1 { self.full_name(playbook) } else { playbook.name.to_string() }
    }

    /// A trigger's name, with that of its playbook as [`Program::unique_name`] has it.
    ///
    /// # Panics
    /// If `id` is of another program.
    pub fn unique_trigger_name(&self, id: TriggerId) -> String {
        format!("{}:T{}", self.unique_name(id.playbook), id.index + 1)
    }

    /// Whose list of tools keeps a playbook from calling the tool named `name`, in words; none: it may call it.
    pub fn refusal(&self, playbook: &Playbook, name: &str) -> Option<&'static str> {
        let agent = self.agent(playbook.agent);
        if !self.tools.permits(name) {
            Some("`tools` of the program")
        } else if !agent.tools.permits(name) {
            Some("`tools` of the agent")
        } else if !playbook.tools.permits(name) {
            Some("`tools` of the playbook")
        } else {
            None
        }
    }
}

/// The triggers that hold while an agent's playbooks run: its own, and those of skills; while a skill runs, none.
pub(crate) fn triggers_of(agent: &Agent, playbooks: &[Playbook]) -> TriggerIndex {
    let own = agent.playbooks.iter().filter_map(|id| playbooks.get(id.0 as usize));
    if own.clone().any(|playbook| playbook.skill.is_some()) {
        return TriggerIndex::default();
    }
    let skills = playbooks.iter().filter(|playbook| playbook.skill.is_some());
    TriggerIndex::new(own.chain(skills).flat_map(|playbook| &playbook.triggers))
}
