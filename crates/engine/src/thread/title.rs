//! A thread's title from a model: looked for beside everything else, given up without a word, and never instead of a
//! name that the person chose.

use panelot_base::limits::{
    TITLE_CHARS_MAX, TITLE_SOURCE_CHARS_MAX, TITLE_TIMEOUT_MS, TITLE_TOKENS_MAX, TITLE_TURNS_MAX,
};
use panelot_base::{ModelCallId, RunId, Timestamp, TurnId};
use panelot_prompts::wording;
use panelot_protocol::event::{Event, TurnComplete, TurnStart};
use panelot_protocol::snapshot::{StopReason, TurnKind};
use panelot_provider::{Message, Parameters, Part, Request};
use panelot_records::Body;
use panelot_records::run::ModelChoice;
use panelot_records::thread::TitleSource;

use super::{Context, Draft, ThreadMachine};
use crate::input::ModelInput;
use crate::providers::access;
use crate::step::{Effect, ModelCall, Purpose};

/// A title that a model was asked for.
#[derive(Clone, Debug)]
pub(crate) struct LiveTitle {
    pub(crate) call: ModelCallId,
    pub(crate) turn: TurnId,
    pub(crate) model: ModelChoice,
    pub(crate) deadline_at: Timestamp,
}

impl ThreadMachine {
    /// Asks for a title once a model has answered, so that nothing delays the answer itself. Only the first turns try.
    pub(crate) fn ask_for_title(&mut self, context: &mut Context<'_>, draft: &mut Draft, id: &RunId) {
        let due = self.thread.title_source == TitleSource::FirstLine
            && self.thread.stats.turns <= TITLE_TURNS_MAX
            && self.title.is_none();
        let Some(run) = self.run(id).filter(|run| due && run.model_calls == 1) else { return };
        let opening = self.nodes().iter().find_map(|node| match &node.body {
            Body::User { text, .. } if node.turn == run.turn => Some(text),
            _ => None,
        });
        let model = context.directory.task_model().or_else(|| run.model.clone());
        let parts = (opening, model, run.environment.clone(), run.leaf);
        let (Some(opening), Some(model), Some(environment), Some(leaf)) = parts else { return };
        let facts = context.directory.facts(&model).settled();
        let Some(connection) = context.directory.connections.get(&model.connection) else { return };
        let mut access = access(connection);
        access.keys.truncate(1);
        let source: String = opening.chars().take(TITLE_SOURCE_CHARS_MAX).collect();
        let asked = model.clone();
        let request = Request {
            model: model.model,
            system: wording::title_instruction(),
            messages: vec![Message::User { parts: vec![Part::text(source)] }],
            tools: Vec::new(),
            parameters: Parameters { max_output_tokens: Some(TITLE_TOKENS_MAX), ..Parameters::default() },
        };
        let (call, turn) = (ModelCallId::mint(context.ids), TurnId::mint(context.ids));
        draft.effects.push(Effect::CallModel(Box::new(ModelCall {
            thread: self.thread.id.clone(),
            run: id.clone(),
            call: call.clone(),
            leaf,
            environment,
            connection: model.connection,
            access,
            facts,
            reminders: Vec::new(),
            fence_seed: String::new(),
            purpose: Purpose::Given(Box::new(request)),
        })));
        draft.closing.push(Event::TurnStart(TurnStart {
            thread_id: self.thread.id.clone(),
            turn_id: turn.clone(),
            run_id: id.clone(),
            turn_kind: TurnKind::Title,
        }));
        let deadline_at = context.now.plus_ms(TITLE_TIMEOUT_MS);
        self.title = Some(LiveTitle { call, turn, model: asked, deadline_at });
    }

    /// Takes in what a model proposes. A name that the person gave meanwhile stays.
    pub(crate) fn on_title(&mut self, context: &Context<'_>, draft: &mut Draft, event: ModelInput) {
        if matches!(event, ModelInput::Delta { .. }) {
            return;
        }
        let Some(live) = self.title.take() else { return };
        let mut reason = StopReason::Error;
        if let ModelInput::Completed(response) = event {
            if let Some(usage) = response.usage {
                self.charge(context, &live.model, usage);
            }
            let title = tidy(&response.text);
            if !title.is_empty() && self.thread.title_source == TitleSource::FirstLine {
                self.thread.title = title;
                self.thread.title_source = TitleSource::Model;
            }
            reason = StopReason::End;
        }
        self.title_ended(draft, live, reason);
    }

    /// Gives the search for a title up.
    pub(crate) fn drop_title(&mut self, draft: &mut Draft) {
        let Some(live) = self.title.take() else { return };
        let thread = self.thread.id.clone();
        draft.effects.push(Effect::CancelModel { thread, call: live.call.clone() });
        self.title_ended(draft, live, StopReason::Interrupted);
    }

    /// Gives it up when it takes too long.
    pub(crate) fn expire_title(&mut self, now: Timestamp, draft: &mut Draft) {
        if self.title.as_ref().is_some_and(|live| live.deadline_at <= now) {
            self.drop_title(draft);
        }
    }

    fn title_ended(&self, draft: &mut Draft, live: LiveTitle, stop_reason: StopReason) {
        draft.closing.push(Event::TurnComplete(TurnComplete {
            thread_id: self.thread.id.clone(),
            turn_id: live.turn,
            stop_reason,
        }));
    }
}

/// One line without quotes and marks, bounded.
fn tidy(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = line.trim_matches(['"', '\'', '“', '”', '「', '」', '《', '》', '*', '#', '`', ' ']);
    line.chars().filter(|c| !c.is_control()).take(TITLE_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::tidy;

    #[test]
    fn a_title_is_one_bounded_line_without_quotes_and_marks() {
        for (answer, title) in [
            ("Weather in Paris", "Weather in Paris"),
            ("\n  \"Weather in Paris\"\nThat is my proposal.", "Weather in Paris"),
            ("**Flüge nach Rom**", "Flüge nach Rom"),
            ("“巴黎的天气”", "巴黎的天气"),
            ("It's 'here'", "It's 'here"),
            ("  \n ", ""),
        ] {
            assert_eq!(tidy(answer), title);
        }
        assert_eq!(tidy(&"長".repeat(500)).chars().count(), panelot_base::limits::TITLE_CHARS_MAX);
    }
}
