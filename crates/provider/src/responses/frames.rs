//! What the events of a Responses stream mean.

use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::decode::{Ending, Seen};
use crate::error::ProviderError;
use crate::gather::{Gathered, TooLarge, arguments_text, non_empty};
use crate::layout::{as_is_slot, call_slot, slot};
use crate::openai::read_usage;
use crate::response::{StopReason, StreamEvent};

/// Items of one answer; a call of many tools has some dozens.
const ITEMS_MAX: usize = 1024;

/// Reads one answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    pub(crate) gathered: Gathered,
    items: Vec<Item>,
    stop: Option<StopReason>,
}

/// An item of the output.
#[derive(Clone, Debug)]
struct Item {
    index: Option<u64>,
    id: String,
    kind: Kind,
    is_done: bool,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Bytes of the answer's text, and the marks of the message.
    Message(usize, Map<String, Value>),
    /// What goes back, once it is known; and whether its text was shown.
    Reasoning(Option<Value>, bool),
    /// Place among the calls.
    Call(usize),
    /// Nothing that was asked for.
    Other,
}

impl Frames {
    pub(crate) fn frame(
        &mut self,
        answer: &Answer,
        frame: &Map<String, Value>,
        events: &mut Vec<StreamEvent>,
    ) -> Result<Seen, ProviderError> {
        let name = frame.get("type").and_then(Value::as_str).unwrap_or_default();
        let large = |TooLarge| answer.too_large();
        let response = frame.get("response").unwrap_or(&Value::Null);
        match name {
            "response.output_item.added" | "response.output_item.done" => {
                let Some(item) = frame.get("item").and_then(Value::as_object) else {
                    return Ok(Seen::Foreign);
                };
                let index = frame.get("output_index").and_then(Value::as_u64);
                self.item(index, item, name.ends_with("done"), events).map_err(large)?;
                Ok(Seen::Part)
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                let place = self.place(frame, "message").map_err(large)?;
                self.add_text(place, text_of(frame, "delta"), events).map_err(large)?;
                Ok(Seen::Part)
            }
            "response.reasoning_summary_text.delta"
            | "response.reasoning_text.delta"
            | "response.reasoning.delta" => {
                let place = self.place(frame, "reasoning").map_err(large)?;
                self.add_reasoning(place, text_of(frame, "delta"), events).map_err(large)?;
                Ok(Seen::Part)
            }
            "response.reasoning_summary_part.added" if !self.gathered.reasoning.is_empty() => {
                self.gathered.add_reasoning("\n\n", events).map_err(large)?;
                Ok(Seen::Part)
            }
            "response.function_call_arguments.delta" => {
                let place = self.place(frame, "function_call").map_err(large)?;
                self.add_arguments(place, &arguments_text(frame.get("delta")), events).map_err(large)?;
                Ok(Seen::Part)
            }
            "response.completed" | "response.done" | "response.incomplete" => {
                self.whole(answer, response, events)?;
                Ok(Seen::End)
            }
            "response.failed" => Err(answer.said(response.get("error").unwrap_or(response))),
            "error" => Err(answer.said(&Value::Object(frame.clone()))),
            "response.created" | "response.in_progress" | "response.queued" => Ok(Seen::Part),
            _ if name.starts_with("response.") => Ok(Seen::Idle),
            _ if frame.get("object").and_then(Value::as_str) == Some("response") => {
                self.whole(answer, &Value::Object(frame.clone()), events)?;
                Ok(Seen::Part)
            }
            _ if frame.contains_key("choices") => Err(answer.format(
                "The server speaks OpenAI's chat completions. Choose that protocol for this connection.",
            )),
            _ => Ok(Seen::Foreign),
        }
    }

    /// The response object at the end of a stream, or all that a server sent. What streamed before is not read twice.
    fn whole(
        &mut self,
        answer: &Answer,
        response: &Value,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        let status = response.get("status").and_then(Value::as_str).unwrap_or("completed");
        if let Some(error) = response.get("error").filter(|error| error.is_object()) {
            return Err(answer.said(error));
        }
        let output = response.get("output").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for (index, item) in (0u64..).zip(output.iter().filter_map(Value::as_object)) {
            self.item(Some(index), item, true, events).map_err(|TooLarge| answer.too_large())?;
        }
        self.gathered.usage = response.get("usage").and_then(read_usage).or(self.gathered.usage);
        let cut_for = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
        self.stop = match (status, cut_for) {
            ("incomplete", Some("content_filter")) => Some(StopReason::ContentFilter),
            ("incomplete", _) => Some(StopReason::MaxTokens),
            ("failed" | "cancelled", _) => return Err(answer.said(response)),
            _ => Some(StopReason::End),
        };
        Ok(())
    }

