//! `playhouse check FILE…`: what is wrong with a program, and what was understood of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::{Value as Json, json};

use crate::diagnostic::{Diagnostic, Severity, render};
use crate::host::launch::{Choices, Launch, surveyed};
use crate::host::program::KnownTools;
use crate::lang::LoadOptions;
use crate::lang::analysis::explain::explain_with;
use crate::lang::files::case::Case;
use crate::lang::kind::{self, Kind};
use crate::serve::cli::commands::skills::check::{Checked, check_skills};
use crate::serve::cli::machinery::console::{Console, Exit, Failure, put};
use crate::serve::cli::machinery::output::{Format, counted, json_array, n_of, table};
use crate::serve::cli::machinery::world::{launch_failure, workshop};
use crate::serve::show::merge;
use crate::serve::show::tools::about_tool;
use crate::span::{Sources, Span};
use crate::vm::protocol::ToolSignature;

const EXAMPLES: &str = "\
Examples:
  playhouse check program.md
  playhouse check --explain program.md --tools tools.json
  playhouse check trip.yaml --tools tools.json
  playhouse check shop.test.md shop.triggers.md    against the programs that they name
  playhouse check skills                           the Agent Skills in a folder and below it
  playhouse check --format json program.md";

/// Finds problems in a program, plan or test without running it and without a model
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CheckArguments {
    /// The files of a program or plan, tests, trigger tables, or folders of Agent Skills
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Also print how each part was understood: names, kinds of lines, triggers, calls
    #[arg(long)]
    explain: bool,
    /// Report what the Agent Skills validator would reject as an error, not as a warning
    #[arg(long)]
    strict: bool,
    /// The format of the findings: text on standard error, or JSON on standard output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// A file of canned tools, which count as declared (repeatable)
    #[arg(long, value_name = "FILE")]
    tools: Vec<PathBuf>,
    /// The configuration file [default: playhouse.toml beside the program]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Checks a program, or tests and trigger tables.
pub(crate) fn check(console: &Console, arguments: &CheckArguments) -> Result<Exit, Failure> {
    if arguments.explain && arguments.format == Format::Json {
        return Err(Failure::wrong("`--explain` is text for people; remove `--format json`"));
    }
    if arguments.files.iter().any(|path| path.is_dir()) {
        return check_folders(console, arguments);
    }
    if arguments.strict {
        return Err(Failure::wrong("`--strict` is about Agent Skills; name the folder of one"));
    }
    if let Some(cases) = arguments.files.iter().map(|path| read_case(path)).collect::<Option<Vec<_>>>() {
        return check_cases(console, arguments, &cases);
    }
    let (tools, config) = (arguments.tools.clone(), arguments.config.clone());
    let launch = Launch::new(workshop(console), Choices { tools, config, ..Choices::default() });
    let failure = |error| launch_failure(console, error);
    let (equipment, loaded) = launch.survey(&arguments.files).map_err(failure)?;
    for warning in &equipment.warnings {
        console.warning(warning);
    }
    let configured = launch.configure(&arguments.files, &loaded.program).map_err(failure);
    if arguments.explain {
        let signatures = equipment.tools.signatures();
        let about = |name: &str| ToolSignature::find(&signatures, name).map(about_tool).unwrap_or_default();
        put(&explain_with(&loaded.program, &about))?;
        put(&reachable(&equipment.reasons))?;
    }
    let (findings, sources) = (&loaded.diagnostics, &loaded.program.sources);
    // What is wrong with the configuration is told in place of the count.
    let exit = tell(console, arguments.format, findings, sources, configured.is_ok())?;
    configured.map(|_| exit)
}

/// The text of a test or trigger table, and what it is; none: it is neither, or cannot be read.
fn read_case(path: &Path) -> Option<(&Path, String, Kind)> {
    // What has another name is neither, and to find out what else it is takes as long as to load it.
    let name = path.to_str().filter(|name| kind::case_of(name).is_some())?;
    let text = std::fs::read_to_string(path).ok()?;
    let kind = kind::of(name, &text).filter(|kind| matches!(kind, Kind::Test | Kind::Triggers))?;
    Some((path, text, kind))
}

/// Checks tests and trigger tables, each against its program with the tools that it says.
fn check_cases(
    console: &Console,
    arguments: &CheckArguments,
    cases: &[(&Path, String, Kind)],
) -> Result<Exit, Failure> {
    if arguments.explain {
        return Err(Failure::wrong("`--explain` is about programs; name the program of the test"));
    }
    let (mut sources, mut findings) = (Sources::default(), Vec::new());
    for (path, text, kind) in cases {
        let file = sources.add(path.display().to_string(), text.as_str());
        let Some(read) = Case::read(*kind, file, text) else { continue };
        let (program, tools) = read.file.source();
        let mut choices = Choices::beside(path, tools);
        choices.tools.extend(arguments.tools.iter().cloned());
        choices.config.clone_from(&arguments.config);
        let surveyed_program = Launch::new(workshop(console), choices).survey(&[path.with_file_name(program)]);
        findings.extend(match &surveyed_program {
            Ok((equipment, loaded)) => {
                let tools = surveyed(equipment);
                let world = KnownTools::from(&tools).into();
                read.held_against(Ok((&loaded.program, &loaded.diagnostics)), &world)
            }
            Err(error) => read.held_against(Err(&error.to_string()), &LoadOptions::default()),
        });
    }
    tell(console, arguments.format, &findings, &sources, true)
}

/// Checks folders of Agent Skills.
fn check_folders(console: &Console, arguments: &CheckArguments) -> Result<Exit, Failure> {
    let file = arguments.files.iter().find(|path| !path.is_dir());
    if let Some(file) = file {
        let message =
            format!("{}: this is not a folder, but others are; check files in a command of their own", file.display());
        return Err(Failure::wrong(message));
    }
    if arguments.explain {
        return Err(Failure::wrong("`--explain` is about programs; for skills, `check` shows the same without it"));
    }
    let Checked { told, findings, sources } = check_skills(&arguments.files, arguments.strict)?;
    if arguments.format == Format::Text {
        put(&told)?;
    }
    tell(console, arguments.format, &findings, &sources, true)
}

/// Tells what was found, and how much that is if it `is_counted`.
fn tell(
    console: &Console,
    format: Format,
    findings: &[Diagnostic],
    sources: &Sources,
    is_counted: bool,
) -> Result<Exit, Failure> {
    match format {
        Format::Json => put(&to_json(findings, sources))?,
        Format::Text => {
            let shown = render(findings, sources, console.color);
            if !shown.is_empty() {
                console.tell(&format!("{shown}\n"));
            }
            if is_counted {
                console.tell(&format!("{}\n", counted(findings)));
            }
        }
    }
    Ok(if n_of(findings, Severity::Error) > 0 { Exit::Wrong } else { Exit::Finished })
}

/// What a program can reach, and why.
fn reachable(reasons: &[(Arc<str>, String)]) -> String {
    let rows = reasons.iter().map(|(name, why)| [format!("  {name}"), why.clone()]);
    if reasons.is_empty() { String::new() } else { format!("\ntools\n{}", table(rows)) }
}

/// All findings in `--format json`. A public interface: fields are added, never changed or removed.
fn to_json(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let with_place = |mut told: Json, span: Option<Span>| {
        if let Some(span) = span {
            merge(&mut told, json!(sources.file_range(span)));
        }
        told
    };
    let finding = |diagnostic: &Diagnostic| {
        let severity: &str = diagnostic.severity.into();
        let notes = diagnostic.notes.iter().map(|note| with_place(json!({"message": note.message}), note.span));
        let fix = diagnostic.fix.as_ref().map(|fix| {
            let mut told = with_place(json!({"message": fix.message}), Some(fix.span));
            told["replacement"] = json!(fix.replacement);
            told
        });
        let mut told = with_place(json!({"code": diagnostic.code, "severity": severity}), Some(diagnostic.span));
        told["message"] = json!(diagnostic.message);
        told["notes"] = notes.collect();
        told["fix"] = fix.into();
        told
    };
    json_array(diagnostics.iter().map(finding))
}
