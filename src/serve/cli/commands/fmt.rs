//! `playhouse fmt [PATH|-]…`: playbooks, tests, trigger tables and plans in one layout, each proved to mean the same.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::lang::files::test_file::TestFile;
use crate::lang::files::trigger_table::TriggerTable;
use crate::lang::format::format_file;
use crate::lang::format::proof::Untouched;
use crate::lang::kind::{self, Kind, MARKDOWN};
use crate::lang::{SourceText, load_settings};
use crate::serve::cli::commands::test::find;
use crate::serve::cli::machinery::console::{Console, Exit, Failure, count, finish, put};
use crate::serve::cli::machinery::output::{differences, write_whole};
use crate::span::FileId;

const EXAMPLES: &str = "\
Examples:
  playhouse fmt                     all playbooks, tests, trigger tables and plans below this folder
  playhouse fmt shop/program.md
  playhouse fmt --check shop        changes nothing; exit code 1 if something would change
  playhouse fmt --diff shop         shows what would change
  playhouse fmt - --stdin-name program.md < program.md

`<!-- fmt: off -->` and `<!-- fmt: on -->` on lines of their own leave what is between them as it is.";

/// How the names of files end that can be ours.
const ENDINGS: [&str; 6] = [MARKDOWN[0], MARKDOWN[1], MARKDOWN[2], ".json", ".yaml", ".yml"];

/// Formats playbooks, tests, trigger tables and plans; leaves a file alone if its meaning would change
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FmtArguments {
    /// Files, folders with files anywhere below, or - for standard input
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// Change nothing; list the files that would change (exit code 1)
    #[arg(long)]
    check: bool,
    /// Change nothing; show what would change (exit code 1)
    #[arg(long)]
    diff: bool,
    /// The file name of standard input: it decides what kind of file it is, and messages use it
    #[arg(long, value_name = "NAME")]
    stdin_name: Option<String>,
}

/// A file that was found.
struct Found {
    path: PathBuf,
    text: String,
    /// None: nothing of ours, as far as is known.
    kind: Option<Kind>,
    /// Whether it was named on the command line.
    is_named: bool,
}

/// Formats what is named.
pub(crate) fn fmt(console: &Console, arguments: &FmtArguments) -> Result<Exit, Failure> {
    if arguments.paths.iter().any(|path| path == Path::new("-")) {
        return fmt_input(console, arguments);
    }
    if arguments.stdin_name.is_some() {
        return Err(Failure::wrong("`--stdin-name` names standard input; write `-` instead of paths"));
    }
    let mut files = gather(&arguments.paths)?;
    relate(&mut files);
    let (mut n_same, mut n_other, mut n_refused) = (0, 0, 0);
    for file in &files {
        let name = file.path.display().to_string();
        let text = &file.text;
        let Some(kind) = file.kind else {
            if file.is_named {
                console.remark(&format!("{name}: {}", no_kind()));
            }
            continue;
        };
        match format_file(kind, text) {
            Err(untouched) => {
                tell(console, &name, &untouched);
                n_refused += 1;
            }
            Ok(written) if written == *text => n_same += 1,
            Ok(written) => {
                n_other += 1;
                show(arguments, &name, text, &written)?;
                if !arguments.check && !arguments.diff {
                    // A link stays one.
                    let path = file.path.canonicalize().unwrap_or_else(|_| file.path.clone());
                    write_whole(&path, &written)?;
                }
            }
        }
    }
    let is_shown = arguments.check || arguments.diff;
    let done = if is_shown { "would be formatted" } else { "formatted" };
    let refused = if n_refused > 0 { format!(", {n_refused} left alone") } else { String::new() };
    console.remark(&format!("{} {done}, {n_same} as they should be{refused}", count(n_other, "file")));
    Ok(ended(is_shown && n_other > 0, n_refused > 0))
}

/// Formats what comes by standard input.
fn fmt_input(console: &Console, arguments: &FmtArguments) -> Result<Exit, Failure> {
    if arguments.paths.len() > 1 {
        return Err(Failure::wrong("standard input must be formatted alone; name files in another command"));
    }
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|cause| Failure::wrong(format!("standard input: cannot read: {cause}")))?;
    let name = arguments.stdin_name.as_deref().unwrap_or("program.md");
    let Some(kind) = kind::of(name, &text).or_else(|| kind::plan_of(name)) else {
        console.remark(&format!("{name}: {}", no_kind()));
        return finish(if arguments.check || arguments.diff { "" } else { &text });
    };
    let written = match format_file(kind, &text) {
        Ok(written) => written,
        Err(untouched) => {
            tell(console, name, &untouched);
            return Ok(Exit::Wrong);
        }
    };
    let is_shown = arguments.check || arguments.diff;
    if !is_shown {
        put(&written)?;
    } else if written != text {
        show(arguments, name, &text, &written)?;
    }
    Ok(ended(is_shown && written != text, false))
}

