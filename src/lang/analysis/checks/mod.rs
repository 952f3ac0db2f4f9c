//! Finds what is wrong or doubtful in a program (spec `language.md`, "Diagnostics").

mod approvals;
mod asked;
mod fields;
mod lines;
mod near_calls;
mod readings;
mod triggers;
mod unquoted;
mod unused;

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::analysis::Analysis;
use crate::analysis::CALL_CIRCLE;
use crate::analysis::call_graph::{call_cycles, endless_circles};
use crate::analysis::checks::approvals::check_approvals;
use crate::analysis::checks::asked::check_asked;
use crate::analysis::checks::fields::{check_fields, check_records};
use crate::analysis::checks::lines::check_lines;
use crate::analysis::checks::near_calls::check_near_calls;
use crate::analysis::checks::readings::check_readings;
use crate::analysis::checks::triggers::check_triggers;
use crate::analysis::checks::unquoted::check_unquoted;
use crate::analysis::checks::unused::check_unused;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::spelling::nearest;
use crate::diagnostic::wording::meant_or;
use crate::english::callables::{Callable, Meaning, Names};
use crate::english::phrase::{Phrase, mentioned_names};
use crate::english::skill_calls::named_skill;
use crate::lower::alone::Alone;
use crate::lower::{LoadOptions, with_plans};
use crate::plan::check_plan;
use crate::program::builtins::{Builtin, LOAD_FILE};
use crate::program::{Agent, AgentKind, CallSite, Entry, OnLimit, Parameter, Playbook, PlaybookId, Program, Signature};
use crate::span::Span;

/// All findings about a program that is put together already.
/// `alone` is what is known of its playbooks, by id.
pub(crate) fn check(
    program: &Program,
    alone: &[&Alone],
    later: &[String],
    options: &LoadOptions<'_>,
) -> Vec<Diagnostic> {
    let playbooks = program.playbooks.iter();
    let callables = playbooks.map(|playbook| Callable::new(playbook, &program.agent(playbook.agent).name));
    let callables: Vec<Callable> = callables.collect();
    let signatures = with_plans(options.tools, &program.plans);
    let names = Names::new(&callables, &signatures, later, std::iter::empty());
    let foreign = program.agents.iter().filter(|agent| agent.kind != AgentKind::Playbooks);
    let foreign = foreign.map(|agent| &*agent.name).collect();
    let open_world = options.open_world;
    let mut check = Check { program, alone, names, foreign, open_world, diagnostics: Vec::new() };
    let (analysis, cycles) = (Analysis::new(program), call_cycles(program));
    for playbook in &program.playbooks {
        check.calls(playbook);
        check.skills(playbook);
        check.limits(playbook);
        check.recursion(playbook, &analysis, &cycles);
        check.own_names(playbook);
    }
    let mut playbooks: Vec<Vec<PlaybookId>> = vec![Vec::new(); program.agents.len()];
    program.playbooks.iter().for_each(|playbook| playbooks[playbook.agent.0 as usize].push(playbook.id));
    program.agents.iter().zip(&playbooks).for_each(|(agent, playbooks)| check.reads(agent, playbooks));
    check.circles();
    check.entry();
    check.plans(options.tools, &signatures);
    let mut diagnostics = check.diagnostics;
    check_triggers(program, &mut diagnostics);
    check_unused(program, &mut diagnostics);
    check_lines(program, alone, &mut diagnostics);
    check_unquoted(program, &mut diagnostics);
    check_approvals(program, &mut diagnostics);
    check_asked(program, &mut diagnostics);
    check_readings(program, &mut diagnostics);
    check_near_calls(program, &mut diagnostics);
    check_fields(program, options.fields, &mut diagnostics);
    check_records(program, options.fields, &mut diagnostics);
    diagnostics.extend(alone.iter().flat_map(|alone| alone.found.iter().cloned()));
    diagnostics
}

struct Check<'a> {
    program: &'a Program,
    alone: &'a [&'a Alone],
    names: Names<'a>,
    /// Agents of which it is known only at run time what they can do: remote ones, people.
    foreign: HashSet<&'a str>,
    open_world: bool,
    diagnostics: Vec<Diagnostic>,
}

