//! What the person wants, turned into operations.

use panelot_base::{SubmissionId, ThreadId, Timestamp};
use panelot_protocol::op::{
    ApprovalResponse, BrowserContext, ConnectionVerify, RuleRemove, RunOnly, RunResolveUncertain,
    SettingsUpdate, ThreadCreate, ThreadHistory, ThreadOnly, TurnOverrides, TurnSubmit, UserInput,
};
use panelot_protocol::{Op, Text};

use super::link::Link;
use super::outbox::command_kind;
use super::{Client, ClientEffect, Command, Focus, Out};
use crate::model::{CommandKind, ConnectionState, Refusal, ThreadView, Verification};

impl Client {
    pub(super) fn command(&mut self, now: Timestamp, command: Command, out: &mut Out) {
        match command {
            Command::Open { thread } => self.open(now, thread, out),
            Command::NewChat => {
                self.model.thread = ThreadView::default();
                (self.follow, self.creating, self.history) = (None, None, None);
                out.changes.thread_switched = true;
                out.effects.push(ClientEffect::Focus(Focus::Composer));
            }
            Command::Submit { text, browser_context, overrides } => {
                self.submit(now, text, browser_context, overrides, out);
            }
            Command::Stop => {
                if let Some(thread_id) = self.model.thread.id.clone() {
                    self.model.thread.stopping = true;
                    out.changes.thread = true;
                    self.give(Op::TurnInterrupt(ThreadOnly { thread_id }), out);
                }
            }
            Command::Answer { approval: approval_id, decision } => {
                self.give_for_thread(out, |thread_id| {
                    Op::ApprovalResponse(ApprovalResponse { thread_id, approval_id, decision })
                });
            }
            Command::Resume { run: run_id } => {
                self.give_for_thread(out, |thread_id| Op::RunResume(RunOnly { thread_id, run_id }));
            }
            Command::Resolve { run: run_id, resolution } => {
                self.give_for_thread(out, |thread_id| {
                    Op::RunResolveUncertain(RunResolveUncertain { thread_id, run_id, resolution })
                });
            }
            Command::Delete { thread: thread_id } => {
                self.give(Op::ThreadDelete(ThreadOnly { thread_id }), out);
            }
            Command::LoadOlder => self.load_older(out),
            Command::UpdateSettings { changes } => {
                self.give(Op::SettingsUpdate(SettingsUpdate { changes }), out);
            }
            Command::RemoveRule { rule: rule_id } => self.give(Op::RuleRemove(RuleRemove { rule_id }), out),
            Command::Verify { connection: connection_id, model } => {
                self.model.verifications.insert(connection_id.clone(), Verification::Running);
                out.changes.verifications = true;
                let model_id = model.map(|model| Text::clipped(&model));
                self.give(Op::ConnectionVerify(ConnectionVerify { connection_id, model_id }), out);
            }
            Command::Reconnect => match self.link {
                Link::Waiting => self.connect(out),
                Link::Mismatched => {
                    self.model.connection = ConnectionState::Connecting;
                    out.changes.connection = true;
                    self.connect(out);
                }
                Link::Open => self.ping(out),
                Link::Idle | Link::Opening | Link::Handshake | Link::Outdated => {}
            },
            Command::DismissError => {
                out.changes.last_error |= self.model.last_error.take().is_some();
            }
        }
    }

    fn open(&mut self, now: Timestamp, thread: ThreadId, out: &mut Out) {
        if self.model.thread.id.as_ref() != Some(&thread) {
            self.show_thread(now, thread, out);
            self.subscribe(out);
        } else if self.follow.as_ref().is_some_and(|follow| follow.request.is_none() && follow.at.is_none()) {
            // An earlier try was refused.
            self.model.thread.loading = true;
            out.changes.thread = true;
            self.subscribe(out);
        }
        out.effects.push(ClientEffect::Focus(Focus::Composer));
    }

    /// Shows a thread of which only the head and the own unanswered messages are known yet.
    pub(super) fn show_thread(&mut self, now: Timestamp, thread: ThreadId, out: &mut Out) {
        (self.creating, self.history) = (None, None);
        let meta = self.model.directory.threads.get(&thread).cloned();
        self.model.thread = ThreadView::default();
        (self.model.thread.id, self.model.thread.meta) = (Some(thread.clone()), meta);
        self.model.thread.loading = true;
        for (id, op) in self.outbox.iter() {
            if let Op::TurnSubmit(it) = op
                && it.thread_id == thread
            {
                let text = it.input.text.to_string();
                self.model.thread.show_echo(id.clone(), text, now, &mut out.changes);
            }
        }
        out.changes.thread_switched = true;
    }

    fn submit(
        &mut self,
        now: Timestamp,
        text: String,
        browser_context: Option<BrowserContext>,
        overrides: TurnOverrides,
        out: &mut Out,
    ) {
        let thread = self.model.thread.id.clone();
        let refusal = match self.link {
            Link::Mismatched | Link::Outdated => Some(Refusal::Unreachable),
            _ if thread.is_none() && self.creating.is_some() => Some(Refusal::StillCreating),
            _ if text.trim().is_empty() => Some(Refusal::TextDoesNotFit),
            _ => None,
        };
        let fitting = match refusal {
            Some(refusal) => Err(refusal),
            None => Text::new(text.clone()).ok_or(Refusal::TextDoesNotFit),
        };
        let sent = match fitting {
            Ok(sent) => sent,
            Err(refusal) => {
                out.effects.push(ClientEffect::RestoreText { thread, text });
                self.refuse(CommandKind::Submit, refusal, out);
                return;
            }
        };
        let input = UserInput { text: sent, browser_context };
        let submission_id = SubmissionId::mint(&mut self.setup.ids);
        let op = match thread {
            Some(thread_id) => Op::TurnSubmit(TurnSubmit { thread_id, input, overrides }),
            None => {
                self.creating = Some(submission_id.clone());
                self.model.thread.creating = true;
                out.changes.thread = true;
                Op::ThreadCreate(ThreadCreate {
                    preset: None,
                    folder_id: None,
                    input: Some(input),
                    overrides,
                })
            }
        };
        self.model.thread.show_echo(submission_id.clone(), text, now, &mut out.changes);
        self.outbox.add(submission_id, op, CommandKind::Submit);
    }

    fn give_for_thread(&mut self, out: &mut Out, op: impl FnOnce(ThreadId) -> Op) {
        if let Some(thread_id) = self.model.thread.id.clone() {
            self.give(op(thread_id), out);
        }
    }

    /// Puts a command into the outbox, unless the same one waits there for its answer already (a second click).
    fn give(&mut self, op: Op, out: &mut Out) {
        let Some(kind) = command_kind(&op) else { return };
        if kind != CommandKind::Settings && self.outbox.kinds().contains(&kind) {
            return;
        }
        let id = SubmissionId::mint(&mut self.setup.ids);
        if matches!(self.link, Link::Mismatched | Link::Outdated) {
            self.give_back(&id, &op, kind, Refusal::Unreachable, out);
        } else {
            self.outbox.add(id, op, kind);
        }
    }

    fn load_older(&mut self, out: &mut Out) {
        let thread = &self.model.thread;
        if self.link != Link::Open || thread.loading || thread.loading_older || !thread.can_load_older {
            return;
        }
        let (Some(thread_id), Some(before)) = (thread.id.clone(), thread.oldest_sequence()) else { return };
        self.model.thread.loading_older = true;
        out.changes.thread = true;
        self.history = Some(self.send_now(Op::ThreadHistory(ThreadHistory { thread_id, before }), out));
    }
}
