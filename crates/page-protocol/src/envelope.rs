//! The envelope of every message, and the checks that come before its content.

use std::borrow::Cow;
use std::fmt;

use panelot_base::Timestamp;
use panelot_base::json::{FromJson, JsonError, Reading, ToJson};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::action::Action;
use crate::budget::{BudgetError, PAGE_BUDGET};
use crate::limits;
use crate::outcome::{ActionFailure, ActionResult, Outcome};
use crate::schema::SCHEMA_HASH;

/// Names this protocol in every message.
pub const PROTOCOL_ID: &str = "panelot/content-v1";

/// Longest request id, in characters.
const REQUEST_ID_CHARS_MAX: usize = 128;

/// Names one request; the answer carries it, and a cancellation names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct RequestId(String);

impl RequestId {
    /// Wraps a text of 1 to 128 printable ASCII characters; `None` for any other.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        let fits =
            (1..=REQUEST_ID_CHARS_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        fits.then_some(Self(text))
    }

    /// The text of the id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ToJson for RequestId {
    fn to_json(&self) -> Value {
        self.0.to_json()
    }
}

impl FromJson for RequestId {
    fn blank(_: &Reading) -> Self {
        Self(String::new())
    }

    fn read(&mut self, value: Value, reading: &mut Reading) {
        let read = String::from_json(value).and_then(|text| {
            Self::new(text)
                .ok_or_else(|| JsonError::new("a request id has 1 to 128 printable ASCII characters"))
        });
        reading.set(self, read);
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(String::deserialize(deserializer)?)
            .ok_or_else(|| serde::de::Error::custom("a request id has 1 to 128 printable ASCII characters"))
    }
}

impl JsonSchema for RequestId {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("RequestId")
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "minLength": 1, "maxLength": REQUEST_ID_CHARS_MAX, "pattern": "^[!-~]+$"})
    }
}

/// A message from the engine to the executor of one document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Request {
    /// [`PROTOCOL_ID`].
    #[schemars(schema_with = "protocol_schema")]
    pub protocol: String,
    /// [`SCHEMA_HASH`].
    #[schemars(length(min = 64, max = 64))]
    pub schema_hash: String,
    /// Names this request.
    pub request_id: RequestId,
    /// Chrome's id of the document that is meant. The executor binds itself to the first one and refuses others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub document_id: Option<String>,
    /// The origin that the document must have at the moment of acting.
    #[schemars(length(max = limits::URL_UNITS_MAX))]
    pub expected_origin: String,
    /// When the request is given up, in Unix milliseconds.
    pub deadline_at: Timestamp,
    /// What is wanted.
    pub body: RequestBody,
}

/// What a request wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum RequestBody {
    /// Do something in the document.
    Execute {
        /// What to do.
        action: Action,
    },
    /// Give up an earlier request.
    Cancel {
        /// The request to give up.
        cancel_request_id: RequestId,
    },
    /// Say whether an executor of this version is there.
    Ping {},
}

/// A message from an executor to the engine: the answer to one [`Request`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Response {
    /// [`PROTOCOL_ID`].
    #[schemars(schema_with = "protocol_schema")]
    pub protocol: String,
    /// The schema hash of the executor.
    #[schemars(length(min = 64, max = 64))]
    pub schema_hash: String,
    /// The request that is answered.
    pub request_id: RequestId,
    /// The answer.
    pub body: Answer,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase", deny_unknown_fields)]
pub enum Answer {
    /// To a ping: the executor is there.
    Pong {
        /// The origin of its document.
        #[schemars(length(max = limits::URL_UNITS_MAX))]
        origin: String,
    },
    /// To a cancellation.
    Cancelled {
        /// Whether that request was still open.
        found: bool,
    },
    /// To an action that was carried out.
    Done {
        /// What was observed.
        result: ActionResult,
    },
    /// To an action that was not, and to any message that was refused.
    Failed {
        /// Why.
        failure: ActionFailure,
    },
}

/// A message that is not a proper answer. It is never retried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireError {
    /// It holds too much.
    TooLarge(BudgetError),
    /// The executor in the page is of another version: inject again.
    OtherVersion,
    /// It answers another request.
    OtherRequest,
    /// It does not have the form of an answer.
    Malformed(String),
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(what) => write!(f, "answer exceeds the budget: {what:?}"),
            Self::OtherVersion => f.write_str("the page executor is of another version"),
            Self::OtherRequest => f.write_str("answer to another request"),
            Self::Malformed(detail) => write!(f, "malformed answer: {detail}"),
        }
    }
}

