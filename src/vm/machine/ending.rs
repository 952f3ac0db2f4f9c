//! The end of a program: triggers that wait for it (spec `triggers.md`).

use std::collections::VecDeque;

use playhouse_lang::program::{EntryId, Playbook, Program, Trigger, TriggerKind};

use crate::protocol::{Outcome, Tracked};

/// What the program ends with, once it is done: playbooks that wait for its end may still run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ending(Option<Tracked>);

impl Ending {
    /// The program is done. First those playbooks run that wait for its end, once; what they give is not its result.
    pub(crate) fn begin(
        &mut self,
        value: Tracked,
        program: &Program,
        entries: &mut VecDeque<EntryId>,
    ) -> Option<Outcome> {
        let waits = |trigger: &Trigger| trigger.kind == TriggerKind::Ending;
        let of_end = |playbook: &&Playbook| playbook.triggers.iter().any(waits);
        entries.clear();
        if self.0.is_none() {
            let playbooks = program.playbooks.iter().filter(of_end);
            entries.extend(playbooks.map(|playbook| EntryId::Playbook(playbook.id)));
        }
        let value = self.0.get_or_insert(value).clone();
        entries.is_empty().then_some(Outcome::Done { value })
    }
}
