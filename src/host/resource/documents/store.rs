//! An index that is open, for many that ask at the same time.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use playhouse_lang::value::Value;
use serde::Serialize;

use crate::directory::WorkingDirectory;
use crate::documents::search::Query;
use crate::documents::{Index, IndexError};
use crate::llm::embeddings::Embedder;
use crate::resource::ResourceError;
use crate::resource::documents::config::{DocumentsConfig, MakeEmbedder, Refresh};
use crate::tasks;

/// An index that is open.
pub(super) struct Store {
    index: Arc<Mutex<Index>>,
    /// What asks for vectors; none: the index has none.
    embedder: Option<Embedder>,
    /// Whether it has been said that the server of vectors does not answer.
    is_said: AtomicBool,
}

impl Store {
    pub(super) async fn open(
        working_directory: &Path,
        folder: WorkingDirectory,
        config: DocumentsConfig,
        make_embedder: MakeEmbedder,
    ) -> Result<Store, ResourceError> {
        let base_url = config.base_url.clone();
        let directory = working_directory.to_owned();
        let opened = tasks::on_thread(move || open(&directory, &folder, &config)).await;
        let lost = |cause: tokio::task::JoinError| ResourceError::new(cause.to_string(), "report this as a bug");
        let index = opened.map_err(lost)??;
        let model = index.embedding().map_err(resource_error)?;
        let make = |model: String| {
            make_embedder(&model, base_url.as_deref()).map_err(|cause| {
                ResourceError::new(format!("its vectors come from {model}: {cause}"), "check the configuration")
            })
        };
        let embedder = model.map(make).transpose()?;
        Ok(Store { index: Arc::new(Mutex::new(index)), embedder, is_said: AtomicBool::new(false) })
    }

    pub(super) async fn search(&self, query: &str, top: usize) -> Result<Value, String> {
        let (text, vector) = (query.to_owned(), self.vector(query).await);
        self.ask(move |index| {
            value(&index.search(Query { text: &text, by_words: true, vector: vector.as_deref(), top }).map_err(words)?)
        })
        .await
    }

    pub(super) async fn read(&self, source: &str, before: usize, after: usize) -> Result<Value, String> {
        let source = source.to_owned();
        self.ask(move |index| value(&index.read(&source, before, after).map_err(words)?)).await
    }

    pub(super) async fn facts(&self, query: &str) -> Result<Value, String> {
        let (text, vector) = (query.to_owned(), self.vector(query).await);
        self.ask(move |index| value(&index.facts(&text, vector.as_deref()).map_err(words)?)).await
    }

    /// The vector of a question; none if there are no vectors, or nobody makes one now: words find the most.
    async fn vector(&self, query: &str) -> Option<Vec<f32>> {
        match self.embedder.as_ref()?.embed(&[query]).await {
            Ok(vectors) => vectors.into_iter().next(),
            Err(cause) => {
                if !self.is_said.swap(true, Ordering::Relaxed) {
                    tracing::warn!("documents are found by words only: {cause}");
                }
                None
            }
        }
    }

    async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut Index) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let index = self.index.clone();
        let asked = tasks::on_thread(move || ask(&mut index.lock().unwrap_or_else(PoisonError::into_inner)));
        asked.await.map_err(|cause| format!("the index could not be searched: {cause}"))?
    }
}

/// What the configuration names; read again if it says so.
fn open(working_directory: &Path, folder: &WorkingDirectory, config: &DocumentsConfig) -> Result<Index, ResourceError> {
    let place = |path: &String| {
        let inside = folder.resolve(path).map_err(|refused| {
            ResourceError::new(format!("`{path}`: {refused}"), "give a path below the working directory")
        });
        inside.map(|inside| working_directory.join(inside))
    };
    let index = match (&config.path, config.refresh) {
        (None, _) => {
            let paths: Vec<PathBuf> = config.documents.iter().map(place).collect::<Result<_, _>>()?;
            Index::in_memory(working_directory).and_then(|mut index| {
                index.add(&paths, &[], &mut |_| ())?;
                Ok(index)
            })
        }
        (Some(path), Refresh::Never) => Index::open(&place(path)?),
        (Some(path), Refresh::Start) => Index::open_to_write(&place(path)?).and_then(|mut index| {
            index.refresh(&mut |_| ())?;
            Ok(index)
        }),
    };
    index.map_err(resource_error)
}

fn resource_error(error: IndexError) -> ResourceError {
    ResourceError::new(error.what(), error.advice)
}

fn words(error: IndexError) -> String {
    error.to_string()
}

/// What an index gives, as a value of the language.
fn value(found: &impl Serialize) -> Result<Value, String> {
    let json = serde_json::to_value(found).map_err(|cause| cause.to_string())?;
    serde_json::from_value(json).map_err(|cause| cause.to_string())
}
