//! The disk as a resource: one folder below the working directory (spec `components.md`, 4.3 and 4.7).
//!
//! Links and `..` are resolved first, inside the capability, and the path that comes of it is then opened name by name
//! without following any link: what another process swaps in between is an error, never another file.

use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cap_std::fs::Dir;
use futures_util::future::BoxFuture;
use rustix::fs::{Mode, OFlags, openat};
use serde::Deserialize;

use crate::component::paths;
use crate::directory::WorkingDirectory;
use crate::keys::count;
use crate::resource::{Label, Resource, ResourceError};
use crate::tasks;

/// The configuration of a disk.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DiskConfig {
    /// Its folder, relative to the working directory.
    pub path: String,
    /// Whether nothing may be written.
    pub read_only: bool,
    /// The most bytes that a file may have.
    #[serde(deserialize_with = "count")]
    pub max_bytes: usize,
}

impl Default for DiskConfig {
    fn default() -> Self {
        DiskConfig { path: ".".to_owned(), read_only: false, max_bytes: 1 << 20 }
    }
}

/// A folder that components may read, and write if it is not read-only. Its methods block: they are for
/// `tasks::on_thread`.
pub struct Disk {
    label: Label,
    directory: WorkingDirectory,
    config: DiskConfig,
    folder: Mutex<Option<Arc<Dir>>>,
}

impl Disk {
    /// The folder `config.path` of the working directory. Nothing is opened before it is acquired.
    pub fn new(label: Label, directory: WorkingDirectory, config: DiskConfig) -> Disk {
        Disk { label, directory, config, folder: Mutex::default() }
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// In words for the program's model, like all errors here: it is not there, too large, not a file, or outside the
    /// folder or in a reserved one.
    pub fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        let fault = |cause: io::Error| explain("read", path, &cause);
        let file = self.open(path, OFlags::RDONLY | OFlags::NONBLOCK).map_err(fault)?;
        // A pipe would never end, a device hold anything.
        if !file.metadata().map_err(fault)?.is_file() {
            return Err(format!("cannot read `{path}`: it is not a file"));
        }
        let mut bytes = Vec::new();
        file.take(self.config.max_bytes as u64 + 1).read_to_end(&mut bytes).map_err(fault)?;
        self.check_size("read", path, bytes.len())?;
        Ok(bytes)
    }

    /// Writes a file, in place of what it held. Folders that are missing are made.
    ///
    /// # Errors
    /// As [`Disk::read`], and if the disk is read-only.
    pub fn write(&self, path: &str, bytes: &[u8]) -> Result<(), String> {
        let fault = |cause: io::Error| explain("write", path, &cause);
        self.check_writable("write", path)?;
        self.check_size("write", path, bytes.len())?;
        self.make_parents(path).map_err(fault)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NONBLOCK;
        let mut file = self.open(path, flags).map_err(fault)?;
        if !file.metadata().map_err(fault)?.is_file() {
            return Err(format!("cannot write `{path}`: something that is not a file has this name"));
        }
        file.set_len(0).and_then(|()| file.write_all(bytes)).map_err(fault)
    }

    /// The names in a folder, sorted; those of folders end in `/`, reserved ones are left out.
    ///
    /// # Errors
    /// As [`Disk::read`].
    pub fn list(&self, path: &str) -> Result<Vec<String>, String> {
        let fault = |cause: io::Error| explain("list", path, &cause);
        let root = self.folder().map_err(fault)?;
        let resolved = self.resolve(&root, path).map_err(fault)?;
        let folder = open_folder(&root, &resolved).map_err(fault)?;
        let is_top = self.is_top() && resolved.as_os_str().is_empty();
        let names = folder.entries().map_err(fault)?.map(|entry| entry.map(|entry| paths::listed(&entry)));
        let mut names: Vec<String> = names.collect::<io::Result<_>>().map_err(fault)?;
        names.retain(|name| !is_top || !name.starts_with('.'));
        names.sort_unstable();
        Ok(names)
    }

    /// Deletes a file; a link is deleted, not what it leads to.
    ///
    /// # Errors
    /// As [`Disk::write`].
    pub fn remove(&self, path: &str) -> Result<(), String> {
        let fault = |cause: io::Error| explain("remove", path, &cause);
        self.check_writable("remove", path)?;
        let root = self.folder().map_err(fault)?;
        let (parent, name) = split(path).map_err(fault)?;
        let parent = self.resolve(&root, parent).map_err(fault)?;
        self.check_reserved(&parent.join(name)).map_err(fault)?;
        open_folder(&root, &parent).and_then(|folder| folder.remove_file(name)).map_err(fault)
    }

