//! What a line that is left to the model was probably meant to be. Each repair is a small change of the line; the
//! first that makes the reader understand more of it is what is proposed. So what `check` tells people to write is
//! always read, and by the grammar itself.

use std::sync::LazyLock;

use crate::diagnostic::spelling::Vocabulary;
use crate::english::grammar;
use crate::english::lines;
use crate::english::phrase::Phrase;
use crate::english::reading::{ItemReading, Near, Reading, Surroundings};
use crate::english::words::{capitalised, scan_path};
use crate::expr::{condition_words, is_one_of, scan_name};
use crate::program::{Loop, StepKind};

/// How many repairs of one line are tried; a bound for hostile lines only.
pub(super) const MAX_REPAIRS: usize = 24;

/// Lines longer than this are prose.
const MAX_LINE: usize = 400;

/// Words that lines begin with and that no table has.
const HEADS: [&str; 16] = [
    "if",
    "else",
    "otherwise",
    "unless",
    "when",
    "return",
    "ask",
    "user",
    "wait",
    "then",
    "and",
    "or",
    "times",
    "each",
    "none",
    "ago",
];

/// Ordinary words that are one letter from a word of the language, and so are meant as they are written.
const ORDINARY: &str = "along april area august bear best book books bread cake calm case cases cash cause chance charge \
    choices clean clients code core cost coast court customers dates december dogs ease events faces fair fact fall fast \
    february fewest fill finds fine fire food form four friday full fund game games gate guests hand hate head held hide \
    hire hold hope hour house hours info january july june keys kind knows land lane last late latter lead leaves left \
    letter lies life lift like likes line link links lists live lives load loan lock look lord lose loss lost loud low \
    main make makes male march master mate matter may mind mine minor monday mode moves name names news nights nine \
    november notes october offers ones orders others page pages paid part party past patients phones place plain plan \
    plane plans plate play player points port posts pounds price prices puts quote race rain rare rate rates rent ride \
    rise risk road role rooms root rose rows sale sales sand saturday score seat sell september sessions sets shop shows \
    side sign size slow snow sold sort spend spent stage stand star stars state states step steps sunday take taken tall \
    tank tape taste team tells tent test tests that's thing things think three thursday times today tomorrow tools tours \
    train trees trip tuesday type uses values view wait walk wall want wash waste weeks wednesday week white whole wire \
    wise wood words works world yesterday";

/// The words of lines.
static LANGUAGE: LazyLock<Vocabulary> = LazyLock::new(|| vocabulary(grammar::words()));

/// The words of a table with those that conditions and lines begin with or are joined by.
pub(super) fn vocabulary(words: impl Iterator<Item = &'static str>) -> Vocabulary {
    Vocabulary::new(words.chain(condition_words()).chain(HEADS).map(str::to_owned))
}

/// A change of a line: from where to where, what stands there then, and why.
pub(super) type Repair = (usize, usize, String, String);

/// What `line`, which was read as `item`, was probably meant to be, if the reader (`read`) understands more of that.
pub(super) fn find_near<'a>(
    line: Phrase<'a>,
    item: &ItemReading<'_>,
    around: Surroundings<'_>,
    read: impl Fn(Phrase<'_>) -> usize,
) -> Option<Near> {
    if line.text.len() > MAX_LINE || !may_be_more(line, item) {
        return None;
    }
    let before = understood(item);
    let repairs = misspelt(line, &LANGUAGE, around).chain(slips(line)).chain(unclosed(line)).chain(calls(line, around));
    let repairs = repairs.chain(unfinished(line)).chain(without_sign(line, around)).chain(remark(line));
    for (from, to, text, why) in repairs.take(MAX_REPAIRS) {
        let repaired = format!("{}{text}{}", &line.text[..from], &line.text[to..]);
        if read(Phrase::by_itself(&repaired)) > before {
            let place = line.from(from).until(to - from).span();
            let repair = Some((line.text[from..to].to_owned(), text));
            return Some(Near { place, message: why, wording: repaired.trim().to_owned(), repair });
        }
    }
    let may_be_two = line.text.contains(['$', '"', '“', '(']);
    if may_be_two { two_actions(line, before, &read) } else { None }
}

