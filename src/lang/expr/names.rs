//! Names and references inside text, and names made of words.

use crate::value::{PathStep, Reference};

/// Whether the call of a playbook whose result came last has failed. Lines say it in words (`If the last call failed`);
/// nothing sets it, and it is listed nowhere.
pub const LAST_CALL_FAILED: &str = "_last_call_failed";

/// Whether a variable's name may begin with `character`.
pub fn begins_name(character: char) -> bool {
    character == '_' || character.is_alphabetic()
}

/// Whether a variable's name may go on with `character`.
pub fn continues_name(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

/// Reads the name at the beginning of `text`; gives its length in bytes, 0 if there is none.
pub fn scan_name(text: &str) -> usize {
    if text.starts_with(begins_name) { name_length(text) } else { 0 }
}

/// How many bytes at the beginning of `text` can go on a name.
pub(crate) fn name_length(text: &str) -> usize {
    // Most names are plain letters, and bytes tell that at less cost.
    let n_plain = text.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let rest = &text[n_plain..];
    n_plain + rest.find(|character| !continues_name(character)).unwrap_or(rest.len())
}

/// Whether an event can have this name.
///
/// # Errors
/// It is no identifier; what to write.
pub fn check_event_name(name: &str) -> Result<(), String> {
    if name.is_empty() || scan_name(name) != name.len() {
        return Err(format!(
            "`{name}` is not an event name; use letters, digits and `_`, beginning with a letter, as in \
             `photo_uploaded`"
        ));
    }
    Ok(())
}

/// Reads a reference (`$a.b[0]`) at the beginning of `text` and gives it with its length in bytes, the `$`
/// included. A `.` or `[` that no path step follows is not part of it. `None` if `text` does not begin with
/// `$` and a name.
pub fn scan_reference(text: &str) -> Option<(Reference, usize)> {
    let mut path = Vec::new();
    let (name, length) = scan_path_of(text, |step| path.push(step.into()))?;
    Some((Reference { name: name.into(), path }, length))
}

/// The name of the variable that [`scan_reference`] would read, and that length; it costs no memory.
pub(crate) fn scan_variable(text: &str) -> Option<(&str, usize)> {
    scan_path_of(text, |_| ())
}

/// A step of a path as it is written.
enum WrittenStep<'a> {
    Member(&'a str),
    Index(usize),
}

impl From<WrittenStep<'_>> for PathStep {
    fn from(step: WrittenStep<'_>) -> Self {
        match step {
            WrittenStep::Member(name) => PathStep::Member(name.into()),
            WrittenStep::Index(index) => PathStep::Index(index),
        }
    }
}

fn scan_path_of<'a>(text: &'a str, mut add: impl FnMut(WrittenStep<'a>)) -> Option<(&'a str, usize)> {
    let rest = text.strip_prefix('$')?;
    let name_length = scan_name(rest);
    if name_length == 0 {
        return None;
    }
    let mut length = 1 + name_length;
    loop {
        let rest = &text[length..];
        if let Some(member) = rest.strip_prefix('.') {
            let member_length = scan_name(member);
            if member_length == 0 {
                break;
            }
            add(WrittenStep::Member(&member[..member_length]));
            length += 1 + member_length;
        } else if let Some(index) = rest.strip_prefix('[') {
            let n_digits = index.bytes().take_while(u8::is_ascii_digit).count();
            match index[..n_digits].parse() {
                Ok(number) if index[n_digits..].starts_with(']') => {
                    add(WrittenStep::Index(number));
                    length += n_digits + 2;
                }
                _ => break,
            }
        } else {
            break;
        }
    }
    Some((&rest[..name_length], length))
}

/// Makes an identifier of any words: `Do not keep asking` → `DoNotKeepAsking`. What is an identifier already
/// stays as it is. Empty if there is no letter or digit in it.
pub fn identifier(title: &str) -> String {
    let title = title.trim();
    if scan_name(title) == title.len() {
        return title.to_owned();
    }
    let mut name = String::new();
    for word in title.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty()) {
        // `Don't` is one word to its reader.
        if matches!(word, "t" | "s" | "re" | "ll" | "ve" | "d" | "m") && title.contains(&format!("'{word}")) {
            name.push_str(word);
            continue;
        }
        let mut characters = word.chars();
        name.extend(characters.next().into_iter().flat_map(char::to_uppercase));
        name.push_str(characters.as_str());
    }
    if name.starts_with(|c: char| !begins_name(c)) {
        name.insert(0, '_');
    }
    name
}
