//! One answer gathered from its pieces: text, reasoning and tool calls, in the many shapes that servers send.

use serde_json::{Map, Value};

use super::think::{Piece, Splitter};
use crate::limits::{NAME_BYTES_MAX, RESPONSE_BYTES_MAX, TOOL_CALLS_MAX, VENDOR_BYTES_MAX};
use crate::request::ToolCall;
use crate::response::StreamEvent;

/// The answer is larger than the limits allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

/// What has arrived so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathered {
    pub(super) text: String,
    pub(super) reasoning: String,
    pub(super) calls: Vec<Call>,
    splitter: Splitter,
    bytes: usize,
}

/// A tool call in the making.
#[derive(Clone, Debug, Default)]
pub(super) struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    vendor: Map<String, Value>,
    vendor_bytes: usize,
}

impl Call {
    /// Whether the arguments can be whole: nothing, or JSON from start to end.
    pub(super) fn is_whole(&self) -> bool {
        self.arguments.trim().is_empty()
            || serde_json::from_str::<serde::de::IgnoredAny>(&self.arguments).is_ok()
    }

    pub(super) fn into_tool_call(self) -> ToolCall {
        let name = if self.name.is_empty() { "unnamed".to_owned() } else { self.name };
        ToolCall { id: self.id, name, arguments: self.arguments, vendor: self.vendor }
    }
}