impl Check<'_> {
    /// What plans call. Any agent may run them, so any playbook may be meant.
    fn plans(&mut self, tools: &[Signature], signatures: &[Signature]) {
        if self.program.plans.is_empty() {
            return;
        }
        let mut playbooks: HashMap<String, &Playbook> = HashMap::new();
        for playbook in self.program.playbooks.iter().filter(|playbook| !playbook.implicit) {
            let qualified = self.program.full_name(playbook);
            playbooks.entry(playbook.name.to_string()).or_insert(playbook);
            playbooks.entry(qualified).or_insert(playbook);
        }
        // Of a tool and a plan of one name the plan counts, which comes last.
        let signatures: HashMap<&str, &Signature> = signatures.iter().map(|known| (&*known.name, known)).collect();
        let find = |name: &str| match playbooks.get(name) {
            Some(playbook) => Some(playbook.signature()),
            None => signatures.get(name).map(|signature| (*signature).clone()),
        };
        let candidates = self.names.candidates(self.program.agents.len());
        for plan in &self.program.plans {
            if tools.iter().any(|tool| tool.name == plan.name) {
                let message = format!("the plan `{}` hides the tool of that name, also from itself", plan.name);
                let warning =
                    Diagnostic::warning("plan-hides-tool", Span { end: plan.span.start, ..plan.span }, message);
                self.diagnostics.push(warning.with_note("give the plan's file another name if the tool is meant"));
            }
            let text = self.program.sources.get(plan.file).map_or("", |file| &file.text);
            let found = check_plan(plan, text, &find, &candidates, self.open_world);
            self.diagnostics.extend(found);
        }
    }

    fn calls(&mut self, playbook: &Playbook) {
        for step in &playbook.steps {
            if let Some(call) = step.call() {
                self.call(playbook, call);
            }
        }
    }

    fn call(&mut self, playbook: &Playbook, call: &CallSite) {
        match self.names.resolve(playbook.agent, &call.callee) {
            Meaning::Playbook(id) => {
                let callee = self.program.playbook(id);
                if let Some(message) = wrong_arguments(&callee.name, &callee.parameters, call) {
                    let error = Diagnostic::error("wrong-arguments", call.callee_span, message);
                    self.diagnostics.push(error.with_place(callee.title_span, "declared here"));
                }
            }
            Meaning::Tool(tool) => {
                if let Some(message) = wrong_arguments(&tool.name, &tool.parameters, call) {
                    self.diagnostics.push(Diagnostic::error("wrong-arguments", call.callee_span, message));
                }
                if let Some(whose) = self.program.refusal(playbook, &tool.name) {
                    let message = format!("`{}` may not be called here: {whose} does not permit it", tool.name);
                    let note = "add it to `allow`, or remove it from `deny`";
                    let error = Diagnostic::error("tool-not-permitted", call.callee_span, message);
                    self.diagnostics.push(error.with_note(note));
                }
            }
            Meaning::Private(id) => {
                let callee = self.program.playbook(id);
                let message = format!("`{}` is not public; write `public: true` under its heading", call.callee);
                let error = Diagnostic::error("not-public", call.callee_span, message);
                self.diagnostics.push(error.with_place(callee.title_span, "declared here"));
            }
            Meaning::Later => {
                let message = format!("`{}` is known, but can't be run yet; the call fails when reached", call.callee);
                self.diagnostics.push(Diagnostic::warning("not-run-yet", call.callee_span, message));
            }
            Meaning::Builtin(Builtin::Unsupported) => {
                let message = format!("the built-in `{}` is not supported; the call fails when reached", call.callee);
                self.diagnostics.push(Diagnostic::warning("unsupported-builtin", call.callee_span, message));
            }
            Meaning::Builtin(_) => {}
            Meaning::Unknown if &*call.callee == LOAD_FILE => {}
            Meaning::Unknown => self.unknown_callee(playbook, &call.callee, call.callee_span),
        }
    }

    fn unknown_callee(&mut self, playbook: &Playbook, callee: &str, span: Span) {
        let owner = callee.split_once('.').map(|(owner, _)| owner);
        let foreign = owner.is_some_and(|owner| self.foreign.contains(owner));
        let message = format!("there is no playbook or tool `{callee}`");
        let mut found = if self.open_world || foreign {
            Diagnostic::warning("unknown-callee", span, message)
                .with_note("it may be a tool that is only known at run time")
        } else {
            Diagnostic::error("unknown-callee", span, message)
        };
        let siblings = owner.map(|owner| self.names.commands_of(owner)).unwrap_or_default();
        if let Some(near) = self.names.nearest(playbook.agent, callee) {
            found = found.with_fix(format!("call `{near}`"), span, near);
        } else if let (Some(owner), false) = (owner, siblings.is_empty()) {
            found = found.with_note(format!("`{owner}` has {}", siblings.join(", ")));
        } else if found.notes.is_empty() {
            found = found.with_note("write a playbook with this name, configure the tool, or remove the brackets");
        }
        self.diagnostics.push(found);
    }

    /// Skills that lines call in words, and that there are not.
    fn skills(&mut self, playbook: &Playbook) {
        for step in playbook.steps.iter().filter(|step| step.call().is_none()) {
            let text = self.program.sources.text(step.span);
            let Some(named) = named_skill(Phrase::at(text, step.span).plain()) else { continue };
            let name = named.name.text;
            if self.names.skill(name).is_some() || !(named.is_sure || self.names.has_skills()) {
                continue;
            }
            let message = format!("there is no skill `{name}`, so this line is left to the model");
            let found = Diagnostic::warning("unknown-skill", named.name.span(), message);
            let near = self.names.nearest_skill(name);
            self.diagnostics.push(found.with_note(meant_or(near, format!("import it: `!import skills/{name}`"))));
        }
    }

    fn limits(&mut self, playbook: &Playbook) {
        let OnLimit::Call(callee) = &playbook.limits.on_limit else { return };
        match self.names.resolve(playbook.agent, callee) {
            Meaning::Playbook(id) => {
                let callee = self.program.playbook(id);
                if let Some(parameter) = callee.parameters.iter().find(|parameter| parameter.required()) {
                    let message =
                        format!("`{}` is called without arguments, but needs `${}`", callee.name, parameter.name);
                    let error = Diagnostic::error("wrong-arguments", playbook.title_span, message);
                    self.diagnostics.push(error.with_place(callee.title_span, "declared here"));
                }
            }
            Meaning::Private(_) | Meaning::Tool(_) | Meaning::Builtin(_) | Meaning::Later | Meaning::Unknown => {
                let message = format!("the limits call `{callee}`, which is not a playbook of this agent");
                let mut error = Diagnostic::error("unknown-callee", playbook.title_span, message);
                if let Some(near) = self.names.nearest(playbook.agent, callee) {
                    error = error.with_note(format!("did you mean `{near}`?"));
                }
                self.diagnostics.push(error);
            }
        }
    }

    fn recursion(&mut self, playbook: &Playbook, analysis: &Analysis<&Program>, cycles: &[usize]) {
        for step in &playbook.steps {
            let Some(call) = step.call() else { continue };
            let Some(callee) = call.playbook else { continue };
            let recursive = cycles[callee.0 as usize] == cycles[playbook.id.0 as usize];
            if recursive && analysis.tail_call(playbook.id, step.id).is_err() {
                let message =
                    "this recursive call is not in tail position, so each round adds a frame to the call stack";
                let warning = Diagnostic::warning("recursion-not-tail", call.callee_span, message);
                self.diagnostics.push(warning.with_note("to run in constant space, make the call the last line"));
            }
        }
    }

    /// Skills whose calls in words lead back to where they began, for good.
    fn circles(&mut self) {
        for circle in endless_circles(self.program) {
            let names = circle.iter().chain(circle.first()).map(|(skill, _)| format!("`{}`", skill.title));
            let message = format!(
                "{}: each calls the next before its own line is done, so a run only ends at the limit `depth`",
                names.collect::<Vec<_>>().join(" → ")
            );
            let lines = circle.iter().zip(circle.iter().cycle().skip(1));
            let mut lines = lines.map(|((_, step), (next, _))| (step.span, format!("calls `{}`", next.title)));
            let Some((first, _)) = lines.next() else { continue };
            let mut warning = Diagnostic::warning(CALL_CIRCLE, first, message);
            for (place, calls) in lines {
                warning = warning.with_place(place, calls);
            }
            self.diagnostics
                .push(warning.with_note("put one of the calls under a condition, or let a line do the work itself"));
        }
    }

    /// A callee that writes a name into its own frame which its caller has too and reads afterwards.
    fn own_names(&mut self, playbook: &Playbook) {
        for (line, names) in &self.alone[playbook.id.0 as usize].read_behind {
            let Some(call) = playbook.step(*line).call() else { continue };
            let Some(id) = call.playbook.filter(|id| *id != playbook.id) else { continue };
            let callee = self.program.playbook(id);
            for (name, place) in &self.alone[id.0 as usize].binds {
                let is_result = call.result.as_ref().is_some_and(|result| result.name == *name);
                if !is_result && names.binary_search(name).is_ok() {
                    let message = format!(
                        "`{}` sets a `${name}` of its own, so this playbook does not see the new value",
                        callee.name
                    );
                    let warning = Diagnostic::warning("own-name-read-by-caller", call.callee_span, message);
                    let warning = warning.with_place(*place, "written here");
                    self.diagnostics.push(warning.with_note("return it, or declare it with `variables:`"));
                }
            }
        }
    }

    /// Names that are read where nothing can have set them.
    fn reads(&mut self, agent: &Agent, playbooks: &[PlaybookId]) {
        let in_agent = mentioned_names(&agent.description);
        let all = playbooks.iter().map(|id| (*id, self.alone[id.0 as usize]));
        // By name the playbook that may write it; none: several may.
        let mut writers: HashMap<&str, Option<PlaybookId>> = HashMap::new();
        for (id, alone) in all.clone() {
            for name in &alone.may_write {
                writers.entry(name).and_modify(|writer| *writer = None).or_insert(Some(id));
            }
        }
        for (id, alone) in all {
            for (name, span) in &alone.needs {
                let is_known = agent.variables.iter().any(|variable| variable.name == *name) || in_agent.contains(name);
                if is_known || writers.get(&**name).is_some_and(|writer| *writer != Some(id)) {
                    continue;
                }
                let message = format!("`${name}` is read here, but no earlier line sets it");
                let warning = Diagnostic::warning("read-before-written", *span, message);
                let advice = "set it in an earlier line, make it a parameter, or declare it with `variables:`";
                self.diagnostics.push(warning.with_note(advice));
            }
        }
    }

    fn entry(&mut self) {
        if let Entry::Root(id) = self.program.entry {
            let agent = self.program.agent(self.program.playbook(id).agent);
            let message = "no playbook has the trigger `At the beginning`, so a session begins with this agent's \
                           description as its goal";
            self.diagnostics.push(Diagnostic::note("implicit-root", agent.title_span, message));
        }
    }
}

