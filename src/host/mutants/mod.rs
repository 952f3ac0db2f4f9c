//! Mutants of a program as people know them: of its lines and triggers, and of what is decided about its tools (spec
//! `evaluate.md`, section 7). Pure.

mod policies;

use std::ops::RangeInclusive;
use std::sync::Arc;

use playhouse_lang::SourceText;
use playhouse_lang::analysis::mutate::{self, Site, mutants as mutants_of_program};
use playhouse_lang::program::Program;
use playhouse_lang::span::Span;
use playhouse_lang::value::Value;

use crate::config_file::FileConfig;
use crate::coverage::Reached;
use crate::library;
use crate::mutants::policies::{without_denial, without_policy};
use crate::program::ProgramText;
use crate::text::one_line;

/// A mutant.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// `Pay:03 drop`; unique in its program.
    pub name: String,
    /// The file that it changes.
    pub file: Arc<str>,
    /// The lines of the file that say what it changes, from 1.
    pub lines: RangeInclusive<usize>,
    /// What stands there, on one line.
    pub words: String,
    change: Change,
}

#[derive(Clone, Debug)]
enum Change {
    Program(mutate::Mutant),
    /// A rule for tools in front matter: the setting with this number.
    FrontMatter(usize, Value),
    /// The same in the configuration: the declaration with this number.
    Configuration(usize, Value),
}

/// All mutants of a program and of the configuration beside it. What comes from the library is none of the author's.
pub fn mutants(program: &Program, configuration: &FileConfig) -> Vec<Mutant> {
    let mut all = Vec::new();
    for mutant in mutants_of_program(program) {
        let name = mutant.name().to_owned();
        all.extend(at(program, name, mutant.span(), Change::Program(mutant)));
    }
    let settings = program.settings.other.iter().enumerate();
    for (index, (_, value, span)) in settings.filter(|(_, (key, ..))| key == "tools") {
        // What a program denies holds in the machine, and stands in its lists.
        for (name, value) in without_policy(value) {
            all.extend(at(program, name, *span, Change::FrontMatter(index, value)));
        }
    }
    for (index, written) in configuration.declared.iter().enumerate().filter(|(_, written)| written.key == "tools") {
        let line = written.place.rsplit_once(':').and_then(|(_, line)| line.parse().ok()).unwrap_or(1);
        let changed = without_policy(&written.value).into_iter().chain(without_denial(&written.value));
        all.extend(changed.map(|(name, value)| Mutant {
            name,
            file: configuration.path.to_string_lossy().into(),
            lines: line..=line,
            words: one_line(&written.value.to_json()),
            change: Change::Configuration(index, value),
        }));
    }
    all
}

fn at(program: &Program, name: String, span: Span, change: Change) -> Option<Mutant> {
    let file = program.sources.get(span.file).filter(|file| !library::is_library(&file.name))?;
    let line = |offset: u32| file.lines.line_column(offset as usize).0;
    Some(Mutant {
        name,
        file: file.name.clone(),
        lines: line(span.start)..=line(span.end),
        words: one_line(program.sources.text(span)),
        change,
    })
}

impl Mutant {
    /// Whether no scripted reply can tell the difference: it is a line that the model does, whether it is there or not.
    pub fn needs_model(&self) -> bool {
        matches!(&self.change, Change::Program(mutant) if !mutant.is_interpreters())
    }

    /// Whether a run has come to what it changes. What is decided about tools holds for every run.
    pub fn is_reached(&self, reached: &Reached) -> bool {
        match &self.change {
            Change::Program(mutant) => match mutant.site() {
                Site::Line(playbook, line) => reached.has_line(playbook, line),
                Site::Trigger(trigger) => reached.has_trigger(trigger, mutant.silences()),
                Site::Tools => true,
            },
            Change::FrontMatter(..) | Change::Configuration(..) => true,
        }
    }

    /// Whether it is about a trigger, which tables of labelled cases judge, too.
    pub fn is_of_trigger(&self) -> bool {
        matches!(&self.change, Change::Program(mutant) if matches!(mutant.site(), Site::Trigger(_)))
    }

    /// The text of its file with these words in the place of a line that needs a model; none: it needs none.
    pub fn reworded(&self, text: &ProgramText, words: &str) -> Option<SourceText> {
        let Change::Program(mutant) = &self.change else { return None };
        let file = text.files.iter().find(|file| file.name == self.file).filter(|_| !mutant.is_interpreters())?;
        let range = mutant.span().range();
        let (before, after) = (file.text.get(..range.start)?, file.text.get(range.end..)?);
        Some(SourceText { name: file.name.to_string(), text: format!("{before}{words}{after}") })
    }

    /// The program and its configuration with the mistake; none: it needs a model.
    pub fn make(&self, program: &Arc<Program>, configuration: &FileConfig) -> Option<(Arc<Program>, FileConfig)> {
        let mut configuration = configuration.clone();
        let program = match &self.change {
            Change::Program(mutant) => mutant.apply(program)?,
            Change::FrontMatter(index, value) => {
                let mut changed = Program::clone(program);
                if let Some((_, setting, _)) = changed.settings.other.get_mut(*index) {
                    *setting = value.clone();
                }
                Arc::new(changed)
            }
            Change::Configuration(index, value) => {
                if let Some(written) = configuration.declared.get_mut(*index) {
                    written.value = value.clone();
                }
                program.clone()
            }
        };
        Some((program, configuration))
    }
}
