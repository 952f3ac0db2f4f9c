//! Days and moments: the calendar of a plan, dates as services write them, and what can be done to them (spec
//! `plans.md`, 3.5).
//!
//! Pure: the time is given, and time zones come from the database inside the program.

use std::fmt;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};
use jiff::{Span, ToSpan, Zoned};
use playhouse_lang::dataflow::{Period, Relative, Start, TimeOfDay, Unit};

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
    if let Some((offset, _)) = read_offset(name).filter(|(_, length)| *length == name.len()) {
        return Ok(TimeZone::fixed(offset));
    }
    let database = TimeZoneDatabase::bundled();
    database.get(name).map_err(|_| {
        let distance = |zone: &String| strsim::damerau_levenshtein(&name.to_lowercase(), &zone.to_lowercase());
        let zones = database.available().map(|zone| zone.to_string());
        let near = zones.map(|zone| (distance(&zone), zone)).filter(|(distance, _)| *distance <= name.len() / 3);
        match near.min() {
            Some((_, meant)) => format!("there is no time zone `{name}`; did you mean `{meant}`?"),
            None => format!("there is no time zone `{name}`; write for instance America/Los_Angeles, UTC or -08:00"),
        }
    })
}

/// A moment, and how it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    zoned: Zoned,
    form: Form,
}

/// How a moment is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Form {
    /// What stands between date and time.
    separator: char,
    seconds: bool,
    /// The digits of the fraction of a second.
    fraction: usize,
    offset: OffsetForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OffsetForm {
    /// `Z`.
    Zulu,
    /// `-08`.
    Hours,
    /// `-0800`.
    Compact,
    /// `-08:00`.
    Colon,
    /// Nothing: the time is that of the plan's zone.
    Local,
}

