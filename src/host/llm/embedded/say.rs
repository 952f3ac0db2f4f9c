//! Lines that say something in words: greetings, thanks, and facts from the line's own words and from values. Nothing
//! else is ever told; what is not understood is left out.

use playhouse_lang::value::{PathStep, Reference, Value};

use super::english::{
    Piece, find, is_one_of, mentions, name_words, one_line, pieces, placed, sentence, strip, strip_any, strip_user,
    turn_round, unquoted, without_end, words,
};
use super::wanted::without_types;
use super::wording::{Values, literal, spoken, with_values};

/// A part of a line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    /// A sentence, as text of a `say`.
    Say(String),
    /// What follows asks for something.
    Ask(String),
    /// The program is to end.
    End,
}

/// Whether a condition holds; none: nobody can judge it.
pub(super) type Judge<'a> = &'a dyn Fn(&str) -> Option<bool>;

/// Verbs that tell.
const TELLS: &str = "say|tell|inform|let|report|announce|explain|confirm|repeat|mention|read out|show|give|name|\
    remind|warn|assure|answer|point out|read";

/// Other verbs that begin something to say.
const OTHERS: &str = "thank|greet|welcome|wish|apologise|apologize|ask|end the|end program|exit|\
    hang up";

/// What a line's words say, in order; what cannot be worded is left out.
pub(super) fn parts(line: &str, values: &dyn Values, judge: Judge<'_>) -> Vec<Part> {
    let text = without_types(&one_line(line));
    let mut parts: Vec<Part> = Vec::new();
    for direction in directions(&text) {
        let direction = without_end(direction);
        let part = if strip_any(direction, "ask|prompt").is_some() {
            Part::Ask(direction.to_owned())
        } else if is_one_of(direction, "end the program|end program|end the conversation|hang up|exit") {
            Part::End
        } else {
            let Some(text) = said(direction, values, judge) else { continue };
            // `Hello, Ada! I wish you a good day.` is said in one breath.
            match parts.last_mut() {
                Some(Part::Say(last)) => {
                    last.push(' ');
                    last.push_str(&text);
                    continue;
                }
                _ => Part::Say(text),
            }
        };
        parts.push(part);
    }
    parts
}

/// The things that a line says to do, one after the other.
fn directions(text: &str) -> Vec<&str> {
    let begins_one = |rest: &str| {
        let rest = rest.trim_start();
        let rest = strip_any(rest, "then|also|finally").unwrap_or(rest);
        strip_any(rest, TELLS).or_else(|| strip_any(rest, OTHERS)).is_some()
    };
    let mut directions = Vec::new();
    let mut from = 0;
    for (start, end, piece) in placed(text) {
        let is_link = match piece {
            Piece::Word(word) => is_one_of(word, "and|then"),
            Piece::Other(marks) => marks.contains(['.', ';', ',']),
            Piece::Mention(..) | Piece::Quoted(_) => false,
        };
        // `what you can say and tell`: only where something stands before it.
        if is_link && !without_end(&text[from..start]).is_empty() && begins_one(&text[end..]) {
            directions.push(&text[from..start]);
            from = end;
        }
    }
    directions.push(&text[from..]);
    let starts = "then|also|finally|please|and|politely|briefly";
    let directions = directions.into_iter().map(|direction| strip_any(direction, starts).unwrap_or(direction));
    directions.filter(|direction| !without_end(direction).is_empty()).collect()
}

