//! Commands and their answers: what was sent, what was answered, and whether the store stands behind it.
#![expect(clippy::indexing_slicing, reason = "objects of JSON, by the names of their members")]

use panelot_base::{ClientId, RunId, SubmissionId};
use panelot_engine::Input;
use panelot_protocol::op::Resolution;
use panelot_protocol::{Op, OpMessage, Receipting};
use panelot_records::{Outcome, RunState};
use serde_json::Value;

use crate::invariant::Invariant;
use crate::world::{Sent, World};

/// A command that the engine is about to look at.
pub(crate) struct Asked {
    from: u64,
    client: ClientId,
    message: OpMessage,
    payload: Value,
    /// How it was answered before, when it is the same command.
    before: Option<Value>,
    /// The id was used for something else.
    changed: bool,
    receipts: usize,
}

/// The names of the operations are static; this finds the one of an operation.
fn listed(op: &Op) -> &'static str {
    op.name()
}

impl World {
    /// Notes an operation before it is handled.
    pub(crate) fn asked(&mut self, input: &Input) -> Option<Asked> {
        self.orders_retry = matches!(input, Input::Op { message, .. }
            if matches!(&message.op, Op::RunResolveUncertain(it) if it.resolution == Resolution::Retry));
        let (Input::Op { from, message, .. } | Input::Branch { from, message, .. }) = input else {
            return None;
        };
        self.update_now |= matches!(message.op, Op::UpdateApply(_));
        self.coverage.ops.entry(listed(&message.op)).or_default().0 += 1;
        self.answers.clear();
        if message.op.receipting() != Receipting::Durable {
            let known = self.worker.as_ref().is_some_and(|worker| worker.engine.client_id(*from).is_some());
            if known || matches!(message.op, Op::Initialize(_) | Op::Ping(_)) {
                self.coverage.ops.entry(listed(&message.op)).or_default().1 += 1;
            }
            return None;
        }
        let client = self.worker.as_ref()?.engine.client_id(*from)?.clone();
        let payload = message.to_json();
        let key = (client.clone(), message.submission_id.clone());
        let fresh = || Sent { message: message.clone(), payload: payload.clone(), answer: None };
        // An id stands for what its receipt was written for; without one it stands for nothing yet.
        let bound = self.shadow.receipts.contains_key(&key);
        let first = self.sent.entry(key).or_insert_with(fresh);
        if !bound && first.answer.is_none() {
            *first = fresh();
        }
        let changed = first.payload != payload;
        Some(Asked {
            from: from.0,
            client,
            message: message.clone(),
            payload,
            before: first.answer.clone(),
            changed,
            receipts: self.shadow.receipts.len(),
        })
    }

    /// Compares what was answered with what was answered before, and with the store.
    pub(crate) fn check_answer(&mut self, asked: Option<Asked>) {
        let Some(asked) = asked else { return };
        let id = asked.message.submission_id.clone();
        let mut answers: Vec<Value> = std::mem::take(&mut self.answers)
            .into_iter()
            .filter(|(to, submission, _)| *to == asked.from && *submission == id)
            .map(|(_, _, answer)| answer)
            .collect();
        let stored = self.shadow.receipts.get(&(asked.client.clone(), id.clone())).cloned();
        let answer = answers.pop();
        if !answers.is_empty() {
            return self.fail(Invariant::SameAnswer, format!("{id} was answered more than once"));
        }
        let Some(answer) = answer else {
            // A branch is read beside the loop, and the command answered then.
            let reads = matches!(asked.message.op, Op::ThreadFork(_));
            if !self.dead && self.worker.is_some() && !self.is_over() && !reads {
                self.fail(
                    Invariant::Liveness,
                    format!("{id} ({}) was not answered", asked.message.op.name()),
                );
            }
            return;
        };
        let yes = answer["type"] == "command.ack";
        let Some(receipt) = stored else {
            if yes {
                self.fail(Invariant::Acknowledged, format!("{id} was acknowledged and has no receipt"));
            } else if answer["retryable"] != true {
                self.fail(
                    Invariant::SameAnswer,
                    format!("{id} was refused for good without a receipt: {answer}"),
                );
            }
            return;
        };
        if let Some(before) = &asked.before {
            return self.check_repeated(&asked, before, &answer);
        }
        if asked.changed && answer["code"] == "invalid_command" {
            return;
        }
        if yes != matches!(receipt.outcome, Outcome::Acknowledged { .. }) && answer["retryable"] != true {
            let what = format!("{id} was answered {answer}, its receipt says {:?}", receipt.outcome);
            return self.fail(Invariant::SameAnswer, what);
        }
        if answer["code"] == "storage_failed" {
            // The commit was applied and its answer lost: the next try is answered by the receipt.
            return;
        }
        let payload = asked.payload.clone();
        let message = asked.message.clone();
        self.sent.insert((asked.client.clone(), id), Sent { message, payload, answer: Some(answer.clone()) });
        if yes {
            self.coverage.ops.entry(listed(&asked.message.op)).or_default().1 += 1;
            // One that was decided before a crash may have been overtaken by it.
            if self.shadow.receipts.len() > asked.receipts {
                self.check_applied(&asked, &answer);
            }
        }
    }

