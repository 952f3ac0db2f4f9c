//! One command of a plugin as a tool: its arguments checked before, its response after the call.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::Origin;
use playhouse_vm::protocol::{Approval, ParameterRule, ToolSignature};
use serde_json::json;

use crate::component::schema::json_schema;
use crate::component::signature::WHOLE;
use crate::component::{Command, ComponentConfig, DataType, Description, SharedTypes};
use crate::secrets::Secrets;
use crate::tool::arguments::join_faults;
use crate::tool::plugin::component::Component;
use crate::tool::plugin::packages::Surroundings;
use crate::tool::{ArgumentFault, CallContext, Tool, ToolFuture, ToolOutcome};

/// A call that nobody has set a time for.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A command of a plugin.
pub(super) struct CommandTool {
    /// As the plugin knows it.
    command: Arc<str>,
    signature: ToolSignature,
    /// Whether the arguments are the members of the command's parameter.
    takes_members: bool,
    is_secret: bool,
    timeout: Duration,
    concurrency: Option<usize>,
    config: Arc<ComponentConfig>,
    component: Arc<dyn Component>,
    secrets: Arc<Secrets>,
}

impl CommandTool {
    /// `command` of the plugin `plugin`, to be called as `called`.
    pub(super) fn new(
        plugin: &str,
        called: &str,
        command: &Command,
        config: Arc<ComponentConfig>,
        component: Arc<dyn Component>,
        about: Option<Arc<str>>,
        surroundings: &Surroundings,
    ) -> CommandTool {
        let types = &config.types;
        let mut signature = command.signature(plugin, types);
        signature.name = format!("{plugin}.{called}").into();
        let asks = command.approval.asks(command.effect);
        let takes_members = command.parameter.as_ref().is_some_and(|parameter| parameter.ty.fields(types).is_some());
        let signature = ToolSignature {
            signature,
            effect: command.effect,
            approval: if asks { Approval::Ask } else { Approval::Never },
            rules: command.parameter.as_ref().map(|parameter| rules(parameter, types)).unwrap_or_default(),
            schema: command.parameter.as_ref().map(|parameter| arguments_schema(parameter, takes_members, types)),
            about,
            is_mcp: false,
            is_for_skills: false,
        };
        let own = command.concurrency.map(usize::from);
        // Of a process with room for one call the next waits outside, where waiting is not its own time.
        let concurrency = [own, component.concurrency()].into_iter().flatten().min();
        CommandTool {
            command: command.name.clone(),
            signature,
            takes_members,
            is_secret: command.response.iter().any(|response| parts(response, types).iter().any(|part| part.secret)),
            timeout: command.timeout.unwrap_or(TIMEOUT),
            concurrency,
            secrets: surroundings.secrets.clone(),
            config,
            component,
        }
    }

    /// The arguments of a call whose command is to get `param`.
    pub(super) fn arguments(&self, param: Option<Value>) -> Map {
        match param {
            Some(Value::Map(members)) if self.takes_members || members.is_empty() && self.description().is_none() => {
                (*members).clone()
            }
            Some(Value::Null) | None => Map::new(),
            Some(param) => Map::from_iter([(WHOLE.into(), param)]),
        }
    }

    fn description(&self) -> Option<&Description> {
        self.config.command(&self.command).and_then(|command| command.parameter.as_ref())
    }

    /// The arguments of a call as the command's parameter; none: there is none.
    fn parameter(&self, mut arguments: Map) -> Option<Value> {
        let description = self.description()?;
        if !self.takes_members {
            let value = arguments.shift_remove(WHOLE);
            return value.filter(|value| *value != Value::Null || description.required);
        }
        let fields = description.ty.fields(&self.config.types).unwrap_or_default();
        // Null for what may be left out means that it is left out.
        let is_left_out = |name: &str, value: &Value| {
            *value == Value::Null
                && fields
                    .iter()
                    .any(|field| *field.name == *name && !(description.required && field.description.required))
        };
        arguments.retain(|name, value| !is_left_out(name, value));
        (description.required || !arguments.is_empty()).then(|| Value::map(arguments))
    }

    async fn perform(&self, context: CallContext, arguments: Map) -> ToolOutcome {
        let param = self.parameter(arguments).unwrap_or_default();
        let response = match self.component.command(&self.command, param, &context).await {
            Ok(response) => self.secrets.mask_value(response),
            Err(error) => return self.masked(error.into()),
        };
        let faults = self.config.check_response(&self.command, Some(&response));
        if !faults.is_empty() {
            let name = &self.signature.signature.name;
            let mut text = format!("the response of `{name}` is not what the plugin promises");
            // What is secret is not told by a fault either.
            if !self.is_secret {
                text += &format!(": {}", join_faults(&faults));
            }
            return ToolOutcome::Error(text);
        }
        if self.is_secret { ToolOutcome::Secret(response) } else { ToolOutcome::Value(response) }
    }

