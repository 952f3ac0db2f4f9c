//! A test that is read once and played again and again, with the program as it is and with others.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::checked::checked;
use super::compare::{Compared, compare};
use super::find::TestKind;
use crate::host::config::{Environment, FileConfig};
use crate::host::coverage::{Reached, reached};
use crate::host::program::ProgramText;
use crate::lang::files::test_file::TestFile;
use crate::lang::files::trigger_table::PROMPTS;
use crate::lang::program::Program;
use crate::serve::cli::machinery::beside::read_by;
use crate::serve::cli::machinery::coverage::reached_by_table;
use crate::serve::cli::machinery::test_session::{ChosenClassifier, Instead, configuration, play_instead};
use crate::serve::cli::machinery::trigger_tests::{ReadTable, judge_table};
use crate::span::Sources;

/// A test.
pub(crate) struct ReadTest {
    path: PathBuf,
    kind: ReadKind,
}

enum ReadKind {
    Conversation(Box<(TestFile, Sources)>),
    Table(Box<ReadTable>),
}

/// What came of playing a test once.
pub(crate) struct Answer {
    /// Whether it is as the test expects.
    pub(crate) passes: bool,
    /// What was reached, and of which program; none: the program was refused, as the test expects.
    pub(crate) reached: Option<(Arc<Program>, ProgramText, Reached)>,
    /// Whether something outside of the session can have changed.
    pub(crate) acts_outside: bool,
}

impl ReadTest {
    /// Whether a file is such a test: whom a model plays, what a judge says, and which skill a prompt begins for a classifier
    /// is another matter.
    pub(crate) fn is_one(path: &Path) -> bool {
        !matches!(TestKind::of(path), TestKind::User | TestKind::Judge) && !path.to_string_lossy().ends_with(PROMPTS)
    }

    /// Reads a test. The error is for people.
    pub(crate) fn read(path: &Path, color: bool) -> Result<ReadTest, String> {
        let kind = match TestKind::of(path) == TestKind::Table {
            true => ReadKind::Table(Box::new(ReadTable::read(path, color)?)),
            false => ReadKind::Conversation(Box::new(read_by(path, color, TestFile::parse)?)),
        };
        Ok(ReadTest { path: path.to_owned(), kind })
    }

    /// Its file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The program that it names.
    pub(crate) fn program(&self) -> PathBuf {
        let program = match &self.kind {
            ReadKind::Conversation(read) => &read.0.program,
            ReadKind::Table(read) => &read.table.program,
        };
        self.path.with_file_name(program)
    }

    /// Whether it judges triggers and nothing else.
    pub(crate) fn is_table(&self) -> bool {
        matches!(self.kind, ReadKind::Table(_))
    }

    /// The configuration beside its program, with what it sets itself.
    pub(crate) fn configuration(&self) -> Result<FileConfig, String> {
        let settings = match &self.kind {
            ReadKind::Conversation(read) => &read.0.settings,
            ReadKind::Table(read) => &read.table.settings,
        };
        configuration(&self.program(), &self.path, settings)
    }

    /// Plays it, with another program if one is given. The error says why it cannot begin.
    pub(crate) async fn play(&self, environment: &Environment, instead: Option<&Instead>) -> Result<Answer, String> {
        let chosen = ChosenClassifier { id: None, environment };
        match &self.kind {
            ReadKind::Conversation(read) => {
                let (test, sources) = &**read;
                let played = play_instead(&self.path, test, &chosen, instead).await?;
                let differs = compare(&self.path.display().to_string(), test, &played.stretches, Compared::All);
                let checked = checked(&self.path, test, &played, &mut sources.clone(), None).await;
                Ok(Answer {
                    passes: played.problems.is_empty() && differs.is_empty() && checked.holds(),
                    reached: played.run.map(|run| (run.program.clone(), played.text, reached(&run))),
                    acts_outside: played.acts_outside,
                })
            }
            ReadKind::Table(read) => {
                let program = instead.map_or(&read.program, |instead| &instead.program);
                let judged = judge_table(&self.path, program, &read.table, &chosen).await?;
                let reached = reached_by_table(program, &read.table, &judged);
                Ok(Answer {
                    passes: read.passes(&judged),
                    reached: Some((read.program.clone(), ProgramText::default(), reached)),
                    acts_outside: false,
                })
            }
        }
    }
}