/// Moments that the calendar makes are written as in the language's document: `2023-12-02T16:00:00-0800`.
const OWN_FORM: Form = Form { separator: 'T', seconds: true, fraction: 0, offset: OffsetForm::Compact };

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
    "the date lies outside of the calendar, which goes from the year -9999 to 9999".to_owned()
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
        Ok(When::Moment(Moment { zoned, form: OWN_FORM }))
    }

    /// `today`, `tomorrow`, `yesterday`, `now`.
    pub fn start(&self, start: Start) -> Result<When, DateFault> {
        let day = |date: Result<Date, jiff::Error>| date.map(When::Day).map_err(out_of_calendar);
        match start {
            Start::Today => Ok(When::Day(self.today())),
            Start::Tomorrow => day(self.today().tomorrow()),
            Start::Yesterday => day(self.today().yesterday()),
            Start::Now => Ok(When::Moment(Moment { zoned: self.now.clone(), form: OWN_FORM })),
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
            Unit::Weekday(day) => {
                let ahead = i32::from(day) - from_sunday;
                let days = match relative {
                    Relative::This => ahead,
                    Relative::Next if ahead <= 0 => ahead + 7,
                    Relative::Last if ahead >= 0 => ahead - 7,
                    Relative::Next | Relative::Last => ahead,
                };
                (Ok(today), days.days())
            }
            Unit::Period(Period::Day) => (Ok(today), step.days()),
            Unit::Period(Period::Week) => (today.checked_sub(from_sunday.days()), step.weeks()),
            Unit::Period(Period::Month) => (Ok(today.first_of_month()), step.months()),
            Unit::Period(Period::Year) => (Ok(today.first_of_year()), step.years()),
            Unit::Period(period @ (Period::Second | Period::Minute | Period::Hour)) => {
                return Err(format!("`{relative}` takes no `{period}`"));
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
                Ok(When::Moment(Moment { zoned, form: moment.form }))
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
        let shifted = |moment: &Moment| {
            let zoned = moment.zoned.checked_add(span).map_err(out_of_calendar)?;
            Ok(When::Moment(Moment { zoned, form: moment.form }))
        };
        match when {
            When::Day(date) if on_clock => match self.moment(*date, Time::midnight())? {
                When::Moment(moment) => shifted(&moment),
                day @ When::Day(_) => Ok(day),
            },
            When::Day(date) => date.checked_add(span).map(When::Day).map_err(out_of_calendar),
            When::Moment(moment) => shifted(moment),
        }
    }

    /// Reads a date as services write it: `2023-12-02`, `2023-12-02T16:00`, with seconds and a fraction, with `Z`,
    /// `-0800`, `-08:00`, `-08` or no offset, which is the plan's own zone. Anything else is no date.
    pub fn read(&self, text: &str) -> Option<When> {
        let text = text.trim();
        let date = read_date(text.get(..10)?)?;
        let mut characters = text[10..].chars();
        let Some(separator @ ('T' | 't' | ' ')) = characters.next() else {
            return (text.len() == 10).then_some(When::Day(date));
        };
        let rest = characters.as_str();
        let hour = two_digits(rest)?;
        let rest = rest[2..].strip_prefix(':')?;
        let minute = two_digits(rest)?;
        let mut rest = &rest[2..];
        let mut form = Form { separator, seconds: false, fraction: 0, offset: OffsetForm::Local };
        let mut second = 0;
        let mut nanosecond = 0;
        if let Some(behind) = rest.strip_prefix(':') {
            second = two_digits(behind)?;
            form.seconds = true;
            rest = &behind[2..];
            if let Some(behind) = rest.strip_prefix('.') {
                form.fraction = behind.len() - behind.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
                let digits = behind.get(..form.fraction).filter(|digits| digits.len() <= 9)?;
                nanosecond = format!("{digits:0<9}").parse().ok()?;
                rest = &behind[form.fraction..];
                (form.fraction > 0).then_some(())?;
            }
        }
        let civil = DateTime::from_parts(date, Time::new(hour, minute, second, nanosecond).ok()?);
        let zone = match rest {
            "" => self.now.time_zone().clone(),
            "Z" | "z" => {
                form.offset = OffsetForm::Zulu;
                TimeZone::UTC
            }
            _ => {
                let (offset, length) = read_offset(rest)?;
                form.offset = match length {
                    3 => OffsetForm::Hours,
                    5 => OffsetForm::Compact,
                    _ => OffsetForm::Colon,
                };
                (length == rest.len()).then(|| TimeZone::fixed(offset))?
            }
        };
        Some(When::Moment(Moment { zoned: civil.to_zoned(zone).ok()?, form }))
    }
}

fn two_digits(text: &str) -> Option<i8> {
    text.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}

fn read_date(text: &str) -> Option<Date> {
    let is_date = text.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    is_date.then(|| text.parse().ok())?
}

/// The offset at the beginning of `text`, with its length.
fn read_offset(text: &str) -> Option<(Offset, usize)> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let hours = i32::from(two_digits(&text[1..])?);
    let (minutes, length) = match text.get(3..) {
        None | Some("") => (0, 3),
        Some(rest) => match rest.strip_prefix(':') {
            Some(rest) => (i32::from(two_digits(rest)?), 6),
            None => (i32::from(two_digits(rest)?), 5),
        },
    };
    if hours > 23 || minutes > 59 {
        return None;
    }
    Some((Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()?, length))
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
        let Moment { zoned, form } = self;
        let time = zoned.time();
        write!(f, "{}{}{:02}:{:02}", zoned.date(), form.separator, time.hour(), time.minute())?;
        if form.seconds || time.second() != 0 {
            write!(f, ":{:02}", time.second())?;
        }
        if form.fraction > 0 {
            let digits = format!("{:09}", time.subsec_nanosecond());
            write!(f, ".{}", digits.get(..form.fraction).unwrap_or(&digits))?;
        }
        let seconds = zoned.offset().seconds();
        let sign = if seconds < 0 { '-' } else { '+' };
        let (hours, minutes, rest) = (seconds.abs() / 3600, seconds.abs() / 60 % 60, seconds.abs() % 60);
        match form.offset {
            OffsetForm::Local => return Ok(()),
            OffsetForm::Zulu => return f.write_str("Z"),
            OffsetForm::Hours => write!(f, "{sign}{hours:02}")?,
            OffsetForm::Compact => write!(f, "{sign}{hours:02}{minutes:02}")?,
            OffsetForm::Colon => write!(f, "{sign}{hours:02}:{minutes:02}")?,
        }
        // Zones of long ago have odd seconds.
        if rest == 0 { Ok(()) } else { write!(f, ":{rest:02}") }
    }
}
