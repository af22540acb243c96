//! The servers' behaviour over real loopback sockets, as a client sees it.

use crate::http::Server;
use crate::model::Model;
use crate::scenario::Scenario;
use crate::site::Site;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A response as it came: the status, and the body without the framing of chunks.
struct Response {
    status: u16,
    head: String,
    body: Vec<u8>,
    /// True if the body ended as it should.
    complete: bool,
}

impl Response {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The events of a stream.
    fn events(&self) -> Vec<Value> {
        let text = self.text();
        let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
        lines.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    /// The text of all deltas in `field`.
    fn content(&self, field: &str) -> String {
        let pointer = format!("/choices/0/delta/{field}");
        self.events().iter().filter_map(|it| it.pointer(&pointer)?.as_str().map(str::to_owned)).collect()
    }
}

fn open(server: &Server, method: &str, path: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let length = body.len();
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
    stream
}

fn finish(mut stream: TcpStream) -> Response {
    let mut bytes = Vec::new();
    // A connection that is reset in the middle is a cut, too.
    let _ = stream.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|it| it == b"\r\n\r\n").expect("a whole head");
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let rest = &bytes[end + 4..];
    let (body, complete) = if head.contains("chunked") { unchunk(rest) } else { (rest.to_vec(), true) };
    Response { status, head, body, complete }
}

fn unchunk(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|it| it == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            return (body, true);
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
    }
    (body, false)
}

fn call(server: &Server, method: &str, path: &str, body: &str) -> Response {
    finish(open(server, method, path, body))
}

fn serve(scenarios: &[Value]) -> (Arc<Model>, Server) {
    let parsed = scenarios.iter().map(|it| Scenario::parse(&it.to_string()).unwrap()).collect();
    let model = Arc::new(Model::new(parsed).unwrap());
    let server = Model::serve(&model, 0).unwrap();
    (model, server)
}

fn one(steps: Value) -> Value {
    json!({"name": "s", "match": {"model": "m"}, "steps": steps})
}

fn ask(server: &Server, messages: Value) -> Response {
    call(server, "POST", "/v1/chat/completions", &request(messages))
}

fn request(messages: Value) -> String {
    json!({"model": "m", "stream": true, "stream_options": {"include_usage": true}, "messages": messages})
        .to_string()
}

fn user(text: &str) -> Value {
    json!([{"role": "user", "content": text}])
}

