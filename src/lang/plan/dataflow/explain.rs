//! Dataflow documents as text: what is evaluated in which order, as an outline and as a flowchart; expressions as
//! they were read.

use std::fmt::Write as _;

use crate::plan::dataflow::types::{Alias, AliasBody, AliasId, Dataflow, Expr, ExprKind};
use crate::plan::wording::shown;
use crate::value::json::quoted;
use crate::value::markup::mermaid_text;

/// The order of evaluation, one numbered step after the other: what stands in one step needs nothing of each other
/// and runs at once (spec `plans.md`, 3.3). What is never evaluated, and parameters, stand around it. Ends with a
/// line break.
pub fn outline(dataflow: &Dataflow) -> String {
    let mut text = String::new();
    let parameters = dataflow.aliases.iter().filter(|alias| matches!(alias.body, AliasBody::Parameter));
    let parameters: Vec<&str> = parameters.map(|alias| &*alias.name).collect();
    // Writing to a `String` can't fail.
    if !parameters.is_empty() {
        let _ = writeln!(text, "parameters: {}", parameters.join(", "));
    }
    for (step, number) in steps(dataflow).iter().zip(1..) {
        if let [only] = &**step {
            let _ = writeln!(text, "{number}. {}", line(dataflow, only));
            continue;
        }
        let _ = writeln!(text, "{number}. at the same time");
        for alias in step {
            let _ = writeln!(text, "   {}", line(dataflow, alias));
        }
    }
    let others: Vec<&str> =
        dataflow.aliases.iter().filter(|alias| !alias.reachable).map(|alias| &*alias.name).collect();
    if !others.is_empty() {
        let _ = writeln!(text, "never evaluated: {}", others.join(", "));
    }
    text
}

/// The aliases that the result is made of, parameters left out, by how many others must be done before. What is in
/// a circle is in no step.
fn steps(dataflow: &Dataflow) -> Vec<Vec<&Alias>> {
    let aliases = &dataflow.aliases;
    let mut users = vec![Vec::new(); aliases.len()];
    let mut n_missing = vec![0_usize; aliases.len()];
    for (index, alias) in aliases.iter().enumerate().filter(|(_, alias)| alias.reachable) {
        n_missing[index] = alias.needs.len();
        alias.needs.iter().for_each(|need| users[need.0 as usize].push(index));
    }
    let is_ready = |(index, alias): &(usize, &Alias)| alias.reachable && n_missing[*index] == 0;
    let ready = aliases.iter().enumerate().filter(is_ready);
    let mut ready: Vec<usize> = ready.map(|(index, _)| index).collect();
    let mut depth = vec![0_usize; aliases.len()];
    let mut steps: Vec<Vec<usize>> = Vec::new();
    while let Some(index) = ready.pop() {
        let is_parameter = matches!(aliases[index].body, AliasBody::Parameter);
        if !is_parameter {
            if steps.len() <= depth[index] {
                steps.resize(depth[index] + 1, Vec::new());
            }
            steps[depth[index]].push(index);
        }
        for user in &users[index] {
            depth[*user] = depth[*user].max(depth[index] + usize::from(!is_parameter));
            n_missing[*user] -= 1;
            if n_missing[*user] == 0 {
                ready.push(*user);
            }
        }
    }
    steps.iter_mut().for_each(|step| step.sort_unstable());
    steps.iter().map(|step| step.iter().map(|index| &aliases[*index]).collect()).collect()
}

/// What an alias is bound to, in a few words.
pub(crate) fn does(alias: &Alias) -> String {
    match &alias.body {
        AliasBody::Parameter => "given by the caller".to_owned(),
        AliasBody::Text(_) => "text".to_owned(),
        AliasBody::Domains(domains) => {
            let names: Vec<&str> = domains.iter().map(|domain| &*domain.name).collect();
            format!("calls {}", names.join(", "))
        }
    }
}

fn line(dataflow: &Dataflow, alias: &Alias) -> String {
    let needs: Vec<&str> = alias.needs.iter().map(|need| name(dataflow, *need)).collect();
    let made_of = if needs.is_empty() { String::new() } else { format!("; uses {}", needs.join(", ")) };
    format!("{}: {}{made_of}", alias.name, does(alias))
}

fn name(dataflow: &Dataflow, id: AliasId) -> &str {
    dataflow.aliases.get(id.0 as usize).map_or("?", |alias| &alias.name)
}

/// A Mermaid flowchart: a box per alias with the domains it calls, an arrow from each alias to what is made of it.
/// Names are written in a way that none of them can become syntax. Ends with a line break.
pub fn mermaid(dataflow: &Dataflow) -> String {
    let mut text = "flowchart TD\n".to_owned();
    for (index, alias) in dataflow.aliases.iter().enumerate() {
        let mut label = mermaid_text(&shown(&alias.name));
        for domain in alias.domains() {
            let _ = write!(label, "<br/>{}", mermaid_text(&shown(&domain.name)));
        }
        let (open, close) = match &alias.body {
            AliasBody::Parameter => ("[/", "/]"),
            AliasBody::Text(_) => ("(", ")"),
            AliasBody::Domains(_) => ("[", "]"),
        };
        let class = if alias.reachable { "" } else { ":::unused" };
        let _ = writeln!(text, "    a{index}{open}\"{label}\"{close}{class}");
    }
    for (index, alias) in dataflow.aliases.iter().enumerate() {
        for need in &alias.needs {
            let _ = writeln!(text, "    a{} --> a{index}", need.0);
        }
    }
    if dataflow.aliases.iter().any(|alias| !alias.reachable) {
        text.push_str("    classDef unused stroke-dasharray: 3\n");
    }
    text
}

/// An expression as it was read: `outbound.departs.minus(1, hour)`.
pub fn path(dataflow: &Dataflow, expr: &Expr) -> String {
    let list = |items: &[Expr]| items.iter().map(|item| path(dataflow, item)).collect::<Vec<_>>().join(", ");
    match &expr.kind {
        ExprKind::Int(int) => int.to_string(),
        ExprKind::Str(text) => quoted(text),
        ExprKind::List(items) => format!("[{}]", list(items)),
        ExprKind::Map(members) => {
            let members = members.iter().map(|(key, value)| format!("{}: {}", quoted(key), path(dataflow, value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        ExprKind::Alias(id) => name(dataflow, *id).to_owned(),
        ExprKind::Start(start) => start.to_string(),
        ExprKind::Unit(unit) => unit.to_string(),
        ExprKind::Relative(relative, unit) => format!("{relative}({unit})"),
        ExprKind::Member(base, name) => format!("{}.{name}", path(dataflow, base)),
        ExprKind::Index(base, index) => format!("{}[{index}]", path(dataflow, base)),
        ExprKind::Method(base, method, arguments) => {
            format!("{}.{method}({})", path(dataflow, base), list(arguments))
        }
    }
}
