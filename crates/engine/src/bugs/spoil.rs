//! Bugs that show in what the engine decides: its steps are taken apart as a careless engine would have made them.

use panelot_base::RunId;
use panelot_protocol::Event;
use panelot_records::{Body, CallState, Commit, Expected, Node, Record, Run, RunState, Write};

use super::{Bug, is_on};
use crate::step::{Effect, Step};
use crate::thread::{Context, Draft, ThreadMachine};

/// The steps as the bug that is on would have them.
pub(crate) fn spoil(steps: Vec<Step>) -> Vec<Step> {
    let mut spoiled = Vec::new();
    for mut step in steps {
        if is_on(Bug::ReceiptOutside) {
            spoiled.extend(receipt_outside(step));
            continue;
        }
        if is_on(Bug::TwoCommitEnd) {
            spoiled.extend(two_commit_end(step));
            continue;
        }
        if is_on(Bug::LeafBeforeRun) {
            spoiled.extend(leaf_before_run(step));
            continue;
        }
        if is_on(Bug::LostSteer)
            && let Some(commit) = &mut step.commit
        {
            commit.writes.iter_mut().for_each(forget_steers);
        }
        if is_on(Bug::DispatchUnrecorded)
            && let Some(commit) = &mut step.commit
        {
            commit.writes.iter_mut().for_each(forget_dispatch);
        }
        if is_on(Bug::SequenceGap) {
            step.effects.retain(|effect| {
                !matches!(effect, Effect::Send { message, .. } if matches!(message.event, Event::TokenUsage(_)))
            });
        }
        if is_on(Bug::UndoneDelete)
            && let Some(commit) = &mut step.commit
        {
            commit.preconditions.clear();
        }
        spoiled.push(step);
    }
    spoiled
}

fn is_receipt(write: &Write) -> bool {
    matches!(write, Write::Put(Record::Receipt(_)))
}

fn is_answer(effect: &Effect) -> bool {
    matches!(effect, Effect::Send { message, .. }
        if matches!(message.event, Event::CommandAck(_) | Event::CommandRejected(_)))
}

fn receipt_outside(mut step: Step) -> Vec<Step> {
    let Some(commit) = step.commit.as_mut().filter(|it| it.writes.iter().any(|write| !is_receipt(write)))
    else {
        return vec![step];
    };
    let receipts: Vec<Write> = commit.writes.extract_if(.., |write| is_receipt(write)).collect();
    if receipts.is_empty() {
        return vec![step];
    }
    let effects = step.effects.extract_if(.., |effect| is_answer(effect)).collect();
    let commit = Some(Commit { writes: receipts, ..Commit::default() });
    let second = Step { commit, effects, ..Step::default() };
    vec![step, second]
}

fn two_commit_end(step: Step) -> Vec<Step> {
    let Some(commit) = &step.commit else { return vec![step] };
    let ended = commit.writes.iter().find_map(|write| match write {
        Write::Put(Record::Run(run)) if run.state == RunState::Completed => Some(run.clone()),
        _ => None,
    });
    let Some(run) = ended else { return vec![step] };
    let key = panelot_records::Key::run(&run.thread, &run.id);
    let before = commit.preconditions.iter().find(|it| it.key == key).map(|it| it.expected);
    let Some(Expected::Revision(revision)) = before else { return vec![step] };
    let answers = commit.writes.iter().filter(|write| {
        matches!(write, Write::Put(Record::Node(node)) if matches!(node.body, Body::Assistant { .. }))
    });
    let mut first = Commit { writes: answers.cloned().collect(), ..Commit::default() };
    first.put(Run { state: RunState::Running, revision, stop_reason: None, ..run });
    vec![Step { commit: Some(first), threads: step.threads.clone(), ..Step::default() }, step]
}

fn forget_steers(write: &mut Write) {
    if let Write::Put(Record::Run(run)) = write {
        run.steers.clear();
    }
}

fn leaf_before_run(step: Step) -> Vec<Step> {
    let Some(commit) = &step.commit else { return vec![step] };
    let parent = commit.writes.iter().find_map(|write| match write {
        Write::Put(Record::Node(node))
            if node.chain == node.seq && matches!(node.body, Body::User { .. }) =>
        {
            node.parent
        }
        _ => None,
    });
    let thread = commit.writes.iter().find_map(|write| match write {
        Write::Put(Record::Thread(thread)) => Some(thread.clone()),
        _ => None,
    });
    let (Some(parent), Some(mut thread)) = (parent, thread) else { return vec![step] };
    thread.leaf = Some(parent);
    thread.open_runs.clear();
    thread.revision -= 1;
    let mut first = Commit::default();
    first.put(thread);
    vec![Step { commit: Some(first), threads: step.threads.clone(), ..Step::default() }, step]
}

fn forget_dispatch(write: &mut Write) {
    let Write::Put(Record::Run(run)) = write else { return };
    for call in run.batch.iter_mut().flat_map(|batch| &mut batch.calls) {
        if matches!(call.state, CallState::Dispatched { .. }) {
            call.attempts -= 1;
            call.state = match call.approval.clone() {
                Some(approval) => CallState::Approved { approval },
                None => CallState::Proposed,
            };
        }
    }
}

impl ThreadMachine {
    /// Who begins and who goes on are not told apart, so the message stands there twice.
    pub(crate) fn say_again(&mut self, context: &Context<'_>, draft: &mut Draft, id: &RunId) {
        let Some(run) = self.run(id).filter(|_| is_on(Bug::NewIsResumed)) else { return };
        let said = |node: &&Node| matches!(&node.body, Body::User { submission, .. } if *submission == run.submission);
        if let Some(body) = self.nodes().iter().find(said).map(|node| node.body.clone()) {
            self.append(draft, context.now, id, body);
        }
    }

    /// A message that was added to the turn is written without waiting for the results of its calls.
    pub(crate) fn steer_at_once(&mut self, context: &Context<'_>, draft: &mut Draft) {
        let head = self.head_run().filter(|_| is_on(Bug::SteerBetween)).map(|run| run.id.clone());
        if let Some(id) = head {
            self.deliver_steers(context.now, draft, &id);
        }
    }

    /// A late result becomes a node of its own.
    pub(crate) fn orphan(&mut self, draft: &mut Draft, seq: u64, body: Body) {
        let Some(node) = self.node(seq).cloned() else { return };
        let (seq, parent) = (self.thread.next_seq, self.thread.leaf);
        draft.writes.push(Write::Put(Node { seq, parent, body, ..node }.into()));
        self.thread.next_seq += 1;
        self.thread.leaf = Some(seq);
    }
}
