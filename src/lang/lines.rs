//! Reads one line of a playbook for what can be known without a model (spec `language.md`, "Steps").
//!
//! When in doubt a line is free text: a line read as something it is not is worse than one that is left to the
//! model. `explicit` is set only where every word of the line was understood.

use std::sync::Arc;

use crate::callables::Names;
use crate::calls_in_lines::{read_call, read_call_of};
use crate::expr::Expr;
use crate::program::{AgentId, Arm, Loop, Returned, StepKind, Target, Type};
use crate::words::{Words, split_camel_case};

/// Where a line stands, as far as its reading depends on it.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    /// What can be called.
    pub(crate) names: &'a Names<'a>,
    /// From where.
    pub(crate) agent: AgentId,
    /// Whether lines are nested under it.
    pub(crate) has_children: bool,
}

/// What a line was read as.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) kind: StepKind,
    pub(crate) explicit: bool,
}

impl Reading {
    pub(crate) fn new(kind: StepKind, explicit: bool) -> Self {
        Reading { kind, explicit }
    }

    pub(crate) fn free() -> Self {
        Reading::new(StepKind::Free, false)
    }
}

/// How many places of a line are tried as the end of its condition; a bound for hostile lines only.
const MAX_SPLITS: usize = 16;

/// Reads a whole line.
pub(crate) fn read_line(line: Words<'_>, around: Surroundings<'_>) -> Reading {
    let line = line.trim().without_ticks();
    if let Some(reading) = read_call_in_plain_words(line, around) {
        return reading;
    }
    read_branch(line, around).or_else(|| read_loop(line, around)).unwrap_or_else(|| read_action(line, around))
}

