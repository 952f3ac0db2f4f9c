//! What text allows to be seen without understanding it: an e-mail address, a phone number, a date, a number, a yes
//! or no, in what a person writes; and whether it is there or is said not to be.

pub mod words;

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// Something that has a form of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thing {
    /// An e-mail address.
    Email,
    /// A phone number.
    Phone,
    /// A date: of the calendar, or counted from today.
    Date,
    /// A number.
    Number,
}

/// A yes or a no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polarity {
    /// Yes.
    Yes,
    /// No.
    No,
}

const MONTH: &str = "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|\
                     sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";

static EMAIL: Pattern =
    Pattern::new(|| compiled(r"(?i)[\p{L}\p{N}_.%+'-]*[\p{L}\p{N}_]@(?:[\p{L}\p{N}-]+\.)+\p{L}{2,}"));

/// `ann at example dot org`: both words must be spelled out, since "at" alone is everywhere.
static SPELLED_EMAIL: Pattern =
    Pattern::new(|| compiled(r"(?i)\b[\w.+-]+\s+[(\[]?at[)\]]?\s+[\w-]+(?:\s+[(\[]?dot[)\]]?\s+[a-z]{2,})+\b"));

/// Groups of digits as people write phone numbers.
static PHONE: Pattern = Pattern::new(|| compiled(r"(?:(?:\+|\b00|\()\s?)?\d[\d ()./-]{4,}\d"));

/// Seven and more digits in words: "nine two two, three three four four".
static SPELLED_PHONE: Pattern = Pattern::new(|| {
    compiled(r"(?i)\b(?:(?:oh|zero|one|two|three|four|five|six|seven|eight|nine|double|triple)\b[\s,.-]*){7,}")
});

/// Words around digits that make them something else than a phone number.
static NO_PHONE: Pattern = Pattern::new(|| {
    compiled(
        r"(?i)\b(?:order|invoice|account|ticket|card|case|reference|customer|tracking|serial|iban|id|no|nr|part|contract|version|isbn)\b\W*(?:number|no|nr|id)?\W*(?:is|was)?\W*$",
    )
});

/// A question that hands something over: "can you write to ann@example.org?".
static REQUEST: Pattern = Pattern::new(|| compiled(r"(?i)\b(?:can|could|would|will|may|might|please)\b"));

/// Words for the day itself.
static DAYS: Pattern = Pattern::new(|| {
    compiled(
        r"(?i)\b(?:(?:the )?day after tomorrow|tomorrow|(?:by|until|till|from|for|since) (?:today|yesterday)|(?:mon|tues|wednes|thurs|fri|satur|sun)day|in (?:a|\d+|two|three|four|five|six|seven|eight|nine|ten) (?:day|week|month)s?|(?:christmas|new year's) (?:eve|day))\b",
    )
});

const NUMBER_WORD: &str = "(?:zero|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|\
                           fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|\
                           eighty|ninety|hundred|thousand|million|dozen)";

/// What stands after a number that is a time of day.
static TIME_BEHIND: Pattern = Pattern::new(|| {
    compiled(r"(?i)^\s*(?::\d|h\b|o'?clock|[ap]\.?m\b|in the (?:morning|afternoon|evening)|sharp|ish\b)")
});

/// What stands before one.
static TIME_BEFORE: Pattern =
    Pattern::new(|| compiled(r"(?i)\b(?:at|around|about|by|before|after|until|till|past)\s+(?:\w+\s+past\s+)?$"));

/// A word that takes back what follows it.
static NEGATION: Pattern = Pattern::new(|| {
    compiled(
        r"(?i)(?:\b(?:not|never|no|without|except|neither|nor|cannot|dont|doesnt|isnt|wasnt|wont|cant|instead of|rather than|no longer)\b|n['’]t\b)",
    )
});

/// Words between a negation and a thing after which it is not taken back: "don't hesitate to write to …".
static NO_NEGATION: Pattern =
    Pattern::new(|| compiled(r"(?i)\b(?:hesitate|forget|mind|worry|only|problem|doubt|matter)\b"));

