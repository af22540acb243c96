//! Checks arguments against a tool's JSON Schema, and says what is wrong with each of them.
//!
//! It knows the part of JSON Schema that our descriptors use; a test fails when one of them uses more.

use std::fmt;

use serde_json::{Map, Value};

/// Problems that are listed of one call; the model fixes these first.
const PROBLEMS_MAX: usize = 12;
/// Depth of the arguments that is looked into.
const DEPTH_MAX: usize = 32;

/// Keywords that [`check`] honours, or that only describe.
#[cfg(test)]
pub(crate) const KEYWORDS: [&str; 15] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "enum",
    "const",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "items",
    "minItems",
    "maxItems",
    "description",
    "default",
];

/// Why a call's arguments were refused. Its text is for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentError {
    /// There is no tool of that name.
    UnknownTool {
        /// The name that was asked for.
        name: String,
        /// The names that there are.
        known: Vec<&'static str>,
    },
    /// The arguments are not JSON.
    NotJson {
        /// What the parser says.
        detail: String,
    },
    /// Some arguments are wrong.
    Invalid {
        /// Each as `path: problem`.
        problems: Vec<String>,
    },
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTool { name, known } => {
                write!(f, "There is no tool named {name:?}. Tools: {}.", known.join(", "))
            }
            Self::NotJson { detail } => write!(f, "The arguments are not valid JSON: {detail}."),
            Self::Invalid { problems } => {
                f.write_str("The arguments were refused:")?;
                problems.iter().try_for_each(|problem| write!(f, "\n- {problem}"))
            }
        }
    }
}

impl std::error::Error for ArgumentError {}

/// Lists what is wrong with `value` under `schema`, each as `path: problem`; empty when nothing is.
pub(crate) fn check(schema: &Value, value: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    check_at(schema, value, "", 0, &mut problems);
    problems.truncate(PROBLEMS_MAX);
    problems
}

fn check_at(schema: &Value, value: &Value, path: &str, depth: usize, problems: &mut Vec<String>) {
    if problems.len() >= PROBLEMS_MAX {
        return;
    }
    if depth > DEPTH_MAX {
        report(problems, path, "is nested too deeply");
        return;
    }
    if let Some(wanted) = schema.get("type").and_then(Value::as_str)
        && !has_type(value, wanted)
    {
        report(
            problems,
            path,
            &format!("must be {}, not {}", with_article(wanted), with_article(type_name(value))),
        );
        return;
    }
    if let Some(Value::Array(allowed)) = schema.get("enum")
        && !allowed.contains(value)
    {
        let list: Vec<String> = allowed.iter().map(Value::to_string).collect();
        report(problems, path, &format!("must be one of {}", list.join(", ")));
    }
    if let Some(only) = schema.get("const")
        && only != value
    {
        report(problems, path, &format!("must be {only}"));
    }
    match value {
        Value::String(text) => check_text(schema, text, path, problems),
        Value::Number(number) => check_number(schema, number.as_f64().unwrap_or(f64::NAN), path, problems),
        Value::Array(items) => check_items(schema, items, path, depth, problems),
        Value::Object(fields) => check_fields(schema, fields, path, depth, problems),
        Value::Null | Value::Bool(_) => {}
    }
}

fn check_text(schema: &Value, text: &str, path: &str, problems: &mut Vec<String>) {
    let length = text.chars().count() as u64;
    if let Some(min) = schema.get("minLength").and_then(Value::as_u64).filter(|min| length < *min) {
        let problem = if min == 1 {
            "must not be empty".to_owned()
        } else {
            format!("needs at least {min} characters")
        };
        report(problems, path, &problem);
    }
    if let Some(max) = schema.get("maxLength").and_then(Value::as_u64).filter(|max| length > *max) {
        report(problems, path, &format!("has {length} characters; at most {max} are allowed"));
    }
}

// The bounds are shown as JSON: the standard library's text of an `f64` brings sixteen kilobytes of code.
fn check_number(schema: &Value, number: f64, path: &str, problems: &mut Vec<String>) {
    if let Some(min) = schema.get("minimum").filter(|min| min.as_f64().is_some_and(|min| number < min)) {
        report(problems, path, &format!("must be at least {min}"));
    }
    if let Some(max) = schema.get("maximum").filter(|max| max.as_f64().is_some_and(|max| number > max)) {
        report(problems, path, &format!("must be at most {max}"));
    }
}