fn ended(has_changes: bool, has_refused: bool) -> Exit {
    match (has_refused, has_changes) {
        (true, _) => Exit::Wrong,
        (false, true) => Exit::Failed,
        (false, false) => Exit::Finished,
    }
}

fn no_kind() -> &'static str {
    "this is not a playbook, test, trigger table or plan, and is left alone; if it is a playbook, write `playhouse: \
     true` in its front matter"
}

fn tell(console: &Console, name: &str, untouched: &Untouched) {
    console.error(&format!("{name}:{}: {}; the file is unchanged", untouched.line, untouched.why));
}

/// What would be changed, as it was asked for.
fn show(arguments: &FmtArguments, name: &str, text: &str, written: &str) -> Result<(), Failure> {
    if arguments.diff {
        let names = format!("--- {name}\n+++ {name} (formatted)\n");
        put(&(names + &differences(text, written, 3)))
    } else {
        put(&format!("{name}\n"))
    }
}

/// All files that can be ours, each once, in order.
fn gather(paths: &[PathBuf]) -> Result<Vec<Found>, Failure> {
    let mut files: Vec<Found> = Vec::new();
    for path in paths {
        let is_named = !path.is_dir();
        let mut found = Vec::new();
        if is_named {
            found.push(path.clone());
        } else {
            find(path, &ENDINGS, &mut found)?;
        }
        for path in found {
            let plan = kind::plan_of(&path.to_string_lossy()).filter(|_| is_named);
            let text = match read(&path) {
                Ok(text) => text,
                Err(cause) if is_named => {
                    let shown = path.display();
                    return Err(Failure::wrong(format!("{shown}: cannot read: {cause}; check the path")));
                }
                // What lies about in a folder need not be text.
                Err(_) => continue,
            };
            let kind = kind::of(&path.to_string_lossy(), &text).or(plan);
            files.push(Found { path, text, kind, is_named });
        }
    }
    let mut seen = std::collections::HashSet::new();
    files.retain(|file| seen.insert(place(&file.path)));
    Ok(files)
}

fn read(path: &Path) -> std::io::Result<String> {
    String::from_utf8(std::fs::read(path)?).map_err(|_| std::io::Error::other("it is not UTF-8 text"))
}

fn place(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Finds files that are ours because another one names them: what playbooks import, the programs of tests and tables.
fn relate(files: &mut [Found]) {
    let places: HashMap<PathBuf, usize> =
        files.iter().enumerate().map(|(index, file)| (place(&file.path), index)).collect();
    let mut pending: Vec<usize> = (0..files.len()).filter(|&index| files[index].kind.is_some()).collect();
    while let Some(index) = pending.pop() {
        let file = &files[index];
        let folder = file.path.parent().unwrap_or(Path::new(""));
        let named: Vec<PathBuf> = named_by(file).iter().map(|name| place(&folder.join(name))).collect();
        for other in named.iter().filter_map(|path| places.get(path)) {
            let found = &mut files[*other];
            if found.kind.is_none() {
                found.kind = Some(kind::plan_of(&found.path.to_string_lossy()).unwrap_or(Kind::Playbook));
                pending.push(*other);
            }
        }
    }
}

/// The files that a file names.
fn named_by(file: &Found) -> Vec<String> {
    let text = &file.text;
    match file.kind {
        Some(Kind::Playbook) => {
            let mut imports = Vec::new();
            let root = SourceText { name: String::new(), text: text.clone() };
            load_settings(vec![root], &mut |request| {
                imports.push(request.path.to_owned());
                Err(String::new())
            });
            imports
        }
        Some(Kind::Test) => TestFile::parse(FileId(0), text).map(|test| vec![test.program]).unwrap_or_default(),
        Some(Kind::Triggers) => {
            TriggerTable::parse(FileId(0), text).map(|table| vec![table.program]).unwrap_or_default()
        }
        Some(Kind::JsonPlan | Kind::YamlPlan) | None => Vec::new(),
    }
}
