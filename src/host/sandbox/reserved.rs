//! What of a working directory no command may change: files and folders there whose names begin with a dot. Landlock
//! cannot take a folder out of one that may be written to, so they are looked at before and after.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{Metadata, symlink_metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::component::paths::is_reserved_name;

/// Larger files are known by their metadata alone, in bytes.
const HASHED: u64 = 64 << 10;

/// Files whose bytes count, too, however soon after each other they were written: what runs, and what holds keys.
const IMPORTANT: [&str; 3] = [".git/hooks", ".git/config", ".env"];

/// What stands at each reserved path.
pub(super) struct Fingerprint(BTreeMap<PathBuf, Print>);

#[derive(PartialEq)]
struct Print {
    kind: u32,
    inode: u64,
    /// Of all but folders: whoever makes a file and takes it away again changes those of its folder.
    written: Option<(u64, [i64; 4])>,
    hash: Option<[u8; 32]>,
}

impl Fingerprint {
    /// Looks at the disk.
    pub(super) fn take(working_directory: &Path) -> Fingerprint {
        let mut prints = BTreeMap::new();
        let mut pending = paths(working_directory);
        while let Some(path) = pending.pop() {
            let Ok(found) = symlink_metadata(&path) else { continue };
            let below = path.strip_prefix(working_directory).unwrap_or(&path).to_owned();
            if found.is_dir() {
                pending.extend(entries(&path));
            }
            let is_important = IMPORTANT.iter().any(|one| below.as_os_str().to_string_lossy().starts_with(one));
            let hash = is_important.then(|| hash(&path, &found)).flatten();
            prints.insert(below, Print::new(&found, hash));
        }
        Fingerprint(prints)
    }

    /// What differs, by path, in their order. A folder stands for what is below it.
    pub(super) fn changed(&self, now: &Fingerprint) -> Vec<String> {
        let all: BTreeSet<&PathBuf> = self.0.keys().chain(now.0.keys()).collect();
        let mut changed: Vec<&PathBuf> = Vec::new();
        for path in all.into_iter().filter(|path| self.0.get(*path) != now.0.get(*path)) {
            if !changed.iter().any(|folder| path.starts_with(folder)) {
                changed.push(path);
            }
        }
        changed.into_iter().map(|path| path.display().to_string()).collect()
    }
}

/// What is reserved in a folder.
pub(super) fn paths(working_directory: &Path) -> Vec<PathBuf> {
    entries(working_directory).filter(|path| path.file_name().is_some_and(is_reserved_name)).collect()
}

impl Print {
    fn new(found: &Metadata, hash: Option<[u8; 32]>) -> Print {
        let times = || [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()];
        let written = (!found.is_dir()).then(|| (found.size(), times()));
        Print { kind: found.mode(), inode: found.ino(), written, hash }
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()))
}

fn hash(path: &Path, found: &Metadata) -> Option<[u8; 32]> {
    let is_small_file = found.is_file() && found.size() <= HASHED;
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok().filter(|_| is_small_file)?.take(HASHED).read_to_end(&mut bytes).ok()?;
    Some(Sha256::digest(&bytes).into())
}
