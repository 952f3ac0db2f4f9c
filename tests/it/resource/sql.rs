//! `SqlQuery` on SQLite.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use playhouse::host::resource::Label;
use playhouse::host::resource::databases;
use playhouse::host::resource::sql::{Database, PostgresConfig, SqliteConfig};
use playhouse::host::tool::registry::Registry;
use playhouse::host::tool::sql::add_sql_tools;
use playhouse::value::Value;
use playhouse::vm::protocol::EffectClass;
use playhouse::vm::protocol::Origin;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::resource::{begin, call, json as value, outcome};

const INIT: &str = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, score REAL, photo BLOB);
INSERT INTO users VALUES (1, 'Ann', 1.5, x'00ff'), (2, 'Bob', NULL, NULL);";

fn memory(write: bool, folder: &Path) -> SqliteConfig {
    std::fs::write(folder.join("init.sql"), INIT).unwrap();
    SqliteConfig { write, init: Some("init.sql".to_owned()), ..SqliteConfig::new(":memory:") }
}

async fn open(folder: &Path, name: &str, config: SqliteConfig) -> Result<Arc<dyn Database>, String> {
    let database = databases::sqlite(Label::named(name), folder, config).unwrap();
    database.acquire().await.map_err(|error| error.to_string())?;
    Ok(database)
}

async fn tools(folder: &Path, config: SqliteConfig) -> Registry {
    let database = open(folder, "shop", config).await.unwrap();
    let registry = Registry::new();
    add_sql_tools(&registry, &[database]).unwrap();
    registry
}

async fn query(tools: &Registry, sql: &str, values: serde_json::Value) -> Result<Value, String> {
    call(tools, "SqlQuery", &[("sql", sql.into()), ("parameters", value(values))]).await
}

#[tokio::test]
async fn rows_and_values() {
    let folder = tempfile::tempdir().unwrap();
    let tools = tools(folder.path(), memory(false, folder.path())).await;
    let all = json!([
        {"id": 1, "name": "Ann", "score": 1.5, "photo": {"base64": "AP8="}},
        {"id": 2, "name": "Bob", "score": null, "photo": null},
    ]);
    assert_eq!(query(&tools, "SELECT * FROM users ORDER BY id", json!([])).await, Ok(value(all)));
    let good = [
        ("SELECT name FROM users WHERE id = ?", json!([2]), json!([{"name": "Bob"}])),
        ("SELECT name FROM users WHERE id = ?2 AND ?1", json!([true, 1]), json!([{"name": "Ann"}])),
        ("SELECT name FROM users WHERE id = :id", json!({"id": 1}), json!([{"name": "Ann"}])),
        (
            "SELECT @a AS a, $b AS b, :a2 AS c",
            json!({"a": 1, "b": 2.5, "a2": null}),
            json!([{"a": 1, "b": 2.5, "c": null}]),
        ),
        ("SELECT id FROM users WHERE photo = ?", json!([{"base64": "AP8="}]), json!([{"id": 1}])),
        ("SELECT value FROM json_each(?) -- two; rows", json!([[1, "x"]]), json!([{"value": 1}, {"value": "x"}])),
        (
            "SELECT 9223372036854775807 AS big, 1e999 AS far, ';' AS text;  ",
            json!([]),
            json!([{"big": i64::MAX, "far": "Infinity", "text": ";"}]),
        ),
        ("SELECT id FROM users WHERE id > 5", json!([]), json!([])),
        (
            "PRAGMA table_info(users)",
            json!([]),
            json!([
                {"cid": 0, "name": "id", "type": "INTEGER", "notnull": 0, "dflt_value": null, "pk": 1},
                {"cid": 1, "name": "name", "type": "TEXT", "notnull": 1, "dflt_value": null, "pk": 0},
                {"cid": 2, "name": "score", "type": "REAL", "notnull": 0, "dflt_value": null, "pk": 0},
                {"cid": 3, "name": "photo", "type": "BLOB", "notnull": 0, "dflt_value": null, "pk": 0},
            ]),
        ),
    ];
    for (sql, values, expected) in good {
        assert_eq!(query(&tools, sql, values).await, Ok(value(expected)), "{sql}");
    }
    assert_eq!(call(&tools, "SqlQuery", &[("sql", "SELECT 1 AS a".into())]).await, Ok(value(json!([{"a": 1}]))));
}

