//! What the tests of a command reach: gathered while they are played, and told to people.

mod table;
mod text;

use std::path::Path;
use std::sync::Arc;

use crate::host::coverage::{Coverage, Reached};
use crate::lang::program::Program;

pub(crate) use self::table::reached_by_table;
pub(crate) use self::text::{percent_text, summary, text};

/// What was reached so far, and of which programs.
#[derive(Default)]
pub(crate) struct Gathered {
    /// All programs together.
    pub(crate) coverage: Coverage,
    programs: Vec<Arc<Program>>,
}

impl Gathered {
    /// A test has reached this.
    pub(crate) fn add(&mut self, program: &Program, reached: &Reached) {
        self.coverage.add(program, reached);
        if self.programs.iter().all(|known| known.name() != program.name()) {
            self.programs.push(Arc::new(program.clone()));
        }
    }

    /// The programs of the tests, each once.
    pub(crate) fn programs(&self) -> &[Arc<Program>] {
        &self.programs
    }
}

/// Whether a stored session may be one of a program: wherever their files lie, they have one name.
pub(crate) fn has_name_of(session: &Program, program: &Program) -> bool {
    let [session, program] = [session.name(), program.name()];
    Path::new(&*session).file_name() == Path::new(&*program).file_name()
}
