//! `EditFile`: a text in a file in place of another one, which must be there once.

use playhouse_lang::diagnostic::spelling::nearest;
use playhouse_lang::program::{Parameter, TypeKind};
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::{EffectClass, ToolSignature};

use crate::text::shorten;
use crate::tool::arguments::{parameter, tool};
use crate::tool::workspace::Visit;

/// Characters of a line that are shown.
const MAX_SHOWN: usize = 200;

pub(super) fn signature(path: Parameter) -> ToolSignature {
    let old = parameter("old", TypeKind::Str, None, "the exact text to replace, with all of its spaces and line ends");
    let new = parameter("new", TypeKind::Str, None, "what to put in its place");
    let all = parameter(
        "all",
        TypeKind::Bool,
        Some(Value::Bool(false)),
        "true: replace it everywhere; else it must occur once",
    );
    let summary = "Replaces text in a file in the working directory, and returns the number of replacements.";
    tool("EditFile", vec![path, old, new, all], TypeKind::Int, summary, EffectClass::Write)
}

pub(super) fn edit(visit: Visit<'_>, arguments: &Map) -> Result<Value, String> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let (old, new) = (text("old"), text("new"));
    let fault = |cause: &str| Err(visit.fault(cause));
    if old.is_empty() {
        return fault("`old` is empty; `SaveFile` writes a whole file");
    }
    let before = visit.load()?;
    let is_all = arguments.get("all") == Some(&Value::Bool(true));
    let n_found = before.matches(old).count();
    match n_found {
        0 => return fault(&missing(&before, old)),
        1 => {}
        n if !is_all => {
            return fault(&format!("`old` occurs {n} times; give more of the text around the one you mean, or `all`"));
        }
        _ => {}
    }
    visit.save(&before.replace(old, new))?;
    Ok(Value::Int(i64::try_from(n_found).unwrap_or(i64::MAX)))
}

/// Why a text is not there, with the line of the file that is most like the longest of its own.
fn missing(text: &str, old: &str) -> String {
    let wanted = old.lines().map(str::trim).max_by_key(|line| line.len()).unwrap_or_default();
    let near = nearest(wanted, text.lines().map(str::trim).filter(|line| !line.is_empty()));
    let place = |near: &str| Some((near.to_owned(), text.lines().position(|line| line.trim() == near)? + 1));
    match near.and_then(place) {
        None => "`old` does not occur, and no line is like it; load the file and copy from it".to_owned(),
        Some((near, line)) => {
            let near = shorten(&near, MAX_SHOWN);
            format!(
                "`old` does not occur exactly like this; the nearest is line {line}: `{near}`. Spaces and line \
                 ends count"
            )
        }
    }
}
