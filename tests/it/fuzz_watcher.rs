//! Any happenings in any order, in programs with triggers of every kind: what must hold for the watcher after each.

use std::collections::{BTreeMap, BTreeSet};

use playhouse::lang::program::TriggerId;
use playhouse::value::Value;
use playhouse::vm::protocol::settings::{Barrier, OnUserMessage};
use playhouse::vm::protocol::view::{Counters, View};
use playhouse::vm::protocol::{
    Effect, Event, Fact, Finish, FrameOrigin, Judge, Outcome, QuestionId, ReplyEnd, Ruling, Verdict, Wait,
};

use crate::made_up::made_up;
use crate::world::{Case, Chunking, Happening, World, begin, parse};

const PROGRAM: &str = r#"--- program
# Shop
variables:
  total: {type: int, value: 0}
  token: {type: str, value: "x", secret: true}

Sells things.
## Main
### Triggers
- At the beginning
### Steps
- Ask the user for $id
- $order = Get($id)
- $paid = Put($id)
- For each $item in [1, 2]
  - Note $mood of $item
  - $kept = Short($item)
- $count = 1
- $n = Plain($count)
- $w = Clerk.Weigh($n)
- Find a $goal with Goal()
- Return Last($n)
## Inside
### Steps
- $kept = Short("tea")
- Note $mood
- $more = Short("rum")
- For each $item in [1, 2, 3]
  - $kept = Short($item)
- Return Last(1)
## Short($what)
### Steps
- Look at $what
- $seen = $what
- Ask for a $word
- Return $word
## Plain($count)
limits: {turns: 3, return: 0}
### Triggers
- When $total > 40
### Steps
- Think about $count
- Put($count)
- Return $count
## Goal
Find out what is wanted.
## Last($n = 1)
### Steps
- Say "goodbye"
- Return Final($n)
## Final($n)
limits: {tokens: 100000, turns: 5, call: Bye}
### Steps
- $total = $total + 1
- Say something about $n
## Bye
### Steps
- Say "bye"
## Many
### Triggers
- When $total > 2
- When $mood changes
### Steps
- Note $total
- Say "many"
## Sad($mood)
### Triggers
- When $mood sounds sad
- When $total is a lot
### Steps
- Return Cheer()
## Cheer
### Steps
- Cheer the user up
- Ask whether it $helped
## Odd
### Triggers
- When something is odd
### Steps
- Say "odd"
- $total = 1
## Again
### Triggers
- When anybody wants something
### Steps
- Ask for $more
## Guard
### Triggers
- Before calling Put
- Before calling Plain
### Steps
- If $call.name is "Get"
  - Return
- Return whether it is allowed
## Doubt
### Triggers
- Before calling Put
### Steps
- Think about $call
## Done
### Triggers
- After calling Get
- After calling Plain
- When Put fails
### Steps
- $mood = "done"
- Note $call
## Beat
### Triggers
- Every 10 seconds
### Steps
- Note $beat
## Silent
### Triggers
- After 5 seconds of silence
### Steps
- Say "still there?"
## Stop
### Triggers
- When $total > 90
### Steps
- End program

# Clerk
Weighs.
## Weigh($n)
public: true
### Steps
- Find the $weight of $n
- Return $weight
## Heavy
### Triggers
- When $weight > 2
- When $weight is too much
### Steps
- Say "heavy"
--- tools
Get(id) read_only
Put(item)
--- settings
budget = 60
depth = 14
max_repairs = 3
max_retries = 50
turns = 200
"#;

