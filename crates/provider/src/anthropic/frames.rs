//! What the frames of an Anthropic stream mean.

use serde_json::{Map, Value};

use crate::answer::Answer;
use crate::decode::{Ending, Seen};
use crate::error::ProviderError;
use crate::gather::{Gathered, TooLarge, arguments_text, non_empty};
use crate::layout::{as_is_slot, call_slot, slot};
use crate::response::{StopReason, StreamEvent, Usage};

/// Blocks of one answer; interleaved thinking makes a few dozen.
const BLOCKS_MAX: usize = 1024;

/// Reads one answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    pub(crate) gathered: Gathered,
    blocks: Vec<Block>,
    stop_reason: Option<String>,
    usage: Counts,
}

/// A content block.
#[derive(Clone, Debug)]
struct Block {
    /// Its number on the wire, where it has one.
    index: Option<u64>,
    kind: Kind,
    is_closed: bool,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Bytes of the answer's text.
    Text(usize),
    /// Bytes of the reasoning, and the signature.
    Thinking(usize, String),
    /// Goes back as it came.
    Redacted(Value),
    /// Place among the calls.
    Call(usize),
    /// Nothing that was asked for.
    Other,
}

/// Token counts as the wire tells them, in several frames.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    fresh: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    is_known: bool,
}

