//! Tokens of JSON: where plain text in a string ends, and what is a number.

/// How many bytes at the beginning of `bytes` stand for themselves in a JSON string: up to a quote, a backslash
/// or a control character. Eight at a time, because replies consist of strings mostly.
pub(super) fn n_plain(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let (words, _) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let quote = word ^ (ONES * b'"' as u64);
        let backslash = word ^ (ONES * b'\\' as u64);
        // The lowest high bit is exact; borrows can make a false one above a true one only.
        let special = (quote.wrapping_sub(ONES) & !quote)
            | (backslash.wrapping_sub(ONES) & !backslash)
            | (word.wrapping_sub(ONES * 0x20) & !word);
        let special = special & HIGHS;
        if special != 0 {
            return index * 8 + special.trailing_zeros() as usize / 8;
        }
    }
    let n_done = words.len() * 8;
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    n_done + bytes[n_done..].iter().position(is_special).unwrap_or(bytes.len() - n_done)
}

/// Whether the bytes are a number by JSON's grammar.
pub(super) fn is_number(bytes: &[u8]) -> bool {
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
