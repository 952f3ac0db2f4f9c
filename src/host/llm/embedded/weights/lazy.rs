//! A model that is loaded beside the session: slots are filled as soon as it is there, by nobody before.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::{Weights, WeightsError};
use crate::host::llm::embedded::slots::{Extraction, Phrasing, SlotFiller, Stop};

/// A slot waits for a load in progress so long, then its template is said.
const WAIT: Duration = Duration::from_secs(3);

/// How often a slot that waits looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(50);

/// How far the model is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// The file is not there yet. Nobody waits for it.
    Searching,
    /// The file is being loaded. Slots wait, but not long.
    Loading,
    /// The model fills slots.
    Ready,
    /// There is no file, and none will come.
    Absent,
    /// The file can't be used.
    Failed(WeightsError),
}

/// A model that is loaded on a thread of its own.
pub struct Lazy {
    shared: Arc<Shared>,
    wait: Duration,
}

struct Shared {
    place: Mutex<Place>,
    changed: Condvar,
    /// Nobody wants the model any more.
    stop: Stop,
}

struct Place {
    status: Status,
    weights: Option<Arc<Weights>>,
}

impl Lazy {
    /// Begins to load the file. `told` is called once, on the loading thread, with what came of it:
    /// [`Status::Ready`] or [`Status::Failed`].
    pub fn load(path: PathBuf, told: impl FnOnce(&Status) + Send + 'static) -> Lazy {
        Lazy::start(Status::Loading, || Some(path), |path| Weights::load(&path), told)
    }

    /// Loads the file once `find` says where it is. `find` may take its time, a download say: it has a thread of its
    /// own, and slots do not wait for it. None: there will be no file. `told` is called once, on that thread, with
    /// [`Status::Ready`], [`Status::Absent`] or [`Status::Failed`].
    pub fn when_found(
        find: impl FnOnce() -> Option<PathBuf> + Send + 'static,
        told: impl FnOnce(&Status) + Send + 'static,
    ) -> Lazy {
        Lazy::start(Status::Searching, find, |path| Weights::load(&path), told)
    }

    /// The same with a loader of one's own: a test's, of a small model.
    pub fn start(
        status: Status,
        find: impl FnOnce() -> Option<PathBuf> + Send + 'static,
        load: impl FnOnce(PathBuf) -> Result<Weights, WeightsError> + Send + 'static,
        told: impl FnOnce(&Status) + Send + 'static,
    ) -> Lazy {
        let place = Mutex::new(Place { status, weights: None });
        let shared = Arc::new(Shared { place, changed: Condvar::new(), stop: Stop::default() });
        let on_thread = {
            let shared = shared.clone();
            move || {
                let _over = Over(&shared);
                shared.work(find, load, told);
            }
        };
        if std::thread::Builder::new().name("load weights".to_owned()).spawn(on_thread).is_err() {
            shared.set(Status::Absent, None);
        }
        Lazy { shared, wait: WAIT }
    }

    /// Slots wait for a load in progress so long; three seconds if nobody says otherwise.
    #[must_use]
    pub fn with_wait(mut self, wait: Duration) -> Lazy {
        self.wait = wait;
        self
    }

    /// How far it is.
    pub fn status(&self) -> Status {
        self.shared.lock().status.clone()
    }

    /// The model, once it is there; waits for a load in progress.
    fn weights(&self, stop: &Stop) -> Option<Arc<Weights>> {
        let mut place = self.shared.lock();
        let mut waited = Duration::ZERO;
        while place.status == Status::Loading && waited < self.wait && !stop.is_stopped() {
            let waiting = self.shared.changed.wait_timeout(place, LOOK);
            let (changed, timeout) = waiting.unwrap_or_else(PoisonError::into_inner);
            place = changed;
            // Woken for no reason: the time is not counted, which makes the wait a little longer.
            waited += if timeout.timed_out() { LOOK } else { Duration::ZERO };
        }
        place.weights.clone()
    }
}

impl Drop for Lazy {
    fn drop(&mut self) {
        self.shared.stop.stop();
    }
}

/// When the loading thread ends by a panic of `find` or `load`, there will be no model.
struct Over<'a>(&'a Shared);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        if matches!(self.0.lock().status, Status::Searching | Status::Loading) {
            self.0.set(Status::Absent, None);
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, status: Status, weights: Option<Arc<Weights>>) {
        *self.lock() = Place { status, weights };
        self.changed.notify_all();
    }

    /// What happens on the loading thread.
    fn work(
        &self,
        find: impl FnOnce() -> Option<PathBuf>,
        load: impl FnOnce(PathBuf) -> Result<Weights, WeightsError>,
        told: impl FnOnce(&Status),
    ) {
        let loaded = find().map(|path| {
            self.lock().status = Status::Loading;
            load(path).map(Arc::new)
        });
        let (status, weights) = match loaded {
            Some(Ok(weights)) => (Status::Ready, Some(weights)),
            Some(Err(error)) => (Status::Failed(error), None),
            None => (Status::Absent, None),
        };
        self.set(status.clone(), weights.clone());
        told(&status);
        if let Some(weights) = weights {
            weights.prepare(&self.stop);
        }
    }
}

impl SlotFiller for Lazy {
    fn name(&self) -> Option<String> {
        self.shared.lock().weights.as_ref().and_then(|weights| weights.name())
    }

    fn extract(&self, slot: &Extraction<'_>, stop: &Stop) -> Option<String> {
        self.weights(stop)?.extract(slot, stop)
    }

    fn phrase(&self, slot: &Phrasing<'_>, stop: &Stop) -> Option<String> {
        self.weights(stop)?.phrase(slot, stop)
    }
}