fn check_items(schema: &Value, items: &[Value], path: &str, depth: usize, problems: &mut Vec<String>) {
    if let Some(max) = schema.get("maxItems").and_then(Value::as_u64).filter(|max| items.len() as u64 > *max)
    {
        report(problems, path, &format!("has {} items; at most {max} are allowed", items.len()));
    }
    if let Some(min) =
        schema.get("minItems").and_then(Value::as_u64).filter(|min| (items.len() as u64) < *min)
    {
        report(problems, path, &format!("has {} items; at least {min} are needed", items.len()));
    }
    if let Some(item_schema) = schema.get("items") {
        for (index, item) in items.iter().enumerate() {
            check_at(item_schema, item, &format!("{path}[{index}]"), depth + 1, problems);
        }
    }
}

fn check_fields(
    schema: &Value,
    fields: &Map<String, Value>,
    path: &str,
    depth: usize,
    problems: &mut Vec<String>,
) {
    let Some(Value::Object(properties)) = schema.get("properties") else { return };
    for name in
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    {
        if !fields.contains_key(name) {
            report(problems, &join(path, name), "is missing");
        }
    }
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for (name, value) in fields {
        match properties.get(name) {
            Some(property) => check_at(property, value, &join(path, name), depth + 1, problems),
            None if closed => {
                let known: Vec<&str> = properties.keys().map(String::as_str).collect();
                let hint = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                report(
                    problems,
                    &join(path, &shown_name(name)),
                    &format!("is not known here (known: {hint})"),
                );
            }
            None => {}
        }
    }
}

fn report(problems: &mut Vec<String>, path: &str, problem: &str) {
    let path = if path.is_empty() { "arguments" } else { path };
    problems.push(format!("{path}: {problem}"));
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// A name that the model made up, short enough to be repeated to it.
fn shown_name(name: &str) -> String {
    name.chars().take(40).flat_map(char::escape_debug).collect()
}

fn has_type(value: &Value, wanted: &str) -> bool {
    match (wanted, value) {
        ("integer", Value::Number(number)) => {
            number.is_u64() || number.is_i64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
        }
        ("number", Value::Number(_)) => true,
        _ => type_name(value) == wanted,
    }
}

const fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn with_article(name: &str) -> String {
    match name {
        "null" => name.to_owned(),
        "integer" | "array" | "object" => format!("an {name}"),
        _ => format!("a {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use serde_json::json;

    #[test]
    fn every_problem_is_named_with_its_path() {
        let schema = json!({"type": "object", "additionalProperties": false, "required": ["ref", "text"], "properties": {
            "ref": {"type": "string", "minLength": 1}, "text": {"type": "string", "maxLength": 3},
            "tabId": {"type": "integer", "minimum": 0}, "mode": {"enum": ["a", "b"]},
            "list": {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 2}}});
        let cases = [
            (json!({"ref": "x", "text": "abc", "tabId": 0, "mode": "a", "list": [true]}), vec![]),
            (json!([]), vec!["arguments: must be an object, not an array"]),
            (json!({}), vec!["ref: is missing", "text: is missing"]),
            (
                json!({"ref": "", "text": "äöüß"}),
                vec!["ref: must not be empty", "text: has 4 characters; at most 3 are allowed"],
            ),
            (
                json!({"ref": 1, "text": null}),
                vec!["ref: must be a string, not a number", "text: must be a string, not null"],
            ),
            (json!({"ref": "x", "text": "", "tabId": 1.5}), vec!["tabId: must be an integer, not a number"]),
            (json!({"ref": "x", "text": "", "tabId": -1}), vec!["tabId: must be at least 0"]),
            (json!({"ref": "x", "text": "", "list": []}), vec!["list: has 0 items; at least 1 are needed"]),
            (json!({"ref": "x", "text": "", "mode": "c"}), vec!["mode: must be one of \"a\", \"b\""]),
            (
                json!({"ref": "x", "text": "", "list": [true, 1, 2]}),
                vec![
                    "list: has 3 items; at most 2 are allowed",
                    "list[1]: must be a boolean, not a number",
                    "list[2]: must be a boolean, not a number",
                ],
            ),
        ];
        for (value, want) in cases {
            assert_eq!(check(&schema, &value), want, "{value}");
        }
        let unknown = check(&schema, &json!({"ref": "x", "text": "", "for\nce": true}));
        assert_eq!(unknown.len(), 1);
        assert!(unknown[0].starts_with("for\\nce: is not known here (known: "), "{unknown:?}");
    }

    #[test]
    fn the_list_of_problems_is_bounded() {
        let schema = json!({"type": "array", "items": {"type": "string"}});
        assert_eq!(check(&schema, &json!(vec![0; 1000])).len(), super::PROBLEMS_MAX);
    }
}
