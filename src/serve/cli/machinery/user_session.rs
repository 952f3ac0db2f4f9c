//! User files as cases: read, played, and what came of it in words.

use std::path::{Path, PathBuf};

use crate::diagnostic::render;
use crate::host::checks::Verdict;
use crate::host::eval::measured;
use crate::host::eval::user::{self, Company, Ended, UserError, UserRun};
use crate::host::launch::Launch;
use crate::lang::files::user_file::UserFile;
use crate::serve::cli::machinery::beside::read_by;
use crate::serve::cli::machinery::rules_file::{Rules, read_schema, rules_of};
use crate::serve::cli::machinery::test_session::furnish;
use crate::span::Sources;

/// A user file that has been read.
pub(crate) struct UserCase {
    path: PathBuf,
    /// What it says.
    pub(crate) file: UserFile,
    /// The rules of its program.
    rules: Rules,
    /// The texts of all these files.
    pub(crate) sources: Sources,
    color: bool,
}

impl UserCase {
    /// Reads the file at `path`. The error is for people.
    pub(crate) fn read(path: &Path, color: bool) -> Result<UserCase, String> {
        let (file, mut sources) = read_by(path, color, UserFile::parse)?;
        let rules = rules_of(&path.with_file_name(&file.program), &mut sources);
        if !rules.findings.is_empty() {
            return Err(render(&rules.findings, &sources, color));
        }
        Ok(UserCase { path: path.to_owned(), file, rules, sources, color })
    }

    /// Whether something is asked of a judge.
    pub(crate) fn asks_judge(&self) -> bool {
        self.file.checks.iter().chain(&self.rules.written).any(|written| written.question().is_some())
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
        let mut read = read_schema(path, &self.sources);
        let rules = user::Rules { written: self.rules.written.clone(), read: &mut read };
        user::play(file, program, &launch, company, rules).await.map_err(|error| match error {
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
            let Some(why) = verified.verdict.told_at_end() else { continue };
            if !matches!(verified.verdict, Verdict::Undecided { .. }) {
                verdict = measured::Verdict::Failed;
            } else if verdict == measured::Verdict::Passed {
                verdict = measured::Verdict::Undecided;
            }
            let file = self.sources.get(verified.file).map_or("", |file| &file.name);
            text.push_str(&format!("{file}:{}: {}\n  {why}\n", verified.line, verified.text));
        }
        (verdict, text)
    }
}
