//! Configuration: layers, and errors that name the line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use playhouse::host::config::{ClassifierId, CommandLine, Config, ConfigError, Environment, FileConfig, ModelId};
use playhouse::host::journal::address::Place;
use playhouse::host::llm::script::Script;
use playhouse::lang::program::FrontMatter;
use playhouse::span::{FileId, Span};
use playhouse::value::{Map, Value};
use playhouse::vm::dataflow::date::TimesOfDay;
use playhouse::vm::protocol::settings::{Barrier, OnProtocolFailure, OnUserMessage, Replan, Settings};

fn file(text: &str) -> Result<FileConfig, String> {
    FileConfig::from_text(Path::new("dir/playhouse.toml"), text).map_err(|error| error.to_string())
}

fn environment(variables: &[(&str, &str)]) -> Environment {
    let find = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    Environment::from_variables(&find)
}

fn front_matter(key: &str, value: Value) -> FrontMatter {
    FrontMatter { model: None, other: vec![(key.to_owned(), value, Span::new(FileId(0), 0, 0))] }
}

fn resolve(command_line: &CommandLine, file: &FileConfig, variables: &[(&str, &str)]) -> Config {
    Config::resolve(command_line, &FrontMatter::default(), file, &environment(variables)).unwrap()
}

fn model(config: &Config) -> (String, String) {
    let (id, reason) = config.model();
    (id.to_string(), reason.to_owned())
}

