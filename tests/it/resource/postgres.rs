//! `SqlQuery` on a real PostgreSQL server, which `tests/third_party/postgres/drive.sh` installs and starts; it then runs
//! `cargo test --features postgres --test it -- --ignored resource::postgres`.

use std::sync::Arc;
use std::time::Duration;

use playhouse::host::resource::Label;
use playhouse::host::resource::databases;
use playhouse::host::resource::sql::{Database, PostgresConfig};
use playhouse::host::tool::registry::Registry;
use playhouse::host::tool::sql::add_sql_tools;
use playhouse::value::Value;
use playhouse::vm::protocol::EffectClass;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::resource::{begin, call, json as value, outcome};

/// What the driver says of its server.
#[allow(clippy::disallowed_methods, reason = "tests have no configuration")]
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: tests/third_party/postgres/drive.sh sets it"))
}

fn url() -> String {
    variable("PLAYHOUSE_TEST_POSTGRES")
}

fn config(write: bool) -> PostgresConfig {
    PostgresConfig { write, ..PostgresConfig::new(url()) }
}

async fn open(config: PostgresConfig) -> Result<Arc<dyn Database>, String> {
    let database = databases::postgres(Label::named("shop"), config).map_err(|error| error.to_string())?;
    database.acquire().await.map_err(|error| error.to_string())?;
    Ok(database)
}

async fn tools(config: PostgresConfig) -> Registry {
    let registry = Registry::new();
    add_sql_tools(&registry, &[open(config).await.unwrap()]).unwrap();
    registry
}

async fn query(tools: &Registry, sql: &str, values: serde_json::Value) -> Result<Value, String> {
    call(tools, "SqlQuery", &[("sql", sql.into()), ("parameters", value(values))]).await
}

/// A table of its own for a test: tests run side by side on one server.
async fn table(tools: &Registry, name: &str) {
    query(tools, &format!("DROP TABLE IF EXISTS {name}"), json!([])).await.unwrap();
    let create = format!("CREATE TABLE {name} (id serial PRIMARY KEY, name text NOT NULL UNIQUE, score numeric(8, 2))");
    assert_eq!(query(tools, &create, json!([])).await, Ok(value(json!({"changed": 0}))));
    let fill = format!("INSERT INTO {name} (name, score) VALUES ('Ann', 1.50), ('Bob', NULL)");
    assert_eq!(query(tools, &fill, json!([])).await, Ok(value(json!({"changed": 2}))));
}

