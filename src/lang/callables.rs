//! What can be called from the lines of one agent, and what a name as written there means.

use std::collections::HashMap;

use crate::builtins::{self, Builtin};
use crate::program::{AgentId, PlaybookId, Signature};
use crate::words::plain_words;

/// A playbook as far as callers need to know it before its lines are read.
pub(crate) struct Callable<'a> {
    pub(crate) id: PlaybookId,
    pub(crate) agent: AgentId,
    pub(crate) agent_name: &'a str,
    pub(crate) name: &'a str,
    pub(crate) public: bool,
    pub(crate) n_parameters: usize,
}

/// What a name means.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Meaning<'a> {
    Playbook(PlaybookId),
    /// A playbook of another agent that is not `public: true`.
    Private(PlaybookId),
    Tool(&'a Signature),
    Builtin(Builtin),
    /// Defined by a Python fence, or a plan: recognised, not run yet.
    Later,
    Unknown,
}

/// The names of a whole program.
pub(crate) struct Names<'a> {
    qualified: HashMap<(&'a str, &'a str), usize>,
    plain: HashMap<(AgentId, Vec<String>), Option<usize>>,
    own: HashMap<(AgentId, &'a str), usize>,
    playbooks: Vec<Callable<'a>>,
    tools: HashMap<&'a str, &'a Signature>,
    later: &'a [String],
    /// The words of each agent's name.
    agents: Vec<Vec<String>>,
}

impl<'a> Names<'a> {
    /// The names of `agents` are those of the whole program; `later` are the names that can't be called yet.
    pub(crate) fn new(
        playbooks: Vec<Callable<'a>>,
        tools: &'a [Signature],
        later: &'a [String],
        agents: &'a [String],
    ) -> Self {
        let mut names = Names {
            qualified: HashMap::new(),
            plain: HashMap::new(),
            own: HashMap::new(),
            playbooks: Vec::new(),
            tools: tools.iter().map(|tool| (&*tool.name, tool)).collect(),
            later,
            agents: agents.iter().filter_map(|agent| plain_words(agent)).collect(),
        };
        for (index, playbook) in playbooks.iter().enumerate() {
            names.qualified.entry((playbook.agent_name, playbook.name)).or_insert(index);
            names.own.entry((playbook.agent, playbook.name)).or_insert(index);
            if let Some(words) = plain_words(playbook.name) {
                // Words that fit two names mean neither.
                names.plain.entry((playbook.agent, words)).and_modify(|slot| *slot = None).or_insert(Some(index));
            }
        }
        names.playbooks = playbooks;
        names
    }

    /// What `name` means in a line of `agent`.
    pub(crate) fn resolve(&self, agent: AgentId, name: &str) -> Meaning<'a> {
        if let Some(&index) = self.own.get(&(agent, name)) {
            return Meaning::Playbook(self.playbooks[index].id);
        }
        if let Some(&index) = name.split_once('.').and_then(|path| self.qualified.get(&path)) {
            let playbook = &self.playbooks[index];
            let reachable = playbook.agent == agent || playbook.public;
            return if reachable { Meaning::Playbook(playbook.id) } else { Meaning::Private(playbook.id) };
        }
        if let Some(tool) = self.tools.get(name) {
            return Meaning::Tool(tool);
        }
        if self.later.iter().any(|later| later == name) {
            return Meaning::Later;
        }
        builtins::find(name).map_or(Meaning::Unknown, Meaning::Builtin)
    }

    /// The playbook of `agent` whose name has exactly the words of `text` (without `call`, `run`, `do` in front
    /// and without articles), and how many parameters it has.
    pub(crate) fn in_plain_words(&self, agent: AgentId, text: &str) -> Option<&Callable<'a>> {
        let words = plain_words(text)?;
        let found = |words: Vec<String>| self.plain.get(&(agent, words)).copied().flatten();
        let index = found(words.clone()).or_else(|| {
            let (first, rest) = words.split_first()?;
            matches!(first.as_str(), "call" | "run" | "do").then(|| found(rest.to_vec())).flatten()
        })?;
        Some(&self.playbooks[index])
    }

    /// Whether the first of `words` are the name of an agent, whatever the case of their letters.
    pub(crate) fn begins_with_agent<'w>(&self, words: impl Iterator<Item = &'w str> + Clone) -> bool {
        let begins = |agent: &Vec<String>| {
            let same = agent.iter().zip(words.clone()).filter(|(part, word)| part.eq_ignore_ascii_case(word));
            same.count() == agent.len()
        };
        self.agents.iter().any(begins)
    }

    /// The playbook with `id`.
    pub(crate) fn playbook(&self, id: PlaybookId) -> &Callable<'a> {
        // Made in the order of ids.
        &self.playbooks[id.0 as usize]
    }

    /// What a plugin or server of this name has, in order of the alphabet, the first dozen.
    pub(crate) fn commands_of(&self, plugin: &str) -> Vec<String> {
        let names = self.tools.keys().filter_map(|name| name.split_once('.'));
        let mut commands: Vec<&str> = names.filter(|(of, _)| *of == plugin).map(|(_, command)| command).collect();
        commands.sort_unstable();
        let n_more = commands.len().saturating_sub(12);
        let shown = commands.iter().take(12).map(|command| format!("`{command}`"));
        shown.chain((n_more > 0).then(|| format!("{n_more} more"))).collect()
    }

    /// The names that can be called from `agent`, for suggestions.
    pub(crate) fn candidates(&self, agent: AgentId) -> impl Iterator<Item = String> {
        let playbooks = self.playbooks.iter().filter_map(move |playbook| {
            if playbook.agent == agent {
                Some(playbook.name.to_owned())
            } else {
                playbook.public.then(|| format!("{}.{}", playbook.agent_name, playbook.name))
            }
        });
        playbooks.chain(self.tools.keys().map(|name| (*name).to_owned()))
    }
}

/// The candidate that `name` was probably meant to be.
pub(crate) fn nearest(name: &str, candidates: impl Iterator<Item = String>) -> Option<String> {
    let wanted = name.to_lowercase();
    let distance = |candidate: &String| {
        let allowed = name.len().max(candidate.len()) / 3;
        (candidate.len().abs_diff(name.len()) <= allowed)
            .then(|| strsim::damerau_levenshtein(&wanted, &candidate.to_lowercase()))
            .filter(|distance| *distance <= allowed)
    };
    let near = candidates.filter_map(|candidate| Some((distance(&candidate)?, candidate)));
    near.min().map(|(_, candidate)| candidate)
}
