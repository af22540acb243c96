//! Tool calls up to their dispatch: which may start, what they are aimed at, whether they may go ahead.
//!
//! Invariant: a call is recorded as dispatched in the commit that its dispatch waits for, and needs a permit.

use panelot_base::json::{FromJson, ToJson};
use panelot_base::limits::FAILURES_STOP;
use panelot_base::{ItemId, RunId};
use panelot_gatekeeper as gate;
use panelot_protocol::event::{Event, ItemStart};
use panelot_protocol::snapshot::{ItemKind, ItemMeta};
use panelot_records::node::ResultOutcome;
use panelot_records::{Approval, Call as CallRecord, CallState, Run, RunState};
use panelot_tools::{
    Call, Effect as ToolEffect, HostAccess, Target, TargetError, TargetFacts, TargetKind, is_secret_field,
    target_refusal,
};
use serde_json::json;

use super::outcome::Settled;
use super::waits::wait_of;
use super::{Context, Draft, LiveCall, ThreadMachine};
use crate::input::TargetPhase;
use crate::step::{Effect, TargetLookup};
use panelot_prompts::wording;

impl ThreadMachine {
    /// Starts what can be started of a run's calls; when all have ended, asks the model to go on.
    pub(crate) fn advance(&mut self, context: &mut Context<'_>, draft: &mut Draft, id: &RunId) {
        while let Some(item) = self.startable(context, id) {
            let lost = self.run(id).is_some_and(|run| run.failures >= FAILURES_STOP);
            if lost && matches!(self.call_state(id, &item), Some(CallState::Proposed)) {
                // The turn ends with a summary: what the model wanted beyond that is not begun.
                let skipped =
                    Settled::new(ResultOutcome::Skipped, wording::skipped(), json!({"type": "skipped"}));
                self.settle(context, draft, id, &item, skipped);
            } else {
                self.start_call(context, draft, id, &item);
            }
            if !self.is_working(id) {
                return;
            }
        }
        if !self.is_working(id) {
            return;
        }
        let Some(run) = self.run_mut(id) else { return };
        let over = run.batch.as_ref().is_some_and(|batch| batch.calls.iter().all(is_settled));
        if over && run.state == RunState::Running {
            run.batch = None;
            self.go_on(context, draft, id);
        }
    }

    fn is_working(&self, id: &RunId) -> bool {
        self.run(id).is_some_and(|run| run.batch.is_some() && run.state.is_under_way())
    }

    /// The next call that may start: a read beside other reads, anything else alone and in its turn.
    fn startable(&self, context: &Context<'_>, id: &RunId) -> Option<ItemId> {
        let run = self.run(id)?;
        let batch = run.batch.as_ref()?;
        let reads = |call: &CallRecord| {
            self.stored_call(run, &call.item)
                .and_then(|stored| context.catalogue.find(&stored.name))
                .is_some_and(|tool| tool.effect == ToolEffect::Read)
        };
        let mut only_reads_before = true;
        for call in batch.calls.iter().filter(|call| !is_settled(call)) {
            let read = reads(call);
            let first =
                batch.calls.iter().find(|call| !is_settled(call)).is_some_and(|it| it.item == call.item);
            let ready = matches!(call.state, CallState::Proposed | CallState::Approved { .. });
            if ready && !self.calls.contains_key(&call.item) && (first || (read && only_reads_before)) {
                return Some(call.item.clone());
            }
            only_reads_before &= read;
            if !only_reads_before {
                return None;
            }
        }
        None
    }

