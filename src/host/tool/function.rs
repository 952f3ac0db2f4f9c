//! Tools in Rust: a name, parameters and an asynchronous closure.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use playhouse_lang::program::{Signature, Type};
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::{Approval, EffectClass, ToolSignature};
use serde::Serialize;

use crate::tool::arguments::parameter;
use crate::tool::{CallContext, Tool, ToolFuture, ToolOutcome};

/// What answers calls: arguments in, what came of it out.
type Answer = Box<dyn Fn(Map) -> BoxFuture<'static, ToolOutcome> + Send + Sync>;

/// A tool that is a closure. Made by [`tool`].
pub struct Function {
    signature: ToolSignature,
    answer: Answer,
}

/// Makes a tool named `name`, without parameters, from the closure `answer`. It returns anything that serializes to JSON,
/// or an error in words for the program. The tool counts as one that changes something, unless [`Function::effect`] says
/// otherwise.
///
/// A call that is cancelled, or that takes more than a minute, is dropped at the `await` that it has reached.
pub fn tool<F, A, V>(name: &str, answer: F) -> Function
where
    F: Fn(Map) -> A + Send + Sync + 'static,
    A: Future<Output = Result<V, String>> + Send + 'static,
    V: Serialize,
{
    let signature = Signature { name: name.into(), parameters: Vec::new(), returns: Type::ANY, summary: "".into() };
    let answer = move |arguments: Map| {
        let answered = answer(arguments);
        async move { answered.await.and_then(|value| to_value(&value)).map_or_else(ToolOutcome::Error, ToolOutcome::Value) }
            .boxed()
    };
    Function { signature: ToolSignature::new(signature, EffectClass::default()), answer: Box::new(answer) }
}

/// The value as the language has it.
fn to_value(value: &impl Serialize) -> Result<Value, String> {
    let text = serde_json::to_string(value).and_then(|json| Value::from_json(&json));
    text.map_err(|error| format!("the tool's result is not a value: {error}"))
}

impl Function {
    /// Describes in one line what the tool does, for the model and for people.
    #[must_use]
    pub fn about(mut self, summary: &str) -> Function {
        self.signature.signature.summary = summary.into();
        self
    }

    /// Adds a required parameter.
    #[must_use]
    pub fn parameter(self, name: &str, ty: impl Into<Type>) -> Function {
        self.with(name, ty.into(), None)
    }

    /// Adds an optional parameter with its default.
    #[must_use]
    pub fn optional(self, name: &str, ty: impl Into<Type>, default: impl Into<Value>) -> Function {
        self.with(name, ty.into(), Some(default.into()))
    }

    /// Says what a call changes in the world; this decides whether a call is repeated after a crash.
    #[must_use]
    pub fn effect(mut self, effect: EffectClass) -> Function {
        self.signature.effect = effect;
        self
    }

    /// Asks a person to approve each call before it is made.
    #[must_use]
    pub fn confirmed(mut self) -> Function {
        self.signature.approval = Approval::Ask;
        self
    }

    fn with(mut self, name: &str, ty: Type, default: Option<Value>) -> Function {
        self.signature.signature.parameters.push(parameter(name, ty, default, ""));
        self
    }
}

impl Tool for Function {
    fn signature(&self) -> ToolSignature {
        self.signature.clone()
    }

    fn call(&self, _: CallContext, arguments: Map) -> ToolFuture<'_> {
        (self.answer)(arguments)
    }
}
