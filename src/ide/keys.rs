//! Keys of front matter and metadata: what is told of them, and what can be written.

use std::fmt::Write as _;

use playhouse_lang::source::keys::Key;
use playhouse_lang::source::keys_at;
use playhouse_lang::span::{FileId, Span};
use playhouse_lang::value::markup::markdown_code as code;

use crate::complete::{Proposal, ProposalKind};
use crate::hover::Hover;

/// What is told of the key at an offset; none: there is none.
pub(crate) fn hover(file: FileId, text: &str, offset: usize) -> Option<Hover> {
    let start = text.get(..offset)?.rfind('\n').map_or(0, |end| end + 1);
    let (written, _) = text[start..].lines().next()?.split_once(':')?;
    let name = written.trim_start();
    let span = Span::new(file, start + written.len() - name.len(), start + written.len());
    let key = keys_at(text, offset).into_iter().find(|key| key.name == name && span.touches(&(offset..offset)))?;
    Some(Hover { text: told(key), span })
}

fn told(key: &Key) -> String {
    let name = code(key.name);
    let Some(about) = key.about else { return format!("{name}: of older programs, recognised but not supported") };
    let mut told = format!("{name}: {about}");
    if !key.values.is_empty() {
        let values: Vec<String> = key.values.iter().map(|value| code(value)).collect();
        let _ = write!(told, "\n\nvalues: {}", values.join(", "));
    }
    if let Some(example) = key.example {
        let _ = write!(told, "\n\nfor example {}", code(&format!("{}: {example}", key.name)));
    }
    told
}

/// The keys that can be written at an offset, or the values after one: what goes on with all that stands in the line.
pub(crate) fn proposals(file: FileId, text: &str, offset: usize) -> Vec<Proposal> {
    let Some(before) = text.get(..offset) else { return Vec::new() };
    let line = before.rsplit('\n').next().unwrap_or_default();
    let is_name = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let (name, value) = line.split_once(": ").map_or((line, None), |(name, value)| (name, Some(value.trim_start())));
    let typed = value.unwrap_or(name);
    if !is_name(name) || !is_name(typed) || !text[offset..].lines().next().unwrap_or_default().trim().is_empty() {
        return Vec::new();
    }
    let span = Span::new(file, offset - typed.len(), offset);
    let keys = keys_at(text, offset).into_iter();
    let (kind, found): (_, Vec<(String, &Key)>) = if value.is_some() {
        let values = |key: &'static Key| key.values.iter().map(move |value| ((*value).to_owned(), key));
        (ProposalKind::Value, keys.filter(|key| key.name == name).flat_map(values).collect())
    } else {
        let supported = keys.filter(|key| key.about.is_some());
        (ProposalKind::Key, supported.map(|key| (format!("{}: ", key.name), key)).collect())
    };
    // The first words of a description are no beginning of a key.
    let begun = found.into_iter().filter(|(text, _)| text.starts_with(typed));
    let detail = |key: &Key| key.about.and_then(|about| about.split(';').next()).unwrap_or_default().to_owned();
    begun.map(|(text, key)| Proposal { kind, text, detail: detail(key), span }).collect()
}
