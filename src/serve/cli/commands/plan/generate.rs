//! `playhouse plan generate GOAL`: a plan that a model writes, checked, mended, written to a file or run.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};

use crate::host::launch::{Choices, Launch};
use crate::host::llm::Llm;
use crate::host::plan::{self, GenerateError, Generated, file_ending};
use crate::host::text::shorten;
use crate::host::tool::registry::Registry;
use crate::host::tool::retrieval::Retrieval;
use crate::lang::plan::{PlanLanguage, outline, read_plan};
use crate::lang::program::{FrontMatter, Signature};
use crate::serve::cli::commands::run;
use crate::serve::cli::machinery::console::{Console, Exit, Failure, clean, count, put};
use crate::serve::cli::machinery::ending::tell_left_over;
use crate::serve::cli::machinery::runtime::Runtime;
use crate::serve::cli::machinery::world::{launch_failure, workshop};
use crate::span::FileId;
use crate::value::{Map, Value};
use crate::vm::plan::LLM_GENERATE;
use crate::vm::plan::prompts::Order;

/// Of a reply that could not be used, so many characters are shown.
const SHOWN_REPLY: usize = 8_000;

const EXAMPLES: &str = "\
Examples:
  playhouse plan generate 'Tell where order 4334 is' --tools tools.json --model openai:gpt-4.1-mini
  playhouse plan generate 'Plan a trip to Rome' --tools tools.json --out trip.yaml
  playhouse plan generate 'Refund the order' --tools tools.json --arg order_id=4334 --run";

/// Has a model write a plan for a goal
///
/// The plan is checked as `check` does it; if something is wrong with it, the model is told and tries again. It goes
/// to standard output, or to the file of --out
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GenerateArguments {
    /// The goal of the plan, in your own words
    goal: String,
    /// The language of the plan [default: what the name in --out says, else jmp]
    #[arg(long, value_enum)]
    dialect: Option<Language>,
    /// A file of canned tools (repeatable)
    #[arg(long, value_name = "FILE")]
    tools: Vec<PathBuf>,
    /// The model, as for `run`
    #[arg(long, value_name = "ID")]
    model: Option<String>,
    /// An OpenAI-compatible server, such as http://127.0.0.1:8080/v1
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The configuration file [default: playhouse.toml beside the file of --out, else in the current folder]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A variable that the plan receives and may read; with --run, its value as JSON or text (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = run::argument)]
    arg: Vec<(Arc<str>, Value)>,
    /// The file to write the plan to: `.jmp.json`, `.branch.json`, `.json` or `.yaml`
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Overwrite the file of --out if it exists
    #[arg(long, requires = "out")]
    force: bool,
    /// Run the plan, as `run` does; its value goes to standard output
    #[arg(long)]
    run: bool,
    /// How many times at most to ask the model; from the second time on it is told what was wrong
    #[arg(long, value_name = "N", default_value_t = plan::ATTEMPTS, value_parser = clap::value_parser!(u32).range(1..=20))]
    attempts: u32,
    /// The folder that file tools must stay inside [default: .]
    #[arg(long, value_name = "DIR")]
    working_directory: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Language {
    /// JSON: tool calls and jumps
    Jmp,
    /// JSON: questions to a model, retrieval and branches; calls no other tools
    Branch,
    /// YAML: values made from other values; independent ones run at the same time
    Dataflow,
}

impl Language {
    fn language(self) -> PlanLanguage {
        match self {
            Language::Jmp => PlanLanguage::Jmp,
            Language::Branch => PlanLanguage::Branch,
            Language::Dataflow => PlanLanguage::Dataflow,
        }
    }
}

/// Has a plan written.
pub(crate) fn generate(console: &Console, arguments: &GenerateArguments) -> Result<Exit, Failure> {
    if arguments.goal.trim().is_empty() {
        return Err(Failure::wrong("the goal is empty; say what the plan should achieve"));
    }
    let language = language(arguments)?;
    if let Some(out) = &arguments.out {
        check_out(out, arguments.force)?;
    }
    let choices = Choices {
        model: arguments.model.clone(),
        base_url: arguments.base_url.clone(),
        config: arguments.config.clone(),
        tools: arguments.tools.clone(),
        working_directory: arguments.working_directory.clone(),
        ..Choices::default()
    };
    let mut launch = Launch::new(workshop(console), choices);
    let name = match &arguments.out {
        Some(out) => out.display().to_string(),
        None => format!("plan{}", file_ending(language)),
    };
    let runtime = Runtime::for_one()?;
    let failure = |error| launch_failure(console, error);
    let front_matter = FrontMatter::default();
    let chosen = runtime.block_on(launch.choose_model(Path::new(&name), &front_matter)).map_err(failure)?;
    console.remark(chosen.reason.as_deref().unwrap_or_default());
    let llm = runtime.block_on(launch.open_model(&chosen)).map_err(failure)?;
    let equipment = runtime.block_on(launch.tools_for_plan(Path::new(&name))).map_err(failure)?;
    let tools = tools(&equipment.tools, language);
    if language == PlanLanguage::Branch && !arguments.tools.is_empty() {
        console.warning(
            "a plan with branches calls no tools but the model and retrieval; with --dialect jmp it can call all tools",
        );
    }
    let given: Vec<Arc<str>> = arguments.arg.iter().map(|(name, _)| name.clone()).collect();
    let order = Order { goal: &arguments.goal, language, tools: &tools, given: &given };
    runtime.block_on(async {
        let generated = ask(console, &*llm, &order, &name, arguments.attempts).await?;
        console.tell(&generated.warnings);
        deliver(console, arguments, language, &generated)?;
        if !arguments.run {
            let has_failed = tell_left_over(console, &llm.left_over(), true);
            return Ok(if has_failed { Exit::Failed } else { Exit::Finished });
        }
        // What is about to be done is shown before it is.
        console.remark(outline(&generated.plan).trim_end());
        launch.llm = Some(llm);
        let given: Map = arguments.arg.iter().cloned().collect();
        run::run_plan(console, &launch, equipment, (&name, &generated.text), given).await
    })
}

