//! Why a trigger fired or did not: from reports to data to text.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use jiff::tz::TimeZone;
use playhouse::host::program::load_texts;
use playhouse::host::why::{Told, explain, find_triggers};
use playhouse::lang::SourceText;
use playhouse::lang::program::{AgentId, PlaybookId, Program, StepId, TriggerId};
use playhouse::serve::show::triggers as triggers_of;
use playhouse::serve::show::why::{all, one};
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::view::{TriggerView, View};
use playhouse::vm::protocol::{
    Candidate, Evaluation, Fact, FrameId, Judge, Location, Place, Question, QuestionId, Ruling, Timestamp, TurnId,
    Update,
};
use playhouse::vm::protocol::{Origin, Tracked};
use playhouse::vm::{Begin, Machine};

use crate::golden;
use crate::run::Run;

const PROGRAM: &str = "# Desk\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Say \"Hi\"\n- Talk\n\n\
                       ## Calm\n### Triggers\n- When the $mood of the\n  user is bad\n- When the user swears\n\
                       ### Steps\n- Say \"Sorry\"\n\n# Stock\n\n## Count\n### Triggers\n- When $n is odd\n### Steps\n\
                       - Say \"1\"\n";

fn program() -> Program {
    let roots = vec![SourceText { name: "desk.md".into(), text: PROGRAM.into() }];
    let (_, loaded) = load_texts(roots, &[], &mut |_: &Path| Err("none".into()));
    loaded.program
}

const MOOD: TriggerId = TriggerId { playbook: PlaybookId(1), index: 0 };
const SWEARS: TriggerId = TriggerId { playbook: PlaybookId(1), index: 1 };

fn place(agent: u32, step: u32) -> Option<Place> {
    Some(Place {
        frame: FrameId(1),
        agent: AgentId(agent),
        location: Location::Line { playbook: PlaybookId(0), step: Some(StepId(step)) },
        depth: 0,
        turn: Some(TurnId(3)),
    })
}

fn mood(old: Option<&str>, new: &str) -> Update {
    Update { name: "mood".into(), old: old.map(Value::str), new: Value::str(new) }
}

/// An evaluation of a question to the classifier.
fn asked(trigger: TriggerId, ruling: Ruling, updates: Vec<Update>, question: u64, n_asked: usize) -> Fact {
    let updates = updates.into();
    let question = Some(QuestionId(question));
    let evaluation = Evaluation { trigger, by: Judge::Model, ruling, updates, question, n_asked, ms: 300, tokens: 120 };
    Fact::TriggerEvaluated(Box::new(evaluation))
}

/// The same, judged by patterns.
fn by_rules(fact: Fact) -> Fact {
    let Fact::TriggerEvaluated(evaluation) = fact else { panic!() };
    Fact::TriggerEvaluated(Box::new(Evaluation { by: Judge::Rules, ms: 0, tokens: 0, ..*evaluation }))
}

/// An evaluation by the machine itself.
fn ruled(trigger: TriggerId, ruling: Ruling, updates: Vec<Update>) -> Fact {
    let updates = updates.into();
    let evaluation =
        Evaluation { trigger, by: Judge::Interpreter, ruling, updates, question: None, n_asked: 0, ms: 0, tokens: 0 };
    Fact::TriggerEvaluated(Box::new(evaluation))
}

fn set(name: &str, value: i64, old: Option<i64>) -> Fact {
    let value = Tracked::new(Value::Int(value), Origin::CODE);
    Fact::VariableSet { name: name.into(), value, old: old.map(Value::Int), local: true }
}

/// The facts as reported one second after the other, from a line of the first agent.
fn told(facts: Vec<Fact>) -> Vec<Told> {
    let told = |(index, fact): (usize, Fact)| (Timestamp(1_795_301_285_000 + index as i64 * 1_000), place(0, 1), fact);
    facts.into_iter().enumerate().map(told).collect()
}

fn text(id: TriggerId, stands: &[TriggerView], told: &[Told]) -> String {
    one(&explain(&program(), stands, id, told), &TimeZone::UTC)
}

