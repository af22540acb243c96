//! Playing one step: the answer is planned before the first byte, so that a script that does not fit the request
//! is an error response and not half a stream.

use crate::http::{Body, Reply};
use crate::scenario::{Action, Capture, CaptureFrom, CutAt, Step};
use regex_lite::Regex;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

/// Characters of a call's arguments in a delta when the script does not say.
const ARGUMENT_CHARS: usize = 16;
/// A wait that is longer than this looks after the client.
const LONG_WAIT: Duration = Duration::from_millis(50);

/// One thing to do on the wire.
#[derive(Clone, Debug)]
enum Beat {
    /// Send events, `delay` from one to the next, in packets of `packet` bytes (all at once when 0).
    Events {
        events: Vec<String>,
        delay: Duration,
        packet: usize,
    },
    Stall(Duration),
    Hold(String),
    Cut {
        after: Vec<u8>,
    },
}

/// An answer, ready to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    beats: Vec<Beat>,
    text: String,
    reasoning: String,
    calls: Vec<Value>,
    finish: String,
    usage: Value,
    model: String,
    id: String,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// With its last byte.
    Complete,
    /// Where the script cuts it.
    Cut,
}

/// What playing needs from the server.
pub(crate) trait Stage {
    /// True once `name` is released, or the server stops.
    fn released(&self, name: &str) -> bool;
    /// Notes what the answer is doing now.
    fn note(&self, state: &str);
}

/// The error of a client that left.
pub(crate) fn left() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the client left")
}

impl Plan {
    /// Plans the answer of `step` to `request`. `number` makes ids unique.
    ///
    /// # Errors
    /// A text that says which capture found nothing.
    pub(crate) fn new(step: &Step, request: &Value, number: u64) -> Result<Self, String> {
        let values = captured(&step.capture, request)?;
        let model = request.get("model").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut plan = Self {
            beats: Vec::new(),
            text: String::new(),
            reasoning: String::new(),
            calls: Vec::new(),
            finish: String::new(),
            usage: Value::Null,
            model,
            id: format!("chatcmpl-{number}"),
        };
        plan.events(vec![plan.delta(&json!({"role": "assistant", "content": ""}))], 0, 0);
        for action in &step.reply {
            plan.add(action, &values, number);
        }
        Ok(plan)
    }

    fn add(&mut self, action: &Action, values: &BTreeMap<String, String>, number: u64) {
        match action {
            Action::Text { text, chunk_chars, delay_ms, packet_bytes, times } => {
                let text = fill(text, values).repeat((*times).max(1));
                let events = pieces(&text, *chunk_chars)
                    .iter()
                    .map(|piece| self.delta(&json!({ "content": piece })))
                    .collect();
                self.events(events, *delay_ms, *packet_bytes);
                self.text.push_str(&text);
            }
            Action::Reasoning { text, chunk_chars, delay_ms } => {
                let text = fill(text, values);
                let events = pieces(&text, *chunk_chars)
                    .iter()
                    .map(|piece| self.delta(&json!({ "reasoning_content": piece })))
                    .collect();
                self.events(events, *delay_ms, 0);
                self.reasoning.push_str(&text);
            }
            Action::ToolCall { name, arguments, raw_arguments, id, chunk_chars, delay_ms } => {
                let arguments = match raw_arguments {
                    Some(raw) => raw.clone(),
                    None => fill_value(arguments, values).to_string(),
                };
                let id = id.clone().unwrap_or_else(|| format!("call_{number}_{}", self.calls.len()));
                self.call(name, &arguments, &id, *chunk_chars, *delay_ms);
            }
            Action::Stall { ms } => self.beats.push(Beat::Stall(Duration::from_millis(*ms))),
            Action::Hold { name } => self.beats.push(Beat::Hold(name.clone())),
            Action::Raw { text } => self.events(vec![fill(text, values)], 0, 0),
            Action::Usage { prompt_tokens, completion_tokens } => {
                self.usage = json!({
                    "prompt_tokens": prompt_tokens,
                    "completion_tokens": completion_tokens,
                    "total_tokens": prompt_tokens + completion_tokens,
                });
            }
            Action::Finish { reason } => self.finish.clone_from(reason),
            Action::Cut { at, text } => {
                let event = self.delta(&json!({ "content": text }));
                self.beats.push(Beat::Cut { after: cut_event(&event, text, *at) });
            }
        }
    }

