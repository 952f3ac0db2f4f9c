//! Which paths a component may touch (spec `components.md`, 4.3): below the working directory, and not in a folder
//! there whose name begins with a dot.
//!
//! `..` and links are resolved before anything is compared. What comes back is used with the folder's capability
//! (cap-std), so that a link which is put there in between leads nowhere else.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::DirEntry;

/// More links on one way are a circle.
const MAX_LINKS: usize = 40;

/// The folder that is there for us alone.
pub const RUNTIME: &str = ".runtime";

/// Why a path may not be touched.
#[derive(Debug, thiserror::Error)]
pub enum PathRefused {
    /// It leads out.
    #[error("it is outside the working directory; paths are relative to that folder")]
    Outside,
    /// It is in a folder that is reserved.
    #[error("folders of the working directory that begin with a dot are reserved, as `{0}` is")]
    Reserved(String),
    /// It holds too many links.
    #[error("it leads through more than {MAX_LINKS} links")]
    TooManyLinks,
    /// It cannot be followed.
    #[error("it cannot be followed: {0}")]
    Io(#[from] io::Error),
}

/// Whether this is cap-std's answer to whatever would leave a folder.
pub(crate) fn leads_out(cause: &io::Error) -> bool {
    cause.kind() == io::ErrorKind::PermissionDenied && cause.raw_os_error().is_none()
}

/// Why something cannot be done with a path below `folder`, in words for the program's model.
pub(crate) fn explain(action: &str, path: &str, folder: &str, cause: &io::Error) -> String {
    let why = if cause.kind() == io::ErrorKind::NotFound {
        "there is no such file or folder".to_owned()
    } else if leads_out(cause) {
        format!("it is outside {folder}; paths are relative to that folder")
    } else {
        cause.to_string()
    };
    format!("cannot {action} `{path}`: {why}")
}

/// An entry of a folder as it is listed: the name of a folder ends in `/`.
pub(crate) fn listed(entry: &DirEntry) -> String {
    let mark = if entry.file_type().is_ok_and(|kind| kind.is_dir()) { "/" } else { "" };
    entry.file_name().to_string_lossy().into_owned() + mark
}

/// Resolves `path`, relative to `root` or absolute, and gives what is left of it below `root`: no `..`, no links, empty
/// for `root` itself. What is not there yet is taken as it is written. `root` is canonical.
///
/// # Errors
/// It lies outside of `root`, or in a folder there whose name begins with a dot.
pub fn resolve(root: &Path, path: &Path) -> Result<PathBuf, PathRefused> {
    let mut done = root.to_owned();
    let mut n_links = 0;
    let mut pending: Vec<OsString> = Vec::new();
    push(&mut pending, path);
    while let Some(part) = pending.pop() {
        match Path::new(&part).components().next() {
            Some(Component::RootDir | Component::Prefix(_)) => done = PathBuf::from(&part),
            Some(Component::ParentDir) => {
                done.pop();
            }
            Some(Component::CurDir) | None => {}
            Some(Component::Normal(name)) => {
                done.push(name);
                match done.symlink_metadata() {
                    Ok(found) if found.is_symlink() => {
                        n_links += 1;
                        if n_links > MAX_LINKS {
                            return Err(PathRefused::TooManyLinks);
                        }
                        let target = done.read_link()?;
                        done.pop();
                        push(&mut pending, &target);
                    }
                    Ok(_) => {}
                    // What cannot be looked at from here is not below `root`, or is not there.
                    Err(_) => {}
                }
            }
        }
    }
    let below = done.strip_prefix(root).map_err(|_| PathRefused::Outside)?;
    reserved(root, below)?;
    Ok(below.to_owned())
}

/// Puts the parts of a path on top of what is still to be done.
fn push(pending: &mut Vec<OsString>, path: &Path) {
    pending.extend(path.components().rev().map(|part| part.as_os_str().to_owned()));
}

/// Whether what has this name at the top of a working directory is none of a component's business.
pub(crate) fn is_reserved_name(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// `below` is resolved. A file whose name begins with a dot is no folder, so it is not reserved.
fn reserved(root: &Path, below: &Path) -> Result<(), PathRefused> {
    let mut parts = below.components();
    let Some(first) = parts.next() else { return Ok(()) };
    let name = first.as_os_str();
    if !is_reserved_name(name) {
        return Ok(());
    }
    let is_folder = parts.next().is_some() || name == RUNTIME || root.join(name).is_dir();
    if is_folder { Err(PathRefused::Reserved(name.to_string_lossy().into_owned())) } else { Ok(()) }
}
