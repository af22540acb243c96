//! The model that is built into the browser (Chrome's Prompt API). It takes a conversation and a JSON Schema and gives
//! text, so a tool is called by JSON whose form the schema constrains, and which is read strictly.
//!
//! The request goes to no network: whoever sends it hands its body to the browser and tells what came back as events of
//! [`Frames`] (`extension/built-in.js`).

use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::decode::{Ending, Seen};
use crate::error::ProviderError;
use crate::gather::{Gathered, TooLarge};
use crate::http::{HttpRequest, Method};
use crate::limits::RESPONSE_BYTES_MAX;
use crate::request::{Message, Part, Request, ToolCall};
use crate::response::{StreamEvent, Usage};
use panelot_base::SafeUrl;

/// Where the requests go: an address that no network knows.
const ADDRESS: &str = "panelot:built-in-model";
/// The members of the agreed form.
const ANSWER: &str = "answer";
const TOOL: &str = "tool";
const ARGUMENTS: &str = "arguments";
/// A reply that is no answer in words and no call.
const FORM: &str = "The model's reply is not in the agreed form.";

/// The request that asks for a streamed answer. `request` must satisfy [`Request::check`]. Parameters are left out: the
/// browser decides them.
pub(crate) fn encode(request: &Request) -> HttpRequest {
    let mut turns: Vec<(&str, String)> = Vec::new();
    let mut say = |role: &'static str, text: String| match turns.last_mut() {
        Some((last, before)) if *last == role => {
            before.push_str("\n\n");
            before.push_str(&text);
        }
        _ => turns.push((role, text)),
    };
    for message in &request.messages {
        match message {
            Message::User { parts } => say("user", words(parts)),
            Message::Assistant { text, tool_calls, .. } => say("assistant", said(request, text, tool_calls)),
            Message::ToolResult { call_id, parts, .. } => {
                let result = words(parts);
                say("user", format!("Result of {}:\n{result}", name_of(request, call_id)));
            }
        }
    }
    let turn = |(role, text): (&str, String)| json!({"role": role, "content": text});
    let prompt = turns.pop().map(turn);
    let mut history = Vec::new();
    let system = system(request);
    if !system.is_empty() {
        history.push(json!({"role": "system", "content": system}));
    }
    history.extend(turns.into_iter().map(turn));
    let mut body = json!({"history": history, "prompt": prompt});
    if let (Value::Object(fields), false) = (&mut body, request.tools.is_empty()) {
        fields.insert("schema".to_owned(), schema(request));
    }
    post(Method::Post, Some(body.to_string()))
}

/// The request for the models, which is one.
pub(crate) fn list() -> HttpRequest {
    post(Method::Get, None)
}

fn post(method: Method, body: Option<String>) -> HttpRequest {
    HttpRequest { method, url: SafeUrl::new(ADDRESS), headers: Vec::new(), body }
}

/// A message's text. The model gets no pictures.
fn words(parts: &[Part]) -> String {
    let text = |part: &Part| match part {
        Part::Text { text } => text.clone(),
        Part::Image { .. } => "(a picture that this model cannot see)".to_owned(),
    };
    parts.iter().map(text).collect::<Vec<_>>().join("\n")
}

/// The tool of the call with this id.
fn name_of<'a>(request: &'a Request, id: &str) -> &'a str {
    let calls = request.messages.iter().filter_map(|message| match message {
        Message::Assistant { tool_calls, .. } => Some(tool_calls),
        _ => None,
    });
    calls.flatten().find(|call| call.id == id).map_or("a tool", |call| &call.name)
}

/// What the model said before, in the form in which it is asked to reply.
fn said(request: &Request, text: &str, calls: &[ToolCall]) -> String {
    let mut lines = Vec::new();
    if !text.is_empty() {
        let formed = || json!({ANSWER: text}).to_string();
        lines.push(if request.tools.is_empty() || !calls.is_empty() { text.to_owned() } else { formed() });
    }
    let call = |call: &ToolCall| json!({TOOL: call.name, ARGUMENTS: call.legal_input()}).to_string();
    lines.extend(calls.iter().map(call));
    lines.join("\n")
}

/// The system prompt, with the tools and the form of a reply.
fn system(request: &Request) -> String {
    if request.tools.is_empty() {
        return request.system.clone();
    }
    let tool = |tool: &crate::request::ToolSchema| {
        format!("- {}: {} Arguments, as JSON Schema: {}", tool.name, tool.description, tool.parameters)
    };
    let tools = request.tools.iter().map(tool).collect::<Vec<_>>().join("\n");
    format!(
        "{}\n\nReply with one JSON object and nothing else. To answer the person: {{\"{ANSWER}\": \"your words\"}}. \
         To use a tool: {{\"{TOOL}\": \"its name\", \"{ARGUMENTS}\": {{}}}}; its result comes in the next message.\n\
         Tools:\n{tools}",
        request.system
    )
    .trim_start()
    .to_owned()
}

