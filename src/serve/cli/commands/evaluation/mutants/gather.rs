//! What mutants are judged with: the tests as they are without any, and the mutants of their programs.

use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::host::clock::{Clock, SystemClock};
use crate::host::config::{Environment, FileConfig};
use crate::host::coverage::Reached;
use crate::host::launch::folder_of;
use crate::host::mutants::{Mutant, mutants};
use crate::host::program::ProgramText;
use crate::lang::program::Program;
use crate::serve::cli::commands::test::ReadTest;
use crate::serve::cli::machinery::console::Failure;
use crate::serve::cli::machinery::runtime::Runtime;

/// A test that passes as long as nothing is wrong.
pub(super) struct Judge {
    pub(super) test: ReadTest,
    pub(super) program: Arc<Program>,
    pub(super) text: ProgramText,
    pub(super) configuration: FileConfig,
    pub(super) reached: Reached,
    /// It must not be played beside others.
    pub(super) acts_outside: bool,
    /// How long it takes, in milliseconds.
    pub(super) ms: u64,
}

/// A mutant, and who can tell of it.
pub(super) struct Suspect {
    /// By the programs that have it, which share its file: of each the mutant, and the places of its tests.
    pub(super) of_programs: Vec<(Mutant, Vec<usize>)>,
    /// The folder of the programs, where their configuration lies.
    pub(super) folder: PathBuf,
    /// The names by which it may be skipped: with the file of each program before it, and without.
    pub(super) names: Vec<String>,
}

impl Suspect {
    /// One of those that are the same: name, place and words are.
    pub(super) fn shown(&self) -> &Mutant {
        &self.of_programs[0].0
    }

    /// The tests that come to what it changes, with what is to be played, the fastest first.
    pub(super) fn witnesses<'j>(&self, judges: &'j [Judge]) -> Vec<(&Mutant, &'j Judge)> {
        let mut witnesses: Vec<(&Mutant, &Judge)> = Vec::new();
        for (mutant, tests) in &self.of_programs {
            let tests = tests.iter().map(|index| &judges[*index]);
            let can_tell = |judge: &&Judge| {
                (mutant.is_of_trigger() || !judge.test.is_table()) && mutant.is_reached(&judge.reached)
            };
            witnesses.extend(tests.filter(can_tell).map(|judge| (mutant, judge)));
        }
        witnesses.sort_by_key(|(_, judge)| judge.ms);
        witnesses
    }
}

/// Plays all tests as they are.
///
/// # Errors
/// One of them cannot be read, or does not pass: nothing can be said with it.
pub(super) fn judges(environment: &Environment, color: bool, files: &[PathBuf]) -> Result<Vec<Judge>, Failure> {
    let mut judges = Vec::new();
    let mut failing = Vec::new();
    let runtime = Runtime::for_one()?;
    for path in files.iter().filter(|path| ReadTest::is_one(path)) {
        let read = ReadTest::read(path, color).and_then(|test| Ok((test.configuration()?, test)));
        let (configuration, test) = read.map_err(Failure::wrong)?;
        let began = SystemClock.now();
        let answer = runtime.block_on(test.play(environment, None));
        let ms = u64::try_from(SystemClock.now().0 - began.0).unwrap_or(0);
        match answer {
            Ok(answer) if answer.passes => {
                let acts_outside = answer.acts_outside;
                judges.extend(answer.reached.map(|(program, text, reached)| Judge {
                    test,
                    program,
                    text,
                    configuration,
                    reached,
                    acts_outside,
                    ms,
                }));
            }
            Ok(_) | Err(_) => failing.push(path.display().to_string()),
        }
    }
    match failing.as_slice() {
        [] => Ok(judges),
        [one] => Err(Failure::failed(format!("{one} fails without any mutant; `playhouse test {one}` shows why"))),
        [first, others @ ..] => Err(Failure::failed(format!(
            "{first} and {} more fail without any mutant; `playhouse test` shows why",
            others.len()
        ))),
    }
}

/// The mutants of all programs, in the order of their texts. What two programs have in common is one.
pub(super) fn suspects(judges: &[Judge]) -> Vec<Suspect> {
    let mut programs: IndexMap<PathBuf, Vec<usize>> = IndexMap::new();
    for (index, judge) in judges.iter().enumerate() {
        programs.entry(judge.test.program()).or_default().push(index);
    }
    let mut suspects: IndexMap<(Arc<str>, String), Suspect> = IndexMap::new();
    for (path, tests) in &programs {
        let Judge { program, configuration, .. } = &judges[tests[0]];
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        for mutant in mutants(program, configuration) {
            let names = [mutant.name.clone(), format!("{file} {}", mutant.name)];
            let new = || Suspect { of_programs: Vec::new(), folder: folder_of(path).to_owned(), names: Vec::new() };
            let suspect = suspects.entry((mutant.file.clone(), mutant.name.clone())).or_insert_with(new);
            suspect.names.extend(names);
            suspect.of_programs.push((mutant, tests.clone()));
        }
    }
    suspects.into_values().collect()
}
