//! Text to check.

use strum::VariantNames as _;

use crate::diagnostic::Diagnostic;
use crate::diagnostic::spelling::nearest;
use crate::diagnostic::wording::{in_ticks, meant_or};
use crate::evaluation::checks::atoms::{Found, Scanner, begins_expression, shared};
use crate::evaluation::checks::{Atom, Check, CheckKind, Measure, Subject};
use crate::expr::{Expr, expect_condition, parse_condition, scan_name, scan_reference};
use crate::span::{FileId, Span};

/// How a check goes on after an atom.
const CONTINUATIONS: [&str; 5] = ["only after", "only knowing", "only if", "is followed by", "N times"];

/// Reads one check.
pub(super) fn read(text: &str, file: FileId, offset: usize) -> Found<Check> {
    let mut scanner = Scanner::new(text.trim_end(), file, offset);
    let kind = kind(&mut scanner)?;
    if !scanner.is_at_end() {
        let rest = scanner.rest();
        return Err(scanner.error(format!("`{rest}` is not expected here"), "end the check before it"));
    }
    let start = offset + (text.len() - text.trim_start().len());
    let span = Span::new(file, start, start + text.trim().len());
    Ok(Check { text: shared(text), span, kind })
}

fn kind(scanner: &mut Scanner<'_>) -> Found<CheckKind> {
    let rest = scanner.rest();
    if rest.is_empty() {
        return Err(scanner.error("this check says nothing", "write one, as in `never Refund`"));
    }
    if let Some(question) = rest.strip_prefix("judge:") {
        if question.trim().is_empty() {
            return Err(scanner.error(
                "this asks the judge nothing",
                "write what should be true, as in `judge: The user was told why.`",
            ));
        }
        scanner.take(rest.len());
        return Ok(CheckKind::Judge(shared(question)));
    }
    if scanner.eat("never") {
        return scanner.atom().map(CheckKind::Never);
    }
    if scanner.eat("at most") {
        let most = scanner.number()?;
        let atom = scanner.atom()?;
        let per = if scanner.eat("per") { Some(scanner.variable()?) } else { None };
        return Ok(CheckKind::AtMost { most, atom, per });
    }
    if scanner.eat("after") {
        let after = scanner.atom()?;
        let until = if scanner.eat("until") { Some(scanner.atom()?) } else { None };
        if !scanner.eat("never") {
            return Err(
                scanner.error("`never` is missing here", "write it as in `after Cancel until Reopen never Refund`")
            );
        }
        return Ok(CheckKind::After { after, until, never: scanner.atom()? });
    }
    if let Some(measure) = measure(scanner) {
        return bounded(scanner, measure);
    }
    if let Some((subject, length)) = subject(rest) {
        scanner.take(length);
        scanner.eat("matches schema");
        let path = scanner.rest();
        if path.is_empty() {
            return Err(scanner.error("no schema is named", "write the path of a JSON Schema, relative to this file"));
        }
        return Ok(CheckKind::Matches { subject, schema: scanner.take(path.len()) });
    }
    if begins_expression(rest) {
        return condition(scanner).map(CheckKind::AtEnd);
    }
    let atom = scanner.atom()?;
    after_atom(scanner, atom)
}

/// How a check goes on that begins with an atom.
fn after_atom(scanner: &mut Scanner<'_>, atom: Atom) -> Found<CheckKind> {
    if scanner.is_at_end() {
        return Ok(CheckKind::Happens(atom));
    }
    if scanner.eat("only after") {
        return Ok(CheckKind::OnlyAfter(atom, scanner.atom()?));
    }
    if scanner.eat("only knowing") {
        return knowing(scanner, atom);
    }
    if scanner.eat("only if") {
        return Ok(CheckKind::OnlyIf(atom, condition(scanner)?));
    }
    if scanner.eat("is followed by") {
        let next = scanner.atom()?;
        let mut within = None;
        if scanner.eat("within") {
            within = Some(scanner.number()?);
            if !scanner.eat("turns") && !scanner.eat("turn") {
                return Err(scanner.error("`turns` is missing here", "write it as in `within 2 turns`"));
            }
        }
        return Ok(CheckKind::FollowedBy { atom, next, within });
    }
    let rest = scanner.rest();
    if rest.starts_with(|c: char| c.is_ascii_digit()) {
        let n = scanner.number()?;
        if scanner.eat("times") || scanner.eat("time") {
            return Ok(CheckKind::Times(atom, n));
        }
    }
    Err(scanner.error(format!("no check continues with `{rest}`"), meant(&atom, rest)))
}

