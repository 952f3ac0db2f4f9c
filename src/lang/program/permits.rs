//! What a skill may do without a person's word, and what it may not do at all: `allowed-tools` and `disallowed-tools`
//! (spec `skills.md`, "Security"; the forms are those of agentskills.io and of the programs that came before it).

use std::sync::Arc;

use crate::program::tool_list::fits;

/// The tool that reads a file of a skill's own folder.
pub const READ_SKILL_FILE: &str = "ReadSkillFile";

/// The tool that runs a command.
pub const RUN_COMMAND: &str = "RunCommand";

/// Its parameter that has the command.
pub const COMMAND: &str = "command";

/// The playbook that each skill has besides, for a part of its task.
pub const DELEGATE: &str = "Delegate";

/// The variable of a command's environment that is the folder of its skill.
pub const SKILL_FOLDER: &str = "CLAUDE_SKILL_DIR";

/// How texts of skills write their folder.
pub const FOLDER_MARKS: [&str; 3] = ["${CLAUDE_SKILL_DIR}", "$CLAUDE_SKILL_DIR", "{baseDir}"];

/// A command with a path in the place of its skill's folder.
pub fn without_folder(command: &str) -> String {
    FOLDER_MARKS.iter().fold(command.to_owned(), |text, mark| text.replace(mark, "."))
}

/// What other programs call the tools that there are here, and these. What has none is done without a tool.
pub const OTHER_NAMES: [(&str, &[&str]); 15] = [
    ("Read", &[READ_SKILL_FILE, "LoadFile"]),
    ("Write", &["SaveFile"]),
    ("Edit", &["EditFile"]),
    ("MultiEdit", &["EditFile"]),
    ("Glob", &["FindFiles"]),
    ("LS", &["ListFiles"]),
    ("Grep", &["SearchFiles"]),
    ("Bash", &[RUN_COMMAND]),
    ("Shell", &[RUN_COMMAND]),
    ("Task", &[DELEGATE]),
    ("Agent", &[DELEGATE]),
    ("WebFetch", &["HttpGet"]),
    ("Skill", &[]),
    ("AskUserQuestion", &[]),
    ("TodoWrite", &[]),
];

/// What starts a second command inside of one, or stands for something else than itself.
const SIGNS: [char; 11] = [';', '|', '&', '$', '<', '>', '`', '\n', '\r', '(', ')'];

/// What a skill says of the tools that it uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permits {
    /// None: it says nothing, and tools hold by what is said of them elsewhere.
    allowed: Option<Vec<Permit>>,
    denied: Vec<Permit>,
}

/// A tool by its name, which may end in `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Permit {
    tool: Arc<str>,
    /// What stands in brackets after it.
    only: Option<Only>,
}

/// With which arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Only {
    /// Commands that begin with these words; or that are these words.
    Command { words: Vec<String>, is_whole: bool },
    /// Anything else, which nobody checks here.
    Unread,
}

/// What becomes of a call that a skill makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// The skill says nothing of tools.
    Unsaid,
    /// It needs no person.
    Given,
    /// It is not among what is permitted.
    NotGiven,
    /// It is forbidden.
    Denied,
}

impl Permits {
    /// Reads `allowed-tools` (none: there is no such key) and `disallowed-tools`: names between spaces or commas.
    pub fn read(allowed: Option<&str>, denied: &str) -> Permits {
        let read = |text: &str| entries(text).into_iter().flat_map(permits_of).collect();
        Permits { allowed: allowed.map(read), denied: read(denied) }
    }

    /// What is said of a call of this tool; of one that runs a command, of that.
    pub fn of(&self, tool: &str, command: Option<&str>) -> Permission {
        let command = command.map(without_folder);
        let command = command.as_deref();
        if self.denied.iter().any(|permit| permit.forbids(tool, command)) {
            return Permission::Denied;
        }
        match &self.allowed {
            None => Permission::Unsaid,
            Some(allowed) if allowed.iter().any(|permit| permit.allows(tool, command)) => Permission::Given,
            Some(_) => Permission::NotGiven,
        }
    }

    /// Whether a tool is forbidden whatever it is called with: nobody is told of it.
    pub fn forbids(&self, tool: &str) -> bool {
        self.denied.iter().any(|permit| permit.is_of(tool) && !matches!(permit.only, Some(Only::Command { .. })))
    }
}

impl Permit {
    fn is_of(&self, tool: &str) -> bool {
        fits(&self.tool, tool)
    }

    fn allows(&self, tool: &str, command: Option<&str>) -> bool {
        let holds = |only: &Only| match (only, command) {
            (Only::Command { words, is_whole }, Some(command)) => {
                let written: Vec<&str> = command.split_whitespace().collect();
                let is_plain = !command.trim().contains(SIGNS);
                is_plain && written.starts_with(&of_words(words)) && !(*is_whole && written.len() > words.len())
            }
            (Only::Command { .. } | Only::Unread, _) => false,
        };
        self.is_of(tool) && self.only.as_ref().is_none_or(holds)
    }

    /// A command is forbidden wherever in a line it stands.
    fn forbids(&self, tool: &str, command: Option<&str>) -> bool {
        let holds = |only: &Only| match (only, command) {
            (Only::Command { words, .. }, Some(command)) => {
                let marks = |c: char| c.is_whitespace() || SIGNS.contains(&c) || matches!(c, '"' | '\'' | '{' | '}');
                let written: Vec<&str> = command.split(marks).filter(|word| !word.is_empty()).collect();
                written.windows(words.len().max(1)).any(|part| *part == of_words(words))
            }
            (Only::Command { .. }, None) => false,
            (Only::Unread, _) => true,
        };
        self.is_of(tool) && self.only.as_ref().is_none_or(holds)
    }
}

fn of_words(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// What stands between spaces and commas; those in brackets part nothing.
fn entries(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = text.split(move |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    });
    parts.map(|entry| entry.trim_matches(['"', '\'', '[', ']', '`'])).filter(|entry| !entry.is_empty()).collect()
}

/// `Bash(git add:*)`: the tools of ours that are meant, which all have what stands in brackets.
fn permits_of(entry: &str) -> Vec<Permit> {
    let (name, inside) = match entry.split_once('(') {
        Some((name, rest)) => (name, Some(rest.trim_end_matches(')').trim())),
        None => (entry, None),
    };
    let known = OTHER_NAMES.iter().find(|(other, _)| *other == name).map(|(_, ours)| *ours);
    let tools: Vec<Arc<str>> = match known {
        Some(ours) => ours.iter().map(|tool| Arc::from(*tool)).collect(),
        None => vec![of_server(name)],
    };
    let only = |tool: &str| match inside {
        None | Some("" | "*" | ":*") => None,
        Some(inside) if tool == RUN_COMMAND => {
            let (text, is_whole) = match inside.strip_suffix('*') {
                Some(text) => (text.trim_end_matches([':', ' ']), false),
                None => (inside, true),
            };
            Some(Only::Command { words: text.split_whitespace().map(str::to_owned).collect(), is_whole })
        }
        Some(_) => Some(Only::Unread),
    };
    tools.into_iter().map(|tool| Permit { only: only(&tool), tool }).collect()
}

/// `mcp__github__create_issue` is `github.create_issue`, `mcp__github` all of that server.
fn of_server(name: &str) -> Arc<str> {
    let Some(rest) = name.strip_prefix("mcp__") else { return name.into() };
    match rest.split_once("__") {
        Some((server, tool)) => format!("{server}.{tool}").into(),
        None => format!("{rest}.*").into(),
    }
}