/// `#` is another number each time, so that what is done twice is seen.
const LINES: &[&str] = &[
    r#"{"at":"01","set":{"id":"n#"}}"#,
    r#"{"at":"01","set":{"mood":"n#"},"wait":"user"}"#,
    r#"{"say":"s# {$mood}"}"#,
    r#"{"say":"s#","set":{"mood":"n#"}}"#,
    r#"{"at":"02"}"#,
    r#"{"call":"Get","args":{"id":"c#"},"as":"order"}"#,
    r#"{"call":"Put","args":{"item":"c#"},"as":"paid"}"#,
    r#"{"set":{"order2":"$order"}}"#,
    r#"{"say":"s# {$order} {$paid}"}"#,
    r#"{"at":"04.01","set":{"mood":"n#"}}"#,
    r#"{"at":"04.01","set":{"mood":"n#","total":3}}"#,
    r#"{"at":"04.02"}"#,
    r#"{"at":"04.02>01","say":"s#"}"#,
    r#"{"at":"04.02>03","set":{"word":"n#"}}"#,
    r#"{"at":"04.02>03","set":{"word":"n#","total":3},"return":"$word"}"#,
    r#"{"at":"01>01","set":{"word":"n#"}}"#,
    r#"{"at":"01>03","set":{"word":"n#","total":3},"return":"$word"}"#,
    r#"{"at":"01>03","set":{"word":"n#","total":1},"return":"$word"}"#,
    r#"{"at":"01>03","set":{"word":"n#"}}"#,
    r#"{"at":"01>04"}"#,
    r#"{"at":"01","set":{"mood":"n#"},"return":"$mood"}"#,
    r#"{"at":"03>01","say":"s#"}"#,
    r#"{"at":"03>03","set":{"word":"n#"},"return":"n#"}"#,
    r#"{"at":"04.01>03","set":{"word":"n#","total":3},"return":"$word"}"#,
    r#"{"at":"04.01>04"}"#,
    r#"{"at":"04","think":"x"}"#,
    r#"{"at":"05"}"#,
    r#"{"set":{"total":1}}"#,
    r#"{"set":{"total":3}}"#,
    r#"{"set":{"total":50}}"#,
    r#"{"set":{"total":91}}"#,
    r#"{"set":{"mood":"$total"}}"#,
    r#"{"set":{"token":"n#"}}"#,
    r#"{"set":{"weight":3}}"#,
    r#"{"set":{"weight":"n#"}}"#,
    r#"{"set":{"helped":"n#","more":"n#","goal":"n#"}}"#,
    r#"{"call":"Plain","args":{"count":1},"as":"n"}"#,
    r#"{"call":"Clerk.Weigh","args":{"n":1}}"#,
    r#"{"call":"Goal","as":"goal"}"#,
    r#"{"wait":"user"}"#,
    r#"{"wait":"timer:PT1S"}"#,
    r#"{"set":{"mood":"n#"},"return":"$total"}"#,
    r#"{"return":true}"#,
    r#"{"return":false}"#,
    r#"{"at":"02","return":null}"#,
    r#"{"set":{"total":3},"end":true}"#,
    r#"{"say":"cut s#"#,
    "prose",
    r#"{"at":"77"}"#,
];

/// What is known of the triggers from the effects alone.
#[derive(Default)]
struct Monitor {
    /// Matches whose frame has not been pushed.
    pending: BTreeMap<TriggerId, i64>,
    open: Option<QuestionId>,
    said: String,
    spoken: BTreeSet<String>,
    started: BTreeSet<(u64, u32)>,
    /// Frames pushed, by trigger.
    n_frames: BTreeMap<TriggerId, u64>,
    n_questions: u64,
    n_dropped: u64,
    /// In the event in hand: matches that were dropped, and whether anything was unwound or refused.
    dropped_now: Vec<TriggerId>,
    is_unwound: bool,
}

