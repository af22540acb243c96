//! What a server wants differently. Templates and the person set them; the codecs follow.

use panelot_base::json::{FromJson, ToJson};
use serde::{Deserialize, Serialize};

/// Deviations of one connection from its wire. Stored with it: add fields with a default, never rename one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase", default)]
pub struct Quirks {
    /// OpenAI: no `stream_options` are sent, so that usage is normally missing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_stream_options: bool,
    /// One tool call at a time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_parallel_tool_calls: bool,
    /// OpenAI: system text travels as a user message.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_system_role: bool,
    /// OpenAI: reasoning never goes back, whatever name it came under.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_reasoning_back: bool,
    /// Anthropic: a fixed budget for thinking instead of adaptive effort, whatever the model is called.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub manual_thinking: bool,
    /// Responses: a summary of the reasoning is asked for. OpenAI gives it to verified organisations only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reasoning_summary: bool,
    /// OpenAI: the field that takes the limit of the answer; by the model's name when it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens_field: Option<MaxTokensField>,
}

/// The names of the answer's limit on OpenAI's wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// What most servers know.
    MaxTokens,
    /// What OpenAI's reasoning models insist on.
    MaxCompletionTokens,
}

impl MaxTokensField {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}
