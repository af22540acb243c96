//! What every wire must do, told once in neutral scripts and run on each wire's own bytes.
//!
//! A new wire implements [`Speaker`], which says the script's steps in its words, and is added to [`wires`].

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a whole file of tests: a failure here is the report"
)]

mod common;

use panelot_base::Secret;
use panelot_provider::{
    Decoder, Endpoint, ErrorKind, Progress, ProviderError, Reason, Response, ResponseHead, StopReason,
    StreamEvent, ToolCall, Usage, Wire,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use common::merged;

/// One step of an answer.
#[derive(Clone, Debug)]
enum Step {
    Text(String),
    Reasoning(String),
    Call {
        id: String,
        name: String,
    },
    Arguments(String),
    Usage(Usage),
    Stop(StopReason),
    /// A busy provider says so inside the stream.
    Busy,
    End,
}

/// Says steps in a wire's own bytes.
trait Speaker {
    fn wire(&self) -> Wire;
    fn say(&mut self, step: &Step) -> String;
    /// What the wire sends to keep a connection open.
    fn keep_alive(&self) -> String;
}

#[derive(Default)]
struct OpenaiSpeaker {
    calls: u64,
}

impl Speaker for OpenaiSpeaker {
    fn wire(&self) -> Wire {
        Wire::Openai
    }

    fn say(&mut self, step: &Step) -> String {
        let choice = |delta: Value, reason: Option<&str>| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
        let frame = match step {
            Step::Text(text) => choice(json!({"content": text}), None),
            Step::Reasoning(text) => choice(json!({"reasoning_content": text}), None),
            Step::Call { id, name } => {
                self.calls += 1;
                choice(
                    json!({"tool_calls": [{"index": self.calls - 1, "id": id, "type": "function",
                        "function": {"name": name, "arguments": ""}}]}),
                    None,
                )
            }
            Step::Arguments(text) => choice(
                json!({"tool_calls": [{"index": self.calls - 1, "function": {"arguments": text}}]}),
                None,
            ),
            Step::Usage(usage) => json!({"choices": [], "usage": {"prompt_tokens": usage.input,
                "completion_tokens": usage.output, "prompt_tokens_details":
                {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write}}}),
            Step::Stop(reason) => choice(
                json!({}),
                Some(match reason {
                    StopReason::End => "stop",
                    StopReason::ToolUse => "tool_calls",
                    StopReason::MaxTokens => "length",
                    StopReason::ContentFilter => "content_filter",
                }),
            ),
            Step::Busy => json!({"error": {"code": "server_overload", "message": "busy"}}),
            Step::End => return "data: [DONE]\n\n".to_owned(),
        };
        format!("data: {frame}\n\n")
    }

    fn keep_alive(&self) -> String {
        ": keep-alive\n\n".to_owned()
    }
}

/// Opens a block for each piece of another kind, as Anthropic does.
#[derive(Default)]
struct AnthropicSpeaker {
    blocks: u64,
    open: Option<&'static str>,
    usage: Usage,
}

impl AnthropicSpeaker {
    fn event(frame: &Value) -> String {
        format!("event: {}\ndata: {frame}\n\n", frame["type"].as_str().unwrap())
    }

    fn close(&mut self) -> String {
        if self.open.take().is_none() {
            return String::new();
        }
        self.blocks += 1;
        Self::event(&json!({"type": "content_block_stop", "index": self.blocks - 1}))
    }

    fn piece(&mut self, kind: &'static str, start: &Value, delta: &Value) -> String {
        let mut out = String::new();
        if self.open != Some(kind) {
            out += &self.close();
            self.open = Some(kind);
            out += &Self::event(
                &json!({"type": "content_block_start", "index": self.blocks, "content_block": start}),
            );
        }
        if !delta.is_null() {
            out +=
                &Self::event(&json!({"type": "content_block_delta", "index": self.blocks, "delta": delta}));
        }
        out
    }
}

impl Speaker for AnthropicSpeaker {
    fn wire(&self) -> Wire {
        Wire::Anthropic
    }

    fn say(&mut self, step: &Step) -> String {
        match step {
            Step::Text(text) => self.piece(
                "text",
                &json!({"type": "text", "text": ""}),
                &json!({"type": "text_delta", "text": text}),
            ),
            Step::Reasoning(text) => self.piece(
                "thinking",
                &json!({"type": "thinking", "thinking": "", "signature": ""}),
                &json!({"type": "thinking_delta", "thinking": text}),
            ),
            Step::Call { id, name } => {
                let close = self.close();
                let start = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                close + &self.piece("tool_use", &start, &Value::Null)
            }
            Step::Arguments(text) => self.piece(
                "tool_use",
                &Value::Null,
                &json!({"type": "input_json_delta", "partial_json": text}),
            ),
            Step::Usage(usage) => {
                self.usage = *usage;
                Self::event(
                    &json!({"type": "message_delta", "delta": {}, "usage": {"output_tokens": usage.output,
                    "input_tokens": usage.input - usage.cache_read - usage.cache_write,
                    "cache_read_input_tokens": usage.cache_read, "cache_creation_input_tokens": usage.cache_write}}),
                )
            }
            Step::Stop(reason) => {
                let reason = match reason {
                    StopReason::End => "end_turn",
                    StopReason::ToolUse => "tool_use",
                    StopReason::MaxTokens => "max_tokens",
                    StopReason::ContentFilter => "refusal",
                };
                self.close()
                    + &Self::event(&json!({"type": "message_delta", "delta": {"stop_reason": reason}}))
            }
            Step::Busy => Self::event(
                &json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}),
            ),
            Step::End => Self::event(&json!({"type": "message_stop"})),
        }
    }

    fn keep_alive(&self) -> String {
        "event: ping\ndata: {\"type\": \"ping\"}\n\n".to_owned()
    }
}

