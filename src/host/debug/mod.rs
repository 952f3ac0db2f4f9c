//! The debugger: what stops a program, and going forwards and backwards from there.
//!
//! - [`place`]: lines of files and places in the program.
//! - [`breakpoint`]: what a person wants to stop at.
//! - [`stepping`]: [`stepping::Debugger`], pure: is this where to stop? Asked about everything that a machine does, by
//!   the session's task while the program runs and by walks over its journal ([`crate::travel`]).
//! - [`control`]: how the task is told what to do while it runs or stands still.
//!
//! The door is [`crate::debuggee`]: a program that runs, stands still, or stands in its past.
//!
//! Standing still is not calling `advance` (spec `execution.md`, "The machine is pure"): nothing in the machine knows
//! of it. What arrives meanwhile waits. Going back is replaying a part of the journal into another machine; going
//! forward again from there replays what happened, up to the present, where the program itself goes on. Whoever changes
//! something in the past gets a *fork*: another session, which shares the journal up to there.

pub mod breakpoint;

pub mod control;

pub mod place;

pub mod stepping;
