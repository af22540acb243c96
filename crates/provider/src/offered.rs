//! What was offered to the model, as far as its answer is read by it: tools under the names of the wire, and a call that
//! a small model wrote as text.

use serde_json::{Map, Value};

use crate::names::Names;
use crate::request::{Request, ToolCall, ToolSchema};
use crate::response::{Response, StopReason, make_unique};
use panelot_base::SortedSet;

/// Calls that are read from one text; small models write one, rarely a few.
const TEXT_CALLS_MAX: usize = 8;

/// Empty when nobody said what was asked; then nothing is changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offered {
    names: Names,
    tools: Vec<ToolSchema>,
}

impl Offered {
    pub(crate) fn of(request: &Request) -> Self {
        Self { names: Names::of(request), tools: request.tools.clone() }
    }

    /// Turns a name of the wire into the tool's own.
    pub(crate) fn give_back(&self, name: &mut String) {
        if let Some(own) = self.own_name(name) {
            *name = own.to_owned();
        }
    }

    /// The offered tool that a name means. Some servers leave the prefix or the marks of the model's own format on it
    /// (`functions.click`, `click<|channel|>json`).
    fn own_name(&self, name: &str) -> Option<&str> {
        let exact = |name: &str| {
            let own = self.names.own(name).unwrap_or(name);
            self.tools.iter().map(|tool| tool.name.as_str()).find(|offered| *offered == own)
        };
        exact(name).or_else(|| {
            let name = name.split("<|").next().unwrap_or_default().trim();
            exact(name)
                .or_else(|| exact(name.strip_prefix("functions.").or(name.strip_prefix("functions:"))?))
        })
    }

    /// The answer with the tools' own names, and with the calls that its text is.
    pub(crate) fn read(&self, mut response: Response) -> Response {
        for call in &mut response.tool_calls {
            self.give_back(&mut call.name);
        }
        if response.tool_calls.is_empty() && response.stop_reason == StopReason::End {
            let mut calls = self.calls_in(&response.text).unwrap_or_default();
            if !calls.is_empty() {
                make_unique(&mut calls, &SortedSet::new());
                response.tool_calls = calls;
                response.stop_reason = StopReason::ToolUse;
                response.text.clear();
            }
        }
        response
    }

    /// The calls that `text` is, from its first to its last character: JSON that names an offered tool and has arguments
    /// that its schema takes. `None` for everything else, above all for JSON inside of prose.
    fn calls_in(&self, text: &str) -> Option<Vec<ToolCall>> {
        if self.tools.is_empty() {
            return None;
        }
        let text = text.trim();
        let mut calls = Vec::new();
        if text.starts_with("<tool_call>") {
            let mut rest = text;
            while !rest.is_empty() {
                let (inside, after) = rest.strip_prefix("<tool_call>")?.split_once("</tool_call>")?;
                self.read_calls(inside, &mut calls)?;
                rest = after.trim_start();
            }
        } else if let Some(fenced) = text.strip_prefix("```") {
            let (language, inside) = fenced.strip_suffix("```")?.split_once('\n')?;
            if !matches!(language.trim(), "" | "json" | "tool_call") {
                return None;
            }
            self.read_calls(inside, &mut calls)?;
        } else {
            self.read_calls(text, &mut calls)?;
        }
        Some(calls)
    }

    fn read_calls(&self, text: &str, calls: &mut Vec<ToolCall>) -> Option<()> {
        let text = text.trim();
        if !text.starts_with(['{', '[']) {
            return None;
        }
        let values = match serde_json::from_str(text).ok()? {
            Value::Array(values) => values,
            value => vec![value],
        };
        for value in values {
            if calls.len() >= TEXT_CALLS_MAX {
                return None;
            }
            calls.push(self.call_in(&value)?);
        }
        Some(())
    }

    fn call_in(&self, value: &Value) -> Option<ToolCall> {
        let object = value.get("function").filter(|inner| inner.is_object()).unwrap_or(value).as_object()?;
        let name = object.get("name")?.as_str()?;
        let given = ["arguments", "parameters"].iter().find_map(|key| object.get(*key))?;
        let others = object.keys().filter(|key| !matches!(key.as_str(), "arguments" | "parameters"));
        if others.count() > 3 {
            return None;
        }
        let own = self.own_name(name)?;
        let tool = self.tools.iter().find(|tool| tool.name == own)?;
        let text = match given {
            Value::String(text) => text.clone(),
            given => given.to_string(),
        };
        let call = ToolCall { id: String::new(), name: own.to_owned(), arguments: text, vendor: Map::new() };
        let arguments = call.parse_arguments().ok()?;
        takes(&tool.parameters, &arguments).then_some(call)
    }
}

