//! Variables: one scope per frame, one of globals per agent, and the rules for reading, writing and forgetting
//! (spec `execution.md`, "Variables").

use std::sync::Arc;

use indexmap::IndexMap;

use crate::protocol::view::VariableView;
use crate::protocol::{Location, Tracked, TurnId};
use crate::variables::bounds::Admitted;

/// The order in which values were set, over the whole session; 0 is before everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp(pub(crate) u64);

/// One variable with its last change.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) value: Tracked,
    pub(crate) old: Option<Tracked>,
    pub(crate) changed_at: Option<Location>,
    pub(crate) changed_in: Option<TurnId>,
    /// When the value was set.
    pub(crate) set: Stamp,
    /// When it was last read or set, for "the longest unused goes first".
    pub(crate) used: Stamp,
    /// A parameter or loop variable: does not join the globals when its frame is popped.
    pub(crate) bound: bool,
}

impl Variable {
    /// Its name is declared secret from now on.
    pub(crate) fn mark_secret(&mut self) {
        self.value = self.value.clone().secret_if(true);
        self.old = self.old.take().map(|old| old.secret_if(true));
    }
}

/// What is noted about a change of a variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) stamp: Stamp,
    /// The line, unless the world made the change.
    pub(crate) at: Option<Location>,
    pub(crate) turn: Option<TurnId>,
    /// Whether it makes the variable a parameter or loop variable.
    pub(crate) binds: bool,
}

/// Variables by name, in the order they were made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    variables: IndexMap<Arc<str>, Variable>,
}

impl Scope {
    pub(crate) fn get(&self, name: &str) -> Option<&Variable> {
        self.variables.get(name)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Variable> {
        self.variables.get_mut(name)
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }

    /// Gives a variable its value; what was secret stays so, and what was bound stays so. Answers the value as
    /// it is kept, and the one before.
    pub(crate) fn set(&mut self, name: &Arc<str>, value: Admitted, change: Change) -> (Tracked, Option<Tracked>) {
        let value = value.into_tracked();
        let Change { stamp, at, turn, binds } = change;
        let Some(variable) = self.variables.get_mut(name) else {
            let new = Variable {
                value: value.clone(),
                old: None,
                changed_at: at,
                changed_in: turn,
                set: stamp,
                used: stamp,
                bound: binds,
            };
            self.variables.insert(name.clone(), new);
            return (value, None);
        };
        let value = value.secret_if(variable.value.is_secret());
        let old = std::mem::replace(&mut variable.value, value.clone());
        variable.old = Some(old.clone());
        (variable.changed_at, variable.changed_in) = (at, turn);
        (variable.set, variable.used) = (stamp, stamp);
        variable.bound |= binds;
        (value, Some(old))
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.variables.shift_remove(name);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Variable)> {
        self.variables.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Variable> {
        self.variables.values_mut()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.variables.is_empty()
    }

    /// Takes over what a popped frame leaves after: of two values of a name the one set later stays.
    pub(crate) fn join(&mut self, popped: Scope) {
        for (name, variable) in popped.variables {
            if variable.bound {
                continue;
            }
            match self.variables.get_mut(&name) {
                Some(present) if present.set >= variable.set => {}
                Some(present) => *present = variable,
                None => {
                    self.variables.insert(name, variable);
                }
            }
        }
    }

    /// As plain data.
    pub(crate) fn view(&self) -> Vec<VariableView> {
        self.variables
            .iter()
            .map(|(name, variable)| VariableView {
                name: name.clone(),
                value: variable.value.clone(),
                old: variable.old.clone(),
                changed_at: variable.changed_at,
                changed_in: variable.changed_in,
            })
            .collect()
    }
}
