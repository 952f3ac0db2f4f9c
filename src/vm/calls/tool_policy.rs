//! Whether a call of a tool is made: lists of tools, origins of arguments, a person's word; and arguments that stand
//! for assets (spec `execution.md`, "Where values come from"; source 004, `asset_ref_acceptable`).

use std::sync::Arc;

use playhouse_lang::expr;
use playhouse_lang::program::permits::{COMMAND, Permission, READ_SKILL_FILE, RUN_COMMAND};
use playhouse_lang::value::{PathStep, Value};

use crate::calls::call::QueuedCall;
use crate::machine::interpreter::Interpreter;
use crate::machine::stack::Stack;
use crate::plan::LLM_GENERATE;
use crate::protocol::{Approval, CallId, Origin, ParameterRule, ToolSignature, Tracked};
use crate::variables::display::shorten;

/// How an asset is named in an argument.
const ASSET_SCHEME: &str = "asset://";

/// What may become of a call that is about to be made.
pub(crate) enum Clearance {
    Go,
    /// A person is asked this.
    Ask(Arc<str>),
    /// It is not made, for this reason.
    Refuse(Arc<str>),
}

impl Interpreter {
    /// A call that is not made.
    pub(crate) fn refuse_call(&mut self, call: CallId, reason: Arc<str>) {
        let now = self.stack.now;
        let Some(queued) = self.stack.find_call(call) else { return };
        let finished = queued.finish(now, Err(reason));
        self.report(finished);
    }
}

impl Stack {
    /// What stands between a queued call of a tool and its start.
    pub(super) fn clearance(&self, queued: &QueuedCall) -> Clearance {
        let Some(tool) = ToolSignature::find(&self.tools, &queued.name) else { return Clearance::Go };
        let permission = self.permission(queued);
        if permission == Permission::Denied {
            let refusal = format!("{} was not called: the skill's own `disallowed-tools` forbid it", queued.name);
            return Clearance::Refuse(refusal.into());
        }
        // No model is shown a secret, whoever asks it.
        if *queued.name == *LLM_GENERATE
            && let Some((name, _)) = queued.arguments.iter().find(|(_, argument)| argument.is_secret())
        {
            let refusal = format!("`{name}` holds a secret value, which no model may see; ask without it");
            return Clearance::Refuse(refusal.into());
        }
        let refused = queued.arguments.iter().filter_map(|(name, argument)| {
            let rule = tool.rule(name).filter(|rule| !argument.origin().within(rule.accepts))?;
            Some((name, argument.origin(), rule.accepts))
        });
        let refused: Vec<(&Arc<str>, Origin, Origin)> = refused.collect();
        if !asks(tool.approval, permission) {
            if refused.is_empty() {
                return Clearance::Go;
            }
            let faults: Vec<String> = refused
                .iter()
                .map(|(name, origin, accepts)| {
                    format!(
                        "`{name}` accepts a value from {}, and this one is from {}",
                        accepts.names().collect::<Vec<_>>().join(" or "),
                        origin
                            .names()
                            .filter(|name| Origin::named(name).is_none_or(|one| !one.within(*accepts)))
                            .collect::<Vec<_>>()
                            .join(" and "),
                    )
                })
                .collect();
            let advice = "refer to a variable that the user or the program has set, or ask the user for it";
            return Clearance::Refuse(
                format!("{} was not called: {}; {advice}", queued.name, faults.join("; ")).into(),
            );
        }
        let arguments: Vec<String> = queued
            .arguments
            .iter()
            .filter(|(name, argument)| !is_default(tool, name, argument))
            .map(|(name, argument)| {
                let value = shorten(argument, self.settings.shown_value_bytes);
                let doubt = refused.iter().find(|(refused, ..)| *refused == name);
                let doubt = doubt.map(|(_, origin, _)| format!(" [from {}]", origin.name())).unwrap_or_default();
                format!("{name}={value}{doubt}")
            })
            .collect();
        Clearance::Ask(format!("May I call {}({})?", queued.name, arguments.join(", ")).into())
    }

    /// What the skill that makes a call says of it. Its own files it reads whatever it says.
    fn permission(&self, queued: &QueuedCall) -> Permission {
        let skill = self.program.skill_of(queued.place.agent).and_then(|playbook| playbook.skill.as_ref());
        let Some(skill) = skill.filter(|_| *queued.name != *READ_SKILL_FILE) else { return Permission::Unsaid };
        let command = queued.arguments.iter().find(|(name, _)| *queued.name == *RUN_COMMAND && **name == *COMMAND);
        skill.permits.of(&queued.name, command.and_then(|(_, command)| command.value().as_str()))
    }

