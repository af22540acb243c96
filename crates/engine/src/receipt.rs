//! The identity of a command, and the answer that it keeps for ever.

use panelot_base::digest::json_digest;
use panelot_base::{ClientId, RunId, ThreadId, Timestamp};
use panelot_protocol::event::{CommandAck, CommandRejected, ErrorCode, Event};
use panelot_protocol::{Op, OpMessage, Receipting};
use panelot_records::{Outcome, Receipt};

use crate::bugs::{Bug, is_on};
use crate::input::ConnectionHandle;
use crate::project::{code_from_text, code_text};

/// A durable command that is being decided.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) from: ConnectionHandle,
    pub(crate) client: ClientId,
    pub(crate) message: OpMessage,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Admitted {
    pub(crate) thread: Option<ThreadId>,
    pub(crate) run: Option<RunId>,
    pub(crate) revision: Option<u64>,
}

/// Why a command is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
    pub(crate) thread: Option<ThreadId>,
}

impl Refused {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), thread: None }
    }
}

/// SHA-256 of the canonical payload, the key of an incoming credential included as its own digest only.
pub(crate) fn payload_digest(op: &Op) -> String {
    let mut payload = op.params();
    if let Some(changes) = payload.get_mut("changes").and_then(serde_json::Value::as_array_mut) {
        for change in changes {
            if let Some(key) = change.get_mut("key").filter(|key| key.is_string()) {
                *key = json_digest(key).into();
            }
        }
    }
    if let Some(change) = payload.get_mut("change") {
        for name in ["key", "current"] {
            if let Some(key) = change.get_mut(name).filter(|key| key.is_string()) {
                *key = json_digest(key).into();
            }
        }
    }
    json_digest(&payload)
}

impl Command {
    pub(crate) fn is_durable(&self) -> bool {
        self.message.op.receipting() == Receipting::Durable
    }

    pub(crate) fn acknowledged(&self, now: Timestamp, admitted: &Admitted) -> Receipt {
        let Admitted { thread, run, revision } = admitted.clone();
        self.receipt(now, Outcome::Acknowledged { thread, run, revision })
    }

    pub(crate) fn rejected(&self, now: Timestamp, refused: &Refused) -> Receipt {
        self.receipt(
            now,
            Outcome::Rejected {
                code: code_text(refused.code),
                message: refused.message.clone(),
                thread: refused.thread.clone(),
            },
        )
    }

    fn receipt(&self, now: Timestamp, outcome: Outcome) -> Receipt {
        Receipt {
            client: self.client.clone(),
            submission: self.message.submission_id.clone(),
            op: self.message.op.name().to_owned(),
            payload_digest: payload_digest(&self.message.op),
            outcome,
            at: now,
        }
    }

    /// The answer that a stored receipt gives to this command: the first one, or a refusal when the same id comes with
    /// something else.
    pub(crate) fn replay(&self, stored: &Receipt) -> Event {
        if is_on(Bug::DuplicateRejected) {
            return self.refusal(&Refused::new(ErrorCode::InvalidCommand, "this command was sent before"));
        }
        let same_op = stored.op == self.message.op.name();
        if !same_op || stored.payload_digest != payload_digest(&self.message.op) {
            let what = if same_op { "another payload" } else { "another operation" };
            return self.refusal(&Refused::new(
                ErrorCode::InvalidCommand,
                format!("this submission id was used for {what}; a new command needs a new id"),
            ));
        }
        self.answer(&stored.outcome)
    }

    pub(crate) fn answer(&self, outcome: &Outcome) -> Event {
        match outcome {
            Outcome::Acknowledged { thread, run, revision } => Event::CommandAck(CommandAck {
                submission_id: self.message.submission_id.clone(),
                thread_id: thread.clone(),
                run_id: run.clone(),
                revision: *revision,
            }),
            Outcome::Rejected { code, message, thread } => self.refusal(&Refused {
                code: code_from_text(code),
                message: message.clone(),
                thread: thread.clone(),
            }),
        }
    }

    pub(crate) fn refusal(&self, refused: &Refused) -> Event {
        Event::CommandRejected(CommandRejected {
            submission_id: self.message.submission_id.clone(),
            code: refused.code,
            message: refused.message.clone(),
            retryable: matches!(
                refused.code,
                ErrorCode::Overloaded
                    | ErrorCode::StorageFailed
                    | ErrorCode::QueueFull
                    | ErrorCode::TurnMismatch
            ),
            thread_id: refused.thread.clone(),
        })
    }
}
