//! The types of parameters and responses (spec `components.md`, 4.4).

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::Origin;

/// A type as it was declared, both spellings of a name being one.
#[derive(Clone, Debug, PartialEq)]
pub enum DataType {
    /// Anything, null included.
    Any,
    /// Null; only inside a union.
    Null,
    /// Text.
    Str,
    /// A 64-bit integer.
    Int,
    /// A number; integers are numbers.
    Float,
    /// `true` or `false`.
    Bool,
    /// A list of such elements.
    List(Box<DataType>),
    /// A map with any keys and such values.
    Dict(Box<DataType>),
    /// A map with exactly these members.
    Object(Vec<Field>),
    /// Any of several.
    Union(Vec<DataType>),
    /// What a `_type_ref` names; always an object.
    Shared(Arc<str>),
    /// A type of the plugin's own language, `numpy.ndarray`: nobody else can make one, so it is passed by reference.
    Host(Arc<str>),
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its key.
    pub name: Arc<str>,
    /// What stands there.
    pub description: Description,
}

/// What is said of one value: a parameter, a member of one, a response.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// Its type.
    pub ty: DataType,
    /// For people and models; empty if there is none.
    pub text: Arc<str>,
    /// The only values there are, if they are listed.
    pub allowed: Option<Vec<Value>>,
    /// Whether it must be there: neither `required: false` nor `optional: true`.
    pub required: bool,
    /// Whether a reference to an asset may stand in its place.
    pub asset_reference: bool,
    /// An example.
    pub example: Option<Value>,
    /// Where its value may come from (`accepts`, ours); none: from anywhere.
    pub accepts: Option<Origin>,
    /// Whether it is shown to nobody but the program (`secret`, ours).
    pub secret: bool,
    /// What else was written.
    pub extra: Map,
}

/// The types that a `_type_ref` names, file-wide. Each is an object.
pub type SharedTypes = IndexMap<Arc<str>, DataType>;

impl DataType {
    /// The type of a name, if it is one of the language's own.
    pub fn from_name(name: &str) -> Option<DataType> {
        Some(match name {
            "string" | "str" => DataType::Str,
            "int" | "integer" => DataType::Int,
            "float" | "number" => DataType::Float,
            "bool" | "boolean" => DataType::Bool,
            "Any" => DataType::Any,
            "List" => DataType::List(Box::new(DataType::Any)),
            "Object" | "Dict" | "Mapping" => DataType::Dict(Box::new(DataType::Any)),
            _ => return None,
        })
    }

    /// The language's own names, for suggestions.
    pub const NAMES: [&'static str; 13] = [
        "string", "str", "int", "integer", "float", "number", "bool", "boolean", "Any", "Object", "List", "Dict",
        "Mapping",
    ];

    /// The members, if it is an object, by its own or by a shared name.
    pub fn fields<'a>(&'a self, shared: &'a SharedTypes) -> Option<&'a [Field]> {
        let ty = if let DataType::Shared(name) = self { shared.get(name)? } else { self };
        if let DataType::Object(fields) = ty { Some(fields) } else { None }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataType::Any => f.write_str("Any"),
            DataType::Null => f.write_str("None"),
            DataType::Str => f.write_str("string"),
            DataType::Int => f.write_str("int"),
            DataType::Float => f.write_str("float"),
            DataType::Bool => f.write_str("bool"),
            DataType::List(element) if **element == DataType::Any => f.write_str("List"),
            DataType::List(element) => write!(f, "List[{element}]"),
            DataType::Dict(value) if **value == DataType::Any => f.write_str("Dict"),
            DataType::Dict(value) => write!(f, "Dict[str, {value}]"),
            DataType::Object(_) => f.write_str("Object"),
            DataType::Union(alternatives) if matches!(&**alternatives, [_, DataType::Null]) => {
                write!(f, "Optional[{}]", alternatives[0])
            }
            DataType::Union(alternatives) => {
                let alternatives: Vec<String> = alternatives.iter().map(ToString::to_string).collect();
                write!(f, "Union[{}]", alternatives.join(", "))
            }
            DataType::Shared(name) | DataType::Host(name) => f.write_str(name),
        }
    }
}
