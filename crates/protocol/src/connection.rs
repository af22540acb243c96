//! Connections, their models and presets, as views see them and as the person changes them.

use panelot_base::json::{FromJson, ToJson};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Text;
use crate::settings::{IncomingKey, ModelChoice, PermissionPolicy, ProviderWire};

/// How much a reasoning model should think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Effort {
    /// Quick answers.
    Low,
    /// The usual amount.
    Medium,
    /// As much as the model likes.
    High,
}

/// A stored credential, by what may be shown of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyView {
    /// Its name within the connection.
    pub slot: u32,
    /// Its last characters behind dots; empty when they are not known.
    pub hint: Text<32>,
}

/// A header that goes with every request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeaderView {
    /// Its name, in lower case.
    pub name: Text<256>,
    /// Its value; none for a secret.
    pub value: Option<Text<8192>>,
}

/// One header of a form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeaderChange {
    /// Its name.
    pub name: Text<256>,
    /// Its value; absent for the one that is stored under that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<IncomingKey>,
}

/// The names of the answer's limit on OpenAI's wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// What most servers know.
    MaxTokens,
    /// What OpenAI's reasoning models insist on.
    MaxCompletionTokens,
}

/// What a server wants differently. The fields are those of crate `provider`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema,
)]
#[serde(rename_all = "camelCase", default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the form")]
pub struct Quirks {
    /// OpenAI: no `stream_options` are sent, so that usage is normally missing.
    pub no_stream_options: bool,
    /// One tool call at a time.
    pub no_parallel_tool_calls: bool,
    /// OpenAI: system text travels as a user message.
    pub no_system_role: bool,
    /// OpenAI: reasoning never goes back.
    pub no_reasoning_back: bool,
    /// Anthropic: a fixed budget for thinking instead of adaptive effort.
    pub manual_thinking: bool,
    /// Responses: a summary of the reasoning is asked for.
    pub reasoning_summary: bool,
    /// OpenAI: the field that takes the limit of the answer; by the model's name when it is not set.
    pub max_tokens_field: Option<MaxTokensField>,
}

/// Prices in micro-dollars for a million tokens ($3 are 3,000,000).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelPrice {
    /// Input that no cache had.
    pub input: u64,
    /// Output, reasoning included.
    pub output: u64,
    /// Input read from a cache; that of other input when it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Input written to a cache; that of other input when it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
}

/// What is known of a model; what is absent nobody knows. The fields are those of crate `provider`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema,
)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelFacts {
    /// Tokens that a request and its answer may have together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u32>,
    /// Tokens that an answer may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// Whether it calls tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// Whether it sees pictures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vision: Option<bool>,
    /// Whether it reasons, and so takes an [`Effort`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<bool>,
    /// What it costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<ModelPrice>,
}

/// A model that a picker offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OfferedModel {
    /// Its name in requests.
    pub id: Text<256>,
    /// Its name for people; empty when there is none. Foreign text.
    #[serde(default)]
    pub name: Text<256>,
    /// Whether the server lists it; else the person named it.
    pub listed: bool,
    /// All that is known of it: its name, then the server's list and the last try, then the person, each over the one
    /// before.
    pub facts: ModelFacts,
}

/// What the person says of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DescribedModel {
    /// Its name in requests.
    pub id: Text<256>,
    /// What the person says; what is absent is left to the other sources.
    pub facts: ModelFacts,
}

/// A connection as a form has it, which need not be saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionDraft {
    /// Which protocol it speaks.
    #[serde(default)]
    pub wire: ProviderWire,
    /// Where its API is.
    pub base_url: Text<2048>,
    /// The credentials that were typed.
    #[serde(default)]
    pub keys: Vec<IncomingKey>,
    /// All headers.
    #[serde(default)]
    pub headers: Vec<HeaderChange>,
    /// What the server wants differently.
    #[serde(default)]
    pub quirks: Quirks,
    /// The models that the person named.
    #[serde(default)]
    pub models: Vec<Text<256>>,
    /// Whether the person agreed that stored credentials go to this address although it is another one.
    #[serde(default)]
    pub keeps_secrets: bool,
}

/// How to generate. What is absent is the provider's default.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema,
)]
#[serde(rename_all = "camelCase", default)]
pub struct GenerationParameters {
    /// Sampling temperature in hundredths, 0 to 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<u32>,
    /// Nucleus sampling in hundredths, 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<u32>,
    /// Most tokens that an answer may have; at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// How much a reasoning model should think.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
}

/// A group of tools, by where they do their work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ToolLevel {
    /// The browser's own interface: tabs.
    L0,
    /// Pages.
    L1,
    /// The debugger.
    L2,
    /// Remote servers.
    Mcp,
    /// The engine itself: questions, waits.
    Builtin,
}

/// Choices under one name, for a conversation to begin with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Preset {
    /// Identity, minted by the view for a new one; not blank.
    #[schemars(length(min = 1))]
    pub id: Text<128>,
    /// Shown name; unique regardless of case.
    pub name: Text<200>,
    /// The model; none for the default one.
    #[serde(default)]
    pub model: Option<ModelChoice>,
    /// Instructions beside those of the settings.
    #[serde(default)]
    pub prompt: Text<20000>,
    /// How to generate.
    #[serde(default)]
    pub parameters: GenerationParameters,
    /// The tools that are offered; none for all.
    #[serde(default)]
    pub tool_levels: Option<Vec<ToolLevel>>,
    /// When the agent must ask; none for what the settings say.
    #[serde(default)]
    pub policy: Option<PermissionPolicy>,
}

/// The model of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadModel {
    /// Which; none for that of the preset or the settings.
    pub choice: Option<ModelChoice>,
}

/// How much the model of a conversation should think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadEffort {
    /// How much; none for what the preset says, or the provider's default.
    pub choice: Option<Effort>,
}

/// A part of the try of a connection, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TryStep {
    /// A server answers.
    Reachable,
    /// It lists its models.
    Models,
    /// A model answers as a stream.
    Stream,
    /// It calls a tool and takes the result.
    Tools,
    /// It sees a picture.
    Image,
}

/// How a part of a try ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TryOutcome {
    /// It works.
    Passed,
    /// It does not.
    Failed,
    /// It was not tried, or the server has no such thing.
    Skipped,
}
