//! Calls of tools: one entry per call, from what asks for it, what streams of it and what came of it.

use panelot_base::{ItemId, Timestamp, TurnId};
use panelot_protocol::snapshot::{InteractionKind, ResultOutcome, RunState};
use serde_json::Value;

use super::{Slot, ThreadView};
use crate::model::position::Position;
use crate::model::{Changes, Entry, EntryBody, EntryKey, ToolState};

/// The arguments as JSON, and as a person reads them.
pub(super) fn parsed_arguments(text: &str) -> (Option<Value>, String) {
    match serde_json::from_str::<Value>(text) {
        Ok(value) => {
            let pretty = serde_json::to_string_pretty(&value).unwrap_or_else(|_| text.to_owned());
            (Some(value), pretty)
        }
        Err(_) => (None, text.to_owned()),
    }
}

impl ThreadView {
    /// Changes a call's entry, making it first when it is new, and recomputes where it stands.
    pub(super) fn change_tool(
        &mut self,
        item_id: &ItemId,
        position: Option<Position>,
        changes: &mut Changes,
        change: impl FnOnce(&mut Slot),
    ) {
        let key = EntryKey::Tool(item_id.clone());
        if !self.entries.contains_key(&key) {
            let position = position.unwrap_or_else(|| Position::Live(self.next_arrival()));
            let entry = Entry { key: key.clone(), revision: 1, at: None, turn_id: None, body: new_call() };
            let slot = Slot { entry, position, active: false, stored: None, asked_at: None };
            self.entries.insert(key.clone(), slot);
        }
        let shown_state = self.tool_state(item_id);
        let Some(slot) = self.entries.get_mut(&key) else { return };
        let before = slot.entry.clone();
        change(slot);
        // What asked for the call decides its place; without that its first stored sign of life does.
        let to = slot.asked_at.or(match (slot.position, position) {
            (Position::Stored(..), Some(other)) => Some(slot.position.min(other)),
            (_, other) => other,
        });
        let to = to.unwrap_or(slot.position);
        let active = slot.active;
        if let EntryBody::Tool { state, result, progress, .. } = &mut slot.entry.body {
            if result.is_none() {
                *state = shown_state(active);
            }
            if !active {
                progress.clear();
            }
        }
        if before.body != slot.entry.body
            || before.at != slot.entry.at
            || before.turn_id != slot.entry.turn_id
        {
            slot.entry.revision += 1;
            changes.entries.insert(key.clone());
        }
        self.place(&key, to, changes);
    }

    /// Recomputes where a call stands, when it is shown.
    pub(super) fn refresh_tool(&mut self, item_id: &ItemId, changes: &mut Changes) {
        if self.entries.contains_key(&EntryKey::Tool(item_id.clone())) {
            self.change_tool(item_id, None, changes, |_| {});
        }
    }

    /// Where a call without a result stands, depending on whether it is in flight.
    fn tool_state(&self, item_id: &ItemId) -> impl Fn(bool) -> ToolState + use<> {
        let awaited = self.interactions.iter().find(|awaited| awaited.item_id == *item_id);
        let asked = self.approvals.iter().any(|approval| approval.item_id == *item_id)
            || awaited.is_some_and(|awaited| is_for_the_person(awaited.kind));
        let awaited = awaited.is_some();
        let uncertain = self.runs.iter().any(|run| {
            run.state == RunState::PausedUncertain
                && run.uncertain.as_ref().is_some_and(|call| call.item_id == *item_id)
        });
        move |active| match (asked, uncertain, active) {
            (true, ..) => ToolState::Waiting,
            (_, true, _) => ToolState::Uncertain,
            (_, _, true) => ToolState::Running,
            _ if awaited => ToolState::Running,
            _ => ToolState::Proposed,
        }
    }

    /// A call that a stored message asks for.
    pub(super) fn ask_for(
        &mut self,
        call: &panelot_protocol::snapshot::CallView,
        at: Timestamp,
        turn_id: &TurnId,
        position: Position,
        changes: &mut Changes,
    ) {
        self.change_tool(&call.item_id, Some(position), changes, |slot| {
            slot.asked_at = Some(position);
            slot.entry.at = Some(at);
            slot.entry.turn_id = Some(turn_id.clone());
            slot.name_call(&call.tool_name, &call.arguments);
        });
    }
}

impl Slot {
    pub(super) fn name_call(&mut self, tool_name: &str, json: &str) {
        if let EntryBody::Tool { name, arguments, arguments_text, .. } = &mut self.entry.body {
            tool_name.clone_into(name);
            (*arguments, *arguments_text) = parsed_arguments(json);
        }
    }

    pub(super) fn settle_call(&mut self, outcome: ResultOutcome, came: crate::model::ToolResultView) {
        if let EntryBody::Tool { state, progress, result, .. } = &mut self.entry.body {
            *state = outcome.into();
            progress.clear();
            *result = Some(came);
        }
    }
}

/// Whether the person must do something, or time and pages do it.
#[must_use]
pub const fn is_for_the_person(kind: InteractionKind) -> bool {
    match kind {
        InteractionKind::AskUser | InteractionKind::UserAction | InteractionKind::McpElicitation => true,
        InteractionKind::WatchPage | InteractionKind::Schedule => false,
    }
}

fn new_call() -> EntryBody {
    EntryBody::Tool {
        name: String::new(),
        arguments: None,
        arguments_text: String::new(),
        state: ToolState::Proposed,
        progress: String::new(),
        result: None,
        decision: None,
    }
}
