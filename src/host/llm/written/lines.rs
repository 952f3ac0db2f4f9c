//! Whether a bullet means the line in hand.

use playhouse_lang::files::test_file::{FoundLine, LineName, find_line};
use playhouse_lang::program::StepId;

use crate::llm::TurnAsData;

/// Whether the line in hand of a turn is meant; none: a playbook without lines.
pub(super) fn is_meant(turn: &TurnAsData, name: &LineName, line: Option<StepId>) -> bool {
    let (program, data) = (&turn.program, &turn.data);
    match (find_line(program, name), line) {
        (Ok(FoundLine::Goal(playbook)), None) => playbook == data.playbook,
        (Ok(FoundLine::Line(playbook, found)), Some(line)) => (playbook, found) == (data.playbook, line),
        (Ok(FoundLine::AnyWithId), Some(line)) => {
            let LineName::Id(id) = name else { return false };
            let is_it = |id: &str| program.playbook(data.playbook).find_step(id) == Some(line);
            match (id.split_once('>'), data.inside) {
                (None, _) => is_it(id),
                (Some((outer, inner)), Some((caller, call))) => {
                    program.playbook(caller).find_step(outer) == Some(call) && is_it(inner)
                }
                (Some(_), None) => false,
            }
        }
        (Ok(_) | Err(_), _) => false,
    }
}
