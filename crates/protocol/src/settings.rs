//! What the person set up, as views see it. Credentials go in and never come out.

use panelot_base::json::{FromJson, ToJson};
use panelot_base::{ConnectionId, RuleId, Secret, ThreadId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Text;
use crate::connection::{
    DescribedModel, HeaderChange, HeaderView, KeyView, ModelFacts, OfferedModel, Preset, Quirks,
};

/// When the agent must ask.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum PermissionPolicy {
    /// Before everything, even reading.
    Always,
    /// Before everything that may change something.
    #[default]
    Untrusted,
    /// Only where a rule or a sensitive payload demands it.
    Auto,
}

/// The colour scheme.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Theme {
    /// As the system has it.
    #[default]
    System,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

/// The language of the interface.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema,
)]
pub enum Language {
    /// As the browser has it.
    #[default]
    #[serde(rename = "system")]
    System,
    /// English.
    #[serde(rename = "en")]
    En,
    /// Simplified Chinese.
    #[serde(rename = "zh-CN")]
    ZhCn,
}

/// A model of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelChoice {
    /// The connection.
    pub connection_id: ConnectionId,
    /// The model's name at the provider.
    pub model_id: Text<256>,
}

/// A protocol that providers speak.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum ProviderWire {
    /// OpenAI's chat completions and everything compatible.
    #[default]
    Openai,
    /// Anthropic's messages and everything compatible.
    Anthropic,
    /// OpenAI's Responses.
    Responses,
    /// None: the model that is built into the browser.
    BuiltIn,
}

/// A connection as views see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionView {
    /// Identity.
    pub id: ConnectionId,
    /// Shown name.
    pub name: Text<200>,
    /// Which protocol it speaks.
    #[serde(default)]
    pub wire: ProviderWire,
    /// Where its API is.
    pub base_url: Text<2048>,
    /// The models the person named.
    pub models: Vec<Text<256>>,
    /// Whether a credential is stored for it.
    pub has_key: bool,
    /// The stored credentials, in the order of their use.
    #[serde(default)]
    pub keys: Vec<KeyView>,
    /// The person's own headers.
    #[serde(default)]
    pub headers: Vec<HeaderView>,
    /// What its server wants differently.
    #[serde(default)]
    pub quirks: Quirks,
    /// Whether it needs no credential.
    #[serde(default)]
    pub keyless: bool,
    /// The models to choose from: those that the person named, then those that it lists.
    #[serde(default)]
    pub offers: Vec<OfferedModel>,
    /// What the person says of models.
    #[serde(default)]
    pub described: Vec<DescribedModel>,
    /// When it was last asked for its list.
    #[serde(default)]
    pub listed_at: Option<Timestamp>,
}

/// What a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RuleVerdict {
    /// Do it without asking.
    Allow,
    /// Ask first.
    Ask,
    /// Never do it.
    Deny,
}

/// A saved permission rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleView {
    /// Identity.
    pub id: RuleId,
    /// What it says.
    pub verdict: RuleVerdict,
    /// A tool's name, or `*`.
    pub tool: Text<128>,
    /// An origin, `*.domain`, or `*`.
    pub origin: Text<512>,
}

/// A permission that ends when the browser closes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantView {
    /// The conversation that it was given in.
    pub granted_in: ThreadId,
    /// The tool.
    pub tool: Text<128>,
    /// The origin.
    pub origin: Text<2048>,
    /// When it was given.
    pub at: Timestamp,
}

/// How credentials are protected by a passphrase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VaultView {
    /// Salt of PBKDF2-SHA-256, base64.
    pub salt: Text<64>,
    /// Its iterations.
    pub iterations: u32,
    /// Whether the passphrase was given in this browser session; else nothing that needs a key can begin.
    pub unlocked: bool,
}

/// Everything that the person set up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingsView {
    /// Grows by one with each change.
    pub revision: u64,
    /// Model connections.
    pub connections: Vec<ConnectionView>,
    /// The model that new messages use.
    pub default_model: Option<ModelChoice>,
    /// The model for small tasks such as titles; none for the one that the message uses.
    #[serde(default)]
    pub task_model: Option<ModelChoice>,
    /// Tokens after which a turn pauses; none for no bound.
    #[serde(default)]
    pub turn_token_budget: Option<u64>,
    /// When the agent must ask.
    pub policy: PermissionPolicy,
    /// The language of the interface.
    pub language: Language,
    /// The colour scheme.
    pub theme: Theme,
    /// Instructions that go with every message.
    pub prompt: Text<20000>,
    /// Choices under one name.
    #[serde(default)]
    pub presets: Vec<Preset>,
    /// Saved permission rules.
    pub rules: Vec<RuleView>,
    /// Permissions of this browser session.
    #[serde(default)]
    pub grants: Vec<GrantView>,
    /// How credentials are protected; none while no passphrase is set.
    #[serde(default)]
    pub vault: Option<VaultView>,
}

/// A credential on its way in.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, FromJson)]
#[serde(from = "String")]
pub struct IncomingKey(Secret);

impl From<String> for IncomingKey {
    fn from(text: String) -> Self {
        Self(Secret::new(text))
    }
}

