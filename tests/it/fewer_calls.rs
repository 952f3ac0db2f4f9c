//! Programs of explicit lines do the same with tail calls and inlining as without: random ones, without a model.
#![allow(clippy::print_stdout, reason = "how much was compared is what one wants to know")]

use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use playhouse::lang::analysis::Analysis;
use playhouse::lang::program::{PlaybookId, Step, StepId, StepKind};
use playhouse::vm::Machine;
use playhouse::vm::protocol::{Finish, Outcome, ReplyEnd, Role, StartTurn};

use crate::world::{Chunking, Happening, World, begin, parse};

/// Names that are declared, that Main sets first, and that playbooks set before they read them or do not.
const NAMES: [&str; 6] = ["declared", "main", "outer", "a", "b", "c"];

fn name(random: &mut Rng) -> &'static str {
    NAMES[random.usize(..NAMES.len())]
}

fn value(random: &mut Rng) -> String {
    match random.u8(0..5) {
        0 => random.u8(0..9).to_string(),
        1 => format!("${} + {}", name(random), random.u8(1..4)),
        2 => "$n".to_owned(),
        3 => format!("${} - $n", name(random)),
        _ => format!("${}", name(random)),
    }
}

/// A call of one of the playbooks behind `index`.
fn call(random: &mut Rng, index: usize, n_playbooks: usize) -> Option<String> {
    let callee = (index + 1 < n_playbooks).then(|| random.usize(index + 1..n_playbooks))?;
    Some(format!("P{callee}({})", random.u8(0..3)))
}

/// A line in words, whose meaning [`Model`] knows.
fn words(random: &mut Rng, index: usize, n_playbooks: usize) -> String {
    let called = call(random, index, n_playbooks);
    match (random.u8(0..4), called) {
        (0, Some(called)) => format!("- Have {called} done for ${}\n", name(random)),
        (0 | 1, _) => format!("- Remember {} as ${}\n", random.u8(0..9), name(random)),
        (2, _) => format!("- Whisper about ${}\n", name(random)),
        _ => format!("- Copy ${} to ${}\n", name(random), name(random)),
    }
}

fn line(random: &mut Rng, index: usize, n_playbooks: usize, free: bool) -> String {
    if free && random.bool() {
        return words(random, index, n_playbooks);
    }
    let called = call(random, index, n_playbooks);
    match (random.u8(0..10), called) {
        (0 | 1, Some(called)) => format!("- {called}\n"),
        (2 | 3, Some(called)) => format!("- ${} = {called}\n", name(random)),
        (4, _) => format!("- Say \"P{index} {{${}}} {{$n}}\"\n", name(random)),
        (5, _) => format!("- If ${} > {}\n  - ${} = {}\n", name(random), random.u8(0..5), name(random), value(random)),
        (6, Some(called)) if !free => format!("- For each $item in [1, 2]\n  - ${} = {called}\n", name(random)),
        (7, _) => format!("- ${} = Log(${})\n", name(random), name(random)),
        _ => format!("- ${} = {}\n", name(random), value(random)),
    }
}

fn program(random: &mut Rng, free: bool) -> String {
    let n_playbooks = random.usize(2..6);
    let mut text = "--- program\n# A\nvariables:\n  declared: {type: any, value: 1}\n## Main\n### Triggers\n\
                    - At the beginning\n### Steps\n- $n = 7\n- $main = 10\n"
        .to_owned();
    if random.bool() {
        text += "- $outer = 20\n";
    }
    (0..random.usize(1..4)).for_each(|_| text += &line(random, 0, n_playbooks, free));
    text += &format!("- Return [$main, ${}]\n", name(random));
    for index in 1..n_playbooks {
        let returns = if random.u8(0..4) == 0 { " -> int" } else { "" };
        text += &format!("## P{index}($n){returns}\n### Steps\n");
        let recurs = random.u8(0..3) == 0;
        if recurs {
            text += &format!("- If $n < 1, return ${}\n", name(random));
        }
        (0..random.usize(1..4)).for_each(|_| text += &line(random, index, n_playbooks, free));
        let called = call(random, index, n_playbooks);
        let (kept, returned) = (name(random), value(random));
        text += &match (random.u8(0..5), recurs, called) {
            (_, true, _) if returned.len() % 2 == 0 => format!("- Return P{index}($n - 1)\n"),
            (_, true, _) => format!("- ${kept} = P{index}($n - 1)\n- Return ${kept}\n"),
            (0, _, Some(called)) => format!("- {called}\n"),
            (1, _, Some(called)) => format!("- Return {called}\n"),
            (2, _, Some(called)) => format!("- ${kept} = {called}\n- Return ${kept}\n"),
            (3, ..) => String::new(),
            (4, ..) if free => format!("- Return what is in ${kept}\n"),
            _ => format!("- Return {returned}\n"),
        };
    }
    text += "--- tools\nLog(text)\n";
    if free || random.bool() {
        // So that every explicit line can be done: one that cannot is the model's, who may not know that yet.
        ["outer", "a", "b", "c"].iter().for_each(|name| text += &format!("--- argument {name}=0\n"));
    }
    text
}