    fn check_repeated(&mut self, asked: &Asked, before: &Value, answer: &Value) {
        let id = &asked.message.submission_id;
        if asked.changed {
            if answer["code"] != "invalid_command" {
                self.fail(Invariant::SameAnswer, format!("{id} came with another payload and got {answer}"));
            }
        } else if before != answer {
            self.fail(Invariant::SameAnswer, format!("{id} was answered {before}, now {answer}"));
        }
        if self.shadow.receipts.len() != asked.receipts {
            self.fail(Invariant::SameAnswer, format!("{id} came again and was decided again"));
        }
    }

    /// What an acknowledgement promises is in the store by then.
    fn check_applied(&mut self, asked: &Asked, answer: &Value) {
        let id = &asked.message.submission_id;
        let done = match &asked.message.op {
            Op::TurnSubmit(_) | Op::TurnEnqueue(_) | Op::TurnFork(_) => self.has_run(&asked.client, id),
            Op::TurnSteer(it) => {
                let waits =
                    |run: &panelot_records::Run| run.steers.iter().any(|steer| steer.submission == *id);
                let left = |run: &RunId| self.shadow.runs.get(run).is_none_or(|run| run.state.is_end());
                it.promotes.as_ref().is_none_or(left)
                    && (self.shadow.message(&it.thread_id, id).is_some()
                        || self.shadow.runs.values().any(waits))
            }
            Op::ThreadFork(_) => {
                let made = answer["threadId"].as_str().unwrap_or_default();
                self.shadow.threads.keys().any(|id| id.as_str() == made)
            }
            Op::ThreadUpdate(it) => self.shadow.threads.get(&it.thread_id).is_some_and(|thread| {
                it.pinned.is_none_or(|pinned| thread.pinned == pinned)
                    && it.title.as_ref().is_none_or(|title| thread.title == title.trim())
            }),
            Op::QueueUpdate(it) => self.shadow.runs.get(&it.run_id).is_some_and(|run| {
                run.state != RunState::Queued || run.queued_text.as_deref() == Some(&*it.input.text)
            }),
            Op::QueueRemove(it) => self.shadow.runs.get(&it.run_id).is_some_and(|run| run.state.is_end()),
            Op::MessageDelete(it) => {
                let node = self.shadow.nodes.get(&(it.thread_id.clone(), it.node));
                node.is_some_and(|node| node.body == panelot_records::Body::Removed)
            }
            Op::RulePut(it) => self.shadow.rules.contains(it.rule.id.as_str()),
            Op::RuleRemove(it) => !self.shadow.rules.contains(it.rule_id.as_str()),
            Op::GrantRevoke(it) => {
                let grant = (it.granted_in.clone(), it.tool.to_string(), it.origin.to_string());
                !self.shadow.grants.contains(&grant)
            }
            Op::InteractionResponse(it) => self.shadow.is_answered(&it.interaction_id),
            Op::ThreadCreate(create) => {
                let thread = answer["threadId"].as_str().unwrap_or_default();
                let made = self.shadow.threads.keys().any(|id| id.as_str() == thread);
                made && (create.input.is_none() || self.has_run(&asked.client, id))
            }
            Op::ThreadDelete(it) => {
                self.shadow.deleted.contains(&it.thread_id) || self.is_closed(&it.thread_id)
            }
            Op::TurnInterrupt(it) => {
                let run = answer["runId"].as_str();
                let stopped = |run: &panelot_records::Run| {
                    run.thread != it.thread_id
                        || Some(run.id.as_str()) != run_id(run, answer)
                        || run.state.is_end()
                };
                run.is_none() || self.shadow.runs.values().all(stopped)
            }
            Op::ApprovalResponse(it) => self.shadow.decision(&it.approval_id).is_some(),
            Op::RunResume(it) => {
                self.shadow.runs.get(&it.run_id).is_some_and(|run| run.state != RunState::Interrupted)
            }
            Op::RunResolveUncertain(it) => self.shadow.runs.get(&it.run_id).is_some_and(|run| {
                it.resolution == Resolution::Retry
                    || run.state != RunState::PausedUncertain
                    || run.batch.is_some()
            }),
            _ => true,
        };
        if !done {
            let what = format!("{id} ({}) was acknowledged and is not done", asked.message.op.name());
            self.fail(Invariant::Acknowledged, what);
        }
    }

