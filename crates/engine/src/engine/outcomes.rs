//! What models, browser and clock bring to a thread.

use panelot_base::{ItemId, ModelCallId, ThreadId, Timestamp};
use panelot_tools::{Report, TargetError, TargetFacts};

use super::Engine;
use crate::input::{ModelInput, TargetPhase};
use crate::step::Step;

impl Engine {
    #[inline(never)]
    pub(super) fn on_model(
        &mut self,
        now: Timestamp,
        thread: &ThreadId,
        call: &ModelCallId,
        event: ModelInput,
    ) -> Vec<Step> {
        let mut due = false;
        let mut steps = self.on_thread(now, thread, |machine, context, draft| {
            due = machine.on_model(context, draft, call, event);
        });
        if due {
            steps.extend(self.on_thread(now, thread, |machine, _, draft| machine.checkpoint(now, draft)));
        }
        steps
    }

    #[inline(never)]
    pub(super) fn on_target(
        &mut self,
        now: Timestamp,
        thread: &ThreadId,
        item: &ItemId,
        phase: TargetPhase,
        found: Result<TargetFacts, TargetError>,
    ) -> Vec<Step> {
        self.on_thread(now, thread, |machine, context, draft| {
            machine.on_target(context, draft, item, phase, found);
        })
    }

    #[inline(never)]
    pub(super) fn on_report(
        &mut self,
        now: Timestamp,
        thread: &ThreadId,
        item: &ItemId,
        attempt: u32,
        report: Report,
    ) -> Vec<Step> {
        self.on_thread(now, thread, |machine, context, draft| {
            machine.on_report(context, draft, item, attempt, report);
        })
    }

    #[inline(never)]
    pub(super) fn on_wake(&mut self, now: Timestamp) -> Vec<Step> {
        let awake: Vec<ThreadId> = self.machines.keys().cloned().collect();
        let mut steps = Vec::new();
        for thread in awake {
            steps.extend(self.on_thread(now, &thread, |machine, context, draft| {
                machine.expire_approvals(context, draft);
                machine.retry_model(context, draft);
                machine.start_looks(now, draft);
                machine.expire_title(now, draft);
            }));
            if self.machines.get(&thread).is_some_and(|machine| machine.is_checkpoint_due(now)) {
                steps
                    .extend(self.on_thread(now, &thread, |machine, _, draft| machine.checkpoint(now, draft)));
            }
        }
        steps
    }
}
