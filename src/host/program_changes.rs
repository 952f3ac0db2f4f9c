//! What has become of a program's files since a session began with them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use similar::{DiffOp, TextDiff};

use crate::host::journal::wire::FileWire;
use crate::host::program::ProgramText;
use crate::lang::program::Program;

/// What has become of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Its name now; of one that is gone its name then.
    pub name: Arc<str>,
    /// What.
    pub kind: FileChangeKind,
}

/// What can become of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChangeKind {
    /// The program has it now.
    Added,
    /// The program does not have it any more.
    Removed,
    /// Its text is another one.
    Changed {
        /// Lines that are different, as far as one stands where another stood.
        changed: usize,
        /// Lines that are new.
        added: usize,
        /// Lines that are gone.
        removed: usize,
        /// The playbooks and plans that are different, in the order of their names.
        playbooks: Vec<PlaybookChange>,
    },
}

/// What has become of a playbook or plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaybookChange {
    /// Its name.
    pub name: Arc<str>,
    /// Whether it was there then.
    pub was: bool,
    /// Whether it is there now.
    pub is: bool,
}

/// What is different between two texts of a program, file by file: first those that are there now, in their order. A
/// file that has only moved is the same.
pub fn changes(old: (&ProgramText, &Program), new: (&ProgramText, &Program)) -> Vec<FileChange> {
    let mut rest: Vec<&FileWire> = old.0.files.iter().collect();
    let mut pairs = pair(&new.0.files, &mut rest, &|now, then| now.text == then.text);
    pairs.extend(pair(&unpaired(&new.0.files, &pairs), &mut rest, &|now, then| now.name == then.name));
    // What is left of the files that were given is the same file under another name.
    let is_root = |text: &ProgramText, file: &FileWire| text.roots.contains(&file.name);
    let are_roots = |now: &FileWire, then: &FileWire| is_root(new.0, now) && is_root(old.0, then);
    pairs.extend(pair(&unpaired(&new.0.files, &pairs), &mut rest, &are_roots));
    let mut found = Vec::new();
    for now in &new.0.files {
        let then = pairs.iter().find(|(other, _)| other.name == now.name).map(|(_, then)| then);
        let kind = match then {
            None => FileChangeKind::Added,
            Some(then) if then.text == now.text => continue,
            Some(then) => changed((then, old.1), (now, new.1)),
        };
        found.push(FileChange { name: now.name.clone(), kind });
    }
    found.extend(rest.iter().map(|then| FileChange { name: then.name.clone(), kind: FileChangeKind::Removed }));
    found
}

type Pair = (FileWire, FileWire);

/// Takes for each file of `new` the first of `rest` that belongs to it.
fn pair(new: &[FileWire], rest: &mut Vec<&FileWire>, belongs: &dyn Fn(&FileWire, &FileWire) -> bool) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for now in new {
        if let Some(index) = rest.iter().position(|then| belongs(now, then)) {
            pairs.push((now.clone(), rest.remove(index).clone()));
        }
    }
    pairs
}

fn unpaired(new: &[FileWire], pairs: &[Pair]) -> Vec<FileWire> {
    new.iter().filter(|now| pairs.iter().all(|(paired, _)| paired.name != now.name)).cloned().collect()
}

fn changed((then, old): (&FileWire, &Program), (now, new): (&FileWire, &Program)) -> FileChangeKind {
    let (mut changed, mut added, mut removed) = (0, 0, 0);
    for op in TextDiff::from_lines(&*then.text, &*now.text).ops() {
        match *op {
            DiffOp::Equal { .. } => {}
            DiffOp::Delete { old_len, .. } => removed += old_len,
            DiffOp::Insert { new_len, .. } => added += new_len,
            DiffOp::Replace { old_len, new_len, .. } => {
                changed += old_len.min(new_len);
                removed += old_len.saturating_sub(new_len);
                added += new_len.saturating_sub(old_len);
            }
        }
    }
    let (was, is) = (texts(old, &then.name), texts(new, &now.name));
    let mut playbooks = Vec::new();
    for name in was.keys().chain(is.keys().filter(|name| !was.contains_key(*name))) {
        let (then, now) = (was.get(name), is.get(name));
        if then != now {
            playbooks.push(PlaybookChange { name: name.clone(), was: then.is_some(), is: now.is_some() });
        }
    }
    playbooks.sort_by(|a, b| a.name.cmp(&b.name));
    FileChangeKind::Changed { changed, added, removed, playbooks }
}

/// The playbooks and plans of a file, by name. Two agents may have one each of the same name.
fn texts<'p>(program: &'p Program, file: &str) -> BTreeMap<Arc<str>, Vec<&'p str>> {
    let is_in = |id| program.sources.get(id).is_some_and(|source| *source.name == *file);
    let written = program.playbooks.iter().filter(|playbook| !playbook.implicit);
    let playbooks = written.map(|playbook| (&playbook.name, playbook.span));
    let mut found: BTreeMap<Arc<str>, Vec<&str>> = BTreeMap::new();
    for (name, span) in playbooks.chain(program.plans.iter().map(|plan| (&plan.name, plan.span))) {
        if is_in(span.file) {
            found.entry(name.clone()).or_default().push(program.sources.text(span).trim_end());
        }
    }
    found
}

/// `shop.md: 2 lines changed, 1 added: Greet, Farewell (new)`.
impl fmt::Display for FileChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.name)?;
        match &self.kind {
            FileChangeKind::Added => write!(f, "a new file"),
            FileChangeKind::Removed => write!(f, "not there any more"),
            FileChangeKind::Changed { changed, added, removed, playbooks } => {
                let mut unit = " lines";
                let mut parts = Vec::new();
                for (n, what) in [(changed, "changed"), (added, "added"), (removed, "removed")] {
                    if *n > 0 {
                        parts.push(format!("{n}{} {what}", if *n == 1 && unit == " lines" { " line" } else { unit }));
                        unit = "";
                    }
                }
                f.write_str(&parts.join(", "))?;
                for (index, playbook) in playbooks.iter().enumerate() {
                    write!(f, "{}{playbook}", if index == 0 { ": " } else { ", " })?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for PlaybookChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match (self.was, self.is) {
            (false, _) => " (new)",
            (true, false) => " (gone)",
            (true, true) => "",
        };
        write!(f, "{}{state}", self.name)
    }
}
