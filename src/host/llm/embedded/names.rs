//! Names of people and places in what people write of themselves.

use super::english::{find_any, is_one_of, strip_any, words};

/// What stands before a name, in a few languages.
const NAME_LEADS: [&str; 40] = [
    "my name is",
    "my name's",
    "my full name is",
    "the name is",
    "the name's",
    "name is",
    "name",
    "please call me",
    "you can call me",
    "you may call me",
    "just call me",
    "call me",
    "people call me",
    "they call me",
    "everybody calls me",
    "my friends call me",
    "i am called",
    "i'm called",
    "i go by",
    "this is",
    "it is",
    "it's",
    "its",
    "i am",
    "i'm",
    "im",
    "ich heiße",
    "ich heisse",
    "mein name ist",
    "ich bin",
    "je m'appelle",
    "mon nom est",
    "je suis",
    "me llamo",
    "mi nombre es",
    "mi chiamo",
    "jeg heter",
    "jag heter",
    "ik heet",
    "meu nome é",
];

/// Of these leads what follows is often something else: "I'm fine".
const WEAK_LEADS: [&str; 10] = ["i am", "i'm", "im", "it is", "it's", "its", "this is", "ich bin", "je suis", "name"];

/// What stands before a place.
const PLACE_LEADS: [&str; 29] = [
    "i live in",
    "i live at",
    "i live near",
    "i'm living in",
    "i am living in",
    "we live in",
    "i am from",
    "i'm from",
    "im from",
    "we are from",
    "we're from",
    "i come from",
    "we come from",
    "i'm based in",
    "i am based in",
    "my home is",
    "my town is",
    "my city is",
    "ich wohne in",
    "ich lebe in",
    "ich komme aus",
    "j'habite à",
    "j'habite",
    "je viens de",
    "vivo en",
    "soy de",
    "abito a",
    "jeg bor i",
    "jag bor i",
];

/// Words that are no name of anybody or anything.
const NO_NAMES: [&str; 87] = [
    "a",
    "an",
    "the",
    "not",
    "no",
    "yes",
    "ok",
    "okay",
    "sure",
    "fine",
    "good",
    "well",
    "great",
    "bad",
    "sad",
    "happy",
    "tired",
    "hungry",
    "angry",
    "bored",
    "busy",
    "sorry",
    "here",
    "there",
    "just",
    "so",
    "very",
    "too",
    "really",
    "quite",
    "in",
    "from",
    "at",
    "on",
    "of",
    "to",
    "for",
    "with",
    "new",
    "back",
    "ready",
    "afraid",
    "glad",
    "lost",
    "sick",
    "interested",
    "what",
    "who",
    "why",
    "how",
    "when",
    "where",
    "which",
    "whatever",
    "nothing",
    "nobody",
    "something",
    "anything",
    "that",
    "this",
    "it",
    "your",
    "my",
    "me",
    "you",
    "i",
    "we",
    "they",
    "and",
    "or",
    "but",
    "hello",
    "hi",
    "hey",
    "help",
    "thanks",
    "thank",
    "please",
    "lol",
    "idk",
    "hm",
    "hmm",
    "huh",
    "um",
    "all",
    "only",
    "simple",
];

/// What ends a name or place in a sentence.
const ENDS: [&str; 22] = [
    "and", "but", "from", "because", "since", "so", "or", "und", "aber", "aus", "et", "mais", "y", "pero", "as", "if",
    "though", "by", "who", "i", "please", "thanks",
];

/// Words inside names that are written small.
const PARTICLES: [&str; 16] =
    ["van", "von", "de", "der", "den", "la", "le", "da", "di", "del", "du", "dos", "al", "bin", "ten", "zu"];

/// A name that a text gives: after words that lead to one, or because it is nothing else.
pub(super) fn name(text: &str) -> Option<String> {
    let text = leading(text);
    if let Some((lead, rest)) = NAME_LEADS.iter().find_map(|lead| strip_any(text, &[lead]).map(|rest| (*lead, rest))) {
        let rest = rest.trim_start_matches([':', ',', ' ']);
        return cut_name(rest, WEAK_LEADS.contains(&lead));
    }
    // In the middle of what is said a lead must begin a clause, or speak of oneself.
    let own = ["my", "i", "you", "please", "the"];
    let strong: Vec<&str> = NAME_LEADS.iter().filter(|lead| !WEAK_LEADS.contains(lead)).copied().collect();
    let found = find_any(text, &strong).filter(|(at, end)| {
        let before = text[..*at].trim_end();
        let speaks_of_self = text[*at..*end].contains(' ') && strip_any(&text[*at..], &own).is_some();
        before.ends_with([',', '.', '!', ';', '-', '–']) || speaks_of_self
    });
    if let Some((_, end)) = found {
        return cut_name(text[end..].trim_start_matches([':', ',', ' ']), false);
    }
    let text = ["here", "speaking"].iter().find_map(|end| strip_end(text, end)).unwrap_or(text);
    let all = words(text);
    // `Ada, nice to meet you`.
    if all.len() > 3
        && let Some(at) = text.find([',', '.', '!', ';']).filter(|at| *at > 3)
        && words(&text[..at]).len() <= 3
    {
        return whole_name(&text[..at]);
    }
    if all.len() > 3
        && let Some((at, _)) = find_any(text, &["and", "but"]).filter(|(at, _)| *at > 0)
        && words(&text[..at]).len() <= 2
        && text.starts_with(char::is_uppercase)
    {
        return whole_name(&text[..at]);
    }
    let n_most = if all.iter().all(|word| word.starts_with(char::is_uppercase)) { 4 } else { 3 };
    if all.is_empty() || all.len() > n_most || is_one_of(all[0], &ENDS) {
        return None;
    }
    whole_name(text)
}

