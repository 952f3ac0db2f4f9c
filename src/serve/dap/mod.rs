//! The Debug Adapter Protocol: a debugging session over any two streams of bytes.

mod breakpoints;

pub mod framing;

mod sources;

mod stack;

mod variables;

mod wire;