/// Whether a small change could make more of a line: prose that is said or found out is what it is, but for a quote or a
/// bracket, and so is a long sentence.
fn may_be_more(line: Phrase<'_>, item: &ItemReading<'_>) -> bool {
    const MAX_WORDS: usize = 12;
    const MAX_PLAIN_WORDS: usize = 6;
    let reading = item.action.as_ref().map_or(&item.line, |action| &action.reading);
    let is_prose = if let StepKind::Say { .. } = &reading.kind {
        item.line.explicit || item.action.is_none()
    } else {
        matches!(&reading.kind, StepKind::Ask { targets } if !targets.is_empty())
    };
    // Of a branch whose action is understood only the condition is left.
    let open = item.action.as_ref().filter(|action| action.reading.explicit).map_or(line, |action| action.condition);
    let is_plain = !open.text.contains(|c: char| c == '$' || c.is_ascii_digit());
    let is_long = || line.words().nth(if is_plain { MAX_PLAIN_WORDS } else { MAX_WORDS }).is_some();
    open.text.contains(['"', '“', '(', '[']) || !(is_prose || is_long())
}

/// How much of an item is the interpreter's, or said exactly enough to be.
pub(super) fn understood(item: &ItemReading<'_>) -> usize {
    let actions = [&item.action, &item.otherwise].into_iter().flatten().map(|action| &action.reading);
    std::iter::once(&item.line).chain(actions).map(exactness).sum()
}

fn exactness(reading: &Reading) -> usize {
    if reading.explicit {
        return 2;
    }
    if let StepKind::Ask { targets } = &reading.kind {
        return usize::from(!targets.is_empty()) + targets.len();
    }
    let StepKind::Loop(header) = &reading.kind else { return 0 };
    let is_filled = match header {
        Loop::ForEach { list, .. } => list.is_some(),
        Loop::Repeat { count } => count.is_some(),
        Loop::Until { condition, .. } | Loop::While { condition } => condition.is_some(),
    };
    2 * usize::from(is_filled)
}

/// A word that is nearly one of the language, or of the name of a playbook.
pub(super) fn misspelt<'a>(
    line: Phrase<'a>,
    language: &'a Vocabulary,
    around: Surroundings<'a>,
) -> impl Iterator<Item = Repair> + 'a {
    let words = line.words().filter(|(_, word)| word.len() > 1 && word.len() < 24);
    let unknown = words.map(|(at, word)| (at, word, word.to_lowercase()));
    let unknown = unknown.filter(move |(_, _, lower)| !language.has(lower) && !around.names.has_title_word(lower));
    unknown.flat_map(move |(at, word, lower)| {
        let mut like = language.like(&lower).filter(|known| is_slip(&lower, known)).peekable();
        let is_meant = like.peek().is_some() && is_one_of(ORDINARY, &lower);
        let known = like.filter(|_| !is_meant).chain(around.names.title_words_like(&lower));
        let repair = |known: &str| {
            let capital = word.starts_with(char::is_uppercase);
            let known = if capital { capitalised(known) } else { known.to_owned() };
            let why = format!("`{word}` is not understood here; `{known}` is");
            (at, at + word.len(), known, why)
        };
        known.map(repair).collect::<Vec<_>>()
    })
}

/// Whether one word can be a slip of the finger in place of another: the first letter is right, or letters changed
/// places. Another letter in a short word makes another word (`May`, `say`).
fn is_slip(word: &str, known: &str) -> bool {
    let changed_places = word.len() == known.len() && strsim::levenshtein(word, known) == 2;
    changed_places || (word.as_bytes()[0] == known.as_bytes()[0] && (word.len() > 3 || word.len() != known.len()))
}

/// Signs that look like an operator, and words that are often taken for others.
pub(super) fn slips(line: Phrase<'_>) -> impl Iterator<Item = Repair> {
    const WORDS: [(&str, &str); 6] = [
        (" more then ", " more than "),
        (" less then ", " less than "),
        (" greater then ", " greater than "),
        (" fewer then ", " fewer than "),
        (" it failed", " the last call failed"),
        (" that failed", " the last call failed"),
    ];
    const SIGNS: [(&str, &str); 11] = [
        ("=>", ">="),
        ("=<", "<="),
        ("===", "=="),
        (">==", ">="),
        ("<==", "<="),
        ("=!", "!="),
        ("> >", ">"),
        ("+ =", "+="),
        ("- =", "-="),
        ("=+", "+="),
        ("=-", "-="),
    ];
    // Most lines have none of them.
    let words = if line.text.contains(" then ") || line.text.contains(" failed") { &WORDS[..] } else { &[] };
    let signs = if line.text.contains(['=', '>']) { &SIGNS[..] } else { &[] };
    words.iter().chain(signs).chain(&[("$ ", "$")]).filter_map(move |(sign, meant)| {
        let at = line.text.find(sign)?;
        let why = format!("`{}` is not understood here; `{}` is", sign.trim(), meant.trim());
        Some((at, at + sign.len(), (*meant).to_owned(), why))
    })
}