/// What follows a thing that is taken back: "… is not mine", "… no longer works".
static TAKEN_BACK: Pattern = Pattern::new(|| {
    compiled(
        r"(?i)^\W{0,3}(?:(?:is|was|are|were)(?:\s+not|n['’]t)\b|(?:does|did|do|will)(?:\s+not|n['’]t)\b|(?:has|is)?\s*no longer\b|(?:is|was)\s+(?:the\s+)?(?:wrong|invalid|old|outdated|incorrect|dead|former)\b|bounce|but (?:i|it|that)(?: do| does| can| will)?(?:n['’]t| not| no longer| never) (?:read|use|check|have|work|exist|own|belong))",
    )
});

/// Words that are an answer by themselves, whatever follows.
const YES: &str = r"(?:yes|yeah|yea|yep|yup|aye|with pleasure|gladly|please do|go ahead|do it|agreed|confirmed|affirmative|i (?:agree|accept|confirm)|i'd (?:love|like) (?:to|that)|that(?:'s| is| sounds| works| would be) (?:right|correct|true|fine|ok|okay|good|great|perfect|for me)|sounds (?:good|great|fine|right)|no (?:problem|worries|objections?)|why not|by all means)\b";

const NO: &str = r"(?:nope|nah|nay|not (?:really|now|yet|today|at all|interested|ok|okay|correct|right|true|for me|a chance)|no,? thanks?|no thank you|no way|(?:of course|certainly|absolutely|definitely) not|i(?:'d| would) rather not|please (?:don't|do not)|i (?:don't|do not|won't|will not|can't|cannot) (?:agree|accept|confirm|think so)|i (?:disagree|decline|refuse|reject)|that(?:'s| is) (?:not (?:right|correct|true|ok|okay|fine)|wrong|incorrect|false))\b";

/// Words that are an answer only where a clause ends after them: "fine" is one, "fine weather" is not.
const SHORT_YES: &str = "(?:sure|ok|okay|of course|certainly|absolutely|definitely|correct|right|exactly|indeed|fine|\
                         perfect|i do|i am|i will|i would|it is|that works)";

const SHORT_NO: &str = "(?:no|never|negative|rather not|better not|don't|do not|i don't|i do not|i won't|i will not|\
                        i can't|i cannot|i'm not|i am not|it's not|it is not|it isn't|i don't want (?:to|it|that))";

/// The end of a clause, or how one goes on after a short answer.
const CLAUSE_END: &str = r"(?:\s*(?:[.,!;:)–-]|$)|\s+(?:please|thanks?|thank you|then|i|you|we|let's)\b)";

/// Beginnings with "no", "right" and the like that answer nothing.
static NO_ANSWER: Pattern = Pattern::new(|| compiled(r"(?i)^(?:yes and no|never ?mind|not sure)\b"));

/// What people say before they answer.
static FILLER: Pattern = Pattern::new(|| {
    compiled(
        r"(?i)^(?:(?:well|um+|uh+|oh|ah|hm+|so|and|please|thanks|thank you|i think|i guess|i suppose|hi|hello)\b[\s,.!…-]*)+",
    )
});

/// An answer that takes itself back, or that was none: "yes, but", "I do not".
static BUT: Pattern = Pattern::new(|| compiled(r"(?i)^(?:\W*(?:but|or)|\s+not)\b\W*"));

/// Numbers with a year before or after them.
static NUMERIC_DATE: Pattern = Pattern::new(|| {
    compiled(r"\b(?:(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})|(\d{1,2})[-/.](\d{1,2})[-/.](?:\d{4}|\d{2}))\b")
});

static WRITTEN_DATE: Pattern = Pattern::new(|| {
    compiled(&format!(
        r"(?i)\b(?:(?:the )?\d{{1,2}}(?:st|nd|rd|th|\.)?(?: of)? {MONTH}|{MONTH}\.? (?:the )?\d{{1,2}}(?:st|nd|rd|th)?)\b(?:,? \d{{4}})?"
    ))
});

static IP_ADDRESS: Pattern = Pattern::new(|| compiled(r"\b\d{1,3}(?:\.\d{1,3}){3}\b"));

static NUMBER: Pattern = Pattern::new(|| compiled(r"[-+−]?\b\d+(?:[.,]\d+)*\b"));

static NUMBER_IN_WORDS: Pattern =
    Pattern::new(|| compiled(&format!(r"(?i)\b{NUMBER_WORD}(?:[- ](?:and )?(?:one|{NUMBER_WORD}))*\b")));

