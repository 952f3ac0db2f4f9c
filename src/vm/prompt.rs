//! What the model is told: the machine's state as messages, by the templates in `prompts/`
//! (spec `execution.md`, "The three model calls").
//!
//! The wording of the blocks is a public interface: scripts match on it. All text from outside the program is a
//! JSON string, so it cannot look like a block.

use std::sync::{Arc, OnceLock};

use minijinja::context;
use playhouse_lang::program::{AgentId, Mode, Parameter, Playbook, PlaybookId, Program, Signature, Step, StepId, Type};
use playhouse_lang::value::Value;

use crate::Machine;
use crate::calls::{shorten, write_parameter};
use crate::fault::FaultKind;
use crate::frame::{Chat, News, Phase};
use crate::limits::Settings;
use crate::prompt_files::render;
use crate::protocol::{
    ChatMessage, Effect, Fact, Role, StartTurn, ToolSignature, TurnData, TurnId, TurnKind, USER_MESSAGE,
};
use crate::reply::{ReaderOptions, ReplyReader};
use crate::turn::{Gate, Turn, estimate_tokens, first_line};

/// What is the same for all turns of an agent, made once.
#[derive(Debug)]
pub(crate) struct Prompts {
    agents: Vec<AgentPrompt>,
}

#[derive(Debug, Default)]
struct AgentPrompt {
    system: OnceLock<Arc<str>>,
    callables: OnceLock<Arc<[Arc<str>]>>,
}

impl Prompts {
    pub(crate) fn new(program: &Program) -> Prompts {
        Prompts { agents: program.agents.iter().map(|_| AgentPrompt::default()).collect() }
    }

    /// The system message of an agent.
    pub(crate) fn system(
        &self,
        program: &Program,
        tools: &[ToolSignature],
        agent: AgentId,
        is_inlined: impl Fn(PlaybookId, StepId) -> bool,
    ) -> Arc<str> {
        let make = || {
            // The rule about playbooks inside lines costs tokens only where there are such.
            let inlines = program
                .agent(agent)
                .playbooks
                .iter()
                .map(|&id| program.playbook(id))
                .any(|playbook| playbook.steps.iter().any(|step| is_inlined(playbook.id, step.id)));
            let playbooks: Vec<String> = callable_playbooks(program, agent)
                .map(|(name, playbook)| summary_line(&name, &playbook.signature()))
                .collect();
            let tools = tools.iter().filter(|tool| may_call(program, agent, &tool.signature.name));
            let tools: Vec<String> = tools.map(|tool| summary_line(&tool.signature.name, &tool.signature)).collect();
            let agent = program.agent(agent);
            let context =
                context! { agent => &*agent.title, description => agent.description.trim(), playbooks, tools, inlines };
            render("system", context).into()
        };
        match self.agents.get(agent.0 as usize) {
            Some(prompt) => prompt.system.get_or_init(make).clone(),
            None => make(),
        }
    }

    /// The names an agent's model may call, playbooks first.
    pub(crate) fn callables(&self, program: &Program, tools: &[ToolSignature], agent: AgentId) -> Arc<[Arc<str>]> {
        let make = || {
            let playbooks = callable_playbooks(program, agent).map(|(name, _)| Arc::from(name));
            let tools = tools.iter().map(|tool| &tool.signature.name).filter(|name| may_call(program, agent, name));
            playbooks.chain(tools.cloned()).collect()
        };
        match self.agents.get(agent.0 as usize) {
            Some(prompt) => prompt.callables.get_or_init(make).clone(),
            None => make(),
        }
    }
}

/// Whether an agent's lists permit the tool of this name.
pub(crate) fn may_call(program: &Program, agent: AgentId, tool: &str) -> bool {
    program.tools.permits(tool) && program.agent(agent).tools.permits(tool)
}

