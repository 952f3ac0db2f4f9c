//! `playhouse sessions delete`.

use std::io;

use clap::Args;

use crate::host::journal::JournalError;
use crate::host::journal::address::Address;
use crate::serve::cli::console::{Console, Exit, Failure, count};
use crate::serve::cli::failures::journal_failure;
use crate::serve::cli::sessions_kept::{Kept, waited};

#[derive(Args)]
pub(crate) struct DeleteArguments {
    /// The sessions
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Do not ask
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
            return Err(Failure::wrong(format!("there is no session {id}; is {} meant?", address.session())));
        }
        if let Some(process) = waited(address.holder())? {
            return Err(journal_failure(JournalError::held(address.location(), process)));
        }
    }
    if !arguments.yes {
        ask(console, &ids)?;
    }
    for (id, address) in ids.iter().zip(&addresses) {
        waited(address.delete())?.map_err(journal_failure)?;
        console.remark(&format!("deleted session {id}"));
    }
    Ok(Exit::Finished)
}

fn ask(console: &Console, ids: &[&str]) -> Result<(), Failure> {
    if !console.is_conversation {
        return Err(Failure::wrong(format!(
            "{} would be gone for good; add --yes to delete without a question",
            count(ids.len(), "session")
        )));
    }
    console.tell(&format!("delete {} for good: {}? [y/N] ", count(ids.len(), "session"), ids.join(", ")));
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    read.map_err(|cause| Failure::failed(format!("standard input: {cause}; add --yes")))?;
    let agrees = ["y", "yes"].contains(&answer.trim().to_lowercase().as_str());
    if agrees { Ok(()) } else { Err(Failure::failed("nothing was deleted")) }
}
