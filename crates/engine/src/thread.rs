//! One conversation's machine: built from its stored head, it decides what happens next in it.
//!
//! Handlers change the records in memory and note what is to be said and done; [`ThreadMachine::finish`] turns the
//! difference to what is stored into one commit. A machine whose commit failed is dropped, never repaired.

mod admission;
mod approvals;
mod calls;
mod compaction;
mod course;
mod model;
mod outcome;
mod queue;
mod repair;
mod restore;
mod resume;
mod snapshot;
mod stop;
mod title;
mod tree;
mod waits;

pub(crate) use admission::Submission;

use panelot_base::limits::SNAPSHOT_PAGE_NODES;
use panelot_base::{IdSource, ItemId, ModelCallId, RunId, SortedMap, SortedSet, ThreadId, Timestamp, TurnId};
use panelot_protocol::event::{Event, ItemStored, RunUpdated, ThreadUpdated};
use panelot_protocol::snapshot::{Activity, ThreadMeta};
use panelot_provider::retry::Keys;
use panelot_records::node::StoredCall;
use panelot_records::{
    Approval, ApprovalState, Body, CallState, Commit, Durability, Expected, Key, Node, Record, Run, RunState,
    Thread, ThreadHead, Write,
};
use panelot_tools::{Call, Catalogue, Target};

use crate::directory::Directory;
use crate::project;
use crate::step::{Effect, Purpose, Reminder};
use waits::Watch;

/// What a handler may use beside the machine itself.
pub(crate) struct Context<'a> {
    pub(crate) now: Timestamp,
    pub(crate) ids: &'a mut IdSource,
    pub(crate) directory: &'a mut Directory,
    pub(crate) catalogue: &'a Catalogue,
}

/// What a handler wants said and done once its commit is durable.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// To the subscribers of the thread, before the changes of its records are told.
    pub(crate) events: Vec<Event>,
    /// To the subscribers, after them.
    pub(crate) closing: Vec<Event>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) writes: Vec<Write>,
    /// Nodes that views are told of.
    pub(crate) stored: Vec<u64>,
    pub(crate) settings_changed: bool,
    /// Views get the thread whole instead of what changed: another branch is shown.
    pub(crate) replaced: bool,
    /// No news that moves the thread up in the list.
    pub(crate) keeps_date: bool,
    /// A checkpoint: handed to the operating system, not waited for, and no news.
    pub(crate) relaxed: bool,
}

/// What a model call has brought so far.
#[derive(Clone, Debug)]
pub(crate) struct LiveModel {
    pub(crate) call: ModelCallId,
    pub(crate) item: ItemId,
    pub(crate) text: String,
    pub(crate) reasoning: String,
    /// Bytes that no checkpoint holds.
    pub(crate) unsaved: usize,
    pub(crate) checkpoint_at: Option<Timestamp>,
    /// The credentials that are left for this request, and the attempts.
    pub(crate) keys: Keys,
    /// The slot of the credential that it is made with.
    pub(crate) slot: Option<u32>,
    /// Whether the model was taken to see pictures.
    pub(crate) sees: bool,
    /// When the next attempt is due, after a failure.
    pub(crate) retry_at: Option<Timestamp>,
    /// What the model was told beside the conversation, and is told again when it is asked again.
    pub(crate) reminders: Vec<Reminder>,
    pub(crate) purpose: Purpose,
}

/// A call that is being looked at or carried out.
#[derive(Clone, Debug)]
pub(crate) struct LiveCall {
    pub(crate) call: Call,
    pub(crate) target: Option<Target>,
}

/// A dispatched write whose run was stopped: what it reports still goes on record.
#[derive(Clone, Debug)]
pub(crate) struct LateCall {
    pub(crate) seq: u64,
    pub(crate) attempt: u32,
    pub(crate) live: LiveCall,
    /// Its result node, once that is on no page any more.
    pub(crate) node: Option<Node>,
}

/// The machine.
#[derive(Clone, Debug)]
pub(crate) struct ThreadMachine {
    pub(crate) thread: Thread,
    saved_thread: Option<Thread>,
    pub(crate) runs: Vec<Run>,
    saved_runs: SortedMap<RunId, Run>,
    pub(crate) approvals: Vec<Approval>,
    saved_approvals: SortedMap<String, Approval>,
    page: Vec<Node>,
    has_older: bool,
    dirty_nodes: SortedSet<u64>,
    pub(crate) model: Option<LiveModel>,
    pub(crate) calls: SortedMap<ItemId, LiveCall>,
    pub(crate) late: SortedMap<ItemId, LateCall>,
    /// The pages that calls watch.
    pub(crate) watches: SortedMap<ItemId, Watch>,
    turn_started_at: Option<Timestamp>,
    /// What the reading of the head found broken; see `repair.rs`.
    is_cut: bool,
    leaf_lost: bool,
    /// Nodes further back whose links were mended in this life.
    mended: SortedSet<u64>,
    /// A title that a model was asked for.
    pub(crate) title: Option<title::LiveTitle>,
}

