//! Paths that lead out of a folder, or into what is reserved in it.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use playhouse::host::clock::SystemClock;
use playhouse::host::directory::WorkingDirectory;
use playhouse::host::resource::disk::{Disk, DiskConfig};
use playhouse::host::resource::{Label, Resource};
use playhouse::host::tool::registry::Registry;

use crate::resource::call;
use crate::tool::add_builtins;

async fn disk(folder: &Path, path: &str) -> Disk {
    let config = DiskConfig { path: path.to_owned(), ..DiskConfig::default() };
    let disk = Disk::new(Label::named("data"), WorkingDirectory::open(folder).unwrap(), config);
    disk.acquire().await.unwrap();
    disk
}

/// A working directory with a secret beside it and one in a reserved folder.
fn world() -> (tempfile::TempDir, std::path::PathBuf) {
    let outer = tempfile::tempdir().unwrap();
    std::fs::write(outer.path().join("secret.txt"), "secret").unwrap();
    let folder = outer.path().join("work");
    for path in ["data/sub", ".runtime/org", "data/.cache"] {
        std::fs::create_dir_all(folder.join(path)).unwrap();
    }
    std::fs::write(folder.join(".runtime/org/config.yaml"), "secret").unwrap();
    std::fs::write(folder.join(".env"), "secret").unwrap();
    std::fs::write(folder.join("data/x.txt"), "inside").unwrap();
    std::fs::write(folder.join("data/.cache/y.txt"), "cached").unwrap();
    (outer, folder)
}

#[tokio::test]
async fn no_path_leads_out_of_a_disk() {
    let (outer, folder) = world();
    symlink("../../secret.txt", folder.join("data/link.txt")).unwrap();
    symlink("../..", folder.join("data/up")).unwrap();
    symlink(outer.path(), folder.join("data/absolute")).unwrap();
    symlink("../../new.txt", folder.join("data/dangling.txt")).unwrap();
    symlink("sub", folder.join("data/inside")).unwrap();
    let absolute = outer.path().join("secret.txt").display().to_string();
    for (path, prefix) in [(".", "data/"), ("data", "")] {
        let disk = disk(&folder, path).await;
        let paths = [
            "../../secret.txt",
            "sub/../../../secret.txt",
            "link.txt",
            "up/secret.txt",
            "absolute/secret.txt",
            "dangling.txt",
            "..",
            "../..",
            "/",
            "",
        ];
        for path in paths.map(|path| format!("{prefix}{path}")).iter().chain([&absolute, &"/etc/passwd".to_owned()]) {
            assert!(disk.read(path).is_err(), "{path}");
            assert!(disk.write(path, b"mine").is_err(), "{path}");
        }
        // Inside the working directory, and outside of a disk that is a folder of it.
        assert_eq!(disk.write(&format!("{prefix}../beside.txt"), b"a").is_ok(), path == ".");
        assert_eq!(disk.read(&format!("{prefix}../beside.txt")).is_ok(), path == ".");
        // What is removed is the link, never what it leads to.
        assert!(disk.remove(&format!("{prefix}up/secret.txt")).is_err());
        assert!(disk.list(&format!("{prefix}up")).is_err());
        assert_eq!(disk.read(&format!("{prefix}x.txt")).unwrap(), b"inside");
        assert_eq!(disk.read(&format!("{prefix}./sub/../x.txt")).unwrap(), b"inside");
        disk.write(&format!("{prefix}inside/new/a.txt"), b"a").unwrap();
        assert_eq!(std::fs::read(folder.join("data/sub/new/a.txt")).unwrap(), b"a");
        disk.release().await;
        assert_eq!(disk.read("x.txt").unwrap_err(), "cannot read `x.txt`: the disk is not open");
    }
    assert_eq!(std::fs::read_to_string(outer.path().join("secret.txt")).unwrap(), "secret");
    assert_eq!(std::fs::read_dir(outer.path()).unwrap().count(), 2);
}

#[tokio::test]
async fn dot_folders_at_the_top_are_reserved() {
    let (_outer, folder) = world();
    symlink("../.runtime", folder.join("data/hidden")).unwrap();
    symlink(".runtime/org", folder.join("plain")).unwrap();
    let disk = disk(&folder, ".").await;
    let reserved = "names that begin with a dot are reserved at the top of the working directory";
    for path in [
        ".env",
        "./.env",
        "data/../.env",
        ".runtime/org/config.yaml",
        "data/../.runtime/org/config.yaml",
        "data/hidden/org/config.yaml",
        "plain/config.yaml",
    ] {
        assert_eq!(disk.read(path).unwrap_err(), format!("cannot read `{path}`: {reserved}"));
        assert_eq!(disk.write(path, b"mine").unwrap_err(), format!("cannot write `{path}`: {reserved}"));
        assert_eq!(disk.remove(path).unwrap_err(), format!("cannot remove `{path}`: {reserved}"));
    }
    for path in [".new", ".new/a.txt", ".runtime/new/a.txt", "data/hidden/new/a.txt", "plain/new.txt"] {
        assert_eq!(disk.write(path, b"mine").unwrap_err(), format!("cannot write `{path}`: {reserved}"));
    }
    assert!(disk.list(".runtime").is_err());
    assert!(disk.list("data/hidden").is_err());
    assert_eq!(disk.list(".").unwrap(), ["data/", "plain"], "a link is shown as what it is");
    assert_eq!(disk.read("data/.cache/y.txt").unwrap(), b"cached", "only those at the top");
    assert!(!folder.join(".new").exists() && !folder.join(".runtime/new").exists());
    let hidden = DiskConfig { path: ".runtime/org".to_owned(), ..DiskConfig::default() };
    let hidden = Disk::new(Label::named("data"), WorkingDirectory::open(&folder).unwrap(), hidden);
    let error = hidden.acquire().await.unwrap_err();
    assert_eq!(error.cause, format!("cannot open `.runtime/org`: {reserved}"));
}

