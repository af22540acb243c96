//! Types as JSON values, in little code; reading tells the path of whatever is wrong.
//!
//! `#[derive(FromJson, ToJson)]` follow a type's `serde` attributes, and serde is the oracle of their tests; why serde
//! itself does not do it in the worker: `docs/decisions/0011-size-of-the-worker.md`.

use std::collections::BTreeMap;

pub use panelot_json_derive::{FromJson, ToJson};
pub use serde_json::Value;
use serde_json::{Map, Number};

/// A value that is not of the type that was to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// Where, from the root, as `a.b[2].c`; empty for the root.
    path: String,
    problem: String,
}

impl std::error::Error for JsonError {}

impl std::fmt::Display for JsonError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.path.is_empty() {
            f.write_str(&self.path)?;
            f.write_str(": ")?;
        }
        f.write_str(&self.problem)
    }
}

impl JsonError {
    /// Something is wrong with the value itself.
    #[must_use]
    pub fn new(problem: impl Into<String>) -> Self {
        Self { path: String::new(), problem: problem.into() }
    }

    /// Another kind of value was expected.
    #[must_use]
    pub fn expected(what: &str, found: &Value) -> Self {
        let found = match found {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a text",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        let mut problem = what.to_owned();
        problem.push_str(" expected, not ");
        problem.push_str(found);
        Self::new(problem)
    }

    /// A name that is none of those there are.
    #[must_use]
    pub fn unknown(name: &str) -> Self {
        let mut problem = "unknown name ".to_owned();
        problem.push_str(&Value::from(name.chars().take(100).collect::<String>()).to_string());
        Self::new(problem)
    }

    /// The same error, one level further out: below `key`.
    #[must_use]
    pub fn at(mut self, key: &str) -> Self {
        let below = std::mem::take(&mut self.path);
        self.path.push_str(key);
        if !below.is_empty() && !below.starts_with('[') {
            self.path.push('.');
        }
        self.path.push_str(&below);
        self
    }

    /// Where it is, from the root; empty for the root itself.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// A type that can be read from a JSON value.
pub trait FromJson: Sized {
    /// Reads a value.
    ///
    /// # Errors
    /// [`JsonError`] names the first thing that is wrong and where it is.
    fn from_json(value: Value) -> Result<Self, JsonError>;

    /// What an absent field of this type means; none where it must be there.
    #[must_use]
    fn absent() -> Option<Self> {
        None
    }
}

/// The fields of an object, taken out one by one. What is wrong is noted, and told by [`Fields::finish`].
pub struct Fields {
    left: Map<String, Value>,
    error: Option<JsonError>,
}

impl Fields {
    /// The fields of an object.
    ///
    /// # Errors
    /// [`JsonError`] when the value is something else.
    pub fn of(value: Value) -> Result<Self, JsonError> {
        match value {
            Value::Object(left) => Ok(Self { left, error: None }),
            other => Err(JsonError::expected("an object", &other)),
        }
    }

    /// The object that is left.
    #[must_use]
    pub fn into_value(self) -> Value {
        Value::Object(self.left)
    }

    /// A field that must be there, unless its type says what an absent one means. None when it is missing or wrong.
    pub fn required<T: FromJson>(&mut self, key: &str) -> Option<T> {
        match self.left.remove(key) {
            Some(value) => self.note(key, T::from_json(value)),
            None => T::absent().or_else(|| self.fail(key, JsonError::new("missing"))),
        }
    }

    /// A field that may be absent. None when it is wrong.
    pub fn or_default<T: FromJson + Default>(&mut self, key: &str) -> Option<T> {
        self.or_else(key, T::default)
    }

    /// A field that may be absent, and what it is then. None when it is wrong.
    pub fn or_else<T: FromJson>(&mut self, key: &str, absent: impl FnOnce() -> T) -> Option<T> {
        match self.left.remove(key) {
            Some(value) => self.note(key, T::from_json(value)),
            None => Some(absent()),
        }
    }

    fn note<T>(&mut self, key: &str, read: Result<T, JsonError>) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(error) => self.fail(key, error),
        }
    }

    #[inline(never)]
    fn keep(&mut self, key: &str, error: JsonError) {
        if self.error.is_none() {
            self.error = Some(error.at(key));
        }
    }

    fn fail<T>(&mut self, key: &str, error: JsonError) -> Option<T> {
        self.keep(key, error);
        None
    }

