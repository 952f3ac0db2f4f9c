//! What commands may not do. Each escape is a real command through the real binary; unconfined it succeeds, so what
//! holds it is the sandbox.

use std::collections::BTreeMap;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use playhouse::host::clock::{Clock, SystemClock};
use playhouse::host::directory::WorkingDirectory;
use playhouse::host::sandbox::{Available, Sandbox};
use playhouse::host::skills::options::{SandboxKind, SkillOptions, SkillsOptions};
use playhouse::host::tool::builtin::{Ground, add_builtins};
use playhouse::host::tool::registry::Registry;
use playhouse::host::tool::workspace::command::Commands;
use playhouse::value::Value;
use playhouse::vm::protocol::{Approval, CallOutcome, StartCall};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::run::Run;
use crate::tool::start;

/// What an escape writes that has succeeded.
const ESCAPED: &str = "ESCAPED";

/// A home folder with a key, a folder that is nobody's business, a skill, and the working directory.
struct Place {
    outer: TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { outer: tempfile::tempdir().unwrap() };
        for folder in ["home/.ssh", "outside", "work/.git/hooks", "skill"] {
            std::fs::create_dir_all(place.path(folder)).unwrap();
        }
        std::fs::write(place.path("home/.ssh/id_ed25519"), "ESCAPED\n").unwrap();
        std::fs::write(place.path("outside/file"), "ESCAPED\n").unwrap();
        std::fs::write(place.path("skill/SKILL.md"), "read\n").unwrap();
        std::fs::write(place.path("work/.env"), "KEY=1\n").unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.outer.path().canonicalize().unwrap().join(name)
    }

    /// The tools, with commands in this sandbox.
    fn tools(&self, kind: SandboxKind) -> Registry {
        let path = ("PATH".to_owned(), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned());
        let executable: Arc<Path> = Path::new(env!("CARGO_BIN_EXE_playhouse")).into();
        let sandbox = Sandbox::new(kind, Some(executable), vec![path]);
        if kind != SandboxKind::None {
            let available = sandbox.available();
            let is_confined = matches!(&available, Available::Confined(lacks) if lacks.is_empty());
            assert!(is_confined, "these tests need a system that can confine commands: {available:?}");
        }
        let network = SkillOptions { network: true };
        let skills = SkillsOptions { skills: BTreeMap::from([("skill".into(), network)]), ..SkillsOptions::default() };
        let commands = Commands { sandbox, skills, secrets: Arc::default() };
        let directory = WorkingDirectory::open(&self.path("work")).unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let ground =
            Ground { directory: &directory, clock: &clock, max_bytes: 1 << 20, indexes: &[], commands: &commands };
        let tools = Registry::new();
        add_builtins(&tools, &ground, |_| true).unwrap();
        tools
    }

    /// What comes of a command, which the skill calls that may use the network, or nobody's.
    async fn run(&self, kind: SandboxKind, command: &str, is_of_skill: bool) -> Result<Value, String> {
        let skill = is_of_skill.then(|| self.path("skill/SKILL.md").display().to_string().into());
        outcome(&self.tools(kind), StartCall { skill, ..call(command) }).await
    }
}

fn call(command: &str) -> StartCall {
    start(1, "RunCommand", &[("command", command.into())])
}

async fn outcome(tools: &Registry, call: StartCall) -> Result<Value, String> {
    match tools.begin(&"s1".into(), &call, CancellationToken::new(), None, None).outcome.await.0 {
        CallOutcome::Value { value, .. } => Ok(value),
        CallOutcome::Error(text) => Err(text.to_string()),
        other @ (CallOutcome::Needs { .. } | CallOutcome::Interrupted) => panic!("{other:?}"),
    }
}

fn member<'v>(value: &'v Value, name: &str) -> &'v str {
    value.as_map().and_then(|map| map.get(name)).and_then(Value::as_str).unwrap_or_default()
}

/// The sandbox holds a command, and nothing else does.
async fn holds(place: &Place, command: &str) {
    let done = place.run(SandboxKind::System, command, false).await.unwrap();
    assert!(!member(&done, "stdout").contains(ESCAPED), "{command}: {done:?}");
    let control = place.run(SandboxKind::None, command, false).await.unwrap();
    assert!(member(&control, "stdout").contains(ESCAPED), "the test shows nothing: {command}: {control:?}");
}

