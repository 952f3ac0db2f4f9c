//! What README.md and docs/ show is true: every code block is run or parsed, by its language and by the words behind
//! it (its *attributes*):
//!
//! | block | what is held |
//! | --- | --- |
//! | `markdown`, `markdown NAME.md` | a program without findings; with a name it is a file of this guide from here on |
//! | `markdown NAME.test.md`, `NAME.triggers.md` | a test of those files; it passes |
//! | `markdown NAME.rules.md` | rules of a program of those files, which are read |
//! | `markdown PATH`, `text PATH` | an excerpt of a file of this repository: its lines stand there, in this order |
//! | `text NAME.test.md` | the conversation of a test in this guide, in `tests/cases/guides/` or at this path |
//! | `text transcript` | `$ playhouse …` is run beside the files of the guide and writes this; `< …` is what the user says |
//! | `rust PATH` | the whole of that example but for its head |
//! | `jsonl` | trace lines; with a name, a file of this guide |
//! | `json`, `toml` | parsed; with a name, a file of this guide |
//! | `yaml` | a dataflow plan that is read without findings |
//! | `json NAME.jmp.json`, `NAME.branch.json`, `yaml NAME.yaml` | a plan without findings (of the guide's `tools.json`), and a file of this guide |
//! | `sh` | commands of ours parse; `sh run` is run, too |
//! | `… fragment` | an exception: a part of a program, or output that no run can give again |
//!
//! In conversations and transcripts a line `…` stands for any number of lines, as `abridged` does everywhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use playhouse::host::config::FileConfig;
use playhouse::lang::files::test_file::{TestFile, TestStepKind};
use playhouse::lang::plan::read_plan;
use playhouse::serve::cli::command;
use playhouse::span::{FileId, Sources};
use playhouse::vm::protocol::fault::FaultKind;
use playhouse::vm::reply::{ReadEnd, ReaderOptions, Reading};
use regex::Regex;
use strum::VariantNames as _;

use crate::reply;
use crate::run::{Run, masked};

/// One fenced block.
#[derive(Debug)]
struct Block {
    /// `docs/tutorial.md:12`.
    place: String,
    language: String,
    attributes: Vec<String>,
    text: String,
}

impl Block {
    fn has(&self, attribute: &str) -> bool {
        self.attributes.iter().any(|other| other == attribute)
    }

