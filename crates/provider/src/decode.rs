//! From the bytes of a body to the answer: an event stream, or the whole that a server sent although a stream was asked
//! for. What the frames mean is each wire's own (`openai/frames.rs` and its neighbours).

use panelot_base::Secret;
use serde_json::{Map, Value};

use crate::answer::Answer;
use crate::codec::Progress;
use crate::error::ProviderError;
use crate::gather::Gathered;
use crate::http::ResponseHead;
use crate::limits::{EVENT_BYTES_MAX, RESPONSE_BYTES_MAX};
use crate::offered::Offered;
use crate::request::Request;
use crate::response::{Response, StopReason, StreamEvent};
use crate::sse::{Event, Parser};
use crate::{anthropic, built_in, openai, responses, surrogates};

/// Bytes of a body that is no answer which are kept to show to the person.
const EXCERPT_BYTES: usize = 8 * 1024;
/// Characters of them that are shown.
const EXCERPT_CHARS: usize = 300;

/// What a frame of a stream was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Nothing of this wire.
    Foreign,
    /// Nothing of this wire, but nothing wrong either: keep-alives.
    Idle,
    /// Part of the answer.
    Part,
    /// The wire's own end mark.
    End,
}

/// What is known about the end of an answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ending {
    /// Why the model stopped, where it was said.
    pub(crate) stop: Option<StopReason>,
    /// Whether the server said that nothing more comes.
    pub(crate) is_marked: bool,
}

/// How one wire's frames are read.
#[derive(Clone, Debug)]
pub(crate) enum Frames {
    Openai(openai::Frames),
    Anthropic(anthropic::Frames),
    Responses(responses::Frames),
    BuiltIn(built_in::Frames),
}

impl Frames {
    fn gathered(&mut self) -> &mut Gathered {
        match self {
            Self::Openai(frames) => &mut frames.gathered,
            Self::Anthropic(frames) => &mut frames.gathered,
            Self::Responses(frames) => &mut frames.gathered,
            Self::BuiltIn(frames) => &mut frames.gathered,
        }
    }

    fn frame(
        &mut self,
        answer: &Answer,
        object: &Map<String, Value>,
        events: &mut Vec<StreamEvent>,
    ) -> Result<Seen, ProviderError> {
        match self {
            Self::Openai(frames) => frames.frame(answer, object, events),
            Self::Anthropic(frames) => frames.frame(answer, object, events),
            Self::Responses(frames) => frames.frame(answer, object, events),
            Self::BuiltIn(frames) => frames.frame(answer, object, events),
        }
    }

    /// The end, and what there is to send back with the turn.
    fn ending(&mut self, answer: &Answer) -> Result<Ending, ProviderError> {
        match self {
            Self::Openai(frames) => frames.ending(answer),
            Self::Anthropic(frames) => frames.ending(answer),
            Self::Responses(frames) => frames.ending(answer),
            Self::BuiltIn(frames) => frames.ending(answer),
        }
    }
}

/// Decodes one answer from bytes cut anywhere. Does no I/O and keeps no clock.
#[derive(Clone, Debug)]
pub struct Decoder {
    answer: Answer,
    body: Body,
    frames: Frames,
    offered: Offered,
    /// The end mark came.
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
    pub(crate) fn new(frames: Frames, head: &ResponseHead, key: &Secret) -> Self {
        Self {
            answer: Answer { head: head.clone(), key: key.clone() },
            body: Body::Unknown(Vec::new()),
            frames,
            offered: Offered::default(),
            done: false,
            recognised: false,
            junk: false,
            excerpt: Vec::new(),
            failed: None,
        }
    }

    /// Tells the decoder what was asked: names of tools that were changed for the wire are changed back, and a call that
    /// a small model wrote as plain JSON is recognised by the tools that were offered.
    #[must_use]
    pub fn for_request(mut self, request: &Request) -> Self {
        self.offered = Offered::of(request);
        if let Frames::BuiltIn(frames) = &mut self.frames {
            frames.expect(request);
        }
        self
    }

