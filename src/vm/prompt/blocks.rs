//! The blocks of a turn's user message: which there are, what stands in them, and that they fit into the context.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use minijinja::context;
use playhouse_lang::analysis::layout::Layout;
use playhouse_lang::program::{Body, Mode, Playbook, Step, StepKind};
use playhouse_lang::value::Value;

use crate::calls::call::CallState;
use crate::dataflow::date::{Calendar, zone};
use crate::machine::stack::Stack;
use crate::machine::told::Lines;
use crate::prompt::files::render;
use crate::prompt::system::clipped;
use crate::prompt::topics::deals_with_days;
use crate::protocol::view::Utterance;
use crate::protocol::{TurnKind, USER_MESSAGE};
use crate::variables::display::{first_line, shorten, shorten_text};
use crate::variables::scope::{Stamp, Variable};
use playhouse_lang::expr::template::{Part, scan_text};

/// A user message, and the long variables that it shows because the line in hand names them.
pub(crate) struct Message {
    pub(crate) text: String,
    pub(crate) shown: Vec<(Arc<str>, Stamp)>,
}

impl Stack {
    /// The next user message of the chat session. What the run has brought gets the room that the program's own text
    /// leaves of the context, and a quarter of the context at least.
    pub(crate) fn render_turn(&self, kind: TurnKind, system_tokens: u64) -> Message {
        let (frame, chat_owner) = (self.top(), self.chat_owner());
        let told = &chat_owner.told;
        let is_start = kind == TurnKind::Start;
        let playbook = self.program.playbook(chat_owner.playbook);
        let shown_playbook = is_start.then(|| self.write_playbook(playbook));
        let tools = is_start.then(|| self.write_tools(playbook));
        let today = if is_start { self.write_today() } else { None };
        // In bytes, of which a token has about four.
        let quarter = usize::try_from(self.settings.context_tokens).unwrap_or(usize::MAX);
        let json = |text: &str| Value::from(text).to_json();
        let user = told.user().map(|text| json(&shorten_text(text, quarter)));
        let problem = told.problem().map(|text| clipped(text, quarter));
        let saying =
            told.saying().map(|text| json(&text[text.ceil_char_boundary(text.len().saturating_sub(quarter))..]));
        let go_on = frame.pointer.map(|step| self.label(step));

        let own = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let fixed = shown_playbook.as_ref().map_or(0, |shown| shown.n_bytes)
            + tools.iter().flatten().map(String::len).sum::<usize>()
            + own(&user)
            + own(&problem)
            + own(&saying);
        let system = usize::try_from(system_tokens).unwrap_or(usize::MAX).saturating_mul(4);
        let room = quarter.saturating_mul(4).saturating_sub(system).saturating_sub(fixed).max(quarter);
        let (variables, shown) = self.write_variables(is_start, room / 2);
        let [mut done, results, references, mut meanwhile] = told.blocks();
        let conversation = self.write_conversation(kind);
        leave_repeats_out(&mut done, &results, &conversation);
        if !is_start {
            // A fresh session shows all variables anyway.
            self.write_changes().for_each(|line| meanwhile.push(line));
        }
        let mut blocks = [variables, conversation, done, results, references, meanwhile];
        while blocks.iter().map(Lines::n_bytes).sum::<usize>() > room {
            let Some(longest) = blocks.iter_mut().max_by_key(|block| block.n_bytes()) else { break };
            if !longest.leave_one_out() {
                break;
            }
        }
        let [variables, conversation, done, results, references, meanwhile] = blocks.map(Lines::into_shown);
        let variables: Option<Vec<String>> = variables.map(|lines| lines.into_iter().rev().collect());
        let playbook = shown_playbook.map(|shown| shown.context);
        let text = render(
            "turn",
            context! { playbook, tools, today, variables, conversation, done, results, references, meanwhile, user, problem, saying, go_on => go_on.as_deref() },
        );
        Message { text: text.trim_end().to_owned(), shown }
    }

