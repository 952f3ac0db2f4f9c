//! The plugins that are part of the binary: a plugin's `config.yaml` names one of them as its `setup.package`, says
//! which of its commands there are, and which resource they work on (source 004, "Resources for components to use").

use std::any::Any;
use std::sync::Arc;

use playhouse_lang::value::{Map, Value};

use crate::component::llm::{LlmParameter, check_response};
use crate::resource::disk::Disk;
use crate::resource::model::Model;
use crate::resource::prices::PriceTable;
use crate::resource::{Resource, Resources};
use crate::tasks;
use crate::tool::CallContext;
use crate::tool::plugin::{Component, ComponentError, Packages, Parts, Performing};

/// Adds the packages of the binary that work on resources.
pub(super) fn add_packages(packages: &mut Packages, resources: &Arc<Resources>, prices: &Arc<PriceTable>) {
    let (all, prices) = (resources.clone(), prices.clone());
    let llm = move |parts: Parts| {
        let model = wanted::<Model>(&all, "model", &parts.config)?;
        Ok(Arc::new(LlmComponent { model, prices: prices.clone() }) as Arc<dyn Component>)
    };
    packages.add("playhouse.llm", Arc::new(llm));
    let all = resources.clone();
    let disk = move |parts: Parts| {
        let disk = wanted::<Disk>(&all, "disk", &parts.config)?;
        Ok(Arc::new(DiskComponent { disk }) as Arc<dyn Component>)
    };
    packages.add("playhouse.disk", Arc::new(disk));
}

/// The resource of a kind that a plugin's configuration wants; the first of the kind if it says nothing.
fn wanted<T: Resource>(resources: &Resources, kind: &str, config: &Map) -> Result<Arc<T>, String> {
    let entries = if let Some(Value::List(entries)) = config.get("resources") { &entries[..] } else { &[] };
    let of_kind = |entry: &&Value| member(entry, "type").is_none_or(|wanted| wanted == kind);
    let entry = entries.iter().find(of_kind).unwrap_or(&Value::Null);
    let found = resources.find(Some(kind), member(entry, "id"), member(entry, "name"));
    let found = found.map_err(|error| format!("{error}; declare it under `resources`"))?;
    let found: Arc<dyn Any + Send + Sync> = found.clone();
    found.downcast().map_err(|_| format!("the resource of type `{kind}` is another kind of thing"))
}

fn member<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.as_map()?.get(name)?.as_str()
}

fn unknown(package: &str, command: &str, known: &str) -> ComponentError {
    ComponentError::Failed(format!("`{package}` has no command `{command}`; it has {known}"))
}

/// `playhouse.llm`: the LLM contract as a command.
struct LlmComponent {
    model: Arc<Model>,
    prices: Arc<PriceTable>,
}

impl Component for LlmComponent {
    fn command<'a>(&'a self, command: &'a str, param: Value, _: &'a CallContext) -> Performing<'a> {
        Box::pin(async move {
            if command != "generate" {
                return Err(unknown("playhouse.llm", command, "generate"));
            }
            let members = param.as_map().cloned().unwrap_or_default();
            let parameter = LlmParameter::read(&members).map_err(ComponentError::Failed)?;
            let answer = self.model.generate(&parameter, &self.prices).await;
            let answer = answer.map_err(|cause| ComponentError::Failed(cause.to_string()))?;
            let json = serde_json::to_value(answer).unwrap_or_default();
            // Only the content is owed; that the rest is not known is nothing that a program could mend.
            for missing in check_response(&parameter, &json) {
                tracing::warn!("the model's response: {missing}");
            }
            serde_json::from_value(json).map_err(|error| ComponentError::Failed(error.to_string()))
        })
    }
}

/// `playhouse.disk`: files of a folder.
struct DiskComponent {
    disk: Arc<Disk>,
}

impl Component for DiskComponent {
    fn command<'a>(&'a self, command: &'a str, param: Value, _: &'a CallContext) -> Performing<'a> {
        let (disk, command) = (self.disk.clone(), command.to_owned());
        Box::pin(async move {
            let work = tasks::on_thread(move || disk_command(&disk, &command, &param));
            work.await.map_err(|lost| ComponentError::Failed(format!("the file could not be processed: {lost}")))?
        })
    }
}

fn disk_command(disk: &Disk, command: &str, param: &Value) -> Result<Value, ComponentError> {
    let path = member(param, "path").unwrap_or(".");
    let result = |name: &str, value: Value| Value::map([(name.into(), value)].into_iter().collect());
    let done = match command {
        "read" => disk.read(path).and_then(|bytes| {
            let text = String::from_utf8(bytes).map_err(|_| format!("cannot read `{path}`: it is not text"))?;
            Ok(result("text", Value::from(text)))
        }),
        "write" => {
            let text = member(param, "text").unwrap_or_default();
            disk.write(path, text.as_bytes()).map(|()| result("path", Value::str(path)))
        }
        "list" => {
            disk.list(path).map(|names| result("names", Value::list(names.into_iter().map(Value::from).collect())))
        }
        "remove" => disk.remove(path).map(|()| result("path", Value::str(path))),
        _ => return Err(unknown("playhouse.disk", command, "read, write, list and remove")),
    };
    done.map_err(ComponentError::Failed)
}
