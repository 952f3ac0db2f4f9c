//! The breakpoints that a client has set, and what the program makes of them.

use std::sync::Arc;

use crate::host::debug::breakpoint::{Breakpoint, BreakpointId, DataScope, Exceptions, LogMessage, Target, expression};
use crate::lang::expr::scan_name;
use crate::lang::program::Program;
use crate::lang::spelling::nearest;
use crate::serve::dap::lists::Owner;
use crate::serve::dap::sources::Texts;
use crate::serve::dap::wire::{
    self, BreakpointLocation, Conditions, DataBreakpoint, FunctionBreakpoint, Source, SourceBreakpoint,
};
use crate::vm::protocol::FrameId;

/// What a client has set, with the numbers that it knows them by.
#[derive(Debug, Default)]
pub(crate) struct Breakpoints {
    n_ids: u64,
    lines: Vec<OfSource>,
    functions: Vec<(BreakpointId, FunctionBreakpoint)>,
    data: Vec<(BreakpointId, DataBreakpoint)>,
}

/// The breakpoints of one text.
#[derive(Debug)]
struct OfSource {
    source: Source,
    set: Vec<(BreakpointId, SourceBreakpoint)>,
}

/// What became of one: what stops the program and where, or why it does not.
type Compiled = Result<(Breakpoint, Option<(Source, BreakpointLocation)>), String>;

impl Breakpoints {
    /// Those of one text: all that there are from now on.
    pub(crate) fn set_lines(
        &mut self,
        source: Source,
        wanted: Vec<SourceBreakpoint>,
        texts: &Texts,
    ) -> Vec<wire::Breakpoint> {
        let index = self.lines.iter().position(|of| is_same(&of.source, &source));
        let before = index.map(|index| self.lines.remove(index).set).unwrap_or_default();
        let set = numbered(&mut self.n_ids, before, wanted);
        let answers = set.iter().map(|(id, wanted)| to_wire(*id, at_line(*id, wanted, &source, texts))).collect();
        if !set.is_empty() {
            self.lines.push(OfSource { source, set });
        }
        answers
    }

    /// Those at playbooks and plans.
    pub(crate) fn set_functions(
        &mut self,
        wanted: Vec<FunctionBreakpoint>,
        program: &Program,
    ) -> Vec<wire::Breakpoint> {
        let before = std::mem::take(&mut self.functions);
        self.functions = numbered(&mut self.n_ids, before, wanted);
        self.functions.iter().map(|(id, wanted)| to_wire(*id, at_function(*id, wanted, program))).collect()
    }

    /// Those at variables.
    pub(crate) fn set_data(&mut self, wanted: Vec<DataBreakpoint>) -> Vec<wire::Breakpoint> {
        let before = std::mem::take(&mut self.data);
        self.data = numbered(&mut self.n_ids, before, wanted);
        self.data.iter().map(|(id, wanted)| to_wire(*id, at_data(*id, wanted))).collect()
    }

    /// All that stop the program.
    pub(crate) fn all(&self, texts: &Texts, program: &Program) -> Vec<Breakpoint> {
        self.compiled(texts, program)
            .filter_map(|(_, compiled)| compiled.ok())
            .map(|(breakpoint, _)| breakpoint)
            .collect()
    }

    /// All as they are told, when the program is another one.
    pub(crate) fn answers(&self, texts: &Texts, program: &Program) -> Vec<wire::Breakpoint> {
        self.compiled(texts, program).map(|(id, compiled)| to_wire(id, compiled)).collect()
    }

    fn compiled<'a>(
        &'a self,
        texts: &'a Texts,
        program: &'a Program,
    ) -> impl Iterator<Item = (BreakpointId, Compiled)> + 'a {
        let at_lines = self
            .lines
            .iter()
            .flat_map(move |of| of.set.iter().map(move |(id, wanted)| (*id, at_line(*id, wanted, &of.source, texts))));
        let at_functions = self.functions.iter().map(move |(id, wanted)| (*id, at_function(*id, wanted, program)));
        at_lines.chain(at_functions).chain(self.data.iter().map(|(id, wanted)| (*id, at_data(*id, wanted))))
    }
}

/// Those that were there before keep their numbers, and so their counts.
fn numbered<T: PartialEq>(n_ids: &mut u64, before: Vec<(BreakpointId, T)>, wanted: Vec<T>) -> Vec<(BreakpointId, T)> {
    let mut before = before;
    let number = |wanted: T| match before.iter().position(|(_, known)| *known == wanted) {
        Some(index) => before.remove(index),
        None => {
            *n_ids += 1;
            (BreakpointId(*n_ids), wanted)
        }
    };
    wanted.into_iter().map(number).collect()
}

/// Whether two clients' words for a text mean the same one.
fn is_same(one: &Source, other: &Source) -> bool {
    let reference = |source: &Source| source.source_reference.filter(|reference| *reference > 0);
    (&one.path, reference(one)) == (&other.path, reference(other))
}

