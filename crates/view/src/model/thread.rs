//! The open thread: its entries in order, and what is under way.

use std::collections::BTreeMap;

use panelot_base::{RunId, SubmissionId, ThreadId};
use panelot_protocol::snapshot::{ActiveTurn, ApprovalView, CallView, ErrorView, RunView, ThreadMeta};

use super::position::Position;
use super::{Entry, EntryKey};

/// The open thread, or the draft of a new one.
#[derive(Clone, Debug, Default)]
pub struct ThreadView {
    /// Identity; none for a draft.
    pub id: Option<ThreadId>,
    /// Its head; none for a draft and before the first snapshot.
    pub meta: Option<ThreadMeta>,
    /// The first snapshot is on its way.
    pub loading: bool,
    /// The draft's first message is on its way.
    pub creating: bool,
    /// The turn under way.
    pub active_turn: Option<ActiveTurn>,
    /// A stop was sent and has not shown effect yet.
    pub stopping: bool,
    /// Open questions, oldest first.
    pub approvals: Vec<ApprovalView>,
    /// Runs that have not ended, in order.
    pub runs: Vec<RunView>,
    /// Whether there are older entries.
    pub can_load_older: bool,
    /// Older entries are on their way.
    pub loading_older: bool,
    pub(super) entries: BTreeMap<EntryKey, Entry>,
    pub(super) order: BTreeMap<Position, EntryKey>,
}

/// A message that waits its turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedMessage {
    /// The command that brought it.
    pub submission_id: SubmissionId,
    /// Its run; none while the engine has not taken it yet.
    pub run_id: Option<RunId>,
    /// The text.
    pub text: String,
}

/// A run that needs the person.
#[derive(Clone, Debug, PartialEq)]
pub enum Recovery {
    /// The worker died while it ran; it can be resumed.
    Interrupted {
        /// The run.
        run_id: RunId,
    },
    /// A write was started and its end was not seen.
    Uncertain {
        /// The run.
        run_id: RunId,
        /// The call, its arguments as indented JSON.
        call: Option<CallView>,
    },
    /// The token budget is used up.
    Budget {
        /// The run.
        run_id: RunId,
    },
    /// It failed and no entry of the conversation says so.
    Failed {
        /// The run.
        run_id: RunId,
        /// Why.
        error: Option<ErrorView>,
    },
}

impl ThreadView {
    /// The entries in order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.order.values().filter_map(|key| self.entries.get(key))
    }

    /// The keys of the entries in order.
    pub fn keys(&self) -> impl Iterator<Item = &EntryKey> {
        self.order.values()
    }

    /// An entry.
    #[must_use]
    pub fn entry(&self, key: &EntryKey) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// Whether the thread works or waits for the person: a message sent now is queued, and a stop makes sense.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.active_turn.is_some()
    }

    /// Messages that wait their turn, in order.
    #[must_use]
    pub fn queued(&self) -> Vec<QueuedMessage> {
        Vec::new()
    }

    /// Runs that need the person.
    #[must_use]
    pub fn recoveries(&self) -> Vec<Recovery> {
        Vec::new()
    }

    /// The text of the newest message of the person, for sending it again.
    #[must_use]
    pub fn last_user_text(&self) -> Option<&str> {
        None
    }
}
