//! What a session begins with, and the records of it.

use std::sync::Arc;

use playhouse_lang::program::{EntryId, Program};
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::ToolSignature;
use playhouse_vm::protocol::settings::Settings;

use crate::journal::record::{Begun, FORMAT, GivenFiles, ProgramChanged};
use crate::journal::wire::{EntryWire, ToolWire};
use crate::otel::context::TraceParent;
use crate::program::ProgramText;

/// What a new session begins with.
#[derive(Clone, Debug)]
pub struct Start {
    /// The session's id ([`crate::sessions::new_id`]).
    pub id: Arc<str>,
    /// The program.
    pub program: Arc<Program>,
    /// Its texts, for the journal.
    pub text: ProgramText,
    /// Bounds and switches of the machine.
    pub settings: Settings,
    /// The playbook or plan to begin with; none: the program's entry.
    pub entry: Option<EntryId>,
    /// Its arguments; without `entry` they become variables of the agent that the session begins with.
    pub arguments: Map,
    /// The files beside the program, for the journal.
    pub given: GivenFiles,
}

/// The journal's first record for a session that begins.
pub(crate) fn begun(
    start: &Start,
    model: &str,
    classifier: &str,
    tools: &[ToolSignature],
    trace_parent: Option<TraceParent>,
) -> Begun {
    let program = &start.program;
    Begun {
        format: FORMAT,
        session: start.id.clone(),
        forked_from: None,
        model: model.into(),
        classifier: Some(classifier.into()),
        hash: start.text.hash(),
        roots: start.text.roots.clone(),
        files: start.text.files.clone(),
        settings: start.settings.clone(),
        tools: tools.iter().map(ToolWire::from_tool).collect(),
        entry: start.entry.map(|id| match id {
            EntryId::Playbook(id) => {
                let playbook = program.playbook(id);
                let agent = program.agent(playbook.agent).name.clone();
                EntryWire { agent, playbook: playbook.name.clone(), is_plan: false }
            }
            EntryId::Plan(id) => {
                let name = program.plan(id).map_or_else(|| "".into(), |plan| plan.name.clone());
                EntryWire { agent: "".into(), playbook: name, is_plan: true }
            }
        }),
        arguments: Value::map(start.arguments.clone()),
        secrets: secret_names(program),
        given: start.given.clone(),
        trace_parent: trace_parent.map(|parent| parent.to_string().into()),
    }
}

/// The journal's record for a session that goes on with another text of its program. `program` is what was read of it
/// with these tools; `reopened`: the process was restarted, too.
pub fn program_changed(
    text: &ProgramText,
    program: &Program,
    tools: &[ToolSignature],
    reopened: bool,
) -> ProgramChanged {
    ProgramChanged {
        hash: text.hash(),
        roots: text.roots.clone(),
        files: text.files.clone(),
        tools: tools.iter().map(ToolWire::from_tool).collect(),
        secrets: secret_names(program),
        reopened,
    }
}

fn secret_names(program: &Program) -> Vec<Arc<str>> {
    let declared = program.agents.iter().flat_map(|agent| &agent.variables);
    declared.filter(|variable| variable.secret).map(|variable| variable.name.clone()).collect()
}
