//! Resources as they are declared: every key known, every value checked, then made.

use std::sync::Arc;

use playhouse_lang::value::Value;
use serde::Deserialize;

use crate::directory::WorkingDirectory;
use crate::equipment::declaration::ResourceDeclaration;
use crate::equipment::surroundings::{EquipmentError, Reach, Surroundings};
use crate::keys::{read, unknown_key};
use crate::resource::databases::{postgres, sqlite};
use crate::resource::disk::Disk;
use crate::resource::documents::Documents;
use crate::resource::http::{Http, HttpConfig};
use crate::resource::model::Model;
use crate::resource::sql::{Database, PostgresConfig, SqliteConfig};
use crate::resource::{Label, Resource, ResourceError, Resources};

/// Makes a resource of one kind of its `config`.
type Make = fn(&mut Made, Label, &Value, &Ground<'_>) -> Result<Arc<dyn Resource>, String>;

/// The kinds there are.
const KINDS: [(&str, Make); 6] = [
    ("disk", |_, label, config, ground| Ok(Arc::new(Disk::new(label, ground.folder.clone(), read(config)?)))),
    ("documents", |made, label, config, ground| {
        let around = ground.around;
        let (directory, folder) = (around.working_directory.to_owned(), ground.folder.clone());
        let index = Documents::new(label, directory, folder, read(config)?, around.embedders.clone())?;
        let index = Arc::new(index);
        made.indexes.push(index.clone());
        Ok(index)
    }),
    ("http", |made, label, config, ground| {
        let config: HttpConfig = read(config)?;
        if config.hosts.is_empty() {
            return Err("it has no `hosts`: name those that may be reached, as in `hosts: [api.example.org]`".into());
        }
        let http = Http::new(label, &config).map_err(|error| error.to_string())?;
        let http = Arc::new(http.masked(ground.around.secrets.clone()));
        made.http.push(http.clone());
        Ok(http)
    }),
    ("model", |_, label, config, ground| {
        let ModelKeys { model } = read(config)?;
        let id = model.ok_or("it has no `model`, as in `config: {model: \"openai:gpt-4.1-mini\"}`")?;
        let models = ground.around.models.clone();
        Ok(Arc::new(Model::new(label, Box::new(move |options| models(&id, options)))))
    }),
    ("postgres", |made, label, config, _| {
        let config: PostgresConfig = read(config)?;
        if config.url.is_empty() {
            return Err("it has no `url`, as in `config: {url: {from_env: DATABASE_URL}}`".to_owned());
        }
        made.database(postgres(label, config))
    }),
    ("sqlite", |made, label, config, ground| {
        let config: SqliteConfig = read(config)?;
        if config.path.is_empty() {
            return Err("it has no `path`, as in `config: {path: shop.db}`".to_owned());
        }
        made.database(sqlite(label, ground.around.working_directory, config))
    }),
];

/// What resources stand on.
struct Ground<'a> {
    around: &'a Surroundings<'a>,
    folder: &'a WorkingDirectory,
}

/// What the `config` of a model may say.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelKeys {
    model: Option<String>,
}

/// The resources of a program, by what tools need them for.
#[derive(Default)]
pub(super) struct Made {
    pub(super) all: Arc<Resources>,
    pub(super) http: Vec<Arc<Http>>,
    pub(super) databases: Vec<Arc<dyn Database>>,
    pub(super) indexes: Vec<Arc<Documents>>,
    /// Whether some could not be made for want of their secrets, which a survey can do without.
    pub(super) is_incomplete: bool,
}

/// Makes all that are declared, in their order; none is acquired.
///
/// # Errors
/// The first that cannot be made.
pub(super) fn make(
    declared: &[ResourceDeclaration],
    around: &Surroundings<'_>,
    reach: Reach,
    folder: &WorkingDirectory,
) -> Result<Made, EquipmentError> {
    let ground = Ground { around, folder };
    let mut made = Made::default();
    let mut all: Vec<Arc<dyn Resource>> = Vec::new();
    for one in declared {
        let fault = |message: String| EquipmentError::Declared {
            place: one.place.clone(),
            message: format!("resource `{}`: {message}", one.kind),
        };
        let config = match around.resolve(&one.config) {
            Ok(config) => config,
            Err(_) if reach == Reach::Survey => {
                made.is_incomplete = true;
                continue;
            }
            Err(message) => return Err(fault(message)),
        };
        let id = (&*one.id != "default").then(|| one.id.clone());
        let label = Label { id, name: one.name.clone() };
        let unknown = || {
            let known = KINDS.iter().map(|(kind, _)| *kind);
            unknown_key(&one.kind, known).replace("unknown key", "there is no such type,")
        };
        let make = KINDS.iter().find(|(kind, _)| *kind == &*one.kind).ok_or_else(|| fault(unknown()))?.1;
        all.push(make(&mut made, label, &Value::map(config), &ground).map_err(fault)?);
    }
    made.all = Arc::new(Resources::new(all));
    Ok(made)
}

impl Made {
    fn database(&mut self, opened: Result<Arc<dyn Database>, ResourceError>) -> Result<Arc<dyn Resource>, String> {
        let database = opened.map_err(|error| error.to_string())?;
        self.databases.push(database.clone());
        Ok(database)
    }
}
