//! The one rule for whether the model is told which day it is: where a playbook deals with days.

use playhouse_lang::program::Playbook;

/// Words that days are spoken of with.
const WORDS: [&str; 37] = [
    "day",
    "days",
    "date",
    "dates",
    "today",
    "tonight",
    "tomorrow",
    "yesterday",
    "weekday",
    "weekdays",
    "weekend",
    "week",
    "weeks",
    "month",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "january",
    "february",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "birthday",
    "deadline",
    "year",
    "years",
    "calendar",
    "appointment",
];

/// Whether a line, a name or another text of the playbook speaks of days.
pub(crate) fn deals_with_days(playbook: &Playbook) -> bool {
    let lines = playbook.steps.iter().map(|step| &*step.text);
    let names = playbook.parameters.iter().map(|parameter| &*parameter.name);
    lines.chain(names).chain([&*playbook.description, &*playbook.notes]).any(speaks_of_days)
}

fn speaks_of_days(text: &str) -> bool {
    // Most words are shorter than any of these, and need not be compared.
    let words = text.split(|character: char| !character.is_alphabetic()).filter(|word| word.len() > 2);
    words.into_iter().any(|word| WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)))
}
