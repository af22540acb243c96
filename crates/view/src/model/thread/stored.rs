//! What the engine keeps: snapshots, pages and stored entries.

use std::collections::BTreeSet;

use panelot_base::{ItemId, SubmissionId, ThreadId};
use panelot_protocol::event::ThreadPage;
use panelot_protocol::snapshot::{ActiveItem, ItemBody, ItemKind, SnapshotItem, ThreadSnapshot};

use super::{Slot, StoredMessage, ThreadView};
use crate::markdown::Document;
use crate::model::position::Position;
use crate::model::{Changes, Entry, EntryBody, EntryKey, ToolResultView};

impl ThreadView {
    /// Makes the thread what a snapshot says. Entries that are equal are not touched. An echo stays when the snapshot
    /// has its message neither stored nor queued and `keep` says that it may still come.
    pub(crate) fn install(
        &mut self,
        id: ThreadId,
        snapshot: ThreadSnapshot,
        keep: impl Fn(&SubmissionId) -> bool,
        changes: &mut Changes,
    ) {
        changes.thread = true;
        self.id = Some(id);
        self.meta = Some(snapshot.meta);
        (self.loading, self.creating, self.loading_older) = (false, false, false);
        if snapshot.active_turn.is_none() {
            self.stopping = false;
        }
        self.active_turn = snapshot.active_turn;
        self.approvals = snapshot.pending_approvals;
        self.interactions = snapshot.pending_interactions;
        self.draft = snapshot.draft;
        self.runs = snapshot.runs;
        let stale = self.stale_entries(&snapshot.items, &snapshot.active_items);
        if !self.keeps_older(&snapshot.items) {
            self.can_load_older = snapshot.has_older;
        }
        for key in stale {
            self.remove(&key, changes);
        }
        for slot in self.entries.values_mut() {
            slot.active = false;
        }
        for item in &snapshot.active_items {
            self.mark_active(item, changes);
        }
        for item in snapshot.items {
            self.store(item, changes);
        }
        let calls: Vec<_> = self.entries.keys().filter_map(call_id).collect();
        for item_id in calls {
            self.refresh_tool(&item_id, changes);
        }
        let steers = self.runs.iter().flat_map(|run| &run.pending_steers).map(|steer| &steer.submission_id);
        let queued: BTreeSet<_> =
            self.runs.iter().map(|run| &run.submission_id).chain(steers).cloned().collect();
        for id in self.echoes() {
            if queued.contains(&id) || !keep(&id) {
                self.drop_echo(&id, changes);
            }
        }
    }

    /// Adds a page of older entries.
    pub(crate) fn add_older(&mut self, page: ThreadPage, changes: &mut Changes) {
        changes.thread = true;
        self.loading_older = false;
        self.can_load_older = page.has_older;
        for item in page.items {
            self.store(item, changes);
        }
    }

    /// Whether pages that were loaded before go on without a hole at the snapshot's first entry: it is shown already. What
    /// lies before an entry is the same on every branch that has it; before another one lies another branch.
    fn keeps_older(&self, items: &[SnapshotItem]) -> bool {
        let Some(first) = items.first() else { return false };
        let start = Position::Stored(first.seq, 0);
        self.order.range(..start).next().is_some()
            && item_keys(first).iter().any(|key| self.entries.contains_key(key))
    }

    /// What is shown and not in a snapshot any more.
    fn stale_entries(&self, items: &[SnapshotItem], active: &[ActiveItem]) -> Vec<EntryKey> {
        let mut seen = BTreeSet::new();
        for item in items {
            seen.extend(item_keys(item));
        }
        seen.extend(active.iter().filter_map(|item| match item.kind {
            ItemKind::AssistantMessage => Some(EntryKey::Assistant(item.item_id.clone())),
            ItemKind::ToolCall => Some(EntryKey::Tool(item.item_id.clone())),
            ItemKind::Summary => None,
        }));
        let first = items.first().map_or(Position::Stored(0, 0), |first| Position::Stored(first.seq, 0));
        let keeps_older = self.keeps_older(items);
        let stays = |(position, key): &(&Position, &EntryKey)| {
            seen.contains(key) || self.is_echo(key) || (keeps_older && **position < first)
        };
        self.order.iter().filter(|entry| !stays(entry)).map(|(_, key)| key.clone()).collect()
    }

