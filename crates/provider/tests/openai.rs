//! Streams as real "OpenAI-compatible" servers send them, each reduced to the shape that broke some client.

#![expect(
    clippy::unwrap_used,
    clippy::string_slice,
    reason = "a whole file of tests: a failure here is the report"
)]

use panelot_base::Secret;
use panelot_provider::{
    Endpoint, ErrorKind, ProviderError, Reason, Response, ResponseHead, StopReason, StreamEvent, Usage, Wire,
};
use serde_json::{Value, json};

fn decode(body: &str) -> (Vec<StreamEvent>, Result<Response, ProviderError>) {
    let endpoint = Endpoint::new("https://a.test", Secret::new("the-key")).unwrap();
    let mut decoder = Wire::Openai.decoder(&ResponseHead { status: 200, headers: vec![] }, &endpoint);
    let mut events = Vec::new();
    match decoder.push(body.as_bytes(), &mut events) {
        Ok(_) => (events, decoder.finish()),
        Err(error) => (events, Err(error)),
    }
}

fn sse(frames: &[Value]) -> String {
    frames.iter().map(|frame| format!("data: {frame}\n\n")).collect()
}

fn delta(delta: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta}]})
}

fn calls(entries: &Value) -> Value {
    delta(&json!({"tool_calls": entries}))
}

