//! A streamed answer, or one that a server sent whole although a stream was asked for.

use panelot_base::{Secret, SortedSet};
use serde_json::{Map, Value};

use super::delta::{Gathered, TooLarge};
use crate::codec::Progress;
use crate::error::{ErrorKind, ProviderError, Reason};
use crate::http::ResponseHead;
use crate::limits::{EVENT_BYTES_MAX, RESPONSE_BYTES_MAX};
use crate::response::{Response, StopReason, StreamEvent, Usage, make_unique};
use crate::sse::{Event, Parser};
use crate::upstream::{format_error, in_stream};

/// Bytes of a body that is no answer which are kept to show to the person.
const EXCERPT_BYTES: usize = 8 * 1024;
/// Characters of them that are shown.
const EXCERPT_CHARS: usize = 300;

/// Decodes one answer. See [`Decoder`](crate::Decoder) for the contract.
#[derive(Clone, Debug)]
pub struct Decoder {
    head: ResponseHead,
    key: Secret,
    body: Body,
    gathered: Gathered,
    usage: Option<Usage>,
    finish_reason: Option<String>,
    /// `[DONE]` came.
    done: bool,
    /// At least one event was an answer of this wire.
    recognised: bool,
    /// At least one event was something else.
    junk: bool,
    excerpt: Vec<u8>,
    failed: Option<ProviderError>,
}

/// What the body turned out to be.
#[derive(Clone, Debug)]
enum Body {
    /// Nothing but white space so far; what of it stands on the current line.
    Unknown(Vec<u8>),
    /// An event stream.
    Stream(Parser),
    /// One JSON object, read when it is complete.
    Whole(Vec<u8>),
}

impl Decoder {
    /// A decoder for the body that follows `head`. `key` is removed from every text of an error.
    #[must_use]
    pub fn new(head: &ResponseHead, key: &Secret) -> Self {
        Self {
            head: head.clone(),
            key: key.clone(),
            body: Body::Unknown(Vec::new()),
            gathered: Gathered::default(),
            usage: None,
            finish_reason: None,
            done: false,
            recognised: false,
            junk: false,
            excerpt: Vec::new(),
            failed: None,
        }
    }

