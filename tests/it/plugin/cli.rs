//! `playhouse plugin`, by the real binary.

use crate::run::Run;

/// The folder of a new plugin, `clock`.
fn made() -> Run {
    let run = Run::new();
    let made = run.beside().line("plugin new clock --language sh").done().code(0);
    made.stdout_contains("playhouse plugin call clock today");
    run
}

#[test]
fn a_new_plugin_passes_check_and_call_at_once() {
    let run = made();
    run.beside()
        .line("plugin check clock --start")
        .stdout("clock.today() -> dict [read_only]  Tells today's date.\n")
        .code(0)
        .stderr_contains("0 errors, 0 warnings\nit starts\n");
    let done = run.beside().line("plugin call clock today").done().code(0);
    assert!(done.stdout.starts_with("{\"date\":\"20"), "{}", done.stdout);
    run.beside().line("plugin new clock").code(2).stderr_contains("clock: it exists already; choose another name");
}

#[test]
fn a_new_python_plugin_is_sound() {
    let run = Run::new();
    run.beside().line("plugin new greeter").code(0);
    run.beside().line("plugin check greeter").code(0).stdout(
        "greeter.add($start: str, $days: int | None = null) -> dict [read_only]  Adds working days to a date.\n",
    );
    let done = run.beside().args(["plugin", "call", "greeter", "add", "--param", r#"{"strt": 1, "days": "2"}"#]).done();
    let expected = "error: `start` is missing (string is required)\n\
                    error: `days` must be int, not the text \"2\"\n\
                    error: `strt` is not known here; there is start, days\n";
    assert_eq!((done.code, &*done.stdout, &*done.stderr), (Some(1), "", expected));
}

#[test]
fn mistakes_in_the_configuration_are_shown_where_they_are() {
    let run = made();
    let config = run.read("clock/.config/config.yaml").replace("effect: read_only", "effect: readonly");
    run.beside()
        .file("clock/.config/config.yaml", &config)
        .line("plugin check clock")
        .code(2)
        .stderr_contains("--> clock/.config/config.yaml:17:13")
        .stderr_contains("1 error, 0 warnings");
    run.beside().line("plugin check none").code(2).stderr_contains("a plugin is a folder with .config/config.yaml");
}

#[test]
fn one_that_does_not_start_says_why() {
    let run = made().file("clock/plugin.sh", "echo 'no clock here' >&2\nexit 3\n");
    let told = "the process of plugin `clock` ended (exit status: 3); it said last:\nno clock here";
    run.beside().line("plugin check clock --start").code(1).stderr_contains(told);
    run.beside().line("plugin call clock today").code(1).stderr_contains(told);
}

#[test]
fn calls_are_refused_with_the_next_step() {
    let run = made();
    run.beside()
        .line("plugin call clock tomorrow")
        .code(2)
        .stderr_contains("`clock` has no command `tomorrow`; it has `today`");
    run.beside().line("plugin call clock today --config 3").code(2).stderr_contains("--config must be a JSON object");
    run.beside().line("plugin call clock today --param {").code(2).stderr_contains("it is not JSON");
    run.beside().line("plugin call clock today --param 3").code(1).stderr_contains("`param` ");
    run.beside()
        .args(["plugin", "call", "clock", "today", "--param", r#"{"a": 1}"#])
        .code(1)
        .stderr_contains("`param` ");
    run.beside().line("plugin call clock today --param {}").code(0).stdout_contains("date");
    let config = run.read("clock/.config/config.yaml").replace("effect: read_only", "approval: ask");
    let run = run.file("clock/.config/config.yaml", &config);
    run.beside()
        .line("plugin call clock today")
        .code(2)
        .stderr_contains("clock.today({}) needs approval; add --approve");
    run.beside().line("plugin call clock today --approve").code(0).stdout_contains("date");
}

#[test]
fn what_a_plugin_writes_to_standard_error_is_shown_to_whoever_tries_it() {
    let run = made();
    let script = run.read("clock/plugin.sh").replace("today) ", "today) echo 'looking at the clock' >&2; ");
    let run = run.file("clock/plugin.sh", &script);
    let done = run.beside().line("plugin call clock today").done().code(0);
    assert_eq!(done.stderr, "looking at the clock\n");
    let script = script.replace("today) ", "today) echo 'no hands' >&2; fail 'stopped at noon'; continue; ");
    let done = run.file("clock/plugin.sh", &script).line("plugin call clock today").done().code(1);
    assert_eq!((&*done.stdout, &*done.stderr), ("", "no hands\nerror: stopped at noon\n"));
}

#[test]
fn a_call_tells_its_news_and_its_failure() {
    let run = made();
    let script = run.read("clock/plugin.sh").replace(
        "today) ",
        r#"today) printf '{"sender":{"role":"plugin"},"receiver":{"role":"cerebrum"},"content_type":"text/plain","content":"winding up","thrd_id":"%s"}\n' "$id"; fail 'stopped at noon'; continue; "#,
    );
    let done = run.file("clock/plugin.sh", &script).line("plugin call clock today").done().code(1);
    assert_eq!((&*done.stdout, &*done.stderr), ("", "winding up\nerror: stopped at noon\n"));
}
