//! Cases of lifecycles: resources that write down what becomes of them.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use playhouse::host::resource::{Label, Resource, ResourceError, Resources};
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::conformance::components::Outcome;

#[derive(Deserialize)]
pub(super) struct Lifecycle {
    resources: Vec<Entry>,
    #[serde(default)]
    run_fails: bool,
}

#[derive(Deserialize)]
struct Entry {
    key: String,
    /// Something like `init_fails: true`.
    #[serde(flatten)]
    rest: Map<String, Json>,
}

struct Logging {
    label: Label,
    key: String,
    fails: bool,
    log: Arc<Mutex<Vec<String>>>,
}

impl Logging {
    fn write(&self, line: String) {
        self.log.lock().unwrap().push(line);
    }
}

impl Resource for Logging {
    fn kind(&self) -> &str {
        "logging"
    }

    fn label(&self) -> &Label {
        &self.label
    }

    fn acquire(&self) -> BoxFuture<'_, Result<(), ResourceError>> {
        Box::pin(async {
            if self.fails {
                self.write(format!("init-fail {}", self.key));
                return Err(ResourceError::new(format!("{} cannot be initialised", self.key), "mend it"));
            }
            self.write(format!("init {}", self.key));
            Ok(())
        })
    }

    fn release(&self) -> BoxFuture<'_, ()> {
        Box::pin(async { self.write(format!("finalize {}", self.key)) })
    }
}

pub(super) fn run(input: Lifecycle) -> Result<Outcome, String> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let resources = input.resources.into_iter().map(|entry| {
        let fails = entry.rest.iter().any(|(name, value)| name.contains("fail") && *value == Json::Bool(true));
        Arc::new(Logging { label: Label::named(&*entry.key), key: entry.key, fails, log: log.clone() })
            as Arc<dyn Resource>
    });
    let resources = Arc::new(Resources::new(resources.collect()));
    let run = async {
        log.lock().unwrap().push(if input.run_fails { "run-fail" } else { "run" }.to_owned());
        if input.run_fails { Err("the run failed".to_owned()) } else { Ok(()) }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(|error| error.to_string())?;
    let complaint = match runtime.block_on(resources.run(run)) {
        Ok(Ok(())) => None,
        Ok(Err(failure)) => Some(failure),
        Err(error) => Some(error.to_string()),
    };
    let lines = log.lock().unwrap().clone();
    Ok(Outcome { value: Some(lines.into()), complaints: complaint.into_iter().collect(), ..Outcome::default() })
}
