//! Expressions, values that are set, and what is typed into the debug console.

use serde_json::{Value as Json, json};

use crate::host::debug::breakpoint::expression;
use crate::host::session::Wanted;
use crate::lang::expr::ExprKind;
use crate::serve::dap::adapter::Adapter;
use crate::serve::dap::lists::Owner;
use crate::serve::dap::stack::frame_of;
use crate::serve::dap::variables::with_member;
use crate::serve::dap::wire::{
    CompletionsArguments, EvaluateArguments, Refusal, RefusalKind, SetExpressionArguments, SetVariableArguments,
};
use crate::serve::show::commands::{self, Command, Line};
use crate::serve::show::{self, variables, why};
use crate::vm::protocol::view::View;
use crate::vm::protocol::{FrameId, Tracked};

impl Adapter {
    pub(super) async fn evaluate(&mut self, wanted: EvaluateArguments) -> Result<Json, Refusal> {
        if wanted.context == "repl" {
            let answer = match commands::read(&wanted.expression) {
                Line::Command(command) => Some(self.command(command).await?),
                Line::Wrong(problem) => {
                    let problem = problem.split(';').next().unwrap_or_default();
                    return Err(RefusalKind::Value.told(format!("{problem}; /help lists the commands")));
                }
                Line::Message(message) => self.say_as_user(&message).await?,
            };
            if let Some(result) = answer {
                return Ok(plain(&result));
            }
        }
        let view = self.view().await?;
        let frame = wanted.frame_id.map(|id| frame_of(&view, id)).transpose()?;
        let value = self.value_of(frame, &wanted.expression).await?;
        if wanted.context == "clipboard" {
            // The whole of it, not what fits on a line.
            let shown = value.shown();
            let text = match shown.as_str() {
                Some(text) => text.to_owned(),
                None => serde_json::to_string_pretty(&shown).unwrap_or_else(|_| shown.to_json()),
            };
            return Ok(plain(&text));
        }
        let owner = owner_of(&view, frame, &wanted.expression);
        let name = owner.as_ref().map(|_| wanted.expression.trim().to_owned());
        Ok(self.lists.value("result", &value, owner, name))
    }

    async fn value_of(&mut self, frame: Option<FrameId>, text: &str) -> Result<Tracked, Refusal> {
        let live = self.live()?;
        live.debuggee.evaluate(frame, text).await.map_err(|error| RefusalKind::Value.told(error))
    }

    /// What is typed while the program waits is for the program. None: it is an expression.
    async fn say_as_user(&mut self, message: &str) -> Result<Option<String>, Refusal> {
        let live = self.live()?;
        if live.stopped.is_some() {
            return Ok(None);
        }
        let Some(wanted) = live.wanted.take() else { return Ok(None) };
        if let Wanted::Approval(_) = wanted {
            live.question = None;
        }
        let sent = wanted.give(live.debuggee.handle(), message).await;
        sent.map_err(|gone| RefusalKind::State.told(gone))?;
        Ok(Some(String::new()))
    }

    /// A question to us.
    async fn command(&mut self, command: Command<'_>) -> Result<String, Refusal> {
        if command == Command::Help {
            return Ok(commands::debugger_help());
        }
        let wrong = |problem: String| RefusalKind::Value.told(problem);
        let view = self.view().await?;
        let program = self.opened()?.subject.program.clone();
        match command {
            Command::Stack => Ok(show::stack_answer(&view, &program)),
            Command::Variables(name) => variables::answer(&view, &program, name).map_err(wrong),
            Command::Why(trigger) => {
                let records = self.live()?.debuggee.records().await?;
                why::of_records(&records, trigger).map_err(wrong)
            }
            Command::Restart | Command::Quit | Command::Help => {
                Err(wrong("use the debugger's own buttons to restart or stop a program".to_owned()))
            }
        }
    }

    pub(super) async fn set_variable(&mut self, wanted: SetVariableArguments) -> Result<Json, Refusal> {
        let view = self.view().await?;
        let (owner, _) = self.lists.owner(&view, wanted.variables_reference, &wanted.name)?;
        self.assign(&view, owner, None, &wanted.value).await
    }

