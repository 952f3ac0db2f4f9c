//! How lines are named in what is said of replies by hand.

use crate::host::llm::TurnAsData;
use crate::lang::program::Step;

pub(super) fn place(turn: &TurnAsData, line: Option<&Step>) -> String {
    let name = &turn.program.playbook(turn.data.playbook).name;
    line.map_or_else(|| name.to_string(), |line| format!("{name}:{}", label(turn, line)))
}

/// The id of a line as the turn's reply names it: `02`, or `04>02` of a playbook inside line 04.
pub(super) fn label(turn: &TurnAsData, line: &Step) -> String {
    let inside = turn.data.inside.map(|(caller, outer)| &turn.program.playbook(caller).step(outer).label);
    inside.map_or_else(|| line.label.to_string(), |outer| format!("{outer}>{}", line.label))
}
