//! Lines that were nearly understood, besides those that begin like a row of the grammar: what was not closed, and
//! misspelt words that lines begin with.

use crate::english::reading::{Near, Surroundings};
use crate::english::words::{Phrase, closing_bracket, scan_path};
use crate::expr::lexer::scan_string;
use crate::program::StepKind;

/// Words that lines begin with and that are like no others.
const HEADS: [(&str, &str); 8] = [
    ("return", "Return $x"),
    ("otherwise", "Otherwise"),
    ("repeat", "Repeat 3 times"),
    ("unless", "Unless $x is provided"),
    ("append", "Append $x to $list"),
    ("increase", "Increase $n by 1"),
    ("decrease", "Decrease $n by 1"),
    ("remember", "Remember $x as $y"),
];

/// What a line that is left to the model was probably meant to be.
pub(super) fn find_near(line: Phrase<'_>, kind: &StepKind, around: Surroundings<'_>) -> Option<Near> {
    let near = |place: Phrase<'_>, message: String, example| Some(Near { place: place.span(), message, example });
    if let Some(call) = unclosed_call(line, around) {
        let message = "the bracket of this call is not closed, so it is no call".to_owned();
        return near(call, message, "GetOrder($id)");
    }
    if let Some(quote) = unclosed_text(line) {
        return near(quote, "this text has no closing quote".to_owned(), "Say \"Hello.\"");
    }
    if !matches!(kind, StepKind::Free) {
        return None;
    }
    let (_, first) = line.words().next().filter(|(at, _)| *at == 0)?;
    let is_typo = |known: &str| is_one_change(&first.to_lowercase(), known);
    let (known, example) = HEADS.into_iter().find(|(known, _)| is_typo(known))?;
    near(line.until(first.len()), format!("`{first}` is no word of the language; `{known}` is one"), example)
}

/// Whether two words differ by one letter, or by two that changed places. A word that only goes on is another one.
fn is_one_change(word: &str, known: &str) -> bool {
    let same_start = word.chars().zip(known.chars()).take_while(|(a, b)| a == b).count();
    let (rest, known_rest) = (tail(word, same_start), tail(known, same_start));
    if known_rest.is_empty() || rest == known_rest {
        return false;
    }
    let swapped = || {
        let (mut a, mut b) = (rest.chars(), known_rest.chars());
        (a.next(), a.next()) == {
            let (x, y) = (b.next(), b.next());
            (y, x)
        } && a.as_str() == b.as_str()
    };
    tail(rest, 1) == tail(known_rest, 1) || tail(rest, 1) == known_rest || rest == tail(known_rest, 1) || swapped()
}

/// Without so many characters at the beginning.
fn tail(text: &str, n: usize) -> &str {
    let mut characters = text.chars();
    characters.by_ref().take(n).for_each(drop);
    characters.as_str()
}

/// A call of something that there is whose bracket is not closed.
fn unclosed_call<'a>(line: Phrase<'a>, around: Surroundings<'_>) -> Option<Phrase<'a>> {
    let open = line.text.find('(')?;
    let head = &line.text[..open];
    let start = head
        .rfind(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.')))
        .map_or(0, |at| at + head[at..].chars().next().map_or(1, char::len_utf8));
    let name = &head[start..];
    let is_known = scan_path(name) == name.len() && around.names.is_callable(around.agent, name);
    (is_known && closing_bracket(&line.text[open + 1..]).is_none()).then(|| line.from(start))
}

/// A text that begins after a verb, a `=` or a `:` and has no end.
fn unclosed_text(line: Phrase<'_>) -> Option<Phrase<'_>> {
    let at = line.text.find(['"', '“'])?;
    let before = line.text[..at].trim_end();
    let n_words = before.split_whitespace().count();
    let begins = before.ends_with(['=', ':', '(', ',']) || n_words <= 1;
    let quote = line.from(at);
    let is_open = if quote.text.starts_with('“') {
        !quote.text.contains('”')
    } else {
        scan_string(quote.text).is_none() && quote.text.matches('"').count() % 2 == 1
    };
    (begins && is_open).then_some(quote)
}
