//! The open thread: its entries in order, and what is under way.
//!
//! Entries are upserted by identity, so a snapshot touches only what differs and an event touches one entry. Read
//! next: `thread/stored.rs` for what the engine keeps, `thread/live.rs` for what streams.

mod live;
mod stored;
mod tool;

pub use tool::is_for_the_person;

use std::collections::{BTreeMap, BTreeSet};

use panelot_base::{ConnectionId, RunId, SubmissionId, ThreadId, Timestamp, TurnId};
use panelot_protocol::snapshot::{
    ActiveTurn, ApprovalView, CallView, ErrorView, InteractionView, RunState, RunView, StopReason,
    ThreadMeta, Usage,
};

use super::position::Position;
use super::{Changes, Entry, EntryBody, EntryKey};

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
    /// What calls wait for other than a yes, oldest first.
    pub interactions: Vec<InteractionView>,
    /// The message that is being written, as it was kept last.
    pub draft: String,
    /// Runs that have not ended, in order.
    pub runs: Vec<RunView>,
    /// Whether there are older entries.
    pub can_load_older: bool,
    /// Older entries are on their way.
    pub loading_older: bool,
    entries: BTreeMap<EntryKey, Slot>,
    order: BTreeMap<Position, EntryKey>,
    /// Messages sent while the thread was busy that the engine has not taken yet.
    waiting: Vec<(Echo, QueuedMessage)>,
    /// The newest run, when it failed.
    failed: Option<(RunId, Option<ErrorView>)>,
    /// Entries that came without a sequence so far; orders them.
    arrivals: u64,
}

/// An entry with what is known of it beside what is shown.
#[derive(Clone, Debug)]
struct Slot {
    entry: Entry,
    position: Position,
    /// It is in flight.
    active: bool,
    /// For a message in flight that is stored already: what it becomes at its end.
    stored: Option<StoredMessage>,
    /// For a call: its place after the message that asked for it.
    asked_at: Option<Position>,
}

/// A stored message of the model.
#[derive(Clone, Debug)]
struct StoredMessage {
    text: String,
    reasoning: String,
    usage: Option<Usage>,
    model: (ConnectionId, String),
    incomplete: bool,
    stop: Option<StopReason>,
}

/// How a message is shown before the engine has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Echo {
    /// At the end, or in the queue when the thread is busy.
    Message,
    /// Beside the turn that it is added to.
    Steer,
}

