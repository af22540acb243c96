//! What happens while one looks: turns, streamed items, questions and runs.

use panelot_base::{ItemId, Timestamp};
use panelot_protocol::Event;
use panelot_protocol::event::{ItemDelta, ItemStart};
use panelot_protocol::snapshot::{ActiveItem, ActiveTurn, ItemKind, ItemMeta, RunState, RunView, TurnKind};

use super::ThreadView;
use crate::model::position::Position;
use crate::model::{Changes, EntryBody, EntryKey};

impl ThreadView {
    /// Applies an event of this thread's stream that is not a snapshot.
    pub(crate) fn apply(&mut self, now: Timestamp, event: Event, changes: &mut Changes) {
        match event {
            Event::ThreadUpdated(it)
                if self.meta.as_ref().is_none_or(|meta| meta.revision <= it.meta.revision) =>
            {
                self.meta = Some(it.meta);
                changes.thread = true;
            }
            // A model looks for a title beside the turn that people follow.
            Event::TurnStart(it) if it.turn_kind == TurnKind::Title => {}
            Event::TurnStart(it) => {
                self.failed = None;
                if self.active_turn.as_ref().is_none_or(|turn| turn.turn_id != it.turn_id) {
                    let (turn_id, run_id) = (it.turn_id, it.run_id);
                    self.active_turn = Some(ActiveTurn { turn_id, run_id, started_at: now });
                }
                changes.thread = true;
            }
            Event::TurnComplete(it) => {
                if self.active_turn.as_ref().is_none_or(|turn| turn.turn_id == it.turn_id) {
                    self.active_turn = None;
                    self.stopping = false;
                }
                changes.thread = true;
            }
            Event::ItemStart(it) => self.start_item(it, changes),
            Event::ItemDelta(it) => self.add_delta(it, changes),
            Event::ItemComplete(it) => self.complete_item(&it.item_id, changes),
            Event::ItemStored(it) => self.store(it.item, changes),
            Event::ApprovalRequest(it) => {
                let item_id = it.approval.item_id.clone();
                self.approvals.retain(|known| known.approval_id != it.approval.approval_id);
                self.approvals.push(it.approval);
                changes.thread = true;
                self.refresh_tool(&item_id, changes);
            }
            Event::ApprovalResolved(it) => {
                let closed =
                    |known: &panelot_protocol::snapshot::ApprovalView| known.approval_id == it.approval_id;
                let item_id =
                    self.approvals.iter().find(|known| closed(known)).map(|known| known.item_id.clone());
                self.approvals.retain(|known| !closed(known));
                changes.thread = true;
                if let Some(item_id) = item_id {
                    self.refresh_tool(&item_id, changes);
                }
            }
            Event::InteractionRequest(it) => {
                let item_id = it.interaction.item_id.clone();
                self.interactions.retain(|known| known.interaction_id != it.interaction.interaction_id);
                self.interactions.push(it.interaction);
                changes.thread = true;
                self.refresh_tool(&item_id, changes);
            }
            Event::InteractionResolved(it) => {
                let index =
                    self.interactions.iter().position(|known| known.interaction_id == it.interaction_id);
                if let Some(closed) = index.map(|index| self.interactions.remove(index)) {
                    changes.thread = true;
                    self.refresh_tool(&closed.item_id, changes);
                }
            }
            Event::RunUpdated(it) => self.update_run(it.run, changes),
            // What a message cost stands in its stored form.
            _ => {}
        }
    }

    fn start_item(&mut self, start: ItemStart, changes: &mut Changes) {
        let ItemStart { item_id, kind, meta, .. } = start;
        let (text, reasoning) = (String::new(), String::new());
        self.mark_active(&ActiveItem { item_id, kind, meta, text, reasoning }, changes);
    }

