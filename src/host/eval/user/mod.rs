//! Users who are played: somebody talks with a program, by written answers or by a model (spec `evaluate.md`, section 4).

mod database;

mod play;

mod speaker;

pub use self::database::DATABASE;
pub use self::play::{Company, Ended, Invalid, Rules, UserError, UserRun, play};
pub use self::speaker::{Done, invented};

/// How the names of user files end.
pub const ENDING: &str = ".user.md";