fn wait_for(model: &Model, index: usize, state: &str) {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        let found = model.records().get(index).map(|it| it.state.clone());
        if found.as_deref() == Some(state) {
            return;
        }
        assert!(Instant::now() < end, "request {index} is {found:?}, not {state}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn text_and_reasoning_arrive_in_deltas_with_usage_at_the_end() {
    let (_, server) = serve(&[one(json!([{"reply": [
        {"kind": "reasoning", "text": "think", "chunkChars": 2},
        {"kind": "text", "text": "Grüße", "chunkChars": 2, "packetBytes": 1},
    ]}]))]);
    let response = ask(&server, user("hi"));
    assert_eq!((response.status, response.complete), (200, true));
    assert_eq!(response.content("reasoning_content"), "think");
    assert_eq!(response.content("content"), "Grüße");
    let events = response.events();
    let last_two = &events[events.len() - 2..];
    assert_eq!(last_two[0].pointer("/choices/0/finish_reason"), Some(&json!("stop")));
    assert!(last_two[1]["usage"]["completion_tokens"].as_u64().unwrap() > 0);
    assert!(response.text().ends_with("data: [DONE]\n\n"));
}

#[test]
fn steps_are_taken_in_order_and_then_used_up() {
    let (model, server) = serve(&[one(json!([
        {"reply": [{"kind": "text", "text": "one"}]},
        {"reply": [{"kind": "text", "text": "two"}]},
    ]))]);
    assert_eq!(ask(&server, user("hi")).content("content"), "one");
    assert_eq!(ask(&server, user("hi")).content("content"), "two");
    let third = ask(&server, user("hi"));
    assert_eq!(third.status, 400);
    assert!(third.text().contains("no step left"), "{}", third.text());
    assert_eq!(model.records()[1].step, Some(1));
    assert_eq!(call(&server, "POST", "/__control/reset", "").status, 200);
    assert_eq!(ask(&server, user("hi")).content("content"), "one");
    assert_eq!(model.records().len(), 1);
}

#[test]
fn a_call_carries_a_value_taken_from_the_newest_tool_result() {
    let (_, server) = serve(&[one(json!([
        {"when": {"lastRole": "user"}, "reply": [{"kind": "toolCall", "name": "read_page", "arguments": {"tab": 7}}]},
        {"when": {"afterTool": "read_page"}, "capture": [{"name": "submit", "pattern": "\\[(e\\d+)\\] button"}],
         "reply": [{"kind": "toolCall", "name": "click", "arguments": {"ref": "{{submit}}"}, "chunkChars": 3}]},
    ]))]);
    let first = ask(&server, user("hi"));
    let call = first.events()[1].pointer("/choices/0/delta/tool_calls/0").unwrap().clone();
    assert_eq!(call["function"]["name"], "read_page");
    let mut messages = user("hi").as_array().unwrap().clone();
    let id = call["id"].as_str().unwrap();
    let asked =
        json!({"id": id, "type": "function", "function": {"name": "read_page", "arguments": "{\"tab\":7}"}});
    messages.push(json!({"role": "assistant", "content": null, "tool_calls": [asked]}));
    messages.push(json!({"role": "tool", "tool_call_id": id, "content": "[e3] field\n[e12] button"}));
    let second = ask(&server, json!(messages));
    let parts = second.events();
    let arguments: String = parts
        .iter()
        .filter_map(|it| {
            it.pointer("/choices/0/delta/tool_calls/0/function/arguments")?.as_str().map(str::to_owned)
        })
        .collect();
    assert_eq!(arguments, r#"{"ref":"e12"}"#);
    let reasons: Vec<_> =
        parts.iter().filter_map(|it| it.pointer("/choices/0/finish_reason")?.as_str()).collect();
    assert_eq!(reasons, ["tool_calls"]);
}

#[test]
fn an_illegal_history_is_refused_and_remembered() {
    let (model, server) = serve(&[]);
    let asked = json!({"id": "a", "type": "function", "function": {"name": "click", "arguments": "{}"}});
    let response = ask(
        &server,
        json!([
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": null, "tool_calls": [asked]},
            {"role": "user", "content": "and?"},
        ]),
    );
    assert_eq!(response.status, 400);
    assert_eq!(response.json()["error"]["code"], "illegal_history");
    assert_eq!(model.records()[0].state, "refused");
    assert!(model.records()[0].violations[0].contains("no result"));
}

#[test]
fn nothing_is_sent_before_a_stall_is_over_and_errors_have_their_headers() {
    let (_, server) = serve(&[one(json!([{"stallBeforeMs": 300, "error": {
        "status": 429, "headers": {"Retry-After": "2"}, "body": {"error": {"message": "slow down"}},
    }}]))]);
    let started = Instant::now();
    let mut stream = open(&server, "POST", "/v1/chat/completions", &request(user("hi")));
    stream.read_exact(&mut [0; 1]).unwrap();
    assert!(started.elapsed() >= Duration::from_millis(290));
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("429 Too Many Requests") && rest.contains("Retry-After: 2"), "{rest}");
    assert!(rest.ends_with(r#"{"error":{"message":"slow down"}}"#), "{rest}");
}

#[test]
fn a_held_stream_goes_on_when_it_is_released() {
    let (model, server) = serve(&[one(json!([{"reply": [
        {"kind": "text", "text": "before "}, {"kind": "hold", "name": "h"}, {"kind": "text", "text": "after"},
    ]}]))]);
    let stream = open(&server, "POST", "/v1/chat/completions", &request(user("hi")));
    wait_for(&model, 0, "held:h");
    assert_eq!(call(&server, "POST", "/__control/release/h", "").status, 200);
    assert_eq!(finish(stream).content("content"), "before after");
    wait_for(&model, 0, "done");
}

#[test]
fn a_client_that_leaves_during_a_hold_is_noticed() {
    let (model, server) =
        serve(&[one(json!([{"holdBefore": "never", "reply": [{"kind": "stall", "ms": 1}]}]))]);
    let stream = open(&server, "POST", "/v1/chat/completions", &request(user("hi")));
    wait_for(&model, 0, "held:never");
    drop(stream);
    wait_for(&model, 0, "left");
}

#[test]
fn a_cut_ends_the_connection_inside_a_character_or_a_string() {
    for (at, text, valid) in [("insideCharacter", "caf\u{e9}s", false), ("insideString", "half of it", true)]
    {
        let (model, server) = serve(&[one(json!([{"reply": [
            {"kind": "text", "text": "whole "}, {"kind": "cut", "at": at, "text": text},
        ]}]))]);
        let response = ask(&server, user("hi"));
        assert!(!response.complete, "{at}");
        assert_eq!(std::str::from_utf8(&response.body).is_ok(), valid, "{at}");
        let last = response.text().lines().last().unwrap().to_owned();
        assert!(serde_json::from_str::<Value>(last.trim_start_matches("data: ")).is_err(), "{last}");
        wait_for(&model, 0, "cut");
    }
}

#[test]
fn the_marker_in_the_newest_message_chooses_and_the_echo_answers_the_rest() {
    let say = |name: &str, matches: Value| json!({"name": name, "match": matches, "steps": [{"repeat": true, "reply": [{"kind": "text", "text": name}]}]});
    let (_, server) = serve(&[
        say("a", json!({"marker": "apples"})),
        say("b", json!({"marker": "pears"})),
        say("c", json!({"model": "other"})),
    ]);
    let both = json!([
        {"role": "user", "content": "apples"}, {"role": "assistant", "content": "x"},
        {"role": "user", "content": [{"type": "text", "text": "now pears"}]},
    ]);
    assert_eq!(ask(&server, both).content("content"), "b");
    assert_eq!(ask(&server, user("some apples")).content("content"), "a");
    assert_eq!(ask(&server, user("plums")).content("content"), "Echo: plums");
    let later = json!([
        {"role": "user", "content": "apples"}, {"role": "assistant", "content": "x"},
        {"role": "user", "content": "plums"},
    ]);
    assert_eq!(ask(&server, later).content("content"), "Echo: plums");
}

#[test]
fn a_request_without_a_stream_gets_one_value() {
    let (_, server) = serve(&[one(json!([{"reply": [
        {"kind": "text", "text": "a", "times": 3}, {"kind": "usage", "promptTokens": 5, "completionTokens": 2},
    ]}]))]);
    let body = json!({"model": "m", "messages": user("hi")}).to_string();
    let value = call(&server, "POST", "/v1/chat/completions", &body).json();
    assert_eq!(value["choices"][0]["message"]["content"], "aaa");
    assert_eq!(value["usage"]["total_tokens"], 7);
}

#[test]
fn models_are_listed_and_a_wrong_key_is_refused() {
    let (_, server) = serve(&[one(json!([{"reply": [{"kind": "text", "text": "x"}]}]))]);
    let listed = call(&server, "GET", "/v1/models", "").json();
    let ids: Vec<_> =
        listed["data"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["echo", "m"]);
    let mut stream = TcpStream::connect(server.address()).unwrap();
    write!(stream, "GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-wrong\r\n\r\n").unwrap();
    let refused = finish(stream);
    assert_eq!(refused.status, 401);
    assert_eq!(refused.json()["error"]["code"], "invalid_api_key");
}

#[test]
fn a_scenario_can_be_added_while_the_server_runs() {
    let (_, server) = serve(&[]);
    let scenario = one(json!([{"reply": [{"kind": "text", "text": "new"}]}]));
    assert_eq!(call(&server, "POST", "/__control/scenarios", &scenario.to_string()).status, 200);
    assert_eq!(ask(&server, user("hi")).content("content"), "new");
    let broken = call(&server, "POST", "/__control/scenarios", "{}");
    assert_eq!(broken.status, 400);
    assert!(broken.text().contains("missing field"), "{}", broken.text());
}

#[test]
fn an_order_is_counted_with_its_values_and_confirmed() {
    let site = Arc::new(Site::default());
    let server = Site::serve(&site, 0).unwrap();
    assert!(call(&server, "GET", "/order", "").text().contains("<label for=quantity>Quantity</label>"));
    let sent = call(&server, "POST", "/order", "name=Ada+%3Cb%3E&email=ada%40example.com&quantity=3");
    assert_eq!(sent.status, 303);
    assert!(sent.head.contains("Location: /order/1"), "{}", sent.head);
    let page = call(&server, "GET", "/order/1", "").text();
    assert!(page.contains("Thank you, Ada &lt;b&gt;.") && page.contains("3 mugs"), "{page}");
    let orders = call(&server, "GET", "/__control/orders", "").json();
    assert_eq!(orders[0]["fields"], json!({"name": "Ada <b>", "email": "ada@example.com", "quantity": "3"}));
    assert_eq!(call(&server, "POST", "/__control/reset", "").status, 200);
    assert_eq!(call(&server, "GET", "/order/1", "").status, 404);
}

#[test]
fn a_dropped_server_lets_its_port_go_and_ends_what_waits() {
    let (model, server) = serve(&[one(json!([{"reply": [
        {"kind": "hold", "name": "never"}, {"kind": "text", "text": "end"},
    ]}]))]);
    let stream = open(&server, "POST", "/v1/chat/completions", &request(user("hi")));
    wait_for(&model, 0, "held:never");
    let address = server.address();
    drop(server);
    assert_eq!(finish(stream).content("content"), "end");
    assert!(TcpStream::connect(address).is_err());
}
