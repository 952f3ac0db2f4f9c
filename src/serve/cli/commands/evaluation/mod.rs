//! Commands that measure programs.

pub(super) mod backtest;
pub(super) mod coverage;
