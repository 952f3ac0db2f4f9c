//! Questions to the user: which variables their answers go to, and what they can be answered with, where their words say
//! that: one of some values, or a type.

use std::sync::Arc;

use crate::english::grammar::people::strip_partner;
use crate::english::grammar::time::{read_clock, read_days, says_when};
use crate::english::phrase::{Mention, Phrase};
use crate::english::reading::{Reading, Surroundings};
use crate::english::words::{closing_bracket, split_camel_case};
use crate::expr::is_one_of;
use crate::expr::lexer::{scan_curly_quotes, scan_string};
use crate::program::{StepKind, Target, Type, TypeKind};
use crate::value::Value;

/// More than any question lists; a bound for hostile lines only.
const MAX_CHOICES: usize = 64;

/// A question with its variables, before its words are taken for something else.
pub(super) fn read_asking(line: Phrase<'_>, around: Surroundings<'_>) -> Option<Reading> {
    read_ask(line, around).filter(|reading| !reading.kind.targets().is_empty())
}

/// A question that is asked again and again, with its variables: `keep asking for $pin`.
pub(super) fn read_keep_asking(line: Phrase<'_>) -> Option<Reading> {
    let targets = targets_behind_for(line.strip("keep asking")?);
    (!targets.is_empty()).then(|| Reading::new(StepKind::Ask { targets }, false))
}

/// A question, or a wait for an answer.
pub(super) fn read_ask(line: Phrase<'_>, around: Surroundings<'_>) -> Option<Reading> {
    const ASKS: [&str; 5] = ["ask", "prompt the user", "prompt user", "request", "yld for user"];
    // How to ask is no question.
    let manners = ["ask politely", "ask only", "ask one", "ask kindly", "ask questions", "ask nothing", "ask no"];
    if line.strip_any(&manners).is_some() {
        return None;
    }
    let ask = |mut targets: Vec<Target>| {
        if let [target] = &mut targets[..]
            && target.ty == Type::ANY
        {
            target.ty = type_in_words(line).unwrap_or(Type::ANY);
        }
        Some(Reading::new(StepKind::Ask { targets }, false))
    };
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
    // `Find out which floor they are on ($floor)`, `Let the guest choose a $room`, `Collect $name and $email`.
    for (people, verbs) in [(false, &FINDS[..]), (true, &CHOOSES[..])] {
        let rest = if people { line.strip_any(&["let", "have"]).and_then(strip_partner) } else { Some(line) };
        let Some(rest) = rest.and_then(|rest| rest.strip_any(verbs)) else { continue };
        let targets = targets_behind_for(rest.strip_any(&["the", "a", "an"]).unwrap_or(rest));
        // What is fetched from elsewhere is no question.
        let elsewhere = ["from", "with", "using", "in", "of", "by", "via", "through"]
            .iter()
            .any(|word| rest.find_word(word).is_some());
        if !targets.is_empty() && (people || !elsewhere) {
            return ask(targets);
        }
    }
    // Until a time comes, or something holds, is no question.
    let awaited = line.strip("wait until");
    let is_time = |rest| says_when(rest) || read_days(rest).is_some() || read_clock(rest).is_some();
    if awaited.is_some_and(|rest| is_time(rest) || rest.condition().is_some()) {
        return None;
    }
    let waits = ["wait until", "let them answer", "let the user answer", "confirm with the", "check with the"];
    if line.strip_any(&waits).is_some() {
        return ask(targets_behind_for(line));
    }
    // `Greet the guest and ask how you can help`: what stands before it is said in the same breath.
    if let Some(at) = line.find_word("ask").filter(|&at| line.text[..at].trim_end().ends_with(" and")) {
        return ask(targets_behind_for(line.from(at + "ask".len())));
    }
    let rest = line.strip_any(&["get", "collect", "obtain", "receive", "gather", "read"])?;
    ask(targets_of(rest.until(find_from_user(rest)?)))
}

/// Verbs that find something out by asking, and those of somebody who is asked to choose.
const FINDS: [&str; 9] =
    ["get", "collect", "obtain", "gather", "input", "prompt for", "inquire about", "enquire about", "find out"];
