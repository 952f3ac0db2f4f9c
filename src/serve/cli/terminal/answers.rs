//! The answers to what a person asks of us, from the machine's state and the session's journal.

use crate::host::clock::{Clock, SystemClock};
use crate::host::session::{SessionError, SessionHandle};
use crate::host::why::history;
use crate::lang::program::Program;
use crate::serve::cli::terminal::Names;
use crate::serve::show::{self, why};

/// The frames, or that there are none.
pub(crate) async fn stack(handle: &SessionHandle, program: &Program) -> Result<String, String> {
    let view = handle.view().await.map_err(|error| error.to_string())?;
    let text = show::stack(&view, program);
    Ok(if text.is_empty() { "nothing is being executed\n".to_owned() } else { text })
}

/// All variables, or one of them in full.
pub(crate) async fn variables(handle: &SessionHandle, program: &Program, name: Option<&str>) -> Result<String, String> {
    let view = handle.view().await.map_err(|error| error.to_string())?;
    if let Some(name) = name {
        return show::variables::variable(&view, program, name);
    }
    let text = show::variables::variables(&view, program);
    Ok(if text.is_empty() { "there are no variables\n".to_owned() } else { text })
}

/// What is known of all triggers, or of one. None: the session has ended, which it says by its last event.
pub(crate) async fn triggers(handle: &SessionHandle, trigger: Option<&str>) -> Option<Result<String, String>> {
    let records = handle.records().await.ok()?;
    let history = records.map_err(SessionError::from).and_then(|records| history(&records));
    let history = history.map_err(|error| error.to_string());
    Some(history.and_then(|history| why::answer(&history, trigger, &SystemClock.zone())))
}

/// What can be named after a command as things stand.
pub(crate) async fn names(handle: &SessionHandle, program: &Program) -> Names {
    let view = handle.view().await;
    let variables = view.map(|view| show::variables::names(&view).iter().map(ToString::to_string).collect());
    let triggers = program.playbooks.iter().flat_map(|playbook| &playbook.triggers);
    Names {
        variables: variables.unwrap_or_default(),
        triggers: triggers.map(|trigger| program.trigger_name(trigger.id)).collect(),
    }
}