    fn masked(&self, outcome: ToolOutcome) -> ToolOutcome {
        let mask = |text: String| self.secrets.mask(&text).into_owned();
        match outcome {
            ToolOutcome::Error(text) => ToolOutcome::Error(mask(text)),
            ToolOutcome::Unavailable(text) => ToolOutcome::Unavailable(mask(text)),
            ToolOutcome::Needs(question) => ToolOutcome::Needs(mask(question)),
            ToolOutcome::Asks(question) => ToolOutcome::Asks(mask(question)),
            ToolOutcome::Value(_) | ToolOutcome::Secret(_) | ToolOutcome::Written { .. } => outcome,
        }
    }
}

impl Tool for CommandTool {
    fn signature(&self) -> ToolSignature {
        self.signature.clone()
    }

    fn fields(&self) -> Option<Vec<Arc<str>>> {
        let response = self.config.command(&self.command)?.response.as_ref()?;
        let fields = response.ty.fields(&self.config.types)?;
        Some(fields.iter().map(|field| field.name.clone()).collect())
    }

    fn check(&self, arguments: Map) -> Result<Map, Vec<ArgumentFault>> {
        let is_taken = |name: &str| self.takes_members || name == WHOLE && self.description().is_some();
        let unknown = arguments.keys().filter(|name| !is_taken(name));
        let mut faults: Vec<_> = unknown.map(|name| ArgumentFault::new(&**name, "is not a parameter")).collect();
        let param = self.parameter(arguments.clone());
        for mut fault in self.config.check_parameter(&self.command, param.as_ref()) {
            if let (true, Some(inside)) = (self.takes_members, fault.path.strip_prefix("param.")) {
                fault.path = inside.to_owned();
            }
            faults.push(fault);
        }
        if faults.is_empty() { Ok(arguments) } else { Err(faults) }
    }

    fn timeout(&self) -> Duration {
        self.timeout
    }

    fn concurrency(&self) -> Option<usize> {
        self.concurrency
    }

    fn call(&self, context: CallContext, arguments: Map) -> ToolFuture<'_> {
        Box::pin(self.perform(context, arguments))
    }
}

/// What is demanded of single arguments. What is demanded of a part holds for the whole argument: where its parts come
/// from is not known one by one.
fn rules(parameter: &Description, types: &SharedTypes) -> Vec<ParameterRule> {
    let accepts = |description: &Description| {
        parts(description, types).iter().filter_map(|part| part.accepts).fold(Origin::ALL, Origin::and)
    };
    let rule = |name: &str, description: &Description, around: Origin| {
        // A type of the plugin's own language is passed by reference: nobody else can read it.
        let takes_assets = description.asset_reference && !matches!(description.ty, DataType::Host(_));
        let accepts = accepts(description).and(around);
        let is_rule = takes_assets || accepts != Origin::ALL;
        is_rule.then(|| ParameterRule { parameter: name.into(), accepts, takes_assets })
    };
    let Some(fields) = parameter.ty.fields(types) else {
        return rule(WHOLE, parameter, Origin::ALL).into_iter().collect();
    };
    let around = parameter.accepts.unwrap_or(Origin::ALL);
    let whole = (parameter.asset_reference).then(|| ParameterRule {
        parameter: "".into(),
        accepts: accepts(parameter),
        takes_assets: true,
    });
    let fields = fields.iter().filter_map(|field| rule(&field.name, &field.description, around));
    whole.into_iter().chain(fields).collect()
}

/// A description and all inside of it.
fn parts<'a>(whole: &'a Description, types: &'a SharedTypes) -> Vec<&'a Description> {
    let (mut parts, mut pending, mut seen) = (vec![whole], vec![&whole.ty], HashSet::new());
    while let Some(ty) = pending.pop() {
        match ty {
            DataType::Object(fields) => {
                parts.extend(fields.iter().map(|field| &field.description));
                pending.extend(fields.iter().map(|field| &field.description.ty));
            }
            DataType::List(inner) | DataType::Dict(inner) => pending.push(inner),
            DataType::Union(alternatives) => pending.extend(alternatives),
            // A shared type may hold itself.
            DataType::Shared(name) => pending.extend(types.get(name).filter(|_| seen.insert(name))),
            DataType::Any
            | DataType::Null
            | DataType::Str
            | DataType::Int
            | DataType::Float
            | DataType::Bool
            | DataType::Host(_) => {}
        }
    }
    parts
}

/// The schema of the arguments: the parameter's own, or an object with the one argument `param`.
fn arguments_schema(parameter: &Description, takes_members: bool, types: &SharedTypes) -> Arc<str> {
    let mut schema = json_schema(parameter, types);
    if takes_members {
        return schema.to_string().into();
    }
    let definitions = schema.as_object_mut().and_then(|members| members.shift_remove("$defs"));
    let mut whole = json!({"type": "object", "properties": {WHOLE: schema}});
    if parameter.required {
        whole["required"] = json!([WHOLE]);
    }
    whole["additionalProperties"] = false.into();
    // References to shared types begin at the root.
    if let Some(definitions) = definitions {
        whole["$defs"] = definitions;
    }
    whole.to_string().into()
}
