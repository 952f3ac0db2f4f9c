//! Lines that say something in words, as sentences: a small grammar of templates. What is not worded with certainty
//! is left out.

use super::english::{
    Piece, capitalised, find, find_any, is_one_of, one_line, pieces, sentence, strip, strip_any, strip_user,
    turn_round, unquoted, without_end,
};
use super::tell;
use super::wanted::without_types;
use super::wording::{Values, spoken, with_values};

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

/// The conditions after a fact: whether one holds.
pub(super) type Judge<'a> = &'a dyn Fn(&str) -> Option<bool>;

/// What a line's words say; empty if no part of it can be worded. `agent` is who speaks.
pub(super) fn parts(line: &str, agent: &str, values: &dyn Values, judge: Judge<'_>) -> Vec<Part> {
    let text = without_types(&one_line(line));
    let mut parts: Vec<Part> = Vec::new();
    for direction in directions(&text) {
        let direction = without_adverbs(without_end(direction));
        let part = if strip_any(direction, &["ask", "prompt"]).is_some() {
            Some(Part::Ask(direction.to_owned()))
        } else if is_one_of(
            direction,
            &[
                "end the program",
                "end program",
                "end the conversation",
                "end conversation",
                "hang up",
                "end the session",
                "exit",
            ],
        ) {
            Some(Part::End)
        } else {
            said(direction, agent, values, judge)
        };
        parts.extend(part);
    }
    join_greetings(parts)
}

/// Verbs that begin another thing to say, after `and`.
const VERBS: [&str; 38] = [
    "say",
    "tell",
    "thank",
    "greet",
    "wish",
    "give them",
    "give the user",
    "ask",
    "welcome",
    "apologise",
    "apologize",
    "inform",
    "let",
    "remind",
    "congratulate",
    "show",
    "explain",
    "introduce",
    "mention",
    "invite",
    "warn",
    "end the",
    "end program",
    "name",
    "read out",
    "exit",
    "hang up",
    "bid",
    "point out",
    "assure",
    "report",
    "confirm",
    "promise",
    "announce",
    "offer",
    "present",
    "suggest",
    "recommend",
];

/// The things a line says to say, one after the other.
fn directions(text: &str) -> Vec<&str> {
    let mut directions = Vec::new();
    let (mut from, mut at) = (0, 0);
    for piece in pieces(text) {
        let start = at;
        at += piece.source().len();
        let begins = match piece {
            Piece::Word(word) if is_one_of(word, &["and", "then"]) => {
                let rest = text[at..].trim_start();
                let rest = strip_any(rest, &["then", "also", "finally", "kindly", "politely"]).unwrap_or(rest);
                let before = text[from..start].trim_end();
                // `what you can say and tell`: only where something stands before it.
                !before.is_empty() && strip_any(rest, &VERBS).is_some()
            }
            Piece::Word(_) | Piece::Mention(..) | Piece::Quoted(_) => false,
            Piece::Other(marks) => {
                marks.contains(['.', ';', ',']) && strip_any(text[at..].trim_start(), &VERBS).is_some()
            }
        };
        if begins {
            directions.push(&text[from..start]);
            from = at;
        }
    }
    directions.push(&text[from..]);
    directions.into_iter().filter(|direction| !without_end(direction).is_empty()).collect()
}

fn without_adverbs(mut text: &str) -> &str {
    const ADVERBS: [&str; 24] = [
        "politely",
        "kindly",
        "warmly",
        "briefly",
        "then",
        "finally",
        "also",
        "please",
        "now",
        "first",
        "next",
        "gently",
        "cheerfully",
        "clearly",
        "simply",
        "just",
        "and",
        "immediately",
        "honestly",
        "shortly",
        "once more",
        "again",
        "carefully",
        "always",
    ];
    while let Some(rest) = strip_any(text, &ADVERBS).filter(|rest| !rest.is_empty()) {
        text = rest.trim_start_matches([',', ' ']);
    }
    text
}

