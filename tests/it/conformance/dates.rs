//! Dates in cases: the moment of `now`, and what the matchers of dates compare.

use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::temporal::Pieces;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};

/// The moment and the zone of a case's `now`; the error says what is wrong with it.
pub(crate) fn now(text: &str) -> Result<Zoned, String> {
    let offset = Pieces::parse(text).ok().and_then(|pieces| pieces.to_numeric_offset());
    let zone = TimeZone::fixed(offset.unwrap_or(Offset::UTC));
    match text.parse::<Timestamp>() {
        Ok(moment) => Ok(moment.to_zoned(zone)),
        Err(error) => Err(format!("a `now` with an offset, got {text}: {error}")),
    }
}

/// A day, or a moment where the case plays.
pub(crate) enum When {
    Day(Date),
    Moment(Zoned),
}

impl When {
    /// Reads ISO text; without an offset it is local.
    pub(crate) fn read(text: &str, zone: &TimeZone) -> Option<When> {
        if text.len() == 10 {
            return text.parse().ok().map(When::Day);
        }
        if let Ok(moment) = text.parse::<Timestamp>() {
            return Some(When::Moment(moment.to_zoned(zone.clone())));
        }
        let local: DateTime = text.parse().ok()?;
        local.to_zoned(zone.clone()).ok().map(When::Moment)
    }

    pub(crate) fn date(&self) -> Date {
        match self {
            When::Day(date) => *date,
            When::Moment(moment) => moment.date(),
        }
    }

    pub(crate) fn time(&self) -> Option<Time> {
        match self {
            When::Day(_) => None,
            When::Moment(moment) => Some(moment.time()),
        }
    }

    pub(crate) fn instant(&self) -> Option<Timestamp> {
        match self {
            When::Day(_) => None,
            When::Moment(moment) => Some(moment.timestamp()),
        }
    }
}
