//! Ids of the parts of a program: positions in the vectors of `Program` and `Playbook`, only meaningful for the
//! program that made them.

/// An agent, by its position in [`crate::program::Program::agents`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId(pub u32);

/// A playbook, by its position in [`crate::program::Program::playbooks`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaybookId(pub u32);

/// A line of a playbook, by its position in [`crate::program::Body::steps`]: document order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepId(pub u32);

/// A trigger: its playbook and its place (from 0) in that playbook's list; shown as `Playbook:T1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TriggerId {
    /// The playbook that the trigger calls.
    pub playbook: PlaybookId,
    /// Its place in the list, from 0.
    pub index: u32,
}
