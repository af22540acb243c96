//! How calls end, and how runs end with them.
//!
//! Invariant: every call of an ended run has exactly one result node; a write whose end was not seen is never reported
//! as done.

use panelot_base::json::word;
use panelot_base::{ItemId, RunId};
use panelot_gatekeeper as gate;
use panelot_protocol::event::{Event, TurnComplete};
use panelot_protocol::snapshot::StopReason;
use panelot_records::node::ResultOutcome;
use panelot_records::{Body, CallState, Node, Record, RunState, Write};
use panelot_tools::{Report, ToolOutcome, interpret};
use serde_json::{Value, json};

use super::calls::is_settled;
use super::{Context, Draft, LateCall, LiveCall, ThreadMachine};
use crate::step::Effect;
use panelot_prompts::wording;

/// What goes into a result node.
pub(crate) struct Settled {
    pub(crate) outcome: ResultOutcome,
    pub(crate) content: String,
    pub(crate) details: Value,
    pub(crate) foreign: bool,
    pub(crate) origin: Option<String>,
}

impl Settled {
    pub(crate) const fn new(outcome: ResultOutcome, content: String, details: Value) -> Self {
        Self { outcome, content, details, foreign: false, origin: None }
    }

    pub(crate) const fn failed(content: String, details: Value) -> Self {
        Self::new(ResultOutcome::Failed, content, details)
    }

    pub(crate) fn from_outcome(outcome: ToolOutcome) -> Self {
        match outcome {
            ToolOutcome::Done { ok, content, details, foreign, origin } => Self {
                outcome: if ok { ResultOutcome::Ok } else { ResultOutcome::Failed },
                content,
                details,
                foreign,
                origin,
            },
            ToolOutcome::Uncertain { content, details } => {
                Self::new(ResultOutcome::Uncertain, content, details)
            }
        }
    }

    pub(super) fn into_body(self, item: ItemId) -> Body {
        Body::ToolResult {
            item,
            outcome: self.outcome,
            content: self.content,
            details: self.details,
            foreign: self.foreign,
            origin: self.origin,
        }
    }
}

impl ThreadMachine {
    /// Takes in what a dispatched call came to.
    #[inline(never)]
    pub(crate) fn on_report(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        item: &ItemId,
        attempt: u32,
        report: Report,
    ) {
        if let Some(late) = self.late.get(item).filter(|late| late.attempt == attempt).cloned() {
            return self.settle_late(context, draft, item, late, report);
        }
        if self.on_look(context, draft, item, attempt, &report) {
            return;
        }
        let Some(id) = self.run_of_call(item).map(|run| run.id.clone()) else { return };
        let awaited = matches!(self.call_state(&id, item), Some(CallState::Dispatched { attempt: it, .. }) if *it == attempt);
        let Some(live) = self.calls.get(item).filter(|_| awaited).cloned() else { return };
        self.close_elicitations(draft, &id);
        let outcome = judged_outcome(context, &live, report);
        let is_write = self.run(&id).is_some_and(|run| self.is_write(context, run, item));
        if let (ToolOutcome::Uncertain { .. }, true) = (&outcome, is_write) {
            return self.pause_uncertain(context, draft, &id, item);
        }
        self.settle(context, draft, &id, item, Settled::from_outcome(outcome));
        self.advance(context, draft, &id);
    }

    /// A result that came after its run was stopped: it goes on record and moves nothing.
    fn settle_late(
        &mut self,
        context: &Context<'_>,
        draft: &mut Draft,
        item: &ItemId,
        late: LateCall,
        report: Report,
    ) {
        self.late.remove(item);
        let outcome = judged_outcome(context, &late.live, report);
        if matches!(outcome, ToolOutcome::Uncertain { .. }) {
            return;
        }
        let body = Settled::from_outcome(outcome).into_body(item.clone());
        #[cfg(feature = "bugs")]
        if crate::bugs::is_on(crate::bugs::Bug::OrphanResult) {
            return self.orphan(draft, late.seq, body);
        }
        match late.node {
            Some(node) if self.node(late.seq).is_none() => {
                draft.writes.push(Write::Put(Record::Node(Node { body, ..node })));
            }
            _ => {
                self.rewrite(late.seq, body);
                draft.stored.push(late.seq);
            }
        }
    }

    /// Writes a call's result. What follows from it is for [`Self::advance`].
    pub(crate) fn settle(
        &mut self,
        context: &Context<'_>,
        draft: &mut Draft,
        id: &RunId,
        item: &ItemId,
        settled: Settled,
    ) {
        self.note_call(id, item, &settled);
        let ok = settled.outcome == ResultOutcome::Ok;
        // A refusal is the person's word and no sign that the model is lost.
        let counts = matches!(settled.outcome, ResultOutcome::Failed | ResultOutcome::Uncertain);
        self.write_result(context, draft, id, item, settled, ok);
        if let Some(run) = self.run_mut(id) {
            if ok {
                run.failures = 0;
            } else if counts {
                run.failures += 1;
            }
        }
    }

