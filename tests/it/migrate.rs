//! A session goes on with another text of its program.

use std::sync::Arc;

use playhouse::host::journal::record::{Begun, FORMAT, ProgramChanged, Record, RecordBody};
use playhouse::host::journal::wire::{FileWire, SettingsWire, ToolWire};
use playhouse::host::session::replay::replay;
use playhouse::value::Value;
use playhouse::vm::Machine;
use playhouse::vm::protocol::{Event, Location, NewProgram};
use playhouse::vm::view::View;

use crate::golden;
use crate::world::{Case, Chunking, World, begin, parse, play};

/// Every location that a view names is one of the machine's program.
#[track_caller]
fn check_view(machine: &Machine, view: &View, about: &str) {
    let program = machine.program();
    let check = |location: Location| match location {
        Location::Line { playbook, step } => {
            let found = program.playbooks.get(playbook.0 as usize);
            let found = found.unwrap_or_else(|| panic!("{about}: no playbook {playbook:?}"));
            assert!(step.is_none_or(|step| (step.0 as usize) < found.steps.len()), "{about}: no line {step:?}");
        }
        Location::Plan { plan, node } => {
            let found = machine.plan(plan).unwrap_or_else(|| panic!("{about}: no plan {plan:?}"));
            assert!(node.is_none_or(|node| (node.0 as usize) < found.nodes.len()), "{about}: no node {node:?}");
        }
    };
    let frames = view.stack.iter().map(|frame| (&frame.variables, Some(frame.location)));
    for (variables, location) in frames.chain(view.others.iter().map(|(_, variables)| (variables, None))) {
        location.into_iter().chain(variables.iter().filter_map(|variable| variable.changed_at)).for_each(check);
    }
    for trigger in &view.triggers {
        assert!(program.playbooks[trigger.trigger.playbook.0 as usize].triggers.len() > trigger.trigger.index as usize);
    }
    assert_eq!(view.others.len(), program.agents.len(), "{about}");
}

fn files(program: &NewProgram) -> Vec<FileWire> {
    let file = |file: &playhouse::span::SourceFile| FileWire {
        name: file.name.clone(),
        text: file.text.clone(),
        imports: Default::default(),
    };
    program.0.sources.iter().map(|(_, source)| file(source)).collect()
}

/// The journal of what was played.
fn records(case: &Case, world: &World) -> Vec<Record> {
    let program = NewProgram(case.loaded.get().unwrap().clone());
    let tools: Vec<ToolWire> = case.tools.iter().map(ToolWire::from_tool).collect();
    let begun = Begun {
        format: FORMAT,
        session: "s".into(),
        model: "script:x".into(),
        classifier: None,
        hash: String::new(),
        roots: vec!["case.md".into()],
        files: files(&program),
        settings: SettingsWire::from_settings(&case.settings),
        tools: tools.clone(),
        entry: None,
        arguments: Value::map(case.arguments.clone()),
        secrets: Vec::new(),
    };
    let body = |event: &Event| match event {
        Event::ProgramChanged { program, reopened, .. } => RecordBody::ProgramChanged(Box::new(ProgramChanged {
            hash: String::new(),
            roots: vec!["case.md".into()],
            files: files(program),
            tools: tools.clone(),
            secrets: Vec::new(),
            reopened: *reopened,
        })),
        other => RecordBody::from_event(other).unwrap(),
    };
    let bodies = world.events.iter().map(|(time, event)| (time.0, body(event)));
    let bodies = std::iter::once((0, RecordBody::Begun(Box::new(begun)))).chain(bodies);
    (1..).zip(bodies).map(|(seq, (time, body))| Record { seq, time, body }).collect()
}

#[test]
fn cases() {
    golden::check("migrate", &["txt"], |name, text| {
        let case = parse(text);
        let world = play(World::new(begin(&case)), &case, Chunking::Whole);
        let view = world.machine.view();
        check_view(&world.machine, &view, name);
        // What the journal holds of it, written and read again, leads to the same.
        let records = records(&case, &world);
        let written: Vec<String> = records.iter().map(|record| serde_json::to_string(record).unwrap()).collect();
        let read: Vec<Record> = written.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        for (read, line) in read.iter().zip(&written) {
            assert_eq!(serde_json::to_string(read).unwrap(), *line, "{name}");
        }
        let replayed = replay(&read, None).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(replayed.machine.view(), view, "{name}");
        world.log.join("\n") + "\n"
    });
    assert!(golden::cases("migrate", &["txt"]).len() >= 25 || golden::is_blessing());
}

/// A program that has not changed changes nothing but the chat sessions, wherever the session stands.
#[test]
fn the_same_text_changes_nothing() {
    for (name, path) in golden::cases("vm", &["txt"]) {
        let case = parse(&std::fs::read_to_string(path).unwrap());
        let mut world = World::new(begin(&case));
        let _ = world.settle();
        for (index, happening) in case.happenings.iter().enumerate() {
            let mut machine = world.machine.clone();
            let before = machine.view();
            let program = NewProgram(Arc::new((**machine.program()).clone()));
            let tools = machine.tools().clone();
            machine.handle(
                playhouse::vm::protocol::Timestamp(0),
                Event::ProgramChanged { program, tools, reopened: false },
            );
            let after = machine.view();
            let about = format!("{name}, before happening {index}");
            check_view(&machine, &after, &about);
            assert_eq!(before.stack.len(), after.stack.len(), "{about}");
            for (before, after) in before.stack.iter().zip(&after.stack) {
                assert_eq!(
                    (&before.line, &before.loops, before.inlined),
                    (&after.line, &after.loops, after.inlined),
                    "{about}"
                );
                assert_eq!((&before.variables, &before.origin), (&after.variables, &after.origin), "{about}");
                assert_eq!((before.n_elided, &before.result_name), (after.n_elided, &after.result_name), "{about}");
            }
            assert_eq!(before.others, after.others, "{about}");
            assert_eq!(before.triggers, after.triggers, "{about}");
            world.happen(happening, Chunking::Whole);
        }
    }
}