/// Without `word` at the end.
fn strip_end<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let text = super::english::bare(text);
    let start = text.len().checked_sub(word.len()).filter(|start| *start > 0 && text.is_char_boundary(*start))?;
    let is_alone = text[..start].ends_with(char::is_whitespace) && text[start..].eq_ignore_ascii_case(word);
    is_alone.then(|| text[..start].trim_end())
}

/// A text that is a name and nothing else.
fn whole_name(text: &str) -> Option<String> {
    let text = super::english::bare(text);
    let is_name_part = |word: &&str| {
        word.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '’'))
            && (!is_one_of(word, &NO_NAMES) || is_one_of(word, &PARTICLES))
    };
    let all = words(text);
    let is_plain = text.chars().all(|c| c.is_alphabetic() || c.is_whitespace() || matches!(c, '-' | '\'' | '’' | '.'));
    (!all.is_empty() && is_plain && all.iter().all(is_name_part)).then(|| text.to_owned())
}

/// The name at the beginning of what follows a lead.
fn cut_name(rest: &str, is_weak: bool) -> Option<String> {
    let clause = rest.split([',', ';', '!', '?', '\n', '(', '"']).next().unwrap_or("");
    let clause = match clause.find(". ") {
        // `Dr. Ada Berg`, `J. R.`: a short first part is none of a sentence.
        Some(at) if at > 3 => &clause[..at],
        _ => clause,
    };
    let mut taken: Vec<&str> = Vec::new();
    for word in clause.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let goes_on =
            !is_one_of(bare, &ENDS) || (taken.is_empty() && bare.starts_with(char::is_uppercase) && bare.len() > 1);
        if taken.len() >= 4 || !goes_on || bare.is_empty() {
            break;
        }
        // After a first word with a large letter small ones do not belong to the name.
        let is_small = bare.starts_with(char::is_lowercase) && !is_one_of(bare, &PARTICLES);
        if taken.first().is_some_and(|first| first.starts_with(char::is_uppercase)) && is_small {
            break;
        }
        taken.push(word);
    }
    let first = taken.first()?.trim_matches(|c: char| !c.is_alphanumeric());
    let looks_other = is_one_of(first, &NO_NAMES) || first.chars().any(|c| c.is_ascii_digit());
    let is_small = first.starts_with(char::is_lowercase);
    if looks_other || (is_weak && is_small && (first.ends_with("ing") || first.ends_with("ed") || taken.len() > 2)) {
        return None;
    }
    whole_name(&taken.join(" "))
}

/// Without what people say before they answer.
pub(super) fn leading(text: &str) -> &str {
    const FILLERS: [&str; 30] = [
        "well",
        "oh",
        "ah",
        "um",
        "uh",
        "hm",
        "hmm",
        "so",
        "ok",
        "okay",
        "sure",
        "yes",
        "yeah",
        "yep",
        "hi there",
        "hello there",
        "hi",
        "hello",
        "hey",
        "good morning",
        "good evening",
        "good afternoon",
        "hallo",
        "hola",
        "bonjour",
        "i think",
        "i guess",
        "i believe",
        "i suppose",
        "of course",
    ];
    let mut rest = text.trim();
    while let Some(next) = strip_any(rest, &FILLERS) {
        let next = next.trim_start_matches([',', '.', '!', '-', '–', '…', ' ', ':']).trim_start();
        if next.is_empty() {
            break;
        }
        rest = next;
    }
    rest
}

/// A place that a text gives.
pub(super) fn place(text: &str) -> Option<String> {
    let text = leading(text);
    let lead = strip_any(text, &PLACE_LEADS).or_else(|| find_any(text, &PLACE_LEADS).map(|(_, end)| &text[end..]));
    let lead = lead.or_else(|| {
        strip_any(
            text,
            &["from", "in", "near", "it is", "it's", "that is", "that's", "that would be", "aus", "à", "en"],
        )
    });
    let is_led = lead.is_some();
    let rest = lead.unwrap_or(text).trim_start_matches([':', ',', ' ']);
    let rest = strip_any(
        rest,
        &["the town of", "the city of", "the village of", "a town called", "a place called", "a village called"],
    )
    .unwrap_or(rest);
    let rest = find_any(rest, &["called"]).filter(|(at, _)| *at < 30).map_or(rest, |(_, end)| rest[end..].trim_start());
    let clause = if is_led { rest.split([';', '!', '?', '\n', '(']).next().unwrap_or("") } else { rest };
    let clause = match clause.find(". ") {
        Some(at) if at > 3 => &clause[..at],
        _ => clause,
    };
    const PLACE_ENDS: [&str; 20] = [
        "and",
        "but",
        "because",
        "since",
        "where",
        "which",
        "for",
        "at the moment",
        "right now",
        "now",
        "with",
        "und",
        "et",
        "y",
        "though",
        "these days",
        "currently",
        "i think",
        "please",
        "originally",
    ];
    let end =
        if is_led { find_any(clause, &PLACE_ENDS).map_or(clause.len(), |(start, _)| start) } else { clause.len() };
    let place = super::english::bare(clause[..end].trim().trim_end_matches(','));
    let all = words(place);
    let first = all.first()?;
    let is_plain = !place.contains(['?', '@', '!']) && place.chars().any(char::is_alphabetic);
    let looks_other =
        is_one_of(first, &NO_NAMES) && !is_one_of(first, &["the", "a", "an", "new", "great", "good", "san"]);
    let n_most = if is_led { 6 } else { 5 };
    (is_plain && !looks_other && all.len() <= n_most && !is_one_of(first, &["here"])).then(|| place.to_owned())
}