    fn write_playbook(&self, playbook: &Playbook) -> ShownPlaybook {
        let signature = playbook.signature().written(&playbook.name, "");
        let is_goal = playbook.mode == Mode::Goal;
        let (description, n_numbered) = match &playbook.skill {
            Some(skill) => (self.write_skill(playbook, skill), playbook.steps.len()),
            None if is_goal => number_items(playbook),
            None => (playbook.description.trim().to_owned(), 0),
        };
        let mut lines = Vec::new();
        for step in playbook.steps.iter().skip(n_numbered) {
            lines.push(self.write_line(playbook, step));
            lines.extend(self.write_region(playbook, step));
        }
        let notes = playbook.notes.trim();
        let n_bytes = signature.len() + description.len() + lines.iter().map(String::len).sum::<usize>() + notes.len();
        ShownPlaybook { n_bytes, context: context! { signature, description, is_goal, lines, notes } }
    }

    /// The playbooks whose text the model has before it: the one that is executed and those shown inside it.
    pub(super) fn shown_playbooks(&self) -> impl Iterator<Item = &Playbook> {
        let id = self.chat_owner().playbook;
        let regions = self.layouts.layout(id).into_iter().flat_map(Layout::regions);
        std::iter::once(id).chain(regions.map(|region| region.playbook)).map(|id| self.program.playbook(id))
    }

    /// `2026-11-22 (Sunday)`, where the playbook deals with days.
    fn write_today(&self) -> Option<String> {
        let is_wanted = self.shown_playbooks().any(deals_with_days);
        let zone = zone(&self.settings.zone).ok().filter(|_| is_wanted)?;
        Some(Calendar::new(self.now, zone, self.settings.times_of_day).today_in_words())
    }

    /// `$name = JSON`: the one way in which variables are shown. One that the line in hand names is shown whole up to a
    /// quarter of the context, any other up to `shown_value_bytes`; what is longer with its kind, size and beginning.
    fn show(&self, name: &str, variable: &Variable, limit: Option<usize>) -> String {
        let limit = limit.unwrap_or(if self.is_named_here(name) {
            self.whole_bytes()
        } else {
            self.settings.shown_value_bytes
        });
        format!("${name} = {}", shorten(&variable.value, limit))
    }

    /// Bytes of JSON up to which a variable that the line in hand names is shown whole.
    fn whole_bytes(&self) -> usize {
        let quarter = usize::try_from(self.settings.context_tokens).unwrap_or(usize::MAX);
        quarter.max(self.settings.shown_value_bytes)
    }

    fn is_named_here(&self, name: &str) -> bool {
        let frame = self.top();
        frame.pointer.is_some_and(|step| self.body(frame).step(step).reads.iter().any(|read| **read == *name))
    }

    /// The variables that the model is told of, nearest last; in a continued session only long ones that the line in
    /// hand names, if this session has not shown them so.
    fn write_variables(&self, is_start: bool, room: usize) -> (Lines, Vec<(Arc<str>, Stamp)>) {
        let is_long = |name: &str, variable: &Variable| {
            self.is_named_here(name) && !variable.value.value().to_json_within(self.settings.shown_value_bytes).1
        };
        let all = self.told_variables(|name, variable| is_start || is_long(name, variable));
        let long: Vec<(Arc<str>, Stamp)> = all
            .iter()
            .filter(|(name, variable)| !is_start || is_long(name, variable))
            .map(|(name, variable)| ((*name).clone(), variable.set))
            .filter(|shown| is_start || !self.chat_owner().chat.shown.contains(shown))
            .collect();
        let is_shown = |name: &Arc<str>| is_start || long.iter().any(|(shown, _)| shown == name);
        let lines = |limit: Option<usize>| {
            let variables = all.iter().rev().filter(|(name, _)| is_shown(name));
            variables.map(|(name, variable)| self.show(name, variable, limit)).collect::<Lines>()
        };
        let mut shown = lines(None);
        for limit in [self.settings.shown_value_bytes, 200] {
            if shown.n_bytes() > room {
                shown = lines(Some(limit));
            }
        }
        (shown, long)
    }

