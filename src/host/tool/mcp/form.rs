//! Questions of servers to a person (elicitation), one after another, and the answers as the server wants them.

use playhouse_lang::value::Value;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::Value as Json;

use super::schema::value_of;
use super::text;

/// Fields of a form at most: nobody answers more.
const MAX_FIELDS: usize = 32;

/// What is said of an answer where one of both is wanted.
const NEITHER: &str = "neither yes nor no";

/// What leaves out a field that may be left out.
const SKIP: &str = "skip";

/// A form that is filled in.
pub(super) struct Form {
    message: String,
    fields: Vec<Field>,
    /// What has been answered, in the order of the fields; none: left out.
    answers: Vec<Option<Json>>,
    action: Option<ElicitationAction>,
    wants_content: bool,
}

struct Field {
    name: String,
    label: String,
    kind: Kind,
    is_required: bool,
    default: Option<Json>,
    schema: Json,
}

enum Kind {
    /// The form has no fields: shall it be done?
    Confirmation,
    Bool,
    Text,
    Int,
    Number,
    /// Values and what they are called.
    One(Vec<(String, String)>),
    Several(Vec<(String, String)>),
}

impl Form {
    /// The form of a request; none for one that cannot be shown.
    pub(super) fn new(request: &ElicitRequestParams) -> Option<Form> {
        let (message, fields, wants_content) = match request {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let schema = serde_json::to_value(requested_schema).ok()?;
                let required = schema.get("required").and_then(Json::as_array).cloned().unwrap_or_default();
                let properties = schema.get("properties").and_then(Json::as_object)?;
                if properties.len() > MAX_FIELDS {
                    return None;
                }
                let is_required = |name: &str| required.iter().any(|it| it.as_str() == Some(name));
                let fields = properties.iter().map(|(name, it)| Field::new(name, it, is_required(name)));
                (text::lines(message, text::MAX_QUESTION), fields.collect(), true)
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                let message = text::lines(message, text::MAX_QUESTION);
                let url = text::words(url, text::MAX_ERROR);
                let words = "It wants you to open this address yourself, if you trust it";
                (format!("{message}\n{words}: {url}\nAnswer `yes` when that is done."), Vec::new(), false)
            }
            _ => return None,
        };
        let mut form = Form { message, fields, answers: Vec::new(), action: None, wants_content };
        if form.fields.is_empty() {
            form.fields.push(Field {
                name: String::new(),
                label: String::new(),
                kind: Kind::Confirmation,
                is_required: true,
                default: None,
                schema: Json::Bool(true),
            });
        }
        Some(form)
    }

    /// What is asked next; none: everything has been answered.
    pub(super) fn question(&self) -> Option<String> {
        if self.action.is_some() {
            return None;
        }
        let field = self.fields.get(self.answers.len())?;
        let mut question = self.message.clone();
        let Some(wanted) = field.wanted() else { return Some(question) };
        question.push('\n');
        if self.fields.len() > 1 {
            question.push_str(&format!("{} of {}: ", self.answers.len() + 1, self.fields.len()));
        }
        question.push_str(&format!("{} ({wanted})", field.label));
        Some(question)
    }

    /// Takes the answer to [`Form::question`]; there may be more to ask.
    ///
    /// # Errors
    /// Why it does not fit.
    pub(super) fn answer(&mut self, answer: &Value) -> Result<(), String> {
        let Some(field) = self.fields.get(self.answers.len()) else { return Ok(()) };
        match field.read(answer)? {
            Read::Value(json) => self.answers.push(Some(json)),
            Read::LeftOut => self.answers.push(None),
            Read::Declined => self.action = Some(ElicitationAction::Decline),
        }
        if self.action.is_none() && self.answers.len() == self.fields.len() {
            self.action = Some(ElicitationAction::Accept);
        }
        Ok(())
    }

    /// What the server is told.
    pub(super) fn result(self) -> ElicitResult {
        let action = self.action.unwrap_or(ElicitationAction::Cancel);
        if action != ElicitationAction::Accept || !self.wants_content {
            return ElicitResult::new(action);
        }
        let given = self.fields.into_iter().zip(self.answers).filter(|(field, _)| !field.name.is_empty());
        let content = given.filter_map(|(field, answer)| Some((field.name, answer?))).collect();
        ElicitResult::new(action).with_content(Json::Object(content))
    }
}

