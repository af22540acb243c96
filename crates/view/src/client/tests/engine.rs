//! A small model of the engine: one thread, its stream, its snapshots.

use panelot_base::{ApprovalId, ConnectionId, ItemId, RunId, SubmissionId, ThreadId, Timestamp, TurnId};
use panelot_protocol::event::{
    ApprovalRequest, ApprovalResolved, CommandAck, Initialized, ItemComplete, ItemDelta, ItemStart,
    ItemStored, RunUpdated, ThreadSnapshotEvent, TurnComplete, TurnStart,
};
use panelot_protocol::op::{ApprovalDecision, TurnOverrides};
use panelot_protocol::settings::SettingsView;
use panelot_protocol::snapshot::{
    ActiveItem, ActiveTurn, ApprovalView, CallView, DirectorySnapshot, ItemBody, ItemKind, ItemMeta,
    NoticeKind, ResultOutcome, RunState, RunView, SnapshotItem, StopReason, ThreadMeta, ThreadSnapshot,
    TurnKind,
};
use panelot_protocol::{DirectoryCursor, Event, EventMessage, PROTOCOL, SCHEMA_HASH, StreamCursor};
use serde_json::{Value, json};

use super::rig::thread;

pub(super) struct Engine {
    pub(super) id: ThreadId,
    pub(super) epoch: u64,
    pub(super) sequence: u64,
    pub(super) directory_sequence: u64,
    pub(super) threads: Vec<ThreadMeta>,
    pub(super) items: Vec<SnapshotItem>,
    pub(super) active_turn: Option<ActiveTurn>,
    pub(super) active_items: Vec<ActiveItem>,
    pub(super) approvals: Vec<ApprovalView>,
    pub(super) runs: Vec<RunView>,
    /// How many of the newest items a snapshot carries.
    pub(super) page: usize,
    clock: u64,
    names: u64,
    out: Vec<Value>,
}

pub(super) fn meta(id: &str, updated_at: u64, pinned: bool) -> ThreadMeta {
    ThreadMeta {
        id: thread(id),
        revision: 1,
        title: format!("About {id}"),
        created_at: Timestamp(1),
        updated_at: Timestamp(updated_at),
        pinned,
        archived: false,
        folder_id: None,
        tags: Vec::new(),
        preset: None,
        forked_from: None,
        turns: 0,
        total_tokens: 0,
        cost: None,
        model: None,
        effort: None,
        quarantined: false,
    }
}

impl Engine {
    pub(super) fn new(id: &str) -> Self {
        Self {
            id: thread(id),
            epoch: 1,
            sequence: 1,
            directory_sequence: 1,
            threads: vec![meta(id, 5, false)],
            items: Vec::new(),
            active_turn: None,
            active_items: Vec::new(),
            approvals: Vec::new(),
            runs: Vec::new(),
            page: 1000,
            clock: 100,
            names: 0,
            out: Vec::new(),
        }
    }

    fn name(&mut self, kind: &str) -> String {
        self.names += 1;
        format!("{kind}-{}", self.names)
    }

