//! What stands in the holes of patterns, and how much of a text each takes.

use crate::english::grammar::time::{read_beat, read_clock, read_days, read_time, read_unit};
use crate::english::phrase::Phrase;
use crate::english::words::{closing_bracket, scan_path};
use crate::expr::lexer::{scan_curly_quotes, scan_string};
use crate::expr::{Expr, ExprKind, Style, scan_name, scan_reference};

/// How many words a hole for words is tried with; a bound for hostile texts only.
const MAX_WORDS: usize = 60;

/// What stands in a hole. In patterns it is called so in small letters: `{named_event}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Hole {
    Target,
    Value,
    Condition,
    Count,
    Call,
    Quoted,
    Words,
    Rest,
    /// Nothing more, or a mark and after it anything.
    Tail,
    /// `30 seconds`, `hour`, `hourly`, digits.
    Time,
    Unit,
    Beat,
    /// `9:00`, `Mondays`.
    Clock,
    Days,
    Number,
    /// `10%`, `$rate percent`: what stands before the sign.
    Percent,
    /// The name of a playbook or tool, or words that may be one.
    Callable,
    /// The name of an event from outside, and one that looks like a name: `photo_uploaded`.
    Event,
    NamedEvent,
}

impl Hole {
    /// What is expected there, for people.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Hole::Target => "a variable such as `$name`",
            Hole::Value => "a value: a number, a text in quotes, `$name`, or a list of them",
            Hole::Condition => "a condition such as `$n is 3`",
            Hole::Count | Hole::Number => "a number",
            Hole::Percent => "a percentage such as `10%`",
            Hole::Call => "a call such as `Name($x)`",
            Hole::Quoted => "a text in quotes",
            Hole::Words | Hole::Rest | Hole::Tail => "something else",
            Hole::Time => "a time such as `30 seconds`",
            Hole::Clock => "a time of day such as `9:00`",
            Hole::Days => "a day of the week",
            Hole::Unit | Hole::Beat => "a unit of time",
            Hole::Callable => "the name of a playbook or tool",
            Hole::Event | Hole::NamedEvent => "the name of an event",
        }
    }

    /// What it takes from the beginning of `text`: the shortest first.
    pub(crate) fn take<'a>(self, text: Phrase<'a>, attempt: usize) -> Option<(Phrase<'a>, Phrase<'a>)> {
        let split = |n_bytes: usize| Some((text.until(n_bytes), text.from(n_bytes).trim()));
        let until = |after: Phrase<'a>| Some((text.until(after.start() - text.start()).trim(), after));
        match self {
            Hole::Words => {
                let mut ends = text.text.char_indices().filter(|(_, c)| c.is_whitespace() || matches!(c, ',' | ':'));
                let end = ends.nth(attempt).map(|(at, _)| at).filter(|&at| at > 0)?;
                (attempt < MAX_WORDS).then(|| split(end)).flatten()
            }
            Hole::Callable => callables(text).nth(attempt),
            _ if attempt > 0 => None,
            Hole::Rest => (!text.trim_end_marks().is_empty()).then(|| (text, text.from(text.text.len()))),
            Hole::Target => {
                let (_, rest) = text.target()?;
                split(text.text.len() - rest.text.len()).map(|(taken, rest)| (taken.trim(), rest))
            }
            Hole::Value => split(text.leading_operand()?.1),
            Hole::Condition => split(text.leading(Style::Sentence)?.1),
            Hole::Count => match text.leading_number() {
                Some((word, _)) => split(word.len()),
                // `3x`
                None => match text.text.find(|c: char| !c.is_ascii_digit()) {
                    Some(n_digits) if n_digits > 0 && text.from(n_digits).strip("x").is_some() => split(n_digits),
                    _ => split(text.leading_operand()?.1),
                },
            },
            Hole::Tail => (text.is_empty() || text.text.starts_with([',', '.', ':', ';', '(', '-']))
                .then(|| (text, text.from(text.text.len()))),
            Hole::Time => until(read_time(text)?.1),
            Hole::Unit => until(read_unit(text, true)?.1),
            Hole::Beat => until(read_beat(text)?.1),
            Hole::Clock => until(read_clock(text)?.1),
            Hole::Days => until(read_days(text)?.1),
            Hole::Number => {
                let n_digits = text.text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b':').count();
                (n_digits > 0).then(|| split(n_digits)).flatten()
            }
            Hole::Percent => {
                let n_digits = text.text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
                let length = if n_digits > 0 { n_digits } else { scan_reference(text.text)?.1 };
                let after = text.from(length).trim();
                let after = after.strip_mark('%').or_else(|| after.strip_any(&["percent", "per cent"]))?;
                Some((text.until(length), after))
            }
            Hole::Event => read_event(text),
            Hole::NamedEvent => {
                read_event(text).filter(|(event, _)| event.text.contains('_') || text.text.starts_with('`'))
            }
            Hole::Call => {
                let length = scan_path(text.text);
                let inside = text.from(length).strip_bracket().filter(|_| length > 0)?;
                split(length + 1 + closing_bracket(inside.text)? + 1)
            }
            Hole::Quoted => {
                let plain = || text.text.starts_with(['"', '\'']).then(|| scan_string(text.text)).flatten();
                let length =
                    plain().map(|found| found.1).or_else(|| scan_curly_quotes(text.text).map(|found| found.1))?;
                split(length)
            }
        }
    }
}

