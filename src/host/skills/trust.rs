//! Skills that somebody has read and trusts: the hash of every file in their folders (spec `skills.md`, "Security"). Who
//! changes a byte there asks again.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::journal::private::make_folder_of;
use crate::text::hex;

/// The file with what is trusted, in the folder where programs keep their state.
const FILE: &str = "playhouse/trusted-skills.json";

/// What the file holds now.
const VERSION: u32 = 1;

/// More files are no skill's.
const MAX_FILES: usize = 10_000;

/// Why trust cannot be determined; each with the next step.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// It is not known where it is kept.
    #[error("there is no folder for the list of trusted skills; set HOME or XDG_STATE_HOME")]
    NoPlace,
    /// The file cannot be read or written.
    #[error("{path}: {cause}; check the path and its permissions")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// The file is none of ours.
    #[error("{path}: this is not a list of trusted skills ({what}); move it away, and trust the skills again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A folder cannot be trusted, whatever stands in it.
    #[error("{path}: {what}")]
    Refused {
        /// The file or folder.
        path: PathBuf,
        /// Why, and the next step.
        what: String,
    },
}

/// Every file of a skill's folder by its path there, with its hash; of a link where it leads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents(BTreeMap<String, String>);

/// Whether a skill is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is as it was when it was trusted.
    Trusted,
    /// Nobody has trusted it.
    Unknown,
    /// It was trusted, and something in it is different; what, for people.
    Changed(Vec<String>),
    /// It cannot be trusted as it is; why.
    Refused(String),
}

/// The folders that are trusted.
#[derive(Debug, Default)]
pub struct Trusted(BTreeMap<String, Contents>);

/// Where it is kept.
#[derive(Clone, Debug)]
pub struct TrustFile(PathBuf);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    version: u32,
    skills: BTreeMap<String, Contents>,
}

impl Contents {
    /// The contents of a folder now.
    ///
    /// # Errors
    /// Something cannot be read, is neither a file nor a folder, or is a link that leads out.
    pub fn of(folder: &Path) -> Result<Contents, TrustError> {
        let root = canonical(folder)?;
        let (mut files, mut pending) = (BTreeMap::new(), vec![root.clone()]);
        while let Some(folder) = pending.pop() {
            for entry in fs::read_dir(&folder).map_err(|cause| unreadable(&folder, cause))? {
                let path = entry.map_err(|cause| unreadable(&folder, cause))?.path();
                let kind = path.symlink_metadata().map_err(|cause| unreadable(&path, cause))?.file_type();
                let inside = path.strip_prefix(&root).ok().and_then(Path::to_str);
                let Some(inside) = inside.map(str::to_owned) else {
                    return Err(refused(&path, "this name is not text; rename it"));
                };
                if kind.is_dir() {
                    pending.push(path);
                } else if kind.is_symlink() {
                    files.insert(inside, link(&root, &path)?);
                } else if kind.is_file() {
                    let hash = hash_of(&path).map_err(|cause| unreadable(&path, cause))?;
                    files.insert(inside, hash);
                } else {
                    return Err(refused(&path, "this is not a file; remove it from the skill"));
                }
                if files.len() > MAX_FILES {
                    return Err(refused(&root, &format!("more than {MAX_FILES} files; name the folder of one skill")));
                }
            }
        }
        Ok(Contents(files))
    }

    /// Their paths, in order.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// How many files there are.
    pub fn n_files(&self) -> usize {
        self.0.len()
    }

    /// What is different from what was there before, by path.
    fn changes_since(&self, before: &Contents) -> Vec<String> {
        let mut changes = BTreeMap::new();
        for (path, hash) in &self.0 {
            match before.0.get(path) {
                Some(known) if known == hash => {}
                Some(_) => drop(changes.insert(path, format!("{path} changed"))),
                None => drop(changes.insert(path, format!("{path} is new"))),
            }
        }
        let gone = before.0.keys().filter(|path| !self.0.contains_key(*path));
        changes.extend(gone.map(|path| (path, format!("{path} is gone"))));
        changes.into_values().collect()
    }
}