fn said(direction: &str, values: &dyn Values, judge: Judge<'_>) -> Option<String> {
    if let Some(rest) = strip_any(direction, "greet|say hello|say hi|send greetings") {
        return Some(with_name("Hello", rest, values));
    }
    if let Some(rest) = strip_any(direction, "welcome|say welcome") {
        return Some(with_name("Welcome", rest, values));
    }
    if let Some(rest) = strip_any(direction, "say goodbye|say good bye|say bye|say farewell") {
        return Some(with_name("Goodbye", rest, values));
    }
    if let Some(rest) = strip_any(direction, "thank|say thank you to|say thank you|say thanks") {
        let what = find(rest, "for").map(|(_, end)| turn_round(without_end(&rest[end..])));
        return match what.map(|what| with_values(&what, values)) {
            Some(what) => Some(format!("Thank you for {}.", what?.trim())),
            None => Some(with_name("Thank you", rest, values)),
        };
    }
    let sorry = "apologise|apologize|say sorry|say that you are sorry|say once that you are sorry";
    if strip_any(direction, sorry).is_some() {
        return Some("I am sorry.".to_owned());
    }
    if let Some(rest) = strip(direction, "wish") {
        let wish = with_values(&turn_round(without_end(strip_user(rest).unwrap_or(rest))), values)?;
        return Some(sentence(&format!("I wish you {wish}")));
    }
    if let Some(rest) = strip_any(direction, "say something kind about|say something nice about") {
        let about = mentions(rest).into_iter().next()?;
        return Some(format!("I like the sound of {}.", spoken(&about, values.told(&about)?)));
    }
    fact(direction, values, judge)
}

/// A greeting or a farewell, by the name that the line mentions.
fn with_name(greeting: &str, rest: &str, values: &dyn Values) -> String {
    let mentioned = mentions(rest).into_iter().next();
    let name = mentioned.and_then(|reference| values.told(&reference).map(|value| spoken(&reference, value)));
    name.map_or_else(|| format!("{greeting}!"), |name| format!("{greeting}, {name}!"))
}

/// What a line says to tell.
fn fact(direction: &str, values: &dyn Values, judge: Judge<'_>) -> Option<String> {
    let rest = strip_any(direction, TELLS)?;
    let rest = strip_user(rest).or_else(|| strip_any(rest, "to|with").and_then(strip_user)).unwrap_or(rest);
    let rest = strip_any(rest, "know|back|once more|again").unwrap_or(rest);
    let rest = without_end(rest.trim_start_matches([':', ',', ' ']));
    // `Tell $name that …`.
    let behind = match pieces(rest).first() {
        Some(Piece::Mention(_, source)) => rest[source.len()..].trim_start(),
        _ => "",
    };
    let rest = if strip(behind, "that").is_some() { behind } else { rest };
    if let Some(quoted) = unquoted(rest) {
        return with_values(quoted, values);
    }
    let mut told = Vec::new();
    for clause in clauses(rest) {
        let (clause, condition) = match find(clause, "if").filter(|(start, _)| *start > 0) {
            Some((start, end)) => (without_end(&clause[..start]), Some(clause[end..].trim())),
            None => (without_end(clause), None),
        };
        // What stands under a condition that nobody can judge is told only if it is a value that is there.
        let text = match condition.map(judge) {
            Some(Some(false)) => continue,
            Some(None) => match member(clause, values) {
                Some(text) => text,
                None => continue,
            },
            Some(Some(true)) | None => clause_told(clause, values)?,
        };
        told.push(sentence(&text));
    }
    (!told.is_empty()).then(|| told.join(" "))
}

/// The parts of what is told: after `and`, another `that`, or a noun, or a question word.
fn clauses(text: &str) -> Vec<&str> {
    const STARTS: &str = "that|when|where|how|what|the|their|its";
    let is_sentence = strip(text, "that").is_some();
    let mut clauses = Vec::new();
    let mut from = 0;
    for (start, end, piece) in placed(text) {
        let starts = if is_sentence { "that" } else { STARTS };
        if matches!(piece, Piece::Word("and")) && strip_any(text[end..].trim_start(), starts).is_some() {
            clauses.push(&text[from..start]);
            from = end;
        }
    }
    clauses.push(&text[from..]);
    clauses
}

