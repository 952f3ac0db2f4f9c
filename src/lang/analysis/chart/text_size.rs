//! How wide a text is where nobody knows the font, and texts that are wrapped to a width.

/// About the width of a character in a wide font without serifs, in hundredths of the font's size. In most fonts a text
/// is narrower, so that it stays inside of what was made for it.
fn hundredths(character: char) -> u32 {
    match character {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | 'I' | ' ' | '`' => 36,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' | '\\' | '"' => 46,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '—' | '…' => 102,
        'a'..='z' | '_' => 62,
        '0'..='9' | '$' => 65,
        'A'..='Z' => 74,
        // Letters of other alphabets, then those that stand in squares.
        '\u{80}'..='\u{10ff}' | '\u{1200}'..='\u{2e7f}' => 80,
        '\u{1100}'..='\u{11ff}' | '\u{2e80}'.. => 110,
        _ => 84,
    }
}

/// The width of a text in the unit of the font's size.
pub(super) fn width(text: &str, size: f64) -> f64 {
    f64::from(text.chars().map(hundredths).sum::<u32>()) * size / 100.0
}

/// The text on lines that are not wider than `most`: broken between words, and inside of a word that is too wide alone.
pub(super) fn wrapped(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last().map_or("", String::as_str);
        if !line.is_empty() && width(line, size) + width(" ", size) + width(word, size) > most {
            lines.push(String::new());
        }
        for character in std::iter::once(' ').chain(word.chars()) {
            let Some(line) = lines.last_mut() else { continue };
            let is_full = width(line, size) + width(character.encode_utf8(&mut [0; 4]), size) > most;
            match (character, is_full) {
                (' ', _) if line.is_empty() => {}
                (_, true) if !line.is_empty() => lines.push(character.to_string()),
                (_, _) => line.push(character),
            }
        }
    }
    lines
}
