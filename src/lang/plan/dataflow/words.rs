//! The words of dates: what units, times of day and built-ins are called, and how a time is written
//! (spec `plans.md`, 3.5).

use std::fmt;
use std::str::FromStr;

use strum::VariantNames;

use crate::plan::dataflow::types::{Period, Relative, Start, TimeOfDay, Unit};

const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

impl Unit {
    /// The one of this name; lengths of time in the singular or the plural.
    pub fn from_name(name: &str) -> Option<Unit> {
        let period = || name.parse().or_else(|_| name.strip_suffix('s').unwrap_or("").parse()).map(Unit::Period).ok();
        let weekday = || WEEKDAYS.iter().zip(0..).find(|(day, _)| **day == name).map(|(_, day)| Unit::Weekday(day));
        period().or_else(weekday).or_else(|| name.parse().map(Unit::TimeOfDay).ok())
    }

    /// Whether `next`, `last` and `this` take it.
    pub fn is_calendar(self) -> bool {
        !matches!(self, Unit::Period(Period::Second | Period::Minute | Period::Hour))
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unit::Period(period) => period.fmt(f),
            Unit::Weekday(day) => f.write_str(WEEKDAYS.get(usize::from(*day)).unwrap_or(&"")),
            Unit::TimeOfDay(time) => time.fmt(f),
        }
    }
}

/// The words of a kind of date words.
pub(super) fn names<'a, T: VariantNames>() -> impl Iterator<Item = &'a str> {
    T::VARIANTS.iter().copied()
}

/// What an argument of `next`, `last` and `this` can be.
pub(super) fn calendar_names() -> impl Iterator<Item = &'static str> {
    let periods = names::<Period>().filter(|name| Unit::from_name(name).is_some_and(Unit::is_calendar));
    periods.chain(WEEKDAYS).chain(names::<TimeOfDay>())
}

/// Whether a name means something in every expression.
pub(super) fn is_builtin(name: &str) -> bool {
    Start::from_str(name).is_ok() || Relative::from_str(name).is_ok() || Unit::from_name(name).is_some()
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
