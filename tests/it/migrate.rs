//! A session goes on with another text of its program.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at a few kinds of many")]

use std::sync::Arc;

use playhouse::host::journal::file::FileJournal;
use playhouse::host::journal::record::{Begun, FORMAT, ProgramChanged, Record, RecordBody};
use playhouse::host::journal::wire::{FileWire, ToolWire};
use playhouse::host::journal::{JournalErrorKind, copy};
use playhouse::host::replay::replay;
use playhouse::host::travel::Timeline;
use playhouse::host::why::history;
use playhouse::lang::analysis::diff::changes::{ChangeKind, ProgramChanges};
use playhouse::value::Value;
use playhouse::vm::Machine;
use playhouse::vm::protocol::view::View;
use playhouse::vm::protocol::{Event, Finish, Location, NewProgram, Progress, ReplyEnd, Timestamp};

use crate::golden;
use crate::run::Run;
use crate::stores::Log;
use crate::world::{Case, Chunking, Happening, World, begin, parse, play};
use crate::world_parts::read_program;

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
    for (variables, location) in frames.chain(view.globals.iter().map(|(_, variables)| (variables, None))) {
        location.into_iter().chain(variables.iter().filter_map(|variable| variable.changed_at)).for_each(check);
    }
    for trigger in &view.triggers {
        assert!(program.playbooks[trigger.trigger.playbook.0 as usize].triggers.len() > trigger.trigger.index as usize);
    }
    assert_eq!(view.globals.len(), program.agents.len(), "{about}");
}

fn files(program: &NewProgram) -> Vec<FileWire> {
    let file = |file: &playhouse::span::SourceFile| FileWire {
        name: file.name.clone(),
        text: file.text.clone(),
        imports: Default::default(),
    };
    program.0.sources.iter().map(|(_, source)| file(source)).collect()
}

fn names(program: &NewProgram) -> Vec<Arc<str>> {
    program.0.sources.iter().map(|(_, source)| source.name.clone()).collect()
}

