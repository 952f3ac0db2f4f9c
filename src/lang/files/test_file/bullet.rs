//! Replies by hand: one bullet, `LINE: WHAT`, and back. What bullets are as replies is the matter of whoever plays tests.

use super::bullet_form::{Bullet, What};
use crate::diagnostic::spelling::nearest;
use crate::expr::scan_name;
use crate::files::case_file::call::call;
use crate::files::case_file::item::{Wrong, json, json_or_text, json_prefix, wrong};
use crate::files::case_file::mention::LineName;
use crate::value::{Map, Value};

/// The ways to write what a line gets.
const FORMS: &str = "write `name = VALUE`, `yes`, `no`, `says \"…\"`, `calls Tool(name: JSON)`, `done`, `waits`, \
                     `skip \"why\"` or `returns JSON`";

/// Their first words.
const WORDS: [&str; 8] = ["yes", "no", "says", "calls", "done", "waits", "skip", "returns"];

/// `LINE: WHAT`.
pub(super) fn bullet(item: &str) -> Result<Bullet, Wrong> {
    let form = || {
        wrong(
            "bad-line",
            format!("`{item}` does not name a line"),
            "write `LINE: WHAT`, as in `02: yes` or `\"Ask the user\": yes`",
        )
    };
    let (line, rest) = match json_prefix(item).filter(|_| item.starts_with('"')) {
        Some(end) => (LineName::Text(text(&item[..end])?), &item[end..]),
        None => {
            let (name, _) = item.split_once(':').ok_or_else(form)?;
            (line_name(name.trim()).ok_or_else(form)?, &item[name.len()..])
        }
    };
    let what = rest.trim_start().strip_prefix(':').ok_or_else(form)?;
    Ok(Bullet { line, what: read_what(what.trim())? })
}

/// As it is written.
pub fn bullet_text(Bullet { line, what }: &Bullet) -> String {
    let line = match line {
        LineName::Id(name) | LineName::Goal(name) => name.clone(),
        LineName::Text(text) => Value::str(text.as_str()).to_json(),
    };
    format!("{line}: {}", what_text(what))
}

fn what_text(what: &What) -> String {
    let quoted = |text: &str| Value::str(text).to_json();
    let list = |members: &Map, sign: &str| {
        members.iter().map(|(name, value)| format!("{name}{sign}{value}")).collect::<Vec<_>>().join(", ")
    };
    match what {
        What::Sets(values) => list(values, " = "),
        What::Yes => "yes".to_owned(),
        What::No => "no".to_owned(),
        What::Says(text) => format!("says {}", quoted(text)),
        What::Calls { name, arguments } => format!("calls {name}({})", list(arguments, ": ")),
        What::Done => "done".to_owned(),
        What::Waits => "waits".to_owned(),
        What::Skips(reason) => format!("skip {}", quoted(reason)),
        What::Returns(value) => format!("returns {value}"),
    }
}

/// `02`, `04.01`, `04>02`, or the name of a playbook.
fn line_name(name: &str) -> Option<LineName> {
    let is_id = name.starts_with(|c: char| c.is_ascii_digit())
        && name.split(['.', '>']).all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    let is_name = !name.is_empty() && scan_name(name) == name.len();
    match is_id {
        true => Some(LineName::Id(name.to_owned())),
        false => is_name.then(|| LineName::Goal(name.to_owned())),
    }
}

fn read_what(what: &str) -> Result<What, Wrong> {
    if assigned(what).is_some() {
        return values(what).map(What::Sets);
    }
    let (word, rest) = what.split_once(char::is_whitespace).map_or((what, ""), |(word, rest)| (word, rest.trim()));
    match (word, rest) {
        ("yes", "") => Ok(What::Yes),
        ("no", "") => Ok(What::No),
        ("done", "") => Ok(What::Done),
        ("waits", "") => Ok(What::Waits),
        ("says", _) => Ok(What::Says(text(rest)?.into())),
        ("skip", _) => Ok(What::Skips(text(rest)?.into())),
        ("returns", _) => json(rest).map(What::Returns),
        ("calls", _) => match call(rest)? {
            called if called.result.is_none() => {
                Ok(What::Calls { name: called.name.into(), arguments: called.arguments })
            }
            _ => Err(wrong(
                "bad-reply",
                format!("`{rest}` is a result"),
                "the result comes from the tool; write only the call",
            )),
        },
        _ => {
            let near = nearest(word, WORDS.into_iter()).filter(|near| *near != word);
            let next = near.map_or_else(|| FORMS.to_owned(), |near| format!("did you mean `{near}`? {FORMS}"));
            Err(wrong("bad-reply", format!("`{what}` is not an answer for a line"), next))
        }
    }
}

/// `name = VALUE, other = VALUE`: JSON, or else text up to the next name.
fn values(text: &str) -> Result<Map, Wrong> {
    let mut values = Map::new();
    let mut rest = text;
    while let Some((name, after)) = assigned(rest) {
        let after = after.trim_start();
        // JSON may hold what looks like the next name.
        let json = json_prefix(after).filter(|end| is_end(&after[*end..]));
        let end = json.or_else(|| after.char_indices().map(|(index, _)| index).find(|index| is_end(&after[*index..])));
        let (value, following) = after.split_at(end.unwrap_or(after.len()));
        if value.trim().is_empty() {
            return Err(wrong("empty-value", format!("`{name}` gets no value"), "write JSON or text after the `=`"));
        }
        if values.insert(name.into(), json_or_text(value.trim())).is_some() {
            return Err(wrong("duplicate-name", format!("`{name}` gets two values"), "remove one of them"));
        }
        rest = following.trim_start().strip_prefix(',').unwrap_or(following).trim_start();
    }
    Ok(values)
}

/// Whether a value is over here: the end, or the next name.
fn is_end(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.is_empty() || rest.strip_prefix(',').is_some_and(|next| assigned(next.trim_start()).is_some())
}

/// A name that gets a value, and what stands after the `=`.
fn assigned(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('$').unwrap_or(text);
    let (name, rest) = text.split_at(scan_name(text));
    let value = rest.trim_start().strip_prefix('=')?;
    (!name.is_empty() && !value.starts_with('=')).then_some((name, value))
}

/// A text in double quotes.
fn text(quoted: &str) -> Result<String, Wrong> {
    let value = json(quoted)?;
    let next = "write it in double quotes";
    value.as_str().map(str::to_owned).ok_or_else(|| wrong("bad-reply", format!("`{quoted}` is not text"), next))
}