/// `--dialect`, and what the name in `--out` says: both must say the same.
fn language(arguments: &GenerateArguments) -> Result<PlanLanguage, Failure> {
    let wanted = arguments.dialect.map(Language::language);
    let Some(out) = &arguments.out else { return Ok(wanted.unwrap_or(PlanLanguage::Jmp)) };
    let name = out.display();
    let wrong = |what: &str| Failure::wrong(format!("--out {name}: {what}"));
    match (PlanLanguage::of_file(&out.to_string_lossy()), wanted) {
        (None, _) => Err(wrong("a plan's file is named `.jmp.json`, `.branch.json`, `.json` or `.yaml`")),
        (Some(Some(named)), None) => Ok(named),
        (Some(None), None) => Ok(PlanLanguage::Jmp),
        (Some(None), Some(wanted @ (PlanLanguage::Jmp | PlanLanguage::Branch))) => Ok(wanted),
        (Some(Some(named)), Some(wanted)) if named == wanted => Ok(wanted),
        (Some(_), Some(wanted)) => {
            Err(wrong(&format!("a {wanted} plan needs another name, which ends in `{}`", file_ending(wanted))))
        }
    }
}

/// Whether the plan can be written there, as far as it can be known before it is paid for.
fn check_out(out: &Path, force: bool) -> Result<(), Failure> {
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(Failure::wrong(format!("--out {}: there is no folder {}", out.display(), folder.display())));
    }
    if out.exists() && !force {
        return Err(Failure::wrong(format!(
            "--out {}: the file already exists; choose another name, or add --force",
            out.display()
        )));
    }
    Ok(())
}

/// What the plan may call: what makes sense in its language, and works here.
fn tools(registry: &Registry, language: PlanLanguage) -> Vec<Signature> {
    let mut tools: Vec<Signature> = registry.signatures().iter().map(|tool| tool.signature.clone()).collect();
    if language == PlanLanguage::Branch {
        // Its instructions name what they call.
        let is_instruction = |name: &str| Retrieval::ALL.iter().any(|tool| *tool.signature().signature.name == *name);
        tools.retain(|tool| *tool.name == *LLM_GENERATE || is_instruction(&tool.name));
    }
    tools
}

async fn ask(
    console: &Console,
    llm: &dyn Llm,
    order: &Order<'_>,
    name: &str,
    n_attempts: u32,
) -> Result<Generated, Failure> {
    let mut told = |n: u32, problem: &str| {
        let n_errors = problem.lines().filter(|line| line.starts_with("error")).count();
        let what = if n_errors == 0 { problem.to_owned() } else { format!("it has {}", count(n_errors, "error")) };
        console.remark(&format!("reply {n} of at most {n_attempts} cannot be used: {what}; the model is asked again"));
    };
    match plan::generate(llm, order, name, n_attempts, &mut told).await {
        Ok(generated) => Ok(generated),
        Err(GenerateError::Model(reason)) => {
            Err(Failure::failed(format!("the model could not be asked for a plan: {reason}")))
        }
        Err(GenerateError::Unusable { n_asked, problem, reply }) => {
            console.tell(&format!("{}\n\nthe last reply:\n", problem.trim_end()));
            console.tell(&format!("{}\n\n", clean(&shorten(&reply, SHOWN_REPLY))));
            let times = count(n_asked, "time");
            Err(Failure::failed(format!(
                "there is no plan: the model was asked {times}, and no reply could be used; state the goal more \
                 exactly, name the tools it needs with --tools, raise --attempts, or choose another model with --model"
            )))
        }
    }
}

/// Writes the plan where it is wanted. What cannot be written to its file goes to standard output: it was paid for.
fn deliver(
    console: &Console,
    arguments: &GenerateArguments,
    language: PlanLanguage,
    generated: &Generated,
) -> Result<(), Failure> {
    let Some(out) = &arguments.out else {
        return if arguments.run { Ok(()) } else { put(&generated.text) };
    };
    let written = if arguments.force {
        fs::write(out, &generated.text)
    } else {
        OpenOptions::new().write(true).create_new(true).open(out).and_then(|mut file| {
            file.write_all(generated.text.as_bytes()).inspect_err(|_| {
                // Half a plan is none; if it cannot be removed either, the message is the same.
                let _ = fs::remove_file(out);
            })
        })
    };
    if let Err(cause) = written {
        put(&generated.text)?;
        return Err(Failure::failed(format!(
            "--out {}: cannot write: {cause}; the plan is on standard output",
            out.display()
        )));
    }
    let attempts = if generated.n_asked > 1 { format!(", reply {}", generated.n_asked) } else { String::new() };
    let tools: String = arguments.tools.iter().map(|file| format!(" --tools {}", file.display())).collect();
    console.remark(&format!("{} written ({language}{attempts}); run it with: playhouse run {0}{tools}", out.display()));
    // Text that would be read as the other dialect says nothing of which one is meant.
    let (read, _) = read_plan(FileId(0), &out.to_string_lossy(), &generated.text);
    if let Some(other) = read.map(|plan| plan.language()).filter(|other| *other != language) {
        console.warning(&format!(
            "under this name it is read as a {other} plan; rename it so that it ends in `{}`",
            file_ending(language)
        ));
    }
    Ok(())
}
