//! Whether a chat-completions request is one that a strict provider would take.
//!
//! Providers answer 400 for a history in which a tool call has no result or two. The scripted server does the same,
//! so that every end-to-end test also proves that the engine rebuilds legal histories.

use serde_json::Value;
use std::collections::BTreeSet;

/// The longest name of a tool, in characters (the limit that OpenAI documents).
const MAX_TOOL_NAME: usize = 64;

/// What a strict provider would refuse, one text each; empty for a legal request.
#[must_use]
pub fn violations(request: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check_tools(request, &mut found);
    match request.get("messages").and_then(Value::as_array) {
        Some(messages) if !messages.is_empty() => check_messages(messages, &mut found),
        _ => found.push("messages: a list of at least one message expected".to_owned()),
    }
    found
}

fn check_tools(request: &Value, found: &mut Vec<String>) {
    let Some(tools) = request.get("tools") else { return };
    let Some(tools) = tools.as_array().filter(|tools| !tools.is_empty()) else {
        found.push("tools: a list of at least one tool expected".to_owned());
        return;
    };
    let mut names = BTreeSet::new();
    for (index, tool) in tools.iter().enumerate() {
        let name = tool.pointer("/function/name").and_then(Value::as_str).unwrap_or_default();
        let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if name.is_empty() || name.len() > MAX_TOOL_NAME || !letters {
            found.push(format!("tools[{index}]: {name:?} is no name for a function"));
        }
        if !names.insert(name) {
            found.push(format!("tools[{index}]: {name:?} is there twice"));
        }
        if tool.pointer("/function/parameters").is_some_and(|schema| !schema.is_object()) {
            found.push(format!("tools[{index}]: the parameters must be an object"));
        }
    }
}

fn check_messages(messages: &[Value], found: &mut Vec<String>) {
    let mut ids = BTreeSet::new();
    let mut open = BTreeSet::new();
    for (index, message) in messages.iter().enumerate() {
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        if role != "tool" && !open.is_empty() {
            found.push(format!("messages[{index}]: no result for the calls {open:?}"));
            open.clear();
        }
        match role {
            "system" | "developer" | "user" => {
                if !has_content(message) {
                    found.push(format!("messages[{index}]: the content is missing"));
                }
            }
            "assistant" => check_assistant(index, message, &mut ids, &mut open, found),
            "tool" => {
                let id = message.get("tool_call_id").and_then(Value::as_str).unwrap_or_default();
                if !open.remove(id) {
                    found.push(format!("messages[{index}]: {id:?} is not a call that waits for a result"));
                }
                if message.get("content").is_none_or(Value::is_null) {
                    found.push(format!("messages[{index}]: the content is missing"));
                }
            }
            other => found.push(format!("messages[{index}]: {other:?} is no role")),
        }
    }
    if !open.is_empty() {
        found.push(format!("messages: no result for the calls {open:?}"));
    }
}

fn check_assistant(
    index: usize,
    message: &Value,
    ids: &mut BTreeSet<String>,
    open: &mut BTreeSet<String>,
    found: &mut Vec<String>,
) {
    let calls = message.get("tool_calls").and_then(Value::as_array);
    if message.get("tool_calls").is_some() && calls.is_none_or(Vec::is_empty) {
        found.push(format!("messages[{index}]: tool_calls: a list of at least one call expected"));
    }
    if calls.is_none_or(Vec::is_empty) && !has_content(message) {
        found.push(format!("messages[{index}]: neither content nor calls"));
    }
    for call in calls.into_iter().flatten() {
        let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
        if id.is_empty() || !ids.insert(id.to_owned()) {
            found.push(format!("messages[{index}]: the call id {id:?} is empty or there twice"));
        }
        let function = call.get("function");
        if function.and_then(|it| it.get("name")).and_then(Value::as_str).is_none_or(str::is_empty) {
            found.push(format!("messages[{index}]: the call {id:?} has no name"));
        }
        let arguments = function.and_then(|it| it.get("arguments")).and_then(Value::as_str);
        if !arguments.is_some_and(|text| serde_json::from_str::<Value>(text).is_ok_and(|it| it.is_object())) {
            found.push(format!("messages[{index}]: the arguments of {id:?} are no JSON object in a string"));
        }
        open.insert(id.to_owned());
    }
}

fn has_content(message: &Value) -> bool {
    match message.get("content") {
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(parts)) => !parts.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(id: &str) -> Value {
        json!({"id": id, "type": "function", "function": {"name": "click", "arguments": "{}"}})
    }

    fn of(messages: Value) -> String {
        violations(&json!({"model": "m", "messages": messages})).join("; ")
    }

    #[test]
    fn a_history_with_each_call_answered_once_is_legal() {
        let messages = json!([
            {"role": "system", "content": "s"},
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": null, "tool_calls": [call("a"), call("b")]},
            {"role": "tool", "tool_call_id": "b", "content": "2"},
            {"role": "tool", "tool_call_id": "a", "content": ""},
            {"role": "assistant", "content": "done"},
        ]);
        assert_eq!(of(messages), "");
    }

    #[test]
    fn a_call_without_a_result_or_with_two_is_found() {
        let asked = json!({"role": "assistant", "tool_calls": [call("a")]});
        let result = json!({"role": "tool", "tool_call_id": "a", "content": "x"});
        let user = json!({"role": "user", "content": "hi"});
        assert!(of(json!([user, asked])).contains("no result"));
        assert!(of(json!([user, asked, user, result])).contains("no result"));
        assert!(of(json!([user, asked, result, result])).contains("not a call that waits"));
        assert!(of(json!([user, asked, result, asked, result])).contains("there twice"));
    }

    #[test]
    fn empty_messages_and_broken_arguments_are_found() {
        assert!(of(json!([])).contains("at least one message"));
        assert!(of(json!([{"role": "user", "content": ""}])).contains("content is missing"));
        assert!(of(json!([{"role": "assistant", "content": ""}])).contains("neither"));
        let broken = json!({"id": "a", "function": {"name": "click", "arguments": "{\"a"}});
        let messages = json!([{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [broken]}, {"role": "tool", "tool_call_id": "a", "content": "x"}]);
        assert!(of(messages).contains("no JSON object"));
    }

    #[test]
    fn tools_need_distinct_plain_names() {
        let request = |tools: Value| json!({"tools": tools, "messages": [{"role": "user", "content": "x"}]});
        let tool = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": {}}});
        assert_eq!(violations(&request(json!([tool("a"), tool("b")]))), Vec::<String>::new());
        assert!(violations(&request(json!([tool("a.b")]))).join("").contains("no name"));
        assert!(violations(&request(json!([tool("a"), tool("a")]))).join("").contains("twice"));
    }
}
