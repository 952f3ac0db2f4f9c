//! Resources: what is acquired once, shared by all that use it, and released in reverse order, whatever happens (spec
//! `components.md`, 4.7): the disk, an HTTP client, databases, documents, models.

pub mod databases;

pub mod disk;

pub mod documents;

pub mod http;

pub mod model;

#[cfg(feature = "postgres")]
pub mod postgres;

pub mod prices;

#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod rows;

pub mod sql;

#[cfg(feature = "sqlite")]
pub mod sqlite;

use std::any::Any;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::component::lookup::{LookupError, ResourceEntry, WantedResource, lookup};
use crate::tasks;
use crate::text::panic_text;

/// Something that is acquired before a run and released after it. Whoever wants more of one than this knows its type:
/// an `Arc<dyn Resource>` is an `Arc<dyn Any + Send + Sync>`, too.
pub trait Resource: Any + Send + Sync {
    /// Its type as people write it: `disk`, `http`, `sqlite`.
    fn kind(&self) -> &str;

    /// What it is called.
    fn label(&self) -> &Label;

    /// Makes it ready. Called once.
    fn acquire(&self) -> BoxFuture<'_, Result<(), ResourceError>>;

    /// Gives back what [`Resource::acquire`] took. Called once, and only if that succeeded.
    fn release(&self) -> BoxFuture<'_, ()>;
}

/// Why a resource cannot be made ready or used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{cause}; {advice}")]
pub struct ResourceError {
    /// What went wrong.
    pub cause: String,
    /// What to do about it.
    pub advice: String,
}

impl ResourceError {
    /// What went wrong, and what to do about it.
    pub fn new(cause: impl Into<String>, advice: impl Into<String>) -> ResourceError {
        ResourceError { cause: cause.into(), advice: advice.into() }
    }
}

/// A resource of a run could not be made ready; those before it have been released.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the resource {resource} cannot be used: {error}")]
pub struct AcquireError {
    /// Which of those that are declared.
    pub index: usize,
    /// Which, as people know it.
    pub resource: String,
    /// Why.
    pub error: ResourceError,
}

/// The resources of a program in the order they were declared. One object each, shared by all that use it.
#[derive(Default)]
pub struct Resources {
    declared: Vec<Arc<dyn Resource>>,
    /// Those that have been acquired and not yet released.
    acquired: Mutex<Vec<Arc<dyn Resource>>>,
}

impl Resources {
    /// These resources, none of them acquired.
    pub fn new(declared: Vec<Arc<dyn Resource>>) -> Resources {
        Resources { declared, acquired: Mutex::default() }
    }

    /// All of them, in the order of their declaration.
    pub fn declared(&self) -> &[Arc<dyn Resource>] {
        &self.declared
    }

    /// The first resource that agrees with all that is given; the id `default` is as good as none.
    ///
    /// # Errors
    /// There is none, or nothing was given. Both are errors of the configuration, before anything runs.
    pub fn find(
        &self,
        kind: Option<&str>,
        id: Option<&str>,
        name: Option<&str>,
    ) -> Result<&Arc<dyn Resource>, LookupError> {
        let entry = |resource: &Arc<dyn Resource>| ResourceEntry {
            kind: resource.kind().into(),
            id: resource.label().id.clone(),
            name: resource.label().name.clone(),
        };
        let entries: Vec<ResourceEntry> = self.declared.iter().map(entry).collect();
        let wanted = WantedResource { kind: kind.map(Arc::from), id: id.map(Arc::from), name: name.map(Arc::from) };
        lookup(&entries, &wanted).map(|index| &self.declared[index])
    }

    /// Acquires all, in the order of their declaration.
    ///
    /// # Errors
    /// One could not be acquired; those before it have been released.
    pub async fn acquire_all(&self) -> Result<(), AcquireError> {
        for (index, resource) in self.declared.iter().enumerate() {
            // A resource that panics is one that cannot be acquired.
            let error = match AssertUnwindSafe(async { resource.acquire().await }).catch_unwind().await {
                Ok(Ok(())) => {
                    self.acquired().push(resource.clone());
                    continue;
                }
                Ok(Err(error)) => error,
                Err(panic) => ResourceError::new(
                    format!("it failed because of a bug in it: {}", panic_text(&*panic)),
                    "take it out of the configuration and report the bug",
                ),
            };
            self.release_all().await;
            return Err(AcquireError { index, resource: shown(&**resource), error });
        }
        Ok(())
    }

    /// Releases all that have been acquired, in reverse order, each once: who calls it a second time releases nothing.
    pub async fn release_all(&self) {
        loop {
            let last = self.acquired().pop();
            let Some(resource) = last else { return };
            if let Err(panic) = AssertUnwindSafe(async { resource.release().await }).catch_unwind().await {
                let cause = panic_text(&*panic);
                tracing::error!("the resource {} panicked while it was released: {cause}", shown(&*resource));
            }
        }
    }

    /// Acquires all, awaits `run`, and releases all after it: also if it fails, panics or is dropped (what is dropped
    /// is released by a task of its own).
    ///
    /// # Errors
    /// A resource could not be acquired; `run` has not been begun.
    pub async fn run<T>(self: &Arc<Self>, run: impl Future<Output = T>) -> Result<T, AcquireError> {
        let guard = DropGuard(self);
        self.acquire_all().await?;
        let outcome = AssertUnwindSafe(run).catch_unwind().await;
        self.release_all().await;
        drop(guard);
        outcome.map_or_else(|panic| resume_unwind(panic), Ok)
    }

    fn acquired(&self) -> std::sync::MutexGuard<'_, Vec<Arc<dyn Resource>>> {
        self.acquired.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Releases what is left when a run is dropped before its end.
struct DropGuard<'a>(&'a Arc<Resources>);

impl Drop for DropGuard<'_> {
    fn drop(&mut self) {
        if self.0.acquired().is_empty() {
            return;
        }
        // Without a runtime nothing can be awaited; each resource then closes when its last handle goes.
        if tokio::runtime::Handle::try_current().is_ok() {
            let resources = self.0.clone();
            tasks::spawn(async move { resources.release_all().await });
        }
    }
}

/// A resource as people know it: "`shop` (sqlite)".
fn shown(resource: &dyn Resource) -> String {
    match resource.label().shown() {
        Some(name) => format!("`{name}` ({})", resource.kind()),
        None => format!("`{}`", resource.kind()),
    }
}

/// What a resource is called: both parts of its entry in the configuration that others know it by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// Its id, if it has one.
    pub id: Option<Arc<str>>,
    /// Its name, if it has one.
    pub name: Option<Arc<str>>,
}

impl Label {
    /// A name and no id.
    pub fn named(name: impl Into<Arc<str>>) -> Label {
        Label { id: None, name: Some(name.into()) }
    }

    /// What tools call the resource in their parameter `resource`: its name, else its id.
    pub fn shown(&self) -> Option<&Arc<str>> {
        self.name.as_ref().or(self.id.as_ref())
    }
}
