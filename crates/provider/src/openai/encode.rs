//! A neutral request as chat-completions JSON.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::endpoint::{Auth, Endpoint};
use crate::http::HttpRequest;
use crate::names::{IdRule, Names};
use crate::picture::{Pictures, Sent};
use crate::quirks::MaxTokensField;
use crate::registry::{bare_name, known_facts};
use crate::request::{Message, Part, Request, ToolCall, ToolSchema};
use crate::schema::{self, Dialect};

/// Characters of a tool's description that OpenAI itself takes; others have no such bound.
const DESCRIPTION_CHARS_MAX: usize = 1024;

/// The request that asks for a streamed answer. `request` must satisfy [`Request::check`].
///
/// Pictures in tool results go into a user message after the results, because a `tool` message takes text only.
/// Reasoning goes back with the turns that called tools, under the name that it came under (some models refuse a history
/// without it). Names and arguments that a model made up wrongly are mended, since one of them would make every later
/// request of the thread fail.
pub(crate) fn encode(request: &Request, endpoint: &Endpoint) -> HttpRequest {
    let quirks = endpoint.quirks();
    let writer = Writer::of(request, endpoint);
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    body.insert("messages".into(), writer.messages(request).into());
    body.insert("stream".into(), true.into());
    if !quirks.no_stream_options {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    if !request.tools.is_empty() {
        body.insert("tools".into(), request.tools.iter().map(|tool| writer.tool(tool)).collect());
        if quirks.no_parallel_tool_calls {
            body.insert("parallel_tool_calls".into(), false.into());
        }
    }
    parameters(request, endpoint, &mut body);
    endpoint.post("/chat/completions", Auth::Bearer, body)
}

fn parameters(request: &Request, endpoint: &Endpoint, body: &mut Map<String, Value>) {
    let parameters = &request.parameters;
    let is_strict = is_openai_reasoner(&request.model);
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(name.to_owned(), value);
        }
    };
    // OpenAI's reasoning models refuse a request that sets them.
    if !is_strict {
        set("temperature", parameters.temperature.map(Value::from));
        set("top_p", parameters.top_p.map(Value::from));
    }
    let usual = if is_strict { MaxTokensField::MaxCompletionTokens } else { MaxTokensField::MaxTokens };
    let limit = endpoint.quirks().max_tokens_field.unwrap_or(usual);
    set(limit.as_str(), parameters.max_output_tokens.map(Value::from));
    let takes_effort = known_facts(&request.model).reasoning != Some(false);
    set("reasoning_effort", parameters.effort.filter(|_| takes_effort).map(|effort| effort.as_str().into()));
}

/// OpenAI's reasoning models refuse `max_tokens` and sampling parameters; most other servers know nothing else.
pub(crate) fn is_openai_reasoner(model: &str) -> bool {
    let name = bare_name(model);
    ["gpt-5", "o1", "o3", "o4"].iter().any(|prefix| name.starts_with(prefix))
}

/// How one request is written for one server.
struct Writer<'a> {
    names: Names,
    ids: IdRule,
    dialect: Dialect,
    description_chars: usize,
    system_role: &'static str,
    /// The name under which reasoning goes back with the turns that called tools.
    reasoning_name: Option<&'a str>,
    /// Mistral takes pictures in results, and no word of the person right after them.
    is_mistral: bool,
}

impl<'a> Writer<'a> {
    fn of(request: &'a Request, endpoint: &Endpoint) -> Self {
        let is_mistral = endpoint.is_at("mistral.ai");
        let is_gemini = endpoint.is_at("googleapis.com") || bare_name(&request.model).starts_with("gemini");
        let has_bound = endpoint.is_at("openai.com") || endpoint.is_at("azure.com");
        Self {
            names: Names::of(request),
            ids: if is_mistral { IdRule::Nine } else { IdRule::Graphic },
            dialect: if is_gemini { Dialect::Gemini } else { Dialect::Usual },
            description_chars: if has_bound { DESCRIPTION_CHARS_MAX } else { usize::MAX },
            system_role: if endpoint.quirks().no_system_role { "user" } else { "system" },
            reasoning_name: reasoning_name(request, endpoint),
            is_mistral,
        }
    }

