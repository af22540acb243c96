//! A neutral request as an Anthropic message request.

use serde_json::{Map, Value, json};

use crate::endpoint::{Auth, Endpoint};
use crate::http::HttpRequest;
use crate::layout::{Piece, arrange};
use crate::names::{IdRule, Names};
use crate::openai::joined;
use crate::picture::{Pictures, Sent};
use crate::registry::{Thinking, bare_name, known_facts, thinking_of};
use crate::request::{Effort, Message, Part, Request, ToolCall};
use crate::schema::{self, Dialect};

/// Tokens of an answer when nobody said how many: the wire insists on a number, and this is within every current model.
const OUTPUT_TOKENS_DEFAULT: u32 = 8192;
/// The least that a fixed thinking budget may be, and the least that must be left beside it.
const BUDGET_TOKENS_MIN: u32 = 1024;
/// Messages whose end is marked for the cache. Four marks are allowed; tools and system take two.
const MARKED_MESSAGES: usize = 2;

/// The request that asks for a streamed answer. `request` must satisfy [`Request::check`].
///
/// Four cache marks: the tools, the system prompt, and the last two messages of the user's side, so that each request
/// reads what the one before it wrote. Turns alternate, results come first in theirs, and signed thinking stands where it
/// stood.
pub(crate) fn encode(request: &Request, endpoint: &Endpoint) -> HttpRequest {
    let mut messages =
        Writer { names: Names::of(request), pictures: Pictures::of(request) }.messages(request);
    mark_messages(&mut messages);
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    parameters(request, endpoint, &messages, &mut body);
    if !request.system.trim().is_empty() {
        body.insert("system".into(), json!([marked(json!({"type": "text", "text": request.system}))]));
    }
    let names = Names::of(request);
    let mut tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| {
            json!({"name": names.wire(&tool.name), "description": tool.description,
                "input_schema": schema::sent(&tool.parameters, Dialect::Usual)})
        })
        .collect();
    if let Some(last) = tools.last_mut() {
        *last = marked(last.take());
        body.insert("tools".into(), tools.into());
        if endpoint.quirks().no_parallel_tool_calls {
            body.insert("tool_choice".into(), json!({"type": "auto", "disable_parallel_tool_use": true}));
        }
    }
    body.insert("messages".into(), messages.into());
    body.insert("stream".into(), true.into());
    endpoint.post("/messages", Auth::Anthropic, body)
}

/// The limit, sampling and thinking. Thinking allows no sampling parameters, newer models only one of the two.
fn parameters(request: &Request, endpoint: &Endpoint, messages: &[Value], body: &mut Map<String, Value>) {
    let wanted = &request.parameters;
    let facts = known_facts(&request.model);
    let most = facts.max_output_tokens.unwrap_or(u32::MAX);
    let thinking = match wanted.effort {
        Some(effort) => thinking(request, endpoint, messages).map(|kind| (kind, effort)),
        None => None,
    };
    let mut limit = wanted.max_output_tokens.unwrap_or(OUTPUT_TOKENS_DEFAULT).min(most);
    let mut is_thinking = false;
    match thinking {
        Some((Thinking::Adaptive, effort)) => {
            if wanted.max_output_tokens.is_none() {
                limit = OUTPUT_TOKENS_DEFAULT.saturating_mul(2).min(most);
            }
            body.insert("thinking".into(), json!({"type": "adaptive"}));
            body.insert("output_config".into(), json!({"effort": effort.as_str()}));
            is_thinking = true;
        }
        Some((Thinking::Budget, effort)) => {
            let tokens = match effort {
                Effort::Low => 2048,
                Effort::Medium => 8192,
                Effort::High => 16_384,
            };
            if wanted.max_output_tokens.is_none() {
                limit = OUTPUT_TOKENS_DEFAULT.saturating_add(tokens).min(most);
            }
            let budget = tokens.min(limit.saturating_sub(BUDGET_TOKENS_MIN));
            // An answer that leaves no room for it is given without thinking.
            if budget >= BUDGET_TOKENS_MIN {
                body.insert("thinking".into(), json!({"type": "enabled", "budget_tokens": budget}));
                is_thinking = true;
            }
        }
        Some((Thinking::None, _)) | None => {}
    }
    body.insert("max_tokens".into(), limit.into());
    if !is_thinking {
        if let Some(temperature) = wanted.temperature {
            body.insert("temperature".into(), temperature.clamp(0.0, 1.0).into());
        } else if let Some(top_p) = wanted.top_p {
            body.insert("top_p".into(), top_p.into());
        }
    }
}