    /// Reads more bytes of the body and appends what they brought to `events`.
    ///
    /// # Errors
    /// The stream failed: stop reading. What came before the failure is in `events`. Every later call and `finish`
    /// give the same error.
    pub fn push(&mut self, bytes: &[u8], events: &mut Vec<StreamEvent>) -> Result<Progress, ProviderError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let first = events.len();
        let read = self.read(bytes, events);
        for event in events.iter_mut().skip(first) {
            if let StreamEvent::ToolCallStarted { name, .. } = event {
                self.offered.give_back(name);
            }
        }
        read.inspect_err(|error| self.failed = Some(error.clone()))?;
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
                return if blanks.len() > EVENT_BYTES_MAX { Err(self.answer.too_large()) } else { Ok(()) };
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
                Err(self.answer.too_large())
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
                if self.done { Ok(()) } else { outcome.map_err(|_| self.answer.too_large()) }
            }
            Body::Unknown(_) => Ok(()),
        }
    }

    /// The complete answer, once the body ended.
    ///
    /// Call it after a broken read too: when the model's last word had arrived the answer is complete, and otherwise the
    /// error says `network` and `truncated`, and what the events brought is the caller's to keep.
    ///
    /// # Errors
    /// The answer is cut, is no answer of this wire, or carried an error.
    pub fn finish(mut self) -> Result<Response, ProviderError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut late = Vec::new();
        let mut came_whole = false;
        match std::mem::replace(&mut self.body, Body::Unknown(Vec::new())) {
            Body::Whole(body) => came_whole = self.whole(&body, &mut late)?,
            Body::Stream(mut parser) => {
                let last = parser.finish();
                self.junk |= parser.saw_foreign_line();
                if let Some(event) = last.filter(|event| !self.done && !is_cut_json(&event.data)) {
                    self.event(&event, &mut late)?;
                }
            }
            Body::Unknown(_) => {}
        }
        if !self.recognised {
            return Err(if self.junk { self.foreign() } else { self.answer.truncated() });
        }
        let mut ending = self.frames.ending(&self.answer)?;
        // What came whole and names no end is at its end all the same.
        ending.is_marked |= self.done || came_whole;
        let gathered = std::mem::take(self.frames.gathered());
        let response = gathered.conclude(ending, &self.answer)?;
        Ok(self.offered.read(response))
    }

    fn event(&mut self, event: &Event, events: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        if self.done {
            return Ok(());
        }
        let data = event.data.trim();
        if data == "[DONE]" {
            self.frames.gathered().flush(events);
            self.done = true;
            return Ok(());
        }
        let (value, was_mended) = surrogates::parse(data);
        if was_mended {
            self.frames.gathered().expect_halves();
        }
        match value {
            Some(Value::Object(mut object)) => {
                if event.name == "error" && !object.contains_key("error") {
                    return Err(self.answer.said(&Value::Object(object)));
                }
                // Some relays give the type as the event's name only.
                if !event.name.is_empty() && !object.contains_key("type") {
                    object.insert("type".to_owned(), event.name.as_str().into());
                }
                self.frame(&object, events)
            }
            _ if event.name == "error" && !data.is_empty() => Err(self.answer.said(&Value::from(data))),
            _ => {
                self.junk |= !data.is_empty();
                Ok(())
            }
        }
    }

    fn frame(
        &mut self,
        object: &Map<String, Value>,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        if let Some(error) = object.get("error").filter(|error| is_said(error)) {
            return Err(self.answer.said(error));
        }
        match self.frames.frame(&self.answer, object, events)? {
            Seen::Foreign => self.junk = true,
            Seen::Idle => {}
            Seen::Part => self.recognised = true,
            Seen::End => {
                self.recognised = true;
                self.done = true;
                self.frames.gathered().flush(events);
            }
        }
        Ok(())
    }

    /// Reads a body that is one object; says whether it is.
    fn whole(&mut self, body: &[u8], events: &mut Vec<StreamEvent>) -> Result<bool, ProviderError> {
        let text = String::from_utf8_lossy(body);
        match surrogates::parse(&text) {
            (Some(Value::Object(object)), _) => {
                self.frame(&object, events)?;
                self.frames.gathered().flush(events);
                Ok(true)
            }
            _ if is_cut_json(&text) => Err(self.answer.truncated()),
            _ => Err(self.foreign()),
        }
    }

    fn foreign(&self) -> ProviderError {
        let body = String::from_utf8_lossy(&self.excerpt);
        // What came behind the end mark in the same chunk belongs to nothing.
        let body = if self.done { body.split("[DONE]").next().unwrap_or_default() } else { &body };
        let mut error = self.answer.format(body);
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

/// Whether an `error` member says something: some servers send one with every frame.
pub(crate) fn is_said(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::Array(_) => true,
    }
}

/// Whether `text` is the beginning of JSON and not the whole.
pub(crate) fn is_cut_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_err_and(|error| error.is_eof())
}
