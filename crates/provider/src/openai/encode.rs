//! A neutral request as chat-completions JSON.

use serde_json::{Map, Value, json};

use crate::endpoint::Endpoint;
use crate::http::{HeaderValue, HttpRequest, Method};
use crate::registry::bare_name;
use crate::request::{Effort, Message, Parameters, Part, Request, ToolCall, ToolSchema};

/// Longest name of a tool on this wire.
const NAME_CHARS_MAX: usize = 64;

/// The request that asks for a streamed answer. `request` must satisfy [`Request::check`].
///
/// Pictures in tool results go into a user message after the results, because a `tool` message takes text only.
/// Reasoning goes back with the turns that called tools, once the conversation has any (some models refuse a history
/// without it). Names and arguments that a model made up wrongly are mended, since one of them would make every later
/// request of the thread fail.
#[must_use]
pub fn encode(request: &Request, endpoint: &Endpoint) -> HttpRequest {
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    body.insert("messages".into(), messages(request).into());
    body.insert("stream".into(), true.into());
    body.insert("stream_options".into(), json!({"include_usage": true}));
    if !request.tools.is_empty() {
        body.insert("tools".into(), request.tools.iter().map(tool).collect());
    }
    parameters(&request.model, &request.parameters, &mut body);
    let mut headers = super::headers(endpoint);
    headers.push(("content-type".to_owned(), HeaderValue::Plain("application/json".to_owned())));
    HttpRequest {
        method: Method::Post,
        url: endpoint.join("/chat/completions"),
        headers,
        body: Some(Value::Object(body).to_string()),
    }
}

fn parameters(model: &str, parameters: &Parameters, body: &mut Map<String, Value>) {
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(name.to_owned(), value);
        }
    };
    set("temperature", parameters.temperature.map(Value::from));
    set("top_p", parameters.top_p.map(Value::from));
    set(limit_name(model), parameters.max_output_tokens.map(Value::from));
    let effort = parameters.effort.map(|effort| match effort {
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
    });
    set("reasoning_effort", effort.map(Value::from));
}

/// OpenAI's reasoning models refuse `max_tokens`; most other servers know nothing else.
fn limit_name(model: &str) -> &'static str {
    let name = bare_name(model);
    let reasoning = ["gpt-5", "o1", "o3", "o4"].iter().any(|prefix| name.starts_with(prefix));
    if reasoning { "max_completion_tokens" } else { "max_tokens" }
}

fn tool(tool: &ToolSchema) -> Value {
    json!({"type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": tool.parameters}})
}

fn messages(request: &Request) -> Vec<Value> {
    let mut out = Vec::new();
    if !request.system.is_empty() {
        out.push(json!({"role": "system", "content": request.system}));
    }
    let any_reasoning = request
        .messages
        .iter()
        .any(|message| matches!(message, Message::Assistant { reasoning, .. } if !reasoning.is_empty()));
    // Pictures of the results so far; they wait until the last result of the turn, which must not be parted.
    let mut pictures: Vec<Value> = Vec::new();
    for message in &request.messages {
        if !matches!(message, Message::ToolResult { .. }) && !pictures.is_empty() {
            out.push(json!({"role": "user", "content": std::mem::take(&mut pictures)}));
        }
        match message {
            Message::User { parts } => out.push(json!({"role": "user", "content": content(parts)})),
            Message::Assistant { text, reasoning, tool_calls, vendor: _ } => {
                out.push(assistant(text, any_reasoning.then_some(reasoning), tool_calls));
            }
            Message::ToolResult { call_id, parts, .. } => {
                let text = joined_text(parts);
                let text = if text.is_empty() { "(no text)" } else { &text };
                out.push(json!({"role": "tool", "tool_call_id": call_id, "content": text}));
                let images = parts.iter().filter(|part| matches!(part, Part::Image { .. }));
                for image in images {
                    pictures
                        .push(json!({"type": "text", "text": format!("Picture from tool call {call_id}:")}));
                    pictures.push(part_value(image));
                }
            }
        }
    }
    if !pictures.is_empty() {
        out.push(json!({"role": "user", "content": pictures}));
    }
    out
}

fn assistant(text: &str, reasoning: Option<&String>, calls: &[ToolCall]) -> Value {
    let mut message = Map::new();
    message.insert("role".into(), "assistant".into());
    message.insert("content".into(), if text.is_empty() { Value::Null } else { text.into() });
    if !calls.is_empty() {
        message.insert("tool_calls".into(), calls.iter().map(call).collect());
        if let Some(reasoning) = reasoning {
            message.insert("reasoning_content".into(), reasoning.as_str().into());
        }
    }
    Value::Object(message)
}

