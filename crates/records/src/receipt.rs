//! The answer to a command, kept so that the same command is answered the same way for ever after.

use panelot_base::json::{FromJson, ToJson};
use panelot_base::{ClientId, RunId, SubmissionId, ThreadId, Timestamp};
use serde::{Deserialize, Serialize};

/// What a command was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Outcome {
    /// It was admitted.
    #[serde(rename_all = "camelCase")]
    Acknowledged {
        /// The thread it concerned or made.
        thread: Option<ThreadId>,
        /// The run it concerned or made.
        run: Option<RunId>,
        /// The revision of that run, else of that thread.
        revision: Option<u64>,
    },
    /// It was refused.
    #[serde(rename_all = "camelCase")]
    Rejected {
        /// A code from the protocol's closed list.
        code: String,
        /// Why, in English, bounded.
        message: String,
        /// The thread it concerned.
        thread: Option<ThreadId>,
    },
}

/// Written in the same commit as the change that it acknowledges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// Who asked.
    pub client: ClientId,
    /// Under which id.
    pub submission: SubmissionId,
    /// The command's wire name.
    pub op: String,
    /// SHA-256 of the canonical payload: the same id with another payload is refused.
    pub payload_digest: String,
    /// The answer.
    pub outcome: Outcome,
    /// When it was given.
    pub at: Timestamp,
}