    fn has_run(&self, client: &ClientId, submission: &SubmissionId) -> bool {
        self.shadow.runs.values().any(|run| run.client == *client && run.submission == *submission)
    }

    /// At the end: what was acknowledged is there, once; what was refused is nowhere.
    pub(crate) fn check_messages(&mut self) {
        let mut wrong = None;
        for ((client, id), sent) in &self.sent {
            let Some(answer) = &sent.answer else { continue };
            if let (Op::TurnSteer(it), true) = (&sent.message.op, answer["type"] == "command.ack")
                && self.shadow.is_alive(&it.thread_id)
                && self.shadow.message(&it.thread_id, id).is_none()
            {
                wrong = Some(format!("the added message {id} ({:?}) is lost", it.input.text));
            }
            let text = match &sent.message.op {
                Op::TurnSubmit(it) | Op::TurnEnqueue(it) => Some(&it.input),
                Op::TurnFork(it) => Some(&it.input),
                Op::ThreadCreate(it) => it.input.as_ref(),
                _ => None,
            };
            let Some(text) = text else { continue };
            let acknowledged = answer["type"] == "command.ack";
            let run = self.shadow.runs.values().find(|run| run.client == *client && run.submission == *id);
            match run {
                Some(_) if !acknowledged => wrong = Some(format!("{id} was refused and has a run")),
                Some(run) if run.leaf.is_some() && self.shadow.message(&run.thread, id).is_none() => {
                    wrong = Some(format!("the message {id} ({:?}) is lost", text.text));
                }
                None if acknowledged => {
                    let thread = answer["threadId"].as_str().unwrap_or_default();
                    let gone = |thread: &panelot_base::ThreadId| {
                        self.shadow.deleted.contains(thread) || self.is_closed(thread)
                    };
                    let known = self
                        .shadow
                        .threads
                        .keys()
                        .chain(&self.shadow.deleted)
                        .find(|it| it.as_str() == thread);
                    if !known.is_some_and(gone) {
                        wrong = Some(format!("the run of {id} is lost"));
                    }
                }
                _ => {}
            }
        }
        if let Some(what) = wrong {
            self.fail(Invariant::Acknowledged, what);
        }
    }
}

/// The run that an answer names, for one of its thread.
fn run_id<'a>(run: &panelot_records::Run, answer: &'a Value) -> Option<&'a str> {
    answer["runId"].as_str().filter(|id| *id == run.id.as_str())
}
