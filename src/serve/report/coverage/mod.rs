//! What tests and sessions have reached of programs: for `genhtml` and editors, for programs, and as an annotated text.

mod html;
mod json;
mod lcov;
mod reported;

pub use self::html::html;
pub(crate) use self::html::{ANNOTATED_STYLE, annotated};
pub use self::json::json;
pub use self::lcov::lcov;
pub use self::reported::Reported;