/// A line as the model sees it.
struct Shown {
    label: String,
    text: Arc<str>,
    explicit: bool,
    branches: bool,
}

fn shown(prefix: &str, step: &Step) -> Shown {
    let branches = matches!(step.kind, StepKind::Branch { .. } | StepKind::Loop(_));
    Shown { label: format!("{prefix}{}", step.label), text: step.text.clone(), explicit: step.explicit, branches }
}

/// What a model writes that knows what each line in words means: all lines from the pointer on, as far as it can
/// know that they follow.
fn answer(machine: &Machine, start: &StartTurn, inline_lines: usize) -> String {
    if start.data.problem.is_some() {
        return "{\"end\":\"stuck\"}\n".to_owned();
    }
    let program = machine.program();
    let (asker, inner) = match start.data.inside {
        Some((playbook, line)) => (playbook, Some(line)),
        None => (start.data.playbook, None),
    };
    let pointer = start.data.pointer.unwrap();
    let here = |playbook: PlaybookId, step: StepId| program.playbook(playbook).step(step).label.to_string();
    let at = match inner {
        Some(line) => format!("{}>{}", here(asker, line), here(start.data.playbook, pointer)),
        None => here(asker, pointer),
    };
    let mut lines = Vec::new();
    for step in &program.playbook(asker).steps {
        lines.push(shown("", step));
        if let Ok(callee) = Analysis::new(program.as_ref()).inlining(asker, step.id, inline_lines) {
            let prefix = format!("{}>", step.label);
            lines.extend(program.playbook(callee).steps.iter().map(|inner| shown(&prefix, inner)));
        }
    }
    let is_done = |label: &str| {
        let mark = format!("{{\"at\":\"{label}\",");
        start.messages.iter().any(|message| message.role == Role::Assistant && message.text.contains(&mark))
    };
    let from = lines.iter().position(|line| line.label == at).unwrap();
    let mut reply = String::new();
    for line in &lines[from..] {
        let label = &line.label;
        if line.explicit && line.label != at {
            // It is named, for a reply cannot jump over it.
            reply += &format!("{{\"at\":\"{label}\"}}\n");
            // What follows depends on it.
            let returns = line.text.starts_with("Return") && !label.contains('>');
            if line.branches || returns {
                return reply;
            }
            continue;
        }
        if is_done(label) {
            continue;
        }
        let words: Vec<&str> = line.text.split_whitespace().collect();
        let bare = |name: &&str| name.trim_start_matches('$').to_owned();
        let action = match words.as_slice() {
            ["Have", called, "done", "for", name] => {
                let (callee, argument) = called.trim_end_matches(')').split_once('(').unwrap();
                reply +=
                    &format!("{{\"at\":\"{label}\",\"call\":\"{callee}\",\"args\":[{argument}],\"as\":\"{name}\"}}\n");
                return reply + &format!("{{\"at\":\"{label}\",\"wait\":\"calls\"}}\n");
            }
            ["Remember", number, "as", name] => format!("\"set\":{{\"{}\":{number}}}", bare(name)),
            ["Copy", from, "to", name] => format!("\"set\":{{\"{}\":\"{from}\"}}", bare(name)),
            ["Whisper", "about", name] => format!("\"say\":\"{{{name}}}\""),
            ["Return", "what", "is", "in", name] => format!("\"return\":\"{name}\""),
            // An explicit line that could not be done: the program ends here, in both runs alike.
            _ => return reply + "{\"end\":\"stuck\"}\n",
        };
        let is_return = action.starts_with("\"return\"");
        reply += &format!("{{\"at\":\"{label}\",{action}}}\n");
        if is_return && !label.contains('>') {
            return reply;
        }
    }
    reply + &format!("{{\"at\":\"{}\",\"return\":null}}\n", program.playbook(asker).steps.last().unwrap().label)
}

