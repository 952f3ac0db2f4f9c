//! The variables of a session as text for people: what the program can read, from the nearest to the farthest, and
//! what of it hides what. Part of [`crate::serve::show`]; secrets are masked.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::host::travel::{Edit, Point};
use crate::lang::plan::Plan;
use crate::lang::program::Program;
use crate::lang::spelling::nearest;
use crate::serve::show::words::{frame_name, short};
use crate::value::Value;
use crate::vm::protocol::view::{VariableView, View, place_name};
use crate::vm::protocol::{FrameId, Tracked};

/// Variables that are kept in one place: a frame, or an agent's others.
pub(crate) struct Group<'v> {
    /// In words, as a heading.
    pub(crate) title: String,
    /// The frame; none: an agent's others.
    pub(crate) frame: Option<FrameId>,
    /// The agent.
    pub(crate) agent: &'v Arc<str>,
    /// The variables.
    pub(crate) variables: &'v [VariableView],
    /// Whether the frame that reads can read them, as far as nothing nearer hides them (spec `execution.md`: the frame,
    /// then those below it of the same agent, then the agent's others).
    pub(crate) is_visible: bool,
}

/// All groups that are not empty, in the order in which the frame `reader` reads (none: the one that is executed);
/// those that it cannot read come last.
pub(crate) fn groups(view: &View, reader: Option<FrameId>) -> Vec<Group<'_>> {
    let of_reader = view.stack.iter().rposition(|frame| Some(frame.id) == reader);
    let stack = of_reader.map_or(&view.stack[..], |index| &view.stack[..=index]);
    let top = stack.last();
    // Where nothing is executed any more, nobody reads: nothing is hidden from anybody.
    let is_readers = |agent: &Arc<str>| top.is_none_or(|top| top.agent == *agent);
    // A plan sees its own variables only, and nobody else sees them.
    let is_plan_on_top = top.is_some_and(|top| top.language.is_some());
    let frames = stack.iter().rev().enumerate().map(|(depth, frame)| {
        let name = frame_name(frame);
        let is_apart = is_plan_on_top || frame.language.is_some();
        let is_visible = depth == 0 || (is_readers(&frame.agent) && !is_apart);
        let title = match (depth, is_visible) {
            (0, _) => name,
            (_, true) => format!("{name}, below"),
            (_, false) if is_apart => format!("{name}, not visible: plans have variables of their own"),
            (_, false) => format!("{name}, not visible: another agent's"),
        };
        Group { title, frame: Some(frame.id), agent: &frame.agent, variables: &frame.variables, is_visible }
    });
    let others = view.globals.iter().map(|(agent, others)| {
        let is_visible = is_readers(agent) && !is_plan_on_top;
        let hidden = match (is_visible, is_plan_on_top) {
            (true, _) => "",
            (false, true) => ", not visible: plans have variables of their own",
            (false, false) => ", not visible: another agent's",
        };
        Group { title: format!("others of {agent}{hidden}"), frame: None, agent, variables: others, is_visible }
    });
    let mut groups: Vec<Group<'_>> = frames.chain(others).filter(|group| !group.variables.is_empty()).collect();
    groups.sort_by_key(|group| !group.is_visible);
    groups
}

/// Where the frame `reader` (none: the one that is executed) finds a variable.
pub(crate) fn keeper<'v>(view: &'v View, reader: Option<FrameId>, name: &str) -> Option<Group<'v>> {
    let is_kept = |group: &Group<'_>| group.variables.iter().any(|variable| &*variable.name == name);
    groups(view, reader).into_iter().find(|group| group.is_visible && is_kept(group))
}

/// Why a variable cannot have another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// There is no such frame.
    Frame(String),
    /// There is no such variable, which one could be made in a frame.
    Variable(String),
}

/// The edits that give variables these values at a point: in the frame with so many below it, or where the program finds
/// the names.
///
/// # Errors
/// There is no such frame, or the program finds no such variable.
pub(crate) fn edits(
    (view, point): (&View, Point),
    set: &[(Arc<str>, Value)],
    depth: Option<usize>,
) -> Result<Vec<Edit>, NoPlace> {
    let frame = |name: &str| match depth {
        Some(depth) => match (view.stack.get(depth), view.stack.len()) {
            (Some(frame), _) => Ok(Some(frame.id)),
            (None, 0) => Err(NoPlace::Frame(format!("there is no frame at {point}"))),
            (None, 1) => Err(NoPlace::Frame(format!("there is no frame {depth} at {point}; there is one, 0"))),
            (None, n) => Err(NoPlace::Frame(format!(
                "there is no frame {depth} at {point}; 0 is the lowest, {} the one on top",
                n - 1
            ))),
        },
        None => {
            let keeper = keeper(view, None, name).filter(|_| !view.stack.is_empty());
            let none = || NoPlace::Variable(format!("the program sees no variable ${name} at {point}"));
            Ok(keeper.ok_or_else(none)?.frame)
        }
    };
    set.iter().map(|(name, value)| Ok(Edit { frame: frame(name)?, name: name.clone(), value: value.clone() })).collect()
}

