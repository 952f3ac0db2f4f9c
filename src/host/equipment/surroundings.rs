//! What is given to all that is opened, how much is opened, and why something could not be.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use playhouse_lang::value::{Map, Value};

use crate::clock::Clock;
use crate::directory::WorkingDirectory;
use crate::equipment::declaration::resolve_secrets;
use crate::llm::Llm;
use crate::resource::documents::MakeEmbedder;
use crate::resource::model::ModelOptions;
use crate::secrets::Secrets;
use crate::skills::known::KnownSkills;
use crate::tool::Tool;
use crate::tool::canned::CannedError;
use crate::tool::plugin::Packages;
use crate::tool::registry::AddToolError;
use crate::tool::workspace::command::Commands;

/// Makes the model with this id, or says why it cannot be reached and what to do.
pub type Models = Arc<dyn Fn(&str, &ModelOptions) -> Result<Arc<dyn Llm>, String> + Send + Sync>;

/// What a process gives to all that is opened.
pub struct Surroundings<'a> {
    /// The folder that file tools stay below.
    pub working_directory: &'a Path,
    /// Files of canned tools, which stand in front of others, and the later in front of the earlier.
    pub canned: Vec<PathBuf>,
    /// Tools beside those that are declared.
    pub tools: &'a [Arc<dyn Tool>],
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// How commands run.
    pub commands: Commands,
    /// How large a value, and a file for tools, may be.
    pub max_bytes: usize,
    /// What processes find in their environment.
    pub environment: Vec<(String, String)>,
    /// The variables that `{from_env: NAME}` means.
    pub variable: &'a (dyn Fn(&str) -> Option<String> + Sync),
    /// What nobody may see; filled while things are opened.
    pub secrets: Arc<Secrets>,
    /// How models are made that are resources.
    pub models: Models,
    /// How those are made that ask for vectors.
    pub embedders: MakeEmbedder,
    /// The skills that the program may name.
    pub skills: KnownSkills,
    /// What `setup.package` of a plugin may name besides what every program has.
    pub packages: Packages,
}

impl Surroundings<'_> {
    /// The folder that file tools stay below.
    pub(super) fn folder(&self) -> Result<WorkingDirectory, EquipmentError> {
        let error = |cause| EquipmentError::WorkingDirectory { path: self.working_directory.to_owned(), cause };
        WorkingDirectory::open(self.working_directory).map_err(error)
    }

    /// The values with the secrets in their places.
    pub(super) fn resolve(&self, values: &Map) -> Result<Map, String> {
        let resolved = self.resolve_value(&Value::map(values.clone()))?;
        let Value::Map(resolved) = &resolved else {
            return Err("`from_env` must stand for a single value".to_owned());
        };
        Ok((**resolved).clone())
    }

    pub(super) fn resolve_value(&self, value: &Value) -> Result<Value, String> {
        resolve_secrets(value, self.variable, &mut |secret| {
            // What is too short to be told from other text stays visible; who configures knows it.
            self.secrets.add(secret);
        })
    }
}

/// How much is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Only what can be known without starting or connecting anything: for `check` and its like.
    Survey,
    /// Servers are connected, resources acquired.
    Open,
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
    /// A tool cannot be added.
    #[error(transparent)]
    Tool(#[from] AddToolError),
}
