//! Calls of skills in words: `Use the pdf-forms skill to fill it`, `/pdf-forms a.pdf`, `Skill(pdf-forms)` (spec `skills.md`,
//! "Execution").

use std::collections::BTreeSet;

use crate::english::callables::Callable;
use crate::english::phrase::{Phrase, without_emphasis};
use crate::english::reading::Surroundings;
use crate::expr::{Expr, ExprKind};
use crate::program::{Argument, CallSite};
use crate::span::Span;
use crate::value::Value;

/// What authors of skills write before a call that must be made.
const MARKS: [&str; 3] = ["REQUIRED SUB-SKILL:", "REQUIRED SKILL:", "SUB-SKILL:"];

const VERBS: [&str; 6] = ["use", "invoke", "run", "load", "follow", "apply"];

/// What stands between a skill and what it is called for.
const FOR: [&str; 3] = ["to", "for", "with"];

/// A skill that a line calls.
pub(crate) struct NamedSkill<'a> {
    /// Its name as it is written, without what stands before a colon.
    pub(crate) name: Phrase<'a>,
    /// What it is called for; may be empty.
    words: Phrase<'a>,
    /// Whether nothing else is meant by such a name: it has a hyphen or a sign before it.
    pub(crate) is_sure: bool,
    /// Whether it says that the skill is required.
    is_required: bool,
}

/// The call of a skill that a whole line is, of one that the program has. Words with references in them are the model's.
pub(crate) fn read_skill_call(line: Phrase<'_>, around: Surroundings<'_>) -> Option<CallSite> {
    let NamedSkill { name, words, .. } = named_skill(line)?;
    let Callable { id, name: callee, .. } = around.names.skill(name.text)?;
    let words = words.trim_end_marks();
    let literal = Expr { kind: ExprKind::Literal(Value::from(words.text)), span: words.span() };
    let arguments = match words.text {
        "" => Some(Vec::new()),
        text if text.contains(['$', '{']) => None,
        _ => Some(vec![Argument { name: None, value: literal }]),
    };
    let (callee, callee_span) = (callee.clone(), name.span());
    Some(CallSite { callee, callee_span, playbook: Some(*id), arguments, result: None })
}

/// The skill that is called before a line of a skill is done: one that its own words begin with, or that a text below it
/// says is required.
pub(crate) fn due_skill<'a>(words: &str, below: &str, around: Surroundings<'a>) -> Option<&'a Callable> {
    let required = below.lines().filter_map(|line| name_in(line, |named| named.is_required));
    name_in(words, |_| true).into_iter().chain(required).find_map(|name| around.names.skill(&name))
}

/// The name of the skill that a line of somebody's text calls, if it is wanted.
fn name_in(line: &str, is_wanted: impl Fn(&NamedSkill<'_>) -> bool) -> Option<String> {
    let plain = without_emphasis(line.trim_start_matches(['>', '-', '*', ' ']));
    let named = named_skill(Phrase::at(&plain, Span::default()).plain())?;
    is_wanted(&named).then(|| named.name.text.to_owned())
}

/// The skill that a plain line calls, whether the program has it or not.
pub(crate) fn named_skill(line: Phrase<'_>) -> Option<NamedSkill<'_>> {
    let line = without_number(line.trim());
    if let Some(rest) = line.text.strip_prefix('/') {
        let (name, words) = split_name(line.from(line.text.len() - rest.len()))?;
        let is_word = words.is_empty() || words.text.starts_with(char::is_whitespace);
        return is_word.then_some(NamedSkill { name, words: words.trim(), is_sure: false, is_required: false });
    }
    if let Some(inside) = line.text.strip_prefix("Skill(") {
        let (name, rest) = split_name(line.from(line.text.len() - inside.len()))?;
        let words = rest.from(rest.text.len() - rest.text.trim_start_matches([',', ' ']).len());
        let end = words.text.rfind(')')?;
        return Some(NamedSkill { name, words: words.until(end).trim(), is_sure: true, is_required: false });
    }
    let mark = MARKS.iter().find_map(|mark| line.text.strip_prefix(mark));
    let line = mark.map_or(line, |rest| line.from(line.text.len() - rest.len()).trim());
    let rest = line.strip_any(&VERBS)?;
    let rest = rest.strip_any(&["the", "a", "an"]).unwrap_or(rest);
    let (name, words) = match rest.strip_any(&["skill"]) {
        // `Use the skill pdf-forms`.
        Some(after) => split_name(after)?,
        None => {
            let (name, after) = split_name(rest)?;
            let after = after.trim();
            match after.strip("skill") {
                Some(words) => (name, words),
                None if mark.is_some() => (name, after),
                None => return None,
            }
        }
    };
    let words = words.trim();
    let words = words.strip_any(&FOR).unwrap_or(words).trim();
    let is_required = mark.is_some();
    Some(NamedSkill { name, words, is_sure: is_required || name.text.contains('-'), is_required })
}

/// The skills that a text surely calls, each once, by their names as they are written.
pub fn called_skills(text: &str) -> BTreeSet<String> {
    text.lines().filter_map(|line| name_in(line, |named| named.is_sure)).collect()
}

/// Without the marks of a heading, and without what counts it: `## Step 3: …`.
pub(crate) fn without_number(line: Phrase<'_>) -> Phrase<'_> {
    let after = |line: Phrase<'_>, marks: &[char]| line.text.len() - line.text.trim_start_matches(marks).len();
    let bare = line.from(after(line, &['#', ' ']));
    let Some(counted) = bare.strip_any(&["step", "phase", "stage"]) else { return bare };
    let n_digits = counted.text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = counted.from(n_digits);
    if n_digits == 0 { bare } else { rest.from(after(rest, &[':', '.', ')', '-', '–', '—', ' '])) }
}

/// A name at the beginning, in whatever marks and with whatever stands before its colon, and what follows.
fn split_name(text: Phrase<'_>) -> Option<(Phrase<'_>, Phrase<'_>)> {
    let marks = |c: char| matches!(c, '`' | '"' | '\'' | '*' | '“' | '”');
    let start = text.text.len() - text.text.trim_start_matches(marks).len();
    let inner = text.from(start);
    let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':');
    let length = inner.text.find(|c| !is_inner(c)).unwrap_or(inner.text.len());
    let whole = inner.until(length);
    let name = whole.text.trim_end_matches([':', '-']);
    let begins = name.rfind(':').map_or(0, |colon| colon + 1);
    let (after, name) = (inner.from(length), whole.until(name.len()).from(begins));
    let after = after.from(after.text.len() - after.text.trim_start_matches(marks).len());
    (!name.is_empty()).then_some((name, after))
}