#[tokio::test]
#[ignore = "needs a PostgreSQL server"]
async fn values_of_all_types_come_and_go() {
    let tools = tools(config(false)).await;
    let same = [
        ("bool", json!(true)),
        ("int2", json!(-5)),
        ("int4", json!(7)),
        ("int8", json!(i64::MIN)),
        ("float4", json!(0.1)),
        ("float8", json!(-1.5e300)),
        ("numeric", json!(12.5)),
        ("numeric", json!(-0.001)),
        ("numeric", json!(10_000_000)),
        ("numeric", json!(100.01)),
        ("numeric", json!("123456789012345678901234567890")),
        ("numeric", json!("0.1234567890123456789")),
        ("numeric", json!("NaN")),
        ("numeric", json!(0)),
        ("text", json!("it's \"quoted\" \\ ü {a,b}")),
        ("varchar", json!("x")),
        ("json", json!({"a": [1, null, "x"]})),
        ("jsonb", json!("text")),
        ("jsonb", json!([1, 2])),
        ("bytea", json!({"base64": "AP8="})),
        ("date", json!("2024-02-29")),
        ("date", json!("1066-10-14")),
        ("date", json!("infinity")),
        ("time", json!("13:14:15.5")),
        ("timestamp", json!("2024-02-29T13:14:15.000001")),
        ("timestamptz", json!("1999-12-31T23:59:59Z")),
        ("timestamptz", json!("-infinity")),
        ("uuid", json!("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
        ("int4[]", json!([1, null, 3])),
        ("int4[]", json!([[1, 2], [3, 4]])),
        ("int4[]", json!([])),
        ("text[]", json!(["a,b", "c\"d", "e\\f", "", "NULL", null, "{}"])),
        ("jsonb[]", json!([{"a": 1}, [2]])),
        ("date[]", json!(["2024-01-01"])),
    ];
    for (ty, sent) in same {
        let sql = format!("SELECT $1::{ty} AS a, $1::{ty} IS NULL AS b");
        let expected = value(json!([{"a": sent.clone(), "b": false}]));
        assert_eq!(query(&tools, &sql, json!([sent.clone()])).await, Ok(expected), "{ty} {sent}");
        let none = value(json!([{"a": null, "b": true}]));
        assert_eq!(query(&tools, &sql, json!([null])).await, Ok(none), "{ty} null");
    }
    let other = [
        ("SELECT $1::float8 AS a", json!(["inf"]), json!([{"a": "inf"}])),
        ("SELECT $1 || 'x' AS a", json!([5]), json!([{"a": "5x"}])),
        ("SELECT 7::oid AS a, 'n'::name AS b, 'c'::\"char\" AS c", json!([]), json!([{"a": 7, "b": "n", "c": "c"}])),
        ("SELECT 'one'::mood AS a, 5::positive AS b", json!([]), json!([{"a": "one", "b": 5}])),
        ("SELECT $1::mood AS a, $2::positive AS b", json!(["two", 6]), json!([{"a": "two", "b": 6}])),
        ("SELECT pg_sleep(0) AS a", json!([]), json!([{"a": null}])),
        ("SHOW server_encoding", json!([]), json!([{"server_encoding": "UTF8"}])),
        ("VALUES (1, 'x')", json!([]), json!([{"column1": 1, "column2": "x"}])),
        ("SELECT 1 AS a WHERE false", json!([]), json!([])),
        ("/* a /* nested */ comment */ -- and one more\n (SELECT 1 AS a)", json!([]), json!([{"a": 1}])),
    ];
    for (sql, values, expected) in other {
        assert_eq!(query(&tools, sql, values).await, Ok(value(expected)), "{sql}");
    }
    let no_form = query(&tools, "SELECT point(1, 2) AS p", json!([])).await.unwrap_err();
    assert!(no_form.contains("a value of type point cannot be read here; select it as text (`::text`)"), "{no_form}");
}

#[tokio::test]
#[ignore = "needs a PostgreSQL server"]
async fn faults_name_the_place() {
    let tools = tools(config(false)).await;
    let bad = [
        (
            "SELECT 'é' +\nFORM users",
            json!([]),
            "PostgreSQL: column \"form\" does not exist (line 2, column 1, at \"FORM users\")",
        ),
        ("SELECT 1/0 AS a", json!([]), "PostgreSQL: division by zero"),
        ("SELECT $1::int4 AS a", json!(["abc"]), "PostgreSQL: invalid input syntax for type integer: \"abc\""),
        ("SELECT $1::int4 AS a", json!([]), "the statement has 1 placeholders, but there are 0 values"),
        ("SELECT 1 AS a", json!([1]), "the statement has 0 placeholders, but there are 1 values"),
        (
            "SELECT :a",
            json!({"a": 1}),
            "PostgreSQL numbers its placeholders (`$1`, `$2`), so the values must be a list",
        ),
        ("SELECT 1 AS a, 2 AS a", json!([]), "two columns are named `a`; give them different names with AS"),
        ("SELECT $1::text AS a", json!(["a\u{0}b"]), "PostgreSQL: PostgreSQL cannot store text with a zero byte"),
        ("", json!([]), "there is no statement in `sql`"),
        ("-- nothing", json!([]), "there is no statement in `sql`"),
        (
            "SELECT generate_series(1, 1001) AS n",
            json!([]),
            "the result has more than 1000 rows (`max_rows` of the resource); ask for fewer",
        ),
    ];
    for (sql, values, expected) in bad {
        assert_eq!(query(&tools, sql, values).await, Err(expected.to_owned()), "{sql}");
    }
    let hint = query(&tools, "SELECT nam FROM pg_roles AS r (name)", json!([])).await.unwrap_err();
    assert!(hint.starts_with("PostgreSQL: column \"nam\" does not exist (line 1, column 8"), "{hint}");
    assert!(hint.contains("; Perhaps you meant to reference the column"), "{hint}");
}

#[tokio::test]
#[ignore = "needs a PostgreSQL server"]
async fn a_read_only_database_is_only_read() {
    table(&tools(config(true)).await, "read_only").await;
    let tools = tools(config(false)).await;
    assert_eq!(tools.signatures()[0].effect, EffectClass::ReadOnly);
    let configured = "the database is read-only (`write` of its resource)";
    let refused = [
        ("INSERT INTO read_only (name) VALUES ('x')", configured.to_owned()),
        ("DROP TABLE read_only", configured.to_owned()),
        (
            "WITH gone AS (DELETE FROM read_only RETURNING *) SELECT * FROM gone",
            format!("PostgreSQL: cannot execute SELECT in a read-only transaction; {configured}"),
        ),
        (
            "EXPLAIN ANALYZE DELETE FROM read_only",
            format!("PostgreSQL: cannot execute DELETE in a read-only transaction; {configured}"),
        ),
        (
            "SELECT nextval('read_only_id_seq')",
            format!("PostgreSQL: cannot execute nextval() in a read-only transaction; {configured}"),
        ),
    ];
    for (sql, expected) in refused {
        assert_eq!(query(&tools, sql, json!([])).await, Err(expected), "{sql}");
    }
    for word in
        ["SET", "BEGIN", "COMMIT", "COPY", "DO", "CALL", "LISTEN", "PREPARE", "VACUUM", "LOCK", "GRANT", "RESET"]
    {
        let refused = query(&tools, &format!("{word} x"), json!([])).await.unwrap_err();
        let expected = format!("statements that begin with {word} are refused; use SELECT, WITH, VALUES, TABLE, ");
        assert!(refused.starts_with(&expected), "{refused}");
    }
    let lifted = "SELECT set_config('transaction_read_only', 'off', true)";
    assert!(
        query(&tools, lifted, json!([])).await.is_err() || {
            // Whatever it does is over with its transaction.
            query(&tools, "WITH gone AS (DELETE FROM read_only RETURNING 1) SELECT 1 FROM gone", json!([]))
                .await
                .is_err()
        }
    );
    let count = query(&tools, "SELECT count(*) AS n FROM read_only", json!([])).await;
    assert_eq!(count, Ok(value(json!([{"n": 2}]))));
}

#[tokio::test]
#[ignore = "needs a PostgreSQL server"]
async fn writes_are_counted_and_whole() {
    let tools = tools(PostgresConfig { max_rows: 3, ..config(true) }).await;
    assert_eq!(tools.signatures()[0].effect, EffectClass::Write);
    table(&tools, "written").await;
    let hostile = "x'); DROP TABLE written; --";
    let good = [
        ("UPDATE written SET score = 2", json!([]), json!({"changed": 2})),
        ("INSERT INTO written (name) VALUES ($1) RETURNING name", json!([hostile]), json!([{"name": hostile}])),
        ("DELETE FROM written WHERE name = $1", json!([hostile]), json!({"changed": 1})),
        (
            "SELECT name, score FROM written ORDER BY id",
            json!([]),
            json!([{"name": "Ann", "score": 2.0}, {"name": "Bob", "score": 2.0}]),
        ),
    ];
    for (sql, values, expected) in good {
        assert_eq!(query(&tools, sql, values).await, Ok(value(expected)), "{sql}");
    }
    let bad = [
        (
            "INSERT INTO written (name) VALUES ('Cid'), ('Ann')",
            "PostgreSQL: duplicate key value violates unique constraint",
        ),
        (
            "INSERT INTO written (name) SELECT 'n' || i FROM generate_series(1, 4) AS i RETURNING name",
            "the result has more than 3 rows",
        ),
        ("DELETE FROM written; SELECT 1", "PostgreSQL: cannot insert multiple commands into a prepared statement"),
    ];
    for (sql, expected) in bad {
        let fault = query(&tools, sql, json!([])).await.unwrap_err();
        assert!(fault.starts_with(expected), "{sql}: {fault}");
    }
    assert_eq!(query(&tools, "SELECT count(*) AS n FROM written", json!([])).await, Ok(value(json!([{"n": 2}]))));
}

/// How many statements with this mark the server runs at the moment.
async fn n_running(tools: &Registry, mark: &str) -> Value {
    let sql = "SELECT count(*) AS n FROM pg_stat_activity WHERE state = 'active' AND query LIKE $1 AND pid <> pg_backend_pid()";
    query(tools, sql, json!([format!("SELECT pg_sleep%{mark}")])).await.unwrap()
}

/// Waits until so many statements with this mark run, at most ten seconds: the server does the waiting.
async fn wait_for_running(tools: &Registry, mark: &str, n: i64) {
    for _ in 0..1_000 {
        if n_running(tools, mark).await == value(json!([{"n": n}])) {
            return;
        }
        query(tools, "SELECT pg_sleep(0.01)", json!([])).await.unwrap();
    }
    panic!("not {n} statements with the mark {mark}");
}

#[tokio::test]
#[ignore = "needs a PostgreSQL server"]
async fn statements_end_in_time_and_with_their_caller() {
    let watching = tools(config(false)).await;
    let short = tools(PostgresConfig { timeout: Duration::from_millis(200), ..config(false) }).await;
    let late = query(&short, "SELECT pg_sleep(60) -- late", json!([])).await;
    assert_eq!(late, Err("PostgreSQL: canceling statement due to statement timeout".to_owned()));
    assert_eq!(query(&short, "SELECT 1 AS a", json!([])).await, Ok(value(json!([{"a": 1}]))));
    let tools = tools(PostgresConfig { connections: 1, ..config(false) }).await;
    let cancel = CancellationToken::new();
    let sleep = [("sql", Value::from("SELECT pg_sleep(60) -- cancelled"))];
    let running = tokio::spawn(outcome(begin(&tools, "SqlQuery", &sleep, cancel.clone())));
    wait_for_running(&watching, "cancelled", 1).await;
    cancel.cancel();
    assert_eq!(running.await.unwrap(), Err("the statement was cancelled".to_owned()));
    wait_for_running(&watching, "cancelled", 0).await;
    // The one connection there may be is free again.
    assert_eq!(query(&tools, "SELECT 1 AS a", json!([])).await, Ok(value(json!([{"a": 1}]))));
}

#[tokio::test]
#[ignore = "needs a PostgreSQL server"]
async fn a_session_leaves_nothing_to_the_next_one() {
    let tools = tools(PostgresConfig { connections: 1, ..config(true) }).await;
    let process = async || query(&tools, "SELECT pg_backend_pid() AS p", json!([])).await.unwrap();
    let first = process().await;
    for sql in [
        "SELECT set_config('search_path', 'elsewhere', false)",
        "SELECT set_config('role', 'pg_monitor', false)",
        "SELECT set_config('statement_timeout', '1', false)",
        "SELECT pg_advisory_lock(5)",
        "CREATE TEMP TABLE left_over (a int)",
    ] {
        query(&tools, sql, json!([])).await.unwrap();
    }
    let sql = "SELECT current_setting('search_path') LIKE '%elsewhere%' AS path, current_user = session_user AS myself, \
               (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory') AS locks, to_regclass('left_over') IS NULL AS gone";
    let expected = json!([{"path": false, "myself": true, "locks": 0, "gone": true}]);
    assert_eq!(query(&tools, sql, json!([])).await, Ok(value(expected)));
    assert_eq!(process().await, first, "one connection, used again");
    // A connection that the server closes is replaced.
    let killer = self::tools(config(false)).await;
    let Value::List(rows) = &first else { panic!("{first}") };
    let Value::Map(row) = &rows[0] else { panic!("{first}") };
    let sql = "SELECT pg_terminate_backend($1) AS done";
    let arguments = [("sql", sql.into()), ("parameters", Value::list(vec![row["p"].clone()]))];
    assert_eq!(call(&killer, "SqlQuery", &arguments).await, Ok(value(json!([{"done": true}]))));
    let mut again = query(&tools, "SELECT 1 AS a", json!([])).await;
    if again.is_err() {
        // The news of its end had not come yet.
        again = query(&tools, "SELECT 1 AS a", json!([])).await;
    }
    assert_eq!(again, Ok(value(json!([{"a": 1}]))));
    assert_ne!(process().await, first);
}

#[tokio::test]
#[ignore = "needs a PostgreSQL server"]
async fn the_way_to_the_server_is_encrypted_if_it_is_asked_for() {
    let certificate = std::fs::read_to_string(variable("PLAYHOUSE_TEST_POSTGRES_CERTIFICATE")).unwrap();
    let encrypted = |certificates: Option<&str>| PostgresConfig {
        certificates: certificates.map(str::to_owned),
        ..PostgresConfig::new(format!("{}?sslmode=require", url()))
    };
    let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let plain = tools(config(false)).await;
    assert_eq!(query(&plain, sql, json!([])).await, Ok(value(json!([{"ssl": false}]))), "on this machine");
    let safe = tools(encrypted(Some(&certificate))).await;
    assert_eq!(query(&safe, sql, json!([])).await, Ok(value(json!([{"ssl": true}]))));
    let unknown = open(encrypted(None)).await.map(|_| ()).unwrap_err();
    assert!(
        unknown.contains("invalid peer certificate: UnknownIssuer") || unknown.contains("certificates of this system"),
        "{unknown}"
    );
    let other_name = PostgresConfig {
        url: format!("{}?sslmode=require", url().replace("127.0.0.1", "127.0.0.2")),
        ..encrypted(Some(&certificate))
    };
    let other_name = open(other_name).await.map(|_| ()).unwrap_err();
    assert!(other_name.contains("certificate not valid for"), "{other_name}");
}

#[tokio::test]
#[ignore = "needs a PostgreSQL server"]
async fn a_wrong_password_is_refused_and_not_shown() {
    let wrong = url().replace("right-password", "wrong-password");
    assert_ne!(wrong, url());
    let fault = open(PostgresConfig::new(wrong)).await.map(|_| ()).unwrap_err();
    assert!(fault.contains("password authentication failed"), "{fault}");
    assert!(!fault.contains("wrong-password"), "{fault}");
}

#[tokio::test]
async fn what_cannot_be_reached_is_told_without_the_password() {
    let urls = [
        ("postgres://user:the-key@127.0.0.1:1/shop", "the PostgreSQL server 127.0.0.1:1 cannot be reached: "),
        ("postgres://user:the-key@[/shop", "its `url` cannot be read; "),
        ("postgres://user:the-key@host:the-key/shop", "its `url` cannot be read; "),
        ("host=localhost password=the the-key=5", "its `url` cannot be read; "),
        ("user=user password=the-key", "its `url` names no host; "),
        ("", "its `url` names no host; "),
    ];
    for (url, expected) in urls {
        let fault = open(PostgresConfig::new(url)).await.map(|_| ()).unwrap_err();
        assert!(fault.starts_with(expected), "{url}: {fault}");
        assert!(!fault.contains("the-key"), "{url}: {fault}");
    }
    let certificates = PostgresConfig {
        certificates: Some("no certificate".to_owned()),
        ..PostgresConfig::new("postgres://user@db.example/shop")
    };
    let fault = open(certificates).await.map(|_| ()).unwrap_err();
    assert_eq!(fault, "its `certificates` cannot be used: there is none in the file; give certificates in PEM format");
}