    /// `MEANWHILE`: the variables that changed while another frame stood above.
    fn write_changes(&self) -> impl Iterator<Item = String> {
        let told = &self.chat_owner().told;
        let since = told.suspended_since();
        let variables =
            since.map(|since| self.told_variables(|name, variable| variable.set > since && !told.knows(name)));
        variables.into_iter().flatten().map(|(name, variable)| self.show(name, variable, None))
    }

    /// The visible variables that are the model's business, nearest first. What a playbook that has returned leaves
    /// after is its own unless it is declared or a line before the model names it; what is being asked for, or is on
    /// its way, has no value yet.
    fn told_variables(&self, is_wanted: impl Fn(&str, &Variable) -> bool) -> Vec<(&Arc<str>, &Variable)> {
        let declared = &self.program.agent(self.core().agent).variables;
        let named = LazyCell::new(|| self.named_names());
        let agent = self.core().agent;
        let frames =
            || self.frames.iter().filter_map(|frame| frame.playbook()).filter(|frame| frame.core.agent == agent);
        let is_left_behind = |name: &str, variable: &Variable| {
            variable.changed_at.is_some() && !frames().any(|frame| frame.scopes().any(|scope| scope.contains(name)))
        };
        let is_ours = |name: &Arc<str>, variable: &Variable| {
            !is_left_behind(name, variable) || named.contains(name) || declared.iter().any(|other| other.name == *name)
        };
        let on_its_way = |name: &Arc<str>| {
            let waits = |state: &CallState| !matches!(state, CallState::Done(_));
            frames().any(|frame| {
                let calls = frame.core.queue.iter().chain(frame.inside.as_ref().map(|inside| &inside.call));
                calls.into_iter().any(|call| call.result_name.as_ref() == Some(name) && waits(call.state()))
            })
        };
        let all = self.reader().all().into_iter().filter(|(name, _)| &***name != USER_MESSAGE);
        all.filter(|(name, variable)| {
            is_wanted(name, variable)
                && is_ours(name, variable)
                && !on_its_way(name)
                && !self.is_asked_anew(name, variable)
        })
        .collect()
    }

    /// The names in the text that the model has before it.
    fn named_names(&self) -> BTreeSet<Arc<str>> {
        let mut names = BTreeSet::new();
        for playbook in self.shown_playbooks().filter(|playbook| playbook.skill.is_none()) {
            names.extend(playbook.steps.iter().flat_map(|step| step.reads.iter().chain(&step.writes)).cloned());
            let parts = [&playbook.description, &playbook.notes].into_iter().flat_map(|text| scan_text(text));
            names.extend(parts.filter_map(|part| match part {
                Part::Reference { reference, .. } => Some(reference.name),
                Part::Text(_) => None,
            }));
        }
        names
    }

    /// Whether the line in hand asks anew for a variable that it has asked for before: its value is that of an earlier
    /// round, or of an earlier run of the playbook.
    fn is_asked_anew(&self, name: &str, variable: &Variable) -> bool {
        let frame = self.top();
        let Some(step) = frame.pointer else { return false };
        let kind = &self.body(frame).step(step).kind;
        let is_target = matches!(kind, StepKind::Ask { targets } if targets.iter().any(|target| *target.name == *name));
        is_target && variable.changed_at == Some(frame.location()) && self.is_unanswered(step)
    }

    /// What was said: in a fresh session the user's first words, how the conversation of this playbook began, and the
    /// last utterances, with `…` for what lies between; else what was said since the session heard of it.
    fn write_conversation(&self, kind: TurnKind) -> Lines {
        let chat_owner = self.chat_owner();
        let said: BTreeMap<u64, &Utterance> = match kind {
            TurnKind::Start => {
                let first = self.conversation.first_words.iter().chain(&chat_owner.opening);
                first.map(|(number, utterance)| (*number, utterance)).chain(self.conversation.since(0)).collect()
            }
            TurnKind::Resume => self.conversation.since(chat_owner.chat.heard).collect(),
            TurnKind::Continue => BTreeMap::new(),
        };
        // What the user has just said stands in a block of its own.
        let mut said: Vec<(u64, &Utterance)> = said.into_iter().collect();
        if chat_owner.told.user().is_some() && said.last().is_some_and(|(_, last)| last.by_user) {
            said.pop();
        }
        let mut lines = Vec::new();
        for (index, (number, utterance)) in said.iter().enumerate() {
            if index > 0 && said[index - 1].0 + 1 < *number {
                lines.push("…".to_owned());
            }
            let by = if utterance.by_user { "user" } else { "you" };
            let text = shorten_text(&utterance.text, self.settings.shown_value_bytes);
            lines.push(format!("{by}: {}", Value::from(text).to_json()));
        }
        lines.into_iter().collect()
    }

