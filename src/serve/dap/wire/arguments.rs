//! What clients send with their requests.

use serde::Deserialize;
use serde_json::{Map as JsonMap, Value as Json};

use crate::serve::dap::wire::bodies::Source;

/// `initialize`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct InitializeArguments {
    pub(crate) lines_start_at1: bool,
    pub(crate) columns_start_at1: bool,
    /// `path` or `uri`.
    pub(crate) path_format: String,
    pub(crate) supports_invalidated_event: bool,
}

impl Default for InitializeArguments {
    fn default() -> InitializeArguments {
        InitializeArguments {
            lines_start_at1: true,
            columns_start_at1: true,
            path_format: "path".to_owned(),
            supports_invalidated_event: false,
        }
    }
}

/// `launch`: how a program is run; the words of the command line's options.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "the fields are the options of `playhouse run`, under the same names")]
pub struct LaunchArguments {
    /// Its file, or several.
    pub program: OneOrMore,
    pub model: Option<String>,
    pub base_url: Option<String>,
    pub classifier: Option<String>,
    /// Arguments and variables, by name.
    pub args: JsonMap<String, Json>,
    /// What the user says first.
    pub messages: Vec<String>,
    pub stop_on_entry: bool,
    pub session: Option<String>,
    pub journal: Option<String>,
    pub playbook: Option<String>,
    /// Files of canned tools.
    pub tools: OneOrMore,
    pub config: Option<String>,
    pub working_directory: Option<String>,
    pub max_replans: Option<u32>,
    /// Breakpoints are left out.
    pub no_debug: bool,
}

/// A string, or a list of strings.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a string or a list of strings")]
pub enum OneOrMore {
    /// One.
    One(String),
    /// Any number.
    More(Vec<String>),
}

impl Default for OneOrMore {
    fn default() -> OneOrMore {
        OneOrMore::More(Vec::new())
    }
}

impl OneOrMore {
    /// All of them.
    pub fn all(&self) -> &[String] {
        match self {
            OneOrMore::One(one) => std::slice::from_ref(one),
            OneOrMore::More(more) => more,
        }
    }
}

/// `attach`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AttachArguments {
    /// Where a program listens (`run --debug-listen`), unless this is the connection to it.
    pub address: Option<String>,
    /// Which session it must be.
    pub session: Option<String>,
    /// Whether it stands still before its first line.
    pub stop_on_entry: bool,
}

/// `setBreakpoints`; of other kinds of breakpoints, which are of no text, the source is empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SetArguments<T> {
    pub(crate) source: Source,
    pub(crate) breakpoints: Vec<T>,
}

/// When a breakpoint stops the program.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Conditions {
    pub(crate) condition: Option<String>,
    pub(crate) hit_condition: Option<String>,
}

/// A breakpoint at a line.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SourceBreakpoint {
    pub(crate) line: i64,
    pub(crate) column: Option<i64>,
    #[serde(flatten)]
    pub(crate) when: Conditions,
    pub(crate) log_message: Option<String>,
}

/// A breakpoint at a playbook or plan.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(crate) struct FunctionBreakpoint {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) when: Conditions,
}

/// A breakpoint at a variable.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DataBreakpoint {
    pub(crate) data_id: String,
    #[serde(flatten)]
    pub(crate) when: Conditions,
}

/// `dataBreakpointInfo`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DataBreakpointInfoArguments {
    pub(crate) variables_reference: Option<i64>,
    pub(crate) name: String,
}

/// `setExceptionBreakpoints`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SetExceptionBreakpointsArguments {
    pub(crate) filters: Vec<String>,
}

/// `breakpointLocations`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct BreakpointLocationsArguments {
    pub(crate) source: Source,
    pub(crate) line: i64,
    pub(crate) column: Option<i64>,
    pub(crate) end_line: Option<i64>,
    pub(crate) end_column: Option<i64>,
}

/// `stackTrace`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct StackTraceArguments {
    pub(crate) start_frame: usize,
    /// 0: all.
    pub(crate) levels: usize,
}

/// `scopes`, `restartFrame`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FrameArguments {
    pub(crate) frame_id: i64,
}

/// `variables`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct VariablesArguments {
    pub(crate) variables_reference: i64,
    /// `indexed` or `named`; none: both.
    pub(crate) filter: Option<String>,
    pub(crate) start: usize,
    /// 0: all.
    pub(crate) count: usize,
}

/// `setVariable`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SetVariableArguments {
    pub(crate) variables_reference: i64,
    pub(crate) name: String,
    pub(crate) value: String,
}

/// `setExpression`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SetExpressionArguments {
    pub(crate) expression: String,
    pub(crate) value: String,
    pub(crate) frame_id: Option<i64>,
}

/// `evaluate`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct EvaluateArguments {
    pub(crate) expression: String,
    pub(crate) frame_id: Option<i64>,
    /// `repl`, `hover`, `watch`, `clipboard`, `variables`.
    pub(crate) context: String,
}

/// `source`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SourceArguments {
    pub(crate) source: Option<Source>,
    pub(crate) source_reference: i64,
}

/// `restart`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RestartArguments {
    /// Of `launch`, if they have changed.
    pub(crate) arguments: Option<LaunchArguments>,
}

/// `disconnect`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DisconnectArguments {
    /// None: what was launched ends, what was attached goes on.
    pub(crate) terminate_debuggee: Option<bool>,
}

/// `completions`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CompletionsArguments {
    pub(crate) text: String,
    /// Where the cursor stands, in UTF-16 code units.
    pub(crate) column: i64,
}