/// Reads what can stand on a line of its own or behind a condition.
fn read_action(line: Words<'_>, around: Surroundings<'_>) -> Reading {
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

fn read_call_in_plain_words(line: Words<'_>, around: Surroundings<'_>) -> Option<Reading> {
    let call = read_call_of(line, around)?;
    let explicit = call.arguments.is_some();
    Some(Reading::new(StepKind::Call(call), explicit))
}

fn read_branch(line: Words<'_>, around: Surroundings<'_>) -> Option<Reading> {
    if let Some(rest) = line.strip_any(&["else if", "elif", "elseif", "otherwise if", "otherwise, if", "else, if"]) {
        return Some(read_condition(Arm::ElseIf, rest, around));
    }
    if let Some(rest) = line.strip("if") {
        // A bare `if` says nothing.
        return (!rest.trim_end_marks().is_empty()).then(|| read_condition(Arm::If, rest, around));
    }
    let rest = line.strip_any(&["otherwise", "else"])?;
    let rest = strip_separators(rest);
    let action = (!rest.trim_end_marks().is_empty()).then(|| read_action(rest, around));
    // Whether an else arm without action is explicit depends on the arms above it; the chain decides that.
    let explicit = action.as_ref().is_none_or(|action| action.explicit);
    let action = action.map(|action| Box::new(action.kind));
    Some(Reading::new(StepKind::Branch { arm: Arm::Else, condition: None, action }, explicit))
}

fn strip_separators(mut rest: Words<'_>) -> Words<'_> {
    loop {
        let mark = rest.strip_mark(',').or_else(|| rest.strip_mark(':')).or_else(|| rest.strip("then"));
        match mark {
            Some(next) => rest = next,
            None => return rest,
        }
    }
}

fn read_condition(arm: Arm, rest: Words<'_>, around: Surroundings<'_>) -> Reading {
    let branch = |condition, action: Option<Reading>| {
        let explicit = condition_is_whole(&condition, action.as_ref());
        let action = action.map(|action| Box::new(action.kind));
        Reading::new(StepKind::Branch { arm, condition, action }, explicit)
    };
    if let Some((condition, rest)) = read_leading_condition(rest) {
        let behind = strip_separators(rest);
        if behind.trim_end_marks().is_empty() {
            return branch(Some(condition), None);
        }
        if behind.text.len() < rest.text.len() || rest.is_empty() {
            let action = read_action(behind, around);
            let goes_on = behind.strip_any(&["and", "or", "but", "unless", "nor", "while", "if", "for"]).is_some()
                || behind.text.starts_with(['"', '\'', '$', '“', '(', '[', '-', '+', '*', '/'])
                || behind.text.starts_with(|c: char| c.is_ascii_digit());
            // `If $x is "a", "b" or "c"`: what follows the comma still belongs to the condition.
            if !(goes_on && matches!(action.kind, StepKind::Free)) {
                return branch(Some(condition), Some(action));
            }
        }
    }
    branch(None, read_action_behind_words(rest, around))
}

fn condition_is_whole(condition: &Option<Expr>, action: Option<&Reading>) -> bool {
    condition.is_some() && action.is_none_or(|action| action.explicit)
}

/// The longest expression at the beginning, if something that can end a condition follows it.
fn read_leading_condition(rest: Words<'_>) -> Option<(Expr, Words<'_>)> {
    let (condition, length) = rest.leading_expr()?;
    let behind = rest.from(length).trim();
    let ends =
        behind.trim_end_marks().is_empty() || behind.text.starts_with([',', ':']) || behind.strip("then").is_some();
    ends.then_some((condition, behind))
}

/// A condition in words: its action is whatever can be read behind a comma, a colon or `then`.
fn read_action_behind_words(rest: Words<'_>, around: Surroundings<'_>) -> Option<Reading> {
    let mut splits = Vec::new();
    for (at, character) in rest.text.char_indices() {
        if matches!(character, ',' | ':') {
            splits.push(at + 1);
        }
        if splits.len() >= MAX_SPLITS {
            break;
        }
    }
    splits.extend(rest.find_word("then").map(|at| at + "then".len()));
    splits.sort_unstable();
    let action = splits
        .iter()
        .map(|&at| read_action(strip_separators(rest.from(at).trim()), around))
        .find(|action| !matches!(action.kind, StepKind::Free));
    // Words behind the first comma are an action nobody could read, unless lines are nested under them.
    let unread = || (!splits.is_empty() && !around.has_children && !rest.text.ends_with(':')).then(Reading::free);
    action.map(|action| Reading::new(action.kind, false)).or_else(unread)
}

fn read_loop(line: Words<'_>, around: Surroundings<'_>) -> Option<Reading> {
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
fn read_for_each(rest: Words<'_>) -> Option<(Target, Option<Expr>, bool)> {
    let (variable, rest) = rest.target()?;
    let rest = rest.trim().strip_any(&["in", "of", "from"])?;
    if let Some((list, behind)) = read_leading_condition(rest) {
        let complete = strip_separators(behind).trim_end_marks().is_empty();
        return Some((variable, Some(list), complete));
    }
    Some((variable, None, false))
}

fn read_whole_condition(rest: Words<'_>) -> Option<Expr> {
    let (condition, behind) = read_leading_condition(rest)?;
    let behind = strip_separators(behind);
    (behind.trim_end_marks().is_empty() || behind.trim_end_marks().is("do")).then_some(condition)
}

fn read_repeat(line: Words<'_>, around: Surroundings<'_>) -> Option<Reading> {
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
fn plain_count(words: Words<'_>) -> Option<()> {
    (words.text.split_whitespace().count() == 1 && words.text.chars().all(char::is_alphabetic)).then_some(())
}

fn strip_filler(rest: Words<'_>) -> Words<'_> {
    let fillers =
        ["the following steps", "the following lines", "the following", "these steps", "these lines", "this", "that"];
    rest.strip_any(&fillers).unwrap_or(rest)
}

fn strip_filler_until(rest: Words<'_>) -> Option<Words<'_>> {
    strip_filler(rest).strip("until")
}

fn read_end(line: Words<'_>) -> Option<Reading> {
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

fn read_return(line: Words<'_>, around: Surroundings<'_>) -> Option<Reading> {
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

fn read_assign(line: Words<'_>, around: Surroundings<'_>) -> Option<Reading> {
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

fn read_ask(line: Words<'_>, around: Surroundings<'_>) -> Option<Reading> {
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
fn find_from_user(rest: Words<'_>) -> Option<usize> {
    let at = rest.find_word("from")?;
    rest.from(at).strip_any(&["from the user", "from user", "from them"]).map(|_| at)
}

/// Whether it is another agent that is asked.
fn asks_agent(rest: Words<'_>, around: Surroundings<'_>) -> bool {
    let asked = rest.strip("the").unwrap_or(rest);
    let words: Vec<String> = asked.words().take(8).fold(Vec::new(), |mut words, (_, word)| {
        split_camel_case(word, &mut words);
        words
    });
    around.names.begins_with_agent(words.iter().map(String::as_str))
}

/// The variables that an `Ask …` line wants to have: those behind `for`, up to a word that begins something
/// else (`for $pin to verify $account`), and those it says to keep the answer in.
fn targets_behind_for(rest: Words<'_>) -> Vec<Target> {
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
            targets.push(Target { name: mention.name, ty: mention.ty.unwrap_or(Type::ANY), span: mention.span });
        }
    }
    targets
}

fn targets_of(words: Words<'_>) -> Vec<Target> {
    let target = |mention: crate::words::Mention| Target {
        name: mention.name,
        ty: mention.ty.unwrap_or(Type::ANY),
        span: mention.span,
    };
    words.mentions().into_iter().map(target).collect()
}

fn read_say(line: Words<'_>) -> Option<Reading> {
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
pub(crate) fn read_quoted(words: Words<'_>) -> Option<Arc<str>> {
    const QUOTES: [(char, char); 5] = [('"', '"'), ('\'', '\''), ('“', '”'), ('„', '“'), ('«', '»')];
    let text = words.text;
    let first = text.chars().next()?;
    let &(_, close) = QUOTES.iter().find(|(open, _)| *open == first)?;
    let content = if matches!(first, '"' | '\'') {
        let (content, length) = crate::lexer::scan_string(text)?;
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
        return crate::lexer::scan_string(text).map(|(content, _)| content.into());
    }
    text[open.len_utf8()..].strip_suffix(close).map(Into::into)
}
