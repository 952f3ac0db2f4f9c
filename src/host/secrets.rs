//! Strings that nobody may see: keys and passwords that plugins and servers are given. What comes from them is masked
//! before anybody gets it: results, errors, progress, logs.
//!
//! A mask is no wall: whoever is given a secret can encode it, cut it or send it elsewhere. It keeps a secret from
//! being shown by mistake.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use playhouse_lang::value::{Map, Value};

/// What stands in the place of a secret.
pub const MASK: &str = "***";

/// Shorter ones are not masked, in characters: they would be found in every other word.
pub const MIN_CHARS: usize = 4;

/// Lines of a secret with several of them are masked by themselves too, if they are not shorter, in characters:
/// they are shown one by one.
const MIN_LINE_CHARS: usize = 8;

/// The secrets of a process. Shared by all that are to mask them.
#[derive(Default)]
pub struct Secrets {
    /// Each with the forms it takes inside of JSON; none is empty.
    forms: RwLock<Arc<[Box<str>]>>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({} forms)", self.forms().len())
    }
}

impl Secrets {
    /// None.
    pub fn new() -> Secrets {
        Secrets::default()
    }

    /// Adds one; says whether it will be masked, which a secret shorter than [`MIN_CHARS`] is not.
    pub fn add(&self, secret: &str) -> bool {
        let n_chars = secret.chars().count();
        if n_chars < MIN_CHARS || secret.chars().all(|c| c == '*') {
            return false;
        }
        let lines = secret.lines().map(str::trim).filter(|line| line.chars().count() >= MIN_LINE_CHARS);
        let parts: Vec<&str> = std::iter::once(secret).chain(lines.filter(|line| *line != secret)).collect();
        let mut forms = self.forms.write().unwrap_or_else(PoisonError::into_inner);
        let mut all = forms.to_vec();
        for form in parts.into_iter().flat_map(forms_of) {
            if !all.iter().any(|known| **known == *form) {
                all.push(form.into());
            }
        }
        *forms = all.into();
        true
    }

    /// Adds what a value holds: texts and numbers.
    pub fn add_value(&self, value: &Value) {
        match value {
            Value::Str(text) => {
                self.add(text);
            }
            Value::Int(_) | Value::Float(_) => {
                self.add(&value.to_json());
            }
            Value::List(items) => items.iter().for_each(|item| self.add_value(item)),
            Value::Map(members) => members.values().for_each(|member| self.add_value(member)),
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.forms().is_empty()
    }

    /// The length of the longest one, in bytes: what is cut off that much earlier ends in no half secret.
    pub fn longest(&self) -> usize {
        self.forms().iter().map(|form| form.len()).max().unwrap_or(0)
    }

    /// The text without secrets.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        mask(&self.forms(), text)
    }

    /// The same as a text of its own.
    pub fn mask_text(&self, text: &str) -> String {
        self.mask(text).into_owned()
    }

    /// The value without secrets: texts, keys, numbers. Of several keys that become the same the last one stays.
    pub fn mask_value(&self, value: Value) -> Value {
        let forms = self.forms();
        if forms.is_empty() { value } else { mask_value(&forms, value) }
    }

    fn forms(&self) -> Arc<[Box<str>]> {
        self.forms.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn mask<'a>(forms: &[Box<str>], text: &'a str) -> Cow<'a, str> {
    let found = forms.iter().flat_map(|form| text.match_indices(&**form));
    let mut ranges: Vec<Range<usize>> = found.map(|(start, found)| start..start + found.len()).collect();
    if ranges.is_empty() {
        return Cow::Borrowed(text);
    }
    ranges.sort_unstable_by_key(|range| range.start);
    let mut masked = String::with_capacity(text.len());
    let mut end = 0;
    for range in ranges {
        // Secrets that overlap are one.
        if range.start >= end {
            masked.push_str(&text[end..range.start]);
            masked.push_str(MASK);
        }
        end = end.max(range.end);
    }
    masked.push_str(&text[end..]);
    Cow::Owned(masked)
}

fn mask_value(forms: &[Box<str>], value: Value) -> Value {
    match value {
        Value::Str(text) => match mask(forms, &text) {
            Cow::Borrowed(_) => Value::Str(text),
            Cow::Owned(masked) => Value::from(masked),
        },
        Value::Int(_) | Value::Float(_) => match mask(forms, &value.to_json()) {
            Cow::Borrowed(_) => value,
            Cow::Owned(masked) => Value::from(masked),
        },
        Value::List(items) => {
            let items = Arc::try_unwrap(items).unwrap_or_else(|shared| (*shared).clone());
            Value::list(items.into_iter().map(|item| mask_value(forms, item)).collect())
        }
        Value::Map(members) => {
            let members = Arc::try_unwrap(members).unwrap_or_else(|shared| (*shared).clone());
            let masked = |(key, value): (Arc<str>, Value)| match mask(forms, &key) {
                Cow::Borrowed(_) => (key.clone(), mask_value(forms, value)),
                Cow::Owned(masked) => (Arc::from(masked), mask_value(forms, value)),
            };
            Value::map(members.into_iter().map(masked).collect::<Map>())
        }
        Value::Null | Value::Bool(_) => value,
    }
}

/// The forms in which a text may stand somewhere: as it is, and inside of JSON strings.
pub(crate) fn forms_of(text: &str) -> [String; 3] {
    [text.to_owned(), escaped(text), ascii_escaped(text)]
}

/// The text as it stands inside of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = Value::str(text).to_json();
    quoted.trim_start_matches('"').strip_suffix('"').unwrap_or(&quoted).to_owned()
}

/// The same where everything beyond ASCII is escaped too, as Python does it.
fn ascii_escaped(text: &str) -> String {
    let mut all = String::new();
    for c in escaped(text).chars() {
        if c.is_ascii() {
            all.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| all.push_str(&format!("\\u{unit:04x}")));
        }
    }
    all
}