    /// Puts the values of assets into the place of the arguments that name them, where the tool takes them.
    ///
    /// # Errors
    /// All assets that are not there, in words for the program's model.
    pub(crate) fn resolve_assets(
        &self,
        depth: usize,
        name: &str,
        arguments: &mut Vec<(Arc<str>, Tracked)>,
    ) -> Result<(), String> {
        let Some(tool) =
            ToolSignature::find(&self.tools, name).filter(|tool| tool.rules.iter().any(|rule| rule.takes_assets))
        else {
            return Ok(());
        };
        let takes_assets = |rule: &&ParameterRule| rule.takes_assets;
        let takes_whole = tool.rule("").filter(takes_assets).is_some();
        // One asset, given for a parameter that takes none, stands for all arguments together.
        if let (true, [(name, only)]) = (takes_whole, &arguments[..])
            && tool.rule(name).filter(takes_assets).is_none()
            && let Some((id, path)) = read_asset(only.value())
        {
            let asset = self.asset(depth, &id, &path)?;
            *arguments = asset.members().unwrap_or_else(|| vec![(name.clone(), asset)]);
            return Ok(());
        }
        let mut faults = Vec::new();
        for (name, argument) in arguments.iter_mut() {
            if tool.rule(name).filter(takes_assets).is_none() {
                continue;
            }
            let Some((id, path)) = read_asset(argument.value()) else { continue };
            match self.asset(depth, &id, &path) {
                Ok(value) => *argument = value,
                Err(fault) => faults.push(format!("`{name}`: {fault}")),
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
    }

    fn asset(&self, depth: usize, id: &str, path: &[PathStep]) -> Result<Tracked, String> {
        let frame = &self.frames[depth];
        let inside = frame.inside().and_then(|inside| inside.scope.get(id));
        let own = inside.or_else(|| frame.core().scope.get(id));
        let agent = frame.core().agent;
        let variable = own.or_else(|| self.visible_to(agent, self.frames.len()).variable(id));
        let Some(variable) = variable else {
            return Err(format!("there is no asset `{id}`: no variable has this name"));
        };
        let at_step = |n_done| format!("the asset `{id}` has nothing at step {} of its path", n_done + 1);
        variable.value.at(path).map_err(at_step)
    }
}

/// Whether a person is asked. A skill's permit takes the place of what nobody has decided; it lowers nothing that a person
/// or a plugin has said.
fn asks(approval: Approval, permission: Permission) -> bool {
    match (approval, permission) {
        (Approval::Ask, _) | (_, Permission::NotGiven) => true,
        (Approval::Unpermitted, permission) => permission != Permission::Given,
        (Approval::Never, _) => false,
    }
}

/// `asset://name/path/to`, or `{asset_id: name, field_path: [path, to]}`.
fn read_asset(value: &Value) -> Option<(Arc<str>, Vec<PathStep>)> {
    let step = |text: &str| match text.parse() {
        Ok(index) => PathStep::Index(index),
        Err(_) => PathStep::Member(text.into()),
    };
    match value {
        Value::Str(text) => {
            let mut parts = text.strip_prefix(ASSET_SCHEME)?.split('/');
            let id = parts.next().filter(|id| !id.is_empty() && expr::scan_name(id) == id.len())?;
            Some((id.into(), parts.filter(|part| !part.is_empty()).map(step).collect()))
        }
        Value::Map(members) if members.keys().all(|key| matches!(&**key, "asset_id" | "field_path")) => {
            let id = members.get("asset_id")?.as_str()?;
            let path = match members.get("field_path") {
                Some(Value::List(path)) => path.iter().map(|part| step(&part.to_text())).collect(),
                Some(Value::Str(part)) => vec![step(part)],
                _ => Vec::new(),
            };
            Some((id.into(), path))
        }
        Value::Map(_) | Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::List(_) => None,
    }
}

/// Whether an argument is what it would be if nobody had given it.
fn is_default(tool: &ToolSignature, name: &str, argument: &Tracked) -> bool {
    let parameter = tool.signature.parameters.iter().find(|parameter| &*parameter.name == name);
    argument.origin() == Origin::CODE
        && parameter.and_then(|parameter| parameter.default.as_ref()).is_some_and(|default| default == argument.value())
}
