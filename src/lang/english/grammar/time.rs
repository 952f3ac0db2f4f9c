//! Times in words: `30 seconds`, `two hours`, `half an hour`.

use crate::english::phrase::Phrase;

/// How long a time may be that a trigger waits for; longer ones are mistakes, and sums of them would overflow.
const MAX_WAIT_MS: u64 = 366 * DAY_MS;

const DAY_MS: u64 = 24 * HOUR_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const MINUTE_MS: u64 = 60 * 1000;

/// Per unit its length in milliseconds, its word for one, and the words for many.
const UNITS: [(u64, &str, &[&str]); 5] = [
    (1000, "second", &["seconds", "secs", "sec", "s"]),
    (MINUTE_MS, "minute", &["minutes", "mins", "min"]),
    (HOUR_MS, "hour", &["hours", "hrs", "hr", "h"]),
    (DAY_MS, "day", &["days"]),
    (7 * DAY_MS, "week", &["weeks"]),
];

const BEATS: [(&str, u64); 3] = [("hourly", HOUR_MS), ("daily", DAY_MS), ("weekly", 7 * DAY_MS)];

/// Words before a unit that say how many, besides numbers: `every other day`.
const COUNTS: [(&str, u64); 4] = [("a", 1), ("an", 1), ("other", 2), ("second", 2)];

/// `30 seconds`, `two hours`: the time in milliseconds, never 0, and what follows.
pub(crate) fn read_time<'a>(words: Phrase<'a>) -> Option<(u64, Phrase<'a>)> {
    if let Some(unit) = words.strip_any(&["half an", "half a", "half"]) {
        let (unit_ms, behind) = read_unit(unit, true)?;
        return Some((unit_ms / 2, behind));
    }
    let n_digits = words.text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = if n_digits > 0 {
        (words.text[..n_digits].parse::<u64>().ok()?, words.from(n_digits))
    } else if let Some((word, number)) = words.leading_number() {
        (u64::try_from(number).ok()?, words.from(word.len()))
    } else {
        COUNTS.iter().find_map(|(word, number)| Some((*number, words.strip(word)?)))?
    };
    let (unit_ms, behind) = read_unit(rest.trim(), false)?;
    let time = number.checked_mul(unit_ms).filter(|time| (1..=MAX_WAIT_MS).contains(time))?;
    Some((time, behind))
}

/// A unit of time in milliseconds, and what follows; `single`: only words for one.
pub(crate) fn read_unit<'a>(words: Phrase<'a>, single: bool) -> Option<(u64, Phrase<'a>)> {
    UNITS.iter().find_map(|(ms, one, many)| {
        let many = if single { None } else { words.strip_any(many) };
        Some((*ms, many.or_else(|| words.strip(one))?))
    })
}

/// `hourly`: how long it is from one to the next, and what follows.
pub(crate) fn read_beat<'a>(words: Phrase<'a>) -> Option<(u64, Phrase<'a>)> {
    BEATS.iter().find_map(|(word, ms)| Some((*ms, words.strip(word)?)))
}

/// All words for units.
pub(crate) fn unit_words() -> impl Iterator<Item = &'static str> {
    UNITS.iter().flat_map(|(_, one, many)| std::iter::once(*one).chain(many.iter().copied()))
}