    fn call(&mut self, name: &str, arguments: &str, id: &str, chunk_chars: usize, delay_ms: u64) {
        let index = self.calls.len();
        let start = json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}});
        let mut events = vec![self.delta(&json!({ "tool_calls": [start] }))];
        let chunk = if chunk_chars == 0 { ARGUMENT_CHARS } else { chunk_chars };
        for piece in pieces(arguments, chunk) {
            let part = json!({"index": index, "function": {"arguments": piece}});
            events.push(self.delta(&json!({ "tool_calls": [part] })));
        }
        self.events(events, delay_ms, 0);
        self.calls
            .push(json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}));
    }

    fn events(&mut self, events: Vec<String>, delay_ms: u64, packet: usize) {
        self.beats.push(Beat::Events { events, delay: Duration::from_millis(delay_ms), packet });
    }

    fn delta(&self, delta: &Value) -> String {
        self.event(&json!([{"index": 0, "delta": delta, "finish_reason": null}]), &Value::Null)
    }

    fn event(&self, choices: &Value, usage: &Value) -> String {
        let mut chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": crate::now_ms() / 1000,
            "model": self.model,
            "choices": choices,
        });
        if let (Some(fields), false) = (chunk.as_object_mut(), usage.is_null()) {
            fields.insert("usage".to_owned(), usage.clone());
        }
        format!("data: {chunk}\n\n")
    }

    fn finish_reason(&self) -> &str {
        match self.finish.as_str() {
            "" if self.calls.is_empty() => "stop",
            "" => "tool_calls",
            given => given,
        }
    }

    /// What is reported as used: the script's figures, or four characters a token.
    fn usage(&self) -> Value {
        if !self.usage.is_null() {
            return self.usage.clone();
        }
        let completion = (self.text.chars().count() + self.reasoning.chars().count()) / 4 + 1;
        json!({"prompt_tokens": 100, "completion_tokens": completion, "total_tokens": 100 + completion})
    }

    /// Sends the answer as a stream of events.
    ///
    /// # Errors
    /// When the client leaves.
    pub(crate) fn stream(&self, reply: Reply, stage: &dyn Stage, with_usage: bool) -> io::Result<Outcome> {
        let mut body =
            reply.stream(200, &[("Content-Type", "text/event-stream"), ("Cache-Control", "no-store")])?;
        stage.note("streaming");
        for beat in &self.beats {
            match beat {
                Beat::Events { events, delay, packet } => send(&mut body, events, *delay, *packet)?,
                Beat::Stall(duration) => {
                    if !body.wait(Some(*duration), || false) {
                        return Err(left());
                    }
                }
                Beat::Hold(name) => {
                    stage.note(&format!("held:{name}"));
                    if !body.wait(None, || stage.released(name)) {
                        return Err(left());
                    }
                    stage.note("streaming");
                }
                Beat::Cut { after } => {
                    body.write(after)?;
                    body.cut();
                    return Ok(Outcome::Cut);
                }
            }
        }
        let end = json!([{"index": 0, "delta": {}, "finish_reason": self.finish_reason()}]);
        body.write(self.event(&end, &Value::Null).as_bytes())?;
        if with_usage {
            body.write(self.event(&json!([]), &self.usage()).as_bytes())?;
        }
        body.write(b"data: [DONE]\n\n")?;
        body.finish()?;
        Ok(Outcome::Complete)
    }

    /// Sends the answer as one JSON value, for a request that does not ask for a stream. Pauses are kept.
    ///
    /// # Errors
    /// When the client leaves.
    pub(crate) fn whole(&self, reply: Reply, stage: &dyn Stage) -> io::Result<Outcome> {
        for beat in &self.beats {
            let there = match beat {
                Beat::Stall(duration) => reply.wait(Some(*duration), || false),
                Beat::Hold(name) => reply.wait(None, || stage.released(name)),
                Beat::Events { .. } | Beat::Cut { .. } => true,
            };
            if !there {
                return Err(left());
            }
        }
        let mut message = json!({"role": "assistant", "content": self.text});
        if let Some(fields) = message.as_object_mut() {
            if !self.reasoning.is_empty() {
                fields.insert("reasoning_content".to_owned(), json!(self.reasoning));
            }
            if !self.calls.is_empty() {
                fields.insert("tool_calls".to_owned(), json!(self.calls));
            }
        }
        let choice = json!({"index": 0, "message": message, "finish_reason": self.finish_reason()});
        let value = json!({
            "id": self.id,
            "object": "chat.completion",
            "created": crate::now_ms() / 1000,
            "model": self.model,
            "choices": [choice],
            "usage": self.usage(),
        });
        reply.json(200, &value)?;
        Ok(Outcome::Complete)
    }
}

/// Sends events on a fixed schedule: a late one does not delay those after it.
fn send(body: &mut Body, events: &[String], delay: Duration, packet: usize) -> io::Result<()> {
    let mut due = Instant::now();
    for event in events {
        let left_ms = due.saturating_duration_since(Instant::now());
        if left_ms >= LONG_WAIT {
            if !body.wait(Some(left_ms), || false) {
                return Err(left());
            }
        } else if !left_ms.is_zero() {
            std::thread::sleep(left_ms);
        }
        let bytes = event.as_bytes();
        for piece in bytes.chunks(if packet == 0 { bytes.len().max(1) } else { packet }) {
            body.write(piece)?;
        }
        due += delay;
    }
    Ok(())
}

