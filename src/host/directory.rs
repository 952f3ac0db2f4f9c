//! The working directory as a capability (cap-std): neither `..` nor an absolute path nor a symbolic link leads out of
//! it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::component::paths::{PathRefused, resolve};

/// The folder all file tools stay below. Cheap to clone.
#[derive(Clone, Debug)]
pub struct WorkingDirectory {
    folder: Arc<Dir>,
    /// Its canonical path: what absolute paths and links are compared with.
    root: Arc<Path>,
}

impl WorkingDirectory {
    /// Opens the folder.
    ///
    /// # Errors
    /// It is not there, or is no folder.
    pub fn open(path: &Path) -> io::Result<WorkingDirectory> {
        let folder = Arc::new(Dir::open_ambient_dir(path, ambient_authority())?);
        Ok(WorkingDirectory { folder, root: path.canonicalize()?.into() })
    }

    /// Where `path`, relative or absolute, leads below the folder, `..` and links resolved; empty for the folder
    /// itself. To be opened with the capability. Looks at the disk.
    ///
    /// # Errors
    /// It leads out, or into a folder that is reserved (spec `components.md`, 4.3).
    pub fn resolve(&self, path: &str) -> Result<PathBuf, PathRefused> {
        resolve(&self.root, Path::new(path))
    }

    /// Its canonical path.
    pub(crate) fn root(&self) -> &Arc<Path> {
        &self.root
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Arc<Dir> {
        &self.folder
    }
}