/// A bracket or a quote that is not closed: closed before a joint, or at the end; or one that closes nothing.
pub(super) fn unclosed(line: Phrase<'_>) -> impl Iterator<Item = Repair> {
    let (mut open, mut quote) = (Vec::new(), None);
    let mut too_many = None;
    for (at, sign) in line.text.char_indices() {
        match (quote, sign) {
            (Some((_, end)), sign) => quote = quote.filter(|_| sign != end),
            (None, '"') => quote = Some((at, '"')),
            (None, '“') => quote = Some((at, '”')),
            (None, '(') => open.push((at, ')')),
            (None, '[') => open.push((at, ']')),
            (None, '{') => open.push((at, '}')),
            (None, ')' | ']' | '}') => {
                if open.pop().is_none_or(|(_, end)| end != sign) {
                    too_many = Some((at, at + 1, String::new(), format!("this `{sign}` closes nothing")));
                }
            }
            (None, _) => {}
        }
    }
    let (last, closers) = match quote {
        Some((at, end)) => (Some(at), end.to_string()),
        None => (open.last().map(|(at, _)| *at), open.iter().rev().map(|(_, end)| *end).collect()),
    };
    let ends = last.into_iter().flat_map(move |start| {
        let joints = [" and ", " or ", ", "].into_iter().filter_map(move |joint| line.text[start..].find(joint));
        let whole = line.trim_end_marks().text.len();
        joints.map(move |at| start + at).chain(std::iter::once(whole)).filter(move |at| *at > start)
    });
    let why = move |start: usize| format!("`{}` is not closed", line.text[start..].chars().next().unwrap_or('('));
    ends.map(move |at| (at, at, closers.clone(), why(last.unwrap_or(0)))).chain(too_many)
}

/// A call whose arguments are not in round brackets, or have no comma between them.
fn calls<'a>(line: Phrase<'a>, around: Surroundings<'a>) -> impl Iterator<Item = Repair> + 'a {
    let start = line.text.find("= ").map_or(0, |at| at + 2);
    let name = scan_path(&line.text[start..]);
    let end = start + name;
    let rest = line.from(end).text;
    let whole = line.trim_end_marks().text.len().max(end);
    let is_known = around.names.is_callable(around.agent, &line.text[start..end]);
    let arguments = rest.trim().trim_end_matches(['.', ']', ')']).trim_start_matches(['[', '(', ' ']);
    let why = "put the arguments of a call in brackets, separated by commas";
    let separate =
        |text: &str| text.replace("\" \"", "\", \"").replace(" \"", ", \"").replace(" $", ", $").replace(",,", ",");
    let texts = is_known.then(|| [arguments.to_owned(), separate(arguments)]);
    let texts = texts.into_iter().flatten().filter(|text| text.starts_with(['$', '"']));
    texts.map(move |text| (end, whole, format!("({text})"), why.to_owned()))
}

/// What ends where more must follow.
pub(super) fn unfinished(line: Phrase<'_>) -> impl Iterator<Item = Repair> {
    const ENDS: [(&str, &str, &str); 15] = [
        ("if", " $x is 1", "a condition"),
        ("unless", " $x is 1", "a condition"),
        ("while", " $x is 1", "a condition"),
        ("until", " $x is 1", "a condition"),
        ("than", " 0", "a value"),
        ("least", " 0", "a value"),
        ("most", " 0", "a value"),
        ("is", " 0", "a value"),
        ("with", " \"a\"", "a value"),
        ("contains", " \"a\"", "a value"),
        ("in", " $list", "a list"),
        ("of", " $list", "a list"),
        ("to", " 0", "a value"),
        ("for", " $answer", "a variable"),
        ("ask", " for $answer", "a variable"),
    ];
    let at = line.trim_end_marks().text.len();
    let last = line.until(at).words().last().filter(|(start, word)| start + word.len() == at).map(|(_, word)| word);
    let missing = |what: &str| format!("{what} is missing here");
    let ends = ENDS.into_iter().filter(move |(word, ..)| last.is_some_and(|last| last.eq_ignore_ascii_case(word)));
    let ends = ends.map(move |(_, more, what)| (at, at, more.to_owned(), missing(what)));
    let number = last.is_some_and(|last| last.parse::<u32>().is_ok());
    let numbers = [(" times", "`times`"), (" and 5", "`and` and a second number")].into_iter().filter(move |_| number);
    ends.chain(numbers.map(move |(more, what)| (at, at, more.to_owned(), missing(what))))
}

