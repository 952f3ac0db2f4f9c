//! What a trigger in words is about: variables that it names, who talks with the program, or things that the program has
//! variables for.

use std::collections::HashMap;
use std::sync::Arc;

use crate::english::phrase::Phrase;
use crate::english::triggers::wordings::strip_group;
use crate::english::words::{bare_words, split_camel_case};
use crate::expr::is_one_of;
use crate::program::USER_MESSAGE;

/// The variables of an agent by the words of their names.
#[derive(Debug, Default)]
pub(crate) struct Topics(HashMap<String, Arc<str>>);

/// The most words of a name that are looked for.
const MAX_WORDS: usize = 4;

/// A shorter word says nothing by itself.
const MIN_LETTERS: usize = 3;

/// Words that stand in any sentence. The user is who speaks, not a thing.
const PLAIN: &str = "all and any are but for has not now one the was yes you user";

/// What somebody does by saying something.
const SAYS: &str = "say says said write writes wrote ask asks asked tell tells told complain complains complained calls \
    mentions mentioned swears swore insults thanks apologises apologizes insists demands threatens want wants refuses reports \
    answers replies";

/// How somebody feels or is.
const FEELS: &str = "angry annoyed unhappy happy upset sad sick ill hurt injured lost worried afraid scared frustrated confused \
    tired hungry lonely nervous impatient rude abusive drunk bored disappointed dissatisfied satisfied stressed furious";

impl Topics {
    /// The variables with these names.
    pub(crate) fn new<'a>(names: impl Iterator<Item = &'a Arc<str>>) -> Topics {
        let mut topics = Topics::default();
        for name in names.filter(|name| ***name != *USER_MESSAGE) {
            let mut words = Vec::new();
            split_camel_case(name, &mut words);
            let phrase = words.join(" ");
            if phrase.len() >= MIN_LETTERS && !is_one_of(PLAIN, &phrase) {
                topics.0.entry(phrase).or_insert_with(|| name.clone());
            }
        }
        topics
    }

    /// The variables whose updates can make a trigger in words true, in order of mention, and whether anything else
    /// may, too.
    pub(crate) fn of(&self, text: &str) -> (Vec<Arc<str>>, bool) {
        let (mut names, mut is_open) = (Vec::new(), false);
        let mut add = |name: Arc<str>| {
            if !names.contains(&name) {
                names.push(name);
            }
        };
        // A line that goes on in the next one is one sentence.
        let is_list = text.lines().next().is_some_and(|line| line.trim_end().ends_with(':'));
        let lines: Vec<&str> = if is_list { text.lines().collect() } else { vec![text] };
        for (index, clause) in lines.into_iter().flat_map(clauses).enumerate() {
            let mentions = clause.mentions();
            let (is_personal, named) = match about_person(clause) {
                _ if !mentions.is_empty() => (false, mentions.into_iter().map(|mention| mention.name.into()).collect()),
                // A record of the person may say more than what they say.
                // `$guests` counts them.
                Some(subject) => (true, self.named_in(subject.text, false)),
                None => {
                    let named = self.named_in(clause.text, true);
                    is_open |= index > 0 && named.is_empty() && is_sentence(clause);
                    (!named.is_empty() && (speaks_of_person(clause) || is_heard(clause)), named)
                }
            };
            // Each message is an update of it.
            is_personal.then(|| add(USER_MESSAGE.into()));
            named.into_iter().for_each(&mut add);
        }
        let is_open = names.is_empty() || (is_open && !text.contains('$'));
        (names, is_open)
    }

    fn named_in(&self, text: &str, in_number: bool) -> Vec<Arc<str>> {
        let mut found: Vec<Arc<str>> = Vec::new();
        let words: Vec<String> = bare_words(text).into_iter().map(str::to_lowercase).collect();
        let mut at = 0;
        while at < words.len() {
            let longest = (1..=MAX_WORDS.min(words.len() - at)).rev().find_map(|n| {
                let name = self.named(&words[at..at + n].join(" "), in_number)?;
                Some((n, name))
            });
            let Some((n, name)) = longest else {
                at += 1;
                continue;
            };
            if !found.contains(name) {
                found.push(name.clone());
            }
            at += n;
        }
        found
    }

    /// The variable of these words; `in_number`: one thing and many are the same.
    fn named(&self, phrase: &str, in_number: bool) -> Option<&Arc<str>> {
        let other = || match phrase.strip_suffix('s') {
            Some(one) => self.0.get(one),
            None => self.0.get(&format!("{phrase}s")),
        };
        self.0.get(phrase).or_else(|| in_number.then(other).flatten())
    }
}

/// The parts of a sentence that are joined.
fn clauses(line: &str) -> Vec<Phrase<'_>> {
    let line = Phrase::by_itself(line).trim().without_ticks();
    let joints = line.words().filter(|(_, word)| is_one_of("and or but while", word));
    let (mut found, mut from) = (Vec::new(), 0);
    for (at, word) in joints {
        found.push(line.until(at).from(from).trim());
        from = at + word.len();
    }
    found.push(line.from(from).trim());
    found
}

/// The person that a clause is about: what they say makes it true. What belongs to them may be anything.
fn about_person(clause: Phrase<'_>) -> Option<Phrase<'_>> {
    let rest = strip_group("when_person", clause).filter(|rest| !rest.text.starts_with(['\'', '’']))?;
    Some(clause.until(clause.text.len() - rest.text.len()))
}

fn speaks_of_person(clause: Phrase<'_>) -> bool {
    clause.words().any(|(at, _)| strip_group("people", clause.from(at)).is_some())
}

/// Whether somebody says or feels what makes it true, so that a message may tell, whatever the program calls them.
fn is_heard(clause: Phrase<'_>) -> bool {
    clause.words().any(|(_, word)| is_one_of(SAYS, word) || is_one_of(FEELS, word))
}

/// Whether it says something by itself, and not more of what was spoken of.
fn is_sentence(clause: Phrase<'_>) -> bool {
    strip_group("subject", clause).is_some()
        && clause.words().any(|(_, word)| is_one_of("is are was were has have", word))
}
