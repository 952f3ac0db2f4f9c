//! What commands have in common that offer programs: names, the store of the sessions, its key, and the end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

use crate::host::config::FileConfig;
use crate::host::journal::address::Place;
use crate::host::residents::error::ResidentError;
use crate::host::residents::{Keeping, Residents};
use crate::host::serve_options::ServeOptions;
use crate::serve::cli::machinery::console::{Console, Failure};
use crate::serve::cli::machinery::world::{LiveArguments, launch_failure, tell, workshop};
use crate::serve::http::access::cookie::Cookies;

/// What begins to serve the engine's calls, when a server is one of many.
pub(crate) type Joining = Box<dyn FnOnce(&Arc<Residents>) -> JoinHandle<()>>;

/// Where a server's sessions are kept.
pub(crate) struct Home {
    pub(crate) keeping: Keeping,
    /// The key with which it signs what others hold for it.
    pub(crate) key: [u8; 64],
    /// Where that is, for people.
    pub(crate) words: String,
    pub(crate) joins: Option<Joining>,
}

impl Home {
    /// In a store in SQLite.
    pub(crate) async fn in_file(place: &Place) -> Result<Home, Failure> {
        let keeping = Keeping::in_file(place).await?;
        Ok(Home { keeping, key: key(place)?, words: place.path().display().to_string(), joins: None })
    }
}

/// The store's place: `given`, else a file with this name beside the sessions of `run`.
pub(crate) fn store(console: &Console, given: Option<&Path>, name: &str) -> Result<Place, Failure> {
    let place = match given {
        Some(path) => Place::at(path),
        None => {
            let sessions = workshop(console).sessions_place().map_err(Failure::wrong)?;
            Place::at(&sessions.path().with_file_name(format!("{name}.sqlite")))
        }
    };
    for_server("--journal", place)
}

/// The store's place at a path that was named with this option.
#[cfg(feature = "restate")]
pub(crate) fn store_at(option: &str, path: &Path) -> Result<Place, Failure> {
    for_server(option, Place::at(path))
}

fn for_server(option: &str, place: Place) -> Result<Place, Failure> {
    match place.is_for_one() || !place.has_ending() {
        true => Err(Failure::wrong(format!(
            "{option}: {} is not a store for a server; name a `.sqlite` or `.db` file",
            place.path().display()
        ))),
        false => Ok(place),
    }
}

/// `FILE`, or `NAME=FILE,FILE`.
fn program_of(text: &str) -> Result<(String, Vec<PathBuf>), Failure> {
    let named = text.split_once('=').filter(|(name, _)| !name.is_empty() && !name.contains(['/', '.']));
    let (name, files) = match named {
        Some((name, files)) => (name.to_owned(), files.split(',').map(PathBuf::from).collect()),
        None => {
            let path = PathBuf::from(text);
            let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            (stem, vec![path])
        }
    };
    let is_good = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    match !name.is_empty() && name.chars().all(is_good) {
        true => Ok((name, files)),
        false => Err(Failure::wrong(format!(
            "{text}: `{name}` cannot be part of an address; give the program a name of letters, digits, `-` and `_`, \
             as in desk={text}"
        ))),
    }
}

/// Offers programs, whose sessions are kept there; and what is configured beside the first.
pub(crate) async fn offer(
    console: &Console,
    live: &LiveArguments,
    programs: &[String],
    keeping: Keeping,
) -> Result<(Arc<Residents>, ServeOptions), Failure> {
    let programs: Vec<_> = programs.iter().map(|text| program_of(text)).collect::<Result<_, _>>()?;
    let first = programs.first().and_then(|(_, files)| files.first());
    let config = FileConfig::find(live.world.config.as_deref(), first.map(PathBuf::as_path));
    let options = config.map_err(Failure::wrong)?.serve;
    let failed = |error| resident_failure(console, error);
    let residents = Residents::new(live.launch(console, true), keeping, &options);
    for (name, files) in &programs {
        if residents.programs().iter().any(|offered| *offered.name == **name) {
            return Err(Failure::wrong(format!(
                "two programs are called {name}; rename one, as in other={}",
                files[0].display()
            )));
        }
        let offered = residents.offer(name, files).await.map_err(failed)?;
        tell(console, &offered.opened.remarks);
    }
    Ok((residents, options))
}

/// What is said where a server can do nothing.
pub(crate) fn resident_failure(console: &Console, error: ResidentError) -> Failure {
    if let ResidentError::Launch(error) = error {
        return launch_failure(console, error);
    }
    if let ResidentError::Journal(error) = error {
        return error.into();
    }
    Failure::failed(error)
}

/// The key with which a server signs what others hold for it.
fn key(place: &Place) -> Result<[u8; 64], Failure> {
    let path = place.path().with_extension("key");
    Cookies::key_in(&path).map_err(|cause| {
        Failure::failed(format!(
            "{}: {cause}; this is the server's key; remove it, and the server makes another",
            path.display()
        ))
    })
}

/// Comes when the process is to end.
pub(crate) fn ended() -> Result<impl Future<Output = ()>, Failure> {
    let listen = |kind| signal(kind).map_err(|cause| Failure::failed(format!("signals: {cause}")));
    let (mut terminate, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