    fn tool(&self, tool: &ToolSchema) -> Value {
        let description: String = tool.description.chars().take(self.description_chars).collect();
        json!({"type": "function", "function": {
            "name": self.names.wire(&tool.name),
            "description": description,
            "parameters": schema::sent(&tool.parameters, self.dialect)}})
    }

    fn messages(&self, request: &Request) -> Vec<Value> {
        let mut out = Vec::new();
        let mut pictures = Pictures::of(request);
        if !request.system.is_empty() {
            out.push(json!({"role": self.system_role, "content": request.system}));
        }
        // Pictures of the results so far; they wait until the last result of the turn, which must not be parted.
        let mut waiting: Vec<Value> = Vec::new();
        let mut after_result = false;
        for message in &request.messages {
            let is_result = matches!(message, Message::ToolResult { .. });
            if !is_result && !waiting.is_empty() {
                out.push(json!({"role": "user", "content": std::mem::take(&mut waiting)}));
            }
            match message {
                Message::User { parts } => {
                    if after_result && self.is_mistral {
                        out.push(json!({"role": "assistant", "content": "Understood."}));
                    }
                    out.push(json!({"role": "user", "content": content(parts, &mut pictures)}));
                }
                Message::Assistant { text, reasoning, tool_calls, vendor } => {
                    out.push(self.assistant(text, reasoning, tool_calls, vendor));
                }
                Message::ToolResult { call_id, parts, .. } => {
                    let id = self.ids.id(call_id);
                    out.push(self.result(&id, parts, &mut pictures, &mut waiting));
                }
            }
            after_result = is_result;
        }
        if !waiting.is_empty() {
            out.push(json!({"role": "user", "content": waiting}));
        }
        out
    }

    fn result(&self, id: &str, parts: &[Part], pictures: &mut Pictures, waiting: &mut Vec<Value>) -> Value {
        let sent: Vec<Sent<'_>> = parts.iter().map(|part| pictures.sent(part)).collect();
        let (images, texts): (Vec<_>, Vec<_>) = sent.into_iter().partition(Sent::is_image);
        let text = joined(&texts);
        let text = if text.is_empty() { "(no text)".to_owned() } else { text };
        if images.is_empty() {
            return json!({"role": "tool", "tool_call_id": id, "content": text});
        }
        let images = images.iter().map(part_value);
        if self.is_mistral {
            let content: Vec<Value> =
                [json!({"type": "text", "text": text})].into_iter().chain(images).collect();
            return json!({"role": "tool", "tool_call_id": id, "content": content});
        }
        for image in images {
            waiting.push(json!({"type": "text", "text": format!("Picture from tool call {id}:")}));
            waiting.push(image);
        }
        json!({"role": "tool", "tool_call_id": id, "content": text})
    }

    fn assistant(
        &self,
        text: &str,
        reasoning: &str,
        calls: &[ToolCall],
        vendor: &Map<String, Value>,
    ) -> Value {
        let mut message = Map::new();
        message.insert("role".into(), "assistant".into());
        message.insert("content".into(), if text.is_empty() { Value::Null } else { text.into() });
        if !calls.is_empty() {
            message.insert("tool_calls".into(), calls.iter().map(|call| self.call(call)).collect());
        }
        let details = vendor.get("reasoning_details");
        for (name, value) in [("reasoning_details", details), ("extra_content", vendor.get("extra_content"))]
        {
            if let Some(value) = value {
                message.insert(name.to_owned(), value.clone());
            }
        }
        if let Some(name) = self.reasoning_name.filter(|_| !calls.is_empty() && details.is_none()) {
            message.insert(name.to_owned(), reasoning.into());
        }
        Value::Object(message)
    }

    fn call(&self, call: &ToolCall) -> Value {
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
        function.insert("name".into(), self.names.wire(&call.name).into());
        function.insert("arguments".into(), call.legal_arguments().into());
        entry.insert("id".into(), self.ids.id(&call.id).into());
        entry.insert("type".into(), "function".into());
        entry.insert("function".into(), function.into());
        Value::Object(entry)
    }
}