/// An agent's own playbooks by plain name, then the public ones of other agents by `Agent.Playbook`.
fn callable_playbooks(program: &Program, agent: AgentId) -> impl Iterator<Item = (String, &Playbook)> {
    let own = program.agent(agent).playbooks.iter().map(|&id| program.playbook(id));
    let others = program.agents.iter().filter(move |other| other.id != agent).flat_map(|other| {
        other
            .playbooks
            .iter()
            .map(|&id| program.playbook(id))
            .filter(|playbook| playbook.public)
            .map(|playbook| (format!("{}.{}", other.name, playbook.name), playbook))
    });
    own.map(|playbook| (playbook.name.to_string(), playbook)).chain(others)
}

/// `Name(a: str, b = 3) -> dict: what it does`.
pub(crate) fn summary_line(name: &str, signature: &Signature) -> String {
    let line = write_signature(name, signature);
    if signature.summary.is_empty() { line } else { format!("{line}: {}", signature.summary) }
}

fn write_signature(name: &str, signature: &Signature) -> String {
    let parameters: Vec<String> = signature.parameters.iter().map(write_parameter).collect();
    let returns = if signature.returns == Type::ANY { String::new() } else { format!(" -> {}", signature.returns) };
    format!("{name}({}){returns}", parameters.join(", "))
}

impl Machine {
    /// Asks the model to go on at the top frame's pointer.
    pub(crate) fn start_turn(&mut self) {
        if self.limit_reached() {
            return;
        }
        if let Some(message) = self.session_limit() {
            return self.fail(FaultKind::Limit, message);
        }
        if self.deliver_early() {
            return;
        }
        let before = self.before_turn();
        let is_judging = self.watcher.question.is_some();
        let asker = self.asker();
        let undo = is_judging.then(|| Box::new((asker.chat.clone(), asker.news.clone())));
        let system = self.system_message(self.core().agent);
        let kind = self.prepare_message(estimate_tokens(system.len() as u64));
        self.next.turn += 1;
        let id = TurnId(self.next.turn);
        let now = self.now;
        let settings = self.settings.clone();
        for frame in &mut self.frames {
            let spent = &mut frame.core_mut().spent;
            spent.turns += 1;
            spent.turns_since_user += 1;
        }
        self.counters.turns += 1;
        let program = self.program.clone();
        let callables = self.prompts.callables(&program, &self.tools, self.core().agent);
        let variables = self
            .reader()
            .all()
            .into_iter()
            .map(|(name, variable)| (name.clone(), variable.value.value.clone()))
            .collect();
        let frame = self.top_mut();
        frame.here.ask_model = false;
        frame.is_told = frame.inlined;
        frame.core.phase = Phase::Turn;
        let (playbook, pointer) = (frame.playbook, frame.pointer);
        let is_inlined = frame.inlined;
        let caller = self.asker();
        let inside = caller.pointer.filter(|_| is_inlined).map(|line| (caller.playbook, line));
        let asker = self.asker_mut();
        let delay_ms = std::mem::take(&mut asker.delay_ms);
        let news = std::mem::take(&mut asker.news);
        let mut messages = Vec::with_capacity(asker.chat.messages.len() + 1);
        messages.push(ChatMessage { role: Role::System, text: system.clone() });
        messages.extend(asker.chat.messages.iter().cloned());
        let prompt_tokens = asker.chat.tokens + estimate_tokens(system.len() as u64);
        let attempt = asker.n_attempts + 1;
        let n_messages = messages.len();
        self.turn = Some(Turn {
            id,
            started: now,
            prompt_tokens,
            reader: ReplyReader::new(reader_options(&settings)),
            readings: Default::default(),
            todo: Default::default(),
            gate: if is_judging { Gate::Judging { drops_line: true } } else { Gate::Open },
            ended: None,
            applied: String::new(),
            line_start: 0,
            line_at: None,
            line_said: None,
            line_source: None,
            n_lines: 0,
            n_used: 0,
            progress: false,
            speech: None,
            prose: String::new(),
            is_cut_short: false,
            is_time_up: false,
            left_at: None,
            is_line_over: false,
            is_line_applied: false,
            reopened: false,
            horizon: 0,
            prejudged: Default::default(),
            undo,
            before,
            is_matched: false,
        });
        self.start_time_limit();
        self.report(Fact::TurnStarted { kind, n_messages, prompt_tokens });
        let Some(place) = self.place() else { return };
        let data = TurnData { playbook, pointer, inside, variables, user: news.user, problem: news.problem };
        self.emit(Effect::StartTurn(Box::new(StartTurn {
            turn: id,
            kind,
            attempt,
            delay_ms,
            place,
            messages,
            prompt_tokens,
            callables,
            data,
        })));
    }

