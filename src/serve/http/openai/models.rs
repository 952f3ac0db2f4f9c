//! `GET /v1/models`: the programs.

use std::sync::Arc;

use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use crate::host::residents::offered::Offered;
use crate::serve::http::access::caller::Caller;
use crate::serve::http::body::{Path, Typed};
use crate::serve::http::problem::{Pointed, Problem};
use crate::serve::http::server::Server;

/// A program.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Model {
    id: String,
    object: &'static str,
    /// When this server began to offer programs.
    created: i64,
    owned_by: &'static str,
    /// What people call it.
    name: String,
}

/// All programs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Models {
    object: &'static str,
    data: Vec<Model>,
}

impl Server {
    /// A program that this caller may talk with.
    pub(super) fn model(&self, caller: &Caller, name: &str) -> Result<Arc<Offered>, Problem> {
        let found = if caller.may_have(name) { self.residents.program(name).ok() } else { None };
        found.ok_or_else(|| {
            let own = caller.programs(&self.residents);
            let known: Vec<&str> = own.iter().map(|offered| &*offered.name).collect();
            let detail = format!("a model is a program of this server: {}", known.join(", "));
            Problem::not_found(format!("there is no model {name:?} here")).at(vec![Pointed::new("/model", detail)])
        })
    }

    fn model_of(&self, offered: &Offered) -> Model {
        Model {
            id: offered.name.to_string(),
            object: "model",
            created: self.began.0 / 1_000,
            owned_by: "playhouse",
            name: offered.title().to_owned(),
        }
    }
}

pub(crate) async fn list(State(server): State<Arc<Server>>, caller: Caller) -> Typed<Models> {
    let own = caller.programs(&server.residents);
    Typed(Models { object: "list", data: own.iter().map(|offered| server.model_of(offered)).collect() })
}

pub(crate) async fn show(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Typed<Model>, Problem> {
    Ok(Typed(server.model_of(&*server.model(&caller, &name)?)))
}
