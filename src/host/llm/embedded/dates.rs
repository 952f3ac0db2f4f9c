//! Days in what people write. Nobody here knows what day it is: "tomorrow" stays a word.

use jiff::civil::Date;
use playhouse_lang::value::MONTHS;

use crate::patterns::{Thing, places};

use super::english::words;

/// What a text that looks like a day is.
enum Day {
    /// A day of the calendar.
    Of(Date),
    /// A day whose year, or whose month, nobody can tell.
    Partial,
    /// There is no such day.
    Never,
}

/// The first day that a text gives, as it was written; `full`: as `2026-05-03`, and only if its year is there.
pub(super) fn date(said: &str, full: bool) -> Option<String> {
    let mut found: Vec<&str> = places(said, Thing::Date).into_iter().map(|place| said[place].trim()).collect();
    found.sort_by_key(|written| said.find(*written));
    let days: Vec<(&str, Day)> = found.into_iter().map(|written| (written, read(written))).collect();
    let of_calendar = |day: &Day| if let Day::Of(date) = day { Some(date.to_string()) } else { None };
    let partial = days.iter().find(|(_, day)| matches!(day, Day::Partial)).filter(|_| !full);
    days.iter().find_map(|(_, day)| of_calendar(day)).or_else(|| partial.map(|(written, _)| (*written).to_owned()))
}

fn read(written: &str) -> Day {
    let month_by_name = words(written).iter().find_map(|part| {
        let part = part.to_lowercase();
        MONTHS.iter().position(|month| part.starts_with(&month[..3]) && part.chars().all(char::is_alphabetic))
    });
    let month_by_name = month_by_name.and_then(|month| i16::try_from(month + 1).ok());
    let digits: String = written.chars().map(|c| if c.is_ascii_digit() { c } else { ' ' }).collect();
    let numbers: Option<Vec<i16>> = digits.split_whitespace().map(|number| number.parse().ok()).collect();
    let Some(numbers) = numbers else { return Day::Never };
    match (month_by_name, numbers.as_slice()) {
        (Some(month), [day, year] | [year, day]) if *year > 31 => calendar(*year, month, *day),
        (Some(month), [day]) => without_year(month, *day),
        (None, [year, month, day]) if *year > 31 => calendar(*year, *month, *day),
        (None, [first, second, year]) if *year > 31 => match (*first > 12, *second > 12) {
            (false, true) => calendar(*year, *first, *second),
            // Which is the day cannot be told, unless it is the same, or the marks say so.
            (false, false) if !written.contains('.') && first != second => Day::Partial,
            _ => calendar(*year, *second, *first),
        },
        (None, [day, month]) if written.contains('.') => without_year(*month, *day),
        _ => Day::Partial,
    }
}

fn calendar(year: i16, month: i16, day: i16) -> Day {
    let year = if year < 100 { 2000 + year } else { year };
    let parts = i8::try_from(month).ok().zip(i8::try_from(day).ok());
    parts.and_then(|(month, day)| Date::new(year, month, day).ok()).map_or(Day::Never, Day::Of)
}

/// A day of a year that is not said, which may be a leap year.
fn without_year(month: i16, day: i16) -> Day {
    match calendar(2024, month, day) {
        Day::Of(_) | Day::Partial => Day::Partial,
        Day::Never => Day::Never,
    }
}
