//! How a line is matched with the rows of the grammar.

mod holes;
pub(crate) mod means;
pub(crate) mod pattern;
pub(crate) mod people;
pub(crate) mod rules;
pub(crate) mod time;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::english::grammar::holes::Hole;
use crate::english::grammar::means::Means;
use crate::english::grammar::pattern::{Matched, Pattern};
use crate::english::grammar::rules::{RULES, Rule};
use crate::english::phrase::Phrase;
use crate::english::reading::Near;
use crate::english::words::bare_words;

/// A row of the grammar as people see it, for docs/language.md.
pub struct Wording {
    /// What it means.
    pub means: &'static str,
    /// What it accepts: `(a|b)` one of these, `[a]` with or without, `{value}` something that is read.
    pub pattern: &'static str,
    /// Lines that it reads.
    pub examples: &'static [&'static str],
}

/// The rows in the order in which they are tried.
pub fn wordings() -> impl Iterator<Item = Wording> {
    RULES.iter().map(|rule| Wording { means: rule.means.describe(), pattern: rule.pattern, examples: rule.examples })
}

struct Grammar {
    patterns: Vec<Pattern>,
    /// The rows that begin with a word, by the word, and those that may begin with anything.
    by_word: HashMap<&'static str, Vec<usize>>,
    open: Vec<usize>,
}

static GRAMMAR: LazyLock<Grammar> = LazyLock::new(|| {
    let mut grammar = Grammar { patterns: Vec::new(), by_word: HashMap::new(), open: Vec::new() };
    for (index, rule) in RULES.iter().enumerate() {
        let pattern = Pattern::new(rule.pattern, &[]);
        let words = pattern.first_words();
        if words.is_empty() {
            grammar.open.push(index);
        }
        for word in words {
            let rows = grammar.by_word.entry(word).or_default();
            if rows.last() != Some(&index) {
                rows.push(index);
            }
        }
        grammar.patterns.push(pattern);
    }
    grammar
});

/// What a line was matched with.
pub(crate) enum Found<'a> {
    /// A row, and what stands in its holes.
    Row(&'static Rule, Vec<Phrase<'a>>),
    /// A row that it begins like: what was expected, and what stands there.
    Near(&'static Rule, Hole, Phrase<'a>),
}

/// The rows of a sense that is `wanted` whose words stand in `line`, in order.
fn candidates<'a>(line: Phrase<'a>, wanted: impl Fn(Means) -> bool + 'a) -> impl Iterator<Item = usize> + 'a {
    let first = line.first_word().map(str::to_ascii_lowercase);
    let named = first.as_deref().and_then(|word| GRAMMAR.by_word.get(word)).map_or(&[][..], Vec::as_slice);
    let begins_otherwise = line.text.starts_with(['$', '"', '\'', '“', '„', '«', '‘'])
        || line.text.starts_with(|c: char| c.is_ascii_digit())
        || line.leading_number().is_some();
    // A row that begins with any words ends in a variable.
    let is_open = begins_otherwise || line.text.contains('$');
    let (mut named, mut open) =
        (named.iter().peekable(), (if is_open { &GRAMMAR.open[..] } else { &[] }).iter().peekable());
    let rows = std::iter::from_fn(move || match (named.peek(), open.peek()) {
        (Some(by_word), Some(any)) if by_word > any => open.next(),
        (None, _) => open.next(),
        (Some(_), _) => named.next(),
    });
    let mut rows = rows.copied().filter(move |&index| wanted(RULES[index].means)).peekable();
    let words: Vec<&str> =
        if rows.peek().is_some() { line.words().map(|(_, word)| word).collect() } else { Vec::new() };
    rows.filter(move |index| GRAMMAR.patterns[*index].may_match(line.text, &words))
}

/// The rows of a sense that is `wanted` which read `line` or begin like it, in order.
pub(crate) fn rows<'a>(line: Phrase<'a>, wanted: impl Fn(Means) -> bool + 'a) -> impl Iterator<Item = Found<'a>> + 'a {
    candidates(line, wanted).filter_map(move |index| {
        let rule = &RULES[index];
        match GRAMMAR.patterns[index].matches(line) {
            Matched::Whole(holes) => Some(Found::Row(rule, holes)),
            Matched::Nearly(hole, place) => Some(Found::Near(rule, hole, place)),
            Matched::Not => None,
        }
    })
}

/// The words of all patterns.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    RULES.iter().flat_map(|rule| bare_words(rule.pattern)).filter(|word| word.starts_with(char::is_alphabetic))
}

/// Whether a loop can begin as `line` does.
pub(crate) fn begins_loop(line: Phrase<'_>) -> bool {
    let Some(first) = line.first_word() else { return false };
    let is_loop = |&index: &usize| matches!(RULES[index].means, Means::Loop(_));
    line.leading_number().is_some()
        || first.starts_with(|c: char| c.is_ascii_digit())
        || GRAMMAR.by_word.get(&*first.to_ascii_lowercase()).is_some_and(|rows| rows.iter().any(is_loop))
}

impl Near {
    /// A text that begins like a row of the grammar, up to a hole.
    pub(crate) fn of(rule: &Rule, hole: Hole, place: Phrase<'_>) -> Near {
        let wording = rule.examples.first().copied().unwrap_or(rule.pattern).to_owned();
        let is_any = matches!(hole, Hole::Words | Hole::Rest | Hole::Tail);
        let message = match is_any {
            true => "this line was nearly understood, up to here".to_owned(),
            false => format!("this line was nearly understood: {} is expected here", hole.describe()),
        };
        Near { place: place.span(), message, wording, repair: None }
    }
}