    /// Takes up an item as far as it did not stream.
    fn item(
        &mut self,
        index: Option<u64>,
        item: &Map<String, Value>,
        is_done: bool,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), TooLarge> {
        let (id, type_name) = (text_of(item, "id"), text_of(item, "type"));
        let place = match self.find(index, id) {
            Some(place) => place,
            None => self.open(index, id, type_name)?,
        };
        let Some(known) = self.items.get_mut(place) else { return Ok(()) };
        if known.is_done {
            return Ok(());
        }
        known.is_done = is_done;
        match &mut known.kind {
            Kind::Message(bytes, marks) => {
                if let Some(phase) = item.get("phase").filter(|phase| phase.is_string()) {
                    marks.insert("phase".to_owned(), phase.clone());
                }
                let is_new = *bytes == 0;
                let parts = item.get("content").and_then(Value::as_array).filter(|_| is_done && is_new);
                for part in parts.into_iter().flatten() {
                    let text = non_empty(part.get("text")).or_else(|| non_empty(part.get("refusal")));
                    self.add_text(place, text.unwrap_or_default(), events)?;
                }
            }
            Kind::Reasoning(kept, was_shown) => {
                let was_shown = *was_shown;
                if is_done {
                    *kept = signed(item);
                    let size = kept.as_ref().map_or(0, |kept| kept.to_string().len());
                    self.gathered.count(size)?;
                }
                for list in ["summary", "content"] {
                    let parts = item.get(list).and_then(Value::as_array).filter(|_| is_done && !was_shown);
                    for part in parts.into_iter().flatten() {
                        self.add_reasoning(place, non_empty(part.get("text")).unwrap_or_default(), events)?;
                    }
                }
            }
            Kind::Call(call) => {
                let call = *call;
                let has_none = self.gathered.calls.get(call).is_none_or(|call| call.arguments.is_empty());
                let arguments =
                    if is_done && has_none { arguments_text(item.get("arguments")) } else { String::new() };
                let id = non_empty(item.get("call_id")).unwrap_or(id);
                self.gathered.add_to_call(call, (id, text_of(item, "name"), &arguments), events)?;
            }
            Kind::Other => {}
        }
        Ok(())
    }

    fn find(&self, index: Option<u64>, id: &str) -> Option<usize> {
        let by_id = || self.items.iter().rposition(|item| !id.is_empty() && item.id == id);
        let by_index = || self.items.iter().rposition(|item| index.is_some() && item.index == index);
        by_id().or_else(by_index)
    }

    /// The item that a delta belongs to: by its id or number, else the last one of its kind.
    fn place(&mut self, frame: &Map<String, Value>, type_name: &str) -> Result<usize, TooLarge> {
        let index = frame.get("output_index").and_then(Value::as_u64);
        let id = text_of(frame, "item_id");
        let is_of_kind = |item: &Item| {
            matches!(
                (&item.kind, type_name),
                (Kind::Message(..), "message")
                    | (Kind::Reasoning(..), "reasoning")
                    | (Kind::Call(_), "function_call")
            )
        };
        let named = self.find(index, id).filter(|place| self.items.get(*place).is_some_and(is_of_kind));
        let last = || {
            self.items
                .len()
                .checked_sub(1)
                .filter(|_| index.is_none() && self.items.last().is_some_and(is_of_kind))
        };
        match named.or_else(last) {
            Some(place) => Ok(place),
            None => self.open(index, id, type_name),
        }
    }

    fn open(&mut self, index: Option<u64>, id: &str, type_name: &str) -> Result<usize, TooLarge> {
        if self.items.len() >= ITEMS_MAX {
            return Err(TooLarge);
        }
        let kind = match type_name {
            "message" => Kind::Message(0, Map::new()),
            "reasoning" => Kind::Reasoning(None, false),
            "function_call" => Kind::Call(self.gathered.open_call(index)?),
            _ => Kind::Other,
        };
        self.items.push(Item { index, id: id.to_owned(), kind, is_done: false });
        Ok(self.items.len() - 1)
    }

    fn add_text(&mut self, place: usize, text: &str, events: &mut Vec<StreamEvent>) -> Result<(), TooLarge> {
        let before = self.gathered.text.len();
        self.gathered.add_text(text, events)?;
        let added = self.gathered.text.len().saturating_sub(before);
        if let Some(Kind::Message(bytes, _)) = self.items.get_mut(place).map(|item| &mut item.kind) {
            *bytes += added;
        }
        Ok(())
    }

    fn add_reasoning(
        &mut self,
        place: usize,
        text: &str,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), TooLarge> {
        self.gathered.add_reasoning(text, events)?;
        if let Some(Kind::Reasoning(_, was_shown)) = self.items.get_mut(place).map(|item| &mut item.kind) {
            *was_shown |= !text.is_empty();
        }
        Ok(())
    }

    fn add_arguments(
        &mut self,
        place: usize,
        text: &str,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), TooLarge> {
        if let Some(Kind::Call(call)) = self.items.get(place).map(|item| &item.kind) {
            self.gathered.add_to_call(*call, ("", "", text), events)?;
        }
        Ok(())
    }

    pub(crate) fn ending(&mut self, _: &Answer) -> Result<Ending, ProviderError> {
        let mut slots = Vec::new();
        let mut is_needed = false;
        for item in &self.items {
            match &item.kind {
                Kind::Message(0, _) | Kind::Reasoning(None, _) | Kind::Other => {}
                Kind::Message(bytes, marks) => {
                    is_needed |= !marks.is_empty();
                    slots.push(slot("text", *bytes, marks.clone()));
                }
                Kind::Reasoning(Some(kept), _) => {
                    is_needed = true;
                    slots.push(as_is_slot(kept.clone()));
                }
                Kind::Call(_) => slots.push(call_slot()),
            }
        }
        if is_needed {
            self.gathered.vendor.insert("responses".to_owned(), slots.into());
        }
        Ok(Ending { stop: self.stop, is_marked: false })
    }
}

/// A reasoning item as it goes back; nothing without its encrypted content, since the provider has stored nothing.
fn signed(item: &Map<String, Value>) -> Option<Value> {
    let content = non_empty(item.get("encrypted_content"))?;
    let summary =
        item.get("summary").filter(|summary| summary.is_array()).cloned().unwrap_or_else(|| json!([]));
    let mut kept = json!({"type": "reasoning", "summary": summary, "encrypted_content": content});
    if let (Value::Object(fields), Some(id)) = (&mut kept, non_empty(item.get("id"))) {
        fields.insert("id".to_owned(), id.into());
    }
    Some(kept)
}

fn text_of<'a>(fields: &'a Map<String, Value>, name: &str) -> &'a str {
    non_empty(fields.get(name)).unwrap_or_default()
}
