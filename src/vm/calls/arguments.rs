//! Arguments as they were given, and bound to parameters.

use std::sync::Arc;

use playhouse_lang::program::{Parameter, Signature};

use crate::calls::call::Callee;
use crate::protocol::{Origin, Tracked};
use crate::variables::display::shorten;

/// What a name means for a call.
pub(crate) struct Resolved {
    pub(crate) callee: Callee,
    pub(crate) signature: Signature,
    /// It is a tool that looks at its arguments itself ([`crate::protocol::ToolSignature::schema`]).
    pub(super) checks_itself: bool,
}

impl Resolved {
    /// A question of the machine's own to the session's model.
    pub(crate) fn question(name: &str) -> Resolved {
        let (parameters, returns) = (Vec::new(), playhouse_lang::program::Type::ANY);
        let signature = Signature { name: name.into(), parameters, returns, summary: "".into() };
        Resolved { callee: Callee::Model, signature, checks_itself: false }
    }
}

/// Arguments as they were given: those by position stand for the first parameters.
#[derive(Default)]
pub(crate) struct Given {
    pub(crate) positional: Vec<Tracked>,
    pub(crate) named: Vec<(Arc<str>, Tracked)>,
}

impl Given {
    /// Arguments that all have names.
    pub(crate) fn named(named: Vec<(Arc<str>, Tracked)>) -> Given {
        Given { positional: Vec::new(), named }
    }
}

/// Binds arguments to parameters; all faults are told together. Of a tool that checks them itself only those that it
/// could not see: more values than parameters.
pub(crate) fn bind(resolved: &Resolved, given: Given) -> Result<Vec<(Arc<str>, Tracked)>, String> {
    let Resolved { signature, checks_itself, .. } = resolved;
    let parameters = &signature.parameters;
    let Given { positional, named: by_name } = given;
    let mut faults = Vec::new();
    if positional.len() > parameters.len() {
        faults.push(format!("{} arguments given, it takes {}", positional.len() + by_name.len(), parameters.len()));
    }
    let by_position = parameters.iter().zip(positional).map(|(parameter, value)| (parameter.name.clone(), value));
    let mut named: Vec<(Arc<str>, Tracked)> = by_position.collect();
    for (name, value) in by_name {
        if named.iter().any(|(known, _)| *known == name) {
            faults.push(format!("`{name}` is given twice"));
        }
        named.push((name, value));
    }
    if *checks_itself && faults.is_empty() {
        return Ok(named);
    }
    for (name, _) in &named {
        if !parameters.iter().any(|parameter| parameter.name == *name) {
            faults.push(format!("it has no parameter `{name}`"));
        }
    }
    let mut bound = Vec::with_capacity(parameters.len());
    for parameter in parameters {
        let index = named.iter().position(|(name, _)| *name == parameter.name);
        match (index.map(|index| named.swap_remove(index).1), &parameter.default) {
            (Some(value), _) if !parameter.ty.accepts(value.value()) => {
                faults.push(format!("`{}` must be {}, not {}", parameter.name, parameter.ty, value.value().kind()));
            }
            (Some(value), _) => bound.push((parameter.name.clone(), value)),
            (None, Some(default)) => bound.push((parameter.name.clone(), Tracked::new(default.clone(), Origin::CODE))),
            (None, None) => faults.push(format!("`{}` is missing", parameter.name)),
        }
    }
    if faults.is_empty() {
        return Ok(bound);
    }
    let wanted: Vec<String> = parameters.iter().map(Parameter::to_string).collect();
    Err(format!("{}({}): {}", signature.name, wanted.join(", "), faults.join("; ")))
}

/// `Name(arg="x", other=3)`.
pub(crate) fn describe_call(name: &str, arguments: &[(Arc<str>, Tracked)]) -> String {
    let arguments: Vec<String> =
        arguments.iter().map(|(name, value)| format!("{name}={}", shorten(value, 200))).collect();
    format!("{name}({})", arguments.join(", "))
}
