//! Starting is recovering: what was open when the worker died, decided from the records alone.

use panelot_base::{ItemId, RunId};
use panelot_records::{CallState, RunState};

use crate::bugs::{Bug, is_on};

use super::{Context, Draft, ThreadMachine};

impl ThreadMachine {
    /// Takes up the open runs of a thread that was just read from the store.
    #[inline(never)]
    pub(crate) fn recover(&mut self, context: &mut Context<'_>, draft: &mut Draft) {
        self.repair(context, draft);
        let running: Vec<RunId> =
            self.runs.iter().filter(|run| run.state.is_under_way()).map(|run| run.id.clone()).collect();
        for id in running {
            self.recover_run(context, draft, &id);
        }
        self.expire_approvals(context, draft);
        self.start_looks(context.now, draft);
        self.resume_locked(context, draft);
        self.start_next(context, draft);
        // Nobody subscribes yet: the snapshot that a view asks for tells all this.
        draft.events.clear();
    }

    fn recover_run(&mut self, context: &mut Context<'_>, draft: &mut Draft, id: &RunId) {
        let Some(run) = self.run_mut(id) else { return };
        let Some(batch) = &mut run.batch else {
            // A model call was under way; its partial text is in its node, marked incomplete.
            run.partial = None;
            return self.set_state(id, RunState::Interrupted);
        };
        let dispatched: Vec<ItemId> = batch
            .calls
            .iter()
            .filter(|call| matches!(call.state, CallState::Dispatched { .. }))
            .map(|call| call.item.clone())
            .collect();
        for item in dispatched {
            let is_write = self.run(id).is_some_and(|run| self.is_write(context, run, &item));
            if is_write && !is_on(Bug::ReplayedWrite) {
                self.pause_uncertain(context, draft, id, &item);
            } else if let Some(call) = self.call_mut(id, &item) {
                // Looking again does no harm; the person's earlier word still stands for it.
                call.state = match call.approval.clone() {
                    Some(approval) => CallState::Approved { approval },
                    None => CallState::Proposed,
                };
            }
        }
        self.recover_waits(context, draft, id);
        self.advance(context, draft, id);
    }
}
