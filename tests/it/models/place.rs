//! Where weights are found, and what a run does about it.

use std::fs;
use std::path::{Path, PathBuf};

use playhouse::host::config::{CommandLine, Config, Environment, FileConfig};
use playhouse::host::models::catalogue::{self, DEFAULT};
use playhouse::host::models::config::EmbeddedConfig;
use playhouse::host::models::find::{By, Found, find, find_in_cache};
use playhouse::host::models::megabytes;
use playhouse::host::models::offer::{Offer, offer};
use playhouse::host::models::pull::{Pull, Way};
use playhouse::lang::program::FrontMatter;

use super::{Folder, small};

fn read(text: &str) -> Result<FileConfig, String> {
    FileConfig::from_text(Path::new("dir/playhouse.toml"), text).map_err(|error| error.to_string())
}

fn resolve(text: &str, variables: &[(&str, &str)]) -> EmbeddedConfig {
    let get = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    let environment = Environment::from_variables(&get);
    let file = read(text).unwrap();
    Config::resolve(&CommandLine::default(), &FrontMatter::default(), &file, &environment).unwrap().embedded(None)
}

#[test]
fn the_table_is_read() {
    let config = resolve(
        "[embedded]\nweights = \"w.gguf\"\nurl = [\"https://a.example/w\", \"http://b.example/w\"]\ndownload = false",
        &[("HOME", "/h")],
    );
    assert_eq!(config.weights, Some(PathBuf::from("dir/w.gguf")), "beside the file");
    assert_eq!(config.urls, ["https://a.example/w", "http://b.example/w"]);
    assert!(!config.may_download);
    assert_eq!(config.cache, Some(PathBuf::from("/h/.cache/playhouse/models")));
    let ways = Pull::new(&config).ways;
    assert_eq!(ways.len(), 3);
    assert_eq!((&ways[0], &ways[2]), (&Way::Url("https://a.example/w".into()), &Way::Pip), "pip is the last");

    let config = resolve("embedded.url = \"https://a.example/w\"", &[("HOME", "/h"), ("XDG_CACHE_HOME", "/c")]);
    assert_eq!(config.urls, ["https://a.example/w"]);
    assert_eq!(config.cache, Some(PathBuf::from("/c/playhouse/models")));
    assert_eq!(resolve("", &[("XDG_CACHE_HOME", "relative")]).cache, None);
}

#[test]
fn a_download_is_forbidden_by_file_or_environment() {
    let no = ("PLAYHOUSE_NO_DOWNLOAD", "1");
    let allows = "embedded.download = true";
    for (text, variables, expected) in [
        ("", &[][..], true),
        (allows, &[], true),
        ("embedded.download = false", &[], false),
        ("", &[no], false),
        // A program's folder does not undo what somebody has decided for their machine.
        (allows, &[no], false),
        ("", &[("PLAYHOUSE_NO_DOWNLOAD", "")], true),
    ] {
        assert_eq!(resolve(text, variables).may_download, expected, "{text} {variables:?}");
    }
}

#[test]
fn wrong_tables_name_the_line() {
    for (text, expected) in [
        ("embedded = 1", "dir/playhouse.toml:1: `embedded` must be a table"),
        ("[embedded]\n\nweight = \"a\"", "dir/playhouse.toml:3: unknown key `weight`; did you mean `weights`?"),
        ("[embedded]\nname = \"a\"", "dir/playhouse.toml:2: unknown key `name`; known are download, url, weights"),
        ("[embedded]\nweights = true", "dir/playhouse.toml:2: `weights` must be the path of a GGUF file, in quotes"),
        ("[embedded]\nweights = \"\"", "dir/playhouse.toml:2: `weights` must be the path of a GGUF file, in quotes"),
        ("[embedded]\ndownload = \"no\"", "dir/playhouse.toml:2: `download` must be true or false"),
        (
            "[embedded]\nurl = \"a.example/w\"",
            "dir/playhouse.toml:2: `url` must be an address in quotes, as in \"https://…\", or a list of them",
        ),
        (
            "[embedded]\nurl = [\"https://a.example\", 3]",
            "dir/playhouse.toml:2: `url` must be an address in quotes, as in \"https://…\", or a list of them",
        ),
    ] {
        assert_eq!(read(text).err().as_deref(), Some(expected), "{text}");
    }
}

/// The documented table is read, and holds the defaults where there are some.
#[test]
fn the_documented_table_is_read() {
    let page = include_str!("../../../docs/configuration.md");
    let text = page.split("```toml\n[embedded]").nth(1).unwrap().split("```").next().unwrap();
    let config = resolve(&format!("[embedded]{text}"), &[("HOME", "/h")]);
    assert!(config.may_download && config.weights.is_some() && !config.urls.is_empty(), "{config:?}");
}