enum Read {
    Value(Json),
    LeftOut,
    Declined,
}

impl Field {
    fn new(name: &str, schema: &Json, is_required: bool) -> Field {
        let text_at = |member: &str| schema.get(member).and_then(Json::as_str);
        let shown = text_at("title").unwrap_or(name);
        let mut label = text::words(shown, 200);
        if let Some(description) = text_at("description") {
            label.push_str(&format!(": {}", text::words(description, text::MAX_SUMMARY)));
        }
        Field {
            name: name.to_owned(),
            label,
            kind: Kind::of(schema),
            is_required,
            default: schema.get("default").cloned(),
            schema: schema.clone(),
        }
    }

    /// What may be answered, in words; none for a plain yes or no to the message itself.
    fn wanted(&self) -> Option<String> {
        let mut wanted = match &self.kind {
            Kind::Confirmation => return None,
            Kind::Bool => "yes or no".to_owned(),
            Kind::Text => "text".to_owned(),
            Kind::Int => "a whole number".to_owned(),
            Kind::Number => "a number".to_owned(),
            Kind::One(options) => format!("one of: {}", listed(options)),
            Kind::Several(options) => format!("any of, with commas between them: {}", listed(options)),
        };
        if !self.is_required {
            match &self.default {
                Some(default) => {
                    let default = text::words(&value_of(default).unwrap_or(Value::Null).to_text(), 200);
                    wanted.push_str(&format!("; `{SKIP}` for {default}"));
                }
                None => wanted.push_str(&format!("; `{SKIP}` to leave it out")),
            }
        }
        Some(wanted)
    }

    fn read(&self, answer: &Value) -> Result<Read, String> {
        let said = answer.to_text();
        let said = said.trim();
        if !self.is_required && (matches!(answer, Value::Null) || said.is_empty() || said.eq_ignore_ascii_case(SKIP)) {
            return Ok(self.default.clone().map_or(Read::LeftOut, Read::Value));
        }
        let json = match &self.kind {
            Kind::Confirmation => {
                return match truth(answer, said) {
                    Some(true) => Ok(Read::LeftOut),
                    Some(false) => Ok(Read::Declined),
                    None => Err(no(said, NEITHER)),
                };
            }
            Kind::Bool => Json::Bool(truth(answer, said).ok_or_else(|| no(said, NEITHER))?),
            Kind::One(options) => match (chosen(options, answer, said), answer) {
                (Some(value), _) => Json::String(value),
                (None, Value::Bool(false)) => return Ok(Read::Declined),
                (None, _) => return Err(no(said, "not one of them")),
            },
            Kind::Text | Kind::Int | Kind::Number | Kind::Several(_) if *answer == Value::Bool(false) => {
                return Ok(Read::Declined);
            }
            Kind::Several(options) => {
                let items: Vec<Value> = if let Value::List(items) = answer {
                    items.to_vec()
                } else {
                    said.split(',').map(|item| Value::str(item.trim())).collect()
                };
                let value = |item: Value| {
                    let said = item.to_text();
                    chosen(options, &item, said.trim()).map(Json::String).ok_or_else(|| no(&said, "not one of them"))
                };
                Json::Array(items.into_iter().map(value).collect::<Result<_, _>>()?)
            }
            Kind::Text => Json::from(if *answer == Value::Bool(true) { "yes" } else { said }),
            Kind::Int => Json::from(whole(said).ok_or_else(|| no(said, "not a whole number"))?),
            Kind::Number => {
                let number = said.parse::<f64>().ok().filter(|number| number.is_finite());
                let number = number.ok_or_else(|| no(said, "not a number"))?;
                whole(said).map_or_else(|| Json::from(number), Json::from)
            }
        };
        out_of_bounds(&self.schema, &json).map_or(Ok(Read::Value(json)), Err)
    }
}

