//! What a log decides, without an engine.

use playhouse::host::engine::log_state::{LogState, SAVED, fold};
use playhouse::host::engine::wire::{Appending, BLOCK, Closing, Opening, Watching};
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
        last_record: None,
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

/// Folded blocks have the same lines in the same order, each at the key of its first, and none is longer than a block may be
/// that was not before.
#[test]
fn folded_blocks_have_the_same_records() {
    let lines: Vec<String> = (0..200_usize).map(|n| format!("{n}{}", "x".repeat(n * n * 97 % 40_000))).collect();
    let whole = lines.join("\n");
    let long = format!("long{}", "x".repeat(BLOCK + 1));
    let all =
        |blocks: &[(String, String)]| blocks.iter().map(|(_, block)| block.as_str()).collect::<Vec<_>>().join("\n");
    let blocks: Vec<(String, String)> =
        lines.iter().enumerate().map(|(n, line)| (format!("r{n:012}"), line.clone())).collect();
    let folded = fold(&blocks).unwrap();
    assert_eq!(all(&folded), whole);
    assert!(folded.len() > 1 && folded.len() + SAVED <= blocks.len(), "{}", folded.len());
    for (key, block) in &folded {
        assert!(block.len() <= BLOCK, "{key}: {}", block.len());
        let first = block.lines().next().unwrap();
        assert!(blocks.contains(&(key.clone(), first.to_owned())), "{key}");
    }
    // Too few to be worth it; and once more nothing is saved.
    assert_eq!(fold(&blocks[..SAVED]), None);
    assert_eq!(fold(&folded), None);
    let mut with_long = blocks;
    with_long.insert(100, ("r000000000099x".to_owned(), long.clone()));
    let folded = fold(&with_long).unwrap();
    assert!(folded.iter().any(|(_, block)| *block == long));
    assert_eq!(all(&folded), all(&with_long));
}
