//! What can be called from the lines of one agent, and what a name as written there means.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::diagnostic::spelling::{Spelling, Vocabulary, hash, nearest, rests};
use crate::english::words::{capitalised, plain_text, plain_words};
use crate::expr::{identifier, scan_name};
use crate::program::builtins::Builtin;
use crate::program::{AgentId, Playbook, PlaybookId, Signature, builtins};

/// How the playbook of a skill of this name is called: `PdfForms` for `pdf-forms`.
pub(crate) fn skill_identifier(name: &str) -> String {
    let name = capitalised(&identifier(name));
    if name.is_empty() { "Skill".to_owned() } else { name }
}

/// A playbook as far as callers need to know it before its lines are read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Callable {
    pub(crate) id: PlaybookId,
    pub(crate) agent: AgentId,
    pub(crate) agent_name: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) public: bool,
    pub(crate) n_parameters: usize,
    pub(crate) is_skill: bool,
}

impl Callable {
    pub(crate) fn new(playbook: &Playbook, agent_name: &Arc<str>) -> Self {
        Callable {
            id: playbook.id,
            agent: playbook.agent,
            agent_name: agent_name.clone(),
            name: playbook.name.clone(),
            public: playbook.public,
            n_parameters: playbook.parameters.len(),
            is_skill: playbook.skill.is_some(),
        }
    }

    /// The keys under which it is asked about.
    pub(crate) fn keys(&self) -> Vec<u64> {
        let words = plain_text(&self.name).unwrap_or_default();
        let names = [self.name.to_string(), format!("{}.{}", self.agent_name, self.name)];
        let names = names.iter().map(|name| hash(NAME, name));
        names.chain([hash(WORDS, &words)]).chain(words.split(' ').flat_map(rests)).collect()
    }
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
    plain: HashMap<(AgentId, String), Option<usize>>,
    own: HashMap<(AgentId, &'a str), usize>,
    /// Skills, which all agents call by their names alone.
    skills: HashMap<&'a str, usize>,
    playbooks: &'a [Callable],
    tools: HashMap<&'a str, &'a Signature>,
    /// By plugin or server, in order of the alphabet.
    commands: HashMap<&'a str, BTreeSet<&'a str>>,
    later: HashSet<&'a str>,
    /// The words of each agent's name.
    agents: HashSet<Vec<String>>,
    /// What can be meant: the names of each agent's playbooks, and what all can call, with the agent it is of.
    own_names: HashMap<AgentId, Vec<&'a str>>,
    shared_names: Vec<(String, Option<AgentId>)>,
    spelling: Spelling,
    /// The words of the names of playbooks, and the names of all variables.
    title_words: OnceCell<Vocabulary>,
    variables: HashSet<String>,
    /// What may be answered otherwise than before.
    changed: HashSet<u64>,
    asked: RefCell<Vec<u64>>,
    /// What comparing names had cost when `asked` was taken last.
    work: Cell<usize>,
}

/// What a reading asked that other texts than its own, and readings before it, have a part in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// The names and words, by their hashes, sorted.
    keys: Vec<u64>,
    /// Whether names were compared, which is done only so often.
    has_compared: bool,
}

/// What names leave for others, of programs with the same agents and tools.
#[derive(Clone, Debug, Default)]
pub(crate) struct UsedNames {
    title_words: OnceCell<Vocabulary>,
    variables: HashSet<String>,
}

/// What is asked about. A question's key is the hash of this and of the name or words: two that have the same key cost a
/// reading, and nothing else.
const NAME: &str = "name ";
const WORDS: &str = "words ";
const VARIABLE: &str = "variable ";

