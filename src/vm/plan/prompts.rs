//! What a model is asked for a plan; the templates are in `prompts/`.

use std::sync::Arc;

use minijinja::context;
use playhouse_lang::plan::PlanLanguage;
use playhouse_lang::plan::json::Dialect;
use playhouse_lang::program::Signature;
use playhouse_lang::value::Value;

use crate::plan::request::PlanContext;
use crate::prompt::files::render;
use crate::prompt::system::summary_line;
use crate::protocol::settings::Replan;
use crate::protocol::{Origin, Tracked};
use crate::variables::display::shorten;

/// The question of a condition, with the form of its answer where the author has not said it (spec `plans.md`,
/// section 1.4). Its origin is that of what went into it.
pub(crate) fn condition(
    dialect: Dialect,
    prompt: &Tracked,
    context: Option<&Tracked>,
    problem: Option<&str>,
) -> Tracked {
    let question = prompt.value().to_text();
    let says_form = match dialect {
        Dialect::Jmp => question.contains(r#""result""#),
        Dialect::Branch => question.contains("true") && question.contains("false"),
    };
    let form = match dialect {
        Dialect::Jmp => {
            r#"Answer with a JSON object and nothing else: {"result": true or false, "explanation": "one sentence"}"#
        }
        Dialect::Branch => "Answer with one word: true or false.",
    };
    let form = if says_form { "" } else { form };
    // A context that is null adds nothing, also where only its variable is.
    let shown = context.filter(|context| *context.value() != Value::Null).map(|context| context.value().to_text());
    let text = render("condition", context! { prompt => question, context => shown, form, problem });
    let provenance = context.map_or(prompt.provenance(), |context| prompt.provenance().with(context.provenance()));
    provenance.track(Value::from(text.trim_end().to_owned()))
}

/// What a model is asked for: a plan from nothing (spec `plans.md`, "What all plans share").
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// The goal of the plan, in words.
    pub goal: &'a str,
    /// The language to write it in.
    pub language: PlanLanguage,
    /// What it may call.
    pub tools: &'a [Signature],
    /// Variables that are given when it runs.
    pub given: &'a [Arc<str>],
}

/// The question for a plan.
pub fn order(order: &Order<'_>) -> String {
    let tools: Vec<String> = order.tools.iter().map(|tool| summary_line(&tool.name, tool)).collect();
    let given: Vec<String> = order.given.iter().map(ToString::to_string).collect();
    let language = language(order.language);
    let (goal, form) = (order.goal.trim(), form(order.language));
    render("plan", context! { language => language.trim(), tools, given, goal, form })
}

/// What is said of a plan that cannot be used; `problem` is what a person would be shown.
pub fn mend(language: PlanLanguage, problem: &str) -> String {
    render("plan-mend", context! { problem => problem.trim(), form => form(language) })
}

fn form(language: PlanLanguage) -> &'static str {
    match language {
        PlanLanguage::Jmp | PlanLanguage::Branch => "one JSON array",
        PlanLanguage::Dataflow => "one YAML document in a ```yaml fence",
    }
}

/// The question for a plan that goes on where one has failed (spec `plans.md`, section 2.7). `effects` are calls that
/// have been made and may have changed something; `problem` is what was wrong with the last answer.
pub(crate) fn adjust(context: &PlanContext<'_>, fault: &str, effects: &[String], problem: Option<&str>) -> Tracked {
    let settings = context.session.settings;
    let language = language(context.source.language());
    let tools = context.session.callees.tools.iter();
    let tools: Vec<String> = tools.map(|tool| summary_line(&tool.signature.name, &tool.signature)).collect();
    let variables = context.core.scope.iter();
    let variables: Vec<String> = variables
        .map(|(name, variable)| format!("{name} = {}", shorten(&variable.value, settings.shown_value_bytes)))
        .collect();
    let resume = settings.replan == Replan::Resume;
    let text = render(
        "plan-adjust",
        context! { language => language.trim(), plan => context.text(), fault, tools, variables, effects => effects.to_vec(), resume, problem },
    );
    Tracked::new(Value::from(text), Origin::CODE)
}

/// The specification of a language of plans, as a model reads it.
pub fn language(language: PlanLanguage) -> Arc<str> {
    let template = match language {
        PlanLanguage::Jmp => "plan-jmp",
        PlanLanguage::Branch => "plan-branch",
        PlanLanguage::Dataflow => "plan-dataflow",
    };
    render(template, context! {}).trim().into()
}
