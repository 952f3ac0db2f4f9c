//! Days in what people write. Nobody here knows what day it is: "tomorrow" stays a word.

use crate::host::classify::patterns::{Thing, places};

use super::english::words;
use super::numbers::numbers;
use crate::value::Value;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The first day that a text gives, as it was written; `full`: as `2026-05-03`, and only if its year is there.
pub(super) fn date(said: &str, full: bool) -> Option<String> {
    let mut found: Vec<&str> = places(said, Thing::Date).into_iter().map(|place| said[place].trim()).collect();
    found.sort_by_key(|written| said.find(*written));
    if let Some(iso) = found.iter().find_map(|written| with_year(written)) {
        return Some(iso);
    }
    if full { None } else { found.first().map(|written| (*written).to_owned()) }
}

/// `2026-05-03` of a day with its year; none if day and month cannot be told apart.
fn with_year(written: &str) -> Option<String> {
    let parts = words(written);
    let month_by_name = parts.iter().find_map(|part| {
        let part = part.to_lowercase();
        MONTHS.iter().position(|month| part.starts_with(month) && part.chars().all(char::is_alphabetic))
    });
    let digits: String = written.chars().map(|c| if c.is_ascii_digit() { c } else { ' ' }).collect();
    let numbers: Vec<u32> = digits.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    let (year, month, day) = match (month_by_name, numbers.as_slice()) {
        (Some(month), [day, year] | [year, day]) if *year > 31 && *day <= 31 => {
            (*year, u32::try_from(month).ok()? + 1, *day)
        }
        (None, [year, month, day]) if *year > 31 => (*year, *month, *day),
        (None, [first, second, year]) if *year > 31 => {
            let is_dotted = written.contains('.');
            match (*first > 12, *second > 12) {
                (true, false) => (*year, *second, *first),
                (false, true) => (*year, *first, *second),
                (false, false) if is_dotted || first == second => (*year, *second, *first),
                _ => return None,
            }
        }
        _ => return None,
    };
    let year = if year < 100 { 2000 + year } else { year };
    ((1..=12).contains(&month) && (1..=31).contains(&day)).then(|| format!("{year:04}-{month:02}-{day:02}"))
}

/// Whether a text that gives no day is about one all the same: "some day in spring", "the 3rd", "as soon as possible".
pub(super) fn speaks_of_time(said: &str) -> bool {
    const TIMES: &str = "day days date week weeks weekend month months year years morning noon midday afternoon \
                         evening night tonight spring summer autumn fall winter christmas easter holidays now soon \
                         later possible whenever anytime sometime next first january february march april may june \
                         july august september october november december";
    date(said, false).is_some()
        || said.bytes().any(|byte| byte.is_ascii_digit())
        || words(said).iter().any(|word| TIMES.split(' ').any(|time| time.eq_ignore_ascii_case(word)))
}

/// Whether a text names a temperature or any other amount: exactly one number.
pub(super) fn one_number(said: &str) -> Option<Value> {
    match numbers(said).as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    }
}
