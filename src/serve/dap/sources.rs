//! The program's texts as editors know them: by their paths, or by a number where there is no file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::host::debug::place::{Places, TextRange, text_range};
use crate::host::library;
use crate::lang::plan::{Plan, steps};
use crate::lang::program::Program;
use crate::serve::dap::wire::{Columns, InitializeArguments, Source, Where};
use crate::span::FileId;
use crate::vm::protocol::Location;

/// How the client counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counting {
    /// The number of the first line.
    pub(crate) first_line: i64,
    /// The number of the first column.
    pub(crate) first_column: i64,
}

impl Counting {
    /// As the client has said.
    pub(crate) fn of(arguments: &InitializeArguments) -> Counting {
        Counting {
            first_line: i64::from(arguments.lines_start_at1),
            first_column: i64::from(arguments.columns_start_at1),
        }
    }

    /// A line as the client counts it, from one that is counted from 1.
    pub(crate) fn line(self, line: usize) -> i64 {
        i64::try_from(line).unwrap_or(i64::MAX) - 1 + self.first_line
    }

    /// The same of a column.
    pub(crate) fn column(self, column: usize) -> i64 {
        i64::try_from(column).unwrap_or(i64::MAX) - 1 + self.first_column
    }

    /// A line of the client, counted from 1; what lies before the first line is the first.
    pub(crate) fn our_line(self, line: i64) -> usize {
        usize::try_from(line.saturating_sub(self.first_line)).unwrap_or(0).saturating_add(1)
    }
}

/// The texts of one program.
#[derive(Debug)]
pub(crate) struct Texts {
    program: Arc<Program>,
    /// Where it can stop.
    pub(crate) places: Places,
    /// The paths on disk, absolute and without links; or why a text is in no file.
    files: Vec<Result<PathBuf, &'static str>>,
    counting: Counting,
}

impl Texts {
    /// The texts of `program`, whose files' names are relative to the working directory.
    pub(crate) fn new(program: Arc<Program>, counting: Counting) -> Texts {
        let files = program.sources.iter().map(|(_, file)| {
            if library::is_library(&file.name) {
                return Err("library");
            }
            match Path::new(&*file.name).canonicalize() {
                // What an editor would show must be what runs.
                Ok(path) if std::fs::read_to_string(&path).is_ok_and(|text| *text == *file.text) => Ok(path),
                Ok(_) => Err("the text that the session began with; the file has changed"),
                Err(_) => Err("the text that the session began with; there is no such file"),
            }
        });
        Texts { places: Places::of(&program), files: files.collect(), program, counting }
    }

    /// How the client counts.
    pub(crate) fn counting(&self) -> Counting {
        self.counting
    }

    /// The file that a client means. Its path may be of a file that has another text by now: a breakpoint there is
    /// better than none.
    pub(crate) fn file_of(&self, source: &Source) -> Option<FileId> {
        let ids = || (0..).map(FileId).zip(&self.files);
        if let Some(reference) = source.source_reference.filter(|reference| *reference > 0) {
            return ids().map(|(id, _)| id).find(|id| reference_of(*id) == reference);
        }
        let path = Path::new(source.path.as_deref()?);
        let canonical = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if let Some((id, _)) = ids().find(|(_, path)| path.as_ref() == Ok(&canonical)) {
            return Some(id);
        }
        // Files that have moved or changed: by the longest name that the path ends with.
        let named = self.program.sources.iter().filter(|(id, file)| {
            self.files.get(id.0 as usize).is_some_and(Result::is_err)
                && !library::is_library(&file.name)
                && canonical.ends_with(Path::new(&*file.name).file_name().unwrap_or_default())
        });
        named.map(|(id, _)| id).next()
    }

