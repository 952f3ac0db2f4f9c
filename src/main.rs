//! The `playhouse` program.

fn main() {}
