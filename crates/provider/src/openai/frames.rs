//! What the frames of a chat-completions stream mean, in the many shapes that servers send.

use serde_json::{Map, Value};

use crate::answer::Answer;
use crate::decode::{Ending, Seen, is_said};
use crate::error::{ErrorKind, ProviderError, Reason};
use crate::gather::{Gathered, TooLarge, arguments_text, non_empty};
use crate::limits::VENDOR_BYTES_MAX;
use crate::response::{StopReason, StreamEvent, Usage};

/// The names that reasoning comes under; servers that send several send the same text.
const REASONING: [&str; 2] = ["reasoning_content", "reasoning"];

/// Reads one answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    pub(crate) gathered: Gathered,
    finish_reason: Option<String>,
    /// A last frame with nothing but the usage came.
    usage_came_last: bool,
    /// The name that reasoning came under.
    reasoning_name: Option<&'static str>,
    /// OpenRouter's and others' signed reasoning, which goes back as it came.
    details: Vec<Value>,
    details_bytes: usize,
}

impl Frames {
    pub(crate) fn frame(
        &mut self,
        answer: &Answer,
        frame: &Map<String, Value>,
        events: &mut Vec<StreamEvent>,
    ) -> Result<Seen, ProviderError> {
        if frame.get("object").and_then(Value::as_str) == Some("error") {
            return Err(answer.said(&Value::Object(frame.clone())));
        }
        let mut is_known = false;
        let choice = frame.get("choices").and_then(Value::as_array).and_then(|choices| choices.first());
        if let Some(usage) = frame.get("usage").and_then(read_usage) {
            self.gathered.usage = Some(usage);
            self.usage_came_last = choice.is_none();
            is_known = true;
        }
        if let Some(choice) = choice.and_then(Value::as_object) {
            is_known |= self.choice(answer, choice, events)?;
        }
        // Groq puts the usage elsewhere.
        if let Some(usage) = frame.get("x_groq").and_then(|own| own.get("usage")).and_then(read_usage) {
            self.gathered.usage = Some(usage);
        }
        if is_known {
            return Ok(Seen::Part);
        }
        let type_name = frame.get("type").and_then(Value::as_str).unwrap_or_default();
        if matches!(type_name, "message_start" | "content_block_start" | "response.created") {
            return Err(answer.format(
                "The server speaks another protocol than OpenAI's chat completions. Choose another one for this connection.",
            ));
        }
        Ok(if frame.contains_key("choices") { Seen::Idle } else { Seen::Foreign })
    }

    /// Takes up the first choice; whether it was one.
    fn choice(
        &mut self,
        answer: &Answer,
        choice: &Map<String, Value>,
        events: &mut Vec<StreamEvent>,
    ) -> Result<bool, ProviderError> {
        if let Some(error) = choice.get("error").filter(|error| is_said(error)) {
            return Err(answer.said(error));
        }
        let mut is_known = false;
        if let Some(reason) = non_empty(choice.get("finish_reason")) {
            self.finish_reason = Some(reason.to_ascii_lowercase());
            is_known = true;
        }
        let delta = choice.get("delta").and_then(Value::as_object);
        // Some relays repeat the whole message at the end of a stream.
        let message = choice.get("message").and_then(Value::as_object).filter(|_| self.gathered.is_empty());
        if let Some(delta) = delta.filter(|delta| !delta.is_empty()).or(message).or(delta) {
            is_known = true;
            self.absorb(delta, events).map_err(|TooLarge| answer.too_large())?;
        } else if let Some(text) = non_empty(choice.get("text")) {
            // The older completions.
            is_known = true;
            self.gathered.add_text(text, events).map_err(|TooLarge| answer.too_large())?;
        }
        if self.finish_reason.is_some() {
            self.gathered.flush(events);
        }
        Ok(is_known)
    }

