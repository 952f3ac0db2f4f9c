//! Programs as they were: their folders in a revision of git, written to a temporary folder.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::AsyncReadExt;

use crate::child::{Child, Run};
use crate::config::child_environment;
use crate::launch::folder_of;
use crate::secrets::Secrets;

/// How long is waited for the last words of a process that has closed its output.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Programs of a revision. The files are there as long as this lives.
#[derive(Debug)]
pub struct Revision {
    /// By the path of the program as it is now.
    programs: HashMap<PathBuf, PathBuf>,
    _folder: TempDir,
}

/// A revision that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RevisionError {
    /// git does not begin.
    #[error("git cannot be started: {0}; install git, or name the file of the other program")]
    Start(io::Error),
    /// The temporary folder cannot be made or written.
    #[error("the temporary folder: {0}; make room there, or set TMPDIR")]
    Folder(io::Error),
    /// git says no.
    #[error("{folder}: git says: {said}; rev: needs a program in a git repository")]
    Git {
        /// Where it was asked.
        folder: PathBuf,
        /// Its last words.
        said: String,
    },
    /// There is no such revision.
    #[error("{folder}: there is no revision `{revision}`; `git log --oneline` shows the revisions")]
    Unknown {
        /// Where it was looked for.
        folder: PathBuf,
        /// As it was given.
        revision: String,
    },
    /// The revision is older than the program.
    #[error("revision `{revision}` has no {program}; take a later one")]
    NoProgram {
        /// As it was given.
        revision: String,
        /// The program.
        program: PathBuf,
    },
}

impl Revision {
    /// Reads the folders of these programs as they were. The repository stays as it is, its index too.
    ///
    /// # Errors
    /// There is no git, no repository, no such revision, or no such program in it.
    pub async fn read(
        revision: &str,
        programs: impl IntoIterator<Item = &Path>,
        secrets: &Arc<Secrets>,
    ) -> Result<Revision, RevisionError> {
        let root = TempDir::with_prefix("playhouse-revision-").map_err(RevisionError::Folder)?;
        let mut found = HashMap::new();
        let mut folders: HashMap<&Path, PathBuf> = HashMap::new();
        for program in programs {
            let own = folder_of(program);
            if !folders.contains_key(own) {
                let target = root.path().join(folders.len().to_string());
                folders.insert(own, check_out(revision, own, &target, secrets).await?);
            }
            let then = folders[own].join(program.file_name().unwrap_or_default());
            if !then.is_file() {
                return Err(RevisionError::NoProgram { revision: revision.to_owned(), program: program.to_owned() });
            }
            found.insert(program.to_owned(), then);
        }
        Ok(Revision { programs: found, _folder: root })
    }

    /// Where the program that is now here lies in the revision.
    pub fn program(&self, now: &Path) -> Option<&Path> {
        self.programs.get(now).map(PathBuf::as_path)
    }
}

/// Writes what `folder` was below `target`; gives where it stands there.
async fn check_out(
    revision: &str,
    folder: &Path,
    target: &Path,
    secrets: &Arc<Secrets>,
) -> Result<PathBuf, RevisionError> {
    std::fs::create_dir(target).map_err(RevisionError::Folder)?;
    // An index of our own: the repository's is somebody else's work.
    let git = Git { folder, index: target.join("index"), secrets };
    let prefix = git.run(&["rev-parse", "--show-prefix"]).await?;
    let commit = format!("{revision}^{{commit}}");
    let hash = git.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]).await;
    let hash = hash.map_err(|error| {
        if let RevisionError::Git { folder, .. } = error {
            RevisionError::Unknown { folder, revision: revision.to_owned() }
        } else {
            error
        }
    })?;
    git.run(&["read-tree", &hash]).await?;
    let files = target.join("files");
    // Of the whole tree it writes what lies below the folder, each with its whole path.
    git.run(&["checkout-index", "--all", "--quiet", &format!("--prefix={}/", files.display())]).await?;
    Ok(files.join(prefix))
}

/// git in a folder.
struct Git<'a> {
    folder: &'a Path,
    index: PathBuf,
    secrets: &'a Arc<Secrets>,
}

impl Git<'_> {
    /// What it writes, without the last line's end.
    async fn run(&self, arguments: &[&str]) -> Result<String, RevisionError> {
        let command: Vec<String> = ["git"].iter().chain(arguments).map(|&word| word.to_owned()).collect();
        let own = [("GIT_INDEX_FILE", self.index.display().to_string()), ("GIT_TERMINAL_PROMPT", "0".to_owned())];
        let environment: Vec<(String, String)> =
            child_environment().into_iter().chain(own.map(|(name, value)| (name.to_owned(), value))).collect();
        // A relative folder is one of the program's, and the process is started in it.
        let run = Run { command: &command, folder: self.folder, environment: &environment };
        let started = Child::start(&"git".into(), run, self.secrets);
        let (_child, pipes, mut witness) = started.map_err(RevisionError::Start)?;
        drop(pipes.stdin);
        let mut stdout = pipes.stdout;
        let mut written = Vec::new();
        let read = stdout.read_to_end(&mut written).await;
        let (status, said) = witness.last_words(LAST_WORDS).await;
        match (read, status) {
            (Ok(_), Some(status)) if status.success() => {
                Ok(String::from_utf8_lossy(&written).trim_end_matches('\n').to_owned())
            }
            _ => Err(RevisionError::Git { folder: self.folder.to_owned(), said }),
        }
    }
}
