//! Stopping: the person's word always wins.

use panelot_base::RunId;
use panelot_protocol::snapshot::StopReason;
use panelot_records::{RunState, Table, Write};

use crate::bugs::{Bug, is_on};

use super::{Context, Draft, ThreadMachine};
use crate::receipt::Admitted;

impl ThreadMachine {
    /// Stops what the thread does. The queue goes on with what was sent afterwards.
    pub(crate) fn interrupt(&mut self, context: &mut Context<'_>, draft: &mut Draft) -> Admitted {
        self.drop_title(draft);
        let head = self.head_run().map(|run| run.id.clone());
        let run = head.or_else(|| {
            self.runs.iter().find(|run| run.state == RunState::Interrupted).map(|run| run.id.clone())
        });
        let admitted = run.as_ref().map_or_else(
            || Admitted { thread: Some(self.thread.id.clone()), ..Admitted::default() },
            |run| self.admitted(run),
        );
        if let Some(run) = run {
            self.stop_run(context, draft, &run, StopReason::Interrupted);
        }
        admitted
    }

    /// Ends a run by the person's word, whatever it does.
    pub(crate) fn stop_run(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        id: &RunId,
        reason: StopReason,
    ) {
        self.abandon_model_of(context, draft, id);
        self.end_run(context, draft, id, RunState::Cancelled, reason);
    }

    fn abandon_model_of(&mut self, context: &Context<'_>, draft: &mut Draft, id: &RunId) {
        if self.run(id).is_some_and(|run| run.state == RunState::Running && run.batch.is_none()) {
            self.abandon_model(context.now, draft, id);
        }
    }

    /// Makes the thread invisible for good: a tombstone now, the removal of its records after.
    pub(crate) fn delete(&mut self, context: &mut Context<'_>, draft: &mut Draft) {
        self.thread.deleted_at = Some(context.now);
        let open: Vec<RunId> = self.runs.iter().map(|run| run.id.clone()).collect();
        // Queued ones first, so that ending the head does not start them.
        for id in open.iter().rev() {
            let queued = self.run(id).is_some_and(|run| run.state == RunState::Queued);
            if queued {
                self.set_state(id, RunState::Cancelled);
            }
        }
        for id in &open {
            if self.run(id).is_some_and(|run| !run.state.is_end()) {
                self.stop_run(context, draft, id, StopReason::Interrupted);
            }
        }
        self.drop_title(draft);
        draft.settings_changed |= context.directory.forget_grants(&self.thread.id);
        if !is_on(Bug::UndoneDelete) {
            self.late.clear();
        }
    }

    /// The writes that remove what is left of a deleted thread.
    pub(crate) fn removal(thread: &panelot_base::ThreadId) -> Vec<Write> {
        let all_of = |table| Write::DeleteOfThread { table, thread: thread.clone() };
        vec![
            all_of(Table::Nodes),
            all_of(Table::Runs),
            all_of(Table::Approvals),
            all_of(Table::Grants),
            Write::Delete(panelot_records::Key::draft(Some(thread))),
            Write::Delete(panelot_records::Key::thread(thread)),
        ]
    }
}