#[tokio::test]
async fn faults_name_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let tools = tools(folder.path(), memory(false, folder.path())).await;
    let bad = [
        (
            "SELECT *\nFORM users",
            json!([]),
            "SQLite: near \"FORM\": syntax error (line 2, column 1, at \"FORM users\")",
        ),
        (
            "SELECT é, nam FROM users",
            json!([]),
            "SQLite: no such column: é (line 1, column 8, at \"é, nam FROM users\")",
        ),
        (
            "SELECT \"nam\" FROM users",
            json!([]),
            "SQLite: no such column: \"nam\" - should this be a string literal in single-quotes? (line 1, column 8, at \"\"nam\" FROM users\")",
        ),
        ("SELECT", json!([]), "SQLite: incomplete input"),
        ("", json!([]), "there is no statement in `sql`"),
        ("-- nothing", json!([]), "there is no statement in `sql`"),
        ("SELECT ?, ?", json!([1]), "the statement has 2 placeholders, but there are 1 values"),
        ("SELECT 1", json!([1]), "the statement has 0 placeholders, but there are 1 values"),
        (
            "SELECT :a, :b",
            json!({"a": 1, "c": 2}),
            "there is no value for `b`; the statement has no placeholder for `c`",
        ),
        (
            "SELECT ?",
            json!({"a": 1}),
            "placeholder 1 has no name, so the values must be a list; the statement has no placeholder for `a`",
        ),
        (
            "SELECT ?",
            json!([{"base64": "?"}]),
            "the value of placeholder 1: `base64` of a value cannot be read: Invalid symbol 63, offset 0.",
        ),
        ("SELECT 1 AS a, 2 AS a", json!([]), "two columns are named `a`; give them different names with AS"),
        ("SELECT abs(-9223372036854775808)", json!([]), "SQLite: integer overflow"),
    ];
    for (sql, values, expected) in bad {
        assert_eq!(query(&tools, sql, values).await, Err(expected.to_owned()), "{sql}");
    }
    let wrong = call(&tools, "SqlQuery", &[("sql", "SELECT 1".into()), ("parameters", "x".into())]).await.unwrap_err();
    assert!(wrong.starts_with("`parameters` must be list or dict, not str; "), "{wrong}");
}

#[tokio::test]
async fn a_value_is_never_part_of_the_statement() {
    let folder = tempfile::tempdir().unwrap();
    let tools = tools(folder.path(), memory(true, folder.path())).await;
    let hostile = "x'); DROP TABLE users; --";
    let added = query(&tools, "INSERT INTO users (name) VALUES (?)", json!([hostile])).await;
    assert_eq!(added, Ok(value(json!({"changed": 1, "last_id": 3}))));
    let found = query(&tools, "SELECT name FROM users WHERE name = :n", json!({"n": hostile})).await;
    assert_eq!(found, Ok(value(json!([{"name": hostile}]))));
    for two in ["SELECT 1; DROP TABLE users", "SELECT 1; SELECT 2", "DELETE FROM users; SELECT 1"] {
        let refused = query(&tools, two, json!([])).await.unwrap_err();
        assert_eq!(refused, "`sql` has more than one statement; make one call for each", "{two}");
    }
    assert_eq!(query(&tools, "SELECT count(*) AS n FROM users", json!([])).await, Ok(value(json!([{"n": 3}]))));
    let signature = &tools.signatures()[0];
    let accepts = signature.rule("sql").unwrap().accepts;
    for refused in [Origin::USER, Origin::TOOL] {
        assert!(!refused.within(accepts) && !Origin::CODE.with(refused).within(accepts));
    }
    assert!(Origin::CODE.with(Origin::MODEL).with(Origin::ARGUMENT).within(accepts));
    assert!(signature.rule("parameters").is_none(), "values may come from anywhere");
}

