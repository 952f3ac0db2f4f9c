//! Any bytes, cut anywhere: the reader never panics, its spans lie inside the reply, and the pieces do not
//! change what is read.

use playhouse::value::{PathStep, Value};
use playhouse::vm::reply::{Action, ReadEnd, ReadFaultKind, ReaderOptions, Reading};

use crate::made_up::made_up;
use crate::reply::{check_readings, read};

/// Pieces of replies; what a fuzzer would take long to find by bytes.
const PIECES: &[&str] = &[
    "{\"",
    "{",
    "}",
    "}\n",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\u",
    "d83d",
    "\\ude00",
    "\n",
    "\r\n",
    " ",
    "```",
    "```json\n",
    "<think>",
    "</think>",
    "<reasoning>",
    "</thinking>",
    "{\"at\":\"01\"",
    "{\"say\":\"",
    "\"say\":\"",
    "\"at\":1,",
    "{\"set\":{\"x\":",
    "{\"call\":\"F\",\"args\":",
    "\"as\":\"y\"",
    "{\"wait\":\"user\"}",
    "{\"return\":null}",
    "{\"end\":true}",
    "{\"trace\":[",
    "true",
    "None",
    "-1.5e3",
    "0",
    "'",
    "{}",
    "[]",
    "text ",
    "é",
    "\u{1F600}",
    "\u{feff}",
    "$x",
    "{\"unknown\":1,",
];

/// Reads a reply made of the input, whole and cut: never a panic, spans inside, the same readings.
pub(crate) fn reply_read_one(input: &[u8], cuts: &[u8], flags: u8) {
    let mut reply = Vec::new();
    for byte in input {
        match PIECES.get(usize::from(*byte % 64)) {
            Some(piece) => reply.extend_from_slice(piece.as_bytes()),
            None => reply.push(byte.rotate_left(3)),
        }
    }
    let options = ReaderOptions {
        starts_in_think: flags & 1 != 0,
        max_actions: if flags & 2 != 0 { 2 } else { 1000 },
        max_bytes: if flags & 4 != 0 { 20 } else { 1 << 20 },
    };
    let end = if flags & 8 != 0 { ReadEnd::Cut } else { ReadEnd::Complete };
    let whole = read(&options, [&*reply], end);
    check_readings(&reply, &whole);
    assert_eq!(read(&options, reply.chunks(1), end), whole);
    let mut pieces = Vec::new();
    let mut rest = &*reply;
    for cut in cuts {
        let (piece, behind) = rest.split_at(usize::from(*cut).min(rest.len()));
        pieces.push(piece);
        rest = behind;
    }
    pieces.push(rest);
    assert_eq!(read(&options, pieces, end), whole);
}

#[test]
fn reply_read() {
    let check = made_up!(2_000).with_type::<(Vec<u8>, Vec<u8>, u8)>();
    check.for_each(|(input, cuts, flags)| reply_read_one(input, cuts, *flags));
}

/// Tokens of JSON, good and bad.
const TOKENS: [&str; 48] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"a\"",
    "\"b\"",
    "\"\"",
    "\"say\"",
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1.5",
    "1e3",
    "-0",
    "01",
    "1.",
    ".5",
    "1e",
    "-",
    "+1",
    "1E-2",
    "9223372036854775808",
    "1e999",
    " ",
    "\t",
    "\n",
    "\"\\n\"",
    "\"\\u00e9\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud83d\"",
    "\"\\x\"",
    "\"\\",
    "\"",
    "True",
    "'",
    "{\"a\":1}",
    "[1,2]",
    "{\"a\":",
    "[0,",
    "\"é\"",
    "nul",
    "tru e",
    "\u{b}",
    "\u{a0}",
];

/// The scanner takes what serde_json takes and nothing else (a comma before a closing bracket apart), and the
/// values are the same.
#[test]
fn scanner_agrees_with_serde_json() {
    made_up!(3_000).with_type::<Vec<u8>>().for_each(|input| {
        let Some((length, tokens)) = input.split_first() else {
            return;
        };
        // Few tokens: many are hardly ever JSON.
        let tokens = tokens.iter().take(usize::from(length % 10));
        let tokens: String = tokens.map(|byte| TOKENS[usize::from(*byte) % TOKENS.len()]).collect();
        let reply = format!("{{\"return\":{tokens}}}");
        let by_serde = Value::from_json(&reply);
        let readings = read(&ReaderOptions::default(), [reply.as_bytes()], ReadEnd::Complete);
        match readings.as_slice() {
            [Reading::Line(line)] if line.source.len() == reply.len() => {
                if reply.replace([' ', '\t', '\n'], "").contains(",}")
                    || reply.replace([' ', '\t', '\n'], "").contains(",]")
                {
                    return;
                }
                let by_serde = by_serde.unwrap_or_else(|error| panic!("{error}: {reply}"));
                if let Some(Action::Return(value)) = line.actions.last() {
                    assert_eq!(Some(value), by_serde.step(&PathStep::Member("return".into())), "{reply}");
                }
            }
            [Reading::Fault(fault)] => {
                let is_syntax = matches!(fault.kind, ReadFaultKind::Json | ReadFaultKind::CutOff);
                assert!(!is_syntax || by_serde.is_err(), "{}: {reply}", fault.message);
            }
            // More objects, or text behind the first.
            _ => assert!(
                by_serde.is_err()
                    || readings
                        .iter()
                        .any(|reading| matches!(reading, Reading::Ignored { .. } | Reading::SayBegan { .. })),
                "{reply}"
            ),
        }
    });
}