impl Monitor {
    /// Looks at the effects of one event.
    fn watch(&mut self, case: &Case, event: &Event, effects: &[Effect]) {
        if let Event::Verdict { question, .. } = event
            && self.open == Some(*question)
        {
            self.open = None;
        }
        let is_reopened = *event == Event::Reopened;
        self.dropped_now.clear();
        self.is_unwound = false;
        for effect in effects {
            match effect {
                Effect::Classify(question) => {
                    let is_again = is_reopened && self.open == Some(question.question);
                    assert!(self.open.is_none() || is_again, "a second question is asked");
                    assert!(!question.candidates.is_empty() && !question.updates.is_empty());
                    let shown = format!("{:?}", question.updates);
                    assert!(!shown.contains("\"token\", old: Some(Str(\"x"), "a secret is shown: {shown}");
                    for update in &question.updates {
                        assert!(
                            &*update.name != "token" || !update.new.to_text().starts_with('n'),
                            "a secret: {shown}"
                        );
                    }
                    self.open = Some(question.question);
                    self.n_questions += 1;
                }
                Effect::Say { text, last, place, .. } => {
                    let is_allowed = case.settings.barrier == Barrier::Effects || place.turn.is_none();
                    assert!(
                        self.open.is_none() || is_allowed || (*last && text.is_empty()),
                        "said while judging: {text}"
                    );
                    self.said.push_str(text);
                    if *last {
                        for word in std::mem::take(&mut self.said).split(' ').filter(|word| is_numbered(word, 's')) {
                            assert!(self.spoken.insert(word.to_owned()), "{word} is said twice");
                        }
                    }
                }
                Effect::StartCall(start) => {
                    assert!(self.started.insert((start.call.0, start.attempt)) || is_reopened, "started twice");
                    if let Some((_, value)) = start.arguments.first()
                        && is_numbered(&value.value().to_text(), 'c')
                        && start.attempt == 1
                        && !is_reopened
                    {
                        let word = value.value().to_text();
                        assert!(self.spoken.insert(word.clone()), "{word} is called twice");
                    }
                    let is_free = start.place.turn.is_none() || !case.settings.early_start || is_reopened;
                    assert!(
                        self.open.is_none() || is_free || matches!(event, Event::Approved { .. }),
                        "a call starts while judging"
                    );
                }
                Effect::Report(report) => {
                    let is_edited = matches!(event, Event::Edited { .. });
                    let is_in_turn = report.place.is_some_and(|place| place.turn.is_some());
                    self.report(&report.fact, is_in_turn && !is_edited);
                }
                Effect::StartTurn(_)
                | Effect::CloseReply { .. }
                | Effect::CancelCall { .. }
                | Effect::StartTimer { .. } => {}
            }
        }
        assert!(self.is_unwound || self.dropped_now.is_empty(), "{:?} dropped for nothing", self.dropped_now);
    }

    fn report(&mut self, fact: &Fact, is_in_turn: bool) {
        if let Fact::TriggerMatched { trigger, .. } = fact {
            *self.pending.entry(*trigger).or_default() += 1;
        } else if let Fact::FramePushed { origin: FrameOrigin::Trigger { trigger, .. } } = fact {
            *self.n_frames.entry(*trigger).or_default() += 1;
            *self.pending.entry(*trigger).or_default() -= 1;
        } else if let Fact::TriggerEvaluated(evaluation) = fact {
            let is_owed = evaluation.question.is_none() && evaluation.updates.is_empty();
            let is_dropped = evaluation.ruling == Ruling::Dropped;
            let is_not_callable = matches!(evaluation.ruling, Ruling::NotCallable(_));
            if is_owed && is_dropped {
                self.dropped_now.push(evaluation.trigger);
            }
            if is_owed && (is_dropped || is_not_callable) {
                self.n_dropped += 1;
                *self.pending.entry(evaluation.trigger).or_default() -= 1;
            }
            if evaluation.question.is_some() && evaluation.question == self.open {
                // It is answered, or given up.
                self.open = None;
            }
        } else if let Fact::VariableSet { name, value, .. } = fact {
            assert!(!(is_in_turn && self.open.is_some()), "${name} is set while judging");
            let word = value.value().to_text();
            if is_numbered(&word, 'n') && &**name == "id" {
                assert!(self.spoken.insert(word.clone()), "{word} is set twice");
            }
        } else if let Fact::FramePopped { value: None } = fact {
            self.is_unwound = true;
        } else if let Fact::CallFinished { result: Err(error), .. } = fact {
            self.is_unwound |= error.starts_with("refused by");
        }
    }