/// The variables of each frame, the one that is executed first, then the session's others:
///
/// ```text
///   Desk.HandOver
///     $name = "Ann" (str, from the model, set at HandOver:02 in turn 3)
///   Desk.Main, below
///     $name = "Bob" (str, from the user, set at Main:01 in turn 1; hidden by the nearer $name)
/// ```
pub(crate) fn variables(view: &View, program: &Program) -> String {
    let mut text = String::new();
    let mut seen = BTreeSet::new();
    for group in groups(view, None) {
        let _ = writeln!(text, "  {}", group.title);
        for variable in group.variables {
            // In one place a name is there once, so that what was seen was nearer.
            let is_hidden = group.is_visible && !seen.insert(&variable.name) && !view.stack.is_empty();
            let hidden = if is_hidden { format!("; hidden by the nearer ${}", variable.name) } else { String::new() };
            let _ = writeln!(
                text,
                "    ${} = {} ({}{hidden})",
                variable.name,
                short(&variable.value),
                history(variable, program, &view.written_plans)
            );
        }
    }
    text
}

/// The answer to `/vars`: all variables, or one of them in full.
///
/// # Errors
/// There is none of that name: which there are.
pub(crate) fn answer(view: &View, program: &Program, name: Option<&str>) -> Result<String, String> {
    if let Some(name) = name {
        return variable(view, program, name);
    }
    let text = variables(view, program);
    Ok(if text.is_empty() { "there are no variables\n".to_owned() } else { text })
}

/// Everything about one name, the value that the program reads first, in full; the error is which names there are.
fn variable(view: &View, program: &Program, name: &str) -> Result<String, String> {
    let name = name.trim_start_matches('$');
    let mut text = String::new();
    for group in groups(view, None) {
        for variable in group.variables.iter().filter(|variable| &*variable.name == name) {
            let is_hidden = group.is_visible && !text.is_empty() && !view.stack.is_empty();
            let hidden = if is_hidden { "; hidden by a nearer one" } else { "" };
            let _ = writeln!(
                text,
                "${name} in {} ({}{hidden})",
                group.title,
                history(variable, program, &view.written_plans)
            );
            let _ = writeln!(text, "{}", pretty(&variable.value));
            if let Some(old) = &variable.old {
                let _ = writeln!(text, "before: {}", short(old));
            }
        }
    }
    if !text.is_empty() {
        return Ok(text);
    }
    let names = names(view);
    Err(match (nearest(name, names.iter()), names.is_empty()) {
        (Some(close), _) => format!("there is no variable ${name}; did you mean ${close}?"),
        (None, false) => {
            let list: Vec<String> = names.iter().map(|name| format!("${name}")).collect();
            format!("there is no variable ${name}; the variables are {}", list.join(", "))
        }
        (None, true) => format!("there is no variable ${name}; there are none"),
    })
}

/// All names, each once, the nearest first.
pub(crate) fn names(view: &View) -> Vec<Arc<str>> {
    let mut seen = BTreeSet::new();
    let all =
        groups(view, None).into_iter().flat_map(|group| group.variables.iter().map(|variable| variable.name.clone()));
    all.filter(|name| seen.insert(name.clone())).collect()
}

/// `str, from the model`.
pub(crate) fn kind_and_origin(value: &Tracked) -> String {
    let origin = match value.origin().name() {
        "argument" => "from an argument",
        "code" => "from the program's text",
        "model" => "from the model",
        "tool" => "from a tool",
        "user" => "from the user",
        "event" => "from an event",
        other => other,
    };
    format!("{}, {origin}", value.value().kind())
}

/// `str, from the model, set at HandOver:02 in turn 3`.
fn history(variable: &VariableView, program: &Program, written: &[Arc<Plan>]) -> String {
    let place = variable.changed_at.and_then(|location| place_name(program, written, location));
    let at = place.map_or(String::new(), |place| format!(", set at {place}"));
    let turn = variable.changed_in.map_or(String::new(), |turn| format!(" in turn {}", turn.0));
    let secret = if variable.value.is_secret() { ", secret" } else { "" };
    format!("{}{at}{turn}{secret}", kind_and_origin(&variable.value))
}

/// The whole value as JSON over several lines; text as it is, in quotation marks.
fn pretty(value: &Tracked) -> String {
    let shown = value.shown();
    serde_json::to_string_pretty(&shown).unwrap_or_else(|_| shown.to_json())
}
