//! Resources as they are declared: every key known, every value checked, then made.

use std::sync::Arc;
use std::time::Duration;

use crate::host::directory::WorkingDirectory;
use crate::host::equipment::declaration::{ResourceDeclaration, count_of, seconds_of, text_of, texts_of};
use crate::host::equipment::surroundings::{Models, Reach, Surroundings};
use crate::host::keys::unknown_key;
use crate::host::resource::databases::{postgres, sqlite};
use crate::host::resource::disk::{Disk, DiskConfig};
use crate::host::resource::http::{Http, HttpConfig};
use crate::host::resource::model::Model;
use crate::host::resource::sql::{Database, PostgresConfig, SqliteConfig};
use crate::host::resource::{Label, Resource, Resources};
use crate::value::{Map, Value};

/// The kinds there are.
const KINDS: [&str; 5] = ["disk", "http", "model", "postgres", "sqlite"];

/// The resources of a program, by what tools need them for.
#[derive(Default)]
pub(super) struct Made {
    pub(super) all: Arc<Resources>,
    pub(super) http: Vec<Arc<Http>>,
    pub(super) databases: Vec<Arc<dyn Database>>,
    pub(super) models: Vec<Arc<Model>>,
    pub(super) disks: Vec<Arc<Disk>>,
    /// Whether some could not be made for want of their secrets, which a survey can do without.
    pub(super) is_incomplete: bool,
}

/// Makes all that are declared, in their order; none is acquired.
///
/// # Errors
/// The place and the fault of the first that cannot be made.
pub(super) fn make(
    declared: &[ResourceDeclaration],
    around: &Surroundings<'_>,
    reach: Reach,
    folder: &WorkingDirectory,
) -> Result<Made, (String, String)> {
    let mut made = Made::default();
    let mut all: Vec<Arc<dyn Resource>> = Vec::new();
    for one in declared {
        let fault = |message: String| (one.place.clone(), format!("resource `{}`: {message}", one.kind));
        let config = match around.resolve(&one.config) {
            Ok(config) => config,
            Err(_) if reach == Reach::Survey => {
                made.is_incomplete = true;
                continue;
            }
            Err(message) => return Err(fault(message)),
        };
        all.push(made.add(one, &config, around, folder).map_err(fault)?);
    }
    made.all = Arc::new(Resources::new(all));
    Ok(made)
}

impl Made {
    fn add(
        &mut self,
        declared: &ResourceDeclaration,
        config: &Map,
        around: &Surroundings<'_>,
        folder: &WorkingDirectory,
    ) -> Result<Arc<dyn Resource>, String> {
        let id = (&*declared.id != "default").then(|| declared.id.clone());
        let label = Label { id, name: declared.name.clone() };
        match &*declared.kind {
            "disk" => {
                let disk = Arc::new(Disk::new(label, folder.clone(), disk_config(config)?));
                self.disks.push(disk.clone());
                Ok(disk)
            }
            "http" => {
                let http = Http::new(label, &http_config(config)?).map_err(|error| error.to_string())?;
                let http = Arc::new(http.masked(around.secrets.clone()));
                self.http.push(http.clone());
                Ok(http)
            }
            "sqlite" => {
                let database = sqlite(label, around.working_directory, sqlite_config(config)?);
                let database = database.map_err(|error| error.to_string())?;
                self.databases.push(database.clone());
                Ok(database)
            }
            "postgres" => {
                let database = postgres(label, postgres_config(config)?).map_err(|error| error.to_string())?;
                self.databases.push(database.clone());
                Ok(database)
            }
            "model" => {
                let model = Arc::new(Model::new(label, make_model(config, around.models.clone())?));
                self.models.push(model.clone());
                Ok(model)
            }
            kind => Err(unknown_key(kind, KINDS.into_iter()).replace("unknown key", "there is no such type,")),
        }
    }
}

fn make_model(config: &Map, models: Models) -> Result<crate::host::resource::model::MakeModel, String> {
    let mut id = None;
    for (key, value) in config {
        match &**key {
            "model" => id = Some(text_of(key, value)?),
            _ => return Err(unknown_key(key, ["model"].into_iter())),
        }
    }
    let id = id.ok_or("it has no `model`, as in `config: {model: \"openai:gpt-4.1-mini\"}`")?;
    Ok(Box::new(move |options| models(&id, options)))
}

fn disk_config(config: &Map) -> Result<DiskConfig, String> {
    let mut disk = DiskConfig::default();
    for (key, value) in config {
        match &**key {
            "path" => disk.path = text_of(key, value)?,
            "read_only" => disk.read_only = truth_of(key, value)?,
            "max_bytes" => disk.max_bytes = count_of(key, value)?,
            _ => return Err(unknown_key(key, ["max_bytes", "path", "read_only"].into_iter())),
        }
    }
    Ok(disk)
}