/// What the world sees of a run: speech, calls of tools, the last values of variables, the end.
fn account(text: &str, settings: &str) -> (Vec<String>, BTreeMap<String, String>, [u64; 2]) {
    let case = parse(&format!("{text}--- settings\nbudget = 100000\n{settings}"));
    let mut world = World::new(begin(&case));
    let mut end = world.settle();
    loop {
        let happening = match (world.running_tool(), &world.asked) {
            (Some(tool), _) => Happening::Result(tool, Ok(playhouse::value::Value::Int(5))),
            (None, Some(start)) if world.is_asking() => {
                let text = answer(&world.machine, start, case.settings.inline_lines);
                Happening::Reply { text, end: ReplyEnd::Complete(Finish::Stop) }
            }
            (None, _) => break,
        };
        world.happen(&happening, Chunking::Whole);
        end = world.settle();
    }
    let mut variables = BTreeMap::new();
    // Tools may start earlier or later than what is said beside them.
    let (mut seen, mut started) = (Vec::new(), Vec::new());
    for entry in &world.log {
        if let Some(set) = entry.strip_prefix("set ") {
            let set = set.trim_end_matches(" (other)").split(" was ").next().unwrap();
            let (name, value) = set.split_once(" = ").unwrap();
            // A null that the model wrote is one of the interpreter's elsewhere.
            let value = value.rsplit_once(" [").unwrap().0;
            variables.insert(name.to_owned(), value.to_owned());
        } else if let Some(said) = entry.strip_prefix("say ") {
            seen.push(said.split_once(' ').unwrap().1.to_owned());
        } else if let Some(call) = entry.strip_prefix("start ") {
            // Without the call's number.
            started.push(call.split_once(' ').unwrap().1.to_owned());
        }
    }
    seen.append(&mut started);
    seen.push(match end {
        Ok(wait) => format!("waits: {wait:?}"),
        Err(Outcome::Done { value }) => format!("Done: {}", value.shown()),
        Err(Outcome::Failed(fault)) => format!("Failed: {}", fault.message),
    });
    let counters = world.machine.view().counters;
    (seen, variables, [counters.tail_calls, counters.inlined_calls])
}

/// Runs programs with and without; answers how many finished, tail calls and inlined calls.
fn compare(seed: u64, n_programs: usize, free: bool) -> [u64; 3] {
    let mut random = Rng::with_seed(seed);
    let (mut n_tail, mut n_inlined, mut n_finished) = (0, 0, 0);
    for number in 0..n_programs {
        let text = program(&mut random, free);
        let (plain, variables, _) = account(&text, "tail_calls = false\ninline_lines = 0 # what is compared with\n");
        // An explicit line that could not be done is the model's, who may not know that yet.
        if plain.last().is_some_and(|end| end.contains("stuck")) {
            continue;
        }
        for settings in [
            "inline_lines = 0 # tail calls alone\n",
            "tail_calls = false\ninline_lines = 5\n",
            "inline_lines = 5\nearly_start = false\n",
        ] {
            let (seen, set, [tail, inlined]) = account(&text, settings);
            assert_eq!(seen, plain, "program {number} with {settings}{text}");
            if plain.last().is_some_and(|end| end.starts_with("Done")) {
                assert_eq!(set, variables, "program {number} with {settings}{text}");
                n_finished += 1;
            }
            n_tail += tail;
            n_inlined += inlined;
        }
    }
    println!("{n_finished} runs finished alike, with {n_tail} tail calls and {n_inlined} inlined calls");
    [n_finished, n_tail, n_inlined]
}

#[test]
fn explicit_programs_mean_the_same() {
    let counts = compare(7, 400, false);
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
}

#[test]
fn programs_with_words_mean_the_same() {
    let counts = compare(8, 400, true);
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
}