    fn folder(&self) -> io::Result<Arc<Dir>> {
        let folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner).clone();
        folder.ok_or_else(|| io::Error::other("the disk is not open"))
    }

    /// Whether the folder is the working directory itself, at whose top names with a dot are reserved.
    fn is_top(&self) -> bool {
        Path::new(&self.config.path).components().all(|part| part == Component::CurDir)
    }

    /// The path without links and `..`, if it lies in the folder and is not reserved; empty for the folder itself.
    fn resolve(&self, root: &Dir, path: &str) -> io::Result<PathBuf> {
        let resolved = plain(root, if path.is_empty() { "." } else { path })?;
        self.check_reserved(&resolved)?;
        Ok(resolved)
    }

    fn check_reserved(&self, resolved: &Path) -> io::Result<()> {
        if self.is_top() { check_reserved(resolved) } else { Ok(()) }
    }

    fn open(&self, path: &str, flags: OFlags) -> io::Result<std::fs::File> {
        let root = self.folder()?;
        let (parent, name) = match self.resolve(&root, path) {
            Ok(resolved) => {
                let name = resolved.file_name().map(ToOwned::to_owned);
                let name = name.ok_or_else(|| io::Error::other("it is a folder"))?;
                (resolved.parent().map(Path::to_owned).unwrap_or_default(), name)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && flags.contains(OFlags::CREATE) => {
                let (parent, name) = split(path)?;
                let parent = self.resolve(&root, parent)?;
                self.check_reserved(&parent.join(name))?;
                (parent, name.into())
            }
            Err(error) => return Err(error),
        };
        let parent = open_folder(&root, &parent)?;
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::WGRP | Mode::ROTH | Mode::WOTH;
        Ok(openat(&parent, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, mode)?.into())
    }

    /// Makes the folders above a file. The part that is there already is resolved first, so nothing is made below a
    /// reserved folder, by whatever link it was named.
    fn make_parents(&self, path: &str) -> io::Result<()> {
        let root = self.folder()?;
        let (parent, _) = split(path)?;
        let mut resolved = PathBuf::new();
        for part in Path::new(parent).components() {
            let next = resolved.join(part);
            resolved = match self.resolve(&root, &next.to_string_lossy()) {
                Ok(there) => there,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let Component::Normal(name) = part else { return Err(error) };
                    self.check_reserved(&next)?;
                    open_folder(&root, &resolved)?.create_dir(name)?;
                    next
                }
                Err(error) => return Err(error),
            };
        }
        Ok(())
    }

    fn check_writable(&self, action: &str, path: &str) -> Result<(), String> {
        if self.config.read_only {
            return Err(format!("cannot {action} `{path}`: the disk is read-only (`read_only` of its resource)"));
        }
        Ok(())
    }

    fn check_size(&self, action: &str, path: &str, n_bytes: usize) -> Result<(), String> {
        let max = self.config.max_bytes;
        if n_bytes > max {
            return Err(format!("cannot {action} `{path}`: it is larger than {max} bytes (`max_bytes` of the disk)"));
        }
        Ok(())
    }
}

impl Resource for Disk {
    fn kind(&self) -> &str {
        "disk"
    }

    fn label(&self) -> &Label {
        &self.label
    }

    fn acquire(&self) -> BoxFuture<'_, Result<(), ResourceError>> {
        Box::pin(async {
            let (top, path) = (self.directory.folder().clone(), self.config.path.clone());
            let may_make = !self.config.read_only;
            let opened = tasks::on_thread(move || open_disk(&top, &path, may_make)).await;
            let folder = opened.map_err(io::Error::other).flatten().map_err(|cause| {
                let advice = "`path` must be a folder below the working directory that does not begin with a dot";
                ResourceError::new(explain("open", &self.config.path, &cause), advice)
            })?;
            *self.folder.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(folder));
            Ok(())
        })
    }

    fn release(&self) -> BoxFuture<'_, ()> {
        *self.folder.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Box::pin(std::future::ready(()))
    }
}

fn open_disk(top: &Dir, path: &str, may_make: bool) -> io::Result<Dir> {
    if may_make && path.split('/').all(|part| !part.starts_with("..")) {
        top.create_dir_all(path)?;
    }
    let resolved = plain(top, path)?;
    check_reserved(&resolved)?;
    open_folder(top, &resolved)
}

/// A path below a folder without links, `..` and `.`; empty for the folder itself.
fn plain(folder: &Dir, path: &str) -> io::Result<PathBuf> {
    Ok(folder.canonicalize(path)?.components().filter(|part| *part != Component::CurDir).collect())
}

/// Names with a dot at the top of the working directory are the program's own (`.runtime`, `.playhouse`), and other
/// people's secrets (`.env`).
fn check_reserved(resolved: &Path) -> io::Result<()> {
    if resolved.components().next().is_some_and(|first| paths::is_reserved_name(first.as_os_str())) {
        let fault = "names that begin with a dot are reserved at the top of the working directory";
        return Err(io::Error::other(fault));
    }
    Ok(())
}

/// Opens a folder name by name, following no link: `resolved` has none.
fn open_folder(root: &Dir, resolved: &Path) -> io::Result<Dir> {
    let mut folder = root.try_clone()?;
    for part in resolved.components() {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(&folder, part.as_os_str(), flags, Mode::empty())?;
        folder = Dir::from_std_file(opened.into());
    }
    Ok(folder)
}

/// The folder and the name of a file that is not there yet.
fn split(path: &str) -> io::Result<(&str, &str)> {
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    if name.is_empty() || name == "." || name == ".." {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it does not name a file"));
    }
    // `/name` would lose the slash that makes it absolute.
    let parent = if parent.is_empty() && path.starts_with('/') { "/" } else { parent };
    Ok((parent, name))
}

fn explain(action: &str, path: &str, cause: &io::Error) -> String {
    paths::explain(action, path, "the disk's folder", cause)
}
