//! What is asked of a model, in no provider's words.
//!
//! These types are stored inside run environments and history, so their serde form is part of the record format: add
//! fields with a default, never rename one.

use panelot_base::json::{FromJson, ToJson};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One request to a model: the whole conversation, because no provider keeps it for us.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// The model's name exactly as the provider spells it.
    pub model: String,
    /// The system prompt; empty sends none.
    pub system: String,
    /// The conversation, oldest first. Must satisfy [`Request::check`].
    pub messages: Vec<Message>,
    /// The tools that the model may call; names are unique.
    pub tools: Vec<ToolSchema>,
    /// How to generate.
    pub parameters: Parameters,
}

impl Request {
    /// Puts a sentence in the place of every picture, for a model that sees none: a request with one would be refused, and
    /// one without a word of it would leave the model to guess.
    pub fn say_pictures(&mut self) {
        const WORDS: &str = "[A picture stood here. You cannot see pictures; say so if it matters.]";
        for message in &mut self.messages {
            let (Message::User { parts } | Message::ToolResult { parts, .. }) = message else { continue };
            for part in parts {
                if matches!(part, Part::Image { .. }) {
                    *part = Part::text(WORDS);
                }
            }
        }
    }
}

/// How to generate. What is `None` is not sent, so that the provider's own default holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase", default)]
pub struct Parameters {
    /// Sampling temperature, 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Most tokens that the answer may have, reasoning included; at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// How much a reasoning model should think.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
}

/// How much a reasoning model should think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Quick answers.
    Low,
    /// The usual amount.
    Medium,
    /// As much as the model likes.
    High,
}

impl Effort {
    /// The name that all wires use.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson)]
pub struct ToolSchema {
    /// Name that the model calls it by.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// JSON Schema of its arguments; an object schema.
    pub parameters: Value,
}

/// One message of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(tag = "role", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Message {
    /// Said by the person, or by the engine in the person's place.
    User {
        /// What was said; at least one part.
        parts: Vec<Part>,
    },
    /// Said by the model.
    Assistant {
        /// The visible answer; may be empty when there are calls.
        text: String,
        /// The model's reasoning as it was streamed; empty when there was none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reasoning: String,
        /// What it asked for, in order. Each is answered by one [`Message::ToolResult`] right after this message.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
        /// [`Response::vendor`](crate::Response::vendor) of the answer, for the connection and the model that gave it;
        /// empty for every other one, because a signature is worth nothing elsewhere.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        vendor: Map<String, Value>,
    },
    /// The answer to one tool call.
    ToolResult {
        /// [`ToolCall::id`] of the call that it answers.
        call_id: String,
        /// What the tool gave back.
        parts: Vec<Part>,
        /// Whether the call failed. Wires without such a mark carry it in the text that the engine wrote.
        is_error: bool,
    },
}

/// A piece of content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Part {
    /// Text.
    Text {
        /// The text itself.
        text: String,
    },
    /// A picture.
    Image {
        /// Media type, such as `image/png`.
        media_type: String,
        /// The bytes in standard base64, padded, without line breaks.
        data: String,
    },
}

impl Part {
    /// A text part.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// One call of a tool, as the model asked for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson)]
pub struct ToolCall {
    /// Identifier that the result refers to. Unique within one response; see
    /// [`Response::make_call_ids_unique`](crate::Response::make_call_ids_unique).
    pub id: String,
    /// Name of the tool; not checked against the offered ones.
    pub name: String,
    /// The arguments as the raw text that was streamed. It may be empty or broken JSON: read it with
    /// [`ToolCall::parse_arguments`].
    pub arguments: String,
    /// Members of the call that this wire does not define (Gemini's thought signatures, for one). They go back with
    /// the call, because some providers refuse a history without them.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub vendor: Map<String, Value>,
}

impl ToolCall {
    /// The arguments as the model wrote them when they are an object; else an object that shows what it wrote, since a
    /// history with broken arguments is refused for good.
    pub(crate) fn legal_arguments(&self) -> String {
        match serde_json::from_str(&self.arguments) {
            Ok(Value::Object(_)) => self.arguments.clone(),
            _ => Value::Object(self.legal_input()).to_string(),
        }
    }

    /// The same, as an object.
    pub(crate) fn legal_input(&self) -> Map<String, Value> {
        self.parse_arguments().unwrap_or_else(|_| {
            Map::from_iter([("invalid_arguments".to_owned(), Value::from(self.arguments.as_str()))])
        })
    }

    /// The arguments as an object.
    ///
    /// Blank text is an empty object, and an object inside a JSON string (some models encode twice) is unwrapped once.
    ///
    /// # Errors
    /// A short English reason for the model when the text is not a JSON object.
    pub fn parse_arguments(&self) -> Result<Map<String, Value>, String> {
        if self.arguments.trim().is_empty() {
            return Ok(Map::new());
        }
        let value: Value = serde_json::from_str(&self.arguments)
            .map_err(|error| format!("The arguments are not valid JSON: {error}."))?;
        match value {
            Value::Object(fields) => Ok(fields),
            Value::String(inner) => match serde_json::from_str(&inner) {
                Ok(Value::Object(fields)) => Ok(fields),
                _ => Err("The arguments must be one JSON object, not a string.".to_owned()),
            },
            Value::Null => Ok(Map::new()),
            _ => Err("The arguments must be one JSON object.".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {

    use serde_json::json;

    use super::{Message, Parameters, Part, ToolCall};

    fn call(arguments: &str) -> ToolCall {
        ToolCall {
            id: "a".into(),
            name: "t".into(),
            arguments: arguments.into(),
            vendor: serde_json::Map::new(),
        }
    }

    #[test]
    fn arguments_are_read_as_one_object_whatever_the_model_wrapped_them_in() {
        for (text, expected) in [
            ("", json!({})),
            (" \n", json!({})),
            ("null", json!({})),
            (r#"{"ref":"e7"}"#, json!({"ref": "e7"})),
            (r#""{\"ref\":\"e7\"}""#, json!({"ref": "e7"})),
        ] {
            assert_eq!(json!(call(text).parse_arguments().unwrap()), expected, "{text}");
        }
        for text in ["{", "[1]", "7", r#""e7""#, r#""\"{}\"""#] {
            assert!(call(text).parse_arguments().is_err(), "{text}");
        }
    }

    #[test]
    fn the_stored_form_of_a_message_is_flat_and_leaves_out_what_is_empty() {
        let message = Message::Assistant {
            text: "hi".into(),
            reasoning: String::new(),
            tool_calls: vec![call("{}")],
            vendor: Default::default(),
        };
        let stored = serde_json::to_value(&message).unwrap();
        assert_eq!(
            stored,
            json!({"role": "assistant", "text": "hi", "toolCalls": [{"id": "a", "name": "t", "arguments": "{}"}]})
        );
        assert_eq!(serde_json::from_value::<Message>(stored).unwrap(), message);
        let result = json!({"role": "tool_result", "callId": "a", "isError": true,
            "parts": [{"type": "text", "text": "x"}, {"type": "image", "mediaType": "image/png", "data": "AA=="}]});
        let read: Message = serde_json::from_value(result.clone()).unwrap();
        assert!(matches!(&read, Message::ToolResult { parts, .. } if parts[0] == Part::text("x")));
        assert_eq!(serde_json::to_value(read).unwrap(), result);
    }

    #[test]
    fn parameters_that_are_not_set_are_not_stored() {
        assert_eq!(serde_json::to_value(Parameters::default()).unwrap(), json!({}));
        assert_eq!(serde_json::from_value::<Parameters>(json!({})).unwrap(), Parameters::default());
    }
}