/// What is wrong with the arguments of a call, if they are known.
fn wrong_arguments(name: &str, parameters: &[Parameter], call: &CallSite) -> Option<String> {
    let arguments = call.arguments.as_ref()?;
    let mut given: BTreeSet<&str> = BTreeSet::new();
    for (index, argument) in arguments.iter().enumerate() {
        let parameter = match &argument.name {
            Some(wanted) => match parameters.iter().find(|parameter| parameter.name == *wanted) {
                Some(parameter) => parameter,
                None => {
                    let near = nearest(wanted, parameters.iter().map(|parameter| &*parameter.name));
                    let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                    return Some(format!("`{name}` has no parameter `{wanted}`{hint}"));
                }
            },
            None => match parameters.get(index) {
                Some(parameter) => parameter,
                None => {
                    let (n, m) = (parameters.len(), arguments.len());
                    return Some(format!("`{name}` takes {n} argument{}, not {m}", if n == 1 { "" } else { "s" }));
                }
            },
        };
        if !given.insert(&parameter.name) {
            return Some(format!("`{name}` gets `{}` twice", parameter.name));
        }
    }
    let missing = parameters.iter().find(|parameter| parameter.required() && !given.contains(&*parameter.name))?;
    Some(format!("`{name}` needs an argument for `{}`", missing.name))
}
