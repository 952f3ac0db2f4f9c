//! What a log decides, without an engine.

use playhouse::host::engine::log_state::LogState;
use playhouse::host::engine::wire::{Appending, Closing, Opening, Watching};
use playhouse::host::ledger::Served;
use playhouse::vm::protocol::Timestamp;
use serde_json::json;

use crate::golden;

/// So many bytes are taken at most.
const ROOM: u64 = 100;

/// What is written in a case for nothing.
fn none(word: &str) -> Option<&str> {
    (word != "-").then_some(word)
}

fn served() -> Served {
    Served {
        session: "s1".into(),
        program: "desk".into(),
        version: "1".into(),
        owner: "ida".into(),
        labels: "{}".into(),
        created: Timestamp(0),
        forked: None,
        standing: None,
        wake: None,
        held_by: None,
    }
}

/// Performs a line: what is answered, as the engine would send it.
fn perform(state: &mut LogState, words: &[&str]) -> serde_json::Value {
    let number = |word: &str| word.parse::<u64>().unwrap();
    match *words {
        ["open", node, visit] => match state.open(Opening { node: node.into(), visit: none(visit).map(Into::into) }) {
            Ok((epoch, first)) => json!({"epoch": epoch, "first": first}),
            Err(owner) => json!({"held": owner}),
        },
        ["append", epoch, from, n, n_bytes] => {
            let blocks = vec![(number(from), "x".repeat(n_bytes.parse().unwrap()))];
            let appending = Appending { epoch: number(epoch), from: number(from), n: number(n), blocks };
            let (answer, is_new) = state.append(&appending, ROOM);
            json!({"answer": answer, "kept": is_new})
        }
        ["close", epoch, standing] => {
            let standing = none(standing).map(|standing| (standing.to_owned(), Some(7)));
            json!(state.close(Closing { epoch: number(epoch), standing }))
        }
        ["watch", node, now, until] => {
            let (now, until) = (now.parse().unwrap(), until.parse().unwrap());
            state.watch(Watching { node: node.into(), now, until });
            json!(null)
        }
        ["fail", visit] => json!(state.fail(visit.into())),
        ["serve", which] => json!(state.serve(served(), which == "new")),
        ["delete", which] => match state.deleted(which == "unbegun") {
            Some(deleted) => {
                *state = deleted;
                json!(true)
            }
            None => json!(false),
        },
        ["state"] => serde_json::to_value(&*state).unwrap(),
        _ => panic!("{words:?}"),
    }
}

/// Each line is done to the log; an empty one begins another log, and `#` begins what is said of it.
#[test]
fn cases() {
    golden::check("engine/log", &["txt"], |_, case| {
        let mut state = LogState::default();
        let mut text = String::new();
        for line in case.lines() {
            if line.is_empty() {
                state = LogState::default();
            }
            text.push_str(line);
            if !line.is_empty() && !line.starts_with('#') {
                let words: Vec<&str> = line.split(' ').collect();
                text.push_str(&format!(" -> {}", perform(&mut state, &words)));
            }
            text.push('\n');
        }
        text
    });
}