fn at_line(id: BreakpointId, wanted: &SourceBreakpoint, source: &Source, texts: &Texts) -> Compiled {
    let Some(file) = texts.file_of(source) else {
        let name = source.path.as_deref().or(source.name.as_deref()).unwrap_or("this text");
        return Err(format!("{name} is not one of the program's files"));
    };
    let line = texts.counting().our_line(wanted.line);
    let place = texts.places.nearest(file, line).ok_or("nothing in this file is executed")?;
    let log = wanted.log_message.as_deref().filter(|text| !text.is_empty()).map(LogMessage::parse).transpose()?;
    let breakpoint = at(id, Target::Line(place.location), &wanted.when)?;
    let place = texts.range(place.range).map(|place| {
        let location = BreakpointLocation::of(&place, wanted.column.is_some());
        (place.source, location)
    });
    Ok((Breakpoint { log, ..breakpoint }, place))
}

fn at_function(id: BreakpointId, wanted: &FunctionBreakpoint, program: &Program) -> Compiled {
    let names = function_names(program);
    if !names.contains(&wanted.name) {
        let close = nearest(&wanted.name, names.iter());
        let hint = close.map_or(String::new(), |close| format!("; did you mean {close}?"));
        return Err(format!("there is no playbook or plan {}{hint}", wanted.name));
    }
    Ok((at(id, Target::Function(wanted.name.as_str().into()), &wanted.when)?, None))
}

/// All playbooks and plans, by their names and as `Agent.Playbook`.
pub(crate) fn function_names(program: &Program) -> Vec<String> {
    let playbooks = program.playbooks.iter().filter(|playbook| !playbook.implicit || !playbook.steps.is_empty());
    let playbooks = playbooks.flat_map(|playbook| [playbook.name.to_string(), program.full_name(playbook)]);
    playbooks.chain(program.plans.iter().map(|plan| plan.name.to_string())).collect()
}

fn at_data(id: BreakpointId, wanted: &DataBreakpoint) -> Compiled {
    let target = data_target(&wanted.data_id).ok_or_else(|| {
        format!("`{}` is not a variable that can be watched; ask for one with dataBreakpointInfo", wanted.data_id)
    })?;
    Ok((at(id, target, &wanted.when)?, None))
}

/// The name by which a client can watch a variable: `frame/3/$city`, `others/Desk/$city`.
pub(crate) fn data_id(owner: &Owner) -> String {
    match owner.frame {
        Some(frame) => format!("frame/{}/${}", frame.0, owner.name),
        None => format!("others/{}/${}", owner.agent, owner.name),
    }
}

/// The name of a variable wherever it is kept.
pub(crate) fn data_id_anywhere(name: &str) -> String {
    format!("any/${name}")
}

fn data_target(id: &str) -> Option<Target> {
    let (scope, name) = id.rsplit_once("/$")?;
    if name.is_empty() || scan_name(name) != name.len() {
        return None;
    }
    let scope = match scope.split_once('/') {
        Some(("frame", frame)) => DataScope::Frame(FrameId(frame.parse().ok()?)),
        Some(("others", agent)) => DataScope::Others(agent.into()),
        Some(_) => return None,
        None if scope == "any" => DataScope::Anywhere,
        None => return None,
    };
    Some(Target::Data { name: Arc::from(name), scope })
}

/// A breakpoint that writes nothing. No text, and an empty one, is no condition.
fn at(id: BreakpointId, target: Target, when: &Conditions) -> Result<Breakpoint, String> {
    let is_text = |text: &&str| !text.trim().is_empty();
    let condition = when.condition.as_deref().filter(is_text).map(expression).transpose()?;
    let hits = when.hit_condition.as_deref().filter(is_text).map(str::parse).transpose()?;
    Ok(Breakpoint { id, target, condition, hits, log: None })
}

fn to_wire(id: BreakpointId, compiled: Compiled) -> wire::Breakpoint {
    let nothing =
        wire::Breakpoint { id: id.0, verified: true, message: None, source: None, location: None, reason: None };
    match compiled {
        Ok((_, place)) => {
            let (source, location) = place.unzip();
            wire::Breakpoint { source, location, ..nothing }
        }
        Err(message) => wire::Breakpoint { verified: false, message: Some(message), reason: Some("failed"), ..nothing },
    }
}

/// What a program can be stopped at beside breakpoints: name, label, description, and whether it is on by default.
pub(crate) const FILTERS: [(&str, &str, &str, bool); 5] = [
    ("faults", "Faults", "the program fails, or an instruction of a plan", true),
    ("failedCalls", "Failed calls", "a tool or a playbook fails; the program is told and may continue", false),
    ("triggerMatched", "Trigger matched", "a trigger has matched, and its playbook is about to be called", false),
    ("triggerEvaluated", "Trigger evaluated", "a trigger was evaluated, whatever the result", false),
    ("end", "End", "the session ends: the last moment to go back", false),
];

/// What these filters mean; unknown ones are passed over, as the protocol wants it.
pub(crate) fn exceptions(filters: &[String]) -> Exceptions {
    let has = |name: &str| filters.iter().any(|filter| filter == name);
    Exceptions {
        faults: has("faults"),
        failed_calls: has("failedCalls"),
        matches: has("triggerMatched"),
        evaluations: has("triggerEvaluated"),
        end: has("end"),
    }
}