/// The name under which reasoning goes back: that under which it last came, and DeepSeek's and Moonshot's for their
/// models, which refuse a call without it even when another model made the call.
fn reasoning_name<'a>(request: &'a Request, endpoint: &Endpoint) -> Option<&'a str> {
    if endpoint.quirks().no_reasoning_back {
        return None;
    }
    let turns = || {
        request.messages.iter().rev().filter_map(|message| match message {
            Message::Assistant { reasoning, vendor, .. } => Some((reasoning, vendor)),
            Message::User { .. } | Message::ToolResult { .. } => None,
        })
    };
    if let Some(name) = turns().find_map(|(_, vendor)| vendor.get("reasoning_name")?.as_str()) {
        // Tags inside of the text and parts of it are not members of a message.
        return Some(name).filter(|name| name.starts_with("reasoning"));
    }
    let model = bare_name(&request.model);
    let wants_it = ["deepseek", "kimi"].iter().any(|maker| model.starts_with(maker));
    let is_maker =
        endpoint.is_at("deepseek.com") || endpoint.is_at("moonshot.cn") || endpoint.is_at("moonshot.ai");
    (wants_it && (is_maker || turns().any(|(reasoning, _)| !reasoning.is_empty())))
        .then_some("reasoning_content")
}

fn content(parts: &[Part], pictures: &mut Pictures) -> Value {
    let sent: Vec<Sent<'_>> = parts.iter().map(|part| pictures.sent(part)).collect();
    if sent.iter().any(Sent::is_image) { sent.iter().map(part_value).collect() } else { joined(&sent).into() }
}

/// The texts, one below the other.
pub(crate) fn joined(parts: &[Sent<'_>]) -> String {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Sent::Text(text) => Some(Cow::as_ref(text)),
            Sent::Image { .. } => None,
        })
        .collect();
    texts.join("\n")
}

