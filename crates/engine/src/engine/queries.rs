//! Operations that only ask, and answers that the driver brought.

use super::{
    ConnectionHandle, DirectoryCursor, DirectorySnapshot, Effect, Engine, ErrorCode, Event, EventMessage,
    Initialize, Initialized, PROTOCOL, Refused, RejectedOp, ReloadRequired, SCHEMA_HASH, SettingsEvent, Step,
    StreamCursor, SubmissionId, ThreadId, ThreadSnapshotEvent, answer, error_event, private, project,
};
use crate::receipt::Command;
use panelot_protocol::Text;
use panelot_protocol::event::ThreadPage;
use panelot_protocol::op::DraftUpdate;
use panelot_protocol::{Op, OpMessage};
use panelot_records::{Commit, Draft, Durability, Key, Node, Write};

impl Engine {
    #[inline(never)]
    pub(super) fn on_initialize(
        &mut self,
        from: ConnectionHandle,
        submission: &SubmissionId,
        initialize: Initialize,
    ) -> Step {
        if &*initialize.protocol != PROTOCOL || &*initialize.schema_hash != SCHEMA_HASH {
            let event = Event::ReloadRequired(ReloadRequired {
                submission_id: submission.clone(),
                protocol: initialize.protocol.into_string(),
                schema_hash: SCHEMA_HASH.to_owned(),
                message: "Panelot was updated. Reload this page to go on.".to_owned(),
            });
            return Step { effects: vec![private(from, event), Effect::Close(from)], ..Step::default() };
        }
        let wanted = initialize.subscribe;
        let subscribe = wanted.clone().filter(|thread| self.machines.contains_key(thread));
        // A Port that closed while its handshake waited stays closed.
        let Some(client) = self.clients.get_mut(&from) else { return Step::default() };
        client.id = Some(initialize.client_id);
        client.subscribed.clone_from(&subscribe);
        let event = Event::Initialized(Initialized {
            submission_id: submission.clone(),
            protocol: PROTOCOL.to_owned(),
            schema_hash: SCHEMA_HASH.to_owned(),
            directory: DirectorySnapshot {
                threads: self.directory.threads.values().cloned().collect(),
                activity: self.directory.activity.values().cloned().collect(),
                draft: self.directory.draft(None),
                update: self.update.clone(),
            },
            settings: self.directory.settings_view(),
        });
        let cursor = DirectoryCursor { epoch: self.epoch, sequence: self.directory_sequence };
        let message = EventMessage { stream: None, directory: Some(cursor), event };
        let mut effects = vec![Effect::Send { to: vec![from], message: Box::new(message) }];
        for problem in &self.problems {
            let why = format!("something stored cannot be read and was left as it is: {problem}");
            effects.push(private(from, error_event(None, ErrorCode::StorageFailed, &why, false)));
        }
        match (subscribe, wanted) {
            (Some(thread), _) => effects.extend(self.snapshot_effect(from, submission, &thread)),
            // It is in the list and cannot be shown: the view must say so. One that is gone is missing in the list.
            (None, Some(thread)) if self.directory.threads.contains_key(&thread) => {
                let (code, why) = self.why_closed(&thread);
                effects.push(private(from, error_event(Some(submission.clone()), code, why, false)));
            }
            _ => {}
        }
        Step { effects, ..Step::default() }
    }

    /// The thread as it is now, with the number of the newest event that it includes.
    #[inline(never)]
    fn snapshot_effect(
        &mut self,
        to: ConnectionHandle,
        submission: &SubmissionId,
        thread: &ThreadId,
    ) -> Option<Effect> {
        let sequence = *self.sequence_of(thread);
        let machine = self.machines.get(thread)?;
        let event = Event::ThreadSnapshot(ThreadSnapshotEvent {
            submission_id: submission.clone(),
            thread_id: thread.clone(),
            snapshot: machine.snapshot(&self.directory),
        });
        let stream = Some(StreamCursor { thread_id: thread.clone(), epoch: self.epoch, sequence });
        Some(Effect::Send {
            to: vec![to],
            message: Box::new(EventMessage { stream, directory: None, event }),
        })
    }

    #[inline(never)]
    pub(super) fn on_query(&mut self, command: Command) -> Step {
        let Command { from, message, .. } = command;
        let OpMessage { submission_id, op } = message;
        match op {
            Op::ThreadSubscribe(subscribe) => self.on_subscribe(from, submission_id, subscribe.thread_id),
            Op::ThreadHistory(history) => {
                let known = self.directory.threads.contains_key(&history.thread_id);
                match Some(history.before).filter(|_| known) {
                    Some(before) => Step {
                        effects: vec![Effect::ReadHistory {
                            from,
                            submission: submission_id,
                            thread: history.thread_id,
                            before,
                        }],
                        ..Step::default()
                    },
                    None => self.on_history(from, submission_id, history.thread_id, Ok((Vec::new(), false))),
                }
            }
            Op::SettingsGet(_) => answer(
                from,
                Event::SettingsUpdated(SettingsEvent {
                    submission_id: Some(submission_id),
                    settings: self.directory.settings_view(),
                }),
            ),
            Op::DraftUpdate(update) => self.on_draft(from, submission_id, update),
            Op::SecretsLock(_) => self.on_lock(from, submission_id),
            Op::SecretsUnlock(it) => {
                let unlock = Effect::Unlock { from, submission: submission_id, key: it.key.into_secret() };
                Step { effects: vec![unlock], ..Step::default() }
            }
            Op::UpdateApply(_) => {
                self.update_now = self.update.is_some();
                Step::default()
            }
            Op::ConnectionVerify(it) => {
                let model = it.model_id.map(Text::into_string);
                self.on_try(from, submission_id, it.connection_id, it.draft, model, false)
            }
            Op::ConnectionModels(it) => {
                self.on_try(from, submission_id, it.connection_id, it.draft, None, true)
            }
            Op::ConnectionCancel(it) => {
                let effect = Effect::CancelTry { from, connection: Some(it.connection_id) };
                Step { effects: vec![effect], ..Step::default() }
            }
            _ => answer(from, error_event(Some(submission_id), ErrorCode::Internal, "not a question", false)),
        }
    }

