//! Answers of sessions to whoever keeps a conversation elsewhere: followed to where the session stops, heard by all who
//! have asked for the same, and found again by a key.

pub(super) mod content;
pub(super) mod follow;
pub(super) mod key;
pub(super) mod live;
