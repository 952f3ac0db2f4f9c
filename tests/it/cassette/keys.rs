//! What a request is found by.

use std::sync::Arc;

use playhouse::host::cassette::key::{Asked, Message, blocks, canonical, heading};
use playhouse::vm::protocol::{ChatMessage, Role};
use serde_json::json;

use crate::made_up::made_up;

const ROLES: [Role; 3] = [Role::System, Role::User, Role::Assistant];

fn asked(messages: &[(Role, &str)]) -> Asked {
    let message = |(role, text): &(Role, &str)| Message::new(&ChatMessage { role: *role, text: (*text).into() });
    Asked {
        purpose: "turn",
        model: "openai:m".into(),
        sampling: serde_json::Map::new(),
        schema: None,
        messages: messages.iter().map(message).collect(),
    }
}

/// Two requests have one key exactly if they say the same.
#[test]
fn a_key_is_another_one_when_any_message_is() {
    const WORDS: [&str; 8] = ["PLAYBOOK", "USER \"a\"", "# Rules", "a", "", "\n", "01 Ask", "DONE"];
    let text = |words: &[u8]| words.iter().map(|word| WORDS[usize::from(word % 8)]).collect::<Vec<_>>().join("\n");
    // Few short ones: so two are often the same, or nearly.
    made_up!(3_000).with_type::<(Vec<(u8, Vec<u8>)>, Vec<(u8, Vec<u8>)>)>().for_each(|(a, b)| {
        let read = |messages: &[(u8, Vec<u8>)]| {
            let read =
                |(role, words): &(u8, Vec<u8>)| (ROLES[usize::from(role % 3)], text(&words[..words.len().min(4)]));
            messages.iter().take(3).map(read).collect::<Vec<_>>()
        };
        let (a, b) = (read(a), read(b));
        let key = |messages: &[(Role, String)]| {
            asked(&messages.iter().map(|(role, text)| (*role, text.as_str())).collect::<Vec<_>>()).key()
        };
        assert_eq!(key(&a) == key(&b), a == b, "{a:?} {b:?}");
        assert_eq!(key(&a), key(&a.clone()));
    });
}

#[test]
fn a_key_depends_on_what_is_sent_besides_the_messages() {
    let one = asked(&[(Role::User, "a")]);
    let sampling = |value| [("temperature".to_owned(), value)].into_iter().collect();
    let schema = |value| Some(Arc::new(value));
    let others = [
        Asked { purpose: "plan", ..one.clone() },
        Asked { model: "openai:n".into(), ..one.clone() },
        Asked { sampling: sampling(json!(0.5)), ..one.clone() },
        Asked { sampling: sampling(json!(1)), ..one.clone() },
        Asked { schema: schema(json!({"type": "object"})), ..one.clone() },
        asked(&[(Role::Assistant, "a")]),
        asked(&[(Role::User, "a"), (Role::User, "")]),
        asked(&[(Role::User, "a"), (Role::User, "a")]),
    ];
    let mut keys: Vec<String> = others.iter().chain([&one]).map(|asked| asked.key().as_str().to_owned()).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), others.len() + 1);
    // In whatever order somebody has written it.
    let fields = |text: &str| Asked { sampling: serde_json::from_str(text).unwrap(), ..one.clone() };
    assert_eq!(fields(r#"{"a":{"x":1,"y":2},"b":3}"#).key(), fields(r#"{ "b": 3, "a": {"y":2,"x":1} }"#).key());
    assert_eq!(
        canonical(&json!({"b": [1, {"d": null, "c": "\n"}], "a": true})),
        r#"{"a":true,"b":[1,{"c":"\n","d":null}]}"#
    );
}

/// Nothing is lost and nothing comes twice, whatever the text.
#[test]
fn blocks_are_the_whole_text() {
    made_up!(3_000).with_type::<(u8, String)>().for_each(|(role, text)| {
        let role = ROLES[usize::from(role % 3)];
        let blocks = blocks(role, text);
        assert_eq!(blocks.concat(), *text);
        assert!(blocks.iter().all(|block| !block.is_empty()));
    });
}

#[test]
fn blocks_are_what_a_reader_sees() {
    let turn = "PLAYBOOK Order()\nGOAL\n\nFind it.\n01 Ask\nVARIABLES\n$a = \"x\\nDONE\"\nUSER \"DONE\"\n\
                you were saying \"x\": go on in mid-sentence\nGO ON FROM 01";
    let headings: Vec<String> = blocks(Role::User, turn).iter().map(|block| heading(Role::User, block)).collect();
    assert_eq!(headings, ["PLAYBOOK", "GOAL", "VARIABLES", "USER", "GO ON FROM"]);
    let system = "You execute.\n\n# Rules\n1. Begin\n\n# Examples\nPLAYBOOK Book()\n01 Ask";
    let headings: Vec<String> = blocks(Role::System, system).iter().map(|block| heading(Role::System, block)).collect();
    assert_eq!(headings, ["the system message", "# Rules", "# Examples"]);
    let question = "TRIGGERS\nA:T1: When x\nCHANGES\n$a: 1 -> 2\nTHE USER'S LAST WORDS \"no\"\n";
    let headings: Vec<String> = blocks(Role::User, question).iter().map(|block| heading(Role::User, block)).collect();
    assert_eq!(headings, ["TRIGGERS", "CHANGES", "THE USER'S LAST WORDS"]);
    assert_eq!(blocks(Role::Assistant, "{\"at\":\"01\"}\nDONE").len(), 1);
}
