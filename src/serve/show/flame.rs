//! A profile for programs that draw, and drawn: folded stacks, speedscope's file, a page with a flame graph.

use std::fmt::Write as _;
use std::sync::Arc;

use indexmap::IndexSet;
use serde_json::{Value as Json, json};

use crate::host::profile::{Measure, Node, Part, Profile};
use crate::serve::show::sheet::Sheet;

/// Folded stacks: `Main;Pay;03 Tell the user 120`, as flame graph programs read them. Tokens and milliseconds are whole;
/// costs are millionths.
pub(crate) fn folded(profile: &Profile, measure: Measure) -> String {
    let mut text = String::new();
    walk(&profile.root, &mut Vec::new(), &mut |path, node| {
        let weight = match measure {
            Measure::Cost => node.spent.of(measure) * 1e6,
            Measure::Tokens | Measure::Time => node.spent.of(measure),
        };
        if weight.round() > 0.0 {
            let names: Vec<String> =
                path.iter().map(|node| frame_name(node.part, &node.name).replace(';', ",")).collect();
            // Writing to a `String` can't fail.
            let _ = writeln!(text, "{} {}", names.join(";"), weight.round());
        }
    });
    text
}

/// What <https://www.speedscope.app> reads, in its own form.
pub(crate) fn speedscope(profile: &Profile, measure: Measure) -> Json {
    let mut names: IndexSet<Arc<str>> = IndexSet::new();
    let (mut samples, mut weights) = (Vec::new(), Vec::new());
    walk(&profile.root, &mut Vec::new(), &mut |path, node| {
        let weight = node.spent.of(measure);
        if weight > 0.0 {
            let stack = path.iter().map(|node| names.insert_full(frame_name(node.part, &node.name).into()).0);
            samples.push(stack.collect::<Vec<usize>>());
            weights.push(weight);
        }
    });
    let unit = match measure {
        Measure::Time => "milliseconds",
        Measure::Tokens | Measure::Cost => "none",
    };
    let name: &'static str = measure.into();
    json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": concat!("playhouse ", env!("CARGO_PKG_VERSION")),
        "name": name,
        "activeProfileIndex": 0,
        "shared": {"frames": names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()},
        "profiles": [{
            "type": "sampled",
            "name": name,
            "unit": unit,
            "startValue": 0,
            "endValue": weights.iter().sum::<f64>(),
            "samples": samples,
            "weights": weights,
        }],
    })
}

/// A page with the flame graph; `words` stand above it as markup.
pub(crate) fn page(profile: &Profile, measure: Measure, words: &str, tables: &str) -> String {
    let main = format!("{words}{CONTROLS}{tables}");
    let name: &'static str = measure.into();
    let data = json!({"measure": name, "root": node_json(&profile.root)});
    let sheet = Sheet {
        title: "Profile",
        style: include_str!("flame/flame.css"),
        main: &main,
        script: Some((include_str!("flame/flame.js"), &data)),
    };
    sheet.render()
}

const CONTROLS: &str = include_str!("flame/controls.html");

/// Each node with what it has spent itself.
fn node_json(node: &Node) -> Json {
    let part: &'static str = node.part.into();
    json!({
        "name": node.name,
        "part": part,
        "tokens": node.spent.tokens(),
        "cached": node.spent.cached_tokens,
        "time": node.spent.ms,
        "cost": node.spent.cost,
        "below": node.children.iter().map(node_json).collect::<Vec<_>>(),
    })
}

/// What a part of the tree is called where nothing else tells what it is.
pub(crate) fn frame_name(part: Part, name: &str) -> String {
    match part {
        Part::Playbook | Part::Line | Part::Dropped | Part::User | Part::Timer | Part::Question => name.to_owned(),
        Part::Prompt => format!("prompt {name}"),
        Part::Model => format!("model {name}"),
        Part::Tool => format!("tool {name}"),
        Part::Classifier => format!("classifier {name}"),
    }
}

/// Every node, with the path to it, itself included; the root, which has no name, is left out.
fn walk<'n>(node: &'n Node, path: &mut Vec<&'n Node>, visit: &mut dyn FnMut(&[&Node], &Node)) {
    for child in &node.children {
        path.push(child);
        visit(path, child);
        walk(child, path, visit);
        path.pop();
    }
}