#[test]
fn the_file_is_looked_for_in_order() {
    let folder = Folder::new();
    let own = folder.path("own.gguf");
    let configured = folder.path("configured.gguf");
    fs::write(&own, "12345678").unwrap();
    fs::write(&configured, "1234").unwrap();
    let named = |path: &Path| Some(path.to_str().unwrap().to_owned());
    let all = EmbeddedConfig {
        named: named(&own),
        weights: Some(configured.clone()),
        cache: Some(folder.cache()),
        ..EmbeddedConfig::default()
    };
    assert_eq!(find(&all), Found::Ready { path: own, by: By::ModelId, size: 8 });
    let unnamed = EmbeddedConfig { named: None, ..all.clone() };
    assert_eq!(find(&unnamed), Found::Ready { path: configured, by: By::Configuration, size: 4 });
    let cached = EmbeddedConfig { weights: None, ..unnamed.clone() };
    let place = folder.cache().join(DEFAULT.file_name());
    assert_eq!(find(&cached), Found::Missing { place: Some(place.clone()) });
    // The name of a known model means the cache, whatever is configured.
    let known = EmbeddedConfig { named: Some(DEFAULT.name.to_string()), ..all.clone() };
    assert_eq!(find(&known), Found::Missing { place: Some(place) });
    assert_eq!(find(&EmbeddedConfig::default()), Found::Missing { place: None });

    // What is named and wrong is not passed over.
    let gone = folder.path("gone.gguf");
    let gone = EmbeddedConfig { named: named(&gone), ..all.clone() };
    assert!(matches!(find(&gone), Found::Wrong { by: By::ModelId, .. }));
    let gone = EmbeddedConfig { weights: Some(folder.path("gone.gguf")), ..unnamed };
    assert!(matches!(find(&gone), Found::Wrong { by: By::Configuration, .. }));
    let not_a_file = EmbeddedConfig { named: named(folder.root()), ..all };
    assert!(matches!(find(&not_a_file), Found::Wrong { by: By::ModelId, .. }));
}

#[test]
fn a_file_of_another_size_is_not_used() {
    let folder = Folder::new();
    fs::create_dir(folder.cache()).unwrap();
    fs::write(folder.installed(), &small().weights[1..]).unwrap();
    let found = find_in_cache(Some(&folder.cache()), &small().model);
    assert!(matches!(&found, Found::Wrong { by: By::Cache, .. }), "{found:?}");
    assert!(found.line().contains("it has 1000003 bytes instead of 1000004"), "{}", found.line());
    fs::write(folder.installed(), &small().weights).unwrap();
    let found = find_in_cache(Some(&folder.cache()), &small().model);
    assert_eq!(found.path(), Some(&*folder.installed()));
}

#[test]
fn what_a_run_does() {
    let path = PathBuf::from("/w.gguf");
    let ready = |by| Found::Ready { path: path.clone(), by, size: 1 };
    let wrong = |by| Found::Wrong { path: path.clone(), by, why: "it is damaged".to_owned() };
    let missing = Found::Missing { place: Some(path.clone()) };
    let no_place = Found::Missing { place: None };
    let (used, refused) = (Offer::Use(path.clone()), Offer::Refuse("it is damaged".to_owned()));
    for (found, is_terminal, may_download, expected) in [
        (ready(By::ModelId), true, true, &used),
        (ready(By::Configuration), false, true, &used),
        (ready(By::Cache), false, false, &used),
        (missing.clone(), true, true, &Offer::Fetch),
        (missing.clone(), true, false, &Offer::Tell),
        (missing.clone(), false, true, &Offer::Tell),
        (missing, false, false, &Offer::Tell),
        (wrong(By::Cache), true, true, &Offer::Fetch),
        (wrong(By::Cache), false, true, &Offer::Tell),
        (wrong(By::ModelId), true, true, &refused),
        (wrong(By::Configuration), false, false, &refused),
        (no_place.clone(), true, true, &Offer::Tell),
        (no_place, false, true, &Offer::Tell),
    ] {
        assert_eq!(offer(&found, is_terminal, may_download), *expected, "{found:?} {is_terminal} {may_download}");
    }
    let line = Offer::Fetch.line(&DEFAULT).unwrap();
    assert!(line.contains("(92.9 MB, once)") && !line.contains('\n'), "{line}");
    assert!(Offer::Tell.line(&DEFAULT).unwrap().contains("`playhouse model pull`"));
    assert_eq!((used.line(&DEFAULT), refused.line(&DEFAULT)), (None, None));
}

#[test]
fn the_catalogue_is_sound() {
    let is_sum = |text: &str| text.len() == 64 && text.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
    for model in catalogue::all() {
        assert!(is_sum(&model.sha256) && is_sum(&model.wheel.sha256), "{}", model.name);
        assert!(std::ptr::eq(catalogue::by_name(&model.name).unwrap(), model));
        let distribution = model.wheel.package.replace('-', "_");
        assert!(model.wheel.file.starts_with(&format!("{distribution}-{}-", model.wheel.version)));
        assert!(model.space_needed() >= model.wheel.size + model.size);
    }
    assert_eq!(catalogue::by_name("nothing"), None);
    assert_eq!(
        (megabytes(98_362_432), megabytes(0), megabytes(949_999)),
        ("98.4 MB".into(), "0.0 MB".into(), "0.9 MB".into())
    );
}
