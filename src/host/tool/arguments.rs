//! The signatures of tools of ours, and the arguments of calls against signatures.

use std::sync::Arc;

pub use crate::component::Fault as ArgumentFault;
use playhouse_lang::program::{Parameter, Signature, Type, TypeKind};
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::{EffectClass, ToolSignature};

use crate::resource::Resource;

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

/// The resources of one kind that a tool works on, never none; a call says in a parameter which it means, else the first.
pub(crate) struct Among<R: ?Sized> {
    /// The name of that parameter.
    named_by: &'static str,
    all: Arc<[Arc<R>]>,
    /// What is told of one beside its name.
    about: fn(&R) -> String,
}

impl<R: Resource + ?Sized> Among<R> {
    /// These; none if there are none.
    pub(crate) fn new(named_by: &'static str, all: &[Arc<R>], about: fn(&R) -> String) -> Option<Among<R>> {
        (!all.is_empty()).then(|| Among { named_by, all: all.into(), about })
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = &R> {
        self.all.iter().map(|resource| &**resource)
    }

    /// The one that a call means.
    ///
    /// # Errors
    /// There is none of that name.
    pub(crate) fn find(&self, arguments: &Map) -> Result<&Arc<R>, ArgumentFault> {
        let named = arguments.get(self.named_by).filter(|name| name.as_str().is_some());
        let is_it =
            |resource: &&Arc<R>| named.is_none_or(|name| resource.label().shown().map(|own| &**own) == name.as_str());
        self.all.iter().find(is_it).ok_or_else(|| {
            ArgumentFault::new(self.named_by, format!("is not one of the resources; these are {}", self.known()))
        })
    }

    /// The parameter by which a call says so, where there is a choice; `what` asks which.
    pub(crate) fn parameter(&self, what: &str) -> Option<Parameter> {
        let text = Type { optional: true, ..TypeKind::Str.into() };
        let description = format!("{what}: {}", self.known());
        (self.all.len() > 1).then(|| parameter(self.named_by, text, Some(Value::Null), &description))
    }

    fn known(&self) -> String {
        let named = self.all().filter_map(|one| Some(format!("`{}`{}", one.label().shown()?, (self.about)(one))));
        named.collect::<Vec<_>>().join(", ")
    }
}

/// Checks arguments against a signature and adds the defaults of those left out.
///
/// # Errors
/// All faults together.
pub fn check_arguments(signature: &Signature, mut arguments: Map) -> Result<Map, Vec<ArgumentFault>> {
    let mut faults = Vec::new();
    let mut fault = |path: &str, message: String| faults.push(ArgumentFault::new(path, message));
    for name in arguments.keys() {
        if !signature.parameters.iter().any(|parameter| parameter.name == *name) {
            fault(name, "is not a parameter".to_owned());
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

/// Faults in words, one after the other.
pub(crate) fn join_faults(faults: &[ArgumentFault]) -> String {
    let faults = faults.iter().map(|fault| format!("`{}` {}", fault.path, fault.message));
    faults.collect::<Vec<_>>().join("; ")
}

/// All faults of a call's arguments, in words for the program's model, which mends them in one round.
pub fn describe_faults(signature: &Signature, faults: &[ArgumentFault]) -> String {
    let parameters: Vec<String> =
        signature.parameters.iter().map(|parameter| format!("{}: {}", parameter.name, parameter.ty)).collect();
    format!("{}; the parameters are {}({})", join_faults(faults), signature.name, parameters.join(", "))
}