const CHOOSES: [&str; 10] =
    ["pick", "choose", "select", "enter", "type in", "type", "give", "tell you", "decide on", "say"];

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

/// The variables that an `Ask …` line wants to have: those after `for` and its like, up to a word that begins something
/// else (`for $pin to verify $account`), those with a type, those after a mark or in brackets (`Ask who they are: $name`,
/// `Ask for the day ($day)`), and the one that is the whole question (`Ask $name`).
fn targets_behind_for(rest: Phrase<'_>) -> Vec<Target> {
    const STOPS: [&str; 18] = [
        "to", "about", "of", "with", "because", "so", "using", "from", "on", "at", "since", "if", "when", "whether",
        "before", "after", "than", "the",
    ];
    const STARTS: [&str; 7] = ["for", "in", "into", "as", "store", "update", "set"];
    let mentions = rest.mentions_outside_braces();
    let mut targets: Vec<Target> = Vec::new();
    let start = rest.span().start as usize;
    let mut words = rest.words().peekable();
    let (mut wanted, mut asked_for) = (false, false);
    for mention in mentions {
        let at = mention.span.start as usize - start;
        while let Some((_, word)) = words.next_if(|(word_at, _)| *word_at < at) {
            let is = |list: &[&str]| list.iter().any(|other| word.eq_ignore_ascii_case(other));
            // `for the $name` asks for it; `whether the $tool` does not.
            asked_for = is(&STARTS) || (asked_for && (is(&["the", "a", "an"]) || !is(&STOPS)));
            wanted = asked_for || (wanted && !is(&STOPS));
        }
        let before = rest.text[..at].trim_end();
        let is_marked = before.ends_with([',', ':', '(', '→', '>', '"', '”', '’'])
            || before.ends_with("'s")
            || before.ends_with("’s");
        let after = rest.text[mention.span.end as usize - start..].trim_start();
        let is_last = after.is_empty() || after.starts_with([',', '.', ':', ')', ';']) || after.starts_with("and ");
        let is_theirs = is_last
            && ["their", "user's", "guest's", "caller's", "customer's"].iter().any(|word| before.ends_with(word));
        // `the type of damage, $kind: one of water or fire`
        let lists = || after.strip_prefix(':').is_some_and(|rest| rest.trim_start().starts_with("one of "));
        // `$reason (one of: damaged, other)`, and nothing after it.
        let is_bracketed = || {
            let inside = rest.from(mention.span.end as usize - start).trim();
            let close = inside.strip_bracket().and_then(|inside| closing_bracket(inside.text));
            close.is_some_and(|close| matches!(inside.text[close + 2..].trim_start().chars().next(), None | Some('.')))
        };
        let is_whole =
            (before.is_empty() && (is_last || is_bracketed())) || is_theirs || lists() || names_answer(rest, &mention);
        if wanted || mention.ty.is_some() || is_marked || is_whole {
            wanted = true;
            targets.push(mention.into_target());
        }
    }
    targets.dedup_by(|next, known| next.name == known.name);
    targets
}

/// Whether a question is about the variable: `how many $guests`, `which $meal they'd like`, `for the number of $rounds`.
fn names_answer(rest: Phrase<'_>, mention: &Mention) -> bool {
    const ASKERS: [&str; 5] = ["how many", "how much", "which", "what", "number of"];
    let before = rest.until(mention.span.start as usize - rest.start()).trim();
    let after = rest.from(mention.span.end as usize - rest.start());
    let goes_on = after.text.trim_start();
    let ends = goes_on.is_empty() || goes_on.starts_with(['.', ',', ':', '?', '(', ';']);
    let is_for_user =
        || after.strip_any(&["they", "he", "she", "you", "to"]).is_some() || strip_partner(after.trim()).is_some();
    let asks = |asker: &&str| asker.split(' ').rev().try_fold(before, |rest, word| rest.strip_end(word)).is_some();
    ASKERS.iter().any(asks) && (ends || is_for_user())
}

fn targets_of(words: Phrase<'_>) -> Vec<Target> {
    words.mentions_outside_braces().map(Mention::into_target).collect()
}

