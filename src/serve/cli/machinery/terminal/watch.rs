//! `--watch`: a program's files are looked at again and again, and loaded anew when one of them was saved.
//!
//! They are polled, not watched through the system. A program is a handful of files, and looking at their dates a
//! few times a second costs nothing that could be measured; it sees what is saved by renaming, what is saved on a
//! network drive or a mounted folder (where the system's own watchers stay silent), and a file that is imported and
//! not there yet; and it needs no further crate. A change counts when it has lasted from one look to the next: an
//! editor that is in the middle of writing is not read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::diagnostic::{Severity, render};
use crate::host::program::{ProgramFileError, ProgramText, ToolInventory, load_files_by};
use crate::lang::Loaded;
use crate::serve::cli::machinery::console::{Console, Failure, count};
use crate::serve::cli::machinery::output::n_of;
use crate::serve::cli::machinery::terminal::{Asked, Input, Names, Typed};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(250);

/// What tells a saved file from the one before: when it was written, its length. None: it is not there.
type Stamp = Option<(Duration, u64)>;

/// The files of a program.
pub(crate) struct Watch {
    roots: Vec<PathBuf>,
    tools: ToolInventory,
    color: bool,
    /// All files that were read or looked for, as they were then.
    stamps: BTreeMap<PathBuf, Stamp>,
    /// As they were at the last look, if that was different: they have to be so twice.
    changed: Option<BTreeMap<PathBuf, Stamp>>,
    /// The text that was loaded last.
    hash: String,
    looks: Interval,
    /// A text that can be run was saved since the last session began.
    is_newer: bool,
}

/// What came of a change.
pub(crate) enum Reloaded {
    /// The text is the same.
    Same,
    /// The text can be run.
    Good,
    /// It cannot: what people are told.
    Bad(String),
}

impl Watch {
    /// Watches these files and what they import, from the first [`Watch::load`] on. To be made inside a runtime.
    pub(crate) fn new(roots: &[PathBuf], color: bool) -> Watch {
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Watch {
            roots: roots.to_vec(),
            tools: ToolInventory::default(),
            color,
            stamps: BTreeMap::new(),
            changed: None,
            hash: String::new(),
            looks,
            is_newer: false,
        }
    }

    /// Loads the program from its files as they are. `tools` are all there are.
    ///
    /// # Errors
    /// A given file cannot be read.
    pub(crate) fn load(&mut self, tools: &ToolInventory) -> Result<(ProgramText, Loaded), ProgramFileError> {
        self.tools = tools.clone();
        let mut stamps = BTreeMap::new();
        // The date first: what is saved while it is being read counts as changed.
        let mut read = |path: &Path| {
            stamps.insert(path.to_owned(), stamp(std::fs::metadata(path)));
            std::fs::read_to_string(path)
        };
        let loaded = load_files_by(&self.roots, tools, &mut read);
        if let Ok((text, _)) = &loaded {
            self.hash = text.hash();
        }
        self.stamps = stamps;
        self.changed = None;
        loaded
    }

    /// Whether there is a text for a new session; asked once.
    pub(crate) fn take_newer(&mut self) -> bool {
        std::mem::take(&mut self.is_newer)
    }

    /// Waits until a file has been saved. Cancel safe.
    pub(crate) async fn saved(&mut self) {
        loop {
            self.looks.tick().await;
            let mut now = BTreeMap::new();
            for path in self.stamps.keys() {
                now.insert(path.clone(), stamp(tokio::fs::metadata(path).await));
            }
            if now == self.stamps {
                self.changed = None;
            } else if self.changed.as_ref() == Some(&now) {
                return;
            } else {
                self.changed = Some(now);
            }
        }
    }

    /// Loads and checks the program again.
    pub(crate) fn reload(&mut self) -> Reloaded {
        let before = std::mem::take(&mut self.hash);
        let loaded = match self.load(&self.tools.clone()) {
            Ok((_, loaded)) => loaded,
            Err(error) => {
                self.is_newer = false;
                return Reloaded::Bad(format!("{error}\n"));
            }
        };
        if self.hash == before {
            return Reloaded::Same;
        }
        let n_errors = n_of(&loaded.diagnostics, Severity::Error);
        self.is_newer = n_errors == 0;
        match n_errors {
            0 => Reloaded::Good,
            n => {
                let findings = render(&loaded.diagnostics, &loaded.program.sources, self.color);
                Reloaded::Bad(format!("{findings}\n{}\n", count(n, "error")))
            }
        }
    }
}

fn stamp(metadata: std::io::Result<std::fs::Metadata>) -> Stamp {
    let metadata = metadata.ok()?;
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Some((modified.unwrap_or_default(), metadata.len()))
}

/// After the end of a session with `--watch`: waits until there is another text, or somebody wants another session
/// of the same. False: somebody wants to leave.
pub(crate) async fn is_wanted_again(console: &Console, input: &mut Input, watch: &mut Watch) -> Result<bool, Failure> {
    console.remark("waiting for a change of the program; press Enter to start again, or Ctrl-D to leave");
    loop {
        input.ask(console, Asked { prompt: "> ", names: Names::default(), is_kept: false });
        let reloaded = tokio::select! {
            typed = input.next() => match typed.map_err(|cause| Failure::failed(format!("standard input: {cause}")))? {
                Typed::Line(line) if ["", "/restart"].contains(&line.trim()) => return Ok(true),
                Typed::Line(line) if line.trim() != "/quit" => {
                    console.remark("no session is running; press Enter to start one, or Ctrl-D to leave");
                    continue;
                }
                Typed::Cleared { .. } => continue,
                Typed::Continued => {
                    input.suspend(console).await;
                    continue;
                }
                Typed::Line(_) | Typed::Interrupt { .. } | Typed::End => return Ok(false),
            },
            () = watch.saved() => watch.reload(),
        };
        match reloaded {
            Reloaded::Same => {}
            Reloaded::Good => {
                watch.take_newer();
                input.suspend(console).await;
                console.remark("reloaded");
                return Ok(true);
            }
            Reloaded::Bad(findings) => {
                input.suspend(console).await;
                console.tell(&findings);
            }
        }
    }
}