#[tokio::test]
async fn a_read_only_database_is_only_read() {
    let folder = tempfile::tempdir().unwrap();
    for path in [":memory:", "shop.db"] {
        let config = SqliteConfig { path: path.to_owned(), ..memory(false, folder.path()) };
        let tools = tools(folder.path(), config).await;
        assert_eq!(tools.signatures()[0].effect, EffectClass::ReadOnly);
        let read_only = "the database is read-only (`write` of its resource)";
        let other = "ATTACH, DETACH and VACUUM are refused: a statement stays in its database";
        let transactions = "transactions are refused: each statement is one of its own";
        let refused = [
            ("INSERT INTO users (name) VALUES ('x')", read_only),
            ("UPDATE users SET name = 'x'", read_only),
            ("DELETE FROM users", read_only),
            ("DELETE FROM users RETURNING id", read_only),
            ("WITH x AS (SELECT 1) INSERT INTO users (name) SELECT 'x' FROM x", read_only),
            ("DROP TABLE users", read_only),
            ("CREATE TABLE t (a)", read_only),
            ("CREATE TEMP TABLE t (a)", read_only),
            ("CREATE VIEW v AS SELECT 1", read_only),
            ("ALTER TABLE users ADD COLUMN x", read_only),
            ("ANALYZE", read_only),
            ("ATTACH 'other.db' AS other", other),
            ("PRAGMA journal_mode = DELETE", "PRAGMA journal_mode is refused"),
            ("PRAGMA query_only = 0", "PRAGMA query_only is refused"),
            ("PRAGMA writable_schema = 1", "PRAGMA writable_schema is refused"),
            ("SELECT * FROM pragma_user_version", "PRAGMA user_version is refused"),
            ("SELECT load_extension('x')", "the function `load_extension` reaches outside the database and is refused"),
            ("BEGIN", transactions),
            ("COMMIT", transactions),
            ("SAVEPOINT a", transactions),
        ];
        for (sql, expected) in refused {
            assert_eq!(query(&tools, sql, json!([])).await, Err(expected.to_owned()), "{path}: {sql}");
        }
        for sql in ["VACUUM", "VACUUM INTO 'copy.db'", "SELECT writefile('a', 'b')"] {
            assert!(query(&tools, sql, json!([])).await.is_err(), "{path}: {sql}");
        }
        assert_eq!(query(&tools, "SELECT count(*) AS n FROM users", json!([])).await, Ok(value(json!([{"n": 2}]))));
    }
    let mut names: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["init.sql", "shop.db"]);
}

#[tokio::test]
async fn writes_are_counted_and_whole() {
    let folder = tempfile::tempdir().unwrap();
    let config = SqliteConfig { max_rows: 3, ..memory(true, folder.path()) };
    let tools = tools(folder.path(), config).await;
    assert_eq!(tools.signatures()[0].effect, EffectClass::Write);
    let good = [
        ("UPDATE users SET score = 1", json!({"changed": 2})),
        ("CREATE TABLE t (a UNIQUE)", json!({"changed": 0})),
        ("INSERT INTO t VALUES (1), (2)", json!({"changed": 2, "last_id": 2})),
        ("INSERT INTO t VALUES (3) RETURNING a * 2 AS double", json!([{"double": 6}])),
        ("DELETE FROM t WHERE a = 9", json!({"changed": 0})),
        ("CREATE VIRTUAL TABLE words USING fts5(text)", json!({"changed": 0})),
        ("INSERT INTO words VALUES ('hello world')", json!({"changed": 1, "last_id": 1})),
        ("SELECT text FROM words WHERE words MATCH 'world'", json!([{"text": "hello world"}])),
    ];
    for (sql, expected) in good {
        assert_eq!(query(&tools, sql, json!([])).await, Ok(value(expected)), "{sql}");
    }
    let bad = [
        ("INSERT INTO t VALUES (4), (5), (1)", "SQLite: UNIQUE constraint failed: t.a"),
        ("UPDATE users SET name = NULL", "SQLite: NOT NULL constraint failed: users.name"),
        (
            "INSERT INTO t SELECT value FROM json_each('[6, 7, 8, 9]') RETURNING a",
            "the result has more than 3 rows (`max_rows` of the resource); ask for fewer",
        ),
        ("CREATE VIRTUAL TABLE x USING csv(filename='/etc/passwd')", "SQLite: no such module: csv"),
    ];
    for (sql, expected) in bad {
        let fault = query(&tools, sql, json!([])).await.unwrap_err();
        assert!(fault.contains(expected) || fault.contains("are refused"), "{sql}: {fault}");
    }
    for sql in ["VACUUM", "VACUUM INTO 'copy.db'", "ATTACH 'copy.db' AS c", "UPDATE sqlite_master SET sql = ''"] {
        assert!(query(&tools, sql, json!([])).await.is_err(), "{sql}");
    }
    assert!(!folder.path().join("copy.db").exists());
    assert_eq!(query(&tools, "SELECT count(*) AS n FROM t", json!([])).await, Ok(value(json!([{"n": 3}]))));
}

