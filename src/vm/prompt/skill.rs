//! The text of a skill with the words that it is called with (spec `skills.md`, "Execution").

use playhouse_lang::program::{ARGUMENTS, Playbook, SkillText};

use crate::machine::stack::Stack;

impl Stack {
    /// The text of the skill that is executed; words of its call stand where it names them. They are put in once, and are no
    /// text of the skill's.
    pub(super) fn write_skill(&self, playbook: &Playbook, skill: &SkillText) -> String {
        let called = self.chat_owner().core.scope.get(ARGUMENTS);
        let words = called.map(|variable| variable.value.shown_text()).unwrap_or_default();
        put_in(&playbook.description, &words, skill.has_numbers)
    }
}

/// `$ARGUMENTS` is all words, `$ARGUMENTS[0]` the first one, and so is `$1` where these are counted.
fn put_in(text: &str, words: &str, has_numbers: bool) -> String {
    let nth = |n: usize| words.split_whitespace().nth(n).unwrap_or_default();
    let mut pieces = text.split('$');
    let mut written = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        if let Some(rest) = piece.strip_prefix(ARGUMENTS) {
            let number = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
            match number.and_then(|(number, rest)| Some((number.parse().ok()?, rest))) {
                Some((number, rest)) => written.extend([nth(number), rest]),
                None => written.extend([words, rest]),
            }
            continue;
        }
        let n_digits = piece.bytes().take_while(u8::is_ascii_digit).count();
        match piece[..n_digits].parse::<usize>().ok().filter(|number| has_numbers && *number > 0) {
            Some(number) => written.extend([nth(number - 1), &piece[n_digits..]]),
            None => written.extend(["$", piece]),
        }
    }
    written
}