impl IncomingKey {
    /// Wraps a credential that the person typed.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(Secret::new(text))
    }

    /// The credential.
    #[must_use]
    pub fn into_secret(self) -> Secret {
        self.0
    }

    /// Whether nothing was typed.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.0.expose().trim().is_empty()
    }

    /// Whether it can be the value of a header.
    #[must_use]
    pub fn is_header_value(&self) -> bool {
        !self.0.expose().chars().any(|c| c.is_control() || u32::from(c) > 0xff)
    }

    /// What may be shown of it: its last four characters, of a long one only.
    #[must_use]
    pub fn hint(&self) -> String {
        const SHOWN: usize = 4;
        let letters = self.0.expose().trim();
        let count = letters.chars().count();
        let shown = if count >= SHOWN * 4 { SHOWN } else { 0 };
        std::iter::once('…').chain(letters.chars().skip(count - shown)).collect()
    }

    /// The value of a header, for showing, when it is none of a secret's kind: neither does the header's name speak of
    /// one, nor does it look like one itself.
    #[must_use]
    pub fn shown_in(&self, header: &str) -> Option<String> {
        const WORDS: [&str; 8] = ["auth", "key", "token", "secret", "cookie", "pass", "cred", "sign"];
        let (name, value) = (header.to_ascii_lowercase(), self.0.expose());
        let is_random = value.split(|c: char| !c.is_ascii_alphanumeric()).any(|run| run.len() >= 20);
        (!is_random && !WORDS.iter().any(|word| name.contains(word))).then(|| value.to_owned())
    }
}

impl ToJson for IncomingKey {
    fn to_json(&self) -> panelot_base::json::Value {
        self.0.expose().to_json()
    }
}

// Written only by a view that sends it to the engine; the engine has no message that holds one.
impl Serialize for IncomingKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.expose())
    }
}

impl JsonSchema for IncomingKey {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "IncomingKey".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string"})
    }
}

/// A change of how credentials are protected. No passphrase travels: a view derives the key that it gives, 32 bytes in
/// base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum SecretsChange {
    /// Set a passphrase, or another one.
    Protect {
        /// Salt of the new passphrase's key, base64 of 16 random bytes.
        salt: Text<64>,
        /// The key that the new passphrase gives with [`crate::KDF_ITERATIONS`].
        key: IncomingKey,
        /// The key that the present passphrase gives; absent while there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        current: Option<IncomingKey>,
    },
    /// Remove the passphrase.
    Unprotect {
        /// The key that it gives.
        current: IncomingKey,
    },
    /// Forget every credential and the passphrase, and nothing else.
    Reset {},
}

/// One change of the settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum SettingsChange {
    /// Add or change a connection.
    #[serde(rename_all = "camelCase")]
    PutConnection {
        /// Identity, minted by the view for a new one.
        id: ConnectionId,
        /// Shown name.
        name: Text<200>,
        /// Which protocol it speaks.
        #[serde(default)]
        wire: ProviderWire,
        /// Where its API is; `http` or `https`.
        base_url: Text<2048>,
        /// The models the person names.
        models: Vec<Text<256>>,
        /// The only credential from now on; absent leaves what is stored, empty removes all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<IncomingKey>,
        /// Further credentials.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        add_keys: Vec<IncomingKey>,
        /// Stored credentials to forget, by slot.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        remove_keys: Vec<u32>,
        /// All headers from now on; absent leaves them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        headers: Option<Vec<HeaderChange>>,
        /// What its server wants differently; absent leaves it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quirks: Option<Quirks>,
        /// Whether it needs no credential; absent leaves it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keyless: Option<bool>,
    },
    /// Say what is true of a model.
    #[serde(rename_all = "camelCase")]
    DescribeModel {
        /// Whose.
        connection_id: ConnectionId,
        /// Which.
        model_id: Text<256>,
        /// What; none to leave it to the other sources again.
        facts: Option<ModelFacts>,
    },
    /// Add or change a preset.
    PutPreset {
        /// The preset.
        preset: Box<Preset>,
    },
    /// Remove a preset.
    RemovePreset {
        /// Which.
        id: Text<128>,
    },
    /// Remove a connection and its credential.
    RemoveConnection {
        /// Which.
        id: ConnectionId,
    },
    /// Choose the model for new messages.
    SetDefaultModel {
        /// Which; none for "the first there is".
        model: Option<ModelChoice>,
    },
    /// Choose the model for small tasks such as titles.
    SetTaskModel {
        /// Which; none for the one that the message uses.
        model: Option<ModelChoice>,
    },
    /// Bound the tokens of a turn. Turns under way keep the bound that they began with.
    SetTurnTokenBudget {
        /// Input and output tokens after which a turn pauses; none for no bound.
        tokens: Option<u64>,
    },
    /// Choose when the agent must ask.
    SetPolicy {
        /// Which.
        policy: PermissionPolicy,
    },
    /// Choose the language.
    SetLanguage {
        /// Which.
        language: Language,
    },
    /// Choose the colour scheme.
    SetTheme {
        /// Which.
        theme: Theme,
    },
    /// Change the instructions that go with every message.
    SetPrompt {
        /// The instructions.
        prompt: Text<20000>,
    },
}
