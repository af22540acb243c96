//! A conversation that has become too long for its model: its beginning is summarised, and the run goes on.
//!
//! Invariant: nothing of it is in a run's record. A worker that dies in between asks again, and finds out again.

use panelot_base::RunId;
use panelot_provider::{ErrorKind, ProviderError, Response};
use panelot_records::{Body, NoticeKind};
use serde_json::json;

use super::model::usage_record;
use super::{Context, Draft, ThreadMachine};
use crate::input::ModelInput;
use crate::step::{Cut, Purpose, Room};

/// Tokens below which the request for a summary is not shortened any more.
const SUMMARY_ROOM_TOKENS_MIN: usize = 500;

impl ThreadMachine {
    /// Takes in what concerns the length of the conversation. Returns whether that was it.
    pub(super) fn on_summary(
        &mut self,
        context: &mut Context<'_>,
        draft: &mut Draft,
        id: &RunId,
        event: &ModelInput,
    ) -> bool {
        let Some(live) = &self.model else { return false };
        let silent = live.text.is_empty() && live.reasoning.is_empty();
        let too_long =
            matches!(event, ModelInput::Failed(error) if error.kind == ErrorKind::ContextTooLong) && silent;
        let next = match (live.purpose.clone(), event) {
            (Purpose::Answer(_), ModelInput::Full(Some(cut))) => Purpose::Summary(cut.clone()),
            // The provider has refused it, and nothing of it can be left out.
            (Purpose::Answer(Room::Less), ModelInput::Full(None)) => {
                let error = ProviderError::new(ErrorKind::ContextTooLong, None);
                self.on_failure(context, draft, id, error);
                return true;
            }
            (Purpose::Answer(_), ModelInput::Full(None)) => Purpose::Answer(Room::Any),
            (Purpose::Answer(_), _) if too_long => Purpose::Answer(Room::Less),
            (Purpose::Summary(cut), _) if too_long && cut.room_tokens > SUMMARY_ROOM_TOKENS_MIN => {
                Purpose::Summary(Cut { room_tokens: cut.room_tokens / 2, ..cut })
            }
            (Purpose::Summary(cut), ModelInput::Completed(response)) if !response.text.trim().is_empty() => {
                self.store_summary(context, draft, id, &cut, response);
                Purpose::Answer(Room::Window)
            }
            // What is written is no news before it is whole.
            (Purpose::Summary(_), ModelInput::Delta { .. }) => return true,
            _ => return false,
        };
        let Some(live) = self.model.take() else { return true };
        draft.closing.push(self.item_complete(live.item, matches!(event, ModelInput::Completed(_))));
        self.ask_model(context, draft, id, live.reminders, None, next);
        true
    }

    fn store_summary(
        &mut self,
        context: &Context<'_>,
        draft: &mut Draft,
        id: &RunId,
        cut: &Cut,
        response: &Response,
    ) {
        let details = json!({"upTo": cut.up_to, "text": response.text.trim(), "requests": cut.requests});
        self.append(draft, context.now, id, Body::Notice { kind: NoticeKind::Summarized, details });
        self.count_usage(context, draft, id, response.usage.map(usage_record));
    }
}
