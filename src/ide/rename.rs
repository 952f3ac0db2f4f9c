//! Another name for something, wherever it stands; and the proof that nothing else has changed.

use std::fmt::Debug;
use std::sync::Arc;

use playhouse_lang::analysis::diff::renamed::Renamed;
use playhouse_lang::expr::{identifier, scan_name};
use playhouse_lang::program::{CALL, EVENT, Playbook, USER_MESSAGE};
use playhouse_lang::span::{FileId, Span};

use crate::View;
use crate::occurrences::{Occurrence, Role, Symbol, whole_words};

/// What is written where, so that something is called otherwise. To be made only if [`View::prove`] agrees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renaming {
    /// What is written in the place of what, by place.
    pub edits: Vec<(Span, String)>,
    symbol: Symbol,
    old: Arc<str>,
    /// The new name, and as words.
    new: [Arc<str>; 2],
    names: Renamed,
}

impl Renaming {
    /// What is called otherwise.
    pub(crate) fn symbol(&self) -> &Symbol {
        &self.symbol
    }

    /// What stands in the place of the name where it is written so.
    pub(crate) fn instead(&self, written: &str, is_title: bool) -> String {
        let dollar = if written.starts_with('$') { "$" } else { "" };
        // A title is what was typed; a call is the name, unless it was in words.
        let is_words = dollar.is_empty() && (is_title || *written != *self.old);
        format!("{dollar}{}", self.new[usize::from(is_words)])
    }

    /// How something that has the name in it is written out without it, and without places.
    pub(crate) fn without_names(&self, named: &dyn Debug) -> String {
        self.names.without_names(named)
    }
}

impl View {
    /// The name at an offset that can be another one.
    ///
    /// # Errors
    /// Why there is none.
    pub fn renamable(&self, file: FileId, offset: usize) -> Result<&Occurrence, String> {
        let place = self.name_at(file, offset).ok_or("there is no name here")?;
        let source = self.program().sources.get(place.span.file);
        if source.is_some_and(|source| source.name.starts_with("playhouse:")) {
            return Err("this is a file of the library, which nobody can change".to_owned());
        }
        let of = match &place.symbol {
            Symbol::Playbook(id) | Symbol::Own(id, _) => Some(*id),
            Symbol::Agent(id) => self.program().agent(*id).playbooks.first().copied(),
            Symbol::Callable(_) | Symbol::Shared(..) => None,
        };
        if of.is_some_and(|id| self.program().playbook(id).skill.is_some()) {
            return Err("this is a skill, and called as its folder is: rename the folder, and `name:` in it".to_owned());
        }
        match &place.symbol {
            Symbol::Callable(name) => Err(match self.program().find_plan(name) {
                Some(_) => format!("`{name}` is a plan, and called as its file is: rename the file"),
                None => format!("`{name}` is a tool: its name is where the tool comes from"),
            }),
            Symbol::Own(_, name) | Symbol::Shared(_, name) if is_given(name) => {
                Err(format!("`${name}` is set by the interpreter, and always called so"))
            }
            Symbol::Agent(_) | Symbol::Playbook(_) | Symbol::Own(..) | Symbol::Shared(..) => Ok(place),
        }
    }

    /// What is to be written so that the name at an offset is `new`. A playbook and an agent may be called in words, as
    /// their titles are: `Open a case`.
    ///
    /// # Errors
    /// Why it cannot be: there is no name, nobody may change it, or the new one is taken or none.
    pub fn rename(&self, file: FileId, offset: usize, new: &str) -> Result<Renaming, String> {
        let place = self.renamable(file, offset)?;
        let new = new.trim();
        let symbol = place.symbol.clone();
        let (old, words) = match &symbol {
            Symbol::Own(_, name) | Symbol::Shared(_, name) => (name.clone(), name.clone()),
            Symbol::Playbook(id) => {
                let playbook = self.program().playbook(*id);
                let words = playbook.title.split('(').next().unwrap_or_default().trim();
                (playbook.name.clone(), words.into())
            }
            Symbol::Agent(id) => {
                let agent = self.program().agent(*id);
                (agent.name.clone(), agent.title.clone())
            }
            Symbol::Callable(name) => (name.clone(), name.clone()),
        };
        let (new_name, new_words): (Arc<str>, Arc<str>) = match &symbol {
            Symbol::Own(..) | Symbol::Shared(..) => {
                let name = new.strip_prefix('$').unwrap_or(new);
                if name.is_empty() || scan_name(name) != name.len() {
                    return Err(format!("`{new}` is not a variable name; write letters, digits and `_`"));
                }
                (name.into(), name.into())
            }
            Symbol::Agent(_) | Symbol::Playbook(_) | Symbol::Callable(_) => {
                let name = identifier(new);
                if name.is_empty() || new.contains(['\n', '(', ')', '#', '`', '*', '[', ']']) {
                    return Err(format!("`{new}` is not a title; write words"));
                }
                (name.into(), new.into())
            }
        };
        self.check_free(&symbol, &new_name)?;
        let names = Renamed::new([old.clone(), words, new_name.clone(), new_words.clone()]);
        let mut renaming = Renaming { edits: Vec::new(), symbol, old, new: [new_name, new_words], names };
        let edit = |place: &Occurrence| {
            let written = self.program().sources.text(place.span);
            (place.span, renaming.instead(written, place.role == Role::Definition))
        };
        renaming.edits = self.places(&renaming.symbol).map(edit).collect();
        Ok(renaming)
    }

