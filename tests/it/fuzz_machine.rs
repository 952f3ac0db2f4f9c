//! Any happenings in any order: the machine never panics, and does the same again when its events are replayed.

use playhouse::value::Value;
use playhouse::vm::protocol::{Finish, ReplyEnd};

use crate::made_up::made_up;
use crate::world::{Case, Chunking, Happening, World, begin, parse};

pub(crate) const PROGRAM: &str = r#"--- program
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

pub(crate) const LINES: &[&str] = &[
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
    r#"{"at":"04.02","skip":"no need"}"#,
    r#"{"at":"02","skip":"known"}"#,
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

/// Calls that are inlined or take their caller's place.
pub(crate) const FEWER_CALLS: &str = r#"--- program
# A
variables:
  fast: {type: str, value: "yes"}
## Main
### Triggers
- At the beginning
### Steps
- If $fast == "yes", return Again(1)
- Note(1)
- For each $item in [1, 2]
  - $kept:str = Note($item)
  - If $kept is long
    - Plain()
- $more = Ask($kept)
- Return Main()
## Again($n)
### Steps
- Name $n
- Return Main()
## Note($what) -> str
### Steps
- Look at $what
- If $what == 1
  - $seen = Get($what)
- Ask for a $word
- Return $word
## Plain
strict: false
### Steps
- $n = 1
- Put($n)
- Say something
## Ask($about)
### Steps
- Talk about $about
- Return Ask2(what is left of $about)
## Ask2($about)
limits: {turns: 3, return: 0}
### Steps
- $x = Plain()
- Return $x
--- tools
Get(id) read_only
Put(item)
--- settings
budget = 50
depth = 8
inline_lines = 6
max_repairs = 3
max_session_turns = 3
turns = 60
"#;

pub(crate) const FEWER_CALLS_LINES: &[&str] = &[
    r#"{"at":"01","say":"hello {$kept}"}"#,
    r#"{"at":"01","set":{"fast":"no"}}"#,
    r#"{"at":"01","set":{"fast":"yes"}}"#,
    r#"{"at":"02"}"#,
    r#"{"at":"02>01","say":"{$what}"}"#,
    r#"{"at":"02>01","call":"Get","args":[1],"as":"word"}"#,
    r#"{"at":"02>02"}"#,
    r#"{"at":"02>02.01"}"#,
    r#"{"at":"02>03","set":{"word":"w"}}"#,
    r#"{"at":"02>03","set":{"word":7},"wait":"user"}"#,
    r#"{"at":"02>04","return":"$word"}"#,
    r#"{"at":"02","call":"Note","args":[1]}"#,
    r#"{"at":"03"}"#,
    r#"{"at":"03.01"}"#,
    r#"{"at":"03.01>01","say":"{$what} {$kept}","return":"now"}"#,
    r#"{"at":"03.01>03","set":{"word":"$item"}}"#,
    r#"{"at":"03.01>03","set":{"word":"v"}}"#,
    r#"{"at":"03.01>04","return":3}"#,
    r#"{"at":"03.02.01>03","say":"plain"}"#,
    r#"{"at":"03.02.01","call":"Plain"}"#,
    r#"{"at":"04"}"#,
    r#"{"at":"04","call":"Ask2","args":["x"],"as":"more"}"#,
    r#"{"at":"05"}"#,
    r#"{"at":"02","call":"Ask2","args":["y"]}"#,
    r#"{"at":"01>01","say":"$x"}"#,
    r#"{"at":"01","wait":"calls"}"#,
    r#"{"at":"01>03","return":null}"#,
    r#"{"return":"r"}"#,
    r#"{"wait":"user"}"#,
    r#"{"wait":"timer:PT1S"}"#,
    r#"{"say":"cut "#,
    r#"{"at":"09>01"}"#,
    r#"{"at":"02>9>1","set":{"kept":"k"}}"#,
];

/// One happening that fits what the machine waits for, chosen by a byte.
fn happening(world: &mut World, byte: u8, rest: &mut impl Iterator<Item = u8>, lines: &[&str]) -> Option<Happening> {
    let choice = byte % 16;
    let waits_for_reply = world.is_asking();
    Some(match choice {
        0..=8 if waits_for_reply => {
            let n_lines = usize::from(byte / 16) % 5;
            let lines: Vec<&str> = rest.take(n_lines).map(|byte| lines[usize::from(byte) % lines.len()]).collect();
            let end = match choice {
                0 => ReplyEnd::Broken { reason: "reset".into(), retry_after_ms: None },
                1 => ReplyEnd::Complete(Finish::Length),
                2 if byte > 240 => ReplyEnd::Refused { reason: "no".into() },
                _ => ReplyEnd::Complete(Finish::Stop),
            };
            Happening::Reply { text: lines.join("\n"), end }
        }
        9 if waits_for_reply => Happening::Chunk(lines[usize::from(rest.next()?) % lines.len()].to_owned()),
        10 => Happening::Interrupt,
        11 => Happening::Reopen,
        12 => Happening::Pass(i64::from(byte) * 100),
        _ => match world.running_tool() {
            // An interrupt has ended it, or the world says so for no reason.
            Some(name) if choice == 15 && byte < 64 => Happening::Interrupted(name),
            Some(name) => Happening::Result(name, result(byte)),
            None => Happening::User("seven".to_owned()),
        },
    })
}

/// What a tool answers: what the program wants half of the time, else what its expressions cannot take.
fn result(byte: u8) -> Result<Value, String> {
    let json = match byte / 16 {
        0 => return Err("no".to_owned()),
        1 => return Err("a long story of what went wrong ".repeat(200)),
        2 => r#""{$id} is only a text""#,
        3 => r#"{"items":"none"}"#,
        4 => r#"{"items":[[1,[2,["x"]]],{"a":{"b":null}}],"state":["lost"]}"#,
        5 => r#"{"items":[],"":{}}"#,
        6 => "[null, 1.5, -9223372036854775808]",
        7 => "null",
        _ => r#"{"items":[1,5]}"#,
    };
    Ok(Value::from_json(json).unwrap())
}

pub(crate) fn play_bytes(case: &Case, bytes: &[u8], lines: &[&str]) -> World {
    let mut world = World::new(begin(case));
    let _ = world.settle();
    let mut bytes = bytes.iter().copied();
    while let Some(byte) = bytes.next() {
        let Some(happening) = happening(&mut world, byte, &mut bytes, lines) else { break };
        world.happen(&happening, Chunking::Size(usize::from(byte % 7) + 1));
        let _ = world.machine.view();
    }
    world
}

/// Plays the happenings that `bytes` choose, and plays their events again.
fn machine_one(case: &Case, bytes: &[u8], lines: &[&str]) -> World {
    let world = play_bytes(case, bytes, lines);
    let mut again = World::new(begin(case));
    again.replay(&world.events);
    assert_eq!(again.machine.view(), world.machine.view());
    assert_eq!(again.log, world.log);
    world
}

#[test]
fn machine() {
    let case = parse(PROGRAM);
    made_up!(150, 256).for_each(|bytes: &[u8]| {
        machine_one(&case, bytes, LINES);
    });
}

#[test]
fn machine_with_fewer_calls() {
    let case = parse(FEWER_CALLS);
    made_up!(100, 256).for_each(|bytes: &[u8]| {
        machine_one(&case, bytes, FEWER_CALLS_LINES);
    });
}

/// In these seeded runs frames are inlined and elided often, in every order.
#[test]
fn seeded_with_fewer_calls() {
    let case = parse(FEWER_CALLS);
    let mut random = fastrand::Rng::with_seed(4);
    let (mut n_tail, mut n_inlined) = (0, 0);
    for _ in 0..400 {
        let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(120).collect();
        let counters = machine_one(&case, &bytes, FEWER_CALLS_LINES).machine.view().counters;
        n_tail += counters.tail_calls;
        n_inlined += counters.inlined_calls;
    }
    assert!(n_tail > 300 && n_inlined > 250, "{n_tail} tail calls, {n_inlined} inlined");
}