fn clause_told(clause: &str, values: &dyn Values) -> Option<String> {
    if let Some(said) = strip(clause, "that") {
        return with_values(&turn_round(&named_values(said)), values);
    }
    if let Some(text) = member(clause, values) {
        return Some(text);
    }
    let clause = strip_any(clause, "about").unwrap_or(clause);
    // `the number $booking`, `what you will remember: $a and $b`: a name, and the value of it.
    let named: Vec<Piece<'_>> = pieces(clause);
    let n_before = named.iter().position(|piece| matches!(piece, Piece::Mention(..)))?;
    let start: usize = named[..n_before].iter().map(|piece| piece.source().len()).sum();
    let is_list = |piece: &Piece<'_>| match piece {
        Piece::Word(word) => is_one_of(word, "and|or"),
        Piece::Mention(..) | Piece::Other(_) => true,
        Piece::Quoted(_) => false,
    };
    if !named[n_before..].iter().all(is_list) {
        return None;
    }
    let value = with_values(clause[start..].trim_end_matches([')', ' ']), values)?;
    let head = clause[..start].trim_end_matches([' ', ':', ',', '(', '–', '—', '-']);
    // A value that belongs to a question, or to another thing, does not say what is asked for.
    let ends_open = words(head).last().is_some_and(|word| is_one_of(word, "of|for|in|about|from|to|with|by|on|at"));
    let is_marked = clause[head.len()..start].contains([':', ',', '(', '–', '—', '-']);
    let is_question = strip_any(head, "what|how|when|where|who|which|why|whether").is_some();
    if ends_open || (is_question && !is_marked) {
        return None;
    }
    let name = match named.get(n_before) {
        Some(Piece::Mention(reference, _)) if is_one_of(head, "the|their|your|a|an") => {
            format!("{head} {}", literal(&name_words(last_name(reference))))
        }
        _ => head.to_owned(),
    };
    Some(if name.is_empty() { value } else { format!("{}: {value}", turn_round(&name)) })
}

/// `the $amount` is `the amount $amount`: a bare value would say nothing of what it is.
fn named_values(text: &str) -> String {
    let (mut named, mut before) = (String::new(), "");
    for piece in pieces(text) {
        if let Piece::Mention(reference, _) = &piece
            && is_one_of(before, "the|their|your|a|an|its")
        {
            named.push_str(&format!("{} ", name_words(last_name(reference))));
        }
        named.push_str(piece.source());
        before = if let Piece::Word(word) = piece { word } else { before };
    }
    named
}

fn last_name(reference: &Reference) -> &str {
    let members = reference.path.iter().rev();
    let mut names = members.filter_map(|step| if let PathStep::Member(name) = step { Some(&**name) } else { None });
    names.next().unwrap_or(&reference.name)
}

/// `the state of the order`, `when it is expected`: a member of a variable that is called so, or a variable.
fn member(clause: &str, values: &dyn Values) -> Option<String> {
    let is_called = |name: &str, word: &str| name_words(name).eq_ignore_ascii_case(&name_words(word));
    let bare = strip_any(clause, "the|its|their").unwrap_or(clause);
    let field = match find(bare, "of") {
        Some((start, end)) => {
            let owner = bare[end..].trim();
            let owner = strip_any(owner, "the|their|this").unwrap_or(owner).trim_start_matches('$');
            values.names().into_iter().find(|name| is_called(name, owner))?;
            bare[..start].trim()
        }
        None => strip_any(bare, "when it is|when it was|where it is|how it was").unwrap_or(bare),
    };
    let own =
        values.names().into_iter().filter(|name| is_called(name, field)).map(|name| Reference { name, path: vec![] });
    let members = values.names().into_iter().filter_map(|name| {
        let Some(Value::Map(members)) = values.value(&name) else { return None };
        let key = members.keys().find(|key| is_called(key, field))?.clone();
        Some(Reference { name, path: vec![PathStep::Member(key)] })
    });
    let reference = own.chain(members).find(|reference| values.told(reference).is_some())?;
    let value = spoken(&reference, values.told(&reference)?);
    Some(format!("{}: {value}", turn_round(clause).replace('$', "")))
}
