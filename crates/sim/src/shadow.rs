//! What the store holds, as typed records, and what must be true of it after every commit.
//!
//! It is fed with the commits that succeeded, and compared with the rows of the store at the end of a life.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use panelot_base::{ApprovalId, ClientId, EnvironmentDigest, ItemId, RunId, SubmissionId, ThreadId};
use panelot_records::{
    Approval, ApprovalState, Body, CallState, Commit, Decision, Environment, Key, KeyPart, Node, Receipt,
    Record, Run, RunState, Settings, Table, Thread, Write,
};

use crate::invariant::{Invariant, Violation};

/// Typed copies of the records that the invariants are about.
#[derive(Default)]
pub(crate) struct Shadow {
    /// Whether each commit is judged.
    judged: bool,
    pub(crate) threads: BTreeMap<ThreadId, Thread>,
    pub(crate) runs: BTreeMap<RunId, Run>,
    pub(crate) nodes: BTreeMap<(ThreadId, u64), Node>,
    pub(crate) approvals: BTreeMap<ApprovalId, Approval>,
    pub(crate) receipts: BTreeMap<(ClientId, SubmissionId), Receipt>,
    pub(crate) environments: BTreeMap<EnvironmentDigest, Rc<Environment>>,
    pub(crate) settings: Option<Settings>,
    /// Rules that are saved.
    pub(crate) rules: BTreeSet<String>,
    /// Grants: thread, tool, origin.
    pub(crate) grants: BTreeSet<(ThreadId, String, String)>,
    /// Where each message of the person stands in its thread.
    users: BTreeMap<(ThreadId, SubmissionId), u64>,
    /// Where the answer to each question stands in its thread.
    decisions: BTreeMap<(ThreadId, ApprovalId), u64>,
    /// Threads that were deleted.
    pub(crate) deleted: BTreeSet<ThreadId>,
    /// Threads with a record that was broken on purpose: nothing is known of them any more.
    pub(crate) exempt: BTreeSet<ThreadId>,
}

/// What one commit did that others want to know.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Runs that ended.
    pub(crate) ended: Vec<RunId>,
    /// Writes of unknown outcome that are to be tried again.
    pub(crate) retried: Vec<ItemId>,
    /// Threads with the leaf that they had before.
    leaves: Vec<(ThreadId, Option<u64>)>,
    /// A command of this commit shows another branch.
    selects: bool,
    touched: BTreeSet<ThreadId>,
    runs: Vec<RunId>,
    nodes: Vec<(ThreadId, u64)>,
}

type Checked = Result<(), Violation>;

fn broken(invariant: Invariant, what: impl Into<String>) -> Checked {
    Err(Violation::new(invariant, what))
}

fn text(part: Option<&KeyPart>) -> String {
    match part {
        Some(KeyPart::Text(text)) => text.clone(),
        Some(KeyPart::Number(number)) => number.to_string(),
        None => String::new(),
    }
}

impl Shadow {
    pub(crate) fn new(judged: bool) -> Self {
        Self { judged, ..Self::default() }
    }

    /// Whether a thread is there for people: neither deleted nor broken on purpose.
    pub(crate) fn is_alive(&self, thread: &ThreadId) -> bool {
        !self.exempt.contains(thread)
            && self.threads.get(thread).is_some_and(|thread| thread.deleted_at.is_none())
    }

    pub(crate) fn runs_of<'a>(&'a self, thread: &'a ThreadId) -> impl Iterator<Item = &'a Run> {
        self.runs.values().filter(move |run| run.thread == *thread)
    }

