//! One answer gathered from its pieces, whatever the wire: text, reasoning, tool calls, usage, and its end.

use panelot_base::SortedSet;
use serde_json::{Map, Value};

use crate::answer::Answer;
use crate::decode::Ending;
use crate::error::ProviderError;
use crate::limits::{NAME_BYTES_MAX, RESPONSE_BYTES_MAX, TOOL_CALLS_MAX, VENDOR_BYTES_MAX};
use crate::request::ToolCall;
use crate::response::{Response, StopReason, StreamEvent, Usage, make_unique};
use crate::surrogates::Halves;
use crate::think::{Piece, Splitter};

/// The answer is larger than the limits allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// What has arrived so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) usage: Option<Usage>,
    /// See [`Response::vendor`].
    pub(crate) vendor: Map<String, Value>,
    splitter: Splitter,
    /// Of the text and of the reasoning, once a frame held halves of characters.
    halves: Option<(Halves, Halves)>,
    bytes: usize,
}

/// A tool call in the making.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    /// Its number on the wire, where it has one.
    pub(crate) index: Option<u64>,
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
    pub(crate) vendor: Map<String, Value>,
    halves: Halves,
    vendor_bytes: usize,
}

impl Gathered {
    pub(crate) const fn is_empty(&self) -> bool {
        self.text.is_empty() && self.reasoning.is_empty() && self.calls.is_empty()
    }

    /// From now on, halves of characters are put together.
    pub(crate) fn expect_halves(&mut self) {
        self.halves.get_or_insert_default();
    }

    /// Whether reasoning stood inside the text.
    pub(crate) const fn saw_think_tag(&self) -> bool {
        self.splitter.saw_tag()
    }

    pub(crate) fn add_text(&mut self, text: &str, events: &mut Vec<StreamEvent>) -> Result<(), TooLarge> {
        self.count(text.len())?;
        let pieces = match &mut self.halves {
            Some((halves, _)) => self.splitter.push(&halves.join(text)),
            None => self.splitter.push(text),
        };
        for piece in pieces {
            self.take(piece, events);
        }
        Ok(())
    }

    pub(crate) fn add_reasoning(
        &mut self,
        text: &str,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), TooLarge> {
        if text.is_empty() {
            return Ok(());
        }
        self.count(text.len())?;
        self.flush(events);
        let piece = match &mut self.halves {
            Some((_, halves)) => halves.join(text).into_owned(),
            None => text.to_owned(),
        };
        self.take(Piece::Reasoning(piece), events);
        Ok(())
    }

    /// Gives out text that was held back as a possible tag: the content is over, or something else follows.
    pub(crate) fn flush(&mut self, events: &mut Vec<StreamEvent>) {
        let mut pieces = Vec::new();
        if let Some((text, reasoning)) = &mut self.halves {
            pieces.push(Piece::Reasoning(reasoning.flush().to_owned()));
            pieces.extend(self.splitter.push(text.flush()));
        }
        pieces.extend(self.splitter.flush());
        for piece in pieces {
            self.take(piece, events);
        }
    }

    fn take(&mut self, piece: Piece, events: &mut Vec<StreamEvent>) {
        match piece {
            Piece::Text(text) | Piece::Reasoning(text) if text.is_empty() => {}
            Piece::Text(text) => {
                self.text.push_str(&text);
                events.push(StreamEvent::Text(text));
            }
            Piece::Reasoning(text) => {
                self.reasoning.push_str(&text);
                events.push(StreamEvent::Reasoning(text));
            }
        }
    }

    pub(crate) fn count(&mut self, bytes: usize) -> Result<(), TooLarge> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > RESPONSE_BYTES_MAX { Err(TooLarge) } else { Ok(()) }
    }

    /// A new call; its place among the calls.
    pub(crate) fn open_call(&mut self, index: Option<u64>) -> Result<usize, TooLarge> {
        if self.calls.len() >= TOOL_CALLS_MAX {
            return Err(TooLarge);
        }
        self.calls.push(Call { index, ..Call::default() });
        Ok(self.calls.len() - 1)
    }

    /// Adds what a frame says of the call at `place`; an empty text says nothing.
    pub(crate) fn add_to_call(
        &mut self,
        place: usize,
        (id, name, arguments): (&str, &str, &str),
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), TooLarge> {
        self.count(arguments.len())?;
        self.flush(events);
        let expects_halves = self.halves.is_some();
        let Some(call) = self.calls.get_mut(place) else { return Ok(()) };
        if !id.is_empty() && id.len() <= NAME_BYTES_MAX {
            id.clone_into(&mut call.id);
        }
        let was_unnamed = call.name.is_empty();
        call.add_name(name);
        if was_unnamed && !call.name.is_empty() {
            events.push(StreamEvent::ToolCallStarted { index: place, name: call.name.clone() });
        }
        if !arguments.is_empty() {
            if expects_halves {
                let whole = call.halves.join(arguments);
                call.arguments.push_str(&whole);
            } else {
                call.arguments.push_str(arguments);
            }
            events.push(StreamEvent::ToolCallArguments { index: place, bytes: arguments.len() });
        }
        Ok(())
    }

    /// The answer, when what is known about its end allows it.
    pub(crate) fn conclude(mut self, ending: Ending, answer: &Answer) -> Result<Response, ProviderError> {
        self.flush(&mut Vec::new());
        // The end mark alone is an end, if the calls are whole; no mark at all is a cut.
        if ending.stop.is_none() && !(ending.is_marked && self.calls.iter().all(Call::is_whole)) {
            return Err(answer.truncated());
        }
        let mut tool_calls: Vec<_> = self.calls.into_iter().map(Call::into_tool_call).collect();
        make_unique(&mut tool_calls, &SortedSet::new());
        let stop_reason = match ending.stop {
            Some(cut @ (StopReason::MaxTokens | StopReason::ContentFilter)) => {
                tool_calls.clear();
                cut
            }
            _ if !tool_calls.is_empty() => StopReason::ToolUse,
            Some(StopReason::ToolUse) if self.text.is_empty() => {
                return Err(answer.format("The model announced tool calls and sent none."));
            }
            _ => StopReason::End,
        };
        Ok(Response {
            text: self.text,
            reasoning: self.reasoning,
            tool_calls,
            usage: self.usage,
            stop_reason,
            vendor: self.vendor,
        })
    }
}