    /// The name or path among the attributes.
    fn name(&self) -> Option<&str> {
        let is_word = |name: &str| ["fragment", "abridged", "run", "transcript"].contains(&name);
        self.attributes.iter().map(String::as_str).find(|name| !is_word(name))
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// README.md and the guides in docs/, with their texts.
fn guides() -> Vec<(String, String)> {
    pages("README.md", "docs")
}

/// DESIGN.md and the records of decisions, with their texts.
fn decisions() -> Vec<(String, String)> {
    pages("DESIGN.md", "docs/decisions")
}

/// A page and those in a folder, with their texts.
fn pages(first: &str, folder: &str) -> Vec<(String, String)> {
    let mut paths = vec![PathBuf::from(first)];
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        paths.push(Path::new(folder).join(entry.unwrap().file_name()));
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    assert!(paths.len() > 5, "{paths:?}");
    let read = |path: PathBuf| (path.display().to_string(), fs::read_to_string(root().join(path)).unwrap());
    paths.into_iter().map(read).collect()
}

/// The fenced blocks of a guide, in order.
fn blocks(guide: &str, text: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    // The fence that closes the open block, and how far its lines are indented.
    let mut open: Option<(String, usize)> = None;
    for (index, line) in text.lines().enumerate() {
        let bare = line.trim_start();
        match &open {
            Some((fence, _)) if bare.trim_end() == fence => open = None,
            Some((_, indent)) => {
                let inside = line.get(*indent..).filter(|_| line[..*indent].trim().is_empty()).unwrap_or(bare);
                let block = found.last_mut().unwrap();
                block.text.push_str(inside);
                block.text.push('\n');
            }
            None => {
                let fence: String = bare.chars().take_while(|character| *character == '`').collect();
                if fence.len() < 3 || bare[fence.len()..].contains('`') {
                    continue;
                }
                let mut words = bare[fence.len()..].split_whitespace().map(str::to_owned);
                found.push(Block {
                    place: format!("{guide}:{}", index + 1),
                    language: words.next().unwrap_or_default(),
                    attributes: words.collect(),
                    text: String::new(),
                });
                open = Some((fence, line.len() - bare.len()));
            }
        }
    }
    assert!(open.is_none(), "{guide}: a block is not closed");
    found
}

/// Holds the blocks of one guide to be true, from the first to the last.
struct Guide {
    /// A folder with the examples and the files of the guide.
    run: Run,
    /// What the user says in the next transcript.
    stdin: String,
}

impl Guide {
    fn new() -> Guide {
        let examples = root().join("examples");
        let in_folder = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        let files: Vec<PathBuf> = in_folder(&examples);
        let skills: Vec<PathBuf> = in_folder(&examples.join("skills"));
        let skills = skills.into_iter().map(|folder| folder.join("SKILL.md"));
        let run = files.into_iter().chain(skills).filter(|path| path.is_file()).fold(Run::new(), |run, path| {
            let name = path.strip_prefix(&examples).unwrap().to_str().unwrap();
            run.file(name, &fs::read_to_string(&path).unwrap())
        });
        Guide { run, stdin: String::new() }
    }

    /// What is wrong with a block.
    fn check(&mut self, block: &Block) -> Result<(), String> {
        let excerpt = block.name().map(|name| root().join(name)).filter(|path| path.is_file());
        if block.has("fragment") {
            return if block.text.trim().is_empty() { Err("is empty".to_owned()) } else { Ok(()) };
        }
        let is_conversation = block.language == "text" && block.name().is_some_and(|name| name.ends_with(".test.md"));
        if let ("rust", Some(path)) = (block.language.as_str(), block.name()) {
            let whole = crate::embed::shown(path);
            return if block.text == whole { Ok(()) } else { Err(format!("is not the whole example:\n{whole}")) };
        }
        if let Some(path) = excerpt.filter(|_| !is_conversation) {
            return in_order(&block.text, &fs::read_to_string(path).unwrap(), true);
        }
        match (block.language.as_str(), block.name()) {
            ("text", Some(name)) if is_conversation => self.conversation(name, block),
            ("markdown", name) => self.markdown(name, &block.text),
            ("text", None) if block.has("transcript") => self.transcript(block),
            ("jsonl", Some(name)) => self.write(name, &block.text),
            ("jsonl", None) => trace_lines(&block.text),
            ("json" | "yaml", Some(name)) if is_plan(name) => self.plan(name, &block.text),
            ("yaml", None) => plan_parses(&block.text),
            ("json", name) => {
                serde_json::from_str::<serde_json::Value>(&block.text).map_err(|error| error.to_string())?;
                name.map_or(Ok(()), |name| self.write(name, &block.text))
            }
            ("toml", name) => {
                FileConfig::from_text(Path::new("playhouse.toml"), &block.text).map_err(|error| error.to_string())?;
                name.map_or(Ok(()), |name| self.write(name, &block.text))
            }
            ("sh", None) => self.shell(block),
            _ => Err(format!(
                "`{} {}` is no block that the tests know; tests/it/guides.rs has the list",
                block.language,
                block.attributes.join(" ")
            )),
        }
    }

    fn write(&mut self, name: &str, text: &str) -> Result<(), String> {
        self.run = self.run.beside().file(name, text);
        Ok(())
    }

    /// Runs one command beside the files.
    fn playhouse(&mut self, arguments: &str) -> (String, String, Option<i32>) {
        let stdin = std::mem::take(&mut self.stdin);
        let done = self.run.beside().args(words(arguments).iter().map(String::as_str)).stdin(&stdin).done();
        (done.stdout, done.stderr, done.code)
    }

    fn markdown(&mut self, name: Option<&str>, text: &str) -> Result<(), String> {
        let name = name.unwrap_or("program.md");
        self.write(name, text)?;
        if name.ends_with(".test.md") || name.ends_with(".triggers.md") {
            let (stdout, stderr, code) = self.playhouse(&format!("test {name}"));
            return if code == Some(0) { Ok(()) } else { Err(stdout + &stderr) };
        }
        if name.ends_with(".rules.md") {
            let (stdout, stderr, code) = self.playhouse(&format!("sessions check --rules {name}"));
            return if code == Some(0) { Ok(()) } else { Err(stdout + &stderr) };
        }
        let own = name.replace(".md", ".tools.json");
        let tools = [own.as_str(), "tools.json"].into_iter().find(|tools| self.run.read(tools).starts_with('{'));
        let tools = tools.map_or(String::new(), |tools| format!(" --tools {tools}"));
        let (_, stderr, _) = self.playhouse(&format!("check {name}{tools}"));
        if stderr.ends_with("0 errors, 0 warnings\n") { Ok(()) } else { Err(stderr) }
    }

    /// A plan; the guide's `tools.json`, if there is one, has its tools.
    fn plan(&mut self, name: &str, text: &str) -> Result<(), String> {
        self.write(name, text)?;
        let tools = if self.run.read("tools.json").starts_with('{') { " --tools tools.json" } else { "" };
        let (_, stderr, _) = self.playhouse(&format!("check {name}{tools}"));
        let is_clean = stderr.ends_with("0 errors, 0 warnings\n");
        // What it calls may be a playbook that imports it; then that program is a block of its own, and checked.
        let is_called = stderr.contains("plan-unknown-callee") && stderr.ends_with("1 error, 0 warnings\n");
        if is_clean || is_called { Ok(()) } else { Err(stderr) }
    }

    /// A conversation as it is read: what the program says, and what the user does behind `> `.
    fn conversation(&mut self, name: &str, block: &Block) -> Result<(), String> {
        let cases = root().join("tests/cases/guides").join(name);
        let at_path = root().join(name);
        let text = if at_path.is_file() {
            fs::read_to_string(at_path).unwrap()
        } else {
            if cases.is_file() {
                self.write(name, &fs::read_to_string(&cases).unwrap())?;
            }
            let (stdout, stderr, code) = self.playhouse(&format!("test {name}"));
            if code != Some(0) {
                return Err(stdout + &stderr);
            }
            self.run.read(name)
        };
        let mut sources = Sources::default();
        let file = sources.add(name, text.as_str());
        let test = TestFile::parse(file, &text).map_err(|findings| format!("{findings:?}"))?;
        let mut told = String::new();
        for step in &test.steps {
            match &step.kind {
                TestStepKind::User(words) => told.push_str(&format!("> {words}\n")),
                TestStepKind::Event(signal) => told.push_str(&format!("event {} {}\n", signal.name, signal.data)),
                TestStepKind::Interrupts(interruption) => told.push_str(&format!("> {}\n", interruption.text)),
                TestStepKind::Wait(ms) => told.push_str(&format!("wait {ms} ms\n")),
                TestStepKind::Set(edits) => {
                    edits.iter().for_each(|edit| told.push_str(&format!("set ${} = {}\n", edit.name, edit.value)));
                }
                TestStepKind::ExpectSay(utterances) => {
                    utterances.iter().for_each(|utterance| told.push_str(&format!("{utterance}\n")));
                }
                TestStepKind::Reply(_)
                | TestStepKind::Written(_)
                | TestStepKind::ExpectVariables(_)
                | TestStepKind::ExpectCalls(_)
                | TestStepKind::ExpectOutcome(_)
                | TestStepKind::Expect(_) => {}
            }
        }
        in_order(&block.text, &told, block.has("abridged"))
    }

    fn transcript(&mut self, block: &Block) -> Result<(), String> {
        let mut commands = 0;
        let mut expected = String::new();
        let mut happened: Option<String> = None;
        for line in block.text.lines().chain(["$ "]) {
            if let Some(arguments) = line.strip_prefix("$ ") {
                if let Some(happened) = happened.take() {
                    in_order(&masked(&expected), &masked(&happened), block.has("abridged"))?;
                }
                expected.clear();
                if let Some(arguments) = arguments.strip_prefix("playhouse ") {
                    commands += 1;
                    let (stdout, stderr, code) = self.playhouse(arguments);
                    // A program that waits for the user is none that fails.
                    if !matches!(code, Some(0 | 3)) {
                        return Err(format!("`{line}` ends with {code:?}:\n{stdout}{stderr}"));
                    }
                    happened = Some(stdout);
                } else if !arguments.is_empty() {
                    return Err(format!("`{line}` is no command of ours"));
                }
            } else if let Some(message) = line.strip_prefix("< ") {
                self.stdin.push_str(&format!("{message}\n"));
            } else {
                expected.push_str(&format!("{line}\n"));
            }
        }
        if commands > 0 { Ok(()) } else { Err("has no line `$ playhouse …`".to_owned()) }
    }

    fn shell(&mut self, block: &Block) -> Result<(), String> {
        for line in block.text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let ours = parse_command(line, false)?;
            if block.has("run")
                && let Some(arguments) = ours
            {
                // The README's paths are those of the repository; here its examples lie in the folder itself, and the
                // library's conversations are played by a test of their own.
                let arguments = arguments
                    .replace("examples/", "")
                    .replace("test examples playbooks", "test .")
                    .replace("test examples", "test .");
                let (stdout, stderr, code) = self.playhouse(&arguments);
                if code != Some(0) {
                    return Err(format!("`{line}` ends with {code:?}:\n{stdout}{stderr}"));
                }
            }
        }
        Ok(())
    }
}

/// A dataflow plan whose tools are left open.
fn plan_parses(text: &str) -> Result<(), String> {
    let (plan, findings) = read_plan(FileId(0), "plan.yaml", text);
    if plan.is_some() && findings.is_empty() { Ok(()) } else { Err(format!("{findings:?}")) }
}

/// Whether a file of this name holds a plan: `.json` alone may be anything.
fn is_plan(name: &str) -> bool {
    [".jmp.json", ".branch.json", ".yaml"].iter().any(|ending| name.ends_with(ending))
}

/// Arguments as a shell splits them, as far as the guides need it.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut quote = None;
    let mut word: Option<String> = None;
    for character in line.chars() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

/// Whether something is missing, and nothing wrong.
fn is_left_out(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::MissingRequiredArgument | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand)
}

