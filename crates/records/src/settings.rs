//! What the person set up or left unfinished: connections, defaults, permission rules and grants.

use panelot_base::json::{FromJson, ToJson};
use panelot_base::{ConnectionId, RuleId, SafeUrl, SessionId, ThreadId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::run::ModelChoice;

/// The one settings record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// Grows by one with each change.
    pub revision: u64,
    /// The model that new messages use.
    pub default_model: Option<ModelChoice>,
    /// The model for small tasks; none for the one that the message uses.
    pub task_model: Option<ModelChoice>,
    /// Tokens after which a turn pauses; none for no bound.
    pub turn_token_budget: Option<u64>,
    /// `always`, `untrusted` or `auto`; empty means `untrusted`.
    pub policy: String,
    /// BCP 47 tag of the interface language, empty for the browser's.
    pub language: String,
    /// `light`, `dark`, or empty for the system's.
    pub theme: String,
    /// Instructions of the person that go with every message.
    pub prompt: String,
}

/// A message that is being written and was not sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase", default)]
pub struct Draft {
    /// The conversation it is written in; none for a new one.
    pub thread: Option<ThreadId>,
    /// The text so far.
    pub text: String,
}

/// A protocol that providers speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
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

/// A model provider of the person's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Connection {
    /// Identity.
    pub id: ConnectionId,
    /// Grows by one with each change.
    pub revision: u64,
    /// Shown name.
    pub name: String,
    /// Which protocol it speaks; connections of the first version spoke the first one.
    #[serde(default)]
    pub wire: ProviderWire,
    /// Where its API is.
    pub base_url: SafeUrl,
    /// The models the person uses there; the first one is the connection's own default.
    pub models: Vec<String>,
    /// Whether a credential is stored for it.
    pub has_key: bool,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A credential as the store holds it: sealed with a key that cannot be exported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct SealedSecret {
    /// Whose credential it is.
    pub connection: ConnectionId,
    /// Initialisation vector of AES-256-GCM, base64.
    pub iv: String,
    /// Ciphertext with its tag, base64.
    pub sealed: String,
}

/// How the key that seals all credentials is kept once the person has set a passphrase: encrypted with a key that only the
/// passphrase gives. Without this record that key is one that the browser keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Vault {
    /// Names the sealing key; it stays when the passphrase changes.
    pub id: String,
    /// Salt of PBKDF2-SHA-256, base64 of 16 bytes.
    pub salt: String,
    /// Its iterations.
    pub iterations: u32,
    /// Initialisation vector of AES-256-GCM, base64.
    pub iv: String,
    /// The encrypted sealing key with its tag, base64.
    pub wrapped: String,
}

/// A saved permission rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// Identity.
    pub id: RuleId,
    /// `allow`, `ask` or `deny`.
    pub verdict: String,
    /// A tool's name, or `*`.
    pub tool: String,
    /// An origin, `*.domain`, or `*`.
    pub origin: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A permission that ends with the browser session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// The browser session it belongs to; in any other it is void.
    pub session: SessionId,
    /// The conversation it was given in.
    pub thread: ThreadId,
    /// The tool.
    pub tool: String,
    /// The origin.
    pub origin: String,
    /// When it was given.
    pub at: Timestamp,
}
