//! What user interfaces ask a model for themselves: titles, tags, follow-ups. It is no part of a conversation, and no
//! session hears of it.

use std::sync::LazyLock;

use axum::http::HeaderMap;
use regex::Regex;
use serde_json::{Value as Json, json};

use crate::host::llm::answer::{Retries, ask, request};
use crate::host::residents::offered::Offered;
use crate::host::serve_options::Tasks;
use crate::serve::http::openai::wire::{Conversation, header_of};
use crate::serve::http::problem::Problem;
use crate::serve::http::server::Server;

/// Where a client says that it is a task, and which.
const TASK_HEADER: &str = "x-playhouse-task";

/// How Open WebUI's begin. What it puts before a user's own words begins so, too, and wants no JSON.
const TASK: &str = "### Task:";

/// How LibreChat's titles begin.
const TITLES: [&str; 2] =
    ["Provide a concise, 5-word-or-less title for the conversation", "Analyze this conversation and provide:"];

/// A title of so many characters fits into a list of conversations.
const TITLE: usize = 40;

/// The answer that is wanted, as the task shows it: the name of a member, and the beginning of its value.
static FORM: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"\{\s*"(\w+)"\s*:\s*(["\[])"#).ok());

/// What the user has said, where a task tells of the conversation.
static SAID: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?mi)^(?:USER|Human):[ \t]*(\S.*)$").ok());

/// What is wanted.
pub(super) enum Task {
    /// A title, as it stands or in JSON.
    Title { as_json: bool },
    /// JSON with this member: a list or a text.
    Json { member: String, is_list: bool },
    /// Something else, of which only the client knows the form.
    Other,
}

/// The task that a request is, if it is one.
pub(super) fn task_of(headers: &HeaderMap, conversation: &Conversation, n_messages: usize) -> Option<Task> {
    let prompt = conversation.after.last()?;
    let named = header_of(headers, TASK_HEADER);
    let is_alone = n_messages == 1 || (conversation.before.is_empty() && conversation.reply.is_none());
    if is_alone && TITLES.iter().any(|title| prompt.starts_with(title)) {
        return Some(Task::Title { as_json: prompt.starts_with(TITLES[1]) });
    }
    let form = FORM.as_ref().and_then(|form| form.captures(prompt));
    let wants_json = is_alone && prompt.starts_with(TASK);
    match form {
        Some(form) if named.is_some() || wants_json => Some(match &form[1] {
            "title" => Task::Title { as_json: true },
            member => Task::Json { member: member.to_owned(), is_list: &form[2] == "[" },
        }),
        _ => named.map(|_| Task::Other),
    }
}

impl Task {
    /// Its answer.
    pub(super) async fn answer(
        task: Task,
        server: &Server,
        offered: &Offered,
        conversation: &Conversation,
    ) -> Result<String, Problem> {
        let prompt = conversation.after.join("\n\n");
        match server.options.openai.tasks {
            Tasks::Fixed => Ok(task.fixed(&prompt, offered)),
            Tasks::Model => {
                let llm = &*offered.opened.world.llm;
                let answer = ask(llm, request(&prompt), Retries { n: 1, ..Retries::default() }).await;
                let said =
                    answer.map_err(|reason| Problem::unavailable(format!("the model has no answer: {reason}"), 5));
                Ok(said?.0)
            }
        }
    }

    /// The answer that needs no model.
    fn fixed(&self, prompt: &str, offered: &Offered) -> String {
        match self {
            Task::Title { as_json } => {
                let title = title_of(prompt).unwrap_or_else(|| offered.title().to_owned());
                if *as_json { json!({ "title": title }).to_string() } else { title }
            }
            Task::Json { member, is_list } => {
                let none = if *is_list { json!([]) } else { Json::from("") };
                json!({ member.as_str(): none }).to_string()
            }
            Task::Other => String::new(),
        }
    }
}

/// The beginning of what the user has said first.
fn title_of(prompt: &str) -> Option<String> {
    let said = SAID.as_ref()?.captures(prompt)?;
    let mut title = String::new();
    for word in said[1].split_whitespace() {
        let is_full = title.chars().count() + word.chars().count() >= TITLE;
        if is_full && !title.is_empty() {
            title.push('…');
            break;
        }
        if !title.is_empty() {
            title.push(' ');
        }
        title.extend(word.chars().take(TITLE));
    }
    Some(title)
}