/// Parses a command line of ours with the real definitions, and gives its arguments; none if it is another program's.
fn parse_command(line: &str, is_named_only: bool) -> Result<Option<String>, String> {
    static BEGINNING: &str =
        r#"^(?:sudo )?(?:[A-Z_]+=\S* +)*(?:playhouse|(?:\./)?target/release/playhouse|cargo run(?: --\S+)* --) (.*)$"#;
    let Some(found) = Regex::new(BEGINNING).unwrap().captures(line) else {
        let program = words(line).into_iter().find(|word| !word.contains('=')).unwrap_or_default();
        const OTHERS: &str = "cargo cd curl export git llama-server ollama open-webui pip python3 sudo vllm";
        let is_known = OTHERS.split(' ').any(|known| known == program) || root().join(&program).is_file();
        return if is_known { Ok(None) } else { Err(format!("`{program}` is no program that the guides use")) };
    };
    // What a shell does with the output is not ours.
    let arguments = found[1].split(" > ").next().unwrap().split(" | ").next().unwrap().split(" # ").next().unwrap();
    // Of many servers only a build with the feature knows (`.ci/third-party` has one).
    if !cfg!(feature = "restate") && (arguments.starts_with("engine") || arguments.contains("--engine")) {
        return Ok(None);
    }
    let command = command();
    match command.clone().try_get_matches_from(["playhouse".to_owned()].into_iter().chain(words(arguments))) {
        Ok(matches) => {
            let name = matches.subcommand_name().unwrap_or_default();
            // Unknown commands parse, too: they are told by themselves.
            let is_known = command.get_subcommands().any(|known| known.get_name() == name);
            if is_known { Ok(Some(arguments.to_owned())) } else { Err(format!("there is no command `{name}`: {line}")) }
        }
        Err(error) if !error.use_stderr() => Ok(Some(arguments.to_owned())),
        // Inside a sentence a command is often only named.
        Err(error) if is_named_only && is_left_out(error.kind()) => Ok(None),
        Err(error) => Err(format!("{line}: {error}")),
    }
}

