//! The words of dates: what units, times of day and built-ins are called, and how a time is written
//! (spec `plans.md`, 3.5).

use std::fmt;

use crate::dataflow::types::{Method, Period, Relative, Start, TimeOfDay, Unit};

pub(super) const STARTS: [(&str, Start); 4] =
    [("today", Start::Today), ("tomorrow", Start::Tomorrow), ("yesterday", Start::Yesterday), ("now", Start::Now)];

pub(super) const RELATIVES: [(&str, Relative); 3] =
    [("next", Relative::Next), ("last", Relative::Last), ("this", Relative::This)];

pub(super) const METHODS: [(&str, Method); 3] = [("at", Method::At), ("plus", Method::Plus), ("minus", Method::Minus)];

pub(super) const PERIODS: [(&str, Period); 7] = [
    ("second", Period::Second),
    ("minute", Period::Minute),
    ("hour", Period::Hour),
    ("day", Period::Day),
    ("week", Period::Week),
    ("month", Period::Month),
    ("year", Period::Year),
];

const WEEKDAYS: [(&str, u8); 7] =
    [("Sunday", 0), ("Monday", 1), ("Tuesday", 2), ("Wednesday", 3), ("Thursday", 4), ("Friday", 5), ("Saturday", 6)];

pub(super) const TIMES_OF_DAY: [(&str, TimeOfDay); 7] = [
    ("morning", TimeOfDay::Morning),
    ("midday", TimeOfDay::Midday),
    ("afternoon", TimeOfDay::Afternoon),
    ("evening", TimeOfDay::Evening),
    ("night", TimeOfDay::Night),
    ("endofday", TimeOfDay::EndOfDay),
    ("closeofbusiness", TimeOfDay::CloseOfBusiness),
];

fn find<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(word, _)| *word == name).map(|(_, meaning)| *meaning)
}

fn word<T: PartialEq>(table: &[(&'static str, T)], meaning: &T) -> &'static str {
    table.iter().find(|(_, other)| other == meaning).map_or("", |(word, _)| word)
}

/// Types that a table has all words of.
macro_rules! named {
    ($($named:ident in $table:ident),*) => { $(
        impl $named {
            /// The one of this name.
            pub fn from_name(name: &str) -> Option<$named> {
                find(&$table, name)
            }
        }

        impl fmt::Display for $named {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(word(&$table, self))
            }
        }
    )* };
}

named!(Start in STARTS, Relative in RELATIVES, Method in METHODS, Period in PERIODS, TimeOfDay in TIMES_OF_DAY);

impl Unit {
    /// The one of this name; lengths of time in the singular or the plural.
    pub fn from_name(name: &str) -> Option<Unit> {
        let period = || find(&PERIODS, name).or_else(|| find(&PERIODS, name.strip_suffix('s')?));
        let weekday = || find(&WEEKDAYS, name).map(Unit::Weekday);
        period().map(Unit::Period).or_else(weekday).or_else(|| find(&TIMES_OF_DAY, name).map(Unit::TimeOfDay))
    }

    /// Whether `next`, `last` and `this` take it.
    pub fn is_calendar(self) -> bool {
        match self {
            Unit::Period(Period::Second | Period::Minute | Period::Hour) => false,
            Unit::Period(Period::Day | Period::Week | Period::Month | Period::Year)
            | Unit::Weekday(_)
            | Unit::TimeOfDay(_) => true,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unit::Period(period) => period.fmt(f),
            Unit::Weekday(day) => f.write_str(word(&WEEKDAYS, day)),
            Unit::TimeOfDay(time) => time.fmt(f),
        }
    }
}

/// The words of a table.
pub(super) fn names<T>(table: &'static [(&str, T)]) -> impl Iterator<Item = &'static str> {
    table.iter().map(|(name, _)| *name)
}

/// What an argument of `next`, `last` and `this` can be.
pub(super) fn calendar_names() -> impl Iterator<Item = &'static str> {
    let periods = names(&PERIODS).filter(|name| Unit::from_name(name).is_some_and(Unit::is_calendar));
    periods.chain(names(&WEEKDAYS)).chain(names(&TIMES_OF_DAY))
}

/// Whether a name means something in every expression.
pub(super) fn is_builtin(name: &str) -> bool {
    Start::from_name(name).is_some() || Relative::from_name(name).is_some() || Unit::from_name(name).is_some()
}

/// Reads `3:00pm`, `3pm`, `15:00`, `15:00:30`: hour, minute, second. A bare number is no time.
pub fn read_clock(text: &str) -> Option<(i8, i8, i8)> {
    let text = text.trim().to_ascii_lowercase();
    let half = [("am", 0), ("pm", 12)].into_iter().find_map(|(end, add)| Some((text.strip_suffix(end)?, add)));
    let (clock, afternoon) = half.map_or((&*text, None), |(clock, add)| (clock.trim_end(), Some(add)));
    let mut parts = clock.split(':');
    let number = |text: &str, digits: std::ops::RangeInclusive<usize>, below: i8| {
        let is_number = digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i8>().ok().filter(|number| is_number && *number < below)
    };
    let hour = number(parts.next()?, 1..=2, 24)?;
    let minutes = parts.next();
    let minute = minutes.map_or(Some(0), |text| number(text, 2..=2, 60))?;
    let second = parts.next().map_or(Some(0), |text| number(text, 2..=2, 60))?;
    if parts.next().is_some() {
        return None;
    }
    match afternoon {
        Some(add) => (1..=12).contains(&hour).then_some((hour % 12 + add, minute, second)),
        None => minutes.is_some().then_some((hour, minute, second)),
    }
}
