//! What the executor can be asked to do in its document.

use std::borrow::Cow;
use std::fmt;

use panelot_base::json::{FromJson, JsonError, Reading, ToJson, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use crate::limits;

/// Pattern of an [`ElementRef`]: the tag of the document, a hyphen, the element's number in it.
pub(crate) const REF_PATTERN: &str = "^[a-z0-9]{4}-[1-9][0-9]{0,8}$";

/// Names one element of one document, for as long as both live: `k7q2-14`.
///
/// The four characters before the hyphen are drawn at random when the executor starts in a document, so that a
/// reference into an earlier document is recognised as stale. The number counts up and is never given twice.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct ElementRef(String);

/// A text that is not a reference to an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidRef;

impl fmt::Display for InvalidRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an element reference; they look like k7q2-14")
    }
}

impl std::error::Error for InvalidRef {}

impl ElementRef {
    /// Checks and wraps a text.
    ///
    /// # Errors
    /// [`InvalidRef`] when it does not have the form of a reference.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidRef> {
        let text = text.into();
        let fits = text.split_once('-').is_some_and(|(tag, number)| {
            tag.len() == 4
                && tag.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
                && (1..=9).contains(&number.len())
                && number.bytes().all(|b| b.is_ascii_digit())
                && !number.starts_with('0')
        });
        if fits { Ok(Self(text)) } else { Err(InvalidRef) }
    }

    /// The text of the reference.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ElementRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ElementRef({})", self.0)
    }
}

impl fmt::Display for ElementRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl ToJson for ElementRef {
    fn to_json(&self) -> Value {
        self.0.to_json()
    }
}

impl FromJson for ElementRef {
    fn blank(_: &Reading) -> Self {
        Self(String::new())
    }

    fn read(&mut self, value: Value, reading: &mut Reading) {
        let read = String::from_json(value);
        let read = read.and_then(|text| Self::new(text).map_err(|error| JsonError::new(error.to_string())));
        reading.set(self, read);
    }
}

impl<'de> Deserialize<'de> for ElementRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for ElementRef {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("ElementRef")
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": REF_PATTERN})
    }
}

/// Which option of a select box is meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(tag = "by", rename_all = "camelCase", deny_unknown_fields)]
pub enum OptionChoice {
    /// The option with this `value`.
    Value {
        /// The value, compared exactly.
        #[schemars(length(max = limits::OPTION_UNITS_MAX))]
        value: String,
    },
    /// The option that shows this text.
    Label {
        /// The text, compared with white space collapsed.
        #[schemars(length(max = limits::OPTION_UNITS_MAX))]
        label: String,
    },
}

/// One thing to do in a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", deny_unknown_fields)]
pub enum Action {
    /// Report what the page shows.
    ReadPage {},
    /// Click an element in its middle.
    Click {
        /// The element.
        target: ElementRef,
    },
    /// Put text into a field.
    Type {
        /// The field.
        target: ElementRef,
        /// The text.
        #[schemars(length(max = limits::TYPE_TEXT_UNITS_MAX))]
        text: String,
        /// Whether it replaces what the field holds; otherwise it is added at the end.
        clear: bool,
        /// Whether Enter is pressed afterwards.
        submit: bool,
    },
    /// Choose an option of a select box.
    SelectOption {
        /// The select box.
        target: ElementRef,
        /// The option.
        choice: OptionChoice,
    },
}

impl Action {
    /// Whether it only looks. Only such an action may be sent a second time after a lost channel.
    #[must_use]
    pub const fn is_read(&self) -> bool {
        matches!(self, Self::ReadPage {})
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, ElementRef};
    use serde_json::json;

    #[test]
    fn a_reference_is_a_tag_and_a_number() {
        for good in ["k7q2-1", "0000-999999999"] {
            assert!(ElementRef::new(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "k7q2",
            "k7q2-",
            "k7q2-0",
            "k7q2-01",
            "K7q2-1",
            "k7q-1",
            "k7q2-1x",
            "k7q2-1234567890",
            "k7q2--1",
        ] {
            assert!(ElementRef::new(bad).is_err(), "{bad}");
            assert!(serde_json::from_value::<ElementRef>(json!(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_action_with_an_unknown_or_missing_field_is_refused() {
        assert!(serde_json::from_value::<Action>(json!({"type": "click", "target": "k7q2-1"})).is_ok());
        for bad in [
            json!({"type": "click"}),
            json!({"type": "click", "target": "k7q2-1", "force": true}),
            json!({"type": "readPage", "deep": true}),
            json!({"type": "type", "target": "k7q2-1", "text": "x"}),
            json!({"type": "selectOption", "target": "k7q2-1", "choice": {"by": "index", "index": 1}}),
        ] {
            assert!(serde_json::from_value::<Action>(bad.clone()).is_err(), "{bad}");
        }
    }
}