/// The variable of a question and its possible values: `$kind: one of water, fire or theft`,
/// `$size: "small", "medium" or "large"`, `$subject: maths | art`, `$device (laptop / phone / tablet)`. Words without quotes
/// are values only where a sign or `one of` says that they are, or where there are three at least: `$phone: home or mobile`
/// may ask for a number.
pub(crate) fn choices_in(line: Phrase<'_>) -> Option<(Arc<str>, Vec<Value>)> {
    let mentions = line.mentions();
    let [mention] = &mentions[..] else { return None };
    // `$x: str | None` is a type.
    if mention.ty.is_some() {
        return None;
    }
    let after = line.from(mention.span.end as usize - line.start()).trim();
    let (list, is_bracketed) = list_of_choices(after)?;
    let named = list.strip_any(&ONE_OF);
    let list = named.map_or(list, |rest| rest.strip_mark(':').unwrap_or(rest));
    let (mut rest, mut choices, mut is_open) = (list, Vec::new(), named.is_none() && !list.text.contains('|'));
    let mut all_quoted = true;
    loop {
        let (choice, is_quoted, after) = read_choice(rest, is_bracketed)?;
        all_quoted &= is_quoted;
        choices.push(choice);
        let after = after.trim();
        if after.is_empty() {
            break;
        }
        let slash = after.strip_mark('/').filter(|_| is_bracketed);
        let joined = after.strip_mark(',').or_else(|| after.strip_mark('|')).or(slash);
        let or = joined.unwrap_or(after).strip("or");
        // `a, b or c`, `a / b / c`: it is closed by what joins the last ones.
        is_open &= !(choices.len() > 1 && (or.is_some() || slash.is_some()));
        rest = or.or(joined)?;
        if choices.len() >= MAX_CHOICES {
            return None;
        }
    }
    let is_date = |value: &Value| matches!(value, Value::Str(text) if !text.is_empty() && text.chars().all(|c| "DMY".contains(c)));
    let is_closed = choices.len() > 1 && (!is_open || all_quoted) && !choices.iter().all(is_date);
    is_closed.then(|| (mention.name.into(), choices))
}

const ONE_OF: [&str; 3] = ["one of these", "one of", "either"];

/// Where values may be listed after a variable, and whether in brackets: `: …`, `(…)`, `[…]`, `- one of …`,
/// `they'd like: …`.
fn list_of_choices(after: Phrase<'_>) -> Option<(Phrase<'_>, bool)> {
    let after = after.until(after.text.trim_end_matches('?').len()).trim_end_marks();
    if let Some(list) = after.strip_mark(':') {
        return Some((list, false));
    }
    for (open, close) in [('(', ')'), ('[', ']')] {
        if let Some(inside) = after.strip_mark(open) {
            let end = inside.text.find(close)?;
            let is_over = inside.from(end + 1).text.trim_end_matches(['.', '?', ' ']).is_empty();
            return is_over.then(|| (inside.until(end).trim(), true));
        }
    }
    let dashed = ['-', '–', '—', ',', ';'].into_iter().find_map(|mark| after.strip_mark(mark));
    if let Some(list) = dashed.filter(|list| list.strip_any(&ONE_OF).is_some()) {
        return Some((list, false));
    }
    let (words, _) = after.text.split_once(':').filter(|(words, _)| !words.contains(['.', '?', ',', '"', '(']))?;
    let is_for_user = after.first_word().is_some_and(|word| is_one_of("they you to", word));
    is_for_user.then(|| (after.from(words.len() + 1).trim(), false))
}

/// A name of a state or kind: one to four words.
fn plain(words: Phrase<'_>) -> Option<String> {
    const MAX_WORDS: usize = 4;
    let is_plain = |c: char| c.is_alphanumeric() || c.is_whitespace() || matches!(c, '-' | '_' | '\'' | '’');
    let parts: Vec<&str> = words.text.split_whitespace().collect();
    // `or anything else` leaves it open.
    let is_open = parts.iter().any(|word| is_one_of("anything something else similar etc whatever any", word));
    let is_name = words.text.chars().all(is_plain) && (1..=MAX_WORDS).contains(&parts.len()) && !is_open;
    is_name.then(|| parts.join(" "))
}