    /// The events since the last call, for everyone who follows the thread.
    pub(super) fn drain(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.out)
    }

    pub(super) fn emit(&mut self, event: Event) {
        self.sequence += 1;
        let cursor = StreamCursor { thread_id: self.id.clone(), epoch: self.epoch, sequence: self.sequence };
        self.out.push(EventMessage { stream: Some(cursor), directory: None, event }.to_json());
    }

    pub(super) fn initialized(&self, submission_id: &SubmissionId) -> Value {
        let event = Event::Initialized(Initialized {
            submission_id: submission_id.clone(),
            protocol: PROTOCOL.into(),
            schema_hash: SCHEMA_HASH.into(),
            directory: DirectorySnapshot { threads: self.threads.clone(), ..DirectorySnapshot::default() },
            settings: SettingsView { revision: 1, ..SettingsView::default() },
        });
        self.directory(event, self.directory_sequence)
    }

    pub(super) fn directory(&self, event: Event, sequence: u64) -> Value {
        let directory = Some(DirectoryCursor { epoch: self.epoch, sequence });
        EventMessage { stream: None, directory, event }.to_json()
    }

    pub(super) fn snapshot(&self, submission_id: &SubmissionId) -> Value {
        let first = self.items.len().saturating_sub(self.page);
        let snapshot = ThreadSnapshot {
            meta: self.threads[0].clone(),
            items: self.items[first..].to_vec(),
            has_older: first > 0,
            active_turn: self.active_turn.clone(),
            active_items: self.active_items.clone(),
            pending_approvals: self.approvals.clone(),
            pending_interactions: Vec::new(),
            draft: String::new(),
            runs: self.runs.clone(),
        };
        let cursor = StreamCursor { thread_id: self.id.clone(), epoch: self.epoch, sequence: self.sequence };
        let event = Event::ThreadSnapshot(ThreadSnapshotEvent {
            submission_id: submission_id.clone(),
            thread_id: self.id.clone(),
            snapshot,
        });
        EventMessage { stream: Some(cursor), directory: None, event }.to_json()
    }

    pub(super) fn ack(&self, submission_id: &SubmissionId) -> Value {
        let thread_id = Some(self.id.clone());
        let ack =
            CommandAck { submission_id: submission_id.clone(), thread_id, run_id: None, revision: None };
        EventMessage::private(Event::CommandAck(ack)).to_json()
    }

    pub(super) fn reject(submission_id: &SubmissionId, code: &str) -> Value {
        json!({"type": "command.rejected", "submissionId": submission_id, "code": code, "message": "no", "retryable": false})
    }

    /// Stores an item and tells it.
    pub(super) fn store(&mut self, body: ItemBody) {
        let seq = self.items.last().map_or(1, |last| last.seq + 1);
        self.store_at(seq, body);
    }

    fn store_at(&mut self, seq: u64, body: ItemBody) {
        self.clock += 1;
        let turn = self.active_turn.as_ref().map(|turn| turn.turn_id.clone());
        let turn_id = turn.unwrap_or_else(|| TurnId::new("turn-none").expect("an id"));
        let item = SnapshotItem { seq, at: Timestamp(self.clock), turn_id, versions: Vec::new(), body };
        match self.items.iter_mut().find(|known| known.seq == seq) {
            Some(known) => *known = item.clone(),
            None => self.items.push(item.clone()),
        }
        self.emit(Event::ItemStored(ItemStored { thread_id: self.id.clone(), item }));
    }

    pub(super) fn change_run(&mut self, run_id: &RunId, change: impl FnOnce(&mut RunView)) {
        let Some(run) = self.runs.iter_mut().find(|run| run.run_id == *run_id) else { return };
        change(run);
        run.revision += 1;
        let run = run.clone();
        if matches!(run.state, RunState::Completed | RunState::Failed | RunState::Cancelled) {
            self.runs.retain(|known| known.run_id != *run_id);
        }
        self.emit(Event::RunUpdated(RunUpdated { thread_id: self.id.clone(), run }));
    }

    /// A message comes in: it starts a turn, or waits.
    pub(super) fn submit(&mut self, submission_id: SubmissionId, text: &str) {
        let run_id = RunId::new(self.name("run")).expect("an id");
        let turn_id = TurnId::new(self.name("turn")).expect("an id");
        self.runs.push(RunView {
            run_id: run_id.clone(),
            turn_id,
            state: RunState::Queued,
            revision: 0,
            queued_text: Some(text.into()),
            order: 0,
            overrides: TurnOverrides::default(),
            submission_id,
            steerable: false,
            pending_steers: Vec::new(),
            uncertain: None,
            error: None,
        });
        self.change_run(&run_id, |_| {});
        self.start_next();
    }

    pub(super) fn start_next(&mut self) {
        let holds = |run: &RunView| !matches!(run.state, RunState::Queued | RunState::Interrupted);
        if self.active_turn.is_some() || self.runs.iter().any(holds) {
            return;
        }
        let Some(run) = self.runs.iter().find(|run| run.state == RunState::Queued).cloned() else { return };
        self.change_run(&run.run_id, |run| (run.state, run.queued_text) = (RunState::Running, None));
        let started_at = Timestamp(self.clock);
        let (turn_id, run_id) = (run.turn_id, run.run_id);
        self.active_turn = Some(ActiveTurn { turn_id: turn_id.clone(), run_id: run_id.clone(), started_at });
        let text = run.queued_text.unwrap_or_default();
        self.store(ItemBody::UserMessage {
            text,
            default_tab: None,
            submission_id: run.submission_id,
            steered: false,
        });
        self.emit(Event::TurnStart(TurnStart {
            thread_id: self.id.clone(),
            turn_id,
            run_id,
            turn_kind: TurnKind::User,
        }));
    }

    pub(super) fn streaming(&self) -> Option<ItemId> {
        let message = |item: &&ActiveItem| item.kind == ItemKind::AssistantMessage;
        self.active_items.iter().find(message).map(|item| item.item_id.clone())
    }

    fn start_item(&mut self, item_id: ItemId, kind: ItemKind, meta: ItemMeta) {
        let Some(turn) = &self.active_turn else { return };
        let turn_id = turn.turn_id.clone();
        let (text, reasoning) = (String::new(), String::new());
        self.active_items.push(ActiveItem {
            item_id: item_id.clone(),
            kind,
            meta: meta.clone(),
            text,
            reasoning,
        });
        self.emit(Event::ItemStart(ItemStart { thread_id: self.id.clone(), turn_id, item_id, kind, meta }));
    }

    pub(super) fn start_message(&mut self) {
        if self.active_turn.is_some() && self.active_items.is_empty() && self.open_calls().is_empty() {
            let id = ItemId::new(self.name("message")).expect("an id");
            self.start_item(id, ItemKind::AssistantMessage, ItemMeta::default());
        }
    }

    pub(super) fn delta(&mut self, text: &str, reasoning: &str) {
        let Some(item) = self.active_items.first_mut() else { return };
        item.text.push_str(text);
        item.reasoning.push_str(reasoning);
        let delta = ItemDelta {
            thread_id: self.id.clone(),
            item_id: item.item_id.clone(),
            text: text.into(),
            reasoning: reasoning.into(),
        };
        self.emit(Event::ItemDelta(delta));
    }

    fn message(&self, item_id: &ItemId, calls: Vec<CallView>, incomplete: bool) -> ItemBody {
        let active = self.active_items.iter().find(|item| item.item_id == *item_id).expect("in flight");
        ItemBody::AssistantMessage {
            item_id: item_id.clone(),
            text: active.text.clone(),
            reasoning: active.reasoning.clone(),
            calls,
            connection_id: ConnectionId::new("c").expect("an id"),
            model_id: "m".into(),
            usage: None,
            incomplete,
            stop: None,
            cost: None,
        }
    }

    /// The sequence under which a message is stored, when it is.
    fn stored_at(&self, item_id: &ItemId) -> Option<u64> {
        let same = |item: &&SnapshotItem| matches!(&item.body, ItemBody::AssistantMessage { item_id: id, .. } if id == item_id);
        self.items.iter().find(same).map(|item| item.seq)
    }

    /// Stores what was streamed so far.
    pub(super) fn checkpoint(&mut self) {
        let Some(id) = self.streaming() else { return };
        let seq = self.stored_at(&id).unwrap_or_else(|| self.items.last().map_or(1, |last| last.seq + 1));
        let body = self.message(&id, Vec::new(), true);
        self.store_at(seq, body);
    }

    pub(super) fn finish_message(&mut self, calls: usize) {
        let Some(id) = self.streaming() else { return };
        let calls = (0..calls)
            .map(|index| CallView {
                item_id: ItemId::new(self.name("call")).expect("an id"),
                tool_name: "click".into(),
                arguments: format!("{{\"ref\":{index}}}"),
            })
            .collect();
        self.complete_message(&id, calls, false);
    }

    fn complete_message(&mut self, id: &ItemId, calls: Vec<CallView>, incomplete: bool) {
        let seq = self.stored_at(id).unwrap_or_else(|| self.items.last().map_or(1, |last| last.seq + 1));
        let body = self.message(id, calls, incomplete);
        self.store_at(seq, body);
        self.complete(id, !incomplete);
    }

    fn complete(&mut self, id: &ItemId, ok: bool) {
        self.active_items.retain(|item| item.item_id != *id);
        let (thread_id, item_id) = (self.id.clone(), id.clone());
        self.emit(Event::ItemComplete(ItemComplete { thread_id, item_id, ok }));
    }

    pub(super) fn open_calls(&self) -> Vec<CallView> {
        let mut open = Vec::new();
        for item in &self.items {
            match &item.body {
                ItemBody::AssistantMessage { calls, .. } => open.extend(calls.iter().cloned()),
                ItemBody::ToolResult { item_id, .. } => open.retain(|call| call.item_id != *item_id),
                _ => {}
            }
        }
        open
    }

    pub(super) fn ask(&mut self) {
        let Some(turn) = self.active_turn.clone().filter(|_| self.approvals.is_empty()) else { return };
        let Some(call) = self.open_calls().into_iter().next().filter(|_| self.active_items.is_empty()) else {
            return;
        };
        let approval = ApprovalView {
            approval_id: ApprovalId::new(self.name("approval")).expect("an id"),
            turn_id: turn.turn_id,
            item_id: call.item_id,
            tool: call.tool_name,
            params: json!({"ref": 1}),
            target_origin: "https://a.example".into(),
            target_title: "A".into(),
            preview: None,
            flags: Vec::new(),
            requested_at: Timestamp(self.clock),
            deadline_at: Timestamp(self.clock + 300_000),
        };
        self.approvals.push(approval.clone());
        self.change_run(&turn.run_id, |run| run.state = RunState::WaitingApproval);
        self.emit(Event::ApprovalRequest(ApprovalRequest { thread_id: self.id.clone(), approval }));
    }

    pub(super) fn decide(&mut self, accept: bool) {
        let (Some(turn), Some(approval)) = (self.active_turn.clone(), self.approvals.pop()) else { return };
        let decision =
            if accept { ApprovalDecision::Accept } else { ApprovalDecision::Decline { note: None } };
        self.store(ItemBody::ApprovalDecision {
            approval_id: approval.approval_id.clone(),
            item_id: approval.item_id.clone(),
            decision: decision.clone(),
        });
        let (thread_id, approval_id) = (self.id.clone(), approval.approval_id);
        let decision = Some(decision);
        self.emit(Event::ApprovalResolved(ApprovalResolved { thread_id, approval_id, decision }));
        self.change_run(&turn.run_id, |run| run.state = RunState::Running);
        if !accept {
            self.result(&approval.item_id, ResultOutcome::Declined);
        }
    }

    pub(super) fn start_call(&mut self) {
        let Some(call) = self.open_calls().into_iter().next() else { return };
        if self.active_items.is_empty() && self.approvals.is_empty() && self.active_turn.is_some() {
            let meta = ItemMeta { tool_name: Some(call.tool_name), arguments: Some(call.arguments) };
            self.start_item(call.item_id, ItemKind::ToolCall, meta);
        }
    }

    fn result(&mut self, item_id: &ItemId, outcome: ResultOutcome) {
        self.store(ItemBody::ToolResult {
            item_id: item_id.clone(),
            outcome,
            content: format!("result of {item_id}"),
            clipped: false,
            details: Value::Null,
            origin: Some("https://a.example".into()),
        });
    }

    pub(super) fn finish_call(&mut self, ok: bool) {
        let call = self.active_items.iter().find(|item| item.kind == ItemKind::ToolCall);
        if let Some(id) = call.map(|item| item.item_id.clone()) {
            self.result(&id, if ok { ResultOutcome::Ok } else { ResultOutcome::Failed });
            self.complete(&id, ok);
        }
    }

    /// The turn ends, whatever is open.
    pub(super) fn end_turn(&mut self, state: RunState) {
        let Some(turn) = self.active_turn.clone() else { return };
        for item in self.active_items.clone() {
            if item.kind == ItemKind::AssistantMessage && !item.text.is_empty() {
                self.complete_message(&item.item_id, Vec::new(), true);
            } else {
                self.complete(&item.item_id, false);
            }
        }
        for approval in std::mem::take(&mut self.approvals) {
            let (thread_id, approval_id) = (self.id.clone(), approval.approval_id);
            self.emit(Event::ApprovalResolved(ApprovalResolved { thread_id, approval_id, decision: None }));
        }
        for call in self.open_calls() {
            self.result(&call.item_id, ResultOutcome::Skipped);
        }
        if state == RunState::Failed {
            self.store(ItemBody::SystemNotice {
                notice: NoticeKind::ModelError,
                details: json!({"kind": "rate"}),
            });
        }
        self.active_turn = None;
        self.change_run(&turn.run_id, |run| run.state = state);
        let (thread_id, turn_id) = (self.id.clone(), turn.turn_id);
        let stop_reason = if state == RunState::Completed { StopReason::End } else { StopReason::Error };
        self.emit(Event::TurnComplete(TurnComplete { thread_id, turn_id, stop_reason }));
        self.start_next();
    }

    /// The worker dies and comes back: what streamed is gone, what was stored stays.
    pub(super) fn restart(&mut self) {
        self.out.clear();
        (self.epoch, self.sequence, self.directory_sequence) = (self.epoch + 1, 1, 1);
        self.active_items.clear();
        if !self.approvals.is_empty() {
            // A turn that waits for the person goes on waiting.
            return;
        }
        if let Some(turn) = self.active_turn.take() {
            for run in self.runs.iter_mut().filter(|run| run.run_id == turn.run_id) {
                (run.state, run.revision) = (RunState::Interrupted, run.revision + 1);
            }
        }
    }
}
