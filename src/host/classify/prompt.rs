//! What a model is told when it is to judge triggers: `prompts/classify.md` and `prompts/question.md`.
//!
//! The wording of the question is a public interface: scripts match on it (spec `cli.md`, "Script files"). All text
//! from outside the program is a JSON string, so it cannot look like a line of ours.

use std::sync::{Arc, OnceLock};

use minijinja::context;
use playhouse_lang::value::Value;
use playhouse_vm::prompt::files::render;
use playhouse_vm::protocol::{Candidate, ChatMessage, Question, Role, USER_MESSAGE, Update};

use crate::text::{one_line, shorten};

/// So many characters are shown of all values together, of each its beginning and its end: more is no matter of a
/// trigger's, and a question must fit into a small context whatever the program does.
const SHOWN_CHARACTERS: usize = 4_000;
/// The latest changes are shown, up to so many: each keeps some forty characters before and after the change.
const SHOWN_UPDATES: usize = 50;

/// The messages of a question: always the same system message, which a provider can keep, then the question.
pub fn messages(question: &Question) -> Vec<ChatMessage> {
    static SYSTEM: OnceLock<Arc<str>> = OnceLock::new();
    let system = SYSTEM.get_or_init(|| render("classify", context! {}).into()).clone();
    vec![
        ChatMessage { role: Role::System, text: system },
        ChatMessage { role: Role::User, text: question_text(question).into() },
    ]
}

/// The question as text: the candidates by id, what has changed, the user's last words if they are none of the
/// changes, and the triggers that run already.
pub fn question_text(question: &Question) -> String {
    let lines = |candidates: &[Candidate]| candidates.iter().map(candidate_line).collect::<Vec<_>>();
    let (earlier, latest) = question.updates.split_at(question.updates.len().saturating_sub(SHOWN_UPDATES));
    let is_told = question.updates.iter().any(|update| &*update.name == USER_MESSAGE);
    let user = question.user.as_ref().filter(|_| !is_told);
    let share = SHOWN_CHARACTERS / (2 * latest.len() + usize::from(user.is_some())).max(2);
    let user = user.map(|text| json(&Value::Str(text.clone()), share));
    let left_out = (!earlier.is_empty()).then(|| format!("… {} changes before these", earlier.len()));
    let updates: Vec<String> =
        left_out.into_iter().chain(latest.iter().map(|update| update_line(update, share))).collect();
    let context = context! {
        candidates => lines(&question.candidates), updates, user, active => lines(&question.active)
    };
    render("question", context)
}

/// `Shop:T1: When the user is frustrated`. The author's words, on one line.
fn candidate_line(candidate: &Candidate) -> String {
    format!("{}: {}", candidate.name, one_line(&candidate.text))
}

/// `$total: 20 -> 350`; the user's words have a line of their own form.
fn update_line(update: &Update, share: usize) -> String {
    let json = |value: &Value| json(value, share);
    let new = json(&update.new);
    if &*update.name == USER_MESSAGE {
        let before = update.old.as_ref().map_or(String::new(), |old| format!(" (before: {})", json(old)));
        return format!("the user says {new}{before}");
    }
    let old = update.old.as_ref().map_or("no value".to_owned(), json);
    format!("${}: {old} -> {new}", update.name)
}

fn json(value: &Value, n_characters: usize) -> String {
    shorten(&value.to_json(), n_characters).into_owned()
}
