//! Scripted conversations (`*.test.md`): text to [`TestFile`] and back. Pure; the format is `docs/testing.md`.
//!
//! The steps of a file fall into *stretches*: a stretch begins with a user line, an event, a wait or a change of
//! variables (the first one with the program) and ends where the program waits for the user again or is over. Replies are given in the order written, unless
//! the file names a model; expected parts are compared at the end of their stretch.

mod bullet;
mod bullet_form;
mod checks;
mod form;
mod item;
mod line_name;
mod read;
mod read_model;
mod resolve;
mod write;

use crate::diagnostic::Diagnostic;
use crate::files::case_file::lines::Read;
use crate::span::FileId;

pub use crate::files::case_file::call::{ExpectedCall, ExpectedResult};
pub use crate::files::case_file::mention::LineName;
pub use crate::files::test_file::bullet::bullet_text;
pub use crate::files::test_file::bullet_form::{Bullet, What};
pub use crate::files::test_file::form::{
    Chunks, Edit, ExpectedOutcome, Interruption, ScriptedReply, SentEvent, Stretch, TestFile, TestModel, TestStep,
    TestStepKind, WrittenBullet, comparable, quoted,
};
pub use crate::files::test_file::line_name::{FoundLine, NotFound, find_line};
pub use crate::files::test_file::read::instant;

impl TestFile {
    /// Reads a file's text. The spans of the findings lie in `file`.
    ///
    /// # Errors
    /// All findings, in the order of their lines; the first note of each says what to do.
    pub fn parse(file: FileId, text: &str) -> Result<TestFile, Vec<Diagnostic>> {
        TestFile::read(file, text).whole()
    }

    /// The same, with what could be read of a text with which something is wrong.
    pub fn read(file: FileId, text: &str) -> Read<TestFile> {
        read::read(file, text)
    }

    /// The same without the numbers of lines: what is left where two files only differ in layout.
    #[must_use]
    pub fn without_lines(mut self) -> TestFile {
        for step in &mut self.steps {
            step.line = 0;
            if let TestStepKind::Written(bullets) = &mut step.kind {
                bullets.iter_mut().for_each(|written| written.line = 0);
            } else if let TestStepKind::Expect(checks) = &mut step.kind {
                checks.iter_mut().for_each(|written| written.line = 0);
            }
        }
        self
    }

    /// The file's text. Of a text in canonical form exactly that text comes back.
    pub fn render(&self) -> String {
        write::write(self)
    }
}
