//! Points: places in a session's past.

use std::fmt;
use std::str::FromStr;

/// A place in a session's past: after the record `seq`, after `directive` moves of the machine. `41.3` as text; a
/// number alone, `41`, means all that the record set off, and how much that is only a timeline knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Point {
    /// The last record that has been handled, from 1.
    pub seq: u64,
    /// How many calls of `advance` since then did something: 0 is right after the record.
    pub directive: u32,
}

/// A point as people write it: `41.3`, or `41`, after all that the record set off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    pub(super) seq: u64,
    pub(super) directive: Option<u32>,
}

impl From<Point> for At {
    fn from(Point { seq, directive }: Point) -> At {
        At { seq, directive: Some(directive) }
    }
}

impl FromStr for At {
    type Err = PointFault;

    fn from_str(text: &str) -> Result<At, PointFault> {
        if text.contains('.') {
            return text.parse().map(|point: Point| point.into());
        }
        let seq = text.parse().ok().filter(|seq| *seq > 0 && text.bytes().all(|byte| byte.is_ascii_digit()));
        seq.map(|seq| At { seq, directive: None }).ok_or_else(|| PointFault { text: text.to_owned() })
    }
}

/// Text that is no point.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a point of a session; write the number of a record, as in 41, or with the number of a step after \
     it, as in 41.3"
)]
pub struct PointFault {
    text: String,
}

impl Point {
    /// The beginning of every session: the machine has been made and has not moved.
    pub const START: Point = Point { seq: 1, directive: 0 };

    /// The point `directive` moves after record `seq`.
    pub fn new(seq: u64, directive: u32) -> Point {
        Point { seq, directive }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.seq, self.directive)
    }
}

impl FromStr for Point {
    type Err = PointFault;

    fn from_str(text: &str) -> Result<Point, PointFault> {
        // `parse` of a number takes a sign, which a point has not.
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let parts = text.split_once('.').filter(|_| is_plain);
        let point = parts.and_then(|(seq, directive)| Some(Point::new(seq.parse().ok()?, directive.parse().ok()?)));
        point.filter(|point| point.seq > 0).ok_or_else(|| PointFault { text: text.to_owned() })
    }
}
