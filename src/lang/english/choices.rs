//! What a question can be answered with, where its words say that: one of some values, or a type.

use std::sync::Arc;

use crate::english::phrase::Phrase;
use crate::expr::lexer::{scan_curly_quotes, scan_string};
use crate::program::{Type, TypeKind};
use crate::value::Value;

/// More than any question lists; a bound for hostile lines only.
const MAX_CHOICES: usize = 64;

/// The variable of a question and its possible values: `$kind: one of water, fire or theft`,
/// `$size: "small", "medium" or "large"`, `$subject: maths | art`. Words without quotes are values only where `one of` or
/// `|` says that they are: `$phone: home or mobile` may ask for a number.
pub(crate) fn choices_in(line: Phrase<'_>) -> Option<(Arc<str>, Vec<Value>)> {
    let mentions = line.mentions();
    let [mention] = &mentions[..] else { return None };
    // `$x: str | None` is a type.
    if mention.ty.is_some() {
        return None;
    }
    let after = line.from(mention.span.end as usize - line.start()).trim().strip_mark(':')?.trim_end_marks();
    let named = after.strip_any(&["one of these", "one of", "either"]);
    let mut rest = named.map_or(after, |rest| rest.strip_mark(':').unwrap_or(rest));
    let takes_words = named.is_some() || rest.text.contains('|');
    let mut choices = Vec::new();
    loop {
        let (choice, after) = read_choice(rest, takes_words)?;
        choices.push(choice);
        let after = after.trim();
        if after.is_empty() {
            return (choices.len() > 1).then(|| (mention.name.clone(), choices));
        }
        let joined = after.strip_mark(',').or_else(|| after.strip_mark('|'));
        rest = joined.and_then(|rest| rest.strip("or")).or(joined).or_else(|| after.strip("or"))?;
        if choices.len() >= MAX_CHOICES {
            return None;
        }
    }
}

/// A name of a state or kind: one to four words.
fn plain(words: Phrase<'_>) -> Option<String> {
    const MAX_WORDS: usize = 4;
    let is_plain = |c: char| c.is_alphanumeric() || c.is_whitespace() || matches!(c, '-' | '_' | '\'' | '’');
    let parts: Vec<&str> = words.text.split_whitespace().collect();
    let is_name = words.text.chars().all(is_plain) && (1..=MAX_WORDS).contains(&parts.len());
    is_name.then(|| parts.join(" "))
}

fn read_choice<'a>(rest: Phrase<'a>, takes_words: bool) -> Option<(Value, Phrase<'a>)> {
    if rest.text.starts_with(['"', '\'']) {
        let (text, length) = scan_string(rest.text)?;
        return Some((Value::from(text), rest.from(length)));
    }
    if let Some((text, length)) = scan_curly_quotes(rest.text) {
        return Some((Value::from(text), rest.from(length)));
    }
    let mark = rest.text.find([',', '|']).unwrap_or(rest.text.len());
    let end = rest.until(mark).find_word("or").filter(|at| *at > 0).unwrap_or(mark);
    let words = rest.until(end).trim();
    let value = match words.text.parse() {
        Ok(number) => Value::Int(number),
        Err(_) => Value::from(plain(words)?),
    };
    takes_words.then(|| (value, rest.from(end)))
}

/// The type that a question says in words: `(yes/no)`, `as a whole number`, `Ask whether …`.
pub(super) fn type_in_words(line: Phrase<'_>) -> Option<Type> {
    const WORDS: [(&str, TypeKind); 10] = [
        ("yes/no", TypeKind::Bool),
        ("yes or no", TypeKind::Bool),
        ("whole number", TypeKind::Int),
        ("(a number)", TypeKind::Float),
        ("(number)", TypeKind::Float),
        ("(a date)", TypeKind::Date),
        (", a date)", TypeKind::Date),
        ("(a time)", TypeKind::Time),
        ("(email)", TypeKind::Email),
        ("(an email)", TypeKind::Email),
    ];
    let text = line.text.to_lowercase();
    let said = WORDS.iter().find(|(words, _)| text.contains(words)).map(|(_, kind)| *kind);
    // `whether they want tea or coffee` is answered otherwise, and so may be `whether there is anything else` and
    // `whether $name is right, for $name`.
    let is_open = ["or", "any", "anything", "else"].iter().any(|word| line.find_word(word).is_some())
        || line.mentions().len() > 1;
    let is_yes_no = || line.strip_any(&["ask whether", "ask the user whether", "ask if", "ask the user if"]).is_some();
    let kind = said.or_else(|| (!is_open && is_yes_no()).then_some(TypeKind::Bool))?;
    Some(Type { kind, optional: false })
}