/// What a reply may be: words, or one call of an offered tool.
fn schema(request: &Request) -> Value {
    let object = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    let mut forms = vec![object(json!({ANSWER: {"type": "string"}}), json!([ANSWER]))];
    forms.extend(request.tools.iter().map(|tool| {
        object(json!({TOOL: {"const": tool.name}, ARGUMENTS: tool.parameters}), json!([TOOL, ARGUMENTS]))
    }));
    json!({"anyOf": forms})
}

/// Reads one answer: events `{"text": …}` and at the end `{"done": {"input": tokens, "output": tokens}}`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    pub(crate) gathered: Gathered,
    /// The names of the tools; where there are any the reply is in the agreed form.
    tools: Vec<String>,
    /// The reply as it came, in the agreed form.
    raw: String,
    /// How much of it was shown, in bytes, once it is known to be words.
    shown: Option<usize>,
    /// How many bytes of the words were given out.
    told: usize,
    /// The words were closed.
    closed: bool,
}

impl Frames {
    /// What was asked decides how the reply is read.
    pub(crate) fn expect(&mut self, request: &Request) {
        self.tools = request.tools.iter().map(|tool| tool.name.clone()).collect();
    }

    pub(crate) fn frame(
        &mut self,
        answer: &Answer,
        frame: &Map<String, Value>,
        events: &mut Vec<StreamEvent>,
    ) -> Result<Seen, ProviderError> {
        let large = |TooLarge| answer.too_large();
        if let Some(text) = frame.get("text").and_then(Value::as_str) {
            if self.tools.is_empty() {
                self.gathered.add_text(text, events).map_err(large)?;
            } else if self.raw.len().saturating_add(text.len()) > RESPONSE_BYTES_MAX {
                return Err(answer.too_large());
            } else {
                self.raw.push_str(text);
                self.show(events).map_err(large)?;
            }
            return Ok(Seen::Part);
        }
        let Some(done) = frame.get("done") else { return Ok(Seen::Foreign) };
        let tokens = |name: &str| done.get(name).and_then(Value::as_u64);
        if let Some(input) = tokens("input") {
            let output = tokens("output").unwrap_or_default();
            self.gathered.usage = Some(Usage { input, output, ..Usage::default() });
        }
        if !self.tools.is_empty() {
            self.read(answer, events)?;
        }
        Ok(Seen::End)
    }

    pub(crate) fn ending(&mut self, _: &Answer) -> Result<Ending, ProviderError> {
        Ok(Ending { stop: None, is_marked: false })
    }

    /// Shows as much of an answer in words as is certain.
    fn show(&mut self, events: &mut Vec<StreamEvent>) -> Result<(), TooLarge> {
        if self.closed {
            return Ok(());
        }
        if self.shown.is_none() {
            self.shown = start_of_words(&self.raw);
        }
        let Some(from) = self.shown else { return Ok(()) };
        let rest = self.raw.get(from..).unwrap_or_default();
        let (certain, closed) = certain(rest);
        let literal = format!("\"{}\"", rest.get(..certain).unwrap_or_default());
        // What is no JSON is told at the end.
        let Ok(text) = serde_json::from_str::<String>(&literal) else { return Ok(()) };
        self.shown = Some(from + certain);
        self.closed = closed;
        self.told += text.len();
        self.gathered.add_text(&text, events)
    }

    /// The whole reply, strictly.
    fn read(&mut self, answer: &Answer, events: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        let Ok(Value::Object(reply)) = serde_json::from_str::<Value>(&self.raw) else {
            return Err(if crate::decode::is_cut_json(&self.raw) {
                answer.truncated()
            } else {
                answer.format(FORM)
            });
        };
        let members = (reply.len(), reply.get(ANSWER), reply.get(TOOL), reply.get(ARGUMENTS));
        match members {
            (1, Some(Value::String(text)), ..) => {
                let rest = text.get(self.told..).unwrap_or_default().to_owned();
                self.gathered.add_text(&rest, events).map_err(|TooLarge| answer.too_large())
            }
            (2, None, Some(Value::String(name)), Some(arguments @ Value::Object(_)))
                if self.tools.contains(name) =>
            {
                let (name, arguments) = (name.clone(), arguments.to_string());
                let place = self.gathered.open_call(None).map_err(|TooLarge| answer.too_large())?;
                self.gathered
                    .add_to_call(place, ("", &name, &arguments), events)
                    .map_err(|TooLarge| answer.too_large())
            }
            _ => Err(answer.format(FORM)),
        }
    }
}