impl std::error::Error for WireError {}

impl Request {
    /// A request of this version.
    #[must_use]
    pub fn new(
        request_id: RequestId,
        document_id: Option<String>,
        expected_origin: String,
        deadline_at: Timestamp,
        body: RequestBody,
    ) -> Self {
        Self {
            protocol: PROTOCOL_ID.to_owned(),
            schema_hash: SCHEMA_HASH.to_owned(),
            request_id,
            document_id,
            expected_origin,
            deadline_at,
            body,
        }
    }
}

impl Response {
    /// Checks the answer to the request `request_id`: budget, protocol, version, form, and that it belongs to it.
    ///
    /// # Errors
    /// [`WireError`], the first check that fails.
    pub fn decode(value: Value, request_id: &RequestId) -> Result<Self, WireError> {
        PAGE_BUDGET.check(&value).map_err(WireError::TooLarge)?;
        let field = |name: &str| value.get(name).and_then(Value::as_str);
        if field("protocol") != Some(PROTOCOL_ID) {
            return Err(WireError::Malformed("not of this protocol".to_owned()));
        }
        if field("schemaHash") != Some(SCHEMA_HASH) {
            return Err(WireError::OtherVersion);
        }
        let response: Self =
            Self::from_json(value).map_err(|error| WireError::Malformed(error.to_string()))?;
        if response.request_id != *request_id {
            return Err(WireError::OtherRequest);
        }
        Ok(response)
    }

    /// The outcome of an action, when this answers one.
    ///
    /// # Errors
    /// [`WireError::Malformed`] when it answers a ping or a cancellation.
    pub fn into_outcome(self) -> Result<Outcome, WireError> {
        match self.body {
            Answer::Done { result } => Ok(Ok(result)),
            Answer::Failed { failure } => Ok(Err(failure)),
            Answer::Pong { .. } | Answer::Cancelled { .. } => {
                Err(WireError::Malformed("not the answer to an action".to_owned()))
            }
        }
    }
}

fn protocol_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "const": PROTOCOL_ID})
}

#[cfg(test)]
mod tests {
    use super::{Answer, PROTOCOL_ID, RequestId, Response, WireError};
    use crate::{BudgetError, FailureCode, Reach, SCHEMA_HASH};
    use serde_json::{Value, json};

    fn answer(body: Value) -> Value {
        json!({"protocol": PROTOCOL_ID, "schemaHash": SCHEMA_HASH, "requestId": "r1", "body": body})
    }

    fn id(text: &str) -> RequestId {
        RequestId::new(text).unwrap()
    }

    #[test]
    fn a_proper_answer_is_decoded() {
        let response =
            Response::decode(answer(json!({"kind": "pong", "origin": "https://a.test"})), &id("r1")).unwrap();
        assert_eq!(response.body, Answer::Pong { origin: "https://a.test".to_owned() });
        assert!(response.into_outcome().is_err());
        let failed = answer(json!({"kind": "failed", "failure":
            {"code": "stale_ref", "message": "no such ref", "reach": "notStarted"}}));
        let failure = Response::decode(failed, &id("r1")).unwrap().into_outcome().unwrap().unwrap_err();
        assert_eq!((failure.code, failure.reach), (FailureCode::StaleRef, Reach::NotStarted));
    }

    #[test]
    fn what_is_not_the_answer_is_refused_with_the_reason() {
        let good = answer(json!({"kind": "cancelled", "found": true}));
        let with = |key: &str, value: Value| {
            let mut changed = good.clone();
            changed[key] = value;
            changed
        };
        let cases = [
            (with("schemaHash", json!("0".repeat(64))), WireError::OtherVersion),
            (with("requestId", json!("r2")), WireError::OtherRequest),
            (with("protocol", json!("other")), WireError::Malformed("not of this protocol".to_owned())),
            (with("body", json!(vec![0; 50_001])), WireError::TooLarge(BudgetError::ArrayLen)),
        ];
        for (value, want) in cases {
            assert_eq!(Response::decode(value, &id("r1")), Err(want));
        }
        for bad in [
            with("extra", json!(1)),
            with("body", json!({"kind": "done"})),
            with("body", json!({"kind": "done", "result": {"type": "teleported"}})),
            with("body", json!({"kind": "pong", "origin": "x", "more": 1})),
        ] {
            assert!(matches!(Response::decode(bad, &id("r1")), Err(WireError::Malformed(_))));
        }
    }
}
