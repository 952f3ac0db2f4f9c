//! Tokens of JSON that several languages have: numbers, quoted texts, and the escapes inside them.

/// Whether the bytes are a number by JSON's grammar.
pub fn is_number(bytes: &[u8]) -> bool {
    matches!(bytes, [b'-' | b'0'..=b'9', ..])
        && bytes.last().is_some_and(u8::is_ascii_digit)
        && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}

/// `text` as JSON writes it.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// The character of the escape at the beginning of `text`, which is its backslash, and the length in bytes; a pair of
/// `\uXXXX` that stands for one character is one escape. `None`: JSON has no such escape, or it stands for no
/// character.
pub fn read_escape(text: &str) -> Option<(char, usize)> {
    match text.as_bytes().get(1)? {
        b'u' => read_unicode(text),
        letter => escaped(*letter).map(|character| (character, 2)),
    }
}

/// What a backslash and this letter stand for.
#[inline]
pub fn escaped(letter: u8) -> Option<char> {
    match letter {
        b'"' | b'\\' | b'/' => Some(char::from(letter)),
        b'n' => Some('\n'),
        b't' => Some('\t'),
        b'r' => Some('\r'),
        b'b' => Some('\u{8}'),
        b'f' => Some('\u{c}'),
        _ => None,
    }
}

/// The content and length of the quoted text at the beginning of `text`, in quotes of either kind: JSON's escapes, and
/// `\'` too. A line break inside is allowed, because a text may go over several lines.
///
/// # Errors
/// The place of the backslash that begins no escape; none: there is no closing quote.
pub(crate) fn read_string(text: &str) -> Result<(String, usize), Option<usize>> {
    let quote = text.chars().next().ok_or(None)?;
    let mut content = String::new();
    let mut at = quote.len_utf8();
    loop {
        let n_plain = text[at..].find([quote, '\\']).ok_or(None)?;
        content.push_str(&text[at..at + n_plain]);
        at += n_plain;
        let rest = &text[at..];
        if rest.starts_with(quote) {
            return Ok((content, at + 1));
        }
        let is_quote = rest.starts_with("\\'");
        let (character, length) = if is_quote { ('\'', 2) } else { read_escape(rest).ok_or(Some(at))? };
        content.push(character);
        at += length;
    }
}

fn read_unicode(text: &str) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
    };
    let units = [unit(0)?, unit(6).unwrap_or(0)];
    let character = char::decode_utf16(units).next()?.ok()?;
    Some((character, 6 * character.len_utf16()))
}
