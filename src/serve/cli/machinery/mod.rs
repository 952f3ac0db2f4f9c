//! What the commands are made of: the console and the terminal, worlds and sessions, tests as they are written.

pub(crate) mod beside;
pub(crate) mod changed;
pub(crate) mod company;
pub(crate) mod console;
pub(crate) mod conversation;
pub(crate) mod coverage;
#[cfg(not(feature = "dap"))]
#[path = "debug_absent.rs"]
pub(crate) mod debug_listen;
#[cfg(feature = "dap")]
pub(crate) mod debug_listen;
pub(crate) mod ending;
mod events_file;
pub mod judge_tests;
#[cfg(feature = "serve")]
pub(crate) mod offer;
pub(crate) mod output;
pub(crate) mod recorded_test;
pub(crate) mod rules_file;
pub(crate) mod runtime;
pub mod scores;
pub(crate) mod session_test;
pub(crate) mod terminal;
mod test_interrupts;
mod test_replies;
pub(crate) mod test_session;
mod test_stage;
pub(crate) mod travel_text;
pub mod trigger_tests;
pub(crate) mod user_session;
pub(crate) mod world;