    fn session_limit(&self) -> Option<String> {
        let counters = &self.counters;
        if counters.turns >= self.settings.turns {
            return Some(format!(
                "the session has taken {} turns, the limit `turns`; raise it to go on",
                counters.turns
            ));
        }
        let tokens = counters.prompt_tokens + counters.completion_tokens;
        if tokens >= self.settings.tokens {
            return Some(format!(
                "the session has used {tokens} tokens, more than the limit `tokens`; raise it to go on"
            ));
        }
        let frame = self.top();
        let playbook = self.program.playbook(frame.playbook);
        let is_unbounded = playbook.mode == Mode::Goal && playbook.limits.turns.is_none();
        (is_unbounded && frame.core.spent.turns_since_user >= self.settings.goal_turns).then(|| {
            format!(
                "{} has taken {} turns without reaching its goal, the limit `goal_turns`; say when the goal is met, \
                 or give the playbook `limits`",
                playbook.name, frame.core.spent.turns_since_user
            )
        })
    }

    /// Puts the next user message into the frame's chat session, which is begun afresh where it must be.
    fn prepare_message(&mut self, system_tokens: u64) -> TurnKind {
        let asker = self.asker();
        let is_covered = asker.news.covered_since.is_some();
        let mut kind = match (asker.chat.messages.is_empty(), is_covered) {
            (true, _) => TurnKind::Start,
            (false, true) if self.settings.resume_fresh => TurnKind::Start,
            (false, true) => TurnKind::Resume,
            (false, false) => TurnKind::Continue,
        };
        // A broken stream that brought nothing: the same message is sent again.
        let is_unanswered = asker.chat.messages.last().is_some_and(|message| message.role == Role::User);
        if kind == TurnKind::Continue && is_unanswered && asker.news.is_empty() {
            return kind;
        }
        let mut text = self.render_turn(kind);
        let chat = &self.asker().chat;
        let tokens = chat.tokens + system_tokens + estimate_tokens(text.len() as u64);
        if kind != TurnKind::Start {
            let reason = if chat.n_turns >= self.settings.max_session_turns {
                Some("it has had many turns")
            } else if tokens > self.settings.context_tokens {
                Some("it would not fit into the context")
            } else {
                None
            };
            if let Some(reason) = reason {
                kind = TurnKind::Start;
                self.report(Fact::SessionRenewed { reason });
                text = self.render_turn(kind);
            }
        }
        let heard = self.conversation.n_total();
        let chat = &mut self.asker_mut().chat;
        if kind == TurnKind::Start {
            *chat = Chat::default();
        }
        chat.n_turns += 1;
        chat.heard = heard;
        chat.push_user(&text);
        kind
    }