impl ThreadMachine {
    fn from_parts(thread: Thread, saved: Option<Thread>) -> Self {
        Self {
            thread,
            saved_thread: saved,
            runs: Vec::new(),
            saved_runs: SortedMap::new(),
            approvals: Vec::new(),
            saved_approvals: SortedMap::new(),
            page: Vec::new(),
            has_older: false,
            dirty_nodes: SortedSet::new(),
            model: None,
            calls: SortedMap::new(),
            late: SortedMap::new(),
            watches: SortedMap::new(),
            turn_started_at: None,
            is_cut: false,
            leaf_lost: false,
            mended: SortedSet::new(),
            title: None,
        }
    }

    /// A conversation that does not exist yet.
    pub(crate) fn create(thread: Thread) -> Self {
        Self::from_parts(thread, None)
    }

    /// A conversation as it is stored.
    pub(crate) fn from_head(head: ThreadHead) -> Self {
        let mut machine = Self::from_parts(head.thread.clone(), Some(head.thread));
        machine.saved_runs = head.runs.iter().map(|run| (run.id.clone(), run.clone())).collect();
        machine.runs = head.runs;
        machine.saved_approvals =
            head.approvals.iter().map(|it| (it.id.as_str().to_owned(), it.clone())).collect();
        machine.approvals = head.approvals;
        machine.page = head.page;
        machine.has_older = head.has_older;
        (machine.is_cut, machine.leaf_lost) = (head.is_cut, head.leaf_lost);
        machine
    }

    pub(crate) fn id(&self) -> &ThreadId {
        &self.thread.id
    }

    pub(crate) fn run(&self, id: &RunId) -> Option<&Run> {
        self.runs.iter().find(|run| run.id == *id)
    }

    pub(crate) fn run_mut(&mut self, id: &RunId) -> Option<&mut Run> {
        self.runs.iter_mut().find(|run| run.id == *id)
    }

    /// The run that holds the queue.
    pub(crate) fn head_run(&self) -> Option<&Run> {
        self.runs.iter().find(|run| run.state.holds_queue())
    }

    /// The run whose open batch has a call.
    pub(crate) fn run_of_call(&self, item: &ItemId) -> Option<&Run> {
        self.runs.iter().find(|run| {
            run.batch.as_ref().is_some_and(|batch| batch.calls.iter().any(|call| call.item == *item))
        })
    }

    pub(crate) fn node(&self, seq: u64) -> Option<&Node> {
        self.page.iter().rev().find(|node| node.seq == seq)
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.page
    }

    /// The calls of the assistant message that a run's open batch belongs to.
    pub(crate) fn batch_calls(&self, run: &Run) -> &[StoredCall] {
        let node = run.batch.as_ref().and_then(|batch| self.node(batch.assistant_seq));
        match node.map(|node| &node.body) {
            Some(Body::Assistant { calls, .. }) => calls,
            _ => &[],
        }
    }

    pub(crate) fn stored_call(&self, run: &Run, item: &ItemId) -> Option<StoredCall> {
        self.batch_calls(run).iter().find(|call| call.item == *item).cloned()
    }

    /// Adds a node at the leaf, moves the leaf there, and tells views.
    pub(crate) fn append(&mut self, draft: &mut Draft, now: Timestamp, run: &RunId, body: Body) -> u64 {
        let seq = self.place(now, run, body);
        draft.stored.push(seq);
        seq
    }

    /// Adds a node at the leaf and moves the leaf there.
    pub(crate) fn place(&mut self, now: Timestamp, run: &RunId, body: Body) -> u64 {
        let Some(turn) = self.run(run).map(|run| run.turn.clone()) else { return self.thread.next_seq };
        let seq = self.place_in(now, turn, body);
        if let Some(run) = self.run_mut(run) {
            run.leaf = Some(seq);
        }
        seq
    }

