//! What the engine says, taken in order or not at all.

use panelot_base::{SubmissionId, ThreadId, Timestamp};
use panelot_protocol::event::{CommandAck, ErrorCode, Initialized, ThreadSnapshotEvent};
use panelot_protocol::snapshot::Activity;
use panelot_protocol::{DirectoryCursor, Event, EventDecode, EventMessage, Op, StreamCursor, decode_event};
use serde_json::Value;

use super::link::Link;
use super::{Client, ClientEffect, Focus, Out};
use crate::model::{CommandKind, ConnectionState, Refusal, ThreadView, Verification};

/// What an event's place in its stream says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Next,
    /// Seen already, or from an earlier life of the worker.
    Old,
    /// Something between it and the last one is missing.
    Gap,
}

fn place((epoch, sequence): (u64, u64), (seen_epoch, seen): (u64, u64)) -> Place {
    if epoch < seen_epoch || (epoch == seen_epoch && sequence <= seen) {
        Place::Old
    } else if epoch == seen_epoch && Some(sequence) == seen.checked_add(1) {
        Place::Next
    } else {
        Place::Gap
    }
}

impl Client {
    pub(super) fn message(&mut self, now: Timestamp, port: u32, value: &Value, out: &mut Out) {
        if port != self.port || !matches!(self.link, Link::Handshake | Link::Open) {
            return;
        }
        self.heard = true;
        match decode_event(value) {
            EventDecode::Unknown => {}
            EventDecode::Malformed { error, .. } => {
                let state = ConnectionState::Mismatch { detail: error.to_string() };
                self.stop(Link::Mismatched, state, out);
            }
            EventDecode::Known(EventMessage { stream: Some(at), event, .. }) => {
                self.thread_event(now, &at, event, out);
            }
            EventDecode::Known(EventMessage { directory: Some(at), event, .. }) => {
                self.directory_event(at, event, out);
            }
            EventDecode::Known(EventMessage { event, .. }) => self.answer(now, event, out),
        }
    }

    fn thread_event(&mut self, now: Timestamp, at: &StreamCursor, event: Event, out: &mut Out) {
        let Some(follow) = self.follow.as_mut() else { return };
        if follow.thread != at.thread_id {
            if follow.request.is_none() && matches!(event, Event::ThreadSnapshot(_)) {
                // The thread that was left was slower to load. The engine takes it for the one that is shown.
                self.subscribe(out);
            }
            return;
        }
        if let Event::ThreadSnapshot(ThreadSnapshotEvent { submission_id, thread_id, snapshot }) = event {
            // One that nobody asked for has its place in the stream: the thread shows another branch now.
            let place =
                follow.at.as_ref().map(|seen| place((at.epoch, at.sequence), (seen.epoch, seen.sequence)));
            match (follow.request.as_ref() == Some(&submission_id), place) {
                (true, _) => follow.request = None,
                (false, Some(Place::Next)) => {}
                (false, Some(Place::Gap)) => return self.subscribe(out),
                (false, Some(Place::Old) | None) => return,
            }
            follow.at = Some(at.clone());
            let keep = |id: &SubmissionId| self.outbox.contains(id) || self.admitted.contains(id);
            let written = self.drafts.get(&Some(thread_id.clone())).cloned();
            self.model.thread.install(thread_id, snapshot, keep, &mut out.changes);
            self.unsure = self.model.thread.echoes();
            self.unsure.retain(|id| self.outbox.contains(id));
            if let Some(text) = written {
                self.model.thread.draft = text;
            }
            return;
        }
        let Some(seen) = follow.at.as_mut() else { return };
        match place((at.epoch, at.sequence), (seen.epoch, seen.sequence)) {
            Place::Old => {}
            Place::Gap => self.subscribe(out),
            Place::Next => {
                seen.sequence = at.sequence;
                if let Event::ApprovalRequest(it) = &event {
                    let approval = it.approval.approval_id.clone();
                    out.effects.push(ClientEffect::Focus(Focus::Approval(approval)));
                }
                if let Event::InteractionRequest(it) = &event {
                    let interaction = it.interaction.interaction_id.clone();
                    out.effects.push(ClientEffect::Focus(Focus::Approval(interaction)));
                }
                self.model.thread.apply(now, event, &mut out.changes);
            }
        }
    }