    pub(super) async fn set_expression(&mut self, wanted: SetExpressionArguments) -> Result<Json, Refusal> {
        let view = self.view().await?;
        let frame = match wanted.frame_id {
            Some(id) => Some(frame_of(&view, id)?),
            None => view.stack.last().map(|frame| frame.id),
        };
        let owner = owner_of(&view, frame, &wanted.expression).ok_or_else(|| {
            let text = format!("{} cannot be set; set an existing variable", wanted.expression);
            RefusalKind::Value.told(text)
        })?;
        self.assign(&view, owner, frame, &wanted.value).await
    }

    /// Sets a variable, or a place in one, to the value of an expression as `reader` sees it.
    async fn assign(
        &mut self,
        view: &View,
        owner: Owner,
        reader: Option<FrameId>,
        text: &str,
    ) -> Result<Json, Refusal> {
        if owner.frame.is_none() && view.stack.last().is_some_and(|top| top.agent != owner.agent) {
            let text =
                format!("${} is one of the others of {}, which is not on top of the stack", owner.name, owner.agent);
            return Err(RefusalKind::Value.told(text));
        }
        let reader = owner.frame.or(reader);
        let value = self.value_of(reader, text).await.map_err(|refusal| {
            let hint = "a value is an expression: put text in quotation marks, as in \"Rome\"";
            Refusal { text: format!("{}; {hint}", refusal.text), ..refusal }
        })?;
        let before = variable_of(view, &owner);
        let is_secret = before.is_some_and(|before| before.is_secret()) || value.is_secret();
        let whole = match before {
            Some(before) if !owner.path.is_empty() => with_member(before.value(), &owner.path, value.value().clone())?,
            Some(_) | None => value.value().clone(),
        };
        let live = self.live()?;
        let set = live.debuggee.set(owner.frame, &owner.name, whole).await;
        set.map_err(|error| RefusalKind::Value.told(error))?;
        self.invalidated(&["variables"]);
        Ok(self.lists.value("value", &value.secret_if(is_secret), Some(owner), None))
    }

    pub(super) async fn completions(&mut self, wanted: CompletionsArguments) -> Result<Json, Refusal> {
        let first = self.counting().first_column;
        let before = usize::try_from(wanted.column - first).unwrap_or(0);
        let units: Vec<u16> = wanted.text.encode_utf16().take(before).collect();
        let text = String::from_utf16_lossy(&units);
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '/' | '.');
        let begin = text.char_indices().rev().take_while(|(_, c)| is_part(*c)).last().map_or(text.len(), |(at, _)| at);
        let word = &text[begin..];
        let start = i64::try_from(text[..begin].encode_utf16().count()).unwrap_or(0) + first;
        let length = i64::try_from(word.encode_utf16().count()).unwrap_or(0);
        let item = |label: String, kind| json!({"label": label, "type": kind, "start": start, "length": length});
        let mut targets: Vec<Json> = Vec::new();
        if begin == 0 && (word.starts_with('/') || word.is_empty()) {
            let commands = commands::debugger_names().filter(|name| name.starts_with(word));
            targets.extend(commands.map(|name| item(name, "keyword")));
        }
        if !word.starts_with('/') {
            let view = self.view().await?;
            let names = variables::names(&view).into_iter().map(|name| format!("${name}"));
            let names = names.filter(|name| name.starts_with(word) || name[1..].starts_with(word));
            targets.extend(names.map(|name| item(name, "variable")));
        }
        Ok(json!({"targets": targets}))
    }
}

/// Words in the place of a value.
fn plain(text: &str) -> Json {
    json!({"result": text, "variablesReference": 0})
}

/// The variable that an expression names, if it is nothing but its name and a way into its value.
fn owner_of(view: &View, frame: Option<FrameId>, text: &str) -> Option<Owner> {
    let ExprKind::Reference(reference) = expression(text).ok()?.kind else { return None };
    let group = variables::keeper(view, frame, &reference.name)?;
    Some(Owner { frame: group.frame, agent: group.agent.clone(), name: reference.name, path: reference.path })
}

/// A variable as it is now.
fn variable_of<'v>(view: &'v View, owner: &Owner) -> Option<&'v Tracked> {
    let kept = match owner.frame {
        Some(id) => &view.stack.iter().find(|frame| frame.id == id)?.variables,
        None => &view.globals.iter().find(|(agent, _)| *agent == owner.agent)?.1,
    };
    kept.iter().find(|variable| variable.name == owner.name).map(|variable| &variable.value)
}
