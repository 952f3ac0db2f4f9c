//! Resources are acquired in order, released in reverse, and each once.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use playhouse::host::resource::{Label, Resource, ResourceError, Resources};

type Log = Arc<Mutex<Vec<String>>>;

/// Writes down what becomes of it; those named `broken` and `panics` cannot be acquired.
struct Logged {
    kind: &'static str,
    label: Label,
    log: Log,
}

impl Logged {
    fn key(&self) -> &str {
        self.label.shown().map_or(self.kind, |shown| &**shown)
    }

    fn write(&self, what: &str) {
        self.log.lock().unwrap().push(format!("{what} {}", self.key()));
    }
}

impl Resource for Logged {
    fn kind(&self) -> &str {
        self.kind
    }

    fn label(&self) -> &Label {
        &self.label
    }

    fn acquire(&self) -> BoxFuture<'_, Result<(), ResourceError>> {
        Box::pin(async {
            tokio::task::yield_now().await;
            match self.key() {
                "broken" => return Err(ResourceError::new("the port is closed", "start the server")),
                "panics" => panic!("a bug"),
                _ => {}
            }
            self.write("init");
            Ok(())
        })
    }

    fn release(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            tokio::task::yield_now().await;
            self.write("finalize");
            assert!(self.key() != "clumsy", "while it was released");
        })
    }
}

fn resources(keys: &[&'static str]) -> (Arc<Resources>, Log) {
    let log = Log::default();
    let all = keys.iter().map(|key| {
        let logged = Logged { kind: "test", label: Label::named(*key), log: log.clone() };
        Arc::new(logged) as Arc<dyn Resource>
    });
    (Arc::new(Resources::new(all.collect())), log)
}

fn written(log: &Log) -> Vec<String> {
    log.lock().unwrap().clone()
}

#[tokio::test]
async fn released_in_reverse_also_when_the_run_fails() {
    let (resources, log) = resources(&["a", "b", "c"]);
    let run = async {
        log.lock().unwrap().push("run-fail".to_owned());
        Err::<(), _>("failed")
    };
    assert_eq!(resources.run(run).await, Ok(Err("failed")));
    let expected = ["init a", "init b", "init c", "run-fail", "finalize c", "finalize b", "finalize a"];
    assert_eq!(written(&log), expected);
    resources.release_all().await;
    assert_eq!(written(&log), expected, "a second time releases nothing");
}

#[tokio::test]
async fn a_later_one_that_fails_to_start_releases_the_earlier_ones() {
    for (key, cause) in [
        ("broken", "the resource `broken` (test) cannot be used: the port is closed; start the server"),
        (
            "panics",
            "the resource `panics` (test) cannot be used: it failed because of a bug in it: a bug; take it out of the \
             configuration and report the bug",
        ),
    ] {
        let (resources, log) = resources(&["a", "b", key, "d"]);
        let error = resources.run(async { panic!("it must not be begun") }).await.unwrap_err();
        assert_eq!(error.to_string(), cause);
        assert_eq!(written(&log), ["init a", "init b", "finalize b", "finalize a"]);
    }
}

#[tokio::test]
async fn a_panic_of_the_run_goes_on_behind_the_release() {
    let (resources, log) = resources(&["a", "b"]);
    let shared = resources.clone();
    let run = tokio::spawn(async move { shared.run(async { panic!("in the run") }).await });
    let panic = run.await.unwrap_err().into_panic();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"in the run"));
    assert_eq!(written(&log), ["init a", "init b", "finalize b", "finalize a"]);
}

#[tokio::test]
async fn one_that_panics_while_it_is_released_does_not_keep_the_others() {
    let (resources, log) = resources(&["a", "clumsy", "c"]);
    assert_eq!(resources.run(async { 1 }).await, Ok(1));
    assert_eq!(written(&log)[3..], ["finalize c", "finalize clumsy", "finalize a"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_is_released_too() {
    let (resources, log) = resources(&["a", "b"]);
    let run = resources.run(std::future::pending::<()>());
    assert!(tokio::time::timeout(std::time::Duration::from_secs(1), run).await.is_err());
    // The paused clock moves when nobody has anything to do.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(written(&log), ["init a", "init b", "finalize b", "finalize a"]);
}

#[test]
fn the_first_that_agrees_is_found() {
    let log = Log::default();
    let resource = |kind, id: Option<&str>, name: Option<&str>| {
        let label = Label { id: id.map(Arc::from), name: name.map(Arc::from) };
        Arc::new(Logged { kind, label, log: log.clone() }) as Arc<dyn Resource>
    };
    let resources = Resources::new(vec![
        resource("model", Some("m1"), Some("gpt")),
        resource("model", Some("m2"), Some("glm")),
        resource("disk", Some("d1"), None),
    ]);
    let find =
        |kind, id, name| resources.find(kind, id, name).map(|found| found.label().id.as_ref().unwrap().to_string());
    assert_eq!(find(Some("model"), Some("default"), None).as_deref(), Ok("m1"));
    assert_eq!(find(Some("model"), None, Some("glm")).as_deref(), Ok("m2"));
    assert_eq!(find(None, Some("d1"), None).as_deref(), Ok("d1"));
    let unknown = find(Some("model"), Some("d1"), None).unwrap_err().to_string();
    assert_eq!(
        unknown,
        "there is no resource with type `model`, id `d1`; there are (type `model`, id `m1`, name `gpt`), (type \
         `model`, id `m2`, name `glm`), (type `disk`, id `d1`)"
    );
    assert!(find(Some("websocket"), Some("default"), None).is_err());
    assert!(find(None, None, None).is_err());
    let any: Arc<dyn std::any::Any + Send + Sync> = resources.find(None, Some("d1"), None).unwrap().clone();
    assert!(any.downcast::<Logged>().is_ok());
}