/// A value, whether it stands in quotes, and what follows; between slashes only in brackets.
fn read_choice<'a>(rest: Phrase<'a>, is_bracketed: bool) -> Option<(Value, bool, Phrase<'a>)> {
    if rest.text.starts_with(['"', '\'']) {
        let (text, length) = scan_string(rest.text)?;
        return Some((Value::from(text), true, rest.from(length)));
    }
    if let Some((text, length)) = scan_curly_quotes(rest.text) {
        return Some((Value::from(text), true, rest.from(length)));
    }
    let marks: &[char] = if is_bracketed { &[',', '|', '/'] } else { &[',', '|'] };
    let mark = rest.text.find(marks).unwrap_or(rest.text.len());
    let end = rest.until(mark).find_word("or").filter(|at| *at > 0).unwrap_or(mark);
    let words = rest.until(end).trim();
    let value = match words.text.parse() {
        Ok(number) => Value::Int(number),
        Err(_) => Value::from(plain(words)?),
    };
    Some((value, false, rest.from(end)))
}

/// The type that a question says in words: `(yes/no)`, `as a whole number`, `Ask whether …`.
fn type_in_words(line: Phrase<'_>) -> Option<Type> {
    const WORDS: [(&str, TypeKind); 19] = [
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
        ("(boolean)", TypeKind::Bool),
        ("(date)", TypeKind::Date),
        ("(yyyy-mm-dd)", TypeKind::Date),
        ("(time)", TypeKind::Time),
        ("(number between ", TypeKind::Float),
        ("(a number between ", TypeKind::Float),
        ("must be a number", TypeKind::Float),
        ("must be a positive number", TypeKind::Float),
        ("(a list of ", TypeKind::List),
    ];
    let text = line.text.to_lowercase();
    let said = WORDS.iter().find(|(words, _)| text.contains(words)).map(|(_, kind)| *kind);
    // `whether they want tea or coffee` is answered otherwise, and so may be `whether there is anything else` and
    // `whether $name is right, for $name`.
    let is_open = ["or", "any", "anything", "else"].iter().any(|word| line.find_word(word).is_some())
        || line.mentions().len() > 1;
    let is_yes_no = || line.strip_any(&["ask whether", "ask the user whether", "ask if", "ask the user if"]).is_some();
    let has_length = || {
        ["(max. ", "(max ", "(at most ", "(up to "].iter().any(|words| text.contains(words))
            && text.contains(" characters)")
    };
    let kind = said
        .or_else(|| has_length().then_some(TypeKind::Str))
        .or_else(|| says_range(line).then_some(TypeKind::Float))
        .or_else(|| (!is_open && is_yes_no()).then_some(TypeKind::Bool))?;
    Some(Type { kind, optional: false })
}

/// Whether the answer lies between two numbers: `(1-10)`, `(1 to 5 stars)`, `from 1 to 5`.
fn says_range(line: Phrase<'_>) -> bool {
    // `(4-6 digits)` is how long it is.
    const LENGTHS: &str = "digit digits character characters letter letters word words sentence sentences line lines \
        item items entry entries thing things number numbers example examples";
    let inside = line.text.split(['(', ')']).nth(1).filter(|_| line.text.contains('('));
    let end = line.find_word("from").map(|at| line.trim_end_marks().from(at + "from".len()).trim().text);
    let is_range = |text: &str, units: usize| {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let n_first = digits(text);
        let rest = text[n_first..].trim_start();
        let joined = ["to ", "-", "–"].iter().find_map(|joint| rest.strip_prefix(joint)).map(str::trim_start);
        joined.is_some_and(|rest| {
            let more = &rest[digits(rest)..];
            let is_length = more.split_whitespace().any(|unit| is_one_of(LENGTHS, unit));
            let is_unit =
                more.chars().all(|c| c.is_alphabetic() || c == ' ') && more.split_whitespace().count() <= units;
            n_first > 0 && digits(rest) > 0 && is_unit && !is_length
        })
    };
    inside.is_some_and(|inside| is_range(inside.trim(), 1)) || end.is_some_and(|end| is_range(end, 0))
}