    fn start_call(&mut self, context: &mut Context<'_>, draft: &mut Draft, id: &RunId, item: &ItemId) {
        let Some((run, stored)) = self.run(id).and_then(|run| Some((run, self.stored_call(run, item)?)))
        else {
            // Only a damaged record names a call that its message does not have. Left open it would be tried for ever.
            if let Some(call) = self.call_mut(id, item) {
                call.state = CallState::Skipped;
            }
            return;
        };
        let turn_id = run.turn.clone();
        let default_tab = run.default_tab.as_ref().map(|tab| tab.tab_id);
        let phase = match self.call_state(id, item) {
            Some(CallState::Approved { .. }) => TargetPhase::Dispatch,
            _ => TargetPhase::Judge,
        };
        draft.events.push(Event::ItemStart(ItemStart {
            thread_id: self.thread.id.clone(),
            turn_id,
            item_id: item.clone(),
            kind: ItemKind::ToolCall,
            meta: ItemMeta {
                tool_name: Some(stored.name.clone()),
                arguments: Some(stored.arguments.clone()),
            },
        }));
        let levels = self.run(id).and_then(|run| run.tool_levels.clone());
        let level = context.catalogue.find(&stored.name).map(|tool| tool.level);
        let offered = level.is_none_or(|level| crate::context::is_within(level, levels.as_deref()));
        let parsed = match offered {
            true => context.catalogue.parse(&stored.name, &stored.arguments),
            false => Err(panelot_tools::ArgumentError::UnknownTool {
                name: stored.name.clone(),
                known: Vec::new(),
            }),
        };
        let call = match parsed {
            Ok(call) => call,
            Err(error) => {
                let details = json!({"type": "arguments", "problem": error.to_string()});
                let settled = Settled::failed(wording::invalid_call(&error.to_string()), details);
                return self.settle(context, draft, id, item, settled);
            }
        };
        self.calls.insert(item.clone(), LiveCall { call: call.clone(), target: None });
        if call.target_kind() == TargetKind::Browser {
            let facts = TargetFacts { target: None, host_access: HostAccess::Granted };
            return self.judge(context, draft, id, item, &facts);
        }
        draft.effects.push(Effect::FindTarget(Box::new(TargetLookup {
            thread: self.thread.id.clone(),
            item: item.clone(),
            phase,
            call,
            default_tab,
        })));
    }

    pub(crate) fn call_state(&self, id: &RunId, item: &ItemId) -> Option<&CallState> {
        let batch = self.run(id)?.batch.as_ref()?;
        batch.calls.iter().find(|call| call.item == *item).map(|call| &call.state)
    }

    pub(crate) fn call_mut(&mut self, id: &RunId, item: &ItemId) -> Option<&mut CallRecord> {
        self.run_mut(id)?.batch.as_mut()?.calls.iter_mut().find(|call| call.item == *item)
    }

    /// Takes in what a call is aimed at. A look that was overtaken by an answer or a stop is ignored.
    #[inline(never)]
    pub(crate) fn on_target(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        item: &ItemId,
        phase: TargetPhase,
        found: Result<TargetFacts, TargetError>,
    ) {
        if phase == TargetPhase::Look {
            return self.on_look_target(context, draft, item, found);
        }
        let Some(id) = self.run_of_call(item).map(|run| run.id.clone()) else { return };
        if !self.calls.contains_key(item) {
            return;
        }
        let awaited = match self.call_state(&id, item) {
            Some(CallState::Proposed) => phase == TargetPhase::Judge,
            Some(CallState::Approved { .. }) => phase == TargetPhase::Dispatch,
            _ => false,
        };
        if !awaited {
            return;
        }
        match found {
            Ok(facts) => self.judge(context, draft, &id, item, &facts),
            Err(error) => {
                let settled = Settled::from_outcome(target_refusal(&error));
                self.settle(context, draft, &id, item, settled);
            }
        }
        self.advance(context, draft, &id);
    }