    /// Looks at the state between two events.
    fn look(&self, view: &View) {
        assert_eq!(view.question.as_ref().map(|question| question.question), self.open);
        if let Some(Wait::Verdict(question)) = &view.wait {
            assert_eq!(Some(*question), self.open, "waits for a question that nobody is asked");
        }
        if matches!(view.outcome, Some(Outcome::Failed(_))) {
            return;
        }
        for trigger in &view.triggers {
            let origin = format!("trigger {} at", trigger.name);
            let n_frames = view.stack.iter().filter(|frame| frame.origin.starts_with(&origin)).count();
            let n_pending = self.pending.get(&trigger.trigger).copied().unwrap_or(0);
            assert!(n_pending >= 0, "{}: {n_pending} pending", trigger.name);
            let is_owed = n_frames > 0 || n_pending > 0;
            assert_eq!(trigger.is_active, is_owed, "{}: {n_frames} frames, {n_pending} pending", trigger.name);
        }
        if view.outcome.is_some() {
            assert!(self.pending.values().all(|n| *n == 0), "{:?}", self.pending);
            assert_eq!(self.open, None, "the program is over and a question is open");
            return;
        }
        // The declared variable is never hidden, so the condition on it is always what it says.
        let total = view.globals[0].1.iter().find(|variable| &*variable.name == "total");
        let total = total.map(|variable| variable.value.value().clone());
        for (name, limit) in [("Many:T1", 2), ("Stop:T1", 90), ("Plain:T1", 40)] {
            let trigger = view.triggers.iter().find(|trigger| &*trigger.name == name).unwrap();
            let holds = matches!(total, Some(Value::Int(total)) if total > limit);
            assert_eq!(trigger.truth, Some(holds), "{name} with {total:?}");
        }
        for frame in &view.stack {
            let queue = &frame.queue;
            for (index, call) in queue.iter().enumerate().filter(|(_, call)| matches!(&*call.name, "Guard" | "Doubt")) {
                let guarded = queue[index..].iter().find(|call| !matches!(&*call.name, "Guard" | "Doubt")).unwrap();
                assert_eq!(guarded.state, "queued", "{} has begun before {}", guarded.name, call.name);
            }
        }
    }
}

fn is_numbered(word: &str, letter: char) -> bool {
    word.strip_prefix(letter).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A verdict on the open question, chosen by a byte; sometimes on one that is not open.
fn verdict(view: &View, byte: u8) -> Option<Event> {
    let open = view.question.as_ref()?;
    let candidates: Vec<TriggerId> = open.candidates.iter().map(|candidate| candidate.trigger).collect();
    let judged = |matched: Vec<TriggerId>, abstained: Vec<TriggerId>| Verdict::Judged {
        by: Judge::Script,
        matched,
        abstained,
        usage: None,
    };
    let picked = || candidates.iter().copied().filter(|id| (byte >> (id.playbook.0 % 8)) & 1 == 1).collect();
    let verdict = match byte % 10 {
        0 => Verdict::TimedOut,
        1 => Verdict::Failed { reason: "no".into() },
        2 => judged(Vec::new(), candidates.clone()),
        3..=4 => judged(Vec::new(), Vec::new()),
        5 => judged(candidates.clone(), Vec::new()),
        6..=8 => judged(picked(), Vec::new()),
        _ => {
            let stale = QuestionId(open.question.0.saturating_sub(1));
            return Some(Event::Verdict { question: stale, verdict: judged(candidates.clone(), Vec::new()), ms: 1 });
        }
    };
    Some(Event::Verdict { question: open.question, verdict, ms: 2 })
}

/// One run; the same bytes make the same happenings, wherever replies are cut.
struct Run<'a> {
    bytes: std::iter::Copied<std::slice::Iter<'a, u8>>,
    n_numbers: u32,
}