/// Every reason there is, each in words.
#[test]
fn every_reason_has_its_words() {
    let update = || vec![mood(None, "bad")];
    let reason = |text: &str| Arc::from(text);
    let mut shown = String::new();
    for (title, fact) in [
        ("no match", asked(MOOD, Ruling::NoMatch, update(), 1, 1)),
        ("no match, by the machine", ruled(MOOD, Ruling::NoMatch, update())),
        ("still true", ruled(MOOD, Ruling::StillTrue, update())),
        ("a fault", ruled(MOOD, Ruling::Fault(reason("$mood is no number")), update())),
        ("active", ruled(MOOD, Ruling::Active, update())),
        ("own frame", ruled(MOOD, Ruling::OwnFrame, update())),
        ("same values", ruled(MOOD, Ruling::SameValues, update())),
        ("time-out", asked(MOOD, Ruling::TimedOut, update(), 1, 2)),
        ("abstained", by_rules(asked(MOOD, Ruling::Abstained, update(), 1, 2))),
        ("failed", asked(MOOD, Ruling::Failed(reason("401: wrong key")), update(), 1, 2)),
        ("switched off", ruled(MOOD, Ruling::Off, update())),
        ("not callable", ruled(MOOD, Ruling::NotCallable(reason("it needs $name")), update())),
        ("dropped", asked(MOOD, Ruling::Dropped, update(), 1, 2)),
        ("a match", asked(MOOD, Ruling::Match, update(), 1, 2)),
        ("not a candidate", set("n", 2, Some(1))),
        ("the same value again", set("n", 1, Some(1))),
    ] {
        shown.push_str(&format!("== {title}\n{}\n", text(MOOD, &[], &told(vec![fact]))));
    }
    golden::compare("classify/reasons.golden", &shown);
}

/// A whole story, and how triggers stand.
#[test]
fn a_story() {
    let matched = |id, updates: Vec<Update>| Fact::TriggerMatched { trigger: id, updates: updates.into() };
    let said = |old: Option<&str>, new: &str| Update { name: "user_message".into(), ..mood(old, new) };
    let mut facts = vec![
        set("n", 1, None),
        set("n", 2, Some(1)),
        set("user_message", 2, Some(1)),
        Fact::UserMessage { text: "hello".into() },
        asked(SWEARS, Ruling::NoMatch, vec![said(None, "hello")], 1, 1),
        set("mood", 1, None),
        asked(MOOD, Ruling::NoMatch, vec![mood(None, "fine")], 2, 2),
        asked(SWEARS, Ruling::NoMatch, vec![mood(None, "fine")], 2, 2),
        Fact::UserMessage { text: "!#*".into() },
        asked(SWEARS, Ruling::Match, vec![said(Some("hello"), "!#*")], 3, 1),
        matched(SWEARS, vec![said(Some("hello"), "!#*")]),
        asked(MOOD, Ruling::Match, vec![mood(Some("fine"), "bad"), mood(Some("bad"), &"worse ".repeat(99))], 4, 2),
        asked(SWEARS, Ruling::Active, vec![mood(Some("fine"), "bad")], 4, 2),
    ];
    let mut all_told = told(std::mem::take(&mut facts));
    // Another agent sets the same name; and something before the first line.
    all_told.push((Timestamp(1_795_301_300_000), place(1, 0), set("mood", 2, Some(1))));
    all_told.push((Timestamp(1_795_301_301_000), place(1, 0), Fact::UserMessage { text: "x".into() }));
    all_told.push((
        Timestamp(1_795_301_302_000),
        None,
        matched(TriggerId { playbook: PlaybookId(0), index: 0 }, vec![]),
    ));
    let view = |trigger, truth, is_active| TriggerView { trigger, name: "".into(), truth, is_active };
    let stands = [view(MOOD, None, false), view(SWEARS, None, true)];
    let program = program();
    let ids = program.playbooks.iter().flat_map(|playbook| &playbook.triggers).map(|trigger| trigger.id);
    let whys: Vec<_> = ids.map(|id| explain(&program, &stands, id, &all_told)).collect();
    let mut shown = String::new();
    for why in &whys {
        shown.push_str(&format!("{}\n", one(why, &TimeZone::UTC)));
    }
    shown.push_str(&all(&whys));
    golden::compare("classify/story.golden", &shown);
}

/// Conditions hold or do not.
#[test]
fn how_a_condition_stands() {
    let view = |truth, is_active| TriggerView { trigger: MOOD, name: "".into(), truth, is_active };
    for (truth, is_active, expected) in [
        (Some(true), true, "; active, holds\n"),
        (Some(true), false, "; holds\n"),
        (Some(false), false, "; does not hold\n"),
        (None, true, "; active\n"),
        (None, false, "; not active\n"),
    ] {
        let shown = text(MOOD, &[view(truth, is_active)], &[]);
        assert!(shown.contains(expected) && shown.ends_with("\nnever evaluated\n"), "{shown}");
    }
}