/// Waits for something that comes soon.
async fn until(is_so: &dyn Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.unwrap();
}

/// How many processes have this in their command.
fn running(mark: &str) -> Vec<i32> {
    let processes =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let has_mark = |id: &i32| {
        let command = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).replace('\0', " ").contains(mark)
    };
    processes.filter(has_mark).collect()
}

#[tokio::test]
async fn commands_run_where_they_belong() {
    let place = Place::new();
    let tools = place.tools(SandboxKind::System);
    let signature = |tools: &Registry| {
        tools.signatures().iter().find(|tool| &*tool.signature.name == "RunCommand").unwrap().approval
    };
    assert_eq!(signature(&tools), Approval::Unpermitted);
    assert_eq!(signature(&place.tools(SandboxKind::None)), Approval::Ask);
    let done =
        place.run(SandboxKind::System, "cat $CLAUDE_SKILL_DIR/SKILL.md; echo a > b; cat b; pwd; exit 3", true).await;
    let done = done.unwrap();
    assert_eq!(member(&done, "stdout"), format!("read\na\n{}\n", place.path("work").display()));
    assert_eq!(done.as_map().unwrap()["exit_code"], Value::Int(3), "{done:?}");
    let done =
        place.run(SandboxKind::System, "echo x > $TMPDIR/x && cat $HOME/x; cat < /dev/null; echo e >&2", false).await;
    let done = done.unwrap();
    assert_eq!((member(&done, "stdout"), member(&done, "stderr")), ("x\n", "e\n"), "{done:?}");
    let done = place.run(SandboxKind::System, "yes | head -c 1000000; kill -9 $$", false).await.unwrap();
    assert!(
        member(&done, "stdout").len() < 200_100
            && member(&done, "stdout").contains("\n… 800000 bytes are left out here …\n")
    );
    assert_eq!((member(&done, "cut"), member(&done, "ended")), ("800000 bytes in the middle of stdout", "by signal 9"));
}

#[tokio::test]
async fn a_command_has_its_time() {
    let place = Place::new();
    let arguments = [("command", "echo begun; sleep 4714.25".into()), ("timeout", Value::Int(1))];
    let tools = place.tools(SandboxKind::System);
    let done = outcome(&tools, start(1, "RunCommand", &arguments)).await.unwrap();
    assert_eq!((member(&done, "stdout"), member(&done, "ended")), ("begun\n", "by its time limit of 1 s"), "{done:?}");
    assert_eq!(running("sleep 4714.25"), [0; 0]);
    let arguments = [("command", "true".into()), ("timeout", Value::Int(601))];
    let fault = outcome(&tools, start(1, "RunCommand", &arguments)).await.unwrap_err();
    assert!(fault.contains("`timeout` must be from 1 to 600 seconds"), "{fault}");
}

#[tokio::test]
async fn files_of_others_are_neither_read_nor_written() {
    let place = Place::new();
    let (home, outside) = (place.path("home").display().to_string(), place.path("outside").display().to_string());
    holds(&place, &format!("cat {home}/.ssh/id_ed25519")).await;
    holds(&place, &format!("echo x > {outside}/new && echo ESCAPED")).await;
    holds(&place, &format!("rm {outside}/new && echo ESCAPED")).await;
    holds(&place, &format!("ln -sf {home}/.ssh/id_ed25519 link; cat link")).await;
    holds(&place, &format!("ln -sf {outside}/by-link link; echo x > link && echo ESCAPED")).await;
    holds(&place, &format!("rm -f hard; ln {outside}/file hard && cat hard")).await;
    holds(&place, &format!("mv {outside}/file moved && cat moved; mv moved {outside}/file")).await;
    let truncate = if cfg!(target_arch = "x86_64") { 76 } else { 45 };
    holds(
        &place,
        &format!("perl -e '$p = \"{outside}/by-link\"; print \"ESCAPED\" if syscall({truncate}, $p, 0) == 0'"),
    )
    .await;
    holds(&place, "truncate -s 2G large && echo ESCAPED; rm -f large").await;
}