    /// A file for the client.
    pub(crate) fn source(&self, id: FileId) -> Option<Source> {
        let file = self.program.sources.get(id)?;
        let short = Path::new(&*file.name).file_name().and_then(|name| name.to_str()).unwrap_or(&file.name);
        Some(match self.files.get(id.0 as usize)? {
            Ok(path) => Source {
                name: Some(short.to_owned()),
                path: Some(path.to_string_lossy().into_owned()),
                ..Source::default()
            },
            Err(origin) => Source {
                name: Some(if library::is_library(&file.name) { file.name.to_string() } else { short.to_owned() }),
                path: None,
                source_reference: Some(reference_of(id)),
                origin: Some((*origin).to_owned()),
            },
        })
    }

    /// All files, in load order, and the plans that a model wrote.
    pub(crate) fn sources(&self, written: &[Arc<Plan>]) -> Vec<Source> {
        let files = self.program.sources.iter().filter_map(|(id, _)| self.source(id));
        files.chain(written.iter().enumerate().map(|(index, plan)| self.written(index, plan))).collect()
    }

    /// A plan that a model wrote, for the client.
    fn written(&self, index: usize, plan: &Plan) -> Source {
        Source {
            name: Some(plan.name.to_string()),
            path: None,
            source_reference: i64::try_from(self.files.len() + 1 + index).ok(),
            origin: Some("written by a model".to_owned()),
        }
    }

    /// The text that a number stands for; `written` are the plans that a model wrote.
    pub(crate) fn text(&self, reference: i64, written: &[Arc<Plan>]) -> Option<String> {
        if let Some((_, file)) = self.program.sources.iter().find(|(id, _)| reference_of(*id) == reference) {
            return Some(file.text.to_string());
        }
        let index = usize::try_from(reference).ok()?.checked_sub(self.files.len() + 1)?;
        written.get(index).map(|plan| plan_text(plan))
    }

    /// Where a place of the program is; a plan that a model wrote is shown as it was understood.
    pub(crate) fn place(&self, location: Location, written: &[Arc<Plan>]) -> Option<Where> {
        if let Some(range) = text_range(&self.program, written, location) {
            return self.range(range);
        }
        let Location::Plan { plan, node } = location else { return None };
        let index = (plan.0 as usize).checked_sub(self.program.plans.len())?;
        let plan = written.get(index)?;
        let row = node.and_then(|node| steps(plan).iter().position(|step| step.node == node));
        let line = self.counting.line(row.map_or(1, |row| row + 2));
        let source = self.written(index, plan);
        let column = self.counting.column(1);
        Some(Where { source, line, columns: Columns { column, end_line: line, end_column: column } })
    }

    /// A piece of a file for the client.
    pub(crate) fn range(&self, range: TextRange) -> Option<Where> {
        Some(Where {
            source: self.source(range.file)?,
            line: self.counting.line(range.line),
            columns: Columns {
                column: self.counting.column(range.column),
                end_line: self.counting.line(range.end_line),
                end_column: self.counting.column(range.end_column),
            },
        })
    }

    /// Where a public event comes from, by the names in it.
    pub(crate) fn named(&self, agent: Option<&str>, name: Option<&str>, line: Option<&str>) -> Option<Where> {
        let (agent, name) = (agent?, name?);
        let program = &self.program;
        if let Some(plan) = program.find_plan(name) {
            let nodes = &program.plan(plan)?.nodes;
            let node =
                nodes.iter().position(|node| Some(&*node.label) == line).and_then(|node| u32::try_from(node).ok());
            return self.place(Location::Plan { plan, node: node.map(crate::lang::plan::NodeId) }, &[]);
        }
        let agent = program.agents.iter().find(|known| &*known.name == agent)?;
        let playbook = program.find_playbook(agent.id, name)?;
        let step = line.and_then(|line| program.playbook(playbook).find_step(line));
        self.place(Location::Line { playbook, step }, &[])
    }
}

/// The number by which a file can be asked for; 0 is none.
fn reference_of(id: FileId) -> i64 {
    i64::from(id.0) + 1
}

/// A plan that a model wrote, one line per step below its name.
fn plan_text(plan: &Plan) -> String {
    let lines = steps(plan).into_iter().map(|step| format!("{}  {}\n", plan.node(step.node).label, step.does));
    [format!("plan {} ({})\n", plan.name, plan.language())].into_iter().chain(lines).collect()
}