fn part_value(part: &Sent<'_>) -> Value {
    match part {
        Sent::Text(text) => json!({"type": "text", "text": text}),
        Sent::Image { media_type, data } => {
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
    use crate::picture::tests::PNG;
    use crate::quirks::{MaxTokensField, Quirks};
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
        Part::Image { media_type: "image/png".into(), data: PNG.into() }
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
                {"name": "t", "description": "d", "parameters": {"type": "object", "properties": {}}}}])
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
        let url = json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{PNG}")}});
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
        let legal = functions[0]["name"].as_str().unwrap();
        assert!(legal.starts_with("web_click__"), "{legal}");
        assert_eq!(
            functions,
            [
                json!({"name": legal, "arguments": "{\"invalid_arguments\":\"{\\\"ref\\\":\"}"}),
                json!({"name": "t", "arguments": "{}"}),
                json!({"name": "t", "arguments": "{\"ref\":\"e7\"}"}),
                json!({"name": "t", "arguments": "{ \"b\": 1, \"a\": 2 }"}),
            ]
        );
    }

    fn at(base: &str, request: &Request) -> Value {
        let endpoint = Endpoint::new(base, Secret::new("k")).unwrap();
        serde_json::from_str(encode(request, &endpoint).body.as_deref().unwrap()).unwrap()
    }

    fn reasoned(name: &str, reasoning: &str, id: &str) -> [Message; 2] {
        let vendor = match name {
            "" => Default::default(),
            name => serde_json::Map::from_iter([("reasoning_name".to_owned(), name.into())]),
        };
        let turn = Message::Assistant {
            text: String::new(),
            reasoning: reasoning.into(),
            tool_calls: vec![call(id, "t", "{}")],
            vendor,
        };
        [turn, result(id, vec![])]
    }

    #[test]
    fn reasoning_goes_back_with_every_calling_turn_under_the_name_that_it_came_under() {
        for (name, sent_as) in [
            ("reasoning_content", Some("reasoning_content")),
            ("reasoning", Some("reasoning")),
            ("think", None),
            ("", None),
        ] {
            let messages = [reasoned(name, "because", "1"), reasoned("", "", "2")].concat();
            let sent = body(&request(messages));
            for (place, text) in [(1, "because"), (3, "")] {
                for known in ["reasoning_content", "reasoning"] {
                    let expected = (sent_as == Some(known)).then(|| json!(text));
                    assert_eq!(sent["messages"][place].get(known), expected.as_ref(), "{name} {known}");
                }
            }
        }
        let spoken = Message::Assistant {
            text: "x".into(),
            reasoning: "r".into(),
            tool_calls: vec![],
            vendor: Default::default(),
        };
        let messages = [reasoned("reasoning_content", "because", "1").to_vec(), vec![spoken]].concat();
        assert_eq!(body(&request(messages))["messages"][3].get("reasoning_content"), None);
    }

    #[test]
    fn models_that_insist_on_reasoning_get_it_with_calls_of_other_models_too() {
        let mut request = request(reasoned("", "", "1").to_vec());
        request.model = "deepseek-reasoner".into();
        let echoed =
            |base: &str, request: &Request| at(base, request)["messages"][1]["reasoning_content"].clone();
        assert_eq!(echoed("https://api.deepseek.com", &request), "");
        assert_eq!(echoed("https://a.test", &request), Value::Null);
        request.messages = reasoned("", "hm", "1").to_vec();
        assert_eq!(echoed("https://a.test", &request), "hm");
    }

    #[test]
    fn signed_reasoning_goes_back_as_it_came() {
        let details = json!([{"type": "reasoning.encrypted", "data": "x"}]);
        let mut turn = reasoned("reasoning", "hm", "1");
        if let Message::Assistant { vendor, .. } = &mut turn[0] {
            vendor.insert("reasoning_details".into(), details.clone());
        }
        let sent = body(&request(turn.to_vec()));
        assert_eq!(sent["messages"][1]["reasoning_details"], details);
        assert_eq!(sent["messages"][1].get("reasoning"), None);
    }

    #[test]
    fn quirks_change_what_is_sent() {
        let mut request = request(vec![Message::User { parts: vec![Part::text("a")] }]);
        request.tools = vec![ToolSchema { name: "t".into(), description: "d".into(), parameters: json!({}) }];
        request.parameters.max_output_tokens = Some(5);
        let quirks = Quirks {
            no_stream_options: true,
            no_parallel_tool_calls: true,
            no_system_role: true,
            max_tokens_field: Some(MaxTokensField::MaxCompletionTokens),
            ..Quirks::default()
        };
        let endpoint = Endpoint::new("https://a.test", Secret::default()).unwrap().with_quirks(quirks);
        let sent: Value = serde_json::from_str(encode(&request, &endpoint).body.as_deref().unwrap()).unwrap();
        assert_eq!(sent.get("stream_options"), None);
        assert_eq!(sent["parallel_tool_calls"], false);
        assert_eq!(sent["messages"][0], json!({"role": "user", "content": "sys"}));
        assert_eq!((sent.get("max_tokens"), &sent["max_completion_tokens"]), (None, &json!(5)));
    }

    #[test]
    fn mistral_gets_its_ids_its_order_and_pictures_in_results() {
        let conversation = request(vec![
            calls("", vec![call("018f3c1e-9d4a", "t", "{}")]),
            result("018f3c1e-9d4a", vec![Part::text("x"), image()]),
            Message::User { parts: vec![Part::text("and?")] },
        ]);
        let sent = at("https://api.mistral.ai/v1", &conversation);
        let roles: Vec<_> =
            sent["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["system", "assistant", "tool", "assistant", "user"]);
        let id = sent["messages"][1]["tool_calls"][0]["id"].as_str().unwrap();
        assert_eq!((id.len(), &sent["messages"][2]["tool_call_id"]), (9, &json!(id)));
        assert_eq!(sent["messages"][2]["content"][1]["type"], "image_url");
    }

    #[test]
    fn a_persons_own_headers_replace_ours() {
        let endpoint = Endpoint::new("https://a.test", Secret::new("k")).unwrap();
        let own = vec![
            ("Authorization".to_owned(), Secret::new("Token x")),
            ("x-team".to_owned(), Secret::new("7")),
        ];
        let endpoint = endpoint.with_headers(own).unwrap();
        let headers = encode(&request(vec![]), &endpoint).headers;
        let named = |name: &str| {
            headers
                .iter()
                .filter(|(known, _)| known == name)
                .map(|(_, value)| value.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(named("authorization"), [HeaderValue::Secret(Secret::new("Token x"))]);
        assert_eq!(named("x-team"), [HeaderValue::Secret(Secret::new("7"))]);
        for (name, value) in [("a b", "x"), ("", "x"), ("a", "x\ny"), ("a", "点")] {
            let bad = vec![(name.to_owned(), Secret::new(value))];
            assert!(endpoint.clone().with_headers(bad).is_err(), "{name}");
        }
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