fn stop(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

/// The calls of a stream of `frames` that ends with a stop and an end mark, as (id, name, arguments).
fn decoded_calls(frames: &[Value]) -> Vec<(String, String, String)> {
    let body = sse(frames) + &sse(&[stop("tool_calls")]) + "data: [DONE]\n\n";
    let response = decode(&body).1.unwrap();
    assert_eq!(response.stop_reason, StopReason::ToolUse);
    response.tool_calls.into_iter().map(|call| (call.id, call.name, call.arguments)).collect()
}

/// A shape, its frames, and the calls (id, name, arguments) that they must give.
type CallCase<'a> = (&'a str, &'a [Value], &'a [(&'a str, &'a str, &'a str)]);

#[test]
#[expect(clippy::too_many_lines, reason = "one table, one row for each shape")]
fn tool_calls_are_put_together_from_every_shape_that_servers_send() {
    let table: &[CallCase<'_>] = &[
        (
            "the id is empty in later pieces",
            &[
                calls(&json!([{"index": 0, "id": "a", "function": {"name": "click", "arguments": "{"}}])),
                calls(&json!([{"index": 0, "id": "", "function": {"arguments": "}"}}])),
            ],
            &[("a", "click", "{}")],
        ),
        (
            "no index, pieces without id",
            &[
                calls(&json!([{"id": "a", "function": {"name": "click", "arguments": "{"}}])),
                calls(&json!([{"function": {"arguments": "}"}}])),
                calls(&json!([{"id": "b", "function": {"name": "click", "arguments": "{}"}}])),
            ],
            &[("a", "click", "{}"), ("b", "click", "{}")],
        ),
        (
            "no index, no id: a name opens a call",
            &[calls(
                &json!([{"function": {"name": "a", "arguments": "{}"}}, {"function": {"name": "a", "arguments": "{}"}}]),
            )],
            &[("call_0", "a", "{}"), ("call_1", "a", "{}")],
        ),
        (
            "no index, no id, the name is repeated",
            &[
                calls(&json!([{"function": {"name": "a", "arguments": "{\"x\":"}}])),
                calls(&json!([{"function": {"name": "a", "arguments": "1}"}}])),
            ],
            &[("call_0", "a", "{\"x\":1}")],
        ),
        (
            "every parallel call has index 0",
            &[
                calls(&json!([{"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}}])),
                calls(&json!([{"index": 0, "id": "b", "function": {"name": "x", "arguments": "{}"}}])),
            ],
            &[("a", "x", "{}"), ("b", "x", "{}")],
        ),
        (
            "a new id with every piece",
            &[
                calls(&json!([{"index": 0, "id": "a", "function": {"name": "x", "arguments": "{"}}])),
                calls(&json!([{"index": 0, "id": "b", "function": {"arguments": "}"}}])),
            ],
            &[("b", "x", "{}")],
        ),
        (
            "arguments are an object",
            &[calls(
                &json!([{"index": 0, "id": "a", "function": {"name": "x", "arguments": {"ref": "e7"}}}]),
            )],
            &[("a", "x", "{\"ref\":\"e7\"}")],
        ),
        (
            "arguments never come",
            &[calls(&json!([{"index": 0, "id": "a", "function": {"name": "x", "arguments": null}}]))],
            &[("a", "x", "")],
        ),
        (
            "the name comes in pieces",
            &[
                calls(&json!([{"index": 0, "id": "a", "function": {"name": "read_"}}])),
                calls(&json!([{"index": 0, "function": {"name": "page", "arguments": "{}"}}])),
            ],
            &[("a", "read_page", "{}")],
        ),
        (
            "the name is repeated on each piece",
            &[
                calls(&json!([{"index": 0, "id": "a", "function": {"name": "click", "arguments": ""}}])),
                calls(&json!([{"index": 0, "id": "a", "function": {"name": "click", "arguments": "{"}}])),
                calls(&json!([{"index": 0, "id": "a", "function": {"name": "click", "arguments": "}"}}])),
            ],
            &[("a", "click", "{}")],
        ),
        (
            "pieces of two calls take turns",
            &[
                calls(&json!([{"index": 0, "id": "a", "function": {"name": "x", "arguments": "{"}},
                    {"index": 1, "id": "b", "function": {"name": "y", "arguments": "{"}}])),
                calls(
                    &json!([{"index": 1, "function": {"arguments": "}"}}, {"index": 0, "function": {"arguments": "}"}}]),
                ),
            ],
            &[("a", "x", "{}"), ("b", "y", "{}")],
        ),
        (
            "the same id twice, and none",
            &[calls(&json!([{"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}},
                {"index": 1, "id": "a", "function": {"name": "y", "arguments": "{}"}},
                {"index": 2, "function": {"name": "z", "arguments": "{}"}}]))],
            &[("a", "x", "{}"), ("a-2", "y", "{}"), ("call_2", "z", "{}")],
        ),
        (
            "the deprecated form",
            &[
                delta(&json!({"function_call": {"name": "x", "arguments": "{"}})),
                delta(&json!({"function_call": {"arguments": "}"}})),
            ],
            &[("call_0", "x", "{}")],
        ),
        (
            "junk among the entries",
            &[calls(
                &json!([null, 7, "x", {"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}}, {"index": 0, "function": 3}]),
            )],
            &[("a", "x", "{}")],
        ),
    ];
    for (shape, frames, expected) in table {
        let got = decoded_calls(frames);
        let got: Vec<_> =
            got.iter().map(|(id, name, text)| (id.as_str(), name.as_str(), text.as_str())).collect();
        assert_eq!(&got, expected, "{shape}");
    }
}

#[test]
fn stop_reasons_of_all_dialects_are_understood() {
    for (reason, with_calls, expected) in [
        ("stop", false, StopReason::End),
        ("stop", true, StopReason::ToolUse),
        ("eos", false, StopReason::End),
        ("something_new", true, StopReason::ToolUse),
        ("function_call", true, StopReason::ToolUse),
        ("tool_calls", false, StopReason::End),
        ("length", true, StopReason::MaxTokens),
        ("MAX_TOKENS", false, StopReason::MaxTokens),
        ("SAFETY", false, StopReason::ContentFilter),
        ("content_filter", true, StopReason::ContentFilter),
    ] {
        let mut frames = vec![delta(&json!({"content": "x"}))];
        if with_calls {
            frames
                .push(calls(&json!([{"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}}])));
        }
        frames.push(stop(reason));
        let response = decode(&sse(&frames)).1.unwrap();
        assert_eq!(response.stop_reason, expected, "{reason}");
        assert_eq!(response.tool_calls.is_empty(), expected != StopReason::ToolUse, "{reason}");
    }
}

#[test]
fn either_end_mark_is_enough_but_half_a_call_is_not() {
    let text = delta(&json!({"content": "x"}));
    let half = calls(&json!([{"index": 0, "id": "a", "function": {"name": "x", "arguments": "{\"a\":"}}]));
    let whole = calls(&json!([{"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}}]));
    let done = "data: [DONE]\n\n";
    assert_eq!(decode(&sse(&[text.clone(), stop("stop")])).1.unwrap().text, "x");
    assert_eq!(decode(&(sse(std::slice::from_ref(&text)) + done)).1.unwrap().stop_reason, StopReason::End);
    assert_eq!(decode(&(sse(&[whole]) + done)).1.unwrap().stop_reason, StopReason::ToolUse);
    assert_eq!(decode(&(sse(&[half]) + done)).1.unwrap_err().reason, Some(Reason::Truncated));
    assert_eq!(decode(&sse(&[text])).1.unwrap_err().reason, Some(Reason::Truncated));
}

#[test]
fn tool_calls_that_are_announced_and_never_sent_are_a_format_error() {
    let error = decode(&sse(&[stop("tool_calls")])).1.unwrap_err();
    assert_eq!((error.kind, error.reason), (ErrorKind::Protocol, Some(Reason::ResponseFormat)));
}

#[test]
fn a_provider_that_gives_up_with_a_stop_reason_is_a_busy_one() {
    let error =
        decode(&sse(&[delta(&json!({"content": "x"})), stop("insufficient_system_resource")])).1.unwrap_err();
    assert_eq!((error.kind, error.retryable), (ErrorKind::Overloaded, true));
    assert_eq!(error.upstream_code.as_deref(), Some("insufficient_system_resource"));
}

#[test]
fn reasoning_is_read_under_each_of_its_names_and_once() {
    for frame in [
        json!({"reasoning_content": "r", "content": ""}),
        json!({"reasoning": "r", "content": null}),
        json!({"reasoning": "r", "reasoning_content": "r"}),
        json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "r"}]}]}),
        json!({"content": [{"type": "thinking", "thinking": "r"}]}),
    ] {
        let text = delta(&json!({"content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}));
        let (events, response) = decode(&sse(&[delta(&frame), text, stop("stop")]));
        let response = response.unwrap();
        assert_eq!((response.reasoning.as_str(), response.text.as_str()), ("r", "a"), "{frame}");
        assert_eq!(events, [StreamEvent::Reasoning("r".into()), StreamEvent::Text("a".into())]);
    }
}

#[test]
fn think_tags_at_the_start_of_the_content_are_reasoning() {
    let frames = ["<thi", "nk>h", "m</think", ">yes", " <b"].map(|text| delta(&json!({"content": text})));
    let (events, response) = decode(&(sse(&frames) + &sse(&[stop("stop")])));
    let response = response.unwrap();
    assert_eq!((response.reasoning.as_str(), response.text.as_str()), ("hm", "yes <b"));
    assert_eq!(
        events,
        [
            StreamEvent::Reasoning("h".into()),
            StreamEvent::Reasoning("m".into()),
            StreamEvent::Text("yes".into()),
            StreamEvent::Text(" <b".into()),
        ]
    );
    for end in [sse(&[stop("stop")]), "data: [DONE]\n\n".to_owned()] {
        let (events, response) = decode(&(sse(&[delta(&json!({"content": "<thi"}))]) + &end));
        assert_eq!(
            (events, response.unwrap().text.as_str()),
            (vec![StreamEvent::Text("<thi".into())], "<thi")
        );
    }
}

#[test]
fn a_refusal_is_shown_as_the_answer() {
    let body = sse(&[delta(&json!({"refusal": "I cannot."})), stop("stop")]);
    assert_eq!(decode(&body).1.unwrap().text, "I cannot.");
}

#[test]
fn usage_is_read_where_it_is_and_dropped_where_it_is_nonsense() {
    let of = |usage: Value| {
        let frames = [delta(&json!({"content": "x"})), stop("stop"), json!({"choices": [], "usage": usage})];
        decode(&sse(&frames)).1.unwrap().usage
    };
    let usage = |input, output, cache_read| Some(Usage { input, output, cache_read, cache_write: 0 });
    assert_eq!(of(json!({"prompt_tokens": 9, "completion_tokens": 2})), usage(9, 2, 0));
    assert_eq!(
        of(
            json!({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}})
        ),
        usage(9, 2, 4)
    );
    assert_eq!(
        of(json!({"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 40})),
        usage(9, 2, 9)
    );
    assert_eq!(of(json!({"prompt_tokens": 9, "prompt_tokens_details": "x"})), usage(9, 0, 0));
    for nonsense in
        [json!({}), json!(null), json!({"prompt_tokens": -1}), json!({"prompt_tokens": "9"}), json!(3)]
    {
        assert_eq!(of(nonsense.clone()), None, "{nonsense}");
    }
}

#[test]
fn an_answer_that_came_whole_although_a_stream_was_asked_for_is_read() {
    let whole = json!({"object": "chat.completion", "usage": {"prompt_tokens": 1, "completion_tokens": 1},
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": "hi",
            "reasoning_content": "r", "tool_calls": [{"id": "a", "type": "function",
            "function": {"name": "x", "arguments": "{}"}}]}}]});
    for body in [whole.to_string(), serde_json::to_string_pretty(&whole).unwrap(), format!("\n \r\n{whole}")]
    {
        let (events, response) = decode(&body);
        let response = response.unwrap();
        assert!(events.is_empty(), "nothing streamed");
        assert_eq!((response.text.as_str(), response.reasoning.as_str()), ("hi", "r"));
        assert_eq!((response.tool_calls.len(), response.stop_reason), (1, StopReason::ToolUse));
        let cut = &body[..body.len() - 5];
        assert_eq!(decode(cut).1.unwrap_err().reason, Some(Reason::Truncated));
    }
    let endless = json!({"choices": [{"message": {"content": "<thi"}}]}).to_string();
    assert_eq!(decode(&endless).1.unwrap().text, "<thi");
    let failed = json!({"error": {"message": "no", "code": "invalid_api_key"}}).to_string();
    assert_eq!(decode(&failed).1.unwrap_err().kind, ErrorKind::Auth);
}

#[test]
fn a_whole_message_at_the_end_of_a_stream_is_not_read_twice() {
    let last = json!({"choices": [{"finish_reason": "stop", "message": {"content": "hello"}}]});
    assert_eq!(decode(&sse(&[delta(&json!({"content": "hello"})), last.clone()])).1.unwrap().text, "hello");
    assert_eq!(decode(&sse(&[last])).1.unwrap().text, "hello");
}

#[test]
fn errors_inside_a_stream_are_found_in_every_place() {
    for body in [
        sse(&[json!({"error": {"code": 429, "message": "slow down, the-key"}})]),
        sse(&[
            json!({"choices": [{"error": {"code": "rate_limit_exceeded", "message": "slow down, the-key"}}]}),
        ]),
        sse(&[json!({"object": "error", "code": 429, "message": "slow down, the-key"})]),
        "event: error\ndata: {\"code\":\"rate_limit\",\"message\":\"slow down, the-key\"}\n\n".to_owned(),
    ] {
        let error = decode(&body).1.unwrap_err();
        assert_eq!(error.kind, ErrorKind::RateLimit, "{body}");
        assert_eq!(error.upstream_message.as_deref(), Some("slow down, [REDACTED]"));
    }
    let words = decode("event: error\ndata: Server is busy\n\n").1.unwrap_err();
    assert_eq!(
        (words.kind, words.upstream_message.as_deref()),
        (ErrorKind::Overloaded, Some("Server is busy"))
    );
    for harmless in [json!(null), json!(false), json!(""), json!({})] {
        let mut frame = delta(&json!({"content": "x"}));
        frame["error"] = harmless;
        assert_eq!(decode(&sse(&[frame, stop("stop")])).1.unwrap().text, "x");
    }
}

#[test]
fn junk_before_a_real_answer_is_read_over() {
    let body = "data: not json\n\ndata: 7\n\ndata: {\"id\":1}\n\n".to_owned()
        + &sse(&[
            json!({"choices": []}),
            json!({"choices": [null]}),
            delta(&json!({"content": "x"})),
            stop("stop"),
        ]);
    assert_eq!(decode(&body).1.unwrap().text, "x");
}

#[test]
fn what_came_instead_of_an_answer_is_quoted_without_the_key() {
    let error = decode("<html><b>Sign in to the-key</b></html>").1.unwrap_err();
    assert_eq!(error.upstream_message.as_deref(), Some("<html><b>Sign in to [REDACTED]</b></html>"));
    let error = decode(&format!("<html>{}", "x".repeat(100_000))).1.unwrap_err();
    assert_eq!(error.upstream_message.map(|text| text.len()), Some(300));
}

#[test]
fn members_that_only_the_vendor_understands_are_kept_with_the_call_within_bounds() {
    let body = sse(&[
        calls(
            &json!([{"index": 0, "id": "a", "type": "function", "extra_content": {"google": {"thought_signature": "s=="}},
            "function": {"name": "x", "arguments": "{}", "thought_signature": "v"}, "big": "x".repeat(100_000), "none": null}]),
        ),
        stop("tool_calls"),
    ]);
    let response = decode(&body).1.unwrap();
    let vendor = serde_json::to_value(&response.tool_calls[0].vendor).unwrap();
    assert_eq!(vendor["extra_content"], json!({"google": {"thought_signature": "s=="}}));
    assert_eq!(vendor.get("big"), None);
    let stored = serde_json::to_value(&response).unwrap();
    assert_eq!(serde_json::from_value::<Response>(stored).unwrap(), response);
}

#[test]
fn a_flood_of_calls_is_refused() {
    let entries: Vec<Value> =
        (0..200).map(|index| json!({"index": index, "function": {"name": "x", "arguments": "{}"}})).collect();
    let error = decode(&sse(&[calls(&json!(entries)), stop("tool_calls")])).1.unwrap_err();
    assert_eq!(error.reason, Some(Reason::ResponseFormat));
}
