//! One entry of a conversation as it is shown.

use panelot_base::{ConnectionId, ItemId, SubmissionId, Timestamp, TurnId};
use panelot_protocol::op::{ApprovalDecision, TabIdentity};
use panelot_protocol::snapshot::{NoticeKind, ResultOutcome, StopReason, Usage};
use serde_json::Value;

use crate::markdown::Document;

/// The identity of an entry, the same from its first sign of life to its stored form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKey {
    /// A message of the person, by the command that brought it.
    User(SubmissionId),
    /// A message of the model.
    Assistant(ItemId),
    /// A call of a tool, its result included.
    Tool(ItemId),
    /// A line of the engine's own, by its sequence in the thread.
    Notice(u64),
}

/// An entry.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its identity.
    pub key: EntryKey,
    /// Grows with every change of the entry.
    pub revision: u64,
    /// When it was stored; for an echo, when it was sent.
    pub at: Option<Timestamp>,
    /// The turn it belongs to.
    pub turn_id: Option<TurnId>,
    /// What it says.
    pub body: EntryBody,
}

/// What an entry says.
#[derive(Clone, Debug, PartialEq)]
pub enum EntryBody {
    /// What the person wrote.
    User {
        /// The text.
        text: String,
        /// The tab in front when it was sent.
        default_tab: Option<TabIdentity>,
        /// It is an optimistic echo: the engine has not stored it yet.
        sending: bool,
        /// It was added to a turn that was under way.
        steered: bool,
        /// The sequences of all versions of it, its own included, oldest first; empty while it is the only one.
        versions: Vec<u64>,
    },
    /// What the model wrote.
    Assistant {
        /// The answer.
        document: Document,
        /// The reasoning it showed; may be empty.
        reasoning: String,
        /// More is coming.
        streaming: bool,
        /// It was cut short.
        incomplete: bool,
        /// What the provider cut it for, when it was the provider.
        stop: Option<StopReason>,
        /// What it cost, when the provider said so.
        usage: Option<Usage>,
        /// The connection and model that wrote it; none while it streams.
        model: Option<(ConnectionId, String)>,
    },
    /// A call of a tool.
    Tool {
        /// The tool's name; empty while the message that asked for it is not loaded.
        name: String,
        /// The arguments; none when they are no JSON, or not known yet.
        arguments: Option<Value>,
        /// The arguments as indented JSON, or as the model wrote them when they are no JSON.
        arguments_text: String,
        /// Where it stands.
        state: ToolState,
        /// What it said of its progress while it runs.
        progress: String,
        /// What came back.
        result: Option<ToolResultView>,
        /// What the person answered, when asked.
        decision: Option<ApprovalDecision>,
    },
    /// A line of the engine's own.
    Notice {
        /// What it is about.
        notice: NoticeKind,
        /// Facts for the words.
        details: Value,
    },
}

/// Where a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolState {
    /// The model asked for it.
    Proposed,
    /// It waits for the person's word.
    Waiting,
    /// It works.
    Running,
    /// It did what it was asked.
    Ok,
    /// It failed.
    Failed,
    /// The person or a rule refused it.
    Declined,
    /// It was never started.
    Skipped,
    /// It was started and its end was not seen.
    Uncertain,
}

impl From<ResultOutcome> for ToolState {
    fn from(outcome: ResultOutcome) -> Self {
        match outcome {
            ResultOutcome::Ok => Self::Ok,
            ResultOutcome::Failed => Self::Failed,
            ResultOutcome::Declined => Self::Declined,
            ResultOutcome::Skipped => Self::Skipped,
            ResultOutcome::Uncertain => Self::Uncertain,
        }
    }
}

/// What came back from a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResultView {
    /// What the model reads, its beginning at least. Foreign text.
    pub content: String,
    /// Whether there is more than `content` shows.
    pub clipped: bool,
    /// Facts for the card.
    pub details: Value,
    /// Whose content it is.
    pub origin: Option<String>,
}
