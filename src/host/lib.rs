//! The world: models, tools, journals, clock and configuration, and the session that drives a machine with them.

pub mod child;

pub mod clock;

pub mod coverage;

pub mod directory;

pub mod frames;

mod keys;

mod net;

pub mod mutants;

pub mod patterns;

pub mod settings;

pub mod tasks;

pub mod text;

pub mod walk;

pub mod skills;

pub mod sandbox;

#[cfg(feature = "sqlite")]
pub mod documents;

pub mod cassette;

pub mod llm;

pub mod classify;

pub mod component;

pub mod tool;

pub mod resource;

pub mod journal;

pub mod library;

pub mod plan;

pub mod otel;

pub mod profile;

pub mod program;

pub mod equipment;

pub mod events;

pub mod secrets;

pub mod session;

pub mod launch;

pub mod serve_options;

#[cfg(feature = "serve")]
pub mod ledger;

#[cfg(feature = "serve")]
pub mod residents;

#[cfg(feature = "restate")]
pub mod engine;

pub mod embed;

pub mod eval;

pub mod debug;

pub mod debuggee;

pub mod replay;

pub mod config;

mod config_file;

pub mod sessions;

pub mod stored;

pub mod stats;

pub mod summary;

pub mod travel;

pub mod graph;

pub mod judge;

pub mod backtest;

pub mod checks;

pub mod why;
