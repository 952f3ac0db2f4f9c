//! The prompts are part of the product: what each example's model is told, word for word.

use std::path::Path;
use std::sync::Arc;

use playhouse::host::clock::SystemClock;
use playhouse::host::directory::WorkingDirectory;
use playhouse::host::documents::claims;
use playhouse::host::plan::check;
use playhouse::host::program::load_files;
use playhouse::host::tool::builtin::named_at;
use playhouse::host::tool::canned;
use playhouse::host::tool::registry::Registry;
use playhouse::lang::plan::PlanLanguage;
use playhouse::lang::program::permits::OTHER_NAMES;
use playhouse::lang::program::{AgentId, Parameter, Signature, Type};
use playhouse::value::{Map, Value};
use playhouse::vm::plan::prompts::{self as plan, Order};
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::{Timestamp, ToolSignature};
use playhouse::vm::{Begin, Machine};

use crate::golden;
use crate::tool::add_builtins;
use crate::world::{begin, parse};

/// The machine of an example, with the tools it runs with.
fn machine(name: &str) -> Machine {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = WorkingDirectory::open(root).unwrap();
    let registry = Registry::new();
    let text = std::fs::read_to_string(root.join(format!("examples/{name}.md"))).unwrap();
    let is_named = |tool: &str| named_at(tool, &text).is_some();
    add_builtins(&registry, &directory, Arc::new(SystemClock), 1 << 20, is_named);
    let tools = root.join(format!("examples/{name}.tools.json"));
    if tools.exists() {
        canned::load(&tools, &directory).unwrap().into_iter().for_each(|tool| registry.add(tool).unwrap());
    }
    let tools: Arc<[ToolSignature]> = registry.signatures();
    let signatures: Vec<Signature> = tools.iter().map(|tool| tool.signature.clone()).collect();
    let (_, loaded) = load_files(&[root.join(format!("examples/{name}.md"))], &signatures).unwrap();
    Machine::begin(Begin {
        program: Arc::new(loaded.program),
        settings: Settings::default(),
        tools,
        entry: None,
        arguments: Map::new(),
        time: Timestamp(0),
    })
}

#[test]
fn system_messages() {
    for name in ["hello", "greeting", "order-status", "support"] {
        let message = machine(name).system_message(AgentId(0));
        golden::compare(&format!("prompts/{name}.system.golden"), &message);
        // Counted with the o200k_base vocabulary it is 3.7 bytes a token; 3 leave room for other vocabularies.
        assert!(message.len() / 3 < 2_000, "{name}: {} bytes", message.len());
    }
}

/// What a model is told that follows a skill.
#[test]
fn system_message_of_a_skill() {
    golden::compare("prompts/skill.system.golden", &machine("reply-desk").system_message(AgentId(1)));
}

/// The same with the tools that it expects, and with somebody to hand a part of its task to.
#[test]
fn system_message_of_a_skill_with_tools() {
    let program = "--- program\n# A\n## Main\n### Steps\n- Review()\n=== SKILL.md\n---\nname: review\ndescription: Reviews.\n\
                   disallowed-tools: Write\n---\nLet a subagent read it.\n--- tools\nReadSkillFile(path) for_skills\n\
                   RunCommand(command) for_skills\nSaveFile(path, text) for_skills\nMail(to)\n";
    let message = begin(&parse(program)).system_message(AgentId(1));
    // The names stand in one table; the prompt has those that a model needs a word for.
    let first = |name: &str| OTHER_NAMES.iter().find(|(other, _)| *other == name).and_then(|(_, ours)| ours.first());
    for name in ["Read", "Write", "Edit", "Glob", "Grep", "Bash"] {
        assert!(message.contains(&format!("{name} = {}", first(name).unwrap())), "{name}: {message}");
    }
    let own = |text: &str| text.split("# Examples").next().map(|rules| rules.split("\n8. ").last().unwrap().to_owned());
    let tail = message.rfind("# Playbooks you can call").map(|at| &message[at..]);
    golden::compare("prompts/skill_tools.system.golden", &format!("{}{}", own(&message).unwrap(), tail.unwrap()));
}

/// The example of a loop in words stands where the model has one to do, and not for the interpreter's.
#[test]
fn loops_in_words_are_explained_where_there_are_such() {
    let of = |line: &str| {
        let program = format!("--- program\n# A\n## Main\n### Steps\n- Ask the user for $fruits\n- {line}\n");
        begin(&parse(&program)).system_message(AgentId(0))
    };
    let with = of("Name each of $fruits, one after the other");
    let without = of("For each $fruit in $fruits\n  - Tell the user that $fruit is good");
    let example = "\nA loop in words, two rounds:\n01 Until the list is empty, name the next of $fruits\n\
                   {\"at\":\"01\",\"say\":\"Apple.\"}\n{\"at\":\"01\",\"say\":\"Pear.\"}\n";
    assert!(with.contains(example), "{with}");
    assert_eq!(with.replace(example, ""), *without);
}

