//! The text of a skill with the words that it is called with (spec `skills.md`, "Execution").

use playhouse_lang::program::permits::{COMMAND, RUN_COMMAND, SKILL_FOLDER};
use playhouse_lang::program::{ARGUMENTS, Playbook, SkillText};
use playhouse_lang::value::Value;

use crate::machine::frame_core::Then;
use crate::machine::interpreter::Interpreter;
use crate::machine::stack::Stack;
use crate::protocol::{Origin, Tracked};

impl Stack {
    /// The text of the skill that is executed; words of its call stand where it names them. They are put in once, and are no
    /// text of the skill's.
    pub(super) fn write_skill(&self, playbook: &Playbook, skill: &SkillText) -> String {
        let called = self.chat_owner().core.scope.get(ARGUMENTS);
        let words = called.map(|variable| variable.value.shown_text()).unwrap_or_default();
        // In commands the folder is a variable, so that no text of a session names a place of one machine.
        let text = playbook.description.replace("{baseDir}", &format!("${{{SKILL_FOLDER}}}"));
        put_in(&text, &words, skill.has_numbers)
    }
}

impl Interpreter {
    /// Commands that the text of a skill has in it, as "!`git status`": they are run before its first turn, whose results they
    /// are. One with words of the call in it is left to the model: a person's words are no command.
    pub(crate) fn run_first_commands(&mut self) {
        let program = self.stack.program.clone();
        let playbook = program.playbook(self.stack.top().playbook);
        let Ok(resolved) = self.stack.find_callee(RUN_COMMAND) else { return };
        let text = if playbook.skill.is_some() { &*playbook.description } else { "" };
        let mut has_any = false;
        for command in first_commands(text).take(self.stack.settings.queue) {
            let argument = Tracked::new(Value::from(command), Origin::CODE);
            self.queue_call(&resolved, vec![(COMMAND.into(), argument)], None, None);
            has_any = true;
        }
        if has_any {
            self.drain(Then::GoOn);
        }
    }
}

/// What stands between "!`" and "`".
fn first_commands(text: &str) -> impl Iterator<Item = &str> {
    let pieces = text.split("!`").skip(1).filter_map(|piece| piece.split_once('`'));
    let is_whole = |command: &&str| !command.trim().is_empty() && !command.contains(['\n', '$']);
    pieces.map(|(command, _)| command).filter(is_whole)
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