/// What may have been meant with an atom and what follows it.
fn meant(atom: &Atom, rest: &str) -> String {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let after = (1..=words.len().min(3)).find_map(|n| nearest(&words[..n].join(" "), CONTINUATIONS.into_iter()));
    let name = if let Atom::Call(call) = atom { &*call.name.text } else { "" };
    let before = || nearest(name, ["says", "user says", "reaches", "fires", "never", "after"].into_iter());
    let otherwise = match Measure::VARIANTS.contains(&name) {
        true => format!("write it as in `{name} at most 20`"),
        false => format!("after what can happen, write {}, or nothing", in_ticks(CONTINUATIONS)),
    };
    meant_or(after.or_else(before), otherwise)
}

fn knowing(scanner: &mut Scanner<'_>, atom: Atom) -> Found<CheckKind> {
    let next = "write two calls, as in `Refund($id) only knowing Verify($id)`; for anything else, use `only after`";
    let place = scanner.place();
    let known = scanner.atom()?;
    match (atom, known) {
        (Atom::Call(call), Atom::Call(known)) => Ok(CheckKind::OnlyKnowing(call, known)),
        (_, known) => {
            let message = match known {
                Atom::Call(_) => "the left side must be a call: for anything else it is unknown which turn wrote it",
                Atom::Says(_) | Atom::UserSays(_) | Atom::Reaches { .. } | Atom::Fires(_) => {
                    "the right side must be a call: nothing else has a result"
                }
            };
            let span = Span::new(scanner.file(), place, scanner.place());
            Err(Box::new(Diagnostic::error("no-call", span, message).with_note(next)))
        }
    }
}

/// `turns`, … before `at most`.
fn measure(scanner: &mut Scanner<'_>) -> Option<Measure> {
    let rest = scanner.rest();
    let word = &rest[..scan_name(rest)];
    let is_bound = rest[word.len()..].split_whitespace().take(2).eq(["at", "most"]);
    if !is_bound {
        return None;
    }
    let measure = word.parse().ok()?;
    scanner.eat(word);
    Some(measure)
}

fn bounded(scanner: &mut Scanner<'_>, measure: Measure) -> Found<CheckKind> {
    scanner.eat("at most");
    let number = scanner.rest();
    let most: Option<f64> = number.parse().ok().filter(|most: &f64| most.is_finite() && *most >= 0.0);
    match most {
        Some(most) => {
            scanner.take(number.len());
            Ok(CheckKind::Bounded { measure, most })
        }
        None => {
            let next = format!("write a number, 0 or more, as in `{measure} at most 20`");
            Err(scanner.error(format!("`{number}` is not a number of {measure}"), next))
        }
    }
}

/// `$x` or `result` before `matches schema`, and its length.
fn subject(rest: &str) -> Option<(Subject, usize)> {
    let (subject, length) = match scan_reference(rest) {
        Some((reference, length)) => (Subject::Variable(reference), length),
        None => (Subject::Result, "result".len()),
    };
    let is_subject = matches!(subject, Subject::Variable(_)) || rest.starts_with("result");
    let after = rest.get(length..).filter(|_| is_subject)?;
    let is_matched =
        after.starts_with(char::is_whitespace) && after.split_whitespace().take(2).eq(["matches", "schema"]);
    is_matched.then_some((subject, length))
}

/// A condition, up to the end.
fn condition(scanner: &mut Scanner<'_>) -> Found<Expr> {
    let text = scanner.rest();
    if text.is_empty() {
        return Err(scanner.error("a condition is missing here", "write one, as in `$total is at most 50`"));
    }
    let read = parse_condition(text, scanner.file(), scanner.place());
    let condition = read.and_then(|read| expect_condition(&read).map(|()| read));
    let condition = condition.map_err(|error| {
        let next = "write a condition as in a playbook: `$total is at most 50 and $state is \"open\"`";
        Box::new(Diagnostic::error("bad-check", error.span, error.message).with_note(next))
    })?;
    scanner.take(text.len());
    Ok(condition)
}
