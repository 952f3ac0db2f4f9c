//! Times in words: `30 seconds`, `two hours`, `half an hour`.

use crate::english::phrase::Phrase;
use crate::expr::{MOMENTS, is_one_of};
use crate::program::{Days, WEEKDAYS};

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

/// The time in milliseconds that a text is and nothing else, `30 s` or `2 minutes`; never 0, and not over a year.
pub fn time(text: &str) -> Option<u64> {
    let (ms, rest) = read_time(Phrase::by_itself(text.trim()))?;
    rest.trim().is_empty().then_some(ms)
}

/// `10 minutes`: in the largest unit that leaves no rest.
pub fn time_text(ms: u64) -> String {
    let (unit, n) = match UNITS.iter().rev().find(|(length, ..)| ms.is_multiple_of(*length)) {
        Some((length, unit, _)) => (*unit, ms / length),
        None => ("millisecond", ms),
    };
    format!("{n} {unit}{}", if n == 1 { "" } else { "s" })
}

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

const MONDAYS: [&str; 7] = ["mondays", "tuesdays", "wednesdays", "thursdays", "fridays", "saturdays", "sundays"];

/// `9:00`, `9`, `9 am`, `5 p.m.`, `noon`: the minute of the day, and what follows.
pub(crate) fn read_clock<'a>(words: Phrase<'a>) -> Option<(u16, Phrase<'a>)> {
    const NAMED: [(&str, u16); 3] = [("noon", 12 * 60), ("midday", 12 * 60), ("midnight", 0)];
    const MORNING: [&str; 2] = ["am", "a.m"];
    const AFTERNOON: [&str; 2] = ["pm", "p.m"];
    if let Some(named) = NAMED.iter().find_map(|(word, minute)| Some((*minute, words.strip(word)?))) {
        return Some(named);
    }
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let n_hours = digits(words.text);
    let hour: u16 = words.text[..n_hours].parse().ok()?;
    let mut rest = words.from(n_hours);
    let mut minute: u16 = 0;
    if let Some(after) = rest.text.strip_prefix(':') {
        let n_minutes = digits(after);
        minute = after[..n_minutes].parse().ok().filter(|_| n_minutes == 2)?;
        rest = rest.from(1 + n_minutes);
    }
    let rest = rest.trim();
    let half = rest.strip_any(&MORNING).map(|rest| (0, rest)).or_else(|| Some((12, rest.strip_any(&AFTERNOON)?)));
    let (hour, rest) = match half {
        Some((half, rest)) if (1..=12).contains(&hour) => (hour % 12 + half, rest.strip_mark('.').unwrap_or(rest)),
        Some(_) => return None,
        None => (hour, rest.strip("o'clock").unwrap_or(rest)),
    };
    (hour < 24 && minute < 60).then_some((hour * 60 + minute, rest))
}

/// Whether words speak of a time by the one at which they are said: `tomorrow`, `next week`.
pub(crate) fn says_when(words: Phrase<'_>) -> bool {
    let all: Vec<&str> = words.words().map(|(_, word)| word).collect();
    let is_unit = |word: &str| {
        let word = word.to_ascii_lowercase();
        UNITS.iter().any(|(_, one, many)| *one == word || many.contains(&&*word))
            || is_one_of("month year morning evening time date", &word)
            || WEEKDAYS.contains(&&*word)
    };
    let pairs = || all.windows(2).any(|pair| is_one_of("next last this current", pair[0]) && is_unit(pair[1]));
    all.iter().any(|word| is_one_of(MOMENTS, word)) || pairs()
}

/// `Mondays`, `Monday, Wednesday and Friday`, `weekdays`: the days, and what follows.
pub(crate) fn read_days<'a>(words: Phrase<'a>) -> Option<(Days, Phrase<'a>)> {
    let (mut days, mut rest) = read_day(words)?;
    loop {
        let joined = rest.strip_mark(',').or_else(|| rest.strip_mark('&')).unwrap_or(rest);
        let next = joined.strip_any(&["and", "or"]).or((joined.start() != rest.start()).then_some(joined));
        match next.and_then(read_day) {
            Some((more, after)) => (days, rest) = (days.and(more), after),
            None => return Some((days, rest)),
        }
    }
}

fn read_day<'a>(words: Phrase<'a>) -> Option<(Days, Phrase<'a>)> {
    let word = words.first_word()?.to_ascii_lowercase();
    let one = word.strip_suffix('s').unwrap_or(&word);
    let days = match one {
        "weekday" => Days::of(0..5),
        "weekend" => Days::of(5..7),
        _ => Days::of([WEEKDAYS.iter().zip(0..).find(|(day, _)| **day == one)?.1]),
    };
    Some((days, words.from(word.len()).trim()))
}

/// All words for units, days and times of day.
pub(crate) fn time_words() -> impl Iterator<Item = &'static str> {
    let units = UNITS.iter().flat_map(|(_, one, many)| std::iter::once(*one).chain(many.iter().copied()));
    units.chain(WEEKDAYS).chain(MONDAYS).chain(["noon", "midday", "midnight", "weekdays", "weekends"])
}
