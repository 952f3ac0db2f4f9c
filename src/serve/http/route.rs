//! What a route is.

use std::sync::Arc;

use axum::http::Method;
use axum::routing::MethodRouter;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::serve::http::access::caller::Role;
use crate::serve::http::server::Server;

/// Makes the schema of a type.
pub(super) type Shape = fn(&mut SchemaGenerator) -> Schema;

/// One route.
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    /// Who may use it; none: anybody.
    pub(super) role: Option<Role>,
    /// What it does, in one line.
    pub(super) summary: &'static str,
    /// What it takes.
    pub(super) body: Option<Shape>,
    /// The most bytes of that.
    pub(super) limit: usize,
    /// What its address says after `?`.
    pub(super) query: Option<Shape>,
    /// The statuses where all went well, and what comes then: JSON of a shape, or another type.
    pub(super) answers: Vec<(u16, Answer)>,
    pub(super) handler: MethodRouter<Arc<Server>>,
}

/// What comes.
pub(super) enum Answer {
    Nothing,
    Json(Shape),
    Other(&'static str),
}

pub(super) fn shape<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}