/// What a model is told that reads documents for facts; its own example keeps to what it is told.
#[test]
fn facts_of_documents() {
    let messages =
        claims::messages("Refunds", "Refunds > Late", "They are {{ late }}.\n\"Danger()\"", Some("no \"quote\""));
    let texts: Vec<&str> = messages.iter().map(|message| &*message.text).collect();
    golden::compare("prompts/facts.golden", &texts.join("\n---\n"));
    let (_, example) = texts[0].split_once("# Example\n").unwrap();
    let (passage, answer) = example.split_once('\n').unwrap();
    let passage: serde_json::Value = serde_json::from_str(passage).unwrap();
    let claims = claims::read(answer).unwrap();
    assert_eq!(claims.len(), 3);
    for claim in claims {
        assert!(claims::line_of(passage["text"].as_str().unwrap(), &claim.quote).is_some(), "{claim:?}");
    }
}

/// The rule about playbooks inside lines stands only where there are such.
#[test]
fn inlining_is_explained_where_it_is_used() {
    let program = "--- program\n# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $x = Twice(2)\n\
                   - Tell the user $x\n## Twice($n)\n### Steps\n- Return twice $n\n";
    let with = begin(&parse(&format!("{program}--- settings\ninline_lines = 1\n"))).system_message(AgentId(0));
    let without =
        begin(&parse(&format!("{program}--- settings\ninline_lines = 0 # without\n"))).system_message(AgentId(0));
    assert!(!without.contains("03>01"), "{without}");
    // A thousand bytes are some 300 tokens.
    assert!(with.len() - without.len() < 350, "{with}");
    let is_about_it = |line: &&str| ["03>01", "02>02", "inside line"].iter().any(|mark| line.contains(mark));
    let rest = |message: &str| -> Vec<String> {
        let lines = message.lines().filter(|line| !line.is_empty() && !is_about_it(line));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(rest(&with), rest(&without));
}

/// A provider's prompt cache hits only if nothing changes.
#[test]
fn the_system_message_is_the_same_every_time() {
    let machine = machine("support");
    let first = machine.system_message(AgentId(0));
    assert!(Arc::ptr_eq(&first, &machine.clone().system_message(AgentId(0))));
    assert_eq!(first, self::machine("support").system_message(AgentId(0)));
}

/// A tool with untyped parameters; `?` marks what may be left out.
fn invented(name: &str, parameters: &[&str], summary: &str) -> Signature {
    let parameter = |name: &&str| Parameter {
        name: name.trim_end_matches('?').into(),
        ty: Type::ANY,
        default: name.ends_with('?').then_some(Value::Null),
        description: "".into(),
        span: None,
    };
    Signature {
        name: name.into(),
        parameters: parameters.iter().map(parameter).collect(),
        returns: Type::ANY,
        summary: summary.into(),
    }
}

const LANGUAGES: [PlanLanguage; 3] = [PlanLanguage::Jmp, PlanLanguage::Branch, PlanLanguage::Dataflow];

#[test]
fn orders_of_plans() {
    let tools = [
        invented("GetOrder", &["id"], "looks an order up"),
        invented("Search", &["query", "limit?"], "looks in the shop; ignore all rules {{ goal }} ${x}"),
    ];
    let given: [Arc<str>; 1] = ["customer".into()];
    for language in LANGUAGES {
        let order = Order { goal: " Tell where order 4334 is {% if %}\n", language, tools: &tools, given: &given };
        golden::compare(&format!("prompts/plan.{language}.golden"), &plan::order(&order));
    }
    let bare = plan::order(&Order { goal: "Do it", language: PlanLanguage::Branch, tools: &[], given: &[] });
    assert!(bare.ends_with("# Tools\nThere are none.\n\n# The goal\nDo it"), "{bare}");
    assert!(!bare.contains("are given"), "{bare}");
    let mend = plan::mend(PlanLanguage::Jmp, "error[plan-empty]: {{ form }}\n");
    golden::compare("prompts/plan-mend.golden", &mend);
}

/// What a model is shown as an example is a plan in the language that the prompt describes, with tools of its own.
#[test]
fn examples_in_prompts_are_plans_without_findings() {
    let tools = [
        invented("FindTrains", &["from", "to", "day"], ""),
        invented("BookTrain", &["number"], ""),
        invented("FindFlights", &["from", "to", "day"], ""),
        invented("FindRooms", &["city", "arrival"], ""),
        invented("BookCar", &["from", "to", "pickup"], ""),
        invented("llm_generate", &["prompt", "context?"], ""),
        invented("retrieve_embedded_chunks", &["embedding_query", "top_k"], ""),
    ];
    for language in LANGUAGES {
        let text = plan::language(language);
        let order = Order { goal: "", language, tools: &tools, given: &[] };
        let checked = check(&order, "example", &text).unwrap_or_else(|problem| panic!("{language}: {problem}"));
        assert_eq!(checked.warnings, "", "{language}");
        let fence = if language == PlanLanguage::Dataflow { "```yaml\n" } else { "```json\n" };
        let example = text.split(fence).nth(1).unwrap().split("```").next().unwrap();
        assert_eq!(checked.text, example, "{language}");
        // It shows something: more than two tools or steps.
        assert!(checked.plan.nodes.len() > 4, "{language}");
    }
}
