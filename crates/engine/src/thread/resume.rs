//! What the person says of runs that stand still.

use panelot_base::RunId;
use panelot_protocol::event::ErrorCode;
use panelot_protocol::op::Resolution;
use panelot_protocol::snapshot::StopReason;
use panelot_records::node::ResultOutcome;
use panelot_records::{CallState, RunState};
use serde_json::json;

use super::course::reminders_for;
use super::outcome::Settled;
use super::{Context, Draft, ThreadMachine};
use crate::receipt::{Admitted, Refused};
use crate::step::Reminder;
use panelot_prompts::wording;

impl ThreadMachine {
    fn standing(&self, id: &RunId, state: RunState) -> Result<(), Refused> {
        match self.run(id) {
            None => Err(Refused::new(ErrorCode::InvalidCommand, "this run is over")),
            Some(run) if run.state != state => {
                Err(Refused::new(ErrorCode::InvalidCommand, "this run does not stand still any more"))
            }
            Some(_) => Ok(()),
        }
    }

    /// Goes on with a run that a restart cut short or that used up its tokens.
    pub(crate) fn resume(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        id: &RunId,
    ) -> Result<Admitted, Refused> {
        let paused = self.standing(id, RunState::PausedBudget).is_ok();
        if self.standing(id, RunState::PausedLocked).is_ok() {
            if context.directory.is_locked() {
                let why = "the keys are locked; it goes on when they are unlocked";
                return Err(Refused::new(ErrorCode::Locked, why));
            }
        } else if !paused {
            self.standing(id, RunState::Interrupted)?;
        }
        if self.head_run().is_some_and(|head| head.id != *id) {
            return Err(Refused::new(
                ErrorCode::TurnMismatch,
                "the conversation is busy with another message",
            ));
        }
        let (leaf, turn) = match self.run(id) {
            Some(run) => (run.leaf, run.turn.clone()),
            None => return Ok(self.admitted(id)),
        };
        // Messages that waited behind it may have been answered since. What it did stays where it is in the conversation.
        let earlier = leaf != self.thread.leaf;
        let cut_off = self.ends_cut_off();
        if earlier && !leaf.is_some_and(|leaf| self.may_be_on_path(leaf)) {
            let why = "this message lies on another branch of the conversation; go there first";
            return Err(Refused::new(ErrorCode::InvalidCommand, why));
        }
        let newest = self.thread.leaf;
        if let Some(run) = self.run_mut(id) {
            run.leaf = newest;
        }
        if paused {
            self.extend_budget(context, id);
        }
        self.set_state(id, RunState::Running);
        #[cfg(feature = "bugs")]
        self.say_again(context, draft, id);
        self.announce_turn(context, draft, id);
        self.deliver_steers(context.now, draft, id);
        let mut reminders = self.run(id).map(reminders_for).unwrap_or_default();
        if earlier {
            reminders.push(Reminder::ResumeEarlier(turn));
        } else if cut_off {
            reminders.push(Reminder::ContinueAnswer);
        }
        if self.run(id).is_some_and(|run| run.batch.is_some()) {
            self.advance(context, draft, id);
        } else {
            self.call_model(context, draft, id, reminders);
        }
        Ok(self.admitted(id))
    }

    /// Lets a run stand still until the credentials are unlocked.
    pub(super) fn pause_locked(&mut self, draft: &mut Draft, id: &RunId) {
        self.set_state(id, RunState::PausedLocked);
        self.complete_turn(draft, id, StopReason::LockedPause);
    }

    /// The run that stands still until they are.
    pub(crate) fn locked_run(&self) -> Option<RunId> {
        self.runs.iter().find(|run| run.state == RunState::PausedLocked).map(|run| run.id.clone())
    }

    /// Goes on with it.
    pub(crate) fn resume_locked(&mut self, context: &mut Context<'_>, draft: &mut Draft) {
        if !context.directory.is_locked()
            && let Some(id) = self.locked_run()
        {
            // It holds the queue, so nothing else is under way that could stand against it.
            let _ = self.resume(context, draft, &id);
        }
    }

    /// Whether a node lies on the active branch, as far as the machine can tell without reading older nodes.
    fn may_be_on_path(&self, seq: u64) -> bool {
        self.node(seq).is_some()
            || self.nodes().first().is_none_or(|oldest| self.has_older && seq < oldest.seq)
    }

    fn ends_cut_off(&self) -> bool {
        let newest = self.thread.leaf.and_then(|leaf| self.node(leaf)).map(|node| &node.body);
        matches!(newest, Some(panelot_records::Body::Assistant { incomplete: true, text, .. }) if !text.trim().is_empty())
    }

    /// Says what became of a write whose end was not seen.
    pub(crate) fn resolve_uncertain(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        id: &RunId,
        resolution: Resolution,
    ) -> Result<Admitted, Refused> {
        self.standing(id, RunState::PausedUncertain)?;
        let batch = self.run(id).and_then(|run| run.batch.as_ref());
        let uncertain = batch.and_then(|batch| {
            batch.calls.iter().find(|call| matches!(call.state, CallState::Uncertain { .. })).cloned()
        });
        let Some(call) = uncertain else {
            return Err(Refused::new(ErrorCode::InvalidCommand, "no call of this run is in doubt"));
        };
        match resolution {
            Resolution::Retry => {
                let state = match call.approval.clone() {
                    Some(approval) => CallState::Approved { approval },
                    None => CallState::Proposed,
                };
                if let Some(call) = self.call_mut(id, &call.item) {
                    call.state = state;
                }
                self.set_state(id, RunState::Running);
                self.announce_turn(context, draft, id);
                self.advance(context, draft, id);
            }
            Resolution::MarkDone => {
                self.set_state(id, RunState::Running);
                self.announce_turn(context, draft, id);
                let settled = Settled::new(
                    ResultOutcome::Ok,
                    wording::settled_done(),
                    json!({"type": "confirmedDone"}),
                );
                self.settle(context, draft, id, &call.item, settled);
                self.advance(context, draft, id);
            }
            Resolution::Fail => self.end_run(context, draft, id, RunState::Failed, StopReason::Error),
        }
        Ok(self.admitted(id))
    }
}