    /// Reads more bytes of the body and appends what they brought to `events`.
    ///
    /// # Errors
    /// See [`Decoder::push`](crate::Decoder::push).
    pub fn push(&mut self, bytes: &[u8], events: &mut Vec<StreamEvent>) -> Result<Progress, ProviderError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.read(bytes, events).inspect_err(|error| self.failed = Some(error.clone()))?;
        Ok(if self.done { Progress::Done } else { Progress::More })
    }

    fn read(&mut self, bytes: &[u8], events: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        if self.done {
            return Ok(());
        }
        self.keep_excerpt(bytes);
        let mut bytes = bytes;
        let with_blanks;
        if let Body::Unknown(blanks) = &mut self.body {
            let first = bytes.iter().position(|byte| !byte.is_ascii_whitespace());
            let (skipped, _) = bytes.split_at(first.unwrap_or(bytes.len()));
            // Blank lines mean nothing in either format, so that a server may send them for as long as it thinks.
            let line = skipped.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map(|end| end + 1);
            if line.is_some() {
                blanks.clear();
            }
            let Some(first) = first else {
                blanks.extend_from_slice(skipped.get(line.unwrap_or(0)..).unwrap_or_default());
                return if blanks.len() > EVENT_BYTES_MAX { Err(self.too_large()) } else { Ok(()) };
            };
            let mut joined = std::mem::take(blanks);
            joined.extend_from_slice(bytes.get(line.unwrap_or(0)..).unwrap_or_default());
            with_blanks = joined;
            // A line of an event stream does not start with a brace, so the first byte tells.
            self.body = match bytes.get(first) {
                Some(b'{') => Body::Whole(Vec::new()),
                _ => Body::Stream(Parser::default()),
            };
            bytes = &with_blanks;
        }
        match &mut self.body {
            Body::Whole(body) if body.len().saturating_add(bytes.len()) > RESPONSE_BYTES_MAX => {
                Err(self.too_large())
            }
            Body::Whole(body) => {
                body.extend_from_slice(bytes);
                Ok(())
            }
            Body::Stream(parser) => {
                let mut parsed = Vec::new();
                let outcome = parser.push(bytes, &mut parsed);
                for event in parsed {
                    self.event(&event, events)?;
                }
                if self.done { Ok(()) } else { outcome.map_err(|_| self.too_large()) }
            }
            Body::Unknown(_) => Ok(()),
        }
    }

    /// The complete answer, once the body ended.
    ///
    /// # Errors
    /// See [`Decoder::finish`](crate::Decoder::finish).
    pub fn finish(mut self) -> Result<Response, ProviderError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut late = Vec::new();
        match std::mem::replace(&mut self.body, Body::Unknown(Vec::new())) {
            Body::Whole(body) => self.whole(&body, &mut late)?,
            Body::Stream(mut parser) => {
                let last = parser.finish();
                self.junk |= parser.saw_foreign_line();
                if let Some(event) = last.filter(|event| !self.done && !is_cut_json(&event.data)) {
                    self.event(&event, &mut late)?;
                }
            }
            Body::Unknown(_) => {}
        }
        self.response()
    }

    fn event(&mut self, event: &Event, events: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        if self.done {
            return Ok(());
        }
        let data = event.data.trim();
        if data == "[DONE]" {
            self.gathered.flush(events);
            self.done = true;
            return Ok(());
        }
        match serde_json::from_str::<Value>(data) {
            Ok(Value::Object(object)) => {
                if event.name == "error" && !object.contains_key("error") {
                    return Err(in_stream(&Value::Object(object), &self.head, &self.key));
                }
                self.frame(&object, events)
            }
            _ if event.name == "error" && !data.is_empty() => {
                Err(in_stream(&Value::from(data), &self.head, &self.key))
            }
            _ => {
                self.junk |= !data.is_empty();
                Ok(())
            }
        }
    }

    fn whole(&mut self, body: &[u8], events: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        match serde_json::from_slice::<Value>(body) {
            Ok(Value::Object(object)) => {
                self.frame(&object, events)?;
                self.gathered.flush(events);
                // What came whole and names no end is at its end all the same.
                self.done = true;
                Ok(())
            }
            // JSON that ends too early was cut; anything else is another format.
            Err(error) if error.is_eof() => Err(self.truncated()),
            _ => {
                self.junk = true;
                Ok(())
            }
        }
    }

    fn frame(
        &mut self,
        frame: &Map<String, Value>,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        self.refuse_error(frame.get("error"))?;
        if frame.get("object").and_then(Value::as_str) == Some("error") {
            return Err(in_stream(&Value::Object(frame.clone()), &self.head, &self.key));
        }
        let mut known = false;
        if let Some(usage) = frame.get("usage").and_then(read_usage) {
            self.usage = Some(usage);
            known = true;
        }
        let choice = frame.get("choices").and_then(Value::as_array).and_then(|choices| choices.first());
        if let Some(choice) = choice.and_then(Value::as_object) {
            known |= self.choice(choice, events)?;
        }
        self.recognised |= known;
        self.junk |= !known && !frame.contains_key("choices");
        if self.recognised {
            self.excerpt = Vec::new();
        }
        Ok(())
    }

    /// Takes up the first choice; whether it was one.
    fn choice(
        &mut self,
        choice: &Map<String, Value>,
        events: &mut Vec<StreamEvent>,
    ) -> Result<bool, ProviderError> {
        self.refuse_error(choice.get("error"))?;
        let mut known = false;
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str).filter(|r| !r.is_empty()) {
            self.finish_reason = Some(reason.to_ascii_lowercase());
            known = true;
        }
        let delta = choice.get("delta").and_then(Value::as_object);
        // Some relays repeat the whole message at the end of a stream.
        let message = choice.get("message").and_then(Value::as_object).filter(|_| self.gathered.is_empty());
        if let Some(delta) = delta.or(message) {
            known = true;
            self.gathered.absorb(delta, events).map_err(|TooLarge| self.too_large())?;
        }
        if self.finish_reason.is_some() {
            self.gathered.flush(events);
        }
        Ok(known)
    }

    fn refuse_error(&self, error: Option<&Value>) -> Result<(), ProviderError> {
        match error {
            None | Some(Value::Null | Value::Bool(false)) => Ok(()),
            Some(Value::String(text)) if text.is_empty() => Ok(()),
            Some(Value::Object(members)) if members.is_empty() => Ok(()),
            Some(error) => Err(in_stream(error, &self.head, &self.key)),
        }
    }

    fn response(self) -> Result<Response, ProviderError> {
        if !self.recognised {
            return Err(if self.junk { self.foreign() } else { self.truncated() });
        }
        let stop = match self.finish_reason.as_deref() {
            Some(reason) => Some(self.stop_reason(reason)?),
            // The end mark alone is an end, if the calls are whole; no mark at all is a cut.
            None if self.done && self.gathered.calls.iter().all(super::delta::Call::is_whole) => None,
            None => return Err(self.truncated()),
        };
        let mut tool_calls: Vec<_> =
            self.gathered.calls.into_iter().map(super::delta::Call::into_tool_call).collect();
        make_unique(&mut tool_calls, &SortedSet::new());
        let stop_reason = match stop {
            Some(cut @ (StopReason::MaxTokens | StopReason::ContentFilter)) => {
                tool_calls.clear();
                cut
            }
            _ if !tool_calls.is_empty() => StopReason::ToolUse,
            Some(StopReason::ToolUse) if self.gathered.text.is_empty() => {
                let detail = "The model announced tool calls and sent none.";
                return Err(format_error(detail, &self.head, &self.key));
            }
            _ => StopReason::End,
        };
        Ok(Response {
            text: self.gathered.text,
            reasoning: self.gathered.reasoning,
            tool_calls,
            usage: self.usage,
            stop_reason,
            vendor: Map::new(),
        })
    }

    /// What a `finish_reason` means. An unknown one is an end like any other: servers invent them freely.
    fn stop_reason(&self, reason: &str) -> Result<StopReason, ProviderError> {
        match reason {
            "tool_calls" | "tool_use" | "function_call" => Ok(StopReason::ToolUse),
            "length"
            | "max_tokens"
            | "max_output_tokens"
            | "model_length"
            | "model_context_window_exceeded" => Ok(StopReason::MaxTokens),
            "content_filter" | "safety" | "sensitive" | "refusal" | "recitation" | "prohibited_content"
            | "blocklist" | "spii" => Ok(StopReason::ContentFilter),
            "error" | "network_error" | "insufficient_system_resource" | "malformed_function_call" => {
                let mut error = ProviderError::new(ErrorKind::Overloaded, Some(Reason::UpstreamError))
                    .with_answer(&self.head);
                error.upstream_code = Some(reason.to_owned());
                Err(error)
            }
            _ => Ok(StopReason::End),
        }
    }

    fn truncated(&self) -> ProviderError {
        ProviderError::new(ErrorKind::Network, Some(Reason::Truncated)).with_answer(&self.head)
    }

    fn too_large(&self) -> ProviderError {
        format_error("The answer is larger than this client accepts.", &self.head, &self.key)
    }

    fn foreign(&self) -> ProviderError {
        let body = String::from_utf8_lossy(&self.excerpt);
        let mut error = format_error(&body, &self.head, &self.key);
        error.upstream_message =
            error.upstream_message.map(|text| text.chars().take(EXCERPT_CHARS).collect());
        error
    }

    fn keep_excerpt(&mut self, bytes: &[u8]) {
        if !self.recognised {
            let room = EXCERPT_BYTES.saturating_sub(self.excerpt.len());
            self.excerpt.extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
        }
    }
}

/// Whether `text` is the beginning of JSON and not the whole.
fn is_cut_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_err_and(|error| error.is_eof())
}

/// Counts of tokens, where the object has any; details that are missing or strange count as zero.
fn read_usage(usage: &Value) -> Option<Usage> {
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    let (input, output) = (count("prompt_tokens"), count("completion_tokens"));
    if input.is_none() && output.is_none() {
        return None;
    }
    let input = input.unwrap_or(0);
    let detail = |name: &str| usage.get("prompt_tokens_details")?.get(name)?.as_u64();
    let cache_read = detail("cached_tokens").or_else(|| count("prompt_cache_hit_tokens")).unwrap_or(0);
    let cache_write =
        detail("cache_write_tokens").or_else(|| count("cache_creation_input_tokens")).unwrap_or(0);
    Some(Usage {
        input,
        output: output.unwrap_or(0),
        cache_read: cache_read.min(input),
        cache_write: cache_write.min(input),
    })
}
