//! What hostile peers, texts and paths must not achieve.

mod files;
mod http;
