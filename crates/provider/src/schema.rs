//! Tool schemas in the subset of JSON Schema that every provider takes. Foreign schemas (remote tools) use all of it, and
//! one that a provider refuses makes every request fail.

use serde_json::{Map, Value, json};

/// Levels of a schema; providers end between 5 and 10 levels of objects.
const DEPTH_MAX: usize = 12;
/// Places of one schema. Recursive references would unfold for ever.
const PLACES_MAX: usize = 2000;
/// Members that mean the same to everybody.
const KEPT: [&str; 12] = [
    "description",
    "title",
    "default",
    "enum",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "pattern",
    "format",
];

/// Whose dialect the schema must fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// JSON Schema as most take it.
    Usual,
    /// Gemini: enumerations are of texts, lists say what is in them, few formats, no closed objects.
    Gemini,
}

/// The schema of a tool's arguments as it is sent: an object schema. What is in the subset already stays as it is.
pub(crate) fn sent(schema: &Value, dialect: Dialect) -> Value {
    let mut reader = Reader { root: schema, dialect, places: 0 };
    let mut out = match reader.read(schema, 0) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    // No wire takes alternatives at the top.
    if let Some(Value::Array(options)) = out.remove("anyOf") {
        for option in options {
            if let Value::Object(option) = option {
                merge(&mut out, option, Required::Drop);
            }
        }
    }
    let of_objects = ["description", "title", "properties", "required", "additionalProperties"];
    out.retain(|name, _| of_objects.contains(&name.as_str()));
    out.insert("type".to_owned(), "object".into());
    out.entry("properties").or_insert_with(|| json!({}));
    Value::Object(out)
}

struct Reader<'a> {
    root: &'a Value,
    dialect: Dialect,
    places: usize,
}

/// What becomes of the required properties when two object schemas are one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Required {
    /// Both hold.
    Join,
    /// Either may hold.
    Drop,
}