impl<'a> Names<'a> {
    /// The names of `agents` are those of the whole program; `later` are the names that can't be called yet.
    pub(crate) fn new(
        playbooks: &'a [Callable],
        tools: &'a [Signature],
        later: &'a [String],
        agents: impl Iterator<Item = &'a str>,
    ) -> Self {
        let mut names = Names {
            qualified: HashMap::new(),
            plain: HashMap::new(),
            own: HashMap::new(),
            skills: HashMap::new(),
            playbooks,
            tools: tools.iter().map(|tool| (&*tool.name, tool)).collect(),
            commands: HashMap::new(),
            later: later.iter().map(String::as_str).collect(),
            agents: agents.filter_map(plain_words).collect(),
            own_names: HashMap::new(),
            shared_names: Vec::new(),
            spelling: Spelling::default(),
            title_words: OnceCell::new(),
            variables: HashSet::new(),
            changed: HashSet::new(),
            asked: RefCell::default(),
            work: Cell::default(),
        };
        for (index, playbook) in playbooks.iter().enumerate() {
            names.qualified.entry((&playbook.agent_name, &playbook.name)).or_insert(index);
            names.own.entry((playbook.agent, &playbook.name)).or_insert(index);
            if let Some(words) = plain_text(&playbook.name) {
                // Words that fit two names mean neither.
                names.plain.entry((playbook.agent, words)).and_modify(|slot| *slot = None).or_insert(Some(index));
            }
            names.own_names.entry(playbook.agent).or_default().push(&playbook.name);
            if playbook.is_skill {
                names.skills.entry(&playbook.name).or_insert(index);
                names.shared_names.push((playbook.name.to_string(), Some(playbook.agent)));
            } else if playbook.public {
                names.shared_names.push((format!("{}.{}", playbook.agent_name, playbook.name), Some(playbook.agent)));
            }
        }
        for tool in tools {
            names.shared_names.push((tool.name.to_string(), None));
            if let Some((plugin, command)) = tool.name.split_once('.') {
                names.commands.entry(plugin).or_default().insert(command);
            }
        }
        names
    }

    /// With the variables that the texts of the program name.
    pub(crate) fn with_variables(mut self, texts: impl Iterator<Item = &'a str>) -> Self {
        let names = texts.flat_map(|text| text.split('$').skip(1)).map(|rest| &rest[..scan_name(rest)]);
        self.variables = names.filter(|name| !name.is_empty()).map(str::to_owned).collect();
        self
    }

    /// With what others left; `changed` are the keys of the playbooks that are other than theirs.
    pub(crate) fn with_used(mut self, used: UsedNames, changed: HashSet<u64>) -> Self {
        // The words of names are no others, either.
        if changed.is_empty() {
            self.title_words = used.title_words;
        }
        let variables = self.variables.symmetric_difference(&used.variables);
        self.changed = changed.into_iter().chain(variables.map(|name| hash(VARIABLE, name))).collect();
        self
    }

    /// Whether the program has a variable of this name.
    pub(crate) fn is_variable(&self, name: &str) -> bool {
        self.ask(hash(VARIABLE, name));
        self.variables.contains(name)
    }

    fn ask(&self, key: u64) {
        self.asked.borrow_mut().push(key);
    }

    /// What was asked since this was taken last.
    pub(crate) fn take_asked(&self) -> Asked {
        let work = self.spelling.work();
        let mut keys = self.asked.take();
        keys.sort_unstable();
        keys.dedup();
        Asked { keys, has_compared: self.work.replace(work) != work }
    }

    /// Whether the same would be answered as before.
    pub(crate) fn would_answer(&self, asked: &Asked) -> bool {
        !asked.has_compared && !self.changed.iter().any(|key| asked.keys.binary_search(key).is_ok())
    }

    /// What can be used again for names of the same agents and tools.
    pub(crate) fn into_used(self) -> UsedNames {
        UsedNames { title_words: self.title_words, variables: self.variables }
    }

    /// Whether a word, in small letters, is one of the name of a playbook.
    pub(crate) fn has_title_word(&self, word: &str) -> bool {
        rests(word).take(1).for_each(|key| self.ask(key));
        self.title_words().has(word)
    }

    /// The words of the names of playbooks that are nearly this one.
    pub(crate) fn title_words_like<'n>(&'n self, word: &'n str) -> impl Iterator<Item = &'n str> {
        rests(word).for_each(|key| self.ask(key));
        self.title_words().like(word)
    }

    fn title_words(&self) -> &Vocabulary {
        let words = || self.playbooks.iter().filter_map(|playbook| plain_words(&playbook.name)).flatten();
        self.title_words.get_or_init(|| Vocabulary::new(words()))
    }