    /// Whether the program with these edits is this one, but for the name.
    ///
    /// # Errors
    /// What would read differently, and where.
    pub fn prove(&self, renaming: &Renaming, after: &View) -> Result<(), String> {
        // Where it stands nowhere in `edits`, both would be called by a name of their own.
        if let Some(left) = after.places(&renaming.symbol).next().filter(|_| is_variable(&renaming.symbol)) {
            return Err(format!("{}: here it would still be called so", after.program().sources.place(left.span)));
        }
        renaming.names.is_all_that_differs(self.program(), after.program()).map_err(|place| {
            let sources = &after.program().sources;
            let text = sources.text(place).lines().next().unwrap_or_default();
            format!("{}: this would read differently: {text}", sources.place(place))
        })
    }

    /// Where the name stands in words that mean nothing to the interpreter, and what would stand there: somebody has to look
    /// whether it is meant.
    pub fn mentions(&self, renaming: &Renaming) -> Vec<(Span, String)> {
        let dollar = if is_variable(&renaming.symbol) { "$" } else { "" };
        let written = format!("{dollar}{}", renaming.old);
        let mut found = Vec::new();
        let own = self.program().sources.iter().filter(|(_, source)| !source.name.starts_with("playhouse:"));
        for (file, source) in own {
            let places = whole_words(&source.text, &written).map(|at| Span::new(file, at, at + written.len()));
            let is_name = |place: &Span| self.name_at(file, place.range().start + dollar.len()).is_some();
            // A variable that is called like the playbook is another thing.
            let is_other = |place: &Span| dollar.is_empty() && source.text[..place.range().start].ends_with('$');
            let mentioned = places.filter(|place| !is_name(place) && !is_other(place));
            found.extend(mentioned.map(|place| (place, renaming.instead(&written, false))));
        }
        found
    }

    /// A name must not be that of something else that can be meant in the same places.
    fn check_free(&self, symbol: &Symbol, new: &Arc<str>) -> Result<(), String> {
        let program = self.program();
        let is_known = |playbook: &Playbook| playbook.own.contains(new) || playbook.outer.contains(new);
        let is_taken = match symbol {
            Symbol::Own(id, _) => is_given(new) || is_known(program.playbook(*id)),
            Symbol::Shared(agent, _) => {
                let is_declared = program.agent(*agent).variables.iter().any(|declared| declared.name == *new);
                let mut own = program.playbooks.iter().filter(|playbook| playbook.agent == *agent);
                is_given(new) || is_declared || own.any(is_known)
            }
            Symbol::Agent(_) => program.agents.iter().any(|agent| agent.name == *new),
            Symbol::Playbook(id) => {
                let agent = program.playbook(*id).agent;
                program.find_playbook(agent, new).is_some()
                    || program.find_plan(new).is_some()
                    || self.tool(new).is_some()
            }
            Symbol::Callable(_) => true,
        };
        if is_taken { Err(format!("`{new}` is the name of something else here")) } else { Ok(()) }
    }
}

/// Whether its symbol has its name in it; of others the program says what they are called.
fn is_variable(symbol: &Symbol) -> bool {
    matches!(symbol, Symbol::Own(..) | Symbol::Shared(..))
}

/// Whether the interpreter gives a variable this name.
fn is_given(name: &str) -> bool {
    [USER_MESSAGE, CALL, EVENT].contains(&name)
}
