//! From "these files, this configuration" to a session that can begin, go on or be forked, without a console.
//!
//! Every door – the command line, the debug adapter, tests, a server – says what it wants as a [`Launch`], and puts
//! [`Remark`]s and [`LaunchError`]s into its own words. None builds a `World` by hand.

mod error;

mod models;

mod open;

mod ready;

mod recorded;

mod reopen;

mod telemetry;

mod tools;

mod trust;

mod workshop;

pub use self::error::LaunchError;
pub use self::models::{Chosen, classifier_of};
pub use self::open::{Loading, Opened, Source, StartOptions, find_entry, load};
pub use self::ready::{Begins, Ready, Wanted};
pub use self::reopen::{Reopened, Reopening, Setting};
pub use self::tools::{inventory, surveyed};
pub use self::trust::{Allowed, Trust};
pub use self::workshop::{Choices, Launch, Level, Remark, Telemetry, Workshop, folder_of};