impl Reader<'_> {
    /// A schema that allows anything is an empty object.
    fn read(&mut self, schema: &Value, depth: usize) -> Value {
        self.places += 1;
        let Some(fields) = schema.as_object().filter(|_| depth < DEPTH_MAX && self.places < PLACES_MAX)
        else {
            return json!({});
        };
        if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
            let target = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer)).cloned();
            let mut found = match target.map(|target| self.read(&target, depth + 1)) {
                Some(Value::Object(found)) => found,
                _ => Map::new(),
            };
            if let Some(description) = fields.get("description").filter(|text| text.is_string()) {
                found.insert("description".to_owned(), description.clone());
            }
            return Value::Object(found);
        }
        let mut out = Map::new();
        self.read_plain(fields, &mut out);
        self.read_type(fields, depth, &mut out);
        self.read_object(fields, depth, &mut out);
        self.read_list(fields, depth, &mut out);
        self.read_alternatives(fields, depth, &mut out);
        for part in list(fields, "allOf") {
            if let Value::Object(part) = self.read(part, depth + 1) {
                merge(&mut out, part, Required::Join);
            }
        }
        keep_to_type(&mut out);
        if let Value::Array(required) = out.get("required").cloned().unwrap_or_default() {
            let known = out.get("properties").and_then(Value::as_object);
            let mut kept: Vec<Value> = Vec::new();
            for name in required {
                let is_known =
                    name.as_str().is_some_and(|name| known.is_some_and(|known| known.contains_key(name)));
                if is_known && !kept.contains(&name) {
                    kept.push(name);
                }
            }
            if kept.is_empty() {
                out.remove("required");
            } else {
                out.insert("required".to_owned(), kept.into());
            }
        }
        Value::Object(out)
    }

    fn read_plain(&self, fields: &Map<String, Value>, out: &mut Map<String, Value>) {
        for name in KEPT {
            let Some(value) = fields.get(name) else { continue };
            let is_sound = match name {
                "description" | "title" | "pattern" => value.is_string(),
                "format" => match value.as_str() {
                    Some(format) if self.dialect == Dialect::Gemini => matches!(format, "enum" | "date-time"),
                    Some(_) => true,
                    None => false,
                },
                "enum" => value.as_array().is_some_and(|values| !values.is_empty()),
                "minimum" | "maximum" => value.is_number(),
                "default" => self.dialect == Dialect::Usual,
                _ => value.is_u64(),
            };
            if is_sound {
                out.insert(name.to_owned(), value.clone());
            }
        }
        if let Some(constant) = fields.get("const") {
            out.insert("enum".to_owned(), json!([constant]));
        }
        let is_text =
            |values: &Value| values.as_array().is_some_and(|values| values.iter().all(Value::is_string));
        if self.dialect == Dialect::Gemini
            && let Some(values) = out.get("enum").filter(|values| !is_text(values)).map(Value::to_string)
        {
            out.remove("enum");
            let said = out.get("description").and_then(Value::as_str).unwrap_or_default();
            let said = format!("{said} One of {values}.").trim_start().to_owned();
            out.insert("description".to_owned(), said.into());
        }
    }

    fn read_type(&mut self, fields: &Map<String, Value>, depth: usize, out: &mut Map<String, Value>) {
        match fields.get("type") {
            Some(Value::String(name)) if name != "null" => {
                out.insert("type".to_owned(), name.as_str().into());
            }
            Some(Value::Array(names)) => {
                let names: Vec<&Value> =
                    names.iter().filter(|name| name.as_str().is_some_and(|name| name != "null")).collect();
                match names.as_slice() {
                    [] => {}
                    [only] => {
                        out.insert("type".to_owned(), (*only).clone());
                    }
                    several => {
                        let options: Vec<Value> = several
                            .iter()
                            .map(|name| {
                                let mut option = fields.clone();
                                option.insert("type".to_owned(), (*name).clone());
                                option.remove("description");
                                self.read(&Value::Object(option), depth + 1)
                            })
                            .collect();
                        out.insert("anyOf".to_owned(), options.into());
                    }
                }
            }
            _ if fields.contains_key("properties") => {
                out.insert("type".to_owned(), "object".into());
            }
            _ => {}
        }
    }

    fn read_object(&mut self, fields: &Map<String, Value>, depth: usize, out: &mut Map<String, Value>) {
        let properties = fields.get("properties").and_then(Value::as_object);
        if out.get("type").and_then(Value::as_str) != Some("object") {
            return;
        }
        let mut kept = Map::new();
        for (name, schema) in properties.into_iter().flatten() {
            // Anthropic's rule; other names cannot be said at all.
            let is_legal = !name.is_empty()
                && name.len() <= 64
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
            if is_legal {
                kept.insert(name.clone(), self.read(schema, depth + 1));
            }
        }
        out.insert("properties".to_owned(), kept.into());
        if let Some(required) = fields.get("required").filter(|required| required.is_array()) {
            out.insert("required".to_owned(), required.clone());
        }
        if let Some(closed @ Value::Bool(_)) = fields.get("additionalProperties")
            && self.dialect == Dialect::Usual
        {
            out.insert("additionalProperties".to_owned(), closed.clone());
        }
    }

    fn read_list(&mut self, fields: &Map<String, Value>, depth: usize, out: &mut Map<String, Value>) {
        if out.get("type").and_then(Value::as_str) != Some("array") {
            return;
        }
        // A list of schemas is one for each place.
        let places =
            fields.get("prefixItems").or_else(|| fields.get("items").filter(|items| items.is_array()));
        let mut items = match (places.and_then(Value::as_array), fields.get("items")) {
            (Some(places), _) => {
                match places.iter().map(|place| self.read(place, depth + 1)).collect::<Vec<_>>() {
                    options if options.len() == 1 => options.into_iter().next().unwrap_or_default(),
                    options if options.is_empty() => json!({}),
                    options => json!({"anyOf": options}),
                }
            }
            (None, Some(items)) => self.read(items, depth + 1),
            (None, None) => json!({}),
        };
        if self.dialect == Dialect::Gemini && items.as_object().is_some_and(Map::is_empty) {
            items = json!({"type": "string"});
        }
        out.insert("items".to_owned(), items);
    }

    fn read_alternatives(&mut self, fields: &Map<String, Value>, depth: usize, out: &mut Map<String, Value>) {
        for name in ["anyOf", "oneOf"] {
            let is_null = |option: &&Value| option.get("type").and_then(Value::as_str) == Some("null");
            let options: Vec<Value> = list(fields, name)
                .iter()
                .filter(|option| !is_null(option))
                .map(|option| self.read(option, depth + 1))
                .collect();
            if options.len() > 1 {
                out.insert("anyOf".to_owned(), options.into());
            } else if let Some(Value::Object(only)) = options.into_iter().next() {
                merge(out, only, Required::Join);
            }
        }
    }
}

fn list<'a>(fields: &'a Map<String, Value>, name: &str) -> &'a [Value] {
    fields.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Drops what a schema of its type says nothing by. Parts that contradict each other leave it: a text that has properties.
fn keep_to_type(out: &mut Map<String, Value>) {
    let Some(name) = out.get("type").and_then(Value::as_str) else { return };
    let (is_object, is_list) = (name == "object", name == "array");
    out.retain(|member, _| match member.as_str() {
        "properties" | "required" | "additionalProperties" => is_object,
        "items" => is_list,
        _ => true,
    });
}

