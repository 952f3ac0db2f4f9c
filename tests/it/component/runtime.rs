//! Files: `.runtime`, prompts, and which paths may be touched.

use std::fs;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use playhouse::host::component::runtime::{prepare_runtime, runtime_path};
use playhouse::host::component::{Identity, Info};
use playhouse::host::directory::WorkingDirectory;

fn identity(group_id: &str, artifact_id: &str, version: &str) -> Identity {
    Identity { group_id: group_id.into(), artifact_id: artifact_id.into(), version: version.into() }
}

fn open(path: &Path) -> Dir {
    Dir::open_ambient_dir(path, ambient_authority()).unwrap()
}

#[test]
fn paths_are_made_of_the_identity() {
    let path = |group, artifact, version, instance: Option<&str>| {
        runtime_path(&identity(group, artifact, version), instance).map(|path| path.display().to_string())
    };
    assert_eq!(path("org.example.db", "mysql", "0.0.3", None).unwrap(), ".runtime/org/example/db/mysql/0.0.3/0");
    assert_eq!(path("g", "a.b", "1", Some("some text")).unwrap(), ".runtime/g/a.b/1/some text");
    for (group, artifact, version, instance, told) in [
        ("a..b", "a", "1", None, "group_id `a..b` cannot be part of a path: it is empty"),
        ("", "a", "1", None, "group_id `` cannot be part of a path: it is empty"),
        ("g/h", "a", "1", None, "group_id `g/h` cannot be part of a path: it holds a separator of paths"),
        ("g", "..", "1", None, "artifact_id `..` cannot be part of a path: it leads to another folder"),
        ("g", "a", ".", None, "version `.` cannot be part of a path: it leads to another folder"),
        ("g", "a", "1\n", None, "version `1\n` cannot be part of a path: it holds a control character"),
        ("g", "a", "1", Some(""), "instance_id `` cannot be part of a path: it is empty"),
        ("g", "a", "1", Some("a\\b"), "instance_id `a\\b` cannot be part of a path: it holds a separator of paths"),
        ("g", "a", "1", Some("../x"), "instance_id `../x` cannot be part of a path: it holds a separator of paths"),
        ("g", "a", "1", Some(" "), "instance_id ` ` cannot be part of a path: it begins or ends with white space"),
    ] {
        assert_eq!(path(group, artifact, version, instance).unwrap_err().to_string(), told);
    }
    assert!(path("g", &"a".repeat(256), "1", None).is_err());
}

#[test]
fn the_first_use_copies_and_later_ones_keep() {
    let place = tempfile::tempdir().unwrap();
    let (source, work) = (place.path().join(".config"), place.path().join("wd"));
    fs::create_dir_all(source.join("prompts/deep")).unwrap();
    fs::create_dir(&work).unwrap();
    fs::write(source.join("config.yaml"), "a: 1").unwrap();
    fs::write(source.join("prompts/deep/p.md"), "prompt").unwrap();
    let (component, wd) = (identity("org.example", "demo", "1"), open(&work));
    let first = prepare_runtime(&wd, &open(&source), &component, None).unwrap();
    assert!(first.is_new);
    assert_eq!(first.path, Path::new(".runtime/org/example/demo/1/0"));
    assert_eq!(first.folder.read_to_string("config.yaml").unwrap(), "a: 1");
    assert_eq!(first.folder.read_to_string("prompts/deep/p.md").unwrap(), "prompt");
    first.folder.write("config.yaml", "a: 2").unwrap();
    first.folder.remove_file("prompts/deep/p.md").unwrap();
    fs::write(source.join("new.yaml"), "").unwrap();
    let again = prepare_runtime(&wd, &open(&source), &component, None).unwrap();
    assert!(!again.is_new);
    assert_eq!(again.folder.read_to_string("config.yaml").unwrap(), "a: 2");
    assert!(!again.folder.exists("prompts/deep/p.md") && !again.folder.exists("new.yaml"));
    let other = prepare_runtime(&wd, &open(&source), &component, Some("other")).unwrap();
    assert!(other.is_new);
    assert_eq!(other.folder.read_to_string("config.yaml").unwrap(), "a: 1");
    // Nothing half made stays.
    let names: Vec<_> = wd.read_dir(".runtime").unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["org"]);
}

#[test]
fn nothing_is_copied_from_elsewhere() {
    let place = tempfile::tempdir().unwrap();
    let (source, work) = (place.path().join(".config"), place.path().join("wd"));
    fs::create_dir_all(source.join("inner")).unwrap();
    fs::create_dir(&work).unwrap();
    fs::write(place.path().join("secret"), "secret").unwrap();
    fs::write(source.join("config.yaml"), "a: 1").unwrap();
    let (component, wd) = (identity("g", "a", "1"), open(&work));
    let prepare = || prepare_runtime(&wd, &open(&source), &component, None).map(|made| made.folder);
    let link = |target: &str| {
        let _ = fs::remove_file(source.join("link"));
        std::os::unix::fs::symlink(target, source.join("link")).unwrap();
    };
    let secret = place.path().join("secret").display().to_string();
    for target in ["../secret", &secret, "inner/../../secret", ".."] {
        link(target);
        let told = prepare().unwrap_err().to_string();
        let why = "it is a link that leads out of the component's folder";
        assert_eq!(told, format!("cannot copy the component's file `link`: {why}"), "{target}");
    }
    for target in ["inner", ".", "gone", "link"] {
        link(target);
        assert!(prepare().is_err(), "{target}");
    }
    assert_eq!(wd.read_dir(".runtime").unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>(), ["g"]);
    assert!(!wd.exists(".runtime/g/a/1/0"));
    // A link that stays inside is the file that it leads to.
    link("config.yaml");
    let folder = prepare().unwrap();
    assert_eq!(folder.read_to_string("link").unwrap(), "a: 1");
    assert!(folder.symlink_metadata("link").unwrap().is_file());
}

