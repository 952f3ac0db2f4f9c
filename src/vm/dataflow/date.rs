//! Days and moments: the calendar of a plan, dates as services write them, and what can be done to them (spec
//! `plans.md`, 3.5).
//!
//! Pure: the time is given, and time zones come from the database inside the program.

use std::fmt;
use std::sync::Arc;

use jiff::civil::{Date, Time, Weekday};
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};
use jiff::{Span, ToSpan, Zoned};
use playhouse_lang::dataflow::{Period, Relative, Start, TimeOfDay, Unit};
use playhouse_lang::spelling::nearest;

use crate::protocol::Timestamp;

/// Which times the named times of day are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimesOfDay {
    /// `morning`.
    pub morning: Time,
    /// `midday`.
    pub midday: Time,
    /// `afternoon`.
    pub afternoon: Time,
    /// `evening`.
    pub evening: Time,
    /// `night`.
    pub night: Time,
    /// `endofday`.
    pub end_of_day: Time,
    /// `closeofbusiness`.
    pub close_of_business: Time,
}

impl Default for TimesOfDay {
    fn default() -> Self {
        TimesOfDay {
            morning: Time::constant(9, 0, 0, 0),
            midday: Time::constant(12, 0, 0, 0),
            afternoon: Time::constant(15, 0, 0, 0),
            evening: Time::constant(18, 0, 0, 0),
            night: Time::constant(21, 0, 0, 0),
            end_of_day: Time::constant(23, 59, 59, 0),
            close_of_business: Time::constant(17, 0, 0, 0),
        }
    }
}

impl TimesOfDay {
    /// The time that has this name.
    pub fn time(&self, name: TimeOfDay) -> Time {
        match name {
            TimeOfDay::Morning => self.morning,
            TimeOfDay::Midday => self.midday,
            TimeOfDay::Afternoon => self.afternoon,
            TimeOfDay::Evening => self.evening,
            TimeOfDay::Night => self.night,
            TimeOfDay::EndOfDay => self.end_of_day,
            TimeOfDay::CloseOfBusiness => self.close_of_business,
        }
    }
}

/// The moment of a plan's beginning, and where it runs.
#[derive(Clone, Debug)]
pub struct Calendar {
    now: Zoned,
    times_of_day: TimesOfDay,
}

/// The time zone called `name`: one of the IANA database (`America/Los_Angeles`), `UTC`, or an offset (`-08:00`).
/// The database is part of the program; no file is read. The error says what is wrong, and which zone may be meant.
pub fn zone(name: &str) -> Result<TimeZone, String> {
    let offset = offset_format(&shape(name)).and_then(|format| BrokenDownTime::parse(format, name).ok()?.offset());
    if let Some(zone) = offset.and_then(fixed) {
        return Ok(zone);
    }
    let database = TimeZoneDatabase::bundled();
    database.get(name).map_err(|_| match nearest(name, database.available().map(|zone| zone.to_string())) {
        Some(meant) => format!("there is no time zone `{name}`; did you mean `{meant}`?"),
        None => format!("there is no time zone `{name}`; write, for example, America/Los_Angeles, UTC or -08:00"),
    })
}

/// A moment, and how it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    zoned: Zoned,
    /// What stands after the date, in the words of `strftime`.
    format: Arc<str>,
}

/// Moments that the calendar makes are written as in the language's document: `2023-12-02T16:00:00-0800`.
const OWN_FORMAT: &str = "T%H:%M:%S%z";

/// A day without a time, or a moment.
#[derive(Clone, Debug, PartialEq)]
pub enum When {
    /// A day.
    Day(Date),
    /// A moment.
    Moment(Moment),
}

/// Why there is no such date; for people, in lower case without a full stop.
pub type DateFault = String;

fn out_of_calendar<E>(_: E) -> DateFault {
    "the date is outside the calendar, which runs from the year -9999 to 9999".to_owned()
}

impl Calendar {
    /// The calendar of a plan that begins at `now` in `zone`. What lies outside of the calendar begins at its end.
    pub fn new(now: Timestamp, zone: TimeZone, times_of_day: TimesOfDay) -> Calendar {
        let limit = if now.0 < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
        let now = jiff::Timestamp::from_millisecond(now.0).unwrap_or(limit);
        Calendar { now: now.to_zoned(zone), times_of_day }
    }

