//! What the model may write, in llguidance's form of Lark.

use super::quote::Pieces;

/// What it says when the value is not there.
pub const UNKNOWN: &str = "unknown";

/// Openings of a greeting.
pub const GREETINGS: &[&str] = &["Hello", "Hi", "Welcome", "Good morning", "Good afternoon", "Good evening"];

/// The longest sentence, in characters after its opening.
const SENTENCE: usize = 80;

/// A quote out of the user's words, whole pieces only, or that it is not there.
pub fn extraction(words: &str) -> String {
    let pieces = serde_json::Value::from(Pieces::of(words).shown());
    format!("start: \" \" VALUE \"\\n\" | \" {UNKNOWN}\\n\"\nVALUE: %regex {{ \"substring_chunks\": {pieces} }}\n")
}

/// One sentence with one of these openings, and the quote that ends it.
pub fn phrasing(openings: &[&str]) -> String {
    let openings: Vec<String> = openings.iter().map(|opening| regex::escape(opening).replace('/', "\\/")).collect();
    let openings = openings.join("|");
    let letters = r"[\p{L}\p{M}0-9 ,'’-]";
    format!("start: LINE \"\\\"\\n\"\nLINE: /({openings}){letters}{{0,{SENTENCE}}}[.!?]/\n")
}
