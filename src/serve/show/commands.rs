//! What a person can ask in a conversation: `/stack`, `/vars`, …. Answered by us; the program never hears of it.

use std::borrow::Cow;

/// A command, what stands behind it, and what `/help` says of it.
type Entry = (&'static str, &'static str, &'static str);

/// Everything that begins with `/` and is ours.
const COMMANDS: [Entry; 6] = [
    ("stack", "", "the playbooks that are being executed, the current one first"),
    ("vars", "[NAME]", "the variables, and where each was set; with NAME, its whole value"),
    ("why", "[TRIGGER]", "why a trigger fired or did not"),
    ("restart", "", "leaves this session and starts a new one with the program's current text"),
    ("quit", "", "leaves; the session is saved (Ctrl-D does the same)"),
    ("help", "", "this list"),
];

/// What a person asks of us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command<'l> {
    /// The frames.
    Stack,
    /// The variables, or one of them.
    Variables(Option<&'l str>),
    /// The triggers, or one of them.
    Why(Option<&'l str>),
    /// A new session.
    Restart,
    /// Away from here.
    Quit,
    /// What there is.
    Help,
}

/// What a line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line<'l> {
    /// A question to us.
    Command(Command<'l>),
    /// It looks like a question to us and is none: what to say about it.
    Wrong(String),
    /// Words for the program.
    Message(Cow<'l, str>),
}

/// Reads a line. A word after `/` that is no command is an error if it stands alone: a slip must not reach the
/// program as a message. `//text` is the message `/text`.
pub(crate) fn read(line: &str) -> Line<'_> {
    let trimmed = line.trim();
    let Some(rest) = trimmed.strip_prefix('/') else { return Line::Message(Cow::Borrowed(line)) };
    if rest.starts_with('/') {
        return Line::Message(Cow::Borrowed(rest));
    }
    let (word, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let argument = Some(argument.trim()).filter(|argument| !argument.is_empty());
    let command = match word {
        "vars" => return Line::Command(Command::Variables(argument)),
        "why" => return Line::Command(Command::Why(argument)),
        "stack" => Command::Stack,
        "restart" => Command::Restart,
        "quit" => Command::Quit,
        "help" => Command::Help,
        _ if argument.is_none() && is_word(word) => {
            let list = names().collect::<Vec<_>>().join(", ");
            return Line::Wrong(format!(
                "there is no /{word}; the commands are {list}; to send it as it is, write //{word}"
            ));
        }
        _ => return Line::Message(Cow::Borrowed(line)),
    };
    match argument {
        None => Line::Command(command),
        Some(_) => Line::Wrong(format!("/{word} takes nothing after it; to send the line as it is, write /{trimmed}")),
    }
}

/// Whether it could be meant as a command: `/etc/hosts` and `/2` could not.
fn is_word(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_alphabetic() || c == '-' || c == '_' || c == '?')
}

/// The commands as they are typed, for completion.
pub(crate) fn names() -> impl Iterator<Item = String> {
    COMMANDS.iter().map(|(name, _, _)| format!("/{name}"))
}

/// Those that a debugger's console has, too.
fn of_debugger() -> impl Iterator<Item = &'static Entry> {
    COMMANDS.iter().filter(|(name, _, _)| !["restart", "quit"].contains(name))
}

/// The commands of a debugger's console as they are typed.
pub(crate) fn debugger_names() -> impl Iterator<Item = String> {
    of_debugger().map(|(name, _, _)| format!("/{name}"))
}

/// The answer to `/help` in a debugger's console.
pub(crate) fn debugger_help() -> String {
    let other = "  while the program waits for the user, everything else is the user's message (//text sends `/text`);\n  \
                 while it is paused or running, it is an expression, as in $order.total > 10\n";
    of_debugger().map(help_line).collect::<String>() + other
}

/// The answer to `/help`.
pub(crate) fn help() -> String {
    let keys = "  //text           sends `/text` to the program\n  \
                Ctrl-C           clears the line, or cancels what the program is doing; pressed again, it leaves\n  \
                Tab, Up, Ctrl-R  completes commands and names; shows earlier lines; searches them\n";
    COMMANDS.iter().map(help_line).collect::<String>() + keys
}

fn help_line((name, argument, text): &Entry) -> String {
    let usage = format!("/{name} {argument}");
    format!("  {usage:15}  {text}\n")
}
