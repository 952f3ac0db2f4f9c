//! Findings about triggers: the same one twice, one that need not cost a model call, one that calls a playbook
//! with parameters.

use std::collections::HashMap;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::english::triggers::{WHENS, is_condition_in_doubt};
use crate::english::words::Phrase;
use crate::expr::lexer::scan_string;
use crate::expr::{begins_name, scan_reference};
use crate::program::{Playbook, Program, Trigger, TriggerKind};
use crate::span::{FileId, Span};

/// Adds the findings of all agents.
pub(crate) fn check_triggers(program: &Program, diagnostics: &mut Vec<Diagnostic>) {
    for agent in &program.agents {
        let mut first: HashMap<String, Span> = HashMap::new();
        for playbook in agent.playbooks.iter().map(|&id| program.playbook(id)) {
            for trigger in &playbook.triggers {
                same_trigger(trigger, &mut first, diagnostics);
                could_be_condition(trigger, diagnostics);
            }
            parameters(playbook, diagnostics);
        }
    }
}

fn same_trigger(trigger: &Trigger, first: &mut HashMap<String, Span>, diagnostics: &mut Vec<Diagnostic>) {
    let words: Vec<&str> = trigger.text.split_whitespace().collect();
    let text = words.join(" ").trim_end_matches('.').to_lowercase();
    match first.get(&text) {
        // Several playbooks may well begin at the beginning.
        Some(place) if trigger.kind != TriggerKind::Beginning => {
            let message = "another trigger has the same text; both fire";
            let warning = Diagnostic::warning("same-trigger", trigger.span, message);
            diagnostics.push(warning.with_place(*place, "first here"));
        }
        Some(_) => {}
        None => {
            first.insert(text, trigger.span);
        }
    }
}

/// A trigger calls its playbook without arguments.
fn parameters(playbook: &Playbook, diagnostics: &mut Vec<Diagnostic>) {
    let fires = |trigger: &&Trigger| trigger.kind != TriggerKind::Beginning;
    for parameter in playbook.parameters.iter().filter(|parameter| parameter.required()) {
        // A trigger that names the parameter waits for that variable.
        let is_without = |trigger: &&Trigger| fires(trigger) && !trigger.names.contains(&parameter.name);
        let Some(trigger) = playbook.triggers.iter().find(is_without) else { continue };
        // The variables of a call and of a message are always there.
        let is_given = trigger.kind.call().is_some() && &*parameter.name == "call";
        if is_given {
            continue;
        }
        let message = format!(
            "a trigger gives no arguments: `${0}` gets the value that the variable `${0}` has then, and if it has \
             none, the playbook cannot be called",
            parameter.name
        );
        let place = parameter.span.unwrap_or(playbook.title_span);
        let warning = Diagnostic::warning("trigger-parameters", place, message);
        let warning = warning.with_place(trigger.span, "called by this trigger");
        diagnostics.push(warning.with_note(format!("give it a default: `${} = null`", parameter.name)));
    }
}

/// A semantic trigger that says nearly what a condition could say.
fn could_be_condition(trigger: &Trigger, diagnostics: &mut Vec<Diagnostic>) {
    if trigger.kind != TriggerKind::Semantic || trigger.names.is_empty() || trigger.names.len() > MAX_NAMES {
        return;
    }
    let note = match in_doubt(&trigger.text, &trigger.names) {
        Some(note) => note,
        None => match suggestion(&trigger.text, &trigger.names) {
            Some(wording) => format!("write `{wording}`: that is judged without a model"),
            None => return,
        },
    };
    let message = "this trigger is judged by the classifier, but it could be a condition";
    let warning = Diagnostic::warning("semantic-could-be-condition", trigger.span, message);
    diagnostics.push(warning.with_note(note));
}

/// With more variables no wording is suggested.
const MAX_NAMES: usize = 4;

fn in_doubt(text: &str, names: &[Arc<str>]) -> Option<String> {
    let words = Phrase::new(text, Span::new(FileId(0), 0, text.len())).trim().trim_end_marks();
    let rest = words.strip_any(&WHENS)?;
    is_condition_in_doubt(rest).then(|| match names {
        [name] => {
            format!("it can be read in two ways; one that cannot: `When ${name} is \"text\"`, `When ${name} > 3`")
        }
        names => {
            let each: Vec<String> = names.iter().map(|name| format!("`${name}`")).collect();
            format!("it can be read in two ways; write a comparison for each of {} by itself", each.join(", "))
        }
    })
}

/// The wording that would be a condition, if every variable stands in something that could be one.
fn suggestion(text: &str, names: &[Arc<str>]) -> Option<String> {
    let tokens = tokens(text);
    let is_variable = |at: &usize| matches!(tokens[*at], Piece::Variable(_));
    if (0..tokens.len()).filter(is_variable).count() != names.len() {
        return None;
    }
    let condition = |at| Some((at, condition_at(&tokens, at)?));
    let conditions: Vec<(usize, String)> =
        (0..tokens.len()).filter(is_variable).map(condition).collect::<Option<_>>()?;
    let joins = |word: &str| tokens.iter().any(|token| token.is(word));
    // Nothing else may be said in front of the first.
    let (first, _) = conditions.first()?;
    let in_front = &tokens[..*first];
    if in_front.len() > MAX_IN_FRONT || in_front.iter().any(Piece::is_joint) || (joins("or") && joins("and")) {
        return None;
    }
    // `When $x changes` is a condition only by itself.
    if conditions.len() > 1 && conditions.iter().any(|(_, condition)| condition.ends_with(" changes")) {
        return None;
    }
    let joint = if joins("or") { " or " } else { " and " };
    Some(format!("When {}", conditions.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(joint)))
}

