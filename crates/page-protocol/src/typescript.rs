//! Writes `page/src/generated.ts`: the protocol's types, limits, schema hash and request schema for TypeScript.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use panelot_base::digest::canonical_json;
use serde_json::Value;

use crate::action::REF_PATTERN;
use crate::envelope::PROTOCOL_ID;
use crate::schema::{budget_table, computed_schema_hash, limit_table, request_schema, response_schema};

/// The text of `page/src/generated.ts`. The same types give the same text.
#[must_use]
pub fn generate() -> String {
    let (request, response) = (request_schema(), response_schema());
    let mut out = String::from(
        "// Generated from crates/page-protocol. Do not edit: cargo run -p panelot-page-protocol --example generate-ts\n\n",
    );
    let _ = writeln!(out, "export const PROTOCOL_ID = {};", Value::from(PROTOCOL_ID));
    let _ = writeln!(out, "export const SCHEMA_HASH = {};", Value::from(computed_schema_hash()));
    let _ = writeln!(out, "export const REF_PATTERN = {};", Value::from(REF_PATTERN));
    let _ = writeln!(out, "export const BUDGET = {} as const;", canonical_json(&budget_table()));
    for (name, value) in limit_table() {
        let _ = writeln!(out, "export const {name} = {value};");
    }
    let mut types = BTreeMap::new();
    for (root, schema) in [("Request", &request), ("Response", &response)] {
        if let Some(Value::Object(named)) = schema.get("$defs") {
            for (name, definition) in named {
                types.insert(name.clone(), type_of(definition));
            }
        }
        types.insert(root.to_owned(), type_of(schema));
    }
    for (name, text) in types {
        let _ =
            write!(out, "\nexport type {name} ={}{text};\n", if text.starts_with('\n') { "" } else { " " });
    }
    let _ = write!(
        out,
        "\n/** JSON Schema that every request is checked against before anything else is looked at. */\n\
         export const REQUEST_SCHEMA = {} as const;\n\
         \n/** JSON Schema of every answer, for the tests: it is not in the bundle. */\n\
         export const RESPONSE_SCHEMA = {} as const;\n",
        canonical_json(&request),
        canonical_json(&response)
    );
    out
}

fn type_of(schema: &Value) -> String {
    let field = |name: &str| schema.get(name);
    if let Some(name) = field("$ref").and_then(Value::as_str) {
        return name.rsplit('/').next().unwrap_or(name).to_owned();
    }
    if let Some(value) = field("const") {
        return value.to_string();
    }
    if let Some(Value::Array(values)) = field("enum") {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    if let Some(Value::Array(choices)) = field("oneOf").or_else(|| field("anyOf")) {
        return choices.iter().map(|choice| format!("\n  | {}", type_of(choice))).collect();
    }
    match field("type") {
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .map(|name| plain_type(name, schema))
            .collect::<Vec<_>>()
            .join(" | "),
        Some(Value::String(name)) => plain_type(name, schema),
        _ => "unknown".to_owned(),
    }
}

fn plain_type(name: &str, schema: &Value) -> String {
    match name {
        "string" => "string".to_owned(),
        "integer" | "number" => "number".to_owned(),
        "boolean" => "boolean".to_owned(),
        "null" => "null".to_owned(),
        "array" => format!("Array<{}>", schema.get("items").map_or_else(|| "unknown".to_owned(), type_of)),
        "object" => object_type(schema),
        _ => "unknown".to_owned(),
    }
}

fn object_type(schema: &Value) -> String {
    let Some(Value::Object(properties)) = schema.get("properties") else { return "{}".to_owned() };
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let sorted: BTreeMap<_, _> = properties.iter().collect();
    let fields: Vec<String> = sorted
        .into_iter()
        .map(|(name, property)| {
            let mark = if required.contains(&name.as_str()) { "" } else { "?" };
            format!("{name}{mark}: {}", type_of(property).replace("\n  | ", " | ").trim_start_matches(" | "))
        })
        .collect();
    format!("{{ {} }}", fields.join("; "))
}

#[cfg(test)]
mod tests {
    use super::generate;

    #[test]
    fn the_generated_typescript_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../page/src/generated.ts");
        let recorded = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            recorded == generate(),
            "page/src/generated.ts is stale; run: cargo run -p panelot-page-protocol --example generate-ts"
        );
    }
}
