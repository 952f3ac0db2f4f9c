//! The programs that are offered, and their texts.

use std::sync::Arc;

use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use crate::host::program::ProgramText;
use crate::host::residents::offered::{Offered, version};
use crate::lang::program::{Entry, Playbook, Program};
use crate::serve::http::access::caller::Caller;
use crate::serve::http::body::{Path, Typed};
use crate::serve::http::problem::Problem;
use crate::serve::http::server::Server;
use crate::span::Span;

/// A program.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProgramWire {
    name: String,
    version: String,
    /// Its first agent's heading.
    title: String,
    description: String,
    /// The playbook or plan that a session begins with.
    entry: Option<String>,
    playbooks: Vec<PlaybookWire>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct PlaybookWire {
    name: String,
    parameters: Vec<ParameterWire>,
    /// Whether other programs may call it.
    public: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ParameterWire {
    name: String,
    r#type: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Programs {
    programs: Vec<ProgramWire>,
}

/// The text of a program, and where its lines stand.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SourceWire {
    version: String,
    files: Vec<FileWire>,
    lines: Vec<LineWire>,
}

#[derive(Serialize, JsonSchema)]
struct FileWire {
    name: String,
    text: String,
}

/// A line of a playbook; of its heading, `line` is empty.
#[derive(Serialize, JsonSchema)]
struct LineWire {
    /// `Agent.Playbook`.
    playbook: String,
    line: String,
    /// Which of the files, from 0.
    file: usize,
    /// The first line of that file, from 1.
    from: usize,
    /// The last.
    to: usize,
}

impl SourceWire {
    /// Of a program that was read of this text.
    pub(super) fn of(text: &ProgramText, program: &Program) -> SourceWire {
        let files = program
            .sources
            .iter()
            .map(|(_, file)| FileWire { name: file.name.to_string(), text: file.text.to_string() });
        let mut source = SourceWire { version: version(text).to_string(), files: files.collect(), lines: Vec::new() };
        for playbook in &program.playbooks {
            let name = program.full_name(playbook);
            source.add(program, &name, "", playbook.title_span);
            for step in &playbook.steps {
                source.add(program, &name, &step.label, step.span);
            }
        }
        source
    }

    fn add(&mut self, program: &Program, playbook: &str, line: &str, span: Span) {
        let Some((file, from, to)) = place_of_span(program, span) else { return };
        self.lines.push(LineWire { playbook: playbook.to_owned(), line: line.to_owned(), file, from, to });
    }
}

/// Where a line of an agent's playbook stands: which file, its first line and its last; without a line, its heading.
pub(super) fn place_of(program: &Program, (agent, name): (&str, &str), line: &str) -> Option<(usize, usize, usize)> {
    let is_it = |playbook: &&Playbook| *playbook.name == *name && *program.agent(playbook.agent).name == *agent;
    let playbook = program.playbooks.iter().find(is_it)?;
    let span = match line {
        "" => playbook.title_span,
        line => playbook.steps.iter().find(|step| *step.label == *line)?.span,
    };
    place_of_span(program, span)
}

fn place_of_span(program: &Program, span: Span) -> Option<(usize, usize, usize)> {
    let index = program.sources.iter().position(|(id, _)| id == span.file)?;
    let file = program.sources.get(span.file)?;
    let line_of = |offset: u32| file.lines.line_column(offset as usize).0;
    Some((index, line_of(span.start), line_of(span.end.saturating_sub(1).max(span.start))))
}

impl ProgramWire {
    fn of(offered: &Offered) -> ProgramWire {
        let program = &offered.opened.program;
        let playbook = |id| program.playbook(id).name.to_string();
        let named = program.playbooks.iter().filter(|playbook| !playbook.implicit);
        ProgramWire {
            name: offered.name.to_string(),
            version: offered.version.to_string(),
            title: offered.title().to_owned(),
            description: program.agents.first().map(|agent| agent.description.to_string()).unwrap_or_default(),
            entry: match &program.entry {
                Entry::Beginning(ids) => ids.first().map(|id| playbook(*id)),
                Entry::Single(id) | Entry::Root(id) => Some(playbook(*id)),
                Entry::Plan(id) => program.plan(*id).map(|plan| plan.name.to_string()),
                Entry::None => None,
            },
            playbooks: named
                .map(|playbook| PlaybookWire {
                    name: playbook.name.to_string(),
                    parameters: playbook
                        .parameters
                        .iter()
                        .map(|parameter| ParameterWire {
                            name: parameter.name.to_string(),
                            r#type: parameter.ty.to_string(),
                        })
                        .collect(),
                    public: playbook.public,
                })
                .collect(),
        }
    }
}

pub(super) async fn list(State(server): State<Arc<Server>>, caller: Caller) -> Typed<Programs> {
    let own = caller.programs(&server.residents);
    Typed(Programs { programs: own.iter().map(|offered| ProgramWire::of(offered)).collect() })
}

pub(super) async fn show(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Typed<ProgramWire>, Problem> {
    Ok(Typed(ProgramWire::of(&*server.offered(&caller, &name)?)))
}

pub(super) async fn source(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Typed<SourceWire>, Problem> {
    let offered = server.offered(&caller, &name)?;
    Ok(Typed(SourceWire::of(&offered.opened.text, &offered.opened.program)))
}

/// What another text of a program is.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Reloaded {
    program: ProgramWire,
    /// Whether it is another text than before.
    changed: bool,
}

pub(super) async fn reload(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Typed<Reloaded>, Problem> {
    let before = server.offered(&caller, &name)?;
    let now = server.residents.offer(&name, &before.files).await?;
    Ok(Typed(Reloaded { program: ProgramWire::of(&now), changed: now.version != before.version }))
}

impl Server {
    /// A program that this caller may have.
    pub(super) fn offered(&self, caller: &Caller, name: &str) -> Result<Arc<Offered>, Problem> {
        match caller.may_have(name) {
            true => Ok(self.residents.program(name)?),
            false => Err(Problem::not_found(format!("there is no program {name:?} for this token"))),
        }
    }
}
