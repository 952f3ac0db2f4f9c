//! Tail calls are loops: neither the machine nor what the model is shown grows with them.

use playhouse::value::Value;
use playhouse::vm::protocol::{Effect, Event, Outcome, Progress, Timestamp, Wait};

use crate::world::{begin, parse};

/// The whole state as text: what grows shows in its length.
fn n_state_bytes(machine: &playhouse::vm::Machine) -> usize {
    format!("{machine:?}").len()
}

#[test]
#[allow(clippy::print_stdout, reason = "the figures are asked for")]
fn a_recursion_of_explicit_lines_runs_in_constant_memory() {
    let mut machine = begin(&parse(
        "--- program\n# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $sum = Sum(100000, 0)\n- Return $sum\n\
         ## Sum($n: int, $sum: int) -> int\n### Steps\n- If $n == 0, return $sum\n- $twice = $n * 2\n\
         - Return Sum($n - 1, $sum + $twice)\n",
    ));
    let (mut sizes, mut n_pauses) = (Vec::new(), 0);
    let outcome = loop {
        match machine.advance() {
            Progress::Emit(Effect::StartTurn(_)) => panic!("a model was asked"),
            Progress::Emit(_) | Progress::Reached(_) => {}
            Progress::Blocked(Wait::Budget) => {
                n_pauses += 1;
                if n_pauses == 3 || n_pauses == 40 {
                    sizes.push(n_state_bytes(&machine));
                }
                machine.handle(Timestamp(0), Event::GoOn);
            }
            Progress::Blocked(wait) => panic!("{wait:?}"),
            Progress::Finished(outcome) => break outcome,
        }
    };
    let Outcome::Done { value } = outcome else { panic!("{outcome:?}") };
    assert_eq!(*value.value(), Value::Int(100_000 * 100_001));
    println!("state after 3 and 40 pauses of {n_pauses}: {sizes:?} bytes");
    // The numbers in it have more digits.
    assert!(n_pauses > 40 && sizes[1] < sizes[0] + 200, "{n_pauses} {sizes:?}");
    let counters = machine.view().counters;
    assert_eq!((counters.tail_calls, counters.max_depth), (100_001, 1));
}

/// The requests of a playbook that ends with a call of itself, each answered with `reply`: messages and bytes.
fn requests(n: u64, last_line: &str, reply: &str) -> Vec<(usize, usize)> {
    let mut machine = begin(&parse(&format!(
        "--- program\n# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Chat(\"first\")\n\
         ## Chat($topic)\n### Steps\n- Name something that goes with $topic as $next\n- {last_line}\n",
    )));
    let (mut sizes, mut turn, mut is_read) = (Vec::new(), None, false);
    loop {
        match machine.advance() {
            Progress::Emit(Effect::StartTurn(start)) => {
                sizes.push((start.messages.len(), start.messages.iter().map(|message| message.text.len()).sum()));
                (turn, is_read) = (Some(start.turn), false);
            }
            Progress::Emit(_) | Progress::Reached(_) => {}
            Progress::Blocked(wait) => {
                let turn = turn.unwrap_or_else(|| panic!("{wait:?}"));
                if sizes.len() as u64 == n {
                    break;
                }
                let event = match std::mem::replace(&mut is_read, true) {
                    false => Event::Chunk { turn, bytes: reply.as_bytes().into() },
                    true => panic!("the reply brought nothing: {wait:?}"),
                };
                machine.handle(Timestamp(0), event);
            }
            Progress::Finished(outcome) => panic!("{outcome:?}"),
        }
    }
    let counters = machine.view().counters;
    // Main's call of Chat is one, too.
    assert_eq!((counters.turns, counters.tail_calls, counters.max_depth), (n, n, 1));
    sizes
}

#[test]
#[allow(clippy::print_stdout, reason = "the figures are asked for")]
fn a_recursion_that_needs_the_model_asks_once_per_iteration_with_a_constant_prompt() {
    let named = r#"{"at":"01","set":{"next":"thing"}}"#;
    for (last_line, called) in [
        ("Chat($next)", r#"{"at":"02","wait":"calls"}"#),
        ("Return Chat(what you have named)", r#"{"at":"02","call":"Chat","args":["$next"]}"#),
    ] {
        let sizes = requests(1_000, last_line, &format!("{named}\n{called}\n"));
        println!("{last_line}: first prompts {:?}, last {:?} (messages, bytes)", &sizes[..2], sizes.last());
        // From the second on: the first has no `$next` to be shown.
        assert!(sizes[1..].iter().all(|size| *size == sizes[1]), "{sizes:?}");
    }
}