/// Streams items and tells usage and reason in its last event, as OpenAI's Responses do.
#[derive(Default)]
struct ResponsesSpeaker {
    items: u64,
    open: Option<&'static str>,
    usage: Option<Usage>,
    reason: Option<StopReason>,
}

impl ResponsesSpeaker {
    fn event(frame: &Value) -> String {
        format!("event: {}\ndata: {frame}\n\n", frame["type"].as_str().unwrap())
    }

    fn piece(&mut self, kind: &'static str, item: &Value, delta: &Value) -> String {
        let mut out = String::new();
        if self.open != Some(kind) {
            self.open = Some(kind);
            self.items += 1;
            out += &Self::event(
                &json!({"type": "response.output_item.added", "output_index": self.items, "item": item}),
            );
        }
        if !delta.is_null() {
            let mut delta = delta.clone();
            delta["output_index"] = self.items.into();
            out += &Self::event(&delta);
        }
        out
    }
}

impl Speaker for ResponsesSpeaker {
    fn wire(&self) -> Wire {
        Wire::Responses
    }

    fn say(&mut self, step: &Step) -> String {
        match step {
            Step::Text(text) => self.piece(
                "message",
                &json!({"type": "message", "id": format!("m{}", self.items), "content": []}),
                &json!({"type": "response.output_text.delta", "delta": text}),
            ),
            Step::Reasoning(text) => self.piece(
                "reasoning",
                &json!({"type": "reasoning", "id": format!("r{}", self.items), "summary": []}),
                &json!({"type": "response.reasoning_summary_text.delta", "delta": text}),
            ),
            Step::Call { id, name } => {
                self.open = None;
                let item = json!({"type": "function_call", "id": format!("f{}", self.items), "call_id": id,
                    "name": name, "arguments": ""});
                self.piece("function_call", &item, &Value::Null)
            }
            Step::Arguments(text) => self.piece(
                "function_call",
                &Value::Null,
                &json!({"type": "response.function_call_arguments.delta", "delta": text}),
            ),
            Step::Usage(usage) => {
                self.usage = Some(*usage);
                String::new()
            }
            Step::Stop(reason) => {
                self.reason = Some(*reason);
                String::new()
            }
            Step::Busy => Self::event(&json!({"type": "response.failed", "response": {"status": "failed",
                "error": {"code": "server_error", "message": "busy"}}})),
            Step::End => {
                let (name, status, details) = match self.reason {
                    Some(StopReason::MaxTokens) => {
                        ("response.incomplete", "incomplete", json!({"reason": "max_output_tokens"}))
                    }
                    Some(StopReason::ContentFilter) => {
                        ("response.incomplete", "incomplete", json!({"reason": "content_filter"}))
                    }
                    _ => ("response.completed", "completed", Value::Null),
                };
                let usage = self.usage.map_or(Value::Null, |usage| {
                    json!({"input_tokens": usage.input, "output_tokens": usage.output, "input_tokens_details":
                        {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write}})
                });
                Self::event(
                    &json!({"type": name, "response": {"status": status, "incomplete_details": details,
                    "usage": usage, "error": null, "output": []}}),
                )
            }
        }
    }