impl Trusted {
    /// Whether the skill in a folder is trusted.
    pub fn standing(&self, folder: &Path) -> Standing {
        let now = canonical(folder).and_then(|root| Ok((key(&root)?, Contents::of(&root)?)));
        let (key, now) = match now {
            Ok(now) => now,
            Err(error) => return Standing::Refused(error.to_string()),
        };
        let Some(before) = self.0.get(&key) else { return Standing::Unknown };
        let changes = now.changes_since(before);
        if changes.is_empty() { Standing::Trusted } else { Standing::Changed(changes) }
    }

    /// The trusted folders that are not there any more.
    pub fn vanished(&self) -> impl Iterator<Item = &Path> {
        self.0.keys().map(Path::new).filter(|folder| !folder.is_dir())
    }
}

impl TrustFile {
    /// The file below this folder of state.
    ///
    /// # Errors
    /// There is no such folder.
    pub fn below(state_home: Option<&Path>) -> Result<TrustFile, TrustError> {
        state_home.map(|folder| TrustFile(folder.join(FILE))).ok_or(TrustError::NoPlace)
    }

    /// What is trusted; nothing if there is no file.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub fn read(&self) -> Result<Trusted, TrustError> {
        let text = match fs::read(&self.0) {
            Ok(text) => text,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Trusted::default()),
            Err(cause) => return Err(self.io(cause)),
        };
        let damaged = |what: String| TrustError::Damaged { path: self.0.clone(), what };
        let wire: Wire = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        if wire.version != VERSION {
            return Err(damaged(format!("its version is {}", wire.version)));
        }
        Ok(Trusted(wire.skills))
    }

    /// Keeps that a folder is trusted with these contents, which somebody has seen. Concurrent callers wait.
    ///
    /// # Errors
    /// The file cannot be written, or is damaged: then it stays as it is.
    pub fn record(&self, folder: &Path, contents: Contents) -> Result<(), TrustError> {
        let key = key(&canonical(folder)?)?;
        make_folder_of(&self.0).map_err(|cause| self.io(cause))?;
        let lock = File::create(self.0.with_extension("lock")).and_then(|lock| lock.lock().map(|()| lock));
        let _lock = lock.map_err(|cause| self.io(cause))?;
        let Trusted(mut skills) = self.read()?;
        skills.insert(key, contents);
        let text = serde_json::to_string_pretty(&Wire { version: VERSION, skills });
        let written = text.map_err(io::Error::other).and_then(|text| self.write(&text));
        written.map_err(|cause| self.io(cause))
    }

    /// Whatever happens, the file is the old one or the new one. It is readable by its owner only, as all that are made so.
    fn write(&self, text: &str) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(self.0.parent().unwrap_or(Path::new("")))?;
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        file.persist(&self.0)?;
        Ok(())
    }

    fn io(&self, cause: io::Error) -> TrustError {
        TrustError::Io { path: self.0.clone(), cause }
    }
}

/// Where a link leads, by its path in the folder.
fn link(root: &Path, path: &Path) -> Result<String, TrustError> {
    let target = path.canonicalize();
    let target = target.map_err(|_| refused(path, "this link leads nowhere; remove it from the skill"))?;
    match target.strip_prefix(root) {
        Ok(inside) => Ok(format!("link to {}", inside.display())),
        Err(_) => Err(refused(
            path,
            "this link leads out of the skill's folder, where anything may change; put the file itself there",
        )),
    }
}

fn canonical(folder: &Path) -> Result<PathBuf, TrustError> {
    folder.canonicalize().map_err(|cause| unreadable(folder, cause))
}

fn key(folder: &Path) -> Result<String, TrustError> {
    folder.to_str().map(str::to_owned).ok_or_else(|| refused(folder, "this path is not text; rename the folder"))
}

fn unreadable(path: &Path, cause: io::Error) -> TrustError {
    TrustError::Io { path: path.to_owned(), cause }
}

fn refused(path: &Path, what: &str) -> TrustError {
    TrustError::Refused { path: path.to_owned(), what: what.to_owned() }
}

/// The SHA-256 of a file, in hexadecimal digits.
fn hash_of(path: &Path) -> io::Result<String> {
    let (mut file, mut hash, mut buffer) = (File::open(path)?, Sha256::new(), vec![0; 64 * 1024]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            n => hash.update(&buffer[..n]),
        }
    }
}
