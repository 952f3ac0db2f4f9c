//! Who takes part in a conversation, and who plainly does not.

use crate::english::phrase::Phrase;
use crate::expr::is_one_of;

/// What authors call the one who talks with the program, in the form of a pattern.
pub(crate) const PARTNERS: &str = "user|guest|customer|caller|client|patient|visitor|student|person|player";

/// What authors call people who are somewhere else.
const OTHERS: &str = "boss bosses manager managers supervisor supervisors superior superiors colleague colleagues \
    coworker coworkers team teams expert experts specialist specialists management headquarters HR";

/// Where the words for somebody end.
const AFTER_SOMEBODY: &str = "for to about whether if what which how who when where why";

/// Somebody whom a line asks and who is not the user.
pub(crate) struct SomebodyElse<'a> {
    /// The words for them: `my boss`.
    pub(crate) words: Phrase<'a>,
    /// The word that says who they are: `boss`.
    pub(crate) noun: &'a str,
}

/// What follows the word for the user, or a pronoun, at the beginning.
pub(crate) fn strip_partner(words: Phrase<'_>) -> Option<Phrase<'_>> {
    let words = words.strip("the").or_else(|| words.strip("them").is_some().then_some(words))?;
    let word = words.first_word()?;
    (is_partner(word)).then(|| words.from(word.len()).trim())
}

/// Whether a word means the user.
pub(crate) fn is_partner(word: &str) -> bool {
    const PRONOUNS: &str = "them they him her he she you us";
    let word = word.to_lowercase();
    let one = word.strip_suffix('s').unwrap_or(&word);
    PARTNERS.split('|').any(|known| known == word || known == one) || is_one_of(PRONOUNS, &word)
}

/// Whom a line asks, if that is somebody else: `Ask my boss for …`, `Ask Peter whether …`, `Wait for approval by the boss`.
pub(crate) fn asked_of_somebody_else(line: Phrase<'_>) -> Option<SomebodyElse<'_>> {
    const ASKS: [&str; 4] = ["ask", "check with", "confirm with", "wait for"];
    const GETS: [&str; 7] = ["wait for", "ask for", "get", "obtain", "request", "seek", "await"];
    const APPROVALS: [&str; 3] = ["approval", "permission", "consent"];
    const ARTICLES: [&str; 3] = ["the", "an", "a"];
    let approval =
        line.strip_any(&GETS).and_then(|rest| rest.strip_any(&ARTICLES).unwrap_or(rest).strip_any(&APPROVALS));
    if let Some(by) = approval.and_then(|rest| rest.strip_any(&["from", "by", "of"])) {
        // `approval of the refund` says what is approved.
        let certain = approval.is_some_and(|rest| rest.strip("of").is_none());
        return somebody_else(by, certain);
    }
    somebody_else(line.strip_any(&ASKS)?, false)
}

/// The words for somebody at the beginning of `words`. If they certainly are for somebody, anyone but the user is another.
fn somebody_else(words: Phrase<'_>, certain: bool) -> Option<SomebodyElse<'_>> {
    /// `the manager of the shop`, `one more senior support expert`.
    const MAX_WORDS: usize = 4;
    let after = |determiners: &[&str]| words.strip_any(determiners);
    let mine = after(&["my", "our"]);
    let another = after(&["another", "a", "an", "some", "somebody", "someone"]);
    let described = mine.or(another).or_else(|| after(&["the", "your", "their", "his", "her", "its", "any"]));
    let start = described.unwrap_or(words);
    let (mut noun, mut end, mut is_followed) = (None, 0, false);
    for (at, word) in start.words().take(MAX_WORDS + 1) {
        // A mark or a variable ends the words, too.
        let is_next = start.text[end..at].chars().all(char::is_whitespace);
        if !is_next || is_one_of(AFTER_SOMEBODY, word) || is_one_of("of from by in on at and or with", word) {
            is_followed = is_next && is_one_of(AFTER_SOMEBODY, word);
            break;
        }
        (noun, end) = (Some(word), at + word.len());
    }
    let noun = noun?;
    // `the manager's name` may be a thing that the user knows.
    let is_owner = start.text[end..].starts_with(['\'', '’']);
    let is_name = || {
        let mut letters = noun.chars();
        let is_capital = letters.next().is_some_and(char::is_uppercase) && letters.all(char::is_lowercase);
        is_capital && noun.len() > 1 && described.is_none() && is_followed && noun.len() == end
    };
    let of_another = || match words.first_word() {
        Some(word) if is_one_of("somebody someone", word) => is_one_of("else", noun),
        _ => another.is_some() && is_one_of("person human", noun),
    };
    // `Ask my questions about …`.
    let is_mine = || mine.is_some() && is_followed && !is_one_of("question questions", noun);
    let is_else = is_one_of(OTHERS, noun)
        || of_another()
        || (!is_partner(noun) && (is_name() || is_mine() || (certain && described.is_some())));
    let approves = || {
        let owned = start.from(end).text.trim_start_matches(['\'', '’', 's']);
        is_one_of("approval permission consent", owned.split_whitespace().next().unwrap_or_default())
    };
    let whole = words.until(start.start() - words.start() + end);
    (is_else && (!is_owner || approves())).then_some(SomebodyElse { words: whole, noun })
}
