//! The files of a component that its user may edit: `.runtime` below the working directory (spec `components.md`, 4.3).
//!
//! The first use of an instance copies the component's folder of configuration there; what is there stays as it is from
//! then on, and is the base of merging.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;

use crate::component::identity::{Identity, bad_part};
use crate::component::paths::{RUNTIME, leads_out};

/// A component has at most so many files of configuration.
const MAX_FILES: usize = 1_000;

/// All of them together have at most so many bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Folders inside each other.
const MAX_DEPTH: usize = 16;

/// The instance where none is named.
const DEFAULT_INSTANCE: &str = "0";

/// Why there are no files of an instance.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// The identity cannot be a path.
    #[error("{key} `{text}` cannot be part of a path: it {why}")]
    BadPart {
        /// Which key.
        key: &'static str,
        /// Its text.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A file of the component cannot be copied.
    #[error("cannot copy the component's file `{path}`: {why}")]
    Source {
        /// The file, from the component's folder.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A folder or file below the working directory cannot be used.
    #[error("cannot use `{path}` of the working directory: {cause}")]
    Target {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
}

/// The files of one instance.
#[derive(Debug)]
pub struct RuntimeFolder {
    /// Its path below the working directory.
    pub path: PathBuf,
    /// The folder.
    pub folder: Dir,
    /// Whether it was made now.
    pub is_new: bool,
}

/// Where the files of an instance are, relative to the working directory. Without an `instance_id` they are shared by
/// all instances of the component that have none.
///
/// # Errors
/// A part of the identity, or the instance, would lead elsewhere.
pub fn runtime_path(identity: &Identity, instance_id: Option<&str>) -> Result<PathBuf, RuntimeError> {
    let group = identity.group_id.split('.').map(|part| ("group_id", &*identity.group_id, part));
    let instance = instance_id.unwrap_or(DEFAULT_INSTANCE);
    let others = [
        ("artifact_id", &*identity.artifact_id, &*identity.artifact_id),
        ("version", &*identity.version, &*identity.version),
        ("instance_id", instance, instance),
    ];
    let mut path = PathBuf::from(RUNTIME);
    for (key, text, part) in group.chain(others) {
        if let Some(why) = bad_part(part) {
            return Err(RuntimeError::BadPart { key, text: text.to_owned(), why });
        }
        path.push(part);
    }
    Ok(path)
}

/// Makes sure that the files of an instance are there: the first use copies those of `source`, the component's folder
/// of configuration; later runs keep what its user has made of them. A copy is whole or not there, also after a crash
/// and when two processes begin at once.
///
/// # Errors
/// The identity cannot be a path, a file of the component cannot be copied (a link that leads out of its folder among
/// them), or the folder cannot be made.
pub fn prepare_runtime(
    working_directory: &Dir,
    source: &Dir,
    identity: &Identity,
    instance_id: Option<&str>,
) -> Result<RuntimeFolder, RuntimeError> {
    let path = runtime_path(identity, instance_id)?;
    let target = |path: &Path| {
        let path = path.to_owned();
        move |cause: io::Error| RuntimeError::Target { path, cause }
    };
    let mut is_new = false;
    if !is_folder(working_directory, &path).map_err(target(&path))? {
        if let Some(parent) = path.parent() {
            working_directory.create_dir_all(parent).map_err(target(parent))?;
        }
        let staging = Path::new(RUNTIME).join(format!(".staging-{:016x}", fastrand::u64(..)));
        working_directory.create_dir(&staging).map_err(target(&staging))?;
        let copied = copy_all(source, working_directory, &staging).and_then(|()| {
            match working_directory.rename(&staging, working_directory, &path) {
                Ok(()) => {
                    is_new = true;
                    Ok(())
                }
                // Somebody else was first: what is there is kept.
                Err(_) if is_folder(working_directory, &path).unwrap_or(false) => {
                    working_directory.remove_dir_all(&staging).map_err(target(&staging))
                }
                Err(cause) => Err(target(&path)(cause)),
            }
        });
        if let Err(error) = copied {
            // The copy failed; that its remains cannot be removed would hide why.
            let _ = working_directory.remove_dir_all(&staging);
            return Err(error);
        }
    }
    let folder = working_directory.open_dir(&path).map_err(target(&path))?;
    Ok(RuntimeFolder { path, folder, is_new })
}

fn is_folder(directory: &Dir, path: &Path) -> io::Result<bool> {
    match directory.metadata(path) {
        Ok(found) if found.is_dir() => Ok(true),
        Ok(_) => Err(io::Error::new(io::ErrorKind::NotADirectory, "something that is not a folder has this name")),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(cause) => Err(cause),
    }
}

/// Copies all files of `source` into the folder `staging`. Links to files inside of `source` are copied as files.
fn copy_all(source: &Dir, directory: &Dir, staging: &Path) -> Result<(), RuntimeError> {
    let mut n_files = 0;
    let mut n_left = MAX_BYTES;
    let mut pending = vec![(PathBuf::new(), 0)];
    while let Some((folder, depth)) = pending.pop() {
        let refused = |path: &Path, why: &str| RuntimeError::Source { path: path.to_owned(), why: why.to_owned() };
        let shown = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
        for entry in source.read_dir(shown).map_err(|cause| refused(shown, &told(&cause)))? {
            let entry = entry.map_err(|cause| refused(shown, &told(&cause)))?;
            let path = folder.join(entry.file_name());
            let fault = |cause: io::Error| refused(&path, &told(&cause));
            let kind = entry.file_type().map_err(fault)?;
            n_files += 1;
            if n_files > MAX_FILES {
                return Err(refused(&path, &format!("there are more than {MAX_FILES} files")));
            }
            if kind.is_dir() {
                if depth == MAX_DEPTH {
                    return Err(refused(&path, &format!("folders are nested deeper than {MAX_DEPTH} levels")));
                }
                let copy = staging.join(&path);
                directory.create_dir(&copy).map_err(|cause| RuntimeError::Target { path: copy, cause })?;
                pending.push((path, depth + 1));
            } else if source.metadata(&path).map_err(fault)?.is_file() {
                n_left = copy(source, directory, &path, &staging.join(&path), n_left)?;
            } else {
                return Err(refused(&path, "it is a link to a folder, or neither a file nor a folder"));
            }
        }
    }
    Ok(())
}

/// Copies one file of at most `n_left` bytes; gives how many are left for others.
fn copy(source: &Dir, directory: &Dir, from: &Path, to: &Path, n_left: u64) -> Result<u64, RuntimeError> {
    let fault = |cause: io::Error| RuntimeError::Source { path: from.to_owned(), why: told(&cause) };
    let mut file = source.open(from).map_err(fault)?.take(n_left + 1);
    let target = |cause| RuntimeError::Target { path: to.to_owned(), cause };
    let mut copy = directory.create(to).map_err(target)?;
    let n_copied = io::copy(&mut file, &mut copy).map_err(target)?;
    n_left.checked_sub(n_copied).ok_or_else(|| RuntimeError::Source {
        path: from.to_owned(),
        why: format!("the files have more than {MAX_BYTES} bytes"),
    })
}

fn told(cause: &io::Error) -> String {
    if leads_out(cause) {
        "it is a link that leads out of the component's folder".to_owned()
    } else {
        cause.to_string()
    }
}
