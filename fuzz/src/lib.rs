//! What every fuzz target checks: no bytes make a decoder panic, chunks change nothing, a response keeps its promises,
//! and a conversation that continues from it is one that every wire can say.

use panelot_base::Secret;
use panelot_provider::{
    Endpoint, Message, Parameters, Part, Progress, ProviderError, Request, Response, ResponseHead, StopReason,
    StreamEvent, ToolSchema, Wire,
};
use serde_json::{Value, json};

const WIRES: [Wire; 4] = [Wire::Openai, Wire::Anthropic, Wire::Responses, Wire::BuiltIn];

/// The first byte says how the rest is cut.
pub fn decoder(wire: Wire, data: &[u8]) {
    let Some((cut, body)) = data.split_first() else { return };
    let whole = decode(wire, [body].into_iter());
    let cut = decode(wire, body.chunks(usize::from(*cut % 67) + 1));
    assert_eq!(whole, cut, "chunks change nothing");
    if let Ok(response) = whole.1 {
        check(response, &whole.0);
    }
}

fn endpoint() -> Endpoint {
    Endpoint::new("https://a.test", Secret::new("the-key")).expect("it is one")
}

fn request() -> Request {
    let tool = |name: &str| ToolSchema {
        name: name.into(),
        description: "d".into(),
        parameters: json!({"type": "object", "properties": {"ref": {"type": "string"}}, "required": ["ref"]}),
    };
    Request {
        model: "m".into(),
        system: "s".into(),
        messages: vec![Message::User { parts: vec![Part::text("x")] }],
        tools: vec![tool("click"), tool("mcp.a/b")],
        parameters: Parameters::default(),
    }
}

type Decoded = (Vec<StreamEvent>, Result<Response, ProviderError>);

fn decode<'a>(wire: Wire, chunks: impl Iterator<Item = &'a [u8]>) -> Decoded {
    let mut decoder =
        wire.decoder(&ResponseHead { status: 200, headers: vec![] }, &endpoint()).for_request(&request());
    let mut events = Vec::new();
    for chunk in chunks {
        match decoder.push(chunk, &mut events) {
            Ok(Progress::More) => {}
            Ok(Progress::Done) => break,
            Err(error) => return (events, Err(error)),
        }
    }
    let outcome = decoder.finish();
    (events, outcome)
}

fn check(response: Response, events: &[StreamEvent]) {
    assert_eq!(response.stop_reason == StopReason::ToolUse, !response.tool_calls.is_empty());
    for event in events {
        match event {
            StreamEvent::Text(text) | StreamEvent::Reasoning(text) => assert!(!text.is_empty()),
            StreamEvent::ToolCallStarted { name, .. } => assert!(!name.is_empty()),
            StreamEvent::ToolCallArguments { bytes, .. } => assert!(*bytes > 0),
        }
    }
    if response.text.is_empty() && response.tool_calls.is_empty() {
        return;
    }
    let mut next = request();
    let ids: Vec<String> = response.tool_calls.iter().map(|call| call.id.clone()).collect();
    next.messages.push(Message::Assistant {
        text: response.text,
        reasoning: response.reasoning,
        tool_calls: response.tool_calls,
        vendor: response.vendor,
    });
    for call_id in ids {
        next.messages.push(Message::ToolResult { call_id, parts: vec![Part::text("ok")], is_error: false });
    }
    next.messages.push(Message::User { parts: vec![Part::text("and?")] });
    assert_eq!(next.check(), Ok(()));
    for wire in WIRES {
        let body = wire.encode(&next, &endpoint()).body.expect("it has one");
        let body: Value = serde_json::from_str(&body).expect("what is sent is JSON");
        assert!(!body.to_string().contains("the-key") || next_has_key(&next));
    }
}

/// The fuzzer may write the key itself.
fn next_has_key(next: &Request) -> bool {
    serde_json::to_string(next).expect("it is JSON").contains("the-key")
}