    fn render_turn(&self, kind: TurnKind) -> String {
        let (frame, asker) = (self.top(), self.asker());
        let news = &asker.news;
        let playbook = self.program.playbook(asker.playbook);
        let is_start = kind == TurnKind::Start;
        let shown = self.settings.shown_value_bytes;
        let shown_playbook = is_start.then(|| {
            let signature = write_signature(&playbook.name, &playbook.signature());
            let is_goal = playbook.mode == Mode::Goal;
            let (description, n_numbered) =
                if is_goal { number_items(playbook) } else { (playbook.description.trim().to_owned(), 0) };
            let steps = playbook.steps.iter().skip(n_numbered);
            let mut lines = Vec::new();
            for step in steps {
                lines.push(self.write_line(playbook, step, "", ""));
                lines.extend(self.write_inlined(playbook, step));
            }
            context! { signature, description, is_goal, lines, notes => playbook.notes.trim() }
        });
        let tools: Vec<String> = if is_start { self.write_tools(playbook) } else { Vec::new() };
        let variables: Vec<String> = if is_start {
            let named = frame.pointer.map(|step| &self.program.playbook(frame.playbook).step(step).reads);
            self.reader()
                .all()
                .into_iter()
                .filter(|(name, _)| &***name != USER_MESSAGE)
                .map(|(name, variable)| {
                    // The line in hand may need the whole value.
                    let is_named = named.is_some_and(|names| names.contains(name));
                    let limit = if is_named { usize::MAX } else { shown };
                    format!("${name} = {}", shorten(&variable.value, limit))
                })
                .collect()
        } else {
            Vec::new()
        };
        let first_heard = match kind {
            TurnKind::Start => 0,
            TurnKind::Resume => asker.chat.heard,
            TurnKind::Continue => u64::MAX,
        };
        let mut conversation: Vec<String> = self
            .conversation
            .since(first_heard)
            .map(|utterance| {
                let by = if utterance.by_user { "user" } else { "you" };
                format!("{by}: {}", Value::from(shorten_text(&utterance.text, shown)).to_json())
            })
            .collect();
        // What the user has just said stands in a block of its own.
        if news.user.is_some() && conversation.last().is_some_and(|line| line.starts_with("user: ")) {
            conversation.pop();
        }
        let meanwhile = self.write_meanwhile(news, is_start);
        let json = |text: &Arc<str>| Value::Str(text.clone()).to_json();
        let go_on = frame.pointer.map(|step| self.label(step));
        let text = render(
            "turn",
            context! {
                playbook => shown_playbook,
                tools,
                variables,
                conversation,
                done => &news.done,
                results => &news.results,
                meanwhile,
                user => news.user.as_ref().map(json),
                problem => news.problem.as_deref(),
                saying => news.saying.as_ref().map(json),
                go_on => go_on.as_deref(),
            },
        );
        text.trim_end().to_owned()
    }

    /// `02.01= text`, indented as it is nested; further lines of its text are indented with it.
    /// `margin` stands before the whole, `line` before the line id.
    fn write_line(&self, playbook: &Playbook, step: &Step, margin: &str, line: &str) -> String {
        let indent = format!("{margin}{}", "  ".repeat(nesting(playbook, step)));
        let mark = if step.explicit && self.settings.explicit_lines { "=" } else { "" };
        let text = step.text.replace('\n', &format!("\n{indent}   "));
        format!("{indent}{line}{}{mark} {text}", step.label)
    }

    /// The playbook that runs inside a line, below it: signature and description, its lines with ids like
    /// `03>01`, its notes.
    fn write_inlined(&self, playbook: &Playbook, step: &Step) -> Vec<String> {
        let Some(callee) = self.inlining(playbook.id, step.id) else { return Vec::new() };
        let callee = self.program.playbook(callee);
        let margin = "  ".repeat(nesting(playbook, step) + 1);
        let indented = |text: &str| text.trim().replace('\n', &format!("\n{margin}"));
        let line = format!("{}>", step.label);
        let mut lines = vec![format!("{margin}{}:", write_signature(&callee.name, &callee.signature()))];
        if !callee.description.trim().is_empty() {
            lines.push(format!("{margin}{}", indented(&callee.description)));
        }
        lines.extend(callee.steps.iter().map(|step| self.write_line(callee, step, &margin, &line)));
        if !callee.notes.trim().is_empty() {
            lines.push(format!("{margin}NOTES {}", indented(&callee.notes)));
        }
        lines
    }

