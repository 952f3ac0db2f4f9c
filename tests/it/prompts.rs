//! The prompts are part of the product: what each example's model is told, word for word.

use std::path::Path;
use std::sync::Arc;

use playhouse::host::clock::SystemClock;
use playhouse::host::program::load_files;
use playhouse::host::tool::builtin::{WorkingDirectory, add_builtins};
use playhouse::host::tool::canned;
use playhouse::host::tool::registry::Registry;
use playhouse::lang::program::{AgentId, Signature};
use playhouse::value::Map;
use playhouse::vm::limits::Settings;
use playhouse::vm::protocol::{Timestamp, ToolSignature};
use playhouse::vm::{Begin, Machine};

use crate::golden;
use crate::world::{begin, parse};

/// The machine of an example, with the tools it runs with.
fn machine(name: &str) -> Machine {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = WorkingDirectory::open(root).unwrap();
    let mut registry = Registry::new();
    add_builtins(&mut registry, &directory, Arc::new(SystemClock), 1 << 20);
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

/// The rule about playbooks inside lines stands only where there are such.
#[test]
fn inlining_is_explained_where_it_is_used() {
    let program = "--- program\n# A\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $x = Twice(2)\n\
                   - Tell the user $x\n## Twice($n)\n### Steps\n- Return twice $n\n";
    let with = begin(&parse(&format!("{program}--- settings\ninline_lines = 1\n"))).system_message(AgentId(0));
    let without = begin(&parse(&format!("{program}--- settings\ninline_lines = 0\n"))).system_message(AgentId(0));
    assert!(!without.contains("03>01"), "{without}");
    let rule = with.lines().find(|line| line.contains("03>01")).unwrap();
    // A thousand bytes are some 300 tokens.
    assert!(with.len() - without.len() < 350, "{rule}");
    assert_eq!(with.replace(&format!("{rule}\n"), ""), *without);
}

/// A provider's prompt cache hits only if nothing changes.
#[test]
fn the_system_message_is_the_same_every_time() {
    let machine = machine("support");
    let first = machine.system_message(AgentId(0));
    assert!(Arc::ptr_eq(&first, &machine.clone().system_message(AgentId(0))));
    assert_eq!(first, self::machine("support").system_message(AgentId(0)));
}