/// Where the words of `{"answer": "…` begin; `None` while that is not certain.
fn start_of_words(raw: &str) -> Option<usize> {
    let after = raw.trim_start().strip_prefix('{')?.trim_start();
    let after = after.strip_prefix("\"answer\"")?.trim_start().strip_prefix(':')?.trim_start();
    Some(raw.len() - after.strip_prefix('"')?.len())
}

/// How many bytes of the inside of a JSON string are certain, and whether the string ends there. An escape that may go
/// on is left for later, and so is the first half of a character.
fn certain(text: &str) -> (usize, bool) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let step = match byte {
            b'"' => return (at, true),
            b'\\' if bytes.get(at + 1) == Some(&b'u') => {
                let digits = text.get(at + 2..at + 6);
                let high =
                    digits.is_some_and(|it| matches!(u16::from_str_radix(it, 16), Ok(0xd800..=0xdbff)));
                if high { 12 } else { 6 }
            }
            b'\\' => 2,
            _ => 1,
        };
        if at + step > bytes.len() {
            return (at, false);
        }
        at += step;
    }
    (at, false)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{certain, encode, start_of_words};
    use crate::request::{Message, Parameters, Part, Request, ToolCall, ToolSchema};

    fn request(tools: bool) -> Request {
        let click = ToolSchema {
            name: "click".into(),
            description: "Clicks.".into(),
            parameters: json!({"type": "object", "properties": {"ref": {"type": "string"}}}),
        };
        let call = |id: &str| ToolCall {
            id: id.into(),
            name: "click".into(),
            arguments: r#"{"ref":"e1"}"#.into(),
            vendor: Default::default(),
        };
        let result = |id: &str| Message::ToolResult {
            call_id: id.into(),
            parts: vec![Part::text("ok")],
            is_error: false,
        };
        Request {
            model: "gemini-nano".into(),
            system: "Be brief.".into(),
            messages: vec![
                Message::User { parts: vec![Part::text("Hi")] },
                Message::Assistant {
                    text: "Hello.".into(),
                    reasoning: String::new(),
                    tool_calls: vec![],
                    vendor: Default::default(),
                },
                Message::User { parts: vec![Part::text("Click it")] },
                Message::Assistant {
                    text: String::new(),
                    reasoning: "hm".into(),
                    tool_calls: vec![call("a"), call("b")],
                    vendor: Default::default(),
                },
                result("a"),
                result("b"),
            ],
            tools: if tools { vec![click] } else { vec![] },
            parameters: Parameters::default(),
        }
    }

    fn body(request: &Request) -> Value {
        let sent = encode(request);
        assert_eq!((sent.url.as_str(), sent.headers.len()), ("panelot:built-in-model", 0));
        serde_json::from_str(&sent.body.unwrap()).unwrap()
    }

    #[test]
    fn a_conversation_is_said_in_turns_and_calls_in_the_agreed_form() {
        let body = body(&request(true));
        let roles: Vec<_> = body["history"].as_array().unwrap().iter().map(|it| it["role"].clone()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "user", "assistant"]);
        assert!(
            body["history"][0]["content"].as_str().unwrap().starts_with("Be brief.\n\nReply with one JSON")
        );
        assert_eq!(body["history"][2]["content"], r#"{"answer":"Hello."}"#);
        let call = r#"{"arguments":{"ref":"e1"},"tool":"click"}"#;
        let as_sent: Vec<Value> = body["history"][4]["content"]
            .as_str()
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(as_sent, vec![serde_json::from_str::<Value>(call).unwrap(); 2]);
        assert_eq!(body["prompt"]["content"], "Result of click:\nok\n\nResult of click:\nok");
        assert_eq!(body["schema"]["anyOf"][1]["properties"]["tool"], json!({"const": "click"}));
    }

    #[test]
    fn without_tools_nothing_is_constrained() {
        let body = body(&request(false));
        assert_eq!((body.get("schema"), &body["history"][0]["content"]), (None, &json!("Be brief.")));
        assert_eq!(body["history"][2]["content"], "Hello.");
    }

    #[test]
    fn only_what_is_certain_of_a_growing_string_is_shown() {
        for (text, expected) in [
            ("ab", (2, false)),
            (r#"ab"}"#, (2, true)),
            (r"a\", (1, false)),
            (r"a\n", (3, false)),
            (r"a\u00e", (1, false)),
            (r"a\u00e9", (7, false)),
            (r"\ud83e\udd8", (0, false)),
            (r"\ud83e\udd80", (12, false)),
            (r#"\"x"#, (3, false)),
        ] {
            assert_eq!(certain(text), expected, "{text}");
        }
        assert_eq!(start_of_words(r#" { "answer" : "x"#), Some(15));
        for not_yet in ["", "{", r#"{"answer""#, r#"{"tool":"x"#, r#"{"answer":7"#] {
            assert_eq!(start_of_words(not_yet), None, "{not_yet}");
        }
    }
}
