//! Types in one line: `List[Dict[str, point]]` (spec `components.md`, 4.4).

use crate::component::types::DataType;

/// How deep brackets may stand inside each other.
const MAX_DEPTH: usize = 32;

/// Names that open brackets, and words of unions: nobody else's.
const WORDS: [&str; 3] = ["Union", "Optional", "None"];

/// What is wrong with a type, and where in its text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TypeFault {
    pub(super) code: &'static str,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) message: String,
}

/// A name that a `_type_ref` must define, and its place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UsedName {
    pub(super) name: String,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Whether the language has this name for itself.
pub(super) fn is_reserved(name: &str) -> bool {
    DataType::from_name(name).is_some() || WORDS.contains(&name)
}

/// Whether `name` can name a type of the file.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

/// Reads a type; `used` gets the names that somebody must define.
pub(super) fn read(text: &str, used: &mut Vec<UsedName>) -> Result<DataType, TypeFault> {
    let mut parser = Parser { text, at: 0, used };
    let ty = parser.ty(0, false)?;
    parser.skip();
    if parser.at < text.len() {
        return Err(fault(parser.at, text.len(), "nothing can follow the type".to_owned()));
    }
    Ok(ty)
}

fn fault(start: usize, end: usize, message: String) -> TypeFault {
    TypeFault { code: "config-bad-type", start, end, message }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    used: &'a mut Vec<UsedName>,
}

impl<'a> Parser<'a> {
    fn skip(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    /// The next name and its place; empty if another character stands there.
    fn name(&mut self) -> (&'a str, usize) {
        self.skip();
        let start = self.at;
        let text = self.text;
        let rest = &text[start..];
        let end = rest.find(|c: char| matches!(c, '[' | ']' | ',') || c.is_whitespace()).unwrap_or(rest.len());
        self.at += end;
        (&rest[..end], start)
    }

    fn takes(&mut self, character: char) -> bool {
        self.skip();
        let is_there = self.text[self.at..].starts_with(character);
        self.at += usize::from(is_there);
        is_there
    }

    fn ty(&mut self, depth: usize, in_union: bool) -> Result<DataType, TypeFault> {
        let (name, start) = self.name();
        if depth > MAX_DEPTH {
            let message = format!("brackets are nested deeper than {MAX_DEPTH} levels");
            return Err(TypeFault { code: "config-nested-too-deep", start, end: self.at, message });
        }
        if name.is_empty() {
            let end = start + self.text[start..].chars().next().map_or(0, char::len_utf8);
            return Err(fault(start, end, "a type must stand here".to_owned()));
        }
        let end = self.at;
        if !self.takes('[') {
            return self.simple(name, start, in_union);
        }
        match name {
            "List" => {
                let element = self.ty(depth + 1, false)?;
                self.close(name, 1)?;
                Ok(DataType::List(Box::new(element)))
            }
            "Dict" | "Mapping" => {
                self.skip();
                let key_start = self.at;
                let n_used = self.used.len();
                let key = self.ty(depth + 1, false)?;
                let key_end = key_start + self.text[key_start..self.at].trim_end().len();
                if key != DataType::Str {
                    self.used.truncate(n_used);
                    let key = &self.text[key_start..key_end];
                    let message = format!("the keys of a {name} are always text: `{name}[str, …]`, not `{key}`");
                    return Err(TypeFault { code: "config-dict-keys", start: key_start, end: key_end, message });
                }
                if !self.takes(',') {
                    let message = format!("a {name} needs the type of its values: `{name}[str, …]`");
                    return Err(fault(start, self.at, message));
                }
                let value = self.ty(depth + 1, false)?;
                self.close(name, 2)?;
                Ok(DataType::Dict(Box::new(value)))
            }
            "Union" => {
                let mut alternatives = vec![self.ty(depth + 1, true)?];
                while self.takes(',') {
                    alternatives.push(self.ty(depth + 1, true)?);
                }
                self.close(name, alternatives.len())?;
                Ok(DataType::Union(alternatives))
            }
            "Optional" => {
                let inner = self.ty(depth + 1, true)?;
                self.close(name, 1)?;
                Ok(DataType::Union(vec![inner, DataType::Null]))
            }
            _ => {
                let message =
                    format!("`{name}` takes nothing in brackets; only List, Dict, Mapping, Union and Optional do");
                Err(fault(start, end, message))
            }
        }
    }

    /// The closing bracket after `n` types.
    fn close(&mut self, name: &str, n: usize) -> Result<(), TypeFault> {
        if self.takes(']') {
            return Ok(());
        }
        self.skip();
        let (start, end) = (self.at, self.at + self.text[self.at..].chars().next().map_or(0, char::len_utf8));
        let message = if self.text[start..].starts_with(',') {
            format!("{name} takes {n} {} in brackets", if n == 1 { "type" } else { "types" })
        } else {
            format!("the bracket after {name} is not closed")
        };
        Err(fault(start, end, message))
    }

    fn simple(&mut self, name: &'a str, start: usize, in_union: bool) -> Result<DataType, TypeFault> {
        let end = start + name.len();
        if let Some(ty) = DataType::from_name(name) {
            return Ok(ty);
        }
        if name == "None" && in_union {
            return Ok(DataType::Null);
        }
        if WORDS.contains(&name) {
            let message = if name == "None" {
                "`None` is only allowed in `Union[…]`; for something that may be absent, write `required: false`"
                    .to_owned()
            } else {
                format!("`{name}` needs types in brackets: `{name}[…]`")
            };
            return Err(fault(start, end, message));
        }
        if name.contains('.') && name.split('.').all(is_name) {
            return Ok(DataType::Host(name.into()));
        }
        if !is_name(name) {
            return Err(fault(start, end, format!("`{name}` is not the name of a type")));
        }
        self.used.push(UsedName { name: name.to_owned(), start, end });
        Ok(DataType::Shared(name.into()))
    }
}
