//! Any text as an answer, and any words as a line: the embedded model never panics, writes whole trace lines, and
//! takes no value that was not said.

use crate::embedded::Chat;
use crate::made_up::made_up;

/// Pieces of what people write; what a fuzzer would take long to find by bytes.
const PIECES: &[&str] = &[
    "I",
    "’",
    "'",
    "m ",
    " am ",
    "my name is ",
    "Ada",
    " Berg",
    "-",
    "ö",
    "ß",
    "日本",
    "\u{1F600}",
    "e\u{301}",
    "\u{feff}",
    "\u{200d}",
    " ",
    "  ",
    "\n",
    "\t",
    "\u{a0}",
    ",",
    ".",
    "!",
    "?",
    "“",
    "”",
    "\"",
    "„",
    "«",
    "»",
    "(",
    ")",
    "$",
    "$$",
    "$x",
    "{$name}",
    "{",
    "}",
    "@",
    "ann@example.org",
    " at ",
    " dot ",
    "31",
    "02",
    "2026",
    ".02.",
    "/",
    " February ",
    "99999999999999999999",
    "1,000",
    "−",
    "-5",
    "½",
    "one ",
    "twenty",
    "hundred ",
    "thousand ",
    "million ",
    "and ",
    "a ",
    "half ",
    "zero ",
    "+49 ",
    "170 ",
    "yes",
    "no",
    "maybe",
    "I don't know",
    "because ",
    "İ",
    "ŉ",
    "ﬀ",
    "K",
];

/// Lines that ask for a value of each kind, that judge, and that take a value out of what was said.
const LINES: &[&str] = &[
    "Ask the user for $name",
    "Ask the user for $town, the place they live in",
    "Ask the user for $n:int",
    "Ask the user for $price:float, the price",
    "Ask the user for $order_id:str, the number of their order",
    "Ask the user for their $birthday",
    "Ask the user for $day, as 2026-05-03",
    "Ask the user for their $email",
    "Ask the user for their $phone",
    "Ask the user whether they like tea: $tea:bool",
    "Ask the user for $drink: tea, coffee or water",
    "Ask the user for $items:list",
    "Ask the user what they like: $hobby",
    "Set $answer to what the user said",
    "Set $n:int to the number that the user said",
    "If the user wants to stop",
    "While the user wants more",
];

fn text(input: &[u8]) -> String {
    let mut text = String::new();
    for byte in input {
        match PIECES.get(usize::from(*byte)) {
            Some(piece) => text.push_str(piece),
            // Characters of one to four bytes.
            None => text.extend(char::from_u32((u32::from(*byte) - 60) << (byte % 11))),
        }
    }
    text
}

/// Has the embedded model read the input as an answer to a line, twice, and as a line.
pub(crate) fn embedded_reads_one(input: &[u8], line: u8) {
    let text = text(input);
    let asking = LINES[usize::from(line) % LINES.len()];
    let words = text.replace(['\n', '\r'], " ");
    for line in [asking.to_owned(), format!("Ask the user for {words}"), format!("Tell the user {words}"), words] {
        let mut chat = Chat::new(&format!("# Desk\n\n## Main\n\n### Steps\n\n- {line}\n"), &[]);
        if !chat.has_lines() {
            continue;
        }
        for said in [None, Some(&*text), Some(&*text)] {
            let lines = chat.reply(said);
            assert!(!lines.is_empty() && lines.iter().all(serde_json::Value::is_object), "{line}: {lines:?}");
        }
    }
}

#[test]
fn embedded_reads() {
    let check = made_up!(300).with_type::<(Vec<u8>, u8)>();
    check.for_each(|(input, line)| embedded_reads_one(input, *line));
}
