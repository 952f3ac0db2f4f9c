//! Values to what a server reads, and what it sends to values. Parameters go as text, which the server reads as it
//! reads literals of their types: any type is possible. Results come in the types' binary forms.

use std::error::Error;

use bytes::{BufMut, BytesMut};
use jiff::civil::Date;
use jiff::{SignedDuration, Span, Timestamp};
use playhouse_lang::value::Value;
use tokio_postgres::types::{Format, FromSql, IsNull, Kind, ToSql, Type, to_sql_checked};

use crate::resource::rows::{bytes_of, bytes_value};
use crate::text::hex;

type Fault = Box<dyn Error + Sync + Send>;

/// Significant digits that a float keeps of any decimal number.
const FLOAT_DIGITS: usize = 15;

/// Microseconds from 1970 to 2000, where the server's time begins.
const EPOCH: i64 = 946_684_800_000_000;

/// A value in the place of a placeholder.
#[derive(Debug)]
pub(super) struct Parameter<'a>(pub(super) &'a Value);

impl ToSql for Parameter<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Fault> {
        let Some(text) = text_of(self.0, ty)? else { return Ok(IsNull::Yes) };
        if text.contains('\0') {
            return Err("PostgreSQL cannot store text with a zero byte".into());
        }
        out.put_slice(text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

fn text_of(value: &Value, ty: &Type) -> Result<Option<String>, Fault> {
    if *value == Value::Null {
        return Ok(None);
    }
    if let Kind::Domain(inner) = ty.kind() {
        return text_of(value, inner);
    }
    if *ty == Type::JSON || *ty == Type::JSONB {
        return Ok(Some(value.to_json()));
    }
    if let Some(bytes) = bytes_of(value) {
        return Ok(Some(escaped(&bytes?)));
    }
    Ok(Some(match (value, ty.kind()) {
        (Value::Str(text), _) if *ty == Type::BYTEA => escaped(text.as_bytes()),
        (Value::List(items), Kind::Array(inner)) => array_text(items, inner)?,
        (_, _) => value.to_text(),
    }))
}

fn array_text(items: &[Value], inner: &Type) -> Result<String, Fault> {
    let mut parts = Vec::new();
    for item in items {
        if let Value::List(items) = item
            && *inner != Type::JSON
            && *inner != Type::JSONB
        {
            parts.push(array_text(items, inner)?);
            continue;
        }
        parts.push(match text_of(item, inner)? {
            Some(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
            None => "NULL".to_owned(),
        });
    }
    Ok(format!("{{{}}}", parts.join(",")))
}

fn escaped(bytes: &[u8]) -> String {
    format!("\\x{}", hex(bytes))
}

/// A value of a result.
pub(super) struct Decoded(pub(super) Value);

impl<'a> FromSql<'a> for Decoded {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Decoded, Fault> {
        decode(ty, raw).map(Decoded)
    }

    fn from_sql_null(_: &Type) -> Result<Decoded, Fault> {
        Ok(Decoded(Value::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

fn decode(ty: &Type, raw: &[u8]) -> Result<Value, Fault> {
    if let Kind::Domain(inner) = ty.kind() {
        return decode(inner, raw);
    }
    if let Kind::Array(inner) = ty.kind() {
        return array(inner, raw);
    }
    if let Kind::Enum(_) = ty.kind() {
        return text(raw);
    }
    Ok(match *ty {
        Type::BOOL => Value::Bool(raw.first().is_some_and(|byte| *byte != 0)),
        Type::INT2 => Value::Int(i64::from(i16::from_be_bytes(fixed(raw)?))),
        Type::INT4 => Value::Int(i64::from(i32::from_be_bytes(fixed(raw)?))),
        Type::INT8 => Value::Int(i64::from_be_bytes(fixed(raw)?)),
        Type::OID => Value::Int(i64::from(u32::from_be_bytes(fixed(raw)?))),
        // By its shortest text: 0.1 stays 0.1.
        Type::FLOAT4 => float(f32::from_be_bytes(fixed(raw)?).to_string().parse()?),
        Type::FLOAT8 => float(f64::from_be_bytes(fixed(raw)?)),
        Type::NUMERIC => numeric(raw)?,
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::CHAR | Type::UNKNOWN | Type::XML => text(raw)?,
        Type::JSON => Value::from_json(std::str::from_utf8(raw)?)?,
        // After the number of its version.
        Type::JSONB => Value::from_json(std::str::from_utf8(raw.get(1..).unwrap_or_default())?)?,
        Type::BYTEA => bytes_value(raw),
        Type::DATE => date(i32::from_be_bytes(fixed(raw)?))?,
        Type::TIME => {
            let since = SignedDuration::from_micros(i64::from_be_bytes(fixed(raw)?));
            Value::from(jiff::civil::Time::midnight().checked_add(since)?.to_string())
        }
        Type::TIMESTAMP | Type::TIMESTAMPTZ => match i64::from_be_bytes(fixed(raw)?) {
            i64::MAX => Value::str("infinity"),
            i64::MIN => Value::str("-infinity"),
            micros if *ty == Type::TIMESTAMP => {
                let start = Date::constant(2000, 1, 1).to_datetime(jiff::civil::Time::midnight());
                Value::from(start.checked_add(SignedDuration::from_micros(micros))?.to_string())
            }
            micros => Value::from(Timestamp::from_microsecond(micros.saturating_add(EPOCH))?.to_string()),
        },
        Type::UUID => {
            let digits = hex(&fixed::<16>(raw)?);
            let [a, b, c, d, e] = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
            Value::from(format!("{a}-{b}-{c}-{d}-{e}"))
        }
        Type::VOID => Value::Null,
        _ if ty.name() == "citext" => text(raw)?,
        _ => return Err(format!("a value of type {ty} cannot be read here; select it as text (`::text`)").into()),
    })
}

fn fixed<const N: usize>(raw: &[u8]) -> Result<[u8; N], Fault> {
    raw.try_into().map_err(|_| Fault::from(format!("{} bytes instead of {N}", raw.len())))
}

fn text(raw: &[u8]) -> Result<Value, Fault> {
    Ok(Value::str(std::str::from_utf8(raw)?))
}

fn float(float: f64) -> Value {
    // Values of the language are finite.
    if float.is_finite() { Value::Float(float) } else { Value::from(float.to_string()) }
}

fn date(days: i32) -> Result<Value, Fault> {
    Ok(match days {
        i32::MAX => Value::str("infinity"),
        i32::MIN => Value::str("-infinity"),
        days => Value::from(Date::constant(2000, 1, 1).checked_add(Span::new().try_days(days)?)?.to_string()),
    })
}

/// A decimal number: an integer where it is one, a float where that keeps every digit, else its text.
fn numeric(raw: &[u8]) -> Result<Value, Fault> {
    let mut reader = Reader(raw);
    let [n_groups, weight, sign, scale] = [reader.number()?, reader.number()?, reader.number()?, reader.number()?];
    // The signs are bit patterns.
    #[allow(clippy::cast_sign_loss)]
    let is_negative = match sign as u16 {
        0x0000 => false,
        0x4000 => true,
        0xC000 => return Ok(Value::str("NaN")),
        0xD000 => return Ok(Value::str("Infinity")),
        0xF000 => return Ok(Value::str("-Infinity")),
        _ => return Err("a number with an unknown sign".into()),
    };
    let mut groups = Vec::new();
    for _ in 0..n_groups {
        groups.push(reader.number()?);
    }
    // Groups of four digits; the first has the weight 10000^weight, those that are missing are zero.
    let group = |exponent: i32| {
        let index = usize::try_from(i32::from(weight) - exponent).ok();
        index.and_then(|index| groups.get(index)).copied().unwrap_or(0)
    };
    let whole: String = (0..=i32::from(weight)).rev().map(|exponent| format!("{:04}", group(exponent))).collect();
    let n_behind = usize::try_from(scale)?;
    let n_groups_behind = i32::try_from(n_behind.div_ceil(4))?;
    let mut behind: String = (1..=n_groups_behind).map(|place| format!("{:04}", group(-place))).collect();
    behind.truncate(n_behind);
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let sign = if is_negative { "-" } else { "" };
    if behind.is_empty() {
        let digits = format!("{sign}{whole}");
        return Ok(digits.parse().map_or_else(|_| Value::from(digits), Value::Int));
    }
    let digits = format!("{sign}{whole}.{behind}");
    let n_significant = format!("{whole}{}", behind.trim_end_matches('0')).trim_start_matches('0').len();
    Ok(if n_significant <= FLOAT_DIGITS { Value::Float(digits.parse()?) } else { Value::from(digits) })
}

/// An array of any number of dimensions, as lists in lists.
fn array(inner: &Type, raw: &[u8]) -> Result<Value, Fault> {
    let mut reader = Reader(raw);
    let n_dimensions = reader.long()?;
    let _has_nulls = reader.long()?;
    let _type = reader.long()?;
    let mut lengths = Vec::new();
    for _ in 0..n_dimensions {
        lengths.push(usize::try_from(reader.long()?)?);
        let _first_index = reader.long()?;
    }
    if lengths.is_empty() {
        return Ok(Value::list(Vec::new()));
    }
    dimension(inner, &lengths, &mut reader)
}

fn dimension(inner: &Type, lengths: &[usize], reader: &mut Reader<'_>) -> Result<Value, Fault> {
    let Some((length, rest)) = lengths.split_first() else {
        let n_bytes = reader.long()?;
        return match usize::try_from(n_bytes) {
            Ok(n_bytes) => decode(inner, reader.take(n_bytes)?),
            Err(_) => Ok(Value::Null),
        };
    };
    let mut items = Vec::new();
    for _ in 0..*length {
        items.push(dimension(inner, rest, reader)?);
    }
    Ok(Value::list(items))
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n_bytes: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.0.split_at_checked(n_bytes).ok_or("a value that is shorter than it says")?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<i16, Fault> {
        Ok(i16::from_be_bytes(fixed(self.take(2)?)?))
    }

    fn long(&mut self) -> Result<i32, Fault> {
        Ok(i32::from_be_bytes(fixed(self.take(4)?)?))
    }
}
