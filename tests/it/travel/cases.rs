//! Journals of the machine's cases: nested frames, triggers in mid-stream, tail calls, inlined playbooks, plans.

use playhouse::host::journal::record::{Begun, FORMAT, Record, RecordBody};
use playhouse::host::journal::wire::EntryWire;
use playhouse::host::journal::wire::{FileWire, ToolWire};
use playhouse::lang::program::Program;
use playhouse::value::Value;

use crate::golden;
use crate::plan_machine::{begin as begin_plan, parse_plan_case};
use crate::world::{Case, Chunking, World, begin, parse, play};

/// All cases that a session could have had, by name, with their records.
pub(crate) fn journals(chunking: Chunking) -> Vec<(String, Vec<Record>)> {
    let read = |(name, path)| (name, std::fs::read_to_string::<std::path::PathBuf>(path).unwrap());
    let of_playbooks = golden::cases("vm", &["txt"]).into_iter().map(read).map(|(name, text): (String, String)| {
        let case = parse(&text);
        let world = play(World::new(begin(&case)), &case, chunking);
        (name, records(&case, &world))
    });
    let of_plans = golden::cases("plans/machine", &["txt"]).into_iter().map(read).map(|(name, text)| {
        let case = parse_plan_case(&text);
        let world = play(World::new(begin_plan(&name, &case)), &case.case, chunking);
        (format!("plans/{name}"), records(&case.case, &world))
    });
    of_playbooks.chain(of_plans).collect()
}

/// The records of a run.
pub(crate) fn records(case: &Case, world: &World) -> Vec<Record> {
    let program = world.machine.program();
    let files = program.sources.iter().map(|(_, file)| FileWire {
        name: file.name.clone(),
        text: file.text.clone(),
        imports: Default::default(),
    });
    let files: Vec<FileWire> = files.collect();
    let begun = Begun {
        format: FORMAT,
        session: "s1".into(),
        forked_from: None,
        model: "script:x".into(),
        classifier: None,
        hash: "fnv1a64:0".to_owned(),
        roots: files.iter().map(|file| file.name.clone()).collect(),
        files,
        settings: case.settings.clone(),
        tools: case.tools.iter().map(ToolWire::from_tool).collect(),
        entry: case.entry.as_deref().map(|name| entry(program, name)),
        arguments: Value::map(case.arguments.clone()),
        secrets: Vec::new(),
        given: Default::default(),
        trace_parent: None,
    };
    let begun = Record { seq: 1, time: 0, body: RecordBody::Begun(Box::new(begun)) };
    let events = world.events.iter().zip(2..).map(|((time, event), seq)| Record {
        seq,
        time: time.0,
        body: RecordBody::from_event(event).unwrap(),
    });
    std::iter::once(begun).chain(events).collect()
}

fn entry(program: &Program, name: &str) -> EntryWire {
    let playbook = program.playbooks.iter().find(|playbook| &*playbook.name == name);
    let agent = playbook.map_or_else(|| "".into(), |playbook| program.agent(playbook.agent).name.clone());
    EntryWire { agent, playbook: name.into(), is_plan: program.find_plan(name).is_some() }
}