    fn directory_event(&mut self, at: DirectoryCursor, event: Event, out: &mut Out) {
        if let Event::Initialized(it) = event {
            if self.handshake.as_ref() == Some(&it.submission_id) {
                self.directory_at = Some(at);
                self.initialized(it, out);
            }
            return;
        }
        let Some(seen) = self.directory_at.as_mut() else { return };
        match place((at.epoch, at.sequence), (seen.epoch, seen.sequence)) {
            Place::Old => return,
            Place::Gap => return self.initialize(out),
            Place::Next => seen.sequence = at.sequence,
        }
        let directory = &mut self.model.directory;
        out.changes.directory = true;
        match event {
            Event::DirectoryThread(it) => {
                directory.threads.insert(it.thread.id.clone(), it.thread);
            }
            Event::ActivityUpdated(it) => {
                let quiet = !it.activity.running
                    && it.activity.pending_approvals == 0
                    && it.activity.pending_interactions == 0;
                if quiet {
                    directory.activity.remove(&it.activity.thread_id);
                } else {
                    directory.activity.insert(it.activity.thread_id.clone(), it.activity);
                }
            }
            Event::ThreadDeleted(it) => self.forget(&it.deleted_thread_id, out),
            Event::UpdateAvailable(it) => directory.update = Some(it.version),
            _ => {}
        }
    }

    fn initialized(&mut self, it: Initialized, out: &mut Out) {
        self.linked(out);
        let directory = &mut self.model.directory;
        let key = |activity: Activity| (activity.thread_id.clone(), activity);
        directory.loaded = true;
        directory.threads = it.directory.threads.into_iter().map(|meta| (meta.id.clone(), meta)).collect();
        directory.activity = it.directory.activity.into_iter().map(key).collect();
        directory.update = it.directory.update;
        // What was written meanwhile is newer.
        if !self.drafts.contains_key(&None) {
            directory.draft = it.directory.draft;
        }
        out.changes.directory = true;
        if self.model.settings.as_ref() != Some(&it.settings) {
            self.model.settings = Some(it.settings);
            out.changes.settings = true;
        }
        let Some(thread) = self.model.thread.id.clone() else { return };
        let here = self.follow.as_ref().is_some_and(|follow| follow.thread == thread && follow.at.is_some());
        if !here && !self.model.directory.threads.contains_key(&thread) {
            self.leave_missing(&thread, out);
        } else if self.follow.as_ref().is_none_or(|follow| follow.thread != thread) {
            // Another thread was opened while the handshake was under way.
            self.subscribe(out);
        }
    }

    /// The thread that should be shown does not exist.
    fn leave_missing(&mut self, thread: &ThreadId, out: &mut Out) {
        let refusal = Refusal::Engine {
            code: ErrorCode::ThreadNotFound,
            message: "There is no such thread.".to_owned(),
            retryable: false,
            provider: None,
        };
        self.refuse(CommandKind::Open(thread.clone()), refusal, out);
        self.forget(thread, out);
    }

    /// A thread is gone; when it is shown, a draft takes its place.
    fn forget(&mut self, thread: &ThreadId, out: &mut Out) {
        self.model.directory.threads.remove(thread);
        self.model.directory.activity.remove(thread);
        out.changes.directory = true;
        if self.model.thread.id.as_ref() == Some(thread) {
            self.model.thread = ThreadView::default();
            (self.follow, self.history) = (None, None);
            out.changes.thread_switched = true;
            out.effects.push(ClientEffect::ThreadChanged { thread: None });
        }
    }