    /// What `name` means in a line of `agent`.
    pub(crate) fn resolve(&self, agent: AgentId, name: &str) -> Meaning<'a> {
        self.ask(hash(NAME, name));
        if let Some(&index) = self.own.get(&(agent, name)).or_else(|| self.skills.get(name)) {
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
        if self.later.contains(name) {
            return Meaning::Later;
        }
        builtins::find(name).map_or(Meaning::Unknown, Meaning::Builtin)
    }

    /// The playbook of `agent` whose name has exactly the words of `text` (without `call`, `run`, `do` in front
    /// and without articles), and how many parameters it has.
    pub(crate) fn in_plain_words(&self, agent: AgentId, text: &str) -> Option<&'a Callable> {
        let mut wanted = (agent, plain_text(text)?);
        let find = |wanted: &(AgentId, String)| {
            self.ask(hash(WORDS, &wanted.1));
            self.plain.get(wanted)
        };
        let mut found = find(&wanted);
        let verb = wanted.1.find(' ').filter(|at| matches!(&wanted.1[..*at], "call" | "run" | "do"));
        if let Some(at) = verb.filter(|_| found.is_none()) {
            wanted.1.drain(..=at);
            found = find(&wanted);
        }
        let index = found.copied().flatten()?;
        Some(&self.playbooks[index])
    }

    /// The skill of this name, as it is written: `pdf-forms`.
    pub(crate) fn skill(&self, name: &str) -> Option<&'a Callable> {
        let identifier = skill_identifier(name);
        self.ask(hash(NAME, &identifier));
        self.skills.get(&*identifier).map(|index| &self.playbooks[*index])
    }

    /// The name of the skill that is probably meant.
    pub(crate) fn nearest_skill(&self, name: &str) -> Option<&'a str> {
        nearest(&skill_identifier(name), self.skills.keys().copied())
    }

    /// Whether there is any skill.
    pub(crate) fn has_skills(&self) -> bool {
        !self.skills.is_empty()
    }

    /// Whether `name` means something that can be called.
    pub(crate) fn is_callable(&self, agent: AgentId, name: &str) -> bool {
        !name.is_empty() && !matches!(self.resolve(agent, name), Meaning::Unknown)
    }

    /// Whether a tool that can be called by `name` has a parameter of this name.
    pub(crate) fn has_parameter(&self, agent: AgentId, name: &str, parameter: &str) -> bool {
        let Meaning::Tool(tool) = self.resolve(agent, name) else { return false };
        tool.parameters.iter().any(|known| &*known.name == parameter)
    }

    /// Whether the first of `words`, in small letters, are the name of an agent.
    pub(crate) fn begins_with_agent(&self, words: &[String]) -> bool {
        (1..=words.len()).any(|n| self.agents.contains(&words[..n]))
    }

    /// The playbook with `id`.
    pub(crate) fn playbook(&self, id: PlaybookId) -> &'a Callable {
        // Made in the order of ids.
        &self.playbooks[id.0 as usize]
    }

    /// What a plugin or server of this name has, in order of the alphabet, the first dozen.
    pub(crate) fn commands_of(&self, plugin: &str) -> Vec<String> {
        let Some(commands) = self.commands.get(plugin) else { return Vec::new() };
        let n_more = commands.len().saturating_sub(12);
        let shown = commands.iter().take(12).map(|command| format!("`{command}`"));
        shown.chain((n_more > 0).then(|| format!("{n_more} more"))).collect()
    }

    /// The names that can be called from one of `n_agents` or another, in order of the alphabet.
    pub(crate) fn candidates(&self, n_agents: usize) -> Vec<String> {
        let own = self.playbooks.iter().map(|playbook| &*playbook.name);
        let shared = self.shared_names.iter().filter(|(_, owner)| owner.is_none() || n_agents > 1);
        let names: BTreeSet<&str> = own.chain(shared.map(|(name, _)| &**name)).collect();
        names.into_iter().map(str::to_owned).collect()
    }

    /// The name that `name`, in a text of `agent`, was probably meant to be; as long as not too many names have been
    /// compared (see [`Spelling`]).
    pub(crate) fn nearest(&self, agent: AgentId, name: &str) -> Option<String> {
        let own = self.own_names.get(&agent).into_iter().flatten().copied();
        let shared = self.shared_names.iter().filter(|(_, owner)| *owner != Some(agent));
        self.spelling.nearest(name, own.chain(shared.map(|(name, _)| &**name))).map(str::to_owned)
    }
}