    fn write_result(
        &mut self,
        context: &Context<'_>,
        draft: &mut Draft,
        id: &RunId,
        item: &ItemId,
        settled: Settled,
        ok: bool,
    ) -> u64 {
        let skipped = settled.outcome == ResultOutcome::Skipped;
        let seq = self.append(draft, context.now, id, settled.into_body(item.clone()));
        if let Some(call) = self.call_mut(id, item) {
            call.state = if skipped { CallState::Skipped } else { CallState::Done };
        }
        self.calls.remove(item);
        draft.closing.push(self.item_complete(item.clone(), ok));
        seq
    }

    /// A write was started and its end was not seen: only the person can say what became of it.
    pub(crate) fn pause_uncertain(
        &mut self,
        _context: &Context<'_>,
        draft: &mut Draft,
        id: &RunId,
        item: &ItemId,
    ) {
        if let Some(call) = self.call_mut(id, item) {
            call.state = CallState::Uncertain { attempt: call.attempts };
        }
        self.calls.remove(item);
        self.set_state(id, RunState::PausedUncertain);
        draft.closing.push(self.item_complete(item.clone(), false));
        self.complete_turn(draft, id, StopReason::Uncertain);
    }

    pub(crate) fn complete_turn(&mut self, draft: &mut Draft, id: &RunId, stop_reason: StopReason) {
        if let Some(run) = self.run(id) {
            draft.closing.push(Event::TurnComplete(TurnComplete {
                thread_id: self.thread.id.clone(),
                turn_id: run.turn.clone(),
                stop_reason,
            }));
        }
        self.turn_started_at = None;
    }

    /// Gives every open call of a run its result, so that the conversation stays one that providers accept.
    pub(crate) fn close_calls(&mut self, context: &Context<'_>, draft: &mut Draft, id: &RunId) {
        let open: Vec<(ItemId, CallState, u32)> = self
            .run(id)
            .and_then(|run| run.batch.as_ref())
            .map(|batch| batch.calls.iter().filter(|call| !is_settled(call)))
            .into_iter()
            .flatten()
            .map(|call| (call.item.clone(), call.state.clone(), call.attempts))
            .collect();
        for (item, state, attempt) in open {
            let is_write = self.run(id).is_some_and(|run| self.is_write(context, run, &item));
            let live = self.calls.get(&item).cloned();
            if live.is_some() {
                draft.effects.push(Effect::CancelTool { thread: self.thread.id.clone(), item: item.clone() });
            }
            let unseen =
                matches!(state, CallState::Dispatched { .. } | CallState::Uncertain { .. }) && is_write;
            let settled = if unseen {
                Settled::new(ResultOutcome::Uncertain, wording::uncertain(), json!({"type": "uncertain"}))
            } else {
                Settled::new(ResultOutcome::Skipped, wording::not_started(), json!({"type": "skipped"}))
            };
            let seq = self.write_result(context, draft, id, &item, settled, false);
            if let (true, CallState::Dispatched { .. }, Some(live)) = (unseen, &state, live) {
                self.late.insert(item, LateCall { seq, attempt, live, node: None });
            }
        }
        if let Some(run) = self.run_mut(id) {
            run.batch = None;
        }
    }

    /// Ends a run: its questions are closed, its calls have results, views are told, and the queue goes on.
    pub(crate) fn end_run(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        id: &RunId,
        state: RunState,
        reason: StopReason,
    ) {
        self.close_approvals(draft, id);
        self.close_calls(context, draft, id);
        self.deliver_steers(context.now, draft, id);
        self.complete_turn(draft, id, reason);
        self.set_state(id, state);
        if let Some(run) = self.run_mut(id) {
            run.stop_reason = Some(word(&reason));
        }
        self.start_next(context, draft);
    }
}

/// What a report means, once the place where a navigation ended is judged: redirects lead where nobody was asked about.
fn judged_outcome(context: &Context<'_>, live: &LiveCall, report: Report) -> ToolOutcome {
    if let Report::Navigated(arrived) = &report {
        let rules = context.directory.gate_rules();
        let (tool, destination) = (live.call.name(), live.call.destination());
        if let gate::Landing::Refused(denial) =
            gate::judge_landing(tool, destination, &rules, "read_page", &arrived.origin)
        {
            let reason = denial.to_string();
            return ToolOutcome::Done {
                ok: false,
                content: wording::landing_denied(&reason),
                details: json!({"type": "denied", "reason": reason}),
                foreign: false,
                origin: None,
            };
        }
    }
    interpret(&live.call, live.target.as_ref(), report)
}
