//! Plans that a model writes: ask, check, send back what is wrong, a bounded number of times (spec `plans.md`, "What
//! all plans share").

mod check;

use std::sync::Arc;

use playhouse_lang::plan::{Plan, PlanLanguage};
use playhouse_vm::plan::prompts::{self, Order};
use playhouse_vm::protocol::{ChatMessage, Role};

use crate::llm::answer::{Retries, ask};
use crate::llm::{Llm, LlmRequest, Purpose};
use crate::text::shorten;

pub use check::{Checked, check};

/// A reply that could not be used is shown to the model again, up to so many characters.
const MAX_REPLY: usize = 20_000;

/// How often a model is asked by default: once, and twice more with what was wrong.
pub const ATTEMPTS: u32 = 3;

/// A plan that can be run.
#[derive(Clone, Debug)]
pub struct Generated {
    /// Its text alone, without what the model wrote around it. Ends with a line break.
    pub text: String,
    /// The plan in that text.
    pub plan: Plan,
    /// What `check` remarks on it, rendered; empty: nothing.
    pub warnings: String,
    /// How often the model was asked.
    pub n_asked: u32,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GenerateError {
    /// The model could not be asked.
    #[error("{0}")]
    Model(Arc<str>),
    /// No reply was a plan that can be used.
    #[error("the model wrote no usable plan in {n_asked} attempts")]
    Unusable {
        /// How often it was asked.
        n_asked: u32,
        /// What is wrong with the last reply, rendered as `check` shows it.
        problem: String,
        /// The last reply.
        reply: String,
    },
}

/// Asks `llm` for a plan, at most `n_attempts` times. `name` is what the text is called in findings; `told` hears of
/// each reply that could not be used, with its number and what is wrong with it.
///
/// # Errors
/// The model cannot be asked, or no reply could be used.
pub async fn generate(
    llm: &dyn Llm,
    order: &Order<'_>,
    name: &str,
    n_attempts: u32,
    told: &mut dyn FnMut(u32, &str),
) -> Result<Generated, GenerateError> {
    let message = |role, text: String| ChatMessage { role, text: text.into() };
    let question = message(Role::User, prompts::order(order));
    let mut messages = vec![question.clone()];
    let mut n_asked = 0;
    loop {
        n_asked += 1;
        let request = LlmRequest { purpose: Purpose::Plan, messages, schema: None, turn: None };
        let (reply, _) = ask(llm, request, Retries::default()).await.map_err(GenerateError::Model)?;
        match check(order, name, &reply) {
            Ok(Checked { text, plan, warnings }) => return Ok(Generated { text, plan, warnings, n_asked }),
            Err(problem) if n_asked >= n_attempts => {
                return Err(GenerateError::Unusable { n_asked, problem, reply });
            }
            Err(problem) => {
                told(n_asked, &problem);
                // Only the last reply: earlier ones are worse, and would be paid for again.
                messages = vec![question.clone()];
                if !reply.is_empty() {
                    messages.push(message(Role::Assistant, shorten(&reply, MAX_REPLY).into_owned()));
                }
                messages.push(message(Role::User, prompts::mend(order.language, &problem)));
            }
        }
    }
}

/// How a file that holds a plan of this language is called, after its stem.
pub fn file_ending(language: PlanLanguage) -> &'static str {
    match language {
        PlanLanguage::Jmp => ".jmp.json",
        PlanLanguage::Branch => ".branch.json",
        PlanLanguage::Dataflow => ".yaml",
    }
}
