//! An index of documents as a resource: opened once, searched by all that use it.

#[cfg(not(feature = "sqlite"))]
mod absent;

mod config;

#[cfg(feature = "sqlite")]
mod store;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;

#[cfg(not(feature = "sqlite"))]
use self::absent::Store;
pub use self::config::{DEFAULT_INDEX, DocumentsConfig, MakeEmbedder, Refresh};
#[cfg(feature = "sqlite")]
use self::store::Store;
use crate::directory::WorkingDirectory;
use crate::resource::{Label, Resource, ResourceError};
use playhouse_lang::value::Value;

/// An index of documents.
pub struct Documents {
    label: Label,
    /// Where it is.
    working_directory: PathBuf,
    /// What it may reach.
    folder: WorkingDirectory,
    config: DocumentsConfig,
    make_embedder: MakeEmbedder,
    store: Mutex<Option<Arc<Store>>>,
}

impl Documents {
    /// The index of this configuration. Nothing is opened before it is acquired.
    ///
    /// # Errors
    /// The configuration names no index, or two.
    pub fn new(
        label: Label,
        working_directory: PathBuf,
        folder: WorkingDirectory,
        config: DocumentsConfig,
        make_embedder: MakeEmbedder,
    ) -> Result<Documents, String> {
        match (&config.path, &config.documents[..]) {
            (None, []) => {
                Err("it has no `path`, as in `config: {path: handbook.index}`, and no `documents`".to_owned())
            }
            (Some(_), [_, ..]) => {
                Err("it has both `path` and `documents`; an index in a file gets its documents from \
                     `playhouse index add`"
                    .to_owned())
            }
            _ => {
                let store = Mutex::default();
                Ok(Documents { label, working_directory, folder, config, make_embedder, store })
            }
        }
    }

    /// The chunks that answer a question best: a list of maps.
    ///
    /// # Errors
    /// In words for the program's model.
    pub async fn search(&self, query: &str, top: usize) -> Result<Value, String> {
        self.store()?.search(query, top).await
    }

    /// A part of a document, with so many chunks before and after it: a map.
    ///
    /// # Errors
    /// In words for the program's model.
    pub async fn read(&self, source: &str, before: usize, after: usize) -> Result<Value, String> {
        self.store()?.read(source, before, after).await
    }

    /// What is known of the things that a question names: a map of lists.
    ///
    /// # Errors
    /// In words for the program's model.
    pub async fn facts(&self, query: &str) -> Result<Value, String> {
        self.store()?.facts(query).await
    }

    fn store(&self) -> Result<Arc<Store>, String> {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        store.clone().ok_or_else(|| "the index is not open".to_owned())
    }
}

impl Resource for Documents {
    fn kind(&self) -> &str {
        "documents"
    }

    fn label(&self) -> &Label {
        &self.label
    }

    fn acquire(&self) -> BoxFuture<'_, Result<(), ResourceError>> {
        Box::pin(async {
            let (folder, config) = (self.folder.clone(), self.config.clone());
            let store = Store::open(&self.working_directory, folder, config, self.make_embedder.clone()).await?;
            *self.store.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(store));
            Ok(())
        })
    }

    fn release(&self) -> BoxFuture<'_, ()> {
        *self.store.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Box::pin(async {})
    }
}