#[tokio::test]
async fn other_processes_are_not_reached() {
    let place = Place::new();
    let own = std::process::id();
    holds(&place, &format!("[ $(head -c 20 /proc/{own}/environ | wc -c) = 20 ] && echo ESCAPED")).await;
    holds(&place, &format!("head -c 1 /proc/{own}/maps > /dev/null && echo ESCAPED")).await;
    holds(&place, &format!("kill -0 {own} && echo ESCAPED")).await;
    // Its own child: PTRACE_SEIZE.
    let ptrace = if cfg!(target_arch = "x86_64") { 101 } else { 117 };
    let seize = format!("syscall({ptrace}, 0x4206, $p, 0, 0) == 0");
    let script = format!("$p = fork; if (!$p) {{ sleep 9; exit }} print \"ESCAPED\" if {seize}; kill 9, $p");
    holds(&place, &format!("perl -e '{script}'")).await;
}

#[tokio::test]
async fn there_is_no_network() {
    let place = Place::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let name = format!("playhouse-test-{}", std::process::id());
    let abstract_socket = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let file = place.path("outside/socket");
    let socket = UnixListener::bind(&file).unwrap();
    let connect = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{} && echo ESCAPED'", tcp.local_addr().unwrap().port());
    let send = format!("bash -c 'echo x > /dev/udp/127.0.0.1/{} && echo ESCAPED'", udp.local_addr().unwrap().port());
    let bind = "perl -MSocket -e 'socket($s, AF_INET, SOCK_STREAM, 0) && bind($s, sockaddr_in(0, INADDR_LOOPBACK)) \
                && listen($s, 1) && print \"ESCAPED\"'";
    let unix = |address: &str| {
        format!(
            "perl -MSocket -e 'socket($s, AF_UNIX, SOCK_STREAM, 0) && connect($s, sockaddr_un(\"{address}\")) && print \"ESCAPED\"'"
        )
    };
    let to_abstract = unix(&format!("\\0{name}"));
    for command in [&connect, &send, bind, &to_abstract, &unix(&file.display().to_string())] {
        holds(&place, command).await;
    }
    for command in [&connect, &send, bind] {
        let done = place.run(SandboxKind::System, command, true).await.unwrap();
        assert!(member(&done, "stdout").contains(ESCAPED), "a skill that may: {command}: {done:?}");
    }
    let done = place.run(SandboxKind::System, &to_abstract, true).await.unwrap();
    assert!(!member(&done, "stdout").contains(ESCAPED), "what is allowed is the network: {done:?}");
    drop((abstract_socket, socket));
}