/// The journal of what was played.
fn records(case: &Case, world: &World) -> Vec<Record> {
    let program = NewProgram(case.loaded.get().unwrap().clone());
    let tools: Vec<ToolWire> = case.tools.iter().map(ToolWire::from_tool).collect();
    let begun = Begun {
        format: FORMAT,
        forked_from: None,
        session: "s".into(),
        model: "script:x".into(),
        classifier: None,
        hash: String::new(),
        roots: names(&program),
        files: files(&program),
        settings: case.settings.clone(),
        tools: tools.clone(),
        entry: None,
        arguments: Value::map(case.arguments.clone()),
        secrets: Vec::new(),
        given: Default::default(),
        trace_parent: None,
    };
    let body = |event: &Event| match event {
        Event::ProgramChanged { program, reopened, .. } => RecordBody::ProgramChanged(Box::new(ProgramChanged {
            hash: String::new(),
            roots: names(program),
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
        let timeline = Timeline::new(read.clone()).unwrap();
        assert_eq!(timeline.at(timeline.end()).unwrap().machine.view().stack, view.stack, "{name}");
        for why in history(&read).unwrap().explain_all() {
            assert!(!why.text.is_empty(), "{name}: {}", why.name);
        }
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
            machine.handle(Timestamp(0), Event::ProgramChanged { program, tools, reopened: false });
            let after = machine.view();
            let about = format!("{name}, before happening {index}");
            check_view(&machine, &after, &about);
            assert_eq!(before.stack.len(), after.stack.len(), "{about}");
            for (before, after) in before.stack.iter().zip(&after.stack) {
                assert_eq!((&before.loops, before.inlined), (&after.loops, after.inlined), "{about}");
                // A reply that is cut leaves its calls to be waited for, at the line that made them.
                if before.turn.is_none() {
                    assert_eq!(before.line, after.line, "{about}");
                }
                assert_eq!((&before.variables, &before.origin), (&after.variables, &after.origin), "{about}");
                assert_eq!((before.n_elided, &before.result_name), (after.n_elided, &after.result_name), "{about}");
            }
            assert_eq!(before.globals, after.globals, "{about}");
            assert_eq!(before.triggers, after.triggers, "{about}");
            world.happen(happening, Chunking::Whole);
        }
    }
}

/// Another text made of a program's: its beginning, some lines left out, said twice or changed.
fn mutated(random: &mut fastrand::Rng, text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let n_kept = if random.bool() { lines.len() } else { random.usize(..=lines.len()) };
    let mut mutated = String::new();
    for line in &lines[..n_kept] {
        match random.u8(..20) {
            0 => {}
            1 => mutated.push_str(&format!("{line}\n{line}\n")),
            2 => mutated.push_str(&format!("{line} now\n")),
            3 => mutated.push_str(&format!("  {line}\n")),
            _ => mutated.push_str(&format!("{line}\n")),
        }
    }
    mutated
}

/// Something that fits what the machine waits for.
fn anything(random: &mut fastrand::Rng, world: &World, replies: &[String]) -> Happening {
    let replies: Vec<&str> = replies.iter().flat_map(|reply| reply.lines()).collect();
    if world.is_judging() && random.bool() {
        return Happening::Verdict(if random.bool() { Ok(Vec::new()) } else { Err("timeout".to_owned()) });
    }
    match random.u8(..12) {
        0 => Happening::Interrupt,
        1 => Happening::Reopen,
        2 => Happening::User("seven".to_owned()),
        3 => Happening::Pass(60_000),
        _ if world.is_asking() => {
            let n_lines = random.usize(1..4);
            let lines: Vec<&str> = (0..n_lines).filter_map(|_| random.choice(&replies).copied()).collect();
            if random.bool() && !lines.is_empty() {
                Happening::Chunk(lines.join("\n"))
            } else {
                Happening::Reply { text: lines.join("\n"), end: ReplyEnd::Complete(Finish::Stop) }
            }
        }
        _ => match world.running_tool() {
            Some(name) => Happening::Result(name, Ok(Value::from(7))),
            None => Happening::User("eight".to_owned()),
        },
    }
}

/// From any program to any other, anywhere: the machine goes on, what it tells is of the new program, and its events
/// lead to the same again.
#[test]
fn any_program_to_any_other() {
    let mut random = fastrand::Rng::with_seed(7);
    let texts: Vec<String> = ["vm", "migrate"]
        .iter()
        .flat_map(|folder| golden::cases(folder, &["txt"]))
        .map(|(_, path)| std::fs::read_to_string(path).unwrap())
        .collect();
    let mut cases: Vec<Case> = texts.iter().map(|text| parse(text)).collect();
    cases.iter_mut().for_each(|case| case.settings.budget = 200);
    let (mut n_changes, mut n_kept) = (0, 0);
    for case in cases.iter().cycle().take(6 * cases.len()) {
        let replies: Vec<String> = case
            .happenings
            .iter()
            .filter_map(|happening| match happening {
                Happening::Reply { text, .. } | Happening::Chunk(text) => Some(text.clone()),
                _ => None,
            })
            .collect();
        let mut begun = World::new(begin(case));
        begun.patience = 5;
        let mut world = begun.clone();
        let _ = world.settle();
        let mut current = case.program.clone();
        for _ in 0..12 {
            if random.u8(..3) == 0 {
                let source = if random.u8(..5) == 0 { &random.choice(&cases).unwrap().program } else { &current };
                current = mutated(&mut random, source);
                let n_frames = world.machine.view().stack.len();
                world.change_program(read_program(&current, &case.tools), random.bool());
                let view = world.machine.view();
                check_view(&world.machine, &view, &current);
                n_changes += 1;
                n_kept += usize::from(n_frames > 0 && view.stack.len() == n_frames);
                let _ = world.settle();
            } else {
                let happening = anything(&mut random, &world, &replies);
                world.happen(&happening, Chunking::Whole);
            }
            check_view(&world.machine, &world.machine.view(), &current);
        }
        let mut again = begun;
        again.replay(&world.events);
        assert_eq!(again.machine.view(), world.machine.view());
        assert_eq!(again.log, world.log);
    }
    assert!(n_changes > 300 && n_kept > 100, "{n_changes} changes, {n_kept} with all frames kept");
}

/// The machine can be told at any time, also before it has said all that it has to say.
#[test]
fn in_the_middle_of_what_an_event_has_set_off() {
    let mut random = fastrand::Rng::with_seed(8);
    let mut n_changes = 0;
    for (name, path) in golden::cases("vm", &["txt"]) {
        let mut case = parse(&std::fs::read_to_string(path).unwrap());
        case.settings.budget = 200;
        let begun = begin(&case);
        let played = play(World::new(begun.clone()), &case, Chunking::Whole);
        let n_events = played.events.len();
        for _ in 0..10 {
            let mut machine = begun.clone();
            let advance = |machine: &mut Machine, limit: usize| {
                let stops = |progress: &Progress| matches!(progress, Progress::Blocked(_) | Progress::Finished(_));
                let _ = (0..limit).any(|_| stops(&machine.advance()));
            };
            for (time, event) in &played.events[..random.usize(..=n_events)] {
                advance(&mut machine, 10_000);
                machine.handle(*time, event.clone());
            }
            advance(&mut machine, random.usize(..6));
            let program = NewProgram(read_program(&mutated(&mut random, &case.program), &case.tools));
            let (tools, reopened) = (machine.tools().clone(), random.bool());
            machine.handle(Timestamp(0), Event::ProgramChanged { program, tools, reopened });
            check_view(&machine, &machine.view(), &name);
            advance(&mut machine, 10_000);
            check_view(&machine, &machine.view(), &name);
            n_changes += 1;
        }
    }
    assert!(n_changes > 500, "{n_changes}");
}

#[test]
fn what_differs_is_told() {
    let old = "# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Ask the user for $x\n- Say  goodbye\n\
               ## Sub($n)\n### Steps\n- Rest\n";
    let new = "# A\n## Main\nBe kind.\n### Triggers\n- At the beginning\n- When $x > 3\n### Steps\n- Praise $x\n\
               - Say goodbye\n## Other\n### Steps\n- Rest\n";
    let (old, new) = (read_program(old, &[]), read_program(new, &[]));
    let changes = ProgramChanges::new(&old, &new);
    assert_eq!(changes.files, [("case.md".into(), ChangeKind::Changed)]);
    let told =
        "A.Main: description, triggers\n  - 01 Ask the user for $x\n  + 01 Praise $x\nA.Other: added\nA.Sub: removed";
    assert_eq!(changes.to_string(), told);
    assert!(ProgramChanges::new(&new, &new).is_empty());
}

/// What a changed program declares secret is masked in the journal from then on, and there again when it is read.
#[test]
fn new_secrets_are_in_no_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let case = parse("--- program\n# A\n## Main\n### Steps\n- Rest\n--- argument pin=\"old\"\n");
    let world = World::new(begin(&case));
    let begun = records(&case, &world).remove(0).body;
    let changed = declares("pin");
    let edited = |value: &str| RecordBody::Edited {
        frame: None,
        name: "pin".into(),
        value: value.into(),
        after: None,
        by: None,
    };
    let written = [begun, edited("seen"), changed, edited("hush-4711")];
    let mut journal = Log::new(FileJournal::open(path.clone()).unwrap());
    for body in &written {
        journal.append(Timestamp(0), body.clone()).unwrap();
    }
    drop(journal);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("seen") && !text.contains("hush-4711"), "{text}");
    let mut journal = Log::new(FileJournal::open(path.clone()).unwrap());
    let read: Vec<RecordBody> = journal.records().unwrap().into_iter().map(|record| record.body).collect();
    assert_eq!(read[1..], written[1..]);
    // Also by a process that finds the change there.
    journal.append(Timestamp(0), edited("hush-4712")).unwrap();
    drop(journal);
    assert!(!std::fs::read_to_string(&path).unwrap().contains("hush-4712"));
    assert_eq!(Log::new(FileJournal::open(path).unwrap()).records().unwrap().pop().unwrap().body, edited("hush-4712"));
}