/// How the model is asked to think; not at all where the history would be refused for it: with a fixed budget, a turn
/// whose calls are still being answered must begin with the thinking that led to them.
fn thinking(request: &Request, endpoint: &Endpoint, messages: &[Value]) -> Option<Thinking> {
    let kind = if endpoint.quirks().manual_thinking { Thinking::Budget } else { thinking_of(&request.model) };
    let answered = matches!(request.messages.last(), Some(Message::ToolResult { .. }));
    let last_turn = messages.iter().rev().find(|message| message.get("role") == Some(&"assistant".into()));
    let first = last_turn.and_then(|turn| turn.pointer("/content/0/type")).and_then(Value::as_str);
    let is_refused = kind == Thinking::Budget
        && answered
        && bare_name(&request.model).starts_with("claude")
        && !matches!(first, Some("thinking" | "redacted_thinking"));
    (!is_refused).then_some(kind)
}

fn marked(mut block: Value) -> Value {
    if let Value::Object(fields) = &mut block {
        fields.insert("cache_control".into(), json!({"type": "ephemeral"}));
    }
    block
}

fn mark_messages(messages: &mut [Value]) {
    let users = messages.iter_mut().rev().filter(|message| message.get("role") == Some(&"user".into()));
    for message in users.take(MARKED_MESSAGES) {
        let last =
            message.get_mut("content").and_then(Value::as_array_mut).and_then(|content| content.last_mut());
        if let Some(last) = last {
            *last = marked(last.take());
        }
    }
}

struct Writer {
    names: Names,
    pictures: Pictures,
}

impl Writer {
    /// The conversation in turns: what the user's side says in a row is one message, and the first is the user's.
    fn messages(mut self, request: &Request) -> Vec<Value> {
        let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
        for message in &request.messages {
            let (role, mut blocks) = match message {
                Message::User { parts } => ("user", self.blocks(parts, "(nothing)")),
                Message::Assistant { text, reasoning, tool_calls, vendor } => {
                    ("assistant", self.turn(text, reasoning, tool_calls, vendor))
                }
                Message::ToolResult { call_id, parts, is_error } => {
                    ("user", vec![self.result(call_id, parts, *is_error)])
                }
            };
            if blocks.is_empty() {
                continue;
            }
            match turns.last_mut() {
                Some((last, content)) if *last == role => content.append(&mut blocks),
                None if role == "assistant" => {
                    turns.push((
                        "user",
                        vec![json!({"type": "text", "text": "(The beginning is not shown.)"})],
                    ));
                    turns.push((role, blocks));
                }
                _ => turns.push((role, blocks)),
            }
        }
        turns.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
    }

    /// Text without anything to read is refused, so it is left out; `empty` stands for nothing at all.
    fn blocks(&mut self, parts: &[Part], empty: &str) -> Vec<Value> {
        let sent: Vec<Sent<'_>> = parts.iter().map(|part| self.pictures.sent(part)).collect();
        let mut blocks: Vec<Value> = sent
            .iter()
            .filter_map(|part| match part {
                Sent::Text(text) if text.trim().is_empty() => None,
                Sent::Text(text) => Some(json!({"type": "text", "text": text})),
                Sent::Image { media_type, data } => Some(
                    json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}),
                ),
            })
            .collect();
        if blocks.is_empty() {
            blocks.push(json!({"type": "text", "text": empty}));
        }
        blocks
    }

    fn result(&mut self, call_id: &str, parts: &[Part], is_error: bool) -> Value {
        let has_image = parts.iter().any(|part| matches!(part, Part::Image { .. }));
        // Copies of this wire know results as one text; pictures are the reason to say more.
        let content = if has_image {
            self.blocks(parts, "(no text)").into()
        } else {
            let sent: Vec<Sent<'_>> = parts.iter().map(|part| self.pictures.sent(part)).collect();
            let text = joined(&sent);
            Value::from(if text.trim().is_empty() { "(no text)".to_owned() } else { text })
        };
        let mut block =
            json!({"type": "tool_result", "tool_use_id": IdRule::Word.id(call_id), "content": content});
        if is_error && let Value::Object(fields) = &mut block {
            fields.insert("is_error".into(), true.into());
        }
        block
    }

    fn turn(
        &self,
        text: &str,
        reasoning: &str,
        calls: &[ToolCall],
        vendor: &Map<String, Value>,
    ) -> Vec<Value> {
        let no_marks = Map::new();
        let pieces = arrange((text, reasoning, calls), vendor.get("anthropic"), &no_marks);
        let block = |piece: Piece<'_>| match piece {
            Piece::Text(text, _) if text.trim().is_empty() => None,
            Piece::Text(text, _) => Some(json!({"type": "text", "text": text})),
            Piece::Reasoning(text, marks) => {
                let mut block = json!({"type": "thinking", "thinking": text});
                if let (Value::Object(fields), Some(signature)) = (&mut block, marks.get("signature")) {
                    fields.insert("signature".into(), signature.clone());
                }
                Some(block)
            }
            Piece::AsIs(value) => Some(value.clone()),
            Piece::Call(call) => Some(json!({"type": "tool_use", "id": IdRule::Word.id(&call.id),
                "name": self.names.wire(&call.name), "input": call.legal_input()})),
        };
        pieces.into_iter().filter_map(block).collect()
    }
}

