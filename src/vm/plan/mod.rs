//! Plans while they run: what each of the two languages decides, and the machine that does it (spec `plans.md`).

mod execute;
pub(crate) mod frame;
mod json;
pub mod prompts;
pub(crate) mod request;

/// The registry's tool that asks the model.
pub const LLM_GENERATE: &str = "llm_generate";
/// Its parameter that names the members that the reply must have.
pub const MEMBERS: &str = "members";