    /// Adds a node of a turn, which need not be that of an open run.
    fn place_in(&mut self, now: Timestamp, turn: TurnId, body: Body) -> u64 {
        let seq = self.thread.next_seq;
        self.thread.next_seq += 1;
        let node = Node {
            thread: self.thread.id.clone(),
            seq,
            parent: self.thread.leaf,
            chain: self.thread.chain,
            at: now,
            turn,
            body,
        };
        self.thread.leaf = Some(seq);
        self.page.push(node);
        self.dirty_nodes.insert(seq);
        seq
    }

    /// Replaces what a node says. Views are told when the caller adds it to `draft.stored`.
    pub(crate) fn rewrite(&mut self, seq: u64, body: Body) {
        if let Some(node) = self.page.iter_mut().rev().find(|node| node.seq == seq) {
            node.body = body;
            self.dirty_nodes.insert(seq);
        }
    }

    /// Moves a run to another state. A pair that the table forbids is a fault of the engine and changes nothing.
    pub(crate) fn set_state(&mut self, run: &RunId, state: RunState) {
        if let Some(run) = self.run_mut(run)
            && run.state != state
            && run.state.may_become(state)
        {
            run.state = state;
        }
    }

    /// Whether anything is under way that must not be cut off.
    pub(crate) fn is_busy(&self) -> bool {
        self.model.is_some()
            || self.title.is_some()
            || !self.calls.is_empty()
            || !self.late.is_empty()
            || self.watches.values().any(|watch| watch.is_looking)
    }

    /// Whether the machine can be dropped and built again without a loss.
    pub(crate) fn is_idle(&self) -> bool {
        !self.is_busy() && self.runs.is_empty()
    }

    pub(crate) fn activity(&self) -> Activity {
        Activity {
            thread_id: self.thread.id.clone(),
            running: self.runs.iter().any(|run| run.state == RunState::Running),
            pending_approvals: u32::try_from(self.pending_approvals().count()).unwrap_or(u32::MAX),
            pending_interactions: self.open_questions().filter(|it| it.wait.is_some()).fold(0, |n, _| n + 1),
        }
    }

    /// Open questions and interactions.
    pub(crate) fn open_questions(&self) -> impl Iterator<Item = &Approval> {
        self.approvals.iter().filter(|approval| approval.state == ApprovalState::Pending)
    }

    pub(crate) fn pending_approvals(&self) -> impl Iterator<Item = &Approval> {
        self.open_questions().filter(|approval| approval.wait.is_none())
    }

    pub(crate) fn meta(&self) -> ThreadMeta {
        project::thread_meta(&self.thread, false)
    }

    fn run_view(&self, run: &Run) -> panelot_protocol::snapshot::RunView {
        let uncertain = run.batch.as_ref().and_then(|batch| {
            batch
                .calls
                .iter()
                .find(|call| matches!(call.state, CallState::Uncertain { .. }))
                .map(|call| &call.item)
        });
        let call = uncertain.and_then(|item| self.stored_call(run, item));
        project::run(run, call.as_ref(), self.is_steerable(run))
    }