static SAYS_YES: Pattern = Pattern::new(|| compiled(&format!("(?i)^(?:{YES}|{SHORT_YES}{CLAUSE_END})")));

static SAYS_NO: Pattern = Pattern::new(|| compiled(&format!("(?i)^(?:{NO}|{SHORT_NO}{CLAUSE_END})")));

/// Compiled when it is needed first.
type Pattern = LazyLock<Regex>;

fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap_or_else(|fault| unreachable!("a pattern of ours is wrong: {fault}"))
}

/// Whether a text gives the thing: it stands there and is not taken back ("not ann@example.org").
pub fn gives(text: &str, thing: Thing) -> bool {
    find(text, thing).iter().any(|found| !is_taken_back(text, thing, found))
}

/// The places where a text has the form of the thing, given or taken back, the first first.
pub fn forms(text: &str, thing: Thing) -> Vec<Range<usize>> {
    let mut places = find(text, thing);
    places.sort_by_key(|found| found.start);
    places
}

/// The places where a text gives the thing, the first first.
pub fn places(text: &str, thing: Thing) -> Vec<Range<usize>> {
    let mut places = forms(text, thing);
    places.retain(|found| !is_taken_back(text, thing, found));
    places
}

/// Whether a text is the thing and nothing else.
pub fn is_whole(text: &str, thing: Thing) -> bool {
    let text = text.trim().trim_end_matches(['.', '!']);
    let whole = 0..text.len();
    match thing {
        Thing::Phone => n_digits(text) >= 7 && PHONE.find(text).is_some_and(|found| found.range() == whole),
        Thing::Email | Thing::Date | Thing::Number => find(text, thing).contains(&whole),
    }
}

/// Whether a text refuses the thing, or says that there is none: one of `words` stands after a negation, and the
/// thing itself is not there.
pub fn withholds(text: &str, thing: Thing, words: &Regex) -> bool {
    let is_denied = |found: regex::Match<'_>| is_negated(text, found.start(), 7);
    find(text, thing).is_empty() && words.find_iter(text).any(is_denied)
}

/// The answer that a text begins with; none if it is none, or both.
pub fn answer(text: &str) -> Option<Polarity> {
    let text = text.trim().replace('’', "'");
    let rest = FILLER.find(&text).map_or(&*text, |filler| &text[filler.end()..]);
    if NO_ANSWER.is_match(rest) {
        return None;
    }
    let (polarity, found) = match (SAYS_YES.find(rest), SAYS_NO.find(rest)) {
        // "no problem" is a yes, "of course not" a no: whatever says more.
        (Some(yes), Some(no)) if yes.end() > no.end() => (Polarity::Yes, yes),
        (_, Some(no)) => (Polarity::No, no),
        (Some(yes), None) => (Polarity::Yes, yes),
        (None, None) => return None,
    };
    let behind = &rest[found.end()..];
    // "ok?" asks, "why not?" does not; "yes, but" is not finished, "yes, but no" is.
    let asks = behind.trim_start().starts_with('?') && !found.as_str().eq_ignore_ascii_case("why not");
    match BUT.find(behind) {
        _ if asks => None,
        Some(but) => SAYS_NO.is_match(&behind[but.end()..]).then_some(Polarity::No),
        None => Some(polarity),
    }
}

/// All places where a text has the form of the thing.
fn find(text: &str, thing: Thing) -> Vec<Range<usize>> {
    match thing {
        Thing::Email => EMAIL.find_iter(text).chain(SPELLED_EMAIL.find_iter(text)).map(|found| found.range()).collect(),
        Thing::Phone => find_phones(text),
        Thing::Date => find_dates(text),
        Thing::Number => find_numbers(text),
    }
}

fn find_dates(text: &str) -> Vec<Range<usize>> {
    let part = |captures: &regex::Captures<'_>, index: usize| -> u32 {
        captures.get(index).and_then(|part| part.as_str().parse().ok()).unwrap_or(0)
    };
    let is_day = |a: u32, b: u32| (1..=12).contains(&a.min(b)) && (1..=31).contains(&a.max(b));
    let numeric = NUMERIC_DATE.captures_iter(text).filter(|captures| match captures.get(1) {
        Some(_) => is_day(part(captures, 2), part(captures, 3)),
        None => is_day(part(captures, 4), part(captures, 5)),
    });
    let numeric = numeric.filter_map(|captures| captures.get(0)).map(|found| found.range());
    let in_words = WRITTEN_DATE.find_iter(text).chain(DAYS.find_iter(text)).map(|found| found.range());
    numeric.chain(in_words).collect()
}

