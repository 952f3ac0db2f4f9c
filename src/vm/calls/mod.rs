//! Calls: what is queued, whether it may be made, and what comes back.

pub(crate) mod arguments;
pub(crate) mod call;
pub(crate) mod call_queue;
pub(crate) mod callees;
pub(crate) mod each;
pub(crate) mod queue;
pub(crate) mod tool_policy;
