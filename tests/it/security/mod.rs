//! What hostile peers, texts and paths must not achieve.

mod plugin;
mod text;