impl Run<'_> {
    fn line(&mut self, byte: u8) -> String {
        self.n_numbers += 1;
        LINES[usize::from(byte) % LINES.len()].replace('#', &self.n_numbers.to_string())
    }

    /// What happens next, given what the machine waits for.
    fn next(&mut self, world: &World, view: &View) -> Option<Next> {
        let byte = self.bytes.next()?;
        let more = self.bytes.next()?;
        let is_asking = world.is_asking();
        Some(match byte % 32 {
            0 => Next::Happening(Happening::Interrupt),
            1 => Next::Happening(Happening::Reopen),
            2 => Next::Happening(Happening::Pass(i64::from(more) * 40)),
            3 => Next::Event(Event::TimerFired { timer: playhouse::vm::protocol::TimerId(u64::from(more % 8)) }),
            4 => Next::Happening(Happening::Edit("total".into(), Value::Int(i64::from(more) % 60))),
            5 => Next::Happening(Happening::Edit("mood".into(), Value::from(format!("e{}", more % 4)))),
            6 => Next::Happening(Happening::User(format!("user {}", more % 4))),
            7..=15 if view.question.is_some() => Next::Event(verdict(view, more)?),
            16..=18 => match world.running_tool() {
                Some(name) if more > 200 => Next::Happening(Happening::Asks(name, "really?".into())),
                Some(name) if more > 150 => Next::Happening(Happening::Result(name, Err("no".into()))),
                Some(name) => {
                    self.n_numbers += 1;
                    Next::Happening(Happening::Result(name, Ok(Value::from(format!("r{}", self.n_numbers)))))
                }
                None => {
                    let mut calls = view.stack.iter().flat_map(|frame| &frame.queue);
                    let asking = calls.find(|call| call.state == "needs approval")?;
                    let answer = Value::Bool(more > 100);
                    Next::Event(Event::Approved { call: asking.call, answer, by: None })
                }
            },
            19..=21 if is_asking => Next::Happening(Happening::Chunk(self.line(more))),
            7..=31 if is_asking => {
                let n_lines = usize::from(byte / 32) % 6 + 1;
                let picked: Vec<u8> = self.bytes.by_ref().take(n_lines).collect();
                let lines: Vec<String> = picked.into_iter().map(|byte| self.line(byte)).collect();
                let end = match more {
                    0..=20 => ReplyEnd::Broken { reason: "reset".into(), retry_after_ms: None },
                    21..=35 => ReplyEnd::Complete(Finish::Length),
                    _ => ReplyEnd::Complete(Finish::Stop),
                };
                Next::Happening(Happening::Reply { text: lines.join("\n"), end })
            }
            _ if more < 128 => Next::Happening(Happening::User(format!("user {}", more % 4))),
            _ => Next::Nothing,
        })
    }
}

enum Next {
    Happening(Happening),
    Event(Event),
    Nothing,
}

#[allow(clippy::print_stderr, reason = "what led to a failure is long and wanted only then")]
fn play(case: &Case, bytes: &[u8], chunking: Chunking) -> (World, Monitor) {
    let mut world = World::new(begin(case));
    world.effects = Some(Vec::new());
    let _ = world.settle();
    let mut monitor = Monitor::default();
    let mut run = Run { bytes: bytes.iter().copied(), n_numbers: 0 };
    loop {
        let view = world.machine.view();
        let Some(next) = run.next(&world, &view) else {
            // Bytes that fit nothing are left out.
            if run.bytes.len() < 2 {
                break;
            }
            continue;
        };
        let n_events = world.events.len();
        match &next {
            Next::Happening(happening) => world.happen(happening, chunking),
            Next::Event(event) => {
                world.handle(event.clone());
                let _ = world.settle();
            }
            Next::Nothing => continue,
        }
        let happened = world.events.get(n_events).cloned().map_or(Event::GoOn, |(_, event)| event);
        let effects = std::mem::take(world.effects.as_mut().unwrap());
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            monitor.watch(case, &happened, &effects);
            monitor.look(&world.machine.view());
        }));
        if let Err(panic) = looked {
            let log: Vec<&str> =
                world.log.iter().rev().take(60).rev().flat_map(|entry| entry.lines().take(40)).collect();
            eprintln!("{}\n{happened:?}", log.join("\n"));
            std::panic::resume_unwind(panic);
        }
    }
    (world, monitor)
}

