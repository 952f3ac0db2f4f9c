//! A `say` that is decoded while it arrives.

use playhouse_lang::value::json::{escaped, read_escape};

use super::fault::OpenFault;

pub(super) const HALF_SURROGATE: &str = "half a surrogate pair in a \\uXXXX escape; write the character itself";

/// The text of a string as far as it has come.
#[derive(Clone, Debug)]
pub(super) struct Speech {
    text: String,
    /// How much of it was given.
    n_given: usize,
    /// Where the bytes begin that are not decoded yet, in the object.
    from: usize,
}

impl Speech {
    /// After the opening quote.
    pub(super) fn begin(from: usize) -> Self {
        Speech { text: String::new(), n_given: 0, from }
    }

    /// The whole text.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// The text that was not given yet.
    pub(super) fn take(&mut self) -> Option<String> {
        let text = &self.text[self.n_given..];
        if text.is_empty() {
            return None;
        }
        let text = text.to_owned();
        self.n_given = self.text.len();
        Some(text)
    }

    /// Decodes what stands before `end`: whole escapes, then plain bytes. Half a UTF-8 sequence is left for later,
    /// unless the run of plain bytes `is_over`.
    pub(super) fn decode(&mut self, bytes: &[u8], end: usize, is_over: bool) -> Result<(), Box<OpenFault>> {
        while let [b'\\', escape @ ..] = &bytes[self.from..end] {
            if let Some(character) = escape.first().and_then(|letter| escaped(*letter)) {
                self.text.push(character);
                self.from += 2;
                continue;
            }
            let length = if matches!(escape, [_, _, _, _, _, b'\\', b'u', ..]) { 12 } else { 6 };
            let escape = bytes.get(self.from..self.from + length).unwrap_or_default();
            let Some((character, length)) = std::str::from_utf8(escape).ok().and_then(read_escape) else {
                let is_first = matches!(escape, [_, _, b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B', _, _]);
                // The other half may follow.
                if is_first && self.from + length == end && bytes.get(end) != Some(&b'"') {
                    return Ok(());
                }
                return Err(OpenFault::json(self.from + length - 1, HALF_SURROGATE));
            };
            self.text.push(character);
            self.from += length;
        }
        let plain = &bytes[self.from..end];
        match std::str::from_utf8(plain) {
            Ok(text) => {
                self.text.push_str(text);
                self.from = end;
            }
            Err(error) => {
                let n_valid = error.valid_up_to();
                self.text.push_str(std::str::from_utf8(&plain[..n_valid]).unwrap_or_default());
                self.from += n_valid;
                if is_over || error.error_len().is_some() {
                    return Err(OpenFault::json(self.from, "the string is not valid UTF-8"));
                }
            }
        }
        Ok(())
    }
}
