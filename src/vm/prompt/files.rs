//! The templates in `prompts/`: parts of the binary, rendered here and nowhere else.

use std::sync::OnceLock;

use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;

/// One file of `prompts/` each, by its name without ending.
const FILES: [(&str, &str); 14] = [
    ("system", include_str!("../prompts/system.md")),
    ("turn", include_str!("../prompts/turn.md")),
    ("classify", include_str!("../prompts/classify.md")),
    ("question", include_str!("../prompts/question.md")),
    ("judge", include_str!("../prompts/judge.md")),
    ("user", include_str!("../prompts/user.md")),
    ("transcript", include_str!("../prompts/transcript.md")),
    ("condition", include_str!("../prompts/condition.md")),
    ("plan", include_str!("../prompts/plan.md")),
    ("plan-mend", include_str!("../prompts/plan-mend.md")),
    ("plan-adjust", include_str!("../prompts/plan-adjust.md")),
    ("plan-jmp", include_str!("../prompts/plan-jmp.md")),
    ("plan-branch", include_str!("../prompts/plan-branch.md")),
    ("plan-dataflow", include_str!("../prompts/plan-dataflow.md")),
];

/// The template of that name, without ending, with its values (a map); nothing if there is no such template. Tests
/// render each, so that a mistake in one cannot ship.
pub fn render(template: &str, context: minijinja::Value) -> String {
    static ENVIRONMENT: OnceLock<Environment<'static>> = OnceLock::new();
    let environment = ENVIRONMENT.get_or_init(|| {
        let mut environment = Environment::new();
        if let Ok(syntax) = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build() {
            environment.set_syntax(syntax);
        }
        for (name, text) in FILES {
            let added = environment.add_template(name, text);
            debug_assert!(added.is_ok(), "{added:?}");
        }
        environment
    });
    let rendered = environment.get_template(template).and_then(|template| template.render(context));
    debug_assert!(rendered.is_ok(), "{rendered:?}");
    rendered.unwrap_or_default()
}
