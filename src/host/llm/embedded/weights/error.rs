//! Why a file can't be used.

use std::path::{Path, PathBuf};

/// Why a file can't be used, in one line for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WeightsError {
    /// It can't be read.
    #[error("the model file {} can't be read: {why}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// It holds another model.
    #[error(
        "the model file {} holds {what}, and only SmolLM2 runs inside the binary; for other models start Ollama, \
         llama.cpp or vLLM and give its address with `--base-url`",
        .path.display()
    )]
    OtherModel {
        /// The file.
        path: PathBuf,
        /// What it holds.
        what: String,
    },
    /// It is no model file, or not whole.
    #[error(
        "the model file {} is damaged or of another kind ({why}); only GGUF files of SmolLM2 run inside the binary, for \
         other models start Ollama, llama.cpp or vLLM and give its address with `--base-url`",
        .path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

impl WeightsError {
    pub(super) fn unreadable(path: &Path, why: &std::io::Error) -> WeightsError {
        WeightsError::Unreadable { path: path.to_owned(), why: why.to_string() }
    }

    pub(super) fn other_model(path: &Path, what: String) -> WeightsError {
        WeightsError::OtherModel { path: path.to_owned(), what }
    }

    /// Of a message that may hold text of the file: on one line, and not longer than people read.
    pub(super) fn damaged(path: &Path, why: impl ToString) -> WeightsError {
        WeightsError::Damaged { path: path.to_owned(), why: harmless(&why.to_string(), 160) }
    }
}

/// A text from the file, as one may show it.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", harmless(text, 40))
}

/// The beginning of a text, without control characters.
fn harmless(text: &str, n_characters: usize) -> String {
    let first = text.lines().next().unwrap_or_default();
    first.chars().filter(|character| !character.is_control()).take(n_characters).collect()
}
