//! Whole conversations with the embedded model: program and messages in, transcript out.

use std::fs;
use std::path::Path;

use playhouse::host::llm::TurnAsData;
use playhouse::host::llm::embedded::reply;
use playhouse::value::Value;
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::{Outcome, Wait};

use crate::golden;
use crate::world::{Case, Chunking, Happening, World, begin, parse};

/// More steps than any conversation needs.
const MAX_TURNS: usize = 4_000;

/// Talks until the program is over or nobody has anything to say: `messages` are the user's, `result` tells what a
/// tool answers. Gives how it ended.
pub(crate) fn talk(
    world: &mut World,
    messages: &mut dyn Iterator<Item = String>,
    result: &mut dyn FnMut(&str, &World) -> Result<Value, String>,
) -> String {
    for _ in 0..MAX_TURNS {
        match world.settle() {
            Err(Outcome::Done { value }) => return format!("done: {}", value.shown()),
            Err(Outcome::Failed(fault)) => return format!("failed ({}): {}", fault.kind, fault.message),
            Ok(Wait::Reply(_)) => {
                let start = world.asked.clone().unwrap();
                let (program, tools) = (world.machine.program().clone(), world.machine.tools().clone());
                let turn = TurnAsData { program, tools, data: start.data.clone() };
                let written = reply(&turn, &start.messages);
                let (end, text) = (written.end(), written.lines);
                world.log.push(format!("reply {}", text.trim_end().replace('\n', "\n      ")));
                world.happen(&Happening::Reply { text, end }, Chunking::Whole);
            }
            Ok(Wait::Call(_)) => {
                let name = world.running_tool().unwrap();
                let result = result(&name, world);
                world.happen(&Happening::Result(name, result), Chunking::Whole);
            }
            Ok(Wait::User) => match messages.next() {
                Some(message) => world.happen(&Happening::User(message), Chunking::Whole),
                None => return "waits for the user".to_owned(),
            },
            Ok(Wait::Timer(_)) => world.happen(&Happening::Timer(None), Chunking::Whole),
            Ok(wait @ (Wait::Approval(_) | Wait::Verdict(_) | Wait::Budget)) => panic!("nobody answers {wait:?}"),
        }
    }
    "does not end".to_owned()
}

/// What people would notice of a log, and what went wrong.
pub(crate) fn transcript(log: &[String]) -> String {
    let kept = [
        "say ",
        "user ",
        "set ",
        "queued ",
        "finished ",
        "repair",
        "skipped",
        "degraded",
        "retry",
        "waits for the timer",
    ];
    let is_kept =
        |line: &&String| kept.iter().any(|start| line.starts_with(start)) && !line.starts_with("set $user_message");
    log.iter().filter(is_kept).map(|line| format!("{line}\n")).collect()
}

/// A model that is corrected has made a mistake.
#[track_caller]
pub(crate) fn assert_flawless(log: &[String], what: &str) {
    let flaw = log.iter().position(|line| ["repair", "degraded", "retry"].iter().any(|flaw| line.starts_with(flaw)));
    assert!(flaw.is_none(), "{what}:\n{}", log.join("\n"));
}

fn play(case: Case) -> (World, String) {
    let settings = Settings { classifier: false, ..case.settings.clone() };
    let mut messages = Vec::new();
    let mut results = Vec::new();
    for happening in &case.happenings {
        if let Happening::User(text) = happening {
            messages.push(text.clone());
        } else if let Happening::Result(name, result) = happening {
            results.push((name.clone(), result.clone()));
        } else {
            panic!("{happening:?} is of no use here");
        }
    }
    let mut world = World::new(begin(&Case { settings, ..case }));
    let mut messages = messages.into_iter();
    let mut result = |name: &str, _: &World| match results.iter().position(|(tool, _)| tool == name) {
        Some(index) => results.remove(index).1,
        None => Ok(Value::Null),
    };
    let end = talk(&mut world, &mut messages, &mut result);
    (world, end)
}

#[test]
fn embedded_talks() {
    golden::check("embedded/talks", &["txt"], |_, text| {
        let (world, end) = play(parse(text));
        format!("{}{end}\n", transcript(&world.log))
    });
}

/// Whether the interpreter does what is exact, or the model: the same is said and set.
#[test]
fn embedded_talks_without_explicit_lines() {
    for (name, path) in golden::cases("embedded/talks", &["txt"]) {
        let text = fs::read_to_string(path).unwrap();
        if text.contains("only with explicit lines") {
            continue;
        }
        let noticed = |world: &World| {
            let lines = world
                .log
                .iter()
                .filter(|line| ["say ", "user ", "queued "].iter().any(|start| line.starts_with(start)));
            lines.cloned().collect::<Vec<_>>().join("\n")
        };
        let (with, end_with) = play(parse(&text));
        let mut case = parse(&text);
        case.settings = Settings { explicit_lines: false, tail_calls: false, ..case.settings };
        let (without, end_without) = play(case);
        assert_eq!(noticed(&with), noticed(&without), "{name}\n{}", without.log.join("\n"));
        assert_eq!(end_with, end_without, "{name}");
    }
}

/// An example's text.
pub(crate) fn example(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(format!("{name}.md"))).unwrap()
}