    fn today(&self) -> Date {
        self.now.date()
    }

    /// `2026-11-22 (Sunday)`.
    pub fn today_in_words(&self) -> String {
        self.now.strftime("%F (%A)").to_string()
    }

    fn moment(&self, date: Date, time: Time) -> Result<When, DateFault> {
        let zoned = date.to_datetime(time).to_zoned(self.now.time_zone().clone()).map_err(out_of_calendar)?;
        Ok(When::Moment(Moment { zoned, format: OWN_FORMAT.into() }))
    }

    /// `today`, `tomorrow`, `yesterday`, `now`.
    pub fn start(&self, start: Start) -> Result<When, DateFault> {
        let day = |date: Result<Date, jiff::Error>| date.map(When::Day).map_err(out_of_calendar);
        match start {
            Start::Today => Ok(When::Day(self.today())),
            Start::Tomorrow => day(self.today().tomorrow()),
            Start::Yesterday => day(self.today().yesterday()),
            Start::Now => Ok(When::Moment(Moment { zoned: self.now.clone(), format: OWN_FORMAT.into() })),
        }
    }

    /// `next(unit)`, `last(unit)`, `this(unit)`. Weeks begin on Sunday; of a week, a month and a year it is the
    /// first day.
    pub fn relative(&self, relative: Relative, unit: Unit) -> Result<When, DateFault> {
        let today = self.today();
        let step = match relative {
            Relative::Next => 1_i32,
            Relative::Last => -1,
            Relative::This => 0,
        };
        let from_sunday = i32::from(today.weekday().to_sunday_zero_offset());
        let (first, span) = match unit {
            Unit::TimeOfDay(name) => return self.relative_time(relative, name),
            Unit::Weekday(day) => match relative {
                Relative::This => (Ok(today), (i32::from(day) - from_sunday).days()),
                Relative::Next | Relative::Last => {
                    let weekday = Weekday::from_sunday_zero_offset(day.cast_signed());
                    (weekday.and_then(|weekday| today.nth_weekday(step, weekday)), Span::new())
                }
            },
            Unit::Period(Period::Day) => (Ok(today), step.days()),
            Unit::Period(Period::Week) => (today.checked_sub(from_sunday.days()), step.weeks()),
            Unit::Period(Period::Month) => (Ok(today.first_of_month()), step.months()),
            Unit::Period(Period::Year) => (Ok(today.first_of_year()), step.years()),
            Unit::Period(period @ (Period::Second | Period::Minute | Period::Hour)) => {
                return Err(format!("`{relative}` does not take `{period}`"));
            }
        };
        first.and_then(|first| first.checked_add(span)).map(When::Day).map_err(out_of_calendar)
    }

    /// The nearest such time after now or before now, or that of today.
    fn relative_time(&self, relative: Relative, name: TimeOfDay) -> Result<When, DateFault> {
        let time = self.times_of_day.time(name);
        let today = self.today().to_datetime(time);
        let now = self.now.datetime();
        let days = match relative {
            Relative::Next if today <= now => 1,
            Relative::Last if today >= now => -1,
            Relative::Next | Relative::Last | Relative::This => 0,
        };
        let date = self.today().checked_add(days.days()).map_err(out_of_calendar)?;
        self.moment(date, time)
    }

    /// Sets the time of day by its name.
    pub fn at_name(&self, when: &When, name: TimeOfDay) -> Result<When, DateFault> {
        self.at(when, self.times_of_day.time(name))
    }

    /// Sets the time of day by the clock: hour, minute, second.
    pub fn at_clock(&self, when: &When, (hour, minute, second): (i8, i8, i8)) -> Result<When, DateFault> {
        self.at(when, Time::new(hour, minute, second, 0).map_err(|_| "there is no such time of day".to_owned())?)
    }

    fn at(&self, when: &When, time: Time) -> Result<When, DateFault> {
        match when {
            When::Day(date) => self.moment(*date, time),
            When::Moment(moment) => {
                let zone = moment.zoned.time_zone().clone();
                let zoned = moment.zoned.date().to_datetime(time).to_zoned(zone).map_err(out_of_calendar)?;
                Ok(When::Moment(Moment { zoned, format: moment.format.clone() }))
            }
        }
    }