/// A variable without its `$`: a name that variables of the program have, or one that a value is given to.
fn without_sign<'a>(line: Phrase<'a>, around: Surroundings<'a>) -> impl Iterator<Item = Repair> + 'a {
    let mut first = true;
    let asks = line.strip_any(&["ask", "wait", "request", "prompt"]).is_some();
    let returns = line.strip("return").is_some();
    line.words().filter_map(move |(at, word)| {
        let is_first = std::mem::replace(&mut first, false);
        let after = line.from(at + word.len()).text.trim_start();
        let is_assigned = is_first && (after.starts_with("= ") || after.starts_with("+= ") || after.starts_with("-= "));
        // `For each dish in $menu`
        let before = line.text[..at].trim_end();
        let is_loops = after.starts_with("in $") && (before.ends_with("each") || before.ends_with("every"));
        // `Return the order` may give back what a line found, whoever else has an `$order`.
        let is_described = returns && before.ends_with("the");
        let is_compared = is_condition(before) && is_compared(after);
        let is_known = match asks {
            true => has_type(after),
            false => is_loops || is_compared || (!is_described && around.names.is_variable(word)),
        };
        let is_name = scan_name(word) == word.len() && !line.text[..at].ends_with(['$', '.']);
        let why = || (at, at, "$".to_owned(), format!("without `$` this is not a variable: `${word}`"));
        (is_name && (is_assigned || is_known)).then(why)
    })
}

/// Whether a condition begins after `before`.
fn is_condition(before: &str) -> bool {
    is_one_of("if when unless while until", before.rsplit(' ').next().unwrap_or_default())
}

/// Whether a sign stands at the beginning that compares, or a text that is compared with.
fn is_compared(after: &str) -> bool {
    ["> ", "< ", ">= ", "<= ", "== ", "!= ", "is \""].iter().any(|sign| after.starts_with(sign))
}

/// Whether a type stands at the beginning: `:int`.
fn has_type(after: &str) -> bool {
    after.strip_prefix(':').is_some_and(|rest| rest.starts_with(char::is_alphabetic))
}

/// A remark in brackets after what would be exact without it, or before what is done then.
fn remark(line: Phrase<'_>) -> impl Iterator<Item = Repair> {
    let text = line.trim_end_marks().text;
    let why = "text in brackets is left to the model, and the whole line with it; put a remark after `//`";
    let found = text.rsplit_once(" (").and_then(|(before, rest)| Some((before, rest.split_once(')')?)));
    let is_remark = |inside: &str, after: &str| {
        !inside.contains(['$', '"', '(']) && (after.is_empty() || after.starts_with([',', ':']))
    };
    let found = found.filter(|(_, (inside, after))| is_remark(inside, after));
    found.into_iter().map(move |(before, (inside, after))| {
        (before.len(), line.text.len(), format!("{after} // {inside}"), why.to_owned())
    })
}

/// Two actions on one line, where each by itself is understood. What ends something after another action is read as lines
/// of their own before ([`crate::english::items`]).
fn two_actions(line: Phrase<'_>, before: usize, read: &impl Fn(Phrase<'_>) -> usize) -> Option<Near> {
    let joints = [", and then ", " and then ", ", then ", "; then ", " and ", "; ", ". "];
    let places = joints.into_iter().flat_map(|joint| line.text.match_indices(joint)).take(MAX_REPAIRS);
    let (first, at, second) = places.map(|(at, joint)| (line.until(at), at, line.from(at + joint.len()).trim())).find(
        |(first, _, second)| {
            let is_quoted = first.text.matches(['"', '“', '”']).count() % 2 == 1 || second.text.starts_with(['"', '“']);
            // The second is nothing by itself more often than the first.
            let other = if is_quoted { 0 } else { read(*second) };
            let one = if other > 0 { read(*first) } else { 0 };
            one > 0 && one + other > before
        },
    )?;
    Some(lines::two_actions(line.from(at), first.text.trim(), second.text))
}
