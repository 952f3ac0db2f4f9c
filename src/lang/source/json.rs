//! Tokens of JSON that several readers know: numbers, and escapes inside quoted texts, which most languages have.

/// Whether the bytes are a number by JSON's grammar.
pub fn is_number(bytes: &[u8]) -> bool {
    let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let n_digits = digits(rest);
    if n_digits == 0 || (n_digits > 1 && rest[0] == b'0') {
        return false;
    }
    let mut rest = &rest[n_digits..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let n_digits = digits(fraction);
        if n_digits == 0 {
            return false;
        }
        rest = &fraction[n_digits..];
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = match exponent {
            [b'+' | b'-', digits @ ..] => digits,
            _ => exponent,
        };
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
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