    /// Goes `quantity` periods ahead, or back if it is negative: days and longer ones on the calendar, where the
    /// time of day stays, shorter ones on the clock. A day has no time; on the clock it begins at midnight.
    pub fn shift(&self, when: &When, quantity: i64, period: Period) -> Result<When, DateFault> {
        let none = Span::new();
        let (span, on_clock) = match period {
            Period::Second => (none.try_seconds(quantity), true),
            Period::Minute => (none.try_minutes(quantity), true),
            Period::Hour => (none.try_hours(quantity), true),
            Period::Day => (none.try_days(quantity), false),
            Period::Week => (none.try_weeks(quantity), false),
            Period::Month => (none.try_months(quantity), false),
            Period::Year => (none.try_years(quantity), false),
        };
        let span = span.map_err(out_of_calendar)?;
        let midnight = match when {
            When::Day(date) if on_clock => Some(self.moment(*date, Time::midnight())?),
            When::Day(_) | When::Moment(_) => None,
        };
        match midnight.as_ref().unwrap_or(when) {
            When::Day(date) => date.checked_add(span).map(When::Day).map_err(out_of_calendar),
            When::Moment(Moment { zoned, format }) => {
                let zoned = zoned.checked_add(span).map_err(out_of_calendar)?;
                Ok(When::Moment(Moment { zoned, format: format.clone() }))
            }
        }
    }

    /// Reads a date as services write it: `2023-12-02`, `2023-12-02T16:00`, with seconds and a fraction, with `Z`,
    /// `-0800`, `-08:00`, `-08` or no offset, which is the plan's own zone. Anything else is no date.
    pub fn read(&self, text: &str) -> Option<When> {
        let text = &text.trim().replace('z', "Z");
        let shape = shape(text);
        let time = shape.strip_prefix("0000-00-00")?;
        if time.is_empty() {
            return text.parse().ok().map(When::Day);
        }
        let format = time_format(time)?;
        let is_zulu = format.ends_with('Z');
        let read = BrokenDownTime::parse(format!("%F{format}"), text).ok()?;
        let zone = match read.offset() {
            Some(offset) => fixed(offset)?,
            None if is_zulu => TimeZone::UTC,
            None => self.now.time_zone().clone(),
        };
        // jiff takes a leap second for the one before.
        let civil = read.to_datetime().ok().filter(|_| !text.contains(":60"))?;
        Some(When::Moment(Moment { zoned: civil.to_zoned(zone).ok()?, format: format.into() }))
    }
}

/// A text with all its digits as `0`: jiff alone would take more forms.
fn shape(text: &str) -> String {
    text.replace(|character: char| character.is_ascii_digit(), "0")
}

/// How a time of this shape is written, in the words of `strftime`.
fn time_format(shape: &str) -> Option<String> {
    let (time, offset) = shape.split_at(shape.find(['Z', '+', '-']).unwrap_or(shape.len()));
    let (separator, time) = time.split_at_checked(1).filter(|(separator, _)| matches!(*separator, "T" | "t" | " "))?;
    let time = match time {
        "00:00" => "%H:%M".to_owned(),
        "00:00:00" => "%H:%M:%S".to_owned(),
        _ => {
            let digits = time.strip_prefix("00:00:00.").filter(|digits| digits.trim_start_matches('0').is_empty())?;
            (1..=9).contains(&digits.len()).then(|| format!("%H:%M:%S.%{}f", digits.len()))?
        }
    };
    let offset = if matches!(offset, "" | "Z") { offset } else { offset_format(offset)? };
    Some(format!("{separator}{time}{offset}"))
}

/// How an offset of this shape is written.
fn offset_format(shape: &str) -> Option<&'static str> {
    match shape {
        "+00" | "-00" => Some("%:::z"),
        "+0000" | "-0000" => Some("%z"),
        "+00:00" | "-00:00" => Some("%:z"),
        _ => None,
    }
}

/// The zone of an offset of less than a day.
fn fixed(offset: Offset) -> Option<TimeZone> {
    (offset.seconds().abs() < 24 * 3600).then(|| TimeZone::fixed(offset))
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            When::Day(date) => date.fmt(f),
            When::Moment(moment) => moment.fmt(f),
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Moment { zoned, format } = self;
        let lacks_seconds = zoned.second() != 0 && !format.contains("%S");
        let format = if lacks_seconds { format.replace("%M", "%M:%S") } else { format.to_string() };
        write!(f, "{}{}", zoned.date(), zoned.strftime(&format))
    }
}
