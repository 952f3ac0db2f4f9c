//! The prompts of the model: `prompts/extract.md` and `prompts/phrase.md`.
//!
//! Each is a beginning, examples that are the same every time, and a rest with the values of one slot. Text from
//! outside stands in quotes on one line: line breaks are spaces, quotes are apostrophes. What it says can mislead the
//! model, as anything can; the grammar bounds what comes of that.

use std::sync::OnceLock;

use minijinja::{Environment, context};

use super::quote::one_line;
use crate::host::llm::embedded::slots::{Extraction, Phrasing};

/// A prompt: always the same beginning, and what follows for one slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The examples.
    pub beginning: &'static str,
    /// The slot.
    pub rest: String,
}

/// What is asked of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Extract,
    Phrase,
}

impl Kind {
    /// The examples.
    pub(super) fn beginning(self) -> &'static str {
        self.parts().0
    }

    /// The examples, and the lines with places for values.
    fn parts(self) -> (&'static str, &'static str) {
        let text = match self {
            Kind::Extract => include_str!("../../../../../prompts/extract.md"),
            Kind::Phrase => include_str!("../../../../../prompts/phrase.md"),
        };
        let line = text.find("{{").and_then(|place| text[..place].rfind('\n')).map_or(0, |end| end + 1);
        // The model goes on in the middle of the last line.
        (&text[..line], text[line..].trim_end())
    }

    fn prompt(self, values: minijinja::Value) -> Prompt {
        static ENVIRONMENT: OnceLock<Environment<'static>> = OnceLock::new();
        let (beginning, rest) = self.parts();
        let rendered = ENVIRONMENT.get_or_init(Environment::new).render_str(rest, values);
        debug_assert!(rendered.is_ok(), "{rendered:?}");
        Prompt { beginning, rest: rendered.unwrap_or_default() }
    }
}

/// What the model is shown to find a value.
pub fn extraction(slot: &Extraction<'_>) -> Prompt {
    let (question, words) = (one_line(slot.question), one_line(slot.words));
    Kind::Extract.prompt(context! { question, words, label => label(slot.variable) })
}

/// What the model is shown to word a sentence: the template, to be said in a friendlier way.
pub fn phrasing(slot: &Phrasing<'_>) -> Prompt {
    Kind::Phrase.prompt(context! { template => one_line(slot.template) })
}

/// `order_id` is shown as `Order id`.
fn label(variable: &str) -> String {
    let spaced = variable.replace('_', " ");
    let mut letters = spaced.trim().chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
