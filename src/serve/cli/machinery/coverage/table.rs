//! What a table of labelled cases reaches: triggers, which are judged outside of any session.

use crate::host::coverage::Reached;
use crate::lang::files::trigger_table::{TriggerCase, TriggerTable, TriggerUpdate};
use crate::lang::program::{Program, Trigger, USER_MESSAGE};
use crate::serve::cli::machinery::trigger_tests::Judged;

/// The triggers that the cases of a table concern; `judged` tells which of them fired.
pub(crate) fn reached_by_table(program: &Program, table: &TriggerTable, judged: &[Judged]) -> Reached {
    let mut reached = Reached::nothing(program);
    let triggers = program.playbooks.iter().flat_map(|playbook| &playbook.triggers);
    let triggers: Vec<&Trigger> = triggers.filter(|trigger| trigger.kind.waits_for_updates()).collect();
    for (case, judged) in table.cases.iter().zip(judged) {
        for trigger in &triggers {
            let has_fired = judged.fired.contains(&trigger.id);
            if has_fired || (is_concerned(trigger, case) && !judged.abstained.contains(&trigger.id)) {
                reached.judged(Some(trigger.id), has_fired);
            }
        }
    }
    reached
}

fn is_concerned(trigger: &Trigger, case: &TriggerCase) -> bool {
    case.updates.iter().any(|update| match update {
        TriggerUpdate::User(_) => trigger.is_concerned(USER_MESSAGE),
        TriggerUpdate::Set(name, _) => trigger.is_concerned(name),
    })
}