    fn judge(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        id: &RunId,
        item: &ItemId,
        facts: &TargetFacts,
    ) {
        let (Some(live), Some(run)) = (self.calls.get(item), self.run(id)) else { return };
        let call = live.call.clone();
        let Some(tool) = context.catalogue.find(call.name()) else { return };
        let question = gate::Question {
            tool,
            arguments: call.arguments(),
            facts,
            destination: call.destination(),
            field: self.field_of(&call),
        };
        let policy = context.directory.policy(&run.overrides);
        let rules = context.directory.gate_rules();
        let approved = match self.call_state(id, item) {
            Some(CallState::Approved { approval }) => {
                self.approvals.iter().find(|it| it.id == *approval).cloned()
            }
            _ => None,
        };
        if let Some(approval) = approved {
            return match self.recheck(&approval, policy, &rules, &question) {
                Ok(permit) => self.dispatch(context, draft, id, item, permit, facts),
                Err(gate::Refusal::AskAgain(ask)) => self.ask(context, draft, id, item, facts, ask),
                Err(gate::Refusal::Denied(denial)) => self.deny(context, draft, id, item, &denial),
                Err(gate::Refusal::Drift { what }) => {
                    let details = json!({"type": "drift", "reason": what.to_string()});
                    let settled = Settled::failed(wording::approval_stale(), details);
                    self.settle(context, draft, id, item, settled);
                }
            };
        }
        match gate::decide(policy, &rules, &context.directory.gate_grants(&self.thread.id), &question) {
            gate::Verdict::Allow(permit) => self.dispatch(context, draft, id, item, permit, facts),
            gate::Verdict::Ask(ask) => self.ask(context, draft, id, item, facts, ask),
            gate::Verdict::Deny(denial) => self.deny(context, draft, id, item, &denial),
        }
    }

    /// Judges again what the person agreed to.
    pub(super) fn recheck(
        &self,
        approval: &Approval,
        policy: gate::Policy,
        rules: &gate::Rules,
        question: &gate::Question<'_>,
    ) -> Result<gate::Permit, gate::Refusal> {
        let target = approval.target.clone().and_then(|target| Target::from_json(target).ok());
        let shown = gate::Approved {
            tool: &approval.tool,
            arguments: &approval.arguments,
            origin: &approval.origin,
            flags: &approval.flags,
            target: target.as_ref(),
            digest: &approval.digest,
        };
        gate::recheck(&shown, policy, rules, question)
    }

    /// What the newest look at the page said of the field that a call writes into.
    fn field_of(&self, call: &Call) -> gate::Field {
        match self.outline_line(call) {
            Some(line) if is_secret_field(&line) => gate::Field::Secret,
            Some(_) => gate::Field::Plain,
            None => gate::Field::Unknown,
        }
    }

    fn deny(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        id: &RunId,
        item: &ItemId,
        denial: &gate::Denial,
    ) {
        let details = json!({"type": "denied", "reason": denial.to_string()});
        let settled = Settled::new(ResultOutcome::Declined, wording::denied(&denial.to_string()), details);
        self.settle(context, draft, id, item, settled);
    }

    fn dispatch(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        id: &RunId,
        item: &ItemId,
        permit: gate::Permit,
        facts: &TargetFacts,
    ) {
        let Some(live) = self.calls.get_mut(item) else { return };
        live.target.clone_from(&facts.target);
        let call = live.call.clone();
        if !permit.covers(call.name(), call.arguments()) {
            let settled = Settled::failed(wording::approval_stale(), json!({"type": "drift"}));
            return self.settle(context, draft, id, item, settled);
        }
        if let Some(wait) = wait_of(&call) {
            return self.begin_wait(context, draft, id, item, permit, facts, wait);
        }
        let command = match call.command(permit.target()) {
            Ok(command) => command,
            Err(error) => {
                let settled = Settled::from_outcome(target_refusal(&error));
                return self.settle(context, draft, id, item, settled);
            }
        };
        let now = context.now;
        let Some(record) = self.call_mut(id, item) else { return };
        record.attempts += 1;
        record.state = CallState::Dispatched { attempt: record.attempts, at: now };
        record.target = facts.target.as_ref().map(ToJson::to_json);
        let attempt = record.attempts;
        draft.effects.push(Effect::Dispatch {
            thread: self.thread.id.clone(),
            item: item.clone(),
            attempt,
            permit: Box::new(permit),
            command: Box::new(command),
        });
    }

    /// Whether a dispatched call could have changed something.
    pub(crate) fn is_write(&self, context: &Context<'_>, run: &Run, item: &ItemId) -> bool {
        // A tool that is not known any more may have been a write.
        self.stored_call(run, item).and_then(|stored| context.catalogue.find(&stored.name)).is_none_or(
            |tool| tool.effect == ToolEffect::Write && tool.recovery != panelot_tools::Recovery::RetrySafe,
        )
    }
}

pub(crate) const fn is_settled(call: &CallRecord) -> bool {
    matches!(call.state, CallState::Done | CallState::Skipped)
}
