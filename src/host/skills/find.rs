//! Where skills of a project and of a person are kept: the folders of all programs that know them (spec `skills.md`, "Where
//! they are found"). Only front matter is read.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use playhouse_lang::source::skill::{FILE_NAME, Skill};
use playhouse_lang::span::FileId;

/// What has a folder `skills`, in each folder of a project and in a person's.
const PROGRAMS: [&str; 8] = [".playhouse", ".agents", ".claude", ".github", ".codex", ".gemini", ".opencode", ".goose"];

/// The same below `~/.config`.
const CONFIGURED: [&str; 3] = ["agents", "goose", "opencode"];

/// What each of them keeps skills in.
const SKILLS: &str = "skills";

/// What shows the outermost folder of a project.
const REPOSITORY: &str = ".git";

/// How deep a skill may stand below a folder of skills.
const MAX_DEPTH: usize = 6;

/// So many folders are looked at, the nearest first.
const MAX_FOLDERS: usize = 2_000;

/// Bytes of front matter, at most.
const MAX_FRONT_MATTER: u64 = 64 * 1024;

/// From where skills are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The folder of the work; empty: the current one.
    pub working: PathBuf,
    /// The person's own folder.
    pub home: Option<PathBuf>,
}

/// A skill that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSkill {
    /// What it is called: as it says, else as its folder is called.
    pub name: String,
    /// What it is for and when it is used.
    pub description: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The folder of a nearer skill of the same name, which is taken in its place.
    pub shadowed_by: Option<PathBuf>,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// All skills, the nearest first.
    pub skills: Vec<FoundSkill>,
    /// What was passed over, and why.
    pub passed_over: Vec<String>,
}

impl FoundSkill {
    /// Its text.
    pub fn file(&self) -> PathBuf {
        self.folder.join(FILE_NAME)
    }
}

impl Found {
    /// The skill that is meant by a name.
    pub fn named(&self, name: &str) -> Option<&FoundSkill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// Those that names mean.
    pub fn nearest(&self) -> impl Iterator<Item = &FoundSkill> {
        self.skills.iter().filter(|skill| skill.shadowed_by.is_none())
    }
}

/// The skills in a folder that somebody names, and below it.
pub fn below(folder: &Path) -> Found {
    let mut search = Search::default();
    search.folder(folder, 0);
    search.found
}

impl Places {
    /// Looks for skills.
    pub fn find(&self) -> Found {
        let mut search = Search::default();
        for folder in self.project() {
            for program in PROGRAMS {
                search.root(&folder, &folder.join(program).join(SKILLS));
            }
        }
        if let Some(home) = &self.home {
            let own = PROGRAMS.iter().map(|program| home.join(program));
            let configured = CONFIGURED.iter().map(|program| home.join(".config").join(program));
            for folder in own.chain(configured) {
                search.root(home, &folder.join(SKILLS));
            }
        }
        if search.n_folders > MAX_FOLDERS {
            let told = format!("more than {MAX_FOLDERS} folders: those after them were not looked at");
            search.found.passed_over.push(told);
        }
        search.found
    }

    /// The folder of the work, and those above it up to that of its repository; without one it alone.
    fn project(&self) -> Vec<PathBuf> {
        let Ok(whole) = Path::new(".").join(&self.working).canonicalize() else { return vec![self.working.clone()] };
        let n_above = whole.ancestors().position(|folder| folder.join(REPOSITORY).exists()).unwrap_or(0);
        let above = whole.ancestors().skip(1).take(n_above).map(Path::to_owned);
        [self.working.clone()].into_iter().chain(above).collect()
    }
}

#[derive(Default)]
struct Search {
    found: Found,
    /// Folders of skills that were looked at, links resolved: programs share them by links.
    searched: BTreeSet<PathBuf>,
    n_folders: usize,
}

impl Search {
    /// A folder of skills, which must lie in `base`, where it belongs to.
    fn root(&mut self, base: &Path, root: &Path) {
        let Ok(whole) = root.canonicalize() else { return };
        let base = Path::new(".").join(base).canonicalize();
        if !base.is_ok_and(|base| whole.starts_with(base)) {
            let told = format!("{}: a link out of its folder; name the skills there by their paths", root.display());
            self.found.passed_over.push(told);
        } else if whole.is_dir() && self.searched.insert(whole) {
            self.folder(root, 0);
        }
    }

    /// A folder that is a skill, or in which skills stand. Links are not followed.
    fn folder(&mut self, folder: &Path, depth: usize) {
        self.n_folders += 1;
        if self.n_folders > MAX_FOLDERS {
            return;
        }
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(cause) => return self.pass_over(folder, &cause),
        };
        let mut folders = Vec::new();
        for entry in entries.filter_map(Result::ok) {
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            if kind.is_file() && name == FILE_NAME {
                // What lies in a skill's folder is the skill's.
                return self.skill(folder);
            }
            if kind.is_dir() && !name.to_string_lossy().starts_with('.') && name != "node_modules" {
                folders.push(entry.path());
            }
        }
        if depth < MAX_DEPTH {
            folders.sort();
            folders.iter().for_each(|folder| self.folder(folder, depth + 1));
        }
    }

    fn skill(&mut self, folder: &Path) {
        let text = match front_matter(&folder.join(FILE_NAME)) {
            Ok(text) => text,
            Err(cause) => return self.pass_over(&folder.join(FILE_NAME), &cause),
        };
        let own = folder.file_name().unwrap_or_default().to_string_lossy();
        let skill = Skill::read(FileId(0), &own, &text);
        let description = skill.description();
        let shadowed_by = self.found.named(&skill.name).map(|nearer| nearer.folder.clone());
        self.found.skills.push(FoundSkill { name: skill.name, description, folder: folder.to_owned(), shadowed_by });
    }

    fn pass_over(&mut self, path: &Path, cause: &std::io::Error) {
        self.found.passed_over.push(format!("{}: cannot read: {cause}", path.display()));
    }
}

/// The beginning of a file, as far as its front matter goes.
fn front_matter(file: &Path) -> std::io::Result<String> {
    let mut reader = BufReader::new(File::open(file)?.take(MAX_FRONT_MATTER));
    let (mut bytes, mut start) = (Vec::new(), 0);
    while reader.read_until(b'\n', &mut bytes)? > 0 {
        let is_mark = bytes.get(start..).unwrap_or_default().trim_ascii_end() == b"---";
        if start > 0 && is_mark {
            break;
        }
        start = bytes.len();
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