fn http_config(config: &Map) -> Result<HttpConfig, String> {
    const HTTP_KEYS: [&str; 7] = ["headers", "hosts", "max_bytes", "max_redirects", "networks", "schemes", "timeout"];
    let mut http = HttpConfig::default();
    for (key, value) in config {
        match &**key {
            "hosts" => http.hosts = texts_of(key, value)?,
            "networks" => http.networks = texts_of(key, value)?,
            "schemes" => http.schemes = texts_of(key, value)?,
            "headers" => {
                let Value::Map(headers) = value else {
                    return Err("`headers` must be a map of names and texts".into());
                };
                for (name, value) in headers.iter() {
                    http.headers.push((name.to_string(), text_of(name, value)?));
                }
            }
            "timeout" => http.timeout = seconds_of(key, value)?,
            "max_bytes" => http.max_bytes = count_of(key, value)?,
            "max_redirects" => http.max_redirects = whole_of(key, value)?,
            _ => return Err(unknown_key(key, HTTP_KEYS.into_iter())),
        }
    }
    if http.hosts.is_empty() {
        return Err("it has no `hosts`: name those that may be reached, as in `hosts: [api.example.org]`".to_owned());
    }
    Ok(http)
}

/// What both kinds of databases know, and their own key is given.
struct SqlKeys {
    own: Option<String>,
    write: bool,
    timeout: Option<Duration>,
    max_rows: Option<usize>,
    max_bytes: Option<usize>,
    rest: Map,
}

fn sql_keys(config: &Map, own_key: &str) -> Result<SqlKeys, String> {
    let mut keys =
        SqlKeys { own: None, write: false, timeout: None, max_rows: None, max_bytes: None, rest: Map::new() };
    for (key, value) in config {
        match &**key {
            own if own == own_key => keys.own = Some(text_of(key, value)?),
            "write" => keys.write = truth_of(key, value)?,
            "timeout" => keys.timeout = Some(seconds_of(key, value)?),
            "max_rows" => keys.max_rows = Some(count_of(key, value)?),
            "max_bytes" => keys.max_bytes = Some(count_of(key, value)?),
            _ => {
                keys.rest.insert(key.clone(), value.clone());
            }
        }
    }
    Ok(keys)
}

fn sqlite_config(config: &Map) -> Result<SqliteConfig, String> {
    let keys = sql_keys(config, "path")?;
    let mut sqlite = SqliteConfig::new(keys.own.ok_or("it has no `path`, as in `config: {path: shop.db}`")?);
    sqlite.write = keys.write;
    sqlite.timeout = keys.timeout.unwrap_or(sqlite.timeout);
    sqlite.max_rows = keys.max_rows.unwrap_or(sqlite.max_rows);
    sqlite.max_bytes = keys.max_bytes.unwrap_or(sqlite.max_bytes);
    for (key, value) in &keys.rest {
        match &**key {
            "init" => sqlite.init = Some(text_of(key, value)?),
            _ => {
                let known = ["init", "max_bytes", "max_rows", "path", "timeout", "write"];
                return Err(unknown_key(key, known.into_iter()));
            }
        }
    }
    Ok(sqlite)
}

fn postgres_config(config: &Map) -> Result<PostgresConfig, String> {
    let keys = sql_keys(config, "url")?;
    let url = keys.own.ok_or("it has no `url`, as in `config: {url: {from_env: DATABASE_URL}}`")?;
    let mut postgres = PostgresConfig::new(url);
    postgres.write = keys.write;
    postgres.timeout = keys.timeout.unwrap_or(postgres.timeout);
    postgres.max_rows = keys.max_rows.unwrap_or(postgres.max_rows);
    postgres.max_bytes = keys.max_bytes.unwrap_or(postgres.max_bytes);
    for (key, value) in &keys.rest {
        match &**key {
            "certificates" => postgres.certificates = Some(text_of(key, value)?),
            "connections" => postgres.connections = count_of(key, value)?,
            _ => {
                let known = ["certificates", "connections", "max_bytes", "max_rows", "timeout", "url", "write"];
                return Err(unknown_key(key, known.into_iter()));
            }
        }
    }
    Ok(postgres)
}

fn truth_of(key: &str, value: &Value) -> Result<bool, String> {
    if let Value::Bool(truth) = value { Ok(*truth) } else { Err(format!("`{key}` must be true or false")) }
}

fn whole_of(key: &str, value: &Value) -> Result<usize, String> {
    let whole = if let Value::Int(whole) = value { usize::try_from(*whole).ok() } else { None };
    whole.ok_or_else(|| format!("`{key}` must be a whole number that is not negative"))
}
