//! Messages that wait: in the queue for their turn, or at a turn under way for the next request to the model.
//!
//! Invariant: a message that was added to a turn becomes a node exactly once, and never between a call and its result.

use panelot_base::limits::STEERS_MAX;
use panelot_base::{RunId, SubmissionId, Timestamp};
use panelot_protocol::event::ErrorCode;
use panelot_protocol::op::{TurnOverrides, TurnSteer, UserInput};
use panelot_records::run::Steer;
use panelot_records::{Body, Run, RunState};

use super::admission::tab_in_front;
use super::{Context, Draft, ThreadMachine};
use crate::directory::overrides_record;
use crate::receipt::{Admitted, Refused};
use crate::step::Reminder;

fn refuse<T>(code: ErrorCode, why: &str) -> Result<T, Refused> {
    Err(Refused::new(code, why))
}

impl ThreadMachine {
    /// Changes a message that waits in the queue. Its place stays.
    pub(crate) fn update_queued(
        &mut self,
        context: &Context<'_>,
        id: &RunId,
        input: UserInput,
        overrides: Option<&TurnOverrides>,
    ) -> Result<Admitted, Refused> {
        let overrides = overrides.map(overrides_record);
        if let Some(overrides) = &overrides {
            context.directory.choices(overrides, &self.thread)?;
        }
        let Some(run) = self.run_mut(id).filter(|run| run.state == RunState::Queued) else {
            return refuse(ErrorCode::InvalidCommand, "this message does not wait any more");
        };
        if let Some(overrides) = overrides {
            run.overrides = overrides;
        }
        if let Some(tab) = tab_in_front(input.browser_context) {
            run.default_tab = Some(tab);
        }
        run.queued_text = Some(input.text.into_string());
        Ok(self.admitted_next(id))
    }

    /// Takes a message out of the queue, or gives up a run that a restart cut short.
    pub(crate) fn remove_queued(
        &mut self,
        context: &Context<'_>,
        draft: &mut Draft,
        id: &RunId,
    ) -> Result<Admitted, Refused> {
        match self.run(id).map(|run| run.state) {
            Some(RunState::Queued) => self.give_up(context, draft, id, "removed"),
            Some(RunState::Interrupted) => self.give_up(context, draft, id, "dismissed"),
            _ => return refuse(ErrorCode::InvalidCommand, "this message does not wait any more"),
        }
        Ok(self.admitted_next(id))
    }

    /// The answer to a command that changed a run: the revision is the one that its commit gives.
    fn admitted_next(&self, id: &RunId) -> Admitted {
        let mut admitted = self.admitted(id);
        admitted.revision = admitted.revision.map(|revision| revision + 1);
        admitted
    }

    /// Ends a run that nothing works for. What was added to it is kept.
    pub(crate) fn give_up(&mut self, context: &Context<'_>, draft: &mut Draft, id: &RunId, why: &str) {
        self.deliver_steers(context.now, draft, id);
        self.set_state(id, RunState::Cancelled);
        if let Some(run) = self.run_mut(id) {
            run.stop_reason = Some(why.to_owned());
        }
    }

    /// Adds a message to the turn under way; one that waited in the queue leaves it.
    pub(crate) fn steer(
        &mut self,
        context: &Context<'_>,
        draft: &mut Draft,
        submission: &SubmissionId,
        TurnSteer { expected_turn_id: expected, input, promotes, .. }: TurnSteer,
    ) -> Result<Admitted, Refused> {
        if self.title.as_ref().is_some_and(|title| title.turn == expected) {
            return refuse(ErrorCode::TurnNotSteerable, "the search for a title takes no message");
        }
        let Some(run) = self.head_run() else {
            return refuse(ErrorCode::NoActiveTurn, "nothing is under way that could be told this");
        };
        let (id, waiting) = (run.id.clone(), run.steers.len());
        if run.turn != expected {
            return refuse(ErrorCode::TurnMismatch, "the turn that this was meant for is over");
        }
        if !self.is_steerable(run) {
            return refuse(ErrorCode::TurnNotSteerable, "this turn takes no further messages");
        }
        if waiting >= STEERS_MAX {
            return refuse(ErrorCode::QueueFull, "the model has not read the earlier messages yet");
        }
        let mut default_tab = tab_in_front(input.browser_context);
        if let Some(waiting) = promotes {
            let Some(run) = self.run(&waiting).filter(|run| run.state == RunState::Queued) else {
                return refuse(ErrorCode::InvalidCommand, "this message does not wait any more");
            };
            default_tab = default_tab.or_else(|| run.default_tab.clone());
            self.give_up(context, draft, &waiting, "promoted");
        }
        if let Some(run) = self.run_mut(&id) {
            run.steers.push(Steer {
                submission: submission.clone(),
                text: input.text.into_string(),
                default_tab,
            });
        }
        Ok(self.admitted_next(&id))
    }

    /// Whether a message can be added to a run's turn: it works, and the model will be asked again.
    pub(crate) fn is_steerable(&self, run: &Run) -> bool {
        let works = run.state.is_under_way();
        let last_words = run.state == RunState::Running
            && run.batch.is_none()
            && self.model.as_ref().is_some_and(|live| live.reminders.iter().any(Reminder::is_last));
        works && !last_words
    }

    /// Makes nodes of the messages that were added to a run. Its calls must all have their results.
    pub(crate) fn deliver_steers(&mut self, now: Timestamp, draft: &mut Draft, id: &RunId) {
        let steers = self.run_mut(id).map(|run| std::mem::take(&mut run.steers)).unwrap_or_default();
        if steers.is_empty() {
            return;
        }
        // Another run may be at work beside one that was interrupted; its calls must not be torn from their results.
        let other = self.head_run().map(|run| run.id.clone()).filter(|head| head != id);
        if let Some(head) = other.and_then(|head| self.run_mut(&head)) {
            head.steers.extend(steers);
            return;
        }
        for Steer { submission, text, default_tab } in steers {
            if let (Some(run), Some(tab)) = (self.run_mut(id), &default_tab) {
                run.default_tab = Some(tab.clone());
            }
            self.append(draft, now, id, Body::User { text, default_tab, submission, steered: true });
        }
        // The person has said something new: what went wrong before does not count any more.
        if let Some(run) = self.run_mut(id) {
            run.failures = 0;
            run.trail.clear();
        }
    }
}
