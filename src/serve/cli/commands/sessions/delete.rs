//! `playhouse sessions delete`.

use clap::Args;

use crate::host::journal::JournalError;
use crate::host::journal::address::Address;
use crate::serve::cli::commands::sessions::kept::{Kept, waited};
use crate::serve::cli::machinery::console::{Console, Exit, Failure, count};
use crate::serve::cli::machinery::output::agree;

#[derive(Args)]
pub(crate) struct DeleteArguments {
    /// The ids of the sessions
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Delete without asking
    #[arg(long)]
    yes: bool,
}

/// Deletes sessions: none if one of them is not there or is open in a process.
pub(crate) fn delete(console: &Console, kept: &Kept, arguments: &DeleteArguments) -> Result<Exit, Failure> {
    let mut ids: Vec<&str> = Vec::new();
    for id in &arguments.ids {
        if !ids.contains(&id.as_str()) {
            ids.push(id);
        }
    }
    let addresses: Vec<Address> = ids.iter().map(|id| kept.find(id)).collect::<Result<_, _>>()?;
    for (id, address) in ids.iter().zip(&addresses) {
        // What is gone for good is named in full.
        if **address.session() != **id {
            return Err(Failure::wrong(format!("there is no session {id}; did you mean {}?", address.session())));
        }
        if let Some(process) = waited(address.holder())? {
            return Err(JournalError::held(address.location(), process).into());
        }
    }
    if !arguments.yes {
        let n = count(ids.len(), "session");
        if !console.is_conversation {
            let message = format!("{n} would be deleted permanently; add --yes to delete without asking");
            return Err(Failure::wrong(message));
        }
        let question = format!("delete {n} permanently: {}?", ids.join(", "));
        agree(console, &question, "--yes", "nothing was deleted")?;
    }
    for (id, address) in ids.iter().zip(&addresses) {
        waited(address.delete())??;
        console.remark(&format!("deleted session {id}"));
    }
    Ok(Exit::Finished)
}