#[test]
fn a_runtime_that_leads_elsewhere_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let (source, work) = (place.path().join(".config"), place.path().join("wd"));
    fs::create_dir(&source).unwrap();
    fs::create_dir(&work).unwrap();
    std::os::unix::fs::symlink("..", work.join(".runtime")).unwrap();
    assert!(prepare_runtime(&open(&work), &open(&source), &identity("g", "a", "1"), None).is_err());
    fs::remove_file(work.join(".runtime")).unwrap();
    fs::create_dir_all(work.join(".runtime/g/a/1")).unwrap();
    fs::write(work.join(".runtime/g/a/1/0"), "no folder").unwrap();
    let told = prepare_runtime(&open(&work), &open(&source), &identity("g", "a", "1"), None).unwrap_err().to_string();
    assert!(told.contains("something that is not a folder has this name"), "{told}");
    assert!(!place.path().join("g").exists());
}

#[test]
fn a_prompt_is_found_where_it_is_named_first() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join(".config");
    fs::create_dir_all(folder.join("sub")).unwrap();
    fs::write(folder.join("name.md"), "by name").unwrap();
    fs::write(folder.join("sub/path.md"), "by path").unwrap();
    fs::write(folder.join("image"), [0xff]).unwrap();
    fs::write(place.path().join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink("../secret", folder.join("link.md")).unwrap();
    let folder = open(&folder);
    let text = |text: &str| (!text.is_empty()).then(|| text.into());
    let found = |prompt, name, path| {
        let info = Info {
            prompt: text(prompt),
            prompt_file_name: text(name),
            prompt_file_path: text(path),
            ..Info::default()
        };
        info.prompt_text(&folder).map(|found| found.map(|found| found.to_string()))
    };
    let some = |text: &str| Ok(Some(text.to_owned()));
    assert_eq!(found("", "", ""), Ok(None));
    assert_eq!(found("written", "name.md", "sub/path.md"), some("written"));
    assert_eq!(found(" ", "name.md", "sub/path.md"), some("by name"));
    assert_eq!(found("", "", "sub/path.md"), some("by path"));
    let secret = place.path().join("secret").display().to_string();
    for (name, path) in
        [("../secret", ""), ("sub/path.md", ""), ("link.md", ""), ("gone.md", ""), ("sub", ""), ("image", "")]
            .into_iter()
            .chain([("", "../secret"), ("", &*secret), ("", "link.md"), ("", "sub/../../secret")])
    {
        let told = found("", name, path).unwrap_err();
        assert!(told.contains(name) && told.contains(path) && !told.contains('\n'), "{told}");
    }
    let outside = "`prompt_file_path` names the file `../secret`, and that is outside the component's folder";
    assert_eq!(found("", "", "../secret"), Err(format!("{outside}; write a path relative to it")));
}

#[test]
fn paths_are_resolved_before_they_are_compared() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap().join("wd");
    fs::create_dir_all(root.join("data/.inner")).unwrap();
    fs::create_dir_all(root.join(".runtime/x")).unwrap();
    fs::create_dir_all(place.path().join("wd2")).unwrap();
    fs::write(root.join(".env"), "").unwrap();
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, root.join(name)).unwrap();
    link("../wd2", "out");
    link("data/../.runtime", "hidden");
    link("data", "inside");
    link("../wd/data", "round");
    link("circle", "circle");
    link("data/new", "dangling");
    let directory = WorkingDirectory::open(&root).unwrap();
    let absolute = |rest: &str| format!("{}{rest}", root.display());
    let resolved = |path: &str| {
        directory.resolve(path).map(|path| path.display().to_string()).map_err(|refused| refused.to_string())
    };
    for (path, expected) in [
        ("", ""),
        (".", ""),
        ("data/x.txt", "data/x.txt"),
        ("./data//../data/x", "data/x"),
        ("nowhere/../data", "data"),
        ("../wd/data", "data"),
        ("inside/x", "data/x"),
        ("round/x", "data/x"),
        ("dangling", "data/new"),
        ("data/.inner/x", "data/.inner/x"),
        (".env", ".env"),
        ("...", "..."),
        (&absolute(""), ""),
        (&absolute("/data/x"), "data/x"),
        (&absolute("/../wd/data"), "data"),
    ] {
        assert_eq!(resolved(path).as_deref(), Ok(expected), "{path}");
    }
    let outside = "it is outside the working directory; paths are relative to that folder";
    for path in [
        "..",
        "../wd2",
        "data/../../wd2/x",
        "out",
        "out/x",
        "out/../x",
        "/",
        "/etc/passwd",
        &absolute("2/x"),
        &absolute("/.."),
    ] {
        assert_eq!(resolved(path), Err(outside.to_owned()), "{path}");
    }
    let reserved = "folders of the working directory that begin with a dot are reserved, as `.runtime` is";
    for path in [".runtime", ".runtime/x", "data/../.runtime/y", "hidden/x", "hidden", &absolute("/.runtime/x")] {
        assert_eq!(resolved(path), Err(reserved.to_owned()), "{path}");
    }
    assert!(resolved(".new/x").is_err_and(|told| told.contains("`.new`")));
    assert!(resolved("circle").is_err_and(|told| told.contains("40 links")));
}
