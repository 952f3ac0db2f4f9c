//! Tools as test cases write them: `Name(a, b = 3) read_only ask to:user+code doc:assets schema:{…}`.

use playhouse::lang::program::{Parameter, Signature, Type};
use playhouse::value::Value;
use playhouse::vm::protocol::Origin;
use playhouse::vm::protocol::{Approval, EffectClass, ParameterRule, ToolSignature};

/// Reads one line.
pub(crate) fn tool(line: &str) -> ToolSignature {
    let (name, rest) = line.split_once('(').unwrap();
    let (parameters, words) = rest.split_once(')').unwrap();
    let parameters = parameters.split(',').map(str::trim).filter(|parameter| !parameter.is_empty());
    let parameters = parameters.map(|parameter| {
        let (name, default) = match parameter.split_once('=') {
            Some((name, default)) => (name.trim(), Some(Value::from_json(default.trim()).unwrap())),
            None => (parameter, None),
        };
        Parameter { name: name.into(), ty: Type::ANY, default, description: "".into(), span: None }
    });
    let parameters = parameters.collect();
    let signature = Signature { name: name.trim().into(), parameters, returns: Type::ANY, summary: "".into() };
    let mut tool = ToolSignature::new(signature, EffectClass::Write);
    for word in words.split_whitespace() {
        match word.split_once(':') {
            None => match word {
                "write" => {}
                "read_only" => tool.effect = EffectClass::ReadOnly,
                "idempotent" => tool.effect = EffectClass::Idempotent,
                "ask" => tool.approval = Approval::Ask,
                "unpermitted" => tool.approval = Approval::Unpermitted,
                "for_skills" => tool.is_for_skills = true,
                other => panic!("{other} is no word about a tool"),
            },
            Some(("schema", schema)) => tool.schema = Some(schema.into()),
            Some(("about", about)) => tool.about = Some(about.replace('_', " ").into()),
            Some((name, demands)) => {
                let takes_assets = demands == "assets";
                let sources = demands.split('+').filter_map(Origin::named);
                let accepts = if takes_assets { Origin::ALL } else { sources.fold(Origin::default(), Origin::with) };
                // `*` stands for all arguments together.
                tool.rules.push(ParameterRule {
                    parameter: name.trim_start_matches('*').into(),
                    accepts,
                    takes_assets,
                });
            }
        }
    }
    tool
}
