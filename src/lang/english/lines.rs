//! Reads one line of a playbook for what can be known without a model (spec `language.md`, "Steps").
//!
//! When in doubt a line is free text: a line read as something it is not is worse than one that is left to the
//! model. `explicit` is set only where every word of the line was understood.

use std::sync::Arc;

use crate::english::calls::{read_call, read_call_of};
use crate::english::reading::{Reading, Surroundings};
use crate::english::words::{Mention, Phrase, split_camel_case};
use crate::expr::Expr;
use crate::program::{Loop, Returned, StepKind, Target};

/// Reads a line that is no branch.
pub(super) fn read_line(line: Phrase<'_>, around: Surroundings<'_>) -> Reading {
    read_loop(line, around).unwrap_or_else(|| read_action(line, around))
}

/// Reads what can stand on a line of its own or after a condition.
pub(super) fn read_action(line: Phrase<'_>, around: Surroundings<'_>) -> Reading {
    let line = line.trim();
    read_end(line)
        .or_else(|| read_return(line, around))
        .or_else(|| read_assign(line, around))
        .or_else(|| read_call(line, None, around))
        .or_else(|| read_call_in_plain_words(line, around))
        .or_else(|| read_ask(line, around))
        .or_else(|| read_say(line))
        .unwrap_or_else(Reading::free)
}

pub(super) fn read_call_in_plain_words(line: Phrase<'_>, around: Surroundings<'_>) -> Option<Reading> {
    let call = read_call_of(line, around)?;
    let explicit = call.arguments.is_some();
    Some(Reading::new(StepKind::Call(call), explicit))
}