fn call(call: &ToolCall) -> Value {
    let mut function = Map::new();
    let mut entry = Map::new();
    for (name, value) in &call.vendor {
        match (name.as_str(), value) {
            ("function", Value::Object(members)) => function.extend(members.clone()),
            ("function", _) => {}
            _ => {
                entry.insert(name.clone(), value.clone());
            }
        }
    }
    function.insert("name".into(), legal_name(&call.name).into());
    function.insert("arguments".into(), legal_arguments(call).into());
    entry.insert("id".into(), call.id.as_str().into());
    entry.insert("type".into(), "function".into());
    entry.insert("function".into(), function.into());
    Value::Object(entry)
}

/// The name in the characters that the wire allows in a history.
fn legal_name(name: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let name: String = name.chars().take(NAME_CHARS_MAX).map(legal).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// The arguments as the model wrote them when they are an object; else an object that shows what it wrote.
fn legal_arguments(call: &ToolCall) -> String {
    match serde_json::from_str(&call.arguments) {
        Ok(Value::Object(_)) => call.arguments.clone(),
        _ => match call.parse_arguments() {
            Ok(fields) => Value::Object(fields).to_string(),
            Err(_) => json!({"invalid_arguments": call.arguments}).to_string(),
        },
    }
}

fn content(parts: &[Part]) -> Value {
    if parts.iter().all(|part| matches!(part, Part::Text { .. })) {
        joined_text(parts).into()
    } else {
        parts.iter().map(part_value).collect()
    }
}

fn joined_text(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            Part::Image { .. } => None,
        })
        .collect();
    texts.join("\n")
}

fn part_value(part: &Part) -> Value {
    match part {
        Part::Text { text } => json!({"type": "text", "text": text}),
        Part::Image { media_type, data } => {
            json!({"type": "image_url", "image_url": {"url": format!("data:{media_type};base64,{data}")}})
        }
    }
}

#[cfg(test)]
mod tests {

    use panelot_base::Secret;
    use serde_json::{Value, json};

    use super::encode;
    use crate::endpoint::Endpoint;
    use crate::http::{HeaderValue, Method};
    use crate::request::{Effort, Message, Parameters, Part, Request, ToolCall, ToolSchema};

    fn request(messages: Vec<Message>) -> Request {
        Request {
            model: "m".into(),
            system: "sys".into(),
            messages,
            tools: vec![],
            parameters: Parameters::default(),
        }
    }

    fn body(request: &Request) -> Value {
        let endpoint = Endpoint::new("https://a.test", Secret::new("k")).unwrap();
        serde_json::from_str(encode(request, &endpoint).body.as_deref().unwrap()).unwrap()
    }

    fn image() -> Part {
        Part::Image { media_type: "image/png".into(), data: "AAAA".into() }
    }

    fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
        ToolCall {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
            vendor: serde_json::Map::new(),
        }
    }

    fn calls(reasoning: &str, tool_calls: Vec<ToolCall>) -> Message {
        Message::Assistant {
            text: String::new(),
            reasoning: reasoning.into(),
            tool_calls,
            vendor: Default::default(),
        }
    }

    fn result(id: &str, parts: Vec<Part>) -> Message {
        Message::ToolResult { call_id: id.into(), parts, is_error: false }
    }

    #[test]
    fn a_plain_request_sends_the_common_core_and_nothing_that_is_not_set() {
        let request = request(vec![Message::User { parts: vec![Part::text("a"), Part::text("b")] }]);
        let endpoint = Endpoint::new("https://a.test", Secret::new("k")).unwrap();
        let http = encode(&request, &endpoint);
        assert_eq!((http.method, http.url.as_str()), (Method::Post, "https://a.test/v1/chat/completions"));
        assert!(
            http.headers.contains(&("content-type".into(), HeaderValue::Plain("application/json".into())))
        );
        assert_eq!(
            body(&request),
            json!({"model": "m", "stream": true, "stream_options": {"include_usage": true},
                "messages": [{"role": "system", "content": "sys"}, {"role": "user", "content": "a\nb"}]})
        );
    }

    #[test]
    fn parameters_and_tools_take_their_wire_names() {
        let mut request = request(vec![]);
        request.system.clear();
        request.tools = vec![ToolSchema {
            name: "t".into(),
            description: "d".into(),
            parameters: json!({"type": "object"}),
        }];
        request.parameters = Parameters {
            temperature: Some(0.5),
            top_p: Some(0.9),
            max_output_tokens: Some(7),
            effort: Some(Effort::High),
        };
        let sent = body(&request);
        assert_eq!(
            (&sent["temperature"], &sent["top_p"], &sent["max_tokens"], &sent["reasoning_effort"]),
            (&json!(0.5), &json!(0.9), &json!(7), &json!("high"))
        );
        assert_eq!(sent["messages"], json!([]));
        assert_eq!(
            sent["tools"],
            json!([{"type": "function", "function":
                {"name": "t", "description": "d", "parameters": {"type": "object"}}}])
        );
        request.model = "openai/o4-mini".into();
        let sent = body(&request);
        assert_eq!((&sent["max_completion_tokens"], sent.get("max_tokens")), (&json!(7), None));
    }

    #[test]
    fn pictures_of_results_follow_the_last_result_of_the_turn() {
        let request = request(vec![
            Message::User { parts: vec![Part::text("look"), image()] },
            calls("", vec![call("1", "shot", "{}"), call("2", "t", "{}")]),
            result("1", vec![image()]),
            result("2", vec![Part::text("ok")]),
            Message::User { parts: vec![Part::text("and?")] },
        ]);
        let sent = body(&request);
        let roles: Vec<_> =
            sent["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool", "tool", "user", "user"]);
        let url = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
        assert_eq!(sent["messages"][1]["content"], json!([{"type": "text", "text": "look"}, url]));
        assert_eq!(sent["messages"][3]["content"], "(no text)");
        assert_eq!(sent["messages"][5]["content"][1], url);
        assert_eq!(sent["messages"][6]["content"], "and?");
    }

    #[test]
    fn a_history_that_a_model_garbled_is_sent_as_one_that_the_wire_accepts() {
        let request = request(vec![calls(
            "",
            vec![
                call("1", "web click!", "{\"ref\":"),
                call("2", "t", ""),
                call("3", "t", r#""{\"ref\":\"e7\"}""#),
                call("4", "t", "{ \"b\": 1, \"a\": 2 }"),
            ],
        )]);
        let sent = body(&request);
        let message = &sent["messages"][1];
        assert_eq!(message["content"], Value::Null);
        let functions: Vec<_> =
            message["tool_calls"].as_array().unwrap().iter().map(|call| call["function"].clone()).collect();
        assert_eq!(
            functions,
            [
                json!({"name": "web_click_", "arguments": "{\"invalid_arguments\":\"{\\\"ref\\\":\"}"}),
                json!({"name": "t", "arguments": "{}"}),
                json!({"name": "t", "arguments": "{\"ref\":\"e7\"}"}),
                json!({"name": "t", "arguments": "{ \"b\": 1, \"a\": 2 }"}),
            ]
        );
    }

    #[test]
    fn reasoning_goes_back_with_every_calling_turn_once_there_is_any() {
        let turn =
            |reasoning: &str, id: &str| [calls(reasoning, vec![call(id, "t", "{}")]), result(id, vec![])];
        let spoken = Message::Assistant {
            text: "x".into(),
            reasoning: "r".into(),
            tool_calls: vec![],
            vendor: Default::default(),
        };
        let messages = [turn("because", "1").to_vec(), turn("", "2").to_vec(), vec![spoken]].concat();
        let sent = body(&request(messages));
        assert_eq!(sent["messages"][1]["reasoning_content"], "because");
        assert_eq!(sent["messages"][3]["reasoning_content"], "");
        assert_eq!(sent["messages"][5].get("reasoning_content"), None);
        let sent = body(&request(turn("", "1").to_vec()));
        assert_eq!(sent["messages"][1].get("reasoning_content"), None);
    }

    #[test]
    fn members_that_only_the_vendor_understands_go_back_and_override_nothing() {
        let mut signed = call("1", "t", "{}");
        signed.vendor = serde_json::Map::from_iter([
            ("extra_content".to_owned(), json!({"google": {"thought_signature": "sig=="}})),
            ("function".to_owned(), json!({"name": "evil", "thought_signature": "v"})),
            ("id".to_owned(), json!("evil")),
        ]);
        let sent = body(&request(vec![calls("", vec![signed])]));
        assert_eq!(
            sent["messages"][1]["tool_calls"][0],
            json!({"id": "1", "type": "function", "extra_content": {"google": {"thought_signature": "sig=="}},
                "function": {"name": "t", "arguments": "{}", "thought_signature": "v"}})
        );
    }
}