/// A message that waits its turn, or for the model's next look.
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
    /// The credentials are locked by a passphrase; it goes on once they are unlocked.
    Locked {
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
        self.order.values().filter_map(|key| self.entry(key))
    }

    /// The keys of the entries in order.
    pub fn keys(&self) -> impl Iterator<Item = &EntryKey> {
        self.order.values()
    }

    /// An entry.
    #[must_use]
    pub fn entry(&self, key: &EntryKey) -> Option<&Entry> {
        self.entries.get(key).map(|slot| &slot.entry)
    }

    /// Whether the thread works or waits for the person's word on a call: a stop makes sense.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        let busy = |run: &RunView| {
            matches!(run.state, RunState::Running | RunState::WaitingApproval | RunState::WaitingInteraction)
        };
        self.active_turn.is_some() || self.runs.iter().any(busy)
    }

    /// Whether a message sent now would wait its turn.
    #[must_use]
    pub fn would_queue(&self) -> bool {
        let holds = |run: &RunView| {
            matches!(
                run.state,
                RunState::Queued
                    | RunState::PausedBudget
                    | RunState::PausedUncertain
                    | RunState::PausedLocked
            )
        };
        self.is_busy() || self.runs.iter().any(holds) || !self.waiting.is_empty()
    }

    /// Messages that wait their turn, in order.
    #[must_use]
    pub fn queued(&self) -> Vec<QueuedMessage> {
        let mut runs: Vec<&RunView> = self.runs.iter().filter(|run| run.state == RunState::Queued).collect();
        runs.sort_by_key(|run| run.order);
        let taken = runs.into_iter().map(|run| QueuedMessage {
            submission_id: run.submission_id.clone(),
            run_id: Some(run.run_id.clone()),
            text: run.queued_text.clone().unwrap_or_default(),
        });
        taken.chain(self.echoed(Echo::Message)).collect()
    }

    /// Messages that were added to the turn under way and that the model has not been given yet, in order.
    #[must_use]
    pub fn steers(&self) -> Vec<QueuedMessage> {
        let taken = self.runs.iter().flat_map(|run| &run.pending_steers).map(|steer| QueuedMessage {
            submission_id: steer.submission_id.clone(),
            run_id: None,
            text: steer.text.clone(),
        });
        taken.chain(self.echoed(Echo::Steer)).collect()
    }

    fn echoed(&self, kind: Echo) -> impl Iterator<Item = QueuedMessage> {
        self.waiting.iter().filter(move |(echo, _)| *echo == kind).map(|(_, message)| message.clone())
    }

    /// The turn under way, when a message can be added to it now.
    #[must_use]
    pub fn steerable_turn(&self) -> Option<&TurnId> {
        let turn = &self.active_turn.as_ref()?.turn_id;
        self.runs.iter().any(|run| run.steerable && run.turn_id == *turn).then_some(turn)
    }

    /// The sequence of a stored entry; none for what the engine has not stored yet.
    #[must_use]
    pub fn sequence(&self, key: &EntryKey) -> Option<u64> {
        match self.entries.get(key)?.position {
            Position::Stored(sequence, 0) => Some(sequence),
            Position::Stored(..) | Position::Echo(_) | Position::Live(_) => None,
        }
    }

    /// The person's message that an entry answers, with its sequence and text: the nearest one before it that began
    /// a turn.
    #[must_use]
    pub fn asked_by(&self, key: &EntryKey) -> Option<(u64, String)> {
        let here = self.entries.get(key)?.position;
        self.order.range(..=here).rev().find_map(|(position, key)| match (&self.entry(key)?.body, position) {
            (EntryBody::User { text, steered: false, .. }, Position::Stored(sequence, _)) => {
                Some((*sequence, text.clone()))
            }
            _ => None,
        })
    }

    /// Runs that need the person.
    #[must_use]
    pub fn recoveries(&self) -> Vec<Recovery> {
        let mut list: Vec<_> = self.runs.iter().filter_map(recovery).collect();
        let told = self.order.values().next_back().is_some_and(|key| matches!(key, EntryKey::Notice(_)));
        if let Some((run_id, error)) = &self.failed
            && !told
            && self.active_turn.is_none()
        {
            list.push(Recovery::Failed { run_id: run_id.clone(), error: error.clone() });
        }
        list
    }

    /// The text of the newest message of the person, for sending it again.
    #[must_use]
    pub fn last_user_text(&self) -> Option<&str> {
        self.order.values().rev().find_map(|key| match &self.entry(key)?.body {
            EntryBody::User { text, .. } => Some(text.as_str()),
            _ => None,
        })
    }

    /// The sequence before which older entries are asked for.
    pub(crate) fn oldest_sequence(&self) -> Option<u64> {
        match self.order.keys().next()? {
            Position::Stored(sequence, _) => Some(*sequence),
            Position::Echo(_) | Position::Live(_) => None,
        }
    }

    /// Shows the person's own message before the engine has it.
    pub(crate) fn show_echo(
        &mut self,
        submission_id: SubmissionId,
        text: String,
        echo: Echo,
        at: Timestamp,
        changes: &mut Changes,
    ) {
        if echo == Echo::Steer || self.would_queue() {
            self.waiting.push((echo, QueuedMessage { submission_id, run_id: None, text }));
            changes.thread = true;
            return;
        }
        let key = EntryKey::User(submission_id);
        if self.entries.contains_key(&key) {
            return;
        }
        let position = Position::Echo(self.next_arrival());
        let body =
            EntryBody::User { text, default_tab: None, sending: true, steered: false, versions: Vec::new() };
        self.put(key, position, Some(at), None, body, changes);
    }

    /// Takes back an echo whose message the engine refused.
    pub(crate) fn drop_echo(&mut self, submission_id: &SubmissionId, changes: &mut Changes) {
        let before = self.waiting.len();
        self.waiting.retain(|(_, message)| message.submission_id != *submission_id);
        changes.thread |= before != self.waiting.len();
        let key = EntryKey::User(submission_id.clone());
        if self.is_echo(&key) {
            self.remove(&key, changes);
        }
    }

    /// The ids of the echoes.
    pub(crate) fn echoes(&self) -> BTreeSet<SubmissionId> {
        let shown = self.entries.keys().filter(|key| self.is_echo(key)).filter_map(|key| match key {
            EntryKey::User(id) => Some(id.clone()),
            _ => None,
        });
        self.waiting.iter().map(|(_, message)| message.submission_id.clone()).chain(shown).collect()
    }

    fn is_echo(&self, key: &EntryKey) -> bool {
        self.entry(key).is_some_and(|entry| matches!(entry.body, EntryBody::User { sending: true, .. }))
    }

    fn next_arrival(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }

    /// Makes or changes an entry. What is equal stays as it is.
    fn put(
        &mut self,
        key: EntryKey,
        position: Position,
        at: Option<Timestamp>,
        turn_id: Option<TurnId>,
        body: EntryBody,
        changes: &mut Changes,
    ) {
        if let Some(slot) = self.entries.get_mut(&key) {
            let entry = &mut slot.entry;
            if entry.at != at || entry.turn_id != turn_id || entry.body != body {
                (entry.at, entry.turn_id, entry.body) = (at, turn_id, body);
                entry.revision += 1;
                changes.entries.insert(key.clone());
            }
        } else {
            let entry = Entry { key: key.clone(), revision: 1, at, turn_id, body };
            let slot = Slot { entry, position, active: false, stored: None, asked_at: None };
            self.entries.insert(key.clone(), slot);
        }
        self.place(&key, position, changes);
    }

    /// Moves an entry. An entry that stood there is replaced by it.
    fn place(&mut self, key: &EntryKey, to: Position, changes: &mut Changes) {
        let Some(slot) = self.entries.get_mut(key) else { return };
        let from = std::mem::replace(&mut slot.position, to);
        if self.order.get(&to) == Some(key) {
            return;
        }
        if self.order.get(&from) == Some(key) {
            self.order.remove(&from);
        }
        if let Some(replaced) = self.order.insert(to, key.clone()) {
            self.entries.remove(&replaced);
        }
        changes.entry_list = true;
    }

    fn remove(&mut self, key: &EntryKey, changes: &mut Changes) {
        if let Some(slot) = self.entries.remove(key) {
            if self.order.get(&slot.position) == Some(key) {
                self.order.remove(&slot.position);
            }
            changes.entry_list = true;
        }
    }
}

fn recovery(run: &RunView) -> Option<Recovery> {
    let run_id = run.run_id.clone();
    match run.state {
        RunState::Interrupted => Some(Recovery::Interrupted { run_id }),
        RunState::PausedUncertain => {
            let call = run.uncertain.clone().map(|mut call| {
                call.arguments = tool::parsed_arguments(&call.arguments).1;
                call
            });
            Some(Recovery::Uncertain { run_id, call })
        }
        RunState::PausedBudget => Some(Recovery::Budget { run_id }),
        RunState::PausedLocked => Some(Recovery::Locked { run_id }),
        RunState::Queued
        | RunState::Running
        | RunState::WaitingApproval
        | RunState::WaitingInteraction
        | RunState::Completed
        | RunState::Failed
        | RunState::Cancelled => None,
    }
}