fn said(direction: &str, agent: &str, values: &dyn Values, judge: Judge<'_>) -> Option<Part> {
    let act = |text: String| Some(Part::Say(text));
    if let Some(text) = greeting(direction, values) {
        return act(text);
    }
    if let Some(rest) = strip_any(
        direction,
        &[
            "say goodbye",
            "say good bye",
            "say bye",
            "say farewell",
            "bid farewell",
            "take your leave",
            "bid the user farewell",
            "bid them farewell",
            "bid the user goodbye",
            "end with a goodbye",
            "wave goodbye",
        ],
    ) {
        return act(with_name("Goodbye", rest, values));
    }
    if let Some(rest) = strip_any(
        direction,
        &["thank", "express thanks to", "say thank you to", "say thanks to", "say thank you", "say thanks"],
    ) {
        return act(thanks(rest, values));
    }
    if let Some(text) = apology(direction, values) {
        return act(text);
    }
    if let Some(rest) = strip(direction, "wish") {
        let wish = strip_user(rest).or_else(|| behind_name(rest)).unwrap_or(rest);
        let wish = with_values(&turn_round(without_end(wish)), values)?;
        let wish = if wish.trim().is_empty() { "all the best".to_owned() } else { wish };
        let is_day = strip_any(&wish, &["a", "an"]).is_some()
            && find_any(
                &wish,
                &["day", "evening", "night", "weekend", "morning", "afternoon", "journey", "trip", "time"],
            )
            .is_some();
        if is_day {
            return act(format!("Have {wish}!"));
        }
        return act(sentence(&format!("I wish you {wish}")));
    }
    if let Some(rest) = strip(direction, "congratulate") {
        if let Some(name) = super::english::mentions(rest).into_iter().next().filter(|_| rest.starts_with('$')) {
            let called = values.told(&name).map(|value| format!(", {}", spoken(&name, value))).unwrap_or_default();
            return act(format!("Congratulations{called}!"));
        }
        let what = strip_any(strip_user(rest).unwrap_or(rest), &["on", "for"]).unwrap_or("");
        let what = with_values(&turn_round(what), values).unwrap_or_default();
        return act(if what.is_empty() {
            "Congratulations!".to_owned()
        } else {
            format!("Congratulations on {what}!")
        });
    }
    if strip_any(direction, &["introduce yourself", "say who you are", "tell the user who you are", "present yourself"])
        .is_some()
    {
        return act(format!("This is {}.", super::wording::literal(agent)));
    }
    if let Some(text) = remark(direction, values) {
        return act(text);
    }
    let text = appeal(direction, values).or_else(|| tell::fact(direction, values, judge))?;
    act(text)
}

/// What follows a variable at the beginning.
fn behind_name(text: &str) -> Option<&str> {
    match pieces(text).first() {
        Some(Piece::Mention(_, source)) => Some(text[source.len()..].trim_start()),
        _ => None,
    }
}

/// `Hello, {$name}!`
fn greeting(direction: &str, values: &dyn Values) -> Option<String> {
    for time in ["good morning", "good afternoon", "good evening", "good night", "good day"] {
        if let Some(rest) =
            strip_any(direction, &["say", "bid the user", "bid them"]).and_then(|rest| strip(rest, time))
        {
            return Some(with_name(&capitalised(time), rest, values));
        }
    }
    if let Some(rest) = strip_any(direction, &["say hello", "say hi", "greet", "send greetings", "say a greeting"]) {
        return Some(with_name("Hello", rest, values));
    }
    let rest = strip_any(direction, &["welcome", "say welcome", "bid welcome"])?;
    let rest = strip_user(rest).or_else(|| strip(rest, "to").and_then(strip_user)).unwrap_or(rest);
    let place = find(rest, "to").map(|(_, end)| without_end(rest[end..].trim()));
    let place = place.filter(|place| !place.is_empty()).and_then(|place| with_values(&turn_round(place), values));
    match place {
        Some(place) => Some(format!("Welcome to {place}!")),
        None if strip(rest, "back").is_some() => Some(with_name("Welcome back", rest, values)),
        None => Some(with_name("Welcome", rest, values)),
    }
}

/// A greeting or a farewell, by the name that the line mentions.
fn with_name(greeting: &str, rest: &str, values: &dyn Values) -> String {
    let mentioned = super::english::mentions(rest).into_iter().next();
    let by_name = || {
        let wants = find_any(
            rest,
            &["by name", "by their name", "with their name", "using their name", "by first name", "personally"],
        );
        let name =
            wants.and_then(|_| values.names().into_iter().find(|name| &**name == "name" || name.ends_with("_name")))?;
        Some(crate::value::Reference { name, path: Vec::new() })
    };
    match mentioned
        .or_else(by_name)
        .and_then(|reference| values.told(&reference).map(|value| spoken(&reference, value)))
    {
        Some(name) => format!("{greeting}, {name}!"),
        None => format!("{greeting}!"),
    }
}

fn thanks(rest: &str, values: &dyn Values) -> String {
    let rest = without_end(strip_user(rest).unwrap_or(rest));
    let name = super::english::mentions(rest.split(" for ").next().unwrap_or("")).into_iter().next();
    let name = name.and_then(|reference| values.told(&reference).map(|value| spoken(&reference, value)));
    let what = find(rest, "for")
        .map(|(_, end)| turn_round(without_end(&rest[end..])))
        .and_then(|what| with_values(&what, values));
    let called = name.map_or(String::new(), |name| format!(", {name}"));
    match what.filter(|what| !what.trim().is_empty()) {
        Some(what) => format!("Thank you for {}{called}.", what.trim()),
        None => format!("Thank you{called}!"),
    }
}