fn trace_lines(text: &str) -> Result<(), String> {
    let readings = reply::read(&ReaderOptions::default(), [text.as_bytes()], ReadEnd::Complete);
    let n_lines = readings.iter().filter(|reading| matches!(reading, Reading::Line(_))).count();
    let odd = readings
        .iter()
        .find(|reading| matches!(reading, Reading::Fault(_) | Reading::Prose { .. } | Reading::Ignored { .. }));
    match odd {
        Some(odd) => Err(format!("{odd:?}")),
        None if n_lines == text.lines().count() => Ok(()),
        None => Err(format!("{n_lines} trace lines in {} lines", text.lines().count())),
    }
}

/// Whether `shown` is `whole`, or, `abridged` or behind a line `…`, the lines of it that are shown stand in this order.
fn in_order(shown: &str, whole: &str, abridged: bool) -> Result<(), String> {
    let mut rest = whole.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let mut may_skip = abridged;
    for line in shown.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
        if line.trim() == "…" {
            may_skip = true;
            continue;
        }
        let found = if may_skip { rest.any(|other| other == line) } else { rest.next() == Some(line) };
        if !found {
            return Err(format!("the line `{line}` does not stand there, or not in this place:\n{whole}"));
        }
        may_skip = abridged;
    }
    match rest.next() {
        Some(line) if !may_skip => Err(format!("the line `{line}` is left out:\n{whole}")),
        _ => Ok(()),
    }
}

