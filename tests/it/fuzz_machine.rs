//! Any happenings in any order: the machine never panics, and does the same again when its events are replayed.

use bolero::check;
use playhouse::value::Value;
use playhouse::vm::protocol::{Finish, ReplyEnd};

use crate::world::{Case, Chunking, Happening, World, begin, parse};

const PROGRAM: &str = r#"--- program
# Shop
variables:
  limit: {type: int, value: 3}
  token: {type: str, value: "x", secret: true}

Sells things.
## Main
### Triggers
- At the beginning
### Steps
- Say "Welcome."
- Ask the user for $id:int
- $order = Get($id)
- For each $item in $order.items
  - Tell the user about $item
  - If $item > $limit
    - $kept = Keep($item)
  - Otherwise
    - Drop($item)
- If the user is unhappy, go back to step 2
- While $limit > 0
  - $limit = $limit - 1
- $text = Goal()
- Return $text
## Keep($item: int) -> int
limits: {turns: 3, return: 0}
### Steps
- Think about $item
- Return Keep2($item)
## Keep2($item)
### Steps
- Put($item)
- Return $item + 1
## Drop($item)
strict: false
### Steps
- Ask the user for $reason
- Note the $reason
- End program
## Goal
Find out what is wanted.
1. Ask
2. Answer
--- tools
Get(id) read_only
Put(item)
--- settings
budget = 50
max_repairs = 3
max_session_turns = 3
turns = 60
"#;

const LINES: &[&str] = &[
    r#"{"at":"01","say":"hello {$id} $id {$order.items[0]}"}"#,
    r#"{"at":"02","set":{"id":7,"x":"$id"}}"#,
    r#"{"at":"02","wait":"user"}"#,
    r#"{"at":"03"}"#,
    r#"{"at":"03","call":"Get","args":{"id":1},"as":"order"}"#,
    r#"{"at":"04"}"#,
    r#"{"at":"04.01","say":"{$item}"}"#,
    r#"{"at":"04.02","think":"x"}"#,
    r#"{"at":"04.02.01","call":"Keep","args":["$item"],"as":"kept"}"#,
    r#"{"at":"05"}"#,
    r#"{"at":"01","return":"$kept"}"#,
    r#"{"at":"02","return":3}"#,
    r#"{"return":{"a":"$order"}}"#,
    r#"{"end":true}"#,
    r#"{"wait":"calls"}"#,
    r#"{"wait":"timer:PT1S"}"#,
    r#"{"at":"01","set":{"reason":"$user_message","limit":"no"}}"#,
    r#"{"call":"Put","args":{"item":"{$token}"}}"#,
    r#"{"call":"Nope"}"#,
    r#"{"say":"cut $ord"#,
    "prose",
    r#"{"at":"08"}"#,
    r#"{"at":"06.01","set":{"limit":1}}"#,
];

/// One happening that fits what the machine waits for, chosen by a byte.
fn happening(world: &mut World, byte: u8, rest: &mut impl Iterator<Item = u8>) -> Option<Happening> {
    let choice = byte % 16;
    let waits_for_reply = world.is_asking();
    Some(match choice {
        0..=8 if waits_for_reply => {
            let n_lines = usize::from(byte / 16) % 5;
            let lines: Vec<&str> = rest.take(n_lines).map(|byte| LINES[usize::from(byte) % LINES.len()]).collect();
            let end = match choice {
                0 => ReplyEnd::Broken { reason: "reset".into(), retry_after_ms: None },
                1 => ReplyEnd::Complete(Finish::Length),
                2 if byte > 240 => ReplyEnd::Refused { reason: "no".into() },
                _ => ReplyEnd::Complete(Finish::Stop),
            };
            Happening::Reply { text: lines.join("\n"), end }
        }
        9 if waits_for_reply => Happening::Chunk(LINES[usize::from(rest.next()?) % LINES.len()].to_owned()),
        10 => Happening::Interrupt,
        11 => Happening::Reopen,
        12 => Happening::Pass(i64::from(byte) * 100),
        _ => match world.running_tool() {
            Some(name) if byte > 32 => Happening::Result(name, Ok(Value::from_json(r#"{"items":[1,5]}"#).unwrap())),
            Some(name) => Happening::Result(name, Err("no".to_owned())),
            None => Happening::User("seven".to_owned()),
        },
    })
}

fn play_bytes(case: &Case, bytes: &[u8]) -> World {
    let mut world = World::new(begin(case));
    let _ = world.settle();
    let mut bytes = bytes.iter().copied();
    while let Some(byte) = bytes.next() {
        let Some(happening) = happening(&mut world, byte, &mut bytes) else { break };
        world.happen(&happening, Chunking::Size(usize::from(byte % 7) + 1));
        let _ = world.machine.view();
    }
    world
}

#[test]
fn machine() {
    let case = parse(PROGRAM);
    check!().with_max_len(256).for_each(|bytes: &[u8]| {
        let world = play_bytes(&case, bytes);
        let mut again = World::new(begin(&case));
        again.replay(&world.events);
        assert_eq!(again.machine.view(), world.machine.view());
        assert_eq!(again.log, world.log);
    });
}
