//! The library: playbooks that come with the binary. Programs import them as `playhouse:confirm`; a file on disk
//! never stands in for one of them.

#[cfg(feature = "lsp")]
use std::io::{self, Write};
#[cfg(feature = "lsp")]
use std::path::{Path, PathBuf};

use playhouse_lang::diagnostic::{Diagnostic, Severity};
use playhouse_lang::span::Sources;
use playhouse_lang::spelling::nearest;

/// What the paths of the library's files begin with.
pub const SCHEME: &str = "playhouse:";

/// The name of the program that stands for a file of the library which is given instead of imported.
const STAND_IN: &str = "playhouse";

/// One file of the library. It has no agent of its own, so its playbooks join the agent that imports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LibraryFile {
    /// Its path, as it is imported and shown: `playhouse:confirm`.
    pub path: &'static str,
    /// What it is for, in one line.
    pub summary: &'static str,
    /// The whole text.
    pub text: &'static str,
}

/// All files of the library, by path.
pub const FILES: [LibraryFile; 5] = [
    LibraryFile {
        path: "playhouse:confirm",
        summary: "Confirm: a question that is answered by yes or no",
        text: include_str!("playbooks/confirm.md"),
    },
    LibraryFile {
        path: "playhouse:form",
        summary: "AskForText, AskForEmail, AskForNumber, AskForChoice: a field of a form, asked for until it is right",
        text: include_str!("playbooks/form.md"),
    },
    LibraryFile {
        path: "playhouse:hand-over",
        summary: "HandOver: when the user asks for a person, or when it is called",
        text: include_str!("playbooks/hand-over.md"),
    },
    LibraryFile {
        path: "playhouse:small-talk",
        summary: "SmallTalk: answers small talk twice, then leads back to the subject",
        text: include_str!("playbooks/small-talk.md"),
    },
    LibraryFile {
        path: "playhouse:summary",
        summary: "Summarise: the conversation so far, in a few sentences",
        text: include_str!("playbooks/summary.md"),
    },
];

#[cfg(feature = "lsp")]
impl LibraryFile {
    /// Where its copy in a folder is: `playhouse:confirm` as `confirm.md`.
    pub fn copy_in(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.md", self.path.strip_prefix(SCHEME).unwrap_or(self.path)))
    }

    /// Writes its copy, which nobody may change, unless it is there; where it is.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_copy(&self, folder: &Path) -> io::Result<PathBuf> {
        let copy = self.copy_in(folder);
        if std::fs::read_to_string(&copy).is_ok_and(|there| there == self.text) {
            return Ok(copy);
        }
        std::fs::create_dir_all(folder)?;
        // Whole or not at all: two editors may do so at once.
        let mut written = tempfile::NamedTempFile::new_in(folder)?;
        written.write_all(self.text.as_bytes())?;
        let mut permissions = written.as_file().metadata()?.permissions();
        permissions.set_readonly(true);
        written.as_file().set_permissions(permissions)?;
        written.persist(&copy).map_err(|error| error.error)?;
        Ok(copy)
    }
}

/// Whether `path` means the library. A file that is really called so is `./playhouse:…`.
pub fn is_library(path: &str) -> bool {
    path.starts_with(SCHEME)
}

/// The file with this path, which begins with [`SCHEME`].
///
/// # Errors
/// There is none; in words that name those that are there.
pub fn find(path: &str) -> Result<LibraryFile, String> {
    if let Some(file) = FILES.iter().find(|file| file.path == path) {
        return Ok(*file);
    }
    let all: Vec<String> = FILES.iter().map(|file| format!("`{}`", file.path)).collect();
    // What all have in common says nothing, and `playhouse:confirm.md` means what it seems to.
    let name = |path: &'static str| path.strip_prefix(SCHEME).unwrap_or(path);
    let wanted = path.strip_prefix(SCHEME).unwrap_or(path);
    let wanted = wanted.strip_suffix(".md").unwrap_or(wanted);
    Err(match nearest(wanted, FILES.iter().map(|file| name(file.path))) {
        Some(name) => format!("the library has no such file; did you mean `{SCHEME}{name}`? It has {}", all.join(", ")),
        None => format!("the library has no such file; it has {}", all.join(", ")),
    })
}

/// A program that holds nothing but the file with this path, so that it can be checked by itself: its name and text.
pub(crate) fn stand_in(path: &str) -> (String, String) {
    (format!("{STAND_IN} ({path})"), format!("# Library\n\n!import {path}\n"))
}

/// Whether a finding is of use to the author of a program. What a file of the library offers need not be used, and
/// nobody has written the program that stands for one.
pub(crate) fn concerns_author(finding: &Diagnostic, sources: &Sources) -> bool {
    let name = sources.get(finding.span.file).map_or("", |file| &*file.name);
    let is_shipped = is_library(name) || name.starts_with(&format!("{STAND_IN} ("));
    finding.severity == Severity::Error || !is_shipped || !matches!(finding.code, "never-called" | "implicit-root")
}