/// `When the user has not provided $email`: so many words in front still say nothing else.
const MAX_IN_FRONT: usize = 6;

/// How far after a variable what is said of it may stand.
const MAX_BEHIND: usize = 6;

/// A piece of a trigger's text.
#[derive(Clone, Debug, PartialEq)]
enum Piece<'a> {
    /// `$x.a`, as written.
    Variable(&'a str),
    Number(&'a str),
    /// With its quotes.
    Quoted(&'a str),
    Word(&'a str),
    /// `>`, `<=`, ….
    Sign(&'a str),
    /// The end of a clause.
    Mark,
}

impl Piece<'_> {
    fn is(&self, word: &str) -> bool {
        matches!(self, Piece::Word(found) if found.eq_ignore_ascii_case(word))
    }

    fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    fn is_joint(&self) -> bool {
        self.is_any(&["and", "or", "but", "while", "unless", "because", "if", "that", "which"])
    }
}

fn tokens(text: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = if let Some((_, length)) = scan_reference(rest) {
            found.push(Piece::Variable(&rest[..length]));
            length
        } else if character.is_ascii_digit() {
            let n_digits = rest.bytes().take_while(|byte| byte.is_ascii_digit()).count();
            let fraction = rest[n_digits..].strip_prefix('.').map_or(0, |fraction| {
                let n = fraction.bytes().take_while(u8::is_ascii_digit).count();
                if n > 0 { n + 1 } else { 0 }
            });
            found.push(Piece::Number(&rest[..n_digits + fraction]));
            n_digits + fraction
        } else if begins_name(character) {
            // `isn't` is one word here.
            let length = rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '\'' | '’' | '-'));
            let length = length.unwrap_or(rest.len());
            found.push(Piece::Word(&rest[..length]));
            length
        } else if let Some((_, length)) = Some(rest).filter(|_| character == '"').and_then(scan_string) {
            found.push(Piece::Quoted(&rest[..length]));
            length
        } else if matches!(character, '<' | '>' | '=' | '!') {
            let length = rest.bytes().take_while(|byte| matches!(byte, b'<' | b'>' | b'=' | b'!')).count();
            found.push(if rest[..length] == *"!" { Piece::Mark } else { Piece::Sign(&rest[..length]) });
            length
        } else {
            if !character.is_whitespace() && !matches!(character, '`' | '(' | ')' | '*') {
                found.push(Piece::Mark);
            }
            character.len_utf8()
        };
        at += length;
    }
    found
}

const GREATER: [&str; 12] = [
    "more", "greater", "over", "above", "beyond", "exceeds", "exceeded", "exceed", "larger", "bigger", "higher", "past",
];
const LESS: [&str; 6] = ["less", "fewer", "below", "under", "smaller", "lower"];
const AT_LEAST: [&str; 5] = ["least", "reaches", "reached", "hits", "hit"];
const EQUAL: [&str; 4] = ["exactly", "equals", "equal", "becomes"];
const PRESENT: [&str; 11] = [
    "provided",
    "given",
    "entered",
    "known",
    "available",
    "specified",
    "supplied",
    "present",
    "defined",
    "filled",
    "set",
];
const GIVES: [&str; 12] = [
    "provides",
    "provided",
    "gives",
    "gave",
    "given",
    "enters",
    "entered",
    "supplies",
    "supplied",
    "specifies",
    "specified",
    "provide",
];
const CHANGED: [&str; 7] = ["changes", "changed", "change", "updated", "updates", "modified", "modifies"];
/// What is nearly so is for the classifier to judge.
const HEDGES: [&str; 10] =
    ["nearly", "almost", "about", "around", "roughly", "mostly", "probably", "likely", "approximately", "barely"];
const NOTS: [&str; 12] = [
    "not",
    "never",
    "isn't",
    "isn’t",
    "hasn't",
    "hasn’t",
    "wasn't",
    "wasn’t",
    "doesn't",
    "doesn’t",
    "aren't",
    "aren’t",
];

