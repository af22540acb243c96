//! From JSON to checked messages and back. Budget first, then the type, then the rules that no type can state.

use panelot_base::json::{FromJson, JsonError, ToJson};
use panelot_base::{SubmissionId, ThreadId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{Event, Stream};
use crate::{Op, budget};

/// A place in a thread's stream of events. Sequences are contiguous within an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StreamCursor {
    /// The thread.
    pub thread_id: ThreadId,
    /// Which life of the worker; from 1.
    pub epoch: u64,
    /// Which event of that life; from 1.
    pub sequence: u64,
}

/// A place in the stream of the list of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DirectoryCursor {
    /// Which life of the worker; from 1.
    pub epoch: u64,
    /// Which event of that life; from 1.
    pub sequence: u64,
}

/// An operation with its identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpMessage {
    /// The client's id for it.
    pub submission_id: SubmissionId,
    /// What is asked.
    pub op: Op,
}

impl OpMessage {
    /// The message as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut value = self.op.params();
        if let Value::Object(fields) = &mut value {
            fields.insert("type".into(), self.op.name().into());
            fields.insert("submissionId".into(), self.submission_id.as_str().into());
        }
        value
    }
}

/// An event with its place in its stream.
#[derive(Clone, Debug, PartialEq)]
pub struct EventMessage {
    /// For an event of a thread.
    pub stream: Option<StreamCursor>,
    /// For an event of the list of threads.
    pub directory: Option<DirectoryCursor>,
    /// What happened.
    pub event: Event,
}

impl EventMessage {
    /// A private answer.
    #[must_use]
    pub const fn private(event: Event) -> Self {
        Self { stream: None, directory: None, event }
    }

    /// The message as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut value = self.event.payload();
        if let Value::Object(fields) = &mut value {
            fields.insert("type".into(), self.event.name().into());
            if let Some(cursor) = &self.stream {
                fields.insert("stream".into(), cursor.to_json());
            }
            if let Some(cursor) = &self.directory {
                fields.insert("directoryStream".into(), cursor.to_json());
            }
        }
        value
    }
}

/// What is wrong with a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// It is too large to look at.
    #[error(transparent)]
    OverBudget(#[from] budget::OverBudget),
    /// It is not an object with a `type`.
    #[error("a message is an object with a text `type`")]
    NotAMessage,
    /// Its type is not an operation.
    #[error("there is no operation {0:?}")]
    UnknownOp(String),
    /// A field is missing or wrong.
    #[error("{0}")]
    Field(String),
}

/// An operation that was refused by the decoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedOp {
    /// Its id, when it had a usable one.
    pub submission_id: Option<SubmissionId>,
    /// What is wrong.
    pub error: DecodeError,
}

/// Reads an operation.
///
/// # Errors
/// [`RejectedOp`] with the first thing that is wrong, and the command's id where that can be read.
pub fn decode_op(value: &Value) -> Result<OpMessage, RejectedOp> {
    let submission_id =
        value.get("submissionId").and_then(Value::as_str).and_then(|text| SubmissionId::new(text).ok());
    let reject = |error| RejectedOp { submission_id: submission_id.clone(), error };
    budget::OP.check(value).map_err(|error| reject(error.into()))?;
    let name = message_type(value).ok_or_else(|| reject(DecodeError::NotAMessage))?;
    let op = Op::from_params(name, value)
        .ok_or_else(|| reject(DecodeError::UnknownOp(name.to_owned())))?
        .map_err(|error| reject(field_error(name, error)))?;
    op.check().map_err(|why| reject(DecodeError::Field(format!("{name}.{why}"))))?;
    match submission_id {
        Some(submission_id) => Ok(OpMessage { submission_id, op }),
        None => Err(RejectedOp {
            submission_id: None,
            error: DecodeError::Field(format!(
                "{name}.submissionId: an id of 1 to 128 printable characters expected"
            )),
        }),
    }
}

/// What a view makes of a message from the engine.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once")]
pub enum EventDecode {
    /// A good event.
    Known(EventMessage),
    /// A well-formed message of a type this version does not know: ignored, so that the engine may grow.
    Unknown,
    /// A known event that is wrong: the two sides do not speak the same protocol.
    Malformed {
        /// The command it answers, when that can be read.
        submission_id: Option<SubmissionId>,
        /// What is wrong.
        error: DecodeError,
    },
}

/// Reads an event.
#[must_use]
pub fn decode_event(value: &Value) -> EventDecode {
    match try_decode_event(value) {
        Ok(Some(message)) => EventDecode::Known(message),
        Ok(None) => EventDecode::Unknown,
        Err(error) => EventDecode::Malformed {
            submission_id: value
                .get("submissionId")
                .and_then(Value::as_str)
                .and_then(|text| SubmissionId::new(text).ok()),
            error,
        },
    }
}

fn try_decode_event(value: &Value) -> Result<Option<EventMessage>, DecodeError> {
    budget::EVENT.check(value)?;
    let name = message_type(value).ok_or(DecodeError::NotAMessage)?;
    let Some(event) = Event::from_payload(name, value) else { return Ok(None) };
    let event = event.map_err(|error| field_error(name, error))?;
    let stream: Option<StreamCursor> = cursor(name, value, "stream")?;
    let directory: Option<DirectoryCursor> = cursor(name, value, "directoryStream")?;
    let wrong = |why: &str| Err(DecodeError::Field(format!("{name}.{why}")));
    match event.stream() {
        Stream::Thread => match &stream {
            None => return wrong("stream: expected"),
            Some(cursor) if Some(&cursor.thread_id) != event.thread_id() => {
                return wrong("stream.threadId: another thread than the event's");
            }
            Some(cursor) if cursor.epoch == 0 || cursor.sequence == 0 => {
                return wrong("stream: epoch and sequence start at 1");
            }
            Some(_) => {}
        },
        Stream::Directory => match directory {
            None => return wrong("directoryStream: expected"),
            Some(cursor) if cursor.epoch == 0 || cursor.sequence == 0 => {
                return wrong("directoryStream: epoch and sequence start at 1");
            }
            Some(_) => {}
        },
        Stream::Private => {}
    }
    if let Event::Initialized(it) = &event
        && (it.protocol != crate::PROTOCOL || it.schema_hash != crate::SCHEMA_HASH)
    {
        return wrong("protocol: another protocol than this page's");
    }
    Ok(Some(EventMessage { stream, directory, event }))
}

fn cursor<T: FromJson>(name: &str, value: &Value, field: &str) -> Result<Option<T>, DecodeError> {
    value
        .get(field)
        .map(|cursor| T::from_json(cursor.clone()).map_err(|error| field_error(name, error.at(field))))
        .transpose()
}

/// The `type` of a message: letters, digits and underscores in segments that dots separate.
fn message_type(value: &Value) -> Option<&str> {
    let name = value.as_object()?.get("type")?.as_str()?;
    let segment = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic())
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    name.split('.').all(segment).then_some(name)
}

fn field_error(name: &str, error: JsonError) -> DecodeError {
    DecodeError::Field(error.at(name).to_string())
}

#[cfg(test)]
mod tests;
