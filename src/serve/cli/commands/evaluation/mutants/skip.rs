//! Mutants that need not be noticed, as `[mutants] skip` says: each must be there, and must have been missed.

use std::collections::BTreeMap;
use std::fs::canonicalize;
use std::path::{Path, PathBuf};

use super::gather::{Judge, Suspect};
use super::judge::Fate;
use crate::diagnostic::wording::meant_or;
use crate::host::config::SkippedMutant;
use crate::host::launch::folder_of;
use crate::lang::spelling::nearest;
use crate::serve::cli::commands::test::find_tests;
use crate::serve::cli::machinery::console::Failure;

/// What is skipped, by the folder of the configuration that says so.
pub(super) struct Skips(BTreeMap<PathBuf, Vec<SkippedMutant>>);

impl Skips {
    /// What the configurations of all programs say.
    pub(super) fn new(judges: &[Judge]) -> Skips {
        let mut skips = BTreeMap::new();
        for judge in judges {
            let folder = folder_of(&judge.test.program()).to_owned();
            skips.entry(folder).or_insert_with(|| judge.configuration.skipped_mutants.clone());
        }
        Skips(skips)
    }

    /// What is said of a mutant.
    pub(super) fn of(&self, suspect: &Suspect) -> Option<&SkippedMutant> {
        self.0.get(&suspect.folder)?.iter().find(|skipped| suspect.names.contains(&skipped.name))
    }

    /// Sees to it that each is one of the mutants. Of a folder that was not played whole it may be another program's.
    ///
    /// # Errors
    /// There is none of that name.
    pub(super) fn check(&self, suspects: &[Suspect], files: &[PathBuf]) -> Result<(), Failure> {
        for (folder, skips) in &self.0 {
            let own: Vec<&Suspect> = suspects.iter().filter(|suspect| suspect.folder == *folder).collect();
            let is_there = |skipped: &&SkippedMutant| own.iter().any(|suspect| suspect.names.contains(&skipped.name));
            let Some(unknown) = skips.iter().find(|skipped| !is_there(skipped)) else { continue };
            if !is_whole(folder, files) {
                continue;
            }
            let known = own.iter().flat_map(|suspect| &suspect.names).map(String::as_str);
            let hint = meant_or(nearest(&unknown.name, known), "`playhouse mutants --list` lists the mutants");
            let SkippedMutant { place, name, .. } = unknown;
            return Err(Failure::wrong(format!("{place}: there is no mutant `{name}`; {hint}")));
        }
        Ok(())
    }
}

/// Whether all tests of a folder are among those that were played.
fn is_whole(folder: &Path, files: &[PathBuf]) -> bool {
    let Ok(all) = find_tests(&[folder.to_owned()]) else { return false };
    let played: Vec<PathBuf> = files.iter().filter_map(|file| canonicalize(file).ok()).collect();
    all.iter().all(|file| canonicalize(file).is_ok_and(|file| played.contains(&file)))
}

/// Sees to it that what is skipped is missed.
///
/// # Errors
/// A test notices it.
pub(super) fn check_fate(skipped: &SkippedMutant, fate: &Fate) -> Result<(), Failure> {
    let SkippedMutant { place, name, .. } = skipped;
    let why = match fate {
        Fate::Missed(_) | Fate::AsGood(_) | Fate::Undecided(_) | Fate::NotReached | Fate::NeedsModel => return Ok(()),
        Fate::Caught(test) => format!("{} catches it", test.display()),
        Fate::TimedOut(test) => format!("{} does not come to its end with it", test.display()),
    };
    Err(Failure::wrong(format!("{place}: `{name}` need not be skipped: {why}; remove it from [mutants] skip")))
}