    fn keep_alive(&self) -> String {
        "event: keepalive\ndata: {\"type\": \"response.in_progress\"}\n\n".to_owned()
    }
}

fn wires() -> Vec<Box<dyn Speaker>> {
    vec![
        Box::<OpenaiSpeaker>::default(),
        Box::<AnthropicSpeaker>::default(),
        Box::<ResponsesSpeaker>::default(),
    ]
}

fn decoder(wire: Wire) -> Decoder {
    let endpoint = Endpoint::new("https://a.test", Secret::new("the-key")).unwrap();
    wire.decoder(
        &ResponseHead { status: 200, headers: vec![("X-Request-Id".into(), "r1".into())] },
        &endpoint,
    )
}

type Decoded = (Vec<StreamEvent>, Result<Response, ProviderError>);

/// Decodes `chunks` as a driver does: stops at an error or at the end mark, then finishes.
fn decode<'a>(wire: Wire, chunks: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
    let mut decoder = decoder(wire);
    let mut events = Vec::new();
    for chunk in chunks {
        match decoder.push(chunk, &mut events) {
            Ok(Progress::More) => {}
            Ok(Progress::Done) => break,
            Err(error) => {
                assert_eq!(decoder.push(b"more", &mut events).as_ref(), Err(&error), "an error is final");
                assert_eq!(decoder.finish().as_ref(), Err(&error));
                return (events, Err(error));
            }
        }
    }
    // What goes back to the provider is the wires' own; the corpus looks at it.
    let outcome = decoder.finish().map(|response| Response { vendor: Default::default(), ..response });
    (events, outcome)
}

/// What a script must decode to.
fn expected(steps: &[Step]) -> (Vec<StreamEvent>, Response) {
    let mut response = Response {
        text: String::new(),
        reasoning: String::new(),
        tool_calls: vec![],
        usage: None,
        stop_reason: StopReason::End,
        vendor: Default::default(),
    };
    let mut events = Vec::new();
    for step in steps {
        match step {
            Step::Text(text) if !text.is_empty() => {
                response.text.push_str(text);
                events.push(StreamEvent::Text(text.clone()));
            }
            Step::Reasoning(text) if !text.is_empty() => {
                response.reasoning.push_str(text);
                events.push(StreamEvent::Reasoning(text.clone()));
            }
            Step::Call { id, name } => {
                events.push(StreamEvent::ToolCallStarted {
                    index: response.tool_calls.len(),
                    name: name.clone(),
                });
                response.tool_calls.push(ToolCall {
                    id: id.clone(),
                    name: name.clone(),
                    arguments: String::new(),
                    vendor: Default::default(),
                });
            }
            Step::Arguments(text) if !text.is_empty() => {
                let index = response.tool_calls.len() - 1;
                response.tool_calls[index].arguments.push_str(text);
                events.push(StreamEvent::ToolCallArguments { index, bytes: text.len() });
            }
            Step::Usage(usage) => response.usage = Some(*usage),
            Step::Stop(reason) => response.stop_reason = *reason,
            _ => {}
        }
    }
    if response.stop_reason != StopReason::ToolUse {
        response.tool_calls.clear();
    }
    (merged(events), response)
}

fn text(text: &str) -> Step {
    Step::Text(text.into())
}

fn call(id: &str, name: &str) -> Step {
    Step::Call { id: id.into(), name: name.into() }
}

fn arguments(text: &str) -> Step {
    Step::Arguments(text.into())
}

fn scripts() -> Vec<Vec<Step>> {
    let usage = Usage { input: 10, output: 3, cache_read: 4, cache_write: 2 };
    vec![
        vec![text("Hello "), text("点😀"), Step::Stop(StopReason::End), Step::Usage(usage), Step::End],
        vec![
            Step::Reasoning("hm ".into()),
            Step::Reasoning("well".into()),
            text("ok"),
            Step::Stop(StopReason::End),
            Step::End,
        ],
        vec![
            text("I look."),
            call("c1", "read_page"),
            arguments("{\"tabId\":"),
            arguments(" 7}"),
            call("c2", "tabs_list"),
            call("c3", "click"),
            arguments("{\"ref\":\"点e7\"}"),
            Step::Stop(StopReason::ToolUse),
            Step::Usage(usage),
            Step::End,
        ],
        vec![text("cut"), Step::Stop(StopReason::MaxTokens), Step::End],
        vec![text("no"), Step::Stop(StopReason::ContentFilter), Step::End],
        vec![Step::Stop(StopReason::End), Step::End],
        vec![call("c1", "click"), arguments("{\"re"), Step::Stop(StopReason::MaxTokens), Step::End],
    ]
}

