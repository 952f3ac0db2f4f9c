//! Any bytes, cut anywhere: the reader never panics, its spans lie inside the reply, and the pieces do not
//! change what is read.

use playhouse::vm::reply::{ReadEnd, ReaderOptions};

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

#[test]
fn reply_read() {
    bolero::check!().with_type::<(Vec<u8>, Vec<u8>, u8)>().for_each(|(input, cuts, flags)| {
        let mut reply = Vec::new();
        for byte in input {
            match PIECES.get(usize::from(*byte)) {
                Some(piece) => reply.extend_from_slice(piece.as_bytes()),
                None => reply.push(byte.wrapping_sub(64)),
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
    });
}