/// Adds `more` to `out`; what is there stays.
fn merge(out: &mut Map<String, Value>, more: Map<String, Value>, required: Required) {
    for (name, value) in more {
        match (name.as_str(), out.get_mut(&name), value) {
            ("properties", Some(Value::Object(known)), Value::Object(more)) => {
                for (name, schema) in more {
                    known.entry(name).or_insert(schema);
                }
            }
            ("required", _, _) if required == Required::Drop => {}
            ("required", Some(Value::Array(known)), Value::Array(more)) => known.extend(more),
            (_, None, value) => {
                out.insert(name, value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::{Dialect, sent};

    fn usual(schema: &Value) -> Value {
        sent(schema, Dialect::Usual)
    }

    #[test]
    fn what_everybody_takes_stays_as_it_is() {
        let schema = json!({"type": "object", "properties": {
            "ref": {"type": "string", "description": "d", "minLength": 1},
            "count": {"type": "integer", "minimum": 1, "maximum": 9},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "list": {"type": "array", "items": {"type": "string"}, "maxItems": 3}},
            "required": ["ref"], "additionalProperties": false});
        assert_eq!(usual(&schema), schema);
    }

    #[test]
    fn what_some_refuse_is_said_in_other_words() {
        let property = |schema: Value| {
            usual(&json!({"type": "object", "properties": {"x": schema},
                "$defs": {"text": {"type": "string", "const": "a"}, "self": {"$ref": "#/$defs/self"}}}))["properties"]
                ["x"]
                .clone()
        };
        for (schema, expected) in [
            (json!({"type": ["string", "null"]}), json!({"type": "string"})),
            (
                json!({"type": ["string", "integer"]}),
                json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
            ),
            (
                json!({"$ref": "#/$defs/text", "description": "d"}),
                json!({"type": "string", "enum": ["a"], "description": "d"}),
            ),
            (json!({"$ref": "https://elsewhere.test"}), json!({})),
            (json!({"$ref": "#/$defs/self"}), json!({})),
            (json!({"oneOf": [{"type": "string"}, {"type": "null"}]}), json!({"type": "string"})),
            (
                json!({"oneOf": [{"type": "string"}, {"type": "boolean"}]}),
                json!({"anyOf": [{"type": "string"}, {"type": "boolean"}]}),
            ),
            (json!({"type": "array"}), json!({"type": "array", "items": {}})),
            (
                json!({"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}),
                json!({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}),
            ),
            (
                json!({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                    {"properties": {"b": {"type": "string"}}, "required": ["b", "missing"]}]}),
                json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "required": ["a", "b"]}),
            ),
            (json!(true), json!({})),
            (
                json!({"type": "string", "description": 7, "x-odd": 1, "examples": []}),
                json!({"type": "string"}),
            ),
        ] {
            assert_eq!(property(schema.clone()), expected, "{schema}");
        }
    }

    #[test]
    fn the_top_is_always_a_plain_object() {
        let empty = json!({"type": "object", "properties": {}});
        for schema in [json!(null), json!(true), json!({}), json!({"type": "string", "enum": ["a"]})] {
            assert_eq!(usual(&schema), empty, "{schema}");
        }
        let either = json!({"anyOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}]});
        assert_eq!(
            usual(&either),
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}})
        );
        let odd = json!({"type": "object", "properties": {"a b": {}, "ok": {}}, "required": ["a b", "ok", "ok", 7]});
        assert_eq!(usual(&odd), json!({"type": "object", "properties": {"ok": {}}, "required": ["ok"]}));
    }

    #[test]
    fn gemini_gets_its_narrower_dialect() {
        let schema = json!({"type": "object", "additionalProperties": false, "properties": {
            "level": {"type": "integer", "enum": [1, 2]}, "list": {"type": "array"},
            "when": {"type": "string", "format": "uri", "default": "x"}}});
        assert_eq!(
            sent(&schema, Dialect::Gemini)["properties"],
            json!({"level": {"type": "integer", "description": "One of [1,2]."},
                "list": {"type": "array", "items": {"type": "string"}}, "when": {"type": "string"}})
        );
        assert_eq!(sent(&schema, Dialect::Gemini).get("additionalProperties"), None);
    }

    #[test]
    fn parts_that_contradict_each_other_are_of_the_first_ones_type() {
        let text_and_object = json!({"type": "object", "properties": {"a": {"allOf": [
            {"type": "string"},
            {"type": "object", "properties": {"b": {}}, "required": ["b"]},
            {"type": "array", "items": {"type": "string"}},
        ]}}});
        assert_eq!(usual(&text_and_object)["properties"]["a"], json!({"type": "string"}));
    }

    fn any_schema() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            Just(json!({"type": "string"})),
            Just(json!({"$ref": "#"})),
            Just(json!({"$ref": "#/properties/a"})),
            Just(json!(7)),
        ];
        leaf.prop_recursive(5, 40, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(|all| json!({"anyOf": all})),
                prop::collection::vec(inner.clone(), 0..3).prop_map(|all| json!({"allOf": all})),
                inner.clone().prop_map(|one| json!({"type": "array", "items": one})),
                (inner.clone(), inner)
                    .prop_map(|(a, b)| json!({"type": "object", "properties": {"a": a, "b": b},
                    "required": ["a", "c"]})),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_schema_becomes_one_of_the_subset_and_stays_itself_from_then_on(schema in any_schema()) {
            let once = usual(&schema);
            prop_assert_eq!(&usual(&once), &once);
            let text = once.to_string();
            prop_assert!(!text.contains("$ref") && !text.contains("oneOf") && !text.contains("allOf"));
            prop_assert_eq!(&once["type"], "object");
        }
    }
}