#[tokio::test]
async fn a_disk_can_be_read_only_and_small() {
    let (_outer, folder) = world();
    let config = DiskConfig { path: "data".to_owned(), read_only: true, max_bytes: 5 };
    let disk = Disk::new(Label::named("data"), WorkingDirectory::open(&folder).unwrap(), config);
    disk.acquire().await.unwrap();
    let read_only = "the disk is read-only (`read_only` of its resource)";
    assert_eq!(disk.write("new.txt", b"a").unwrap_err(), format!("cannot write `new.txt`: {read_only}"));
    assert_eq!(disk.remove("x.txt").unwrap_err(), format!("cannot remove `x.txt`: {read_only}"));
    let large = disk.read("x.txt").unwrap_err();
    assert_eq!(large, "cannot read `x.txt`: it is larger than 5 bytes (`max_bytes` of the disk)");
    assert_eq!(disk.read("sub").unwrap_err(), "cannot read `sub`: it is not a file");
    assert_eq!(disk.list(".").unwrap(), [".cache/", "sub/", "x.txt"]);
    for path in ["../outside", "missing"] {
        let config = DiskConfig { path: path.to_owned(), read_only: true, ..DiskConfig::default() };
        let disk = Disk::new(Label::named("data"), WorkingDirectory::open(&folder).unwrap(), config);
        assert!(disk.acquire().await.is_err(), "{path}");
    }
}

/// Swaps `data/x` between a folder and links that lead elsewhere until it is told to stop. A write may have made a folder
/// where none was for a moment; that one is taken away again.
fn swap(folder: &Path, stop: &AtomicBool) {
    let (here, aside) = (folder.join("data/x"), folder.join("data/aside"));
    let targets = ["../..", "../.runtime"];
    for round in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        std::fs::rename(&here, &aside).unwrap();
        while symlink(targets[round % targets.len()], &here).is_err() {
            let _ = std::fs::remove_dir_all(&here);
        }
        std::fs::remove_file(&here).unwrap();
        while std::fs::rename(&aside, &here).is_err() {
            let _ = std::fs::remove_dir_all(&here);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_is_swapped_in_between_never_leads_out() {
    let (outer, folder) = world();
    std::fs::create_dir(folder.join("data/x")).unwrap();
    for name in ["secret.txt", "org-secret.txt"] {
        std::fs::write(folder.join("data/x").join(name), "inside").unwrap();
    }
    std::fs::write(folder.join(".runtime/secret.txt"), "secret").unwrap();
    std::fs::write(folder.join(".runtime/written.txt"), "secret").unwrap();
    let disk = disk(&folder, ".").await;
    let tools = Registry::new();
    add_builtins(&tools, &WorkingDirectory::open(&folder.join("data")).unwrap(), Arc::new(SystemClock), 1_000, |_| {
        true
    });
    let stop = Arc::new(AtomicBool::new(false));
    let swapping = {
        let (folder, stop) = (folder.clone(), stop.clone());
        std::thread::spawn(move || swap(&folder, &stop))
    };
    let (mut n_read, mut n_refused) = (0, 0);
    // How many attempts meet a link is the scheduler's business: they go on until one has and one has not.
    for n in 0..400_000 {
        if n >= 4_000 && n_read > 0 && n_refused > 0 {
            break;
        }
        match disk.read("data/x/secret.txt") {
            Ok(bytes) => {
                assert_eq!(bytes, b"inside");
                n_read += 1;
            }
            Err(_) => n_refused += 1,
        }
        let _ = disk.write("data/x/written.txt", b"mine");
    }
    for _ in 0..300 {
        if let Ok(text) = call(&tools, "LoadFile", &[("path", "x/secret.txt".into())]).await {
            assert_eq!(text, "inside".into());
        }
        let _ = call(&tools, "SaveFile", &[("path", "x/written.txt".into()), ("text", "mine".into())]).await;
    }
    stop.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    assert!(n_read > 0 && n_refused > 0, "the race was never met: {n_read} read, {n_refused} refused");
    assert_eq!(std::fs::read_to_string(folder.join(".runtime/written.txt")).unwrap(), "secret");
    assert!(!outer.path().join("written.txt").exists() && !Path::new("/written.txt").exists());
    assert_eq!(std::fs::read_to_string(outer.path().join("secret.txt")).unwrap(), "secret");
}
