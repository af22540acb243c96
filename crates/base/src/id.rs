//! Identifiers: one type per noun, all text, all bounded.
//!
//! Clients mint `ClientId` and `SubmissionId`; the engine mints the rest from an [`IdSource`] that is seeded from
//! outside, so that the same inputs give the same ids.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest as _, Sha256};

use crate::json::{FromJson, JsonError, Reading, ToJson, Value};

/// Longest identifier, in bytes. A UUID needs 36; the rest is room for prefixed forms.
pub const ID_BYTES_MAX: usize = 128;

/// A text that cannot be an identifier: empty, too long, or with characters outside printable ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id has 1 to {ID_BYTES_MAX} printable ASCII characters")]
pub struct InvalidId;

fn check(text: &str) -> Result<(), InvalidId> {
    let fits = !text.is_empty() && text.len() <= ID_BYTES_MAX && text.bytes().all(|b| b.is_ascii_graphic());
    if fits { Ok(()) } else { Err(InvalidId) }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Checks and wraps a text.
            ///
            /// # Errors
            /// [`InvalidId`] when the text is empty, too long or not printable ASCII.
            pub fn new(text: impl Into<String>) -> Result<Self, InvalidId> {
                let text = text.into();
                check(&text).map(|()| Self(text))
            }

            /// A fresh identifier.
            pub fn mint(source: &mut IdSource) -> Self {
                Self(source.next_uuid())
            }

            /// The text of the identifier.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::new(text).map_err(serde::de::Error::custom)
            }
        }

        impl FromJson for $name {
            fn blank(_: &Reading) -> Self {
                Self(String::new())
            }

            fn read(&mut self, value: Value, reading: &mut Reading) {
                let read = String::from_json(value);
                let read = read.and_then(|text| Self::new(text).map_err(|error| JsonError::new(error.to_string())));
                reading.set(self, read);
            }
        }

        impl ToJson for $name {
            fn to_json(&self) -> Value {
                self.0.to_json()
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "minLength": 1, "maxLength": ID_BYTES_MAX, "pattern": "^[!-~]+$"})
            }
        }
    };
}

id!(
    /// A conversation.
    ThreadId
);
id!(
    /// The durable execution of one submitted message.
    RunId
);
id!(
    /// The streamed activity of a run; a run keeps its turn id across resumes.
    TurnId
);
id!(
    /// One streamed unit inside a turn: an assistant message, a tool call.
    ItemId
);
id!(
    /// Something a call waits for: a question to the person whether it may go ahead, or an interaction.
    ApprovalId
);
id!(
    /// A command of a client; with the client's id it is the identity under which a command is applied once.
    SubmissionId
);
id!(
    /// One document of the user interface (a side panel, a chat tab, an options page).
    ClientId
);
id!(
    /// A configured model provider.
    ConnectionId
);
id!(
    /// A saved permission rule.
    RuleId
);
id!(
    /// One request to a model; a retry is another one.
    ModelCallId
);
id!(
    /// One run of the browser, from its start to its end; session grants end with it.
    SessionId
);
id!(
    /// SHA-256 of a stored run environment, in hexadecimal.
    EnvironmentDigest
);

/// A deterministic source of identifiers: the same seed gives the same sequence.
///
/// The seed comes from outside (128 random bits in the worker, a number in a test).
#[derive(Clone, Debug)]
pub struct IdSource {
    seed: [u8; 16],
    counter: u64,
}

impl IdSource {
    /// A source that starts at the beginning of the sequence of `seed`.
    #[must_use]
    pub const fn new(seed: [u8; 16]) -> Self {
        Self { seed, counter: 0 }
    }

    /// The next identifier in the form of a version 4 UUID (RFC 9562).
    pub fn next_uuid(&mut self) -> String {
        let mut hasher = Sha256::new();
        hasher.update(self.seed);
        hasher.update(self.counter.to_le_bytes());
        self.counter = self.counter.wrapping_add(1);
        let mut bytes: [u8; 16] = [0; 16];
        for (to, from) in bytes.iter_mut().zip(hasher.finalize()) {
            *to = from;
        }
        let [_, _, _, _, _, _, version, _, variant, ..] = &mut bytes;
        *version = (*version & 0x0f) | 0x40;
        *variant = (*variant & 0x3f) | 0x80;
        let mut text = String::with_capacity(36);
        for (index, byte) in bytes.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                text.push('-');
            }
            text.push_str(&format!("{byte:02x}"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{ID_BYTES_MAX, IdSource, InvalidId, ThreadId};

    #[test]
    fn an_id_is_bounded_printable_text() {
        assert!(ThreadId::new("a").is_ok());
        assert!(ThreadId::new("x".repeat(ID_BYTES_MAX)).is_ok());
        for bad in ["", "a b", "a\u{0}", "ü", &"x".repeat(ID_BYTES_MAX + 1)] {
            assert_eq!(ThreadId::new(bad), Err(InvalidId), "{bad:?}");
            assert!(serde_json::from_value::<ThreadId>(bad.into()).is_err());
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_ids_and_no_repeats() {
        let draw = |seed| {
            let mut source = IdSource::new(seed);
            (0..100).map(|_| source.next_uuid()).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(draw([1; 16]), draw([1; 16]));
        assert_eq!(draw([1; 16]).len(), 100);
        assert!(draw([1; 16]).is_disjoint(&draw([2; 16])));
        let id = IdSource::new([3; 16]).next_uuid();
        assert_eq!((id.len(), id.as_bytes()[14]), (36, b'4'));
    }
}