    /// The parameters of tools that this playbook's lines can reach, where there is more to say than the
    /// system message's one line does.
    fn write_tools(&self, playbook: &Playbook) -> Vec<String> {
        let inlined = playbook.steps.iter().filter_map(|step| self.inlining(playbook.id, step.id));
        let texts: Vec<&str> = std::iter::once(playbook.id)
            .chain(inlined)
            .flat_map(|id| self.program.playbook(id).steps.iter().map(|step| &*step.text))
            .collect();
        let text_names = |name: &str| playbook.mode == Mode::Goal || texts.iter().any(|text| text.contains(name));
        let is_shown = |tool: &&ToolSignature| {
            let described = |parameter: &Parameter| !parameter.description.is_empty();
            let has_more =
                tool.schema.is_some() || tool.about.is_some() || tool.signature.parameters.iter().any(described);
            let name = &tool.signature.name;
            has_more && text_names(name) && self.program.refusal(playbook, name).is_none()
        };
        let mut lines = Vec::new();
        let mut told: Option<&str> = None;
        for tool in self.tools.iter().filter(is_shown) {
            let Signature { name, parameters, .. } = &tool.signature;
            let plugin = name.split_once('.').map_or(&**name, |(plugin, _)| plugin);
            // What a plugin says of itself stands once, before its tools.
            if let Some(about) = tool.about.as_ref().filter(|_| told != Some(plugin)) {
                lines.push(format!("{plugin}: {}", Value::Str(about.clone()).to_json()));
                told = Some(plugin);
            }
            let written = write_signature(name, &tool.signature);
            let described: Vec<String> = parameters
                .iter()
                .filter(|parameter| !parameter.description.is_empty())
                .map(|parameter| format!("{}: {}", parameter.name, parameter.description))
                .collect();
            match &tool.schema {
                Some(schema) => lines.push(format!("{written} — {schema}")),
                None if described.is_empty() => {}
                None => lines.push(format!("{written} — {}", described.join("; "))),
            }
        }
        lines
    }

    /// What ran above this frame for triggers, and which variables changed meanwhile.
    fn write_meanwhile(&self, news: &News, is_start: bool) -> Vec<String> {
        let mut lines = news.meanwhile.clone();
        // A fresh session shows all variables anyway.
        if let (Some(since), false) = (news.covered_since, is_start) {
            let changed = self.reader().all();
            lines.extend(
                changed
                    .into_iter()
                    .filter(|(name, variable)| {
                        variable.set > since && &***name != USER_MESSAGE && !news.told_names.contains(name)
                    })
                    .map(|(name, variable)| {
                        format!("${name} = {}", shorten(&variable.value, self.settings.shown_value_bytes))
                    }),
            );
        }
        lines
    }
}

/// A text that is remembered, not needed word for word.
fn shorten_text(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    format!("{}… ({} bytes in all)", &text[..text.floor_char_boundary(limit)], text.len())
}

/// How many lines a line is nested under.
fn nesting(playbook: &Playbook, step: &Step) -> usize {
    std::iter::successors(step.parent, |&id| playbook.step(id).parent).count()
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

impl Chat {
    pub(crate) fn push_assistant(&mut self, lines: String) {
        self.tokens += estimate_tokens(lines.len() as u64);
        match self.messages.last_mut() {
            Some(last) if last.role == Role::Assistant => last.text = format!("{}\n{lines}", last.text).into(),
            _ => self.messages.push(ChatMessage { role: Role::Assistant, text: lines.into() }),
        }
    }

    /// Appends to the last message if that is the user's too: many servers refuse anything but alternation.
    fn push_user(&mut self, text: &str) {
        self.tokens += estimate_tokens(text.len() as u64);
        match self.messages.last_mut() {
            Some(last) if last.role == Role::User => last.text = format!("{}\n\n{text}", last.text).into(),
            _ => self.messages.push(ChatMessage { role: Role::User, text: text.into() }),
        }
    }
}

fn reader_options(settings: &Settings) -> ReaderOptions {
    ReaderOptions {
        starts_in_think: settings.starts_in_think,
        max_actions: settings.reply_actions,
        max_bytes: settings.reply_bytes,
    }
}
