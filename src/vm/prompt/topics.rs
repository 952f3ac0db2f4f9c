//! What texts of a program speak of: some of what the model is told is of use only there.

use playhouse_lang::program::{Playbook, Step};

/// Words that days are spoken of with.
const DAYS: [&str; 37] = [
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

/// Words that repetition is spoken of with.
const REPETITION: [&str; 9] = ["until", "while", "each", "every", "repeat", "all", "again", "through", "times"];

/// Whether a line, a name or another text of the playbook speaks of days: the model is told which day it is.
pub(super) fn deals_with_days(playbook: &Playbook) -> bool {
    let lines = playbook.steps.iter().map(|step| &*step.text);
    let names = playbook.parameters.iter().map(|parameter| &*parameter.name);
    lines.chain(names).chain([&*playbook.description, &*playbook.notes]).any(|text| speaks_of(text, &DAYS))
}

/// Whether a line speaks of doing something more than once.
pub(super) fn repeats(line: &Step) -> bool {
    speaks_of(&line.text, &REPETITION)
}

fn speaks_of(text: &str, topic: &[&str]) -> bool {
    // Most words are shorter than any of these, and need not be compared.
    let mut words = text.split(|character: char| !character.is_alphabetic()).filter(|word| word.len() > 2);
    words.any(|word| topic.iter().any(|known| word.eq_ignore_ascii_case(known)))
}