    /// Puts an item in flight, with what was streamed of it so far.
    pub(super) fn mark_active(&mut self, item: &ActiveItem, changes: &mut Changes) {
        let turn_id = self.active_turn.as_ref().map(|turn| turn.turn_id.clone());
        match item.kind {
            ItemKind::AssistantMessage => {
                let key = EntryKey::Assistant(item.item_id.clone());
                let position = match self.entries.get(&key) {
                    Some(slot) => slot.position,
                    None => Position::Live(self.next_arrival()),
                };
                self.ensure_message(&key, position);
                let Some(slot) = self.entries.get_mut(&key) else { return };
                slot.active = true;
                let entry = &mut slot.entry;
                if let EntryBody::Assistant { document, reasoning, streaming, incomplete, stop, .. } =
                    &mut entry.body
                {
                    let mut changed = document.set(&item.text);
                    changed |= *reasoning != item.reasoning || !*streaming || *incomplete;
                    item.reasoning.clone_into(reasoning);
                    (*streaming, *incomplete, *stop) = (true, false, None);
                    entry.turn_id = turn_id.or(entry.turn_id.take());
                    if changed {
                        entry.revision += 1;
                        changes.entries.insert(key.clone());
                    }
                }
                self.place(&key, position, changes);
            }
            // It becomes an entry when it is whole.
            ItemKind::Summary => {}
            ItemKind::ToolCall => {
                self.change_tool(&item.item_id, None, changes, |slot| {
                    slot.active = true;
                    slot.entry.turn_id = slot.entry.turn_id.take().or(turn_id);
                    let unasked = slot.asked_at.is_none();
                    if let ItemMeta { tool_name: Some(name), arguments } = &item.meta
                        && unasked
                    {
                        slot.name_call(name, arguments.as_deref().unwrap_or_default());
                    }
                    if let EntryBody::Tool { progress, result: None, .. } = &mut slot.entry.body {
                        item.text.clone_into(progress);
                    }
                });
            }
        }
    }

    fn add_delta(&mut self, delta: ItemDelta, changes: &mut Changes) {
        let call = EntryKey::Tool(delta.item_id.clone());
        if let Some(slot) = self.entries.get_mut(&call) {
            if let EntryBody::Tool { progress, result: None, .. } = &mut slot.entry.body {
                progress.push_str(&delta.text);
                slot.entry.revision += 1;
                changes.entries.insert(call);
            }
            return;
        }
        let key = EntryKey::Assistant(delta.item_id);
        let Some(slot) = self.entries.get_mut(&key).filter(|slot| slot.active) else { return };
        if let EntryBody::Assistant { document, reasoning, .. } = &mut slot.entry.body {
            document.append(&delta.text);
            reasoning.push_str(&delta.reasoning);
            slot.entry.revision += 1;
            changes.entries.insert(key);
        }
    }

    /// An item ends: it becomes what is stored of it, or is gone when nothing is.
    fn complete_item(&mut self, item_id: &ItemId, changes: &mut Changes) {
        if self.entries.contains_key(&EntryKey::Tool(item_id.clone())) {
            self.change_tool(item_id, None, changes, |slot| slot.active = false);
            return;
        }
        let key = EntryKey::Assistant(item_id.clone());
        let Some(slot) = self.entries.get_mut(&key).filter(|slot| slot.active) else { return };
        slot.active = false;
        match slot.stored.take() {
            Some(stored) => {
                slot.become_stored(stored);
                slot.entry.revision += 1;
                changes.entries.insert(key);
            }
            None => self.remove(&key, changes),
        }
    }

    fn update_run(&mut self, run: RunView, changes: &mut Changes) {
        let index = self.runs.iter().position(|known| known.run_id == run.run_id);
        let known = index.and_then(|index| self.runs.get(index));
        if known.is_some_and(|known| known.revision > run.revision) {
            return;
        }
        let uncertain: Vec<_> = [Some(&run), known]
            .into_iter()
            .flatten()
            .filter_map(|run| run.uncertain.as_ref())
            .map(|call| call.item_id.clone())
            .collect();
        changes.thread = true;
        let ended = matches!(run.state, RunState::Completed | RunState::Failed | RunState::Cancelled);
        if ended || run.state == RunState::Queued {
            self.drop_echo(&run.submission_id, changes);
        }
        for steer in &run.pending_steers {
            self.drop_echo(&steer.submission_id, changes);
        }
        if run.state == RunState::Failed {
            self.failed = Some((run.run_id.clone(), run.error.clone()));
        }
        if ended {
            self.runs.retain(|known| known.run_id != run.run_id);
        } else if let Some(known) = index.and_then(|index| self.runs.get_mut(index)) {
            *known = run;
        } else {
            self.runs.push(run);
        }
        self.stopping &= self.is_busy();
        for item_id in uncertain {
            self.refresh_tool(&item_id, changes);
        }
    }
}
