//! The signatures of tools of ours, and the arguments of calls against signatures.

use crate::lang::program::{Parameter, Signature, Type};
use crate::value::{Map, Value};
use crate::vm::protocol::{EffectClass, ToolSignature};

/// A parameter; one without a default must be given.
pub(crate) fn parameter(name: &str, ty: impl Into<Type>, default: Option<Value>, description: &str) -> Parameter {
    Parameter { name: name.into(), ty: ty.into(), default, description: description.into(), span: None }
}

/// The signature of a tool.
pub(crate) fn tool(
    name: &str,
    parameters: Vec<Parameter>,
    returns: impl Into<Type>,
    summary: &str,
    effect: EffectClass,
) -> ToolSignature {
    let signature = Signature { name: name.into(), parameters, returns: returns.into(), summary: summary.into() };
    ToolSignature::new(signature, effect)
}

/// One thing that is wrong with the arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentFault {
    /// Where: `rows[1].id`; the parameter's name if it is missing or there is none of the name.
    pub path: String,
    /// What, in words that go on after the path: `must be int, not str`.
    pub message: String,
}

/// Checks arguments against a signature and adds the defaults of those left out.
///
/// # Errors
/// All faults together.
pub fn check_arguments(signature: &Signature, mut arguments: Map) -> Result<Map, Vec<ArgumentFault>> {
    let mut faults = Vec::new();
    let mut fault = |path: &str, message: String| faults.push(ArgumentFault { path: path.to_owned(), message });
    for name in arguments.keys() {
        if !signature.parameters.iter().any(|parameter| parameter.name == *name) {
            fault(name, "is no parameter".to_owned());
        }
    }
    for parameter in &signature.parameters {
        match (arguments.get(&parameter.name), &parameter.default) {
            // An explicit null for a parameter that may be left out means that it is left out.
            (Some(Value::Null), Some(Value::Null)) if !parameter.ty.accepts(&Value::Null) => {
                arguments.shift_remove(&parameter.name);
            }
            (Some(Value::Null), Some(default)) if !parameter.ty.accepts(&Value::Null) => {
                arguments.insert(parameter.name.clone(), default.clone());
            }
            (Some(value), _) if !parameter.ty.accepts(value) => {
                fault(&parameter.name, format!("must be {}, not {}", parameter.ty, value.kind()));
            }
            (Some(_), _) => {}
            (None, Some(Value::Null)) => {}
            (None, Some(default)) => {
                arguments.insert(parameter.name.clone(), default.clone());
            }
            (None, None) => fault(&parameter.name, "is missing".to_owned()),
        }
    }
    if faults.is_empty() { Ok(arguments) } else { Err(faults) }
}

/// All faults of a call's arguments, in words for the program's model, which mends them in one round.
pub fn describe_faults(signature: &Signature, faults: &[ArgumentFault]) -> String {
    let faults: Vec<String> = faults.iter().map(|fault| format!("`{}` {}", fault.path, fault.message)).collect();
    let parameters: Vec<String> =
        signature.parameters.iter().map(|parameter| format!("{}: {}", parameter.name, parameter.ty)).collect();
    format!("{}; the parameters are {}({})", faults.join("; "), signature.name, parameters.join(", "))
}