    /// Takes up a `delta`, or the `message` of an answer that came whole.
    fn absorb(&mut self, delta: &Map<String, Value>, events: &mut Vec<StreamEvent>) -> Result<(), TooLarge> {
        let named = REASONING.into_iter().find_map(|name| Some((name, non_empty(delta.get(name))?)));
        let details = delta.get("reasoning_details").and_then(Value::as_array);
        if let Some((name, text)) = named {
            self.reasoning_name.get_or_insert(name);
            self.gathered.add_reasoning(text, events)?;
        } else {
            for detail in details.into_iter().flatten() {
                let text = non_empty(detail.get("text")).or_else(|| non_empty(detail.get("summary")));
                self.gathered.add_reasoning(text.unwrap_or_default(), events)?;
            }
        }
        for detail in details.into_iter().flatten().filter_map(Value::as_object) {
            self.keep_detail(detail);
        }
        match delta.get("content") {
            Some(Value::String(text)) => self.gathered.add_text(text, events)?,
            Some(Value::Array(parts)) => self.add_parts(parts, events)?,
            _ => {}
        }
        self.gathered.add_text(non_empty(delta.get("refusal")).unwrap_or_default(), events)?;
        match delta.get("tool_calls") {
            Some(Value::Array(entries)) => {
                for entry in entries.iter().filter_map(Value::as_object) {
                    self.add_call(entry, events)?;
                }
            }
            Some(Value::Object(entry)) => self.add_call(entry, events)?,
            _ => {}
        }
        // The form that `tool_calls` replaced; it has neither index nor id and means the only call.
        if let Some(Value::Object(function)) = delta.get("function_call") {
            let entry = Map::from_iter([
                ("index".to_owned(), Value::from(0)),
                ("function".to_owned(), Value::Object(function.clone())),
            ]);
            self.add_call(&entry, events)?;
        }
        // Gemini signs answers without calls, too.
        if let Some(extra @ Value::Object(_)) = delta.get("extra_content")
            && extra.to_string().len() <= VENDOR_BYTES_MAX
        {
            self.gathered.vendor.insert("extra_content".to_owned(), extra.clone());
        }
        Ok(())
    }