impl Kind {
    fn of(schema: &Json) -> Kind {
        let member = |name: &str| schema.get(name);
        match member("type").and_then(Json::as_str) {
            Some("boolean") => Kind::Bool,
            Some("integer") => Kind::Int,
            Some("number") => Kind::Number,
            Some("array") => Kind::Several(member("items").map(options).unwrap_or_default()),
            Some(_) | None => match options(schema) {
                options if options.is_empty() => Kind::Text,
                options => Kind::One(options),
            },
        }
    }
}

/// The values of an enumeration with what they are called.
fn options(schema: &Json) -> Vec<(String, String)> {
    if let Some(titled) = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Json::as_array) {
        let option = |it: &Json| {
            let value = it.get("const")?.as_str()?;
            Some((value.to_owned(), it.get("title").and_then(Json::as_str).unwrap_or(value).to_owned()))
        };
        return titled.iter().filter_map(option).collect();
    }
    let values = schema.get("enum").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
    let titles = schema.get("enumNames").and_then(Json::as_array);
    let title = |index: usize| titles.and_then(|titles| titles.get(index)).and_then(Json::as_str);
    values.enumerate().map(|(index, value)| (value.to_owned(), title(index).unwrap_or(value).to_owned())).collect()
}

fn listed(options: &[(String, String)]) -> String {
    let shown: Vec<String> = options.iter().take(100).map(|(_, title)| text::words(title, 100)).collect();
    shown.join(", ")
}

/// The value that was meant: as it is written, by its title, or in other letters.
fn chosen(options: &[(String, String)], answer: &Value, said: &str) -> Option<String> {
    // Where people answer, yes and no have become truths.
    let said = match answer {
        Value::Bool(true) => "yes",
        Value::Bool(false) => "no",
        Value::Null | Value::Int(_) | Value::Float(_) | Value::Str(_) | Value::List(_) | Value::Map(_) => said,
    };
    let exact = options.iter().find(|(value, title)| value == said || title == said);
    let lowered = said.to_lowercase();
    let alike =
        || options.iter().find(|(value, title)| value.to_lowercase() == lowered || title.to_lowercase() == lowered);
    exact.or_else(alike).map(|(value, _)| value.clone())
}

/// Why a value cannot be used, by the bounds that the protocol has for fields. More than that the server checks.
fn out_of_bounds(schema: &Json, json: &Json) -> Option<String> {
    let (size, least, most, must, unit) = match json {
        Json::String(text) => (text.chars().count() as f64, "minLength", "maxLength", "have", " characters"),
        Json::Array(items) => (items.len() as f64, "minItems", "maxItems", "have", " elements"),
        Json::Number(number) => (number.as_f64()?, "minimum", "maximum", "be", ""),
        Json::Null | Json::Bool(_) | Json::Object(_) => return None,
    };
    let bound = |name: &str| schema.get(name).and_then(Json::as_f64);
    match (bound(least), bound(most)) {
        (Some(least), _) if size < least => Some(format!("it must {must} at least {least}{unit}")),
        (_, Some(most)) if size > most => Some(format!("it must {must} at most {most}{unit}")),
        _ => None,
    }
}

fn truth(answer: &Value, said: &str) -> Option<bool> {
    match (answer, said.to_lowercase().as_str()) {
        (Value::Bool(truth), _) => Some(*truth),
        (_, "yes" | "y" | "true" | "1" | "ok" | "on") => Some(true),
        (_, "no" | "n" | "false" | "0" | "off") => Some(false),
        (_, _) => None,
    }
}

/// What an answer is and should not be.
fn no(said: &str, what: &str) -> String {
    format!("`{}` is {what}", text::words(said, 100))
}

fn whole(said: &str) -> Option<i64> {
    let (digits, fraction) = said.split_once('.').unwrap_or((said, ""));
    if fraction.chars().all(|c| c == '0') { digits.parse().ok() } else { None }
}
