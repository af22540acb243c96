//! The canonical schema of the protocol and its hash: what two sides must share to understand each other.

use panelot_base::digest::json_digest;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::action::REF_PATTERN;
use crate::budget::PAGE_BUDGET;
use crate::envelope::{PROTOCOL_ID, Request, Response};
use crate::limits;

/// SHA-256 of [`schema_manifest`], in hexadecimal. Recorded; a test compares it with the computed one.
pub const SCHEMA_HASH: &str = include_str!("../schema-hash.txt").trim_ascii();

/// The recorded schema hash.
#[must_use]
pub const fn schema_hash() -> &'static str {
    SCHEMA_HASH
}

/// The schema hash computed from the types: for the test and the generator, not for run time.
#[must_use]
pub fn computed_schema_hash() -> String {
    json_digest(&schema_manifest())
}

/// Everything that both sides must agree on: schemas without prose, limits, budget.
#[must_use]
pub fn schema_manifest() -> Value {
    json!({
        "protocol": PROTOCOL_ID,
        "request": request_schema(),
        "response": response_schema(),
        "limits": Value::Object(limit_table().into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect()),
        "budget": budget_table(),
        "refPattern": REF_PATTERN,
    })
}

pub(crate) fn request_schema() -> Value {
    without_prose(
        SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Request>().to_value(),
    )
}

pub(crate) fn response_schema() -> Value {
    without_prose(
        SchemaSettings::draft2020_12()
            .for_serialize()
            .into_generator()
            .into_root_schema_for::<Response>()
            .to_value(),
    )
}

pub(crate) fn budget_table() -> Value {
    json!({
        "depth": PAGE_BUDGET.depth, "values": PAGE_BUDGET.values, "arrayLen": PAGE_BUDGET.array_len,
        "keys": PAGE_BUDGET.keys, "stringUnits": PAGE_BUDGET.string_units,
    })
}

pub(crate) fn limit_table() -> Vec<(&'static str, u32)> {
    vec![
        ("TYPE_TEXT_UNITS_MAX", limits::TYPE_TEXT_UNITS_MAX),
        ("OPTION_UNITS_MAX", limits::OPTION_UNITS_MAX),
        ("URL_UNITS_MAX", limits::URL_UNITS_MAX),
        ("NAME_UNITS_MAX", limits::NAME_UNITS_MAX),
        ("VALUE_UNITS_MAX", limits::VALUE_UNITS_MAX),
        ("TEXT_UNITS_MAX", limits::TEXT_UNITS_MAX),
        ("MESSAGE_UNITS_MAX", limits::MESSAGE_UNITS_MAX),
        ("NODES_MAX", limits::NODES_MAX),
        ("TEXT_NODES_MAX", limits::TEXT_NODES_MAX),
        ("OPTIONS_MAX", limits::OPTIONS_MAX),
        ("OPTIONS_TOTAL_MAX", limits::OPTIONS_TOTAL_MAX),
        ("DEPTH_MAX", limits::DEPTH_MAX),
        ("FRAME_DEPTH_MAX", limits::FRAME_DEPTH_MAX),
        ("READY_WAIT_MS_MAX", limits::READY_WAIT_MS_MAX),
        ("QUIET_MS", limits::QUIET_MS),
        ("SETTLE_MS_MAX", limits::SETTLE_MS_MAX),
    ]
}

/// Drops titles, descriptions and defaults, so that a reworded comment does not change the hash.
fn without_prose(schema: Value) -> Value {
    match schema {
        Value::Object(fields) => Value::Object(clean_keywords(fields)),
        Value::Array(items) => Value::Array(items.into_iter().map(without_prose).collect()),
        scalar => scalar,
    }
}

fn clean_keywords(fields: Map<String, Value>) -> Map<String, Value> {
    fields
        .into_iter()
        .filter(|(key, _)| {
            !matches!(key.as_str(), "title" | "description" | "$schema" | "default" | "format")
        })
        .map(|(key, value)| {
            // Below these keywords the keys are names of fields and types, which may be called `title`.
            let value = match (key.as_str(), value) {
                ("properties" | "$defs", Value::Object(named)) => Value::Object(
                    named.into_iter().map(|(name, schema)| (name, without_prose(schema))).collect(),
                ),
                (_, value) => without_prose(value),
            };
            (key, value)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{SCHEMA_HASH, computed_schema_hash, schema_manifest};

    #[test]
    fn the_recorded_hash_is_the_hash_of_the_types() {
        assert_eq!(
            SCHEMA_HASH,
            computed_schema_hash(),
            "the page protocol changed; if that is meant, run: cargo run -p panelot-page-protocol --example generate-ts"
        );
    }

    #[test]
    fn the_manifest_has_fields_but_no_prose() {
        let text = schema_manifest().to_string();
        assert!(text.contains("\"title\":{\"maxLength\":400"), "the field named title stays: {text}");
        assert!(!text.contains("\"description\":\""), "{text}");
    }
}
