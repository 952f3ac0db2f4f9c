//! What a program is equipped with beside playbooks and models: what is declared, opened and closed.

pub mod declaration;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::host::clock::Clock;
use crate::host::equipment::declaration::Declarations;
use crate::host::tool::Tool;
use crate::host::tool::builtin::{WorkingDirectory, add_builtins};
use crate::host::tool::canned::{self, CannedError};
use crate::host::tool::registry::Registry;

/// What a process gives to all that is opened.
pub struct Surroundings<'a> {
    /// The folder that file tools stay below.
    pub working_directory: &'a Path,
    /// Files of canned tools, which stand in front of others.
    pub canned: &'a [PathBuf],
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// How large a file may be for tools.
    pub max_bytes: usize,
}

/// How much is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Only what can be known without starting or connecting anything: for `check` and its like.
    Survey,
    /// Servers are connected, resources acquired.
    Open,
}

/// The tools, and what stands behind them.
pub struct Equipment {
    /// The tools.
    pub tools: Arc<Registry>,
    /// Whether there may be more tools, known only at run time.
    pub is_open_world: bool,
}

/// Why something could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum EquipmentError {
    /// The folder that file tools stay below.
    #[error("{path}: cannot open the working directory: {cause}; check the path given with --working-directory")]
    WorkingDirectory {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// A file of canned tools.
    #[error(transparent)]
    Canned(#[from] CannedError),
    /// Something that is declared.
    #[error("{place}: {message}")]
    Declared {
        /// Where.
        place: String,
        /// What is wrong, and what can be done.
        message: String,
    },
}

impl Equipment {
    /// Opens what is declared; with [`Reach::Survey`] only as far as nothing is started for it.
    ///
    /// # Errors
    /// The first that cannot be opened; what was opened before is closed again.
    pub async fn open(
        declared: &Declarations,
        around: &Surroundings<'_>,
        reach: Reach,
    ) -> Result<Equipment, EquipmentError> {
        let error = |cause| EquipmentError::WorkingDirectory { path: around.working_directory.to_owned(), cause };
        let folder = WorkingDirectory::open(around.working_directory).map_err(error)?;
        let mut stand_ins: Vec<Arc<dyn Tool>> = Vec::new();
        for path in around.canned {
            stand_ins.extend(canned::load(path, &folder)?);
        }
        let tools = Registry::with_policies(declared.policies.clone());
        add_builtins(&tools, &folder, around.clock.clone(), around.max_bytes);
        stand_ins.into_iter().for_each(|tool| tools.replace(tool));
        let is_open_world = reach == Reach::Survey && !declared.servers.is_empty();
        Ok(Equipment { tools: Arc::new(tools), is_open_world })
    }

    /// Closes all, the last opened first. Whoever still calls a tool gets an error.
    pub async fn close(self) {}
}