    /// The text that says which variant it is.
    ///
    /// # Errors
    /// [`JsonError`] when it is missing or no text.
    pub fn tag(&mut self, key: &str) -> Result<String, JsonError> {
        match self.required(key) {
            Some(tag) => Ok(tag),
            None => Err(self.error.take().unwrap_or_else(|| JsonError::new("missing").at(key))),
        }
    }

    /// Refuses what was not taken.
    pub fn deny_unknown(&mut self) {
        if let Some(key) = self.left.keys().next().cloned() {
            self.keep(&key, JsonError::new("unknown field"));
        }
    }

    /// Whether everything was right.
    ///
    /// # Errors
    /// The first [`JsonError`] that was noted.
    pub fn finish(self) -> Result<(), JsonError> {
        self.error.map_or(Ok(()), Err)
    }
}

/// A type that can be written as a JSON value.
pub trait ToJson {
    /// The value.
    fn to_json(&self) -> Value;
}

/// An object that is being written.
#[derive(Default)]
pub struct Object(Map<String, Value>);

impl Object {
    /// An object without fields.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An object that says which variant it is.
    #[must_use]
    pub fn tagged(tag: &str, name: &str) -> Self {
        let mut object = Self::new();
        object.put(tag, Value::from(name));
        object
    }

    /// Adds a field.
    pub fn put(&mut self, key: &str, value: Value) {
        self.0.insert(key.to_owned(), value);
    }