#[tokio::test]
async fn results_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let config = SqliteConfig { max_bytes: 1_000, ..memory(false, folder.path()) };
    let tools = tools(folder.path(), config).await;
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    let fault = query(&tools, numbers, json!([])).await.unwrap_err();
    assert_eq!(fault, "the result is larger than 1000 bytes (`max_bytes` of the resource); ask for less");
    let fault = query(&tools, "SELECT zeroblob(1000) AS b", json!([])).await.unwrap_err();
    assert!(fault.starts_with("the result is larger than 1000 bytes"), "{fault}");
    let fault = query(&tools, "SELECT length(zeroblob(20000000)) AS n", json!([])).await.unwrap_err();
    assert_eq!(fault, "SQLite: string or blob too big");
}

/// It has no end, and no row.
const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0";

#[tokio::test]
async fn a_statement_without_end_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let config = SqliteConfig { timeout: Duration::from_millis(100), ..memory(false, folder.path()) };
    let tools = tools(folder.path(), config).await;
    let fault = query(&tools, ENDLESS, json!([])).await.unwrap_err();
    assert_eq!(fault, "the statement took longer than 0.1 s (`timeout` of the resource) and was cancelled");
    // The connection's thread is free again, or this would run out of time, too.
    assert_eq!(query(&tools, "SELECT 1 AS a", json!([])).await, Ok(value(json!([{"a": 1}]))));
}

#[tokio::test]
async fn a_statement_that_is_cancelled_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path(), "shop", memory(false, folder.path())).await.unwrap();
    let tools = Registry::new();
    add_sql_tools(&tools, std::slice::from_ref(&database)).unwrap();
    let cancel = CancellationToken::new();
    let running = tokio::spawn(outcome(begin(&tools, "SqlQuery", &[("sql", ENDLESS.into())], cancel.clone())));
    // Waits for the one before it, which has no end.
    let waiting =
        tokio::spawn(outcome(begin(&tools, "SqlQuery", &[("sql", "SELECT 1 AS a".into())], CancellationToken::new())));
    tokio::task::yield_now().await;
    cancel.cancel();
    assert_eq!(running.await.unwrap(), Err("the statement was cancelled".to_owned()));
    assert_eq!(waiting.await.unwrap(), Ok(value(json!([{"a": 1}]))));
    // Released in the middle of a statement: what runs is ended, and nothing is left behind.
    let endless = database.query(ENDLESS.into(), Value::list(Vec::new()));
    let (ended, ()) = tokio::join!(endless, database.release());
    assert!(ended.is_err());
    assert_eq!(query(&tools, "SELECT 1", json!([])).await, Err("the database is not open".to_owned()));
}

