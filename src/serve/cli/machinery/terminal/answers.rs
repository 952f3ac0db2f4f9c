//! The answers to what a person asks of us, from the machine's state and the session's journal.

use crate::host::session::SessionHandle;
use crate::lang::program::Program;
use crate::serve::cli::machinery::terminal::Names;
use crate::serve::show::{self, why};

/// The answer to `/stack`.
pub(crate) async fn stack(handle: &SessionHandle, program: &Program) -> Result<String, String> {
    let view = handle.view().await.map_err(|error| error.to_string())?;
    Ok(show::stack_answer(&view, program))
}

/// The answer to `/vars`.
pub(crate) async fn variables(handle: &SessionHandle, program: &Program, name: Option<&str>) -> Result<String, String> {
    let view = handle.view().await.map_err(|error| error.to_string())?;
    show::variables::answer(&view, program, name)
}

/// The answer to `/why`. None: the session has ended, which it says by its last event.
pub(crate) async fn triggers(handle: &SessionHandle, trigger: Option<&str>) -> Option<Result<String, String>> {
    let records = handle.records().await.ok()?.map_err(|error| error.to_string());
    Some(records.and_then(|records| why::of_records(&records, trigger)))
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
