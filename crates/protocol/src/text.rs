//! Text with a bound.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use panelot_base::json::{FromJson, JsonError, Reading, ToJson, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

/// Text of at most `MAX` bytes of UTF-8; longer text does not decode.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Text<const MAX: usize>(String);

impl<const MAX: usize> Text<MAX> {
    /// Wraps a text that fits.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        (text.len() <= MAX).then_some(Self(text))
    }

    /// Wraps a text, cut at the last character that fits.
    #[must_use]
    pub fn clipped(text: &str) -> Self {
        let mut end = text.len().min(MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self(text.get(..end).unwrap_or_default().to_owned())
    }

    /// The text itself.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

impl<const MAX: usize> Deref for Text<MAX> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> fmt::Display for Text<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Text<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(text)
            .ok_or_else(|| serde::de::Error::custom(format_args!("text of at most {MAX} bytes expected")))
    }
}

impl<const MAX: usize> FromJson for Text<MAX> {
    fn blank(_: &Reading) -> Self {
        Self(String::new())
    }

    fn read(&mut self, value: Value, reading: &mut Reading) {
        let read = String::from_json(value).and_then(|text| {
            Self::new(text).ok_or_else(|| {
                JsonError::new(["text of at most ", &MAX.to_string(), " bytes expected"].concat())
            })
        });
        reading.set(self, read);
    }
}

impl<const MAX: usize> ToJson for Text<MAX> {
    fn to_json(&self) -> Value {
        self.0.to_json()
    }
}

impl<const MAX: usize> JsonSchema for Text<MAX> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        Cow::Owned(format!("Text{MAX}"))
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "x-bytesMax": MAX})
    }
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn text_that_is_too_long_does_not_decode() {
        assert!(serde_json::from_value::<Text<4>>("äö".into()).is_ok());
        assert!(serde_json::from_value::<Text<4>>("äöx".into()).is_err());
    }

    #[test]
    fn clipping_keeps_whole_characters() {
        assert_eq!(&*Text::<4>::clipped("aäö"), "aä");
        assert_eq!(&*Text::<4>::clipped("ab"), "ab");
    }
}