/// What is wrong with the blocks of a guide, each with its place.
fn offences(guide: &str, text: &str) -> Vec<String> {
    let mut state = Guide::new();
    let blocks = blocks(guide, text);
    blocks.iter().filter_map(|block| state.check(block).err().map(|why| format!("{}: {why}", block.place))).collect()
}

#[test]
fn every_code_block_is_true() {
    let offences: Vec<String> = guides().iter().flat_map(|(name, text)| offences(name, text)).collect();
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

/// Exceptions are counted, so that they stay few.
#[test]
fn few_blocks_are_fragments() {
    let all: Vec<Block> = guides().iter().flat_map(|(name, text)| blocks(name, text)).collect();
    let fragments: Vec<&str> =
        all.iter().filter(|block| block.has("fragment")).map(|block| block.place.as_str()).collect();
    assert!(all.len() > 60, "{}", all.len());
    assert!(fragments.len() * 6 <= all.len(), "{} of {}: {fragments:#?}", fragments.len(), all.len());
}

#[test]
fn commands_inside_sentences_parse() {
    let inline = Regex::new(r"`(?:[A-Z_]+=\S* )*playhouse ([^`]+)`").unwrap();
    let mut offences = Vec::new();
    let mut n_commands = 0;
    for (name, text) in guides() {
        for (index, line) in text.lines().enumerate() {
            for found in inline.captures_iter(line) {
                // `playhouse COMMAND --help` and `playhouse test [PATH…]` are forms, not commands.
                let is_form = found[1].contains(['[', '…']) || found[1].starts_with(|c: char| c.is_ascii_uppercase());
                if !is_form {
                    n_commands += 1;
                    let why = parse_command(&format!("playhouse {}", &found[1]), true).err();
                    offences.extend(why.map(|why| format!("{name}:{}: {why}", index + 1)));
                }
            }
        }
    }
    assert!(n_commands > 20, "{n_commands}");
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

#[test]
fn links_lead_somewhere() {
    let link = Regex::new(r"\]\(([^)#:\s]*)(?:#([\w-]+))?\)").unwrap();
    let mut offences = Vec::new();
    for (name, text) in guides().into_iter().chain(decisions()) {
        let folder = Path::new(&name).parent().unwrap();
        for found in link.captures_iter(&text) {
            let target = if found[1].is_empty() { PathBuf::from(&name) } else { folder.join(&found[1]) };
            let Ok(there) = fs::read_to_string(root().join(&target)) else {
                if !root().join(&target).exists() {
                    offences.push(format!("{name}: {} is not there", &found[0]));
                }
                continue;
            };
            let is_anchor = |wanted: &str| headings(&there).iter().any(|heading| heading == wanted);
            if let Some(wanted) = found.get(2).filter(|wanted| !is_anchor(wanted.as_str())) {
                offences.push(format!("{name}: {} has no heading `{}`", target.display(), wanted.as_str()));
            }
        }
    }
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

/// The headings of a text, as they are linked to.
fn headings(text: &str) -> Vec<String> {
    let anchor = |heading: &str| {
        let kept = heading.to_lowercase().replace(' ', "-");
        kept.chars().filter(|c| c.is_alphanumeric() || ['-', '_'].contains(c)).collect::<String>()
    };
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

/// Codes and kinds in the sources: the texts that `pattern` captures in these files of `src/`.
fn in_sources(folders: &[&str], pattern: &str) -> BTreeSet<String> {
    let pattern = Regex::new(pattern).unwrap();
    let mut found = BTreeSet::new();
    let mut pending: Vec<PathBuf> = folders.iter().map(|folder| root().join("src").join(folder)).collect();
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(path).unwrap();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let code: String = code.flat_map(|line| [line, "\n"]).collect();
            found.extend(pattern.captures_iter(&code).map(|captures| captures[1].to_owned()));
        }
    }
    found
}

/// The names in the first cells of the tables below a heading.
fn in_tables(text: &str, heading: &str) -> BTreeSet<String> {
    let name = Regex::new(r"`([a-z_-]+)`").unwrap();
    let section = text.split(&format!("\n## {heading}\n")).nth(1).unwrap_or_default().split("\n## ").next().unwrap();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    cells.flat_map(|cell| name.captures_iter(cell).map(|found| found[1].to_owned()).collect::<Vec<_>>()).collect()
}

#[test]
fn what_a_user_can_be_told_is_in_the_guide() {
    let guide = fs::read_to_string(root().join("docs/troubleshooting.md")).unwrap();
    let folders = [
        "lang",
        "host/checks",
        "host/component",
        "host/eval/user",
        "host/judge",
        "host/skills/folder.rs",
        "serve/cli/machinery",
    ];
    // Keys of the front matter of skills are no findings.
    let keys = ["allowed-tools", "disallowed-tools", "disable-model-invocation", "user-invocable"];
    let mut codes = in_sources(&folders, r#""([a-z]+(?:-[a-z]+)+)""#);
    codes.retain(|code| !keys.contains(&code.as_str()));
    assert!(codes.len() > 70, "{codes:?}");
    assert_eq!(in_tables(&guide, "Findings by code"), codes);
    let kinds = FaultKind::VARIANTS.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(in_tables(&guide, "A session failed"), kinds);
}

#[test]
fn triggers_are_read_as_the_guide_says() {
    let row = Regex::new(r"(?m)^\| `([^`|]+)` \| `([^`|]+)` \|$").unwrap();
    let guide = fs::read_to_string(root().join("docs/triggers.md")).unwrap();
    let rows: Vec<(&str, &str)> = row.captures_iter(&guide).map(|row| row.extract::<2>().1.into()).collect();
    assert!(rows.len() > 40, "{}", rows.len());
    let triggers: String = rows.iter().map(|(text, _)| format!("- {text}\n")).collect();
    let steps = "### Steps\n\n- Return 1\n";
    let program = format!("# Desk\n\n## Watch\n\n### Triggers\n\n{triggers}\n{steps}\n## GetOrder\n\n{steps}");
    let explained = Run::new().program(&program).line("check --explain program.md").code(0).stdout;
    for (index, (text, read_as)) in rows.iter().enumerate() {
        let text = serde_json::to_string(text).unwrap();
        let line = format!("    Watch:T{} ({read_as}): {text}\n", index + 1);
        assert!(explained.contains(&line), "no {line:?} in:\n{explained}");
    }
}

/// A guide of this text has an offence that begins like this, behind its place.
#[track_caller]
fn finds(text: &str, expected: &str) {
    let found = offences("a.md", text);
    assert!(found.iter().any(|offence| offence.contains(expected)), "{found:#?}");
}

#[test]
fn untrue_blocks_are_found() {
    let program = "# A\n\n## B\n\n### Steps\n\n- Say \"Hi.\"\n";
    assert_eq!(offences("a.md", &format!("Text.\n\n```markdown\n{program}```\n")), [""; 0]);
    finds("```markdown\n# A\n\n## B\n\n### Steps\n\n- Nowhere(3)\n```\n", "a.md:1: error[unknown-callee]");
    finds("```\nx\n```\n", "a.md:1: ` ` is no block that the tests know");
    finds("```python\nx\n```\n", "is no block that the tests know");
    finds("```text\nx\n```\n", "is no block that the tests know");
    finds("```jsonl\n{\"at\":\"01\",\"says\":\"x\"}\n```\n", "says");
    finds("```toml\nmodle = \"x\"\n```\n", "did you mean `model`?");
    finds("```json\n{\n```\n", "EOF");
    finds("```sh\nplayhouse run a.md --modle x\n```\n", "--modle");
    finds("```sh\nplayhouse rnu a.md\n```\n", "there is no command `rnu`");
    finds("```sh\nrm -rf x\n```\n", "`rm` is no program that the guides use");
    finds("```sh run\nplayhouse check nowhere.md\n```\n", "ends with Some(2)");
    finds("```text examples/hello.md\n# Helo\n```\n", "the line `# Helo` does not stand there");
    finds("```rust examples/embed/tool.rs\nuse std::error::Error;\n```\n", "is not the whole example");
    finds("```text examples/hello.test.md\nWhat is your name?\n```\n", "does not stand there");
    finds(
        &format!("```markdown b.md\n{program}```\n\n```text transcript\n$ playhouse check b.md\nHi.\n```\n"),
        "`Hi.`",
    );
    let block = "   ````text fragment\n   a\n     b\n   ```\n   ````\n";
    assert_eq!(blocks("a.md", block)[0].text, "a\n  b\n```\n");
}