fn bytes_of(speaker: &mut dyn Speaker, steps: &[Step]) -> String {
    steps.iter().map(|step| speaker.say(step)).collect()
}

#[test]
fn every_script_decodes_to_what_it_says_also_byte_by_byte_and_with_keep_alives() {
    for mut speaker in wires() {
        for script in scripts() {
            let parts: Vec<String> = script.iter().map(|step| speaker.say(step)).collect();
            let (events, response) = expected(&script);
            let body = parts.concat();
            let calm = parts.join(&speaker.keep_alive());
            for (got_events, got) in [
                decode(speaker.wire(), [body.as_bytes()]),
                decode(speaker.wire(), body.as_bytes().chunks(1)),
                decode(speaker.wire(), [calm.as_bytes()]),
            ] {
                assert_eq!((merged(got_events), got), (events.clone(), Ok(response.clone())), "{script:?}");
            }
            speaker = wires().into_iter().find(|fresh| fresh.wire() == speaker.wire()).unwrap();
        }
    }
}

#[test]
fn a_stream_cut_before_its_stop_reason_is_a_retryable_network_error_and_its_events_stand() {
    for mut speaker in wires() {
        let steps = [text("Hello"), call("c", "click"), arguments("{\"re")];
        let body = bytes_of(&mut *speaker, &steps);
        for end in [body.len(), body.len() - 1, body.len() - 20] {
            let (events, outcome) = decode(speaker.wire(), [&body.as_bytes()[..end]]);
            let error = outcome.unwrap_err();
            assert_eq!((error.kind, error.reason), (ErrorKind::Network, Some(Reason::Truncated)));
            assert!(error.retryable);
            assert_eq!((error.status, error.request_id.as_deref()), (Some(200), Some("r1")));
            assert_eq!(events[0], StreamEvent::Text("Hello".into()));
        }
    }
}

#[test]
fn an_error_in_the_stream_ends_it_and_what_came_before_in_the_same_chunk_stands() {
    for mut speaker in wires() {
        let body = bytes_of(&mut *speaker, &[text("Hel"), text("lo"), Step::Busy, text("late"), Step::End]);
        let (events, outcome) = decode(speaker.wire(), [body.as_bytes()]);
        let error = outcome.unwrap_err();
        assert_eq!((error.kind, error.reason), (ErrorKind::Overloaded, Some(Reason::UpstreamError)));
        assert_eq!(error.upstream_message.as_deref(), Some("busy"));
        assert_eq!(merged(events), [StreamEvent::Text("Hello".into())]);
    }
}

#[test]
fn a_body_of_nothing_is_a_cut_and_a_body_of_something_else_is_a_format_error() {
    for speaker in wires() {
        for body in ["", "\n\n  \n", &speaker.keep_alive()] {
            let (events, outcome) = decode(speaker.wire(), [body.as_bytes()]);
            assert_eq!(outcome.unwrap_err().reason, Some(Reason::Truncated), "{body:?}");
            assert!(events.is_empty());
        }
        for body in [
            "<html>the-key</html>",
            "null",
            "data: not json\n\n",
            "data: {\"a\":1}\n\n",
            "{\"a\":1}",
            "{]",
            "data: null\n\n",
        ] {
            let (events, outcome) = decode(speaker.wire(), [body.as_bytes()]);
            let error = outcome.unwrap_err();
            assert_eq!(
                (error.kind, error.reason, error.status),
                (ErrorKind::Protocol, Some(Reason::ResponseFormat), Some(200)),
                "{body:?}"
            );
            assert!(!error.retryable && events.is_empty());
            assert!(!format!("{error:?}").contains("the-key"));
        }
    }
}

