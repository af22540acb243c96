//! A neutral request as a Responses request.

use serde_json::{Map, Value, json};

use crate::endpoint::{Auth, Endpoint};
use crate::http::HttpRequest;
use crate::layout::{Piece, arrange};
use crate::names::{IdRule, Names};
use crate::openai::{is_openai_reasoner, joined};
use crate::picture::{Pictures, Sent};
use crate::registry::known_facts;
use crate::request::{Message, Part, Request, ToolCall};
use crate::schema::{self, Dialect};

/// The least that this wire takes as the limit of an answer.
const OUTPUT_TOKENS_MIN: u32 = 16;

/// The request that asks for a streamed answer. `request` must satisfy [`Request::check`].
///
/// Nothing is stored at the provider, so that encrypted reasoning is asked for and goes back in its place.
pub(crate) fn encode(request: &Request, endpoint: &Endpoint) -> HttpRequest {
    let names = Names::of(request);
    let parameters = &request.parameters;
    let takes_reasoning = known_facts(&request.model).reasoning;
    let mut body = Map::new();
    let mut set = |name: &str, value: Value| body.insert(name.to_owned(), value);
    set("model", request.model.as_str().into());
    if !request.system.is_empty() {
        set("instructions", request.system.as_str().into());
    }
    set("input", Writer { names: &names, pictures: Pictures::of(request) }.items(request).into());
    set("stream", true.into());
    set("store", false.into());
    if takes_reasoning == Some(true) {
        set("include", json!(["reasoning.encrypted_content"]));
    }
    if !request.tools.is_empty() {
        let tool = |tool: &crate::request::ToolSchema| {
            json!({"type": "function", "name": names.wire(&tool.name), "description": tool.description,
                "parameters": schema::sent(&tool.parameters, Dialect::Usual), "strict": false})
        };
        set("tools", request.tools.iter().map(tool).collect());
        if endpoint.quirks().no_parallel_tool_calls {
            set("parallel_tool_calls", false.into());
        }
    }
    if let Some(tokens) = parameters.max_output_tokens {
        set("max_output_tokens", tokens.max(OUTPUT_TOKENS_MIN).into());
    }
    if !is_openai_reasoner(&request.model) {
        if let Some(temperature) = parameters.temperature {
            set("temperature", temperature.into());
        }
        if let Some(top_p) = parameters.top_p {
            set("top_p", top_p.into());
        }
    }
    let mut reasoning = Map::new();
    if let Some(effort) = parameters.effort.filter(|_| takes_reasoning != Some(false)) {
        reasoning.insert("effort".into(), effort.as_str().into());
    }
    if endpoint.quirks().reasoning_summary && takes_reasoning != Some(false) {
        reasoning.insert("summary".into(), "auto".into());
    }
    if !reasoning.is_empty() {
        set("reasoning", reasoning.into());
    }
    endpoint.post("/responses", Auth::Bearer, body)
}

struct Writer<'a> {
    names: &'a Names,
    pictures: Pictures,
}

impl Writer<'_> {
    fn items(mut self, request: &Request) -> Vec<Value> {
        let mut items = Vec::new();
        for message in &request.messages {
            match message {
                Message::User { parts } => {
                    let content = self.content(parts);
                    items.push(json!({"type": "message", "role": "user", "content": content}));
                }
                Message::Assistant { text, reasoning, tool_calls, vendor } => {
                    self.turn((text, reasoning, tool_calls), vendor, &mut items);
                }
                Message::ToolResult { call_id, parts, .. } => {
                    let output = self.output(parts);
                    let id = IdRule::Graphic.id(call_id);
                    items.push(json!({"type": "function_call_output", "call_id": id, "output": output}));
                }
            }
        }
        items
    }

    fn turn(&self, turn: (&str, &str, &[ToolCall]), vendor: &Map<String, Value>, items: &mut Vec<Value>) {
        let no_marks = Map::new();
        for piece in arrange(turn, vendor.get("responses"), &no_marks) {
            match piece {
                Piece::Text("", _) | Piece::Reasoning(..) => {}
                Piece::Text(text, marks) => {
                    let mut item = json!({"type": "message", "role": "assistant",
                        "content": [{"type": "output_text", "text": text}]});
                    // Newer models tell a comment on the way from the answer, and want to be told so again.
                    if let (Value::Object(fields), Some(phase)) = (&mut item, marks.get("phase")) {
                        fields.insert("phase".into(), phase.clone());
                    }
                    items.push(item);
                }
                Piece::AsIs(value) => items.push(value.clone()),
                Piece::Call(call) => items.push(json!({"type": "function_call",
                    "call_id": IdRule::Graphic.id(&call.id), "name": self.names.wire(&call.name),
                    "arguments": call.legal_arguments()})),
            }
        }
    }

    fn content(&mut self, parts: &[Part]) -> Vec<Value> {
        parts
            .iter()
            .map(|part| match self.pictures.sent(part) {
                Sent::Text(text) => json!({"type": "input_text", "text": text}),
                Sent::Image { media_type, data } => {
                    json!({"type": "input_image", "image_url": format!("data:{media_type};base64,{data}")})
                }
            })
            .collect()
    }

    /// One text, or parts where there are pictures.
    fn output(&mut self, parts: &[Part]) -> Value {
        if parts.iter().any(|part| matches!(part, Part::Image { .. })) {
            return self.content(parts).into();
        }
        let sent: Vec<Sent<'_>> = parts.iter().map(|part| self.pictures.sent(part)).collect();
        let text = joined(&sent);
        Value::from(if text.is_empty() { "(no text)".to_owned() } else { text })
    }
}

