//! The airline of `tests/third_party/tau2`, beside requests that were recorded with a live model.
//!
//! The recording is of commit 1d9ff0b: 73 requests of five conversations, with the program as it was then. In the
//! repository are the prompt tokens of its requests (`recorded.json`), what the tools gave (`tools.json`), and the
//! conversations twice: with the program of the recording, which compares the machine alone, and written for the lines
//! of today's program. Each says which recorded request the request of each reply is in the same state as: the one in
//! which the model knew and did the same.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use playhouse::host::clock::SystemClock;
use playhouse::host::directory::WorkingDirectory;
use playhouse::host::equipment::declaration::{Declarations, of_program};
use playhouse::host::equipment::{Equipment, Reach, Surroundings};
use playhouse::host::program::load_texts;
use playhouse::host::secrets::Secrets;
use playhouse::host::skills::known::KnownSkills;
use playhouse::host::tool::plugin::Packages;
use playhouse::host::tool::registry::Registry;
use playhouse::host::tool::workspace::command::Commands;
use playhouse::host::tool::{CallContext, Tool, ToolFuture, canned};
use playhouse::lang::SourceText;
use playhouse::lang::program::Signature;
use playhouse::value::Map;
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::{StartCall, ToolSignature};

use crate::counted::{conversation, play, thousands};

/// The conversations, in the order of the recording.
const CONVERSATIONS: [&str; 5] = ["delay", "refusal", "bags", "changes", "booking"];

/// What is compared with the recording.
struct Side {
    folder: &'static str,
    title: &'static str,
    /// How many percent less the same turns are to cost.
    aim: f64,
}

const SIDES: [Side; 2] = [
    Side { folder: "recorded", title: "The program of the recording, so this compares the machine", aim: 10.0 },
    Side {
        folder: "mended",
        title: "The program as it is in `tests/third_party/tau2` now, so this compares both",
        aim: 25.0,
    },
];

/// A tool as its plugin declares it, with recorded answers.
struct Recorded {
    declared: Arc<dyn Tool>,
    answers: Arc<dyn Tool>,
}

impl Tool for Recorded {
    fn signature(&self) -> ToolSignature {
        self.declared.signature()
    }

    fn begun(&self, session: &str, call: &StartCall) {
        self.answers.begun(session, call);
    }

    fn call(&self, context: CallContext, arguments: Map) -> ToolFuture<'_> {
        self.answers.call(context, arguments)
    }
}

/// Requests and their prompt tokens.
#[derive(Clone, Copy, Default)]
struct Sum {
    n_requests: usize,
    tokens: usize,
}

impl Sum {
    fn of<'a>(tokens: impl IntoIterator<Item = &'a usize>) -> Sum {
        tokens.into_iter().fold(Sum::default(), |sum, tokens| sum.plus(Sum { n_requests: 1, tokens: *tokens }))
    }

    fn plus(self, other: Sum) -> Sum {
        Sum { n_requests: self.n_requests + other.n_requests, tokens: self.tokens + other.tokens }
    }
}

/// A conversation then and now: all of it, and the requests in the same state.
#[derive(Clone, Copy, Default)]
struct Compared {
    all_then: Sum,
    all_now: Sum,
    same_then: Sum,
    same_now: Sum,
}

impl Compared {
    fn plus(self, other: Compared) -> Compared {
        Compared {
            all_then: self.all_then.plus(other.all_then),
            all_now: self.all_now.plus(other.all_now),
            same_then: self.same_then.plus(other.same_then),
            same_now: self.same_now.plus(other.same_now),
        }
    }

    /// By how many percent the same turns cost less.
    fn saved(self) -> f64 {
        let [then, now] = [self.same_then, self.same_now].map(|sum| f64::from(u32::try_from(sum.tokens).unwrap()));
        (1.0 - now / then) * 100.0
    }
}

/// Plays the conversations and compares; what misses the aim is told to `misses`.
pub(crate) async fn compare(folder: &Path, misses: &mut Vec<String>) -> String {
    let text = std::fs::read_to_string(folder.join("recorded.json")).unwrap();
    let recorded: BTreeMap<String, BTreeMap<usize, usize>> = serde_json::from_str(&text).unwrap();
    let mut text = HEAD.to_owned();
    for Side { folder: side, title, aim } in SIDES {
        let mut all = Compared::default();
        let _ = write!(text, "\n{title}:\n\n{COLUMNS}");
        for name in CONVERSATIONS {
            match compare_one(&folder.join(side), name, &recorded[name]).await {
                Ok(compared) => {
                    write_row(&mut text, name, compared);
                    all = all.plus(compared);
                }
                Err(problem) => misses.push(format!("airline, {side}, {name}: {problem}")),
            }
        }
        write_row(&mut text, "all", all);
        if all.saved() < aim {
            misses.push(format!("airline, {side}: {:.1} % less in the same turns, {aim} % were aimed at", all.saved()));
        }
    }
    text.push_str(FOOT);
    text
}

const HEAD: &str = "
## The airline, beside a recording

Five conversations with the airline of `tests/third_party/tau2`, beside the requests that a live model was sent in the
same conversations by commit 1d9ff0b. A request is in the same state as a recorded one if the model knows the same and
does the same in its reply; which ones are is written in `benches/calls/airline/`. Requests that one side alone has are
in the last two columns only.
";

