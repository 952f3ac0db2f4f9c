//! A `say` that is decoded while it arrives.

pub(super) const HALF_SURROGATE: &str = "half a surrogate pair in a \\uXXXX escape; write the character itself";

/// The text of a string as far as it has come.
#[derive(Clone, Debug)]
pub(super) struct Speech {
    text: String,
    /// How much of it was given.
    n_given: usize,
    /// Where the bytes begin that are not decoded yet, in the object.
    from: usize,
    /// The digits of a `\uXXXX` so far.
    unit: u16,
    /// The first half of a surrogate pair.
    high: Option<u16>,
}

/// A fault in the text.
pub(super) struct SpeechFault {
    pub(super) at: usize,
    pub(super) message: &'static str,
}

impl Speech {
    /// After the opening quote.
    pub(super) fn begin(from: usize) -> Self {
        Speech { text: String::new(), n_given: 0, from, unit: 0, high: None }
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

    /// Decodes the plain bytes up to `end`. Half a UTF-8 sequence is left for later, unless the run of plain
    /// bytes `is_over`.
    pub(super) fn decode(&mut self, bytes: &[u8], end: usize, is_over: bool) -> Result<(), SpeechFault> {
        let plain = &bytes[self.from..end];
        if plain.is_empty() {
            return Ok(());
        }
        self.refuse_half_pair()?;
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
                    return Err(SpeechFault { at: self.from, message: "the string is no valid UTF-8" });
                }
            }
        }
        Ok(())
    }

    /// An escape of one character, which ends before `end`.
    pub(super) fn push_escape(&mut self, character: char, end: usize) -> Result<(), SpeechFault> {
        self.refuse_half_pair()?;
        self.text.push(character);
        self.from = end;
        Ok(())
    }

    /// A digit of a `\uXXXX`, which ends before `end`.
    pub(super) fn push_digit(&mut self, digit: u32, is_last: bool, end: usize) -> Result<(), SpeechFault> {
        #[allow(clippy::cast_possible_truncation)] // A digit has four bits.
        let digit = digit as u16;
        self.unit = self.unit << 4 | digit;
        self.from = end;
        if !is_last {
            return Ok(());
        }
        let unit = std::mem::take(&mut self.unit);
        let decoded = match (self.high.take(), unit) {
            (None, 0xD800..=0xDBFF) => {
                self.high = Some(unit);
                return Ok(());
            }
            (None, _) => char::from_u32(u32::from(unit)),
            (Some(high), _) => char::decode_utf16([high, unit]).next().and_then(Result::ok),
        };
        self.text.push(decoded.ok_or(self.half_pair())?);
        Ok(())
    }

    /// Nothing but the second half may follow the first.
    pub(super) fn refuse_half_pair(&self) -> Result<(), SpeechFault> {
        if self.high.is_some() { Err(self.half_pair()) } else { Ok(()) }
    }

    fn half_pair(&self) -> SpeechFault {
        SpeechFault { at: self.from - 1, message: HALF_SURROGATE }
    }
}
