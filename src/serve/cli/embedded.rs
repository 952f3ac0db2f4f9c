//! The embedded model of a run: its weights are loaded, fetched beside the conversation, or missing, and what people
//! are told of that. The run starts at once in every case.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::host::config::{Config, ModelId};
use crate::host::llm::embedded::Embedded;
use crate::host::llm::embedded::slots::{SlotFiller, Unfilled};
#[cfg(feature = "embedded")]
use crate::host::llm::embedded::weights::{self, Lazy, Status};
use crate::host::models::background::Background;
use crate::host::models::catalogue::DEFAULT;
use crate::host::models::find::{By, Found, find};
use crate::host::models::offer::{Offer, offer};
use crate::host::models::pull::Pull;
use crate::serve::cli::console::{Console, Failure};

/// The embedded model, opened.
pub(crate) struct Opened {
    /// The model.
    pub(crate) llm: Embedded,
    /// What is told of its weights when the run begins.
    pub(crate) remark: Option<String>,
    /// Its weights.
    pub(crate) weights: RunWeights,
}

/// The weights of a run: perhaps still on their way.
#[derive(Default)]
pub(crate) struct RunWeights {
    background: Option<Background>,
    /// Why they could not be loaded.
    failure: Arc<Mutex<Option<String>>>,
}

impl RunWeights {
    /// The run is over. Gives the line that people are told, if there is something to tell.
    pub(crate) async fn end(self) -> Option<String> {
        let fetched = match self.background {
            Some(background) => background.end().await,
            None => None,
        };
        fetched.or_else(|| self.failure.lock().unwrap_or_else(PoisonError::into_inner).take())
    }
}

/// Opens it; `named` is what stands after `embedded:`. Needs a runtime where weights are fetched.
pub(crate) fn open(console: &Console, config: &Config, named: Option<&str>) -> Result<Opened, Failure> {
    let config = config.embedded(named);
    let found = find(&config);
    let is_terminal = console.is_conversation && console.is_watched;
    let offer = offer(&found, is_terminal, config.may_download);
    if let Offer::Refuse(why) = &offer {
        return Err(Failure::wrong(why.clone()));
    }
    if let Found::Ready { path, by: By::ModelId | By::Configuration, .. } = &found {
        check(path)?;
    }
    let mut weights = RunWeights::default();
    let filler = match &offer {
        Offer::Fetch => {
            let background = Background::start(Pull::new(&config), Arc::new(|_| {}));
            let filler = fetched(&background, &weights.failure);
            weights.background = Some(background);
            filler
        }
        Offer::Use(path) => loaded(path, &weights.failure),
        Offer::Tell | Offer::Refuse(_) => Arc::new(Unfilled),
    };
    let remark = if cfg!(feature = "embedded") {
        offer.line(config.known_model().unwrap_or(&DEFAULT))
    } else {
        Some("this build has no code for weights (it was made without the feature `embedded`)".to_owned())
    };
    let id = ModelId::Embedded(named.map(str::to_owned)).to_string();
    Ok(Opened { llm: Embedded::new(filler).with_id(id), remark, weights })
}

/// A file that somebody has named holds a model that runs here.
#[cfg(feature = "embedded")]
fn check(path: &Path) -> Result<(), Failure> {
    weights::check(path).map_err(|error| Failure::wrong(error.to_string()))
}

#[cfg(feature = "embedded")]
fn loaded(path: &Path, failure: &Arc<Mutex<Option<String>>>) -> Arc<dyn SlotFiller> {
    Arc::new(Lazy::load(path.to_owned(), noted(failure)))
}

/// Weights that are loaded when they have come.
#[cfg(feature = "embedded")]
fn fetched(background: &Background, failure: &Arc<Mutex<Option<String>>>) -> Arc<dyn SlotFiller> {
    let mut outcome = background.outcome();
    let runtime = tokio::runtime::Handle::current();
    let find = move || {
        let outcome = runtime.block_on(outcome.wait_for(Option::is_some)).ok()?;
        outcome.as_ref()?.as_ref().ok().cloned()
    };
    Arc::new(Lazy::when_found(find, noted(failure)))
}

/// Told at the end: in the middle of a conversation it would be of no use.
#[cfg(feature = "embedded")]
fn noted(failure: &Arc<Mutex<Option<String>>>) -> impl FnOnce(&Status) + Send + 'static {
    let failure = failure.clone();
    move |status| match status {
        Status::Failed(error) => {
            let line = format!("the embedded model went on with templates: {error}");
            *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(line);
        }
        Status::Searching | Status::Loading | Status::Ready | Status::Absent => {}
    }
}

#[cfg(not(feature = "embedded"))]
fn check(_path: &Path) -> Result<(), Failure> {
    Ok(())
}

#[cfg(not(feature = "embedded"))]
fn loaded(_path: &Path, _failure: &Arc<Mutex<Option<String>>>) -> Arc<dyn SlotFiller> {
    Arc::new(Unfilled)
}

#[cfg(not(feature = "embedded"))]
fn fetched(_background: &Background, _failure: &Arc<Mutex<Option<String>>>) -> Arc<dyn SlotFiller> {
    Arc::new(Unfilled)
}