    /// The earliest moment at which the machine wants to be woken.
    pub(crate) fn next_wake(&self) -> Option<Timestamp> {
        let deadlines = self.open_questions().map(|approval| approval.deadline_at);
        let looks = self.watches.values().filter(|watch| !watch.is_looking).filter_map(|watch| watch.due);
        let model = self.model.iter().filter_map(|model| {
            let checkpoint = model.checkpoint_at.filter(|_| model.unsaved > 0);
            let due = checkpoint.map(|at| at.plus_ms(panelot_base::limits::CHECKPOINT_INTERVAL_MS));
            match (model.retry_at, due) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            }
        });
        let title = self.title.iter().map(|title| title.deadline_at);
        deadlines.chain(looks).chain(model).chain(title).min()
    }

    /// The commit that makes the changed records durable, and the events that tell of them.
    ///
    /// Returns none when nothing changed.
    pub(crate) fn finish(&mut self, draft: &mut Draft, now: Timestamp) -> Option<Commit> {
        let durability = if draft.relaxed { Durability::Relaxed } else { Durability::Strict };
        let writes = std::mem::take(&mut draft.writes);
        let mut commit = Commit { writes, durability, ..Commit::default() };
        let runs_changed = self.write_runs(&mut commit, draft.relaxed, now);
        self.write_approvals(&mut commit);
        for seq in std::mem::take(&mut self.dirty_nodes) {
            if let Some(node) = self.node(seq) {
                commit.put(node.clone());
            }
        }
        for seq in std::mem::take(&mut draft.stored) {
            if let Some(node) = self.node(seq) {
                draft.events.push(Event::ItemStored(ItemStored {
                    thread_id: self.thread.id.clone(),
                    item: project::item(&self.thread, node),
                }));
            }
        }
        draft.events.extend(runs_changed);
        self.write_thread(&mut commit, draft, now);
        draft.events.append(&mut draft.closing);
        self.trim_page();
        (!commit.is_empty()).then_some(commit)
    }

    fn write_runs(&mut self, commit: &mut Commit, quiet: bool, now: Timestamp) -> Vec<Event> {
        let mut events = Vec::new();
        let changed: Vec<usize> = self
            .runs
            .iter()
            .enumerate()
            .filter(|(_, run)| self.saved_runs.get(&run.id) != Some(*run))
            .map(|(index, _)| index)
            .collect();
        for index in changed {
            let Some(run) = self.runs.get_mut(index) else { continue };
            let saved = self.saved_runs.get(&run.id);
            run.revision = saved.map_or(0, |saved| saved.revision + 1);
            run.updated_at = now;
            let expected = saved.map_or(Expected::Absent, |saved| Expected::Revision(saved.revision));
            commit.expect(Key::run(&run.thread, &run.id), expected);
            commit.put(run.clone());
            self.saved_runs.insert(run.id.clone(), run.clone());
            let Some(run) = self.runs.get(index).filter(|_| !quiet) else { continue };
            events.push(Event::RunUpdated(RunUpdated {
                thread_id: self.thread.id.clone(),
                run: self.run_view(run),
            }));
        }
        for run in self.runs.iter().filter(|run| run.state.is_end()) {
            self.saved_runs.remove(&run.id);
        }
        self.runs.retain(|run| !run.state.is_end());
        self.thread.open_runs = self.runs.iter().map(|run| run.id.clone()).collect();
        events
    }

    fn write_approvals(&mut self, commit: &mut Commit) {
        for approval in &mut self.approvals {
            let saved = self.saved_approvals.get(approval.id.as_str());
            if saved == Some(&*approval) {
                continue;
            }
            approval.revision = saved.map_or(0, |saved| saved.revision + 1);
            commit.put(approval.clone());
            self.saved_approvals.insert(approval.id.as_str().to_owned(), approval.clone());
        }
        let open: Vec<&RunId> = self.runs.iter().map(|run| &run.id).collect();
        self.approvals.retain(|approval| open.contains(&&approval.run));
        let kept: Vec<&str> = self.approvals.iter().map(|approval| approval.id.as_str()).collect();
        self.saved_approvals.retain(|id, _| kept.contains(&id.as_str()));
    }

    fn write_thread(&mut self, commit: &mut Commit, draft: &mut Draft, now: Timestamp) {
        let unchanged = self.saved_thread.as_ref() == Some(&self.thread);
        if unchanged && commit.is_empty() {
            return;
        }
        let before = self.saved_thread.as_ref().map(|saved| project::thread_meta(saved, false));
        let expected =
            self.saved_thread.as_ref().map_or(Expected::Absent, |it| Expected::Revision(it.revision));
        self.thread.revision = self.saved_thread.as_ref().map_or(0, |saved| saved.revision + 1);
        // A checkpoint is no news: only what people would call a change moves the thread up in the list.
        if commit.durability == Durability::Strict && !draft.keeps_date {
            self.thread.updated_at = now;
        }
        commit.expect(Key::thread(&self.thread.id), expected);
        commit.put(Record::Thread(self.thread.clone()));
        self.saved_thread = Some(self.thread.clone());
        let meta = self.meta();
        let shown = |meta: &ThreadMeta| ThreadMeta { revision: 0, updated_at: Timestamp(0), ..meta.clone() };
        if before.as_ref().map(shown) != Some(shown(&meta)) {
            draft
                .events
                .push(Event::ThreadUpdated(ThreadUpdated { thread_id: self.thread.id.clone(), meta }));
        }
    }

    /// Keeps the newest page, and what open batches and late results still refer to.
    fn trim_page(&mut self) {
        let needed = self
            .runs
            .iter()
            .filter_map(|run| run.batch.as_ref().map(|batch| batch.assistant_seq))
            .chain(self.late.values().map(|late| late.seq))
            .min()
            .unwrap_or(u64::MAX);
        // Twice the page before anything is dropped, so that a long turn does not shift the list at every node.
        if self.page.len() <= 2 * SNAPSHOT_PAGE_NODES {
            return;
        }
        let surplus = self.page.len() - SNAPSHOT_PAGE_NODES;
        let cut = self.page.iter().take(surplus).take_while(|node| node.seq < needed).count();
        if cut > 0 {
            self.page.drain(..cut);
            self.has_older = true;
        }
    }
}
