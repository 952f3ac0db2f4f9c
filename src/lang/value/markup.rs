//! Text inside of the languages that pictures and pages are written in: whatever it is, it never becomes syntax.

use std::fmt::Write as _;

/// `text` inside of elements and attributes of XML and HTML. What XML 1.0 has no place for is replaced.
pub fn xml_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            _ if is_xml(character) => escaped.push(character),
            _ => escaped.push('\u{fffd}'),
        }
    }
    escaped
}

/// `text` as code inside of Markdown, in one line: it is never read as Markdown.
pub fn markdown_code(text: &str) -> String {
    // As many marks around it as no run of them inside has.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let marks = "`".repeat(longest + 1);
    let space = if longest > 0 { " " } else { "" };
    format!("{marks}{space}{}{space}{marks}", text.replace('\n', " "))
}

/// What XML 1.0 allows, section 2.2.
fn is_xml(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// `text` inside the quotation marks of a label of Mermaid: everything but letters, digits and a few harmless characters
/// as a numeric entity.
pub(crate) fn mermaid_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            ' ' | '.' | ',' | ':' | '/' | '-' | '_' | '?' | '!' | '=' | '…' => escaped.push(character),
            _ if character.is_alphanumeric() => escaped.push(character),
            _ => {
                // Writing to a `String` can't fail.
                let _ = write!(escaped, "#{};", u32::from(character));
            }
        }
    }
    escaped
}

/// `text` as a quoted string of Graphviz' language. It reads entities as HTML does, so `&` is one.
pub(crate) fn dot_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 2);
    escaped.push('"');
    for character in text.chars() {
        match character {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '&' => escaped.push_str("&amp;"),
            '\n' => escaped.push_str("\\n"),
            _ if character.is_control() => escaped.push('\u{fffd}'),
            _ => escaped.push(character),
        }
    }
    escaped.push('"');
    escaped
}