    fn add_parts(&mut self, parts: &[Value], events: &mut Vec<StreamEvent>) -> Result<(), TooLarge> {
        for part in parts {
            match part.get("type").and_then(Value::as_str) {
                Some("text" | "output_text") | None => {
                    let text = non_empty(part.get("text")).or_else(|| non_empty(Some(part)));
                    self.gathered.add_text(text.unwrap_or_default(), events)?;
                }
                // Mistral: a list of text parts inside.
                Some("thinking" | "reasoning") => {
                    match part.get("thinking").or_else(|| part.get("text")) {
                        Some(Value::Array(inner)) => {
                            for text in inner.iter().filter_map(|part| non_empty(part.get("text"))) {
                                self.gathered.add_reasoning(text, events)?;
                            }
                        }
                        thinking => {
                            self.gathered.add_reasoning(non_empty(thinking).unwrap_or_default(), events)?;
                        }
                    }
                    self.reasoning_name.get_or_insert("thinking");
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Keeps a piece of signed reasoning. Text comes in pieces of one detail, the rest whole.
    fn keep_detail(&mut self, detail: &Map<String, Value>) {
        self.details_bytes =
            self.details_bytes.saturating_add(Value::Object(detail.clone()).to_string().len());
        if self.details_bytes > VENDOR_BYTES_MAX.saturating_mul(16) {
            return;
        }
        let last = self.details.last_mut().and_then(Value::as_object_mut).filter(|last| {
            let same = |name: &str| match (last.get(name), detail.get(name)) {
                (Some(one), Some(other)) => one == other || one.is_null() || other.is_null(),
                _ => true,
            };
            let is_text = matches!(
                last.get("type").and_then(Value::as_str),
                Some("reasoning.text" | "reasoning.summary")
            );
            is_text && same("type") && same("index") && same("id") && !last.contains_key("signature")
        });
        let Some(last) = last else {
            self.details.push(Value::Object(detail.clone()));
            return;
        };
        for (name, value) in detail {
            match (name.as_str(), last.get_mut(name), value) {
                ("text" | "summary", Some(Value::String(so_far)), Value::String(more)) => {
                    so_far.push_str(more)
                }
                (_, _, Value::Null) => {}
                _ => {
                    last.insert(name.clone(), value.clone());
                }
            }
        }
    }

    fn add_call(
        &mut self,
        entry: &Map<String, Value>,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), TooLarge> {
        let empty = Map::new();
        // Some servers leave the level of `function` out.
        let flat = if entry.contains_key("name") { entry } else { &empty };
        let function = entry.get("function").and_then(Value::as_object).unwrap_or(flat);
        let id = non_empty(entry.get("id")).unwrap_or_default();
        let name = non_empty(function.get("name")).unwrap_or_default();
        let arguments = arguments_text(function.get("arguments"));
        let place = self.place(read_index(entry.get("index")), id, name)?;
        self.gathered.add_to_call(place, (id, name, &arguments), events)?;
        let Some(call) = self.gathered.calls.get_mut(place) else { return Ok(()) };
        for (name, value) in entry {
            if !matches!(name.as_str(), "index" | "id" | "type" | "function" | "name" | "arguments") {
                call.keep(name, value);
            }
        }
        if entry.contains_key("function") {
            for (name, value) in function {
                if !matches!(name.as_str(), "name" | "arguments") {
                    call.keep_of_function(name, value);
                }
            }
        }
        Ok(())
    }

    /// Which call a piece belongs to; opens a new one where it belongs to none.
    fn place(&mut self, index: Option<u64>, id: &str, name: &str) -> Result<usize, TooLarge> {
        let calls = &self.gathered.calls;
        let found = match index {
            Some(_) => calls.iter().rposition(|call| call.index == index).filter(|place| {
                // Servers that give every parallel call index 0 are told apart by a new id that comes with a name.
                // A new id without a name is a server that draws one for each piece.
                let known = calls.get(*place).map(|call| call.id.as_str()).unwrap_or_default();
                id.is_empty() || name.is_empty() || known.is_empty() || known == id
            }),
            None => self.place_without_index(id, name),
        };
        found.map_or_else(|| self.gathered.open_call(index), Ok)
    }

    fn place_without_index(&self, id: &str, name: &str) -> Option<usize> {
        let calls = &self.gathered.calls;
        let last = calls.len().checked_sub(1)?;
        if !id.is_empty()
            && let Some(place) = calls.iter().rposition(|call| call.id == id)
        {
            return Some(place);
        }
        if name.is_empty() {
            return Some(last);
        }
        // A name without an id opens a call, unless it repeats that of a call whose arguments are still coming.
        let call = calls.get(last)?;
        (id.is_empty() && call.name == name && !call.is_whole()).then_some(last)
    }

    pub(crate) fn ending(&mut self, answer: &Answer) -> Result<Ending, ProviderError> {
        let stop = match self.finish_reason.as_deref() {
            Some(reason) => Some(stop_reason(reason, answer)?),
            None => None,
        };
        if !self.details.is_empty() {
            let details = std::mem::take(&mut self.details);
            self.gathered.vendor.insert("reasoning_details".to_owned(), details.into());
        }
        let name = self.reasoning_name.or_else(|| self.gathered.saw_think_tag().then_some("think"));
        if let Some(name) = name {
            self.gathered.vendor.insert("reasoning_name".to_owned(), name.into());
        }
        Ok(Ending { stop, is_marked: self.usage_came_last && !self.gathered.is_empty() })
    }
}

/// Numbers of calls come as numbers, and from some as texts.
fn read_index(index: Option<&Value>) -> Option<u64> {
    match index? {
        Value::String(text) => text.parse().ok(),
        index => index.as_u64(),
    }
}

/// What a `finish_reason` means. An unknown one is an end like any other: servers invent them freely.
fn stop_reason(reason: &str, answer: &Answer) -> Result<StopReason, ProviderError> {
    match reason {
        "tool_calls" | "tool_use" | "tool_call" | "function_call" => Ok(StopReason::ToolUse),
        "length" | "max_tokens" | "max_output_tokens" | "model_length" | "model_context_window_exceeded" => {
            Ok(StopReason::MaxTokens)
        }
        "content_filter" | "safety" | "sensitive" | "refusal" | "recitation" | "prohibited_content"
        | "blocklist" | "spii" => Ok(StopReason::ContentFilter),
        "error" | "network_error" | "insufficient_system_resource" | "malformed_function_call" => {
            let mut error = ProviderError::new(ErrorKind::Overloaded, Some(Reason::UpstreamError))
                .with_answer(&answer.head);
            error.upstream_code = Some(reason.to_owned());
            Err(error)
        }
        _ => Ok(StopReason::End),
    }
}

/// Counts of tokens, where the object has any; details that are missing or strange count as zero.
pub(crate) fn read_usage(usage: &Value) -> Option<Usage> {
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    let input = count("prompt_tokens").or_else(|| count("input_tokens"));
    let output = count("completion_tokens").or_else(|| count("output_tokens"));
    if input.is_none() && output.is_none() {
        return None;
    }
    let input = input.unwrap_or(0);
    let detail = |name: &str| {
        let details = usage.get("prompt_tokens_details").or_else(|| usage.get("input_tokens_details"))?;
        details.get(name)?.as_u64()
    };
    let cache_read = detail("cached_tokens")
        .or_else(|| count("prompt_cache_hit_tokens"))
        .or_else(|| count("cached_tokens"))
        .unwrap_or(0);
    let cache_write =
        detail("cache_write_tokens").or_else(|| count("cache_creation_input_tokens")).unwrap_or(0);
    Some(Usage {
        input,
        output: output.unwrap_or(0),
        cache_read: cache_read.min(input),
        cache_write: cache_write.min(input),
    })
}
