//! The blocks of a message: what a reader sees as one piece.

use crate::vm::protocol::Role;

/// A message's text in blocks, none of which is empty. A block begins at a line that begins with a word in capitals, and
/// in a system message, which shows such lines as examples, at each `# ` heading. Text from outside stands in JSON
/// strings and begins no line.
pub(super) fn blocks(role: Role, text: &str) -> Vec<&str> {
    let begins = |line: &str| match role {
        Role::System => line.starts_with("# "),
        Role::User => line.split(' ').next().is_some_and(is_in_capitals),
        // What the model has written is one thing.
        Role::Assistant => false,
    };
    let mut blocks = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if at > start && begins(line) {
            blocks.push(&text[start..at]);
            start = at;
        }
        at += line.len();
    }
    if at > start {
        blocks.push(&text[start..]);
    }
    blocks
}

/// What people call a block: `PLAYBOOK`, `GO ON FROM`, `# Rules`.
pub(super) fn heading(role: Role, block: &str) -> String {
    let first = block.lines().next().unwrap_or("");
    match role {
        Role::System if first.starts_with("# ") => first.to_owned(),
        Role::System => "the system message".to_owned(),
        Role::User => {
            let words: Vec<&str> = first.split_whitespace().take_while(|word| is_in_capitals(word)).collect();
            if words.is_empty() { "the message".to_owned() } else { words.join(" ") }
        }
        Role::Assistant => "what the model had written".to_owned(),
    }
}

fn is_in_capitals(word: &str) -> bool {
    let word = word.trim_end();
    word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'\'')
}