    /// The finished object.
    #[must_use]
    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

/// The object of a variant's content, with the tag added.
#[must_use]
pub fn with_tag(tag: &str, name: &str, content: Value) -> Value {
    match content {
        Value::Object(fields) => {
            let mut object = Object(fields);
            object.put(tag, Value::from(name));
            object.into_value()
        }
        other => other,
    }
}

/// The word that stands for a variant without content; empty for anything that is no text.
#[must_use]
pub fn word(value: &impl ToJson) -> String {
    match value.to_json() {
        Value::String(word) => word,
        _ => String::new(),
    }
}

macro_rules! plain {
    ($($type:ty)*) => {
        $(impl ToJson for $type {
            fn to_json(&self) -> Value {
                Value::from(*self)
            }
        })*
    };
}
plain!(bool u8 u16 u32 u64 usize i32 i64 f64);

impl ToJson for Value {
    fn to_json(&self) -> Value {
        self.clone()
    }
}

impl ToJson for str {
    fn to_json(&self) -> Value {
        Value::String(self.to_owned())
    }
}

impl ToJson for String {
    fn to_json(&self) -> Value {
        self.as_str().to_json()
    }
}

impl<T: ToJson> ToJson for Option<T> {
    fn to_json(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_json)
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn to_json(&self) -> Value {
        let mut items = Vec::with_capacity(self.len());
        for item in self {
            items.push(item.to_json());
        }
        Value::Array(items)
    }
}

impl<T: ToJson> ToJson for Box<T> {
    fn to_json(&self) -> Value {
        T::to_json(self)
    }
}

impl ToJson for Map<String, Value> {
    fn to_json(&self) -> Value {
        Value::Object(self.clone())
    }
}

impl<T: ToJson> ToJson for BTreeMap<String, T> {
    fn to_json(&self) -> Value {
        let mut object = Object::new();
        for (key, value) in self {
            object.put(key, value.to_json());
        }
        object.into_value()
    }
}

/// As serde writes it: `{"Ok": …}` or `{"Err": …}`.
impl<T: ToJson, E: ToJson> ToJson for Result<T, E> {
    fn to_json(&self) -> Value {
        let mut object = Object::new();
        match self {
            Ok(value) => object.put("Ok", value.to_json()),
            Err(error) => object.put("Err", error.to_json()),
        }
        object.into_value()
    }
}

/// The name of an externally tagged variant, and its content when it has one.
///
/// # Errors
/// [`JsonError`] when the value is neither a text nor an object with one field.
pub fn variant(value: Value) -> Result<(String, Option<Value>), JsonError> {
    match value {
        Value::String(name) => Ok((name, None)),
        Value::Object(fields) if fields.len() == 1 => {
            let field = fields.into_iter().next();
            field
                .map(|(name, content)| (name, Some(content)))
                .ok_or_else(|| JsonError::new("a name expected"))
        }
        other => Err(JsonError::expected("a name, or an object with one field,", &other)),
    }
}

impl FromJson for Value {
    fn from_json(value: Value) -> Result<Self, JsonError> {
        Ok(value)
    }
}

impl FromJson for String {
    fn from_json(value: Value) -> Result<Self, JsonError> {
        match value {
            Value::String(text) => Ok(text),
            other => Err(JsonError::expected("a text", &other)),
        }
    }
}

impl FromJson for bool {
    fn from_json(value: Value) -> Result<Self, JsonError> {
        value.as_bool().ok_or_else(|| JsonError::expected("true or false", &value))
    }
}

impl FromJson for f64 {
    fn from_json(value: Value) -> Result<Self, JsonError> {
        value.as_f64().ok_or_else(|| JsonError::expected("a number", &value))
    }
}

fn whole(value: &Value) -> Result<&Number, JsonError> {
    match value {
        Value::Number(number) => Ok(number),
        other => Err(JsonError::expected("a whole number", other)),
    }
}

macro_rules! whole_numbers {
    ($($unsigned:ty)*; $($signed:ty)*) => {
        $(impl FromJson for $unsigned {
            fn from_json(value: Value) -> Result<Self, JsonError> {
                let read = whole(&value)?.as_u64().and_then(|number| number.try_into().ok());
                read.ok_or_else(|| JsonError::new("a whole number in range expected"))
            }
        })*
        $(impl FromJson for $signed {
            fn from_json(value: Value) -> Result<Self, JsonError> {
                let read = whole(&value)?.as_i64().and_then(|number| number.try_into().ok());
                read.ok_or_else(|| JsonError::new("a whole number in range expected"))
            }
        })*
    };
}
whole_numbers!(u8 u16 u32 u64 usize; i32 i64);

impl<T: FromJson> FromJson for Option<T> {
    fn from_json(value: Value) -> Result<Self, JsonError> {
        if value.is_null() { Ok(None) } else { T::from_json(value).map(Some) }
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(value: Value) -> Result<Self, JsonError> {
        let Value::Array(items) = value else { return Err(JsonError::expected("a list", &value)) };
        let mut read = Self::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            match T::from_json(item) {
                Ok(item) => read.push(item),
                Err(error) => return Err(error.at(&["[", &index.to_string(), "]"].concat())),
            }
        }
        Ok(read)
    }
}

impl<T: FromJson> FromJson for Box<T> {
    fn from_json(value: Value) -> Result<Self, JsonError> {
        T::from_json(value).map(Self::new)
    }
}

impl FromJson for Map<String, Value> {
    fn from_json(value: Value) -> Result<Self, JsonError> {
        Fields::of(value).map(|fields| fields.left)
    }
}

impl<T: FromJson> FromJson for BTreeMap<String, T> {
    fn from_json(value: Value) -> Result<Self, JsonError> {
        let mut read = Self::new();
        for (key, value) in Fields::of(value)?.left {
            let item = T::from_json(value).map_err(|error| error.at(&key))?;
            read.insert(key, item);
        }
        Ok(read)
    }
}

/// As serde writes it: `{"Ok": …}` or `{"Err": …}`.
impl<T: FromJson, E: FromJson> FromJson for Result<T, E> {
    fn from_json(value: Value) -> Result<Self, JsonError> {
        match variant(value)? {
            (name, Some(content)) if name == "Ok" => T::from_json(content).map(Ok),
            (name, Some(content)) if name == "Err" => E::from_json(content).map(Err),
            (name, _) => Err(JsonError::unknown(&name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use serde_json::{Value, json};

    use super::{Fields, FromJson, JsonError, ToJson};

    #[test]
    fn the_path_of_what_is_wrong_is_told_from_the_root() {
        let mut fields = Fields::of(json!({"a": [{"b": 1}, {"b": "x"}]})).unwrap();
        assert_eq!(fields.required::<Vec<std::collections::BTreeMap<String, u32>>>("a"), None);
        let error = fields.finish().unwrap_err();
        assert_eq!(error.to_string(), "a[1].b: a whole number expected, not a text");
        assert_eq!(error.path(), "a[1].b");
        let mut fields = Fields::of(json!({})).unwrap();
        assert_eq!((fields.required::<u32>("n"), fields.required::<u32>("m")), (None, None));
        assert_eq!(fields.finish().unwrap_err().to_string(), "n: missing", "the first counts");
        assert_eq!(Fields::of(json!({})).unwrap().required::<Option<u32>>("n"), Some(None));
    }

    #[test]
    fn numbers_keep_to_their_range() {
        assert_eq!(u8::from_json(json!(255)), Ok(255));
        assert!(u8::from_json(json!(256)).is_err());
        assert!(u64::from_json(json!(-1)).is_err());
        assert!(u32::from_json(json!(1.5)).is_err());
        assert_eq!(i32::from_json(json!(-7)), Ok(-7));
    }

    #[test]
    fn a_long_unknown_name_is_not_repeated_whole() {
        assert!(JsonError::unknown(&"x".repeat(5000)).to_string().len() < 200);
    }

    /// Every shape and attribute that the derive knows, read by serde and by us.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, FromJson, ToJson)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Everything {
        plain_text: String,
        #[serde(default)]
        count: u32,
        #[serde(rename = "other", default, skip_serializing_if = "Option::is_none")]
        renamed: Option<i64>,
        state: State,
        body: Body,
        outside: Vec<Outside>,
        wrapped: Wrapped,
        raw: Value,
        maybe: Option<Box<Defaulted>>,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, FromJson, ToJson)]
    #[serde(rename_all = "snake_case")]
    enum State {
        WaitingApproval,
        #[serde(rename = "zz")]
        Renamed,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, FromJson, ToJson)]
    #[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
    enum Body {
        Nothing,
        SomeFields { the_number: u32, the_text: Option<String> },
        Inner(Defaulted),
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, FromJson, ToJson)]
    #[serde(rename_all = "camelCase")]
    enum Outside {
        Word,
        One(u32),
        #[serde(rename_all = "camelCase")]
        Many {
            a_b: bool,
        },
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, FromJson, ToJson)]
    #[serde(transparent)]
    struct Wrapped(u64);

    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, FromJson, ToJson)]
    #[serde(rename_all = "kebab-case", default)]
    struct Defaulted {
        a_name: String,
        size: u8,
    }

    fn sample() -> Value {
        json!({
            "plainText": "x", "count": 1, "other": -3, "state": "waiting_approval",
            "body": {"type": "someFields", "theNumber": 1, "theText": null},
            "outside": ["word", {"one": 5}, {"many": {"aB": true}}], "wrapped": 7, "raw": [1, null],
            "maybe": {"a-name": "y"}
        })
    }

    fn same(value: &Value) {
        let by_serde = serde_json::from_value::<Everything>(value.clone()).ok();
        let by_us = Everything::from_json(value.clone()).ok();
        assert_eq!(by_us, by_serde, "{value}");
        if let Some(read) = by_us {
            assert_eq!(read.to_json(), serde_json::to_value(&read).unwrap(), "written");
        }
    }

    #[test]
    fn every_shape_is_read_as_serde_reads_it() {
        assert!(Everything::from_json(sample()).is_ok());
        same(&sample());
        for body in [
            json!({"type": "nothing"}),
            json!({"type": "inner", "size": 3}),
            json!({"type": "?"}),
            json!({}),
            json!("nothing"),
        ] {
            let mut value = sample();
            value["body"] = body;
            same(&value);
        }
    }

    #[test]
    fn whatever_is_spoiled_is_refused_or_accepted_as_serde_does() {
        let spoils = [
            json!(null),
            json!(1),
            json!(-1),
            json!("x"),
            json!([]),
            json!({}),
            json!(true),
            json!(300),
            json!({"one": 1}),
        ];
        let paths = [
            "/plainText",
            "/count",
            "/other",
            "/state",
            "/body",
            "/body/type",
            "/body/theNumber",
            "/body/theText",
            "/outside",
            "/outside/0",
            "/outside/1",
            "/outside/1/one",
            "/outside/2/many/aB",
            "/wrapped",
            "/raw",
            "/maybe",
            "/maybe/a-name",
        ];
        for path in paths {
            for spoil in &spoils {
                let mut value = sample();
                *value.pointer_mut(path).unwrap() = spoil.clone();
                if path == "/maybe" && spoil.is_array() {
                    // serde takes a list of values for an object, by position. Nobody writes that, and we refuse it.
                    assert!(Everything::from_json(value).is_err());
                } else {
                    same(&value);
                }
            }
        }
        for key in ["plainText", "count", "other", "state", "body", "outside", "wrapped", "raw", "maybe"] {
            let mut value = sample();
            value.as_object_mut().unwrap().remove(key);
            same(&value);
        }
        let mut value = sample();
        value["more"] = json!(1);
        same(&value);
    }
}
