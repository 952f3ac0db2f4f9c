//! What models are told that read a transcript: `prompts/judge.md`, `prompts/user.md` and `prompts/transcript.md`.

use minijinja::context;
use playhouse_lang::files::user_file::Person;
use playhouse_lang::value::Value;
use playhouse_vm::prompt::files::render;
use playhouse_vm::protocol::{ChatMessage, Role};

use crate::judge::transcript::Transcript;

/// The messages of a question about a transcript: `problem` is what was wrong with the last answer.
pub fn judge_messages(transcript: &Transcript, statement: &str, problem: Option<&str>) -> Vec<ChatMessage> {
    let statement = Value::str(statement).to_json();
    messages("judge", context! { lines => transcript.shown(), statement, problem })
}

/// The messages of a question what a person says next.
pub fn user_messages(person: &Person, spoken: &Transcript, problem: Option<&str>) -> Vec<ChatMessage> {
    let json = |text: &str| (!text.is_empty()).then(|| Value::str(text).to_json());
    let Person { goal, knows, manner } = person;
    let person = context! { goal => json(goal), knows => json(knows), manner => json(manner) };
    messages("user", context! { person, lines => spoken.shown(), problem })
}

/// Always the same system message, which a provider can keep, then the question.
fn messages(system: &str, question: minijinja::Value) -> Vec<ChatMessage> {
    let message = |role, text: String| ChatMessage { role, text: text.into() };
    vec![message(Role::System, render(system, context! {})), message(Role::User, render("transcript", question))]
}