/// Whether an object schema takes these arguments, by names and by the plain types: enough to tell a call from JSON
/// that merely looks like one. The tool itself judges in full.
fn takes(schema: &Value, arguments: &Map<String, Value>) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    let known = arguments.iter().all(|(name, value)| {
        properties.and_then(|properties| properties.get(name)).is_some_and(|schema| is_of_type(schema, value))
    });
    let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    known && required.iter().filter_map(Value::as_str).all(|name| arguments.contains_key(name))
}

fn is_of_type(schema: &Value, value: &Value) -> bool {
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Offered;
    use crate::request::{Message, Parameters, Part, Request, ToolSchema};
    use crate::response::{Response, StopReason};

    fn offered() -> Offered {
        let tool = |name: &str, parameters: Value| ToolSchema {
            name: name.into(),
            description: String::new(),
            parameters,
        };
        Offered::of(&Request {
            model: "m".into(),
            system: String::new(),
            messages: vec![Message::User { parts: vec![Part::text("x")] }],
            tools: vec![
                tool(
                    "click",
                    json!({"type": "object", "properties": {"ref": {"type": "string"}, "count": {"type": "integer"}},
                        "required": ["ref"]}),
                ),
                tool("mcp.server/tool", json!({"type": "object", "properties": {}})),
            ],
            parameters: Parameters::default(),
        })
    }

    fn read(text: &str) -> Response {
        offered().read(Response {
            text: text.into(),
            reasoning: String::new(),
            tool_calls: vec![],
            usage: None,
            stop_reason: StopReason::End,
            vendor: serde_json::Map::new(),
        })
    }

    #[test]
    fn a_text_that_is_nothing_but_calls_of_offered_tools_is_those_calls() {
        let one = &[(r#"{"ref":"e7"}"#)][..];
        for (text, arguments) in [
            (r#"{"name":"click","arguments":{"ref":"e7"}}"#, one),
            (" \n{\"name\": \"click\", \"parameters\": {\"ref\": \"e7\"}}\n", one),
            ("```json\n{\"name\":\"click\",\"arguments\":{\"ref\":\"e7\"}}\n```", one),
            ("```\n{\"name\":\"click\",\"arguments\":{\"ref\":\"e7\"}}\n```", one),
            (r#"{"type":"function","function":{"name":"click","arguments":"{\"ref\":\"e7\"}"}}"#, one),
            ("<tool_call>\n{\"name\":\"click\",\"arguments\":{\"ref\":\"e7\"}}\n</tool_call>", one),
            (
                r#"[{"name":"click","arguments":{"ref":"a"}},{"name":"functions.click","arguments":{"ref":"b"}}]"#,
                &[r#"{"ref":"a"}"#, r#"{"ref":"b"}"#],
            ),
        ] {
            let response = read(text);
            assert_eq!((response.stop_reason, response.text.as_str()), (StopReason::ToolUse, ""), "{text}");
            let got: Vec<_> = response.tool_calls.iter().map(|call| call.arguments.as_str()).collect();
            assert_eq!(got, arguments, "{text}");
            assert!(response.tool_calls.iter().all(|call| call.name == "click" && !call.id.is_empty()));
        }
    }

    #[test]
    fn a_text_that_only_looks_like_a_call_stays_a_text() {
        for text in [
            "I will click: {\"name\":\"click\",\"arguments\":{\"ref\":\"e7\"}}",
            "{\"name\":\"click\",\"arguments\":{\"ref\":\"e7\"}} as you asked",
            r#"{"name":"delete","arguments":{"ref":"e7"}}"#,
            r#"{"name":"click","arguments":{"ref":7}}"#,
            r#"{"name":"click","arguments":{}}"#,
            r#"{"name":"click","arguments":{"ref":"e7","force":true}}"#,
            r#"{"name":"click","arguments":"{\"ref\":"}"#,
            r#"{"name":"click"}"#,
            r#"{"ref":"e7"}"#,
            r#"[{"name":"click","arguments":{"ref":"a"}},7]"#,
            "```python\n{\"name\":\"click\",\"arguments\":{\"ref\":\"e7\"}}\n```",
            "<tool_call>{\"name\":\"click\",\"arguments\":{\"ref\":\"e7\"}}</tool_call> done",
            "",
        ] {
            let response = read(text);
            assert_eq!((response.stop_reason, response.text.as_str()), (StopReason::End, text));
            assert!(response.tool_calls.is_empty(), "{text}");
        }
    }

    #[test]
    fn names_come_back_as_they_were_offered() {
        let offered = offered();
        let wire = offered.names.wire("mcp.server/tool").into_owned();
        assert_ne!(wire, "mcp.server/tool");
        for (name, own) in [
            (wire.as_str(), "mcp.server/tool"),
            ("click", "click"),
            (" click ", "click"),
            ("functions.click", "click"),
            ("click<|channel|>commentary", "click"),
            ("unknown", "unknown"),
        ] {
            let mut read = name.to_owned();
            offered.give_back(&mut read);
            assert_eq!(read, own, "{name}");
        }
    }
}