/// What is sent of `event` before the connection ends.
fn cut_event(event: &str, text: &str, at: CutAt) -> Vec<u8> {
    if at == CutAt::BetweenEvents {
        return if text.is_empty() { Vec::new() } else { event.as_bytes().to_vec() };
    }
    // The text stands in the event as it is: JSON escapes nothing beyond ASCII here, and a script's text that
    // needs an escape is cut after the escape at worst.
    let start = event.find("\"content\":\"").map_or(0, |found| found + "\"content\":\"".len());
    let within = match at {
        CutAt::InsideCharacter => text
            .char_indices()
            .find(|(_, character)| character.len_utf8() > 1)
            .map_or(0, |(index, _)| index + 1),
        CutAt::InsideString | CutAt::BetweenEvents => {
            text.char_indices().nth(text.chars().count() / 2).map_or(0, |(index, _)| index)
        }
    };
    event.as_bytes().iter().take(start + within).copied().collect()
}

/// `text` in pieces of `chars` characters; in one piece when 0.
fn pieces(text: &str, chars: usize) -> Vec<String> {
    if chars == 0 {
        return vec![text.to_owned()];
    }
    let all: Vec<char> = text.chars().collect();
    all.chunks(chars).map(|piece| piece.iter().collect()).collect()
}

/// The text of a message, its parts joined.
pub(crate) fn text_of(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
        }
        _ => String::new(),
    }
}

fn captured(captures: &[Capture], request: &Value) -> Result<BTreeMap<String, String>, String> {
    let messages = request.get("messages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    captures.iter().map(|capture| Ok((capture.name.clone(), capture_one(capture, messages)?))).collect()
}

fn capture_one(capture: &Capture, messages: &[Value]) -> Result<String, String> {
    let pattern = Regex::new(&capture.pattern).map_err(|error| error.to_string())?;
    let is_tool = |message: &&Value| message.get("role").and_then(Value::as_str) == Some("tool");
    let places: Vec<&Value> = match capture.from {
        CaptureFrom::LastTool => messages.iter().rev().filter(is_tool).take(1).collect(),
        CaptureFrom::AnyTool => messages.iter().rev().filter(is_tool).collect(),
        CaptureFrom::AnyMessage => messages.iter().rev().collect(),
    };
    let found = places.iter().find_map(|message| {
        let text = text_of(message);
        let last = pattern.captures_iter(&text).last()?;
        last.get(1).or_else(|| last.get(0)).map(|group| group.as_str().to_owned())
    });
    found.ok_or_else(|| {
        let seen = places.first().map(|message| text_of(message)).unwrap_or_default();
        format!("nothing matches {:?} for {:?}; the newest text is: {seen}", capture.pattern, capture.name)
    })
}

fn fill(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut filled = text.to_owned();
    for (name, value) in values {
        filled = filled.replace(&format!("{{{{{name}}}}}"), value);
    }
    filled
}

fn fill_value(value: &Value, values: &BTreeMap<String, String>) -> Value {
    match value {
        Value::Null => json!({}),
        Value::String(text) => Value::String(fill(text, values)),
        Value::Array(items) => items.iter().map(|item| fill_value(item, values)).collect(),
        Value::Object(fields) => Value::Object(
            fields.iter().map(|(key, value)| (key.clone(), fill_value(value, values))).collect(),
        ),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_inside_a_character_leaves_half_of_it() {
        let event = r#"data: {"choices":[{"delta":{"content":"naïve"}}]}"#;
        let sent = cut_event(event, "naïve", CutAt::InsideCharacter);
        assert!(std::str::from_utf8(&sent).is_err());
        assert!(String::from_utf8_lossy(&sent).ends_with("na\u{fffd}"));
        let sent = cut_event(event, "naïve", CutAt::InsideString);
        assert!(std::str::from_utf8(&sent).unwrap().ends_with("\"na"));
    }

    #[test]
    fn the_newest_match_of_the_newest_tool_result_is_captured() {
        let request = json!({"messages": [
            {"role": "tool", "content": "e1 Name e9 Submit"},
            {"role": "tool", "content": "e2 Name"},
        ]});
        let capture = |pattern: &str, from| Capture { name: "r".into(), pattern: pattern.into(), from };
        let one =
            |pattern: &str, from| captured(&[capture(pattern, from)], &request).map(|it| it["r"].clone());
        assert_eq!(one(r"(e\d+) Name", CaptureFrom::LastTool).unwrap(), "e2");
        assert_eq!(one(r"(e\d+) Submit", CaptureFrom::AnyTool).unwrap(), "e9");
        let error = one(r"(e\d+) Submit", CaptureFrom::LastTool).unwrap_err();
        assert!(error.contains("the newest text is: e2 Name"), "{error}");
    }

    #[test]
    fn captured_values_are_filled_into_nested_arguments() {
        let values = BTreeMap::from([("r".to_owned(), "e7".to_owned())]);
        let filled = fill_value(&json!({"ref": "{{r}}", "list": ["x {{r}}"], "n": 1}), &values);
        assert_eq!(filled, json!({"ref": "e7", "list": ["x e7"], "n": 1}));
    }
}