#[cfg(test)]
mod tests {
    use panelot_base::Secret;
    use serde_json::{Map, Value, json};

    use super::encode;
    use crate::endpoint::Endpoint;
    use crate::http::HeaderValue;
    use crate::picture::tests::PNG;
    use crate::quirks::Quirks;
    use crate::request::{Effort, Message, Parameters, Part, Request, ToolCall, ToolSchema};

    fn request(messages: Vec<Message>) -> Request {
        Request {
            model: "claude-sonnet-4-5".into(),
            system: "sys".into(),
            messages,
            tools: vec![],
            parameters: Parameters::default(),
        }
    }

    fn with_quirks(request: &Request, quirks: Quirks) -> Value {
        let endpoint =
            Endpoint::new("https://api.anthropic.com", Secret::new("k")).unwrap().with_quirks(quirks);
        serde_json::from_str(encode(request, &endpoint).body.as_deref().unwrap()).unwrap()
    }

    fn body(request: &Request) -> Value {
        with_quirks(request, Quirks::default())
    }

    fn user(text: &str) -> Message {
        Message::User { parts: vec![Part::text(text)] }
    }

    fn turn(text: &str, reasoning: &str, calls: &[(&str, &str)], slots: Value) -> Message {
        let call = |(id, arguments): &(&str, &str)| ToolCall {
            id: (*id).into(),
            name: "click".into(),
            arguments: (*arguments).into(),
            vendor: Map::new(),
        };
        let vendor = match slots {
            Value::Null => Map::new(),
            slots => Map::from_iter([("anthropic".to_owned(), slots)]),
        };
        Message::Assistant {
            text: text.into(),
            reasoning: reasoning.into(),
            tool_calls: calls.iter().map(call).collect(),
            vendor,
        }
    }

    fn result(id: &str, parts: Vec<Part>, is_error: bool) -> Message {
        Message::ToolResult { call_id: id.into(), parts, is_error }
    }