/// The settings that the first bytes choose.
fn choose(case: &mut Case, choice: u8) {
    let is_set = |bit: u8| (choice >> bit) & 1 == 1;
    let settings = &mut case.settings;
    settings.barrier = if is_set(0) { Barrier::All } else { Barrier::Effects };
    settings.classifier_first = is_set(1);
    settings.inline_lines = if is_set(2) { 6 } else { 0 };
    settings.tail_calls = is_set(3);
    settings.early_start = is_set(4);
    settings.resume_fresh = is_set(5);
    // Replies at random leave most lines out: strictly few of them would be followed.
    settings.strict = is_set(0) && is_set(1);
    settings.max_session_turns = if is_set(5) { 3 } else { 12 };
    settings.on_user_message = match choice >> 6 {
        0 | 1 => OnUserMessage::Queue,
        2 => OnUserMessage::Interrupt,
        _ => OnUserMessage::Rollback,
    };
}

/// What does not depend on how many bytes had come when a reply was cut.
fn without_bytes(mut view: View) -> View {
    let counters = Counters {
        completion_tokens: 0,
        discarded_tokens: 0,
        match_discarded_tokens: 0,
        prompt_tokens: 0,
        ..view.counters
    };
    view.counters = counters;
    view
}

fn watcher_one(case: &mut Case, bytes: &[u8]) -> Option<(World, Monitor)> {
    let (&[choice, entry], bytes) = bytes.split_first_chunk()?;
    choose(case, choice);
    case.entry = Some(["Main", "Inside", "Inside", "Last"][usize::from(entry % 4)].to_owned());
    let (world, monitor) = play(case, bytes, Chunking::Whole);
    let mut again = World::new(begin(case));
    again.replay(&world.events);
    assert_eq!(again.machine.view(), world.machine.view());
    assert_eq!(again.log, world.log);
    for size in [1, 7] {
        let (cut, _) = play(case, bytes, Chunking::Size(size));
        assert_eq!(cut.log, world.log, "in pieces of {size}");
        assert_eq!(without_bytes(cut.machine.view()), without_bytes(world.machine.view()), "in pieces of {size}");
    }
    Some((world, monitor))
}

#[test]
fn watcher() {
    made_up!(30, 256).for_each(|bytes: &[u8]| {
        watcher_one(&mut parse(PROGRAM), bytes);
    });
}

/// In these seeded runs triggers of every kind fire, in every order.
#[test]
fn seeded_watcher() {
    let mut case = parse(PROGRAM);
    let mut random = fastrand::Rng::with_seed(6);
    let (mut n_frames, mut n_questions, mut n_dropped) = (BTreeMap::new(), 0, 0);
    let (mut n_inlined, mut n_tail, mut n_done) = (0, 0, 0);
    for _ in 0..150 {
        let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(200).collect();
        let Some((world, monitor)) = watcher_one(&mut case, &bytes) else { continue };
        let view = world.machine.view();
        for (trigger, n) in monitor.n_frames {
            *n_frames.entry(world.machine.program().trigger_name(trigger)).or_insert(0) += n;
        }
        n_questions += monitor.n_questions;
        n_dropped += monitor.n_dropped;
        n_inlined += view.counters.inlined_calls;
        n_tail += view.counters.tail_calls;
        n_done += u64::from(matches!(view.outcome, Some(Outcome::Done { .. })));
    }
    // Every kind of trigger has fired, and what was looked for came about often enough.
    for trigger in
        ["Many:T1", "Many:T2", "Odd:T1", "Guard:T1", "Guard:T2", "Done:T1", "Done:T3", "Beat:T1", "Silent:T1"]
    {
        assert!(n_frames.contains_key(trigger), "{trigger} has not fired: {n_frames:?}");
    }
    assert!(n_questions > 1000 && n_dropped > 50, "{n_questions} questions, {n_dropped} dropped matches");
    assert!(n_inlined > 20 && n_tail > 10 && n_done > 30, "{n_inlined} inlined, {n_tail} tail calls, {n_done} done");
}
