//! The contract as one canonical text, from which the schema hash is computed.
//!
//! It holds the schemas of all messages, the bounds, and a corpus of values with the decoder's verdicts, so that a
//! changed rule that no schema can express changes the hash too. Comments, formatting and type names do not.

use serde_json::{Map, Value, json};

use crate::{EventDecode, budget, decode_event, decode_op};

/// The schema of a type with everything inlined and all prose removed, so that neither names nor comments matter.
pub(crate) fn schema<T: schemars::JsonSchema>() -> schemars::Schema {
    let mut schema = schemars::generate::SchemaSettings::draft2020_12()
        .with(|s| s.inline_subschemas = true)
        .into_generator()
        .into_root_schema_for::<T>();
    let mut value = std::mem::take(&mut schema).to_value();
    strip_prose(&mut value);
    schemars::Schema::try_from(value).unwrap_or_default()
}

fn strip_prose(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // A property that happens to be called "title" has an object as its value; prose is always text.
            for word in ["description", "title", "$schema"] {
                if fields.get(word).is_some_and(Value::is_string) {
                    fields.remove(word);
                }
            }
            fields.values_mut().for_each(strip_prose);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_prose),
        _ => {}
    }
}

fn table(schemas: Vec<(&'static str, String, schemars::Schema)>) -> Value {
    schemas
        .into_iter()
        .map(|(name, class, schema)| (name.to_owned(), json!({"class": class, "schema": schema.to_value()})))
        .collect::<Map<_, _>>()
        .into()
}

/// Values with verdicts: `schema/corpus.json` lists the values, this adds what the decoders say to them.
fn judged_corpus() -> Value {
    let corpus: Value = serde_json::from_str(include_str!("../schema/corpus.json")).unwrap_or_default();
    let judge = |direction: &str, verdict: fn(&Value) -> &'static str| -> Value {
        let values = corpus.get(direction).and_then(Value::as_array).cloned().unwrap_or_default();
        values.iter().map(|value| json!({"value": value, "verdict": verdict(value)})).collect()
    };
    json!({
        "ops": judge("ops", |value| if decode_op(value).is_ok() { "accepted" } else { "refused" }),
        "events": judge("events", |value| match decode_event(value) {
            EventDecode::Known(_) => "accepted",
            EventDecode::Unknown => "ignored",
            EventDecode::Malformed { .. } => "malformed",
        }),
    })
}

fn budget_json(budget: budget::Budget) -> Value {
    json!({
        "depth": budget.depth, "nodes": budget.nodes, "array": budget.array, "keys": budget.keys,
        "textBytes": budget.text_bytes,
    })
}

/// The whole contract as canonical JSON.
#[must_use]
pub fn canonical_manifest() -> String {
    panelot_base::digest::canonical_json(&json!({
        "protocol": crate::PROTOCOL,
        "ops": table(crate::Op::schemas()),
        "events": table(crate::Event::schemas()),
        "budgets": {"op": budget_json(budget::OP), "event": budget_json(budget::EVENT)},
        "corpus": judged_corpus(),
    }))
}

/// SHA-256 of the [`canonical_manifest`]; [`crate::SCHEMA_HASH`] is its recorded value.
#[must_use]
pub fn schema_hash() -> String {
    panelot_base::digest::sha256_hex(canonical_manifest().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::{canonical_manifest, schema, schema_hash};

    #[test]
    fn the_recorded_contract_is_the_one_in_force() {
        let recorded = include_str!("../schema/manifest.json");
        assert_eq!(
            recorded.trim_end(),
            canonical_manifest(),
            "run `cargo xtask protocol write` after a review"
        );
        assert_eq!(crate::SCHEMA_HASH, schema_hash(), "run `cargo xtask protocol write` after a review");
    }

    /// The same shape under another name and with a comment.
    #[expect(dead_code, reason = "only its schema is looked at")]
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct First {
        one: u32,
        title: String,
    }

    /// Prose that must not count.
    #[expect(dead_code, reason = "only its schema is looked at")]
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Second {
        /// More prose.
        one: u32,
        title: String,
    }

    #[expect(dead_code, reason = "only its schema is looked at")]
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Third {
        one: u32,
        title: String,
        two: bool,
    }

    #[test]
    fn names_and_comments_do_not_change_a_schema_but_fields_do() {
        assert_eq!(schema::<First>(), schema::<Second>());
        assert_ne!(schema::<First>(), schema::<Third>());
        assert!(schema::<First>().to_value().pointer("/properties/title").is_some());
    }
}