#[tokio::test]
async fn all_ends_with_the_command() {
    let place = Place::new();
    // Comes back at once, and multiplies.
    let bomb = "b() { b | b & }; b; : bomb-4711.25";
    let done = place.run(SandboxKind::System, bomb, false).await;
    assert_eq!(running("bomb-4711.25"), [0; 0], "{done:?}");
    let daemon = |mark: &str| {
        format!(
            "(setsid sh -c 'echo > free; exec sleep {mark}' || echo > kept) > /dev/null 2>&1 & \
             until [ -e free ] || [ -e kept ]; do :; done; rm -f free kept; sleep {mark} &"
        )
    };
    place.run(SandboxKind::System, &daemon("4712.25"), false).await.unwrap();
    assert_eq!(running("sleep 4712.25"), [0; 0]);
    place.run(SandboxKind::None, &daemon("4713.25"), false).await.unwrap();
    let left = running("sleep 4713.25");
    assert_eq!(left.len(), 1, "the test shows nothing");
    for id in left {
        let _ =
            rustix::process::kill_process(rustix::process::Pid::from_raw(id).unwrap(), rustix::process::Signal::KILL);
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_ends_its_command() {
    let place = Place::new();
    let tools = place.tools(SandboxKind::System);
    let running_call = tokio::spawn(async move { outcome(&tools, call("touch begun; sleep 4715.25")).await });
    until(&|| place.path("work/begun").exists()).await;
    running_call.abort();
    until(&|| running("sleep 4715.25").is_empty()).await;
}

#[tokio::test]
async fn nobody_becomes_more() {
    let place = Place::new();
    holds(&place, "cp /bin/true mine; chmod u+s mine && echo ESCAPED").await;
    let prctl = if cfg!(target_arch = "x86_64") { 157 } else { 167 };
    // PR_GET_NO_NEW_PRIVS: with 1 no program has its owner's rights.
    holds(&place, &format!("perl -e 'print \"ESCAPED\" if syscall({prctl}, 39, 0, 0, 0, 0) == 0'")).await;
    for command in
        ["unshare -Ur true && echo ESCAPED", "unshare -m true && echo ESCAPED", "mknod device c 1 3 && echo ESCAPED"]
    {
        // Whether these succeed without a sandbox is up to the user and the system.
        let done = place.run(SandboxKind::System, command, false).await.unwrap();
        assert!(!member(&done, "stdout").contains(ESCAPED), "{command}: {done:?}");
    }
}

#[tokio::test]
async fn reserved_paths_are_looked_at() {
    let place = Place::new();
    for (command, changed) in [
        ("echo 'rm -rf /' > .git/hooks/pre-commit", "`.git/hooks/pre-commit`"),
        ("echo x >> .git/hooks/pre-commit", "`.git/hooks/pre-commit`"),
        ("chmod +x .git/hooks/pre-commit", "`.git/hooks/pre-commit`"),
        ("echo KEY=2 > .env", "`.env`"),
        ("t=$(stat -c %y .env); echo KEY=3 > .env; touch -d \"$t\" .env", "`.env`"),
        ("mkdir -p .new/folder; echo > .new/folder/file", "`.new`"),
        ("rm -r .new; mv .env env", "`.env`, `.new`"),
    ] {
        let fault = place.run(SandboxKind::System, command, false).await.unwrap_err();
        assert!(fault.starts_with(&format!("the command changed {changed}: ")), "{command}: {fault}");
    }
    // What they hold can be read, and what is beside them be changed.
    let done = place.run(SandboxKind::System, "cp env .git/../copy; cat .git/hooks/pre-commit; cat copy", false).await;
    assert_eq!(member(&done.unwrap(), "stdout"), "rm -rf /\nx\nKEY=3\n");
}

#[test]
fn keys_of_the_environment_are_not_seen() {
    let program = "# A\n\n## Main\n\n### Triggers\n\n- At the beginning\n\n### Steps\n\n- $done = RunCommand(\"env\")\n- Say \"{$done}\"\n- End program\n";
    let never = "[tools]\nRunCommand = { approval = \"never\" }\n";
    let run = Run::new().program(program).file("none.json", "[]").file("playhouse.toml", never);
    let run = run
        .variable("OPENAI_API_KEY", "sk-of-the-parent")
        .variable("PATH", "/usr/bin:/bin")
        .variable("OTHER", "other-one");
    let done = run.line("run program.md --model script:none.json").done().code(0);
    assert!(done.stdout.contains("TMPDIR=") && done.stdout.contains("PATH="), "{}{}", done.stdout, done.stderr);
    assert!(!done.stdout.contains("sk-of-the-parent") && !done.stdout.contains("other-one"), "{}", done.stdout);
}

#[test]
fn nobody_else_starts_it() {
    let done = Run::new().line("sandbox-exec --policy {} -- true").done().code(1);
    assert!(done.stderr.starts_with("error: sandbox-exec: the policy cannot be read"), "{}", done.stderr);
}

#[tokio::test]
#[ignore = "needs bubblewrap and a system that lets it make namespaces; CI has neither"]
async fn bubblewrap_holds_too() {
    let place = Place::new();
    let (home, own) = (place.path("home").display().to_string(), std::process::id());
    let done = place.run(SandboxKind::Bwrap, "cat $CLAUDE_SKILL_DIR/SKILL.md; echo a > b; cat b", true).await.unwrap();
    assert_eq!(member(&done, "stdout"), "read\na\n", "{done:?}");
    for command in [
        format!("cat {home}/.ssh/id_ed25519"),
        format!("kill -0 {own} && echo ESCAPED"),
        "echo x > .env && echo ESCAPED".to_owned(),
        "echo x > .git/hooks/pre-commit && echo ESCAPED".to_owned(),
        "(echo > /dev/tcp/127.0.0.1/9) && echo ESCAPED".to_owned(),
    ] {
        let done = place.run(SandboxKind::Bwrap, &command, false).await.unwrap();
        assert!(!member(&done, "stdout").contains(ESCAPED), "{command}: {done:?}");
    }
    place.run(SandboxKind::Bwrap, "setsid sleep 4716.25 > /dev/null 2>&1 &", false).await.unwrap();
    // Its namespace ends a moment after the call.
    until(&|| running("sleep 4716.25").is_empty()).await;
}