/// A copy of a session is masked also where its program declared a value secret only later, and has it beside it.
#[test]
fn a_copy_keeps_what_was_declared_secret_later() {
    let folder = tempfile::tempdir().unwrap();
    let case =
        parse("--- program\n# A\n## Main\n### Steps\n- Rest\n--- argument pin=\"p-1\"\n--- argument key=\"k-1\"\n");
    let world = World::new(begin(&case));
    for (name, secrets) in [("none", vec![]), ("key", vec!["key".into()])] {
        let mut written = records(&case, &world);
        written.truncate(1);
        let RecordBody::Begun(begun) = &mut written[0].body else { panic!("no beginning") };
        begun.secrets = secrets;
        written.push(Record { seq: 2, time: 0, body: declares("pin") });
        let path = folder.path().join(format!("{name}.jsonl"));
        let mut journal = Log::new(FileJournal::open(path.clone()).unwrap());
        for record in &written {
            journal.append(Timestamp(record.time), record.body.clone()).unwrap();
        }
        drop(journal);
        assert_eq!(std::fs::read_to_string(&path).unwrap().contains("k-1"), name == "none");
        let read = Log::new(FileJournal::open(path).unwrap()).records().unwrap();
        assert_eq!(read[0].body, written[0].body, "{name}");
        assert!(copy::holds_secrets(&read));
        let copied = folder.path().join(format!("{name}-copied.jsonl"));
        std::fs::write(&copied, copy::lines(&read)).unwrap();
        assert!(!std::fs::read_to_string(&copied).unwrap().contains("p-1"));
        let missing = FileJournal::open(copied.clone()).err().map(|error| error.kind);
        assert!(matches!(missing, Some(JournalErrorKind::SecretsMissing { seq: 1 })), "{name}: {missing:?}");
        copy::keep_secrets(&copied, &read).unwrap();
        assert_eq!(Log::new(FileJournal::open(copied).unwrap()).records().unwrap(), read, "{name}");
    }
}

