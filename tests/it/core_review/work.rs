//! Work and memory that grow as fast as what they are for, counted in bytes that are allocated.

use std::sync::Arc;

use playhouse::value::Value;
use playhouse::vm::Machine;
use playhouse::vm::protocol::{CallOutcome, Effect, Event, Finish, Progress, ReplyEnd, Timestamp, Verdict, Wait};

use crate::heap::bytes_allocated;
use crate::world::{begin, parse};

/// Lets a machine move with nobody watching until it waits for something or is over; answers its calls of tools,
/// its turns and its questions.
fn drive(machine: &mut Machine, reply: impl Fn(usize) -> Option<String>) {
    let (mut n_turns, mut pending) = (0, Vec::new());
    loop {
        match machine.advance() {
            Progress::Emit(Effect::StartCall(start)) => {
                pending.push(Event::CallStarted { call: start.call, attempt: start.attempt });
                pending.push(Event::CallEnded {
                    call: start.call,
                    outcome: CallOutcome::Value { value: Value::Int(1), secret: false },
                    usage: None,
                });
            }
            Progress::Emit(Effect::StartTurn(start)) => {
                let Some(text) = reply(n_turns) else { return };
                n_turns += 1;
                pending.push(Event::Chunk { turn: start.turn, bytes: text.into_bytes().into() });
                let end = ReplyEnd::Complete(Finish::Stop);
                pending.push(Event::ReplyEnded { turn: start.turn, end, usage: None });
            }
            Progress::Emit(Effect::CloseReply { turn, .. }) => {
                pending.retain(|event| !matches!(event, Event::ReplyEnded { turn: open, .. } if *open == turn));
                pending.push(Event::ReplyEnded { turn, end: ReplyEnd::Closed, usage: None });
            }
            Progress::Emit(Effect::Classify(question)) => pending.push(Event::Verdict {
                question: question.question,
                verdict: Verdict::Judged {
                    by: playhouse::vm::protocol::Judge::Script,
                    matched: Vec::new(),
                    abstained: Vec::new(),
                    usage: None,
                },
                ms: 1,
            }),
            Progress::Emit(
                Effect::Report(_) | Effect::Say { .. } | Effect::CancelCall { .. } | Effect::StartTimer { .. },
            )
            | Progress::Reached(_) => {}
            Progress::Blocked(Wait::Budget) => machine.handle(Timestamp(0), Event::GoOn),
            Progress::Blocked(_) if !pending.is_empty() => {
                let event = pending.remove(0);
                machine.handle(Timestamp(0), event);
            }
            Progress::Blocked(Wait::User) => {
                if reply(n_turns).is_none() {
                    return;
                }
                machine.handle(Timestamp(0), Event::Message { text: Arc::from("go on") });
            }
            Progress::Blocked(_) | Progress::Finished(_) => return,
        }
    }
}

/// What a program allocates from its first line to its end.
fn work_of(program: &str) -> u64 {
    let mut machine = begin(&parse(&format!("--- program\n{program}")));
    let n_bytes = bytes_allocated(|| drive(&mut machine, |_| None));
    assert!(matches!(machine.advance(), Progress::Finished(_)), "it did not come to its end");
    n_bytes
}

/// A loop over an expression evaluates it once: twice the items are twice the work.
#[test]
fn bug_2_11_a_loop_evaluates_its_list_once() {
    let work = |n_doublings: usize| {
        let program = |list: &str| {
            format!(
                "# A\n## Main\n### Steps\n- $a = [1,2,3,4,5,6,7,8,9,10]\n- Repeat {n_doublings} times\n  - $a = $a + $a\n\
                 - $n = 0\n- For each $i in {list}\n  - $n = $n + 1\n- Return $n\n"
            )
        };
        // Against the same loop over the name alone.
        (work_of(&program("$a + [1]")), work_of(&program("$a")))
    };
    let ((few, few_plain), (many, many_plain)) = (work(6), work(9));
    let (few, many) = (few as f64 / few_plain as f64, many as f64 / many_plain as f64);
    assert!(many < 1.5 * few, "{few:.2} times the work of the plain loop with 640 items, {many:.2} times with 5,120");
}

/// What is told of an assignment costs what is shown of it, not what the value is worth.
#[test]
fn bug_2_11_telling_an_assignment_does_not_render_the_whole_value() {
    let work = |n_doublings: usize, n_rounds: usize| {
        work_of(&format!(
            "# A\n## Main\n### Steps\n- $a = [1,2,3,4,5,6,7,8,9,10]\n- Repeat {n_doublings} times\n  - $a = $a + $a\n\
             - Repeat {n_rounds} times\n  - $b = $a\n- Return 1\n"
        ))
    };
    // The rounds alone, without what it takes to make the list.
    let rounds = |n_doublings| work(n_doublings, 300) - work(n_doublings, 100);
    let (small, large) = (rounds(7), rounds(11));
    assert!(large < 2 * small, "200 assignments of 1,280 items: {small} bytes; of 20,480: {large}");
}

/// A classifier's answers are remembered by values, not with them.
#[test]
fn bug_read_remembered_verdicts_do_not_hold_the_values() {
    let state = |n_doublings: usize| {
        let program = format!(
            "--- program\n# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $t = \"aaaaaaaaaa\"\n\
             - Repeat {n_doublings} times\n  - $t = $t + $t\n- Repeat 40 times\n  - $t = $t + \"b\"\n- $t = 1\n\
             - Ask the user for $x\n## Odd\n### Triggers\n- When $t looks odd\n### Steps\n- Say \"odd\"\n"
        );
        let mut machine = begin(&parse(&program));
        drive(&mut machine, |_| None);
        // What a snapshot copies is what the machine holds for itself.
        let mut copy = None;
        let n_bytes = bytes_allocated(|| copy = Some(machine.clone()));
        assert!(copy.is_some_and(|copy| copy.view().counters.classifier_calls >= 40));
        n_bytes
    };
    let (short, long) = (state(1), state(10));
    assert!(long < 2 * short, "with short values a snapshot takes {short} bytes, with long ones {long}");
}

/// A conversation that goes on for days in one frame of a goal keeps nothing of each call.
#[test]
fn bug_read_calls_of_a_goal_are_not_kept_for_ever() {
    let state = |n_turns: usize| {
        let case = parse(
            "--- program\n# A\n## Main\n### Triggers\n- At the beginning\n\nHelp the user with what they want.\n\
             --- tools\nGet(id) read_only\n",
        );
        let mut machine = begin(&case);
        let call = "{\"call\":\"Get\",\"args\":{\"id\":1}}\n".repeat(10);
        drive(&mut machine, |n| (n < n_turns).then(|| format!("{call}{{\"wait\":\"user\"}}\n")));
        assert!(machine.view().counters.tool_calls >= 10 * (n_turns as u64 - 1), "{:?}", machine.view().counters);
        let mut copy = None;
        let n_bytes = bytes_allocated(|| copy = Some(machine.clone()));
        drop(copy);
        n_bytes
    };
    // Both have long begun their chat sessions afresh, each at the same distance from the last time.
    let (short, long) = (state(60), state(60 + 12 * 40));
    assert!(long < short + short / 2, "a snapshot takes {short} bytes after 60 turns, {long} after 540");
}