pub(super) fn strip_separators(mut rest: Phrase<'_>) -> Phrase<'_> {
    loop {
        let mark = rest.strip_mark(',').or_else(|| rest.strip_mark(':')).or_else(|| rest.strip("then"));
        match mark {
            Some(next) => rest = next,
            None => return rest,
        }
    }
}

/// The longest expression at the beginning, if something that can end a condition follows it.
pub(super) fn read_leading_condition(rest: Phrase<'_>) -> Option<(Expr, Phrase<'_>)> {
    let (condition, length) = rest.leading_expr()?;
    let behind = rest.from(length).trim();
    let ends =
        behind.trim_end_marks().is_empty() || behind.text.starts_with([',', ':']) || behind.strip("then").is_some();
    ends.then_some((condition, behind))
}

fn read_loop(line: Phrase<'_>, around: Surroundings<'_>) -> Option<Reading> {
    let whole = around.has_children;
    if let Some(rest) = line.strip_any(&["for each", "for every", "foreach", "for all", "for"]) {
        let explicit_word = line.strip("for each").is_some() || line.strip("for every").is_some();
        return match read_for_each(rest) {
            Some((variable, list, complete)) => {
                let explicit = whole && complete && list.is_some();
                Some(Reading::new(StepKind::Loop(Loop::ForEach { variable, list }), explicit))
            }
            // A loop over something without a `$` is the model's own.
            None if explicit_word && around.has_children => Some(own_loop()),
            None => None,
        };
    }
    if let Some(rest) = line.strip_any(&["while", "repeat while", "as long as"]) {
        let condition = read_whole_condition(rest);
        if condition.is_none() && !around.has_children {
            return None;
        }
        let explicit = whole && condition.is_some();
        return Some(Reading::new(StepKind::Loop(Loop::While { condition }), explicit));
    }
    read_repeat(line, around)
}

fn own_loop() -> Reading {
    Reading::new(StepKind::Loop(Loop::While { condition: None }), false)
}

/// `$x in LIST`; the flag tells whether that was all.
fn read_for_each(rest: Phrase<'_>) -> Option<(Target, Option<Expr>, bool)> {
    let (variable, rest) = rest.target()?;
    let rest = rest.trim().strip_any(&["in", "of", "from"])?;
    if let Some((list, behind)) = read_leading_condition(rest) {
        let complete = strip_separators(behind).trim_end_marks().is_empty();
        return Some((variable, Some(list), complete));
    }
    Some((variable, None, false))
}

fn read_whole_condition(rest: Phrase<'_>) -> Option<Expr> {
    let (condition, behind) = read_leading_condition(rest)?;
    let behind = strip_separators(behind);
    (behind.trim_end_marks().is_empty() || behind.trim_end_marks().is("do")).then_some(condition)
}

fn read_repeat(line: Phrase<'_>, around: Surroundings<'_>) -> Option<Reading> {
    let until = line.strip_any(&["repeat until", "until", "loop until"]);
    if let Some(rest) = until.or_else(|| line.strip_any(&["repeat", "loop", "do"]).and_then(strip_filler_until)) {
        let condition = read_whole_condition(rest);
        if condition.is_none() && !around.has_children {
            return None;
        }
        let explicit = around.has_children && condition.is_some();
        return Some(Reading::new(StepKind::Loop(Loop::Until { condition }), explicit));
    }
    let rest = line.strip_any(&["repeat", "loop", "do"])?;
    let rest = strip_filler(rest);
    if rest.trim_end_marks().is_empty() || rest.trim_end_marks().is("forever") {
        return (around.has_children && line.strip("do").is_none()).then(own_loop);
    }
    // The count stands in front of `times`, which has to end the line.
    let head = rest.trim_end_marks();
    let times = head.find_word("times").filter(|at| head.from(at + "times".len()).trim().is_empty())?;
    let count = head.until(times).trim().expr();
    let explicit = around.has_children && count.is_some();
    let words = count.is_none() && plain_count(head.until(times).trim()).is_none();
    if words && !around.has_children {
        return None;
    }
    Some(Reading::new(StepKind::Loop(Loop::Repeat { count }), explicit))
}

/// `three`, `several`: counts in words, which are the model's to judge.
fn plain_count(words: Phrase<'_>) -> Option<()> {
    (words.text.split_whitespace().count() == 1 && words.text.chars().all(char::is_alphabetic)).then_some(())
}

/// What follows words that only point to the nested items.
pub(super) fn strip_filler(rest: Phrase<'_>) -> Phrase<'_> {
    let fillers = [
        "all of the following steps",
        "the following steps",
        "the following lines",
        "the following",
        "the steps below",
        "these steps",
        "these lines",
        "this",
        "that",
    ];
    rest.strip_any(&fillers).unwrap_or(rest)
}

fn strip_filler_until(rest: Phrase<'_>) -> Option<Phrase<'_>> {
    strip_filler(rest).strip("until")
}

fn read_end(line: Phrase<'_>) -> Option<Reading> {
    const ENDS: [&str; 14] = [
        "end",
        "exit",
        "quit",
        "end program",
        "end the program",
        "end this program",
        "end conversation",
        "end the conversation",
        "end session",
        "end the session",
        "exit program",
        "exit the program",
        "quit the program",
        "yld for exit",
    ];
    let line = line.trim_end_marks();
    ENDS.iter().any(|words| line.is(words)).then(|| Reading::new(StepKind::End, true))
}

fn read_return(line: Phrase<'_>, around: Surroundings<'_>) -> Option<Reading> {
    // `RET` is the older project's; in small letters it is no word of the language.
    let rest = line.strip("return").or_else(|| line.strip("ret").filter(|_| line.text.starts_with("RET")))?;
    let returned = |returned, explicit| Some(Reading::new(StepKind::Return(returned), explicit));
    let value = rest.trim_end_marks();
    if value.is_empty() || value.is("nothing") || value.is("to the caller") || value.is("to caller") {
        return returned(Returned::Nothing, !around.has_children);
    }
    // `Return to step 2` goes somewhere, it gives nothing back.
    if value.strip("to").is_some() {
        return None;
    }
    if let Some(expr) = value.expr() {
        return returned(Returned::Value(expr), !around.has_children);
    }
    let call = value.strip_any(&["the result of", "result of"]).unwrap_or(value);
    if let Some(Reading { kind: StepKind::Call(call), explicit }) = read_call(call, None, around) {
        return returned(Returned::Call(call), explicit && !around.has_children);
    }
    if let Some(call) = read_call_of(value, around) {
        let explicit = call.arguments.is_some() && !around.has_children;
        return returned(Returned::Call(call), explicit);
    }
    returned(Returned::Words, false)
}

fn read_assign(line: Phrase<'_>, around: Surroundings<'_>) -> Option<Reading> {
    let (target, rest) = match line.strip_any(&["set", "let"]).unwrap_or(line).target() {
        Some((target, rest)) => (target, rest.trim()),
        None => return None,
    };
    let value = if rest.text.starts_with("==") {
        return None;
    } else if let Some(value) = rest.strip_mark('=') {
        value
    } else if line.strip_any(&["set", "let"]).is_some() {
        rest.strip_any(&["to", "be", "as"])?
    } else {
        return None;
    };
    let value = value.trim_end_marks();
    if value.is_empty() {
        let assign = StepKind::Assign { target, value: None };
        return Some(Reading::new(assign, false));
    }
    if let Some(expr) = value.expr() {
        return Some(Reading::new(StepKind::Assign { target, value: Some(expr) }, true));
    }
    if let Some(reading) = read_call(value, Some(target.clone()), around) {
        return Some(reading);
    }
    if let Some(mut call) = read_call_of(value, around) {
        call.result = Some(target);
        let explicit = call.arguments.is_some();
        return Some(Reading::new(StepKind::Call(call), explicit));
    }
    // `$name = ask the user for their name` asks.
    if let Some(Reading { kind: StepKind::Ask { mut targets }, .. }) = read_ask(value, around) {
        targets.insert(0, target);
        return Some(Reading::new(StepKind::Ask { targets }, false));
    }
    Some(Reading::new(StepKind::Assign { target, value: None }, false))
}

fn read_ask(line: Phrase<'_>, around: Surroundings<'_>) -> Option<Reading> {
    const ASKS: [&str; 5] = ["ask", "prompt the user", "prompt user", "request", "yld for user"];
    let ask = |targets| Some(Reading::new(StepKind::Ask { targets }, false));
    if let Some(rest) = line.strip_any(&ASKS) {
        if line.strip("request").is_some() {
            return ask(targets_of(rest.until(find_from_user(rest)?)));
        }
        return if asks_agent(rest, around) { None } else { ask(targets_behind_for(rest)) };
    }
    if let Some(rest) = line.strip("wait for") {
        // Waiting for calls or for time is no question to the user.
        let other = [
            "call", "calls", "result", "results", "seconds", "second", "minutes", "minute", "hours", "agent", "agents",
            "meeting",
        ];
        let answered = targets_of(rest);
        return if other.iter().any(|word| rest.find_word(word).is_some()) { None } else { ask(answered) };
    }
    let rest = line.strip_any(&["get", "collect", "obtain", "receive", "gather"])?;
    ask(targets_of(rest.until(find_from_user(rest)?)))
}

/// Where `from the user` begins.
fn find_from_user(rest: Phrase<'_>) -> Option<usize> {
    let at = rest.find_word("from")?;
    rest.from(at).strip_any(&["from the user", "from user", "from them"]).map(|_| at)
}

/// Whether it is another agent that is asked.
fn asks_agent(rest: Phrase<'_>, around: Surroundings<'_>) -> bool {
    let asked = rest.strip("the").unwrap_or(rest);
    let words: Vec<String> = asked.words().take(8).fold(Vec::new(), |mut words, (_, word)| {
        split_camel_case(word, &mut words);
        words
    });
    around.names.begins_with_agent(&words)
}

/// The variables that an `Ask …` line wants to have: those after `for`, up to a word that begins something
/// else (`for $pin to verify $account`), and those it says to keep the answer in.
fn targets_behind_for(rest: Phrase<'_>) -> Vec<Target> {
    const STOPS: [&str; 17] = [
        "to", "about", "of", "with", "because", "so", "using", "from", "on", "at", "since", "if", "when", "whether",
        "before", "after", "than",
    ];
    const STARTS: [&str; 5] = ["for", "in", "into", "as", "store"];
    let mentions = rest.mentions();
    let mut targets: Vec<Target> = Vec::new();
    let start = rest.span().start as usize;
    let mut words = rest.words().peekable();
    let mut wanted = false;
    for mention in mentions {
        let at = mention.span.start as usize - start;
        while let Some((_, word)) = words.next_if(|(word_at, _)| *word_at < at) {
            let is = |list: &[&str]| list.iter().any(|other| word.eq_ignore_ascii_case(other));
            wanted = is(&STARTS) || (wanted && !is(&STOPS));
        }
        if wanted || mention.ty.is_some() {
            targets.push(mention.into_target());
        }
    }
    targets
}

fn targets_of(words: Phrase<'_>) -> Vec<Target> {
    words.mentions().into_iter().map(Mention::into_target).collect()
}

fn read_say(line: Phrase<'_>) -> Option<Reading> {
    if let Some(rest) = line.strip("say") {
        let rest = rest.strip_mark(':').unwrap_or(rest);
        let literal = read_quoted(rest.trim_end_marks()).or_else(|| read_quoted(rest));
        let explicit = literal.is_some();
        return Some(Reading::new(StepKind::Say { literal }, explicit));
    }
    const TELLS: [&str; 7] =
        ["tell the user", "tell user", "tell them", "inform the user", "inform user", "let the user know", "reply"];
    line.strip_any(&TELLS).map(|_| Reading::new(StepKind::Say { literal: None }, false))
}

/// The content of a text in straight or typographic quotes, if nothing else stands there. A line break in it is
/// a space, as everywhere in Markdown.
pub(crate) fn read_quoted(words: Phrase<'_>) -> Option<Arc<str>> {
    const QUOTES: [(char, char); 5] = [('"', '"'), ('\'', '\''), ('“', '”'), ('„', '“'), ('«', '»')];
    let text = words.text;
    let first = text.chars().next()?;
    let &(_, close) = QUOTES.iter().find(|(open, _)| *open == first)?;
    let content = if matches!(first, '"' | '\'') {
        let (content, length) = crate::expr::lexer::scan_string(text)?;
        (length == text.len()).then_some(content)?
    } else {
        let inside = text[first.len_utf8()..].strip_suffix(close)?;
        (!inside.contains([first, close])).then(|| inside.to_owned())?
    };
    if !text.contains(['\n', '\r']) {
        return Some(content.into());
    }
    let lines: Vec<&str> = text.lines().collect();
    let unwrapped = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    read_quoted_line(&unwrapped, first, close)
}

/// A quoted text that was put on one line.
fn read_quoted_line(text: &str, open: char, close: char) -> Option<Arc<str>> {
    if matches!(open, '"' | '\'') {
        return crate::expr::lexer::scan_string(text).map(|(content, _)| content.into());
    }
    text[open.len_utf8()..].strip_suffix(close).map(Into::into)
}
