//! Commands that measure programs.

pub(super) mod backtest;
