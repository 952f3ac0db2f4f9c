//! Whether a value is what a case expects: equal, or what a matcher allows.

use jiff::civil::Time;
use jiff::tz::TimeZone;
use regex::Regex;
use serde_json::{Map, Value as Json};

use crate::conformance::dates::When;

const MATCHERS: [&str; 5] = ["$date", "$datetime", "$time_between", "$regex", "$any"];

/// Equal, whatever the order of members; numbers by their value, so 3 is 3.0.
pub(crate) fn equal(expected: &Json, got: &Json) -> bool {
    match (expected, got) {
        (Json::Number(expected), Json::Number(got)) => expected == got || expected.as_f64() == got.as_f64(),
        (Json::Array(expected), Json::Array(got)) => {
            expected.len() == got.len() && expected.iter().zip(got).all(|(expected, got)| equal(expected, got))
        }
        (Json::Object(expected), Json::Object(got)) => members(expected, got, &equal),
        (expected, got) => expected == got,
    }
}

/// Equal, or what the matchers inside allow.
pub(crate) fn fits(expected: &Json, got: &Json, zone: &TimeZone) -> bool {
    match (expected, got) {
        (Json::Object(matchers), got)
            if !matchers.is_empty() && matchers.keys().all(|key| MATCHERS.contains(&key.as_str())) =>
        {
            matchers.iter().all(|(matcher, wanted)| allows(matcher, wanted, got, zone))
        }
        (Json::Array(expected), Json::Array(got)) => {
            expected.len() == got.len() && expected.iter().zip(got).all(|(expected, got)| fits(expected, got, zone))
        }
        (Json::Object(expected), Json::Object(got)) => {
            members(expected, got, &|expected, got| fits(expected, got, zone))
        }
        (expected, got) => equal(expected, got),
    }
}

fn members(expected: &Map<String, Json>, got: &Map<String, Json>, fits: &dyn Fn(&Json, &Json) -> bool) -> bool {
    expected.len() == got.len()
        && expected.iter().all(|(key, expected)| got.get(key).is_some_and(|got| fits(expected, got)))
}

fn allows(matcher: &str, wanted: &Json, got: &Json, zone: &TimeZone) -> bool {
    if matcher == "$any" {
        return wanted.as_array().is_some_and(|any| any.iter().any(|wanted| fits(wanted, got, zone)));
    }
    let Some(text) = got.as_str() else { return false };
    let date = |json: &Json| When::read(json.as_str()?, zone);
    let time = |json: &Json| json.as_str()?.parse::<Time>().ok();
    match matcher {
        "$date" => match (date(wanted), date(got)) {
            (Some(wanted), Some(got)) => wanted.date() == got.date(),
            _ => false,
        },
        "$datetime" => match (date(wanted), date(got)) {
            (Some(wanted), Some(got)) => wanted.instant().is_some() && wanted.instant() == got.instant(),
            _ => false,
        },
        "$time_between" => match (wanted.as_array().map(Vec::as_slice), date(got).and_then(|got| got.time())) {
            (Some([from, to]), Some(got)) => {
                time(from).is_some_and(|from| from <= got) && time(to).is_some_and(|to| got <= to)
            }
            _ => false,
        },
        // `$regex`: the pattern is found somewhere in the text.
        _ => wanted.as_str().and_then(|pattern| Regex::new(pattern).ok()).is_some_and(|regex| regex.is_match(text)),
    }
}