/// Another text of the program, which declares a variable secret.
fn declares(name: &str) -> RecordBody {
    RecordBody::ProgramChanged(Box::new(ProgramChanged {
        hash: String::new(),
        roots: vec!["case.md".into()],
        files: Vec::new(),
        tools: Vec::new(),
        secrets: vec![name.into()],
        reopened: false,
    }))
}

const BEFORE: &str = "# Shop\n\n## Main\n\n### Triggers\n\n- At the beginning\n\n### Steps\n\n- Say \"Welcome.\"\n\
                      - Ask the user for $name\n- Say \"Bye, {$name}.\"\n";

fn script(replies: &[&str]) -> String {
    replies.iter().map(|reply| serde_json::json!({ "reply": reply }).to_string() + "\n").collect()
}

fn shop() -> Run {
    let script = script(&[
        r#"{"at":"02","say":"Name?","wait":"user"}"#,
        r#"{"at":"02","say":"First and last name?","wait":"user"}"#,
        r#"{"at":"02","set":{"first":"Ann","last":"Lee"}}"#,
    ]);
    Run::new().program(BEFORE).script(&script)
}

const RUN: &str = "run program.md --model script:script.jsonl --session s";

#[test]
fn a_session_is_resumed_with_another_text() {
    let after = BEFORE.replace("$name\n- Say \"Bye, {$name}.\"", "$first and $last\n- Say \"Good night, {$first}.\"");
    let done = shop().line(RUN).code(3).stdout("Welcome.\nName?\n");
    std::fs::write(done.path("program.md"), &after).unwrap();
    // Nothing happens to a session whose new text has an error.
    std::fs::write(done.path("wrong.md"), after.replace("Good night, {$first}.\"", "x\"\n- $x = Nope(1)")).unwrap();
    let wrong = done.then().line("sessions resume s --migrate wrong.md --model script:script.jsonl").code(2);
    let wrong = wrong.stdout("").stderr_contains("there is no playbook or tool `Nope`");
    let run =
        wrong.then().line("sessions resume s --model script:script.jsonl --events events.jsonl --migrate program.md");
    let done = run.code(3).stdout("First and last name?\n");
    let done = done.stderr_contains("Shop.Main: changed").stderr_contains("  - 02 Ask the user for $name");
    let done = done.stderr_contains(
        "the session continues with the changed program (program.md); Main:02 no longer exists, continued at Main:01",
    );
    let events = done.read("events.jsonl");
    let event: serde_json::Value = events
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .find(|event: &serde_json::Value| event["type"] == "program_changed")
        .unwrap();
    assert_eq!(event["files"], serde_json::json!(["program.md"]));
    assert_eq!(event["lines"], serde_json::json!([{ "from": "Main:02", "to": "Main:01" }]));
    // From now on the new text is the session's own.
    let done = done.then().line("sessions show s").code(0).stdout_contains("Ask the user for $first and $last");
    let run = done.then().line(RUN).stdin("Ann Lee\n");
    let done = run.code(0).stdout("Good night, Ann.\n");
    assert!(!done.stderr.contains("has changed"), "{}", done.stderr);
}

#[test]
fn a_session_goes_on_with_the_old_text_unless_told_otherwise() {
    let done = shop().line(RUN).code(3);
    std::fs::write(done.path("program.md"), BEFORE.replace("Bye", "Good night")).unwrap();
    let done = done.then().line(RUN).code(3).stdout("");
    let done =
        done.stderr_contains("the program's text has changed since session s began").stderr_contains("--migrate");
    let script = script(&[r#"{"at":"02","say":"Name?","wait":"user"}"#, r#"{"at":"02","set":{"name":"Ann"}}"#]);
    std::fs::write(done.path("script.jsonl"), script).unwrap();
    let done = done.then().line(RUN).line("--migrate").stdin("Ann\n").code(0).stdout("Good night, Ann.\n");
    let done = done.then().line(RUN).line("--migrate").code(0).stderr_contains("the program has not changed");
    done.then().line("run program.md --migrate").code(2).stderr_contains("--session");
}

#[test]
fn a_session_that_has_failed_goes_on_with_a_text_that_mends_it() {
    let before = "# A\n\n## Main\n\nlimits: {turns: 1}\n\n### Triggers\n\n- At the beginning\n\n### Steps\n\n- Count\n\
                  - Say \"Done.\"\n";
    let script =
        script(&[r#"{"at":"01","say":"One.","wait":"user"}"#, "{\"at\":\"01\",\"say\":\"Two.\"}\n{\"at\":\"02\"}"]);
    let done = Run::new().program(before).script(&script).line(RUN).stdin("go on\n").code(1).stdout("One.\n");
    std::fs::write(done.path("program.md"), before.replace("turns: 1", "turns: 5")).unwrap();
    let done = done.then().line(RUN).line("--migrate").code(0).stdout("Two.\nDone.\n");
    done.stderr_contains("A.Main: limits");
}