#[cfg(test)]
mod tests {
    use panelot_base::Secret;
    use serde_json::{Map, Value, json};

    use super::encode;
    use crate::endpoint::Endpoint;
    use crate::picture::tests::PNG;
    use crate::request::{Effort, Message, Parameters, Part, Request, ToolCall, ToolSchema};

    fn body(request: &Request) -> Value {
        let endpoint = Endpoint::new("https://api.openai.com", Secret::new("k")).unwrap();
        let http = encode(request, &endpoint);
        assert_eq!(http.url.as_str(), "https://api.openai.com/v1/responses");
        serde_json::from_str(http.body.as_deref().unwrap()).unwrap()
    }

    #[test]
    fn a_conversation_is_a_list_of_items_and_reasoning_goes_back_in_its_place() {
        let reasoning = json!({"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "AA"});
        let slots = json!([{"slot": "as_is", "value": reasoning},
            {"slot": "text", "bytes": 1, "phase": "commentary"}, {"slot": "call"}]);
        let call =
            ToolCall { id: "c1".into(), name: "a/b".into(), arguments: "{\"x\"".into(), vendor: Map::new() };
        let request = Request {
            model: "gpt-5.2".into(),
            system: "sys".into(),
            messages: vec![
                Message::User { parts: vec![Part::text("a")] },
                Message::Assistant {
                    text: "x".into(),
                    reasoning: "hm".into(),
                    tool_calls: vec![call],
                    vendor: Map::from_iter([("responses".to_owned(), slots)]),
                },
                Message::ToolResult {
                    call_id: "c1".into(),
                    parts: vec![
                        Part::text("seen"),
                        Part::Image { media_type: "image/png".into(), data: PNG.into() },
                    ],
                    is_error: false,
                },
            ],
            tools: vec![ToolSchema { name: "a/b".into(), description: "d".into(), parameters: json!({}) }],
            parameters: Parameters {
                effort: Some(Effort::Low),
                temperature: Some(0.5),
                max_output_tokens: Some(5),
                ..Parameters::default()
            },
        };
        let sent = body(&request);
        let name = sent["tools"][0]["name"].as_str().unwrap();
        assert_eq!(
            sent,
            json!({"model": "gpt-5.2", "instructions": "sys", "stream": true, "store": false,
                "include": ["reasoning.encrypted_content"], "reasoning": {"effort": "low"}, "max_output_tokens": 16,
                "tools": [{"type": "function", "name": name, "description": "d", "strict": false,
                    "parameters": {"type": "object", "properties": {}}}],
                "input": [
                    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]},
                    reasoning,
                    {"type": "message", "role": "assistant", "phase": "commentary",
                        "content": [{"type": "output_text", "text": "x"}]},
                    {"type": "function_call", "call_id": "c1", "name": name,
                        "arguments": "{\"invalid_arguments\":\"{\\\"x\\\"\"}"},
                    {"type": "function_call_output", "call_id": "c1", "output": [
                        {"type": "input_text", "text": "seen"},
                        {"type": "input_image", "image_url": format!("data:image/png;base64,{PNG}")}]}]})
        );
    }

    #[test]
    fn a_model_that_does_not_reason_is_not_asked_to() {
        let request = Request {
            model: "gpt-4.1".into(),
            system: String::new(),
            messages: vec![Message::User { parts: vec![Part::text("a")] }],
            tools: vec![],
            parameters: Parameters {
                effort: Some(Effort::High),
                temperature: Some(0.5),
                ..Parameters::default()
            },
        };
        let sent = body(&request);
        assert_eq!((sent.get("include"), sent.get("reasoning")), (None, None));
        assert_eq!(sent["temperature"], 0.5);
    }
}