    pub(crate) fn open_runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.values().filter(|run| !run.state.is_end() && !self.exempt.contains(&run.thread))
    }

    pub(crate) fn run_of_call(&self, item: &ItemId) -> Option<&Run> {
        self.runs.values().find(|run| {
            run.batch.as_ref().is_some_and(|batch| batch.calls.iter().any(|call| call.item == *item))
        })
    }

    /// The nodes of a branch, oldest first.
    pub(crate) fn path(&self, thread: &ThreadId, leaf: u64) -> Vec<Node> {
        let mut path = Vec::new();
        let mut at = Some(leaf);
        while let Some(node) = at.and_then(|seq| self.nodes.get(&(thread.clone(), seq))) {
            path.push(node.clone());
            at = node.parent.filter(|parent| *parent < node.seq);
        }
        path.reverse();
        path
    }

    /// The environment of a run, by its digest.
    pub(crate) fn environment(&self, digest: &EnvironmentDigest) -> Option<&Rc<Environment>> {
        self.environments.get(digest)
    }

    /// Takes in a commit that succeeded, and says what must not be.
    pub(crate) fn apply(&mut self, commit: Commit) -> Result<Changes, Violation> {
        let mut changes = Changes::default();
        for write in commit.writes {
            match write {
                Write::Put(record) => self.put(record, &mut changes)?,
                Write::Delete(key) => self.delete(&key),
                Write::DeleteOfThread { table, thread } => self.delete_of_thread(table, &thread),
                Write::PutEnvironment { digest, environment } => {
                    // What it says is not looked at; reading it for every request would take most of the time.
                    let slim = Environment { system: String::new(), tools: Vec::new(), ..environment };
                    self.environments.insert(digest, Rc::new(slim));
                }
                Write::Clear(_) | Write::Seal { .. } | Write::Protect { .. } | Write::Unprotect { .. } => {}
            }
        }
        if self.judged {
            self.check(&changes)?;
        }
        Ok(changes)
    }

    fn put(&mut self, record: Record, changes: &mut Changes) -> Checked {
        match record {
            Record::Thread(thread) => {
                self.not_deleted(&thread.id, "its head")?;
                if thread.deleted_at.is_some() {
                    self.deleted.insert(thread.id.clone());
                }
                changes.touched.insert(thread.id.clone());
                let before = self.threads.get(&thread.id).and_then(|before| before.leaf);
                changes.leaves.push((thread.id.clone(), before));
                self.threads.insert(thread.id.clone(), thread);
            }
            Record::Run(run) => {
                self.not_deleted(&run.thread, "a run")?;
                self.put_run(run, changes)?;
            }
            Record::Node(node) => self.put_node(node, changes)?,
            Record::Approval(approval) => self.put_approval(approval, changes)?,
            Record::Receipt(receipt) => {
                let key = (receipt.client.clone(), receipt.submission.clone());
                if let Some(first) = self.receipts.get(&key)
                    && first.outcome != receipt.outcome
                {
                    let what =
                        format!("{} was answered {:?}, then {:?}", key.1, first.outcome, receipt.outcome);
                    return broken(Invariant::SameAnswer, what);
                }
                changes.selects |= receipt.op == "thread.selectBranch";
                self.receipts.insert(key, receipt);
            }
            Record::Settings(settings) => self.settings = Some(settings),
            Record::Rule(rule) => {
                self.rules.insert(rule.id.to_string());
            }
            Record::Grant(grant) => {
                self.not_deleted(&grant.thread, "a grant")?;
                self.grants.insert((grant.thread, grant.tool, grant.origin));
            }
            _ => {}
        }
        Ok(())
    }

    fn not_deleted(&self, thread: &ThreadId, what: &str) -> Checked {
        if self.deleted.contains(thread) {
            return broken(Invariant::Deleted, format!("{what} was written for the deleted thread {thread}"));
        }
        Ok(())
    }

    fn put_run(&mut self, run: Run, changes: &mut Changes) -> Checked {
        let id = run.id.clone();
        match self.runs.get(&id) {
            Some(before) => {
                // One commit may take a run up and let it stop again.
                let goes = |from: RunState| from.may_become(run.state);
                let via = before.state.may_become(RunState::Running) && goes(RunState::Running);
                if before.state != run.state && !goes(before.state) && !via {
                    return broken(
                        Invariant::States,
                        format!("{id} went from {:?} to {:?}", before.state, run.state),
                    );
                }
                if run.state.is_end() && !before.state.is_end() {
                    changes.ended.push(id.clone());
                }
                let retried = |call: &panelot_records::Call| {
                    let now = run.batch.iter().flat_map(|batch| &batch.calls).find(|it| it.item == call.item);
                    matches!(call.state, CallState::Uncertain { .. })
                        && now.is_some_and(|now| {
                            !matches!(
                                now.state,
                                CallState::Uncertain { .. } | CallState::Done | CallState::Skipped
                            )
                        })
                };
                let calls = before.batch.iter().flat_map(|batch| &batch.calls);
                changes.retried.extend(calls.filter(|call| retried(call)).map(|call| call.item.clone()));
            }
            None => {
                if run.state.is_end() {
                    changes.ended.push(id.clone());
                }
                let newest = self.runs_of(&run.thread).map(|run| run.order).max().unwrap_or_default();
                if run.order <= newest {
                    return broken(
                        Invariant::QueueOrder,
                        format!("{id} was admitted as number {} after {newest}", run.order),
                    );
                }
            }
        }
        let begun = |state: RunState| !matches!(state, RunState::Queued | RunState::Cancelled);
        let was_queued = self.runs.get(&id).is_none_or(|before| before.state == RunState::Queued);
        if was_queued && begun(run.state) {
            let earlier = self
                .runs_of(&run.thread)
                .find(|it| it.state == RunState::Queued && it.order < run.order && it.id != id);
            // One that ends or begins in the same commit is looked at when the commit is whole.
            if let Some(earlier) = earlier {
                changes.runs.push(earlier.id.clone());
            }
        }
        changes.touched.insert(run.thread.clone());
        changes.runs.push(id.clone());
        self.runs.insert(id, run);
        Ok(())
    }

    fn put_node(&mut self, node: Node, changes: &mut Changes) -> Checked {
        self.not_deleted(&node.thread, "a node")?;
        let place = (node.thread.clone(), node.seq);
        match &node.body {
            Body::User { submission, text, .. } => {
                let seq = *self.users.entry((node.thread.clone(), submission.clone())).or_insert(node.seq);
                if seq != node.seq {
                    let what = format!("{text:?} stands in its thread twice, at {seq} and {}", node.seq);
                    return broken(Invariant::Acknowledged, what);
                }
            }
            Body::Decision { approval, .. } => {
                let key = (node.thread.clone(), approval.clone());
                let seq = *self.decisions.entry(key).or_insert(node.seq);
                if seq != node.seq {
                    let what = format!("the question {approval} was answered at {seq} and at {}", node.seq);
                    return broken(Invariant::FirstAnswer, what);
                }
            }
            _ => {}
        }
        changes.touched.insert(node.thread.clone());
        changes.nodes.push(place.clone());
        self.nodes.insert(place, node);
        Ok(())
    }

    fn put_approval(&mut self, approval: Approval, changes: &mut Changes) -> Checked {
        self.not_deleted(&approval.thread, "a question")?;
        if let Some(before) = self.approvals.get(&approval.id) {
            let decided = |state: &ApprovalState| match state {
                ApprovalState::Decided { decision, .. } => Some(format!("{decision:?}")),
                ApprovalState::Answered { response, .. } => Some(format!("{response:?}")),
                _ => None,
            };
            let (first, now) = (decided(&before.state), decided(&approval.state));
            if first.is_some() && first != now {
                let what = format!("the question {} was answered {first:?}, then {now:?}", approval.id);
                return broken(Invariant::FirstAnswer, what);
            }
        }
        changes.touched.insert(approval.thread.clone());
        self.approvals.insert(approval.id.clone(), approval);
        Ok(())
    }

    fn delete(&mut self, key: &Key) {
        let (first, second) = (text(key.parts.first()), text(key.parts.get(1)));
        match key.table {
            Table::Threads => {
                self.threads.retain(|id, _| id.as_str() != first);
                if let Ok(id) = ThreadId::new(first) {
                    self.deleted.insert(id);
                }
            }
            Table::Runs => self.runs.retain(|id, _| id.as_str() != second),
            Table::Approvals => self.approvals.retain(|id, _| id.as_str() != second),
            Table::Nodes => {
                self.nodes.retain(|(thread, seq), _| thread.as_str() != first || seq.to_string() != second);
            }
            Table::Receipts => {
                self.receipts.retain(|(client, id), _| client.as_str() != first || id.as_str() != second)
            }
            Table::Environments => self.environments.retain(|id, _| id.as_str() != first),
            Table::Rules => {
                self.rules.remove(&first);
            }
            Table::Grants => {
                let third = text(key.parts.get(2));
                self.grants.retain(|(thread, tool, origin)| {
                    thread.as_str() != first || *tool != second || *origin != third
                });
            }
            _ => {}
        }
    }

    fn delete_of_thread(&mut self, table: Table, thread: &ThreadId) {
        match table {
            Table::Nodes => {
                self.nodes.retain(|(of, _), _| of != thread);
                self.users.retain(|(of, _), _| of != thread);
                self.decisions.retain(|(of, _), _| of != thread);
            }
            Table::Runs => self.runs.retain(|_, run| run.thread != *thread),
            Table::Approvals => self.approvals.retain(|_, it| it.thread != *thread),
            Table::Grants => self.grants.retain(|(of, ..)| of != thread),
            _ => {}
        }
    }

    fn check(&self, changes: &Changes) -> Checked {
        for place in &changes.nodes {
            if !self.exempt.contains(&place.0) {
                self.check_node(place)?;
            }
        }
        for id in &changes.runs {
            if let Some(run) = self.runs.get(id).filter(|run| !self.exempt.contains(&run.thread)) {
                self.check_run(run)?;
            }
        }
        for (thread, before) in &changes.leaves {
            self.check_leaf(thread, *before, changes)?;
        }
        for thread in changes.touched.iter().filter(|thread| self.is_alive(thread)) {
            self.check_thread(thread)?;
        }
        Ok(())
    }

    fn check_node(&self, place: &(ThreadId, u64)) -> Checked {
        let Some(node) = self.nodes.get(place) else { return Ok(()) };
        if let Some(parent) = node.parent
            && (parent >= node.seq || !self.nodes.contains_key(&(place.0.clone(), parent)))
        {
            return broken(
                Invariant::Tree,
                format!("node {} follows {parent}, which is not there", node.seq),
            );
        }
        match &node.body {
            Body::ToolResult { item, .. } => self.check_result(node, item),
            _ => Ok(()),
        }
    }

    /// A result belongs to a call of an earlier message of its branch, and is the only one there.
    fn check_result(&self, node: &Node, item: &ItemId) -> Checked {
        let mut at = node.parent;
        while let Some(above) = at.and_then(|seq| self.nodes.get(&(node.thread.clone(), seq))) {
            match &above.body {
                Body::Assistant { calls, .. } if calls.iter().any(|call| call.item == *item) => return Ok(()),
                Body::ToolResult { item: other, .. } if other == item => {
                    let what = format!("the call {item} has results at {} and {}", above.seq, node.seq);
                    return broken(Invariant::LegalHistory, what);
                }
                Body::User { .. } => {
                    let what = format!(
                        "a message stands at {} before the result of {item} at {}",
                        above.seq, node.seq
                    );
                    return broken(Invariant::LegalHistory, what);
                }
                _ => {}
            }
            at = above.parent;
        }
        broken(Invariant::LegalHistory, format!("the result at {} answers no call of its branch", node.seq))
    }

    fn check_run(&self, run: &Run) -> Checked {
        if run.state == RunState::Queued {
            let overtaken = self.runs_of(&run.thread).find(|it| {
                it.order > run.order
                    && matches!(it.state, RunState::Running | RunState::WaitingApproval)
                    && it.leaf.is_some()
                    && it.environment.is_some()
            });
            if let Some(it) = overtaken {
                let what =
                    format!("{} (number {}) began before {} (number {})", it.id, it.order, run.id, run.order);
                return broken(Invariant::QueueOrder, what);
            }
        }
        if run.state.is_end() {
            return self.check_end(run);
        }
        let newest = run.leaf.and_then(|leaf| self.nodes.get(&(run.thread.clone(), leaf)));
        if let (Some(Body::Assistant { calls, incomplete: false, .. }), None) =
            (newest.map(|node| &node.body), &run.batch)
            && calls.is_empty()
            // A message that was added and waits lets the turn go on after it.
            && run.steers.is_empty()
            && newest.is_some_and(|node| node.turn == run.turn)
        {
            return broken(
                Invariant::EndCloses,
                format!("{} has its final answer and is still {:?}", run.id, run.state),
            );
        }
        Ok(())
    }

    fn check_end(&self, run: &Run) -> Checked {
        if run.batch.is_some() {
            return broken(Invariant::EndCloses, format!("{} ended with open calls", run.id));
        }
        let waits = self.approvals.values().find(|it| it.run == run.id && it.state == ApprovalState::Pending);
        if let Some(wait) = waits {
            return broken(
                Invariant::EndCloses,
                format!("{} ended, its question {} is open", run.id, wait.id),
            );
        }
        let (mut asked, mut answered) = (BTreeSet::new(), BTreeSet::new());
        let of_thread = (run.thread.clone(), 0)..=(run.thread.clone(), u64::MAX);
        for (_, node) in self.nodes.range(of_thread).filter(|(_, node)| node.turn == run.turn) {
            match &node.body {
                Body::Assistant { calls, .. } => asked.extend(calls.iter().map(|call| &call.item)),
                Body::ToolResult { item, .. } => {
                    answered.insert(item);
                }
                _ => {}
            }
        }
        if let Some(item) = asked.difference(&answered).next() {
            return broken(Invariant::EndCloses, format!("{} ended, its call {item} has no result", run.id));
        }
        Ok(())
    }

    /// The leaf moves to a node that the same commit brings, or because the person shows another branch.
    fn check_leaf(&self, id: &ThreadId, before: Option<u64>, changes: &Changes) -> Checked {
        let leaf = self.threads.get(id).and_then(|thread| thread.leaf);
        let brought = leaf.is_none_or(|leaf| changes.nodes.contains(&(id.clone(), leaf)));
        if leaf == before || brought || changes.selects || self.exempt.contains(id) {
            return Ok(());
        }
        broken(Invariant::Tree, format!("the leaf of {id} moved from {before:?} to {leaf:?} by itself"))
    }

    fn check_thread(&self, id: &ThreadId) -> Checked {
        let Some(thread) = self.threads.get(id) else { return Ok(()) };
        let Some(leaf) = thread.leaf else { return Ok(()) };
        if !self.nodes.contains_key(&(id.clone(), leaf)) {
            return broken(Invariant::Tree, format!("the leaf {leaf} of {id} is not there"));
        }
        let holders = self.runs_of(id).filter(|run| run.state.holds_queue()).count();
        if holders > 1 {
            return broken(Invariant::QueueOrder, format!("{holders} runs of {id} hold the queue"));
        }
        Ok(())
    }

    /// The whole tree of a thread: every leaf reaches a root.
    pub(crate) fn check_tree(&self, id: &ThreadId) -> Checked {
        let Some(leaf) = self.threads.get(id).and_then(|thread| thread.leaf) else { return Ok(()) };
        let path = self.path(id, leaf);
        match path.first() {
            Some(first) if first.parent.is_none() => Ok(()),
            _ => broken(Invariant::Tree, format!("the leaf {leaf} of {id} reaches no root")),
        }
    }

    /// Where a message of the person stands.
    pub(crate) fn message(&self, thread: &ThreadId, submission: &SubmissionId) -> Option<u64> {
        self.users.get(&(thread.clone(), submission.clone())).copied()
    }

    /// What was answered to a question.
    pub(crate) fn decision(&self, approval: &ApprovalId) -> Option<&Decision> {
        match &self.approvals.get(approval)?.state {
            ApprovalState::Decided { decision, .. } => Some(decision),
            _ => None,
        }
    }

    /// Whether an interaction was answered.
    pub(crate) fn is_answered(&self, interaction: &ApprovalId) -> bool {
        self.approvals.get(interaction).is_some_and(|it| matches!(it.state, ApprovalState::Answered { .. }))
    }

    /// Compares with what a store holds.
    pub(crate) fn compare(&self, rows: &[(Key, panelot_records::Row)]) -> Checked {
        let mut counts = BTreeMap::<Table, usize>::new();
        for (key, row) in rows {
            let Ok(record) = Record::from_row(key, row) else { continue };
            let same = match &record {
                Record::Thread(it) => self.threads.get(&it.id) == Some(it),
                Record::Run(it) => self.runs.get(&it.id) == Some(it),
                Record::Node(it) => self.nodes.get(&(it.thread.clone(), it.seq)) == Some(it),
                Record::Approval(it) => self.approvals.get(&it.id) == Some(it),
                Record::Receipt(it) => {
                    self.receipts.get(&(it.client.clone(), it.submission.clone())) == Some(it)
                }
                _ => true,
            };
            if !same {
                return broken(
                    Invariant::Acknowledged,
                    format!("the stored {key:?} is not what was committed"),
                );
            }
            *counts.entry(key.table).or_default() += 1;
        }
        let of = |table: Table| counts.get(&table).copied().unwrap_or_default();
        if self.exempt.is_empty()
            && (of(Table::Nodes) != self.nodes.len() || of(Table::Runs) != self.runs.len())
        {
            return broken(Invariant::Acknowledged, "records that were committed are not stored");
        }
        Ok(())
    }
}