const COLUMNS: &str = "\
| conversation | requests in the same state | their prompt tokens then | now | less | all requests then: prompt tokens | all requests now: prompt tokens |
| --- | --- | --- | --- | --- | --- | --- |
";

const FOOT: &str = "
The tokens of then are counted over the recorded requests in the way of all others here. The customers' words and the
tools' answers are the recorded ones (data of tau2-bench, under the licence beside them), and so are the model's words where the program
has a line for them. Two tools that the plugin had for its test alone, and the lines that called one of them, are gone
from both programs: about 35 tokens of each recorded request. With the program of the recording, playbooks do not see
any more what others have left behind and nobody names: of that the recorded model made use, and today's would have to
read some of it again. The program as it is now passes it on.
";

fn write_row(rows: &mut String, name: &str, compared: Compared) {
    let Compared { all_then, all_now, same_then, same_now } = compared;
    let _ = writeln!(
        rows,
        "| {name} | {} | {} | {} | {:.1} % | {}: {} | {}: {} |",
        same_now.n_requests,
        thousands(same_then.tokens),
        thousands(same_now.tokens),
        compared.saved(),
        all_then.n_requests,
        thousands(all_then.tokens),
        all_now.n_requests,
        thousands(all_now.tokens),
    );
}

async fn compare_one(folder: &Path, name: &str, recorded: &BTreeMap<usize, usize>) -> Result<Compared, String> {
    let path = folder.join(format!("{name}.test.md"));
    let answered = answered(&std::fs::read_to_string(&path).map_err(|cause| cause.to_string())?)?;
    let file = conversation(&path)?;
    let program = folder.join(&file.program).canonicalize().map_err(|cause| cause.to_string())?;
    let text = std::fs::read_to_string(&program).map_err(|cause| cause.to_string())?;
    let root = SourceText { name: program.display().to_string(), text };
    let tools = equipped(&root, &folder.join(file.tools.as_ref().ok_or("it names no tools")?)).await?;
    let cost = play(file.steps, tools, root).await?;
    if cost.tokens.len() != answered.len() {
        return Err(format!("{} requests were made, {} are named", cost.tokens.len(), answered.len()));
    }
    let named = || answered.iter().zip(&cost.tokens).filter_map(|(request, tokens)| Some(((*request)?, tokens)));
    let unknown = named().find(|(request, _)| !recorded.contains_key(request));
    if let Some((request, _)) = unknown {
        return Err(format!("request {request} was not recorded in this conversation"));
    }
    Ok(Compared {
        all_then: Sum::of(recorded.values()),
        all_now: Sum::of(&cost.tokens),
        same_then: Sum::of(named().map(|(request, _)| &recorded[&request])),
        same_now: Sum::of(named().map(|(_, tokens)| tokens)),
    })
}

/// The recorded request that the request of each reply answers to, in order; `–` where there is none.
fn answered(text: &str) -> Result<Vec<Option<usize>>, String> {
    const KEY: &str = "Recorded requests in the same states: ";
    let line = text.lines().find_map(|line| line.strip_prefix(KEY)).ok_or("it does not name recorded requests")?;
    let words = line.trim_end_matches('.').split(' ');
    words.map(|word| if word == "–" { Ok(None) } else { word.parse().map(Some).map_err(|_| word.to_owned()) }).collect()
}

/// The tools that the program declares, as it declares them; those of the plugin answer as recorded, and no process is
/// started.
async fn equipped(root: &SourceText, answers: &Path) -> Result<Registry, String> {
    let folder = Path::new(&root.name).parent().unwrap_or(Path::new("."));
    let mut read = |_: &Path| Err("only the library is imported here".into());
    let (_, loaded) = load_texts(vec![root.clone()], &[] as &[Signature], &mut read);
    let declared = Declarations::read(&[], &of_program(&loaded.program.settings, &loaded.program.sources))
        .map_err(|error| error.to_string())?;
    let around = Surroundings {
        working_directory: folder,
        canned: Vec::new(),
        tools: &[],
        clock: Arc::new(SystemClock),
        commands: Commands::default(),
        max_bytes: Settings::default().value_bytes,
        environment: Vec::new(),
        variable: &|_| None,
        secrets: Arc::<Secrets>::default(),
        models: Arc::new(|_, _| Err("no model is a resource here".to_owned())),
        embedders: Arc::new(|id, _| Err(format!("`{id}` is not asked here"))),
        skills: KnownSkills::default(),
        packages: Packages::default(),
    };
    let equipment = Equipment::open(&declared, &around, Reach::Survey).await.map_err(|error| error.to_string())?;
    let text = std::fs::read_to_string(answers).map_err(|cause| cause.to_string())?;
    let directory = WorkingDirectory::open(folder).map_err(|cause| cause.to_string())?;
    let answers = canned::from_text(&text, &directory)?;
    let registry = Registry::new();
    for signature in equipment.tools.signatures().iter() {
        let name = &signature.signature.name;
        let declared = equipment.tools.get(name).ok_or("a tool without itself")?;
        let answers = answers.iter().find(|tool| tool.signature().signature.name == *name).cloned();
        let tool: Arc<dyn Tool> = match answers {
            Some(answers) => Arc::new(Recorded { declared, answers }),
            None => declared,
        };
        registry.replace(tool).map_err(|error| error.to_string())?;
    }
    Ok(registry)
}
