//! What a program's text may name. Whoever runs a file of their own can start what it names; a server that loads
//! programs of others must not (spec `serving.md`, section 6: nobody reaches more by a program than the operator allows).

use ipnet::IpNet;
use playhouse_lang::program::permits::RUN_COMMAND;
use playhouse_lang::value::{Map, Value};

use crate::config::ConfigError;
use crate::equipment::declaration::{Declarations, Source, Written};

/// What the front matter of programs may name.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Trust {
    /// Everything: a person runs it.
    #[default]
    Everything,
    /// Nothing beyond the network's public part but this.
    Only(Allowed),
}

/// What an operator allows to programs that a server loads. By default nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Allowed {
    /// Programs to start: plugins, and MCP servers with a `command`.
    pub commands: bool,
    /// Servers at any address: MCP servers with a `url`, databases, servers of vectors.
    pub servers: bool,
    /// Files of the machine: disks, documents, SQLite databases, scripts and stored sessions in place of a model.
    pub files: bool,
    /// Networks that are not public and that HTTP resources may reach.
    pub networks: Vec<IpNet>,
    /// Environment variables that `{from_env: NAME}` may mean.
    pub variables: Vec<String>,
}

impl Trust {
    /// Whether a program may say this. What an operator says is never asked about.
    ///
    /// # Errors
    /// It may not: what it names, and where.
    pub(super) fn check(&self, written: &Written) -> Result<(), ConfigError> {
        let Trust::Only(allowed) = self else { return Ok(()) };
        if written.source == Source::Operator {
            return Ok(());
        }
        let refused = match written.key.as_str() {
            "plugins" => (!allowed.commands).then(|| "plugins".to_owned()),
            "mcp" => members(&written.value).find_map(|(name, server)| {
                let starts = server.as_map().is_some_and(|server| server.contains_key("command"));
                let may = if starts { allowed.commands } else { allowed.servers };
                (!may).then(|| format!("the server `{name}`"))
            }),
            "resources" => items(&written.value).find_map(|resource| allowed.refuses_resource(resource)),
            _ => None,
        };
        let refused = refused.or_else(|| allowed.refuses_variable(&written.value));
        refuse(refused, &written.place)
    }

    /// Whether a program may have the tools that it names: one that runs commands only if the operator's list of tools
    /// names it, too. Its skills do without.
    ///
    /// # Errors
    /// It may not.
    pub(super) fn check_commands(&self, declared: &mut Declarations) -> Result<(), ConfigError> {
        let Trust::Only(Allowed { commands: false, .. }) = self else { return Ok(()) };
        if let Some(index) = declared.for_skills.iter().position(|name| *name == RUN_COMMAND) {
            declared.for_skills.swap_remove(index);
            declared.builtins.retain(|(name, _)| *name != RUN_COMMAND);
        }
        let mut builtins = declared.builtins.iter();
        let Some((name, why)) = builtins.find(|(name, _)| *name == RUN_COMMAND) else { return Ok(()) };
        let allowed = declared.policies.list.allow.iter().flatten();
        let is_listed = allowed.into_iter().any(|allowed| &**allowed == *name);
        let refused = (!is_listed).then(|| format!("the tool `{name}`"));
        refuse(refused, why.strip_prefix("named in ").unwrap_or(why))
    }

    /// Whether a program may name this model or trigger classifier.
    ///
    /// # Errors
    /// It may not.
    pub(super) fn check_id(&self, id: &str, place: &str) -> Result<(), ConfigError> {
        match self {
            Trust::Only(Allowed { files: false, .. }) if names_file(id) => refuse(Some(format!("`{id}`")), place),
            Trust::Only(_) | Trust::Everything => Ok(()),
        }
    }
}

/// Whether the id of a model or trigger classifier names a file in place of one.
fn names_file(id: &str) -> bool {
    id.split(':').any(|part| part == "script" || part == "replay")
}

impl Allowed {
    fn refuses_resource(&self, resource: &Value) -> Option<String> {
        let resource = resource.as_map()?;
        let kind = resource.get("type").and_then(Value::as_str).unwrap_or_default();
        let config = resource.get("config").and_then(Value::as_map);
        let of_config = |key: &str| config.and_then(|config| config.get(key));
        match kind {
            // Whoever answers there is sent the key of the models' server.
            "documents" if of_config("base_url").is_some() && !self.servers => {
                Some("`base_url` of a resource of the type `documents`".to_owned())
            }
            "disk" | "documents" | "sqlite" => (!self.files).then(|| format!("a resource of the type `{kind}`")),
            "postgres" => (!self.servers).then(|| format!("a resource of the type `{kind}`")),
            "http" => {
                let networks = of_config("networks").into_iter().flat_map(|networks| {
                    let single = networks.as_str().map(str::to_owned);
                    single.into_iter().chain(items(networks).map(|one| one.to_text().to_string()))
                });
                let is_allowed = |text: &String| {
                    let network: Option<IpNet> =
                        text.parse().ok().or_else(|| text.parse().ok().map(|address: std::net::IpAddr| address.into()));
                    network.is_some_and(|network| self.networks.iter().any(|allowed| allowed.contains(&network)))
                };
                networks.into_iter().find(|text| !is_allowed(text)).map(|text| format!("the network {text}"))
            }
            "model" => {
                let id = of_config("model").or_else(|| of_config("id")).and_then(Value::as_str).unwrap_or_default();
                (names_file(id) && !self.files).then(|| format!("`{id}`"))
            }
            _ => None,
        }
    }

    /// The first variable, anywhere inside, that is not allowed.
    fn refuses_variable(&self, value: &Value) -> Option<String> {
        match value {
            Value::Map(inside) => match inside.get("from_env").and_then(Value::as_str) {
                Some(name) if !self.variables.iter().any(|allowed| allowed == name) => {
                    Some(format!("the environment variable {name}"))
                }
                _ => inside.values().find_map(|value| self.refuses_variable(value)),
            },
            Value::List(inside) => inside.iter().find_map(|value| self.refuses_variable(value)),
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => None,
        }
    }
}

fn refuse(what: Option<String>, place: &str) -> Result<(), ConfigError> {
    match what {
        None => Ok(()),
        Some(what) => Err(ConfigError::File {
            place: place.to_owned(),
            message: format!(
                "a program may not name {what} here; whoever runs the server can allow it, or declare it in playhouse.toml"
            ),
        }),
    }
}

fn members(value: &Value) -> impl Iterator<Item = (&std::sync::Arc<str>, &Value)> {
    value.as_map().into_iter().flat_map(Map::iter)
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    let items = if let Value::List(items) = value { Some(items) } else { None };
    items.into_iter().flat_map(|items| items.iter())
}
