//! Text with `${…}` in it: where expressions begin and end (spec `plans.md`, 3.2).

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Text, from here to there.
    Text(usize, usize),
    /// What stands between `${` and its `}`.
    Expression(usize, usize),
    /// A `${` that is never closed; its place.
    Unclosed(usize),
}

/// The pieces of `text` in their order, places in bytes.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut from = 0;
    while let Some(open) = text[from..].find("${").map(|n| from + n) {
        let Some(close) = closing_brace(text, open + 2, &|_| true) else {
            pieces.push(Piece::Unclosed(open));
            return pieces;
        };
        if open > from {
            pieces.push(Piece::Text(from, open));
        }
        pieces.push(Piece::Expression(open + 2, close));
        from = close + 1;
    }
    if from < text.len() {
        pieces.push(Piece::Text(from, text.len()));
    }
    pieces
}

/// The place of the `}` that closes what was opened before `from`, braces and strings in between taken into
/// account. A line for which `goes_on` does not hold ends the search.
pub(super) fn closing_brace(text: &str, from: usize, goes_on: &dyn Fn(&str) -> bool) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut characters = text.get(from..)?.char_indices();
    while let Some((offset, character)) = characters.next() {
        match (quote, character) {
            (_, '\n') => {
                let rest = &text[from + offset + 1..];
                if !goes_on(rest.split('\n').next().unwrap_or("")) {
                    return None;
                }
            }
            (Some(_), '\\') => {
                characters.next();
            }
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '{') => depth += 1,
            (None, '}') if depth == 0 => return Some(from + offset),
            (None, '}') => depth -= 1,
            (None, _) => {}
        }
    }
    None
}
