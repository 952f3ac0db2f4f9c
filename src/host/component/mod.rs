//! Components: what makes the parts of a running program replaceable (spec `components.md`).
//!
//! [`ComponentConfig`] is a component's `config.yaml`, read whole; [`check`](ComponentConfig::check_parameter) holds
//! what is passed against the types it declares. [`merge`] and [`runtime`] say what of it others may change, and
//! where their changes are kept.

pub mod asset;

pub mod check;

pub mod config;

mod findings;

pub mod identity;

mod info;

pub mod llm;

pub mod lookup;

pub mod merge;

pub mod message;

mod read;

mod read_types;

pub mod runtime;

pub mod paths;

pub mod schema;

pub(crate) mod signature;

mod type_text;

pub mod types;

pub use asset::AssetReference;
pub use check::Fault;
pub use config::{Approval, Command, ComponentConfig, Info, Setup};
pub use identity::Identity;
pub use types::{DataType, Description, Field, SharedTypes};