impl Call {
    /// Whether the arguments can be whole: nothing, or JSON from start to end.
    pub(crate) fn is_whole(&self) -> bool {
        self.arguments.trim().is_empty() || is_json(mended(&self.arguments))
    }

    fn into_tool_call(mut self) -> ToolCall {
        self.arguments.push_str(self.halves.flush());
        let name = if self.name.is_empty() { "unnamed".to_owned() } else { self.name };
        let arguments = match mended(&self.arguments) {
            kept if kept.len() < self.arguments.len() => kept.to_owned(),
            _ => self.arguments,
        };
        ToolCall { id: self.id, name, arguments, vendor: self.vendor }
    }

    /// Names come whole, in pieces, whole again with each piece, or growing.
    fn add_name(&mut self, piece: &str) {
        if piece.is_empty() || (!self.name.is_empty() && !self.arguments.is_empty()) {
            return;
        }
        let grown =
            if piece.starts_with(&self.name) { piece.to_owned() } else { format!("{}{piece}", self.name) };
        if grown.len() <= NAME_BYTES_MAX {
            self.name = grown;
        }
    }

    /// Keeps members of a call that its wire does not define, as far as there is room for them.
    pub(crate) fn keep(&mut self, name: &str, value: &Value) {
        if self.has_room(name, value) {
            self.vendor.insert(name.to_owned(), value.clone());
        }
    }

    /// The same for a member of the call's function.
    pub(crate) fn keep_of_function(&mut self, name: &str, value: &Value) {
        if self.has_room(name, value) {
            let members = self.vendor.entry("function").or_insert_with(|| Map::new().into());
            if let Value::Object(members) = members {
                members.insert(name.to_owned(), value.clone());
            }
        }
    }

    fn has_room(&mut self, name: &str, value: &Value) -> bool {
        if value.is_null() {
            return false;
        }
        let bytes = self.vendor_bytes.saturating_add(name.len() + value.to_string().len());
        let fits = bytes <= VENDOR_BYTES_MAX;
        if fits {
            self.vendor_bytes = bytes;
        }
        fits
    }
}

/// Arguments without what certain servers put around them: an empty object before the real one (relays from Anthropic's
/// wire), or the whole once more at the end. Anything else stays as it is.
fn mended(arguments: &str) -> &str {
    let text = arguments.trim();
    if is_json(text) {
        return arguments;
    }
    if let Some(rest) = text.strip_prefix("{}").map(str::trim_start)
        && rest.starts_with('{')
        && is_json(rest)
    {
        return rest;
    }
    if text.len().is_multiple_of(2)
        && text.is_char_boundary(text.len() / 2)
        && let (first, second) = text.split_at(text.len() / 2)
        && first == second
        && first.starts_with('{')
        && is_json(first)
    {
        return first;
    }
    arguments
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// A member's text; `None` for an empty one and for everything else.
pub(crate) fn non_empty(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// What came as arguments: text, or the object at once.
pub(crate) fn arguments_text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(object @ Value::Object(_)) => object.to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::mended;

    #[test]
    fn arguments_that_were_sent_twice_are_read_once() {
        for (text, expected) in [
            (r#"{"a":1}"#, r#"{"a":1}"#),
            (r#"{}{"a":1}"#, r#"{"a":1}"#),
            (r#"{"a":1}{"a":1}"#, r#"{"a":1}"#),
            (r#"{"a":1}{"a":2}"#, r#"{"a":1}{"a":2}"#),
            (r#"{}{"a":"#, r#"{}{"a":"#),
            ("77", "77"),
            ("[][]", "[][]"),
            ("点点", "点点"),
            ("", ""),
        ] {
            assert_eq!(mended(text), expected, "{text}");
        }
    }
}