    fn answer(&mut self, now: Timestamp, event: Event, out: &mut Out) {
        match event {
            Event::CommandAck(it) => self.admitted(now, it, out),
            Event::CommandRejected(it) => {
                let (code, message, retryable) = (it.code, it.message, it.retryable);
                let refusal = Refusal::Engine { code, message, retryable, provider: None };
                self.refused(&it.submission_id, refusal, out);
            }
            Event::Error(it) => {
                let (code, message, provider) = (it.error.code, it.error.message, it.error.provider);
                let refusal = Refusal::Engine { code, message, retryable: it.retryable, provider };
                match &it.submission_id {
                    Some(id) => self.refused(id, refusal, out),
                    None => self.fail(None, refusal, out),
                }
            }
            Event::SettingsUpdated(it) => {
                // Rules and grants change without the revision; what a port brings is in order.
                let older =
                    |known: &panelot_protocol::settings::SettingsView| known.revision > it.settings.revision;
                if !self.model.settings.as_ref().is_some_and(older) {
                    self.model.settings = Some(it.settings);
                    out.changes.settings = true;
                }
                // It answers a command that unlocks or locks.
                if let Some((_, kind)) = it.submission_id.and_then(|id| self.outbox.remove(&id)) {
                    self.succeed(kind, out);
                }
            }
            Event::ConnectionVerified(it) => {
                if let Some((_, kind)) = self.outbox.remove(&it.submission_id) {
                    let connection = it.connection_id.clone();
                    self.model.verifications.insert(connection, Verification::Done(Box::new(it)));
                    out.changes.verifications = true;
                    self.succeed(kind, out);
                }
            }
            Event::ThreadPage(it) if self.history.as_ref() == Some(&it.submission_id) => {
                self.history = None;
                self.model.thread.add_older(it, &mut out.changes);
            }
            Event::ReloadRequired(it) => {
                self.stop(Link::Outdated, ConnectionState::ReloadRequired { message: it.message }, out);
            }
            // A sign of life was noted; the rest belongs to streams.
            _ => {}
        }
    }

    /// A command of this client was admitted.
    fn admitted(&mut self, now: Timestamp, ack: CommandAck, out: &mut Out) {
        let Some((op, kind)) = self.outbox.remove(&ack.submission_id) else { return };
        self.admitted.insert(ack.submission_id.clone());
        if self.unsure.remove(&ack.submission_id) && self.model.thread.echoes().contains(&ack.submission_id) {
            // It was admitted in an earlier life, perhaps, and no event will tell what became of it since.
            self.subscribe(out);
        }
        self.succeed(kind, out);
        match op {
            Op::ThreadCreate(_) if self.creating.as_ref() == Some(&ack.submission_id) => {
                self.creating = None;
                let thread = &mut self.model.thread;
                thread.creating = false;
                thread.loading = ack.thread_id.is_some();
                thread.id.clone_from(&ack.thread_id);
                out.changes.thread = true;
                out.effects.push(ClientEffect::ThreadChanged { thread: ack.thread_id });
                self.subscribe(out);
                // Its snapshot is asked for after the command was admitted, so it has the message.
            }
            Op::ThreadFork(it) if self.model.thread.id.as_ref() == Some(&it.thread_id) => {
                if let Some(copy) = ack.thread_id.filter(|copy| *copy != it.thread_id) {
                    self.show_thread(now, copy.clone(), out);
                    out.effects.push(ClientEffect::ThreadChanged { thread: Some(copy) });
                    self.subscribe(out);
                }
            }
            // The engine has whoever makes a thread follow it; the person has opened another one meanwhile.
            Op::ThreadCreate(_) => self.subscribe(out),
            Op::ThreadDelete(it) => self.forget(&it.thread_id, out),
            Op::TurnInterrupt(_) if !self.model.thread.is_busy() => {
                self.model.thread.stopping = false;
                out.changes.thread = true;
            }
            _ => {}
        }
    }

    fn succeed(&mut self, kind: CommandKind, out: &mut Out) {
        if self.model.last_error.as_ref().is_some_and(|error| error.about.as_ref() == Some(&kind)) {
            self.model.last_error = None;
            out.changes.last_error = true;
        }
        out.effects.push(ClientEffect::Settled { kind, refusal: None });
    }

    /// Something that this client asked was refused.
    fn refused(&mut self, id: &SubmissionId, refusal: Refusal, out: &mut Out) {
        if let Some((op, kind)) = self.outbox.remove(id) {
            self.give_back(id, &op, kind, refusal, out);
        } else if self.history.as_ref() == Some(id) {
            self.history = None;
            self.model.thread.loading_older = false;
            out.changes.thread = true;
            self.refuse(CommandKind::LoadOlder, refusal, out);
        } else if let Some(follow) = self.follow.as_mut().filter(|follow| follow.request.as_ref() == Some(id))
        {
            let thread = follow.thread.clone();
            follow.request = None;
            self.model.thread.loading = false;
            out.changes.thread = true;
            let missing = matches!(&refusal, Refusal::Engine { code: ErrorCode::ThreadNotFound, .. });
            self.refuse(CommandKind::Open(thread.clone()), refusal, out);
            if missing {
                self.forget(&thread, out);
            }
        }
    }
}