    /// Adds a stored entry, or changes the one with its identity.
    pub(crate) fn store(&mut self, item: SnapshotItem, changes: &mut Changes) {
        let position = Position::Stored(item.seq, 0);
        let (at, turn_id) = (Some(item.at), Some(item.turn_id));
        match item.body {
            ItemBody::UserMessage { text, default_tab, submission_id, steered } => {
                let before = self.waiting.len();
                self.waiting.retain(|(_, message)| message.submission_id != submission_id);
                changes.thread |= before != self.waiting.len();
                let versions = item.versions;
                let body = EntryBody::User { text, default_tab, sending: false, steered, versions };
                self.put(EntryKey::User(submission_id), position, at, turn_id, body, changes);
            }
            ItemBody::AssistantMessage {
                item_id,
                text,
                reasoning,
                calls,
                connection_id,
                model_id,
                usage,
                incomplete,
                stop,
                cost: _,
            } => {
                let model = (connection_id, model_id);
                let stored = StoredMessage { text, reasoning, usage, model, incomplete, stop };
                self.store_message(&item_id, stored, position, changes, |slot| {
                    (slot.entry.at, slot.entry.turn_id) = (at, turn_id.clone());
                });
                for (index, call) in calls.iter().enumerate() {
                    let position = Position::Stored(item.seq, index + 1);
                    if let Some(turn_id) = &turn_id {
                        self.ask_for(call, item.at, turn_id, position, changes);
                    }
                }
            }
            ItemBody::ToolResult { item_id, outcome, content, clipped, details, origin } => {
                let result = ToolResultView { content, clipped, details, origin };
                self.change_tool(&item_id, Some(position), changes, |slot| slot.settle_call(outcome, result));
            }
            ItemBody::ApprovalDecision { item_id, decision, .. } => {
                self.change_tool(&item_id, Some(position), changes, |slot| {
                    if let EntryBody::Tool { decision: shown, .. } = &mut slot.entry.body {
                        *shown = Some(decision);
                    }
                });
            }
            ItemBody::Removed => {
                let end = Position::Stored(item.seq.saturating_add(1), 0);
                let gone: Vec<EntryKey> =
                    self.order.range(position..end).map(|(_, key)| key.clone()).collect();
                for key in gone {
                    self.remove(&key, changes);
                }
            }
            ItemBody::SystemNotice { notice, details } => {
                let body = EntryBody::Notice { notice, details };
                self.put(EntryKey::Notice(item.seq), position, at, turn_id, body, changes);
            }
        }
    }

    fn store_message(
        &mut self,
        item_id: &ItemId,
        stored: StoredMessage,
        position: Position,
        changes: &mut Changes,
        date: impl FnOnce(&mut Slot),
    ) {
        let key = EntryKey::Assistant(item_id.clone());
        self.ensure_message(&key, position);
        let Some(slot) = self.entries.get_mut(&key) else { return };
        let before = (slot.entry.at, slot.entry.turn_id.clone());
        date(slot);
        let dated = before != (slot.entry.at, slot.entry.turn_id.clone());
        // While it streams, what streamed is shown: it is never behind what is stored.
        let changed = if slot.active {
            slot.stored = Some(stored);
            false
        } else {
            slot.become_stored(stored)
        };
        if dated || changed {
            slot.entry.revision += 1;
            changes.entries.insert(key.clone());
        }
        self.place(&key, position, changes);
    }

    pub(super) fn ensure_message(&mut self, key: &EntryKey, position: Position) {
        if self.entries.contains_key(key) {
            return;
        }
        let body = EntryBody::Assistant {
            document: Document::default(),
            reasoning: String::new(),
            streaming: false,
            incomplete: false,
            stop: None,
            usage: None,
            model: None,
        };
        let entry = Entry { key: key.clone(), revision: 1, at: None, turn_id: None, body };
        let slot = Slot { entry, position, active: false, stored: None, asked_at: None };
        self.entries.insert(key.clone(), slot);
    }
}

impl Slot {
    /// Shows a message as it is stored. Returns whether that made a difference.
    pub(super) fn become_stored(&mut self, stored: StoredMessage) -> bool {
        self.stored = None;
        let EntryBody::Assistant { document, reasoning, streaming, incomplete, stop, usage, model } =
            &mut self.entry.body
        else {
            return false;
        };
        let mut changed = document.set(&stored.text);
        let model_now = Some(stored.model);
        changed |= *reasoning != stored.reasoning
            || *streaming
            || *incomplete != stored.incomplete
            || *stop != stored.stop
            || *usage != stored.usage
            || *model != model_now;
        *reasoning = stored.reasoning;
        (*streaming, *incomplete, *stop) = (false, stored.incomplete, stored.stop);
        (*usage, *model) = (stored.usage, model_now);
        changed
    }
}

fn call_id(key: &EntryKey) -> Option<ItemId> {
    match key {
        EntryKey::Tool(id) => Some(id.clone()),
        EntryKey::User(_) | EntryKey::Assistant(_) | EntryKey::Notice(_) => None,
    }
}

/// The entries that a stored item is shown in.
fn item_keys(item: &SnapshotItem) -> Vec<EntryKey> {
    match &item.body {
        ItemBody::UserMessage { submission_id, .. } => vec![EntryKey::User(submission_id.clone())],
        ItemBody::AssistantMessage { item_id, calls, .. } => {
            let calls = calls.iter().map(|call| EntryKey::Tool(call.item_id.clone()));
            std::iter::once(EntryKey::Assistant(item_id.clone())).chain(calls).collect()
        }
        ItemBody::ToolResult { item_id, .. } | ItemBody::ApprovalDecision { item_id, .. } => {
            vec![EntryKey::Tool(item_id.clone())]
        }
        ItemBody::SystemNotice { .. } => vec![EntryKey::Notice(item.seq)],
        ItemBody::Removed => Vec::new(),
    }
}
