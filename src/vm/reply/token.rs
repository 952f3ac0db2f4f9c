//! Where plain text in a JSON string ends.

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
