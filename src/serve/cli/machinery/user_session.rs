//! User files as cases: read, played, and what came of it in words.

use std::path::{Path, PathBuf};

use crate::diagnostic::render;
use crate::host::checks::Verdict;
use crate::host::eval::measured;
use crate::host::eval::user::{Company, Ended, UserError, UserFile, UserRun, play};
use crate::host::launch::Launch;
use crate::lang::evaluation::checks::CheckKind;
use crate::serve::cli::machinery::test_session::furnish;
use crate::span::Sources;

/// A user file that has been read.
pub(crate) struct UserCase {
    path: PathBuf,
    /// What it says.
    pub(crate) file: UserFile,
    sources: Sources,
    color: bool,
}

impl UserCase {
    /// Reads the file at `path`, which holds `text`. The error is for people.
    pub(crate) fn read(path: &Path, text: &str, color: bool) -> Result<UserCase, String> {
        let mut sources = Sources::default();
        let file = sources.add(path.display().to_string(), text);
        let file = UserFile::parse(file, text).map_err(|findings| render(&findings, &sources, color))?;
        Ok(UserCase { path: path.to_owned(), file, sources, color })
    }

    /// Whether something is asked of a judge.
    pub(crate) fn asks_judge(&self) -> bool {
        self.file.checks.iter().any(|written| matches!(written.check.kind, CheckKind::Judge(_)))
    }

    /// Plays it once against `program`. The error says why it cannot begin.
    pub(crate) async fn play(
        &self,
        program: &Path,
        mut launch: Launch,
        company: Company<'_>,
    ) -> Result<UserRun, String> {
        let UserCase { path, file, .. } = self;
        furnish(&mut launch, (path, program), file.tools.as_deref(), &file.settings)?;
        play(file, (path, program), &launch, company).await.map_err(|error| match error {
            UserError::Checks(findings) => render(&findings, &self.sources, self.color),
            UserError::Launch(_) | UserError::NoUser | UserError::NoPrices(_) => {
                format!("{}: {error}", path.display())
            }
        })
    }

    /// How a run came out, and what did not hold, line by line.
    pub(crate) fn verdict(&self, played: &UserRun) -> (measured::Verdict, String) {
        if let Ended::Invalid(why) = &played.ended {
            return (measured::Verdict::Invalid, format!("{why}\n"));
        }
        let (mut verdict, mut text) = (measured::Verdict::Passed, String::new());
        for verified in &played.verified {
            let why = match &verified.verdict {
                Verdict::Holds => continue,
                Verdict::Broken(breach) => {
                    verdict = measured::Verdict::Failed;
                    let place = breach.place.as_ref().map_or_else(String::new, |place| format!("{place}: "));
                    format!("broken: {place}{}", breach.sentence)
                }
                // Nothing more comes.
                Verdict::Open { why } => {
                    verdict = measured::Verdict::Failed;
                    format!("open at the end: {why}")
                }
                Verdict::Undecided { why } => {
                    if verdict == measured::Verdict::Passed {
                        verdict = measured::Verdict::Undecided;
                    }
                    format!("undecided: {why}")
                }
            };
            text.push_str(&format!("{}:{}: {}\n  {why}\n", self.path.display(), verified.line, verified.text));
        }
        (verdict, text)
    }
}
