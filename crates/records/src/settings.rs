//! What the person set up or left unfinished: connections, defaults, permission rules and grants.

use panelot_base::json::{FromJson, ToJson};
use panelot_base::{ConnectionId, RuleId, SafeUrl, SessionId, ThreadId, Timestamp};
use panelot_provider::{Effort, KnownFacts, Quirks};
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
    /// Choices under one name, in the order of their making.
    pub presets: Vec<Preset>,
}

/// Choices under one name, for a conversation to begin with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase", default)]
pub struct Preset {
    /// Identity.
    pub id: String,
    /// Shown name; unique regardless of case.
    pub name: String,
    /// The model; none for the default one.
    pub model: Option<ModelChoice>,
    /// Instructions beside those of the settings.
    pub prompt: String,
    /// Sampling temperature in hundredths.
    pub temperature: Option<u32>,
    /// Nucleus sampling in hundredths.
    pub top_p: Option<u32>,
    /// Most tokens that an answer may have.
    pub max_output_tokens: Option<u32>,
    /// How much a reasoning model should think.
    pub effort: Option<Effort>,
    /// The levels of tools that are offered; none for all.
    pub tool_levels: Option<Vec<String>>,
    /// `always`, `untrusted` or `auto`; none for what the settings say.
    pub policy: Option<String>,
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
    /// The models the person named; the first one is the connection's own default.
    pub models: Vec<String>,
    /// Whether a credential is stored for it. One that was stored before there were several has slot 0 and is not in `keys`.
    pub has_key: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// The stored credentials, in the order of their use.
    #[serde(default)]
    pub keys: Vec<StoredKey>,
    /// The slot of the credential that worked last.
    #[serde(default)]
    pub good_key: u32,
    /// The highest slot that was ever given away; none is given twice.
    #[serde(default)]
    pub last_slot: u32,
    /// Headers that go with every request.
    #[serde(default)]
    pub headers: Vec<StoredHeader>,
    /// What its server wants differently.
    #[serde(default)]
    pub quirks: Quirks,
    /// Whether it needs no credential.
    #[serde(default)]
    pub keyless: bool,
    /// The models that it lists, with what it says of them.
    #[serde(default)]
    pub listed: Vec<ModelEntry>,
    /// When it was last asked for its list.
    #[serde(default)]
    pub listed_at: Option<Timestamp>,
    /// What tries and failures showed, newest model last.
    #[serde(default)]
    pub found: Vec<ModelEntry>,
    /// What the person says of models.
    #[serde(default)]
    pub described: Vec<ModelEntry>,
}

/// A stored credential of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase", default)]
pub struct StoredKey {
    /// Where its secret lies; see [`Connection::secret_id`].
    pub slot: u32,
    /// What may be shown of it.
    pub hint: String,
}

/// A header of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase", default)]
pub struct StoredHeader {
    /// Its name, in lower case.
    pub name: String,
    /// Its value; none for one that is sealed.
    pub value: Option<String>,
    /// Where its secret lies, when its value is sealed.
    pub slot: u32,
}

/// A model, and what one source says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelEntry {
    /// Its name in requests.
    pub id: String,
    /// Its name for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What is said.
    pub facts: KnownFacts,
}

impl Connection {
    /// A connection of which only name and place are known.
    #[must_use]
    pub fn new(id: ConnectionId, wire: ProviderWire, base_url: SafeUrl, created_at: Timestamp) -> Self {
        Self {
            id,
            revision: 0,
            name: String::new(),
            wire,
            base_url,
            models: Vec::new(),
            has_key: false,
            created_at,
            keys: Vec::new(),
            good_key: 0,
            last_slot: 0,
            headers: Vec::new(),
            quirks: Quirks::default(),
            keyless: false,
            listed: Vec::new(),
            listed_at: None,
            found: Vec::new(),
            described: Vec::new(),
        }
    }

    /// The slots of its credentials, as the person has them.
    #[must_use]
    pub fn key_slots(&self) -> Vec<u32> {
        if self.keys.is_empty() && self.has_key {
            return vec![0];
        }
        self.keys.iter().map(|key| key.slot).collect()
    }

    /// The same in the order of their use: from the one that worked last.
    #[must_use]
    pub fn slots_in_use(&self) -> Vec<u32> {
        let mut slots = self.key_slots();
        let good = slots.iter().position(|slot| *slot == self.good_key).unwrap_or_default();
        slots.rotate_left(good);
        slots
    }

    /// The slot at a place of that order.
    #[must_use]
    pub fn slot_in_use(&self, place: usize) -> Option<u32> {
        self.slots_in_use().into_iter().nth(place)
    }

    /// The name under which the secret of a slot is sealed and stored. That of slot 0 is the connection's own, so that
    /// what was stored before there were slots is found.
    #[must_use]
    pub fn secret_id(connection: &ConnectionId, slot: u32) -> ConnectionId {
        if slot == 0 {
            return connection.clone();
        }
        // An id of a connection is short enough (see `put_connection`); else its own is as good as any that is not there.
        ConnectionId::new([connection.as_str(), "#", &slot.to_string()].concat())
            .unwrap_or_else(|_| connection.clone())
    }
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