impl Frames {
    pub(crate) fn frame(
        &mut self,
        answer: &Answer,
        frame: &Map<String, Value>,
        events: &mut Vec<StreamEvent>,
    ) -> Result<Seen, ProviderError> {
        let index = frame.get("index").and_then(Value::as_u64);
        let large = |TooLarge| answer.too_large();
        match frame.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message_start" => match frame.get("message").and_then(Value::as_object) {
                Some(message) => self.message(message, events).map(|()| Seen::Part).map_err(large),
                None => Ok(Seen::Foreign),
            },
            "content_block_start" => match frame.get("content_block").and_then(Value::as_object) {
                Some(block) => self.start(index, block, events).map(|()| Seen::Part).map_err(large),
                None => Ok(Seen::Foreign),
            },
            "content_block_delta" => match frame.get("delta").and_then(Value::as_object) {
                Some(delta) => self.delta(index, delta, events).map_err(large),
                None => Ok(Seen::Foreign),
            },
            "content_block_stop" => {
                if let Some(block) = self.block(index).and_then(|place| self.blocks.get_mut(place)) {
                    block.is_closed = true;
                }
                Ok(Seen::Part)
            }
            "message_delta" => {
                let reason = frame.get("delta").and_then(|delta| non_empty(delta.get("stop_reason")));
                let is_known = self.usage.add(frame.get("usage")) || reason.is_some();
                if let Some(reason) = reason {
                    self.stop_reason = Some(reason.to_owned());
                    self.gathered.flush(events);
                }
                Ok(if is_known { Seen::Part } else { Seen::Foreign })
            }
            "message_stop" => Ok(Seen::End),
            "ping" => Ok(Seen::Idle),
            // An answer that came whole.
            "message" => {
                self.message(frame, events).map_err(large)?;
                Ok(Seen::Part)
            }
            _ if frame.contains_key("choices") => Err(answer.format(
                "The server speaks OpenAI's chat completions. Choose that protocol for this connection.",
            )),
            _ => Ok(Seen::Foreign),
        }
    }

    /// The message itself: the beginning of a stream has its counts only, an answer that came whole has everything.
    fn message(
        &mut self,
        message: &Map<String, Value>,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), TooLarge> {
        self.usage.add(message.get("usage"));
        let content = message.get("content").and_then(Value::as_array);
        for block in content.into_iter().flatten().filter_map(Value::as_object) {
            self.start(None, block, events)?;
            if let Some(block) = self.blocks.last_mut() {
                block.is_closed = true;
            }
        }
        if let Some(reason) = non_empty(message.get("stop_reason")) {
            self.stop_reason = Some(reason.to_owned());
        }
        Ok(())
    }

    /// The block that a frame speaks of: by its number, else the last one.
    fn block(&self, index: Option<u64>) -> Option<usize> {
        match index {
            Some(_) => self.blocks.iter().rposition(|block| block.index == index),
            None => self.blocks.len().checked_sub(1),
        }
    }

    fn open(&mut self, index: Option<u64>, kind: Kind) -> Result<usize, TooLarge> {
        if self.blocks.len() >= BLOCKS_MAX {
            return Err(TooLarge);
        }
        self.blocks.push(Block { index, kind, is_closed: false });
        Ok(self.blocks.len() - 1)
    }

    fn start(
        &mut self,
        index: Option<u64>,
        block: &Map<String, Value>,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), TooLarge> {
        match block.get("type").and_then(Value::as_str).unwrap_or_default() {
            "text" => {
                let place = self.open(index, Kind::Text(0))?;
                self.add_text(place, non_empty(block.get("text")).unwrap_or_default(), events)
            }
            "thinking" => {
                let place = self.open(index, Kind::Thinking(0, String::new()))?;
                self.add_thinking(place, non_empty(block.get("thinking")).unwrap_or_default(), events)?;
                self.sign(place, non_empty(block.get("signature")).unwrap_or_default())
            }
            "redacted_thinking" => {
                let block = Value::Object(block.clone());
                self.gathered.count(block.to_string().len())?;
                self.open(index, Kind::Redacted(block)).map(|_| ())
            }
            "tool_use" => {
                let call = self.gathered.open_call(index)?;
                self.open(index, Kind::Call(call))?;
                // A stream starts with an empty object and brings the input in pieces; some servers send it at once.
                let input = match block.get("input") {
                    Some(Value::Object(fields)) if fields.is_empty() => String::new(),
                    input => arguments_text(input),
                };
                let text = |name: &str| non_empty(block.get(name)).unwrap_or_default();
                self.gathered.add_to_call(call, (text("id"), text("name"), &input), events)
            }
            _ => self.open(index, Kind::Other).map(|_| ()),
        }
    }

    fn delta(
        &mut self,
        index: Option<u64>,
        delta: &Map<String, Value>,
        events: &mut Vec<StreamEvent>,
    ) -> Result<Seen, TooLarge> {
        let type_name = delta.get("type").and_then(Value::as_str).unwrap_or_default();
        let text = |name: &str| non_empty(delta.get(name)).unwrap_or_default();
        let found = self.block(index).filter(|place| {
            let kind = self.blocks.get(*place).map(|block| &block.kind);
            match type_name {
                "text_delta" => matches!(kind, Some(Kind::Text(_))),
                "thinking_delta" | "signature_delta" => matches!(kind, Some(Kind::Thinking(..))),
                "input_json_delta" => matches!(kind, Some(Kind::Call(_))),
                _ => true,
            }
        });
        // A block that was never announced is what its first piece is.
        let place = match (found, type_name) {
            (Some(place), _) => place,
            (None, "text_delta") => self.open(index, Kind::Text(0))?,
            (None, "thinking_delta" | "signature_delta") => {
                self.open(index, Kind::Thinking(0, String::new()))?
            }
            (None, "input_json_delta") => {
                let call = self.gathered.open_call(index)?;
                self.open(index, Kind::Call(call))?
            }
            (None, _) => return Ok(Seen::Foreign),
        };
        match type_name {
            "text_delta" => self.add_text(place, text("text"), events)?,
            "thinking_delta" => self.add_thinking(place, text("thinking"), events)?,
            "signature_delta" => self.sign(place, text("signature"))?,
            "input_json_delta" => {
                if let Some(Kind::Call(call)) = self.blocks.get(place).map(|block| &block.kind) {
                    let input = arguments_text(delta.get("partial_json"));
                    self.gathered.add_to_call(*call, ("", "", &input), events)?;
                }
            }
            // Citations and what is still to come.
            _ => return Ok(Seen::Idle),
        }
        Ok(Seen::Part)
    }

    fn add_text(&mut self, place: usize, text: &str, events: &mut Vec<StreamEvent>) -> Result<(), TooLarge> {
        let before = self.gathered.text.len();
        self.gathered.add_text(text, events)?;
        let added = self.gathered.text.len().saturating_sub(before);
        if let Some(Kind::Text(bytes)) = self.blocks.get_mut(place).map(|block| &mut block.kind) {
            *bytes += added;
        }
        Ok(())
    }

    fn add_thinking(
        &mut self,
        place: usize,
        text: &str,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), TooLarge> {
        let before = self.gathered.reasoning.len();
        self.gathered.add_reasoning(text, events)?;
        let added = self.gathered.reasoning.len().saturating_sub(before);
        if let Some(Kind::Thinking(bytes, _)) = self.blocks.get_mut(place).map(|block| &mut block.kind) {
            *bytes += added;
        }
        Ok(())
    }

    fn sign(&mut self, place: usize, piece: &str) -> Result<(), TooLarge> {
        self.gathered.count(piece.len())?;
        if let Some(Kind::Thinking(_, signature)) = self.blocks.get_mut(place).map(|block| &mut block.kind) {
            signature.push_str(piece);
        }
        Ok(())
    }

    pub(crate) fn ending(&mut self, answer: &Answer) -> Result<Ending, ProviderError> {
        let stop = match self.stop_reason.as_deref() {
            None => None,
            Some("tool_use") => Some(StopReason::ToolUse),
            Some("max_tokens" | "model_context_window_exceeded") => Some(StopReason::MaxTokens),
            Some("refusal") => Some(StopReason::ContentFilter),
            // Only tools that run at the provider pause a turn, and none was offered.
            Some("pause_turn") => {
                return Err(
                    answer.format("The server paused its turn for tools of its own, which were not offered.")
                );
            }
            Some(_) => Some(StopReason::End),
        };
        self.gathered.usage = self.usage.read();
        let slots = self.slots();
        if !slots.is_empty() {
            self.gathered.vendor.insert("anthropic".to_owned(), slots.into());
        }
        Ok(Ending { stop, is_marked: false })
    }

    /// The order of the blocks, when thinking is among them. Thinking that the end cut off is not signed and is left out.
    fn slots(&self) -> Vec<Value> {
        let mut slots = Vec::new();
        let mut is_needed = false;
        for block in &self.blocks {
            match &block.kind {
                Kind::Text(0) | Kind::Other => {}
                Kind::Text(bytes) => slots.push(slot("text", *bytes, Map::new())),
                Kind::Thinking(bytes, signature) => {
                    is_needed = true;
                    let mut marks = Map::new();
                    if !signature.is_empty() {
                        marks.insert("signature".to_owned(), signature.as_str().into());
                    }
                    if block.is_closed || !signature.is_empty() {
                        slots.push(slot("reasoning", *bytes, marks));
                    }
                }
                Kind::Redacted(block) => {
                    is_needed = true;
                    slots.push(as_is_slot(block.clone()));
                }
                Kind::Call(_) => slots.push(call_slot()),
            }
        }
        if is_needed { slots } else { Vec::new() }
    }
}

impl Counts {
    /// Takes up counts; later ones are totals, and those of the input may come at the end only.
    fn add(&mut self, usage: Option<&Value>) -> bool {
        let Some(usage) = usage else { return false };
        let mut is_known = false;
        let mut take = |name: &str, to: &mut u64| {
            if let Some(count) = usage.get(name).and_then(Value::as_u64) {
                is_known = true;
                *to = (*to).max(count);
            }
        };
        take("input_tokens", &mut self.fresh);
        take("output_tokens", &mut self.output);
        take("cache_read_input_tokens", &mut self.cache_read);
        take("cache_creation_input_tokens", &mut self.cache_write);
        self.is_known |= is_known;
        is_known
    }

    /// The neutral counts: the whole input is what was fresh and what the cache had.
    fn read(self) -> Option<Usage> {
        self.is_known.then(|| Usage {
            input: self.fresh.saturating_add(self.cache_read).saturating_add(self.cache_write),
            output: self.output,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
        })
    }
}