#[tokio::test]
async fn files_are_made_and_found() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("work");
    std::fs::create_dir_all(folder.join("data")).unwrap();
    std::fs::write(folder.join("init.sql"), INIT).unwrap();
    std::fs::write(outer.path().join("outside.sql"), INIT).unwrap();
    std::fs::write(folder.join("broken.sql"), "CREATE TABLE t (a); INSERT INTO u VALUES (1);").unwrap();
    std::fs::write(folder.join("text.db"), "no database at all, but long enough to look like one. ".repeat(20))
        .unwrap();
    std::os::unix::fs::symlink("../outside.db", folder.join("link.db")).unwrap();
    std::os::unix::fs::symlink("../", folder.join("up")).unwrap();
    let config = |path: &str, write, init: Option<&str>| SqliteConfig {
        write,
        init: init.map(str::to_owned),
        ..SqliteConfig::new(path)
    };
    let try_open = async |path: &str, write, init| open(&folder, "shop", config(path, write, init)).await.map(|_| ());
    let outside = "it is outside the working directory; `path` is a file below the working directory, or `:memory:`";
    let refused = [
        ("../outside.db", format!("`../outside.db` cannot be opened: {outside}")),
        ("link.db", format!("`link.db` cannot be opened: {outside}")),
        ("up/outside.db", format!("`up/outside.db` cannot be opened: {outside}")),
    ];
    for (path, expected) in refused {
        assert_eq!(try_open(path, true, None).await, Err(expected));
    }
    assert!(try_open("/tmp/outside.db", true, None).await.is_err());
    assert!(try_open("data", true, None).await.unwrap_err().contains("it is not a file"));
    assert!(try_open("text.db", true, None).await.unwrap_err().contains("file is not a database"));
    let missing = try_open("data/new.db", false, None).await.unwrap_err();
    assert!(missing.starts_with("there is no database `data/new.db`; name an existing one"), "{missing}");
    assert!(try_open("data/new.db", false, Some("../outside.sql")).await.unwrap_err().contains("outside the working"));
    let broken = try_open("data/new.db", false, Some("broken.sql")).await.unwrap_err();
    assert!(broken.starts_with("the statements of `broken.sql` fail: no such table: u"), "{broken}");
    assert!(std::fs::read_dir(folder.join("data")).unwrap().next().is_none(), "nothing is left behind");
    // Made once, and then found.
    for n_users in 2..4 {
        let database = open(&folder, "shop", config("data/new.db", true, Some("init.sql"))).await.unwrap();
        let run = async |sql: &str| database.query(sql.into(), Value::list(Vec::new())).await.unwrap();
        assert_eq!(run("SELECT count(*) AS n FROM users").await, value(json!([{"n": n_users}])));
        run("INSERT INTO users (name) VALUES ('Cid')").await;
        database.release().await;
    }
    assert!(!outer.path().join("outside.db").exists());
}

#[tokio::test]
async fn several_databases_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let one = open(folder.path(), "one", memory(false, folder.path())).await.unwrap();
    let two = SqliteConfig { write: true, ..SqliteConfig::new(":memory:") };
    let two = open(folder.path(), "two", two).await.unwrap();
    let tools = Registry::new();
    add_sql_tools(&tools, &[one, two]).unwrap();
    let ask = async |resource: &str| {
        let sql = "SELECT count(*) AS n FROM sqlite_master WHERE name = 'users'";
        call(&tools, "SqlQuery", &[("sql", sql.into()), ("resource", resource.into())]).await
    };
    assert_eq!(ask("one").await, Ok(value(json!([{"n": 1}]))));
    assert_eq!(ask("two").await, Ok(value(json!([{"n": 0}]))));
    let unknown = ask("three").await.unwrap_err();
    let expected = "`resource` is not one of the resources; these are `one` (sqlite, read-only), `two` (sqlite); ";
    assert!(unknown.starts_with(expected), "{unknown}");
    assert_eq!(tools.signatures()[0].effect, EffectClass::Write, "one of them may be written");
}

#[tokio::test]
async fn another_process_that_writes_is_waited_for_and_then_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("init.sql"), INIT).unwrap();
    let config = SqliteConfig { write: true, init: Some("init.sql".to_owned()), ..SqliteConfig::new("shop.db") };
    let tools = tools(folder.path(), config).await;
    let other = rusqlite::Connection::open(folder.path().join("shop.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let fault = query(&tools, "DELETE FROM users", json!([])).await.unwrap_err();
    assert_eq!(fault, "another process is writing to the database: database is locked");
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(query(&tools, "DELETE FROM users", json!([])).await, Ok(value(json!({"changed": 2}))));
}

#[test]
fn a_declaration_that_this_build_does_not_know_says_how_to_build_it() {
    let config = PostgresConfig::new("postgres://user:secret@localhost/shop");
    let opened = databases::postgres(Label::named("shop"), config).map(|_| ()).map_err(|error| error.to_string());
    let without =
        "this program was built without PostgreSQL; build it with `cargo build --release --features postgres`";
    let expected = if cfg!(feature = "postgres") { Ok(()) } else { Err(without.to_owned()) };
    assert_eq!(opened, expected);
}
