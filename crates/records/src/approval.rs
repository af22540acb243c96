//! What a call waits for, and how that ended: a question whether it may go ahead, or an interaction.

use panelot_base::json::{FromJson, ToJson};
use panelot_base::{ApprovalId, ItemId, RunId, ThreadId, Timestamp, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the person answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Decision {
    /// This once.
    Accept,
    /// This tool on this origin, in this thread, until the browser closes.
    AcceptForSession,
    /// This tool on this origin, from now on.
    AcceptForSite,
    /// Not this; go on without it.
    #[serde(rename_all = "camelCase")]
    Decline {
        /// What the model is told.
        note: Option<String>,
    },
    /// Not this, and stop.
    Cancel,
}

impl Decision {
    /// Whether the call may go ahead.
    #[must_use]
    pub const fn is_accept(&self) -> bool {
        matches!(self, Self::Accept | Self::AcceptForSession | Self::AcceptForSite)
    }
}

/// What an interaction waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// The person's answers.
    AskUser,
    /// Something that the person does by hand.
    UserAction,
    /// A change of a page.
    WatchPage,
    /// A time.
    Schedule,
    /// The person's answer to a server whose call is under way.
    McpElicitation,
}

/// How an interaction ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Response {
    /// With what was waited for.
    Submit {
        /// The person's answer, or `null`.
        value: Value,
    },
    /// It was given up.
    Cancel {
        /// Why, for the model.
        note: Option<String>,
    },
    /// Its deadline came.
    Timeout,
}

/// Whether a question is still open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ApprovalState {
    /// It is.
    Pending,
    /// It was answered: by the person, or by its deadline.
    #[serde(rename_all = "camelCase")]
    Decided {
        /// The answer.
        decision: Decision,
        /// When.
        at: Timestamp,
        /// Whether the deadline answered, not the person.
        by_deadline: bool,
    },
    /// An interaction: it ended.
    Answered {
        /// How.
        response: Response,
        /// When.
        at: Timestamp,
    },
    /// Its run ended first.
    Closed,
}

/// A question to the person whether a call may go ahead, or an interaction that a call waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Identity.
    pub id: ApprovalId,
    /// The conversation.
    pub thread: ThreadId,
    /// The run that waits.
    pub run: RunId,
    /// What is waited for; none for a question whether the call may go ahead.
    #[serde(default)]
    pub wait: Option<WaitKind>,
    /// Its turn.
    pub turn: TurnId,
    /// The call it is about.
    pub item: ItemId,
    /// Grows by one with each change.
    pub revision: u64,
    /// The tool.
    pub tool: String,
    /// All arguments, as shown. Of an elicitation: `serverId`, `message`, `requestedSchema`.
    pub arguments: Value,
    /// The origin the call is judged by.
    pub origin: String,
    /// What made it a question (the gatekeeper's flags).
    pub flags: Vec<String>,
    /// The target as the gatekeeper saw it (the tools crate's `Target` as JSON).
    pub target: Option<Value>,
    /// The line of the page's outline that stands for the element that is acted on. Foreign text.
    #[serde(default)]
    pub preview: Option<String>,
    /// Digest of what was shown and judged; the permit is bound to it.
    pub digest: String,
    /// Whether it is open.
    pub state: ApprovalState,
    /// When it was asked.
    pub requested_at: Timestamp,
    /// When it ends by itself: a question with a decline, a schedule as what was waited for, all others as timed out.
    pub deadline_at: Timestamp,
}