/// The condition that the text around the variable at `at` nearly is.
fn condition_at(tokens: &[Piece<'_>], at: usize) -> Option<String> {
    let Piece::Variable(variable) = tokens[at] else { return None };
    let behind = &tokens[at + 1..];
    if behind.is_empty() || ends_clause(behind) {
        return given_in_front(&tokens[..at], variable);
    }
    let is_value = |token: &&Piece<'_>| matches!(token, Piece::Number(_) | Piece::Quoted(_));
    if let [Piece::Sign(sign), value @ (Piece::Number(_) | Piece::Quoted(_)), rest @ ..] = behind {
        let value = value_text(value)?;
        let sign = match *sign {
            "=" | "==" => "is",
            "!=" | "<>" => "is not",
            "=<" => "<=",
            "=>" => ">=",
            sign @ ("<" | ">" | "<=" | ">=") => sign,
            _ => return None,
        };
        return ends_value(rest).then(|| format!("{variable} {sign} {value}"));
    }
    let window = &behind[..behind.len().min(MAX_BEHIND)];
    let n_words = window.iter().take_while(|token| matches!(token, Piece::Word(_)) && !token.is_joint()).count();
    let words = &window[..n_words];
    if words.iter().any(|word| word.is_any(&HEDGES)) {
        return None;
    }
    let negated = words.iter().any(|word| word.is_any(&NOTS));
    let not = if negated { " not" } else { "" };
    if let Some(value) = window.get(n_words).filter(is_value) {
        let rest = &behind[n_words + 1..];
        let shown = value_text(value)?;
        let says = |list: &[&str]| words.iter().any(|word| word.is_any(list));
        let or = |list: &[&str]| matches!(rest, [or, degree, ..] if or.is("or") && degree.is_any(list));
        let (sign, in_words) = if or(&GREATER) {
            (">=", "at least ")
        } else if or(&LESS) {
            ("<=", "at most ")
        } else if says(&GREATER) {
            (">", "more than ")
        } else if says(&LESS) {
            ("<", "less than ")
        } else if says(&AT_LEAST) {
            (">=", "at least ")
        } else if says(&["most"]) {
            ("<=", "at most ")
        } else if says(&EQUAL) || (matches!(value, Piece::Quoted(_)) && says(&["is", "are"])) {
            ("is", "")
        } else {
            return None;
        };
        let rest = if or(&GREATER) || or(&LESS) { &rest[2..] } else { rest };
        if !ends_value(rest) {
            return None;
        }
        if let [has, degree, ..] = words
            && has.is_any(&["has", "have", "contains"])
            && !degree.is_any(&["exceeded", "reached", "hit"])
        {
            // What is counted has to be items; pages may be another matter.
            let counted =
                (!negated && ends_clause(rest)).then_some(if in_words.is_empty() { "exactly " } else { in_words });
            return Some(format!("{variable} has {}{shown} items", counted?));
        }
        return Some(if negated {
            format!("{variable} is not {in_words}{shown}")
        } else {
            format!("{variable} {sign} {shown}")
        });
    }
    // The last word of the clause says it.
    let last = words.iter().rfind(|word| !word.is_any(&["yet", "already", "now"]))?;
    if !ends_clause(&behind[n_words..]) || n_words > 4 {
        return None;
    }
    if last.is_any(&PRESENT) {
        return Some(format!("{variable} is{not} provided"));
    }
    if last.is_any(&["missing", "absent", "unknown"]) && !negated {
        return Some(format!("{variable} is missing"));
    }
    if last.is_any(&["empty", "blank"]) {
        return Some(format!("{variable} is{not} empty"));
    }
    if last.is_any(&["true", "false", "yes", "no"]) {
        let Piece::Word(truth) = last else { return None };
        return Some(format!("{variable} is{not} {}", truth.to_lowercase()));
    }
    (last.is_any(&CHANGED) && !negated && is_whole(variable)).then(|| format!("{variable} changes"))
}

/// Whether it is a variable and not a part of its value, which cannot be watched for changes.
fn is_whole(variable: &str) -> bool {
    !variable.contains(['.', '['])
}

/// `When the user has provided $email`.
fn given_in_front(in_front: &[Piece<'_>], variable: &str) -> Option<String> {
    let (verb, before) = in_front.split_last()?;
    let (verb, before) =
        if verb.is_any(&["the", "a", "an", "their", "his", "her"]) { before.split_last()? } else { (verb, before) };
    let negated = before.iter().any(|word| word.is_any(&NOTS));
    if verb.is_any(&CHANGED) && !negated && is_whole(variable) {
        return Some(format!("{variable} changes"));
    }
    verb.is_any(&GIVES).then(|| format!("{variable} is{} provided", if negated { " not" } else { "" }))
}

fn value_text<'a>(value: &Piece<'a>) -> Option<&'a str> {
    match value {
        Piece::Number(text) | Piece::Quoted(text) => Some(text),
        Piece::Variable(_) | Piece::Word(_) | Piece::Sign(_) | Piece::Mark => None,
    }
}

/// Whether a clause ends here: at the end, at a mark, or where the next variable is spoken of.
fn ends_clause(rest: &[Piece<'_>]) -> bool {
    match rest {
        [] | [Piece::Mark, ..] => true,
        [joint, Piece::Variable(_), ..] => joint.is_any(&["and", "or"]),
        [then, ..] => then.is("then"),
    }
}

/// Whether a clause ends after a number here: a unit may follow (`3 times`).
fn ends_value(rest: &[Piece<'_>]) -> bool {
    ends_clause(rest) || matches!(rest, [unit @ Piece::Word(_), behind @ ..] if !unit.is_joint() && ends_clause(behind))
}