fn find_phones(text: &str) -> Vec<Range<usize>> {
    let others: Vec<Range<usize>> =
        find_dates(text).into_iter().chain(IP_ADDRESS.find_iter(text).map(|found| found.range())).collect();
    let is_phone = |found: &regex::Match<'_>| {
        let shown = found.as_str();
        let before = &text[..found.start()];
        // Amounts are round.
        let has_form = shown.starts_with(['+', '(', '0']) || shown.contains([' ', '-', '/', '.']);
        (7..=15).contains(&n_digits(shown))
            && (has_form || !shown.ends_with("000"))
            && !NO_PHONE.is_match(before)
            && !before.ends_with(|c: char| c.is_alphanumeric() || "@_#$€£".contains(c))
            && !others.iter().any(|other| overlap(other, &found.range()))
    };
    let digits = PHONE.find_iter(text).filter(is_phone);
    digits.chain(SPELLED_PHONE.find_iter(text)).map(|found| found.range()).collect()
}

/// Numbers that count something: none in an address, a phone number, a date or a time of day.
fn find_numbers(text: &str) -> Vec<Range<usize>> {
    let emails = EMAIL.find_iter(text).map(|found| found.range());
    let others: Vec<Range<usize>> = emails.chain(find_dates(text)).chain(find_phones(text)).collect();
    let is_part = |c: char| c.is_alphanumeric() || "/:_".contains(c);
    let is_number = |found: &Range<usize>| {
        let (before, behind) = (&text[..found.start], &text[found.end..]);
        !others.iter().any(|other| overlap(other, found))
            && !before.ends_with(is_part)
            && !behind.starts_with(['/', '_', '-'])
            && !TIME_BEHIND.is_match(behind)
            && !TIME_BEFORE.is_match(before)
    };
    let digits = NUMBER.find_iter(text).map(|found| found.range());
    let words = NUMBER_IN_WORDS.find_iter(text).map(|found| found.range());
    let mut found: Vec<Range<usize>> = digits.chain(words).filter(is_number).collect();
    // "the blue one" counts nothing; "one" alone does.
    if text.trim().trim_end_matches(['.', '!']).eq_ignore_ascii_case("one") {
        found.push(0..text.len());
    }
    found
}

/// Whether what stands at `found` is said not to be it, or only asked about.
fn is_taken_back(text: &str, thing: Thing, found: &Range<usize>) -> bool {
    match thing {
        Thing::Email | Thing::Phone => {
            is_negated(text, found.start, 4) || TAKEN_BACK.is_match(&text[found.end..]) || is_asked_about(text, found)
        }
        // "I'm not there on 3 May" gives the day, "not on 3 May" does not; people propose both in questions.
        Thing::Date | Thing::Number => is_negated(text, found.start, 2),
    }
}

/// Whether the sentence around `found` is a question, and none that asks for something to be done.
fn is_asked_about(text: &str, found: &Range<usize>) -> bool {
    let behind = &text[found.end..];
    let end = behind.find(['.', '!', '?', '\n']).filter(|at| behind[*at..].starts_with('?'));
    let before = &text[..found.start];
    let begin = before.rfind(['.', '!', '?', '\n']).map_or(0, |at| at + 1);
    end.is_some_and(|end| !REQUEST.is_match(&text[begin..found.end + end]))
}

/// Whether a negation stands among the last `n_words` before `start`, in the same clause.
fn is_negated(text: &str, start: usize, n_words: usize) -> bool {
    let before = &text[..start];
    let clause = before.rfind([',', ';', '!', '?', '\n', ':']).map_or(before, |at| &before[at + 1..]);
    let clause = clause.rfind(". ").map_or(clause, |at| &clause[at + 2..]);
    let clause = clause.rfind(" but ").map_or(clause, |at| &clause[at + 5..]);
    let mut words = clause.split_whitespace().rev().take(n_words).collect::<Vec<_>>();
    words.reverse();
    let near = words.join(" ");
    NEGATION.is_match(&near) && !NO_NEGATION.is_match(&near)
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

fn n_digits(text: &str) -> usize {
    text.chars().filter(char::is_ascii_digit).count()
}