    /// `02.01= text`, indented as it is nested; further lines of its text are indented with it.
    fn write_line(&self, body: &Body, step: &Step) -> String {
        let indent = "  ".repeat(body.nesting(step.id));
        let mark = match self.is_interpreters(body, step.id) {
            true => "=",
            false if step.must_be_done() => "!",
            false => "",
        };
        let text = step.text.replace('\n', &format!("\n{indent}   "));
        format!("{indent}{}{mark} {text}", step.label)
    }

    /// The playbook that runs inside a line, below it: signature and description, its lines with ids like
    /// `03>01`, its notes.
    fn write_region(&self, playbook: &Playbook, step: &Step) -> Vec<String> {
        let layout = self.layouts.layout(playbook.id);
        let Some((layout, region)) = layout.and_then(|layout| Some((layout, layout.region_at(step.id)?))) else {
            return Vec::new();
        };
        let callee = self.program.playbook(region.playbook);
        let margin = "  ".repeat(playbook.nesting(step.id) + 1);
        let indented = |text: &str| text.trim().replace('\n', &format!("\n{margin}"));
        let mut lines = vec![format!("{margin}{}:", callee.signature().written(&callee.name, ""))];
        if !callee.description.trim().is_empty() {
            lines.push(format!("{margin}{}", indented(&callee.description)));
        }
        let inside = callee.steps.iter().map(|step| layout.body().step(region.laid_out(step.id)));
        lines.extend(inside.map(|step| self.write_line(layout.body(), step)));
        if !callee.notes.trim().is_empty() {
            lines.push(format!("{margin}NOTES {}", indented(&callee.notes)));
        }
        lines
    }
}

/// A playbook as the template shows it.
struct ShownPlaybook {
    n_bytes: usize,
    context: minijinja::Value,
}

/// What another block of the message tells as well is not told as done: what a call gave, and what was said.
fn leave_repeats_out(done: &mut Lines, results: &Lines, conversation: &Lines) {
    let mut given: Vec<&str> = results.iter().collect();
    done.retain(|line| {
        let Some((_, what)) = line.split_once(' ') else { return true };
        if let Some(said) = what.strip_prefix("said ") {
            return !conversation.iter().any(|line| line.strip_prefix("you: ") == Some(said));
        }
        let Some(call) = what.strip_prefix("called ") else { return true };
        let is_of_call = |result: &&str| {
            result.strip_prefix(call).is_some_and(|rest| rest.starts_with(" -> ") || rest.starts_with(" !! "))
        };
        // Each result belongs to one call, and the same call may be made again before there is another one.
        given.iter().position(is_of_call).map(|index| given.remove(index)).is_none()
    });
}

/// The text of a skill with line ids in place of its list's numbers, and how many lines were found in it.
fn number_items(playbook: &Playbook) -> (String, usize) {
    let mut steps = playbook.steps.iter().peekable();
    let mut n_found = 0;
    let lines: Vec<String> = playbook
        .description
        .trim()
        .lines()
        .map(|line| {
            let item = line.trim_start();
            let text = item.trim_start_matches(|character: char| character.is_ascii_digit());
            let text = text.strip_prefix(['.', ')']).unwrap_or(text).trim_start();
            match steps.next_if(|step| text.len() < item.len() && text.trim_end() == first_line(&step.text)) {
                Some(step) => {
                    n_found += 1;
                    format!("{}{} {text}", &line[..line.len() - item.len()], step.label)
                }
                None => line.to_owned(),
            }
        })
        .collect();
    (lines.join("\n"), n_found)
}
