//! What the commands have in common: which index, which server of vectors, and what is said where an index cannot be used.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use crate::host::documents::{Index, IndexError, IndexFault};
use crate::host::launch::{Choices, Launch};
use crate::host::llm::Llm;
use crate::host::llm::embeddings::Embedder;
use crate::host::resource::documents::DEFAULT_INDEX;
use crate::lang::program::FrontMatter;
use crate::serve::cli::machinery::console::{Console, Failure};
use crate::serve::cli::machinery::runtime::Runtime;
use crate::serve::cli::machinery::world::{launch_failure, workshop};

/// Which index is meant.
#[derive(Args)]
pub(super) struct IndexFile {
    /// The index file
    #[arg(long, value_name = "FILE", default_value = DEFAULT_INDEX)]
    pub(super) index: PathBuf,
}

/// The server of vectors.
#[derive(Args)]
pub(super) struct Server {
    /// The OpenAI-compatible server for vectors, and for --model [default: the model's server]
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The configuration file [default: playhouse.toml beside the index]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Server {
    pub(super) fn embedder(&self, console: &Console, model: &str, index: &Path) -> Result<Embedder, Failure> {
        let choices = Choices { base_url: self.base_url.clone(), config: self.config.clone(), ..Choices::default() };
        let made = Launch::new(workshop(console), choices).embedder(model, index);
        made.map_err(|error| launch_failure(console, error))
    }

    /// Has the commands of the configuration make texts of files that are none.
    pub(super) fn extract_by(&self, console: &Console, index: &mut Index, path: &Path) -> Result<(), Failure> {
        let choices = Choices { config: self.config.clone(), ..Choices::default() };
        let commands = Launch::new(workshop(console), choices).extractors(path);
        index.extract_by(commands.map_err(|error| launch_failure(console, error))?);
        Ok(())
    }

    /// A model that writes, and how long an answer may take.
    pub(super) fn model(
        &self,
        console: &Console,
        runtime: &Runtime,
        id: &str,
        index: &Path,
    ) -> Result<(Arc<dyn Llm>, Duration), Failure> {
        let choices = Choices {
            model: Some(id.to_owned()),
            base_url: self.base_url.clone(),
            config: self.config.clone(),
            ..Choices::default()
        };
        let launch = Launch::new(workshop(console), choices);
        let opened = runtime.block_on(async {
            let chosen = launch.choose_model(index, &FrontMatter::default()).await?;
            Ok((launch.open_model(&chosen).await?, chosen.config.session.turn_timeout))
        });
        opened.map_err(|error| launch_failure(console, error))
    }
}

/// Whether vectors are to be had, and what asks for them.
pub(super) fn embedder_of(
    console: &Console,
    index: &Index,
    file: &IndexFile,
    server: &Server,
    must: bool,
) -> Result<Option<Embedder>, Failure> {
    match index.embedding()? {
        Some(model) => server.embedder(console, &model, &file.index).map(Some),
        None if must => Err(Failure::wrong(format!(
            "{}: there are no vectors ({}); make them with `playhouse index embed --embedding openai:NAME`",
            index.shown(),
            <&str>::from(IndexFault::IndexModel)
        ))),
        None => Ok(None),
    }
}

impl From<IndexError> for Failure {
    /// Only what another process holds may go well the next time.
    fn from(error: IndexError) -> Failure {
        match error.fault {
            IndexFault::IndexLocked => Failure::failed(error),
            IndexFault::IndexMissing
            | IndexFault::IndexNewer
            | IndexFault::IndexModel
            | IndexFault::IndexUnreadable => Failure::wrong(error),
        }
    }
}
