//! Commands on their way: kept safe before they are sent, kept until they are answered, sent again after a reconnect.

use std::collections::BTreeMap;

use panelot_base::{ClientId, SubmissionId};
use panelot_protocol::op::TurnSteer;
use panelot_protocol::settings::SettingsChange;
use panelot_protocol::{Op, OpMessage, decode_op};
use serde_json::{Value, json};

use crate::model::CommandKind;

/// What the keys of saved outboxes begin with; the client's id follows.
const KEY: &str = "outbox:";

/// The key under which a client's outbox is saved.
#[must_use]
pub fn outbox_key(client: &ClientId) -> String {
    format!("{KEY}{client}")
}

/// The clients of which `saved`, all that documents saved by key, holds commands without an answer.
///
/// Where the document of one is gone, another may become that client and bring its commands to their end: with
/// another identity the engine would not know them again.
#[must_use]
pub fn unfinished_clients(saved: &Value) -> Vec<ClientId> {
    let unfinished = |(key, value): (&String, &Value)| {
        let client = ClientId::new(key.strip_prefix(KEY)?).ok()?;
        let mut outbox = Outbox::default();
        outbox.restore(&client, value);
        (!outbox.entries.is_empty()).then_some(client)
    };
    saved.as_object().into_iter().flatten().filter_map(unfinished).collect()
}

/// Where a command stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It must be saved before it is sent.
    Unsaved,
    /// It is part of the save under way.
    Saving,
    /// It may be sent.
    Ready,
    /// It was sent through this port.
    Sent(u32),
}

#[derive(Clone, Debug)]
struct Entry {
    op: Op,
    kind: CommandKind,
    stage: Stage,
    /// Whether it survives this document.
    saved: bool,
}

/// The commands of one document that were not answered yet, in the order in which they were given.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// By their number.
    entries: BTreeMap<u64, (SubmissionId, Entry)>,
    next: u64,
    saving: bool,
    /// What is saved differs from what should be.
    dirty: bool,
}

impl Outbox {
    /// Takes over what an earlier load of the same document saved. Entries of another client, or that do not decode
    /// any more, are left out: their id would not be theirs.
    pub(super) fn restore(&mut self, client: &ClientId, saved: &Value) {
        if saved.get("clientId").and_then(Value::as_str) != Some(client.as_str()) {
            return;
        }
        let entries = saved.get("entries").and_then(Value::as_array).into_iter().flatten();
        for OpMessage { submission_id, op } in entries.filter_map(|entry| decode_op(entry).ok()) {
            if let Some(kind) = command_kind(&op) {
                self.insert(submission_id, Entry { op, kind, stage: Stage::Ready, saved: true });
            }
        }
    }

    /// Adds a command.
    pub(super) fn add(&mut self, submission_id: SubmissionId, op: Op, kind: CommandKind) {
        let saved = is_worth_saving(&op);
        let stage = if saved { Stage::Unsaved } else { Stage::Ready };
        self.dirty |= saved;
        self.insert(submission_id, Entry { op, kind, stage, saved });
    }

    fn insert(&mut self, submission_id: SubmissionId, entry: Entry) {
        self.entries.insert(self.next, (submission_id, entry));
        self.next += 1;
    }

    /// Takes a command out: it was answered.
    pub(super) fn remove(&mut self, submission_id: &SubmissionId) -> Option<(Op, CommandKind)> {
        let number = *self.entries.iter().find(|(_, (id, _))| id == submission_id)?.0;
        let (_, entry) = self.entries.remove(&number)?;
        self.dirty |= entry.saved && entry.stage != Stage::Unsaved;
        Some((entry.op, entry.kind))
    }

    /// Whether a command waits for its answer.
    pub(super) fn contains(&self, submission_id: &SubmissionId) -> bool {
        self.entries.values().any(|(id, _)| id == submission_id)
    }

