//! Tries of connections: asked for by a view, told part by part, and what they find is kept.

use panelot_base::json::{ToJson, word};
use panelot_base::{ConnectionId, SubmissionId, Timestamp};
use panelot_protocol::connection::ConnectionDraft;
use panelot_protocol::event::{ConnectionListed, ConnectionStep, ConnectionVerified, ErrorCode, Event};
use panelot_protocol::snapshot::ErrorView;
use panelot_provider::ProviderError;
use panelot_provider::verify::{StepReport, Tried};
use panelot_records::{Commit, Durability};

use super::Engine;
use super::answers::{answer, private};
use crate::input::ConnectionHandle;
use crate::project;
use crate::step::{Effect, Step, Trial};

/// A provider's error as views see it.
fn error_view(error: &ProviderError) -> ErrorView {
    ErrorView { code: ErrorCode::ProviderError, message: error.to_string(), provider: Some(error.to_json()) }
}

fn plain_error(code: ErrorCode, message: &str) -> ErrorView {
    ErrorView { code, message: message.to_owned(), provider: None }
}

/// The last word about a try.
fn ended(trial: Trial, model_id: String, models: Vec<String>, error: Option<ErrorView>) -> Event {
    let Trial { submission: submission_id, connection: connection_id, .. } = trial;
    if trial.only_lists {
        Event::ConnectionListed(ConnectionListed { submission_id, connection_id, models, error })
    } else {
        Event::ConnectionVerified(ConnectionVerified {
            submission_id,
            connection_id,
            model_id,
            models,
            error,
        })
    }
}

impl Engine {
    #[inline(never)]
    pub(super) fn on_try(
        &self,
        from: ConnectionHandle,
        submission: SubmissionId,
        connection: ConnectionId,
        draft: Option<Box<ConnectionDraft>>,
        model: Option<String>,
        only_lists: bool,
    ) -> Step {
        let found = self.directory.access_to(&connection, draft.map(|draft| *draft));
        let is_known = found.is_some();
        let (access, first) = found.unwrap_or_else(|| (crate::step::Access::nowhere(), String::new()));
        let model = model.unwrap_or(first);
        let trial = Trial { from, submission, connection, access, model, only_lists };
        if !is_known {
            let error = plain_error(ErrorCode::NotConfigured, "that connection does not exist any more");
            return answer(from, ended(trial, String::new(), Vec::new(), Some(error)));
        }
        Step { effects: vec![Effect::Try(Box::new(trial))], ..Step::default() }
    }

    #[inline(never)]
    pub(super) fn on_try_step(&self, trial: Trial, report: &StepReport) -> Step {
        let (Some(step), Some(outcome)) =
            (project::of_word(&word(&report.step)), project::of_word(&word(&report.outcome)))
        else {
            return Step::default();
        };
        let event = ConnectionStep {
            submission_id: trial.submission,
            connection_id: trial.connection,
            step,
            outcome,
            error: report.error.as_ref().map(error_view),
        };
        answer(trial.from, Event::ConnectionStep(event))
    }

    #[inline(never)]
    pub(super) fn on_tried(&mut self, now: Timestamp, trial: Trial, result: Option<Tried>) -> Step {
        let from = trial.from;
        let Some(tried) = result else {
            let error = plain_error(ErrorCode::Interrupted, "the try was ended");
            return answer(from, ended(trial, String::new(), Vec::new(), Some(error)));
        };
        let write = self.directory.tried(&trial.connection, &trial.access.base_url, &tried, now);
        let changed = write.as_ref().map(|_| self.settings_changed());
        let commit = write.map(|write| Commit {
            writes: vec![write],
            durability: Durability::Relaxed,
            ..Commit::default()
        });
        let models = tried.listed.into_iter().flatten().map(|model| model.id).collect();
        let event = ended(trial, tried.model, models, tried.error.as_ref().map(error_view));
        // What was found is worth telling, whether it could be kept or not.
        let on_failure = vec![private(from, event.clone())];
        let effects = changed.into_iter().chain([private(from, event)]).collect();
        Step { commit, effects, on_failure, ..Step::default() }
    }
}