/// The view of a machine that has done nothing yet.
fn untouched() -> View {
    let begin = Begin {
        program: Arc::new(program()),
        settings: Settings::default(),
        tools: Arc::default(),
        entry: None,
        arguments: Map::new(),
        time: Timestamp(0),
    };
    Machine::begin(begin).view()
}

/// `sessions show` tells what matters now, and how much else there is.
#[test]
fn how_all_triggers_stand() {
    let view = |name: &str, truth, is_active| TriggerView { trigger: MOOD, name: name.into(), truth, is_active };
    let show = |triggers: Vec<TriggerView>| triggers_of(&View { triggers, question: None, ..untouched() });
    assert_eq!(show(Vec::new()), "");
    assert_eq!(show(vec![view("A:T1", None, false)]), "  1 trigger, none active\n");
    assert_eq!(
        show(vec![
            view("A:T1", Some(true), true),
            view("B:T1", Some(true), false),
            view("C:T1", None, true),
            view("D:T1", Some(false), false),
            view("E:T1", None, false),
        ]),
        "  A:T1 active, holds\n  B:T1 holds\n  C:T1 active\n  2 others not active\n"
    );
    let candidate = |name: &str| Candidate { trigger: MOOD, name: name.into(), text: "x".into(), is_skill: false };
    let question = Question {
        question: QuestionId(1),
        place: place(0, 1).unwrap(),
        candidates: vec![candidate("A:T1"), candidate("B:T1")],
        updates: vec![mood(None, "bad")],
        user: None,
        active: Vec::new(),
    };
    let asked = View { question: Some(question), triggers: Vec::new(), ..untouched() };
    assert_eq!(triggers_of(&asked), "  the classifier is asked about A:T1, B:T1 because of $mood\n");
}

#[test]
fn triggers_are_found_by_what_people_write() {
    let program = program();
    let find = |text: &str| match find_triggers(&program, text) {
        Ok(ids) => ids.into_iter().map(|id| program.trigger_name(id)).collect::<Vec<_>>().join(", "),
        Err(possible) => format!("{} possible", possible.len()),
    };
    for (text, expected) in [
        ("Calm:T2", "Calm:T2"),
        ("calm:t2", "Calm:T2"),
        ("Count", "Count:T1"),
        ("Calm", "Calm:T1, Calm:T2"),
        ("When the user swears", "Calm:T2"),
        ("when the  $mood of the user is bad", "Calm:T1"),
        ("when the u", "Calm:T2"),
        ("when", "3 possible"),
        ("Cou", "Count:T1"),
        ("C", "3 possible"),
        ("x", "4 possible"),
    ] {
        assert_eq!(find(text), expected, "{text}");
    }
}

const HELLO: &str = "# A\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Ask the user for $name\n\
                     - Say \"Bye, {$name}.\"\n\n## Calm\n### Triggers\n- When the user swears\n### Steps\n- Say \"x\"\n";

const SCRIPT: &str = "{\"reply\":\"{\\\"at\\\":\\\"01\\\",\\\"wait\\\":\\\"user\\\"}\"}\n\
                      {\"reply\":\"{\\\"at\\\":\\\"01\\\",\\\"set\\\":{\\\"name\\\":\\\"Ann\\\"}}\"}\n";

fn hello() -> Run {
    Run::new().program(HELLO).script(SCRIPT)
}

/// Without a terminal every line is a message.
#[test]
fn without_a_terminal_a_question_is_a_message() {
    let done = hello().line("run program.md --model script:script.jsonl --classifier off").stdin("/why\n").done();
    assert_eq!((done.stdout.as_str(), done.code), ("Bye, Ann.\n", Some(0)), "{}", done.stderr);
}

/// On a terminal `/why` is answered without the program.
#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_a_question_is_answered() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let stdin = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let run = hello().line("run program.md --model script:script.jsonl --classifier off");
    let mut child = run.spawn_with(Stdio::from(stdin));
    let mut keyboard = File::from(terminal);
    // What is typed before the program waits is answered, too, but without a prompt.
    let (mut errors, mut before) = (child.stderr.take().unwrap(), Vec::new());
    while !before.ends_with(b"\n> ") {
        let mut byte = [0];
        errors.read_exact(&mut byte).unwrap();
        before.push(byte[0]);
    }
    keyboard.write_all(b"/why\n/why calm\n/why nothing\n/whynot\n//whynot\n").unwrap();
    let mut said = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let stderr = String::from_utf8(before).unwrap() + &std::io::read_to_string(errors).unwrap();
    assert_eq!((said.as_str(), child.wait().unwrap().code()), ("Bye, Ann.\n", Some(0)), "{stderr}");
    golden::compare("classify/conversation.golden", &stderr);
}