#[test]
fn whatever_follows_the_end_mark_is_not_read() {
    for mut speaker in wires() {
        let body = bytes_of(
            &mut *speaker,
            &[text("a"), Step::Stop(StopReason::End), Step::End, text("b"), Step::Busy],
        );
        let (events, outcome) = decode(speaker.wire(), [body.as_bytes()]);
        assert_eq!(outcome.unwrap().text, "a");
        assert_eq!(merged(events), [StreamEvent::Text("a".into())]);
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        "[a-z点😀\"\\\\\n\u{2028}]{0,12}".prop_map(Step::Text),
        "[a-z点😀]{0,12}".prop_map(Step::Reasoning),
        Just(Step::Usage(Usage { input: 5, output: 1, cache_read: 0, cache_write: 0 })),
    ]
}

fn calls() -> impl Strategy<Value = Vec<Step>> {
    let one = ("[a-z_]{1,12}", "[a-z点😀\"\\\\]{0,20}", 0usize..8);
    prop::collection::vec(one, 0..4).prop_map(|calls| {
        let mut steps = Vec::new();
        for (place, (name, value, cut)) in calls.into_iter().enumerate() {
            steps.push(Step::Call { id: format!("c{place}"), name });
            let text = json!({"x": value}).to_string();
            let (head, tail) = text.split_at(text.floor_char_boundary(cut));
            steps.extend([arguments(head), arguments(tail)]);
        }
        steps
    })
}

fn chunks<'a>(body: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (body.len() + 1)).collect();
    cuts.sort_unstable();
    cuts.push(body.len());
    let mut from = 0;
    cuts.into_iter().map(|cut| &body[std::mem::replace(&mut from, cut)..cut]).collect()
}

proptest! {
    #[test]
    fn any_chunking_of_any_answer_gives_the_same_events_and_the_same_response(
        said in prop::collection::vec(step(), 0..8),
        calls in calls(),
        cuts in prop::collection::vec(0usize..5000, 0..20),
    ) {
        for mut speaker in wires() {
            let stop = if calls.is_empty() { StopReason::End } else { StopReason::ToolUse };
            let steps = [said.clone(), calls.clone(), vec![Step::Stop(stop), Step::End]].concat();
            let (events, response) = expected(&steps);
            let body = bytes_of(&mut *speaker, &steps);
            let (got_events, got) = decode(speaker.wire(), chunks(body.as_bytes(), &cuts));
            prop_assert_eq!(merged(got_events), events);
            prop_assert_eq!(got, Ok(response));
        }
    }

    #[test]
    fn no_bytes_make_a_decoder_panic_and_chunking_never_changes_its_verdict(
        body in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..300),
            "(data: ?|\\{\"choices\":|\\[|\\{\"delta\":|\\{|\\}|\\]|\"|:|,|null|\"tool_calls\":|\"function\":|\"arguments\":|\"name\":|\"error\":|\"content\":|1|\\[DONE\\]|event: error|\n| ){0,40}"
                .prop_map(String::into_bytes),
        ],
        cuts in prop::collection::vec(0usize..300, 0..8),
    ) {
        for speaker in wires() {
            let (events, outcome) = decode(speaker.wire(), [body.as_slice()]);
            let (cut_events, cut_outcome) = decode(speaker.wire(), chunks(&body, &cuts));
            prop_assert_eq!(events, cut_events);
            prop_assert_eq!(outcome, cut_outcome);
        }
    }
}

#[test]
fn an_endless_answer_is_refused_before_it_fills_the_memory() {
    for mut speaker in wires() {
        let mut decoder = decoder(speaker.wire());
        let frame = speaker.say(&Step::Text("x".repeat(1024 * 1024)));
        let refused = (0..100).find_map(|count| {
            decoder.push(frame.as_bytes(), &mut Vec::new()).err().map(|error| (count, error.reason))
        });
        assert_eq!(refused, Some((16, Some(Reason::ResponseFormat))));
    }
}

#[test]
fn what_comes_behind_an_end_mark_is_not_shown_as_an_excerpt_either() {
    let body = b"data: not json\n\ndata: [DONE]\n\nbehind";
    for speaker in wires() {
        let whole = decode(speaker.wire(), [body.as_slice()]).1.unwrap_err();
        assert_eq!(decode(speaker.wire(), body.chunks(1)).1.unwrap_err(), whole);
        assert!(!whole.upstream_message.unwrap_or_default().contains("behind"));
    }
}