fn apology(direction: &str, values: &dyn Values) -> Option<String> {
    const FORMS: [&str; 12] = [
        "apologise",
        "apologize",
        "say sorry",
        "say that you are sorry",
        "say you are sorry",
        "say you're sorry",
        "say that you're sorry",
        "tell the user that you are sorry",
        "tell the user you are sorry",
        "tell them that you are sorry",
        "express regret",
        "tell them you are sorry",
    ];
    let rest = strip_any(direction, &FORMS)?;
    let rest = strip(rest, "to").and_then(strip_user).unwrap_or_else(|| strip_user(rest).unwrap_or(rest));
    let Some(rest) = strip_any(rest, &["for", "about", "that", "because"]).map(|_| rest) else {
        return Some("I am sorry.".to_owned());
    };
    let said = with_values(&turn_round(without_end(rest)), values);
    Some(said.map_or("I am sorry.".to_owned(), |said| sentence(&format!("I am sorry {said}"))))
}

/// Something kind, about something or not.
fn remark(direction: &str, values: &dyn Values) -> Option<String> {
    let rest = strip_any(
        direction,
        &[
            "say something",
            "make a remark",
            "make a comment",
            "comment",
            "compliment",
            "tell them something",
            "tell the user something",
            "make small talk",
            "chat",
            "make a compliment",
            "encourage",
        ],
    );
    if strip_any(direction, &["praise", "compliment the user"]).is_some() {
        return Some("Well done!".to_owned());
    }
    let rest = rest?;
    // `Encourage the user to try again`.
    if strip_user(rest).and_then(|rest| strip(rest, "to")).is_some() {
        return None;
    }
    if find_any(direction, &["funny", "joke", "interesting", "useful", "about the weather"]).is_some() {
        return None;
    }
    let about = super::english::mentions(rest).into_iter().next();
    match about.and_then(|reference| values.told(&reference).map(|value| spoken(&reference, value))) {
        Some(about) => Some(format!("I like the sound of {about}.")),
        None if strip(direction, "encourage").is_some() => Some("You are doing well!".to_owned()),
        None if find_any(rest, &["about"]).is_some() => None,
        None => Some("It is good to talk to you.".to_owned()),
    }
}

/// What the user is asked to do, or not to forget.
fn appeal(direction: &str, values: &dyn Values) -> Option<String> {
    let forms: [(&[&str], &str, &str); 7] = [
        (&["remind"], "to", "Please remember to"),
        (&["remind"], "that", "Please remember that"),
        (&["warn"], "that", "Please note that"),
        (&["assure"], "that", ""),
        (&["invite", "encourage", "advise"], "to", "You are welcome to"),
        (&["instruct", "tell", "urge"], "to", "Please"),
        (&["tell"], "not to", "Please don't"),
    ];
    for (verbs, word, start) in forms {
        let Some(rest) = strip_any(direction, verbs) else { continue };
        let Some(what) = strip_user(rest).and_then(|rest| strip(rest, word)) else { continue };
        let what = with_values(&turn_round(without_end(what)), values)?;
        return Some(sentence(&format!("{start} {what}")));
    }
    for (verb, start) in
        [("suggest", "I suggest"), ("recommend", "I recommend"), ("offer", "I can offer you"), ("promise", "I promise")]
    {
        if let Some(rest) = strip(direction, verb) {
            let rest = strip(rest, "to").and_then(strip_user).or_else(|| strip_user(rest)).unwrap_or(rest);
            let rest = rest.trim_start_matches([':', ',', ' ']);
            if unquoted(rest).is_some() || rest.is_empty() {
                return None;
            }
            // `offer to call them back`.
            let start = if verb == "offer" && strip(rest, "to").is_some() { "I offer" } else { start };
            let what = with_values(&turn_round(without_end(rest)), values)?;
            return Some(sentence(&format!("{start} {what}")));
        }
    }
    None
}

/// `Hello, Ada!` and `I wish you a good day.` are said in one breath.
fn join_greetings(parts: Vec<Part>) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::new();
    for part in parts {
        match (joined.last_mut(), part) {
            (Some(Part::Say(last)), Part::Say(said)) => {
                last.push(' ');
                last.push_str(&said);
            }
            (_, part) => joined.push(part),
        }
    }
    joined
}
