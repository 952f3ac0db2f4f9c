//! What answers and events hold.

use serde::{Deserialize, Serialize};

/// What we can do. Everything that is not named we cannot.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Capabilities {
    pub(crate) supports_configuration_done_request: bool,
    pub(crate) supports_function_breakpoints: bool,
    pub(crate) supports_conditional_breakpoints: bool,
    pub(crate) supports_hit_conditional_breakpoints: bool,
    pub(crate) supports_log_points: bool,
    pub(crate) supports_data_breakpoints: bool,
    pub(crate) supports_evaluate_for_hovers: bool,
    pub(crate) supports_step_back: bool,
    pub(crate) supports_set_variable: bool,
    pub(crate) supports_set_expression: bool,
    pub(crate) supports_restart_frame: bool,
    pub(crate) supports_restart_request: bool,
    pub(crate) supports_completions_request: bool,
    pub(crate) completion_trigger_characters: Vec<&'static str>,
    pub(crate) supports_exception_info_request: bool,
    pub(crate) supports_value_formatting_options: bool,
    pub(crate) support_terminate_debuggee: bool,
    pub(crate) supports_terminate_request: bool,
    pub(crate) supports_delayed_stack_trace_loading: bool,
    pub(crate) supports_loaded_sources_request: bool,
    pub(crate) supports_breakpoint_locations_request: bool,
    pub(crate) supports_clipboard_context: bool,
    pub(crate) supports_cancel_request: bool,
    pub(crate) exception_breakpoint_filters: Vec<ExceptionFilter>,
}

/// Something to stop at beside breakpoints.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ExceptionFilter {
    pub(crate) filter: &'static str,
    pub(crate) label: &'static str,
    pub(crate) description: &'static str,
    pub(crate) default: bool,
}

/// A text: by its path, or by a number with which it can be asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Source {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source_reference: Option<i64>,
    /// Where a text that is in no file is from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) origin: Option<String>,
}

/// A breakpoint as it was set.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Breakpoint {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<u64>,
    pub(crate) verified: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<Source>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) end_line: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) end_column: Option<i64>,
    /// `pending` or `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'static str>,
}

/// All of one kind.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct BreakpointsBody {
    pub(crate) breakpoints: Vec<Breakpoint>,
}

/// Where a breakpoint can be.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BreakpointLocation {
    pub(crate) line: i64,
    pub(crate) column: i64,
    pub(crate) end_line: i64,
    pub(crate) end_column: i64,
}

/// All of them.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct BreakpointLocationsBody {
    pub(crate) breakpoints: Vec<BreakpointLocation>,
}

/// Whether a variable can be watched, and by which name.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DataBreakpointInfoBody {
    pub(crate) data_id: Option<String>,
    pub(crate) description: String,
    pub(crate) access_types: Vec<&'static str>,
}

/// A thread: a session.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Thread {
    pub(crate) id: i64,
    pub(crate) name: String,
}

/// All of them.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ThreadsBody {
    pub(crate) threads: Vec<Thread>,
}

/// A frame.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StackFrame {
    pub(crate) id: i64,
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<Source>,
    pub(crate) line: i64,
    pub(crate) column: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) end_line: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) end_column: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) can_restart: Option<bool>,
    /// `label`: no frame, but a word about frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) presentation_hint: Option<&'static str>,
}

/// Some of them.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StackTraceBody {
    pub(crate) stack_frames: Vec<StackFrame>,
    pub(crate) total_frames: usize,
}

/// A scope of a frame.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Scope {
    pub(crate) name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) presentation_hint: Option<&'static str>,
    pub(crate) variables_reference: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) named_variables: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) indexed_variables: Option<usize>,
    pub(crate) expensive: bool,
}

/// All of them.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ScopesBody {
    pub(crate) scopes: Vec<Scope>,
}

/// A value with its name.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) value: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) presentation_hint: Option<PresentationHint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) evaluate_name: Option<String>,
    pub(crate) variables_reference: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) named_variables: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) indexed_variables: Option<usize>,
}

/// How a value is shown.
#[derive(Clone, Debug, Default, Serialize, PartialEq, Eq)]
pub(crate) struct PresentationHint {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) attributes: Vec<&'static str>,
}

/// Some values.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct VariablesBody {
    pub(crate) variables: Vec<Variable>,
}

/// The value of an expression, or of a variable that was set.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ValueBody {
    /// Of `evaluate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<String>,
    /// Of `setVariable`, `setExpression`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) presentation_hint: Option<PresentationHint>,
    pub(crate) variables_reference: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) named_variables: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) indexed_variables: Option<usize>,
}

/// A text.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SourceBody {
    pub(crate) content: String,
    pub(crate) mime_type: &'static str,
}

/// All texts.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LoadedSourcesBody {
    pub(crate) sources: Vec<Source>,
}

/// What can be typed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CompletionsBody {
    pub(crate) targets: Vec<CompletionItem>,
}

/// One thing that can be typed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CompletionItem {
    pub(crate) label: String,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    /// Where what it replaces begins.
    pub(crate) start: i64,
    /// How long that is.
    pub(crate) length: i64,
}

/// What the program has stopped at.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExceptionInfoBody {
    pub(crate) exception_id: String,
    pub(crate) description: String,
    pub(crate) break_mode: &'static str,
}

/// `continue`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContinueBody {
    pub(crate) all_threads_continued: bool,
}

/// `stopped`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoppedBody {
    pub(crate) reason: &'static str,
    pub(crate) description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    pub(crate) thread_id: i64,
    pub(crate) all_threads_stopped: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) hit_breakpoint_ids: Vec<u64>,
}

/// `continued`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContinuedBody {
    pub(crate) thread_id: i64,
    pub(crate) all_threads_continued: bool,
}

/// `output`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct OutputBody {
    pub(crate) category: &'static str,
    pub(crate) output: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<Source>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<i64>,
}

/// `breakpoint`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct BreakpointBody {
    pub(crate) reason: &'static str,
    pub(crate) breakpoint: Breakpoint,
}

/// `invalidated`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct InvalidatedBody {
    pub(crate) areas: Vec<&'static str>,
}

/// `process`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProcessBody {
    pub(crate) name: String,
    pub(crate) is_local_process: bool,
    pub(crate) start_method: &'static str,
}

/// `thread`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThreadBody {
    pub(crate) reason: &'static str,
    pub(crate) thread_id: i64,
}

/// `exited`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExitedBody {
    pub(crate) exit_code: u8,
}
