//! What the person wants, turned into operations.

use panelot_base::{RunId, SubmissionId, ThreadId, Timestamp, TurnId};
use panelot_protocol::op::{
    ApprovalResponse, BrowserContext, ConnectionVerify, GrantRevoke, InteractionResponse, Nothing,
    QueueUpdate, RuleRemove, RunOnly, RunResolveUncertain, SecretsUnlock, SecretsUpdate, SettingsUpdate,
    ThreadCreate, ThreadHistory, ThreadNode, ThreadOnly, ThreadUpdate, TurnFork, TurnOverrides, TurnSteer,
    TurnSubmit, UserInput,
};
use panelot_protocol::settings::GrantView;
use panelot_protocol::{Op, Text};

use super::link::Link;
use super::outbox::command_kind;
use super::{Arrangement, Client, ClientEffect, Command, Focus, Out};
use crate::model::{CommandKind, ConnectionState, Echo, Refusal, ThreadView, Verification};

/// What the person wrote and what the browser showed then.
struct Message {
    text: String,
    browser_context: Option<BrowserContext>,
}

/// What becomes of a message.
enum Delivery {
    /// It is answered by a turn of its own.
    Own(TurnOverrides),
    /// It is added to this turn.
    Into(TurnId),
    /// It is another version of the message with this sequence.
    Beside(u64, TurnOverrides),
}