    #[inline(never)]
    fn on_subscribe(&mut self, from: ConnectionHandle, submission: SubmissionId, thread: ThreadId) -> Step {
        let (code, why) = self.why_closed(&thread);
        let Some(effect) = self.snapshot_effect(from, &submission, &thread) else {
            return answer(from, error_event(Some(submission), code, why, false));
        };
        if let Some(client) = self.clients.get_mut(&from) {
            client.subscribed = Some(thread);
        }
        Step { effects: vec![effect], ..Step::default() }
    }

    /// Keeps a message that is being written: relaxed and without a receipt, for the next keystroke brings it again.
    fn on_draft(
        &mut self,
        from: ConnectionHandle,
        submission: SubmissionId,
        DraftUpdate { thread_id: thread, text }: DraftUpdate,
    ) -> Step {
        if let Some(gone) = thread.as_ref().filter(|it| !self.directory.threads.contains_key(*it)) {
            let (code, why) = self.why_closed(gone);
            return answer(from, error_event(Some(submission), code, why, false));
        }
        let (text, drafts) = (text.into_string(), &mut self.directory.drafts);
        let key = Key::draft(thread.as_ref());
        let write = if text.is_empty() {
            drafts.remove(&thread).map(|_| Write::Delete(key))
        } else {
            let before = drafts.insert(thread.clone(), text.clone());
            (before.as_ref() != Some(&text)).then(|| Write::Put(Draft { thread, text }.into()))
        };
        let Some(write) = write else { return Step::default() };
        let commit = Commit { writes: vec![write], durability: Durability::Relaxed, ..Commit::default() };
        let why = "the browser could not save what you are writing";
        let failed = error_event(Some(submission), ErrorCode::StorageFailed, why, true);
        Step { commit: Some(commit), on_failure: vec![private(from, failed)], ..Step::default() }
    }

    /// Why a thread without a machine cannot be followed.
    fn why_closed(&self, thread: &ThreadId) -> (ErrorCode, &'static str) {
        if self.quarantined.contains(thread) {
            (ErrorCode::Quarantined, "this conversation was set aside after it stopped the engine twice")
        } else if !self.directory.threads.contains_key(thread) {
            (ErrorCode::ThreadNotFound, "this conversation does not exist any more")
        } else {
            (ErrorCode::Internal, "this conversation's records cannot be read")
        }
    }

    #[inline(never)]
    pub(super) fn on_history(
        &self,
        from: ConnectionHandle,
        submission_id: SubmissionId,
        thread_id: ThreadId,
        page: Result<(Vec<Node>, bool), String>,
    ) -> Step {
        let (nodes, has_older) = match page {
            Ok(page) => page,
            Err(why) => {
                let why = format!("older messages cannot be read: {why}");
                return answer(from, error_event(Some(submission_id), ErrorCode::Internal, &why, true));
            }
        };
        let Some(machine) = self.machines.get(&thread_id) else {
            let (code, why) = self.why_closed(&thread_id);
            return answer(from, error_event(Some(submission_id), code, why, false));
        };
        let items = nodes.iter().map(|node| project::item(&machine.thread, node)).collect();
        answer(from, Event::ThreadPage(ThreadPage { submission_id, thread_id, items, has_older }))
    }

    #[inline(never)]
    pub(super) fn on_malformed(&self, from: ConnectionHandle, rejected: &RejectedOp) -> Step {
        let why = rejected.error.to_string();
        let event = match &rejected.submission_id {
            Some(submission_id) => Event::CommandRejected(panelot_protocol::event::CommandRejected {
                submission_id: submission_id.clone(),
                code: ErrorCode::InvalidCommand,
                message: why,
                retryable: false,
                thread_id: None,
            }),
            None => error_event(None, ErrorCode::InvalidCommand, &why, false),
        };
        answer(from, event)
    }

    #[inline(never)]
    pub(super) fn on_overloaded(&self, from: ConnectionHandle, message: OpMessage) -> Step {
        let client = self.clients.get(&from).and_then(|client| client.id.clone());
        let why = "too many operations of this conversation wait; try again in a moment";
        let event = match client {
            Some(client) => {
                Command { from, client, message }.refusal(&Refused::new(ErrorCode::Overloaded, why))
            }
            None => error_event(Some(message.submission_id), ErrorCode::Overloaded, why, true),
        };
        answer(from, event)
    }

    /// A thread whose records are broken: it is shown as it is in the list, and only it.
    #[inline(never)]
    pub(super) fn on_unreadable(&mut self, thread: &ThreadId, why: &str) -> Vec<Step> {
        let event = error_event(
            None,
            ErrorCode::Internal,
            &format!("the conversation {thread} cannot be read: {why}"),
            false,
        );
        let to = self.everyone();
        vec![Step {
            effects: vec![Effect::Send { to, message: Box::new(EventMessage::private(event)) }],
            ..Step::default()
        }]
    }
}