    #[test]
    fn a_plain_request_has_its_headers_its_limit_and_its_cache_marks() {
        let mut request = request(vec![user("a")]);
        request.tools = ["one", "two"]
            .map(|name| ToolSchema { name: name.into(), description: "d".into(), parameters: json!({}) })
            .into();
        let endpoint = Endpoint::new("https://api.anthropic.com", Secret::new("k")).unwrap();
        let http = encode(&request, &endpoint);
        assert_eq!(http.url.as_str(), "https://api.anthropic.com/v1/messages");
        let plain = |name: &str, value: &str| (name.to_owned(), HeaderValue::Plain(value.to_owned()));
        for header in [
            plain("anthropic-version", "2023-06-01"),
            plain("anthropic-dangerous-direct-browser-access", "true"),
            plain("content-type", "application/json"),
            ("x-api-key".to_owned(), HeaderValue::Secret(Secret::new("k"))),
        ] {
            assert!(http.headers.contains(&header), "{header:?}");
        }
        let mark = json!({"type": "ephemeral"});
        let schema = json!({"type": "object", "properties": {}});
        assert_eq!(
            body(&request),
            json!({"model": "claude-sonnet-4-5", "stream": true, "max_tokens": 8192,
                "system": [{"type": "text", "text": "sys", "cache_control": mark}],
                "tools": [{"name": "one", "description": "d", "input_schema": schema},
                    {"name": "two", "description": "d", "input_schema": schema, "cache_control": mark}],
                "messages": [{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": mark}]}]})
        );
        let quirks = Quirks { no_parallel_tool_calls: true, ..Quirks::default() };
        let one = json!({"type": "auto", "disable_parallel_tool_use": true});
        assert_eq!(with_quirks(&request, quirks)["tool_choice"], one);
    }

    #[test]
    fn turns_alternate_and_results_come_first_with_their_pictures() {
        let image = Part::Image { media_type: "image/png".into(), data: PNG.into() };
        let sent = body(&request(vec![
            user("a"),
            user(" "),
            turn("", "", &[("1", "{\"ref\":\"e7\"}"), ("x.2", "{\"ref\":")], Value::Null),
            result("1", vec![Part::text("seen"), image], false),
            result("x.2", vec![], true),
            user("and?"),
        ]));
        let messages = sent["messages"].as_array().unwrap();
        let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["user", "assistant", "user"]);
        let second = messages[1]["content"][1]["id"].as_str().unwrap();
        assert!(second.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{second}");
        assert_eq!(messages[1]["content"][1]["input"], json!({"invalid_arguments": "{\"ref\":"}));
        let source = json!({"type": "base64", "media_type": "image/png", "data": PNG});
        assert_eq!(
            messages[2]["content"],
            json!([
                {"type": "tool_result", "tool_use_id": "1",
                    "content": [{"type": "text", "text": "seen"}, {"type": "image", "source": source}]},
                {"type": "tool_result", "tool_use_id": second, "content": "(no text)", "is_error": true},
                {"type": "text", "text": "and?", "cache_control": {"type": "ephemeral"}}
            ])
        );
        let sent = body(&request(vec![turn("x", "", &[], Value::Null), user("a")]));
        assert_eq!(sent["messages"][0]["role"], "user");
    }

    #[test]
    fn signed_thinking_goes_back_in_its_place() {
        let redacted = json!({"type": "redacted_thinking", "data": "AA"});
        let slots = json!([{"slot": "reasoning", "bytes": 2, "signature": "s=="},
            {"slot": "as_is", "value": redacted}, {"slot": "text", "bytes": 1}, {"slot": "call"}]);
        let sent = body(&request(vec![
            user("a"),
            turn("x", "hm", &[("1", "{}")], slots),
            result("1", vec![Part::text("ok")], false),
        ]));
        assert_eq!(
            sent["messages"][1]["content"],
            json!([{"type": "thinking", "thinking": "hm", "signature": "s=="}, redacted,
                {"type": "text", "text": "x"}, {"type": "tool_use", "id": "1", "name": "click", "input": {}}])
        );
        let sent = body(&request(vec![user("a"), turn("x", "hm", &[], Value::Null), user("b")]));
        assert_eq!(sent["messages"][1]["content"], json!([{"type": "text", "text": "x"}]));
    }

    #[test]
    fn effort_is_said_as_the_model_knows_it_and_leaves_sampling_out() {
        let mut request = request(vec![user("a")]);
        request.parameters = Parameters {
            effort: Some(Effort::High),
            temperature: Some(0.5),
            max_output_tokens: Some(5000),
            ..Parameters::default()
        };
        let sent = body(&request);
        assert_eq!(sent["thinking"], json!({"type": "enabled", "budget_tokens": 3976}));
        assert_eq!((sent.get("temperature"), sent.get("output_config")), (None, None));
        request.parameters.max_output_tokens = None;
        assert_eq!(body(&request)["thinking"]["budget_tokens"], 16_384);
        request.parameters.max_output_tokens = Some(1500);
        let sent = body(&request);
        assert_eq!((sent.get("thinking"), &sent["temperature"]), (None, &json!(0.5)));
        request.model = "claude-opus-4-6".into();
        let sent = body(&request);
        assert_eq!(
            (&sent["thinking"], &sent["output_config"]),
            (&json!({"type": "adaptive"}), &json!({"effort": "high"}))
        );
        let quirks = Quirks { manual_thinking: true, ..Quirks::default() };
        request.parameters.max_output_tokens = Some(5000);
        assert_eq!(with_quirks(&request, quirks)["thinking"]["budget_tokens"], 3976);
        request.model = "claude-3-haiku-20240307".into();
        let sent = body(&request);
        assert_eq!((sent.get("thinking"), &sent["max_tokens"]), (None, &json!(4096)));
    }

    #[test]
    fn thinking_is_not_asked_for_where_the_history_would_be_refused_for_it() {
        let mut request = request(vec![
            user("a"),
            turn("", "", &[("1", "{}")], Value::Null),
            result("1", vec![Part::text("ok")], false),
        ]);
        request.parameters.effort = Some(Effort::Low);
        assert_eq!(body(&request).get("thinking"), None);
        request.messages.push(turn("done", "", &[], Value::Null));
        request.messages.push(user("b"));
        assert_eq!(body(&request)["thinking"]["budget_tokens"], 2048);
    }
}