/// The name of an event, perhaps in backticks or quotation marks, and what follows.
fn read_event(words: Phrase<'_>) -> Option<(Phrase<'_>, Phrase<'_>)> {
    let mark = words.text.chars().next().filter(|first| matches!(first, '`' | '"'));
    let name = if mark.is_some() { words.from(1) } else { words };
    let (name, behind) = (name.until(scan_name(name.text)), name.from(scan_name(name.text)));
    let behind = match mark {
        Some(mark) => behind.text.starts_with(mark).then(|| behind.from(1))?,
        None => behind,
    };
    (!name.is_empty() && !behind.text.starts_with(['.', '(', '-', '\''])).then(|| (name, behind.trim()))
}

/// What may be the name of something that can be called, with what follows: an identifier, or so many words.
fn callables<'a>(words: Phrase<'a>) -> impl Iterator<Item = (Phrase<'a>, Phrase<'a>)> {
    const MAX_WORDS: usize = 8;
    let spaces = words.text.match_indices(char::is_whitespace).map(|(at, _)| at).chain([words.text.len()]);
    let ends = spaces.filter(move |at| !words.text[..*at].ends_with(char::is_whitespace) && *at > 0);
    let plain = ends.take(MAX_WORDS).map(move |at| (words.until(at), words.from(at).trim()));
    read_callable(words).into_iter().chain(plain)
}

/// `GetOrder`, `` `GetOrder` ``, `GetOrder()`, `GetOrder($id)` at the beginning, and what follows.
fn read_callable<'a>(words: Phrase<'a>) -> Option<(Phrase<'a>, Phrase<'a>)> {
    if let Some(title) = words.text.strip_prefix('"').and_then(|rest| rest.split('"').next())
        && title.len() + 1 < words.text.len()
    {
        return Some((words.from(1).until(title.len()), words.from(title.len() + 2).trim()));
    }
    let ticked = words.text.starts_with('`');
    let name = if ticked { words.from(1) } else { words };
    let length = scan_path(name.text);
    let (name, mut behind) = (name.until(length), name.from(length));
    if length == 0 {
        return None;
    }
    if let Some(inside) = behind.strip_bracket() {
        let (arguments, end) = inside.arguments()?;
        // A call with one certain value is not every call.
        let is_any = |value: &Expr| matches!(value.kind, ExprKind::Reference(_));
        if !arguments.iter().all(|(_, value)| is_any(value)) {
            return None;
        }
        behind = inside.from(end);
    }
    if ticked {
        behind = behind.text.starts_with('`').then(|| behind.from(1))?;
    }
    Some((name, behind.trim()))
}