#[test]
fn every_key_is_read() {
    let config = file(
        r#"
        model = "openai:small"
        base_url = "http://127.0.0.1:1/v1"
        constrain = true
        starts_in_think = true
        temperature = 0.5
        max_tokens = 1_000
        resume = "fresh"
        classifier = "off"
        classifier_timeout = 0.5
        connect_timeout = 3
        read_timeout = 4.5
        turn_timeout = 60
        yield_grace = 0.25
        max_sessions = 5
        extra_headers = { X-Team = "a" }
        [extra_body]
        top_k = 4
        nested = { a = [1, 2.5, "x", true] }
        [limits]
        depth = 3
        on_protocol_failure = "stop"
        tokens = 0x10
        context_tokens = 32000
        explicit_lines = false
        barrier = "effects"
        max_verdicts = 9
        on_user_message = "rollback"
        "#,
    )
    .unwrap();
    let config = resolve(&CommandLine::default(), &config, &[]);
    assert_eq!(
        config.settings,
        Settings {
            depth: 3,
            on_protocol_failure: OnProtocolFailure::Stop,
            tokens: 16,
            context_tokens: 32_000,
            explicit_lines: false,
            resume_fresh: true,
            classifier: false,
            barrier: Barrier::Effects,
            max_verdicts: 9,
            on_user_message: OnUserMessage::Rollback,
            ..Settings::default()
        }
    );
    assert_eq!(config.session.yield_grace, Duration::from_millis(250));
    assert_eq!(config.session.turn_timeout, Duration::from_secs(60));
    assert_eq!(config.session.classifier_timeout, Duration::from_millis(500));
    assert_eq!(config.max_sessions, 5);
    let openai = config.openai("small");
    assert_eq!(openai.base_url, "http://127.0.0.1:1/v1");
    assert_eq!((openai.temperature, openai.max_tokens), (Some(0.5), Some(1_000)));
    assert_eq!(openai.extra_headers, [("X-Team".to_owned(), "a".to_owned())]);
    assert_eq!(serde_json::to_string(&openai.extra_body).unwrap(), r#"{"nested":{"a":[1,2.5,"x",true]},"top_k":4}"#);
    assert!(openai.constrain);
    assert_eq!(openai.starts_in_think, Some(true));
    assert_eq!(openai.context_tokens, Some(32_000));
    assert_eq!((openai.connect_timeout, openai.read_timeout), (Duration::from_secs(3), Duration::from_millis(4_500)));
}

#[test]
fn nothing_is_sent_that_is_not_configured() {
    let config = resolve(&CommandLine::default(), &FileConfig::default(), &[("OPENAI_API_KEY", "k")]);
    let openai = config.openai("m");
    assert_eq!((openai.temperature, openai.max_tokens, openai.extra_body.len()), (None, None, 0));
    assert!(openai.api_key.is_some());
    let settings = config.settings_for(&Script::from_entries("x", Vec::new()));
    assert_eq!(settings, Settings::default());
}

#[test]
fn what_plans_are_told_is_configured() {
    let text = "zone = \"Asia/Tokyo\"\n[times_of_day]\nmorning = \"08:30\"\nendofday = 23:00:00\n[limits]\nplan_steps = 9\n\
                condition_retries = 0\nmax_replans = 2\nreplan = \"resume\"\ndataflow_calls = 4\n";
    let file = FileConfig::from_text(Path::new("playhouse.toml"), text).unwrap();
    let time = |hour, minute| jiff::civil::Time::constant(hour, minute, 0, 0);
    let times_of_day = TimesOfDay { morning: time(8, 30), end_of_day: time(23, 0), ..TimesOfDay::default() };
    let expected = Settings {
        zone: "Asia/Tokyo".into(),
        times_of_day,
        plan_steps: 9,
        condition_retries: 0,
        max_replans: 2,
        replan: Replan::Resume,
        dataflow_calls: 4,
        // The embedded model's classifier answers at once.
        classifier_first: true,
        ..Settings::default()
    };
    assert_eq!(resolve(&CommandLine::default(), &file, &[]).settings, expected);
}

/// A zone that plans do not know is none: the session would fail with it.
#[test]
fn the_zone_is_the_systems_if_it_is_known() {
    for (system, expected) in [(Some("Asia/Tokyo"), "Asia/Tokyo"), (Some("Etc/Nowhere"), "UTC"), (None, "UTC")] {
        let environment = Environment { zone: system.map(str::to_owned), ..Environment::default() };
        let (front, file) = (FrontMatter::default(), FileConfig::default());
        let config = Config::resolve(&CommandLine::default(), &front, &file, &environment).unwrap();
        assert_eq!(&*config.settings.zone, expected);
    }
}

#[test]
fn wrong_files_name_the_line() {
    for (text, expected) in [
        ("modle = \"x\"", "dir/playhouse.toml:1: unknown key `modle`; did you mean `model`?"),
        (
            "\n[limits]\nturns = 3\nmax_repair = 3",
            "dir/playhouse.toml:4: unknown key `max_repair`; did you mean `max_repairs`?",
        ),
        ("\n[limit]\nturns = 3", "dir/playhouse.toml:2: unknown key `limit`; did you mean `limits`?"),
        (
            "nonsense_key = 1",
            "dir/playhouse.toml:1: unknown key `nonsense_key`; known are base_url, canned_tools, classifier, classifier_timeout, connect_timeout, constrain, \
             extra_body, extra_headers, index, judge_votes, limits, max_sessions, max_tokens, mcp, \
             model, mutants, otel, plugins, prices, read_timeout, record, resources, resume, serve, skills, \
             starts_in_think, temperature, times_of_day, tools, turn_timeout, yield_grace, zone",
        ),
        (
            "\n[embedded]\nweights = \"own.gguf\"",
            "dir/playhouse.toml:2: the embedded model no longer has weights; remove the table `[embedded]`, and name \
             a real model with `model` if you want one",
        ),
        ("model = 3", "dir/playhouse.toml:1: `model` must be text in quotes"),
        (
            "zone = \"Europe/Berln\"",
            "dir/playhouse.toml:1: `zone`: there is no time zone `Europe/Berln`; did you mean `Europe/Berlin`?",
        ),
        ("\n[times_of_day]\nmornig = \"8:00\"", "dir/playhouse.toml:3: unknown key `mornig`; did you mean `morning`?"),
        (
            "[times_of_day]\nmorning = \"soon\"",
            "dir/playhouse.toml:2: `morning` must be a time, as in \"15:30\" or \"23:59:59\"",
        ),
        ("[limits]\nreplan = \"again\"", "dir/playhouse.toml:2: `replan` must be \"restart\" or \"resume\""),
        ("[limits]\nzone = \"UTC\"", "dir/playhouse.toml:2: `zone` is not a limit; write `zone` outside of the limits"),
        ("max_tokens = -1", "dir/playhouse.toml:1: `max_tokens` must be a whole number above 0"),
        ("yield_grace = \"1s\"", "dir/playhouse.toml:1: `yield_grace` must be a number of seconds"),
        ("resume = \"new\"", "dir/playhouse.toml:1: `resume` must be \"continue\" or \"fresh\""),
        ("[limits]\nturns = \"many\"", "dir/playhouse.toml:2: `turns` must be a whole number that is not negative"),
        ("[limits]\nturns = -1", "dir/playhouse.toml:2: `turns` must be a whole number that is not negative"),
        ("[limits]\nexplicit_lines = 1", "dir/playhouse.toml:2: `explicit_lines` must be true or false"),
        (
            "limits.on_protocol_failure = \"shout\"",
            "dir/playhouse.toml:1: `on_protocol_failure` must be \"speak\" or \"stop\"",
        ),
        ("limits.barrier = \"none\"", "dir/playhouse.toml:1: `barrier` must be \"all\" or \"effects\""),
        (
            "limits.on_user_message = 1",
            "dir/playhouse.toml:1: `on_user_message` must be \"queue\", \"interrupt\" or \"rollback\"",
        ),
        (
            "limits.classifier = false",
            "dir/playhouse.toml:1: `classifier` is not a limit; write `classifier` outside of the limits",
        ),
        ("limits = 3", "dir/playhouse.toml:1: `limits` must be a table"),
        ("model = \"a\"\nmodel = \"b\"", "dir/playhouse.toml:2: duplicate key"),
        ("a = ", "dir/playhouse.toml:1: string values must be quoted, expected literal string"),
    ] {
        assert_eq!(file(text).err().as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn the_model_is_chosen_in_order() {
    let everything = [("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "http://u"), ("PLAYHOUSE_MODEL", "openai:env")];
    let given = CommandLine { model: Some("script:a.jsonl".into()), ..CommandLine::default() };
    let toml = file("model = \"script:b.jsonl\"").unwrap();
    let none = FileConfig::default();
    let nothing = CommandLine::default();

    let say = |command_line, file, variables| model(&resolve(command_line, file, variables));
    let pair = |id: &str, reason: &str| (id.to_owned(), reason.to_owned());
    assert_eq!(say(&given, &toml, &everything), pair("script:a.jsonl", "model script:a.jsonl (--model)"));
    assert_eq!(
        say(&nothing, &toml, &everything),
        pair("script:dir/b.jsonl", "model script:b.jsonl (dir/playhouse.toml)")
    );
    assert_eq!(say(&nothing, &none, &everything), pair("openai:env", "model openai:env (PLAYHOUSE_MODEL)"));
    assert_eq!(
        say(&nothing, &none, &everything[..2]),
        pair("openai:gpt-4.1-mini", "model openai:gpt-4.1-mini (a base URL is set: http://u)")
    );
    assert_eq!(
        say(&nothing, &none, &everything[..1]),
        pair("openai:gpt-4.1-mini", "model openai:gpt-4.1-mini (OPENAI_API_KEY is set)")
    );
    assert_eq!(
        say(&nothing, &none, &[("OPENAI_API_KEY", "k"), ("PLAYHOUSE_MODEL", "")]).0,
        "openai:gpt-4.1-mini",
        "what is empty is not set"
    );

    let program = CommandLine { program: Some("progs/p.md".into()), ..CommandLine::default() };
    let front = FrontMatter { model: Some("script:c.jsonl".into()), other: Vec::new() };
    let config = Config::resolve(&program, &front, &toml, &environment(&everything)).unwrap();
    assert_eq!(
        model(&config),
        pair("script:progs/c.jsonl", "model script:c.jsonl (progs/p.md: front matter)"),
        "a program's paths are relative to it"
    );
    assert_eq!(config.model().0, &ModelId::Script(PathBuf::from("progs/c.jsonl")));
}

#[test]
fn the_classifier_is_chosen_in_order() {
    let say = |command_line: &CommandLine, front: &FrontMatter, file: &FileConfig| {
        let config = Config::resolve(command_line, front, file, &environment(&[("PLAYHOUSE_MODEL", "openai:m")]));
        let config = config.unwrap();
        let (id, reason) = config.classifier();
        (id.to_string(), reason.to_owned(), config.settings.classifier)
    };
    let told = |id: &str, reason: &str, is_on: bool| (id.to_owned(), reason.to_owned(), is_on);
    let program = |classifier: Option<&str>| CommandLine {
        classifier: classifier.map(str::to_owned),
        program: Some("progs/p.md".into()),
        ..CommandLine::default()
    };
    let toml = file("classifier = \"script:c.jsonl\"").unwrap();
    let front = front_matter("classifier", Value::str("model:openai:small"));
    let (nothing, none) = (FrontMatter::default(), FileConfig::default());
    assert_eq!(say(&program(Some("off")), &front, &toml), told("off", "classifier off (--classifier)", false));
    let expected = told("model:openai:small", "classifier model:openai:small (progs/p.md: front matter)", true);
    assert_eq!(say(&program(None), &front, &toml), expected);
    let expected = told("script:dir/c.jsonl", "classifier script:c.jsonl (dir/playhouse.toml)", true);
    assert_eq!(say(&program(None), &nothing, &toml), expected);
    let own = told("model", "classifier model (the session's own)", true);
    assert_eq!(say(&program(None), &nothing, &none), own);
    let scripted = CommandLine { model: Some("script:a.jsonl".into()), ..CommandLine::default() };
    let rules = told("rules", "classifier rules (the default without a live model)", true);
    assert_eq!(say(&scripted, &nothing, &none), rules);
    assert_eq!(say(&program(None), &front_matter("classifier", Value::Bool(false)), &none).0, "off");

    let resolved = |id: &str| Config::resolve(&program(Some(id)), &nothing, &none, &environment(&[]));
    let config = resolved("model:script:m.jsonl").unwrap();
    assert_eq!(*config.classifier().0, ClassifierId::Model(Some(ModelId::Script("m.jsonl".into()))));
    for id in ["on", "model:", "script:", "rules:x"] {
        let error = resolved(id).unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{id}` (--classifier) is not a trigger classifier")), "{error}");
    }
}

#[test]
fn nobody_chooses_the_embedded_model() {
    let config = resolve(&CommandLine::default(), &FileConfig::default(), &[]);
    assert_eq!(config.model().0, &ModelId::Embedded);
    assert_eq!(
        config.model().1,
        "model embedded: built in, no key needed; `playhouse doctor` shows how to use a language model"
    );
    assert_eq!(config.classifier().0, &ClassifierId::Rules);
    let named = resolve(&CommandLine::default(), &FileConfig::default(), &[("PLAYHOUSE_MODEL", "embedded")]);
    assert_eq!(model(&named), ("embedded".to_owned(), "model embedded (PLAYHOUSE_MODEL)".to_owned()));
}

#[test]
fn wrong_models_are_named() {
    for (id, expected) in [
        (
            "gpt-4.1",
            "`gpt-4.1` (--model) is not a model: write openai:NAME, embedded, script:FILE or replay:SESSION; for a run, also auto",
        ),
        ("openai:", "`openai:` (--model) is not a model: a name must follow the colon, as in openai:NAME"),
        (
            "embedded:own.gguf",
            "`embedded:own.gguf` (--model) is not a model: the embedded model no longer has weights; write embedded, \
             without a colon",
        ),
    ] {
        let given = CommandLine { model: Some(id.into()), ..CommandLine::default() };
        let error = Config::resolve(&given, &FrontMatter::default(), &FileConfig::default(), &environment(&[]));
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
}

#[test]
fn the_command_line_wins_over_the_file_over_the_environment() {
    let variables = [("OPENAI_BASE_URL", "http://env")];
    let toml = file("base_url = \"http://file\"").unwrap();
    let given = CommandLine { base_url: Some("http://given".into()), ..CommandLine::default() };
    let url = |command_line: &CommandLine, file: &FileConfig| resolve(command_line, file, &variables).base_url;
    assert_eq!(url(&given, &toml).as_deref(), Some("http://given"));
    assert_eq!(url(&CommandLine::default(), &toml).as_deref(), Some("http://file"));
    assert_eq!(url(&CommandLine::default(), &FileConfig::default()).as_deref(), Some("http://env"));
}

#[test]
fn front_matter_sets_limits() {
    let toml = file("[limits]\nturns = 5\ndepth = 6").unwrap();
    let limits: Map = [("turns".into(), Value::Int(7))].into_iter().collect();
    let front = front_matter("limits", Value::map(limits));
    let config = Config::resolve(&CommandLine::default(), &front, &toml, &environment(&[])).unwrap();
    assert_eq!((config.settings.turns, config.settings.depth), (7, 6));
    let wrong: Map = [("turn".into(), Value::Int(7))].into_iter().collect();
    let program = CommandLine { program: Some("p.md".into()), ..CommandLine::default() };
    let front = front_matter("limits", Value::map(wrong));
    let error = Config::resolve(&program, &front, &toml, &environment(&[])).unwrap_err();
    assert_eq!(error.to_string(), "p.md: front matter: unknown key `turn`; did you mean `turns`?");
    let front = front_matter("author", Value::str("somebody"));
    assert!(Config::resolve(&program, &front, &toml, &environment(&[])).is_ok());
}

#[test]
fn journals_have_a_place() {
    let none = resolve(&CommandLine::default(), &FileConfig::default(), &[("XDG_STATE_HOME", "relative")]);
    assert!(matches!(none.sessions_place(), Err(ConfigError::NoStateFolder)));
    let home = resolve(&CommandLine::default(), &FileConfig::default(), &[("HOME", "/people/ann")]);
    let address = home.sessions_place().unwrap().address("20261121-x").unwrap();
    assert_eq!(address.location(), "/people/ann/.local/state/playhouse/sessions/20261121-x.jsonl");
    let state = resolve(&CommandLine::default(), &FileConfig::default(), &[("HOME", "/h"), ("XDG_STATE_HOME", "/s")]);
    assert_eq!(state.sessions_place().unwrap(), &Place::at(Path::new("/s/playhouse/sessions")));
    let variables = [("XDG_STATE_HOME", "/s"), ("PLAYHOUSE_SESSIONS", "our.sqlite")];
    let store = resolve(&CommandLine::default(), &FileConfig::default(), &variables);
    assert_eq!(store.sessions_place().unwrap(), &Place::at(Path::new("our.sqlite")));
    for place in [state.sessions_place().unwrap(), store.sessions_place().unwrap()] {
        for id in ["", "..", ".a", "a/b", "../a", "a b", "ü"] {
            let error = place.address(id).unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{id}` cannot be a session's id")), "{error}");
        }
    }
}

#[test]
fn the_file_beside_the_program_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("p.md");
    assert_eq!(FileConfig::find(None, Some(&program)).unwrap().path, PathBuf::new());
    std::fs::write(folder.path().join("playhouse.toml"), "model = \"openai:x\"").unwrap();
    assert_eq!(FileConfig::find(None, Some(&program)).unwrap().model.as_deref(), Some("openai:x"));
    let missing = folder.path().join("other.toml");
    let error = FileConfig::find(Some(&missing), Some(&program)).unwrap_err().to_string();
    assert!(error.contains("other.toml: cannot read the configuration"), "{error}");
}

/// The documented file is read, and its limits are the defaults.
#[test]
fn the_documented_file_holds_the_defaults() {
    let page = include_str!("../../docs/configuration.md");
    let text = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let documented = file(text).unwrap();
    let resolve = |file: &FileConfig| {
        let environment = Environment::default();
        Config::resolve(&CommandLine::default(), &FrontMatter::default(), file, &environment).unwrap()
    };
    let bare = FileConfig { classifier: documented.classifier.clone(), ..FileConfig::default() };
    let (with, without) = (resolve(&documented), resolve(&bare));
    assert_eq!(with.settings, without.settings);
    assert_eq!(with.session, without.session);
    assert_eq!(with.max_sessions, without.max_sessions);
    // Every limit is documented.
    let n_limits = text.split("[limits]").nth(1).unwrap().lines().filter(|line| line.contains('=')).count();
    assert_eq!(documented.limits.len(), n_limits);
    let shown = format!("{:?}", without.settings);
    let undocumented = shown.matches(": ").count() - n_limits;
    // `starts_in_think`, `resume`, `classifier` and what follows from it, `zone`, and `times_of_day` with its seven stand
    // outside of the table.
    assert_eq!(undocumented, 4 + 1 + 8, "{shown}");
}