    /// The commands, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&SubmissionId, &Op)> {
        self.entries.values().map(|(id, entry)| (id, &entry.op))
    }

    /// What kinds of commands wait, oldest first.
    pub(super) fn kinds(&self) -> Vec<CommandKind> {
        self.entries.values().map(|(_, entry)| entry.kind.clone()).collect()
    }

    /// What must be saved now, when something must and no save is under way.
    ///
    /// The value is null when nothing needs to be kept: a document that is done leaves nothing behind.
    pub(super) fn begin_save(&mut self, client: &ClientId) -> Option<Value> {
        if self.saving || !self.dirty {
            return None;
        }
        (self.saving, self.dirty) = (true, false);
        let mut list = Vec::new();
        for (submission_id, entry) in self.entries.values_mut().filter(|(_, entry)| entry.saved) {
            if entry.stage == Stage::Unsaved {
                entry.stage = Stage::Saving;
            }
            let message = OpMessage { submission_id: submission_id.clone(), op: entry.op.clone() };
            list.push(message.to_json());
        }
        Some(if list.is_empty() { Value::Null } else { json!({ "clientId": client, "entries": list }) })
    }

    /// The save under way ended. When it failed, what waited for it is given back.
    pub(super) fn end_save(&mut self, ok: bool) -> Vec<(SubmissionId, Op, CommandKind)> {
        self.saving = false;
        let mut refused = Vec::new();
        self.entries.retain(|_, (id, entry)| {
            if entry.stage != Stage::Saving {
                return true;
            }
            entry.stage = Stage::Ready;
            if !ok {
                refused.push((id.clone(), entry.op.clone(), entry.kind.clone()));
            }
            ok
        });
        refused
    }

    /// What may be sent through a port now, in order: nothing overtakes a command that still waits for its save.
    pub(super) fn take_ready(&mut self, port: u32) -> Vec<OpMessage> {
        let mut list = Vec::new();
        for (submission_id, entry) in self.entries.values_mut() {
            match entry.stage {
                Stage::Unsaved | Stage::Saving => break,
                Stage::Sent(sent) if sent == port => {}
                Stage::Sent(_) | Stage::Ready => {
                    entry.stage = Stage::Sent(port);
                    list.push(OpMessage { submission_id: submission_id.clone(), op: entry.op.clone() });
                }
            }
        }
        list
    }
}

/// Whether a command may outlive its document. One with a credential may not, because what is saved is not sealed; a
/// stop may not, because it is about what the person saw.
fn is_worth_saving(op: &Op) -> bool {
    match op {
        Op::SettingsUpdate(update) => !update.changes.iter().any(has_secret),
        Op::TurnInterrupt(_)
        | Op::ConnectionCancel(_)
        | Op::ConnectionModels(_)
        | Op::ConnectionVerify(_)
        | Op::SecretsLock(_)
        | Op::SecretsUnlock(_)
        | Op::SecretsUpdate(_) => false,
        _ => true,
    }
}

/// Whether a change brings a credential.
fn has_secret(change: &SettingsChange) -> bool {
    match change {
        SettingsChange::PutConnection { key, add_keys, headers, .. } => {
            let typed = headers.iter().flatten().any(|header| header.value.is_some());
            key.is_some() || !add_keys.is_empty() || typed
        }
        _ => false,
    }
}

/// What the person meant with an operation; none for those that no command makes or that no reconnect repeats.
pub(super) fn command_kind(op: &Op) -> Option<CommandKind> {
    Some(match op {
        Op::TurnSteer(TurnSteer { promotes: Some(run), .. }) => CommandKind::Queue(run.clone()),
        Op::ThreadCreate(_) | Op::TurnEnqueue(_) | Op::TurnFork(_) | Op::TurnSteer(_) | Op::TurnSubmit(_) => {
            CommandKind::Submit
        }
        Op::TurnInterrupt(_) => CommandKind::Stop,
        Op::ApprovalResponse(it) => CommandKind::Answer(it.approval_id.clone()),
        Op::InteractionResponse(it) => CommandKind::Answer(it.interaction_id.clone()),
        Op::QueueUpdate(it) => CommandKind::Queue(it.run_id.clone()),
        Op::QueueRemove(it) => CommandKind::Queue(it.run_id.clone()),
        Op::RunResume(it) => CommandKind::Resume(it.run_id.clone()),
        Op::RunResolveUncertain(it) => CommandKind::Resolve(it.run_id.clone()),
        Op::ThreadDelete(it) => CommandKind::Delete(it.thread_id.clone()),
        Op::ThreadUpdate(_) | Op::ThreadFork(_) | Op::ThreadSelectBranch(_) | Op::MessageDelete(_) => {
            CommandKind::Arrange
        }
        Op::SettingsUpdate(_) | Op::RulePut(_) | Op::RuleRemove(_) | Op::GrantRevoke(_) => {
            CommandKind::Settings
        }
        Op::ConnectionVerify(it) => CommandKind::Verify(it.connection_id.clone()),
        Op::SecretsLock(_) | Op::SecretsUnlock(_) | Op::SecretsUpdate(_) => CommandKind::Secrets,
        Op::ConnectionCancel(_)
        | Op::ConnectionModels(_)
        | Op::DraftUpdate(_)
        | Op::Initialize(_)
        | Op::Ping(_)
        | Op::SettingsGet(_)
        | Op::ThreadHistory(_)
        | Op::ThreadSubscribe(_)
        | Op::UpdateApply(_) => {
            return None;
        }
    })
}