impl Gathered {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.reasoning.is_empty() && self.calls.is_empty()
    }

    /// Takes up a `delta`, or the `message` of an answer that came whole.
    pub(super) fn absorb(
        &mut self,
        delta: &Map<String, Value>,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), TooLarge> {
        // `reasoning` is an alias of `reasoning_content`; servers that send both send the same text twice.
        let reasoning =
            ["reasoning_content", "reasoning"].into_iter().find_map(|name| non_empty(delta.get(name)));
        self.add_reasoning(reasoning.unwrap_or_default(), events)?;
        match delta.get("content") {
            Some(Value::String(text)) => self.add_text(text, events)?,
            Some(Value::Array(parts)) => self.add_parts(parts, events)?,
            _ => {}
        }
        self.add_text(non_empty(delta.get("refusal")).unwrap_or_default(), events)?;
        if let Some(Value::Array(entries)) = delta.get("tool_calls") {
            for entry in entries.iter().filter_map(Value::as_object) {
                self.add_call(entry, events)?;
            }
        }
        // The form that `tool_calls` replaced; it has neither index nor id and means the only call.
        if let Some(Value::Object(function)) = delta.get("function_call") {
            let entry = Map::from_iter([
                ("index".to_owned(), Value::from(0)),
                ("function".to_owned(), Value::Object(function.clone())),
            ]);
            self.add_call(&entry, events)?;
        }
        Ok(())
    }

    fn add_parts(&mut self, parts: &[Value], events: &mut Vec<StreamEvent>) -> Result<(), TooLarge> {
        for part in parts {
            match part.get("type").and_then(Value::as_str) {
                Some("text") | None => {
                    self.add_text(non_empty(part.get("text")).unwrap_or_default(), events)?
                }
                // Mistral: a list of text parts inside.
                Some("thinking") => match part.get("thinking") {
                    Some(Value::Array(inner)) => {
                        for text in inner.iter().filter_map(|part| non_empty(part.get("text"))) {
                            self.add_reasoning(text, events)?;
                        }
                    }
                    thinking => self.add_reasoning(non_empty(thinking).unwrap_or_default(), events)?,
                },
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn add_text(&mut self, text: &str, events: &mut Vec<StreamEvent>) -> Result<(), TooLarge> {
        self.count(text.len())?;
        for piece in self.splitter.push(text) {
            self.take(piece, events);
        }
        Ok(())
    }

    fn add_reasoning(&mut self, text: &str, events: &mut Vec<StreamEvent>) -> Result<(), TooLarge> {
        if !text.is_empty() {
            self.count(text.len())?;
            self.flush(events);
            self.take(Piece::Reasoning(text.to_owned()), events);
        }
        Ok(())
    }

    /// Gives out text that was held back as a possible tag: the content is over, or something else follows.
    pub(super) fn flush(&mut self, events: &mut Vec<StreamEvent>) {
        if let Some(piece) = self.splitter.flush() {
            self.take(piece, events);
        }
    }

    fn take(&mut self, piece: Piece, events: &mut Vec<StreamEvent>) {
        match piece {
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

    fn count(&mut self, bytes: usize) -> Result<(), TooLarge> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > RESPONSE_BYTES_MAX { Err(TooLarge) } else { Ok(()) }
    }

    fn add_call(
        &mut self,
        entry: &Map<String, Value>,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), TooLarge> {
        let empty = Map::new();
        let function = entry.get("function").and_then(Value::as_object).unwrap_or(&empty);
        let id = non_empty(entry.get("id")).filter(|id| id.len() <= NAME_BYTES_MAX).unwrap_or_default();
        let name = non_empty(function.get("name")).unwrap_or_default();
        // Some servers send the arguments as an object, at once.
        let arguments = match function.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            Some(object @ Value::Object(_)) => object.to_string(),
            _ => String::new(),
        };
        self.count(arguments.len())?;
        self.flush(events);
        let place = self.place(entry.get("index").and_then(Value::as_u64), id, name)?;
        let Some(call) = self.calls.get_mut(place) else { return Ok(()) };
        if !id.is_empty() {
            id.clone_into(&mut call.id);
        }
        let was_unnamed = call.name.is_empty();
        call.add_name(name);
        if was_unnamed && !call.name.is_empty() {
            events.push(StreamEvent::ToolCallStarted { index: place, name: call.name.clone() });
        }
        call.add_vendor(entry, function);
        if !arguments.is_empty() {
            call.arguments.push_str(&arguments);
            events.push(StreamEvent::ToolCallArguments { index: place, bytes: arguments.len() });
        }
        Ok(())
    }

    /// Which call a piece belongs to; opens a new one where it belongs to none.
    fn place(&mut self, index: Option<u64>, id: &str, name: &str) -> Result<usize, TooLarge> {
        let found = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index).filter(|place| {
                // Servers that give every parallel call index 0 are told apart by a new id that comes with a name.
                // A new id without a name is a server that draws one for each piece.
                let known = self.calls.get(*place).map(|call| call.id.as_str()).unwrap_or_default();
                id.is_empty() || name.is_empty() || known.is_empty() || known == id
            }),
            None => self.place_without_index(id, name),
        };
        match found {
            Some(place) => Ok(place),
            None if self.calls.len() >= TOOL_CALLS_MAX => Err(TooLarge),
            None => {
                self.calls.push(Call { index, ..Call::default() });
                Ok(self.calls.len() - 1)
            }
        }
    }

    fn place_without_index(&self, id: &str, name: &str) -> Option<usize> {
        let last = self.calls.len().checked_sub(1)?;
        if !id.is_empty()
            && let Some(place) = self.calls.iter().rposition(|call| call.id == id)
        {
            return Some(place);
        }
        if name.is_empty() {
            return Some(last);
        }
        // A name without an id opens a call, unless it repeats that of a call whose arguments are still coming.
        let call = self.calls.get(last)?;
        (id.is_empty() && call.name == name && !call.is_whole()).then_some(last)
    }
}

impl Call {
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

    /// Keeps the members that this wire does not define, those of `function` under that name.
    fn add_vendor(&mut self, entry: &Map<String, Value>, function: &Map<String, Value>) {
        for (name, value) in entry {
            if !matches!(name.as_str(), "index" | "id" | "type" | "function") && self.has_room(name, value) {
                self.vendor.insert(name.clone(), value.clone());
            }
        }
        for (name, value) in function {
            if !matches!(name.as_str(), "name" | "arguments") && self.has_room(name, value) {
                let members = self.vendor.entry("function").or_insert_with(|| Map::new().into());
                if let Value::Object(members) = members {
                    members.insert(name.clone(), value.clone());
                }
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

fn non_empty(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str).filter(|text| !text.is_empty())
}