/// The operation of a command that needs nothing but the open thread; none without one.
fn op_of(open: Option<ThreadId>, command: Command) -> Option<Op> {
    Some(match command {
        Command::Answer { approval: approval_id, decision } => {
            Op::ApprovalResponse(ApprovalResponse { thread_id: open?, approval_id, decision })
        }
        Command::Respond { interaction: interaction_id, answer: response } => {
            Op::InteractionResponse(InteractionResponse { thread_id: open?, interaction_id, response })
        }
        Command::Resume { run: run_id } => Op::RunResume(RunOnly { thread_id: open?, run_id }),
        Command::Resolve { run: run_id, resolution } => {
            Op::RunResolveUncertain(RunResolveUncertain { thread_id: open?, run_id, resolution })
        }
        Command::ChangeQueued { run: run_id, text } => {
            let input = UserInput { text: Text::clipped(&text), browser_context: None };
            Op::QueueUpdate(QueueUpdate { thread_id: open?, run_id, input, overrides: None })
        }
        Command::RemoveQueued { run: run_id } => Op::QueueRemove(RunOnly { thread_id: open?, run_id }),
        Command::ShowVersion { node } => Op::ThreadSelectBranch(ThreadNode { thread_id: open?, node }),
        Command::Copy { node } => Op::ThreadFork(ThreadNode { thread_id: open?, node }),
        Command::DeleteEntry { node } => Op::MessageDelete(ThreadNode { thread_id: open?, node }),
        Command::Arrange { thread: thread_id, change } => {
            let Arrangement { title, pinned, archived, folder, tags } = change;
            Op::ThreadUpdate(ThreadUpdate {
                thread_id,
                title: title.map(|title| Text::clipped(title.trim())).filter(|title| !title.is_empty()),
                pinned,
                archived,
                folder_id: folder.map(|folder| Text::clipped(folder.trim())),
                tags: tags.map(|tags| tags.iter().map(|tag| Text::clipped(tag)).collect()),
                model: None,
                effort: None,
                preset: None,
            })
        }
        Command::Delete { thread: thread_id } => Op::ThreadDelete(ThreadOnly { thread_id }),
        Command::UpdateSettings { changes } => Op::SettingsUpdate(SettingsUpdate { changes }),
        Command::Unlock { key } => Op::SecretsUnlock(SecretsUnlock { key }),
        Command::Lock => Op::SecretsLock(Nothing {}),
        Command::ChangeSecrets { change } => Op::SecretsUpdate(SecretsUpdate { change }),
        Command::RemoveRule { rule: rule_id } => Op::RuleRemove(RuleRemove { rule_id }),
        Command::RevokeGrant { grant: GrantView { granted_in, tool, origin, .. } } => {
            Op::GrantRevoke(GrantRevoke { granted_in, tool, origin })
        }
        // The rest needs more than an operation.
        _ => return None,
    })
}

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
                let delivery = Delivery::Own(overrides);
                self.submit(now, Message { text, browser_context }, delivery, out);
            }
            Command::Steer { text, browser_context, overrides } => {
                let delivery = match self.model.thread.steerable_turn() {
                    Some(turn) => Delivery::Into(turn.clone()),
                    None => Delivery::Own(overrides),
                };
                self.submit(now, Message { text, browser_context }, delivery, out);
            }
            Command::Revise { sibling_of, text, browser_context, overrides } => {
                let delivery = Delivery::Beside(sibling_of, overrides);
                self.submit(now, Message { text, browser_context }, delivery, out);
            }
            Command::SaveDraft { thread, text } => self.save_draft(thread, text),
            Command::ApplyUpdate => {
                if self.link == Link::Open {
                    self.send_now(Op::UpdateApply(Nothing {}), out);
                }
            }
            Command::Stop => {
                if let Some(thread_id) = self.model.thread.id.clone() {
                    self.model.thread.stopping = true;
                    out.changes.thread = true;
                    self.give(Op::TurnInterrupt(ThreadOnly { thread_id }), out);
                }
            }
            Command::LoadOlder => self.load_older(out),
            Command::Verify { connection: connection_id, model } => {
                self.model.verifications.insert(connection_id.clone(), Verification::Running);
                out.changes.verifications = true;
                let model_id = model.map(|model| Text::clipped(&model));
                self.give(
                    Op::ConnectionVerify(ConnectionVerify { connection_id, model_id, draft: None }),
                    out,
                );
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
            Command::Promote { run, text } => self.promote(run, &text, out),
            Command::ChangeQueued { run, text } if text.trim().is_empty() => {
                self.refuse(CommandKind::Queue(run), Refusal::TextDoesNotFit, out);
            }
            plain => {
                if let Some(op) = op_of(self.model.thread.id.clone(), plain) {
                    self.give(op, out);
                }
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
        let meant: Vec<_> = self.outbox.iter().filter(|(_, op)| op.thread_id() == Some(&thread)).collect();
        let meant: Vec<_> = meant.into_iter().map(|(id, op)| (id.clone(), op.clone())).collect();
        for (id, op) in meant {
            self.show_echo_of(now, &id, &op, out);
        }
        out.changes.thread_switched = true;
    }

    fn submit(&mut self, now: Timestamp, message: Message, delivery: Delivery, out: &mut Out) {
        let Message { text, browser_context } = message;
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
        let op = match (thread, delivery) {
            (Some(thread_id), Delivery::Own(overrides)) => {
                let submit = TurnSubmit { thread_id, input, overrides };
                if self.model.thread.is_busy() { Op::TurnEnqueue(submit) } else { Op::TurnSubmit(submit) }
            }
            (Some(thread_id), Delivery::Into(expected_turn_id)) => {
                Op::TurnSteer(TurnSteer { thread_id, expected_turn_id, input, promotes: None })
            }
            (Some(thread_id), Delivery::Beside(sibling_of, overrides)) => {
                Op::TurnFork(TurnFork { thread_id, sibling_of, input, overrides })
            }
            (None, Delivery::Own(overrides) | Delivery::Beside(_, overrides)) => {
                self.create(&submission_id, input, overrides, out)
            }
            (None, Delivery::Into(_)) => self.create(&submission_id, input, TurnOverrides::default(), out),
        };
        self.show_echo_of(now, &submission_id, &op, out);
        self.outbox.add(submission_id, op, CommandKind::Submit);
    }

    fn promote(&mut self, run: RunId, text: &str, out: &mut Out) {
        let thread = &self.model.thread;
        if let (Some(thread_id), Some(turn)) = (&thread.id, thread.steerable_turn()) {
            let steer = TurnSteer {
                thread_id: thread_id.clone(),
                expected_turn_id: turn.clone(),
                input: UserInput { text: Text::clipped(text), browser_context: None },
                promotes: Some(run),
            };
            self.give(Op::TurnSteer(steer), out);
        }
    }

    fn save_draft(&mut self, thread: Option<ThreadId>, text: String) {
        if thread.is_none() {
            self.model.directory.draft.clone_from(&text);
        } else if self.model.thread.id == thread {
            self.model.thread.draft.clone_from(&text);
        }
        self.drafts.insert(thread, text);
    }

    /// The command that makes a thread of the draft that is shown.
    fn create(&mut self, id: &SubmissionId, input: UserInput, overrides: TurnOverrides, out: &mut Out) -> Op {
        self.creating = Some(id.clone());
        self.model.thread.creating = true;
        out.changes.thread = true;
        Op::ThreadCreate(ThreadCreate { preset: None, folder_id: None, input: Some(input), overrides })
    }

    /// Shows the message of a command before the engine has it; one that begins a branch comes with that.
    fn show_echo_of(&mut self, now: Timestamp, id: &SubmissionId, op: &Op, out: &mut Out) {
        let (input, echo) = match op {
            Op::TurnSubmit(it) | Op::TurnEnqueue(it) => (&it.input, Echo::Message),
            Op::ThreadCreate(ThreadCreate { input: Some(input), .. }) => (input, Echo::Message),
            Op::TurnSteer(it) if it.promotes.is_none() => (&it.input, Echo::Steer),
            _ => return,
        };
        let text = input.text.to_string();
        self.model.thread.show_echo(id.clone(), text, echo, now, &mut out.changes);
    }

    /// Puts a command into the outbox, unless the same one waits there for its answer already (a second click).
    fn give(&mut self, op: Op, out: &mut Out) {
        let Some(kind) = command_kind(&op) else { return };
        let repeats = match kind {
            CommandKind::Settings => false,
            // Two of a kind may differ.
            CommandKind::Arrange | CommandKind::Queue(_) => {
                self.outbox.iter().any(|(_, waiting)| *waiting == op)
            }
            _ => self.outbox.kinds().contains(&kind),
        };
        if repeats {
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
